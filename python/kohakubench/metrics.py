"""Multiply-adds (MACs) and other operations (FLOPs) of one call, as floats."""

from __future__ import annotations

from collections.abc import Iterable


def matmul_macs(batch: float, m: float, n: float, k: float) -> float:
    """`batch` products of [m, k] and [k, n]."""
    return float(batch * m * n * k)


def linear_macs(tokens: float, in_features: float, out_features: float) -> float:
    """A linear layer on so many tokens."""
    return float(tokens * in_features * out_features)


def conv2d_macs(
    batch: float,
    in_channels: float,
    out_channels: float,
    out_height: float,
    out_width: float,
    kernel_height: float,
    kernel_width: float,
    groups: int = 1,
) -> float:
    """A convolution, by the size of its output."""
    per_output = kernel_height * kernel_width * in_channels / groups
    return float(batch * out_channels * out_height * out_width * per_output)


def elementwise_flops(elements: float, ops: float = 1) -> float:
    """`ops` operations for each element."""
    return float(elements * ops)


def activation_flops(elements: float, ops: float = 4) -> float:
    """The same, of an activation function."""
    return float(elements * ops)


def total_ops(values: Iterable[float]) -> float:
    """Their sum."""
    return float(sum(values))
