import torch
from kernels.benchmark import Benchmark

class Pure(Benchmark):
    seed = 0
    def setup(self):
        self.x = torch.randn(64, 128, device=self.device)
        self.out = torch.empty(64, 64, device=self.device)
    def benchmark_base(self):
        self.kernel.silu_and_mul(self.out, self.x)
    def verify_base(self):
        return torch.nn.functional.silu(self.x[..., :64]) * self.x[..., 64:]
    def benchmark_assigned(self):
        out = torch.empty(64, 64)
        self.kernel.silu_and_mul(out, self.x)
        self.out = out
    verify_assigned = verify_base
    def setup_in_place(self):
        self.x = torch.randn(64, 128, device=self.device)
        self.before = self.x.clone()
        self.out = self.x
    def benchmark_in_place(self):
        self.kernel.scale_(self.x)
    def verify_in_place(self):
        return self.before * 0.5
    def benchmark_wrong(self):
        self.kernel.wrong(self.out, self.x)
    verify_wrong = verify_base
    def benchmark_unverified(self):
        self.kernel.silu_and_mul(self.out, self.x)
