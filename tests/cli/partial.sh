#!/usr/bin/env bash
# Losses from a part of the work: each is found, at any size; honest sums in any order are not.
# Not under sanitizers: the same kernels at sizes that take them minutes
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
with=(--plugin "$ASSAY_PLUGINS/partial.so" --cache hot --iters 3 --warmup 1)
elements=last_fifth,first_fifth,every_fifth,last_thirtieth
elements=$elements,last_fifth_counted,first_fifth_counted,every_fifth_counted,last_thirtieth_counted
rows=row_0_of_30,row_11_of_30,row_29_of_30,last_rows,first_rows
rows=$rows,row_0_of_30_counted,row_11_of_30_counted,row_29_of_30_counted,last_rows_counted
rows=$rows,first_rows_counted

say "mse without a part of the elements"
for shape in "1 10 10" "3 7 1000" "1 1024 1000"; do
    read -r batch seq dim <<<"$shape"
    expect_exit 1 "$ASSAY" bench mse "${with[@]}" --batch "$batch" --seq "$seq" --dim "$dim" \
        --impl "$elements" --seed "$batch"
    expect_out '8 rows in 1 group: 8 mismatch'
    expect_no_out ' ok'
done

say "mse of 10 million elements"
expect_exit 1 "$ASSAY" bench mse "${with[@]}" --batch 10 --seq 1000 --dim 1000 \
    --impl last_fifth,every_fifth_counted,last_fifth_counted,row_in_thirty_counted,in_blocks
expect_out 'last_fifth_counted .*mismatch: 1 of 1 wrong with spikes'
expect_out '5 rows in 1 group: 1 ok, 4 mismatch'

say "mse without one row in thirty"
expect_exit 1 "$ASSAY" bench mse "${with[@]}" --batch 5 --seq 60 --dim 100 \
    --impl row_in_thirty,row_in_thirty_counted
expect_out '2 rows in 1 group: 2 mismatch'

say "cross entropy without a thirtieth of the rows"
for shape in "1 100 10" "4 500 32" "8 4096 64"; do
    read -r batch seq dim <<<"$shape"
    expect_exit 1 "$ASSAY" bench cross_entropy "${with[@]}" --batch "$batch" --seq "$seq" \
        --dim "$dim" --impl "$rows" --seed "$batch"
    expect_out '10 rows in 1 group: 10 mismatch'
done

say "honest sums in any order; one after the other they may be 100,000"
for dim in 1 100 1000 14000; do
    expect_exit 0 "$ASSAY" bench mse "${with[@]}" --batch 1 --seq 7 --dim "$dim" \
        --impl in_order,in_blocks,in_pairs,in_lanes
done
expect_exit 0 "$ASSAY" bench mse "${with[@]}" --batch 1 --seq 7 --dim 100000 \
    --impl in_blocks,in_pairs,in_lanes
