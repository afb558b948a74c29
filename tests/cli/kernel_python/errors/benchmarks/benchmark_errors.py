"""What can go wrong in a script: each of it is a row."""

import torch
from kernels.benchmark import Benchmark


class Errors(Benchmark):
    seed = 0

    def setup(self):
        self.x = torch.randn(64, 32, device=self.device)

    def reference(self):
        return torch.relu(self.x)

    def benchmark_right(self):
        self.out = self.kernel.relu(self.x)

    def benchmark_raises(self):
        self.out = self.kernel.raises(self.x)

    def benchmark_exits(self):
        self.out = self.kernel.exits(self.x)

    def benchmark_ends(self):
        self.out = self.kernel.ends(self.x)

    def benchmark_crashes(self):
        self.out = self.kernel.crashes(self.x)

    def benchmark_hangs(self):
        self.out = self.kernel.hangs(self.x)

    def benchmark_keeps(self):
        self.out = self.kernel.keeps(self.x)

    def benchmark_absent(self):
        self.out = self.kernel.no_such_kernel(self.x)

    def benchmark_no_output(self):
        self.kernel.relu(self.x)

    def benchmark_not_a_tensor(self):
        self.out = 3

    def benchmark_shape(self):
        self.out = self.kernel.relu(self.x).reshape(32, 64)

    def benchmark_dtype(self):
        self.out = self.kernel.relu(self.x).double()

    verify_right = verify_raises = verify_exits = verify_ends = verify_crashes = verify_hangs = reference
    verify_keeps = verify_absent = verify_no_output = verify_not_a_tensor = verify_shape = verify_dtype = reference

    def setup_setup_raises(self):
        raise ValueError("no such size")

    benchmark_setup_raises = verify_setup_raises = reference

    def setup_in_integers(self):
        self.x = torch.arange(64)

    def benchmark_in_integers(self):
        self.out = self.kernel.relu(self.x)

    verify_in_integers = reference

    benchmark_verify_raises = benchmark_verify_returns_none = benchmark_verify_shape = benchmark_right

    def verify_verify_raises(self):
        return self.no_such_attribute

    def verify_verify_returns_none(self):
        pass

    def verify_verify_shape(self):
        return torch.relu(self.x)[:32]

    def setup_made_before(self):
        self.x = torch.randn(64, 32, device=self.device)
        self.expected = torch.relu(self.x)

    benchmark_made_before = benchmark_right

    def verify_made_before(self):
        return self.expected

    def setup_needs_cuda(self):
        self.x = torch.randn(64, 32, device="cuda")

    benchmark_needs_cuda = benchmark_right
    verify_needs_cuda = reference
