"""Is a function's output right? It is compared with a reference's, in double, on several inputs.

The values are copied to the host and compared in C; no framework is imported here."""

import sys

from assay import _assay

DERIVED = -1.0


class Leaf:
    """A tensor's values at one time, on the host."""

    __slots__ = ("dtype", "dims", "values", "writable", "device")

    def __init__(self, tensor):
        self.dtype, self.dims, self.values, self.writable, self.device = _read(tensor)

    def count(self):
        n = 1
        for dim in self.dims:
            n *= dim
        return n


#: Types that a framework's DLPack may refuse, and what they are to assay: they travel as bytes.
_BYTEWISE = {"torch.float8_e4m3fn": "float8_e4m3fn", "torch.float8_e5m2": "float8_e5m2", "torch.bool": "bool"}


def _as_bytes(tensor):
    """(the same memory as uint8, the name of its type), or None where that is not known."""
    torch = sys.modules.get("torch")
    name = _BYTEWISE.get(str(getattr(tensor, "dtype", "")))
    if torch is None or name is None or not isinstance(tensor, torch.Tensor):
        return None
    return tensor.view(torch.uint8), name


def _read(tensor):
    if isinstance(tensor, (bool, int, float)):
        import struct

        return "float64", (), struct.pack("<d", tensor), False, "cpu"
    plain = _plain(tensor)
    try:
        return _assay.read(plain)[:5]
    except (TypeError, RuntimeError, BufferError) as error:
        bytewise = _as_bytes(plain)
        if bytewise is None:
            raise TypeError(str(error)) from error
    dtype, dims, values, writable, device, _ = _assay.read(bytewise[0])
    return bytewise[1], dims, values, writable, device


def _plain(tensor):
    """Without what DLPack refuses."""
    if getattr(tensor, "requires_grad", False):
        tensor = tensor.detach()
    return tensor.contiguous() if _is_scattered(tensor) else tensor


def _is_scattered(tensor):
    """A tensor on a GPU that is read, and written, by way of a contiguous copy."""
    return getattr(tensor, "is_cuda", False) and not tensor.is_contiguous()


def is_tensor(value):
    names = ("__dlpack__", "__dlpack_c_exchange_api__", "__array_interface__", "__cuda_array_interface__")
    if isinstance(value, type):
        return False
    buffer = isinstance(value, (bytearray, memoryview)) or type(value).__module__ == "array"
    return buffer or any(hasattr(value, name) for name in names)


def tensors(value, found=None):
    """The tensors in tuples, lists and dicts, in order."""
    found = [] if found is None else found
    if isinstance(value, (tuple, list)):
        for item in value:
            tensors(item, found)
    elif isinstance(value, dict):
        for item in value.values():
            tensors(item, found)
    elif is_tensor(value):
        found.append(value)
    return found


