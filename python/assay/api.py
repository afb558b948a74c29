"""bench, compare and what they return."""

import os
import sys

from assay import _assay

COLD = 4  # ASSAY_CASE_COLD
BUDGET_S = 2.0
PRECISION = 0.01


class Result:
    """One measured function. Times are seconds of one call; None where there is no figure.

    status              "ok", "mismatch" (the outputs are not the reference's), "failed" (it raised),
                        "crashed", "timeout" (with `isolate`); `reason` says why in a sentence
    median, interval    of the samples, and its 95 % interval (low, high); also mean, std, min, max,
                        q1, q3, and `times`, the samples themselves
    speedup             to the first function of a comparison, None alone; speedup_interval (low,
                        high); significant; verdict, the same in words
    verified            True: compared with the reference before and after timing. None: there was none
    max_abs_error       the greatest error of an output, and max_rel_error
    samples, calls      how many samples there are, and calls in all of them; warmup calls before
    device, cache       "cpu" or "cuda:0"; "hot" or "cold"
    isolated            it was measured in a process of its own
    flops_per_s         from the counters `flops` and `bytes`; bytes_per_s
    memory_mb           what a call took, in MB of 2^20 bytes, where it is known
    notes               sentences a reader of the figures should know
    error, traceback    the exception where it failed, and its traceback as text
    """

    _fields = (
        "name", "status", "reason", "median", "interval", "mean", "std", "min", "max", "q1", "q3",
        "speedup", "speedup_interval", "significant", "verdict", "verified", "max_abs_error",
        "max_rel_error", "samples", "calls", "warmup", "device", "cache", "isolated", "flops", "bytes",
        "flops_per_s", "bytes_per_s", "memory_mb", "notes", "traceback", "times",
    )  # fmt: skip

    def __init__(self, **values):
        for name in self._fields:
            setattr(self, name, values.get(name))
        self.notes = list(values.get("notes") or ())
        self.times = list(values.get("times") or ())
        #: The exception itself, where it failed in this process.
        self.error = values.get("error")

    @property
    def ok(self):
        """It was measured, and nothing is wrong with it."""
        return self.status == "ok"

    def to_dict(self):
        """Everything but the exception, ready for JSON. `times` holds the samples."""
        values = {name: getattr(self, name) for name in self._fields}
        for name in ("interval", "speedup_interval"):
            values[name] = list(values[name]) if values[name] else None
        return values

    def __repr__(self):
        from assay.table import duration

        what = duration(self.median) if self.ok else f"{self.status}: {self.reason}"
        return f"<assay.Result {self.name}: {what}>"

    def __str__(self):
        from assay.table import text

        return text([self])

    def _repr_html_(self):
        from assay.table import html

        return html([self])


class Comparison:
    """Several functions, measured in turn. The first is the baseline. Indexed by name or number."""

    def __init__(self, results):
        self.results = list(results)

    def __getitem__(self, key):
        if isinstance(key, int):
            return self.results[key]
        for result in self.results:
            if result.name == key:
                return result
        raise KeyError(key)

    def __iter__(self):
        return iter(self.results)

    def __len__(self):
        return len(self.results)

    @property
    def ok(self):
        """All of them were measured, and none is wrong."""
        return all(result.ok for result in self.results)

    def to_dict(self):
        """{"results": [...]}: each as Result.to_dict has it."""
        return {"results": [result.to_dict() for result in self.results]}

    def __repr__(self):
        return f"<assay.Comparison of {', '.join(r.name for r in self.results)}>"

    def __str__(self):
        from assay.table import text

        return text(self.results)

    def _repr_html_(self):
        from assay.table import html

        return html(self.results)


class _State:
    """A function on its way to a Result."""

    def __init__(self, name, fn):
        self.name, self.fn = name, fn
        self.status, self.reason, self.error, self.traceback = "ok", "", None, None
        self.notes, self.last, self.figures = [], None, {}
        self.verified = self.max_abs_error = self.max_rel_error = None

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def changes_inputs(self, numbers):
        which = ", ".join(str(n) for n in numbers)
        self.note(f"changes its inputs: tensor {which}")

    def fail(self, status, reason, error=None):
        self.status, self.reason, self.error = status, reason, error
        if error is not None:
            import traceback

            self.traceback = "".join(traceback.format_exception(error))


