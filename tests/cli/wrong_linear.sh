#!/usr/bin/env bash
# Kernels of linear that are right but for one planted mistake: each is found, on small shapes and
# on larger ones, and the one without a mistake is not blamed.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--cache hot --iters 3 --warmup 1 -t 1 --plugin "$ASSAY_PLUGINS/wrong_linear.so")

# found NAME RECIPE SHAPE...: in every dtype of $dtypes, on every shape
found() {
    local name=$1 recipe=$2 shape dtype
    shift 2
    for shape in "$@"; do
        for dtype in $dtypes; do
            expect_exit 1 "$ASSAY" bench linear --shape "$shape" --dtype "$dtype" \
                --recipe "$recipe" --impl "right,$name" "${short[@]}" -o out.jsonl
            row_is "$name" "$recipe" mismatch "$shape $dtype"
            row_is right "$recipe" ok "$shape $dtype"
        done
    done
}

# row_is KERNEL RECIPE STATUS WHERE: such a row is there, with this status
row_is() {
    grep -F "\"kernel\":\"$1\"" out.jsonl | grep -F "\"recipe\":\"$2\"" |
        grep -Fq "\"status\":\"$3\"" || fail "$4: $1/$2 is not $3"
}

dtypes="f32 bf16"
say "one row's scale is its neighbour's"
found wrong_scale int8wo 33x128x48 64x1024x64 1x40x2
found wrong_scale int8dq 33x128x48 64x1024x64

say "two groups' scales are exchanged"
found swapped_group int4wo-32 33x128x48 64x1024x64 1x64x1

say "the last element of k is left out"
for recipe in baseline int8wo int8dq int4wo-32; do
    found short_k "$recipe" 33x128x48 64x1024x64
done
found short_k baseline 33x129x47 1x2049x3

say "the last column has its neighbour's weights"
found short_n baseline 33x128x48 64x1024x64
found short_n int8wo 33x128x49

say "y is written transposed"
found transposed baseline 48x128x48 64x1024x64 2x16x2
found transposed int4wo-32 64x1024x64

say "sums are rounded at every step"
dtypes=bf16
found rounded_sums baseline 33x128x48 64x1024x64 16x512x16
dtypes="f32 bf16"

say "the first answer is given out ever after; weights are prepared once and for all"
for name in cached stale_weights; do
    found "$name" baseline 33x128x48 64x1024x64
    found "$name" int8dq 33x128x48
done

say "without a mistake all is well, cold too, and the kernel has its say"
expect_exit 0 "$ASSAY" bench linear --shape 33x128x48 --shape 64x1024x64 --dtype f32,bf16 \
    --recipe int8wo,int8dq,int4wo-32 --impl right --iters 3 --warmup 1 -t 1 \
    --plugin "$ASSAY_PLUGINS/wrong_linear.so" -o right.jsonl
expect_count 16 '"kernel":"right".*"status":"ok"' right.jsonl
expect_count 16 '"note":"plain loops"' right.jsonl

say "a kernel that says it can where the recipe does not fit harms only itself"
expect_exit 1 "$ASSAY" bench linear --shape 3x96x5 --recipe all --impl right,ignorant "${short[@]}"
expect_out '^[* ] baseline +ignorant .*[0-9.]+ [num]?s'
expect_out '^  int4wo-128 +ignorant .*unsupported: group 128 does not divide k = 96'
expect_out '^  int8wo +ignorant .*mismatch'
expect_out '^[* ] int8wo +right .*[0-9.]+ [num]?s'

say "plug-ins of other ages"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin "$ASSAY_PLUGINS/old.so" --impl old
expect_exit 2 "$ASSAY" bench linear "${short[@]}" --shape 3x96x5 \
    --plugin "$ASSAY_PLUGINS/prepare_alone.so"
expect_err 'prepare_alone.so: kernel "prepare_alone" has prepare without prepared_bytes'
