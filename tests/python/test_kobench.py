"""The package kohakubench: KoBench's names, signatures, defaults, errors and tables; its presets; and the examples of
its manual (kobench/), as they are, and with sizes that leave little to compute."""
# Also without packages

import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import lib
from lib import needs_torch

import kohakubench
from kohakubench import cli, metrics, report
from kohakubench.core import BenchmarkCase, BenchmarkResult, KoBench, resolve_device, resolve_dtype

SMALL = {"warmup": 1, "iters": 3}
EXAMPLES = os.path.join(lib.HERE, "kobench")


def parameters(function):
    """Names and defaults as text, as the manual writes them."""
    found = inspect.signature(function).parameters.values()
    return ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in found if p.name != "self")


class Names(unittest.TestCase):
    def test_top_level(self):
        wanted = "BenchmarkCase BenchmarkResult KoBench __version__ resolve_device resolve_dtype"
        for name in wanted.split():
            self.assertTrue(hasattr(kohakubench, name), name)
        self.assertIs(kohakubench.KoBench, KoBench)
        with self.assertRaises(AttributeError):
            kohakubench.nothing

    @needs_torch
    def test_modules(self):
        import importlib

        presets = ("attention", "convolution", "mlp", "norms", "stable_diffusion", "transformer")
        for name in ("core", "metrics", "modules", "report", "cli", *(f"presets.{p}" for p in presets)):
            importlib.import_module(f"kohakubench.{name}")
        from kohakubench.presets.attention import ScaledDotProductAttention

        self.assertIs(kohakubench.ScaledDotProductAttention, ScaledDotProductAttention)

    def test_signatures(self):
        case = "name, fn, args=(), kwargs=None, metadata=None, flop_counter=None, mac_counter=None"
        self.assertEqual(parameters(BenchmarkCase), case)
        bench = "device=None, dtype=None, warmup=8, iters=32, sync=True, inference_mode=True"
        self.assertEqual(parameters(KoBench), bench)
        measure = "target, name=None, warmup=None, iters=None, metadata=None, flop_counter=None, mac_counter=None"
        self.assertEqual(parameters(KoBench.benchmark), measure)
        self.assertEqual(parameters(report.format_table), "results, precision=3")
        self.assertEqual(parameters(metrics.matmul_macs), "batch, m, n, k")

    def test_the_factories(self):
        from kohakubench.presets import attention, convolution, mlp, norms, stable_diffusion, transformer

        defaults = {
            attention.multi_head_attention_case: "batch_size=4, seq_len=1024, embed_dim=1024, num_heads=16",
            mlp.standard_mlp_case: "batch_size=4, seq_len=512, embed_dim=2048, hidden_dim=8192, activation='gelu'",
            mlp.swiglu_mlp_case: "batch_size=4, seq_len=512, embed_dim=2048, hidden_dim=8192",
            convolution.conv2d_case: "batch_size=4, in_channels=128, out_channels=256, image_size=64, kernel_size=3, "
            "stride=1, padding=None",
            convolution.depthwise_conv2d_case: "batch_size=4, channels=256, image_size=64, kernel_size=3, stride=1, "
            "padding=None, pointwise=True",
            norms.layer_norm_case: "batch_size=4, seq_len=512, embed_dim=2048",
            norms.group_norm_case: "batch_size=4, channels=256, height=64, width=64, groups=32",
            norms.rms_norm_case: "batch_size=4, seq_len=512, embed_dim=2048, eps=1e-06",
            transformer.transformer_block_case: "batch_size=2, seq_len=512, embed_dim=1024, num_heads=16, mlp_ratio=4",
            stable_diffusion.stable_diffusion_resblock_case: "batch_size=2, channels=320, height=64, width=64, groups=32",
        }
        for factory, expected in defaults.items():
            self.assertEqual(parameters(factory), expected + ", dtype=None, device=None")
            kinds = {p.kind for p in inspect.signature(factory).parameters.values()}
            self.assertEqual(kinds, {inspect.Parameter.KEYWORD_ONLY})


