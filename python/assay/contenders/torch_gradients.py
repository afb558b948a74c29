"""Gradients of assay's ops in PyTorch: the functions that its autograd calls, called directly.

A backward pass through autograd would also time the tape, and hide what is computed twice; these
take what the op takes: the gradient of the output first, then what the forward pass had or saved.
Where PyTorch has no such function, the formula is written out, and the note says so.
"""

from . import Call, Unsupported
from .torch_common import (SHORT, cannot, dtype, note, ready, remark, rows, too_old,  # noqa: F401
                           written)
from .torch_ops import (BETWEEN, channels_last, conv_sizes, image, recipe_of, tokens_first,
                        views)

FLOATS = ("f64", "f32", "f16", "bf16")


def found(torch, name):
    """A function of autograd's, of torch.ops.aten, or None."""
    packet = getattr(torch.ops.aten, name, None)
    return packet and packet.default


def function(torch, name):
    """The same, which must be there."""
    fn = found(torch, name)
    if fn is None:
        raise Unsupported("PyTorch %s has no %s" % (torch.__version__, name))
    return fn


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


def add(torch, problem, kernel):
    """Autograd hands on dy itself, twice; the op wants two tensors."""
    remark(kernel["name"], problem, "dy copied twice")
    return Call(lambda dy: dy.expand((2,) + dy.shape).clone(), finish=lambda both: both.unbind(0))


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


def layernorm_gelu(torch, problem, kernel):
    """Of layer_norm's gradient and gelu's, with the output of layer_norm computed anew."""
    fn, shape = function(torch, "native_layer_norm_backward"), problem.axes[2:3]
    of_gelu, addcmul = function(torch, "gelu_backward"), torch.addcmul
    into, wide = dtype(torch, problem.dtype), problem.dtype in SHORT
    as_saved, everything = saved(torch, problem), (True, True, True)
    remark(kernel["name"], problem, BETWEEN if wide else "layer_norm computed anew")

    def prepare(dy, x, gamma, mean, rstd, beta):
        return (dy, x, gamma) + as_saved(mean, rstd) + (beta,)

    def call(dy, x, gamma, mean, rstd, beta):
        if wide:
            dy, x, gamma, beta = dy.float(), x.float(), gamma.float(), beta.float()
        dy = of_gelu(dy, addcmul(beta, (x - mean).mul_(rstd), gamma))
        result = fn(dy, x, shape, mean, rstd, gamma, beta, everything)
        return tuple(t.to(into) for t in result) if wide else result
    return Call(call, prepare=prepare)


def rmsnorm(torch, problem, kernel):
    shape, as_saved = problem.axes[2:3], saved(torch, problem)

    def prepare(dy, x, weight, rstd):
        return (dy, x, weight) + as_saved(rstd)
    if problem.device == "cuda" and found(torch, "_fused_rms_norm_backward"):
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

def convolution(grouped):
    """The maker of a convolution's; W as it lies comes as a view in PyTorch's order of axes."""
    def make(torch, problem, kernel):
        fn, channels = function(torch, "convolution_backward"), problem.axes[3]
        stride, pad, bias, _ = conv_sizes(problem)
        groups, sizes = channels if grouped else 1, problem.outputs[2][1] if bias else None
        wanted, n = (True, True, bool(bias)), 2 + bias
        places, none = ((stride, stride), (pad, pad), (1, 1)), (0, 0)

        def prepare(dy, x, w):
            return image(dy), image(x), w.permute(2, 0, 1).unsqueeze(1) if grouped else image(w)

        def finish(result):
            dx, dw = result[:2]
            dw = dw.squeeze(1).permute(1, 2, 0) if grouped else channels_last(dw)
            return (channels_last(dx), dw) + tuple(result[2:])
        return Call(lambda dy, x, w:
                    fn(dy, x, w, sizes, *places, False, none, groups, wanted)[:n],
                    prepare=prepare, finish=finish)
    return make


def before_silu(torch, problem):
    """What silu was called with, from the statistics of groups: x rstd gamma + (beta - mean rstd
    gamma) in each channel."""
    width, addcmul = problem.axes[3] // problem.axes[4], torch.addcmul

    def of_channels(statistic):
        return statistic.repeat_interleave(width, 1)

    def again(x, gamma, mean, rstd, beta):
        scale = of_channels(rstd) * gamma
        shift = beta - of_channels(mean) * scale
        return addcmul(shift[:, :, None, None], x, scale[:, :, None, None])
    return again


def groupnorm(torch, problem, kernel):
    """Its function reads channels first; on CPUs since 2.1 channels last, too. What autograd brings
    into that order within the backward pass is brought there within the call."""
    fn, everything = function(torch, "native_group_norm_backward"), (True, True, True)
    batch, height, width, channels, groups = problem.axes[:5]
    as_it_lies = problem.device == "cpu" and not too_old((2, 1), "group_norm")

    def prepare(dy, x, gamma, mean, rstd, *beta):
        return (image(dy), image(x), gamma, mean.view(batch, groups),
                rstd.view(batch, groups)) + beta

    def finish(result):
        return (channels_last(result[0]),) + tuple(result[1:])

    def call(dy, x, gamma, mean, rstd):
        if not as_it_lies:
            dy, x = dy.contiguous(), x.contiguous()
        return fn(dy, x, mean, rstd, gamma, batch, channels, height * width, groups, everything)
    if problem.params[1:2] == (1.0,):
        call = through_silu(torch, problem, kernel, call)
    return Call(call, prepare=prepare, finish=finish)


