from kernels.benchmarks import (
    FlashAttentionBenchmark,
    FlashAttentionCausalBenchmark,
    FlashAttentionVarlenBenchmark,
    GeluAndMulBenchmark,
    LayerNormBenchmark,
    RMSNormBenchmark,
    SiluAndMulBenchmark,
)


class Attention(FlashAttentionBenchmark):
    pass


class Causal(FlashAttentionCausalBenchmark):
    pass


class Varlen(FlashAttentionVarlenBenchmark):
    pass


class Gelu(GeluAndMulBenchmark):
    pass


class LayerNorm(LayerNormBenchmark):
    pass


class RMSNorm(RMSNormBenchmark):
    pass


class Silu(SiluAndMulBenchmark):
    pass
