"""Ops of assay in PyTorch: `torch` (eager) and `torch-compile`.

A maker of OPS gives the function that is timed: where one function of PyTorch is the op, that
function itself. Results are as exact as assay asks. Where PyTorch would round to 16 bits between
two of its own ops and the op rounds once, it computes in f32 between them, and the note says so.
"""

from . import Call, Unsupported
from .torch_common import (COMPILE, DEVICES, IMPLEMENTATIONS, SHORT, cannot, dtype, missing, note,
                           ready, remark, rows, too_old, written)

FLOATS = ("f64", "f32", "f16", "bf16")
BETWEEN = "f32 between its ops"


def wide(torch, problem):
    """Casts a tensor to the type that several ops in a row compute in."""
    return (lambda x: x.float()) if problem.dtype in SHORT else (lambda x: x)


# ---- elements and rows ----

def direct(path):
    """The maker of an op that is one function of PyTorch, "nn.functional.silu"."""
    def make(torch, problem, kernel):
        fn = torch
        for name in path.split("."):
            fn = getattr(fn, name)
        return Call(fn)
    return make


def gelu_tanh(torch, problem, kernel):
    gelu = torch.nn.functional.gelu
    return Call(lambda x: gelu(x, approximate="tanh"))


def leakyrelu(torch, problem, kernel):
    leaky_relu, slope = torch.nn.functional.leaky_relu, problem.params[0]
    return Call(lambda x: leaky_relu(x, slope))


def triad(torch, problem, kernel):
    add = torch.add
    return Call(lambda x, y: add(x, y, alpha=3))


def softmax(torch, problem, kernel):
    fn = torch.softmax
    return Call(lambda x: fn(x, -1))


def swiglu(torch, problem, kernel):
    silu, into = torch.nn.functional.silu, dtype(torch, problem.dtype)

    def halves(x):
        return x.chunk(2, -1)
    if problem.dtype not in SHORT:
        return Call(lambda x, gate: x * silu(gate), prepare=halves)
    remark(kernel["name"], problem, BETWEEN)
    return Call(lambda x, gate: (x * silu(gate.float())).to(into), prepare=halves)


def layernorm(torch, problem, kernel):
    fn, shape, eps = torch.nn.functional.layer_norm, problem.axes[2:3], problem.params[0]
    return Call(lambda x, gamma, beta: fn(x, shape, gamma, beta, eps))


def layernorm_gelu(torch, problem, kernel):
    fn, shape, eps = torch.nn.functional.layer_norm, problem.axes[2:3], problem.params[0]
    gelu, into = torch.nn.functional.gelu, dtype(torch, problem.dtype)
    if problem.dtype not in SHORT:
        return Call(lambda x, gamma, beta: gelu(fn(x, shape, gamma, beta, eps)))
    remark(kernel["name"], problem, BETWEEN)
    return Call(lambda x, gamma, beta:
                gelu(fn(x.float(), shape, gamma.float(), beta.float(), eps)).to(into))


def rms_norm_of(torch, problem, kernel):
    """torch.nn.functional.rms_norm, or what was written for it before there was one."""
    found = getattr(torch.nn.functional, "rms_norm", None)
    if found:
        return found
    remark(kernel["name"], problem, "rms_norm written out")
    rsqrt, cast, into = torch.rsqrt, wide(torch, problem), dtype(torch, problem.dtype)

    def written(x, shape, weight, eps):
        x = cast(x)
        return (x * rsqrt(x.square().mean(-1, keepdim=True) + eps) * cast(weight)).to(into)
    return written


def rmsnorm(torch, problem, kernel):
    fn, shape, eps = rms_norm_of(torch, problem, kernel), problem.axes[2:3], problem.params[0]
    return Call(lambda x, weight: fn(x, shape, weight, eps))


# ---- losses: one number in f32 ----

def one(loss):
    return loss.view(1)


def mse(torch, problem, kernel):
    fn = torch.nn.functional.mse_loss
    variants = {"f32": lambda x, y: fn(x, y), "f64": lambda x, y: fn(x, y).float()}
    return Call(variants.get(problem.dtype, lambda x, y: fn(x.float(), y.float())), finish=one)


