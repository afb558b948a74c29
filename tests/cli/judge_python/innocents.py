"""Kernels of silu that do what honest code in Python does, and none of which may be found guilty of
anything."""

import contextlib
import ctypes
import functools
import gc
import importlib
import os
import sys
import threading
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy

import assay

kernel = assay.kernel("silu", dtypes=["f32"], framework="numpy")
into = assay.kernel("silu", dtypes=["f32"], framework="numpy", takes_out=True)


def silu(x):
    return x / (1 + numpy.exp(-x))


@kernel
def plain(x):
    return silu(x)


@into
def writes_output(x, out):
    numpy.exp(-x, out=out)
    numpy.add(out, 1, out=out)
    numpy.divide(x, out, out=out)


@into
def writes_and_returns(x, out):
    writes_output(x, out)
    return out


workspace = {}


@kernel
def keeps_workspace(x):
    """Its intermediate values have a place for each shape, kept for all calls."""
    key = x.shape, x.dtype
    if key not in workspace:
        workspace[key] = numpy.empty_like(x)
    held = workspace[key]
    numpy.negative(x, out=held)
    numpy.exp(held, out=held)
    held += 1
    return x / held


@kernel
def returns_the_same_array(x):
    """Written anew in each call."""
    key = x.shape, "result"
    if key not in workspace:
        workspace[key] = numpy.empty_like(x)
    held = workspace[key]
    numpy.exp(-x, out=held)
    held += 1
    numpy.divide(x, held, out=held)
    return held


@functools.lru_cache(maxsize=None)
def plan(shape):
    time.sleep(0.02)  # it is looked for
    return max(1, shape[-2] // 4)


@kernel
def keeps_plans(x):
    rows = plan(x.shape)
    y = numpy.empty_like(x)
    for i in range(0, x.shape[-2], rows):
        y[..., i:i + rows, :] = silu(x[..., i:i + rows, :])
    return y


@kernel
def imports_late(x):
    special = importlib.import_module("statistics")
    import decimal  # noqa: F401

    assert special.median([1, 2, 3]) == 2
    return silu(x)


@kernel
def views_in_place(x):
    y = numpy.empty(x.size, x.dtype)
    flat = x.reshape(-1)
    half = flat.size // 2
    y[:half] = silu(flat[:half])
    y[half:] = silu(flat[half:])
    return y.reshape(x.shape)


@kernel
def transposes_and_back(x):
    return numpy.ascontiguousarray(silu(x.transpose(0, 2, 1)).transpose(0, 2, 1))


pool = []


def start_pool(problem):
    pool.append(ThreadPoolExecutor(2))


@assay.kernel("silu", framework="numpy", setup=start_pool)
def has_a_pool(x):
    y = numpy.empty_like(x)
    half = x.shape[-2] // 2

    def part(a, b):
        y[..., a:b, :] = silu(x[..., a:b, :])

    for done in [pool[0].submit(part, 0, half), pool[0].submit(part, half, x.shape[-2])]:
        done.result()
    return y


@kernel
def joins_its_thread(x):
    y = numpy.empty_like(x)
    thread = threading.Thread(target=lambda: y.__setitem__(Ellipsis, silu(x)))
    thread.start()
    thread.join()
    return y


def start_sleeper(problem):
    def sleep():
        while True:
            time.sleep(0.01)

    threading.Thread(target=sleep, daemon=True).start()


@assay.kernel("silu", framework="numpy", setup=start_sleeper)
def has_a_sleeping_thread(x):
    return silu(x)


@kernel
def collects_garbage(x):
    gc.collect(0)
    return silu(x)


def no_gc(problem):
    gc.disable()
    gc.freeze()


@assay.kernel("silu", framework="numpy", setup=no_gc)
def collects_no_garbage(x):
    return silu(x)


class Layer:
    """A module with hooks, weak references and a warning, as frameworks have them."""

    live = weakref.WeakSet()

    def __init__(self):
        self.live.add(self)
        self.hooks = [lambda x: x]

    def __call__(self, x):
        for hook in self.hooks:
            x = hook(x)
        with numpy.errstate(over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return silu(x)


layer = Layer()


@kernel
def is_a_layer(x):
    return layer(x)


def make(problem):
    one = numpy.float32(1)
    weights = numpy.ones(problem.axes[-1], numpy.float32)

    def call(x):
        return x / (one + numpy.exp(-x * weights))

    return call


@assay.kernel("silu", framework="numpy", setup=make)
def made_in_setup(x):
    raise AssertionError


warm = []


@kernel
def compiles_first(x):
    """Its first calls take longer, as with everything that compiles what it is called with."""
    if len(warm) < 3:
        warm.append(compile("x / (1 + numpy.exp(-x))", "made.py", "eval"))
        time.sleep(0.01)
    return eval(warm[0], {"numpy": numpy, "x": x})


@kernel
def traces_itself(x):
    """For a moment, and puts back what was there."""
    before = sys.getprofile()
    sys.setprofile(lambda *event: None)
    try:
        return silu(x)
    finally:
        sys.setprofile(before)


@kernel
def looks_at_clocks(x):
    start = time.perf_counter()
    y = silu(x)
    workspace["took"] = time.perf_counter() - start
    return y


@kernel
def calls_c(x):
    ctypes.CDLL(None).getpid()
    return silu(x)


@kernel
def prints_a_line(x):
    if not warm:
        warm.append(print("warming up"))
    return silu(x)


@kernel
def changes_environment(x):
    os.environ["MY_KERNEL"] = "1"
    with contextlib.suppress(KeyError):
        return silu(x)


class Array(numpy.ndarray):
    """Its own subclass, inside."""


@kernel
def has_a_subclass(x):
    return numpy.asarray(silu(x.view(Array)))


@kernel
def sums_in_double(x):
    wide = x.astype(numpy.float64)
    return silu(wide).astype(numpy.float32)


@kernel
def takes_shortcuts(x):
    """A branch by the values, which are random."""
    return silu(x) if x.flat[0] > 0 else x * (1 / (1 + numpy.exp(-x)))


@kernel
def of_tuple(x):
    return (silu(x),)


@kernel
def finalizes(x):
    y = silu(x)
    weakref.finalize(y, int)
    return y
