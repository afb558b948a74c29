import torch
from kohakubench.core import BenchmarkCase, KoBench

bench = KoBench()
proj = torch.nn.Linear(768, 768, bias=False).to(bench.device, bench.dtype).eval()
q = torch.randn(2, 1024, 768, device=bench.device, dtype=bench.dtype)

meta = {'batch_tokens': 2*1024, 'in': 768, 'out': 768}
mac_counter = lambda m: m['batch_tokens'] * m['in'] * m['out']
flop_counter = lambda m: m['batch_tokens'] * m['out']

case = BenchmarkCase('proj', proj, args=(q,), metadata=meta,
                     mac_counter=mac_counter, flop_counter=flop_counter)
print(bench.benchmark(case).to_dict())
