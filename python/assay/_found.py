"""What this interpreter has of PyTorch and Triton, found out without importing them: that takes seconds.

`assay info` runs this file's text by itself, so it imports nothing of assay's.
"""

import importlib.util
import os
import re
import sys
import sysconfig


def absent(package, called):
    """Why there is no such package for this interpreter, or None."""
    if importlib.util.find_spec(package):
        return None
    return "%s is not installed for %s: %s" % (called, sys.executable, how_to_get(package))


def how_to_get(package):
    """What to type: a system's own interpreter takes its packages from the system."""
    own = sys.prefix != sys.base_prefix  # a virtual environment
    marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    if own or not os.path.exists(marker):
        return "pip install " + package
    if package == "torch" and os.path.exists("/etc/debian_version"):
        return "apt install python3-torch, or pip install torch in a virtual environment"
    return "pip install %s in a virtual environment" % package


def version_file():
    """PyTorch's own version.py as a dictionary of strings, without importing PyTorch."""
    spec = importlib.util.find_spec("torch")
    if not spec or not spec.origin:
        return {}
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "version.py")) as file:
            return dict(re.findall(r"^(\w+)[^=\n]*= *'([^']*)'", file.read(), re.MULTILINE))
    except OSError:
        return {}


def version():
    """(2, 11); of a PyTorch that does not say: one that has everything."""
    numbers = re.match(r"(\d+)\.(\d+)", version_file().get("__version__", ""))
    return tuple(map(int, numbers.groups())) if numbers else (99, 0)


def too_old(least, what):
    """Why `what`, which came with version `least`, cannot be had; or None."""
    if version() >= least:
        return None
    return "%s needs PyTorch %d.%d; this is %s" % (
        (what,) + least + (version_file()["__version__"],))


# ---- for `assay info` and `assay list implementations`: lines of a name, a tab and what is known ----


def about(imports):
    """With `imports`, whether they work too."""
    print("python\t%s, Python %d.%d.%d" % ((sys.executable,) + sys.version_info[:3]))
    for name, tell in (("torch", _torch), ("torch-compile", _torch_compile), ("triton", _triton)):
        try:
            text = tell(imports)
        except BaseException as error:
            text = "cannot be imported: %s: %s" % (type(error).__name__, " ".join(str(error).split()))
        print("%s\t%s" % (name, text))


def _torch(imports):
    reason = absent("torch", "PyTorch")
    if reason:
        return "not found: " + reason
    found = version_file()
    words = ["PyTorch " + found.get("__version__", "of an unknown version")]
    words.append("built for CUDA " + found["cuda"] if found.get("cuda") else "built without CUDA")
    if imports:
        import torch

        words.append("finds " + torch.cuda.get_device_name(0) if torch.cuda.is_available()
                     else "finds no GPU")
    return ", ".join(words)


def _torch_compile(imports):
    reason = absent("torch", "PyTorch")
    if reason:
        return "not found: " + reason
    reason = too_old((2, 1), "torch.compile")
    if reason:
        return "not found: " + reason
    if version_file().get("cuda") and not importlib.util.find_spec("triton"):
        return "torch.compile, on CPUs; on GPUs it takes Triton, which is not installed"
    return "torch.compile of the same PyTorch"


def _triton(imports):
    reason = absent("triton", "Triton")
    if reason:
        return "not found: " + reason
    if imports:
        import triton

        return "Triton " + triton.__version__
    from importlib import metadata

    try:
        return "Triton " + metadata.version("triton")
    except metadata.PackageNotFoundError:
        return "Triton of an unknown version"
