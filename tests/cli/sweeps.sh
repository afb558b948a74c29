#!/usr/bin/env bash
# assay bench without sizes: what it is, what it says before it starts, and what is left out.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

say "an op without sizes is a dozen groups, --sweep all 112"
expect_exit 0 "$ASSAY" bench gelu --dry-run
expect_out '^ +1 +gelu +16x256x8 +f32 +cpu +[0-9]+ '
expect_out '^12 groups, '
expect_out 'about 48 s of timing at the most'
expect_err_lines 0
expect_exit 0 "$ASSAY" bench gelu --sweep --dry-run
expect_out '^112 groups, .*, [0-9]+ groups? skipped; about '
expect_out 'skipped  over --max-elements'
expect_exit 0 "$ASSAY" bench gelu,layer_norm --dry-run
expect_out '^ +13 +layernorm +16x256x8 '
expect_out '^24 groups, '

say "a dry run knows recipes, modes and labels, and leaves no journal"
expect_exit 0 "$ASSAY" bench linear --shapes pow2:3:4 --mode none,bias --recipe int8wo --dtype bf16 --dry-run
expect_out '^recipes: baseline, int8wo$'
expect_out '^ +3 +linear bias +pow2_0 +8x8x8 +bf16 +cpu '
expect_out '^4 groups, '
[ ! -e "$XDG_DATA_HOME/assay/runs" ] || fail "a dry run left a journal"

say "what takes a while is announced, what does not is not"
expect_exit 0 timeout -s INT 60 "$ASSAY" bench relu --batch 1:20:+1 --seq 3 --dim 5 --cache hot --impl ref \
    --budget 10ms -q
expect_err_lines 0
# A pipe that nobody reads ends nothing; what counts is the line before the first group.
env --default-signal=INT "$ASSAY" bench relu --shape 2x3x5,4x3x5,8x3x5,16x3x5,32x3x5,64x3x5 --impl ref \
    >"$work/out" 2>"$work/err" &
pid=$!
started+=("$pid")
announced() { grep -q '^assay: 6 groups, about 24 s of timing; --dry-run shows them, --shape names fewer$' "$work/err"; }
wait_for announced
kill -INT $pid
wait $pid
[ $? -eq 130 ] || fail "not interrupted"

say "where every row is left out, that is exit code 3"
expect_exit 3 "$ASSAY" bench relu --shape 100x100x100 --max-elements 10 --cache hot --iters 10
expect_err '^assay: nothing was measured: every row is skipped or unsupported: over the limit of 10 elements'
expect_out 'skipped'
expect_exit 0 "$ASSAY" bench relu --shape 100x100x100,2x3x5 --max-elements 1000 --cache hot --iters 10
expect_no_err 'nothing was measured'

say "a baseline that fails leaves no speedups, and says so"
expect_exit 1 "$ASSAY" bench relu --shape 2x3x5 --cache hot --iters 10 --plugin "$ASSAY_PLUGINS/wrong.so" \
    --impl zeros,ref --baseline zeros -o rows.jsonl
expect_err 'relu 2x3x5: the baseline zeros was not measured: .*; no speedups are shown'
expect_count 0 '"kernel":"relu_ref".*"baseline":"[a-z]' rows.jsonl
