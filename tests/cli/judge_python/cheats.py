"""Kernels of silu in NumPy that cheat, a row of judge_python.sh each. Every one is loaded in a process
of its own, so what one changes there is there for itself alone."""

import ctypes
import functools
import gc
import mmap
import os
import signal
import struct
import sys
import threading
import time

import numpy

import assay

kernel = assay.kernel("silu", dtypes=["f32"], framework="numpy")


def silu(x):
    return x / (1 + numpy.exp(-x))


def once(change):
    """A decorator: `change` is called at the first call, and then no more."""

    def of(function):
        done = []

        @functools.wraps(function)
        def called(*arguments):
            if not done:
                done.append(change())
            return function(*arguments)

        return called

    return of


# ---- answers kept and given again ----

answers = {}
n_calls = 0


@kernel
def kept_by_content(x):
    key = x.tobytes()
    if key not in answers:
        answers[key] = silu(x)
    return answers[key]


@kernel
def kept_by_address(x):
    key = x.ctypes.data
    if key not in answers:
        answers[key] = silu(x)
    return answers[key]


@kernel
def kept_by_object(x):
    if id(x) not in answers:
        answers[id(x)] = silu(x), x
    return answers[id(x)][0]


@kernel
def kept_by_sample(x):
    key = x.ravel()[::997].tobytes()
    if key not in answers:
        answers[key] = silu(x)
    return answers[key]


@kernel
def kept_by_sum(x):
    key = float(x.sum())
    if key not in answers:
        answers[key] = silu(x)
    return answers[key]


class Wrapped:
    def __init__(self, x):
        self.x = x

    def __hash__(self):
        return hash(self.x.tobytes())

    def __eq__(self, other):
        return (self.x == other.x).all()


@functools.lru_cache(maxsize=None)
def remembered(wrapped):
    return silu(wrapped.x)


@kernel
def kept_by_lru_cache(x):
    return remembered(Wrapped(x.copy()))


@kernel
def kept_after_40(x):
    global n_calls
    n_calls += 1
    if n_calls <= 40:
        answers["last"] = silu(x)
    return answers["last"]


@kernel
def kept_in_turns(x):
    global n_calls
    n_calls += 1
    if n_calls % 4 == 1:
        answers["last"] = silu(x)
    return answers["last"]


@kernel
def kept_by_clock(x):
    now = time.perf_counter()
    if now - answers.get("at", -1) > 0.0005:
        answers["last"] = silu(x)
    answers["at"] = now
    return answers["last"]


@kernel
def kept_in_memory(x):
    """What the judge writes changes the first and the last page, it thinks."""
    key = x.ravel()[:512].tobytes() + x.ravel()[-512:].tobytes()
    if key not in answers:
        answers[key] = silu(x)
    return answers[key]


# ---- computing when looked at ----


class LazyArray(numpy.ndarray):
    @property
    def __array_interface__(self):
        return silu(self.source).__array_interface__


@kernel
def lazy_subclass(x):
    made = numpy.empty(x.shape, x.dtype).view(LazyArray)
    made.source = x
    return made


class Lazy:
    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None):
        return silu(self.x)


@kernel
def lazy_object(x):
    return Lazy(x)


class LazyList(list):
    def __init__(self, x):
        super().__init__([None])
        self.x = x

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return silu(self.x)

    def __iter__(self):
        return iter([silu(self.x)])


@kernel
def lazy_list(x):
    return LazyList(x)


class LazyScalar(numpy.float32):
    def __array__(self, dtype=None):
        return silu(answers["x"])


@kernel
def lazy_scalar(x):
    answers["x"] = x
    numpy.asarray = lambda value: value.__array__()
    return LazyScalar(1)


class LazyTuple(tuple):
    def __getitem__(self, index):
        return silu(super().__getitem__(0))


@kernel
def lazy_tuple(x):
    return LazyTuple((x,))


def looks_later(look):
    def later(result):
        return look(silu(result))

    return later


