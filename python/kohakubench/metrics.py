"""Multiply-adds (MACs) and other operations (FLOPs) of one call, as floats."""


def matmul_macs(batch, m, n, k):
    """`batch` products of [m, k] and [k, n]."""
    return float(batch * m * n * k)


def linear_macs(tokens, in_features, out_features):
    return float(tokens * in_features * out_features)


def conv2d_macs(
    batch, in_channels, out_channels, out_height, out_width, kernel_height, kernel_width, groups=1
):
    per_output = kernel_height * kernel_width * in_channels / groups
    return float(batch * out_channels * out_height * out_width * per_output)


def elementwise_flops(elements, ops=1):
    return float(elements * ops)


def activation_flops(elements, ops=4):
    return float(elements * ops)


def total_ops(values):
    return float(sum(values))
