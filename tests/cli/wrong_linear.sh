#!/usr/bin/env bash
# Kernels of linear that are right but for one planted mistake: each is found, on small shapes and
# on larger ones, and the one without a mistake is not blamed.
# Not under sanitizers: the mistakes are planted where no sanitizer looks.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--cache hot --iters 3 --warmup 1 -t 1 --plugin "$ASSAY_PLUGINS/wrong_linear.so")

# rows KERNEL STATUS: how many rows of out.jsonl
rows() { grep -F "\"kernel\":\"$1\"" out.jsonl | grep -Fc "\"status\":\"$2\""; }

# found SHAPE DTYPE KERNEL=ROWS...: with four recipes, every row of these kernels is a mismatch, and
# there are so many of them; what a mistake cannot be made with, its kernel does not take
found() {
    local shape=$1 dtype=$2 each names=
    shift 2
    for each in "$@"; do
        names=$names,${each%=*}
    done
    expect_exit 1 "$ASSAY" bench linear --shape "$shape" --dtype "$dtype" \
        --recipe int8wo,int8dq,int4wo-32 --impl "right$names" "${short[@]}" -o out.jsonl
    [ "$(rows right ok)" -eq 4 ] || fail "$shape $dtype: right is not ok"
    for each in "$@"; do
        [ "$(rows "${each%=*}" mismatch) $(rows "${each%=*}" ok)" = "${each#*=} 0" ] ||
            fail "$shape $dtype: not ${each#*=} mismatches of ${each%=*}"
    done
    rm out.jsonl
}

everyone=(wrong_scale=2 swapped_group=1 short_k=4 short_n=4 cached=4 stale_weights=4)
say "every mistake is found in f32"
found 33x128x48 f32 "${everyone[@]}"
found 16x1024x16 f32 "${everyone[@]}" transposed=4
say "every mistake is found in bf16, sums that are rounded at every step among them"
found 16x1024x16 bf16 "${everyone[@]}" rounded_sums=1 transposed=4
found 2x64x2 bf16 "${everyone[@]}" transposed=4
found 1x2080x3 bf16 "${everyone[@]}"

say "without a mistake all is well, cold too, and the kernel has its say"
expect_exit 0 "$ASSAY" bench linear --shape 33x128x48 --dtype bf16 \
    --recipe int8wo,int8dq,int4wo-32 --impl right --iters 3 --warmup 1 -t 1 \
    --plugin "$ASSAY_PLUGINS/wrong_linear.so" -o right.jsonl
expect_count 4 '"kernel":"right".*"note":"plain loops".*"status":"ok".*"cold":\{' right.jsonl

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
