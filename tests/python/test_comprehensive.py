"""run_comprehensive_benchmark: what scripts that call it expect, and the rows of the program `assay`."""
# Also without packages

import contextlib
import inspect
import io
import json
import os
import tempfile
import unittest
from unittest import mock

import lib
from lib import needs_torch

import assay
from assay import comprehensive

FIELDS = [
    "operation", "implementation", "batch_size", "sequence_length", "tensor_dimension", "time_ms", "memory_mb",
    "inference_speed", "gpu_efficiency", "throughput_gbps",
]  # fmt: skip
OPERATIONS = ["LayerNorm", "GELU", "Swish", "Loss"]


def run(*args, **kwargs):
    """(the rows, stdout, stderr)"""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        rows = assay.run_comprehensive_benchmark(*args, **kwargs)
    return rows, out.getvalue(), err.getvalue()


class Comprehensive(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "results.json")
        patch = mock.patch.multiple(comprehensive, WARMUP=1, RUNS=3)
        patch.start()
        self.addCleanup(patch.stop)

    def small(self, **more):
        shapes = {"batch_sizes": [2], "sequence_lengths": [3], "tensor_dimensions": [4, 8]}
        return run(**{**shapes, "output_file": self.file, **more})

    def test_parameters(self):
        names = "batch_sizes sequence_lengths tensor_dimensions operations implementations output_file"
        found = inspect.signature(assay.run_comprehensive_benchmark).parameters
        self.assertEqual(list(found), names.split())
        self.assertEqual(found["output_file"].default, "benchmark_results.json")

    @needs_torch
    def test_pytorch(self):
        rows, out, err = self.small(implementations=["PyTorch"])
        with open(self.file, encoding="utf-8") as file:
            self.assertEqual(json.load(file), rows)
        self.assertEqual({tuple(row) for row in rows}, {tuple(FIELDS)})
        self.assertEqual([r["operation"] for r in rows], ["LayerNorm"] * 2 + ["GELU"] * 2 + ["Swish"] * 2 + ["Loss"] * 4)
        for row in rows:
            self.assertEqual((row["implementation"], row["batch_size"], row["sequence_length"]), ("PyTorch", 2, 3))
            self.assertAlmostEqual(row["inference_speed"] * row["time_ms"], 1000)
            self.assertGreater(row["throughput_gbps"], 0)
        for operation in OPERATIONS:
            self.assertRegex(out, rf"(?m)^{operation}$")
        self.assertEqual(err, "")

    def test_the_program(self):
        program = os.path.join(os.path.dirname(lib.PACKAGE), "assay")
        if not os.path.exists(program):
            self.skipTest("no program")
        with mock.patch.dict(os.environ, ASSAY_PROGRAM=program):
            rows, _, err = self.small(implementations=["native"], tensor_dimensions=[8], operations=["GELU", "Loss"])
        self.assertEqual([r["operation"] for r in rows], ["GELU", "Loss", "Loss"], err)
        self.assertEqual({tuple(r) for r in rows}, {tuple(FIELDS)})
        self.assertEqual({r["implementation"] for r in rows}, {"native"})

    def test_what_is_not_here_is_said(self):
        with mock.patch("assay.__main__.program", lambda: None):
            rows, _, err = self.small(implementations=["CUDA", "Triton"])
        self.assertEqual(rows, [])
        self.assertIn("assay: CUDA needs the program assay", err)
        self.assertIn("assay: Triton needs the program assay", err)
        with open(self.file, encoding="utf-8") as file:
            self.assertEqual(json.load(file), [])

    @unittest.skipIf(lib.HAVE_TORCH, "PyTorch is here")
    def test_without_pytorch(self):
        rows, _, err = self.small(implementations=["PyTorch"])
        self.assertEqual(rows, [])
        self.assertIn("PyTorch is not installed", err)

    def test_mistakes(self):
        with self.assertRaisesRegex(ValueError, "unknown operation 'Softmax'; known are LayerNorm"):
            self.small(operations=["Softmax"])
        with self.assertRaisesRegex(ValueError, "unknown implementation 'pytorch'"):
            self.small(implementations=["pytorch"])
        for wrong in ([0], [2.5], [True]):
            with self.assertRaisesRegex(ValueError, "whole numbers above 0"):
                self.small(batch_sizes=wrong)

    def test_too_large(self):
        rows, _, err = self.small(batch_sizes=[100_000], tensor_dimensions=[1024], implementations=["PyTorch"])
        self.assertEqual(rows, [])
        self.assertIn("skipped, with more than 50,000,000 elements: 100000x3x1024", err)


if __name__ == "__main__":
    lib.main()
