#!/usr/bin/env bash
# The samples in a record: as many as were taken, or one of each few, and those the figures are of.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154,SC2016
. "$(dirname "$0")/lib.sh"

# figures FILE: of each measurement in JSON lines "n median every kept median_of_kept disturbed kept_disturbed"
figures() {
    grep -o '"n":[0-9]*,"calls_per_sample.*' "$1" | sed 's/"n":[0-9]*,"calls_per_sample/\n&/g' | awk '
        function number(key) { return match($0, "\"" key "\":[0-9.e+-]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "none" }
        function list(key, to) {
            if (!match($0, "\"" key "\":\\[[^]]*\\]")) return -1
            return split(substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5), to, ",")
        }
        /^"n":/ {
            kept = list("ns", ns)
            marked = list("disturbed", marks)
            for (i = 2; i <= kept; i++) {
                v = ns[i] + 0
                for (j = i - 1; j >= 1 && ns[j] + 0 > v; j--) ns[j + 1] = ns[j]
                ns[j + 1] = v
            }
            median = kept % 2 ? ns[(kept + 1) / 2] : (ns[kept / 2] + ns[kept / 2 + 1]) / 2
            print number("n"), number("median_ns"), number("every"), kept, median, number("disturbed"), marked
        }'
}

say "up to 128 samples are all there, hot and cold, and their median is the median"
expect_exit 0 "$ASSAY" bench relu gelu --impl native,ref --batch 2 --seq 3 --dim 5 --iters 21 --warmup 1 -q -f jsonl -o few.jsonl
figures few.jsonl >few.txt
[ "$(wc -l <few.txt)" = 8 ] || fail "$(wc -l <few.txt) measurements with samples, not 8"
awk '$1 != 21 || $3 != 1 || $4 != 21 { exit 1 }
    { off = $5 / $2 - 1; if (off > 5.1e-5 || off < -5.1e-5) exit 1 }
    $6 != $7 { exit 1 }' few.txt || fail "samples and figures differ: $(cat few.txt)"

say "of more, one of each few in a row"
expect_exit 0 "$ASSAY" bench relu --impl native --batch 2 --seq 3 --dim 5 --cache hot --iters 300 --warmup 1 -q -f jsonl -o many.jsonl
figures many.jsonl >many.txt
[ "$(awk '{ print $1, $3, $4 }' many.txt)" = "300 3 100" ] || fail "kept: $(cat many.txt)"

say "a journal has them, too"
expect_exit 0 "$ASSAY" show last -f jsonl
figures "$work/out" | diff - many.txt || fail "the journal has others"

say "a record whose samples are damaged is named, and so is the place"
journal=$XDG_DATA_HOME/assay/runs/$("$ASSAY" list runs --names | head -n 1).jsonl
sed -E '1s/"assay_journal":2/"assay_journal":1/; s/(,"records":[0-9]+)?,"seq":[0-9]+,"length":[0-9]+,"crc":"[0-9a-f]{8}"\}$/}/' "$journal" >plain
expect_exit 0 "$ASSAY" show ./plain -q
sed 's/"disturbed":\[[^]]*\]/"disturbed":[300]/' plain >worse
expect_exit 1 "$ASSAY" show ./worse -q
expect_err 'worse:2: field "hot.samples.disturbed\[0\]" is not the index of a sample'
sed 's/"samples":{"every":3,"ns":\[/&-1,/' plain >worse
expect_exit 1 "$ASSAY" show ./worse -q
expect_err 'worse:2: field "hot.samples.ns\[0\]" is not a time'
sed 's/"samples":{[^}]*},\{0,1\}//; s/,}/}/g' plain >older
expect_exit 0 "$ASSAY" show ./older -f jsonl
expect_no_out '"samples"'
expect_out '"median_ns"'

say "one row in full, its samples as numbers or drawn"
id=$("$ASSAY" list runs --names | tail -n 1) # the first run: two groups of two
expect_exit 0 "$ASSAY" show "$id" --row 3
expect_out '^gelu batch=2 seq=3 dim=5 f32 · (ref|native)$'
expect_count 1 '^gelu ' "$work/out"
expect_no_out '^relu '
expect_out '^    check +30 of 30 elements'
expect_count 2 '^    samples (hot|cold) · in [nmu]*s, in order' "$work/out"
[ "$(sed -n '/samples hot/,/samples cold/p' "$work/out" | grep -v samples | wc -w)" = 21 ] || fail "not 21 samples"
expect_exit 0 "$ASSAY" show "$id" --row 3 --plot
expect_count 2 '^    samples (hot|cold) · 21 samples' "$work/out"
expect_count 2 '─┼|┼─' "$work/out"
expect_out '█'
COLUMNS=70 expect_exit 0 "$ASSAY" show "$id" --row 3 --plot
[ "$(wc -L <"$work/out")" -le 70 ] || fail "wider than 70 columns"
LC_ALL=C expect_exit 0 "$ASSAY" show "$id" --row 3 --plot
expect_out '###'
! LC_ALL=C grep -q $'[\x80-\xff]' "$work/out" || fail "not in ASCII"
expect_exit 0 "$ASSAY" show "$id" --row 4 -f jsonl
expect_out_lines 2
expect_out '"group":1,"variant":1'
expect_exit 0 "$ASSAY" show "$id" -f detail
expect_count 8 '^    samples ' "$work/out"
expect_usage '--row: 5: this run has 4 rows' "$ASSAY" show "$id" --row 5
expect_usage '--row' "$ASSAY" show "$id" --row 0
expect_exit 0 "$ASSAY" show ./older --row 1 --plot
expect_no_out 'samples hot'

say "the exit code is that of the row"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin "$ASSAY_PLUGINS/wrong.so" --impl zeros,ref -q
expect_exit 1 "$ASSAY" show last
wrong=$("$ASSAY" show last -f csv | awk -F, 'NR > 1 && $12 == "mismatch" { print NR - 1 }')
expect_exit 1 "$ASSAY" show last --row "$wrong"
expect_out '✗ mismatch: '
expect_exit 0 "$ASSAY" show last --row $((3 - wrong))
