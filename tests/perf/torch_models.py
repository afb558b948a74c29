#!/usr/bin/env python3
"""How long PyTorch takes for assay's models: one line "MODEL M K N EXECUTOR ms", the median.

usage: torch_models.py MODEL M K N [cpu|cuda] [eager|compiled] [SECONDS]
MODEL is ln_linear_gelu, transformer_block or attention (batch M, sequence K, N heads of 64 elements,
which lie as PyTorch likes them best), in bf16 without gradients. On a GPU the calls are
captured in a CUDA graph and timed by events, so that launches do not count. "compiled" needs a
PyTorch with torch.compile and uses max-autotune."""
import statistics
import sys
import time

import torch
import torch.nn.functional as F


class LnLinearGelu(torch.nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.k = k
        self.linear = torch.nn.Linear(k, n, bias=False)

    def forward(self, x):
        return F.gelu(self.linear(F.layer_norm(x, (self.k,))))


class RmsNorm(torch.nn.Module):
    def __init__(self, k):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(k))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)
        return h.to(x.dtype) * self.weight


class Block(torch.nn.Module):
    def __init__(self, k, heads=8, ratio=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = RmsNorm(k), RmsNorm(k)
        self.qkv = torch.nn.Linear(k, 3 * k, bias=False)
        self.proj = torch.nn.Linear(k, k, bias=False)
        self.fc1 = torch.nn.Linear(k, ratio * k, bias=False)
        self.fc2 = torch.nn.Linear(ratio * k, k, bias=False)

    def attention(self, x):
        b, s, k = x.shape
        q, key, v = self.qkv(x).reshape(b, s, 3, self.heads, k // self.heads).permute(2, 0, 3, 1, 4)
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, key, v)
        else:
            y = F.softmax((q @ key.transpose(-2, -1)) * (k // self.heads) ** -0.5, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, s, k))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Attention(torch.nn.Module):
    def forward(self, q, k, v):
        return F.softmax((q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5, dim=-1) @ v


def model_of(name, m, k, n):
    """The model, and the shapes of its inputs."""
    if name == "transformer_block":
        return Block(k), [(m, 16, k)]
    if name == "attention":
        return Attention(), [(m, n, k, 64)] * 3
    return LnLinearGelu(k, n), [(m, k)]


def cpu_samples(call, seconds):
    samples, until = [], time.perf_counter() + seconds
    while len(samples) < 5 or time.perf_counter() < until:
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return samples[len(samples) // 5:]  # the first warm up


def cuda_samples(call, seconds):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph, calls = torch.cuda.CUDAGraph(), 20
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    samples, until = [], time.perf_counter() + seconds
    while len(samples) < 20 or time.perf_counter() < until:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        samples.append(start.elapsed_time(end) / 1e3 / calls)
    return samples[len(samples) // 5:]


def main():
    name, m, k, n = sys.argv[1], *map(int, sys.argv[2:5])
    device = sys.argv[5] if len(sys.argv) > 5 else "cpu"
    executor = sys.argv[6] if len(sys.argv) > 6 else "eager"
    seconds = float(sys.argv[7]) if len(sys.argv) > 7 else 3
    model, shapes = model_of(name, m, k, n)
    model = model.to(device=device, dtype=torch.bfloat16).eval()
    x = [torch.randn(shape, device=device).to(torch.bfloat16) for shape in shapes]
    run = torch.compile(model, mode="max-autotune-no-cudagraphs") if executor == "compiled" else model
    with torch.no_grad():
        samples = (cuda_samples if device == "cuda" else cpu_samples)(lambda: run(*x), seconds)
    print(name, m, k, n, executor, f"{statistics.median(samples) * 1e3:.4f}")


main()
