#!/usr/bin/env bash
# Kernels for the GPU that compute on the host: g++ compiles their texts (emulated_kernel.cc), and assay
# verifies what they give, over shapes with every form. All gradients and what they need from the forward
# pass, and some of the rest: kernels that run on every H200 prove what the emulation is worth.
# Not under sanitizers: they do not follow threads that are contexts
# usage: emulate.sh    with $ASSAY and $ASSAY_FAKES; ASSAY_SAMPLE=3: fewer shapes and types
set -u
source=${ASSAY_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
: "${ASSAY:?the program under test}" "${ASSAY_FAKES:?the folder of the stand-ins}"
CXX=$(command -v g++ || command -v clang++) || {
    echo "skipped: no C++ compiler"
    exit 77
}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
export CXX HOME=$tmp XDG_CACHE_HOME=$tmp/cache XDG_DATA_HOME=$tmp/data LC_ALL=C
export ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda.so ASSAY_NVRTC=$ASSAY_FAKES/fake_nvrtc.so
export ASSAY_NVML=$ASSAY_FAKES/fake_nvml.so ASSAY_CUBLASLT=$ASSAY_FAKES/fake_cublaslt.so
export ASSAY_CUDNN=$ASSAY_FAKES/fake_cudnn.so
export ASSAY_LOCK=${ASSAY_LOCK:-$tmp/measuring.lock}
export FAKE_CUDA_CAPABILITY=80 # no clusters
failed=0
implementation=cuda

# FOLDER: the texts that can be emulated, without the functions that are inline assembly.
take_texts() {
    mkdir -p "$1"
    find "$source/src/kernel" "$source/src/device/cuda" -name '*.cuh' -o -path '*/rows/*.cu' -o -name 'groupnorm*.cu' \
        -o -name 'column_sums.cu' -o -name 'attention.cu' -o -name 'attention_f32.cu' | while read -r text; do
        awk '!inside && /^(DEVICE|template)/ { inside = 1; kept = ""; first = 1 }
            inside { kept = kept $0 "\n"
                if (/^}/ || (first && /[};]$/)) { if (kept !~ /asm( volatile)?\(|__cvta/) printf "%s", kept; inside = 0 }
                first = /^template/ && !/\)/
                next }
            { sub(/extern __shared__ uint4 shared\[\];/, "uint4 *shared = (uint4 *)dynamic_shared;"); print }' "$text" >"$1/$(basename "$text")"
    done
    cp "$source/tests/device/emulated_kernel.cc" "$1"
}

# NAME OPTIONS: a short measurement; $ok and $all are how many rows are right, and how many there are.
measure() {
    rm -rf "$tmp/rows.jsonl"
    "$ASSAY" bench "$@" --impl "$implementation" --device cuda --strict-device --cache hot --iters 1 --warmup 1 -o "$tmp/rows.jsonl" \
        >"$tmp/out" 2>&1
    touch "$tmp/rows.jsonl"
    ok=$(grep -c '"status":"ok"' "$tmp/rows.jsonl")
    all=$(grep -c '"status":' "$tmp/rows.jsonl")
}

# NAME OPTIONS: every row must be right.
bench() {
    local name=$1
    shift
    measure "$@"
    echo "$name: $ok of $all right"
    [ "$ok" -gt 0 ] && [ "$ok" = "$all" ] && return
    failed=1
    grep '"status":' "$tmp/rows.jsonl" | grep -v '"status":"ok"' | sed -E 's/.*("op":"[^"]*").*("dtype":"[^"]*").*("axes":\{[^}]*\}).*"reason":"([^"]*)".*/\1 \2 \3 \4/' | head -60
    grep -E 'error|assay:|\.cuh?:' "$tmp/out" | sort -u | head -20
}

