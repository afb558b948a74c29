"""Types of the extension module. It belongs to the package and may change; use `assay`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

def version() -> str: ...
def measure(
    cases: Sequence[tuple[str, Callable[..., Any], tuple[Any, ...], Mapping[str, Any] | None, int, int]],
    device: str | None,
    dtype: str | None,
    warmup: int,
    iters: int,
    precision: float,
    budget: float,
    seed: int,
    between: Callable[[], Any] | None,
    profile: str | None = None,
    recording: list[int] = ...,
    /,
) -> list[dict[str, Any]]: ...
def push(handle: int, name: str, /) -> None: ...
def pop(handle: int, /) -> None: ...
def read(tensor: Any, /) -> tuple[str, tuple[int, ...], bytes, bool, str, str]: ...
def write(tensor: Any, values: bytes, /) -> None: ...
def stir(dtype: str, values: bytes, seed: int, /) -> bytes: ...
def compare(
    got_dtype: str,
    got: bytes,
    expected_dtype: str,
    expected: bytes,
    terms: float,
    relative: float,
    absolute: float,
    /,
) -> tuple[int, int, float, float, float, float, float]: ...
def capsule(address: int, dtype: str, dims: Sequence[int], device: int, /) -> Any: ...
def view(address: int, bytes: int, /) -> memoryview: ...
def serve(runner: Any, /) -> None: ...
