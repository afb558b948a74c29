"""Convolutions of square images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from kohakubench.core import BenchmarkCase
from kohakubench.metrics import conv2d_macs, elementwise_flops, total_ops
from kohakubench.presets._common import place, positive, ready

if TYPE_CHECKING:
    import torch

    _Device = Union[str, torch.device, None]
    _Dtype = Union[str, torch.dtype, None]


def out_size(image_size, kernel_size, stride, padding):
    size = (image_size + 2 * padding - kernel_size) // stride + 1
    if size < 1:
        raise ValueError(f"a kernel of {kernel_size} does not fit into an image of {image_size}")
    return size


def conv_macs(m):
    side, kernel = m["out_dim"], m["kernel_size"]
    return conv2d_macs(
        m["batch_size"], m["in_channels"], m["out_channels"], side, side, kernel, kernel, m["groups"]
    )


def depthwise_macs(m):
    side, kernel, channels = m["out_dim"], m["kernel_size"], m["channels"]
    parts = [conv2d_macs(m["batch_size"], channels, channels, side, side, kernel, kernel, channels)]
    if m["pointwise"]:
        parts.append(conv2d_macs(m["batch_size"], channels, channels, side, side, 1, 1))
    return total_ops(parts)


def depthwise_flops(m):
    return elementwise_flops(m["batch_size"] * m["channels"] * m["out_dim"] ** 2)


def conv2d_case(
    *,
    batch_size: int = 4,
    in_channels: int = 128,
    out_channels: int = 256,
    image_size: int = 64,
    kernel_size: int = 3,
    stride: int = 1,
    padding: int | None = None,
    dtype: _Dtype = None,
    device: _Device = None,
) -> BenchmarkCase:
    """A convolution without bias; `padding` None: half of the kernel."""
    positive(batch_size=batch_size, in_channels=in_channels, out_channels=out_channels, stride=stride)
    positive(image_size=image_size, kernel_size=kernel_size)
    padding = kernel_size // 2 if padding is None else padding
    out_dim = out_size(image_size, kernel_size, stride, padding)
    import torch

    where = place(device, dtype)
    conv = torch.nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding, bias=False)
    return BenchmarkCase(
        "conv2d",
        ready(conv, where),
        args=(torch.randn(batch_size, in_channels, image_size, image_size, **where),),
        metadata={
            "batch_size": batch_size, "in_channels": in_channels, "out_channels": out_channels,
            "image_size": image_size, "kernel_size": kernel_size, "stride": stride, "padding": padding,
            "out_dim": out_dim, "groups": 1,
        },
        mac_counter=conv_macs,
    )  # fmt: skip


def depthwise_conv2d_case(
    *,
    batch_size: int = 4,
    channels: int = 256,
    image_size: int = 64,
    kernel_size: int = 3,
    stride: int = 1,
    padding: int | None = None,
    pointwise: bool = True,
    dtype: _Dtype = None,
    device: _Device = None,
) -> BenchmarkCase:
    """A convolution of each channel alone and, with `pointwise`, a 1x1 one behind it."""
    positive(batch_size=batch_size, channels=channels, image_size=image_size, kernel_size=kernel_size, stride=stride)
    padding = kernel_size // 2 if padding is None else padding
    out_dim = out_size(image_size, kernel_size, stride, padding)
    import torch

    from kohakubench.modules import DepthwiseConv2d

    where = place(device, dtype)
    return BenchmarkCase(
        "depthwise_conv2d",
        ready(DepthwiseConv2d(channels, kernel_size, stride, padding, pointwise), where),
        args=(torch.randn(batch_size, channels, image_size, image_size, **where),),
        metadata={
            "batch_size": batch_size, "channels": channels, "image_size": image_size, "kernel_size": kernel_size,
            "stride": stride, "padding": padding, "pointwise": pointwise, "out_dim": out_dim, "groups": channels,
        },
        mac_counter=depthwise_macs,
        flop_counter=depthwise_flops,
    )  # fmt: skip
