"""Read by the tests of the Python packages: where these are, and what is not to be imported.

$ASSAY_PACKAGE      the folder with the built package (default: build/python of this tree)
$ASSAY_BLOCK        modules that are as if they were not installed: "torch,numpy"
"""

import importlib.abc
import importlib.util
import os
import sys
import unittest
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
PACKAGE = os.environ.get("ASSAY_PACKAGE") or os.path.join(SOURCE, "build", "python")
BLOCKED = tuple(name for name in os.environ.get("ASSAY_BLOCK", "").split(",") if name)

sys.dont_write_bytecode = True
sys.path.insert(0, PACKAGE)


class _Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def _installed(name):
    return name not in BLOCKED and importlib.util.find_spec(name) is not None


HAVE_NUMPY, HAVE_TORCH = _installed("numpy"), _installed("torch")
sys.meta_path.insert(0, _Blocker())

if sys.version_info < (3, 11) or not os.path.exists(os.path.join(PACKAGE, "assay", "_assay.abi3.so")):
    print("skipped: no Python 3.11, or the extension was not built (python3-dev was missing)")
    sys.exit(77)

needs_numpy = unittest.skipUnless(HAVE_NUMPY, "no NumPy")
needs_torch = unittest.skipUnless(HAVE_TORCH, "no PyTorch")


def child_environment(**more):
    """For a Python that a test starts."""
    path = os.pathsep.join([PACKAGE, HERE, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **more}


_unraisable = []


def main():
    """unittest.main, where a warning of ours, or an exception nobody could catch, is a failure."""
    for category in (DeprecationWarning, ResourceWarning, RuntimeWarning, SyntaxWarning):
        warnings.filterwarnings("error", category=category, module=r"(assay|kohakubench|__main__)(\..*)?$")
    sys.unraisablehook = _unraisable.append
    program = unittest.main(module="__main__", exit=False, warnings=None if sys.warnoptions else "default")
    for one in _unraisable:
        print(f"raised where nobody could catch it: {one.exc_value!r} in {one.object!r}")
    ran = program.result.testsRun - len(program.result.skipped)
    if program.result.wasSuccessful() and not _unraisable and ran == 0:
        print("skipped: everything in it needs what is not installed")
        sys.exit(77)
    sys.exit(not program.result.wasSuccessful() or bool(_unraisable))