def outputs(value):
    """What a function returned: tensors and numbers, in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in outputs(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in outputs(item)]
    if value is None:
        return []
    return [Leaf(value)]


class Inputs:
    """The tensors among the arguments, and their values when this was made."""

    def __init__(self, args, kwargs):
        self.tensors = []
        self.leaves = []
        for tensor in tensors((args, kwargs)):
            try:
                self.leaves.append(Leaf(tensor))
            except TypeError:
                continue
            self.tensors.append(tensor)

    def changed(self):
        """The numbers of those that have other values now."""
        return [i for i, leaf in enumerate(self.leaves) if Leaf(self.tensors[i]).values != leaf.values]

    def restore(self):
        for i in self.changed():
            self._write(i, self.leaves[i].values)

    def stir(self, seed):
        """Other values of the same signs; False where there is nothing that can be changed."""
        done = False
        for i, leaf in enumerate(self.leaves):
            values = _assay.stir(leaf.dtype, leaf.values, seed + i)
            if leaf.writable and values != leaf.values:
                self._write(i, values)
                done = True
        return done

    def terms(self, leaf):
        """The most values that may have been summed for one of an output."""
        longest = max((dim for x in self.leaves for dim in x.dims), default=1)
        elements = sum(x.count() for x in self.leaves)
        return float(max(longest, elements // max(leaf.count(), 1), 1))

    def _write(self, i, values):
        if self.leaves[i].writable:
            tensor = self.tensors[i]
            plain = _plain(tensor)
            bytewise = self.leaves[i].dtype in _BYTEWISE.values() and _as_bytes(plain)
            _assay.write(bytewise[0] if bytewise else plain, values)
            if _is_scattered(tensor):
                tensor.detach().copy_(plain)


class Mismatch(Exception):
    """What is wrong, in one sentence."""


class Check:
    """A function's outputs beside the reference's. `max_abs` and `max_rel` are the greatest errors."""

    def __init__(self, reference, args, kwargs, rtol=None, atol=None):
        self.reference, self.args, self.kwargs = reference, args, kwargs
        self.rtol = DERIVED if rtol is None else float(rtol)
        self.atol = DERIVED if atol is None else float(atol)
        self.inputs = Inputs(args, kwargs)
        self._expected = {}

    def before(self, state):
        """Mismatch: it is wrong. Otherwise `state` knows more of it."""
        self._compare(state, 0, "")
        self._compare_stirred(state, 1, " on changed inputs")

    def after(self, state):
        self._compare_stirred(state, 2, " after timing")

    def _compare_stirred(self, state, seed, when):
        try:
            if not self.inputs.stir(seed << 20):
                state.note("verified on one set of inputs: none of them can be changed")
            elif self._expect(seed) is None:
                state.note("verified on one set of inputs: the reference fails on changed ones")
            else:
                self._compare(state, seed, when)
        finally:
            self.inputs.restore()

    def _expect(self, seed):
        """The reference's outputs on the inputs as they are now; None where it fails on changed ones."""
        if seed not in self._expected:
            now = Inputs(self.args, self.kwargs)
            try:
                self._expected[seed] = outputs(self.reference(*self.args, **self.kwargs))
            except Exception:
                if seed == 0:
                    raise
                self._expected[seed] = None
            now.restore()
        return self._expected[seed]

    def _compare(self, state, seed, when):
        expected = self._expect(seed)
        now = Inputs(self.args, self.kwargs)
        got = outputs(state.fn(*self.args, **self.kwargs))
        changed = now.changed()
        if changed:
            state.changes_inputs(changed)
            now.restore()
        if len(got) != len(expected):
            raise Mismatch(f"returned {_plural(len(got))}, the reference {_plural(len(expected))}")
        for i, (mine, theirs) in enumerate(zip(got, expected)):
            self._compare_one(state, i, mine, theirs, when)
        state.last = got

    def _compare_one(self, state, i, got, expected, when):
        if got.dims != expected.dims:
            raise Mismatch(f"output {i} has the shape {list(got.dims)}, the reference's {list(expected.dims)}")
        wrong, first, value, right, allowed, most, relative = _assay.compare(
            got.dtype, got.values, expected.dtype, expected.values, self.inputs.terms(expected), self.rtol, self.atol
        )
        state.max_abs_error = max(most, state.max_abs_error or 0.0)
        state.max_rel_error = max(relative, state.max_rel_error or 0.0)
        if not wrong:
            return
        if state.last and i < len(state.last) and state.last[i].values == got.values:
            raise Mismatch(f"output {i} is that of a call with other inputs: it was kept, not computed{when}")
        raise Mismatch(
            f"{wrong} of {got.count()} wrong{when}, first at {coordinates(first, got.dims)}: "
            f"got {value:.6g}, expected {right:.6g} (within {allowed:.2g}), greatest error {most:.3g}"
        )


def _plural(n):
    return "nothing" if n == 0 else "1 output" if n == 1 else f"{n} outputs"


def coordinates(index, dims):
    """'[3,17,255]'."""
    places = []
    for dim in reversed(dims):
        places.append(str(index % dim))
        index //= dim
    return "[" + ",".join(reversed(places)) + "]"
