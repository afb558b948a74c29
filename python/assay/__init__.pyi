"""Types of the package `assay`. What each thing does: help(assay), docs/python-reference.md."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import ModuleType
from typing import Any, Literal, TypeVar

__version__: str

_F = TypeVar("_F", bound=Callable[..., Any])
_Counter = float | Callable[..., float] | None
_Status = Literal["ok", "mismatch", "failed", "crashed", "timeout"]

def bench(
    fn: Callable[..., Any],
    *args: Any,
    reference: Callable[..., Any] | None = None,
    name: str | None = None,
    kwargs: Mapping[str, Any] | None = None,
    warmup: int | None = None,
    iters: int | None = None,
    precision: float | None = None,
    budget: float | None = None,
    cold: bool = False,
    isolate: bool | None = None,
    timeout: float = 60.0,
    flops: _Counter = None,
    bytes: _Counter = None,
    rtol: float | None = None,
    atol: float | None = None,
    device: str | None = None,
    stream: int | None = None,
    seed: int = 0,
    quiet: bool = False,
    profile: str | PathLike[str] | None = None,
) -> Result: ...
def compare(
    functions: Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]],
    args: Sequence[Any] = (),
    reference: Callable[..., Any] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    warmup: int | None = None,
    iters: int | None = None,
    precision: float | None = None,
    budget: float | None = None,
    cold: bool = False,
    isolate: bool | None = None,
    timeout: float = 60.0,
    flops: _Counter = None,
    bytes: _Counter = None,
    rtol: float | None = None,
    atol: float | None = None,
    device: str | None = None,
    stream: int | None = None,
    seed: int = 0,
    quiet: bool = False,
    profile: str | PathLike[str] | None = None,
) -> Comparison: ...
def benchmark(
    args: tuple[Any, ...] | Callable[[], Any] = (), *, group: str | None = None, **options: Any
) -> Callable[[_F], _F]: ...
def run(
    where: ModuleType | Iterable[Any] | None = None, *, show: bool = True, **options: Any
) -> list[Result | Comparison]: ...
class range:
    name: str
    def __init__(self, name: str) -> None: ...
    def __enter__(self) -> range: ...
    def __exit__(self, *_: object) -> Literal[False]: ...
def kernel(
    op: str,
    dtypes: str | Sequence[str] = ("f32",),
    device: Literal["cpu", "cuda"] = "cpu",
    name: str | None = None,
    implementation: str | None = None,
    takes_out: bool = False,
    framework: Literal["torch", "numpy"] = "torch",
    setup: Callable[[Any], Callable[..., Any] | None] | None = None,
    can_run: Callable[[Any], str | None] | None = None,
    preference: int = 0,
) -> Callable[[_F], _F]: ...
def run_comprehensive_benchmark(
    batch_sizes: Sequence[int] = (16, 32, 64, 128),
    sequence_lengths: Sequence[int] = (256, 512, 1024, 2048),
    tensor_dimensions: Sequence[int] = (8, 16, 32, 64, 128, 256, 512),
    operations: Sequence[str] = ("LayerNorm", "GELU", "Swish", "Loss"),
    implementations: Sequence[str] = ("PyTorch", "CUDA", "Triton"),
    output_file: str | None = "benchmark_results.json",
) -> list[dict[str, Any]]: ...

class Result:
    name: str
    status: _Status
    reason: str
    median: float | None
    interval: tuple[float, float] | None
    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    q1: float | None
    q3: float | None
    speedup: float | None
    speedup_interval: tuple[float, float] | None
    significant: bool | None
    verdict: str
    verified: bool | None
    max_abs_error: float | None
    max_rel_error: float | None
    samples: int
    calls: int
    warmup: int
    device: str
    cache: Literal["hot", "cold"]
    isolated: bool
    flops: float | None
    bytes: float | None
    flops_per_s: float | None
    bytes_per_s: float | None
    memory_mb: float | None
    notes: list[str]
    traceback: str | None
    times: list[float]
    error: BaseException | None
    def __init__(self, **values: Any) -> None: ...
    @property
    def ok(self) -> bool: ...
    def to_dict(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...

class Comparison:
    results: list[Result]
    def __init__(self, results: Iterable[Result]) -> None: ...
    def __getitem__(self, key: str | int) -> Result: ...
    def __iter__(self) -> Iterator[Result]: ...
    def __len__(self) -> int: ...
    @property
    def ok(self) -> bool: ...
    def to_dict(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...

class Benchmark:
    fn: Callable[..., Any]
    args: tuple[Any, ...] | Callable[[], Any]
    group: str | None
    options: dict[str, Any]
    def __init__(
        self, fn: Callable[..., Any], args: tuple[Any, ...] | Callable[[], Any], group: str | None, options: dict[str, Any]
    ) -> None: ...
    def arguments(self) -> tuple[Any, ...]: ...
