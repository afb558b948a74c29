#!/usr/bin/env python3
"""How long PyTorch takes for linear layers on a GPU: lines "MxKxN us", the median of each.

usage: torch_linear.py SECONDS MxKxN ...
bf16, the same operands in every call, captured as a CUDA graph of some 0.3 ms and replayed
without a break, so that launches do not count and the GPU is as warm as it gets."""
import statistics
import sys
import time

import torch
import torch.nn.functional as F


def captured(call, calls):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    return graph


def seconds_of(graph, replays):
    """Of each of some replays that follow one another at once."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(replays + 1)]
    events[0].record()
    for event in events[1:]:
        graph.replay()
        event.record()
    events[-1].synchronize()
    return [a.elapsed_time(b) / 1e3 for a, b in zip(events, events[1:])]


def median_us(m, k, n, seconds):
    x, w = (torch.randn(shape, device="cuda").to(torch.bfloat16) for shape in ((m, k), (n, k)))
    call = lambda: F.linear(x, w)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    one = statistics.median(seconds_of(captured(call, 10), 5)) / 10
    calls = max(2, round(0.3e-3 / one))
    graph, samples, until = captured(call, calls), [], time.perf_counter() + seconds
    while time.perf_counter() < until:
        samples += seconds_of(graph, 20)
    return statistics.median(samples[len(samples) // 5:]) / calls * 1e6


def main():
    seconds = float(sys.argv[1])
    with torch.no_grad():
        for shape in sys.argv[2:]:
            print(shape, f"{median_us(*map(int, shape.split('x')), seconds):.2f}", flush=True)


main()
