#!/usr/bin/env bash
# Ops, sizes, dtypes and kernels: what is measured, and what is skipped with a reason.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--cache hot --iters 8 --warmup 1)

say "one element, primes, and no axis of the usual size"
expect_exit 0 "$ASSAY" bench relu softmax layernorm --batch 1,3 --seq 1,7 --dim 1,13 "${short[@]}"
expect_out '24 groups'
expect_no_out 'mismatch|crashed|failed'

say "every op of these axes in every dtype"
mapfile -t names < <("$ASSAY" list ops | awk '/^$/ { exit } /^ +axes / { name = ""; next }
    /^[a-z]/ { if (name) print name; name = $1 } END { if (name) print name }')
[ "${#names[@]}" -ge 10 ] || fail "ops: ${names[*]}"
expect_exit 0 "$ASSAY" bench "${names[@]}" --batch 2 --seq 3 --dim 17 \
    --dtype f32,f16,bf16 "${short[@]}" -q -o rows.jsonl
for dtype in f32 f16 bf16; do
    expect_count "${#names[@]}" "\"implementation\":\"ref\".*\"dtype\":\"$dtype\".*\"status\":\"ok\"" rows.jsonl
done

say "whole shapes"
expect_exit 0 "$ASSAY" bench relu --shape 2x3x5,1x1x7 "${short[@]}" --impl ref
expect_out '^relu \[2, 3, 5\] f32'
expect_out '^relu \[1, 1, 7\] f32'
expect_out '2 groups'

say "an alias for two ops"
expect_exit 0 "$ASSAY" bench LOSS --batch 2 --seq 3 --dim 5 "${short[@]}" -q -o rows.jsonl
expect_file rows.jsonl '"op":"cross_entropy"'
expect_file rows.jsonl '"op":"mse"'

say "all kernels of an op, and one by name"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --kernel all -q -o rows.jsonl
expect_count "$("$ASSAY" list kernels | grep -cE '^relu_[a-z0-9]+ +\w+ +cpu ')" '"kernel":"relu_' rows.jsonl
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --kernel relu_portable -q -o rows.jsonl
expect_count 1 '"kernel":"relu_portable"' rows.jsonl
expect_count 1 '"status"' rows.jsonl

say "the baseline that was asked for"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --baseline ref
expect_out '^ *ref .*baseline'

say "both cache states"
expect_exit 0 "$ASSAY" bench relu --batch 2 --seq 3 --dim 4096 --iters 8 --warmup 1 --impl native
expect_out 'hot .*cold'

say "too large for this memory: a row that says so, and exit code 3 where it is the only one"
expect_exit 3 "$ASSAY" bench relu --batch 1048576 --seq 1024 --dim 1024 "${short[@]}"
expect_out 'skipped: needs .* of memory, .* can be had'

say "over the limit of elements: skipped, the others measured"
expect_exit 0 "$ASSAY" bench relu --batch 2 --seq 3 --dim 5,500 --max-elements 100 "${short[@]}"
expect_out 'skipped: over the limit of 100 elements'
expect_out '2 groups'

say "50 M elements are the limit of a sweep, whatever names its sizes, and of nothing else"
expect_exit 0 "$ASSAY" bench relu --batch 1,60000 --seq 1000 --dim 1 "${short[@]}"
expect_out 'skipped: over the limit of 50000000 elements'
expect_exit 0 "$ASSAY" bench relu --batch 1,60000 --seq 1000 --dim 1 --max-elements 0 --memory-limit 20M "${short[@]}"
expect_out 'skipped: needs '
expect_exit 3 "$ASSAY" bench relu --batch 60000 --seq 1000 --dim 1 --memory-limit 20M "${short[@]}"
expect_out 'skipped: needs '

say "the same seed gives the same figures of accuracy, another seed others"
for run in 1 2 3; do
    expect_exit 0 "$ASSAY" bench gelu --batch 2 --seq 3 --dim 50 "${short[@]}" --impl native \
        --seed $((run / 3)) -q -o rows.jsonl
    sed -n 's/.*\("verification":{[^}]*}\).*/\1/p' rows.jsonl >"seed$run"
    [ -s "seed$run" ] || fail "no verification in the row"
done
cmp -s seed1 seed2 || fail "the same seed gives different figures"
! cmp -s seed1 seed3 || fail "another seed gives the same figures"

say "one thread, and more than there are"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" -t 1
expect_out '1 thread'

say "no home folder, and no other: everything works, only nothing is remembered"
expect_exit 0 env -u HOME -u XDG_DATA_HOME XDG_DATA_HOME=relative XDG_CACHE_HOME="$XDG_CACHE_HOME" \
    HOME= "$ASSAY" bench relu "${quick[@]}" --impl ref
expect_out '1 ok'

say "a device that is not here: one warning, and the cpu instead"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --device cuda
expect_err '^assay: device "cuda" is not here \(.*\); using the cpu instead'
expect_err_lines 1
expect_exit 3 "$ASSAY" bench relu "${quick[@]}" --device cuda --strict-device
expect_err_lines 1
expect_out_lines 0
