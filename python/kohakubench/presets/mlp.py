"""Feed-forward layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from kohakubench.core import BenchmarkCase
from kohakubench.metrics import activation_flops, linear_macs
from kohakubench.presets._common import place, positive, ready

if TYPE_CHECKING:
    import torch

    _Device = Union[str, torch.device, None]
    _Dtype = Union[str, torch.dtype, None]

ACTIVATION_OPS = {"gelu": 6, "silu": 5, "relu": 1}
GATE_OPS = 1


def _macs(m, factor):
    tokens = m["batch_size"] * m["seq_len"]
    return factor * linear_macs(tokens, m["embed_dim"], m["hidden_dim"])


def mlp_macs(m):
    return _macs(m, 2)


def swiglu_macs(m):
    return _macs(m, 3)


def mlp_flops(m):
    hidden = m["batch_size"] * m["seq_len"] * m["hidden_dim"]
    return activation_flops(hidden, ACTIVATION_OPS[m["activation"]])


def swiglu_flops(m):
    return activation_flops(m["batch_size"] * m["seq_len"] * m["hidden_dim"], ACTIVATION_OPS["silu"] + GATE_OPS)


def _input(batch_size, seq_len, embed_dim, where):
    import torch

    return torch.randn(batch_size, seq_len, embed_dim, **where)


def _metadata(batch_size, seq_len, embed_dim, hidden_dim):
    positive(batch_size=batch_size, seq_len=seq_len, embed_dim=embed_dim, hidden_dim=hidden_dim)
    return {"batch_size": batch_size, "seq_len": seq_len, "embed_dim": embed_dim, "hidden_dim": hidden_dim}


def standard_mlp_case(
    *,
    batch_size: int = 4,
    seq_len: int = 512,
    embed_dim: int = 2048,
    hidden_dim: int = 8192,
    activation: str = "gelu",
    dtype: _Dtype = None,
    device: _Device = None,
) -> BenchmarkCase:
    """up, activation ("gelu", "silu", "relu"), down; without biases."""
    if activation not in ACTIVATION_OPS:
        raise ValueError(f"unknown activation {activation!r}; known are {', '.join(ACTIVATION_OPS)}")
    metadata = _metadata(batch_size, seq_len, embed_dim, hidden_dim)
    from torch.nn import functional

    from kohakubench.modules import MLP

    where = place(device, dtype)
    return BenchmarkCase(
        f"mlp_{activation}",
        ready(MLP(embed_dim, hidden_dim, getattr(functional, activation)), where),
        args=(_input(batch_size, seq_len, embed_dim, where),),
        metadata={**metadata, "activation": activation},
        mac_counter=mlp_macs,
        flop_counter=mlp_flops,
    )


def swiglu_mlp_case(
    *,
    batch_size: int = 4,
    seq_len: int = 512,
    embed_dim: int = 2048,
    hidden_dim: int = 8192,
    dtype: _Dtype = None,
    device: _Device = None,
) -> BenchmarkCase:
    """up to two halves x and gate, then down of silu(gate)*x."""
    metadata = _metadata(batch_size, seq_len, embed_dim, hidden_dim)
    from kohakubench.modules import SwiGLU

    where = place(device, dtype)
    return BenchmarkCase(
        "mlp_swiglu",
        ready(SwiGLU(embed_dim, hidden_dim), where),
        args=(_input(batch_size, seq_len, embed_dim, where),),
        metadata=metadata,
        mac_counter=swiglu_macs,
        flop_counter=swiglu_flops,
    )
