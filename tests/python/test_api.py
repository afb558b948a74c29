"""bench, compare, their decorators, results and tables: with PyTorch, with NumPy alone, without either."""
# Also without packages

import array
import io
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import lib
from lib import needs_numpy, needs_torch

import assay
from assay import _assay

QUICK = {"warmup": 1, "iters": 5, "quiet": True}


def doubles(*values):
    return array.array("d", values)


def total(x):
    return sum(x)


def total_by_loop(x):
    result = 0.0
    for value in x:
        result += value
    return result


def in_parts(x):
    with assay.range("outer"):
        with assay.range("inner"):
            return total(x)


class Profile(unittest.TestCase):
    def trace(self, **how):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            result = assay.bench(in_parts, doubles(1, 2, 3), profile=path, **QUICK, **how)
            self.assertTrue(result.ok, result.reason)
            with open(path) as file:
                return json.load(file)["traceEvents"]

    def names(self, events, category):
        return [e["name"] for e in events if e.get("cat") == category]

    def test_calls_and_ranges_are_in_the_trace(self):
        events = self.trace()
        calls = len(self.names(events, "call"))
        self.assertGreaterEqual(calls, 3)
        self.assertEqual(self.names(events, "range").count("outer"), calls)
        self.assertEqual(self.names(events, "range").count("inner"), calls)
        self.assertEqual(len(self.names(events, "sample")), QUICK["iters"])
        outer, inner = (next(e for e in events if e["name"] == name) for name in ("outer", "inner"))
        self.assertLessEqual(outer["ts"], inner["ts"])
        self.assertGreaterEqual(outer["ts"] + outer["dur"], inner["ts"] + inner["dur"])

    def test_without_a_profile_ranges_do_nothing(self):
        self.assertTrue(assay.bench(in_parts, doubles(1), **QUICK).ok)
        with assay.range("alone") as alone:
            self.assertEqual(alone.name, "alone")

    def test_what_is_raised_within_a_range_goes_on(self):
        with self.assertRaises(ZeroDivisionError), assay.range("fails"):
            1 / 0

    def test_a_file_that_cannot_be_written_is_told_at_once(self):
        with self.assertRaisesRegex(ValueError, "cannot be written"):
            assay.bench(in_parts, doubles(1), profile="/nosuch/folder/t.json", **QUICK)
        with self.assertRaisesRegex(RuntimeError, "No space left"):
            assay.bench(in_parts, doubles(1), profile="/dev/full", **QUICK)
        with self.assertRaises(TypeError):
            assay.bench(in_parts, doubles(1), profile=3, **QUICK)


class Import(unittest.TestCase):
    def test_nothing_of_a_framework_is_imported(self):
        code = "import assay, sys; print(sorted(m for m in ('torch', 'numpy', 'triton', 'cuda') if m in sys.modules))"
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-W", "error", "-c", code],
            env=lib.child_environment(), capture_output=True, text=True,
        )  # fmt: skip
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("[]\n", "", 0))

    def test_version_and_names(self):
        self.assertEqual(assay.__version__, _assay.version())
        for name in assay.__all__:
            self.assertTrue(callable(getattr(assay, name)), name)
        self.assertIn("kernel", dir(assay))
        with self.assertRaisesRegex(AttributeError, "has no attribute 'nothing'"):
            assay.nothing


