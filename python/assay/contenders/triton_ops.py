"""Ops of assay in Triton: kernels of our own (triton_kernels.py), tuned in setup.

A maker of OPS gives a list of candidates: the same call with other tiles and warps. setup runs
each, takes the fastest, and says in the note which it was and what that cost.
"""

import os
import sys
import time

from . import Call, Unsupported
from .torch_common import absent, cannot, dtype, enter, remark
from .torch_common import note as torch_note
from .torch_ops import ACTIVATIONS, recipe_of

DTYPES = ["f32", "f16", "bf16"]
IN_REGISTERS = 32768  # elements of a row
LONG_BLOCK = 8192
SHARED = 227 * 1024  # bytes for the tiles of a program
WARPS = 32  # of a processor's 64: two programs can hide each other's waits


def missing(implementation):
    """Why Triton cannot be used here at all, or None."""
    return absent("torch", "PyTorch") or absent("triton", "Triton")


def interpreted():
    """Is this Triton's interpreter, on the CPU?"""
    return os.environ.get("TRITON_INTERPRET") == "1"


# ---- candidates ----

def count(dims):
    product = 1
    for size in dims:
        product *= size
    return product


def ceil_div(a, b):
    return -(-a // b)


def power_of_two(n):
    """The least that is not below n."""
    return 1 << max(0, n - 1).bit_length()


def processors(torch):
    if interpreted():
        return 2
    return torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count


def row_tiles(torch, rows, dim):
    """Tiles of rows: (programs, dict(ROWS, STAGES, BLOCK, num_warps)). With one program for each
    tile, or a few for each processor that go through all of them."""
    block = power_of_two(dim)
    few = max(1, 1024 // block)
    for tall in (few, 2 * few, 4 * few):
        tiles = ceil_div(rows, tall)
        for warps in (1, 2, 4, 8, 16, 32):
            each = tall * block // (32 * warps)  # elements of a thread
            if not 8 <= each <= 32 or warps > 8 and block < 8192:
                continue
            tile = dict(DIM=dim, BLOCK=block, ROWS=tall, num_warps=warps)
            yield tiles, dict(tile, STAGES=1)
            persistent = processors(torch) * max(1, WARPS // warps)
            if each >= 16 and persistent < tiles:
                yield persistent, dict(tile, STAGES=3)


def blocks(n):
    """Blocks of elements: (programs, dict(BLOCK, num_warps))."""
    for block, warps in ((1024, 4), (2048, 4), (4096, 8), (8192, 8)):
        yield ceil_div(n, block), dict(BLOCK=block, num_warps=warps)


# BM, BN, BK, warps, stages
SHORT_TILES = (
    (128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (256, 128, 64, 8, 3), (128, 128, 64, 8, 4),
    (128, 128, 64, 4, 3), (64, 256, 64, 4, 4), (128, 64, 64, 4, 4), (64, 128, 64, 4, 5),
    (64, 64, 64, 4, 5), (64, 64, 128, 4, 4), (32, 64, 128, 4, 5), (32, 128, 128, 4, 4),
    (16, 16, 256, 2, 5), (16, 32, 256, 4, 5), (16, 64, 128, 4, 5), (16, 128, 128, 4, 4),
)
F32_TILES = (
    (128, 128, 16, 8, 3), (128, 64, 16, 8, 3), (64, 128, 16, 8, 3), (64, 64, 32, 4, 3),
    (64, 64, 16, 4, 3), (32, 64, 32, 4, 3), (32, 32, 32, 4, 4), (16, 64, 64, 4, 3),
    (16, 32, 64, 4, 4), (16, 16, 128, 2, 4),
)


def product_tiles(problem):
    """Tiles of a product, those that are not mostly beyond its edges."""
    m, k, n = problem.axes[:3]
    size, tiles = (4, F32_TILES) if problem.dtype == "f32" else (2, SHORT_TILES)
    for bm, bn, bk, warps, stages in tiles:
        beyond = bm > max(16, power_of_two(m)) or bn > max(16, power_of_two(n))
        low = bm < 64 and m > 256 and n >= 64
        if not beyond and not low and (bm + bn) * bk * size * stages <= SHARED:
            yield (ceil_div(m, bm) * ceil_div(n, bn),
                   dict(M=m, N=n, K=k, BM=bm, BN=bn, BK=bk, GROUP=8, num_warps=warps,
                        num_stages=stages))


# ---- the ops: each gives its candidates as (words, fn) ----

def words(tile):
    """What the note says of a tile."""
    return " ".join("%s=%d" % (name, value) for name, value in sorted(tile.items())
                    if name not in ("DIM", "M", "N", "K", "GROUP"))


def unary(torch, kernels, problem):
    n, empty_like = count(problem.inputs[0][1]), torch.empty_like

    def candidate(run, tile):
        def call(x):
            out = empty_like(x)
            run(x, out, n, NAME=problem.op, **tile)
            return out
        return call
    return [(words(tile), candidate(kernels.unary[(programs,)], tile))
            for programs, tile in blocks(n)]


def add(torch, kernels, problem):
    n, empty_like = count(problem.inputs[0][1]), torch.empty_like

    def candidate(run, tile):
        def call(x, y):
            out = empty_like(x)
            run(x, y, out, n, **tile)
            return out
        return call
    return [(words(tile), candidate(kernels.add[(programs,)], tile))
            for programs, tile in blocks(n)]


def row_op(name):
    """The maker of layernorm, rmsnorm and softmax: x, the vectors, and eps where there is one."""
    def make(torch, kernels, problem):
        batch, seq, dim = problem.axes[:3]
        rows, eps, empty_like = batch * seq, problem.params[:1], torch.empty_like

        def candidate(run, sizes, tile):
            def call(x, *vectors):
                out = empty_like(x)
                run(x, *vectors, out, *sizes, **tile)
                return out
            return call
        if dim > IN_REGISTERS:
            tiles = [(rows, dict(DIM=dim, BLOCK=block, num_warps=warps))
                     for block, warps in ((LONG_BLOCK, 16), (LONG_BLOCK, 8), (LONG_BLOCK // 2, 8))]
            kernel, sizes = getattr(kernels, name + "_long"), eps
        else:
            tiles = list(row_tiles(torch, rows, dim))
            kernel, sizes = getattr(kernels, name), (rows,) + eps
        return [(words(tile), candidate(kernel[(programs,)], sizes, tile))
                for programs, tile in tiles]
    return make


def summed(torch, kernels, programs, terms, device):
    """parts, and total(): their sum over the number of terms."""
    parts = torch.empty(programs, dtype=torch.float32, device=device)
    sum_parts, scale, empty, f32 = kernels.scaled_sum[(1,)], 1.0 / terms, torch.empty, torch.float32
    block = min(4096, power_of_two(max(programs, 32)))

    def total():
        out = empty(1, dtype=f32, device=device)
        sum_parts(parts, out, programs, scale, BLOCK=block, num_warps=4)
        return out
    return parts, total


def mse(torch, kernels, problem):
    n = count(problem.inputs[0][1])

    def candidate(programs, tile):
        parts, total = summed(torch, kernels, programs, n, device_of(problem))
        run = kernels.squares[(programs,)]

        def call(x, y):
            run(x, y, parts, n, **tile)
            return total()
        return call
    candidates = []
    for block, warps, each, stages in ((2048, 4, 8, 1), (2048, 4, 8, 3), (4096, 8, 4, 1),
                                       (4096, 8, 4, 3), (4096, 4, 8, 1), (1024, 4, 16, 1)):
        programs = min(processors(torch) * each, max(1, n // block))
        tile = dict(BLOCK=block, STAGES=stages, num_warps=warps)
        candidates.append((words(tile), candidate(programs, tile)))
    return candidates


def cross_entropy(torch, kernels, problem):
    batch, seq, dim = problem.axes[:3]
    rows = batch * seq

    def candidate(kernel, programs, sizes, tile):
        parts, total = summed(torch, kernels, programs, rows, device_of(problem))
        run = kernel[(programs,)]

        def call(x, classes):
            run(x, classes, parts, *sizes, **tile)
            return total()
        return call
    if dim > IN_REGISTERS:
        tiles = [(rows, dict(DIM=dim, BLOCK=block, num_warps=8)) for block in (LONG_BLOCK, 4096)]
        return [(words(tile), candidate(kernels.cross_entropy_long, programs, (), tile))
                for programs, tile in tiles]
    return [(words(tile), candidate(kernels.cross_entropy, programs, (rows,), tile))
            for programs, tile in row_tiles(torch, rows, dim)]


def linear(torch, kernels, problem):
    bias, activation, _, residual = (list(map(int, problem.params)) + [0] * 4)[:4]
    shape, empty, into = problem.outputs[0][1], torch.empty, dtype(torch, problem.dtype)
    device = device_of(problem)

    def candidate(run, tile):
        def call(x, w, *others):
            out = empty(shape, dtype=into, device=device)
            run(x, w, others[0] if bias else x, others[-1] if residual else x, out, BIAS=bias,
                NAME=ACTIVATIONS[activation] or "none", ADD=residual, **tile)
            return out
        return call
    return [(words(tile), candidate(kernels.linear[(programs,)], tile))
            for programs, tile in product_tiles(problem)]


OPS = {
    "layernorm": row_op("layernorm"),
    "rmsnorm": row_op("rmsnorm"),
    "softmax": row_op("softmax"),
    "gelu": unary,
    "silu": unary,
    "add": add,
    "mse": mse,
    "cross_entropy": cross_entropy,
    "linear": linear,
}
KERNELS = [dict(name=op + "_triton", op=op, implementation="triton", device="cuda", dtypes=DTYPES,
                preference=1, note=True) for op in OPS]


# ---- choosing ----

def device_of(problem):
    return "cpu" if interpreted() else problem.device


def sample(torch, problem):
    """Inputs to tune with: normal values, classes of 0."""
    def tensor(name, dims):
        zeros = torch.zeros(dims, dtype=dtype(torch, name), device=device_of(problem))
        return zeros if name == "s32" else zeros.normal_()
    return [tensor(name, dims) for name, dims in problem.inputs]


def seconds_of(torch, fn, inputs, calls=10):
    """Of one call on the GPU. The launches queue up behind a pause, so that what the host takes to
    launch them does not count."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    fn(*inputs)
    torch.cuda.synchronize()
    torch.cuda._sleep(2000000)
    begin.record()
    for _ in range(calls):
        fn(*inputs)
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / calls / 1e3


def fastest(torch, candidates, inputs):
    """(words, fn) of the fastest; those that do not fit the GPU are left out."""
    best, failed = None, None
    for text, fn in candidates:
        try:
            seconds = seconds_of(torch, fn, inputs)
        except Exception as error:  # OutOfResources is of another module in each version
            failed = error
            continue
        if not best or seconds < best[0]:
            best = seconds, text, fn
    if not best:
        raise failed
    return best[1:]


def can_run(kernel, problem):
    """Why not, or None. Imports nothing."""
    reason = missing("triton")
    if not reason and not interpreted():
        reason = cannot(dict(implementation="torch", device="cuda"))
    if reason or problem is None or problem.op != "linear":
        return reason
    if recipe_of(problem):
        return "no weights stored by a recipe"
    return "no norm before the product" if problem.params[2:3] not in ((), (0,)) else None


def setup(kernel, problem):
    """The fastest candidate's Call."""
    import torch
    enter(torch, device_of(problem), problem.threads)
    try:
        from . import triton_kernels as kernels
    except ImportError as error:
        raise Unsupported("Triton cannot be imported: %s" % error) from error
    start = time.perf_counter()
    candidates = OPS[problem.op](torch, kernels, problem)
    if interpreted():
        return Call(candidates[0][1])
    text, fn = fastest(torch, candidates, sample(torch, problem))
    torch.cuda.empty_cache()
    remark(kernel, problem, "%s, best of %d in %.1f s" % (text, len(candidates),
                                                          time.perf_counter() - start))
    return Call(fn)


def note(kernel, problem):
    """Versions, the tile, and what finding it cost; None before Triton is imported."""
    triton = sys.modules.get("triton")
    rest = torch_note(kernel, problem)
    return "Triton %s, %s" % (triton.__version__, rest) if triton and rest else None
