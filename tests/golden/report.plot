layernorm f32 32x512x768
▸ native                    hot   2.31 ms                  │██            1.62x [1.60 1.64]
▸                           cold  2.71 ms                  │├┤            1.41x [1.40 1.43]
  onednn                    hot   3.74 ms                  │ baseline
                            cold  3.83 ms                  │ baseline
  my_own_layernorm_with_a_… hot   3.75 ms                  ▒              same within 0.8%
                            cold  3.80 ms                  █              1.004x [1.002 1.006]
  openblas                  hot   4.04 ms                  █              1.08x slower [1.07 1.09]
                            cold  4.10 ms                  █              1.07x slower [1.06 1.08]
  ref                       hot    163 ms  ████████████████│              43.6x slower [43.4 43.7]
                            cold   162 ms  ████████████████│              42.3x slower [42.2 42.4]
  triton                                                   │ unsupported: no CUDA driver

gelu bf16 32x512x768
  native                                  ✗ mismatch: 12 of 1000 wrong, first at [0,1,7]: got 0, ex…
  onednn                                  ✗ crashed: SIGSEGV in "gelu_onednn", at 0x0
  ref                                                      │ ✗ timeout: no answer in 60 s
  openblas                                                 │ ✗ out of memory
  mine|yours                              ✗ failed: said:  "Größe, 形状 <b>*not*</b> _ok_"; and the…
  too_good                                ✗ impossible: moves 120 GB/s where 41 GB/s is the most
  lucky                                   ✗ mistrusted: the check also accepts zeros
  huge                                    skipped: needs 300 GB, this machine has 64

linear f32 50000000x512
▸ native                    hot    850 ns                  │███████████   12.3x [11.9 12.8]
  onednn                    hot   10.5 us                  │ baseline
▸ openblas                  cold   95.2 s                  │ not compared
  ref                       hot   9.90 us                  █              1.06x [1.05 1.07]
  checked                                                  │ not timed
                                          ───────┴─────────┴─────────┴───
                                               0.1x       1x        10x
speedup against the baseline, with its 95% interval · ▒ same · ░ unclear
