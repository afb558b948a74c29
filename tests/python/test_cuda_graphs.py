"""What is said of a call that could not be captured, and what a capture leaves behind; on a PyTorch that is faked.
With the whole program: tests/cli/python_cuda.sh."""
# Also without packages

import gc
import os
import sys
import types
import unittest

import lib

from assay import cuda_graphs


class AcceleratorError(RuntimeError):
    def __init__(self, code, text):
        super().__init__(text)
        self.error_code = code


class Graph:
    """A CUDAGraph that fails where it is told to."""

    def __init__(self, keep_graph):
        assert keep_graph
        self.log, self.fails = [], ()
        FAKE.graphs.append(self)
        self.fails = FAKE.fails

    def step(self, name):
        self.log.append(name)
        if name in self.fails:
            raise AcceleratorError(904, "CUDA error: capturing stream has unjoined work")

    def capture_begin(self, pool, capture_error_mode):
        self.pool, self.mode, self.collects = pool, capture_error_mode, gc.isenabled()
        self.step("begin")

    def capture_end(self):
        self.step("end")

    def instantiate(self):
        self.step("instantiate")

    def replay(self):
        self.step("replay")

    def reset(self):
        self.log.append("reset")

    def raw_cuda_graph(self):
        return 11

    def raw_cuda_graph_exec(self):
        return 12


class Fake:
    """torch, as far as it is used."""

    def __init__(self):
        self.graphs, self.fails, self.pools, self.cleaned = [], (), 0, []
        self.waits, self.emptied, self.stream = 0, 0, None
        self.__file__ = "/nowhere/torch/__init__.py"
        self.__version__ = "2.11.0"
        self.cuda = types.SimpleNamespace(
            is_available=lambda: True, CUDAGraph=Graph, graph_pool_handle=self.pool,
            get_sync_debug_mode=lambda: self.waits, set_sync_debug_mode=self.treat, current_device=lambda: 0,
            empty_cache=self.empty, ExternalStream=lambda stream, device: stream,
            set_stream=lambda stream: setattr(self, "stream", stream))
        self._C = types.SimpleNamespace(_cuda_endAllocateToPool=lambda device, pool: self.cleaned.append(pool))

    def pool(self):
        self.pools += 1
        return 0, self.pools

    def treat(self, how):
        self.waits = how

    def empty(self):
        self.emptied += 1


FAKE = None


def error_of(text, error):
    """An error raised by this line of a file of the user's."""
    scope = {"error": error}
    code = compile("def call():\n    %s\n" % text, "/home/me/mine.py", "exec")
    exec(code, scope)
    try:
        scope["call"]()
    except Exception as caught:
        return caught


class Captures(unittest.TestCase):
    def setUp(self):
        global FAKE
        FAKE = Fake()
        self.before = sys.modules.get("torch")
        sys.modules["torch"] = FAKE
        cuda_graphs._pool, cuda_graphs._live = None, 0
        cuda_graphs._streams.clear()
        cuda_graphs.use(77, 0)

    def tearDown(self):
        del sys.modules["torch"]
        if self.before:
            sys.modules["torch"] = self.before

    def test_a_graph_is_numbers(self):
        self.assertEqual(cuda_graphs.current(), 77)
        graph = cuda_graphs.begin()
        self.assertFalse(gc.isenabled())
        self.assertEqual(FAKE.waits, "error")
        FAKE.stream = 5  # a call has set another one
        self.assertEqual(cuda_graphs.end(graph, True), (11, 12))
        self.assertEqual(FAKE.stream, 77)
        self.assertTrue(gc.isenabled())
        self.assertEqual(FAKE.waits, 0)
        self.assertEqual(graph.log, ["begin", "end", "instantiate", "replay"])
        self.assertEqual((graph.mode, graph.pool, graph.collects), ("thread_local", (0, 1), False))

    def test_one_pool_as_long_as_a_graph_lives(self):
        first, second = cuda_graphs.begin(), None
        cuda_graphs.end(first, True)
        second = cuda_graphs.begin()
        cuda_graphs.end(second, True)
        self.assertEqual(first.pool, second.pool)
        cuda_graphs.drop(first)
        self.assertEqual(FAKE.emptied, 0)
        cuda_graphs.drop(second)
        self.assertEqual((FAKE.emptied, second.log[-1]), (1, "reset"))
        third = cuda_graphs.begin()
        self.assertNotEqual(third.pool, first.pool)
        cuda_graphs.end(third, True)
        cuda_graphs.drop(third)

    def test_a_capture_that_fails_leaves_nothing(self):
        FAKE.fails = ("end",)
        graph = cuda_graphs.begin()
        with self.assertRaises(AcceleratorError):
            cuda_graphs.end(graph, True)
        self.assertEqual(FAKE.cleaned, [graph.pool])
        self.assertIs(cuda_graphs._failed[-1], graph)  # allocators may ask it
        self.assertTrue(gc.isenabled())
        self.assertEqual(cuda_graphs._live, 0)
        graph = cuda_graphs.begin()  # what the calls said is what counts
        self.assertEqual(cuda_graphs.end(graph, False), (0, 0))
        FAKE.fails = ("begin",)
        with self.assertRaises(AcceleratorError):
            cuda_graphs.begin()
        self.assertTrue(gc.isenabled())
        self.assertEqual(FAKE.waits, 0)
        FAKE.fails = ("instantiate",)
        graph = cuda_graphs.begin()
        with self.assertRaises(AcceleratorError):
            cuda_graphs.end(graph, True)
        self.assertEqual((graph.log[-1], cuda_graphs._live), ("reset", 0))

    def test_calls_that_did_not_work_have_no_graph(self):
        graph = cuda_graphs.begin()
        self.assertEqual(cuda_graphs.end(graph, False), (0, 0))
        self.assertEqual(graph.log, ["begin", "end", "reset"])

    def test_an_old_one_says_so(self):
        FAKE.__version__ = "2.5.1"

        def old():
            return None

        FAKE.cuda.CUDAGraph = old
        with self.assertRaises(cuda_graphs.Refused) as caught:
            cuda_graphs.begin()
        said = cuda_graphs.explain(caught.exception)
        self.assertEqual(said, (0, False, "PyTorch 2.5.1 cannot keep the graph it captures; 2.8 and later can"))

    def test_without_torch_there_is_none(self):
        FAKE.cuda.is_available = lambda: False
        self.assertIsNone(cuda_graphs.begin())
        del sys.modules["torch"]
        self.assertIsNone(cuda_graphs.begin())
        cuda_graphs.use(5, 0)
        self.assertEqual(cuda_graphs.current(), 5)
        sys.modules["torch"] = FAKE


