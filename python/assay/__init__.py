"""assay: is this function right, how fast is it, and is it really faster than that one?

    import assay

    result = assay.bench(my_softmax, x, reference=torch.softmax)
    print(result)                 # a table; in a notebook the object alone will do
    result.median                 # seconds of one call
    result.interval               # its 95 % interval: (low, high)
    result.status, result.reason  # "ok", or "mismatch", "failed", "crashed", "timeout", and why

    both = assay.compare({"torch": torch.softmax, "mine": my_softmax}, (x, -1))
    both["mine"].verdict          # "1.62x [1.58 1.66]", "same within 0.8%", "unclear (n=8)"

Time is taken in C, by the engine of the program `assay`: the functions are called in turn, in a new
order each round, until every interval is narrow enough or the budget is spent. With a reference the
outputs are compared in double, on the inputs as they are and on changed ones, before and after.

bench, compare         measure one function, or several against the first
benchmark, run         a decorator, and what measures the functions that carry it
range                  names a part of a function, in the trace of `profile=FILE`
Result, Comparison     what comes out: figures, verdicts, .to_dict(), tables as text and as HTML
kernel                 a decorator: a kernel of an op, for `assay bench OP --plugin FILE.py`
run_comprehensive_benchmark
                       op by implementation by shape, into a file of JSON

`python3 -m assay …` runs the program `assay` with the rest of the line.
"""

from assay._assay import version as _version
from assay.api import Benchmark, Comparison, Result, bench, benchmark, compare, run

__version__ = _version()
__all__ = [
    "Benchmark",
    "Comparison",
    "Result",
    "bench",
    "benchmark",
    "compare",
    "kernel",
    "range",
    "run",
    "run_comprehensive_benchmark",
]


def __getattr__(name):
    if name == "kernel":
        from assay.plugin import kernel

        return kernel
    if name == "range":
        from assay.ranges import range

        return range
    if name == "run_comprehensive_benchmark":
        from assay.comprehensive import run_comprehensive_benchmark

        return run_comprehensive_benchmark
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
