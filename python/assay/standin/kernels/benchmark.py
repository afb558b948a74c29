"""The class that benchmarks are subclasses of."""


class Benchmark:
    """A benchmark: methods benchmark_<workload>, each with setup_<workload> or setup before it, and
    verify_<workload> where there is a reference.

    seed is that of torch and random in setup. In a method self.kernel is the repository's kernel,
    self.device where to put tensors, and self.out where the result goes.
    """

    seed = None
    device = "cpu"

    def __init__(self):
        self.kernel = None
        self.out = None

    def setup(self):
        """Makes the tensors."""