class Bench(unittest.TestCase):
    def test_a_function_alone(self):
        r = assay.bench(total, doubles(1, 2, 3), **QUICK)
        self.assertEqual((r.name, r.status, r.ok, r.reason), ("total", "ok", True, ""))
        self.assertEqual((r.samples, r.warmup, len(r.times)), (5, 1, 5))
        self.assertLessEqual(r.min, r.median)
        self.assertLessEqual(r.interval[0], r.median)
        self.assertLessEqual(r.median, r.interval[1])
        self.assertIsNone(r.verified)
        self.assertIsNone(r.speedup)
        self.assertEqual((r.device, r.cache, r.isolated), ("cpu", "hot", False))

    def test_until_precise_or_spent(self):
        r = assay.bench(total, doubles(*range(100)), budget=0.05, quiet=True)
        self.assertTrue(r.ok, r)
        self.assertGreater(r.samples, 2)

    def test_the_call_has_its_arguments(self):
        seen = []
        assay.bench(lambda *a, **k: seen.append((a, k)), 1, "two", kwargs={"three": 3}, **QUICK)
        self.assertEqual(seen, [((1, "two"), {"three": 3})] * len(seen))
        self.assertEqual(len(seen), 6)

    def test_cold(self):
        r = assay.bench(total, doubles(1, 2), cold=True, **QUICK)
        self.assertEqual((r.status, r.cache), ("ok", "cold"))

    def test_cold_on_a_gpu_is_not_claimed(self):
        with mock.patch("assay.api._measure"):
            r = assay.bench(total, doubles(1, 2), cold=True, device="cuda:0", stream=0, **QUICK)
        self.assertEqual(r.cache, "hot")
        self.assertIn("measured hot", r.notes[0])

    def test_counters(self):
        x = doubles(*range(10))
        r = assay.bench(total, x, flops=10, bytes=lambda values: 8 * len(values), **QUICK)
        self.assertEqual((r.flops, r.bytes), (10, 80))
        self.assertAlmostEqual(r.flops_per_s * r.median, 10)
        self.assertAlmostEqual(r.bytes_per_s * r.median, 80)
        self.assertRegex(str(r), r"(?m)^name .* memory .* arithmetic")

    def test_settings_that_make_no_sense(self):
        for wrong in ({"warmup": 0}, {"iters": -1}, {"precision": 0}, {"budget": 0}):
            with self.assertRaisesRegex(ValueError, f"{next(iter(wrong))} must be > 0"):
                assay.bench(total, doubles(1), **{"quiet": True, **wrong})
        with self.assertRaisesRegex(TypeError, "3 is not callable"):
            assay.bench(3)
        with self.assertRaisesRegex(TypeError, "reference 3 is not callable"):
            assay.bench(total, doubles(1), reference=3)


class Verification(unittest.TestCase):
    def check(self, fn, *args, **more):
        return assay.bench(fn, *args, **{**QUICK, **more})

    def test_right(self):
        r = self.check(total_by_loop, doubles(1, 2, 3), reference=total)
        self.assertEqual((r.status, r.verified), ("ok", True), r.reason)
        self.assertEqual(r.max_abs_error, 0)
        self.assertEqual(r.notes, [])

    def test_wrong(self):
        r = self.check(lambda x: sum(x) + 1, doubles(1, 2, 3), reference=total)
        self.assertEqual((r.status, r.verified), ("mismatch", False))
        self.assertRegex(r.reason, r"1 of 1 wrong.*got 7, expected 6")
        self.assertIsNone(r.median)

    def test_kept_answers(self):
        kept = {}
        r = self.check(lambda x: kept.setdefault(id(x), sum(x)), doubles(1, 2, 3), reference=total)
        self.assertEqual(r.status, "mismatch")
        self.assertIn("it was kept, not computed", r.reason)

    def test_wrong_only_after_timing(self):
        calls = []

        def tires(x):
            calls.append(1)
            return sum(x) if len(calls) < 6 else 0.0

        r = self.check(tires, doubles(1, 2, 3), reference=total)
        self.assertEqual(r.status, "mismatch")
        self.assertIn("after timing", r.reason)

    def test_number_and_shape_of_outputs(self):
        two = self.check(lambda x: (sum(x), 0.0), doubles(1), reference=total)
        self.assertEqual(two.reason, "returned 2 outputs, the reference 1 output")
        none = self.check(lambda x: None, doubles(1), reference=total)
        self.assertEqual(none.reason, "returned nothing, the reference 1 output")
        longer = self.check(lambda x: doubles(1, 2), doubles(1), reference=lambda x: doubles(1))
        self.assertIn("output 0 has the shape [2], the reference's [1]", longer.reason)

    def test_inputs_are_as_they_were(self):
        x = doubles(3, 1, 2)

        def sorts(values):
            values[:] = array.array("d", sorted(values))
            return sum(values)

        r = self.check(sorts, x, reference=total)
        self.assertEqual(r.status, "ok", r.reason)
        self.assertEqual(list(x), [3, 1, 2])
        self.assertIn("changes its inputs: tensor 0", r.notes)

    def test_tolerances(self):
        off = {"reference": total}
        self.assertEqual(self.check(lambda x: sum(x) * 1.001, doubles(1), **off).status, "mismatch")
        self.assertEqual(self.check(lambda x: sum(x) * 1.001, doubles(1), rtol=0.01, **off).status, "ok")
        self.assertEqual(self.check(lambda x: sum(x) * 1.001, doubles(1), atol=0.01, **off).status, "ok")

    def test_nan_is_not_close(self):
        r = self.check(lambda x: float("nan"), doubles(1), reference=total, atol=1e9)
        self.assertEqual(r.status, "mismatch")

    def test_what_cannot_be_changed_is_said(self):
        r = self.check(lambda x: sum(x), (1, 2), reference=lambda x: 3)
        self.assertEqual(r.status, "ok", r.reason)
        self.assertIn("verified on one set of inputs: none of them can be changed", r.notes)

    def test_a_reference_that_raises(self):
        def broken(x):
            raise KeyError("no")

        r = self.check(total, doubles(1), reference=broken)
        self.assertEqual(r.status, "failed")
        self.assertEqual(r.reason, "the reference: KeyError: 'no'")