def _said(error):
    """The last line of the traceback."""
    text = str(error).strip()
    name = type(error).__name__
    return f"{name}: {text.splitlines()[0]}" if text else name


# ---- checks ---------------------------------------------------------------------------------------


def _guarded(state, step):
    """Has a check done; what goes wrong in it is the function's."""
    from assay._check import Mismatch

    try:
        step()
    except Mismatch as wrong:
        state.fail("mismatch", str(wrong))
        state.verified = False
    except (Exception, SystemExit) as error:
        state.fail("failed", _said(error), error)


def _prove_reference(check, states):
    """A reference that raises is nobody's mismatch: no row can be verified."""
    try:
        check._expect(0)
    except Exception as error:
        for state in states:
            state.fail("failed", f"the reference: {_said(error)}", error)


def _verify_before(check, states):
    _prove_reference(check, states)
    for state in states:
        if state.status == "ok":
            _guarded(state, lambda: check.before(state))


def _verify_after(check, states):
    for state in states:
        if state.status == "ok":
            _guarded(state, lambda: check.after(state))
            state.verified = state.status == "ok"


# ---- measuring ------------------------------------------------------------------------------------


def _device_of(args, kwargs):
    """'cuda:0' where a tensor lies there, else 'cpu'."""
    from assay._check import tensors

    for tensor in tensors((args, kwargs)):
        if getattr(tensor, "is_cuda", False):
            return f"cuda:{tensor.device.index or 0}"
        if hasattr(tensor, "__cuda_array_interface__"):
            return "cuda:0"
    return "cpu"


def _stream_of(device):
    torch = sys.modules.get("torch")
    if not device.startswith("cuda") or torch is None:
        return 0
    return torch.cuda.current_stream(torch.device(device)).cuda_stream


def _settings(warmup, iters, precision, budget):
    for name, value in (("warmup", warmup), ("iters", iters), ("precision", precision), ("budget", budget)):
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be > 0 and is {value!r}")
    fixed = iters is not None
    return (warmup or 0, iters or 0, 0.0 if fixed else precision or PRECISION, budget or BUDGET_S)


def _measure(states, args, kwargs, how):
    """Times those that are well, in turn, and keeps their figures."""
    from assay._progress import Progress
    from assay.ranges import sessions

    well = [state for state in states if state.status == "ok"]
    if not well:
        return
    flags = COLD if how["cold"] else 0
    warmup, iters, precision, budget = how["settings"]
    cases = [(s.name, s.fn, args, kwargs or None, how["stream"], flags) for s in well]
    progress = Progress([s.name for s in well], budget, how["quiet"])
    try:
        tick = progress.tick if progress.shown else None
        figures = _assay.measure(
            cases, how["device"], None, warmup, iters, precision, budget, how["seed"], tick, how["profile"], sessions()
        )
    finally:
        progress.close()
    for state, found in zip(well, figures):
        state.figures = found
        if found["status"] != "ok":
            error = found["error"]
            state.fail(found["status"], _said(error) if error is not None else found["reason"], error)


def _in_process(functions, args, kwargs, reference, how):
    from assay._check import Check, Inputs

    states = [_State(name, fn) for name, fn in functions.items()]
    for state in states:
        state.notes += how.get("notes", ())
    check = Check(reference, args, kwargs, how["rtol"], how["atol"]) if reference is not None else None
    inputs = check.inputs if check else Inputs(args, kwargs)
    try:
        if check:
            _verify_before(check, states)
        _measure(states, args, kwargs, how)
        changed = inputs.changed()
        inputs.restore()
        for state in states:
            if changed and len(states) == 1:
                state.changes_inputs(changed)
        if check:
            _verify_after(check, states)
    finally:
        inputs.restore()
    return [_result(state, how) for state in states]


def _seconds(value):
    return None if value is None else value / 1e3


def _per_second(count, seconds):
    return count / seconds if count is not None and seconds else None


