"""Kernels of relu, right and wrong in as many ways as there are rows in python.sh."""

import ctypes
import os
import sys

import torch

import assay

kernel = assay.kernel("relu", dtypes=["f32"])


@kernel
def right(x):
    return torch.relu(x)


@assay.kernel("relu", dtypes=["f32"], takes_out=True)
def into(x, out):
    torch.clamp(x, min=0, out=out)


@assay.kernel("relu", dtypes=["f32"], framework="numpy")
def of_numpy(x):
    import numpy

    return numpy.maximum(x, 0)


@kernel
def needs_grad(x):
    return torch.relu(torch.nn.Parameter(x))


@kernel
def wrong(x):
    return torch.sigmoid(x)


@kernel
def raises(x):
    return torch.relu(y)  # noqa: F821


@kernel
def calls_exit(x):
    sys.exit(3)


@kernel
def ends_process(x):
    os._exit(0)


@kernel
def crashes(x):
    ctypes.string_at(0)


@kernel
def returns_nothing(x):
    torch.relu(x)


@kernel
def returns_a_number(x):
    return 3


@kernel
def returns_two(x):
    return torch.relu(x), x


@kernel
def other_dtype(x):
    return torch.relu(x).double()


@kernel
def other_shape(x):
    return torch.relu(x).reshape(-1)


@kernel
def transposed(x):
    return torch.relu(x).transpose(0, 1).contiguous().transpose(0, 1)


@kernel
def in_place(x):
    return x.clamp_(min=0)


def refuse(problem):
    return "not for %s of %s" % (problem.axes, problem.dtype)


@assay.kernel("relu", dtypes=["f32"], can_run=refuse)
def refuses(x):
    return x


def fail(problem):
    raise ValueError("no such scale")


@assay.kernel("relu", dtypes=["f32"], setup=fail)
def setup_raises(x):
    return x


def make(problem):
    return torch.nn.functional.relu


@assay.kernel("relu", dtypes=["f32"], setup=make)
def made_in_setup(x):
    return x


kept = {}


@kernel
def keeps(x):
    if x.data_ptr() not in kept:
        kept[x.data_ptr()] = torch.relu(x)
    return kept[x.data_ptr()]