class Memory(unittest.TestCase):
    def test_a_call_does_not_fault_its_memory_in_again(self):
        import resource

        def allocates():  # what is at the heap's end is more than glibc keeps of itself
            return [bytearray(100_000) for _ in range(40)]

        def faults():
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

        if "MALLOC_TRIM_THRESHOLD_" in os.environ or "GLIBC_TUNABLES" in os.environ:
            self.skipTest("the heap is set up by hand")
        assay.bench(allocates, **QUICK)
        before = faults()
        assay.bench(allocates, warmup=1, iters=100, quiet=True)
        self.assertLess((faults() - before) / 101, 20)


class Failures(unittest.TestCase):
    def test_an_exception_is_a_result(self):
        def raises(x):
            raise LookupError("nothing there\nand more")

        r = assay.bench(raises, 1, **QUICK)
        self.assertEqual((r.status, r.reason), ("failed", "LookupError: nothing there"))
        self.assertIsInstance(r.error, LookupError)
        self.assertIn("in raises", r.traceback)
        self.assertNotIn("error", r.to_dict())

    def test_exit_is_one(self):
        self.assertEqual(assay.bench(lambda: sys.exit(3), **QUICK).reason, "SystemExit: 3")

    def test_later_calls_fail(self):
        calls = []

        def third(x):
            calls.append(1)
            if len(calls) > 2:
                raise ValueError("enough")

        r = assay.bench(third, 1, **QUICK)
        self.assertEqual((r.status, r.reason), ("failed", "ValueError: enough"))

    def test_ctrl_c_is_everybodys(self):
        def interrupted():
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            assay.bench(interrupted, **QUICK)

    def test_one_of_several(self):
        both = assay.compare({"good": total, "bad": lambda x: 1 / 0}, (doubles(1, 2),), **QUICK)
        self.assertEqual([r.status for r in both], ["ok", "failed"])
        self.assertFalse(both.ok)
        self.assertIn("bad: failed: ZeroDivisionError: division by zero", str(both))


class Compare(unittest.TestCase):
    def test_speedups_are_to_the_first(self):
        both = assay.compare({"a": total, "b": total_by_loop}, (doubles(*range(2000)),), total, **QUICK)
        self.assertEqual([r.name for r in both], ["a", "b"])
        self.assertIsNone(both["a"].speedup)
        self.assertIsNotNone(both["b"].speedup)
        low, high = both["b"].speedup_interval
        self.assertLessEqual(low, both["b"].speedup)
        self.assertLessEqual(both["b"].speedup, high)
        self.assertIsInstance(both["b"].significant, bool)
        self.assertNotEqual(both["b"].verdict, "")
        self.assertIs(both[1], both["b"])
        self.assertEqual(len(both), 2)
        with self.assertRaises(KeyError):
            both["c"]

    def test_a_list(self):
        both = assay.compare([total, total_by_loop], (doubles(1),), **QUICK)
        self.assertEqual([r.name for r in both], ["total", "total_by_loop"])

    def test_nothing(self):
        with self.assertRaisesRegex(ValueError, "no functions to compare"):
            assay.compare({})

    def test_two_of_one_name_in_a_list(self):
        with self.assertRaisesRegex(ValueError, "two functions are called .*<lambda>"):
            assay.compare([lambda: 1, lambda: 2])


