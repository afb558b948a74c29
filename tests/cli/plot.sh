#!/usr/bin/env bash
# Pictures in the terminal: below the tables of every command with --plot, and alone with -f plot.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

no_wider() { [ "$(wc -L <"$work/out")" -le "$1" ] || fail "wider than $1 columns"; }
is_ascii() { ! LC_ALL=C grep -q $'[\x80-\xff]' "$work/out" || fail "not in ASCII"; }

say "bars below the table of bench, and again of show"
expect_exit 0 "$ASSAY" bench relu gelu "${quick[@]}" --impl ref,native --plot
expect_out '^2 rows in 1 group|^4 rows in 2 groups'
expect_count 2 '^(relu|gelu) f32 2x3x5$' "$work/out"
expect_out '│ baseline'
expect_out '^speedup against the baseline, with its 95% interval'
[ "$(tail -n 1 "$work/out" | cut -c 1-7)" = speedup ] || fail "the picture is not below the table"
no_wider 100
cp "$work/out" bench.txt
expect_exit 0 "$ASSAY" show last --plot
cmp -s "$work/out" bench.txt || fail "show draws another picture"

say "the picture alone: the end of what stands below the table"
expect_exit 0 "$ASSAY" show last -f plot
expect_no_out 'rows in'
tail -n "$(wc -l <"$work/out")" bench.txt | cmp -s "$work/out" || fail "-f plot is another picture"
expect_exit 0 "$ASSAY" show last -o plot:picture.txt -q
expect_file picture.txt "│ baseline"

say "real widths, ASCII, no colours where nobody asked"
for columns in 70 80 140; do
    COLUMNS=$columns expect_exit 0 "$ASSAY" show last -f plot
    no_wider "$columns"
done
LC_ALL=C expect_exit 0 "$ASSAY" show last -f plot
is_ascii
expect_out '\| baseline'
expect_no_out $'\033'
expect_exit 0 "$ASSAY" show last --plot --ascii
is_ascii

say "lines where an axis was swept"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --dim 16:128:x2 --impl ref,native -f plot
expect_out '^relu f32 batch=2 seq=3 · hot · time of a call against dim$'
expect_out '^ +16 +32 +64 +128$'
expect_out '^ +(= several at once +)?[●■] (ref|native) +[●■] (ref|native)$'
no_wider 100
LC_ALL=C COLUMNS=80 expect_exit 0 "$ASSAY" show last -f plot
is_ascii
no_wider 80
expect_out '\* (ref|native) +o (ref|native)$'

say "no picture in machine-readable output, nor with --quiet; of one row its samples"
expect_exit 0 "$ASSAY" show last --plot -f csv
expect_no_out 'against dim'
expect_exit 0 "$ASSAY" show last --plot -q
expect_out_lines 0
expect_exit 0 "$ASSAY" show last --row 1 --plot
expect_out '^    samples hot'
expect_no_out 'against dim'
expect_exit 0 "$ASSAY" show last --row 1 -f plot
expect_out '^hot · 10 samples'

say "of presets, and of a row that is wrong"
expect_exit 0 "$ASSAY" preset norm --device cpu --warmup 1 --iters 3 --dtype f32 --plot
expect_out 'with its 95% interval'
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin "$ASSAY_PLUGINS/wrong.so" --impl zeros,ref --plot
expect_out '✗ mismatch: '

say "a run is continued with it"
expect_exit 0 "$ASSAY" bench --resume last~1 --plot -f plot
expect_out 'against|speedup|time of a call'
