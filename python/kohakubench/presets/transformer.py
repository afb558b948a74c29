"""A transformer block: attention and a feed-forward layer, each behind a LayerNorm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from kohakubench.core import BenchmarkCase
from kohakubench.metrics import activation_flops, linear_macs, total_ops
from kohakubench.presets._common import divisible, place, positive, ready
from kohakubench.presets.attention import attention_flops, attention_macs

if TYPE_CHECKING:
    import torch

    _Device = Union[str, torch.device, None]
    _Dtype = Union[str, torch.dtype, None]

GELU_OPS = 6


def _hidden(m):
    return int(m["embed_dim"] * m["mlp_ratio"])


def block_macs(m):
    tokens = m["batch_size"] * m["seq_len"]
    return total_ops([attention_macs(m), 2 * linear_macs(tokens, m["embed_dim"], _hidden(m))])


def block_flops(m):
    hidden = m["batch_size"] * m["seq_len"] * _hidden(m)
    return total_ops([attention_flops(m), activation_flops(hidden, GELU_OPS)])


def transformer_block_case(
    *,
    batch_size: int = 2,
    seq_len: int = 512,
    embed_dim: int = 1024,
    num_heads: int = 16,
    mlp_ratio: float = 4,
    dtype: _Dtype = None,
    device: _Device = None,
) -> BenchmarkCase:
    """Attention and an MLP with GELU, each behind a LayerNorm and added to its input."""
    positive(batch_size=batch_size, seq_len=seq_len, embed_dim=embed_dim, num_heads=num_heads, mlp_ratio=mlp_ratio)
    divisible(embed_dim=embed_dim, num_heads=num_heads)
    import torch

    from kohakubench.modules import TransformerBlock

    where = place(device, dtype)
    metadata = {
        "batch_size": batch_size, "seq_len": seq_len, "embed_dim": embed_dim, "num_heads": num_heads,
        "mlp_ratio": mlp_ratio,
    }  # fmt: skip
    return BenchmarkCase(
        "transformer_block",
        ready(TransformerBlock(embed_dim, num_heads, _hidden(metadata)), where),
        args=(torch.randn(batch_size, seq_len, embed_dim, **where),),
        metadata=metadata,
        mac_counter=block_macs,
        flop_counter=block_flops,
    )
