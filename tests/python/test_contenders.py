"""The contenders made of PyTorch and Triton, held to references in double precision.

Run by any python3; what takes PyTorch is skipped where there is none.
"""

import collections
import contextlib
import importlib.util
import itertools
import math
import os
import subprocess
import sys
import types
import unittest

sys.dont_write_bytecode = True
import lib

ROOT = lib.PACKAGE

from assay import _found
from assay.contenders import (Unsupported, torch_common, torch_gradients, torch_model_training,
                              torch_models, torch_ops, torch_training, triton_ops)

MODULES = (torch_ops, torch_gradients, torch_training, torch_models, torch_model_training,
           triton_ops)
HAVE_TORCH = importlib.util.find_spec("torch") is not None
HAVE_TRITON = importlib.util.find_spec("triton") is not None
FIELDS = "op dtype axes params inputs outputs threads recipe device axis_names param_names autotune"
Problem = collections.namedtuple("Problem", FIELDS)
UNITS = {"f64": 2.0 ** -53, "f32": 2.0 ** -24, "f16": 2.0 ** -11, "bf16": 2.0 ** -8}
SEED = 20


def problem(op, dtype, axes, inputs, outputs, params=(), recipe=None, device="cpu"):
    """inputs and outputs: dims, or (dtype, dims) where it is not the problem's."""
    def tensors(list_):
        return tuple(t if t and type(t[0]) is str else (dtype, tuple(t)) for t in list_)
    return Problem(op, dtype, tuple(axes), tuple(map(float, params)), tensors(inputs),
                   tensors(outputs), 1, recipe, device, (), (), False)


def tuple_of(result):
    return result if type(result) is tuple else (result,)


# ---- references in double: plain, slow, and of nobody's library but tensors of float64 ----

def erf(x):
    return x.double().clone().apply_(math.erf)


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def silu(x):
    return x * sigmoid(x)


def clip(x, low, high):
    return x.clamp(low, high)


ACTIVATIONS = {
    "none": lambda x: x,
    "sigmoid": sigmoid,
    "relu": lambda x: clip(x, 0, math.inf),
    "leakyrelu": lambda x: x.where(x > 0, 0.01 * x),
    "relu6": lambda x: clip(x, 0, 6),
    "gelu": gelu,
    "silu": silu,
    "hardswish": lambda x: x * clip(x + 3, 0, 6) / 6,
}


def gelu_tanh(x):
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))


def standard(x, eps, dims=(-1,)):
    centred = x - x.mean(dims, keepdim=True)
    return centred / ((centred ** 2).mean(dims, keepdim=True) + eps).sqrt()


def rms(x, eps):
    return x / ((x ** 2).mean(-1, keepdim=True) + eps).sqrt()


def softmax(x):
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def attention(q, k, v, causal):
    """q, k, v [batch, seq, heads, dim]."""
    scores = (q.permute(0, 2, 1, 3) @ k.permute(0, 2, 3, 1)) / math.sqrt(q.shape[-1])
    if causal:
        scores = scores + (scores * 0 - math.inf).triu(1).nan_to_num(0.0, neginf=-math.inf)
    return (softmax(scores) @ v.permute(0, 2, 1, 3)).permute(0, 2, 1, 3)


def swiglu(x):
    half = x.shape[-1] // 2
    return x[..., :half] * silu(x[..., half:])


def windows(x, kernel, stride, pad):
    """x [b, h, w, c] padded, and where each window of the output begins."""
    b, h, w, c = x.shape
    padded = x.new_zeros(b, h + 2 * pad, w + 2 * pad, c)
    padded[:, pad:pad + h, pad:pad + w] = x
    oh, ow = (h + 2 * pad - kernel) // stride + 1, (w + 2 * pad - kernel) // stride + 1
    return padded, [(i, j, i * stride, j * stride) for i in range(oh) for j in range(ow)], oh, ow


def conv(x, w, stride, pad):
    """W [out, kernel, kernel, in]."""
    kernel = w.shape[1]
    padded, places, oh, ow = windows(x, kernel, stride, pad)
    y = x.new_zeros(x.shape[0], oh, ow, w.shape[0])
    for i, j, top, left in places:
        patch = padded[:, top:top + kernel, left:left + kernel]
        y[:, i, j] = patch.reshape(len(x), -1) @ w.reshape(w.shape[0], -1).T
    return y


def depthwise(x, w, stride, pad):
    """W [kernel, kernel, channels]."""
    kernel = w.shape[0]
    padded, places, oh, ow = windows(x, kernel, stride, pad)
    y = x.new_zeros(x.shape[0], oh, ow, x.shape[3])
    for i, j, top, left in places:
        y[:, i, j] = (padded[:, top:top + kernel, left:left + kernel] * w).sum((1, 2))
    return y