def cross_entropy(torch, problem, kernel):
    """PyTorch takes classes as 64-bit integers."""
    fn, length = torch.nn.functional.cross_entropy, problem.axes[2]
    variants = {"f32": lambda x, y: fn(x, y.long()), "f64": lambda x, y: fn(x, y.long()).float()}
    return Call(variants.get(problem.dtype, lambda x, y: fn(x.float(), y.long())),
                prepare=lambda x, y: (x.view(-1, length), y.view(-1)), finish=one)


# ---- scales of codes: docs/recipes.md ----

MOST = {"s8": 127.5, "e4m3": 448.0, "e5m2": 57344.0}


def scaling(torch, problem, kernel, most):
    """symmetric(amax) of f32 gives the scale and its inverse, each one rounded division. PyTorch
    divides by a number of Python's, and compiled code by anything in f32, only nearly right:
    eager calls divide by a tensor, compiled ones in f64."""
    one_ = torch.ones((), device=problem.device)
    if kernel["implementation"] == COMPILE:
        def symmetric(amax):
            scale = (amax.double() / most).float()
            scale = torch.where(scale < 2.0 ** -128, 1.0, scale)
            return scale, (1.0 / scale.double()).float()
        return symmetric
    divisor = torch.full((), most, device=problem.device)

    def symmetric(amax):
        scale = amax / divisor
        scale = torch.where((one_ / scale).isinf(), one_, scale)
        return scale, one_ / scale
    return symmetric


def coding(torch, problem, kernel, name):
    """encode(x) of f32: codes and scales of rows."""
    symmetric = scaling(torch, problem, kernel, MOST[name])
    into = dtype(torch, name)
    if name == "s8":
        def encode(x):
            scale, inverse = symmetric(x.abs().amax(-1, keepdim=True))
            return (x * inverse).round().clamp(-128, 127).to(into), scale
    else:
        def encode(x):
            scale, inverse = symmetric(x.abs().amax(-1, keepdim=True))
            return (x * inverse).to(into), scale
    return encode


# ---- quantize and dequantize ----

def form_of(problem):
    """The codes' dtype: that of the quantize's first output, of the dequantize's first input."""
    return (problem.outputs if problem.op == "quantize" else problem.inputs)[0][0]


def run_of(problem):
    """Elements that share a scale."""
    group, (m, k) = int(problem.params[1]), problem.axes[:2]
    return {0: k, -1: m * k}.get(group, group)


def quantize(torch, problem, kernel):
    form, run, dims = form_of(problem), run_of(problem), tuple(problem.outputs[0][1])
    if form == "u4":
        return quantize_u4(torch, problem, kernel)
    encode = coding(torch, problem, kernel, form)
    return Call(lambda x: encode(x.float()), prepare=lambda x: (x.view(-1, run),),
                finish=lambda result: (result[0].view(dims), result[1].view(-1)))


def quantize_u4(torch, problem, kernel):
    """Two codes to a byte, the even one in the low half."""
    run, stack, where = run_of(problem), torch.stack, torch.where
    fifteen = torch.full((), 15.0, device=problem.device)

    def codes(x):
        x = x.float()
        least, most = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
        same, scale = least == most, ((most - least) / fifteen).clamp(min=1e-6)
        scale = where(same, 1.0, scale)
        zero = least + where(same, 0.0, 8.0 * scale)
        q = ((x - (zero - 8.0 * scale)) / scale).round().clamp(0, 15).to(torch.uint8)
        q = q.view(-1, 2)
        return q[:, 0] | q[:, 1] << 4, stack((scale, zero), -1)
    return Call(codes, prepare=lambda x: (x.view(-1, run),),
                finish=lambda result: (result[0], result[1].view(-1, 2)))


