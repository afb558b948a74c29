"""The stubs say what the packages are, the page of all names is current, and help() is worth reading."""

import ast
import inspect
import io
import os
import pydoc
import subprocess
import sys
import unittest
from unittest import mock

import lib

import assay
from assay import _assay


def stub(name):
    with open(os.path.join(lib.SOURCE, "python", "assay", name), encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    return {node.name: node for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def written(args):
    """Names and defaults of a stub's function, as inspect has them."""
    plain = args.posonlyargs + args.args
    defaults = [inspect.Parameter.empty] * (len(plain) - len(args.defaults)) + [ast.literal_eval(d) for d in args.defaults]
    found = {arg.arg: default for arg, default in zip(plain, defaults)}
    for arg in filter(None, [args.vararg]):
        found[arg.arg] = inspect.Parameter.empty
    for arg, default in zip(args.kwonlyargs, args.kw_defaults):
        found[arg.arg] = ast.literal_eval(default) if default else inspect.Parameter.empty
    for arg in filter(None, [args.kwarg]):
        found[arg.arg] = inspect.Parameter.empty
    return found


class Stubs(unittest.TestCase):
    def same(self, name, node, value):
        found = {p.name: p.default for p in inspect.signature(value).parameters.values()}
        self.assertEqual(written(node.args), found, name)

    def test_functions(self):
        for name, node in stub("__init__.pyi").items():
            value = getattr(assay, name)
            if isinstance(node, ast.FunctionDef):
                self.same(name, node, value)
                continue
            for method in (m for m in node.body if isinstance(m, ast.FunctionDef)):
                theirs = vars(value)[method.name]
                self.same(f"{name}.{method.name}", method, theirs.fget if isinstance(theirs, property) else theirs)

    def test_everything_public_is_in_them(self):
        self.assertEqual(set(stub("__init__.pyi")), set(assay.__all__))

    def test_fields_of_a_result(self):
        node = stub("__init__.pyi")["Result"]
        fields = [item.target.id for item in node.body if isinstance(item, ast.AnnAssign)]
        self.assertEqual(fields, [*assay.Result._fields, "error"])

    def test_the_extension(self):
        functions = {name for name in dir(_assay) if not name.startswith("__")}
        self.assertEqual(set(stub("_assay.pyi")), functions)

    def test_packages_are_marked_as_typed(self):
        for package in ("assay", "kohakubench"):
            self.assertTrue(os.path.exists(os.path.join(lib.PACKAGE, package, "py.typed")), package)

    def test_kohakubench_is_typed(self):
        import kohakubench.metrics as metrics
        import kohakubench.report as report
        from kohakubench import core

        for value in (core.KoBench.benchmark, core.resolve_dtype, core.BenchmarkCase.__init__, report.format_table, metrics.linear_macs):
            found = inspect.signature(value)
            self.assertIsNot(found.return_annotation, inspect.Signature.empty, value)
            for p in found.parameters.values():
                self.assertTrue(p.name == "self" or p.annotation is not p.empty, f"{value}: {p.name}")

    def test_a_type_checker_agrees(self):
        done = subprocess.run([sys.executable, "-m", "mypy", "--version"], capture_output=True)
        if done.returncode != 0:
            self.skipTest("no mypy")
        code = "import assay\nr: assay.Result = assay.bench(sum, [1])\nx: float | None = r.median\n"
        command = [sys.executable, "-m", "mypy", "--strict", "-c", code]
        done = subprocess.run(command, env={**lib.child_environment(), "MYPYPATH": lib.PACKAGE}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


class Help(unittest.TestCase):
    def test_every_public_thing_has_words(self):
        for name in assay.__all__:
            value = getattr(assay, name)
            self.assertGreater(len(inspect.getdoc(value) or ""), 40, name)
            if inspect.isclass(value):
                for inner, method in vars(value).items():
                    if not inner.startswith("_") and callable(method):
                        self.assertTrue(inspect.getdoc(method), f"{name}.{inner}")

    def test_help(self):
        with mock.patch("sys.stdout", io.StringIO()) as out:
            pydoc.Helper(output=out).help(assay)
        text = out.getvalue()
        for words in ("result.median", "bench(fn, *args", "compare(functions", "run_comprehensive_benchmark", "python3 -m assay"):
            self.assertIn(words, text)


class Page(unittest.TestCase):
    def test_it_is_current(self):
        tool = os.path.join(lib.SOURCE, "tools", "python-reference")
        done = subprocess.run([sys.executable, "-X", "dev", tool, "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    lib.main()
