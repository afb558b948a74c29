"""isolate=True: a function that crashes, hangs or ends the process costs its own row; what cannot be isolated says so."""

import array
import os
import subprocess
import sys
import tempfile
import unittest

import isolated_functions as f
import lib

import assay

QUICK = {"warmup": 1, "iters": 3, "quiet": True, "isolate": True}
X = array.array("d", [1, 2, 3])


def setUpModule():
    os.environ["PYTHONPATH"] = lib.child_environment()["PYTHONPATH"]


class Isolation(unittest.TestCase):
    def test_a_process_of_its_own(self):
        r = assay.bench(f.fine, X, reference=f.also_fine, **QUICK)
        self.assertEqual((r.status, r.isolated, r.verified), ("ok", True, True), r.reason)
        self.assertEqual((len(r.times), r.notes), (3, []))
        self.assertIsInstance(r.interval, tuple)
        self.assertTrue(assay.bench(f.Holder.inside, X, **QUICK).isolated)

    def test_what_goes_wrong_in_it(self):
        expected = {
            f.wrong: ("mismatch", "1 of 1 wrong"),
            f.raises: ("failed", "LookupError: no such thing"),
            f.aborts: ("crashed", "SIGABRT ended its process"),
            f.ends: ("crashed", "its process ended with exit code 7"),
        }
        for fn, (status, reason) in expected.items():
            r = assay.bench(fn, X, reference=f.fine, **QUICK)
            self.assertEqual((r.status, r.isolated), (status, True), r.reason)
            self.assertIn(reason, r.reason)
            self.assertIsNone(r.median)

    def test_a_hang(self):
        r = assay.bench(f.hangs, X, timeout=0.5, budget=0.1, isolate=True, quiet=True)
        self.assertEqual((r.status, r.reason), ("timeout", "it did not end within 0.5 s"))

    def test_a_crash_costs_one_row(self):
        functions = {"fine": f.fine, "crashes": f.crashes, "also": f.also_fine}
        found = assay.compare(functions, (X,), f.fine, **QUICK)
        self.assertEqual([r.status for r in found], ["ok", "crashed", "ok"], str(found))
        self.assertIn("SIGSEGV", found["crashes"].reason)
        self.assertIsNotNone(found["also"].speedup)

    def test_its_prints_are_no_results(self):
        r = assay.bench(f.prints, X, **QUICK)
        self.assertEqual((r.status, r.isolated), ("ok", True))

    def test_what_has_no_name_to_import(self):
        def local(x):
            return sum(x)

        for fn in (local, lambda x: sum(x)):
            r = assay.bench(fn, X, **QUICK)
            self.assertEqual((r.status, r.isolated), ("ok", False))
            self.assertRegex(r.notes[0], "not isolated: .* cannot be imported by name")

    def test_arguments_that_cannot_travel(self):
        r = assay.bench(f.fine, (n for n in (1, 2)), **QUICK)
        self.assertFalse(r.isolated)
        self.assertIn("its arguments cannot be pickled", r.notes[0])

    def test_not_asked_for(self):
        r = assay.bench(f.fine, X, warmup=1, iters=1, quiet=True)
        self.assertEqual((r.isolated, r.notes), (False, []))


class Scripts(unittest.TestCase):
    def run_script(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return subprocess.run(
                [sys.executable, "-X", "dev", path], env=lib.child_environment(), capture_output=True, text=True, timeout=60
            )

    def test_functions_of_the_script(self):
        done = self.run_script(
            "import assay\n"
            "def mine(n):\n    return n + 1\n"
            "if __name__ == '__main__':\n"
            "    r = assay.bench(mine, 3, iters=2, warmup=1, isolate=True, quiet=True)\n"
            "    print(r.status, r.isolated, r.notes)\n"
        )
        self.assertEqual((done.stdout, done.stderr), ("ok True []\n", ""))

    def test_a_script_without_a_guard(self):
        done = self.run_script(
            "import assay\n"
            "def mine(n):\n    return n + 1\n"
            "r = assay.bench(mine, 3, iters=2, warmup=1, isolate=True, quiet=True)\n"
            "print(r.status, r.isolated, r.notes)\n"
        )
        self.assertRegex(done.stdout, "ok False .*not isolated: it cannot be imported there: RuntimeError: ", done.stderr)
        self.assertIn("if __name__ == '__main__':", done.stdout)


if __name__ == "__main__":
    lib.main()