def dequantize(torch, problem, kernel):
    form, run, dims = form_of(problem), run_of(problem), tuple(problem.outputs[0][1])
    into, stack, f32 = dtype(torch, problem.dtype), torch.stack, torch.float32

    def whole(y):
        return y.view(dims)
    if form == "u4":
        def prepare(codes, scales):
            return codes.view(-1), scales[:, 0:1], scales[:, 1:2]

        def unpack(codes, scale, zero):
            q = stack((codes & 15, codes >> 4), -1).view(-1, run).to(f32)
            return ((q - 8) * scale + zero).to(into)
        return Call(unpack, prepare=prepare, finish=whole)

    def prepare(codes, scales):
        return codes.view(-1, run), scales.view(-1, 1)
    return Call(lambda codes, scales: (codes.to(f32) * scales).to(into), prepare=prepare,
                finish=whole)


# ---- linear: y = act(norm(x) W^T + bias) + residual ----

ACTIVATIONS = (None, "sigmoid", "relu", "leakyrelu", "relu6", "gelu", "silu", "hardswish")
CHOOSING = (None, "relu", "relu6")  # of a rounded sum they are as exact as of the sum itself


def functions(torch):
    """What expressions are made of."""
    functional = torch.nn.functional
    return dict(sigmoid=torch.sigmoid, relu=torch.relu, relu6=functional.relu6,
                leakyrelu=functional.leaky_relu, gelu=functional.gelu, silu=functional.silu,
                hardswish=functional.hardswish, layer_norm=functional.layer_norm)


def product_int8(torch, problem, kernel):
    """x quantised at run time with a scale for each row, times codes of W."""
    encode, multiply = coding(torch, problem, kernel, "s8"), torch._int_mm
    into = dtype(torch, problem.dtype)

    def product(x, w, scale, bias=None):
        codes, own = encode(x.float())
        y = multiply(codes, w) * own * scale
        return (y if bias is None else y + bias).to(into)
    return product


def product_float8(torch, problem, kernel, by_row):
    """The same in e4m3, with a scale for each row or for all of x."""
    encode, multiply = coding(torch, problem, kernel, "e4m3"), torch._scaled_mm
    into, short = dtype(torch, problem.dtype), problem.dtype in SHORT

    def codes_of(x):
        if by_row:
            return encode(x.float())
        codes, scale = encode(x.float().view(1, -1))
        return codes.view(x.shape), scale.view(())

    def product(x, w, scale, bias=None):
        codes, own = codes_of(x)
        y = multiply(codes, w, scale_a=own, scale_b=scale, bias=bias if short else None,
                     out_dtype=into)
        return y if bias is None or short else y + bias
    return product


# recipe: the codes of W, one scale for all of it, and what multiplies by it
RECIPES = {
    "int8dq": ("s8", False, product_int8),
    "float8dq-row": ("e4m3", False,
                     lambda torch, problem, kernel:
                     product_float8(torch, problem, kernel, True)),
    "float8dq-tensor": ("e4m3", True,
                        lambda torch, problem, kernel:
                        product_float8(torch, problem, kernel, False)),
}


def recipe_of(problem):
    """None for weights as they come."""
    return None if problem.recipe in (None, "baseline") else problem.recipe


def product_of(torch, problem, kernel):
    """product(x, *weight, bias) and store(w), which gives `weight`: a tuple."""
    recipe = recipe_of(problem)
    if not recipe:
        return torch.nn.functional.linear, lambda w: (w,)
    form, whole, make = RECIPES[recipe]
    encode = coding(torch, problem, dict(kernel, implementation="torch"), form)

    def store(w):
        codes, scale = encode(w.float().view(1, -1) if whole else w.float())
        return codes.view(w.shape).t(), scale.view(()) if whole else scale.t().contiguous()
    return make(torch, problem, kernel), store


def expression(problem, weight):
    """A linear with all of its mode as the text of a lambda, so that a call is nothing else."""
    bias, activation, norm, add = (list(map(int, problem.params)) + [0] * 4)[:4]
    names = ["x"] + weight + ["b"] * bias + ["g"] * (norm == 2) + ["r"] * add
    x = ("x", "layer_norm(x, shape)", "rms_norm(x, shape, g, 1e-5)")[norm]
    text = "product(%s)" % ", ".join([x] + weight + ["b"] * bias)
    if activation:
        text = "%s(%s)" % (ACTIVATIONS[activation], text)
    return "lambda %s: %s%s" % (", ".join(names), text, " + r" * add)