def _result(state, how):
    f = state.figures if state.status == "ok" else {}
    median = _seconds(f.get("median_ms"))
    low, high = f.get("speedup_lo"), f.get("speedup_hi")
    compared = f.get("speedup") is not None
    return Result(
        name=state.name,
        status=state.status,
        reason=state.reason,
        error=state.error,
        traceback=state.traceback,
        median=median,
        interval=None if median is None else (_seconds(f["median_lo_ms"]), _seconds(f["median_hi_ms"])),
        mean=_seconds(f.get("latency_ms")),
        std=_seconds(f.get("latency_std_ms")),
        min=_seconds(f.get("min_ms")),
        max=_seconds(f.get("max_ms")),
        q1=_seconds(f.get("q1_ms")),
        q3=_seconds(f.get("q3_ms")),
        speedup=f.get("speedup"),
        speedup_interval=(low, high) if compared else None,
        significant=f.get("significant", False) if compared else None,
        verdict=f.get("verdict", ""),
        verified=state.verified,
        max_abs_error=state.max_abs_error,
        max_rel_error=state.max_rel_error,
        samples=f.get("samples", 0),
        calls=f.get("iters", 0),
        warmup=f.get("warmup", 0),
        device=how["device"],
        cache="cold" if how["cold"] else "hot",
        isolated=False,
        flops=how["flops"],
        bytes=how["bytes"],
        flops_per_s=_per_second(how["flops"], median),
        bytes_per_s=_per_second(how["bytes"], median),
        memory_mb=f.get("workspace_mb"),
        notes=state.notes,
        times=[_seconds(ms) for ms in f.get("sample_ms", ())],
    )


# ---- the public functions -------------------------------------------------------------------------


def _name_of(fn):
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None)
    return name or type(fn).__name__


def _named(functions):
    named = {}
    for fn in functions:
        name = _name_of(fn)
        if name in named:
            raise ValueError(f"two functions are called {name}; give a dict of names and functions")
        named[name] = fn
    return named


def _measure_all(functions, args, kwargs, reference, isolate, timeout, how):
    for name, fn in functions.items():
        if not callable(fn):
            raise TypeError(f"{name}: {fn!r} is not callable")
    if reference is not None and not callable(reference):
        raise TypeError(f"the reference {reference!r} is not callable")
    for counter in ("flops", "bytes"):
        if callable(how[counter]):
            how[counter] = how[counter](*args, **kwargs)
    if how["device"] is None:
        how["device"] = _device_of(args, kwargs)
    if how["stream"] is None:
        how["stream"] = _stream_of(how["device"])
    if how["cold"] and how["device"].startswith("cuda"):
        how["cold"] = False
        how["notes"] = ["measured hot: the caches of a GPU are not filled; `assay bench` has cold figures of it"]
    if isolate:
        from assay._isolate import measure

        return measure(functions, args, kwargs, reference, timeout, how)
    return _in_process(functions, args, kwargs, reference, how)


def bench(
    fn,
    *args,
    reference=None,
    name=None,
    kwargs=None,
    warmup=None,
    iters=None,
    precision=None,
    budget=None,
    cold=False,
    isolate=None,
    timeout=60.0,
    flops=None,
    bytes=None,
    rtol=None,
    atol=None,
    device=None,
    stream=None,
    seed=0,
    quiet=False,
    profile=None,
):
    """Measures fn(*args, **kwargs) and returns a Result.

    reference        another callable for the same arguments; the outputs of both are compared, on
                     the inputs as they are and on changed ones, before and after timing. Without it
                     nothing is verified
    precision        0.01: stop when the median's 95 % interval is within 1 %
    budget           2: or after this many seconds
    warmup, iters    fixed numbers of calls instead, each timed alone (8 warm-ups by default)
    cold             fill the CPU's caches with something else before each call; on a GPU a note
                     says that it was not done
    isolate          measure in a Python of its own, where fn can be imported by name: a crash, a hang
                     or os._exit is then this row's status. Result.isolated says what was done
    timeout          seconds, with `isolate`
    flops, bytes     counters: how many operations, and bytes moved, one call has; a number, or a
                     function of the same arguments. The result then has flops_per_s, bytes_per_s
    rtol, atol       tolerances; by default they follow from the types and sizes
    device, stream   where the work is: found from the tensors, and PyTorch's current stream. On a
                     GPU the events of assay's own engine are the clock
    quiet            no progress on stderr
    profile          a file: once all is timed, fn is called a few times more and recorded there, as a
                     trace for chrome://tracing and Perfetto (.json, .perfetto-trace), with what
                     `assay.range` marks; `assay profile FILE` reads it, too

    An exception in fn is a result, not an exception: status "failed", the last line of the traceback
    as the reason, all of it as .traceback, the exception as .error.
    """
    how = {
        "settings": _settings(warmup, iters, precision, budget),
        "cold": cold, "flops": flops, "bytes": bytes, "rtol": rtol, "atol": atol,
        "device": device, "stream": stream, "seed": seed, "quiet": quiet,
        "profile": None if profile is None else os.fspath(profile),
    }  # fmt: skip
    functions = {str(name or _name_of(fn)): fn}
    return _measure_all(functions, args, kwargs or {}, reference, isolate, timeout, how)[0]


