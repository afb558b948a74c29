#!/usr/bin/env bash
# Earlier runs: listed, and shown again from their journals alone.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154,SC2012,SC2016
. "$(dirname "$0")/lib.sh"
runs=$XDG_DATA_HOME/assay/runs
newest() { basename "$(ls -t "$runs"/2*.jsonl | head -1)" .jsonl; }

say "no runs yet"
expect_exit 0 "$ASSAY" list runs
expect_out "There are no runs yet in $runs"
expect_exit 0 "$ASSAY" list runs --names
expect_out_lines 0
expect_usage "there are no runs in $runs" "$ASSAY" show last
expect_usage 'show takes one run' "$ASSAY" show
expect_usage 'show takes one run' "$ASSAY" show last last~1
[ ! -e "$XDG_DATA_HOME" ] || fail "looking made a folder"

say "a run is shown as it was, in every format"
expect_exit 0 "$ASSAY" bench relu gelu "${quick[@]}" -o first.json -o first.jsonl -o first.csv -o first.md
first=$(newest)
cp "$work/out" first.txt
expect_exit 0 "$ASSAY" show last
cmp -s "$work/out" first.txt || fail "the table is another one"
expect_err_lines 0
for format in json jsonl csv md; do
    expect_exit 0 "$ASSAY" show last -f $format
    cmp -s "$work/out" first.$format || fail "$format is another one"
done
expect_exit 0 "$ASSAY" show last -q -o again.json -o comprehensive:again.txt
cmp -s again.json first.json || fail "the file is another one"
expect_file again.txt '"time_ms"'
expect_out_lines 0
expect_exit 0 "$ASSAY" show "$first" --verbose
expect_out 'relu_'

say "the table is that of the command that measured"
sleep 1.1 # of runs of one second the one that was written last is the newest, also by --resume
expect_exit 0 "$ASSAY" preset norm --device cpu --warmup 1 --iters 3 --dtype f32 -q -f json -o presets.json
second=$(newest)
expect_exit 0 "$ASSAY" show last
expect_out 'mean_ms'

say "ids, beginnings of ids, last, last~1, paths"
[ "$first" != "$second" ] || fail "two runs have one id"
expect_exit 0 "$ASSAY" show last~1 -f json
cmp -s "$work/out" first.json || fail "last~1 is another run"
expect_exit 0 "$ASSAY" show "${first%??}" -f json
cmp -s "$work/out" first.json || fail "a beginning is another run"
expect_exit 0 "$ASSAY" show "$runs/$first.jsonl" -f json
cmp -s "$work/out" first.json || fail "a path is another run"
expect_usage '2 runs begin with "2", the newest is "'"$second"'"; `assay list runs` shows them' "$ASSAY" show 2
expect_usage '"last~2" is more than there are: 2 runs in' "$ASSAY" show last~2
expect_usage 'no run "last~x" in .*; the newest of 2 is "'"$second" "$ASSAY" show last~x
expect_usage 'no run "19" in' "$ASSAY" show 19
expect_exit 0 "$ASSAY" show ./first.json -f json
cmp -s "$work/out" first.json || fail "a file of its records is another run"
expect_usage 'unknown format "jsn"; did you mean "json"' "$ASSAY" show last -f jsn
expect_exit 0 "$ASSAY" bench --resume "${first%??}" -f json
cmp -s "$work/out" first.json || fail "--resume does not know the beginning of an id"

say "the list, newest first"
expect_exit 0 "$ASSAY" list runs
expect_out_lines 6
expect_out "^$first +20[0-9-]+ [0-9:]+ +2/2 +[0-9.]+ kB +cpu +assay bench relu gelu --batch 2 "
sed -n 2p "$work/out" | grep -q "^$second " || fail "the newest is not the first"
expect_out '`assay show RUN` prints one again'
expect_no_out 'Go on with'
expect_err_lines 0
expect_exit 0 "$ASSAY" list runs --names
[ "$(tr '\n' ' ' <"$work/out")" = "$second $first " ] || fail "the names are others"

say "half a run: how much is missing, and no longer file is replaced"
journal=$runs/$first.jsonl
cp "$journal" whole
head -n "$(grep -n '^{"done"' whole | head -1 | cut -d: -f1)" whole >"$journal"
expect_exit 0 "$ASSAY" show "$first" -o first.json
expect_out '4 rows in 1 group|3 rows in 1 group'
expect_err "1 of 2 groups are missing; measure them with: assay bench --resume $first"
expect_err 'first.json: holds more than there is now'
cmp -s first.json again.json || fail "half a run replaced a whole one"
expect_exit 0 "$ASSAY" list runs
expect_out "^$first .* 1/2 "
expect_out "^Go on with the newest that is not done: assay bench --resume $first$"

say "damage, foreign files: named, and the others are listed"
sed '3s/relu/rexu/' whole >"$journal"
cp whole "$runs/notes.jsonl"
echo hello >"$runs/notes.txt"
head -c 100 whole >"$runs/20200101-000000-abcd.jsonl"
: >"$runs/20200101-000000-ffff.jsonl"
expect_exit 0 "$ASSAY" list runs
expect_out "^$second .* [0-9]+/[0-9]+ "
expect_out "^ +[12] lines? (is|are) damaged"
expect_out '^20200101-000000-abcd +the head of this journal is damaged: it is cut short'
expect_out '^20200101-000000-ffff +is empty'
expect_err "$runs: written by no run: notes.(jsonl|txt), notes.(jsonl|txt)$"
expect_exit 1 "$ASSAY" show "$first"
expect_err "$first.jsonl:3: "
expect_err '1 of 2 groups are missing'
expect_usage 'the head of this journal is damaged' "$ASSAY" show 20200101-000000-a
expect_usage 'is empty' "$ASSAY" show 20200101-000000-f
expect_exit 0 "$ASSAY" show notes -f json
cmp -s "$work/out" again.json || fail "a journal of another name is not read"
rm "$runs"/2020* "$runs"/notes*
cp whole "$journal"

say "a run of another machine: no device is opened"
sed -E '1s/"assay_journal":2/"assay_journal":1/; s/(,"records":[0-9]+)?,"seq":[0-9]+,"length":[0-9]+,"crc":"[0-9a-f]{8}"\}$/}/
    s/"device":"cpu"/"device":"cuda:7"/g; s/"device_name":"[^"]*"/"device_name":"NVIDIA X900"/' whole >elsewhere.jsonl
expect_exit 0 "$ASSAY" show ./elsewhere.jsonl
expect_out 'NVIDIA X900'
expect_out '^relu '
expect_err_lines 0

say "a row that is wrong is wrong again"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin "$ASSAY_PLUGINS/wrong.so" --impl zeros -q
expect_exit 1 "$ASSAY" show last
expect_out 'mismatch: '
expect_err_lines 0

say "a file that cannot be written"
expect_exit 2 "$ASSAY" show last -o no/such/folder/x.json
expect_err 'no/such/folder/x.json: cannot be written'
