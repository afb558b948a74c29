"""A stand-in for PyTorch on a stand-in for a GPU (tests/device/fake_cuda.c): one op, streams, and
graphs whose memory is their own. What a capture does to it is as of PyTorch 2.11; with TORCH_OLD
set it is as of 2.5, which could not keep the graph."""

import ctypes
import os
import sys
import types

__version__ = "2.5.0" if os.environ.get("TORCH_OLD") else "2.11.0"

_cu = ctypes.CDLL(os.environ["ASSAY_CUDA_DRIVER"])
_Pointer, _Size = ctypes.c_void_p, ctypes.c_size_t
_cu.fake_cuda_relu.argtypes = [_Pointer, _Pointer, _Pointer, ctypes.c_int64]
_cu.cuMemAlloc_v2.argtypes = [_Pointer, _Size]
_cu.cuMemFree_v2.argtypes = [_Pointer]
_cu.cuStreamBeginCapture_v2.argtypes = [_Pointer, ctypes.c_int]
_cu.cuStreamEndCapture.argtypes = [_Pointer, _Pointer]
_cu.cuStreamSynchronize.argtypes = [_Pointer]
_cu.cuStreamCreate.argtypes = [_Pointer, ctypes.c_uint]
_cu.cuGraphDestroy.argtypes = [_Pointer]
_cu.cuGraphInstantiateWithFlags.argtypes = [_Pointer, _Pointer, ctypes.c_ulonglong]
_cu.cuGraphLaunch.argtypes = [_Pointer, _Pointer]
_cu.cuGraphExecDestroy.argtypes = [_Pointer]

TEXTS = {900: "operation not permitted when stream is capturing",
         901: "operation failed due to a previous error during capture",
         904: "capturing stream has unjoined work"}


class AcceleratorError(RuntimeError):
    def __init__(self, code):
        super().__init__("CUDA error: " + TEXTS.get(code, "number %d" % code))
        self.error_code = code


def _check(code):
    if code:
        raise AcceleratorError(code)


# ---- tensors ----

class dtype:
    def __init__(self, name, size):
        self.name, self.itemsize = name, size


float64, float32, float16 = dtype("float64", 8), dtype("float32", 4), dtype("float16", 2)
bfloat16, int32 = dtype("bfloat16", 2), dtype("int32", 4)
int8, uint8 = dtype("int8", 1), dtype("uint8", 1)
strided = "strided"
_codes = {(2, 32): float32, (2, 64): float64, (2, 16): float16, (4, 16): bfloat16}
_free = {}  # by bytes: what the graph that is being captured, or no graph, has given back
_device = types.SimpleNamespace(type="cuda", index=0)


class _Memory:
    """A piece of the GPU's, of a graph's pool or of the common one."""

    def __init__(self, size):
        self.size, self.pool = size, cuda._capturing and cuda._pool
        kept = _free.setdefault((self.pool, size), [])
        if kept:
            self.address = kept.pop()
        else:
            address = _Pointer()
            _check(_cu.cuMemAlloc_v2(ctypes.byref(address), size))
            self.address = address.value

    def __del__(self):
        _free[self.pool, self.size].append(self.address)


class _TensorBase:
    def __init__(self, address, kind, shape, memory=None):
        self._address, self._kind, self._shape, self._memory = address, kind, shape, memory

    def data_ptr(self):
        return self._address

    def is_contiguous(self):
        return True

    def is_neg(self):
        return False

    is_conj = is_neg

    dtype = property(lambda self: self._kind)
    shape = property(lambda self: self._shape)
    device = property(lambda self: _device)
    layout = property(lambda self: strided)

    def item(self):
        if cuda._waits_are == "error":
            raise RuntimeError("called a synchronizing CUDA operation")
        _check(_cu.cuStreamSynchronize(cuda._current.cuda_stream))
        return ctypes.c_float.from_address(self._address).value


class Tensor(_TensorBase):
    pass


def _count(shape):
    n = 1
    for size in shape:
        n *= size
    return n


def empty_like(x):
    memory = _Memory(_count(x.shape) * x.dtype.itemsize)
    return Tensor(memory.address, x.dtype, x.shape, memory)


def relu(x, out=None):
    out = out or empty_like(x)
    _check(_cu.fake_cuda_relu(cuda._current.cuda_stream, x.data_ptr(), out.data_ptr(),
                              _count(x.shape)))
    return out


def set_num_threads(n):
    pass