def linear(torch, problem, kernel):
    if problem.dtype == "s8":
        return Call(torch._int_mm, prepare=lambda x, w: (x, w.t()))
    product, store = product_of(torch, problem, kernel)
    weight = ["w", "s"] if recipe_of(problem) else ["w"]
    names = dict(functions(torch), product=product, shape=problem.axes[1:2])
    if problem.params[2:3] == (2,):
        names["rms_norm"] = rms_norm_of(torch, problem, kernel)
    return Call(written(expression(problem, weight), names),
                prepare=lambda x, w, *others: (x,) + store(w) + others)


def linear_refuses(kernel, problem):
    """What PyTorch alone has no kernel for."""
    recipe, cuda = recipe_of(problem), kernel["device"] == "cuda"
    m, k, n = problem.axes[:3]
    if recipe and recipe not in RECIPES:
        return "PyTorch alone has no kernel for %s: its users take torchao" % recipe
    if recipe and recipe.startswith("float8"):
        if not cuda:
            return "PyTorch multiplies 8-bit floats on GPUs only"
        if recipe == "float8dq-row" and problem.dtype != "bf16":
            return "PyTorch's product of 8-bit floats with scales of rows gives bf16 only"
        if k % 16 or n % 16:
            return "PyTorch's product of 8-bit floats takes k and n in multiples of 16"
        return too_old((2, 5), recipe)
    if (recipe == "int8dq" or problem.dtype == "s8"):
        if cuda and (m <= 16 or k % 8 or n % 8):
            return "PyTorch's product of integers takes m above 16, and k and n in multiples of 8"
        return too_old((2, 0) if cuda else (2, 4), "torch._int_mm")
    return rounds_before(problem)


def rounds_before(problem):
    """An activation alone: PyTorch rounds the product before it, and the op allows one rounding."""
    bias, activation, norm, add = (list(map(int, problem.params)) + [0] * 4)[:4]
    name = ACTIVATIONS[activation]
    if problem.dtype not in SHORT or bias or norm or add or name in CHOOSING:
        return None
    return ("PyTorch rounds the product to %s before %s, which this op does not allow; "
            "with --mode bias+%s it does" % (problem.dtype, name, name))


# ---- attention ----

def views(problem):
    """prepare: q, k, v as [batch, heads, seq, dim]."""
    batch, seq, heads, dim = problem.axes[:4]
    if not problem.params[0]:
        return lambda *qkv: tuple(t.transpose(1, 2) for t in qkv)
    return lambda x: tuple(x.view(batch, seq, 3, heads, dim).permute(2, 0, 3, 1, 4).unbind(0))


def tokens_first(y):
    return y.transpose(1, 2)


def attention(torch, problem, kernel):
    fn, causal = torch.nn.functional.scaled_dot_product_attention, bool(problem.params[1])
    call = (lambda q, k, v: fn(q, k, v, is_causal=True)) if causal else fn
    return Call(call, prepare=views(problem), finish=tokens_first)


# The backends of scaled_dot_product_attention, called as it calls them: what chooses between them
# is state of the process. Arguments behind q, k, v, with C for `causal`.
BACKENDS = {
    "flash": ("_scaled_dot_product_flash_attention", "0.0, C, False"),
    "cudnn": ("_scaled_dot_product_cudnn_attention", "None, False, 0.0, C, False"),
    "efficient": ("_scaled_dot_product_efficient_attention", "None, False, 0.0, C"),
    "math": ("_scaled_dot_product_attention_math", "None, 0.0, C"),
}
FLASH_CPU = ("_scaled_dot_product_flash_attention_for_cpu", "0.0, C")


def backend(name):
    """The maker of one of them."""
    def make(torch, problem, kernel):
        on_cpu = name == "flash" and problem.device == "cpu"
        function, behind = FLASH_CPU if on_cpu else BACKENDS[name]
        fn = getattr(torch, function, None) or getattr(torch.ops.aten, function, None)
        if not fn:
            raise Unsupported("PyTorch %s has no %s" % (torch.__version__, function))
        behind = behind.replace("C", str(bool(problem.params[1])))
        text = "lambda q, k, v: fn(q, k, v, %s)[0]" % behind
        return Call(written(text, dict(fn=fn)), prepare=views(problem), finish=tokens_first)
    return make