# TEXT EDIT OPTIONS: with this edit by sed in a text every row must be wrong.
wrong() {
    local text=$1 edit=$2
    shift 2
    rm -rf "$tmp/wrong"
    cp -r "$tmp/texts" "$tmp/wrong"
    rm -f "$tmp/wrong"/*.so
    sed -i -E "$edit" "$tmp/wrong/$text"
    FAKE_CUDA_EMULATE=$tmp/wrong measure "$@"
    wrong=$(grep -c '"status":"mismatch"' "$tmp/rows.jsonl")
    echo "$text with $edit: $wrong of $all wrong"
    if cmp -s "$tmp/texts/$text" "$tmp/wrong/$text" || [ "$wrong" = 0 ] || [ "$wrong" != "$all" ]; then
        failed=1
        grep -E 'error|assay:' "$tmp/out" | sort -u | head
    fi
}

# What is run in full and, with ASSAY_SAMPLE, for the time it takes: every form once, in two types.
types=f32,bf16,f16
few=1,7,64,1001
dims=7,33,256,1001,1024,3000,8200
many=33,64,520
long=17000,40001
# shellcheck disable=SC2054 # commas are lists of assay
attention=(--mode none,qkv+causal --shape 1x7x3x16 --shape 1x20x2x128 --shape 1x70x2x64 --shape 1x33x2x80 --shape 1x3x1x3)
# shellcheck disable=SC2054
groups=(--mode none,silu --shape 3x1x1x8x2 --shape 2x5x3x48x3 --shape 1x16x17x130x13 --shape 2x20x20x64x8 --shape 1x9x9x64x64)
if [ "${ASSAY_SAMPLE:-1}" != 1 ]; then
    types=f32,bf16
    few=7,1001
    dims=33,1001,3000
    many=33,520
    long=33000
    attention=(--mode qkv+causal --shape 1x20x2x64 --shape 1x70x1x40)
    groups=(--mode silu --shape 2x5x3x48x3 --shape 1x16x17x130x13 --shape 2x20x20x64x8)
fi
take_texts "$tmp/texts"
export FAKE_CUDA_EMULATE=$tmp/texts

elementwise=$("$ASSAY" list ops --names | grep -E '^(gelu|gelu_tanh|silu|relu|sigmoid|leakyrelu|relu6|hardswish|add|mse|swiglu)_backward$')
# shellcheck disable=SC2086
bench "element by element" $elementwise add silu swiglu --dtype $types --batch 3 --seq 5 --dim $few
bench "optimizers" adamw sgd --dtype $types --batch 3 --seq 5 --dim $few
bench "with momentum" sgd --mode momentum --dtype $types --batch 3 --seq 5 --dim $few
bench "sums" sum mse --dtype $types --batch 3 --seq 50 --dim $few
rows=$("$ASSAY" list ops --names | grep -E '^((softmax|cross_entropy|layernorm|rmsnorm|layernorm_gelu)_backward|cross_entropy_both|(layernorm|rmsnorm|layernorm_gelu)_training)$')
# shellcheck disable=SC2086
bench "rows" $rows softmax cross_entropy layernorm --dtype $types --batch 3 --seq 5 --dim $dims
# shellcheck disable=SC2046
bench "many rows" $(grep -E '_backward|both' <<<"$rows") cross_entropy --dtype $types --batch 10 --seq 100 --dim $many
# shellcheck disable=SC2086
bench "long rows" $rows --dtype $types --batch 1 --seq 3 --dim $long
bench "groups" groupnorm_backward groupnorm_training groupnorm "${groups[@]}" --dtype $types
bench "attention" attention attention_training "${attention[@]}" --dtype $types

# By a stand-in for the library, which has bf16 and f32, and is not captured.
implementation=cublaslt
export FAKE_CUDA_CAPTURE=no
bench "the gradient of linear" linear_backward --mode none,bias,dx,dw,bias+dw --dtype f32,bf16 --shape 3x33x17 --shape 100x40x72 --shape 1x8x300
bench "linear" linear --dtype f32,bf16 --shape 3x33x17
implementation=cuda
unset FAKE_CUDA_CAPTURE

# It tells right from wrong: a sign, a barrier that is missing, another row's statistic, half a warp.
small=(--dtype f32 --batch 3 --seq 5)
wrong eltwise.cu 's/return x \* y \* \(1.0f - y\)/return x * y * (1.0f + y)/' sigmoid_backward "${small[@]}" --dim 64
wrong columns.cuh '/sums\[row\]\[lane\] = sum;/,/__syncthreads/s/__syncthreads\(\);//' layernorm_backward "${small[@]}" --dim 300
wrong row.cuh '/parts\[warp\] = v;/,/__syncthreads/s/__syncthreads\(\);//' softmax_backward "${small[@]}" --dim 3000
wrong norm_backward.cu 's/t->mean\[row\]/t->mean[0]/' layernorm_backward "${small[@]}" --dim 300
wrong row.cuh 's/u32 mask = 16; mask > 0/u32 mask = 8; mask > 0/' softmax "${small[@]}" --dim 256
wrong loss.cu 's/v\[j\] -= hot == j \? scale : 0.0f;//' cross_entropy_both "${small[@]}" --dim 64
wrong attention.cuh 's/0.693147181f/1.0f/' attention_training --dtype f32 --shape 1x20x2x64
exit $failed
