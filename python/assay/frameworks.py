"""Tensors of a framework from memory, and where a framework's tensors are.

The functions that look at results are taken from the framework's own types before any stranger's
code is imported: what a stranger puts in their place later is not called.
"""

import sys

from assay import _assay


class Framework:
    """How a framework's tensors come and go."""

    def __init__(self, wrap, look):
        self.wrap = wrap
        self.look = look


NO_TORCH = "PyTorch is not installed for %s: pip install torch"

_held = {}
_sealed = False  # a stranger's code has been imported


def has_torch():
    """Without importing it."""
    import importlib.util

    return importlib.util.find_spec("torch") is not None


def torch_version():
    """(PyTorch's version, that of its CUDA) as far as there are any, without importing it."""
    import importlib.util
    import os

    spec = importlib.util.find_spec("torch")
    found = {}
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8") as file:
            exec(file.read(), found)
    except Exception:
        return ()
    return tuple(v for v in (found.get("__version__"), found.get("cuda")) if v)


def hold(text=None):
    """Takes down the functions of the frameworks that are imported already, and of those that a file
    with this text is going to need. From here on no other ones are taken down."""
    global _sealed
    import re

    by_itself = text is not None and not re.search(r"framework\s*=\s*[\"']numpy", text)
    for name, take in (("torch", torch), ("numpy", numpy)):
        named = text is not None and (name in text or (name == "torch" and by_itself))
        if named or name in sys.modules:
            try:
                take()
            except ImportError:
                if name in sys.modules:
                    raise
    _sealed = text is not None


def held():
    """The frameworks whose functions have been taken down, by name."""
    return list(_held.items())


def torch():
    return _taken("torch", _torch)


def numpy():
    return _taken("numpy", _numpy)


def _taken(name, take):
    if name not in _held:
        framework = take()
        if _sealed:
            raise RuntimeError("%s was imported before assay could see it unchanged; write `import %s` "
                               "into the file itself" % (name, name))
        _held[name] = framework
    return _held[name]


def _torch():
    import torch
    from torch.utils.dlpack import from_dlpack

    names = {
        torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
        torch.int32: "s32", torch.int8: "s8", torch.uint8: "u8",
    }
    bytewise = {}  # types that travel as bytes
    for ours, theirs in (("e4m3", "float8_e4m3fn"), ("e5m2", "float8_e5m2")):
        dtype = getattr(torch, theirs, None)
        if dtype is not None:
            names[dtype] = ours
            bytewise[ours] = dtype
    base = torch._C._TensorBase
    pointer, contiguous = base.data_ptr, base.is_contiguous
    dtype_of, shape_of = base.dtype.__get__, base.shape.__get__
    device_of, layout_of = base.device.__get__, base.layout.__get__
    negated, conjugated = base.is_neg, base.is_conj
    kinds = (torch.Tensor, torch.nn.Parameter)
    strided = torch.strided

    def wrap(address, size, dtype, dims, device):
        made = from_dlpack(_assay.capsule(address, dtype, dims, device))
        return made.view(bytewise[dtype]) if dtype in bytewise else made

    def look(result):
        if type(result) not in kinds:
            raise TypeError("it returned %s, not a torch.Tensor" % _name(result))
        if layout_of(result) is not strided:
            raise TypeError("it returned a tensor of layout %s; return t.to_dense()"
                            % layout_of(result))
        if not contiguous(result):
            raise TypeError("it returned a tensor that is not contiguous; return t.contiguous()")
        if negated(result) or conjugated(result):
            raise TypeError("it returned a view that is negated when it is read; return "
                            "t.resolve_neg()")
        dtype, device = dtype_of(result), device_of(result)
        if device.type not in ("cpu", "cuda"):
            raise TypeError("it returned a tensor on another device (%s)" % device)
        if dtype not in names:
            raise TypeError("it returned %s, which no op of assay has" % dtype)
        if device.type not in ("cpu", "cuda"):
            raise TypeError("it returned a tensor on another device (%s)" % device.type)
        index = -1 if device.type == "cpu" else device.index or 0
        return pointer(result), names[dtype], tuple(shape_of(result)), index

    return Framework(wrap, look)


def _numpy():
    import numpy

    names = {"<f8": "f64", "<f4": "f32", "<f2": "f16", "<i4": "s32", "|i1": "s8", "|u1": "u8"}
    types = {ours: numpy.dtype(theirs) for theirs, ours in names.items()}
    array, asarray, frombuffer = numpy.ndarray, numpy.asarray, numpy.frombuffer
    scalars = frozenset(types[name].type for name in types)
    interface, flags = array.__array_interface__.__get__, array.flags.__get__
    kept = []  # what a scalar became, until the next one

    def wrap(address, size, dtype, dims, device):
        if dtype not in types:
            raise NotImplementedError("NumPy has no %s" % dtype)
        return frombuffer(_assay.view(address, size), types[dtype]).reshape(dims)

    def look(result):
        if type(result) in scalars:
            result = asarray(result)
            kept[:] = [result]
        if type(result) is not array:
            raise TypeError("it returned %s, not a numpy.ndarray" % _name(result))
        if not flags(result).c_contiguous:
            raise TypeError("it returned an array that is not contiguous")
        name = result.dtype.str  # its `name` is made by functions of Python's
        if name not in names:
            raise TypeError("it returned %s, which no op of assay has" % result.dtype)
        return interface(result)["data"][0], names[name], result.shape, -1

    return Framework(wrap, look)


def _name(value):
    return "None" if value is None else "a %s.%s" % (type(value).__module__, type(value).__name__)


def contents(tensor):
    """A tensor's values on the host, as something with a buffer; the owner is kept beside it."""
    if "torch" in sys.modules and isinstance(tensor, sys.modules["torch"].Tensor):
        held = tensor.detach().cpu().contiguous()
        return _assay.view(held.data_ptr(), held.numel() * held.element_size()), held
    return tensor