def attention_refuses(kernel, problem):
    """What a backend does not take."""
    name, dim = kernel["name"], problem.axes[3]
    reason = too_old((2, 0), "scaled_dot_product_attention")
    if name in MAKERS:
        reason = too_old((2, 5), "a backend of attention by itself")
    if reason or kernel["device"] == "cpu":
        return reason
    if "flash" in name and (dim > 256 or dim % 8):
        return "flash attention takes heads of up to 256 elements, in multiples of 8"
    if "cudnn" in name and (dim > 256 or dim % 8):
        return "cuDNN's attention takes heads of up to 256 elements, in multiples of 8"
    if "efficient" in name and dim % (4 if problem.dtype == "f32" else 8):
        return "efficient attention takes heads in multiples of 16 bytes"
    return None


# ---- images, channels last ----

def image(x):
    """[batch, channels, height, width] of what lies channels last."""
    return x.permute(0, 3, 1, 2)


def channels_last(y):
    return y.permute(0, 2, 3, 1)


def conv_sizes(problem):
    """stride, padding, is there a bias, is there a residual"""
    kernel, stride = problem.axes[-2:]
    pad, bias, add = (list(map(int, problem.params)) + [0] * 3)[:3]
    return stride, (kernel - 1) // 2 if pad < 0 else pad, bias, add


def conv2d(torch, problem, kernel):
    conv = torch.nn.functional.conv2d
    stride, pad, bias, add = conv_sizes(problem)
    names = ["x", "w"] + ["b"] * bias
    text = "lambda %s: conv(%s, stride=stride, padding=pad)%s" % (
        ", ".join(names + ["r"] * add), ", ".join(names), " + r" * add)

    def prepare(x, w, *others):
        return (image(x), image(w)) + tuple(image(t) if t.dim() == 4 else t for t in others)
    return Call(written(text, dict(conv=conv, stride=stride, pad=pad)), prepare=prepare,
                finish=channels_last)


def filters(w):
    """W [kernel, kernel, channels] as PyTorch stores it."""
    return w.permute(2, 0, 1).unsqueeze(1).contiguous()


def depthwise_conv2d(torch, problem, kernel):
    conv, channels = torch.nn.functional.conv2d, problem.axes[3]
    stride, pad, bias, _ = conv_sizes(problem)
    plain = {
        0: lambda x, w: conv(x, w, None, stride, pad, 1, channels),
        1: lambda x, w, b: conv(x, w, b, stride, pad, 1, channels),
    }
    return Call(plain[bias], prepare=lambda x, w, *b: (image(x), filters(w)) + b,
                finish=channels_last)


def conv_refuses(kernel, problem):
    """Convolutions round before what they do not fuse: a residual, on a GPU a bias too."""
    _, _, bias, add = conv_sizes(problem)
    late = "a residual" if add else "the bias" if bias and kernel["device"] == "cuda" else None
    if problem.dtype not in SHORT or not late:
        return None
    return "PyTorch rounds the product to %s before it adds %s, which this op does not allow" % (
        problem.dtype, late)


def groupnorm(torch, problem, kernel):
    fn, silu = torch.nn.functional.group_norm, torch.nn.functional.silu
    groups, eps = problem.axes[4], problem.params[0]
    into = dtype(torch, problem.dtype)
    variant = (int(problem.params[1]), problem.dtype in SHORT)
    variants = {
        (1, False): lambda x, gamma, beta: silu(fn(x, groups, gamma, beta, eps)),
        (1, True): lambda x, gamma, beta: silu(
            fn(x.float(), groups, gamma.float(), beta.float(), eps)).to(into),
    }
    if variant == (1, True):
        remark(kernel["name"], problem, BETWEEN)
    return Call(variants.get(variant, lambda x, gamma, beta: fn(x, groups, gamma, beta, eps)),
                prepare=lambda x, *others: (image(x),) + others, finish=channels_last)


# ---- the table ----

