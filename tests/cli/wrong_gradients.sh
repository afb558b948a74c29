#!/usr/bin/env bash
# Gradients with the mistakes they are known for: the row names each, and the output it is in.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
with=(--plugin "$ASSAY_PLUGINS/wrong_gradients.so" --pass backward --cache hot --iters 10 --warmup 1)
wrong=wrong_sign,dropped_beta,neighbour_rstd,added_twice,stale,skips_rows

check_rows() {
    expect_out '^ *honest .*[0-9.]+ [num]?s '
    expect_out '^ *wrong_sign .*mismatch: [0-9]+ of [0-9]+ wrong, first at \[0,'
    expect_out '^ *dropped_beta .*mismatch: ([0-9]+) of \1 wrong in output 2, first at \[0\]: got 0, '
    expect_out '^ *neighbour_rstd .*mismatch: ([0-9]+) of \1 wrong in output 1, first at \[0\]'
    expect_out '^ *added_twice .*mismatch: '
    expect_out '^ *stale .*mismatch: ' # which of its calls is looked at differs
    expect_out '^ *skips_rows .*mismatch: ([0-9]+) of \1 wrong in output 1, first at \[0\]'
    expect_out '7 rows in 1 group: 1 ok, 6 mismatch'
}

for shape in 2x31x24 4x512x64; do
    say "each mistake is found, and the right one is not blamed: $shape"
    expect_exit 1 "$ASSAY" bench layernorm --shape "$shape" "${with[@]}" --impl "honest,$wrong"
    check_rows
done

say "the same in this process"
expect_exit 1 "$ASSAY" bench layernorm --shape 2x31x24 "${with[@]}" --impl "honest,$wrong" --in-process
check_rows

say "an op without a gradient says so"
expect_usage 'copy has no backward pass; these have: .*layernorm' "$ASSAY" bench copy --pass backward
