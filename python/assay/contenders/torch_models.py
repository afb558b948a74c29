"""Models of assay in PyTorch, as its users write them: src/model/*.c says what each computes.

Inputs come in the order of the model's graph: x, then the weights of one node after the other.
Every value is a matrix; images have their channels last. Linear layers take the recipes that
PyTorch has products for.
"""

from . import Call
from .torch_common import cannot, missing, note, ready, rows, too_old
from .torch_ops import (ACTIVATIONS, RECIPES, channels_last, filters, functions, image,
                        old_and_coarse, product_of, recipe_of, rms_norm_of)

EPS = 1e-5
SEQ, HEADS = 16, 8  # of transformer_block


# ---- what models are made of ----

def linear_of(torch, problem, kernel):
    """linear(x, w, b=None) with w as store(w) gives it, and store."""
    product, store = product_of(torch, problem, kernel)
    if not recipe_of(problem):
        return product, lambda w: w
    return lambda x, w, b=None: product(x, w[0], w[1], b), store


def stored(store, places):
    """prepare: inputs with those at `places` stored as the recipe says."""
    return lambda *inputs: tuple(store(t) if i in places else t for i, t in enumerate(inputs))


def attend_of(torch, batch, seq, heads):
    """Attention of what one linear gives for q, k and v."""
    attention = torch.nn.functional.scaled_dot_product_attention

    def attend(qkv):
        q, k, v = qkv.view(batch, seq, 3, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        return attention(q, k, v).transpose(1, 2).reshape(batch * seq, -1)
    return attend


# ---- models of linear layers ----

def linear(torch, problem, kernel):
    product, store = linear_of(torch, problem, kernel)
    return Call(product, prepare=stored(store, (1,)))


def ln_linear(activation):
    """The maker of ln_linear_ACT."""
    def make(torch, problem, kernel):
        product, store = linear_of(torch, problem, kernel)
        named, shape = functions(torch), problem.axes[1:2]
        norm, act = named["layer_norm"], named[activation]
        return Call(lambda x, w: act(product(norm(x, shape), w)), prepare=stored(store, (1,)))
    return make


def mlp(activation):
    """The maker of mlp_gelu and mlp_relu."""
    def make(torch, problem, kernel):
        product, store = linear_of(torch, problem, kernel)
        act = functions(torch)[activation]
        return Call(lambda x, up, down: product(act(product(x, up)), down),
                    prepare=stored(store, (1, 2)))
    return make


def mlp_swiglu(torch, problem, kernel):
    product, store = linear_of(torch, problem, kernel)
    silu = torch.nn.functional.silu

    def call(x, up, down):
        x, gate = product(x, up).chunk(2, -1)
        return product(silu(gate) * x, down)
    return Call(call, prepare=stored(store, (1, 2)))


def multi_head_attention(torch, problem, kernel):
    product, store = linear_of(torch, problem, kernel)
    batch, seq, _, heads = problem.axes[:4]
    attend = attend_of(torch, batch, seq, heads)
    return Call(lambda x, qkv, out: product(attend(product(x, qkv)), out),
                prepare=stored(store, (1, 2)))


def transformer_block(torch, problem, kernel):
    product, store = linear_of(torch, problem, kernel)
    norm, gelu = rms_norm_of(torch, problem, kernel), torch.nn.functional.gelu
    shape, attend = problem.axes[1:2], attend_of(torch, problem.axes[0], SEQ, HEADS)

    def call(x, before, qkv, out, between, up, down):
        x = x + product(attend(product(norm(x, shape, before, EPS), qkv)), out)
        return x + product(gelu(product(norm(x, shape, between, EPS), up)), down)
    return Call(call, prepare=stored(store, (2, 3, 5, 6)))


def preset_transformer(torch, problem, kernel):
    product, store = linear_of(torch, problem, kernel)
    norm, gelu = torch.nn.functional.layer_norm, torch.nn.functional.gelu
    batch, seq, dim, heads = problem.axes[:4]
    shape, attend = (dim,), attend_of(torch, batch, seq, heads)

    def call(x, gamma, beta, qkv, out, gamma2, beta2, up, up_bias, down, down_bias):
        x = x + product(attend(product(norm(x, shape, gamma, beta), qkv)), out)
        hidden = gelu(product(norm(x, shape, gamma2, beta2), up, up_bias))
        return x + product(hidden, down, down_bias)
    return Call(call, prepare=stored(store, (3, 4, 7, 9)))


# ---- norms ----

def layer_norm(torch, problem, kernel):
    fn, shape = torch.nn.functional.layer_norm, problem.axes[2:3]
    return Call(lambda x, gamma, beta: fn(x, shape, gamma, beta))


def rms_norm(eps):
    """The maker of rms_norm and of those with other eps."""
    def make(torch, problem, kernel):
        fn, shape = rms_norm_of(torch, problem, kernel), problem.axes[2:3]
        return Call(lambda x, weight: fn(x, shape, weight, eps))
    return make


# ---- images ----

def images(batch, height, width):
    """The view of rows of pixels as [batch, channels, height, width]."""
    return lambda x: image(x.view(batch, height, width, -1))


def pixels(y):
    """Back to rows of pixels."""
    return channels_last(y).flatten(0, 2)


def group_norm(torch, problem, kernel):
    fn, (batch, _, height, width, groups) = torch.nn.functional.group_norm, problem.axes[:5]
    view = images(batch, height, width)
    return Call(lambda x, gamma, beta: fn(x, groups, gamma, beta, EPS),
                prepare=lambda x, *others: (view(x),) + others, finish=pixels)


def conv2d(torch, problem, kernel):
    batch, _, _, height, width, _, pad, stride = problem.axes[:8]
    conv, view = torch.nn.functional.conv2d, images(batch, height, width)
    return Call(lambda x, w: conv(x, w, None, stride, pad),
                prepare=lambda x, w: (view(x), image(w)), finish=pixels)


def depthwise(torch, problem, kernel):
    batch, channels, height, width, _, pad, stride = problem.axes[:7]
    conv, view = torch.nn.functional.conv2d, images(batch, height, width)
    return Call(lambda x, w: conv(x, w, None, stride, pad, 1, channels),
                prepare=lambda x, w: (view(x), filters(w)), finish=pixels)


def depthwise_separable(torch, problem, kernel):
    batch, channels, height, width, _, pad, stride = problem.axes[:7]
    conv, view = torch.nn.functional.conv2d, images(batch, height, width)
    return Call(lambda x, w, mix: conv(conv(x, w, None, stride, pad, 1, channels), mix),
                prepare=lambda x, w, mix: (view(x), filters(w), mix[:, :, None, None]),
                finish=pixels)


def sd_resblock(torch, problem, kernel):
    batch, _, height, width, groups = problem.axes[:5]
    functional, view = torch.nn.functional, images(batch, height, width)
    norm, silu, conv = functional.group_norm, functional.silu, functional.conv2d

    def call(x, gamma, beta, w, bias, gamma2, beta2, w2, bias2):
        y = conv(silu(norm(x, groups, gamma, beta, EPS)), w, bias, 1, 1)
        return x + conv(silu(norm(y, groups, gamma2, beta2, EPS)), w2, bias2, 1, 1)

    def prepare(x, *others):
        return (view(x),) + tuple(image(t) if t.dim() == 4 else t for t in others)
    return Call(call, prepare=prepare, finish=pixels)


# ---- the table ----

PRODUCTS, ALL = ("f32", "f16", "bf16"), ("f64", "f32", "f16", "bf16")
MODELS = {  # model: dtypes, maker, does it take recipes
    "linear": (PRODUCTS, linear, True),
    "transformer_block": (PRODUCTS, transformer_block, True),
    "multi_head_attention": (PRODUCTS, multi_head_attention, True),
    "mlp_gelu": (PRODUCTS, mlp("gelu"), True),
    "mlp_relu": (PRODUCTS, mlp("relu"), True),
    "mlp_swiglu": (PRODUCTS, mlp_swiglu, True),
    "layer_norm": (ALL, layer_norm, False),
    "rms_norm": (ALL, rms_norm(1e-6), False),
    "rms_norm_1e_5": (ALL, rms_norm(1e-5), False),
    "rms_norm_1e_8": (ALL, rms_norm(1e-8), False),
    "group_norm": (ALL, group_norm, False),
    "conv2d": (ALL, conv2d, False),
    "depthwise_separable": (PRODUCTS, depthwise_separable, False),
    "depthwise": (ALL, depthwise, False),
    "preset_transformer": (PRODUCTS, preset_transformer, True),
    "sd_resblock": (ALL, sd_resblock, False),
}
MODELS.update(("ln_linear_" + name, (PRODUCTS, ln_linear(name), True)) for name in ACTIVATIONS[1:])
ATTENTIVE = ("transformer_block", "multi_head_attention", "preset_transformer")
NORMS = ("layer_norm", "group_norm")  # that PyTorch once computed in 16 bits

KERNELS = [row for name, (dtypes, _, _) in MODELS.items()
           for row in rows("model_" + name, "model:" + name, dtypes)]
BY_NAME = {row["name"]: row for row in KERNELS}


def can_run(kernel, problem):
    """Why not, or None. Imports nothing."""
    row = BY_NAME[kernel]
    name, recipe = row["op"][len("model:"):], problem and recipe_of(problem)
    reason = cannot(row)
    if not reason and name in ATTENTIVE:
        reason = too_old((2, 0), "scaled_dot_product_attention")
    if not reason and problem and name in NORMS:
        reason = old_and_coarse(row, problem)
    if reason or not recipe:
        return reason
    if recipe not in RECIPES:
        return "PyTorch alone has no kernel for %s: its users take torchao" % recipe
    if not MODELS[name][2]:
        return "no layer that takes a recipe in PyTorch"
    if recipe.startswith("float8"):
        return (too_old((2, 5), recipe) if row["device"] == "cuda" else
                "PyTorch multiplies 8-bit floats on GPUs only")
    return too_old((2, 0) if row["device"] == "cuda" else (2, 4), "torch._int_mm")


def setup(kernel, problem):
    """The Call of a kernel, compiled and called once."""
    row = BY_NAME[kernel]
    return ready(row, problem, MODELS[row["op"][len("model:"):]][1])
