"""What must be the same after a stranger's code has run as it was before (python/src/intact.c).

Listed once, before any of it is imported: assay's own functions, down to their code and what they
close over, the builtins that they use, and what people time and compare with in other tools, because
whoever replaces that means to deceive somebody.
"""

import builtins
import sys
import types

from assay import frameworks

_CLOCKS = ("perf_counter", "perf_counter_ns", "time", "time_ns", "monotonic", "monotonic_ns",
           "process_time", "process_time_ns", "thread_time", "thread_time_ns", "clock_gettime",
           "clock_gettime_ns")
# What other tools time and compare with: a module, and names in it.
_JUDGES = (
    ("timeit", ("default_timer", "Timer", "timeit", "repeat")),
    ("numpy", ("allclose", "isclose", "array_equal", "copyto", "frombuffer")),
    ("numpy.testing", ("assert_allclose", "assert_array_equal", "assert_array_almost_equal",
                       "assert_almost_equal", "assert_equal")),
    ("torch", ("allclose", "isclose", "equal", "from_dlpack")),
    ("torch.testing", ("assert_close", "assert_allclose")),
    ("torch.utils.dlpack", ("from_dlpack",)),
    ("torch.utils.benchmark", ("Timer",)),
    ("torch.cuda", ("synchronize", "Event", "Stream", "current_stream", "default_stream", "stream",
                    "graph", "CUDAGraph", "is_current_stream_capturing", "set_stream",
                    "ExternalStream", "graph_pool_handle", "set_sync_debug_mode")),
    ("triton.testing", ("do_bench", "do_bench_cudagraph")),
)
_METHODS = (
    ("torch.cuda", "Event", ("record", "elapsed_time", "synchronize", "wait", "query")),
    ("torch.cuda", "Stream", ("synchronize", "wait_stream", "wait_event", "record_event")),
    ("torch.cuda", "CUDAGraph", ("replay", "capture_begin", "capture_end")),
)


class _List:
    """(words, container, key, by_item) of each thing, once."""

    def __init__(self):
        self.entries = []
        self.seen = set()

    def item(self, words, container, key):
        self.entries.append((words, container, key, True))

    def attribute(self, words, container, key):
        self.entries.append((words, container, key, False))

    def value(self, words, value):
        """What a function, a property or a class is made of."""
        if id(value) in self.seen:
            return
        self.seen.add(id(value))
        if type(value) is types.FunctionType:
            self.function(words, value)
        elif type(value) is property:
            for part in (value.fget, value.fset):
                self.value(words, part)
        elif type(value) in (staticmethod, classmethod):
            self.value(words, value.__func__)
        elif isinstance(value, type) and value.__module__.partition(".")[0] == "assay":
            self.names(words, vars(value))
            for key in ("__bases__", "__new__", "__getattribute__"):
                self.attribute(words, value, key)
            self.item(words, vars(value), "__getattr__")

    def function(self, words, function):
        for key in ("__code__", "__defaults__", "__kwdefaults__"):
            self.attribute("%s.%s" % (words, key), function, key)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            inside = "%s, its %s," % (words, name)
            self.attribute(inside, cell, "cell_contents")
            try:
                self.value(inside, cell.cell_contents)
            except ValueError:  # it is empty
                pass
        self.globals(function.__code__, function.__globals__)

    def globals(self, code, scope):
        """The builtins that a function uses are these, and nothing of the same name hides them."""
        for name in code.co_names:
            if name not in scope and hasattr(builtins, name):
                key = id(scope), name
                if key not in self.seen:
                    self.seen.add(key)
                    self.item("builtins." + name, vars(builtins), name)
                    self.item("builtins." + name, scope, name)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.globals(constant, scope)

    def names(self, words, scope):
        """The functions and modules of a scope."""
        for name, value in list(scope.items()):
            if callable(value) or isinstance(value, (types.ModuleType, property, staticmethod,
                                                     classmethod)):
                self.item("%s.%s" % (words, name), scope, name)
                self.value("%s.%s" % (words, name), value)


def _judges(out):
    vars_of = {name: vars(module) for name, module in sys.modules.items()
               if isinstance(module, types.ModuleType)}
    for module, names in (("time", _CLOCKS),) + _JUDGES:
        if module in vars_of:
            out.item(module, sys.modules, module)
            for name in names:
                out.item("%s.%s" % (module, name), vars_of[module], name)
    for module, kind, names in _METHODS:
        owner = vars_of.get(module, {}).get(kind)
        for name in names if owner is not None else ():
            out.attribute("%s.%s.%s" % (module, kind, name), owner, name)


def _tracers():
    tracers = [sys.gettrace, sys.getprofile]
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:  # Python 3.12
        import functools

        tracers += [functools.partial(monitoring.get_tool, i) for i in range(6)]
    return tuple(tracers)


def hold():
    """(what looks at results, everything else, tracers)"""
    looking, rest = _List(), _List()
    for name, framework in frameworks.held():
        words = "assay.frameworks." + name
        looking.attribute(words, framework, "__dict__")
        for key, value in vars(framework).items():
            looking.item("%s.%s" % (words, key), vars(framework), key)
            looking.value("%s.%s" % (words, key), value)
    looking.names("assay.call", vars(sys.modules["assay.call"]))
    looking.value("assay.frameworks.Framework", frameworks.Framework)
    rest.seen = looking.seen
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "assay" and isinstance(module, types.ModuleType):
            rest.item(name, sys.modules, name)
            rest.names(name, vars(module))
    _judges(rest)
    return looking.entries, rest.entries, _tracers()
