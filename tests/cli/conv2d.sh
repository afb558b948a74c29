#!/usr/bin/env bash
# shellcheck disable=SC2054 # commas in arrays are lists of assay
# conv2d: seven axes, modes, dtypes, kernels.
# Not under sanitizers: unit tests run the same kernels there.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--cache hot --iters 8 --warmup 1)
bad='mismatch|mistrusted|impossible|crashed|failed|timeout'

say "two dtypes, verified, two threads"
expect_exit 0 "$ASSAY" bench conv2d --shape 2x16x16x32x48x3x1 --dtype f32,bf16 --threads 2 "${short[@]}" -o rows.jsonl
expect_out '^conv2d \[2, 16, 16, 32, 48, 3, 1\] f32'
expect_out '^conv2d \[2, 16, 16, 32, 48, 3, 1\] bf16'
expect_no_out "$bad"
for dtype in f32 bf16; do
    expect_file rows.jsonl "\"implementation\":\"native\".*\"dtype\":\"$dtype\".*\"status\":\"ok\""
done
expect_file rows.jsonl '"stride":1'

say "every kernel, mode and dtype, by its other name"
expect_exit 0 "$ASSAY" bench conv --shape 1x7x9x17x20x3x2,2x6x6x32x33x1x1 --mode none,bias,pad0+bias+add --kernel all \
    --dtype f32,bf16,f16 "${short[@]}" -o rows.jsonl
expect_out ' in 18 groups'
expect_no_out "$bad"
for kernel in ref portable; do
    expect_count 18 "\"kernel\":\"conv2d_$kernel\".*\"status\":\"ok\"" rows.jsonl
done

say "modes and shapes there are not"
expect_usage 'conv2d: unknown mode "relu"; a mode is padN' "$ASSAY" bench conv2d --mode relu
expect_usage 'conv2d takes BATCHxHEIGHTxWIDTHxINxOUTxKERNELxSTRIDE: .*; got 3 sizes' "$ASSAY" bench conv2d --shape 1x2x3
expect_usage 'does not fit into an image of 2 x 2' "$ASSAY" bench conv2d --shape 1x2x2x3x4x5x1 --mode pad0

say "help and list know it"
expect_exit 0 "$ASSAY" bench --help
expect_out 'BATCHxHEIGHTxWIDTHxINxOUTxKERNELxSTRIDE, 4x64x64x128x256x3x1 where not given'
expect_exit 0 "$ASSAY" list ops
expect_out '^conv2d .*\(also conv\)'
expect_out 'axes batch,height,width,in,out,kernel,stride; modes padN'