def through_silu(torch, problem, kernel, backward):
    """silu's gradient, then group_norm's, with the output of group_norm computed anew."""
    of_silu, again = function(torch, "silu_backward"), before_silu(torch, problem)
    into, wide = dtype(torch, problem.dtype), problem.dtype in SHORT
    remark(kernel["name"], problem, BETWEEN if wide else "group_norm computed anew")

    def call(dy, x, gamma, mean, rstd, beta):
        if wide:
            dy, x, gamma, beta = dy.float(), x.float(), gamma.float(), beta.float()
        result = backward(of_silu(dy, again(x, gamma, mean, rstd, beta)), x, gamma, mean, rstd)
        return tuple(t.to(into) for t in result) if wide else result
    return call


# ---- attention: from its output and the logarithms of sums that the forward pass saved ----

CAUSAL = 1  # params
FLASH, FLASH_CPU = ("_scaled_dot_product_flash_attention" + suffix for suffix in ("", "_for_cpu"))


def flash_of(torch, problem):
    """flash attention's gradient as gradient(dout, q, k, v, out, lse), or None where it does not
    take the problem."""
    causal, dim = bool(problem.params[CAUSAL]), problem.axes[3]
    if problem.device == "cpu":
        fn = found(torch, FLASH_CPU + "_backward")
        return fn and (lambda *saved_: fn(*saved_, 0.0, causal))
    fn, forward = found(torch, FLASH + "_backward"), found(torch, FLASH)
    if not fn or not forward or problem.dtype not in SHORT or dim % 8 or dim > 256:
        return None
    batch, seq, heads, dim = problem.axes[:4]
    q = torch.zeros((batch, seq, heads, dim), dtype=dtype(torch, problem.dtype),
                    device=problem.device).transpose(1, 2)
    *sizes, seed, offset = forward(q, q, q, 0.0, causal, False)[2:8]
    return lambda *saved_: fn(*saved_, *sizes, 0.0, causal, seed, offset)


def written_attention(torch, problem):
    """The formulas of docs/training.md."""
    causal, scale = bool(problem.params[CAUSAL]), problem.axes[3] ** -0.5
    into, wide = dtype(torch, problem.dtype), problem.dtype in SHORT

    def gradient(dout, q, k, v, out, lse):
        if wide:
            dout, q, k, v, out = (t.float() for t in (dout, q, k, v, out))
        p = (q @ k.transpose(2, 3)).mul_(scale).sub_(lse.unsqueeze(3)).exp_()
        if causal:
            p = p.tril_()
        ds = (dout @ v.transpose(2, 3)).sub_((dout * out).sum(3, keepdim=True)).mul_(p).mul_(scale)
        dq, dk, dv = ds @ k, ds.transpose(2, 3) @ q, p.transpose(2, 3) @ dout
        return (dq.to(into), dk.to(into), dv.to(into)) if wide else (dq, dk, dv)
    return gradient


def attention(torch, problem, kernel):
    """With q, k and v in one tensor their gradients are stacked as autograd stacks them."""
    gradient, stack = flash_of(torch, problem), torch.stack
    if not gradient:
        remark(kernel["name"], problem, "attention's gradient written out")
        gradient = written_attention(torch, problem)
    of_qkv, dims = views(problem), tuple(problem.outputs[0][1])

    def prepare(dout, *others):
        out, lse = others[-2:]
        return (tokens_first(dout),) + of_qkv(*others[:-2]) + (tokens_first(out), lse)

    def apart(result):
        return tuple(map(tokens_first, result))
    if not problem.params[0]:
        return Call(gradient, prepare=prepare, finish=apart)
    return Call(lambda *saved_: stack(apart(gradient(*saved_)), 2), prepare=prepare,
                finish=lambda dqkv: dqkv.view(dims))


# ---- the table ----

OPS = {  # op: maker
    "relu_backward": direct("threshold_backward", 0),
    "relu6_backward": direct("hardtanh_backward", 0, 6),
    "leakyrelu_backward": leakyrelu,
    "add_backward": add,
    "hardswish_backward": direct("hardswish_backward"),
    "sigmoid_backward": direct("sigmoid_backward"),
    "silu_backward": direct("silu_backward"),
    "gelu_backward": gelu("none"),
    "gelu_tanh_backward": gelu("tanh"),
    "softmax_backward": softmax,
    "layernorm_backward": layernorm,
    "layernorm_gelu_backward": layernorm_gelu,
    "rmsnorm_backward": rmsnorm,
    "swiglu_backward": swiglu,
    "mse_backward": mse,
    "cross_entropy_backward": cross_entropy,
    "cross_entropy_both": cross_entropy_both,
    "linear_backward": linear,
    "conv2d_backward": convolution(grouped=False),
    "depthwise_conv2d_backward": convolution(grouped=True),
    "groupnorm_backward": groupnorm,
    "attention_backward": attention,
}
KERNELS = [row for op in OPS for row in rows(op, op, FLOATS)]
BY_NAME = {row["name"]: row for row in KERNELS}


def can_run(kernel, problem):
    """Why not, or None. Imports nothing."""
    row = BY_NAME[kernel]
    reason = cannot(row)
    if not reason and problem is not None and recipe_of(problem):
        reason = "only the baseline, no %s: its users take torchao" % problem.recipe
    if reason or problem is None or row["device"] != "cpu" or problem.dtype not in SHORT:
        return reason
    return too_old((2, 4), "a gradient in %s, computed in f32 on a CPU," % problem.dtype)


def setup(kernel, problem):
    """The Call of a kernel, compiled and called once."""
    row = BY_NAME[kernel]
    return ready(row, problem, OPS[row["op"]])
