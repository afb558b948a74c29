#!/usr/bin/env bash
# Two runs, or files of results, side by side: verdicts, the gate, and what is not to be compared.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154,SC2086
. "$(dirname "$0")/lib.sh"

# change FILE FACTOR PATTERN: of the JSON lines, each row's figures are made known to 0.5 %, at
# 1 ms for the first row, 2 ms for the second and so on; in lines that match the pattern FACTOR
# times that.
change() {
    awk -v factor="$2" -v pattern="$3" '
    /"median_ns":/ {
        ns = 1000000 * ++row * ($0 ~ pattern ? factor : 1)
        sub(/"disturbed":[0-9]+/, "\"disturbed\":0")
        sub(/"near_floor":[0-9]+/, "\"near_floor\":0")
        sub(/"n":[0-9]+/, "\"n\":100")
        sub(/"median_ns":[0-9.e+]+/, "\"median_ns\":" ns ".0")
        sub(/"median_ci_ns":\[[^]]*\]/, "\"median_ci_ns\":[" 0.995 * ns "," 1.005 * ns "]")
    }
    { print }' CONVFMT=%.12g OFMT=%.12g "$1"
}

expect_exit 0 "$ASSAY" bench relu gelu silu "${quick[@]}" --impl ref,native --no-ceiling -q -o first.jsonl -o first.json -o first.csv
expect_exit 0 "$ASSAY" bench relu gelu silu "${quick[@]}" --impl ref,native --no-ceiling -q -o second.jsonl
change first.jsonl 1 nothing >old.jsonl
change second.jsonl 1 nothing >same.jsonl
change second.jsonl 1.2 '"gelu_(avx|portable)' >slower.jsonl
change second.jsonl 0.8 '"op":"silu"' >faster.jsonl

say "a run and itself are the same, in whatever form"
for pair in "last last" "first.json first.jsonl" "last~1 first.json" "first.json first.csv" "first.csv first.csv"; do
    expect_exit 0 "$ASSAY" compare $pair --fail-slower 0%
    expect_out '^6 rows: 6 same$'
    expect_no_out 'unclear|slower$|another'
    expect_err_lines 0
done
expect_exit 0 "$ASSAY" compare last last
expect_out 'both are the same run'

say "two runs that were measured"
expect_exit 0 "$ASSAY" compare last~1 last
expect_out '^6 rows: '
expect_no_out 'both are'
expect_out '^old  20[0-9-]+-[0-9a-f]{4} · assay '
expect_exit 0 "$ASSAY" compare last~1 last --ascii
expect_out '^old  20[0-9-]+-[0-9a-f]{4} . assay '

say "figures within luck are the same"
expect_exit 0 "$ASSAY" compare old.jsonl same.jsonl --fail-slower 1%
expect_out '^6 rows: 6 same$'

say "slower by 20 %: found, and allowed or not"
expect_exit 0 "$ASSAY" compare old.jsonl slower.jsonl
expect_out '^6 rows: 1 slower, 5 same$'
expect_out '^  native gelu_[a-z0-9_]+ +hot +[0-9.]+ ms +[0-9.]+ ms  1.20x slower \[1.19 1.21\] +slower$'
expect_exit 4 "$ASSAY" compare old.jsonl slower.jsonl --fail-slower 5%
expect_out ' slower, fails$'
expect_err '^assay: 1 row fails: slower by more than 5%, wrong, or gone$'
expect_exit 4 "$ASSAY" compare old.jsonl slower.jsonl --fail-slower=0.19 -f csv
expect_count 1 '^slower,true,gelu,' "$work/out"
expect_exit 0 "$ASSAY" compare old.jsonl slower.jsonl --fail-slower 25%
expect_exit 0 "$ASSAY" compare old.jsonl faster.jsonl --fail-slower 0%
expect_out '^6 rows: 2 faster, 4 same$'
expect_out ' 1.25x \[1.24 1.26\] +faster$'

say "the same with journals and other formats beside it"
grep -v '"silu"' slower.jsonl >part.jsonl
expect_exit 4 "$ASSAY" compare old.jsonl part.jsonl --fail-slower 5%
expect_out '^6 rows: 1 slower, 3 same, 2 only in old$'
expect_out 'only in old, fails'
expect_exit 0 "$ASSAY" compare part.jsonl same.jsonl
expect_out '2 only in new$'
expect_out '^silu batch=2 seq=3 dim=5 f32$'

say "rows that became wrong"
sed -E 's/("op":"gelu".*)"status":"ok","reason":""/\1"status":"mismatch","reason":"3 of 30 wrong"/' same.jsonl >wrong.jsonl
expect_exit 0 "$ASSAY" compare old.jsonl wrong.jsonl
expect_out 'now wrong +mismatch: 3 of 30 wrong|mismatch: 3 of 30 wrong'
expect_exit 4 "$ASSAY" compare old.jsonl wrong.jsonl --fail-slower 50%
expect_err '2 rows fail'
expect_exit 0 "$ASSAY" compare wrong.jsonl old.jsonl --fail-slower 50%
expect_out '2 mended'

