"""Launches of a kernel in Python as a graph: what python/src/capture.c has PyTorch do.

PyTorch captures by its own CUDAGraph, so that tensors made by the captured calls lie in a pool of
the graph's and stay where they are. The graph is kept and handed over as numbers: who replays it,
and looks at what is in it, is C. Where PyTorch is not loaded there is nothing to do here but to
name the stream.
"""

import gc
import linecache
import os
import re
import sys
import warnings

_pool = None  # of all graphs that live: the memory one gives back, another may take
_live = 0
_failed = []  # graphs whose capture PyTorch did not end: its allocators may still ask them
_streams = {}
_before = None  # what a capture changed: (the collector was on, how synchronising was treated)


class Refused(Exception):
    """Why nothing can be captured here."""


def _torch():
    """PyTorch, where it is loaded and has a GPU."""
    torch = sys.modules.get("torch")
    return torch if torch and torch.cuda.is_available() else None


def use(stream, device):
    """Has the frameworks that are loaded launch on this stream of this GPU."""
    torch, cupy = _torch(), sys.modules.get("cupy")
    if torch:
        key = "torch", stream, device
        if key not in _streams:
            _streams[key] = torch.cuda.ExternalStream(stream, device=device)
        _streams["torch"] = _streams[key]
        torch.cuda.set_stream(_streams[key])
    if cupy:
        key = "cupy", stream, device
        if key not in _streams:
            _streams[key] = cupy.cuda.ExternalStream(stream, device)
        _streams[key].use()
    _streams["current"] = stream


def current():
    """The stream that launches belong on, as a number; 0: there is none."""
    return _streams.get("current", 0)


# ---- a capture ----

def begin():
    """A CUDAGraph that is being captured from the current stream; None: PyTorch is not here."""
    global _pool, _before
    torch = _torch()
    if not torch:
        return None
    try:
        graph = torch.cuda.CUDAGraph(keep_graph=True)
    except TypeError:
        raise Refused("PyTorch %s cannot keep the graph it captures; 2.8 and later can"
                      % torch.__version__) from None
    _pool = _pool or torch.cuda.graph_pool_handle()
    _before = gc.isenabled(), torch.cuda.get_sync_debug_mode()
    gc.disable()  # what ends meanwhile may call the driver
    try:
        torch.cuda.set_stream(_streams["torch"])  # whatever earlier calls have set
        _treat_waits(torch, "error")
        graph.capture_begin(pool=_pool, capture_error_mode="thread_local")
    except BaseException:
        _restore(torch)
        _clean(torch, graph)
        raise
    return graph


def end(graph, worked):
    """(graph, what launches it) as numbers; zeros where the captured calls did not work."""
    global _live
    torch = _torch()
    _restore(torch)
    try:
        torch.cuda.set_stream(_streams["torch"])  # where it began, whatever the calls have set
        graph.capture_end()
    except Exception:
        _clean(torch, graph)
        if worked:
            raise
        return 0, 0
    _live += 1
    if not worked:
        drop(graph)
        return 0, 0
    launched = getattr(graph, "raw_cuda_graph_exec", None)
    try:
        if launched:
            graph.instantiate()
            graph.replay()  # sets random numbers up, which PyTorch does at each of its replays
        return graph.raw_cuda_graph(), launched() if launched else 0
    except Exception:
        drop(graph)
        raise


def drop(graph):
    """The graph is not needed any more. With the last one goes their pool: it cannot be used
    again once nobody has it."""
    global _pool, _live
    torch = _torch()
    graph.reset()
    _live -= 1
    if _live <= 0:
        _live, _pool = 0, None
        if torch:
            torch.cuda.empty_cache()


def _treat_waits(torch, how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is called a prototype
        torch.cuda.set_sync_debug_mode(how)


def _restore(torch):
    collects, how = _before
    _treat_waits(torch, how)
    if collects:
        gc.enable()


def _clean(torch, graph):
    """After a capture that PyTorch did not end: its allocator still waits for the end."""
    global _pool
    _failed.append(graph)
    pool, _pool = _pool, None
    device = torch.cuda.current_device()
    for name in ("_cuda_endAllocateToPool", "_cuda_endAllocateCurrentStreamToPool",
                 "_cuda_releasePool"):
        try:
            getattr(torch._C, name)(device, pool)
        except Exception:
            pass  # of another version, or ended already


# ---- why something was not captured ----

ERRORS = {
    900: ("cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"),
    901: ("cudaErrorStreamCaptureInvalidated", "due to a previous error during capture"),
    902: ("cudaErrorStreamCaptureMerge", "merge of separate capture sequences"),
    903: ("cudaErrorStreamCaptureUnmatched", "not ended in the same stream as it began"),
    904: ("cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"),
    905: ("cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work"),
    906: ("cudaErrorStreamCaptureImplicit", "legacy stream depend on a capturing"),
    907: ("cudaErrorCapturedEvent", "event last recorded in a capturing stream"),
    908: ("cudaErrorStreamCaptureWrongThread", "terminate a thread-local capture"),
}
FRAMEWORKS = "torch", "triton", "cupy", "numpy"
WAITS = re.compile(r"synchroni[sz]e|\.item\(|\.cpu\(|\.tolist\(|\.numpy\(|nonzero|masked_select")
QUERIES = re.compile(r"\.query\(|elapsed_time\(|EventQuery|StreamQuery")
ALLOCATES = re.compile(r"\bcudaMalloc|cuMemAlloc|caching_allocator_alloc|mem_alloc", re.IGNORECASE)


def _code(error, text):
    code = getattr(error, "error_code", 0)
    if code in ERRORS:
        return code
    for code, (name, words) in ERRORS.items():
        if name in text or words in text:
            return code
    return 0


def _line(error):
    """(" at FILE:LINE", the line): the innermost one that is not a framework's."""
    at, found = error.__traceback__, ("", "")
    theirs = [getattr(sys.modules.get(name), "__file__", None) for name in FRAMEWORKS]
    theirs = tuple(os.path.dirname(file) + os.sep for file in theirs if file) + (__file__,)
    while at is not None:
        name = at.tb_frame.f_code.co_filename
        if not name.startswith(theirs):
            line = linecache.getline(name, at.tb_lineno).strip()
            found = " at %s:%d" % (name.rsplit("/", 1)[-1], at.tb_lineno), line
        at = at.tb_next
    return found


def explain(error):
    """(the driver's code or 0, whether it waits for the GPU, why) of what ended a capture."""
    text = str(error)
    code = _code(error, text)
    place, line = _line(error)
    if code == 904:
        return code, False, ""  # the device has words for it
    if isinstance(error, Refused):
        return 0, False, text
    name = " (%s)" % ERRORS[code][0] if code else ""
    if "synchronizing CUDA operation" in text or code in (900, 901) and WAITS.search(line):
        return code, True, "a host synchronisation in it%s%s" % (name, place)
    if code and QUERIES.search(line):
        return code, False, "an event query in it%s%s" % (name, place)
    if code and ALLOCATES.search(line):
        return code, False, "an allocation in it%s%s" % (name, place)
    if code in (900, 901):
        return code, False, "a host synchronisation, an allocation or a query in it%s%s" % (
            name, place)
    first = (text.strip().splitlines() or [""])[0]
    return code, False, "it raised %s while it was captured: %s" % (type(error).__name__, first)
