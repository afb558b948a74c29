"""Gradients in PyTorch, held to what autograd makes of the forward op in double precision."""

import collections
import sys
import unittest

sys.dont_write_bytecode = True
import lib

from assay.contenders import Unsupported, torch_common, torch_gradients

FIELDS = "op dtype axes params inputs outputs threads recipe device axis_names param_names autotune"
Problem = collections.namedtuple("Problem", FIELDS)
SHAPES = ((1, 1, 1), (2, 3, 5), (1, 7, 77), (2, 5, 512))
EPS = 1e-5


def forwards(F, torch):
    """Of each op its forward function in double; then which of the gradient's inputs behind dy
    are that function's inputs (x, weight), its output (y) or statistics (mean, rstd, rms)."""
    def norm(x, weight, bias):
        return F.layer_norm(x, x.shape[-1:], weight, bias, EPS)

    def rms(x, weight):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight
    return {
        "relu": (F.relu, "x"), "relu6": (F.relu6, "x"), "silu": (F.silu, "x"),
        "leakyrelu": (lambda x: F.leaky_relu(x, 0.01), "x"), "hardswish": (F.hardswish, "x"),
        "sigmoid": (torch.sigmoid, "y"), "softmax": (lambda x: torch.softmax(x, -1), "y"),
        "gelu": (F.gelu, "x"), "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), "x"),
        "layernorm": (norm, "x weight mean rstd"), "rmsnorm": (rms, "x weight rms"),
    }


@unittest.skipUnless(lib.HAVE_TORCH, "PyTorch is not installed for " + sys.executable)
class Gradients(unittest.TestCase):
    def case(self, op, dtype, shape):
        """Its inputs, and the gradients that they must give."""
        import torch
        forward, words = forwards(torch.nn.functional, torch)[op]
        generator = torch.Generator().manual_seed(20)

        def normal(*dims, scale=1.0, shift=0.0):
            x = torch.randn(dims, generator=generator, dtype=torch.float64) * scale + shift
            return x.to(getattr(torch, torch_common.TYPES[dtype])).double()
        leaves = [normal(*shape, scale=2.0, shift=0.25)]
        if op in ("layernorm", "rmsnorm"):
            leaves += [normal(shape[2], shift=1.0, scale=0.25)] * (2 if op == "layernorm" else 1)
        leaves = [t.clone().requires_grad_() for t in leaves]
        y, dy, x = forward(*leaves), normal(*shape), leaves[0].detach()
        y.backward(dy)
        variance = x.var(-1, unbiased=False)
        known = dict(x=x, y=y.detach(), weight=leaves[-1].detach(), mean=x.mean(-1).flatten(),
                     rstd=(variance + EPS).rsqrt().flatten(),
                     rms=(x.square().mean(-1) + EPS).rsqrt().flatten())
        kind = getattr(torch, torch_common.TYPES[dtype])
        inputs = [dy.to(kind)] + [known[word].to(kind) for word in words.split()]
        return inputs, [leaf.grad for leaf in leaves]

    def hold(self, op, dtype, shape):
        import torch
        with torch.inference_mode(False), torch.enable_grad():  # which setup enters for good
            inputs, want = self.case(op, dtype, shape)
        p = Problem(op + "_backward", dtype, shape, (0.01,) if op == "leakyrelu" else (EPS,),
                    [(dtype, t.shape) for t in inputs], [(dtype, t.shape) for t in want], 1, None,
                    "cpu", (), (), False)
        row = op + "_backward_torch"
        reason = torch_gradients.can_run(row, p)
        self.assertIsNone(reason)
        call = torch_gradients.setup(row, p)
        inputs = [t.clone() for t in inputs]  # of inference mode
        got = call.fn(*(call.prepare(*inputs) if call.prepare else inputs))
        got = list(got) if isinstance(got, tuple) else [got]
        self.assertEqual(len(got), len(want))
        small = 1e-12 if dtype == "f64" else 2e-6
        for g, w in zip(got, want):
            self.assertEqual(tuple(g.shape), tuple(w.shape))
            limit = small * (w.abs() + 4 * max(1.0, float(w.abs().max())))
            self.assertTrue(bool(((g.double() - w).abs() <= limit).all()),
                            "%s %s %s: %s, want %s" % (op, dtype, shape, g, w))

    def test_autograd_agrees(self):
        import torch
        ops = forwards(torch.nn.functional, torch)
        self.assertLessEqual({op + "_backward" for op in ops}, set(torch_gradients.OPS))
        for op in ops:
            for dtype in ("f32", "f64"):
                for shape in SHAPES:
                    with self.subTest(op=op, dtype=dtype, shape=shape):
                        self.hold(op, dtype, shape)

    def test_what_an_old_pytorch_rounds_is_refused(self):
        from assay import _found
        version, _found.version = _found.version, lambda: (1, 13)
        try:
            p = Problem("gelu_backward", "bf16", (1, 1, 8), (), [], [], 1, None, "cpu", (), (), False)
            self.assertIn("needs PyTorch", torch_gradients.can_run("gelu_backward_torch", p))
        finally:
            _found.version = version

    def test_what_is_not_there_is_unsupported(self):
        import torch
        with self.assertRaises(Unsupported):
            torch_gradients.function(torch, "no_such_backward")


if __name__ == "__main__":
    unittest.main()
