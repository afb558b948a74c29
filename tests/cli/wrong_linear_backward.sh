#!/usr/bin/env bash
# Kernels of linear_backward that are right but for one planted mistake: each is found, on small
# shapes and on larger ones, and the one without a mistake is not blamed.
# Not under sanitizers: the mistakes are planted where no sanitizer looks.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--cache hot --iters 3 --warmup 1 -t 1 --plugin "$ASSAY_PLUGINS/wrong_linear_backward.so")

# rows KERNEL STATUS: how many rows of out.jsonl
rows() { grep -F "\"kernel\":\"$1\"" out.jsonl | grep -Fc "\"status\":\"$2\""; }

# found SHAPE DTYPE KERNEL...: the row of each is a mismatch, and that of `right` is not
found() {
    local shape=$1 dtype=$2 each names=
    shift 2
    for each in "$@"; do
        names=$names,$each
    done
    expect_exit 1 "$ASSAY" bench linear_backward --mode bias --shape "$shape" --dtype "$dtype" \
        --impl "right$names" "${short[@]}" -o out.jsonl
    [ "$(rows right ok)" -eq 1 ] || fail "$shape $dtype: right is not ok"
    for each in "$@"; do
        [ "$(rows "$each" mismatch)" -eq 1 ] || fail "$shape $dtype: $each is not found"
    done
    rm out.jsonl
}

everyone=(no_bias twice stale_weights stale_dw short_m short_n mean_bias)
say "every mistake is found in f32"
found 33x48x40 f32 "${everyone[@]}"
found 300x64x64 f32 "${everyone[@]}" transposed
say "every mistake is found in bf16, sums that are rounded at every step among them"
found 300x64x64 bf16 "${everyone[@]}" transposed rounded_sums
found 2x3x2 bf16 "${everyone[@]}"
found 513x5x7 bf16 "${everyone[@]}" rounded_sums

say "without a mistake all is well, cold too, and of both passes"
expect_exit 0 "$ASSAY" bench linear --pass both --mode bias --shape 33x48x40 --dtype f32,bf16 \
    --impl right,native --iters 3 --warmup 1 -t 1 \
    --plugin "$ASSAY_PLUGINS/wrong_linear_backward.so" -o right.jsonl
expect_count 2 '"kernel":"right".*"pass":"backward".*"status":"ok".*"cold":\{' right.jsonl
expect_count 2 '"kernel":"linear_backward_.*"pass":"backward".*"status":"ok".*"cold":\{' right.jsonl

say "each product alone, and what has no gradient here"
expect_exit 0 "$ASSAY" bench linear_backward --mode dx,dw,bias+dw --shape 9x8x7 --impl native,ref \
    --cache hot --iters 3 --warmup 1 -t 1
expect_exit 2 "$ASSAY" bench linear --pass both --mode bias+gelu --shape 9x8x7
expect_err 'linear_backward: has no gradient of gelu, which is an op of its own, gelu_backward'
