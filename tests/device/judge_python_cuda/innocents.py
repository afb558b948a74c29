"""Kernels of silu in PyTorch that do on a GPU what honest code does."""

import torch

import assay

kernel = assay.kernel("silu", dtypes=["f32"], device="cuda")
silu = torch.nn.functional.silu
streams = []


@kernel
def plain(x):
    return silu(x)


@kernel
def joined_stream(x):
    """The half of it on another stream, which is waited for."""
    if not streams:
        streams.append(torch.cuda.Stream())
    y = torch.empty_like(x)
    half = x.shape[1] // 2
    streams[0].wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(streams[0]):
        torch.mul(x[:, :half], torch.sigmoid(x[:, :half]), out=y[:, :half])
    torch.mul(x[:, half:], torch.sigmoid(x[:, half:]), out=y[:, half:])
    torch.cuda.current_stream().wait_stream(streams[0])
    return y


@kernel
def waits(x):
    """It cannot be captured, and the row says so."""
    y = silu(x)
    torch.cuda.current_stream().synchronize()
    return y


@assay.kernel("silu", dtypes=["f32"], device="cuda", takes_out=True)
def writes_output(x, out):
    torch.mul(x, torch.sigmoid(x), out=out)
