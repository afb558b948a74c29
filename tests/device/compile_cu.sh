#!/usr/bin/env bash
# Compiles the CUDA texts with NVRTC, or with nvcc where there is none, with the options assay really uses: a run of
# every op on the stand-ins (fake_*.c), whose NVRTC notes what it is asked to compile. For an H100
# (sm_90a) in f32 and bf16, for an A100 (sm_80) in f16: not all that could be, for the time it takes, and of
# a text's sets of options for one architecture every third (every ninth where ASSAY_SAMPLE is 3). Warnings are shown, errors fail.
# usage: compile_cu.sh [--list|--all]    with $ASSAY and $ASSAY_FAKES; --all: every set, after a change to texts
set -u
source=${ASSAY_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
: "${ASSAY:?the program under test}" "${ASSAY_FAKES:?the folder of the stand-ins}"
nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null)
texts=$(dirname "$ASSAY")/tests/compile_texts
"$texts" </dev/null 2>/dev/null || texts=
if [ -z "$nvcc$texts" ]; then
    echo "skipped: neither NVRTC nor nvcc"
    exit 77
fi
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
export HOME=$tmp XDG_CACHE_HOME=$tmp/cache XDG_DATA_HOME=$tmp/data LC_ALL=C
export ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda.so ASSAY_NVRTC=$ASSAY_FAKES/fake_nvrtc.so
export ASSAY_NVML=$ASSAY_FAKES/fake_nvml.so ASSAY_CUBLASLT=$ASSAY_FAKES/fake_cublaslt.so
export ASSAY_CUDNN=$ASSAY_FAKES/fake_cudnn.so
export FAKE_NVRTC_COUNT=$tmp/asked

# Kernels that do nothing are wrong, so exit 1 is right; a plan that is refused is not.
bench() {
    "$ASSAY" bench "$@" --device cuda --strict-device --cache hot --iters 1 --warmup 1 >"$tmp/out" 2>&1
    [ $? -le 1 ] || { cat "$tmp/out"; exit 1; }
}

# DTYPES FLOATS: what assay compiles for these types, and for quantising to formats of 8-bit floats
ask() {
    # shellcheck disable=SC2046
    bench $("$ASSAY" list ops --names | grep -vE 'linear|quantize|attention|conv2d|groupnorm') --dtype "$1" --batch 1 --seq 2 --dim 100,1001,3000,40000
    bench attention attention_training --dtype "$1" --shape 2x16x2x128 --shape 1x32x2x40 --shape 1x40x1x3 --shape 1x90x4x64 \
        --shape 1x300x1x64 --shape 1x512x2x64 --shape 1x300x1x128 --shape 1x40x1x256
    bench conv2d --dtype "$1" --kernel all --mode none,bias+add --shape 1x9x9x3x17x3x1 --shape 2x16x16x64x256x3x1 --shape 1x7x7x72x64x1x2
    bench conv2d --dtype "$1" --kernel all --shape 8x64x64x32x128x3x1 --shape 8x64x64x6x128x3x1 # larger tiles
    bench depthwise_conv2d --dtype "$1" --shape 1x9x9x64x3x1 --shape 2x9x8x17x3x2 --shape 1x8x8x20x5x1 --shape 1x20x20x8x9x1
    bench groupnorm --mode silu --dtype "$1" --shape 2x64x64x64x8 --shape 1x9x7x17x1
    bench groupnorm --dtype "$1" --shape 1x20x20x40x8 --shape 1x256x256x32x1
    bench groupnorm_backward groupnorm_training --mode none,silu --dtype "$1" --shape 2x64x64x64x8 --shape 1x9x7x17x1
    bench sgd --mode momentum --dtype "$1" --batch 1 --seq 2 --dim 100
    bench linear_backward --mode bias --dtype "$1" --shape 3x33x17 --shape 64x64x64
    bench gelu add --dtype "$1" --batch 1 --seq 1 --dim 4000000
    bench quantize dequantize --mode "s8-row,s8-tensor,u4-64$2" --dtype "$1" --shape 4x512 --shape 2x40000
    bench quantize dequantize --mode s8-row --dtype "$1" --shape 3x33
    bench linear --recipe all --dtype "$1" --shape 1x256x64 --shape 8x256x64 --shape 600x512x512 --shape 3x33x17
    bench linear --mode bias+gelu --recipe int8wo,int8dq --dtype "$1" --shape 1x256x64 --shape 600x512x512
    bench linear --recipe int8wo,int4wo-64 --dtype "$1" --shape 16x4096x512 --shape 40x512x64 # sums stay, x stays
    bench linear --mode ln+gelu,rms+bias+add --recipe baseline,int8dq,float8dq-tensor --dtype "$1" --shape 33x96x48 --shape 3x33x17
    bench linear --mode ln+add --recipe baseline --dtype "$1" --shape 600x2048x512
    bench linear --mode rms+add --autotune --recipe baseline,float8dq-row --dtype "$1" --shape 100x512x128 # all tiles
}
FAKE_CUDA_MEMORY=8000000 "$ASSAY" info --device cuda --calibrate >"$tmp/out" 2>&1 || { cat "$tmp/out"; exit 1; }
ask f32,bf16 ,e4m3-row,e5m2-tensor
export FAKE_CUDA_CAPABILITY=80
ask f16 '' # which has no instructions for 8-bit floats

