"""LayerNorm, GroupNorm and RMSNorm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from kohakubench.core import BenchmarkCase
from kohakubench.metrics import elementwise_flops
from kohakubench.presets._common import divisible, place, positive, ready

if TYPE_CHECKING:
    import torch

    _Device = Union[str, torch.device, None]
    _Dtype = Union[str, torch.dtype, None]

NORM_OPS, RMS_OPS = 6, 4


def _tokens(m):
    return m["batch_size"] * m["seq_len"] * m["embed_dim"]


def layer_norm_flops(m):
    return elementwise_flops(_tokens(m), NORM_OPS)


def rms_norm_flops(m):
    return elementwise_flops(_tokens(m), RMS_OPS)


def group_norm_flops(m):
    return elementwise_flops(m["batch_size"] * m["channels"] * m["height"] * m["width"], NORM_OPS)


def layer_norm_case(
    *,
    batch_size: int = 4,
    seq_len: int = 512,
    embed_dim: int = 2048,
    dtype: _Dtype = None,
    device: _Device = None,
) -> BenchmarkCase:
    """LayerNorm over the last dimension."""
    positive(batch_size=batch_size, seq_len=seq_len, embed_dim=embed_dim)
    import torch

    where = place(device, dtype)
    return BenchmarkCase(
        "layer_norm",
        ready(torch.nn.LayerNorm(embed_dim), where),
        args=(torch.randn(batch_size, seq_len, embed_dim, **where),),
        metadata={"batch_size": batch_size, "seq_len": seq_len, "embed_dim": embed_dim},
        flop_counter=layer_norm_flops,
    )


def group_norm_case(
    *,
    batch_size: int = 4,
    channels: int = 256,
    height: int = 64,
    width: int = 64,
    groups: int = 32,
    dtype: _Dtype = None,
    device: _Device = None,
) -> BenchmarkCase:
    """GroupNorm of images."""
    positive(batch_size=batch_size, channels=channels, height=height, width=width, groups=groups)
    divisible(channels=channels, groups=groups)
    import torch

    where = place(device, dtype)
    return BenchmarkCase(
        "group_norm",
        ready(torch.nn.GroupNorm(groups, channels), where),
        args=(torch.randn(batch_size, channels, height, width, **where),),
        metadata={"batch_size": batch_size, "channels": channels, "height": height, "width": width, "groups": groups},
        flop_counter=group_norm_flops,
    )


def rms_norm_case(
    *,
    batch_size: int = 4,
    seq_len: int = 512,
    embed_dim: int = 2048,
    eps: float = 1e-6,
    dtype: _Dtype = None,
    device: _Device = None,
) -> BenchmarkCase:
    """RMSNorm over the last dimension."""
    positive(batch_size=batch_size, seq_len=seq_len, embed_dim=embed_dim)
    import torch

    from kohakubench.modules import RMSNorm

    where = place(device, dtype)
    return BenchmarkCase(
        "rms_norm",
        ready(RMSNorm(embed_dim, eps), where),
        args=(torch.randn(batch_size, seq_len, embed_dim, **where),),
        metadata={"batch_size": batch_size, "seq_len": seq_len, "embed_dim": embed_dim, "eps": eps},
        flop_counter=rms_norm_flops,
    )