class Reasons(unittest.TestCase):
    """(the driver's code, whether it waits, why)"""

    def said(self, line, error):
        import linecache

        raised = error_of("raise error  # " + line, error)
        linecache.cache["/home/me/mine.py"] = (0, None, ["def call():\n", "    %s\n" % line], "/home/me/mine.py")
        try:
            return cuda_graphs.explain(raised)
        finally:
            del linecache.cache["/home/me/mine.py"]

    def unsupported(self, line):
        return self.said(line, AcceleratorError(900, "CUDA error: operation not permitted when stream is capturing"))

    def test_waits(self):
        name = "(cudaErrorStreamCaptureUnsupported) at mine.py:2"
        for line in ("torch.cuda.synchronize()", "n = y.sum().item()", "host = y.cpu()", "y.tolist()"):
            self.assertEqual(self.unsupported(line), (900, True, "a host synchronisation in it " + name), line)
        said = self.said("return y[mask]", RuntimeError("called a synchronizing CUDA operation"))
        self.assertEqual(said, (0, True, "a host synchronisation in it at mine.py:2"))

    def test_queries_and_allocations(self):
        self.assertEqual(self.unsupported("if event.query():")[1:],
                         (False, "an event query in it (cudaErrorStreamCaptureUnsupported) at mine.py:2"))
        self.assertEqual(self.unsupported("check(runtime.cudaMalloc(n))")[1:],
                         (False, "an allocation in it (cudaErrorStreamCaptureUnsupported) at mine.py:2"))
        self.assertEqual(self.unsupported("library.run(x)")[1:],
                         (False, "a host synchronisation, an allocation or a query in it "
                                 "(cudaErrorStreamCaptureUnsupported) at mine.py:2"))

    def test_codes_are_found_in_words(self):
        for code, (name, words) in cuda_graphs.ERRORS.items():
            for text in ("CUDA error: %s\nand more" % words, "%s: something" % name):
                self.assertEqual(self.said("f(x)", RuntimeError(text))[0], code, text)

    def test_unjoined_work_is_left_to_the_device(self):
        self.assertEqual(self.said("f(x)", AcceleratorError(904, "")), (904, False, ""))

    def test_any_other_exception(self):
        self.assertEqual(self.said("f(x)", ValueError("no graphs here\nplease")),
                         (0, False, "it raised ValueError while it was captured: no graphs here"))

    def test_a_frameworks_own_lines_are_not_the_place(self):
        fake = Fake()
        before, sys.modules["torch"] = sys.modules.get("torch"), fake
        try:
            scope = {}
            exec(compile("def item():\n    raise RuntimeError('called a synchronizing CUDA operation')\n",
                         os.path.dirname(fake.__file__) + "/_tensor.py", "exec"), scope)
            exec(compile("\n\n\ndef call(item):\n    item()\n", "/home/me/mine.py", "exec"), scope)
            try:
                scope["call"](scope["item"])
            except RuntimeError as error:
                self.assertEqual(cuda_graphs.explain(error)[2], "a host synchronisation in it at mine.py:5")
        finally:
            del sys.modules["torch"]
            if before:
                sys.modules["torch"] = before


if __name__ == "__main__":
    lib.main()
