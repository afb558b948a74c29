"""Triton kernels; imports triton, so only `setup` of triton_ops imports this.

Everything is computed in f32. Rows of up to 32768 elements stay in registers: a program takes ROWS
of them at a time and goes on with every num_programs-th tile, whose loads STAGES prefetch; the
vectors are loaded once. Longer rows are read block by block, a program each. Losses are sums of
parts, added up by a second kernel in an order that is always the same.
"""

import triton
import triton.language as tl


@triton.jit
def activate(v, NAME: tl.constexpr):
    if NAME == "gelu":
        v = 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))
    if NAME == "silu":
        v = v / (1.0 + tl.exp(-v))
    if NAME == "sigmoid":
        v = 1.0 / (1.0 + tl.exp(-v))
    if NAME == "relu":
        v = tl.where(v < 0.0, 0.0, v)
    if NAME == "leakyrelu":
        v = tl.where(v < 0.0, 0.01 * v, v)
    if NAME == "relu6":
        v = tl.where(v < 0.0, 0.0, tl.where(v > 6.0, 6.0, v))
    if NAME == "hardswish":
        v = v * tl.where(v < -3.0, 0.0, tl.where(v > 3.0, 6.0, v + 3.0)) / 6.0
    return v


# ---- elements: blocks of them, of which only the last is masked ----