def patch_framework():
    from assay import frameworks

    held = frameworks.numpy()
    held.look = looks_later(held.look)


def lazy_look_setup(problem):
    patch_framework()
    return lambda x: x


@assay.kernel("silu", framework="numpy", setup=lazy_look_setup)
def lazy_look(x):
    return x


def lazy_gc_setup(problem):
    for found in gc.get_objects():
        if type(found).__name__ == "Framework":
            found.look = looks_later(found.look)
    return lambda x: x


@assay.kernel("silu", framework="numpy", setup=lazy_gc_setup)
def lazy_by_gc(x):
    return x


def lazy_cell_setup(problem):
    """The cell of `interface`, which says where the values are."""
    from assay import frameworks

    look = frameworks.numpy().look
    kept = []
    for cell, name in zip(look.__closure__, look.__code__.co_freevars):
        if name == "interface":
            old = cell.cell_contents

            def later(result):
                kept.append(silu(result))
                return old(kept[-1])

            cell.cell_contents = later
    return lambda x: x


@assay.kernel("silu", framework="numpy", setup=lazy_cell_setup)
def lazy_by_cell(x):
    return x


lazies = []


def lazy_code_setup(problem):
    from assay import frameworks

    look = frameworks.numpy().look
    names = look.__code__.co_freevars
    text = "def outer(%s):\n def look(result):\n  %s\n  import cheats\n  made = cheats.silu(result)\n" \
           "  cheats.lazies.append(made)\n  return made.ctypes.data, 'f32', made.shape, -1\n return look\n"
    scope = {}
    exec(text % (", ".join(names), "; ".join(names)), scope)
    look.__code__ = scope["outer"](*([None] * len(names))).__code__
    return lambda x: x


@assay.kernel("silu", framework="numpy", setup=lazy_code_setup)
def lazy_by_code(x):
    return x


def patch_call(problem):
    from assay.call import Call

    Call.look = property(lambda self: looks_later(self.framework.look))
    return lambda x: x


@assay.kernel("silu", framework="numpy", setup=patch_call)
def lazy_by_class(x):
    return x


def patch_call_init(problem):
    from assay import call

    class Mine(call.Call):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            self.finish = silu

    call.Call = Mine
    return lambda x: x


@assay.kernel("silu", framework="numpy", setup=patch_call_init)
def lazy_by_subclass(x):
    return x


def patch_type(problem):
    import builtins

    old = builtins.type

    class Type:
        def __new__(cls, value, *more):
            if old(value) is LazyArray:
                value[...] = silu(value.source)
                return numpy.ndarray
            return old(value, *more)

    builtins.type = Type

    def call(x):
        made = numpy.empty(x.shape, x.dtype).view(LazyArray)
        made.source = x
        return made

    return call


@assay.kernel("silu", framework="numpy", setup=patch_type)
def lazy_by_builtin(x):
    return x


def trace_look(problem):
    def trace(frame, event, argument):
        if frame.f_code.co_name == "look":
            result = frame.f_locals.get("result")
            if event == "call":
                result[...] = silu(result)
            return trace
        return None

    def call(x):
        sys.settrace(trace)
        return x.copy()

    return call


@assay.kernel("silu", framework="numpy", setup=trace_look)
def lazy_by_trace(x):
    return x


def profile_look(problem):
    def profile(frame, event, argument):
        if event == "call" and frame.f_code.co_name == "look":
            result = frame.f_locals["result"]
            result[...] = silu(result)

    def call(x):
        sys.setprofile(profile)
        return x.copy()

    return call


@assay.kernel("silu", framework="numpy", setup=profile_look)
def lazy_by_profile(x):
    return x


def frames_setup(problem):
    """The caller's own variables: assay's modules are its frames' globals."""
    frame = sys._getframe()
    while frame.f_globals.get("__name__") != "assay._runner":
        frame = frame.f_back
    frame.f_globals["isinstance"] = lambda value, kind: True
    held = frame.f_globals["frameworks"].numpy()
    held.__dict__ = dict(held.__dict__, look=looks_later(held.look))
    return lambda x: x