class Resolving(unittest.TestCase):
    def test_dtypes(self):
        for names, one in (("fp32 float32", "float32"), ("fp16 float16 half", "float16"), ("bf16 bfloat16", "bfloat16")):
            for name in names.split():
                self.assertEqual(str(resolve_dtype(name)).removeprefix("torch."), one)
        self.assertEqual(str(resolve_dtype("torch.float16")).removeprefix("torch."), "float16")
        self.assertEqual(str(resolve_dtype(None, "cpu")).removeprefix("torch."), "float32")
        with self.assertRaisesRegex(ValueError, "unknown dtype 'fp9'"):
            resolve_dtype("fp9")

    def test_devices(self):
        self.assertEqual(str(resolve_device("cpu")), "cpu")
        self.assertIn(str(resolve_device(None)), ("cpu", "cuda"))

    @needs_torch
    def test_a_gpu_that_is_not_here(self):
        import torch

        self.assertIs(resolve_dtype(torch.float64), torch.float64)
        with mock.patch("torch.cuda.is_available", lambda: False), mock.patch("sys.stderr", io.StringIO()) as err:
            self.assertEqual(str(resolve_device("cuda:0")), "cpu")
            self.assertEqual(err.getvalue().count("\n"), 1)
            self.assertIn("cuda:0 is not available", err.getvalue())
        with mock.patch("torch.cuda.is_available", lambda: True):
            self.assertEqual(str(resolve_dtype(None, "cuda:0")), "torch.float16")


class Measuring(unittest.TestCase):
    def setUp(self):
        self.bench = KoBench(device="cpu", **SMALL)

    def test_a_case(self):
        seen = []
        case = BenchmarkCase("case", lambda *a, **k: seen.append((a, k)), (1,), {"b": 2}, {"size": 3})
        found = self.bench.benchmark(case).to_dict()
        self.assertEqual(seen, [((1,), {"b": 2})] * 4)
        expected = "name iters warmup latency_ms latency_std_ms device dtype idle_vram_mb peak_vram_mb workspace_vram_mb"
        self.assertEqual(list(found), (expected + " macs macs_rate flops flops_rate metadata").split())
        self.assertEqual((found["name"], found["iters"], found["warmup"]), ("case", 3, 1))
        self.assertEqual((found["device"], found["dtype"], found["metadata"]), ("cpu", "float32", {"size": 3}))
        self.assertGreater(found["latency_ms"], 0)
        nothing = "idle_vram_mb peak_vram_mb workspace_vram_mb macs macs_rate flops flops_rate"
        self.assertEqual({found[name] for name in nothing.split()}, {None})

    def test_counters_see_metadata_device_and_dtype(self):
        seen = []

        def macs(m):
            seen.append(m)
            return 1000

        case = BenchmarkCase("case", lambda: None, metadata={"size": 3}, mac_counter=macs, flop_counter=lambda m: m["size"])
        r = self.bench.benchmark(case)
        self.assertEqual(set(seen[0]), {"size", "device", "dtype"})
        self.assertEqual((r.macs, r.flops, type(r.macs)), (1000, 3, float))
        self.assertAlmostEqual(r.macs_rate * r.latency_ms / 1e6, 1)

    def test_any_callable(self):
        def mine():
            pass

        self.assertEqual(self.bench.benchmark(mine).name, "mine")
        r = self.bench.benchmark(mine, name="other", warmup=2, iters=5, metadata={"a": 1}, mac_counter=lambda m: m["a"])
        self.assertEqual((r.name, r.warmup, r.iters, r.macs), ("other", 2, 5, 1))
        self.assertEqual([r.name for r in self.bench.benchmark_many(iter([mine, BenchmarkCase("two", mine)]))], ["mine", "two"])

    def test_errors(self):
        for wrong in ({"warmup": 0}, {"iters": 0}, {"iters": -1}):
            with self.assertRaises(ValueError):
                KoBench(device="cpu", **wrong)
            with self.assertRaises(ValueError):
                self.bench.benchmark(lambda: None, **wrong)
        with self.assertRaises(TypeError):
            self.bench.benchmark(3)
        with self.assertRaises(ZeroDivisionError):
            self.bench.benchmark(lambda: 1 / 0)
        self.assertFalse(self.bench.is_cuda)

    @needs_torch
    def test_inference_mode(self):
        import torch

        modes = []
        self.bench.benchmark(lambda: modes.append(torch.is_inference_mode_enabled()))
        KoBench(device="cpu", inference_mode=False, **SMALL).benchmark(lambda: modes.append(torch.is_inference_mode_enabled()))
        self.assertEqual(modes, [True] * 4 + [False] * 4)


