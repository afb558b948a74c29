"""Cases, what measures them, and what comes out."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import torch

    _Device = Union[str, torch.device, None]
    _Dtype = Union[str, torch.dtype, None]
    _Counter = Union[Callable[[dict[str, Any]], float], None]

MB = 1 << 20

_DTYPES = {
    "fp32": "float32", "float32": "float32", "f32": "float32", "float": "float32",
    "fp16": "float16", "float16": "float16", "f16": "float16", "half": "float16",
    "bf16": "bfloat16", "bfloat16": "bfloat16",
}  # fmt: skip


def _torch():
    """PyTorch, or None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    return torch


def resolve_device(device: _Device = None) -> torch.device | str:
    """A torch.device (a string where there is no PyTorch). None: CUDA where there is one, else the CPU; a
    GPU that is not here becomes the CPU with a warning."""
    torch = _torch()
    if torch is None:
        return "cpu" if device is None else str(device)
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = torch.device(device)
    if found.type == "cuda" and not torch.cuda.is_available():
        sys.stderr.write(f"kobench: {found} is not available (PyTorch finds no CUDA device); using cpu\n")
        return torch.device("cpu")
    return found


def resolve_dtype(dtype: _Dtype = None, device: _Device = None) -> torch.dtype | str:
    """A torch.dtype (a string where there is no PyTorch). None: float16 on CUDA, float32 elsewhere."""
    torch = _torch()
    if dtype is None:
        dtype = "float16" if _type_of(resolve_device(device)) == "cuda" else "float32"
    if not isinstance(dtype, str):
        return dtype
    name = _DTYPES.get(dtype.lower().removeprefix("torch."))
    if name is None:
        known = ", ".join(dict.fromkeys(_DTYPES))
        raise ValueError(f"unknown dtype {dtype!r}; known are {known}")
    return getattr(torch, name) if torch else name


def _type_of(device):
    return str(device).partition(":")[0]


class BenchmarkCase:
    """A callable with its arguments. A counter takes one dict, the metadata with `device` and `dtype`, and
    returns the multiply-adds or the other operations of one call."""

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        flop_counter: _Counter = None,
        mac_counter: _Counter = None,
    ) -> None:
        self.name = name
        self.fn = fn
        self.args = tuple(args)
        self.kwargs = dict(kwargs or {})
        self.metadata = dict(metadata or {})
        self.flop_counter = flop_counter
        self.mac_counter = mac_counter

    def __repr__(self):
        return f"BenchmarkCase({self.name!r}, {self.fn!r})"


