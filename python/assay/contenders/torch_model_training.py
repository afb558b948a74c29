"""Models in training in PyTorch, as its users train them: the forward pass of torch_models under
autograd, the loss its sum, gradients by torch.autograd.grad, and the optimizer of torch.optim.

The four passes are those of assay (docs/training.md). What is timed of `backward` is the way back
alone: the forward pass ran before, once for each set of operands, and its tape is kept. With
torch.compile the forward function is compiled, and with it its gradient, and the optimizer by
itself: that is how training scripts do it.
"""

from . import Call
from .torch_common import (COMPILE, SHORT, cannot, dtype, fresh, mode_of, note,  # noqa: F401
                           ready, remark, rows)
from .torch_models import MODELS, can_run as can_infer
from .torch_models import BY_NAME as INFERENCE
from .torch_ops import old_and_coarse, recipe_of
from .torch_training import IN_TENSORS

PASSES = ("forward", "backward", "both", "step")
# Behind whose norms more is computed: errors of statistics in 16 bits grow there.
DEEP_NORMS = ("sd_resblock",)
# What src/model/gradient.c trains with: the state that a step finds is always the same.
ADAMW = dict(lr=0.1, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.01, step=1000)
SGD = dict(lr=0.05, decay=0.01)


# ---- the parts of a step ----

def compiled(torch, problem, kernel, fn):
    if kernel["implementation"] != COMPILE:
        return fn
    functorch = getattr(torch, "_functorch", None)
    if hasattr(getattr(functorch, "config", None), "donated_buffer"):
        functorch.config.donated_buffer = False  # a tape that is kept is used more than once
    return torch.compile(fresh(fn), dynamic=False, fullgraph=True, mode=mode_of(problem))


def forward_of(torch, problem, kernel, name):
    """The model from its inputs to its output, both as they lie in memory."""
    call = MODELS[name][1](torch, problem, kernel)

    def model(*inputs):
        y = call.fn(*(call.prepare(*inputs) if call.prepare else inputs))
        return call.finish(y) if call.finish else y
    return compiled(torch, problem, kernel, model)


def leaves_of(inputs, first=0):
    """The same memory, as tensors that have gradients from `first` on."""
    return tuple(t.detach().requires_grad_(i >= first) for i, t in enumerate(inputs))


def adamw(w, g, m, v):
    lr, beta1, beta2 = ADAMW["lr"], ADAMW["beta1"], ADAMW["beta2"]
    rate = lr / (1 - beta1 ** ADAMW["step"])
    m, v = m.lerp(g, 1 - beta1), v.mul(beta2).addcmul(g, g, value=1 - beta2)
    root = (v / (1 - beta2 ** ADAMW["step"])).sqrt() + ADAMW["eps"]
    return w.mul(1 - lr * ADAMW["decay"]).addcdiv(m, root, value=-rate), m, v


def sgd(w, g):
    return (w.add(g.add(w, alpha=SGD["decay"]), alpha=-SGD["lr"]),)


def update_of(torch, problem, kernel, optimizer):
    """New parameters, and new moments, of all parameters, gradients and moments."""
    into, wide = dtype(torch, problem.dtype), problem.dtype in SHORT

    def one(*operands):
        if not wide:
            return optimizer(*operands)
        return tuple(t.to(into) for t in optimizer(*(t.float() for t in operands)))

    def update(*lists):
        return tuple(one(*operands) for operands in zip(*lists))
    remark(kernel["name"], problem, IN_TENSORS)
    return compiled(torch, problem, kernel, update)


# ---- the passes ----

def plain(result):
    return tuple(t.detach() for t in result) if type(result) is tuple else result.detach()


def make_forward(torch, problem, kernel, name):
    model = forward_of(torch, problem, kernel, name)
    return Call(model, prepare=lambda *inputs: leaves_of(inputs), finish=plain)


def make_backward(torch, problem, kernel, name):
    model, grad = forward_of(torch, problem, kernel, name), torch.autograd.grad

    def prepare(dy, *inputs):
        leaves = leaves_of(inputs)
        return (dy, model(*leaves)) + leaves
    return Call(lambda dy, y, *leaves: grad(y, leaves, dy, retain_graph=True), prepare=prepare)


def loss_of(torch, y):
    return y.sum(dtype=torch.float32)


def make_both(torch, problem, kernel, name):
    model, grad = forward_of(torch, problem, kernel, name), torch.autograd.grad

    def call(*leaves):
        loss = loss_of(torch, model(*leaves))
        return (loss,) + grad(loss, leaves)
    return Call(call, prepare=lambda *inputs: leaves_of(inputs), finish=shaped(problem))


def make_step(torch, problem, kernel, name):
    model, grad = forward_of(torch, problem, kernel, name), torch.autograd.grad
    optimizer = (adamw, sgd)[int(problem.params[0])]
    update, has_state = update_of(torch, problem, kernel, optimizer), optimizer is adamw

    def prepare(*inputs):
        leaves = leaves_of(inputs, 1)
        state = ([torch.zeros_like(t) for t in inputs[1:]],
                 [torch.ones_like(t) for t in inputs[1:]]) if has_state else ()
        return (state,) + leaves

    def call(state, x, *parameters):
        loss = loss_of(torch, model(x, *parameters))
        gradients = grad(loss, parameters)
        with torch.no_grad():
            new = update(parameters, gradients, *state)
        return (loss,) + tuple(one[0] for one in new)
    return Call(call, prepare=prepare, finish=shaped(problem))


def shaped(problem):
    """The loss, one number, in the shape that the op has it in."""
    dims = tuple(problem.outputs[0][1])
    return lambda result: (plain(result[0]).reshape(dims),) + plain(tuple(result[1:]))


MAKERS = {"forward": make_forward, "backward": make_backward, "both": make_both, "step": make_step}


# ---- the table ----

def split(op):
    """"model:linear_step" is ("linear", "step")."""
    name, _, pass_ = op[len("model:"):].rpartition("_")
    return name, pass_


KERNELS = [row for name, (dtypes, _, _) in MODELS.items() for pass_ in PASSES
           for row in rows("model_%s_%s" % (name, pass_), "model:%s_%s" % (name, pass_),
                           [t for t in dtypes if t != "f64"])]
BY_NAME = {row["name"]: row for row in KERNELS}


def inference_row(row):
    """The same model's in inference, by implementation and device."""
    name, pass_ = split(row["op"])
    return INFERENCE[row["name"].replace("model_%s_%s" % (name, pass_), "model_" + name, 1)]


def can_run(kernel, problem):
    """Why not, or None. Imports nothing."""
    row = BY_NAME[kernel]
    if problem is not None and recipe_of(problem):
        return cannot(row) or "in training linear layers have the baseline only"
    reason = can_infer(inference_row(row)["name"], problem)
    if not reason and problem is not None and split(row["op"])[0] in DEEP_NORMS:
        reason = old_and_coarse(row, problem)
    return reason


def setup(kernel, problem):
    """The Call of a kernel, compiled and called once."""
    row = BY_NAME[kernel]
    name, pass_ = split(row["op"])

    def make(torch, problem, kernel):
        return MAKERS[pass_](torch, problem, kernel, name)
    return ready(row, problem, make, trains=True)