class Tables(unittest.TestCase):
    def test_columns(self):
        results = [
            BenchmarkResult("attn", 32, 8, 1.23456, 0.5, "cuda:0", "float16", 10.5, 2048, 0.25, 25.77e9, 1.2e12, 402.65e6, 3e8),
            BenchmarkResult("norm", 32, 8, 0.1, 0, "cpu", "float32"),
        ]
        lines = report.format_table(results).splitlines()
        names = ["name", "mean_ms", "std_ms", "idle_vram", "peak_vram", "workspace", "MACs", "MACS", "FLOPs", "FLOPS"]
        self.assertEqual([c.strip() for c in lines[0].split(" | ")], names)
        self.assertRegex(lines[1], r"^-+(-\+-+)+$")
        cells = [c.strip() for c in lines[2].split(" | ")]
        expected = ["attn", "1.235", "0.500", "10.50 MB", "2.00 GB", "0.25 MB", "25.77 G", "1.20 T/s", "402.65 M", "300.00 M/s"]
        self.assertEqual(cells, expected)
        self.assertEqual(lines[3].count("n/a"), 7)
        self.assertIn("1.2 ", report.format_table(results, precision=1))
        with mock.patch("sys.stdout", io.StringIO()) as out:
            report.print_table(results)
        self.assertEqual(out.getvalue(), report.format_table(results) + "\n")

    def test_metrics(self):
        self.assertEqual(metrics.matmul_macs(2, 3, 4, 5), 120.0)
        self.assertEqual(metrics.linear_macs(2, 3, 4), 24.0)
        self.assertEqual(metrics.conv2d_macs(1, 4, 8, 5, 5, 3, 3, 2), 8 * 25 * 9 * 2.0)
        self.assertEqual((metrics.elementwise_flops(7), metrics.activation_flops(7)), (7.0, 28.0))
        self.assertEqual(metrics.total_ops([1, 2]), 3.0)
        self.assertEqual({type(metrics.linear_macs(1, 1, 1)), type(metrics.total_ops([]))}, {float})


#: Preset, case, MACs, FLOPs at the defaults (SPEC, section 4).
COUNTS = (
    ("attn", "multi_head_attention", "25.77 G", "402.65 M"),
    ("mlp", "mlp_gelu", "68.72 G", "100.66 M"),
    ("mlp", "mlp_swiglu", "103.08 G", "100.66 M"),
    ("conv", "conv2d", "4.83 G", "n/a"),
    ("conv", "depthwise_conv2d", "1.11 G", "4.19 M"),
    ("norm", "layer_norm", "n/a", "25.17 M"),
    ("norm", "group_norm", "n/a", "25.17 M"),
    ("norm", "rms_norm", "n/a", "16.78 M"),
    ("transformer", "transformer_block", "13.96 G", "75.50 M"),
    ("sdres", "sd_resblock", "15.10 G", "60.29 M"),
)


