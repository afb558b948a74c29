"""KoBench's package, on assay's engine: presets, cases, counters of multiply-adds and operations, memory.

    from kohakubench.core import BenchmarkCase, KoBench

    bench = KoBench(device="cpu")
    print(bench.benchmark(BenchmarkCase("linear", model, args=(x,))).to_dict())

Names, signatures, defaults and tables are KoBench's; a call is timed in C. PyTorch is imported when
something needs it. The command is `kobench`.
"""

from kohakubench.core import BenchmarkCase, BenchmarkResult, KoBench, resolve_device, resolve_dtype

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kohakubench.modules import ScaledDotProductAttention as ScaledDotProductAttention

    __version__: str

__all__ = [
    "BenchmarkCase",
    "BenchmarkResult",
    "KoBench",
    "ScaledDotProductAttention",
    "__version__",
    "resolve_device",
    "resolve_dtype",
]


def __getattr__(name):
    if name == "ScaledDotProductAttention":
        from kohakubench.modules import ScaledDotProductAttention

        return ScaledDotProductAttention
    if name == "__version__":
        from assay import __version__

        return __version__
    raise AttributeError(f"module 'kohakubench' has no attribute {name!r}")
