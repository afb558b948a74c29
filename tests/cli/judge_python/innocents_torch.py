"""Kernels of silu in PyTorch that do what honest code does."""

import torch

import assay

kernel = assay.kernel("silu", dtypes=["f32"])
silu = torch.nn.functional.silu


@kernel
def plain(x):
    return silu(x)


@torch.inference_mode()
def inferred(x):
    return silu(x)


@kernel
def inference_mode(x):
    return inferred(x)


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.register_forward_hook(lambda module, inputs, output: None)

    def forward(self, x):
        return silu(x) * self.weight


def make(problem):
    return Module()


@assay.kernel("silu", setup=make)
def module(x):
    raise AssertionError


def trace(problem):
    return torch.jit.trace(lambda x: x * torch.sigmoid(x), torch.ones(problem.axes))


@assay.kernel("silu", setup=trace)
def traced(x):
    raise AssertionError


@assay.kernel("silu", takes_out=True)
def writes_output(x, out):
    torch.mul(x, torch.sigmoid(x), out=out)


@kernel
def not_contiguous_inside(x):
    return silu(x.transpose(1, 2)).transpose(1, 2).contiguous()


@kernel
def profiled(x):
    with torch.autograd.profiler.record_function("silu"):
        return silu(x)


@kernel
def through_numpy(x):
    return torch.from_numpy(silu(x).numpy())