@needs_torch
class Presets(unittest.TestCase):
    def test_counts_at_the_defaults(self):
        from kohakubench.presets import PRESETS, build

        found = []
        for preset in PRESETS:
            for case in build(preset, device="meta", dtype="float32"):
                counts = [c and c(case.metadata) for c in (case.mac_counter, case.flop_counter)]
                found.append((preset, case.name, *(report._count(c) for c in counts)))
        self.assertEqual(sorted(found), sorted(COUNTS))

    def test_they_run(self):
        from kohakubench.presets import attention, convolution, mlp, norms, stable_diffusion, transformer

        tokens = {"batch_size": 1, "seq_len": 4, "embed_dim": 32, "device": "cpu"}
        image = {"batch_size": 1, "device": "cpu"}
        cases = [
            attention.multi_head_attention_case(num_heads=2, **tokens),
            *(mlp.standard_mlp_case(hidden_dim=64, activation=a, **tokens) for a in ("gelu", "silu", "relu")),
            mlp.swiglu_mlp_case(hidden_dim=64, **tokens),
            convolution.conv2d_case(in_channels=4, out_channels=8, image_size=8, stride=2, **image),
            convolution.depthwise_conv2d_case(channels=4, image_size=8, pointwise=False, **image),
            norms.layer_norm_case(**tokens),
            norms.group_norm_case(channels=8, height=4, width=4, groups=2, **image),
            norms.rms_norm_case(eps=1e-5, **tokens),
            transformer.transformer_block_case(num_heads=2, **tokens),
            stable_diffusion.stable_diffusion_resblock_case(channels=8, height=4, width=4, groups=2, **image),
        ]
        results = KoBench(device="cpu", **SMALL).benchmark_many(cases)
        self.assertEqual(len(report.format_table(results).splitlines()), len(cases) + 2)
        self.assertEqual(results[5].metadata["out_dim"], 4)
        self.assertEqual(results[6].macs, 4 * 8 * 8 * 9)

    def test_they_compute_what_they_say(self):
        import torch
        from kohakubench.modules import MultiHeadAttention

        torch.manual_seed(0)
        block, x = MultiHeadAttention(8, 2), torch.randn(1, 5, 8)
        q, k, v = (p(x).view(1, 5, 2, 4).transpose(1, 2) for p in (block.q_proj, block.k_proj, block.v_proj))
        expected = ((q @ k.transpose(-2, -1) / 2).softmax(-1) @ v).transpose(1, 2).reshape(1, 5, 8)
        self.assertTrue(torch.allclose(block(x), block.out_proj(expected), atol=1e-6))

    def test_errors(self):
        from kohakubench.presets import attention, mlp, norms

        with self.assertRaisesRegex(ValueError, r"embed_dim \(10\) must be divisible by num_heads \(3\)"):
            attention.multi_head_attention_case(embed_dim=10, num_heads=3)
        with self.assertRaisesRegex(ValueError, "unknown activation 'tanh'"):
            mlp.standard_mlp_case(activation="tanh")
        with self.assertRaisesRegex(ValueError, "batch_size must be > 0"):
            norms.layer_norm_case(batch_size=0)


