import torch
from kernels.benchmark import Benchmark

class Act(Benchmark):
    seed = 0
    def setup(self):
        self.x = torch.randn(64, 128, device=self.device)
        self.out = torch.empty(64, 64, device=self.device)
    def benchmark_base(self):
        self.kernel.silu_and_mul(self.out, self.x)
    def verify_base(self):
        return torch.nn.functional.silu(self.x[..., :64]) * self.x[..., 64:]
