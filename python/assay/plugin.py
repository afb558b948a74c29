"""Kernels of known ops in a user's file, and how such a file is loaded.

    import assay

    @assay.kernel("gelu", dtypes=["f32", "bf16"])
    def my_gelu(x):
        return torch.nn.functional.gelu(x)

`assay bench gelu --plugin my_kernels.py` measures it beside all others.
"""

import os
import sys

from assay import frameworks

_kernels = {}  # by name
_name = "python"  # of the file that is being loaded


def kernel(op, dtypes=("f32",), device="cpu", name=None, implementation=None, takes_out=False,
           framework="torch", setup=None, can_run=None, preference=0):
    """Makes a function a kernel of `op`.

    It is called with the op's inputs as tensors of `framework` ("torch" or "numpy") and returns the
    outputs; with `takes_out` it is given them behind the inputs, to be written. `setup(problem)`,
    untimed, may return another function to call; `can_run(problem)` says None, or why not.
    """

    def add(function):
        own = name or "%s_%s" % (_name, function.__name__)
        if own in _kernels:
            raise ValueError("there is a kernel %s already" % own)
        described = {
            "name": own, "op": op, "implementation": implementation or _name, "device": device,
            "dtypes": [dtypes] if isinstance(dtypes, str) else list(dtypes),
            "preference": preference,
        }
        _kernels[own] = described, function, takes_out, framework, setup, can_run
        return function

    return add


class _Plugin:
    """A file of kernels as the runner asks it."""

    WORKLOADS = ()

    def __init__(self, path):
        self.__file__ = path
        self.KERNELS = [k[0] for k in _kernels.values()]

    @staticmethod
    def can_run(name, problem):
        described, function, takes_out, framework, setup, can_run = _kernels[name]
        return can_run(problem) if can_run and problem is not None else None

    @staticmethod
    def setup(name, problem):
        from assay.call import Call

        described, function, takes_out, framework, setup, can_run = _kernels[name]
        made = setup(problem) if setup else None
        return Call(made or function, takes_out, getattr(frameworks, framework)())


def load(path):
    """The kernels of a file, or the workloads of a benchmark script."""
    global _name
    path = os.path.abspath(path)
    _name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(path))
    if _name.startswith("benchmark"):
        from assay import scripts

        return scripts.load(path)
    _run(path)
    return _Plugin(path)


def _run(path):
    import importlib.util

    spec = importlib.util.spec_from_file_location(_name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[_name] = module
    spec.loader.exec_module(module)