say "another machine, version, number of threads, method"
sed -E '1s/"device_name":"[^"]*"/"device_name":"Another CPU"/; 1s/"version":"[^"]*"/"version":"9.9.9"/
    1s/"rounds":10/"rounds":50/; s/"threads":[0-9]+/"threads":64/' same.jsonl >elsewhere.jsonl
expect_exit 0 "$ASSAY" compare old.jsonl elsewhere.jsonl
expect_out '^     another machine: .*, then Another CPU'
expect_out 'another number of threads: [0-9]+, then 64'
expect_out 'another version of assay: [0-9.]+, then 9.9.9'
expect_out 'another number of samples: 10, then 50'
expect_out '^6 rows: 6 same$'

say "formats with less in them"
for format in comprehensive kobench-json; do
    expect_exit 0 "$ASSAY" show last -q -o $format:new.$format
    expect_exit 0 "$ASSAY" compare last~1 new.$format --fail-slower 1%
    expect_out "$format holds (means|times) without intervals"
    expect_out '^6 rows: 6 unclear$'
    expect_err '^assay: 6 rows have no interval, and cannot fail$'
done
expect_exit 0 "$ASSAY" compare new.comprehensive new.comprehensive
expect_out '6 same'
expect_usage 'new.comprehensive is comprehensive and first.csv is csv, which have too little in common' \
    "$ASSAY" compare new.comprehensive first.csv
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --dtype f32,bf16 --impl native -q -o comprehensive:two.json
expect_exit 2 "$ASSAY" compare two.json last
expect_err 'no row of two.json is in'

say "output: Markdown, JSON, CSV, files"
expect_exit 4 "$ASSAY" compare old.jsonl slower.jsonl --fail-slower 5% -o out.md -o out.json -o out.csv -o out.txt
expect_out '^6 rows: 1 slower, 5 same$'
valid_json out.json
expect_file out.json '"verdict": "slower"'
expect_file out.json '"failing": 1'
expect_file out.md '^\| gelu batch=2 seq=3 dim=5 f32 \| native .*\| 1.20x slower \\\[1.19 1.21\\\] \| slower, fails \|'
expect_count 7 , out.csv
cmp -s "$work/out" out.txt || fail "the file's table is another one"
expect_exit 0 "$ASSAY" compare old.jsonl slower.jsonl -f json
valid_json "$work/out"
expect_usage 'unknown format "xml" of a comparison; there are table, json, csv, md' "$ASSAY" compare last last -f xml
expect_exit 1 "$ASSAY" compare last last -o no/such/out.md
expect_err 'no/such/out.md'

say "nothing to compare, damaged, empty and foreign files"
expect_usage 'compare takes two runs or files of results, the older one first' "$ASSAY" compare
expect_usage 'compare takes two runs' "$ASSAY" compare last last last
expect_usage '--fail-slower takes a fraction such as 1%' "$ASSAY" compare last last --fail-slower much
expect_usage '--fail-slower ' "$ASSAY" compare last last --fail-slower 5
expect_usage 'no run "20010101"' "$ASSAY" compare 20010101 last
expect_usage 'nothing.json: there is no such file' "$ASSAY" compare nothing.json last
grep -v '"op":"[gs]' old.jsonl >relu.jsonl
grep -v '"op":"[rs]' old.jsonl >gelu.jsonl
expect_usage 'no row of relu.jsonl is in gelu.jsonl: nothing to compare; the first has relu .*, the second gelu' \
    "$ASSAY" compare relu.jsonl gelu.jsonl
: >empty.json
echo '[]' >none.json
head -n 1 old.jsonl >head.jsonl
echo '<svg>' >picture.svg
head -c 3000 first.json >cut.json
{ sed -n 1,2p first.csv && sed -n 3p first.csv | head -c 60; } >cut.csv
sed '3s/"op"/"ap"/' old.jsonl >damaged.jsonl
expect_usage 'empty.json: is empty' "$ASSAY" compare empty.json last
expect_usage 'none.json: holds no results' "$ASSAY" compare last none.json
expect_usage 'head.jsonl: holds no results' "$ASSAY" compare last head.jsonl
expect_usage 'picture.svg: holds no results that can be read back' "$ASSAY" compare picture.svg last
expect_usage 'cut.json:[0-9]+' "$ASSAY" compare cut.json last
expect_usage 'cut.csv:[0-9]+: ' "$ASSAY" compare cut.csv last
expect_usage 'damaged.jsonl:3: field "op" is missing' "$ASSAY" compare damaged.jsonl last
expect_usage 'is not a file' "$ASSAY" compare / last
expect_usage 'is not a file' "$ASSAY" compare /dev/zero last

say "half a run, and a damaged journal"
id=$("$ASSAY" list runs --names | sed -n 3p)
journal=$XDG_DATA_HOME/assay/runs/$id.jsonl
cp "$journal" whole
head -n "$(grep -n '^{"done"' whole | sed -n 2p | cut -d: -f1)" whole >"$journal"
expect_exit 4 "$ASSAY" compare first.json "$id" --fail-slower 1%
expect_out 'the new run is not finished: 1 of 3 groups are missing'
expect_out '^6 rows: 4 same, 2 only in old$'
sed '3s/"op"/"ap"/' whole >"$journal"
expect_exit 0 "$ASSAY" compare first.json "$id"
expect_err "$id.jsonl:3: "
expect_out '2 only in old$'
