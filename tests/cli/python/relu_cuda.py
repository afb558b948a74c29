"""Kernels in Python on a GPU: what can be captured, what cannot, and what should not be."""

import time

import torch

import assay

side = torch.cuda.Stream()


def kernel(function, **more):
    return assay.kernel("relu", device="cuda", implementation=function.__name__, **more)(function)


@kernel
def right(x):
    return torch.relu(x)


@kernel
def twice(x):
    torch.relu(x)
    return torch.relu(x)


def into(x, out):
    torch.relu(x, out=out)


kernel(into, takes_out=True)


def compiles(x):
    if not compiles.done:
        compiles.done = True
        time.sleep(0.4)
        torch.cuda.synchronize()
    return torch.relu(x)


compiles.done = False
kernel(compiles)


@kernel
def elsewhere(x):
    with torch.cuda.stream(side):
        return torch.relu(x)


def nothing(x):
    nothing.kept = nothing.kept or torch.relu(x)
    return nothing.kept


nothing.kept = None
kernel(nothing)


def sometimes(x):
    """Not in every call of a sample."""
    if sometimes.n % 2 == 0:
        sometimes.kept = torch.relu(x)
    sometimes.n += 1
    return sometimes.kept


sometimes.n = 0
kernel(sometimes)


@kernel
def joined(x):
    here = torch.cuda.current_stream()
    side.wait_stream(here)
    y = torch.relu(x)
    here.wait_stream(side)
    return y


@kernel
def unjoined(x):
    side.wait_stream(torch.cuda.current_stream())
    return torch.relu(x)


@kernel
def takes_item(x):
    y = torch.relu(x)
    y.item()
    return y


@kernel
def synchronises(x):
    y = torch.relu(x)
    torch.cuda.synchronize()
    return y


@kernel
def refuses_capture(x):
    if torch.cuda.is_current_stream_capturing():
        raise ValueError("not in a graph, please")
    return torch.relu(x)


@kernel
def sets_the_stream(x):
    """Its results are right, and nobody knows when."""
    torch.cuda.set_stream(side)
    return torch.relu(x)
