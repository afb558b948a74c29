#!/usr/bin/env bash
# shellcheck disable=SC2054 # commas in arrays are lists of assay
# quantize and dequantize: every format and scope, dtypes, modes that do not fit.
# Not under sanitizers: unit tests run the same kernels there.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--cache hot --iters 8 --warmup 1)

for op in quantize dequantize; do
    say "$op: three modes are three groups"
    expect_exit 0 "$ASSAY" bench $op --shape 64x256 --mode s8-row,e4m3-tensor,u4-64 --dtype bf16 \
        "${short[@]}" -o rows.jsonl -o rows.csv
    expect_out "^$op s8-row .*bf16"
    expect_out "^$op e4m3-tensor .*bf16"
    expect_out "^$op u4-64 .*bf16"
    expect_out ' in 3 groups'
    expect_no_out 'mismatch|mistrusted|impossible|crashed|failed|timeout'
    expect_file rows.jsonl "\"op\":\"$op\".*\"mode\":\"u4-64\".*\"status\":\"ok\""
    expect_file rows.csv ',e4m3-tensor,'

    say "$op: every kernel, format, scope and dtype"
    expect_exit 0 "$ASSAY" bench $op --shape 6x256,1x512 --kernel all --dtype f32,bf16,f16 \
        --mode s8-row,s8-tensor,s8-32,e4m3-row,e4m3-64,e5m2-row,e5m2-tensor,e5m2-256,u4-row,u4-tensor,u4-128 \
        "${short[@]}" -o rows.jsonl
    expect_no_out 'mismatch|mistrusted|impossible|crashed|failed|timeout'
    for kernel in ref portable; do
        expect_file rows.jsonl "\"kernel\":\"${op}_$kernel\".*\"status\":\"ok\""
    done

    say "$op: rows no vector divides, and one element"
    expect_exit 0 "$ASSAY" bench $op --shape 3x257,17x31,1x1 --mode s8-row,e5m2-tensor "${short[@]}"
    expect_out ' in 6 groups'
    expect_no_out 'mismatch|crashed|failed'

    say "$op: modes there are not, or that do not fit k"
    expect_usage "$op: unknown mode \"s8-rows\"; did you mean \"s8-row\"\\? A mode is FORMAT-SCOPE" \
        "$ASSAY" bench $op --shape 4x64 --mode s8-rows
    expect_usage 'unknown mode "u4_128"; did you mean "u4-128"' \
        "$ASSAY" bench $op --shape 4x128 --mode u4_128
    expect_usage 'u4-128: group 128 does not divide k = 96; u4-32 does' \
        "$ASSAY" bench $op --shape 4x96 --mode u4-128
    expect_usage 's8-32: group 32 does not divide k = 97; s8-row does' \
        "$ASSAY" bench $op --shape 4x97 --mode s8-row,s8-32
    expect_usage 'u4-row: codes of 4 bits lie two to a byte, so k must be even, not 97' \
        "$ASSAY" bench $op --shape 4x97 --mode u4-row
done