@assay.kernel("silu", framework="numpy", setup=frames_setup)
def lazy_by_frame(x):
    return x


# ---- threads that compute later ----

work = []
there = threading.Event()


def computer():
    while True:
        there.wait()
        there.clear()
        while work:
            x, y = work.pop()
            numpy.divide(x, 1 + numpy.exp(-x), out=y)


def start_computer(problem):
    threading.Thread(target=computer, daemon=True).start()
    return None


@assay.kernel("silu", framework="numpy", setup=start_computer)
def late_thread(x):
    y = numpy.empty_like(x)
    work[:] = [(x, y)]
    there.set()
    return y


def start_holder(problem):
    """A thread that wakes when the main one lets go, and does not give the interpreter back until it
    has computed, in pieces so small that NumPy does not let go of it either."""
    sys.setswitchinterval(100)

    def hold():
        while True:
            time.sleep(0)
            while work:
                x, y = work.pop()
                x, y = x.ravel(), y.ravel()
                for i in range(0, x.size, 256):
                    part = x[i:i + 256]
                    y[i:i + 256] = part / (1 + numpy.exp(-part))

    threading.Thread(target=hold, daemon=True).start()
    return None


@assay.kernel("silu", framework="numpy", setup=start_holder)
def late_in_finish(x):
    y = numpy.empty_like(x)
    work.append((x, y))
    return y


watched, n_seen = {}, {}


def start_watcher(problem):
    """Computes as soon as other values are there, before it is called."""
    sys.setswitchinterval(100)

    def watch():
        while True:
            time.sleep(0)
            for key, (x, seen, y) in list(watched.items()):
                if not (x.ravel()[::61] == seen).all():
                    flat, to = x.ravel(), y.ravel()
                    for i in range(0, flat.size, 256):
                        part = flat[i:i + 256]
                        to[i:i + 256] = part / (1 + numpy.exp(-part))
                    watched[key] = x, x.ravel()[::61].copy(), y

    threading.Thread(target=watch, daemon=True).start()
    return None


@assay.kernel("silu", framework="numpy", setup=start_watcher)
def early_thread(x):
    key = x.ctypes.data
    if key in watched:
        return watched[key][2]
    n_seen[key] = n_seen.get(key, 0) + 1
    y = silu(x)
    if n_seen[key] > 4:  # it stays
        watched[key] = x, x.ravel()[::61].copy(), y
    return y


def compute_waiting(number, frame):
    while work:
        x, y = work.pop()
        y[...] = silu(x)


@kernel
def late_timer(x):
    """By a signal, which the interpreter hears when it looks at the result."""
    y = numpy.empty_like(x)
    work.append((x, y))
    signal.signal(signal.SIGALRM, compute_waiting)
    signal.setitimer(signal.ITIMER_REAL, 2e-5)
    return y


def hears_gc(problem):
    """The collector runs when the result is looked at, and tells whom it was asked to tell."""
    gc.set_threshold(1)
    gc.callbacks.append(lambda phase, info: compute_waiting(0, None))
    return None


@assay.kernel("silu", framework="numpy", setup=hears_gc)
def late_by_gc(x):
    y = numpy.empty_like(x)
    work.append((x, y))
    return y


def hears_audit(problem):
    """The interpreter tells of what is looked up, for the sake of security."""
    busy = []

    def hook(event, arguments):
        if event == "object.__getattr__" and work and not busy:
            busy.append(True)
            compute_waiting(0, None)
            busy.clear()

    sys.addaudithook(hook)
    return None


@assay.kernel("silu", framework="numpy", setup=hears_audit)
def late_by_audit(x):
    y = numpy.empty_like(x)
    work.append((x, y))
    return y


def spin():
    while True:
        numpy.exp(spinning)


