"""Benchmark scripts: tensors found and replaced, references and tolerances, variants, what is compiled."""
# Also without packages: most of it is skipped then

import os
import tempfile
import textwrap
import unittest

import lib

import lib  # noqa: F401  where the package is

from assay import extension, reference, repository, scripts, tensors
from assay.call import Unsupported

HAVE_TORCH = lib.HAVE_TORCH
if HAVE_TORCH:
    import torch

READY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "kernel_python", "ready")
PURE = {
    "torch-ext/mine/__init__.py": """
        import torch

        def relu(x):
            return torch.relu(x)

        def halve_(x):
            x.mul_(0.5)
        """,
}


def repository_of(files):
    """A folder with these files; the caller keeps it."""
    folder = tempfile.TemporaryDirectory()
    for name, text in files.items():
        path = os.path.join(folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
    return folder


class Names(unittest.TestCase):
    """What needs no PyTorch."""

    def test_workloads_are_found_in_the_text(self):
        folder = repository_of({"benchmarks/benchmark.py": """
            from kernels.benchmark import Benchmark
            from kernels.benchmarks import SiluAndMulBenchmark
            class A(Benchmark):
                def benchmark_one(self): pass
                def helper(self): pass
            class Ready(SiluAndMulBenchmark): pass
            class Other: pass
            """})
        with folder:
            found = list(scripts._workloads_in_text(os.path.join(folder.name, "benchmarks/benchmark.py")))
        self.assertEqual(found, [("A", "one"), ("Ready", "small"), ("Ready", "medium"), ("Ready", "large")])

    def test_the_repository_is_above_benchmarks(self):
        self.assertEqual(scripts.repository_of("/a/b/benchmarks/benchmark.py"), "/a/b")
        self.assertEqual(scripts.repository_of("/a/b/benchmark.py"), "/a/b")

    def test_a_name_comes_from_build_toml_or_the_folder(self):
        with repository_of(PURE) as folder:
            self.assertEqual(repository.name_of(folder, {}), "mine")
            self.assertEqual(repository.name_of(folder, {"general": {"name": "a-b"}}), "a_b")

    @unittest.skipUnless(HAVE_TORCH, "no PyTorch")
    def test_what_cannot_be_compiled_says_why(self):
        for section, words in (({"backend": "cuda"}, "no kernel for cpu, only for cuda"),
                               ({"backend": "cpu", "depends": ["torch", "cutlass_3_5"]},
                                "kernel.k of build.toml depends on cutlass_3_5")):
            with self.assertRaisesRegex(Unsupported, words):
                extension._Job("/", {"kernel": {"k": section}}, "k", "cpu")

    @unittest.skipIf(not HAVE_TORCH or torch.cuda.is_available(), "needs a PyTorch without a GPU")
    def test_a_gpu_that_pytorch_cannot_use(self):
        with self.assertRaisesRegex(Unsupported, "--device cpu runs this on the CPU"):
            repository.kernel("/", "cuda")

    def test_broken_toml_is_named(self):
        with repository_of({"build.toml": "[general\n"}) as folder:
            with self.assertRaisesRegex(ValueError, "build.toml: "):
                repository.configuration(folder)

    def test_backends(self):
        config = {"kernel": {"a": {"backend": "cpu"}, "b": {"language": "cuda-hipify"}, "c": {}}}
        self.assertEqual({n: b for n, (b, _) in extension.sections(config).items()},
                         {"a": "cpu", "b": "cuda-hipify", "c": "cuda"})
        self.assertEqual(extension.sections({}), {})

    def test_flags_that_do_more_than_compile_are_refused(self):
        fine = ["-O3", "-std=c++17", "-DX=1", "-Wall", "-ffast-math", "-mavx2", "--use_fast_math",
                "-gencode=arch=compute_90a,code=sm_90a", "--maxrregcount=64"]
        self.assertEqual(extension._flags(fine, "k"), fine)
        for word in ("-fplugin=x.so", "-wrapper", "@file", "-Wl,-rpath,/x", "-Wa,x", "-Wp,x", "-I/etc", "-o", "-B.",
                     "-specs=x", "--compiler-bindir=x", "-ccbin", "-include", "-DX=$(id)", "-Xcompiler", "-L/x",
                     "-fdump-tree-all", "-Xlinker", "-DX=`id`", "-fprofile-use=x", "-O3 -fplugin=x", "x.o"):
            with self.assertRaisesRegex(ValueError, "harmless", msg=word):
                extension._flags([word], "k")

    def test_sources_stay_inside(self):
        with repository_of({"src/a.cpp": ""}) as folder:
            root = os.path.realpath(folder)
            os.symlink("/etc/passwd", os.path.join(root, "src/link.cpp"))
            self.assertTrue(extension._inside(root, "src/a.cpp"))
            for path in ("../x", "/etc/passwd", "src/link.cpp"):
                with self.assertRaisesRegex(ValueError, "not inside"):
                    extension._inside(root, path)
            with self.assertRaisesRegex(ValueError, "there is no src/b.cpp"):
                extension._inside(root, "src/b.cpp")

    def test_the_first_error_is_one_line(self):
        text = "In file included from x:\n/r/a.cpp:3:1: error: no such thing\n   3 | secret error text\n/r/a.cpp:9:1: error: b\n"
        self.assertEqual(extension.first_error(text, "/r"), "a.cpp:3:1: error: no such thing")
        self.assertEqual(extension.first_error("fine\n", "/r"), "")


@unittest.skipUnless(HAVE_TORCH, "no PyTorch")
class Variants(unittest.TestCase):
    def setUp(self):
        self.wanted = repository.wanted_variants
        repository.wanted_variants = lambda kind: ["torch211-cxx11-cu130-x86_64-linux", "torch-cuda",
                                                   "torch-universal"]

    def tearDown(self):
        repository.wanted_variants = self.wanted

    def choose(self, *names):
        return repository.choose_variant(list(names), "cuda")

    def test_the_exact_one_wins(self):
        self.assertEqual(self.choose("torch-universal", "torch211-cxx11-cu130-x86_64-linux"),
                         "torch211-cxx11-cu130-x86_64-linux")

    def test_others_do_not_fit(self):
        self.assertIsNone(self.choose("torch210-cxx11-cu130-x86_64-linux", "torch211-cxx98-cu130-x86_64-linux",
                                      "torch211-cxx11-cu130-aarch64-linux", "torch211-cxx11-cu128-x86_64-linux"))

    def test_an_earlier_minor_version_of_cuda_does(self):
        repository.wanted_variants = lambda kind: ["torch211-cxx11-cu128-x86_64-linux"]
        self.assertEqual(self.choose("torch211-cxx11-cu126-x86_64-linux", "torch211-cxx11-cu124-x86_64-linux",
                                     "torch211-cxx11-cu129-x86_64-linux"), "torch211-cxx11-cu126-x86_64-linux")

    def test_pure_python_is_the_last(self):
        self.assertEqual(self.choose("torch-universal", "torch-cuda"), "torch-cuda")
        self.assertEqual(self.choose("torch-universal"), "torch-universal")

    def test_this_machines(self):
        first = self.wanted("cpu")[0]
        self.assertRegex(first, r"^torch\d+-cxx(11|98)-cpu-\w+-linux$")

    def test_a_prebuilt_package_is_imported_with_its_own_ops(self):
        repository.wanted_variants = self.wanted
        with repository_of({"build/torch-universal/mine/__init__.py": "from ._ops import answer",
                            "build/torch-universal/mine/_ops.py": "answer = 42"}) as folder:
            self.assertEqual(repository._find(folder, "cpu").answer, 42)

    def test_what_is_there_is_named(self):
        repository.wanted_variants = self.wanted
        with repository_of({"build/torch99-cxx11-cu130-x86_64-linux/mine/__init__.py": ""}) as folder:
            with self.assertRaisesRegex(Unsupported, "it has torch99-cxx11-cu130-x86_64-linux"):
                repository._find(folder, "cpu")


@unittest.skipUnless(HAVE_TORCH, "no PyTorch")
class Tensors(unittest.TestCase):
    def test_containers_are_rebuilt_and_others_kept(self):
        a, b = torch.ones(2), torch.zeros(2)
        value = {"x": [a, (1, a)], "y": [1, 2]}
        got = tensors.replaced(value, {id(a): b})
        self.assertIs(got["x"][0], b)
        self.assertIs(got["x"][1][1], b)
        self.assertIs(got["y"], value["y"])
        self.assertIs(tensors.replaced(value, {}), value)

    def test_views_move_with_what_they_are_views_of(self):
        made = type("I", (), {})()
        made.x = torch.arange(12.).reshape(3, 4)
        made.left, made.turned = made.x[:, :2], made.x.t()
        made.out = torch.empty(3, 2)
        template = scripts._Template(made, "cpu")
        self.assertEqual(template.shapes(), [("x=left=turned", "f32", (12,))])
        other = template.place([torch.arange(100., 112.)])
        self.assertTrue(torch.equal(other.x, torch.arange(100., 112.).reshape(3, 4)))
        self.assertTrue(torch.equal(other.left, other.x[:, :2]))
        self.assertTrue(torch.equal(other.turned, other.x.t()))
        self.assertEqual(other.left.data_ptr(), other.x.data_ptr())

    def test_what_cannot_vary_is_told(self):
        made = type("I", (), {})()
        made.x, made.index, made.none = torch.ones(4), torch.arange(4), torch.empty(0)
        made.weights = [torch.ones(2, 2)]
        made.layer = torch.nn.Linear(2, 2)
        template = scripts._Template(made, "cpu")
        self.assertEqual([g.name for g in template.groups], ["x", "weights.0"])
        self.assertEqual(sorted(template.fixed), ["index", "layer", "none"])

    def test_bits_are_compared(self):
        nan = torch.tensor([float("nan")])
        self.assertTrue(tensors.same(nan, nan.clone()))
        self.assertFalse(tensors.same(torch.tensor([0.0]), torch.tensor([-0.0])))


@unittest.skipUnless(HAVE_TORCH, "no PyTorch")
class Scripts(unittest.TestCase):
    def load(self, text):
        files = dict(PURE)
        files["benchmarks/benchmark.py"] = "import torch\nfrom kernels.benchmark import Benchmark\n" + \
            textwrap.dedent(text)
        self.folder = repository_of(files)
        self.home = os.getcwd()
        return scripts.load(os.path.join(self.folder.name, "benchmarks/benchmark.py"))

    def tearDown(self):
        if hasattr(self, "folder"):
            os.chdir(self.home)
            self.folder.cleanup()

    RELU = """
        class R(Benchmark):
            seed = 3
            def setup(self):
                self.x = torch.randn(8, 4)
                self.wide = self.x.double()
            def benchmark_a(self):
                self.out = self.kernel.relu(self.x)
            def verify_a(self):
                return torch.relu(self.wide).float()
        """

    def test_values_that_belong_together_stay_together(self):
        work = self.load(self.RELU).works["R.a"]
        self.assertEqual(work.declare()["outputs"], [("out", "f32", (8, 4))])
        for seed in (1, 2):
            x, wide = work.fill(0, seed), work.fill(1, seed)
            self.assertTrue(torch.equal(x.double(), wide))
            self.assertTrue(torch.equal(work.expected([x, wide])[0], torch.relu(x)))
        self.assertFalse(torch.equal(work.fill(0, 1), work.fill(0, 2)))

    def test_a_setup_that_seeds_for_itself_gives_other_values_all_the_same(self):
        work = self.load(self.RELU.replace("self.x =", "torch.manual_seed(0); self.x =", 1)).works["R.a"]
        self.assertFalse(torch.equal(work.fill(0, 1), work.fill(0, 2)))
        before = torch.initial_seed()
        torch.manual_seed(before + 1)  # and the function is the real one again
        self.assertEqual(torch.initial_seed(), before + 1)

    def test_a_script_that_replaces_the_comparison_does_not_keep_it(self):
        before = torch.allclose
        self.load("torch.allclose = lambda *a, **k: True\n" + textwrap.dedent(self.RELU))
        self.assertIs(torch.allclose, before)

    def test_only_classes_of_the_file_are_run(self):
        script = self.load("""
            class Base(Benchmark):
                def setup(self): self.x = torch.ones(2)
            class A(Base):
                def benchmark_b(self): pass
                def benchmark_a(self): pass
            """)
        self.assertEqual(sorted(script.works), ["A.a", "A.b"])

    def test_calls_that_change_their_inputs_find_them_as_they_were(self):
        work = self.load("""
            class H(Benchmark):
                def setup(self):
                    self.x = torch.randn(5)
                    self.out = self.x
                def benchmark_a(self): self.kernel.halve_(self.x)
                def verify_a(self): return self.x * 0.5
            """).works["H.a"]
        work.declare()
        call = work.call(None)
        self.assertIn("in place: x", work.note())
        values, out = torch.arange(1., 6.), torch.empty(5)
        (made,) = call.prepare(values, out)
        for _ in range(2):
            for arguments in call.again((made,), 3):
                call.fn(*arguments)
                self.assertTrue(torch.equal(call.collect(*arguments)[0], values * 0.5))
        self.assertTrue(torch.equal(values, torch.arange(1., 6.)))

    def test_an_output_that_is_not_assigned_again_is_the_poisoned_one(self):
        work = self.load(self.RELU.replace("self.out =", "self.out = self.out if self.x[0, 0] < 0 else")).works["R.a"]
        work._template = scripts._Template(work.instance(), "cpu")
        work.template.outputs, work.template.instance.out = (torch.empty(8, 4),), torch.empty(8, 4)
        call = work.call(None)
        x, out = torch.ones(8, 4), torch.full((8, 4), float("nan"))
        (made,) = call.prepare(x, x.double(), out)
        call.fn(made)
        self.assertTrue(torch.equal(call.collect(made)[0], x))
        x.neg_()
        call.fn(made)
        self.assertTrue(call.collect(made)[0].isnan().all())

    def test_mistakes_say_what_they_are(self):
        for old, new, words in (
                ("torch.relu(self.wide).float()", "None", "returns no tensor"),
                ("torch.relu(self.wide).float()", "torch.relu(self.x)[:4]", r"shape \[4, 4\], and self.out has \[8, 4\]"),
                ("torch.relu(self.wide).float()", "torch.relu(self.x).half()", "returns float16, and self.out is float32"),
                ("self.kernel.relu(self.x)", "torch.arange(3)", "int64, which assay does not compare")):
            work = self.load(self.RELU.replace(old, new)).works["R.a"]
            with self.assertRaisesRegex((scripts.ScriptError, TypeError), words):
                work.declare()
            self.tearDown()
        with self.assertRaisesRegex(scripts.ScriptError, "no subclass"):
            self.load("x = 1")


@unittest.skipUnless(HAVE_TORCH, "no PyTorch")
class ReadyMade(unittest.TestCase):
    """A repository that subclasses each ready-made class."""

    def test_each_agrees_with_its_reference(self):
        home = os.getcwd()
        script = scripts.load(os.path.join(READY, "benchmarks", "benchmark.py"))
        try:
            self.assertEqual(sorted(script.works), sorted(c + "." + w for c in (
                "Attention", "Causal", "Varlen", "Gelu", "LayerNorm", "RMSNorm", "Silu")
                for w in ("small", "medium", "large")))
            for work in script.works.values():
                if work.name == "small":
                    self.check(work)
        finally:
            os.chdir(home)

    def check(self, work):
        declared = work.declare()
        inputs = [work.fill(i, 5) for i in range(len(declared["inputs"]))]
        expected = work.expected(inputs)[0].double()
        call = work.call(None)
        out = torch.full(declared["outputs"][0][2], float("nan"))
        (made,) = call.prepare(*inputs, out)
        call.fn(made)
        got = call.collect(made)[0].double()
        allowed = declared["absolute"] + declared["relative"] * expected.abs()
        self.assertTrue(((got - expected).abs() <= allowed).all(), work.title)
        self.assertFalse((0.9 * expected - expected).abs().le(allowed).all(), work.title)
        self.assertGreater(float(expected.square().mean()), 0.001, work.title)


@unittest.skipUnless(HAVE_TORCH, "no PyTorch")
class Tolerances(unittest.TestCase):
    """How far an answer may be off: what plain PyTorch is off by passes, and a tenth does not."""

    @staticmethod
    def instance(**values):
        made = type("I", (), {})()
        vars(made).update(values)
        return made

    def learn(self, verify, out, **values):
        learned = reference.Reference(verify)
        learned.learn(lambda: self.instance(**values), [out])
        return learned

    def test_a_reference_in_a_narrow_type_is_computed_in_a_wider_one(self):
        x = torch.randn(64, 256).bfloat16()
        learned = self.learn(lambda i: (i.x * 3 + i.x.square()).sum(-1), torch.empty(64).bfloat16(), x=x)
        self.assertTrue(learned.wide)
        exact = learned.answers(lambda: self.instance(x=x))[0]
        self.assertEqual(exact.dtype, torch.float32)
        usual = (x * 3 + x.square()).sum(-1)
        far = (usual.double() - exact.double()).abs() - learned.relative * exact.double().abs()
        self.assertTrue((far <= learned.absolute).all())
        self.assertFalse(((0.9 * exact - exact).abs() <= learned.absolute + learned.relative * exact.abs()).all())

    def test_a_script_that_insists_on_its_type_is_taken_as_it_is(self):
        def verify(i):
            if i.x.dtype != torch.bfloat16:
                raise RuntimeError("bfloat16 only")
            return i.x * 2

        learned = self.learn(verify, torch.empty(8).bfloat16(), x=torch.randn(8).bfloat16())
        self.assertFalse(learned.wide)
        self.assertGreater(learned.relative, 2 * 2.0 ** -8)

    def test_another_function_of_the_wide_type_is_not_believed(self):
        learned = self.learn(lambda i: i.x if i.x.dtype == torch.float32 else -i.x, torch.empty(8),
                             x=torch.randn(8))
        self.assertFalse(learned.wide)

    def test_a_float32_reference_that_cannot_be_widened_tells_by_its_conditioning(self):
        x = torch.randn(16, 16, generator=torch.Generator().manual_seed(0))
        smooth = self.learn(lambda i: i.x.float() * 2, torch.empty(16, 16), x=x)
        steep = self.learn(lambda i: (i.x.float() * 1000).sin(), torch.empty(16, 16), x=x)
        self.assertGreater(steep.absolute, 50 * smooth.absolute)

    def test_integers_are_compared_as_they_are(self):
        learned = self.learn(lambda i: i.x + 1, torch.zeros(4, dtype=torch.int32), x=torch.ones(4, dtype=torch.int32))
        self.assertEqual((learned.relative, learned.absolute, learned.wide), (0, 0, False))


if __name__ == "__main__":
    lib.main()
