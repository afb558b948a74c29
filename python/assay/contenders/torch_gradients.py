"""Gradients of assay's ops in PyTorch: the functions that its autograd calls, called directly.

A backward pass through autograd would also time the tape, and hide what is computed twice; these
take what the op takes: the gradient of the output first, then what the forward pass had or saved.
Where PyTorch has no such function, the formula is written out, and the note says so.
"""

from . import Call, Unsupported
from .torch_common import SHORT, cannot, dtype, ready, remark, rows, too_old, written

FLOATS = ("f64", "f32", "f16", "bf16")


def function(torch, name):
    """A function of autograd's, of torch.ops.aten."""
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        raise Unsupported("PyTorch %s has no %s" % (torch.__version__, name))
    return packet.default


def direct(name, *behind):
    """The maker of one that takes the op's inputs and, behind them, these constants."""
    def make(torch, problem, kernel):
        text = "lambda dy, x: fn(%s)" % ", ".join(["dy", "x"] + list(map(repr, behind)))
        return Call(written(text, dict(fn=function(torch, name))))
    return make


def gelu(approximate):
    def make(torch, problem, kernel):
        fn = function(torch, "gelu_backward")
        return Call(lambda dy, x: fn(dy, x, approximate=approximate))
    return make


def leakyrelu(torch, problem, kernel):
    fn, slope = function(torch, "leaky_relu_backward"), problem.params[0]
    return Call(lambda dy, x: fn(dy, x, slope, False))


def softmax(torch, problem, kernel):
    fn, into = function(torch, "_softmax_backward_data"), dtype(torch, problem.dtype)
    return Call(lambda dy, y: fn(dy, y, -1, into))


def saved(torch, problem):
    """The statistics as PyTorch's forward pass keeps them: with an axis of 1 behind the rows."""
    rows_ = tuple(problem.axes[:2]) + (1,)
    return lambda *statistics: tuple(s.view(rows_) for s in statistics)


def layernorm(torch, problem, kernel):
    fn, shape = function(torch, "native_layer_norm_backward"), problem.axes[2:3]
    as_saved, everything = saved(torch, problem), (True, True, True)
    return Call(lambda dy, x, gamma, mean, rstd:
                fn(dy, x, shape, mean, rstd, gamma, gamma, everything),
                prepare=lambda dy, x, gamma, *others: (dy, x, gamma) + as_saved(*others))


def rmsnorm(torch, problem, kernel):
    shape, as_saved = problem.axes[2:3], saved(torch, problem)

    def prepare(dy, x, weight, rstd):
        return (dy, x, weight) + as_saved(rstd)
    if hasattr(torch.ops.aten, "_fused_rms_norm_backward"):
        fn, everything = function(torch, "_fused_rms_norm_backward"), (True, True)
        return Call(lambda dy, x, weight, rstd: fn(dy, x, shape, rstd, weight, everything),
                    prepare=prepare)
    remark(kernel["name"], problem, "rms_norm's gradient written out")
    into, wide = dtype(torch, problem.dtype), problem.dtype in SHORT

    def backward(dy, x, weight, rstd):
        if wide:
            dy, x, weight = dy.float(), x.float(), weight.float()
        xhat, g = x * rstd, dy * weight
        dx = rstd * (g - xhat * (g * xhat).mean(-1, keepdim=True))
        return dx.to(into), (dy * xhat).sum((0, 1)).to(into)
    return Call(backward, prepare=prepare)


# ---- the table ----

OPS = {  # op: maker
    "relu_backward": direct("threshold_backward", 0),
    "relu6_backward": direct("hardtanh_backward", 0, 6),
    "leakyrelu_backward": leakyrelu,
    "hardswish_backward": direct("hardswish_backward"),
    "sigmoid_backward": direct("sigmoid_backward"),
    "silu_backward": direct("silu_backward"),
    "gelu_backward": gelu("none"),
    "gelu_tanh_backward": gelu("tanh"),
    "softmax_backward": softmax,
    "layernorm_backward": layernorm,
    "rmsnorm_backward": rmsnorm,
}
KERNELS = [row for op in OPS for row in rows(op, op, FLOATS)]
BY_NAME = {row["name"]: row for row in KERNELS}


def can_run(kernel, problem):
    """Why not, or None. Imports nothing."""
    row = BY_NAME[kernel]
    reason = cannot(row)
    if reason or problem is None or row["device"] != "cpu" or problem.dtype not in SHORT:
        return reason
    return too_old((2, 4), "a gradient in %s, computed in f32 on a CPU," % problem.dtype)


def setup(kernel, problem):
    """The Call of a kernel, compiled and called once."""
    row = BY_NAME[kernel]
    return ready(row, problem, OPS[row["op"]])