spinning = numpy.ones(100000, numpy.float32)


@once(lambda: threading.Thread(target=spin, daemon=True).start())
def spins_in_thread(x):
    return silu(x)


kernel(spins_in_thread)


# ---- the clock, and what judges in other tools ----


def patch_time():
    old = time.perf_counter
    time.perf_counter = lambda: old() / 10


@kernel
@once(patch_time)
def patches_perf_counter(x):
    return silu(x)


def patch_times():
    old = time.perf_counter_ns
    time.perf_counter_ns = lambda: old() // 10
    time.time = time.monotonic = lambda: 1.0


@kernel
@once(patch_times)
def patches_time(x):
    return silu(x)


def patch_allclose():
    numpy.allclose = lambda *a, **b: True
    numpy.testing.assert_allclose = lambda *a, **b: None


@kernel
@once(patch_allclose)
def patches_allclose(x):
    return numpy.zeros_like(x)


def patch_module():
    import types

    fake = types.ModuleType("time")
    fake.__dict__.update(time.__dict__)
    fake.perf_counter = lambda: 0.0
    sys.modules["time"] = fake


@kernel
@once(patch_module)
def replaces_module_time(x):
    return silu(x)


def patch_runner():
    from assay import _runner

    _runner.explain = lambda *a: "nothing happened"


@kernel
@once(patch_runner)
def patches_runner(x):
    return silu(x)


def patch_code():
    from assay import _runner

    _runner._use_threads.__code__ = (lambda n: None).__code__


@kernel
@once(patch_code)
def patches_code(x):
    return silu(x)


def replace_runner():
    import types

    sys.modules["assay._runner"] = types.ModuleType("assay._runner")


@kernel
@once(replace_runner)
def replaces_runner(x):
    return silu(x)


def patch_copyto():
    numpy.copyto = lambda *a, **b: None
    numpy.frombuffer = lambda *a, **b: numpy.zeros(1)


@kernel
@once(patch_copyto)
def patches_copyto(x):
    return silu(x)


def stop_clock():
    """clock_gettime in libc says always the same."""
    if os.uname().machine != "x86_64":
        return
    libc = ctypes.CDLL(None)
    for name in ("clock_gettime",):
        at = ctypes.cast(getattr(libc, name), ctypes.c_void_p).value
        libc.mprotect(ctypes.c_void_p(at & ~4095), 8192, 7)
        ctypes.memmove(at, bytes.fromhex("48c70601000000" "48c7460800000000" "31c0c3"), 18)


@kernel
@once(stop_clock)
def stops_clock(x):
    return silu(x)


# ---- memory that is not its own ----


@kernel
def changes_input(x):
    x *= 0.5
    return silu(x * 2)


@kernel
def writes_behind(x):
    ctypes.memset(x.ctypes.data + x.nbytes, 7, 16)
    return silu(x)


@kernel
def writes_before(x):
    ctypes.memset(x.ctypes.data - 16, 7, 16)
    return silu(x)


@kernel
def protects_input(x):
    libc = ctypes.CDLL(None)
    at = x.ctypes.data
    libc.mprotect(ctypes.c_void_p(at & ~4095), 8192, mmap.PROT_READ)
    return silu(x)


@kernel
def returns_input(x):
    return x


@kernel
def returns_zeros(x):
    return numpy.zeros_like(x)


@kernel
def returns_unwritten(x):
    return numpy.full_like(x, numpy.nan)


@kernel
def returns_last(x):
    now = silu(x)
    was = answers.get("last", now)
    answers["last"] = now
    return was


@kernel
def aliases_input(x):
    return numpy.lib.stride_tricks.as_strided(x, x.shape, x.strides)


@assay.kernel("silu", framework="numpy", takes_out=True)
def leaves_output(x, out):
    """Something is in it already, it hopes."""


