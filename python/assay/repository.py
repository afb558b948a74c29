"""The kernel of a repository, as its benchmarks get it: a Python module.

It is looked for in this order: prebuilt, in build/<variant>/; as Python, in torch-ext/<name>/, where
build.toml names nothing to compile; compiled (assay.extension) from what build.toml names.
"""

import hashlib
import importlib.util
import os
import platform
import re
import sys
import types

from assay.call import Unsupported

UNIVERSAL = ("torch-universal", "torch-noarch")
_modules = {}  # by repository and device


def kernel(root, device):
    """The module. Unsupported says why there is none for this interpreter and device."""
    kind = device.split(":")[0]
    check_device(kind)
    if (root, kind) not in _modules:
        _modules[root, kind] = _find(root, kind)
    return _modules[root, kind]


def check_device(kind):
    """Unsupported where PyTorch cannot use the GPU that assay found."""
    import torch

    if kind == "cuda" and not torch.cuda.is_available():
        why = "cannot use this GPU" if torch.version.cuda else "has no CUDA"
        raise Unsupported("PyTorch %s of %s %s; --device cpu runs this on the CPU" % (
            torch.__version__, sys.executable, why))


def _find(root, kind):
    config = configuration(root)
    name = name_of(root, config)
    prebuilt, there = _prebuilt(root, name, kind)
    if prebuilt:
        return _import(prebuilt, name)
    package = os.path.join(root, "torch-ext", name)
    if not os.path.isfile(os.path.join(package, "__init__.py")):
        raise Unsupported(_nothing(root, kind, there))
    from assay import extension

    if not extension.sections(config):
        return _import(package, name, _ops(name))
    library, namespace = extension.compiled(root, config, name, kind)
    import torch

    torch.ops.load_library(library)
    return _import(package, name, _ops(namespace))


def _nothing(root, kind, there):
    if there:
        return "build/ has no kernel for this machine (%s): it has %s" % (
            ", ".join(wanted_variants(kind)[:1]), ", ".join(there[:4]) + (", …" if there[4:] else ""))
    return "there is no kernel: neither build/<variant>/ nor torch-ext/<name>/__init__.py in %s" % (
        os.path.basename(root) or root)


# ---- build.toml ----


def configuration(root):
    import tomllib

    try:
        with open(os.path.join(root, "build.toml"), "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise ValueError("build.toml: %s" % error) from None


def name_of(root, config):
    """Of the Python package."""
    name = config.get("general", {}).get("name")
    if name:
        return str(name).replace("-", "_")
    folder = os.path.join(root, "torch-ext")
    packages = [d for d in sorted(os.listdir(folder) if os.path.isdir(folder) else ())
                if os.path.isfile(os.path.join(folder, d, "__init__.py"))]
    return packages[0] if packages else os.path.basename(root).replace("-", "_")


# ---- build/ ----


def wanted_variants(kind):
    """Names of variants that fit this PyTorch, the best first."""
    import torch

    version = "".join(torch.__version__.split("+")[0].split(".")[:2])
    abi = "cxx11" if torch._C._GLIBCXX_USE_CXX11_ABI else "cxx98"
    system = "%s-%s" % (platform.machine(), platform.system().lower())
    exact = "torch%s-%s-%s-%s" % (version, abi, _backend(kind), system)
    return [exact, "torch-" + kind, *UNIVERSAL]


def _backend(kind):
    import torch

    if kind != "cuda":
        return kind
    if getattr(torch.version, "hip", None):
        return "rocm" + "".join(torch.version.hip.split(".")[:2])
    return "cu" + (torch.version.cuda or "").replace(".", "")


def choose_variant(names, kind):
    """The best of these variants for this PyTorch, or None. One for an earlier minor version of the
    same CUDA will do."""
    wanted = wanted_variants(kind)
    for name in wanted[:1]:
        if name in names:
            return name
    exact = re.fullmatch(r"(.*-cu)(\d+)(\d)(-.*)", wanted[0])
    if exact:
        earlier = [(int(m[1]), n) for n in names for m in
                   [re.fullmatch(re.escape(exact[1] + exact[2]) + r"(\d)" + re.escape(exact[4]), n)]
                   if m and int(m[1]) < int(exact[3])]
        if earlier:
            return max(earlier)[1]
    return next((name for name in wanted[1:] if name in names), None)


def _prebuilt(root, name, kind):
    """The package's folder or None, and the variants there are."""
    folder = os.path.join(root, "build")
    there = sorted(d for d in (os.listdir(folder) if os.path.isdir(folder) else ())
                   if d.startswith("torch") and os.path.isdir(os.path.join(folder, d)))
    chosen = choose_variant(there, kind) if there else None  # which imports PyTorch: seconds
    if not chosen:
        return None, there
    variant = os.path.join(folder, chosen)
    inner = [os.path.join(variant, d) for d in sorted(os.listdir(variant))]
    inner = [d for d in inner if os.path.isfile(os.path.join(d, "__init__.py"))]
    for package in (os.path.join(variant, name), variant, *(inner if len(inner) == 1 else ())):
        if os.path.isfile(os.path.join(package, "__init__.py")):
            return package, there
    return None, there


# ---- modules ----


def _import(package, name, ops=None):
    """A package under a name of its own, so that two repositories' are not mistaken."""
    own = "%s_%s" % (name, hashlib.sha256(package.encode()).hexdigest()[:8])
    spec = importlib.util.spec_from_file_location(
        own, os.path.join(package, "__init__.py"), submodule_search_locations=[package])
    module = importlib.util.module_from_spec(spec)
    sys.modules[own] = module
    if ops is not None and not os.path.exists(os.path.join(package, "_ops.py")):
        ops.__name__ = own + "._ops"
        sys.modules[ops.__name__] = ops
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[own]
        raise
    return module


def _ops(namespace):
    """The module _ops, which the builder of such repositories adds to the package."""
    import torch

    module = types.ModuleType("_ops")
    module.ops = getattr(torch.ops, namespace)
    module.add_op_namespace_prefix = lambda op: "%s::%s" % (namespace, op)
    return module
