"""What a training step has beside gradients of rows, in PyTorch: convolutions' and attention's
gradients held to autograd's in double precision, what forward passes save, and optimizers held to
torch.optim's."""

import collections
import math
import sys
import unittest
import unittest.mock

sys.dont_write_bytecode = True
import lib

from assay.contenders import torch_common, torch_gradients, torch_training

FIELDS = "op dtype axes params inputs outputs threads recipe device axis_names param_names autotune"
Problem = collections.namedtuple("Problem", FIELDS)
EPS = 1e-5


def call_of(module, op, axes, params, inputs, outputs, dtype="f64"):
    """The kernel's outputs for inputs in `dtype`; outputs: their shapes."""
    import torch
    kind = getattr(torch, torch_common.TYPES[dtype])
    p = Problem(op, dtype, tuple(axes), tuple(map(float, params)),
                [(dtype if t.dtype == kind else "f32", tuple(t.shape)) for t in inputs],
                [(dtype, tuple(dims)) for dims in outputs], 1, None, "cpu", (), (), False)
    call = module.setup(op + "_torch", p)
    inputs = [t.clone() for t in inputs]  # of inference mode, which setup enters for good
    kept = [t.clone() for t in inputs]
    got = call.fn(*(call.prepare(*inputs) if call.prepare else inputs))
    assert all(torch.equal(a, b) for a, b in zip(inputs, kept)), op + " wrote its inputs"
    got = call.finish(got) if call.finish else got
    return list(got) if isinstance(got, tuple) else [got]


def grads(torch, make, dy, *leaves):
    """Of leaves in double, by autograd."""
    with torch.inference_mode(False), torch.enable_grad():
        leaves = [t.detach().clone().requires_grad_() for t in leaves]
        make(*leaves).backward(dy.clone())
    return [leaf.grad for leaf in leaves]


