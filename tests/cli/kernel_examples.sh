#!/usr/bin/env bash
# The example repositories: they run here and are right, and their CUDA compiles.
# Not under sanitizers: compiled code is not theirs, and kernel.sh takes the same way there.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
command -v "${CC:-cc}" >/dev/null || skip "no C compiler"
examples=$ASSAY_SOURCE_DIR/examples/kernels
few=(--iterations 5 --warmup 1 --cache hot --device cpu)
nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null)

say "activation: workloads of its own"
expect_exit 0 "$ASSAY" kernel "$examples/activation" --list
expect_out 'ActivationCuda'
expect_exit 0 "$ASSAY" kernel "$examples/activation" "${few[@]}" --output activation.json
for workload in silu_and_mul silu_and_mul_large gelu gelu_large; do
    expect_out "^│ Activation +│ $workload +│ +5 │.*│ ✓ +│\$"
done
expect_out 'Benchmark: [0-9a-f]{7}'
valid_json activation.json
expect_file activation.json '"verified": ?true'

say "layernorm: a kernel of a known op"
expect_exit 0 "$ASSAY" kernel "$examples/layernorm" "${few[@]}" --shape 2x8x96,3x5x77
expect_out 'layernorm.*✓'

say "int4_linear: with a recipe"
expect_exit 0 "$ASSAY" kernel "$examples/int4_linear" "${few[@]}" --shape 1x256x128,7x384x33
expect_out 'int4wo-128.*✓'

say "a scale that is not the recipe's is another product"
cp -R "$examples/int4_linear" mine
sed -i 's|/ 15.0f|/ 16.0f|' mine/kernels/int4_linear.c
expect_exit 1 "$ASSAY" kernel mine "${few[@]}" --shape 1x256x128
expect_out 'linear int4wo-128 .*✗'

say "every file compiles, without a warning"
for example in activation int4_linear ${nvcc:+layernorm}; do
    expect_exit 0 "$ASSAY" kernel "$examples/$example" --build
    expect_no_err 'warning'
done

say "without nvcc the file that needs it is named, and the other is there"
expect_exit 3 env NVCC="$work/none" "$ASSAY" kernel "$examples/layernorm" --build
expect_err 'layernorm_cuda.cu.*NVCC'
expect_out '^kernels/layernorm.c$'

say "the GPU's part of what needs no nvcc"
if [ -n "$nvcc" ]; then # its own headers cannot do with -D__CUDACC_RTC__, so another word stands for it
    sed 's/__CUDACC_RTC__/__CUDACC__/' "$examples/activation/benchmarks/benchmark_activation.cu" >device.cu
    expect_exit 0 "$nvcc" -arch=sm_80 -Werror all-warnings -cubin -o device.cubin device.cu
fi

say "its host's part finds and launches them: on a stand-in, whose kernels write nothing"
export ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda.so ASSAY_NVRTC=$ASSAY_FAKES/fake_nvrtc.so ASSAY_NVML=$ASSAY_FAKES/fake_nvml.so
expect_exit 1 "$ASSAY" kernel "$examples/activation" "${few[@]}" --device cuda --workload silu_and_mul,gelu
expect_out 'silu_and_mul: ✗ mismatch: left 65536 of 65536 elements of output 0 unwritten'
expect_out 'gelu: ✗ mismatch: left 131072 of 131072 elements of output 0 unwritten'