class Tables(unittest.TestCase):
    def setUp(self):
        self.both = assay.compare({"<a>": total, "b": total_by_loop}, (doubles(*range(100)),), total, **QUICK)

    def test_text(self):
        lines = str(self.both).splitlines()
        self.assertRegex(lines[0], r"^name +median +± +fastest +spread +speedup$")
        self.assertRegex(lines[1], r"^<a> .*baseline$")
        self.assertEqual(len({line.index("s  ") for line in lines[1:3] if "s  " in line}), 1)
        self.assertRegex(repr(self.both), "^<assay.Comparison of <a>, b>$")
        self.assertRegex(repr(self.both["b"]), r"^<assay.Result b: [0-9.]+ [nmu]?s>$")

    def test_html_is_escaped_and_well_formed(self):
        from xml.dom import minidom

        page = minidom.parseString(f"<div>{self.both._repr_html_()}</div>")
        self.assertEqual(len(page.getElementsByTagName("tr")), 3)
        self.assertEqual(page.getElementsByTagName("td")[0].firstChild.data, "<a>")
        self.assertIn("<table>", self.both["b"]._repr_html_())

    def test_json(self):
        for value in (self.both, self.both["b"], assay.bench(lambda: 1 / 0, **QUICK)):
            again = json.loads(json.dumps(value.to_dict(), allow_nan=False))
            self.assertEqual(again, json.loads(json.dumps(value.to_dict())))
        self.assertEqual(set(self.both["b"].to_dict()), set(assay.Result._fields))

    def test_durations_and_rates(self):
        from assay.table import duration, rate

        figures = {None: "-", 0: "0.00 ns", 4.56e-8: "45.6 ns", 9.994e-7: "999 ns", 9.996e-7: "1.00 us", 2: "2.00 s"}
        for seconds, text in figures.items():
            self.assertEqual(duration(seconds), text)
        self.assertEqual(rate(43.6e9, "B/s"), "43.6 GB/s")


class Progress(unittest.TestCase):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def test_a_terminal_sees_a_line_that_goes_away(self):
        with mock.patch("sys.stderr", self.Terminal()) as seen:
            assay.bench(total, doubles(*range(100)), budget=0.2, precision=1e-9)
        self.assertIn("measuring total:", seen.getvalue())
        self.assertEqual(seen.getvalue().split("\r")[-2].strip(), "")

    def test_a_notebook_too(self):
        with mock.patch("sys.stderr", io.StringIO()) as seen, mock.patch.dict(sys.modules, ipykernel=types.ModuleType("ipykernel")):
            assay.bench(total, doubles(*range(100)), budget=0.2, precision=1e-9)
        self.assertIn("measuring total:", seen.getvalue())

    def test_nobody_watches(self):
        for stream in (io.StringIO(), self.Terminal()):
            with mock.patch("sys.stderr", stream):
                assay.bench(total, doubles(1), budget=0.1, quiet=stream.isatty())
            self.assertEqual(stream.getvalue(), "")

    def test_no_stderr_at_all(self):
        with mock.patch("sys.stderr", None):
            self.assertTrue(assay.bench(total, doubles(1), iters=2).ok)


class Decorators(unittest.TestCase):
    def module(self):
        m = types.ModuleType("mine")

        @assay.benchmark(lambda: (doubles(1, 2),), reference=total)
        def alone(x):
            return total_by_loop(x)

        @assay.benchmark((doubles(1, 2),), group="sums")
        def first(x):
            return sum(x)

        @assay.benchmark(group="sums")
        def second(x):
            return total_by_loop(x)

        m.alone, m.first, m.second, m.other = alone, first, second, total
        return m

    def test_run(self):
        m = self.module()
        self.assertEqual(m.alone(doubles(4)), 4)
        with mock.patch("sys.stdout", io.StringIO()) as out:
            found = assay.run(m, **QUICK)
        self.assertEqual([type(f) for f in found], [assay.Result, assay.Comparison])
        self.assertTrue(found[0].verified)
        self.assertIn("first", out.getvalue())

    def test_silent_and_of_a_list(self):
        with mock.patch("sys.stdout", io.StringIO()) as out:
            found = assay.run([self.module().alone], show=False, **QUICK)
        self.assertEqual((len(found), out.getvalue()), (1, ""))
        self.assertEqual(assay.run([], **QUICK), [])