def groupnorm(x, gamma, beta, groups, eps=1e-5):
    b, h, w, c = x.shape
    y = standard(x.reshape(b, h * w, groups, c // groups), eps, (1, 3))
    return y.reshape(x.shape) * gamma + beta


def log_loss(x, classes):
    shifted = x - x.amax(-1, keepdim=True)
    rows = shifted.exp().sum(-1).log() - shifted.gather(-1, classes.long()[..., None])[..., 0]
    return rows.mean().reshape(1)


# ---- cases ----

SHAPES = ((1, 1, 1), (2, 3, 5), (1, 7, 77), (3, 1, 1000), (2, 5, 512))
LONG = ((1, 2, 40000),)
ELEMENTS = {
    "gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu, "sigmoid": sigmoid,
    "add": lambda x, y: x + y, "triad": lambda x, y: x + 3 * y,
    "relu": ACTIVATIONS["relu"], "leakyrelu": ACTIVATIONS["leakyrelu"],
    "relu6": ACTIVATIONS["relu6"], "hardswish": ACTIVATIONS["hardswish"], "copy": lambda x: x,
    "softmax": softmax,
}
PARAMS = {"leakyrelu": (0.01,), "layernorm": (1e-5,), "layernorm_gelu": (1e-5,),
          "rmsnorm": (1e-5,)}
ROWS = {
    "layernorm": lambda x, g, b: standard(x, 1e-5) * g + b,
    "layernorm_gelu": lambda x, g, b: gelu(standard(x, 1e-5) * g + b),
    "rmsnorm": lambda x, g: rms(x, 1e-5) * g,
}


def row_cases(op, dtype, shapes=SHAPES):
    """(problem, reference) of ops of batch, seq and dim."""
    for shape in shapes:
        params = PARAMS.get(op, ())
        if op in ELEMENTS:
            n = ELEMENTS[op].__code__.co_argcount
            yield problem(op, dtype, shape, [shape] * n, [shape], params), ELEMENTS[op]
        elif op in ROWS:
            n = ROWS[op].__code__.co_argcount
            yield (problem(op, dtype, shape, [shape] + [shape[2:]] * (n - 1), [shape], params),
                   ROWS[op])
        elif op == "swiglu":
            wide = shape[:2] + (2 * shape[2],)
            yield problem(op, dtype, shape, [wide], [shape]), swiglu
        elif op == "mse":
            yield (problem(op, dtype, shape, [shape] * 2, [("f32", (1,))]),
                   lambda x, y: ((x - y) ** 2).mean().reshape(1))
        elif op == "cross_entropy":
            yield (problem(op, dtype, shape, [shape, ("s32", shape[:2])], [("f32", (1,))]),
                   log_loss)


def linear_reference(bias, activation, norm, add):
    def reference(x, w, *others):
        others = list(others)
        b = others.pop(0) if bias else 0
        if norm == 1:
            x = standard(x, 1e-5)
        if norm == 2:
            x = rms(x, 1e-5) * others.pop(0)
        y = list(ACTIVATIONS.values())[activation](x @ w.T + b)
        return y + others.pop(0) if add else y
    return reference


def linear_cases(dtype):
    modes = [(0, a, 0, 0) for a in range(8)]
    modes += [(1, 5, 0, 0), (1, 0, 1, 1), (1, 6, 2, 1), (0, 0, 2, 0), (0, 3, 0, 1)]
    for m, k, n in ((1, 1, 1), (3, 77, 33), (17, 64, 48)):
        for mode in modes:
            bias, _, norm, add = mode
            inputs = [(m, k), (n, k)] + [(n,)] * bias + [(k,)] * (norm == 2) + [(m, n)] * add
            yield (problem("linear", dtype, (m, k, n), inputs, [(m, n)], mode),
                   linear_reference(*mode))


def attention_cases(dtype):
    for batch, seq, heads, dim in ((1, 1, 1, 8), (2, 17, 3, 16), (1, 5, 2, 24)):
        for packed, causal in ((0, 0), (0, 1), (1, 0), (1, 1)):
            t = (batch, seq, heads, dim)
            inputs = [(batch, seq, 3 * heads, dim)] if packed else [t] * 3

            def reference(*qkv, heads=heads, causal=causal):
                return attention(*(qkv if len(qkv) == 3 else qkv[0].split(heads, 2)), causal)
            yield problem("attention", dtype, t, inputs, [t], (packed, causal)), reference


def conv_reference(op, stride, pad, bias, add):
    def reference(x, w, *others):
        others = list(others)
        y = (conv if op == "conv2d" else depthwise)(x, w, stride, pad)
        return y + (others.pop(0) if bias else 0) + (others.pop(0) if add else 0)
    return reference


def conv_cases(op, dtype):
    sizes = ((2, 7, 9, 3, 5, 3, 2), (1, 5, 4, 8, 1, 1, 1), (1, 6, 6, 1, 4, 4, 1),
             (2, 4, 4, 6, 8, 3, 1))
    for b, h, w, i, o, kernel, stride in sizes:
        for mode in ((-1, 0, 0), (0, 1, 0), (kernel - 1, 0, 1), (-1, 1, 1)):
            pad = (kernel - 1) // 2 if mode[0] < 0 else mode[0]
            if op != "conv2d":
                o, mode = i, mode[:2] + (0,)
            out = (b, (h + 2 * pad - kernel) // stride + 1, (w + 2 * pad - kernel) // stride + 1, o)
            filters = (o, kernel, kernel, i) if op == "conv2d" else (kernel, kernel, i)
            inputs = [(b, h, w, i), filters] + [(o,)] * mode[1] + [out] * mode[2]
            axes = (b, h, w, i) + ((o,) if op == "conv2d" else ()) + (kernel, stride)
            yield (problem(op, dtype, axes, inputs, [out], mode),
                   conv_reference(op, stride, pad, *mode[1:]))


def groupnorm_cases(dtype):
    for b, h, w, c, groups in ((2, 5, 7, 6, 3), (1, 1, 2, 4, 4), (1, 4, 4, 8, 1)):
        for mode in (0, 1):
            def reference(x, g, beta, groups=groups, mode=mode):
                y = groupnorm(x, g, beta, groups)
                return silu(y) if mode else y
            yield (problem("groupnorm", dtype, (b, h, w, c, groups), [(b, h, w, c), (c,), (c,)],
                           [(b, h, w, c)], (1e-5, mode)), reference)


def cases(op, dtype):
    by_op = {"linear": linear_cases, "attention": attention_cases, "groupnorm": groupnorm_cases,
             "quantize": lambda dtype: (), "dequantize": lambda dtype: ()}
    if op in ("conv2d", "depthwise_conv2d"):
        return conv_cases(op, dtype)
    return by_op[op](dtype) if op in by_op else row_cases(op, dtype)


def model_cases(dtype):
    """(problem, reference) of every model."""
    def model(name, axes, inputs, out, reference):
        return problem("model:" + name, dtype, axes, inputs, [out], ()), reference
    for name in list(ACTIVATIONS)[1:]:
        yield model("ln_linear_" + name, (5, 33, 17), [(5, 33), (17, 33)], (5, 17),
                    lambda x, w, act=ACTIVATIONS[name]: act(standard(x, 1e-5) @ w.T))
    yield model("linear", (5, 33, 17), [(5, 33), (17, 33)], (5, 17), lambda x, w: x @ w.T)
    x, square = (6, 16), (16, 16)

    def attend(qkv, batch, heads):
        q, k, v = qkv.reshape(batch, len(qkv) // batch, 3, heads, -1).unbind(2)
        return attention(q, k, v, False).reshape(len(qkv), -1)
    yield model("multi_head_attention", (2, 3, 16, 4), [x, (48, 16), square], x,
                lambda x, qkv, out: attend(x @ qkv.T, 2, 4) @ out.T)
    for name in ("gelu", "relu"):
        yield model("mlp_" + name, (2, 3, 16, 20), [x, (20, 16), (16, 20)], x,
                    lambda x, up, down, act=ACTIVATIONS[name]: act(x @ up.T) @ down.T)
    yield model("mlp_swiglu", (2, 3, 16, 20), [x, (40, 16), (16, 20)], x,
                lambda x, up, down: swiglu(x @ up.T) @ down.T)

    def block(x, g, qkv, out, g2, up, down):
        x = x + attend((rms(x, 1e-5) * g) @ qkv.T, 2, 8) @ out.T
        return x + gelu((rms(x, 1e-5) * g2) @ up.T) @ down.T
    yield model("transformer_block", (2, 16, 9), [(32, 16), (16,), (48, 16), square, (16,),
                                                  (64, 16), (16, 64)], (32, 16), block)

    def preset(x, g, b, qkv, out, g2, b2, up, c, down, c2):
        x = x + attend((standard(x, 1e-5) * g + b) @ qkv.T, 2, 4) @ out.T
        return x + gelu((standard(x, 1e-5) * g2 + b2) @ up.T + c) @ down.T + c2
    v = (16,)
    yield model("preset_transformer", (2, 3, 16, 4, 2),
                [x, v, v, (48, 16), square, v, v, (32, 16), (32,), (16, 32), v], x, preset)
    yield model("layer_norm", (2, 3, 16), [x, v, v], x,
                lambda x, g, b: standard(x, 1e-5) * g + b)
    for name, eps in (("", 1e-6), ("_1e_5", 1e-5), ("_1e_8", 1e-8)):
        yield model("rms_norm" + name, (2, 3, 16), [x, v], x,
                    lambda x, g, eps=eps: rms(x, eps) * g)
    yield from image_models(model)


def of_model(op, dtype):
    return [case for case in model_cases(dtype) if case[0].op == op]


def image_models(model):
    b, h, w, c = 2, 5, 4, 6
    rows = (b * h * w, c)

    def pixels(x):
        return x.reshape(b, h, w, -1)

    def block(x, g, beta, f, bias, g2, beta2, f2, bias2):
        y = conv(silu(groupnorm(pixels(x), g, beta, 3)), f, 1, 1) + bias
        y = conv(silu(groupnorm(y, g2, beta2, 3)), f2, 1, 1) + bias2
        return x + y.reshape(-1, c)
    norm, filters = [(c,), (c,)], [(c, 3, 3, c), (c,)]
    yield model("sd_resblock", (b, c, h, w, 3), [rows] + 2 * (norm + filters), rows, block)
    yield model("group_norm", (b, c, h, w, 3), [rows] + norm, rows,
                lambda x, g, beta: groupnorm(pixels(x), g, beta, 3).reshape(-1, c))
    yield model("conv2d", (b, c, 7, h, w, 3, 0, 2), [rows, (7, 3, 3, c)], (b * 2 * 1, 7),
                lambda x, f: conv(pixels(x), f, 2, 0).reshape(-1, 7))
    yield model("depthwise", (b, c, h, w, 3, 1, 1), [rows, (3, 3, c)], rows,
                lambda x, f: depthwise(pixels(x), f, 1, 1).reshape(-1, c))
    yield model("depthwise_separable", (b, c, h, w, 3, 1, 1), [rows, (3, 3, c), (c, c)], rows,
                lambda x, f, mix: depthwise(pixels(x), f, 1, 1).reshape(-1, c) @ mix.T)


# ---- running them ----

def operands(torch, p):
    """Nearly normal inputs: weights of the order of 1 / sqrt(k), classes within the row."""
    generator = torch.Generator().manual_seed(SEED)
    made = []
    for i, (name, dims) in enumerate(p.inputs):
        if name == "s32":
            made.append(torch.randint(0, p.axes[2], dims, generator=generator, dtype=torch.int32))
            continue
        x = torch.randn(dims, generator=generator, dtype=torch.float64)
        if i and len(dims) > 1 and p.op not in ("mse", "add", "triad", "attention"):
            x = x / math.sqrt(x.numel() / dims[-1 if len(dims) == 3 else 0])
        made.append(x.to(getattr(torch, torch_ops.dtype(torch, name).__str__()[6:])))
    return made


def allowed(p, want):
    """About what assay allows; several 16-bit ops in a row round several times."""
    unit = UNITS[p.outputs[0][0]]
    several = p.op.startswith("model:") or p.op == "linear" and any(
        p.params[i] for i in (0, 2, 3))
    small = {"f64": 1e-13, "f32": 3e-6, "f16": 3e-6, "bf16": 3e-6}[p.dtype]
    small = max(small, 1e-7 if p.outputs[0][0] == "f32" else 0)
    size = max(1.0, float(want.abs().max()))
    if several and unit > 1e-5:
        return 3 * unit * want.abs() + 8 * unit * size
    return (1.02 * unit + 2 * small) * want.abs() + 2 * small * size


def patched_attention(torch):
    """Of a PyTorch before 2.0: the function that was not there yet, written plainly."""
    def sdpa(q, k, v, is_causal=False):
        y = attention(*(t.transpose(1, 2).double() for t in (q, k, v)), is_causal)
        return y.transpose(1, 2).contiguous().to(q.dtype)
    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        torch.nn.functional.scaled_dot_product_attention = sdpa


@contextlib.contextmanager
def compiling(torch):
    """A torch.compile that gives its function back, and a PyTorch that is new enough for it."""
    had, version = getattr(torch, "compile", None), _found.version
    asked = []

    def give_back(fn, **options):
        asked.append(options)
        return fn
    torch.compile, _found.version = give_back, lambda: (99, 0)
    try:
        yield
        assert asked and all(o == dict(dynamic=False, fullgraph=True, mode=None) for o in asked)
    finally:
        _found.version = version
        if had:
            torch.compile = had
        else:
            del torch.compile


def attempt(torch, module, kernel, p):
    """The kernel's results, finished; Unsupported with the reason."""
    reason = module.can_run(kernel, p)
    if reason and not reason.startswith("scaled_dot_product_attention"):
        raise Unsupported(reason)
    call = module.setup(kernel, p)
    inputs = operands(torch, p)
    before = [t.clone() for t in inputs]
    result = call.fn(*(call.prepare(*inputs) if call.prepare else inputs))
    assert all(torch.equal(a, b) for a, b in zip(inputs, before)), kernel + " wrote its inputs"
    return inputs, tuple_of(call.finish(result) if call.finish else result)


@unittest.skipUnless(HAVE_TORCH, "PyTorch is not installed for " + sys.executable)
class Torch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch
        cls.torch = torch
        patched_attention(torch)

    def hold(self, module, row, p, reference):
        """Compares one kernel on one problem; returns why it could not, or None."""
        torch = self.torch
        try:
            inputs, (got,) = attempt(torch, module, row["name"], p)
        except Unsupported as error:
            self.assertTrue(str(error).strip())
            return str(error)
        want = reference(*(t.double() for t in inputs))
        self.assertEqual(tuple(got.shape), tuple(p.outputs[0][1]), row["name"])
        self.assertEqual(got.dtype, torch_ops.dtype(torch, p.outputs[0][0]), row["name"])
        self.assertTrue(got.is_contiguous(), row["name"])
        wrong = ~((got.double() - want).abs() <= allowed(p, want))
        self.assertFalse(bool(wrong.any()), "%s %s %s %s: %s, want %s" % (
            row["name"], p.dtype, p.axes, p.params, got[wrong][:3], want[wrong][:3]))
        return None

    def run_rows(self, module, cases_of, implementation="torch", dtypes=tuple(UNITS)):
        ran, refused = set(), {}
        for row in module.KERNELS:
            if row["device"] != "cpu" or row["implementation"] != implementation:
                continue
            for dtype in [d for d in row["dtypes"] if d in dtypes]:
                for p, reference in cases_of(row["op"], dtype):
                    with self.subTest(kernel=row["name"], dtype=dtype, axes=p.axes,
                                      params=p.params):
                        reason = self.hold(module, row, p, reference)
                        if reason:
                            refused.setdefault((row["name"], dtype), reason)
                        else:
                            ran.add((row["name"], dtype))
        if os.environ.get("VERBOSE"):
            for name, reason in sorted(refused.items()):
                print("refused", *name, reason)
        return ran, refused

    def test_ops(self):
        ran, _ = self.run_rows(torch_ops, cases)
        for op in torch_ops.OPS:
            if op not in ("quantize", "dequantize"):
                self.assertIn((op + "_torch", "f32"), ran)

    def test_what_is_compiled(self):
        """What torch.compile gets, without compiling it: that is PyTorch's own affair."""
        with compiling(self.torch):
            ran, _ = self.run_rows(torch_ops, cases, "torch-compile", ("f32",))
            self.assertEqual(len(ran), len(torch_ops.OPS) - 2)
            ran, _ = self.run_rows(torch_models, of_model, "torch-compile", ("f32",))
            self.assertEqual(len(ran), len(torch_models.MODELS))
        plain = problem("relu", "f32", (2, 3, 5), [], [])
        self.assertIsNone(torch_common.mode_of(plain))
        self.assertEqual(torch_common.mode_of(plain._replace(autotune=True)),
                         "max-autotune-no-cudagraphs")

    def test_models(self):
        ran, _ = self.run_rows(torch_models, of_model)
        for name in torch_models.MODELS:
            self.assertIn(("model_" + name + "_torch", "f32"), ran)

    def trained(self, p, pass_, inputs, outputs, params=(), implementation="torch"):
        """The outputs of one pass of a model."""
        torch = self.torch
        row = "model_%s_%s_%s" % (p.op[len("model:"):], pass_, implementation)
        q = p._replace(op=p.op + "_" + pass_, params=params,
                       inputs=[("f32", tuple(t.shape)) for t in inputs],
                       outputs=[("f32", tuple(dims)) for dims in outputs])
        reason = torch_model_training.can_run(row, q)
        self.assertTrue(reason is None or reason.startswith("scaled_dot_product"), reason)
        call = torch_model_training.setup(row, q)
        self.assertFalse(torch.is_inference_mode_enabled())
        inputs = [t.clone() for t in inputs]
        before = [t.clone() for t in inputs]
        arguments = call.prepare(*inputs)
        for _ in range(2):  # what is kept is used again
            result = tuple_of(call.fn(*arguments))
        result = tuple_of(call.finish(result if len(result) > 1 else result[0])
                          if call.finish else result)
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(inputs, before)))
        for got, dims in zip(result, outputs):
            self.assertEqual(tuple(got.shape), tuple(dims))
            self.assertTrue(got.is_contiguous() and not got.requires_grad)
        self.assertEqual(len(result), len(outputs))
        return result

    def hold_gradients(self, reference, inputs, dy, gradients):
        """Against finite differences of the reference along a random direction for each input."""
        torch, step = self.torch, 1e-5
        wide = [t.double() for t in inputs]
        for i, gradient in enumerate(gradients):
            direction = torch.randn(wide[i].shape, dtype=torch.float64,
                                    generator=torch.Generator().manual_seed(SEED + i))
            ends = [[t + sign * step * direction if j == i else t for j, t in enumerate(wide)]
                    for sign in (1, -1)]
            high, low = (float((reference(*end) * dy.double()).sum()) for end in ends)
            got = float((gradient.double() * direction).sum())
            size = float(gradient.double().norm()) * float(direction.norm()) + 1e-6
            self.assertLess(abs(got - (high - low) / (2 * step)), 2e-4 * size, i)

    def hold_training(self, p, reference, implementation="torch"):
        torch = self.torch
        with torch.inference_mode(False):
            inputs = operands(torch, p)
            dy = torch.randn(p.outputs[0][1], generator=torch.Generator().manual_seed(SEED))
            shapes, ones = [t.shape for t in inputs], torch.ones_like(dy)
            want = reference(*(t.double() for t in inputs))
        y, = self.trained(p, "forward", inputs, [dy.shape], (), implementation)
        self.assertTrue(bool(((y.double() - want).abs() <= allowed(p, want)).all()))
        gradients = self.trained(p, "backward", [dy] + inputs, shapes, (), implementation)
        self.hold_gradients(reference, inputs, dy, gradients)
        loss, *gradients = self.trained(p, "both", inputs, [(1,)] + shapes, (), implementation)
        self.assertAlmostEqual(float(loss), float(want.sum()), delta=1e-3)
        self.hold_gradients(reference, inputs, ones, gradients)
        for optimizer in (0, 1):
            _, *new = self.trained(p, "step", inputs, [(1,)] + shapes[1:], (float(optimizer),),
                                   implementation)
            for w, g, got in zip(inputs[1:], gradients[1:], new):
                w, g, step = w.double(), g.double(), 1000
                m, v = 0.1 * g, 0.999 + 0.001 * g * g
                root = (v / (1 - 0.999 ** step)).sqrt() + 1e-8
                adamw = w * (1 - 0.1 * 0.01) - 0.1 / (1 - 0.9 ** step) * m / root
                sgd = w - 0.05 * (g + 0.01 * w)
                off = (got.double() - (sgd if optimizer else adamw)).abs().max()
                self.assertLess(float(off), 1e-4 * (1 + float(g.abs().max())))

    def test_models_in_training(self):
        for name in torch_models.MODELS:
            with self.subTest(model=name):
                p, reference = next(iter(of_model("model:" + name, "f32")))
                self.hold_training(p, reference)
        plain = problem("relu", "f32", (2, 3, 5), [(2, 3, 5)], [(2, 3, 5)])
        torch_ops.setup("relu_torch", plain)  # others are in inference mode again
        self.assertTrue(self.torch.is_inference_mode_enabled())

    def test_compiled_models_in_training(self):
        with compiling(self.torch):
            for name in ("linear", "mlp_swiglu", "sd_resblock"):
                p, reference = next(iter(of_model("model:" + name, "f32")))
                self.hold_training(p, reference, "torch_compile")

    def test_training_has_the_baseline_only(self):
        p, _ = next(iter(of_model("model:linear", "bf16")))
        p = p._replace(op="model:linear_both", recipe="int8wo")
        self.assertIn("the baseline only", torch_model_training.can_run("model_linear_both_torch", p))

    def test_special_values(self):
        """Losses of 16-bit values that only f32 can hold; a softmax that needs its shift."""
        torch = self.torch
        p = problem("mse", "bf16", (1, 1, 4), [(1, 1, 4)] * 2, [("f32", (1,))])
        call = torch_ops.setup("mse_torch", p)
        x = torch.full((1, 1, 4), 3e4, dtype=torch.bfloat16)
        got = call.finish(call.fn(x, -x))
        self.assertAlmostEqual(float(got), float((2 * x[0, 0, 0].double()) ** 2), delta=1e3)


@unittest.skipUnless(HAVE_TORCH, "PyTorch is not installed for " + sys.executable)
class Codes(unittest.TestCase):
    """quantize, dequantize and the recipes, by the formulas of docs/recipes.md."""

    @classmethod
    def setUpClass(cls):
        import torch
        cls.torch = torch

    def scales(self, x, most):
        """Of runs x [runs, n] in f32: scales as numpy's f32 divides."""
        import numpy as np
        scale = x.abs().amax(-1).numpy() / np.float32(most)
        with np.errstate(divide="ignore", over="ignore"):
            inverse = np.float32(1) / scale
        scale = np.where(np.isinf(inverse), np.float32(1), scale)
        return scale, np.float32(1) / scale

    def x(self, dtype, m, k):
        torch = self.torch
        x = torch.randn(m, k, generator=torch.Generator().manual_seed(SEED)) * 3
        x[0] = 0
        return x.to(torch_ops.dtype(torch, dtype))

    def modes(self, form, m, k):
        for group, runs in ((0, m), (-1, 1), (32, m * k // 32)):
            number = {"s8": 6, "u4": 8}[form]
            scales = ("f32", (runs, 2) if form == "u4" else (runs,))
            yield (number, group), (form, (m, k)), scales, runs

    def test_s8(self):
        self.hold_s8("quantize_torch")
        with compiling(self.torch):
            self.hold_s8("quantize_torch_compile")

    def hold_s8(self, kernel):
        import numpy as np
        m, k = 5, 64
        for dtype in ("f32", "bf16", "f16"):
            for params, codes, scales, runs in self.modes("s8", m, k):
                p = problem("quantize", dtype, (m, k), [(m, k)], [codes, scales], params)
                x = self.x(dtype, m, k)
                call = torch_ops.setup(kernel, p)
                got, own = call.finish(call.fn(*call.prepare(x)))
                scale, inverse = self.scales(x.float().view(runs, -1), 127.5)
                want = np.rint(x.float().view(runs, -1).numpy() * inverse[:, None])
                want = want.clip(-128, 127).astype(np.int8).reshape(m, k)
                self.assertTrue((got.numpy() == want).all())
                self.assertTrue((own.numpy() == scale).all())
                self.assertEqual(tuple(own.shape), (runs,))
                self.back("s8", dtype, params, got, own, got.double().view(runs, -1)
                          * own.double()[:, None])

    def back(self, form, dtype, params, codes, scales, want):
        torch = self.torch
        m, k = 5, 64
        p = problem("dequantize", dtype, (m, k), [(form, (m, k)), ("f32", tuple(scales.shape))],
                    [(m, k)], params)
        call = torch_ops.setup("dequantize_torch", p)
        y = call.finish(call.fn(*call.prepare(codes, scales)))
        self.assertEqual(y.dtype, torch_ops.dtype(torch, dtype))
        self.assertEqual(tuple(y.shape), (m, k))
        off = (y.double() - want.view(m, k)).abs()
        self.assertTrue(bool((off <= 1.02 * UNITS[dtype] * want.view(m, k).abs() + 1e-5).all()))

    def test_u4(self):
        import numpy as np
        m, k = 5, 64
        for dtype in ("f32", "bf16", "f16"):
            for params, codes, scales, runs in self.modes("u4", m, k):
                p = problem("quantize", dtype, (m, k), [(m, k)], [codes, scales], params)
                x = self.x(dtype, m, k)
                call = torch_ops.setup("quantize_torch", p)
                got, own = call.finish(call.fn(*call.prepare(x)))
                v = x.float().view(runs, -1).numpy()
                low, high = v.min(1), v.max(1)
                same = low == high
                scale = np.maximum((high - low) / np.float32(15), np.float32(1e-6))
                scale = np.where(same, np.float32(1), scale)
                zero = low + np.where(same, np.float32(0), np.float32(8) * scale)
                base = (zero - np.float32(8) * scale)[:, None]
                q = np.rint((v - base) / scale[:, None]).clip(0, 15).astype(np.uint8).reshape(-1)
                self.assertTrue((got.numpy().reshape(-1) == (q[0::2] | q[1::2] << 4)).all())
                self.assertTrue((own.numpy() == np.stack((scale, zero), -1)).all())
                back = (q.reshape(runs, -1).astype(np.float64) - 8) * scale[:, None] + zero[:, None]
                self.back("u4", dtype, params, got, own, self.torch.from_numpy(back))

    def test_recipes_store_and_multiply(self):
        """int8dq against its formula, with a plain product in the place of PyTorch's own."""
        torch = self.torch
        had = getattr(torch, "_int_mm", None)
        torch._int_mm = lambda a, b: (a.double() @ b.double()).to(torch.int32)
        try:
            m, k, n = 20, 64, 24
            for dtype in ("f32", "bf16"):
                p = problem("linear", dtype, (m, k, n), [(m, k), (n, k), (n,)], [(m, n)],
                            (1, 0, 0, 0), "int8dq")
                call = torch_ops.setup("linear_torch", p)
                x, w, b = operands(torch, p)
                y = call.fn(*call.prepare(x, w, b))

                def rounded(t):
                    scale, inverse = self.scales(t.float(), 127.5)
                    scale, inverse = torch.from_numpy(scale), torch.from_numpy(inverse)
                    codes = (t.float() * inverse[:, None]).round().clamp(-128, 127)
                    return codes.double() * scale.double()[:, None]
                want = rounded(x) @ rounded(w).T + b.double()
                off = (y.double() - want).abs()
                bound = (1.02 * UNITS[dtype] + 1e-6) * want.abs() + 1e-5
                self.assertTrue(bool((off <= bound).all()))
        finally:
            if had:
                torch._int_mm = had
            else:
                del torch._int_mm


@unittest.skipUnless(HAVE_TORCH and HAVE_TRITON, "Triton is not installed for " + sys.executable)
class Triton(unittest.TestCase):
    """The kernels under Triton's interpreter, on small problems and on rows that are long."""

    def test_ops(self):
        import torch
        os.environ["TRITON_INTERPRET"] = "1"  # before triton_kernels is imported
        for op in triton_ops.OPS:
            for dtype in ("f32", "f16"):
                for p, reference in itertools.chain(cases(op, dtype), row_cases(op, dtype, LONG)):
                    with self.subTest(op=op, dtype=dtype, axes=p.axes, params=p.params):
                        self.hold(torch, op + "_triton", p._replace(device="cuda"), reference)

    def hold(self, torch, kernel, p, reference):
        if triton_ops.can_run(kernel, p):
            return
        inputs = operands(torch, p)
        got = triton_ops.setup(kernel, p).fn(*inputs)
        want = reference(*(t.double() for t in inputs))
        self.assertEqual(tuple(got.shape), tuple(p.outputs[0][1]))
        off = (got.double() - want).abs()
        self.assertTrue(bool((off <= allowed(p, want)).all()))


class Refusals(unittest.TestCase):
    """What cannot be measured says why, before anything is imported."""

    def test_reasons(self):
        def p(op, dtype="bf16", axes=(64, 64, 64), params=(0, 0, 0, 0), recipe=None):
            return problem(op, dtype, axes, [], [], params, recipe)
        rows = torch_ops.BY_NAME
        for kernel, case, words in (
                ("linear_torch", p("linear", params=(0, 5, 0, 0)), "before gelu"),
                ("linear_torch", p("linear", recipe="int4wo-128"), "torchao"),
                ("linear_torch", p("linear", recipe="float8dq-row"), "on GPUs only"),
                ("linear_torch_cuda", p("linear", "f16", recipe="float8dq-row"), "bf16 only"),
                ("linear_torch_cuda", p("linear", "s8", axes=(16, 64, 64)), "above 16"),
                ("attention_torch_flash_cuda", p("attention", axes=(1, 1, 1, 20)), "of 8"),
                ("conv2d_torch", p("conv2d", axes=(1, 8, 8, 3, 3, 3, 1), params=(-1, 0, 1)),
                 "residual")):
            refuses = torch_ops.REFUSES[rows[kernel]["op"]]
            reason = refuses(rows[kernel], case) or ""
            if "needs PyTorch" not in reason:
                self.assertIn(words, reason)
        self.assertIsNone(torch_ops.linear_refuses(rows["linear_torch"],
                                                   p("linear", params=(1, 5, 0, 0))))

    def test_importing_is_cheap(self):
        code = ("import sys; sys.path.insert(0, %r)\n"
                "from assay.contenders import torch_ops, torch_models, triton_ops\n"
                "[m.missing('torch') for m in (torch_ops, torch_models, triton_ops)]\n"
                "[m.can_run(k['name'], None) for m in (torch_ops, torch_models, triton_ops)"
                " for k in m.KERNELS]\n"
                "assert not {'torch', 'triton', 'numpy', 'typing'} & set(sys.modules)" % ROOT)
        subprocess.run([sys.executable, "-S" if not HAVE_TORCH else "-B", "-c", code], check=True)

    def test_tables(self):
        names = set()
        fields = {"name", "op", "implementation", "device", "dtypes", "preference", "note"}
        for module in MODULES:
            for row in module.KERNELS:
                self.assertEqual(set(row), fields)
                self.assertNotIn(row["name"], names)
                names.add(row["name"])
                self.assertLessEqual(len(row["name"]), 63)
                self.assertIn(row["implementation"], ("torch", "torch-compile", "triton"))
                self.assertIn(row["device"], ("cpu", "cuda"))
                self.assertTrue(set(row["dtypes"]) <= {"f64", "f32", "f16", "bf16", "s8"})
                self.assertIs(type(row["preference"]), int)
        for name in ("gelu_torch", "gelu_torch_compile", "gelu_torch_cuda", "gelu_triton",
                     "gelu_torch_compile_cuda", "attention_torch_flash_cuda",
                     "attention_torch_math", "model_linear_torch"):
            self.assertIn(name, names)

    def test_triton_has_tiles(self):
        """Every size has candidates, and tiles that cover it."""
        properties = types.SimpleNamespace(multi_processor_count=132)
        torch = types.SimpleNamespace(cuda=types.SimpleNamespace(
            current_device=lambda: 0, get_device_properties=lambda device: properties))
        for rows in (1, 7, 65536):
            for dim in (1, 2, 31, 512, 1000, 4097, 16384, 20000, 32768):
                tiles = list(triton_ops.row_tiles(torch, rows, dim))
                self.assertTrue(0 < len(tiles) <= 20, (rows, dim, len(tiles)))
                for programs, tile in tiles:
                    self.assertGreaterEqual(tile["BLOCK"], dim)
                    self.assertLessEqual(programs, -(-rows // tile["ROWS"]))
        for dtype in ("f32", "bf16"):
            for axes in ((1, 1, 1), (1, 4096, 4096), (300, 5, 1), (300, 64, 33), (8192, 64, 64),
                         (77, 1000, 1000), (2, 16, 100000)):
                p = problem("linear", dtype, axes, [], [])
                self.assertTrue(list(triton_ops.product_tiles(p)), (dtype, axes))

    def test_sources_compile(self):
        folder = os.path.join(ROOT, "assay", "contenders")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py"):
                with open(os.path.join(folder, name)) as file:
                    compile(file.read(), name, "exec")


if __name__ == "__main__":
    unittest.main()
