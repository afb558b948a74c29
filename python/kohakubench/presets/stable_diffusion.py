"""A residual block of Stable Diffusion's UNet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from kohakubench.core import BenchmarkCase
from kohakubench.metrics import conv2d_macs, elementwise_flops
from kohakubench.presets._common import divisible, place, positive, ready

if TYPE_CHECKING:
    import torch

    _Device = Union[str, torch.device, None]
    _Dtype = Union[str, torch.dtype, None]

BLOCK_OPS = 2 * 6 + 2 * 5 + 1  # two norms, two silus, one add
KERNEL = 3


def resblock_macs(m):
    channels = m["channels"]
    return 2 * conv2d_macs(m["batch_size"], channels, channels, m["height"], m["width"], KERNEL, KERNEL)


def resblock_flops(m):
    return elementwise_flops(m["batch_size"] * m["channels"] * m["height"] * m["width"], BLOCK_OPS)


def stable_diffusion_resblock_case(
    *,
    batch_size: int = 2,
    channels: int = 320,
    height: int = 64,
    width: int = 64,
    groups: int = 32,
    dtype: _Dtype = None,
    device: _Device = None,
) -> BenchmarkCase:
    """x + conv(silu(norm(conv(silu(norm(x)))))) with 3x3 convolutions."""
    positive(batch_size=batch_size, channels=channels, height=height, width=width, groups=groups)
    divisible(channels=channels, groups=groups)
    import torch

    from kohakubench.modules import ResBlock

    where = place(device, dtype)
    return BenchmarkCase(
        "sd_resblock",
        ready(ResBlock(channels, groups), where),
        args=(torch.randn(batch_size, channels, height, width, **where),),
        metadata={"batch_size": batch_size, "channels": channels, "height": height, "width": width, "groups": groups},
        mac_counter=resblock_macs,
        flop_counter=resblock_flops,
    )