def compare(
    functions,
    args=(),
    reference=None,
    *,
    kwargs=None,
    warmup=None,
    iters=None,
    precision=None,
    budget=None,
    cold=False,
    isolate=None,
    timeout=60.0,
    flops=None,
    bytes=None,
    rtol=None,
    atol=None,
    device=None,
    stream=None,
    seed=0,
    quiet=False,
    profile=None,
):
    """Measures several functions on the same arguments, in turn, and returns a Comparison.

    `functions` is a dict of names and callables, or a list of callables; the first is the baseline.
    In each round every function is sampled once, in a new order: a speedup is the median of the
    ratios within a round, with its 95 % interval. Result.verdict says what it comes to: "1.62x [1.58
    1.66]", "1.31x slower [1.28 1.35]", "same within 0.8%", "unclear (n=8)".

    The other parameters are those of bench.
    """
    if not isinstance(functions, dict):
        functions = _named(functions)
    if not functions:
        raise ValueError("no functions to compare")
    how = {
        "settings": _settings(warmup, iters, precision, budget),
        "cold": cold, "flops": flops, "bytes": bytes, "rtol": rtol, "atol": atol,
        "device": device, "stream": stream, "seed": seed, "quiet": quiet,
        "profile": None if profile is None else os.fspath(profile),
    }  # fmt: skip
    functions = {str(name): fn for name, fn in functions.items()}
    return Comparison(_measure_all(functions, tuple(args), kwargs or {}, reference, isolate, timeout, how))


class Benchmark:
    """What @assay.benchmark leaves at a function: how it is to be measured."""

    def __init__(self, fn, args, group, options):
        #: The function, its arguments or what makes them, its group, the keywords for bench.
        self.fn, self.args, self.group, self.options = fn, args, group, options

    def arguments(self):
        """The arguments; made now, where a function makes them."""
        made = self.args() if callable(self.args) else self.args
        return made if isinstance(made, tuple) else (made,)


def benchmark(args=(), *, group=None, **options):
    """Marks a function as a benchmark; it stays the function it is. `args` is a tuple, or a function
    that makes one when it is needed. Functions of one `group` are compared on the arguments of the
    first. Other keywords are those of bench.

        @assay.benchmark(lambda: (torch.randn(64, 1024),), reference=torch.nn.functional.gelu)
        def gelu(x):
            return 0.5 * x * (1 + torch.erf(x * 0.70710678))

        if __name__ == "__main__":
            assay.run()
    """

    def mark(fn):
        fn.__assay__ = Benchmark(fn, args, group, options)
        return fn

    return mark


def _marked(where):
    values = vars(where).values() if hasattr(where, "__dict__") and not callable(where) else where
    return [v.__assay__ for v in values if isinstance(getattr(v, "__assay__", None), Benchmark)]


def run(where=None, *, show=True, **options):
    """Measures the functions that @assay.benchmark marks in a module (by default the script that is
    running) or in a list; prints the tables unless `show` is False, and returns the results: a Result
    for a function alone, a Comparison for a group. `options` replace those of the decorators."""
    groups = {}
    for one in _marked(where if where is not None else sys.modules["__main__"]):
        groups.setdefault(one.group or id(one), []).append(one)
    found = []
    for members in groups.values():
        how = {**members[0].options, **options}
        if members[0].group is None:
            found.append(bench(members[0].fn, *members[0].arguments(), **how))
        else:
            functions = _named(m.fn for m in members)
            found.append(compare(functions, members[0].arguments(), **how))
        if show:
            print(found[-1])
    return found