@unittest.skipUnless(lib.HAVE_TORCH, "PyTorch is not installed for " + sys.executable)
class Training(unittest.TestCase):
    def setUp(self):
        import torch
        self.torch = torch
        self.generator = torch.Generator().manual_seed(20)

    def normal(self, *dims, scale=1.0):
        torch = self.torch
        with torch.inference_mode(False):
            return torch.randn(dims, generator=self.generator, dtype=torch.float64) * scale

    def near(self, got, want, small=1e-11):
        self.assertEqual(len(got), len(want))
        for g, w in zip(got, want):
            self.assertEqual(tuple(g.shape), tuple(w.shape))
            self.assertTrue(g.is_contiguous())
            off = (g.double() - w.double()).abs()
            self.assertTrue(bool((off <= small * (1 + w.abs())).all()), "%s, want %s" % (g, w))

    # ---- images ----

    def hold_convolution(self, grouped, kernel, stride, pad, bias):
        conv = self.torch.nn.functional.conv2d
        b, h, w, i, o = 2, 7, 6, 4, 4 if grouped else 5
        x = self.normal(b, h, w, i)
        weight = self.normal(*((kernel, kernel, i) if grouped else (o, kernel, kernel, i)))
        height, width = ((n + 2 * pad - kernel) // stride + 1 for n in (h, w))
        dy = self.normal(b, height, width, o)

        def forward(x, weight, bias_):
            weight = weight.permute(2, 0, 1).unsqueeze(1) if grouped else weight.permute(0, 3, 1, 2)
            return conv(x.permute(0, 3, 1, 2), weight, bias_, stride, pad, 1,
                        i if grouped else 1).permute(0, 2, 3, 1)
        want = grads(self.torch, forward, dy, x, weight, self.normal(o))[:2 + bias]
        op = "depthwise_conv2d_backward" if grouped else "conv2d_backward"
        axes = (b, h, w, i) + (() if grouped else (o,)) + (kernel, stride)
        self.near(call_of(torch_gradients, op, axes, (pad, bias), [dy, x, weight],
                          [t.shape for t in want]), want)

    def test_convolutions(self):
        for grouped in (False, True):
            for kernel, stride, pad in ((1, 1, 0), (3, 1, 1), (3, 2, 1), (4, 2, 0)):
                for bias in (0, 1):
                    with self.subTest(grouped=grouped, kernel=kernel, stride=stride, bias=bias):
                        self.hold_convolution(grouped, kernel, stride, pad, bias)

    def test_group_norm_and_silu(self):
        functional, (b, h, w, c, groups) = self.torch.nn.functional, (2, 3, 4, 6, 3)
        x, gamma, beta, dy = (self.normal(b, h, w, c), self.normal(c), self.normal(c),
                              self.normal(b, h, w, c))
        parts = x.reshape(b, h * w, groups, c // groups)
        mean = parts.mean((1, 3))
        rstd = (parts.var((1, 3), unbiased=False) + EPS).rsqrt()

        def norm(x, gamma, beta):
            y = functional.group_norm(x.permute(0, 3, 1, 2), groups, gamma, beta, EPS)
            return y.permute(0, 2, 3, 1)
        for silu in (0, 1):
            with self.subTest(silu=silu):
                def forward(*leaves):
                    return functional.silu(norm(*leaves)) if silu else norm(*leaves)
                axes, shapes = (b, h, w, c, groups), (x.shape, (b * groups,), (b * groups,))
                got = call_of(torch_training, "groupnorm_training", axes, (EPS, silu),
                              [x, gamma, beta], shapes)
                self.near(got, [forward(x, gamma, beta), mean.flatten(), rstd.flatten()])
                got = call_of(torch_gradients, "groupnorm_backward", axes, (EPS, silu),
                              [dy, x, gamma, mean.flatten(), rstd.flatten()] + [beta] * silu,
                              (x.shape, (c,), (c,)))
                self.near(got, grads(self.torch, forward, dy, x, gamma, beta))

    # ---- rows ----

    def test_layer_norms(self):
        functional, shape = self.torch.nn.functional, (2, 3, 37)
        x, dy, gamma, beta = (self.normal(*shape), self.normal(*shape), self.normal(37),
                              self.normal(37))
        mean = x.mean(-1).flatten()
        rstd = (x.var(-1, unbiased=False) + EPS).rsqrt().flatten()

        def norm(x, gamma, beta):
            return functional.layer_norm(x, shape[2:], gamma, beta, EPS)
        for op, forward in (("layernorm", norm),
                            ("layernorm_gelu", lambda *t: functional.gelu(norm(*t)))):
            got = call_of(torch_training, op + "_training", shape, (EPS,), [x, gamma, beta],
                          (shape, (6,), (6,)))
            self.near(got, [forward(x, gamma, beta), mean, rstd])
        got = call_of(torch_gradients, "layernorm_gelu_backward", shape, (EPS,),
                      [dy, x, gamma, mean, rstd, beta], (shape, (37,), (37,)))
        self.near(got, grads(self.torch, forward, dy, x, gamma, beta))

    def test_rms_norm_and_add(self):
        x, weight = self.normal(2, 3, 37), self.normal(37)
        rstd = (x.square().mean(-1, keepdim=True) + EPS).rsqrt()
        got = call_of(torch_training, "rmsnorm_training", x.shape, (EPS,), [x, weight],
                      (x.shape, (6,)))
        self.near(got, [x * rstd * weight, rstd.flatten()])
        got = call_of(torch_gradients, "add_backward", x.shape, (), [x], (x.shape, x.shape))
        self.near(got, [x, x], 0)
        self.assertNotEqual(got[0].data_ptr(), got[1].data_ptr())

    # ---- attention ----

    def attention(self, causal):
        torch, (b, s, h, d) = self.torch, (2, 5, 3, 8)
        qkv, dout = self.normal(b, s, 3, h, d), self.normal(b, s, h, d)

        def scores(qkv):
            q, k, _ = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            behind = torch.full((s, s), -math.inf).triu(1) if causal else torch.zeros(())
            return q @ k.transpose(2, 3) / math.sqrt(d) + behind

        def forward(qkv):
            v = qkv.permute(2, 0, 3, 1, 4)[2]
            return (torch.softmax(scores(qkv), -1) @ v).transpose(1, 2)
        return (b, s, h, d), qkv, dout, forward, scores(qkv).logsumexp(-1)

    def test_attention(self):
        for packed in (0, 1):
            for causal in (0, 1):
                with self.subTest(packed=packed, causal=causal):
                    self.hold_attention(packed, causal)

    def hold_attention(self, packed, causal):
        axes, qkv, dout, forward, lse = self.attention(causal)
        b, s, h, d = axes
        out, params = forward(qkv), (packed, causal)
        inputs = [qkv.reshape(b, s, 3 * h, d)] if packed else [t.contiguous()
                                                               for t in qkv.unbind(2)]
        got = call_of(torch_training, "attention_training", axes, params, inputs,
                      (axes, lse.shape))
        self.near(got, [out.contiguous(), lse])
        want = grads(self.torch, forward, dout, qkv)[0]
        want = [want.reshape(b, s, 3 * h, d)] if packed else list(want.unbind(2))
        arguments = [dout] + inputs + [out.contiguous(), lse]
        got = call_of(torch_gradients, "attention_backward", axes, params, arguments,
                      [t.shape for t in want])
        self.near(got, want)
        if packed:
            return
        arguments[-1] = lse + math.log(2)  # what is given counts: all probabilities are half
        self.near(call_of(torch_gradients, "attention_backward", axes, params, arguments,
                          [t.shape for t in want]), [t / 2 for t in want])
        arguments[-2:] = [self.torch.zeros_like(out), lse]
        dq, _, dv = call_of(torch_gradients, "attention_backward", axes, params, arguments,
                            [t.shape for t in want])
        self.near([dv], [want[2]])
        self.assertGreater(float((dq - want[0]).abs().max()), 1e-3)

    def test_flash_attention_where_there_is_one(self):
        """By functions with the signatures that PyTorch 2.2 gives them on a CPU."""
        asked = []

        def forward(query, key, value, dropout_p=0.0, is_causal=False):
            asked.append((dropout_p, is_causal, tuple(query.shape)))
            scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[3])
            return self.torch.softmax(scores, -1) @ value, scores.logsumexp(-1)

        def backward(grad_out, query, key, value, out, logsumexp, dropout_p, is_causal):
            p = Problem("", "f64", (1, 1, 1, query.shape[3]), (0, is_causal), (), (), 1, None,
                        "cpu", (), (), False)
            asked.append((dropout_p, is_causal, tuple(logsumexp.shape)))
            return torch_gradients.written_attention(self.torch, p)(grad_out, query, key, value,
                                                                    out, logsumexp)
        functions = {torch_gradients.FLASH_CPU: forward,
                     torch_gradients.FLASH_CPU + "_backward": backward}
        with unittest.mock.patch.object(torch_gradients, "found", lambda _, n: functions[n]), \
                unittest.mock.patch.object(torch_training, "found", lambda _, n: functions[n]):
            self.hold_attention(1, 0)
        self.assertIn((0.0, False, (2, 3, 5, 8)), asked)
        self.assertIn((0.0, False, (2, 3, 5)), asked)

    # ---- optimizers ----

    def stepped(self, make, state, w, g, steps=1):
        """w after steps of torch.optim's, and the optimizer's state, which begins as `state`."""
        torch = self.torch
        with torch.inference_mode(False):
            w = torch.nn.Parameter(w.clone())
            optimizer = make([w])
            w.grad = g.clone()
            optimizer.state[w] = {k: v.clone() for k, v in state.items()}
            optimizer.step()
        return w.detach(), optimizer.state[w]

    def test_adamw(self):
        torch, shape = self.torch, (2, 3, 37)
        w, g, m = (self.normal(*shape, scale=s) for s in (0.02, 1.0, 0.6))
        v, step = self.normal(*shape).square() * 0.01, 10
        want, state = self.stepped(
            torch.optim.AdamW,  # with its defaults, which are the op's
            dict(step=torch.tensor(float(step - 1)), exp_avg=m, exp_avg_sq=v), w, g)
        got = call_of(torch_training, "adamw", shape, (1e-3, 0.9, 0.999, 1e-8, 1e-2, step),
                      [w, g, m, v], [shape] * 3)
        self.near(got, [want, state["exp_avg"], state["exp_avg_sq"]], 1e-13)
        short = [t.bfloat16() for t in (w, g, m, v)]
        got = call_of(torch_training, "adamw", shape, (1e-3, 0.9, 0.999, 1e-8, 1e-2, step), short,
                      [shape] * 3, "bf16")
        self.assertTrue(all(t.dtype == torch.bfloat16 for t in got))

    def test_sgd(self):
        torch, shape = self.torch, (2, 3, 37)
        w, g, b = (self.normal(*shape) for _ in range(3))
        for momentum in (0.0, 0.9):
            def make(parameters):
                return torch.optim.SGD(parameters, lr=1e-3, weight_decay=1e-2, momentum=momentum)
            want, state = self.stepped(make, dict(momentum_buffer=b), w, g)
            n = 2 if momentum else 1
            got = call_of(torch_training, "sgd", shape, (1e-3, 1e-2, momentum), [w, g, b][:n + 1],
                          [shape] * n)
            self.near(got, [want, state["momentum_buffer"]][:n], 1e-14)

    def test_refusals(self):
        p = Problem("layernorm_training", "bf16", (1, 1, 8), (EPS,), (), (), 1, None, "cpu", (),
                    (), False)
        self.assertIn("statistics in bf16", torch_training.can_run("layernorm_training_torch", p))
        self.assertIsNone(torch_training.can_run("layernorm_training_torch",
                                                 p._replace(dtype="f32")))
        silu = p._replace(op="groupnorm_training", params=(EPS, 1.0))
        self.assertIsNone(torch_training.can_run("groupnorm_training_torch", silu))


if __name__ == "__main__":
    unittest.main()
