from kohakubench.core import KoBench
from kohakubench.presets import attention, mlp
from kohakubench.report import print_table

bench = KoBench()
cases = [
    attention.multi_head_attention_case(batch_size=2, seq_len=1024, embed_dim=1024, num_heads=16,
                                        device=bench.device, dtype=bench.dtype),
    mlp.swiglu_mlp_case(batch_size=2, seq_len=512, embed_dim=2048, hidden_dim=8192,
                        device=bench.device, dtype=bench.dtype),
]
print_table(bench.benchmark_many(cases))
