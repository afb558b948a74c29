"""What a training step does beside its gradients, in PyTorch: forward passes that save what the
gradients take, by the functions that autograd records, and the steps of optimizers.

The optimizers of torch.optim change weights and moments where they are; an op's inputs stay what
they are. So their formulas are called here with tensors of their own, in f32 between them.
"""

from . import Call
from .torch_common import SHORT, cannot, dtype, note, ready, remark, rows, too_old  # noqa: F401
from .torch_gradients import CAUSAL, FLASH, FLASH_CPU, FLOATS, found, function
from .torch_ops import BETWEEN, channels_last, direct, image, recipe_of, tokens_first, views

# ---- forward passes: the output, then what is saved ----


def flat(result):
    """Statistics without the axes that PyTorch gives them."""
    return (result[0],) + tuple(s.view(-1) for s in result[1:])


def layernorm(torch, problem, kernel):
    fn, shape, eps = function(torch, "native_layer_norm"), problem.axes[2:3], problem.params[0]
    return Call(lambda x, gamma, beta: fn(x, shape, gamma, beta, eps), finish=flat)


def layernorm_gelu(torch, problem, kernel):
    fn, shape, eps = function(torch, "native_layer_norm"), problem.axes[2:3], problem.params[0]
    gelu, into = torch.nn.functional.gelu, dtype(torch, problem.dtype)

    def call(x, gamma, beta):
        y, mean, rstd = fn(x, shape, gamma, beta, eps)
        return gelu(y), mean, rstd

    def wide(x, gamma, beta):
        y, mean, rstd = fn(x.float(), shape, gamma.float(), beta.float(), eps)
        return gelu(y).to(into), mean, rstd
    if problem.dtype not in SHORT:
        return Call(call, finish=flat)
    remark(kernel["name"], problem, BETWEEN)
    return Call(wide, finish=flat)


def rmsnorm(torch, problem, kernel):
    shape, eps = problem.axes[2:3], problem.params[0]
    if problem.device == "cuda" and found(torch, "_fused_rms_norm"):
        fn = function(torch, "_fused_rms_norm")
        return Call(lambda x, weight: fn(x, shape, weight, eps), finish=flat)
    remark(kernel["name"], problem, "rms_norm written out")
    rsqrt, into, short = torch.rsqrt, dtype(torch, problem.dtype), problem.dtype in SHORT

    def call(x, weight):
        if short:
            x, weight = x.float(), weight.float()
        rstd = rsqrt(x.square().mean(-1, keepdim=True) + eps)
        return (x * rstd * weight).to(into), rstd
    return Call(call, finish=flat)


def groupnorm(torch, problem, kernel):
    """Its function reads channels first; on CPUs since 2.1 channels last, too."""
    fn, silu = function(torch, "native_group_norm"), torch.nn.functional.silu
    batch, height, width, channels, groups = problem.axes[:5]
    eps, into = problem.params[0], dtype(torch, problem.dtype)
    as_it_lies = problem.device == "cpu" and not too_old((2, 1), "group_norm")

    def norm(x, gamma, beta):
        x = x if as_it_lies else x.contiguous()
        return fn(x, gamma, beta, batch, channels, height * width, groups, eps)

    def with_silu(x, gamma, beta):
        y, mean, rstd = norm(x, gamma, beta)
        return silu(y), mean, rstd

    def wide(x, gamma, beta):
        y, mean, rstd = norm(x.float(), gamma.float(), beta.float())
        return silu(y).to(into), mean, rstd

    def finish(result):
        return flat((channels_last(result[0]),) + tuple(result[1:]))
    if not is_silu(problem):
        call = norm
    elif problem.dtype in SHORT:
        remark(kernel["name"], problem, BETWEEN)
        call = wide
    else:
        call = with_silu
    return Call(call, prepare=lambda x, *others: (image(x),) + others, finish=finish)


def is_silu(problem):
    return problem.params[1:2] == (1.0,)


def flash_of(torch, problem):
    """flash attention, out and lse, or None where it does not take the problem."""
    causal, dim = bool(problem.params[CAUSAL]), problem.axes[3]
    if problem.device == "cpu":
        fn = found(torch, FLASH_CPU)
        return fn and (lambda q, k, v: fn(q, k, v, 0.0, causal)[:2])
    fn = found(torch, FLASH)
    if not fn or problem.dtype not in SHORT or dim % 8 or dim > 256:
        return None
    return lambda q, k, v: fn(q, k, v, 0.0, causal, False)[:2]