@triton.jit(do_not_specialize=["n"])
def unary(x, out, n, NAME: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    lanes = tl.arange(0, BLOCK)
    x += first
    out += first
    if first + BLOCK <= n:
        v = tl.load(x + lanes).to(tl.float32)
        tl.store(out + lanes, activate(v, NAME).to(out.dtype.element_ty))
    else:
        inside = first + lanes < n
        v = tl.load(x + lanes, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + lanes, activate(v, NAME).to(out.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["n"])
def add(x, y, out, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    lanes = tl.arange(0, BLOCK)
    x += first
    y += first
    out += first
    if first + BLOCK <= n:
        v = tl.load(x + lanes).to(tl.float32) + tl.load(y + lanes).to(tl.float32)
        tl.store(out + lanes, v.to(out.dtype.element_ty))
    else:
        inside = first + lanes < n
        v = tl.load(x + lanes, mask=inside, other=0.0).to(tl.float32)
        v += tl.load(y + lanes, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + lanes, v.to(out.dtype.element_ty), mask=inside)


# ---- rows in registers ----

@triton.jit(do_not_specialize=["rows"])
def layernorm(x, gamma, beta, out, rows, eps, DIM: tl.constexpr, BLOCK: tl.constexpr,
              ROWS: tl.constexpr, STAGES: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < DIM
    g = tl.load(gamma + columns, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(beta + columns, mask=inside, other=0.0).to(tl.float32)
    for first in tl.range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS,
                          num_stages=STAGES):
        row = first + tl.arange(0, ROWS)
        mask = (row < rows)[:, None] & inside[None, :]
        at = row.to(tl.int64)[:, None] * DIM + columns[None, :]
        v = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
        mean = tl.sum(v, 1) / DIM
        v = tl.where(inside[None, :], v - mean[:, None], 0.0)
        scale = tl.rsqrt(tl.sum(v * v, 1) / DIM + eps)
        v = v * scale[:, None] * g[None, :] + b[None, :]
        tl.store(out + at, v.to(out.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["rows"])
def rmsnorm(x, weight, out, rows, eps, DIM: tl.constexpr, BLOCK: tl.constexpr,
            ROWS: tl.constexpr, STAGES: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < DIM
    w = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    for first in tl.range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS,
                          num_stages=STAGES):
        row = first + tl.arange(0, ROWS)
        mask = (row < rows)[:, None] & inside[None, :]
        at = row.to(tl.int64)[:, None] * DIM + columns[None, :]
        v = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(v * v, 1) / DIM + eps)
        v = v * scale[:, None] * w[None, :]
        tl.store(out + at, v.to(out.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["rows"])
def softmax(x, out, rows, DIM: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
            STAGES: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < DIM
    for first in tl.range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS,
                          num_stages=STAGES):
        row = first + tl.arange(0, ROWS)
        mask = (row < rows)[:, None] & inside[None, :]
        at = row.to(tl.int64)[:, None] * DIM + columns[None, :]
        v = tl.load(x + at, mask=mask, other=-float("inf")).to(tl.float32)
        v = tl.exp(v - tl.max(v, 1)[:, None])
        v = v * (1.0 / tl.sum(v, 1))[:, None]
        tl.store(out + at, v.to(out.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["rows"])
def cross_entropy(x, classes, parts, rows, DIM: tl.constexpr, BLOCK: tl.constexpr,
                  ROWS: tl.constexpr, STAGES: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < DIM
    total = tl.zeros([ROWS], tl.float32)
    for first in tl.range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS,
                          num_stages=STAGES):
        row = first + tl.arange(0, ROWS)
        there = row < rows
        begin = row.to(tl.int64) * DIM
        mask = there[:, None] & inside[None, :]
        v = tl.load(x + begin[:, None] + columns[None, :], mask=mask,
                    other=-float("inf")).to(tl.float32)
        right = tl.load(classes + row, mask=there, other=0)
        target = tl.load(x + begin + right, mask=there, other=0.0).to(tl.float32)
        most = tl.max(v, 1)
        loss = tl.log(tl.sum(tl.exp(v - most[:, None]), 1)) + most - target
        total += tl.where(there, loss, 0.0)
    tl.store(parts + tl.program_id(0), tl.sum(total, 0))


# ---- long rows, one for each program ----

@triton.jit
def layernorm_long(x, gamma, beta, out, eps, DIM: tl.constexpr, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * DIM
    lanes = tl.arange(0, BLOCK)
    x += begin
    out += begin
    total = tl.zeros([BLOCK], tl.float32)
    for at in tl.range(0, DIM, BLOCK, num_stages=2):
        total += tl.load(x + at + lanes, mask=at + lanes < DIM, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / DIM
    squares = tl.zeros([BLOCK], tl.float32)
    for at in tl.range(0, DIM, BLOCK, num_stages=2):
        inside = at + lanes < DIM
        v = tl.load(x + at + lanes, mask=inside, other=0.0).to(tl.float32) - mean
        squares += tl.where(inside, v * v, 0.0)
    scale = tl.rsqrt(tl.sum(squares, 0) / DIM + eps)
    for at in tl.range(0, DIM, BLOCK, num_stages=2):
        inside = at + lanes < DIM
        v = tl.load(x + at + lanes, mask=inside, other=0.0).to(tl.float32) - mean
        g = tl.load(gamma + at + lanes, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(beta + at + lanes, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + at + lanes, (v * scale * g + b).to(out.dtype.element_ty), mask=inside)


@triton.jit
def rmsnorm_long(x, weight, out, eps, DIM: tl.constexpr, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * DIM
    lanes = tl.arange(0, BLOCK)
    x += begin
    out += begin
    squares = tl.zeros([BLOCK], tl.float32)
    for at in tl.range(0, DIM, BLOCK, num_stages=2):
        v = tl.load(x + at + lanes, mask=at + lanes < DIM, other=0.0).to(tl.float32)
        squares += v * v
    scale = tl.rsqrt(tl.sum(squares, 0) / DIM + eps)
    for at in tl.range(0, DIM, BLOCK, num_stages=2):
        inside = at + lanes < DIM
        v = tl.load(x + at + lanes, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + at + lanes, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + at + lanes, (v * scale * w).to(out.dtype.element_ty), mask=inside)


@triton.jit
def exponentials(x, DIM: tl.constexpr, BLOCK: tl.constexpr):
    """A row's greatest value, and the sum of exp(x - that): both kept lane by lane on the way."""
    lanes = tl.arange(0, BLOCK)
    most = tl.full([BLOCK], -3.4e38, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for at in tl.range(0, DIM, BLOCK, num_stages=2):
        v = tl.load(x + at + lanes, mask=at + lanes < DIM, other=-float("inf")).to(tl.float32)
        greater = tl.maximum(most, v)
        total = total * tl.exp(most - greater) + tl.exp(v - greater)
        most = greater
    top = tl.max(most, 0)
    return top, tl.sum(total * tl.exp(most - top), 0)


@triton.jit
def softmax_long(x, out, DIM: tl.constexpr, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * DIM
    lanes = tl.arange(0, BLOCK)
    x += begin
    out += begin
    top, total = exponentials(x, DIM, BLOCK)
    scale = 1.0 / total
    for at in tl.range(0, DIM, BLOCK, num_stages=2):
        inside = at + lanes < DIM
        v = tl.load(x + at + lanes, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + at + lanes, (tl.exp(v - top) * scale).to(out.dtype.element_ty), mask=inside)


@triton.jit
def cross_entropy_long(x, classes, parts, DIM: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row.to(tl.int64) * DIM
    top, total = exponentials(x, DIM, BLOCK)
    target = tl.load(x + tl.load(classes + row)).to(tl.float32)
    tl.store(parts + row, tl.log(total) + top - target)


# ---- sums ----

@triton.jit(do_not_specialize=["n"])
def squares(x, y, parts, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    blocks = n // BLOCK
    for i in tl.range(tl.program_id(0), blocks, tl.num_programs(0), num_stages=STAGES):
        at = tl.cast(i, tl.int64) * BLOCK + lanes
        v = tl.load(x + at).to(tl.float32) - tl.load(y + at).to(tl.float32)
        total += v * v
    at = tl.cast(blocks, tl.int64) * BLOCK + lanes
    rest = (at < n) & (tl.program_id(0) == 0)
    v = tl.load(x + at, mask=rest, other=0.0).to(tl.float32)
    v -= tl.load(y + at, mask=rest, other=0.0).to(tl.float32)
    total += v * v
    tl.store(parts + tl.program_id(0), tl.sum(total, 0))


@triton.jit(do_not_specialize=["n"])
def scaled_sum(parts, out, n, scale, BLOCK: tl.constexpr):
    """The sum of n parts times scale; one program."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for at in tl.range(0, n, BLOCK):
        total += tl.load(parts + at + lanes, mask=at + lanes < n, other=0.0)
    tl.store(out, tl.sum(total, 0) * scale)


# ---- y = act(x W^T + bias) + residual ----

@triton.jit
def linear(x, w, bias, residual, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
           BIAS: tl.constexpr, NAME: tl.constexpr, ADD: tl.constexpr, BM: tl.constexpr,
           BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """Tiles in groups of GROUP rows of them, so that neighbours in time share operands in L2. Rows
    beyond the edge read others again; nobody stores what comes of them."""
    wide = tl.cdiv(N, BN)
    group = tl.program_id(0) // (GROUP * wide)
    within = tl.program_id(0) % (GROUP * wide)
    height = tl.minimum(tl.cdiv(M, BM) - group * GROUP, GROUP)
    row = (group * GROUP + within % height) * BM + tl.arange(0, BM)
    column = within // height * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    x_at = x + (row % M).to(tl.int64)[:, None] * K + depth[None, :]
    w_at = w + (column % N).to(tl.int64)[:, None] * K + depth[None, :]
    total = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        if K % BK == 0:
            a = tl.load(x_at)
            b = tl.load(w_at)
        else:
            a = tl.load(x_at, mask=depth[None, :] < K - k, other=0.0)
            b = tl.load(w_at, mask=depth[None, :] < K - k, other=0.0)
        total = tl.dot(a, tl.trans(b), total, input_precision="ieee")
        x_at += BK
        w_at += BK
    if BIAS:
        total += tl.load(bias + column, mask=column < N, other=0.0).to(tl.float32)[None, :]
    total = activate(total, NAME)
    at = row.to(tl.int64)[:, None] * N + column[None, :]
    inside = (row < M)[:, None] & (column < N)[None, :]
    if ADD:
        total += tl.load(residual + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + at, total.to(out.dtype.element_ty), mask=inside)
