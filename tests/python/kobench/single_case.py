import torch
from kohakubench.core import BenchmarkCase, KoBench

bench = KoBench(device='cuda:0', dtype='float16')
model = torch.nn.Linear(2048, 4096, bias=False).to(bench.device, bench.dtype).eval()
x = torch.randn(8, 2048, device=bench.device, dtype=bench.dtype)
case = BenchmarkCase('linear_demo', model, args=(x,))
print(bench.benchmark(case).to_dict())