class Frameworks(unittest.TestCase):
    @needs_numpy
    def test_numpy(self):
        import numpy

        x = numpy.linspace(-1, 1, 1000).reshape(10, 100).astype("float32")
        r = assay.bench(lambda a: numpy.maximum(a, 0), x, reference=lambda a: a * (a > 0), **QUICK)
        self.assertEqual((r.status, r.verified), ("ok", True), r.reason)
        wrong = assay.bench(lambda a: a, x, reference=lambda a: a * (a > 0), **QUICK)
        self.assertRegex(wrong.reason, r"500 of 1000 wrong.*first at \[0,0\]: got -1, expected -0")

    @needs_numpy
    def test_strided_read_only_and_empty(self):
        import numpy

        x = numpy.arange(24.0).reshape(4, 6)[::2, ::-1]
        self.assertTrue(assay.bench(numpy.sum, x, reference=lambda a: float(a.sum()), **QUICK).verified)
        self.assertEqual(x[0, 0], 5)
        x = numpy.arange(4.0)
        x.flags.writeable = False
        r = assay.bench(numpy.sum, x, reference=lambda a: float(a.sum()), **QUICK)
        self.assertIn("verified on one set of inputs: none of them can be changed", r.notes)
        x = numpy.zeros((0, 3), "float32")
        self.assertTrue(assay.bench(lambda a: a + 1, x, reference=lambda a: a * 2, **QUICK).verified)

    @needs_torch
    def test_torch(self):
        import torch

        x = torch.randn(8, 64)
        functions = {"torch": torch.softmax, "mine": lambda t, dim: t.exp() / t.exp().sum(dim, keepdim=True)}
        both = assay.compare(functions, (x, -1), torch.softmax, **QUICK)
        self.assertTrue(both.ok, both)
        self.assertTrue(all(r.verified for r in both))
        wrong = assay.bench(torch.sigmoid, x, reference=torch.relu, **QUICK)
        self.assertEqual(wrong.status, "mismatch")

    @needs_torch
    def test_torch_types_and_forms(self):
        import torch

        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.uint8, torch.bool):
            x = (torch.arange(12).reshape(3, 4) % 2).to(dtype)
            r = assay.bench(torch.clone, x, reference=lambda t: t.clone(), **QUICK)
            self.assertEqual((r.status, r.verified), ("ok", True), f"{dtype}: {r.reason}")
        x = torch.randn(6, 4, requires_grad=True)
        self.assertTrue(assay.bench(torch.relu, x.t(), reference=lambda t: t.clamp(min=0), **QUICK).verified)
        with torch.no_grad():
            r = assay.bench(torch.relu, x[:0], reference=lambda t: t.clamp(min=0), **QUICK)
        self.assertTrue(r.verified, r)

    @needs_torch
    def test_torch_fp8(self):
        import torch

        for name in ("float8_e4m3fn", "float8_e5m2"):
            dtype = getattr(torch, name, None)
            if dtype is None:
                self.skipTest("this PyTorch has no fp8")
            x = torch.randn(4, 8).to(dtype)
            r = assay.bench(lambda t: t.float() * 2, x, reference=lambda t: t.float() + t.float(), **QUICK)
            self.assertEqual((r.status, r.notes), ("ok", []), r.reason)

    @needs_torch
    def test_what_lies_scattered_on_a_gpu_is_changed_too(self):
        import torch
        from assay._check import Inputs

        class OnGpu(torch.Tensor):  # as far as it is asked
            is_cuda = property(lambda self: True)

        x = torch.arange(6.0).reshape(2, 3)
        inputs = Inputs((x.t().as_subclass(OnGpu),), {})
        self.assertTrue(inputs.stir(1))
        self.assertFalse(torch.equal(x, torch.arange(6.0).reshape(2, 3)))
        self.assertEqual(inputs.changed(), [0])
        inputs.restore()
        self.assertTrue(torch.equal(x, torch.arange(6.0).reshape(2, 3)))

    @needs_torch
    def test_outputs_that_assay_cannot_compare(self):
        import torch

        x = torch.randn(4)
        r = assay.bench(torch.relu, x, reference=lambda t: torch.complex(t, t), **QUICK)
        self.assertEqual(r.status, "failed")
        self.assertRegex(r.reason, "the reference: .*of a type that assay cannot compare")
        r = assay.bench(lambda t: t.to_sparse(), x, reference=torch.relu, **QUICK)
        self.assertEqual(r.status, "failed", r.reason)


class Program(unittest.TestCase):
    def test_python_m_assay(self):
        program = os.path.join(os.path.dirname(lib.PACKAGE), "assay")
        if not os.path.exists(program):
            self.skipTest("no program")
        command = [sys.executable, "-m", "assay", "--version"]
        done = subprocess.run(command, env=lib.child_environment(), capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), f"assay {assay.__version__}")


if __name__ == "__main__":
    lib.main()
