"""Ready-made benchmarks of common kernels: a subclass is all a repository needs. Each has the workloads
small, medium and large; tensors are float16 on a GPU and float32 on the CPU."""

import torch
import torch.nn.functional as F

from kernels.benchmark import Benchmark

__all__ = [
    "FlashAttentionBenchmark", "FlashAttentionCausalBenchmark", "FlashAttentionVarlenBenchmark",
    "GeluAndMulBenchmark", "LayerNormBenchmark", "RMSNormBenchmark", "SiluAndMulBenchmark",
]


class _Sized(Benchmark):
    """Three workloads that differ in size alone."""

    seed = 42
    sizes = {}  # by workload: the arguments of make

    def randn(self, *dims):
        return torch.randn(*dims, device=self.device, dtype=self.dtype())

    def empty(self, *dims):
        return torch.empty(*dims, device=self.device, dtype=self.dtype())

    def dtype(self):
        return torch.float32 if str(self.device).startswith("cpu") else torch.float16

    def make(self, *size):
        raise NotImplementedError

    def call(self):
        raise NotImplementedError

    def reference(self):
        raise NotImplementedError

    def setup_small(self):
        self.make(*self.sizes["small"])

    def setup_medium(self):
        self.make(*self.sizes["medium"])

    def setup_large(self):
        self.make(*self.sizes["large"])

    def benchmark_small(self):
        self.call()

    def benchmark_medium(self):
        self.call()

    def benchmark_large(self):
        self.call()

    def verify_small(self):
        return self.reference()

    def verify_medium(self):
        return self.reference()

    def verify_large(self):
        return self.reference()


def _exact(tensor):
    """In float32 at the least."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()


# ---- act(x) * y, x and y the halves of one tensor ----


class _ActAndMul(_Sized):
    sizes = {"small": (8, 1024, 1024), "medium": (8, 2048, 2048), "large": (8, 4096, 4096)}

    def make(self, batch, tokens, d):
        self.x = self.randn(batch, tokens, 2 * d)
        self.out = self.empty(batch, tokens, d)

    def halves(self):
        return self.x.chunk(2, dim=-1)


class SiluAndMulBenchmark(_ActAndMul):
    def call(self):
        self.kernel.silu_and_mul(self.out, self.x)

    def reference(self):
        gate, up = self.halves()
        return F.silu(gate) * up


class GeluAndMulBenchmark(_ActAndMul):
    def call(self):
        self.kernel.gelu_and_mul(self.out, self.x)

    def reference(self):
        gate, up = self.halves()
        return F.gelu(gate) * up


# ---- norms of the last dimension, weight and no bias ----


class _Norm(_Sized):
    sizes = {"small": (2, 128, 768), "medium": (4, 512, 2048), "large": (8, 1024, 4096)}
    eps = 1e-5
    is_rms_norm = False

    def make(self, batch, tokens, d):
        self.x = self.randn(batch, tokens, d)
        self.weight = torch.ones(d, device=self.device, dtype=self.dtype())
        self.out = self.empty(batch, tokens, d)

    def call(self):
        batch, tokens, d = self.x.shape
        answers = self.kernel.dropout_add_ln_fwd(
            input=self.x.view(-1, d), gamma=self.weight, beta=None, rowscale=None, colscale=None,
            x0_subset=None, z_subset=None, dropout_p=0.0, epsilon=self.eps, rowscale_const=1.0,
            z_numrows=tokens, gen=None, residual_in_fp32=False, is_rms_norm=self.is_rms_norm)
        self.out = answers[0].view(batch, tokens, d)


class LayerNormBenchmark(_Norm):
    def reference(self):
        return F.layer_norm(self.x, self.x.shape[-1:], self.weight, eps=self.eps)


class RMSNormBenchmark(_Norm):
    is_rms_norm = True

    def reference(self):
        x = _exact(self.x)
        scale = torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + self.eps)
        return (x * scale * _exact(self.weight)).to(self.x.dtype)


# ---- attention: [batch, tokens, heads, head size], or all sequences behind each other ----


def _attention(q, k, v, causal):
    """Plain, in float32 at the least."""
    q, k, v = (_exact(t.transpose(-3, -2)) for t in (q, k, v))
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    if causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~allowed, float("-inf"))
    return (scores.softmax(dim=-1) @ v).transpose(-3, -2)


def _first(answer):
    return answer[0] if isinstance(answer, (tuple, list)) else answer


class FlashAttentionBenchmark(_Sized):
    sizes = {"small": (2, 128, 8, 64), "medium": (4, 512, 16, 64), "large": (8, 1024, 32, 128)}
    causal = False

    def make(self, *dims):
        self.q, self.k, self.v = self.randn(*dims), self.randn(*dims), self.randn(*dims)
        self.out = self.empty(*dims)

    def call(self):
        self.out = _first(self.kernel.flash_attn_func(self.q, self.k, self.v, causal=self.causal))

    def reference(self):
        return _attention(self.q, self.k, self.v, self.causal).to(self.q.dtype)


class FlashAttentionCausalBenchmark(FlashAttentionBenchmark):
    causal = True


class FlashAttentionVarlenBenchmark(_Sized):
    sizes = {
        "small": ((32, 48, 64), 8, 64),
        "medium": ((128, 192, 256, 200, 150), 16, 64),
        "large": ((256, 384, 512, 448, 320, 480, 400, 512), 32, 128),
    }

    def make(self, lengths, heads, d):
        tokens = sum(lengths)
        self.q, self.k, self.v = (self.randn(tokens, heads, d) for _ in range(3))
        ends = torch.tensor((0,) + tuple(lengths)).cumsum(0)
        self.cu_seqlens = ends.to(device=self.device, dtype=torch.int32)
        self.max_seqlen = max(lengths)
        self.out = self.empty(tokens, heads, d)

    def call(self):
        self.out = _first(self.kernel.flash_attn_varlen_func(
            self.q, self.k, self.v, self.cu_seqlens, self.cu_seqlens, self.max_seqlen, self.max_seqlen))

    def reference(self):
        ends = self.cu_seqlens.tolist()
        parts = [_attention(self.q[a:b], self.k[a:b], self.v[a:b], False) for a, b in zip(ends, ends[1:])]
        return torch.cat(parts).to(self.q.dtype)