CODED = ("f32", "f16", "bf16")
OPS = {  # op: dtypes, maker
    "layernorm": (FLOATS, layernorm),
    "rmsnorm": (FLOATS, rmsnorm),
    "layernorm_gelu": (FLOATS, layernorm_gelu),
    "gelu": (FLOATS, direct("nn.functional.gelu")),
    "gelu_tanh": (FLOATS, gelu_tanh),
    "silu": (FLOATS, direct("nn.functional.silu")),
    "relu": (FLOATS, direct("relu")),
    "sigmoid": (FLOATS, direct("sigmoid")),
    "leakyrelu": (FLOATS, leakyrelu),
    "relu6": (FLOATS, direct("nn.functional.relu6")),
    "hardswish": (FLOATS, direct("nn.functional.hardswish")),
    "add": (FLOATS, direct("add")),
    "swiglu": (FLOATS, swiglu),
    "softmax": (FLOATS, softmax),
    "mse": (FLOATS, mse),
    "cross_entropy": (FLOATS, cross_entropy),
    "linear": (CODED + ("s8",), linear),
    "quantize": (CODED, quantize),
    "dequantize": (CODED, dequantize),
    "attention": (FLOATS, attention),
    "conv2d": (FLOATS, conv2d),
    "depthwise_conv2d": (FLOATS, depthwise_conv2d),
    "groupnorm": (FLOATS, groupnorm),
    "copy": (FLOATS, direct("clone")),
    "triad": (FLOATS, triad),
}
EAGER = IMPLEMENTATIONS[:1]
ON_CPU, ON_GPU = DEVICES[:1], DEVICES[1:]
ATTENTIONS = (  # backend, dtypes, devices
    ("flash", FLOATS, ON_CPU),
    ("flash", SHORT, ON_GPU),
    ("cudnn", SHORT, ON_GPU),
    ("efficient", CODED, ON_GPU),
    ("math", FLOATS, DEVICES),
)


def attention_rows():
    """attention_torch_flash_cuda and its like."""
    for name, dtypes, devices in ATTENTIONS:
        for row in rows("attention", "attention", dtypes, devices, EAGER, 0):
            row["name"] = row["name"].replace("_torch", "_torch_" + name)
            yield row


KERNELS = [row for op, (dtypes, _) in OPS.items() for row in rows(op, op, dtypes)]
KERNELS += attention_rows()
BY_NAME = {row["name"]: row for row in KERNELS}
MAKERS = {"attention_torch_" + name + suffix: backend(name)
          for name, _, devices in ATTENTIONS for _, suffix in devices}


def quantize_refuses(kernel, problem):
    """Codes are right to the bit, or wrong."""
    form = form_of(problem)
    if form == "u4" and problem.op == "quantize" and kernel["implementation"] == COMPILE:
        return "compiled code divides only nearly right, and codes are compared bit for bit"
    return too_old((2, 1), form) if form in ("e4m3", "e5m2") else None


def old_and_coarse(kernel, problem):
    """On CPUs PyTorch used to compute some ops in 16 bits, several roundings in a row."""
    if kernel["device"] != "cpu" or problem.dtype not in SHORT:
        return None
    return too_old((2, 4), "%s in %s, computed in f32 on a CPU," % (
        kernel["op"].replace("model:", ""), problem.dtype))


REFUSES = {
    **dict.fromkeys(("layernorm", "gelu", "gelu_tanh", "silu", "groupnorm", "triad"),
                    old_and_coarse),
    "linear": linear_refuses,
    "quantize": quantize_refuses,
    "dequantize": quantize_refuses,
    "attention": attention_refuses,
    "conv2d": conv_refuses,
    "depthwise_conv2d": conv_refuses,
}


def can_run(kernel, problem):
    """Why not, or None. Imports nothing."""
    row = BY_NAME[kernel]
    reason = cannot(row)
    if reason or problem is None:
        return reason
    refuses = REFUSES.get(row["op"])
    return refuses(row, problem) if refuses else None


def setup(kernel, problem):
    """The Call of a kernel, compiled and called once."""
    row = BY_NAME[kernel]
    return ready(row, problem, MAKERS.get(kernel) or OPS[row["op"]][1])