sed 's/ --gpu-architecture=/ -arch=/' "$tmp/asked" | LC_ALL=C sort -u >"$tmp/sets"
# Texts include each other by bare name: all of them side by side, as in the program.
mkdir "$tmp/texts"
find "$source/src" -name '*.cu' -o -name '*.cuh' | while read -r text; do ln -s "$text" "$tmp/texts"; done
for text in "$tmp"/texts/*.cu; do
    grep -q "^$(basename "$text") " "$tmp/sets" || { echo "never compiled: $(readlink "$text")"; exit 1; }
done
if [ "${1:-}" = --list ]; then
    cat "$tmp/sets"
    exit
elif [ "${1:-}" != --all ]; then
    awk -v every=$((3 * ${ASSAY_SAMPLE:-1})) '!(seen[$1 " " $2]++ % every)' "$tmp/sets" >"$tmp/some" && mv "$tmp/some" "$tmp/sets"
fi

# In two processes, each with every second set.
with_nvrtc() {
    local half
    unset ASSAY_NVRTC
    sed 's/ -arch=/ --gpu-architecture=/' "$tmp/sets" | split -n r/2 - "$tmp/half-"
    for half in "$tmp"/half-a?; do
        { "$texts" <"$half" || [ $? = 1 ] || echo "failed: NVRTC, with exit $?"; } >"$half.log" &
    done
    wait
    cat "$tmp"/half-*.log
    sed -n 's/^failed: //p' "$tmp"/half-*.log >"$tmp/failed"
    [ -s "$tmp/failed" ] || rm "$tmp/failed"
}

# "TEXT OPTIONS": prints what nvcc says, after the line itself
compile() {
    local text=${1%% *} log
    log=$(mktemp "$tmp/log-XXXXXX")
    # shellcheck disable=SC2086
    "$nvcc" ${1#* } -cubin -o /dev/null -I"$tmp/texts" "$tmp/texts/$text" >"$log" 2>&1 || echo "$1" >>"$tmp/failed"
    [ ! -s "$log" ] || { echo "== $1" && cat "$log"; }
}
export -f compile
export nvcc tmp
# shellcheck disable=SC2016
with_nvcc() { xargs -d '\n' -P 2 -n 1 bash -c 'compile "$1"' compile <"$tmp/sets"; }
if [ -n "$texts" ]; then with_nvrtc; else with_nvcc; fi
echo "$(wc -l <"$tmp/sets") sets of options for $(cut -d' ' -f1 "$tmp/sets" | sort -u | wc -l) texts, $SECONDS s"
[ ! -e "$tmp/failed" ] || { echo "failed:" && cat "$tmp/failed"; exit 1; }
