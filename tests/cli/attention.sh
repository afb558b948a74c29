#!/usr/bin/env bash
# shellcheck disable=SC2054 # commas in arrays are lists of assay
# attention: four axes, modes, dtypes, kernels.
# Not under sanitizers: unit tests run the same kernels there.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--cache hot --iters 8 --warmup 1)
bad='mismatch|mistrusted|impossible|crashed|failed|timeout'

say "two dtypes, verified"
expect_exit 0 "$ASSAY" bench attention --shape 2x64x4x32 --dtype f32,bf16 "${short[@]}" -o rows.jsonl -o rows.csv
expect_out '^attention \[2, 64, 4, 32\] f32'
expect_out '^attention \[2, 64, 4, 32\] bf16'
expect_no_out "$bad"
for dtype in f32 bf16; do
    expect_file rows.jsonl "\"implementation\":\"native\".*\"dtype\":\"$dtype\".*\"status\":\"ok\""
done
expect_file rows.jsonl '"heads":4'

say "every kernel, mode and dtype, by its other name"
expect_exit 0 "$ASSAY" bench sdpa --shape 1x17x3x24,2x33x1x80 --mode none,qkv,causal,qkv+causal --kernel all \
    --dtype f32,bf16,f16 "${short[@]}" -o rows.jsonl
expect_out ' in 24 groups'
expect_no_out "$bad"
for kernel in ref portable; do
    expect_count 24 "\"kernel\":\"attention_$kernel\".*\"status\":\"ok\"" rows.jsonl
done

say "beside oneDNN, where it is installed"
expect_exit 0 "$ASSAY" bench attention --shape 1x128x4x64 --impl native,onednn --dtype f32 "${short[@]}" -o rows.jsonl
if ! grep -q 'libdnnl' rows.jsonl; then
    expect_file rows.jsonl '"kernel":"attention_onednn".*"note":"oneDNN 2\.[0-9.]+, .*"status":"ok"'
fi
expect_exit 0 "$ASSAY" bench attention --shape 1x4097x1x1 --impl native,onednn --dtype f32 "${short[@]}" -o rows.jsonl
grep -q 'libdnnl' rows.jsonl || expect_file rows.jsonl 'do not fit in 64 MiB of scratch'

say "hot and cold, two threads"
expect_exit 0 "$ASSAY" bench attention --shape 32x16x8x128 --mode qkv --dtype bf16 --threads 2 --iters 8 --warmup 1
expect_no_out "$bad"

say "modes and shapes there are not"
expect_usage 'attention: unknown mode "casual"; did you mean "causal"\? A mode is qkv' \
    "$ASSAY" bench attention --shape 1x2x3x4 --mode casual
expect_usage 'attention takes BATCHxSEQxHEADSxDIM: batch, length of the sequence, heads, elements of each; got 3 sizes' \
    "$ASSAY" bench attention --shape 1x2x3
expect_usage 'attention has no such axis as --seq; give its sizes with --shape BATCHxSEQxHEADSxDIM' \
    "$ASSAY" bench attention --seq 16

say "help and list know it"
expect_exit 0 "$ASSAY" bench --help
tr -s '\n ' ' ' <"$work/out" >"$work/unwrapped"
expect_file "$work/unwrapped" 'BATCHxSEQxHEADSxDIM, 4x1024x16x64 where not given'
expect_exit 0 "$ASSAY" list ops
expect_out '^attention .*\(also sdpa\)'
expect_out 'axes batch,seq,heads,dim; modes qkv'
