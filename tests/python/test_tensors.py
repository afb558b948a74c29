"""The ways in which tensors come: DLPack's table of a type, its capsules of both versions, buffers, CUDA's interface;
what is tried when one refuses; what is refused altogether."""
# Also without packages

import array
import ctypes
import gc
import struct
import unittest

import lib
from lib import needs_numpy, needs_torch

from assay import _assay


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class Dtype(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", Dtype),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("version", Version), ("context", ctypes.c_void_p), ("deleter", DELETER), ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]  # fmt: skip


FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


class Table(ctypes.Structure):
    _fields_ = [
        ("version", Version), ("previous", ctypes.c_void_p), ("allocate", ctypes.c_void_p),
        ("from_object", FROM_OBJECT), ("to_object", ctypes.c_void_p), ("borrow", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]  # fmt: skip


CPU, CUDA, METAL = 1, 2, 8
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL, E4M3FN, E5M2 = 0, 1, 2, 4, 5, 6, 10, 12

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Source:
    """Memory that tensors are made of, and how often one of them was given back."""

    def __init__(self, values, shape, code=FLOAT, bits=32, lanes=1, strides=None, device=CPU, offset=0):
        self.memory = ctypes.create_string_buffer(values, len(values))
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = (ctypes.c_int64 * max(len(shape), 1))(*strides) if strides else None
        self.tensor = Tensor(
            ctypes.addressof(self.memory), Device(device, 0), len(shape), Dtype(code, bits, lanes), self.shape,
            self.strides, offset,
        )  # fmt: skip
        self.given_back = 0
        self.deleter = DELETER(self._delete)

    def _delete(self, _):
        self.given_back += 1

    def managed(self):
        self.kept = Managed(self.tensor, None, self.deleter)
        return self.kept

    def versioned(self, flags=0, major=1):
        self.kept = Versioned(Version(major, 1), None, self.deleter, flags, self.tensor)
        return self.kept


FLOATS = struct.pack("<6f", *range(6))


class Old:
    """An array of before DLPack 1.0: its method takes no max_version."""

    def __init__(self, source):
        self.source = source

    def __dlpack__(self, stream=None):
        return new_capsule(ctypes.addressof(self.source.managed()), b"dltensor", None)


class New:
    def __init__(self, source, flags=0, major=1):
        self.source, self.flags, self.major = source, flags, major

    def __dlpack__(self, *, stream=None, max_version=None):
        assert max_version == (1, 0), max_version
        return new_capsule(ctypes.addressof(self.source.versioned(self.flags, self.major)), b"dltensor_versioned", None)


def type_with_table(major=1, raises=False, as_integer=False, previous=None):
    """A type whose tensors come by the table alone."""

    class Quick:
        def __init__(self, source, flags=0):
            self.source, self.flags = source, flags

    @FROM_OBJECT
    def from_object(address, out):
        if raises:
            return -1
        quick = ctypes.cast(address, ctypes.py_object).value
        out[0] = ctypes.addressof(quick.source.versioned(quick.flags))
        return 0

    table = Table(Version(major, 3), ctypes.addressof(previous) if previous else None, None, from_object)
    Quick.table, Quick.function = table, from_object
    if as_integer:
        Quick.__c_dlpack_exchange_api__ = ctypes.addressof(table)
    else:
        Quick.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(table), b"dlpack_exchange_api", None)
    return Quick


class Reading(unittest.TestCase):
    def expect(self, tensor, protocol, writable=True, dims=(2, 3)):
        self.assertEqual(_assay.read(tensor), ("float32", dims, FLOATS, writable, "cpu", protocol))

    def test_the_table_of_a_type(self):
        source = Source(FLOATS, (2, 3))
        self.expect(type_with_table()(source), "exchange")
        self.assertEqual(source.given_back, 1)

    def test_the_table_as_an_integer(self):
        self.expect(type_with_table(as_integer=True)(Source(FLOATS, (2, 3))), "exchange")

    def test_the_table_tells_what_may_not_be_written(self):
        self.expect(type_with_table()(Source(FLOATS, (2, 3)), flags=1), "exchange", writable=False)

    def test_a_later_table_with_an_earlier_one_behind_it(self):
        earlier = type_with_table()
        self.expect(type_with_table(major=2, previous=earlier.table)(Source(FLOATS, (2, 3))), "exchange")
        with self.assertRaisesRegex(TypeError, "not a tensor"):
            _assay.read(type_with_table(major=2)(Source(FLOATS, (2, 3))))

    def test_a_table_that_fails_and_does_not_say_why(self):
        with self.assertRaisesRegex(BufferError, "did not say why"):
            _assay.read(type_with_table(raises=True)(Source(FLOATS, (2, 3))))

    def test_a_capsule_of_version_1(self):
        self.expect(New(Source(FLOATS, (2, 3))), "__dlpack__")
        self.expect(New(Source(FLOATS, (2, 3)), flags=1), "__dlpack__", writable=False)

    def test_a_capsule_of_a_version_that_is_not_known(self):
        with self.assertRaisesRegex(TypeError, "a later DLPack"):
            _assay.read(New(Source(FLOATS, (2, 3)), major=2))

    def test_a_capsule_of_version_0(self):
        self.expect(Old(Source(FLOATS, (2, 3))), "__dlpack__")

    def test_strides_and_offset(self):
        padded = struct.pack("<9f", 9, 0, 3, 1, 4, 2, 5, 9, 9)
        self.expect(Old(Source(padded, (2, 3), strides=(1, 2), offset=4)), "__dlpack__")

    def test_no_dimensions_and_no_elements(self):
        one = Old(Source(FLOATS, ()))
        self.assertEqual(_assay.read(one)[1:3], ((), FLOATS[:4]))
        self.assertEqual(_assay.read(Old(Source(FLOATS, (0, 3))))[1:3], ((0, 3), b""))

    def test_types(self):
        known = {
            (FLOAT, 64): "float64", (FLOAT, 16): "float16", (BFLOAT, 16): "bfloat16", (E4M3FN, 8): "float8_e4m3fn",
            (E5M2, 8): "float8_e5m2", (INT, 8): "int8", (INT, 64): "int64", (UINT, 16): "uint16", (BOOL, 8): "bool",
        }  # fmt: skip
        for (code, bits), name in known.items():
            self.assertEqual(_assay.read(Old(Source(b"\1" * 8, (1,), code, bits)))[0], name)
        for code, bits, lanes in ((COMPLEX, 64, 1), (FLOAT, 128, 1), (FLOAT, 32, 2), (UINT, 4, 1), (E4M3FN, 8, 2), (17, 4, 1)):
            with self.assertRaisesRegex(TypeError, "of a type that assay cannot compare"):
                _assay.read(Old(Source(b"\1" * 16, (1,), code, bits, lanes)))

    def test_other_devices(self):
        with self.assertRaisesRegex(TypeError, "a device that assay cannot read"):
            _assay.read(Old(Source(FLOATS, (2, 3), device=METAL)))

    def test_too_many_dimensions(self):
        with self.assertRaisesRegex(TypeError, "too many dimensions"):
            _assay.read(Old(Source(FLOATS, (1,) * 33)))

    def test_one_that_refuses_and_another_way(self):
        class Both(array.array):
            def __dlpack__(self, **kwargs):
                raise BufferError("not this one")

        self.assertEqual(_assay.read(Both("f", [1, 2]))[:2], ("float32", (2,)))
        self.assertEqual(_assay.read(Both("f", [1, 2]))[5], "buffer")

    def test_the_first_refusal_is_told(self):
        class Neither:
            def __dlpack__(self, **kwargs):
                raise BufferError("not this one")

        with self.assertRaisesRegex(BufferError, "not this one"):
            _assay.read(Neither())
        for nothing in (object(), 3, "text", None):
            with self.assertRaisesRegex(TypeError, "not a tensor"):
                _assay.read(nothing)

    def test_ctrl_c_is_not_a_refusal(self):
        class Interrupted:
            def __dlpack__(self, **kwargs):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            _assay.read(Interrupted())

    def test_what_is_no_capsule(self):
        class Strange:
            def __dlpack__(self, **kwargs):
                return 3

        with self.assertRaises((TypeError, ValueError)):
            _assay.read(Strange())


class Buffers(unittest.TestCase):
    def test_types_of_array(self):
        for code, name in {"f": "float32", "d": "float64", "b": "int8", "H": "uint16", "q": "int64"}.items():
            values = array.array(code, [1, 2, 3])
            found = _assay.read(values)
            self.assertEqual(found, (name, (3,), values.tobytes(), True, "cpu", "buffer"))

    def test_bytes_may_not_be_written(self):
        self.assertEqual(_assay.read(b"abc"), ("uint8", (3,), b"abc", False, "cpu", "buffer"))
        with self.assertRaisesRegex(ValueError, "read-only"):
            _assay.write(b"abc", b"xyz")

    def test_write(self):
        values = array.array("f", [1, 2, 3])
        _assay.write(values, struct.pack("<3f", 4, 5, 6))
        self.assertEqual(list(values), [4, 5, 6])
        with self.assertRaisesRegex(ValueError, "of another size"):
            _assay.write(values, b"1234")

    def test_parts_of_a_memoryview(self):
        view = memoryview(array.array("i", range(6))).cast("b").cast("i", (2, 3))
        self.assertEqual(_assay.read(view)[:2], ("int32", (2, 3)))
        every_other = memoryview(array.array("i", range(6)))[::2]
        self.assertEqual(_assay.read(every_other)[2], struct.pack("<3i", 0, 2, 4))


class Cuda(unittest.TestCase):
    """What can be seen of the interface without a GPU: it is understood, or refused, before anything is copied."""

    def array(self, **fields):
        class Array:
            __cuda_array_interface__ = {"shape": (2,), "typestr": "<f4", "data": (0x1000, False), "version": 3, **fields}

        return Array()

    def test_refused(self):
        refusals = {
            "incomplete": {"shape": None},
            "has a mask": {"mask": object()},
            "cannot compare": {"typestr": ">f4"},
        }
        for words, fields in refusals.items():
            with self.assertRaisesRegex(TypeError, words):
                _assay.read(self.array(**fields))
        with self.assertRaisesRegex(TypeError, "cannot compare"):
            _assay.read(self.array(typestr="<i16"))
        with self.assertRaises((TypeError, OverflowError)):
            _assay.read(self.array(data=("address", False)))

    def test_empty_needs_no_gpu(self):
        found = _assay.read(self.array(shape=(0, 3), data=(0, True)))
        self.assertEqual(found, ("float32", (0, 3), b"", False, "cuda", "__cuda_array_interface__"))

    def test_not_contiguous(self):
        with self.assertRaisesRegex(TypeError, "not contiguous"):
            _assay.read(self.array(shape=(2, 3), strides=(4, 8)))


class Frameworks(unittest.TestCase):
    @needs_numpy
    def test_numpy(self):
        import numpy

        for dtype in ("float64", "float32", "float16", "int64", "int8", "uint32", "bool"):
            x = numpy.arange(6).astype(dtype).reshape(2, 3).T
            name, dims, values, writable, _, _ = _assay.read(x)
            self.assertEqual((name, dims, values, writable), (dtype, (3, 2), x.tobytes(), True))
        x.flags.writeable = False
        self.assertFalse(_assay.read(x)[3])
        with self.assertRaisesRegex((TypeError, BufferError), ""):
            _assay.read(numpy.zeros(2, "complex64"))

    @needs_torch
    def test_torch(self):
        import torch

        x = torch.arange(6.0).reshape(2, 3)
        self.assertEqual(_assay.read(x)[:4], ("float32", (2, 3), FLOATS, True))
        self.assertEqual(_assay.read(x.t())[1], (3, 2))
        self.assertEqual(_assay.read(x.bfloat16())[0], "bfloat16")
        _assay.write(x, FLOATS[::-1])
        self.assertEqual(_assay.read(x)[2], FLOATS[::-1])
        with self.assertRaises((BufferError, RuntimeError, TypeError)):
            _assay.read(torch.zeros(2, requires_grad=True))

    @needs_torch
    def test_capsules_of_ours(self):
        import torch
        from torch.utils.dlpack import from_dlpack

        memory = array.array("f", range(6))
        made = from_dlpack(_assay.capsule(memory.buffer_info()[0], "f32", (2, 3), -1))
        self.assertTrue(torch.equal(made, torch.arange(6.0).reshape(2, 3)))
        made[0, 0] = 9
        self.assertEqual(memory[0], 9)


class Nothing(unittest.TestCase):
    def test_is_kept(self):
        quick = type_with_table()
        sources = [Source(FLOATS, (2, 3)) for _ in range(3)]
        tensors = [quick(sources[0]), Old(sources[1]), New(sources[2])]
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(1000):
            for tensor in tensors:
                _assay.read(tensor)
        gc.collect()
        self.assertLess(len(gc.get_objects()) - before, 20)
        self.assertEqual(sources[0].given_back, 1000)


if __name__ == "__main__":
    lib.main()
