#!/usr/bin/env bash
# Kernels that want to look better than they are: each is caught, and what it did is named. Honest
# ones pass.
# Not under sanitizers: the cheats are planted where no sanitizer looks.
# Needs quiet cores: some cheats show in times only.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
with=(--plugin "$ASSAY_PLUGINS/cheats.so" --cache hot --iters 12 --warmup 1 --threads 1)
size=(--batch 1 --seq 16 --dim 1000) # of 64 KB: large enough to be worth keeping answers of

# Where the machine is too busy to tell by times, the row says so: then once more.
asked() {
    local code
    for _ in 1 2 3 4; do
        "$ASSAY" bench "$@" >asked.out
        code=$?
        grep -q "not checked whether" asked.out || break
    done
    cat asked.out
    return $code
}

# OUTCOME REASON NAME...: alone, so that each is blamed for what it did itself.
caught() {
    local outcome=$1 reason=$2 name
    shift 2
    for name in "$@"; do
        say "$name: $reason"
        expect_exit 1 asked gelu "${size[@]}" "${with[@]}" --impl "$name" -o rows.jsonl
        expect_out "^ *$name .*$outcome: "
        expect_count 1 "\"kernel\":\"$name\".*\"status\":\"$outcome\"" rows.jsonl
        expect_file rows.jsonl "\"reason\":\"[^\"]*$reason"
    done
}

caught mismatch 'answered with a result kept from other inputs' kept_by_pointer looks_for_poison
caught mismatch '(answered with a result kept from other inputs|did not compute every call|left [0-9]+ of [0-9]+ elements|[0-9]+ of [0-9]+ wrong in a timed sample)' tires
caught mismatch 'did not compute every call: [0-9] of 4 answers are right' first_call_only second_calls_only last_of_sample
caught mismatch 'had not finished when it returned' finishes_later
caught mismatch 'left [0-9]+ of 16000 elements of output 0 unwritten' first_rows_only
caught mismatch '[0-9]+ of [0-9]+ wrong' low_precision
caught mismatch 'changed input 0' eases_inputs
caught mismatch 'left the floating-point unit changed' flushes_to_zero
if [ "$(nproc)" -gt 1 ]; then
    caught mismatch 'left its thread on other cores' moves_away
fi
caught mismatch 'left threads computing after it had returned: 1 of them' burns
caught crashed 'read past the end of input 0' reads_past_end
caught crashed 'read before the start of input 0' reads_before_start
caught crashed '(read|wrote) past the end of output 0' borrows_room
caught mismatch 'answers known inputs from memory: .* on new values, .* on ones it has seen' \
    kept_by_content known_inputs
caught mismatch 'computes once for all calls of a sample: a call takes .* in [0-9]+, .* in [0-9]+' once_a_sample

say "a burning thread slows nobody down: the others are measured without it"
expect_exit 1 "$ASSAY" bench gelu "${size[@]}" "${with[@]}" --impl burns,honest -o rows.jsonl
expect_count 1 '"kernel":"honest".*"status":"ok"' rows.jsonl

say "honest ones pass, large and small, on one thread and on all, hot and cold"
honest=honest,honest_branches,honest_allocates,honest_vectors
for size in "--seq 16 --dim 1000" "--seq 1 --dim 7" "--seq 3 --dim 333" "--seq 256 --dim 1024"; do
    # shellcheck disable=SC2086
    expect_exit 0 "$ASSAY" bench gelu --batch 1 $size --plugin "$ASSAY_PLUGINS/cheats.so" --iters 12 --warmup 1 \
        --cache hot --impl "$honest,native"
done
expect_exit 0 "$ASSAY" bench gelu --batch 1 --seq 16 --dim 1000 --plugin "$ASSAY_PLUGINS/cheats.so" --iters 12 \
    --warmup 1 --cache cold --impl "$honest"

say "all that is built in passes"
for op in softmax layernorm_gelu add cross_entropy mse rmsnorm swiglu; do
    expect_exit 0 "$ASSAY" bench "$op" --batch 4 --seq 16 --dim 64 --iters 20 --warmup 1 --kernel all
done

say "a plug-in's clock is its own"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin "$ASSAY_PLUGINS/own_clock.so" --impl own_clock -f csv -o rows.csv
expect_out '^ *own_clock .*[0-9.]+ [um]s '
