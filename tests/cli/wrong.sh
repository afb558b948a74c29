#!/usr/bin/env bash
# Kernels that come back with something wrong: the row names what.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
with=(--plugin "$ASSAY_PLUGINS/wrong.so" --plugin "$ASSAY_PLUGINS/good.so")
wrong=past_end,before_start,writes_input,zeros,unwritten,nan_answer,off_by_one,first_call_only
wrong=$wrong,late_wrong,setup_nomem,setup_silently_fails,run_error

check_rows() {
    expect_out '^ *past_end .*mismatch: wrote out of bounds: 4 bytes past the end of output 0'
    expect_out '^ *before_start .*mismatch: wrote out of bounds: 4 bytes before the start of output 0'
    expect_out '^ *writes_input .*mismatch: changed input 0'
    expect_out '^ *zeros .*mismatch: [0-9]+ of 30 wrong, first at \[0,0,0\]: got 0, expected 1.5'
    expect_out '^ *unwritten .*mismatch: left 1 of 30 elements of output 0 unwritten, first at \[1,2,4\]'
    expect_out '^ *nan_answer .*mismatch: 30 of 30 wrong, first at \[0,0,0\]: got -?nan'
    expect_out '^ *off_by_one .*mismatch: [0-9]+ of 30 wrong, first at \[[01],[012],[0-4]\]: got'
    expect_out '^ *first_call_only .*mismatch: left 30 of 30 elements of output 0 unwritten'
    expect_out '^ *late_wrong .*mismatch: 1 of 30 wrong, first at \[0,0,0\]: got -1'
    expect_out '^ *setup_nomem .*out of memory: no room for the packed weights'
    expect_out '^ *setup_silently_fails .*failed: setup said: device error'
    expect_out '^ *run_error .*failed: run said: device error'
    expect_out '^ *good .*[0-9.]+ [num]?s '
    expect_out '13 rows in 1 group: 1 ok, 9 mismatch, 1 out of memory, 2 failed'
}

say "all of them in one group, and the good one is not blamed"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" "${with[@]}" --impl "$wrong,good"
check_rows

say "the same in this process"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" "${with[@]}" --impl "$wrong,good" --in-process
check_rows

say "the greatest error is named, in JSON without being cut"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" "${with[@]}" --impl off_by_one,good -q -o wrong.jsonl
expect_file wrong.jsonl '"reason":"[0-9]+ of 30 wrong, first at \[.*\]: got .*, expected .* \((within [0-9.e-]+|exactly)\), greatest error [0-9.]+"'

say "a refusal alone is no failure"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" "${with[@]}" --impl setup_refuses,good
expect_out '^ *setup_refuses .*unsupported: only on Sundays'

say "what a kernel prints does not land among the results"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" "${with[@]}" --impl prints -o -  -f jsonl
expect_count 1 '"printed":"garbage on standard output' "$work/out"
expect_err_lines 0
valid_json "$work/out"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" "${with[@]}" --impl prints
expect_no_out garbage
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" "${with[@]}" --impl prints -v
expect_out 'printed: garbage on standard output'

say "a check that cannot tell right from wrong is mistrusted"
expect_exit 1 "$ASSAY" bench cross_entropy --batch 2 --seq 3 --dim 1 --cache hot --iters 10 --warmup 1
expect_out 'mistrusted: an answer of all zeros would pass the check'
