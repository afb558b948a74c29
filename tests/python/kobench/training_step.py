import torch
from kohakubench.core import BenchmarkCase, KoBench

torch.manual_seed(0)
bench = KoBench(inference_mode=False)
model = torch.nn.Linear(1024, 1024).to(bench.device, bench.dtype)
model.train()

x = torch.randn(32, 1024, device=bench.device, dtype=bench.dtype)
y = torch.randn(32, 1024, device=bench.device, dtype=bench.dtype)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)

@torch.enable_grad()
def step(x, y):
    opt.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss

print(bench.benchmark(BenchmarkCase('train_step', step, args=(x, y))).to_dict())
