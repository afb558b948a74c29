import torch
def silu_and_mul(out, x):
    d = x.shape[-1] // 2
    torch.mul(torch.nn.functional.silu(x[..., :d]), x[..., d:], out=out)
def scale_(x):
    x.mul_(0.5)
def wrong(out, x):
    out.zero_()