class BenchmarkResult:
    """One measured case. Memory is in MB of 2^20 bytes, None on the CPU; rates are None without counters."""

    _fields = (
        "name", "iters", "warmup", "latency_ms", "latency_std_ms", "device", "dtype", "idle_vram_mb",
        "peak_vram_mb", "workspace_vram_mb", "macs", "macs_rate", "flops", "flops_rate", "metadata",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        iters: int,
        warmup: int,
        latency_ms: float,
        latency_std_ms: float,
        device: str,
        dtype: str,
        idle_vram_mb: float | None = None,
        peak_vram_mb: float | None = None,
        workspace_vram_mb: float | None = None,
        macs: float | None = None,
        macs_rate: float | None = None,
        flops: float | None = None,
        flops_rate: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.iters, self.warmup = iters, warmup
        self.latency_ms, self.latency_std_ms = latency_ms, latency_std_ms
        self.device, self.dtype = device, dtype
        self.idle_vram_mb, self.peak_vram_mb = idle_vram_mb, peak_vram_mb
        self.workspace_vram_mb = workspace_vram_mb
        self.macs, self.macs_rate = macs, macs_rate
        self.flops, self.flops_rate = flops, flops_rate
        self.metadata = dict(metadata or {})

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        values = {field: getattr(self, field) for field in self._fields}
        values["metadata"] = dict(self.metadata)
        return values

    def __repr__(self):
        return f"BenchmarkResult({self.name!r}, latency_ms={self.latency_ms!r})"


def _count(value, name):
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number and is {value!r}")
    if value <= 0:
        raise ValueError(f"{name} must be > 0 and is {value}")
    return value


def _name_of(target):
    return getattr(target, "__name__", None) or type(target).__name__


class KoBench:
    """Measures cases: `warmup` calls, then `iters` with the clock read before and after each."""

    def __init__(
        self,
        *,
        device: _Device = None,
        dtype: _Dtype = None,
        warmup: int = 8,
        iters: int = 32,
        sync: bool = True,
        inference_mode: bool = True,
    ) -> None:
        self.device = resolve_device(device)
        self.dtype = resolve_dtype(dtype, self.device)
        self.warmup = _count(warmup, "warmup")
        self.iters = _count(iters, "iters")
        self.sync = sync
        self.inference_mode = inference_mode

    @property
    def is_cuda(self) -> bool:
        """The device is a GPU."""
        return _type_of(self.device) == "cuda"

    def benchmark(
        self,
        target: BenchmarkCase | Callable[[], Any],
        *,
        name: str | None = None,
        warmup: int | None = None,
        iters: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        flop_counter: _Counter = None,
        mac_counter: _Counter = None,
    ) -> BenchmarkResult:
        """Measures a BenchmarkCase or any callable without arguments; what it raises is raised again."""
        case = self._case(target, name, metadata, flop_counter, mac_counter)
        warmup = self.warmup if warmup is None else _count(warmup, "warmup")
        iters = self.iters if iters is None else _count(iters, "iters")
        with self._mode():
            idle = self._memory_before()
            times = self._time(case, warmup, iters)
            memory = self._memory_after(idle)
        return self._result(case, times, memory)

    def benchmark_many(self, cases: Iterable[BenchmarkCase | Callable[[], Any]]) -> list[BenchmarkResult]:
        """One after the other; each may be a case or a callable."""
        return [self.benchmark(case) for case in cases]

    def _case(self, target, name, metadata, flop_counter, mac_counter):
        if not isinstance(target, BenchmarkCase):
            if not callable(target):
                raise TypeError(f"{target!r} is neither a BenchmarkCase nor callable")
            target = BenchmarkCase(_name_of(target), target)
        if not callable(target.fn):
            raise TypeError(f"case {target.name!r}: {target.fn!r} is not callable")
        return BenchmarkCase(
            name or target.name,
            target.fn,
            target.args,
            target.kwargs,
            {**target.metadata, **(metadata or {})},
            flop_counter or target.flop_counter,
            mac_counter or target.mac_counter,
        )

    def _mode(self):
        torch = _torch() if self.inference_mode else None
        return torch.inference_mode() if torch else nullcontext()

    def _time(self, case, warmup, iters):
        from assay import _assay

        device, stream = str(self.device), 0
        if self.is_cuda:
            torch = _torch()
            stream = torch.cuda.current_stream(self.device).cuda_stream
            if self.sync:
                torch.cuda.synchronize(self.device)
        call = (str(case.name), case.fn, case.args, case.kwargs or None, stream, 0)
        where = device if self.is_cuda else "cpu"
        times = _assay.measure([call], where, None, warmup, iters, 0.0, 0.0, 0, None)[0]
        if times["error"] is not None:
            raise times["error"]
        if times["status"] != "ok":
            raise RuntimeError(f"{case.name}: {times['status']}: {times['reason']}")
        return times

    def _memory_before(self):
        if not self.is_cuda:
            return None
        cuda = _torch().cuda
        cuda.synchronize(self.device)
        cuda.reset_peak_memory_stats(self.device)
        return cuda.memory_allocated(self.device)

    def _memory_after(self, idle):
        """MB: idle, peak, and what a call took above idle; None where it is not counted."""
        if idle is None:
            return None, None, None
        peak = max(_torch().cuda.max_memory_allocated(self.device), idle)
        return tuple(round(n / MB, 4) for n in (idle, peak, peak - idle))

    def _result(self, case, times, memory):
        known = {**case.metadata, "device": self.device, "dtype": self.dtype}
        macs = float(case.mac_counter(known)) if case.mac_counter else None
        flops = float(case.flop_counter(known)) if case.flop_counter else None
        seconds = times["latency_ms"] / 1e3
        return BenchmarkResult(
            name=case.name,
            iters=times["iters"],
            warmup=times["warmup"],
            latency_ms=times["latency_ms"],
            latency_std_ms=times["latency_std_ms"],
            device=str(self.device),
            dtype=str(self.dtype).removeprefix("torch."),
            idle_vram_mb=memory[0],
            peak_vram_mb=memory[1],
            workspace_vram_mb=memory[2],
            macs=macs,
            macs_rate=macs / seconds if macs is not None and seconds > 0 else None,
            flops=flops,
            flops_rate=flops / seconds if flops is not None and seconds > 0 else None,
            metadata=case.metadata,
        )
