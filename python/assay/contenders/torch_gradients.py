"""Gradients of assay's ops in PyTorch: the functions that its autograd calls, called directly.

A backward pass through autograd would also time the tape, and hide what is computed twice; these
take what the op takes: the gradient of the output first, then what the forward pass had or saved.
Where PyTorch has no such function, the formula is written out, and the note says so.
"""

from . import Call, Unsupported
from .torch_common import SHORT, cannot, dtype, ready, remark, rows, too_old, written
from .torch_ops import recipe_of

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


def swiglu(torch, problem, kernel):
    """Of the values and of their gates, side by side in one tensor."""
    silu, backward = torch.nn.functional.silu, function(torch, "silu_backward")
    cat, into, wide = torch.cat, dtype(torch, problem.dtype), problem.dtype in SHORT
    remark(kernel["name"], problem, "swiglu's gradient written out")

    def halves(dy, x):
        return (dy,) + x.chunk(2, -1)

    def call(dy, x, gate):
        if wide:
            dy, x, gate = dy.float(), x.float(), gate.float()
        return cat((dy * silu(gate), backward(dy * x, gate)), -1).to(into)
    return Call(call, prepare=halves)


# ---- losses: the gradient of the loss, one number in f32, comes first ----

MEAN = 1  # at::Reduction


def mse(torch, problem, kernel):
    fn, into = function(torch, "mse_loss_backward"), dtype(torch, problem.dtype)
    if problem.dtype not in SHORT:
        return Call(lambda g, x, y: fn(g, x, y, MEAN),
                    prepare=lambda g, x, y: (g.view(()).to(into), x, y))
    return Call(lambda g, x, y: fn(g, x.float(), y.float(), MEAN).to(into),
                prepare=lambda g, x, y: (g.view(()), x, y))


def cross_entropy(torch, problem, kernel):
    """PyTorch saves the logarithms of all probabilities; from the sums alone it is written out."""
    remark(kernel["name"], problem, "cross_entropy's gradient written out")
    into, length = dtype(torch, problem.dtype), problem.axes[2]
    count, one_hot = problem.axes[0] * problem.axes[1], torch.nn.functional.one_hot

    def prepare(g, x, classes, logsums):
        return g, x.view(-1, length), classes.view(-1), logsums.view(-1, 1)

    def call(g, x, classes, logsums):
        share = (x.to(logsums.dtype) - logsums).exp()
        return ((share - one_hot(classes.long(), length)) * (g / count)).to(into)
    return Call(call, prepare=prepare, finish=lambda dx: dx.view(problem.outputs[0][1]))


def cross_entropy_both(torch, problem, kernel):
    """The loss and its gradient, as cross_entropy and backward() of it call them."""
    length, into = problem.axes[2], dtype(torch, problem.dtype)
    forward, backward = function(torch, "nll_loss_forward"), function(torch, "nll_loss_backward")
    log_softmax = torch.log_softmax
    softmax_backward = function(torch, "_log_softmax_backward_data")
    compute = torch.float64 if problem.dtype == "f64" else torch.float32
    one = torch.ones((), dtype=compute, device=problem.device)

    def call(x, classes):
        classes, y = classes.long(), log_softmax(x, -1, compute)
        loss, weight = forward(y, classes, None, MEAN, -100)
        dy = backward(one, y, classes, None, MEAN, -100, weight)
        return loss, softmax_backward(dy, y, -1, compute).to(into)

    def finish(result):
        loss, dx = result
        return loss.view(1).float(), dx.view(problem.outputs[1][1])
    return Call(call, prepare=lambda x, classes: (x.view(-1, length), classes.view(-1)),
                finish=finish)


# ---- linear: of x, of W, of the bias ----

BIAS, ONLY = 0, 1  # params
ONLY_DX, ONLY_DW = 1, 2


def linear(torch, problem, kernel):
    bias, only = (list(map(int, problem.params)) + [0] * 2)[:2]
    variants = {
        (0, 0): lambda dy, x, w: (dy @ w, dy.t() @ x),
        (1, 0): lambda dy, x, w: (dy @ w, dy.t() @ x, dy.sum(0)),
        (0, ONLY_DX): lambda dy, w: dy @ w,
        (0, ONLY_DW): lambda dy, x: dy.t() @ x,
        (1, ONLY_DW): lambda dy, x: (dy.t() @ x, dy.sum(0)),
    }
    return Call(variants[(bias, only)])


# ---- images, channels last ----

def groupnorm(torch, problem, kernel):
    """Its function reads channels first; on CPUs since 2.1 channels last, too. What autograd brings
    into that order within the backward pass is brought there within the call."""
    fn, everything = function(torch, "native_group_norm_backward"), (True, True, True)
    batch, height, width, channels, groups = problem.axes[:5]
    as_it_lies = problem.device == "cpu" and not too_old((2, 1), "group_norm")

    def prepare(dy, x, gamma, mean, rstd):
        return (dy.permute(0, 3, 1, 2), x.permute(0, 3, 1, 2), gamma, mean.view(batch, groups),
                rstd.view(batch, groups))

    def finish(result):
        return (result[0].permute(0, 2, 3, 1),) + tuple(result[1:])

    def call(dy, x, gamma, mean, rstd):
        if not as_it_lies:
            dy, x = dy.contiguous(), x.contiguous()
        return fn(dy, x, mean, rstd, gamma, batch, channels, height * width, groups, everything)
    return Call(call, prepare=prepare, finish=finish)


def groupnorm_refuses(problem):
    if problem.params[1:2] == (1.0,):
        return "PyTorch has no gradient of silu and a group norm in one"
    return None


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
    "swiglu_backward": swiglu,
    "mse_backward": mse,
    "cross_entropy_backward": cross_entropy,
    "cross_entropy_both": cross_entropy_both,
    "linear_backward": linear,
    "groupnorm_backward": groupnorm,
}
KERNELS = [row for op in OPS for row in rows(op, op, FLOATS)]
BY_NAME = {row["name"]: row for row in KERNELS}


def can_run(kernel, problem):
    """Why not, or None. Imports nothing."""
    row = BY_NAME[kernel]
    reason = cannot(row)
    if not reason and problem is not None and row["op"] == "groupnorm_backward":
        reason = groupnorm_refuses(problem)
    if not reason and problem is not None and recipe_of(problem):
        reason = "only the baseline, no %s: its users take torchao" % problem.recipe
    if reason or problem is None or row["device"] != "cpu" or problem.dtype not in SHORT:
        return reason
    return too_old((2, 4), "a gradient in %s, computed in f32 on a CPU," % problem.dtype)


def setup(kernel, problem):
    """The Call of a kernel, compiled and called once."""
    row = BY_NAME[kernel]
    return ready(row, problem, OPS[row["op"]])
