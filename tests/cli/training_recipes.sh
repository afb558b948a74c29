#!/usr/bin/env bash
# Recipes of training steps: what --pass both measures of them, from which shape on they pay, what
# is not for training, and that mistakes people make in them are found.
# Not under sanitizers: the mistakes are planted where no sanitizer looks.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--cache hot --iters 12 --warmup 1 -t 1)

say "each product and each cast of a step is measured and verified"
expect_exit 0 "$ASSAY" bench linear --pass both --recipe 'float8-*' --shapes pow2:3:5 --dtype bf16 \
    --impl native "${short[@]}" -o step.json -o step.jsonl -o step.md
for op in linear_training linear_backward quantize quantize_turned; do
    grep -q "\"op\":\"$op\".*\"status\":\"ok\"" step.jsonl || fail "no $op"
done
if grep -q '"status":"[^o]' step.jsonl; then fail "not all is well"; fi
grep -q '"op":"linear_training".*"recipe":"float8dq-row".*"activation_share":0[.]' step.jsonl ||
    fail "the share of the casts is not measured"
expect_count 3 '"op":"linear_training".*"recipe":"float8dq-row-gw-hp"' step.jsonl
expect_count 3 '"op":"linear_backward".*"mode":"dx".*"recipe":"float8dq-tensor"' step.jsonl
expect_count 3 '"op":"linear_backward".*"mode":"dw".*"recipe":"float8dq-row"' step.jsonl
expect_count 3 '"op":"quantize","title":.*"mode":"e5m2-tensor"' step.jsonl
grep -q '"axes":{"m":32,"k":32,"n":32}.*"recipe":"baseline".*"saved_bytes":2048' step.jsonl ||
    fail "x in bf16 is not what is saved"
grep -q '"axes":{"m":32,"k":32,"n":32}.*"recipe":"float8dq-tensor".*"saved_bytes":1028' step.jsonl ||
    fail "codes and a scale are not what is saved"

say "from which shape on each recipe pays: table, Markdown, JSON"
grep -q 'break-even: from which shape on a recipe pays' out || fail "not in the table"
grep -q 'linear, a whole step bf16 hot, along m = k = n' out || fail "no whole step"
grep -Eq 'float8dq-tensor native +(pays|unclear)' out || fail "no verdict"
grep -q '^### Break-even' step.md || fail "not in Markdown"
grep -q '"breakevens": \[' step.json || fail "not in JSON"
grep -q '"verdict": "' step.json || fail "no verdict in JSON"
expect_exit 0 "$ASSAY" bench linear --recipe int8wo --shape 1x64x64,8x64x64,64x64x64 \
    --impl native "${short[@]}"
grep -q 'linear f32 hot, along m at k=64 n=64' out || fail "no sweep of one axis"
expect_exit 0 "$ASSAY" bench linear --recipe int8wo --shape 8x64x64 --impl native "${short[@]}"
if grep -q 'break-even' out; then fail "one shape is no sweep"; fi

say "gradients together have an accuracy each"
expect_exit 0 "$ASSAY" bench linear_backward --recipe float8dq-row --shape 33x48x40 \
    --impl native,ref "${short[@]}" -v -o both.jsonl
expect_count 4 '"accuracy_db":[0-9.]*,"accuracy_1_db":[0-9.]*' both.jsonl
grep -q 'of output 1 ' out || fail "the second accuracy is not shown"

say "how long that takes, without measuring"
expect_exit 0 "$ASSAY" bench linear --pass both --recipe 'float8-*' --shapes pow2:8:14 --dry-run
grep -q 'linear_training' out || fail "the step is not in the plan"

say "what is not for training is a row that says so, or an error"
expect_exit 0 "$ASSAY" bench linear_backward --recipe int4wo-128 --shape 8x30x8 --impl native \
    "${short[@]}" -o not.jsonl
expect_count 1 '"status":"unsupported","reason":"int4wo-128 is not for training; float8dq-tensor, ' \
    not.jsonl
expect_exit 2 "$ASSAY" bench linear --recipe float8dq-row-gw-hp --shape 8x8x8
expect_err 'it is for training: linear_training and linear_backward, which --pass both measures'
expect_exit 2 "$ASSAY" bench linear --pass both --recipe tensorwise --shape 8x8x8
expect_err 'did you mean "float8dq-tensor"'
expect_exit 2 "$ASSAY" bench linear --pass both --recipe 'int8*' --shape 8x8x8
expect_err 'no recipe for training follows "int8[*]"'
expect_exit 2 "$ASSAY" bench linear_training --mode gelu --shape 8x8x8
expect_err 'its one mode is bias'

# found SHAPE DTYPE RECIPE KERNEL...: the row of each is a mismatch, and that of `right` is not
found() {
    local shape=$1 dtype=$2 recipe=$3 each names=
    shift 3
    for each in "$@"; do
        names=$names,$each
    done
    expect_exit 1 "$ASSAY" bench linear_backward --mode dx,dw --shape "$shape" --dtype "$dtype" \
        --recipe "$recipe" --impl "right$names" --cache hot --iters 3 --warmup 1 -t 1 \
        --plugin "$ASSAY_PLUGINS/wrong_linear_training.so" -o out.jsonl
    [ "$(grep -F '"kernel":"right"' out.jsonl | grep -Fc '"status":"ok"')" -eq 2 ] ||
        fail "$shape $dtype $recipe: right is not ok"
    for each in "$@"; do
        [ "$(grep -F "\"kernel\":\"$each\"" out.jsonl | grep -Fc '"status":"mismatch"')" -eq 2 ] ||
            fail "$shape $dtype $recipe: $each is not found"
    done
    rm out.jsonl
}

say "mistakes are found"
found 33x48x40 f32 float8dq-tensor wrong_format no_scale stale_amax truncated
found 33x48x40 bf16 float8dq-tensor wrong_format no_scale stale_amax truncated
found 33x48x40 f32 float8dq-row wrong_dimension no_scale stale_amax truncated
found 20x30x70 bf16 float8dq-row wrong_dimension no_scale stale_amax truncated
