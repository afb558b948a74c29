#!/usr/bin/env bash
# shellcheck disable=SC2054 # commas in arrays are lists of assay
# Where results go, in which format, and what they look like.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
bench=("$ASSAY" bench relu "${quick[@]}" --impl native,ref)

say "every format by its extension, and the table beside them"
expect_exit 0 "${bench[@]}" -o a.json -o a.jsonl -o a.csv -o a.md -o comprehensive:a.txt
expect_out '^ *native '
valid_json a.json
valid_json a.jsonl
expect_count 2 '"status":"ok"' a.jsonl
expect_file a.json '"relu"'
expect_count 1 '^[a-z_]+(,[a-z_0-9]+)+$' a.csv
expect_count 2 'relu,.*native|relu,.*ref|native.*relu|ref.*relu' a.csv
[ "$(sed 's/"[^"]*"//g' a.csv | awk -F, '{print NF}' | sort -u | wc -l)" -eq 1 ] ||
    fail "rows of the csv differ in length"
expect_file a.md '^\|.*\|$'
expect_file a.txt 'ReLU|relu'
[ -z "$(ls ./*.part 2>/dev/null)" ] || fail "a .part file is left"

say "the comprehensive benchmark's names: both losses are Loss, told apart behind its own keys"
expect_exit 0 "$ASSAY" bench loss swish "${quick[@]}" --impl ref -q -o comprehensive:loss.json
valid_json loss.json
expect_count 2 '"operation": "Loss",' loss.json
expect_count 1 '"operation": "Swish",' loss.json
expect_count 1 '"op": "mse",' loss.json
expect_count 1 '"op": "cross_entropy",' loss.json
expect_count 3 '"time_mean_ms": ' loss.json

say "a format named before the file, and by --format"
expect_exit 0 "${bench[@]}" -o json:b.txt
valid_json b.txt
expect_exit 0 "${bench[@]}" -o c.txt --format jsonl
valid_json c.txt

say "standard output in a format, by --format and by -"
expect_exit 0 "${bench[@]}" -f json
valid_json "$work/out"
expect_no_out 'rows in 1 group'
expect_exit 0 "${bench[@]}" -f jsonl -o -
valid_json "$work/out"
expect_exit 0 "${bench[@]}" -o csv:-
expect_count 1 '^[a-z_]+(,[a-z_0-9]+)+$' "$work/out"

say "with few rounds nothing is said of what they resolve"
expect_exit 0 "$ASSAY" bench relu --batch 2 --seq 3 --dim 5 --cache hot --iters 5 --warmup 1 --impl native,ref -v
expect_out 'kernel  relu_ref'
expect_no_out 'nan|resolves'

say "quiet: nothing on either, only the file"
expect_exit 0 "${bench[@]}" -q -o d.json
expect_out_lines 0
expect_err_lines 0
valid_json d.json

say "quiet, and a failure is still told by the exit code"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" -q --plugin "$ASSAY_PLUGINS/wrong.so" --impl zeros
expect_out_lines 0

say "verbose says more"
expect_exit 0 "${bench[@]}" -v
expect_out 'quartiles|samples|p95|accuracy'

say "in a pipe: no colour, no progress"
expect_exit 0 "${bench[@]}"
expect_no_out $'\033'
expect_no_err $'\033|\r'
expect_err_lines 0

say "ascii: no byte beyond it"
for format in table md; do
    expect_exit 0 "${bench[@]}" --ascii -f $format
    ! LC_ALL=C grep -q $'[\x80-\xff]' "$work/out" || fail "--ascii -f $format has other characters"
done
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --ascii --plugin "$ASSAY_PLUGINS/wrong.so" --impl zeros
! LC_ALL=C grep -q $'[\x80-\xff]' "$work/out" || fail "--ascii has other characters in a failure"

say "an older result survives a run that fails before it measures"
echo old >e.json
expect_exit 2 "${bench[@]}" -o e.json -o /nowhere/x.json
expect_file e.json '^old$'
[ ! -e e.json.part ] || fail "e.json.part is left"

say "in this process the answer is the same"
expect_exit 0 "${bench[@]}" --in-process -o f.jsonl
expect_count 2 '"status":"ok"' f.jsonl

say "a reader that goes away is an error to report, not to die of"
"${bench[@]}" -o g.json 2>"$work/err" | true
valid_json g.json