class _Shown(ctypes.Structure):
    _fields_ = [("data", _Pointer), ("device", ctypes.c_int32), ("index", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64))]


def from_dlpack(capsule):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = _Pointer, [ctypes.py_object, ctypes.c_char_p]
    shown = _Shown.from_address(pointer(capsule, b"dltensor"))
    assert shown.device == 2, "not a GPU's"
    shape = tuple(shown.shape[i] for i in range(shown.rank))
    return Tensor(shown.data, _codes[shown.code, shown.bits], shape)


# ---- torch.cuda ----

class _Stream:
    def __init__(self, cuda_stream=None, device=None):
        if cuda_stream is None:
            made = _Pointer()
            _check(_cu.cuStreamCreate(ctypes.byref(made), 1))
            cuda_stream = made.value
        self.cuda_stream = cuda_stream

    def wait_stream(self, other):
        """Only a stream that is being captured is joined, or not."""
        if cuda._capturing and other.cuda_stream == cuda._capturing:
            cuda._forked.add(self.cuda_stream)
        cuda._forked.discard(other.cuda_stream)


class _On:
    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        self.before, cuda._current = cuda._current, self.stream

    def __exit__(self, *_):
        cuda._current = self.before


class _CUDAGraph:
    def __init__(self, **options):
        if os.environ.get("TORCH_OLD") and options:
            raise TypeError("CUDAGraph() takes no arguments")
        self.graph = self.exec = None

    def capture_begin(self, pool=None, capture_error_mode="global"):
        assert capture_error_mode == "thread_local" and pool
        _check(_cu.cuStreamBeginCapture_v2(cuda._current.cuda_stream, 1))
        cuda._capturing, cuda._pool = cuda._current.cuda_stream, pool

    def capture_end(self):
        assert cuda._current.cuda_stream == cuda._capturing, "on the stream it began on"
        graph = _Pointer()
        code = _cu.cuStreamEndCapture(cuda._capturing, ctypes.byref(graph))
        unjoined, cuda._capturing, cuda._forked = cuda._forked, 0, set()
        _check(code)
        self.graph = graph.value
        if unjoined:
            self.reset()
            _check(904)

    def instantiate(self):
        made = _Pointer()
        _check(_cu.cuGraphInstantiateWithFlags(ctypes.byref(made), self.graph, 1))
        self.exec = made.value

    def replay(self):
        _check(_cu.cuGraphLaunch(self.exec, cuda._current.cuda_stream))

    def raw_cuda_graph(self):
        return self.graph

    def raw_cuda_graph_exec(self):
        return self.exec

    def reset(self):
        if self.exec:
            _cu.cuGraphExecDestroy(self.exec)
        if self.graph:
            _cu.cuGraphDestroy(self.graph)
        self.graph = self.exec = None


def _synchronize():
    _check(_cu.cuStreamSynchronize(cuda._current.cuda_stream))


def _pool_handle():
    cuda._pools += 1
    return 0, cuda._pools


def _treat_waits(how):
    cuda._waits_are = how


cuda = types.ModuleType("torch.cuda")
cuda._capturing, cuda._pool, cuda._pools, cuda._forked = 0, None, 0, set()
cuda._waits_are, cuda._current = "default", _Stream(0)
cuda.is_available = lambda: True
cuda.Stream = cuda.ExternalStream = _Stream
cuda.stream = _On
cuda.set_stream = lambda stream: setattr(cuda, "_current", stream)
cuda.current_stream = lambda: cuda._current
cuda.current_device = lambda: 0
cuda.CUDAGraph = _CUDAGraph
cuda.graph_pool_handle = _pool_handle
cuda.get_sync_debug_mode = lambda: cuda._waits_are
cuda.set_sync_debug_mode = _treat_waits
cuda.synchronize = _synchronize
cuda.empty_cache = lambda: None
cuda.is_current_stream_capturing = lambda: bool(cuda._capturing)

_C = types.ModuleType("torch._C")
_C._TensorBase = _TensorBase
nn = types.ModuleType("torch.nn")
nn.Parameter = type("Parameter", (Tensor,), {})
utils = types.ModuleType("torch.utils")
utils.dlpack = types.ModuleType("torch.utils.dlpack")
utils.dlpack.from_dlpack = from_dlpack
for _name, _module in (("cuda", cuda), ("_C", _C), ("nn", nn), ("utils", utils),
                       ("utils.dlpack", utils.dlpack)):
    sys.modules["torch." + _name] = _module