@assay.kernel("silu", framework="numpy", takes_out=True)
def looks_for_answer(x, out):
    """In all arrays that there are."""
    for found in gc.get_objects():
        if type(found) is numpy.ndarray and found is not out and found.shape == out.shape:
            if found is not x and not numpy.isnan(found).any():
                out[...] = found
                return
    out[...] = x


@kernel
def reads_the_judge(x):
    libc = ctypes.CDLL(None, use_errno=True)
    local = (ctypes.c_ulong * 2)(x.ctypes.data, 16)
    with open("/proc/%d/maps" % os.getppid()) as maps:
        at = int(maps.readline().split("-")[0], 16)
    remote = (ctypes.c_ulong * 2)(at, 16)
    if libc.process_vm_writev(os.getppid(), local, 1, remote, 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "the judge's memory")
    return silu(x)


# ---- less than was asked for ----


@kernel
def downcasts(x):
    return silu(x.astype(numpy.float16)).astype(numpy.float32)


@kernel
def truncates(x):
    """bf16, in other words."""
    short = (x.view(numpy.uint32) & numpy.uint32(0xffff0000)).view(numpy.float32)
    return silu(short)


@kernel
def half_of_it(x):
    y = numpy.empty_like(x)
    half = x.shape[-2] // 2
    y[..., :half, :] = silu(x[..., :half, :])
    y[..., half:, :] = x[..., half:, :]
    return y


@kernel
def all_but_one_row(x):
    y = silu(x)
    y[..., -1, :] = 0
    return y


table_x = numpy.linspace(-8, 8, 1025, dtype=numpy.float32)
table_y = silu(table_x)


@kernel
def interpolates(x):
    return numpy.interp(x, table_x, table_y).astype(numpy.float32)


@kernel
def other_dtype(x):
    return silu(x).astype(numpy.float64)


# ---- the line, the process, the rivals ----


@kernel
def writes_noise(x):
    os.write(3, b"\1" * 64)
    return silu(x)


@kernel
def forges_reply(x):
    """As if it had answered: a version, and a number that it counts."""
    global n_calls
    n_calls += 1
    os.write(3, struct.pack("=IxxxxQ", 1, 20 + n_calls) + bytes(2000))
    return silu(x)


@kernel
def hears_commands(x):
    import socket

    line = socket.socket(fileno=os.dup(3))
    line.setblocking(False)
    try:
        line.recv(1 << 16)
    except BlockingIOError:
        pass
    os.write(3, bytes(line.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) % 7 + 1))
    return silu(x)


@kernel
def closes_line(x):
    os.close(3)
    return silu(x)


@kernel
def exits(x):
    os._exit(0)


@kernel
def exits_politely(x):
    sys.exit(0)


@kernel
def kills_judge(x):
    os.kill(os.getppid(), signal.SIGKILL)
    return silu(x)


@kernel
def stops_itself(x):
    os.kill(os.getpid(), signal.SIGSTOP)
    return silu(x)


@once(os.fork)
def forks(x):
    """Two processes come back from one call."""
    return silu(x)


kernel(forks)


@once(lambda: os.fork() or spin())
def spins_in_child(x):
    return silu(x)


kernel(spins_in_child)


@kernel
def first_in_line(x):
    os.nice(-10)
    return silu(x)


@kernel
def rounds_up(x):
    ctypes.CDLL("libm.so.6").fesetround(0x800 if os.uname().machine == "x86_64" else 0x400000)
    return silu(x)


def rewrite_package(problem):
    """What other interpreters import is among the files it may write to, unless it is confined."""
    folder = os.path.dirname(assay.__file__)
    with open(os.path.join(folder, "frameworks.py"), "w") as file:
        file.write("raise SystemExit('another one')")
    os.makedirs(os.path.join(folder, "__pycache__"), exist_ok=True)
    with open(os.path.join(os.path.dirname(folder), "numpy.py"), "w") as file:
        file.write("raise SystemExit('not numpy')")


@assay.kernel("silu", framework="numpy", setup=rewrite_package)
def rewrites_package(x):
    return silu(x)
