#!/usr/bin/env bash
# linear beside the libraries that are opened at run time: openblas and onednn.
# Not under sanitizers: the libraries' code is not theirs to see, and unit tests call what is ours.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
unset ASSAY_DNNL ASSAY_OPENBLAS ONEDNN_MAX_CPU_ISA DNNL_MAX_CPU_ISA OPENBLAS_CORETYPE
options=(--cache hot --iters 8 --warmup 1 -q -o rows.jsonl)
short=(--shape 16x64x32 "${options[@]}")
with=(--impl 'openblas,onednn,native')

# A library is here when its kernel for f32 is.
has() { "$ASSAY" bench linear "${short[@]}" --impl "$1" --dtype f32 >/dev/null 2>&1 &&
    grep -q '"status":"ok"' rows.jsonl; }
# KERNEL DTYPE STATUS [MORE]: one row is so, and says MORE.
row() {
    grep -E "\"kernel\":\"$1\".*\"dtype\":\"$2\".*\"status\":\"$3\"" rows.jsonl >found
    expect_count 1 "${4:-.}" found
}
is_x() { grep -q "^flags.* $1" /proc/cpuinfo; }

has openblas && openblas=yes || openblas=
has onednn && onednn=yes || onednn=

say "f32"
expect_exit 0 "$ASSAY" bench linear "${short[@]}" "${with[@]}" --dtype f32
expect_count 1 '"implementation":"native".*"dtype":"f32".*"status":"ok"' rows.jsonl
[ -z "$openblas" ] || row linear_openblas f32 ok
[ -z "$onednn" ] || row linear_onednn f32 ok
[ -z "$openblas" ] || expect_file rows.jsonl '"note":"OpenBLAS [0-9.]+.*, core [A-Za-z]+.*, sgemm"'
[ -z "$onednn" ] || expect_file rows.jsonl '"note":"oneDNN 2\.[0-9.]+, '

say "one row of x is sgemv's"
if [ -n "$openblas" ]; then
    expect_exit 0 "$ASSAY" bench linear "${options[@]}" --shape 1x64x32 --impl openblas --dtype f32
    row linear_openblas f32 ok
    expect_file rows.jsonl '"note":"OpenBLAS .*, sgemv"'
fi

say "OpenBLAS is told about a CPU with AVX-512 if it does not know it"
[ -z "$openblas" ] || ! is_x avx512vl || expect_file rows.jsonl 'core (SkylakeX|Cooperlake|SapphireRapids)'

say "bf16 and s8"
expect_exit 0 "$ASSAY" bench linear "${short[@]}" "${with[@]}" --dtype bf16,s8
expect_no_out 'mismatch|crashed|failed'
for dtype in bf16 s8; do
    expect_count 1 "\"implementation\":\"native\".*\"dtype\":\"$dtype\".*\"status\":\"ok\"" rows.jsonl
    [ -z "$onednn" ] || ! is_x avx512_bf16 ||
        expect_count 1 "\"implementation\":\"onednn\".*\"dtype\":\"$dtype\".*\"status\":\"ok\"" rows.jsonl
done
row linear_openblas s8 unsupported

say "bias and activation: part of oneDNN's call, nothing OpenBLAS has"
expect_exit 0 "$ASSAY" bench linear "${short[@]}" "${with[@]}" --dtype f32 --mode bias+gelu
[ -z "$onednn" ] || row linear_onednn f32 ok
row linear_openblas f32 unsupported
[ -z "$openblas" ] || expect_file rows.jsonl 'OpenBLAS has no bias and no activations'

say "a library that is not there: a row that says so, and the others measured"
expect_exit 0 env ASSAY_OPENBLAS=/nowhere/libopenblas.so ASSAY_DNNL=/nowhere/libdnnl.so \
    "$ASSAY" bench linear "${short[@]}" "${with[@]}" --dtype f32
row linear_openblas f32 unsupported
row linear_onednn f32 unsupported
expect_file rows.jsonl 'nowhere/libopenblas\.so'
expect_count 1 '"implementation":"native".*"status":"ok"' rows.jsonl

[ -n "$onednn" ] || skip "no oneDNN here"
amx_hidden() { "$ASSAY" info | grep -q 'hides CPUID leaf 0x1D'; }
amx_hidden || { say "AMX works or is not there: nothing of it can crash"; exit 0; }

say "where AMX is advertised and its leaf hidden, oneDNN goes without"
expect_exit 0 "$ASSAY" bench linear "${short[@]}" --impl onednn --dtype bf16,s8
row linear_onednn_avx512 bf16 ok 'AMX left out: CPUID leaf 0x1D is hidden here'
row linear_onednn_avx512 s8 ok
expect_exit 0 "$ASSAY" bench linear "${short[@]}" --kernel linear_onednn --dtype bf16
row linear_onednn bf16 unsupported 'its AMX path dies here'

say "a user who asks for AMX sees it crash, and what is left after it"
expect_exit 1 env ONEDNN_MAX_CPU_ISA=AVX512_CORE_AMX \
    "$ASSAY" bench linear "${short[@]}" "${with[@]}" --dtype bf16
row linear_onednn bf16 crashed SIGILL
row linear_onednn_avx512 bf16 ok 'AMX left out'
expect_count 1 '"implementation":"native".*"status":"ok"' rows.jsonl

say "a second group, in a worker that has left AMX out already: no AMX under another name"
expect_exit 1 env ONEDNN_MAX_CPU_ISA=AVX512_CORE_AMX \
    "$ASSAY" bench linear "${options[@]}" --shape 16x64x32,16x64x48 --impl onednn --dtype s8
expect_count 2 '"kernel":"linear_onednn_avx512".*"status":"ok"' rows.jsonl
expect_count 0 '"kernel":"linear_onednn".*"status":"ok"' rows.jsonl
