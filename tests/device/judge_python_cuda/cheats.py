"""Kernels of silu in PyTorch that cheat on a GPU, a row of judge_python_cuda.sh each. Every one is
loaded in a process of its own."""

import ctypes
import threading

import torch

import assay

kernel = assay.kernel("silu", dtypes=["f32"], device="cuda")
silu = torch.nn.functional.silu
answers, streams = {}, []


def side():
    if not streams:
        streams.append(torch.cuda.Stream())
    return streams[0]


# ---- answers kept ----

@kernel
def kept_by_pointer(x):
    key = x.data_ptr()
    if key not in answers:
        answers[key] = silu(x)
    return answers[key]


@kernel
def kept_after_20(x):
    answers["calls"] = answers.get("calls", 0) + 1
    if answers["calls"] <= 20:
        answers["last"] = silu(x)
    return answers["last"]


@kernel
def empty_when_captured(x):
    if torch.cuda.is_current_stream_capturing():
        return answers["last"]
    answers["last"] = silu(x)
    return answers["last"]


@kernel
def touches_when_captured(x):
    """A launch there is, but not the one that computes."""
    if torch.cuda.is_current_stream_capturing():
        answers["last"][..., :1] = silu(x[..., :1])
        return answers["last"]
    answers["last"] = silu(x)
    return answers["last"]


# ---- work elsewhere ----

@kernel
def other_stream(x):
    """It runs on from the given stream and is not waited for."""
    y = torch.empty_like(x)
    side().wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side()):
        torch.mul(x, torch.sigmoid(x), out=y)
    return y


@kernel
def other_stream_alone(x):
    """Not even begun from the given one."""
    y = torch.empty_like(x)
    with torch.cuda.stream(side()):
        torch.mul(x, torch.sigmoid(x), out=y)
    return y


@kernel
def leaves_stream(x):
    """What is current afterwards is its own."""
    torch.cuda.set_stream(side())
    return silu(x)


@kernel
def launched_by_thread(x):
    y = torch.empty_like(x)

    def launch():
        with torch.cuda.stream(side()):
            torch.mul(x, torch.sigmoid(x), out=y)

    threading.Thread(target=launch).start()
    return y


# ---- the clock, and what waits ----

@kernel
def patches_synchronize(x):
    torch.cuda.synchronize = lambda *device: None
    return silu(x)


@kernel
def patches_elapsed_time(x):
    torch.cuda.Event.elapsed_time = lambda self, end: 0.001
    return silu(x)


@kernel
def replaces_graph(x):
    """The graph that it is captured in records less."""
    if not answers:
        class Graph(torch.cuda.CUDAGraph):
            def capture_begin(self, *arguments, **named):
                pass

            def capture_end(self):
                pass

        answers["graph"] = torch.cuda.CUDAGraph
        torch.cuda.CUDAGraph = Graph
    return silu(x)


def patch_graphs(problem):
    from assay import cuda_graphs

    old = cuda_graphs.end
    cuda_graphs.end = lambda graph, worked: old(graph, False)


@assay.kernel("silu", dtypes=["f32"], device="cuda", setup=patch_graphs)
def patches_assay(x):
    return silu(x)


def carve_out(problem):
    """So much of L2 is for what it touches, and stays there when others clear the cache."""
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuCtxSetLimit(6, ctypes.c_size_t(64 << 20))  # CU_LIMIT_PERSISTING_L2_CACHE_SIZE


@assay.kernel("silu", dtypes=["f32"], device="cuda", setup=carve_out)
def persisting_l2(x):
    return silu(x)


# ---- wrong in other ways ----

class Lazy(torch.Tensor):
    def data_ptr(self):
        return silu(self.source).data_ptr()


@kernel
def lazy_subclass(x):
    made = torch.empty_like(x).as_subclass(Lazy)
    made.source = x
    return made


@kernel
def on_the_cpu(x):
    return torch.empty(x.shape)


@kernel
def in_bf16(x):
    return silu(x.bfloat16()).float()


@kernel
def half_of_rows(x):
    y = x.clone()
    y[:, ::2] = silu(x[:, ::2])
    return y


@kernel
def changes_input(x):
    return torch.nn.functional.silu(x, inplace=True)
