"""What the case factories share."""

from kohakubench.core import resolve_device, resolve_dtype


def place(device, dtype):
    device = resolve_device(device)
    return {"device": device, "dtype": resolve_dtype(dtype, device)}


def ready(module, where):
    """On its device, in its type, for inference."""
    return module.to(**where).eval()


def positive(**sizes):
    for name, value in sizes.items():
        if value <= 0:
            raise ValueError(f"{name} must be > 0 and is {value}")


def divisible(**sizes):
    """The first of two is a multiple of the second."""
    (name, value), (other, divisor) = sizes.items()
    if value % divisor:
        raise ValueError(f"{name} ({value}) must be divisible by {other} ({divisor})")
