"""The Python half of a runner: what the C half (python/src/guest.c) asks of kernels.

An object is a file of Python, or kernels that come with assay ("python:torch"). It is imported
once; everything here is called between samples, never inside one.
"""

import os
import sys

from assay import _assay, cuda_graphs, frameworks  # all of it before a stranger can change it
from assay.call import Call, Unsupported


_CONTENDERS = {
    "torch": ("torch_ops", "torch_gradients", "torch_training", "torch_models",
              "torch_model_training"),
    "triton": ("triton_ops",),
}


class _Contenders:
    """The kernels of several modules as one object."""

    def __init__(self, modules):
        self.KERNELS = [k for module in modules for k in module.KERNELS]
        self.module_of = {k["name"]: module for module in modules for k in module.KERNELS}

    def can_run(self, kernel, problem):
        return self.module_of[kernel].can_run(kernel, problem)

    def note(self, kernel, problem):
        return self.module_of[kernel].note(kernel, problem)

    def setup(self, kernel, problem):
        return self.module_of[kernel].setup(kernel, problem)


_object = None  # the module of contenders, plug-in or script that was loaded
_file = None  # the path of it, where it is a file
_words = []  # what explains the last exception: it is printed once


def main():
    """Serves the judge until the line is closed."""
    _assay.serve(sys.modules[__name__])


def readable():
    """Files and folders that this interpreter needs, for a sandbox."""
    paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.executable]
    paths += [p for p in sys.path if p]
    return [p for p in dict.fromkeys(map(os.path.abspath, paths)) if os.path.exists(p)]


def explain(kind, value, traceback):
    """The last line of a traceback; all of it goes to stderr."""
    import traceback as tracebacks

    if isinstance(value, Unsupported):  # said on purpose
        return str(value)
    lines = tracebacks.format_exception(kind, value, traceback)
    sys.stderr.write("".join(lines))
    sys.stderr.flush()
    if getattr(kind, "says_all", False):
        return " ".join(str(value).split())
    last = lines[-1].strip().splitlines() or [kind.__name__]
    at = _place(kind, value, traceback)
    return last[0] + at if len(last) == 1 else last[0] + " …" + at


def _place(kind, value, traceback):
    """Where in the user's file it was raised."""
    if isinstance(value, SyntaxError):
        return " (%s:%s)" % (os.path.basename(value.filename or "?"), value.lineno)
    place = ""
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if name == _file:
            place = " (%s:%d)" % (os.path.basename(name), traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


# ---- the object ----


def expect(path):
    """Imports what a stranger's file is going to need of assay and of frameworks, while it is what it
    should be."""
    import importlib.util

    name = os.path.basename(path)
    text = ""
    if os.path.isfile(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    modules = ["assay.plugin", "assay.cuda_graphs"]
    if name.startswith("benchmark"):
        modules.append("assay.scripts")
    for module in modules:
        importlib.import_module(module)
    if "triton" in text and importlib.util.find_spec("triton"):
        importlib.import_module("triton")
    frameworks.hold(text)


def load(path, device):
    """What the object holds for this device: {"kernels": […], "workloads": […]}."""
    global _object, _file
    if path.startswith("python:"):
        import importlib

        names = _CONTENDERS[path[len("python:"):]]
        _object = _Contenders([importlib.import_module("assay.contenders." + n) for n in names])
    else:
        from assay import plugin

        _file = os.path.abspath(path)
        _object = plugin.load(path)
        if hasattr(_object, "use_device"):
            _object.use_device(device)
    all = getattr(_object, "KERNELS", ())
    kernels = [k for k in all if k["device"] == device] or list(all)
    return {"kernels": kernels, "workloads": getattr(_object, "WORKLOADS", ())}


def tensor(address, size, dtype, dims, device):
    """Memory as a tensor of PyTorch."""
    return frameworks.torch().wrap(address, size, dtype, dims, device)


# ---- kernels ----


def can_run(kernel, problem):
    return _object.can_run(kernel, problem)


def note(kernel, problem):
    about = getattr(_object, "note", None)
    return about(kernel, problem) if about else None


def setup(kernel, problem):
    """A Call. An implementation that cannot do this raises NotImplementedError."""
    _use_threads(problem.threads)
    made = _object.setup(kernel, problem)
    call = made if isinstance(made, Call) else Call(made)
    call.framework = call.framework or frameworks.torch()
    _use_threads(problem.threads)
    return call


def _use_threads(n):
    """As many as every other contender has."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(n)


# ---- workloads ----


def declare(workload, threads, device):
    return _object.declare(workload, threads, device)


def fill(workload, index, seed):
    return frameworks.contents(_object.fill(workload, index, seed))


def verify(workload, inputs, output):
    return frameworks.contents(_object.verify(workload, inputs)[output])
