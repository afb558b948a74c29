"""Ten thousand calls leave nothing behind: no references to what was passed, no objects, no memory."""

import array
import gc
import sys
import unittest

import lib
from lib import needs_torch

import assay
from assay import _assay

CALLS = 10_000
FEW = 16  # objects that come and go with caches of the interpreter's


def nothing(x):
    return None


def raises(x):
    raise ValueError(x)


class Leaks(unittest.TestCase):
    def unchanged(self, step, *held, calls=CALLS):
        """`step`, so often, leaves the reference counts of `held` and the number of objects as they were."""
        for _ in range(20):
            step()
        gc.collect()
        blocks = sys.getallocatedblocks()
        counts = [sys.getrefcount(thing) for thing in held]
        objects = len(gc.get_objects())
        for _ in range(calls):
            step()
        gc.collect()
        self.assertEqual([sys.getrefcount(thing) for thing in held], counts)
        self.assertLess(abs(len(gc.get_objects()) - objects), FEW)
        self.assertLess(abs(sys.getallocatedblocks() - blocks), max(300, calls // 20))

    def test_timed_calls(self):
        x, keywords = object(), {"x": object()}

        def step():
            cases = [("a", nothing, (x,), None, 0, 0), ("b", nothing, (), keywords, 0, 0)]
            _assay.measure(cases, "cpu", None, 1, CALLS // 2, 0.0, 0.0, 0, None)

        self.unchanged(step, x, keywords, nothing, calls=3)

    def test_sessions(self):
        x = object()
        case = ("a", nothing, (x,), None, 0, 0)
        self.unchanged(lambda: _assay.measure([case], "cpu", None, 1, 1, 0.0, 0.0, 0, None), x, case, nothing, calls=300)

    def test_exceptions(self):
        x = object()
        case = ("a", raises, (x,), None, 0, 0)
        self.unchanged(lambda: _assay.measure([case], "cpu", None, 1, 1, 0.0, 0.0, 0, None), x, case, raises, calls=300)

    def test_bad_arguments(self):
        def step():
            for wrong in ([], [3], [("a", 3, (), None, 0, 0)], [("a", nothing, (), [], 0, 0)], 7):
                try:
                    _assay.measure(wrong, "cpu", None, 1, 1, 0.0, 0.0, 0, None)
                except (TypeError, ValueError):
                    continue
                raise AssertionError(wrong)

        self.unchanged(step, nothing, calls=CALLS // 5)

    def test_values(self):
        x = array.array("f", range(16))

        def step():
            dtype, dims, values, *_ = _assay.read(x)
            other = _assay.stir(dtype, values, 1)
            _assay.write(x, values)
            _assay.compare(dtype, values, dtype, other, 1.0, -1.0, -1.0)

        self.unchanged(step, x)

    def test_refusals(self):
        thing = object()

        def step():
            try:
                _assay.read(thing)
            except TypeError:
                pass

        self.unchanged(step, thing)

    def test_capsules_that_nobody_takes(self):
        memory = array.array("f", range(16))
        address = memory.buffer_info()[0]
        self.unchanged(lambda: _assay.capsule(address, "f32", (4, 4), -1))

    def test_views(self):
        memory = array.array("f", range(16))
        address = memory.buffer_info()[0]
        self.unchanged(lambda: _assay.view(address, 64))

    def test_bench(self):
        x = array.array("d", range(16))
        self.unchanged(lambda: assay.bench(sum, x, reference=sum, warmup=1, iters=1, quiet=True), x, sum, calls=1000)

    @needs_torch
    def test_tensors(self):
        import torch

        x = torch.randn(4, 4)
        self.unchanged(lambda: _assay.read(x), x, calls=CALLS // 10)


if __name__ == "__main__":
    lib.main()
