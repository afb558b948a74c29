"""Self-attention with its four projections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from kohakubench.core import BenchmarkCase
from kohakubench.metrics import elementwise_flops, linear_macs, matmul_macs, total_ops
from kohakubench.presets._common import divisible, place, positive, ready

if TYPE_CHECKING:
    import torch

    _Device = Union[str, torch.device, None]
    _Dtype = Union[str, torch.dtype, None]

SCORE_OPS = 6  # softmax 4, scale 2


def __getattr__(name):
    if name in ("ScaledDotProductAttention", "MultiHeadAttention"):
        from kohakubench import modules

        return getattr(modules, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def attention_macs(m):
    tokens, dim, heads = m["batch_size"] * m["seq_len"], m["embed_dim"], m["num_heads"]
    per_head = (m["batch_size"] * heads, m["seq_len"])
    scores = matmul_macs(*per_head, m["seq_len"], dim // heads)
    values = matmul_macs(*per_head, dim // heads, m["seq_len"])
    return total_ops([4 * linear_macs(tokens, dim, dim), scores, values])


def attention_flops(m):
    return elementwise_flops(m["batch_size"] * m["num_heads"] * m["seq_len"] ** 2, SCORE_OPS)


def multi_head_attention_case(
    *,
    batch_size: int = 4,
    seq_len: int = 1024,
    embed_dim: int = 1024,
    num_heads: int = 16,
    dtype: _Dtype = None,
    device: _Device = None,
) -> BenchmarkCase:
    """Attention of q, k, v and output projections without biases, not causal."""
    positive(batch_size=batch_size, seq_len=seq_len, embed_dim=embed_dim, num_heads=num_heads)
    divisible(embed_dim=embed_dim, num_heads=num_heads)
    import torch

    from kohakubench.modules import MultiHeadAttention

    where = place(device, dtype)
    return BenchmarkCase(
        "multi_head_attention",
        ready(MultiHeadAttention(embed_dim, num_heads), where),
        args=(torch.randn(batch_size, seq_len, embed_dim, **where),),
        metadata={"batch_size": batch_size, "seq_len": seq_len, "embed_dim": embed_dim, "num_heads": num_heads},
        mac_counter=attention_macs,
        flop_counter=attention_flops,
    )
