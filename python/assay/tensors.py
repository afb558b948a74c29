"""Tensors of an instance: found, told apart by their memory, and replaced by others."""

OPERANDS = "_assay_operands"  # the attribute of an instance that tells where its tensors are

_CONTAINERS = (list, tuple, dict)
_DEPTH = 4


def _torch():
    import torch

    return torch


def _names():
    torch = _torch()
    names = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
             torch.int32: "s32", torch.int8: "s8", torch.uint8: "u8"}
    for ours, theirs in (("e4m3", "float8_e4m3fn"), ("e5m2", "float8_e5m2")):
        if hasattr(torch, theirs):
            names[getattr(torch, theirs)] = ours
    return names


def dtype_name(tensor):
    return _names()[tensor.dtype]


def dtype_of(name):
    return {ours: theirs for theirs, ours in _names().items()}[name]


def is_tensor(value):
    return isinstance(value, _torch().Tensor)


def is_module(value):
    return isinstance(value, _torch().nn.Module)


def is_as_precise(dtype, other):
    """May values of the one stand for a reference of the other?"""
    torch = _torch()
    if dtype == other:
        return True
    both = dtype.is_floating_point and other.is_floating_point
    return both and torch.finfo(dtype).eps <= torch.finfo(other).eps


def as_tuple(value):
    """A tensor, or several, as a tuple; what is none is left out."""
    values = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(v for v in values if is_tensor(v))


def outputs_of(instance):
    return as_tuple(vars(instance).get("out"))[:2]


def plain(shape):
    """Without dimensions of 1."""
    return tuple(n for n in shape if n != 1)


def shaped(tensor, dims):
    """Contiguous, and in these dimensions where it has as many elements."""
    count = 1
    for n in dims:
        count *= n
    return (tensor.reshape(dims) if tensor.numel() == count else tensor).contiguous()


def walk(value, path=(), depth=0):
    """All tensors in a value and its containers, with the way to each."""
    if is_tensor(value):
        yield path, value
    elif isinstance(value, dict) and depth < _DEPTH:
        for key, item in value.items():
            yield from walk(item, path + (key,), depth + 1)
    elif isinstance(value, (list, tuple)) and depth < _DEPTH:
        for i, item in enumerate(value):
            yield from walk(item, path + (i,), depth + 1)


def replaced(value, table, depth=0):
    """The same value with other tensors, by the identity of each."""
    if id(value) in table:
        return table[id(value)]
    if depth >= _DEPTH or not isinstance(value, _CONTAINERS):
        return value
    if isinstance(value, dict):
        items = {k: replaced(v, table, depth + 1) for k, v in value.items()}
        if all(items[k] is v for k, v in value.items()):
            return value
        return items
    items = [replaced(v, table, depth + 1) for v in value]
    if all(a is b for a, b in zip(items, value)):
        return value
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def storage_of(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def storage_bytes(tensor):
    return storage_of(tensor).nbytes()


def storage_key(tensor):
    """The same for tensors that share memory."""
    if tensor.layout is not _torch().strided:
        return id(tensor)
    address = storage_of(tensor).data_ptr()
    return (str(tensor.device), address) if address else id(tensor)


def can_be_operand(tensor, device):
    torch = _torch()
    return (type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided
            and tensor.dtype in _names() and tensor.numel() > 0 and is_on(tensor, device)
            and tensor.is_leaf)


def is_on(tensor, device):
    kind = device.split(":")[0]
    return tensor.device.type == kind


def check(tensor, name, device):
    """What is compared must be something the judge can read."""
    if tensor.dtype not in _names():
        raise TypeError("%s is %s, which assay does not compare" % (name, tensor.dtype))
    if not is_on(tensor, device):
        raise TypeError("%s is on %s, and this runs on %s" % (name, tensor.device, device))
    if tensor.numel() == 0:
        raise ValueError("%s is empty" % name)


def same(a, b):
    """Bit for bit."""
    torch = _torch()
    return bool(torch.equal(a.detach().reshape(-1).view(torch.uint8), b.detach().reshape(-1).view(torch.uint8)))