class Command(unittest.TestCase):
    def kobench(self, *line):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                code = cli.main(list(line))
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), err.getvalue()

    def test_list_needs_no_pytorch(self):
        code, out, err = self.kobench("--list")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([line.split()[0] for line in out.splitlines()], "attn mlp conv norm transformer sdres".split())

    def test_mistakes(self):
        code, _, err = self.kobench("--preset", "atn")
        self.assertEqual(code, 2)
        self.assertIn('unknown preset "atn"', err)
        self.assertIn('did you mean "attn"?', err)
        self.assertEqual(self.kobench("--preset", "nowhere.py")[0::2], (2, "kobench: there is no file nowhere.py\n"))
        self.assertIn("warmup must be > 0", self.kobench("--preset", "norm", "--warmup", "0", "--device", "cpu")[2])

    def test_own_presets(self):
        text = "from kohakubench import BenchmarkCase\ndef one(opts): return [BenchmarkCase('x', lambda: None)]\n"
        kinds = {
            "build": text + "build_cases = one\nmake_cases = None",
            "make": text + "make_cases = one\nget_cases = None",
            "get": text + "get_cases = one",
            "cls": text + "class Preset:\n    def build(self, opts):\n        return one(opts)",
            "listed": text + "CASES = one({})",
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, source in kinds.items():
                path = os.path.join(folder, name + ".py")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(source)
                code, out, err = self.kobench("--preset", path, "--device", "cpu", "--iters", "2", "--warmup", "1")
                self.assertEqual((code, err), (0, ""), name)
                self.assertRegex(out.splitlines()[2], r"^x +\| ")
            here = os.getcwd()
            try:
                os.chdir(folder)
                code, out, err = self.kobench("--preset", "listed", "--device", "cpu", "--iters", "2", "--warmup", "1")
            finally:
                os.chdir(here)
            self.assertEqual((code, err), (0, ""))
            with open(path, "w", encoding="utf-8") as file:
                file.write("x = 1")
            self.assertIn("none of build_cases", self.kobench("--preset", path, "--device", "cpu")[2])

    def test_options_of_a_preset(self):
        seen = cli.Options(device="cpu", dtype="float32")
        self.assertEqual((seen.device, seen["dtype"]), ("cpu", "float32"))

    @unittest.skipIf(lib.HAVE_TORCH, "PyTorch is here")
    def test_without_pytorch(self):
        code, _, err = self.kobench()
        self.assertEqual(code, 1)
        self.assertRegex(err, "^kobench: PyTorch is not installed for .*: pip install torch\n$")

    @needs_torch
    def test_the_module(self):
        command = [sys.executable, "-m", "kohakubench", "--preset", "norm", "--iters", "1", "--warmup", "1", "--device", "cpu"]
        done = subprocess.run(command, env=lib.child_environment(), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(done.stdout.splitlines()), 5)


def half_on_cpu():
    """Does this PyTorch multiply float16 on the CPU? Those before 2.1 do not."""
    import torch

    try:
        torch.ones(2, 2).half() @ torch.ones(2, 2).half()
    except RuntimeError:
        return False
    return True


@needs_torch
class Manual(unittest.TestCase):
    """KoBench's examples. Sizes are cut (numbers only) where they would take a minute on a CPU."""

    def example(self, name, *changes):
        with open(os.path.join(EXAMPLES, name + ".py"), encoding="utf-8") as file:
            text = file.read()
        for pattern, number in changes:
            text, n = re.subn(pattern, number, text)
            self.assertGreater(n, 0, pattern)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            exec(compile(text, name, "exec"), {"__name__": "__main__"})
        return out.getvalue(), err.getvalue()

    def test_single_case(self):
        import torch

        here = torch.cuda.is_available() or half_on_cpu()
        if not here:
            with self.assertRaisesRegex(RuntimeError, "not implemented for 'Half'"):
                self.example("single_case")
        out, err = self.example("single_case", *([] if here else [("'float16'", "'float32'")]))
        found = eval(out)
        self.assertEqual((found["name"], found["iters"], found["warmup"]), ("linear_demo", 32, 8))
        self.assertEqual("cuda:0 is not available" in err, not torch.cuda.is_available())

    def test_multiple_cases(self):
        cut = (("seq_len=1024", "seq_len=16"), ("embed_dim=1024", "embed_dim=64"), ("seq_len=512", "seq_len=8"),
               ("embed_dim=2048", "embed_dim=32"), ("hidden_dim=8192", "hidden_dim=64"))  # fmt: skip
        out, _ = self.example("multiple_cases", *cut)
        names = [line.split(" | ")[0].strip() for line in out.splitlines()]
        self.assertEqual([names[0], *names[2:]], ["name", "multi_head_attention", "mlp_swiglu"])

    def test_custom_counters(self):
        found = eval(self.example("custom_counters", ("1024", "8"))[0])
        self.assertEqual(found["macs"], 2 * 8 * 768 * 768)
        self.assertEqual(found["flops"], 2 * 8 * 768)
        self.assertEqual(found["metadata"], {"batch_tokens": 16, "in": 768, "out": 768})

    def test_training_step(self):
        found = eval(self.example("training_step", ("1024", "64"))[0])
        self.assertEqual((found["name"], found["iters"]), ("train_step", 32))

    def test_commands(self):
        with open(os.path.join(EXAMPLES, "commands.txt"), encoding="utf-8") as file:
            lines = [line.split() for line in file if line.strip()]
        self.assertEqual(len(lines), 3)
        for command, *line in lines:
            self.assertEqual(command, "kobench")
            options = cli._parser().parse_args(line)
            self.assertTrue(options.list or options.preset in ("attn", "mlp"))


if __name__ == "__main__":
    lib.main()