def written_attention(torch, problem):
    """Scores, the logarithms of their sums, probabilities, and the product with v."""
    causal, scale = bool(problem.params[CAUSAL]), problem.axes[3] ** -0.5
    into, wide = dtype(torch, problem.dtype), problem.dtype in SHORT
    seq = problem.axes[1]
    behind = torch.ones((seq, seq), dtype=torch.bool, device=problem.device).triu_(1)

    def attention_(q, k, v):
        if wide:
            q, k, v = q.float(), k.float(), v.float()
        scores = (q @ k.transpose(2, 3)).mul_(scale)
        if causal:
            scores = scores.masked_fill_(behind, float("-inf"))
        lse = scores.logsumexp(3)
        out = scores.sub_(lse.unsqueeze(3)).exp_() @ v
        return out.to(into), lse
    return attention_


def attention(torch, problem, kernel):
    call = flash_of(torch, problem)
    if not call:
        remark(kernel["name"], problem, "attention that saves written out")
        call = written_attention(torch, problem)
    return Call(call, prepare=views(problem),
                finish=lambda result: (tokens_first(result[0]), result[1]))


# ---- optimizers ----

IN_TENSORS = "torch.optim's formula, with results in new tensors"


def adamw(torch, problem, kernel):
    lr, beta1, beta2, eps, decay, step = problem.params[:6]
    rate, root2 = lr / (1 - beta1 ** step), (1 - beta2 ** step) ** 0.5
    remark(kernel["name"], problem, IN_TENSORS)

    def call(w, g, m, v):
        m, v = m.lerp(g, 1 - beta1), v.mul(beta2).addcmul_(g, g, value=1 - beta2)
        root = v.sqrt().div_(root2).add_(eps)
        return w.mul(1 - lr * decay).addcdiv_(m, root, value=-rate), m, v
    return Call(in_f32(torch, problem, kernel, call))


def sgd(torch, problem, kernel):
    lr, decay, momentum = problem.params[:3]
    remark(kernel["name"], problem, IN_TENSORS)

    def call(w, g):
        return (w.add(g.add(w, alpha=decay), alpha=-lr),)

    def with_momentum(w, g, b):
        b = b.mul(momentum).add_(g.add(w, alpha=decay))
        return w.add(b, alpha=-lr), b
    return Call(in_f32(torch, problem, kernel, with_momentum if momentum else call))


def in_f32(torch, problem, kernel, call):
    """The step of 16-bit tensors, rounded once at its end."""
    if problem.dtype not in SHORT:
        return call
    remark(kernel["name"], problem, BETWEEN)
    into = dtype(torch, problem.dtype)
    return lambda *inputs: tuple(t.to(into) for t in call(*(t.float() for t in inputs)))


# ---- the table ----

OPS = {  # op: maker
    "layernorm_training": layernorm,
    "layernorm_gelu_training": layernorm_gelu,
    "rmsnorm_training": rmsnorm,
    "groupnorm_training": groupnorm,
    "attention_training": attention,
    "linear_training": direct("nn.functional.linear"),
    "adamw": adamw,
    "sgd": sgd,
}
KERNELS = [row for op in OPS for row in rows(op, op, FLOATS)]
BY_NAME = {row["name"]: row for row in KERNELS}


def saves_short(op, problem):
    """On a CPU the functions of norms save statistics in the type of x."""
    return op == "layernorm_training" or op == "groupnorm_training" and not is_silu(problem)


def can_run(kernel, problem):
    """Why not, or None. Imports nothing."""
    row = BY_NAME[kernel]
    reason = cannot(row)
    if not reason and problem is not None and recipe_of(problem):
        reason = "only the baseline, no %s: its users take torchao" % problem.recipe
    if reason or problem is None or row["device"] != "cpu" or problem.dtype not in SHORT:
        return reason
    if saves_short(row["op"], problem):
        return "PyTorch saves statistics in %s on a CPU, and this op in f32" % problem.dtype
    return None


def setup(kernel, problem):
    """The Call of a kernel, compiled and called once."""
    row = BY_NAME[kernel]
    return ready(row, problem, OPS[row["op"]])
