#!/usr/bin/env bash
# A run that was killed is finished by --resume, and nothing is measured twice or lost.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
runs=$XDG_DATA_HOME/assay/runs
# 30 groups of about a tenth of a second each.
plan=(relu --batch 1:30:+1 --seq 3 --dim 5 --cache hot --impl ref --precision 1e-5 --budget 100ms)

count_done() { cat "$runs"/*.jsonl 2>/dev/null | grep -c '^{"done":'; }
some_done() { [ "$(count_done)" -ge 3 ]; }

say "kill -9 in the middle"
"$ASSAY" bench "${plan[@]}" -q -o killed.jsonl >"$work/out" 2>"$work/err" &
pid=$!
started+=("$pid")
wait_for some_done
worker=$(grep -ls "^PPid:[[:space:]]*$pid\$" /proc/[0-9]*/status | cut -d/ -f3)
[ -n "$worker" ] || fail "no worker was started"
kill -9 $pid
wait $pid 2>/dev/null
done_before=$(count_done)
[ "$done_before" -lt 30 ] || fail "it was over before it could be killed"
[ ! -e killed.jsonl ] || fail "an unfinished result took its name"

say "the worker does not outlive it"
no_worker() { ! kill -0 "$worker"; }
wait_for no_worker

say "resume: every group exactly once, and those that were done are not measured again"
cp "$runs"/*.jsonl before.jsonl
expect_exit 0 "$ASSAY" bench --resume last -q -o resumed.jsonl
for batch in $(seq 30); do
    expect_count 1 "\"axes\":{\"batch\":$batch,.*\"status\":\"ok\"" resumed.jsonl
done
done_lines=$(grep -n '^{"done":' before.jsonl | tail -1 | cut -d: -f1)
head -n "$done_lines" before.jsonl | cmp -s - <(head -n "$done_lines" "$runs"/*.jsonl) ||
    fail "the finished part of the journal changed"
[ "$(count_done)" -eq 30 ] || fail "$(count_done) groups are done"

say "resuming what is finished writes the results again and measures nothing"
cp "$runs"/*.jsonl finished.jsonl
id=$(basename "$runs"/*.jsonl .jsonl)
for name in last "$id" "$runs/$id.jsonl"; do
    expect_exit 0 "$ASSAY" bench --resume "$name" -q -o again.jsonl
    cmp -s again.jsonl resumed.jsonl || fail "the results changed"
    cmp -s "$runs/$id.jsonl" finished.jsonl || fail "the journal changed"
done

say "a last line that was cut short is measured again"
lines=$(wc -l <finished.jsonl)
head -c -7 finished.jsonl >"$runs/$id.jsonl"
expect_exit 0 "$ASSAY" bench --resume last -q -o again.jsonl
[ "$(count_done)" -eq 30 ] || fail "$(count_done) groups are done"
[ "$(wc -l <"$runs/$id.jsonl")" -eq "$lines" ] || fail "lines were lost or doubled"

say "a damaged head is an error"
sed '1s/"assay_journal":2/"assay_journal":9/' finished.jsonl >"$runs/$id.jsonl"
expect_exit 2 "$ASSAY" bench --resume last -q
expect_err "$id.jsonl:1: the head of this journal is damaged: its checksum does not fit"
expect_err_lines 1
head -c 300 finished.jsonl >"$runs/$id.jsonl"
expect_exit 2 "$ASSAY" bench --resume last -q
expect_err "$id.jsonl:1: the head of this journal is damaged: it is cut short"
: >"$runs/$id.jsonl"
expect_exit 2 "$ASSAY" bench --resume last -q
expect_err 'is empty; there is nothing to resume'

say "a journal of format 1 is read, and gone on with in its format"
sed -E '1s/"assay_journal":2/"assay_journal":1/; s/(,"records":[0-9]+)?,"seq":[0-9]+,"length":[0-9]+,"crc":"[0-9a-f]{8}"\}$/}/' \
    finished.jsonl | head -n 50 >"$runs/$id.jsonl"
expect_exit 0 "$ASSAY" bench --resume last -q -o old.jsonl
expect_count 30 '"status":"ok"' old.jsonl
expect_count 30 '^\{"done":[0-9]+\}$' "$runs/$id.jsonl"
expect_count 0 '"crc"' "$runs/$id.jsonl"

say "names that are not runs"
expect_exit 2 "$ASSAY" bench --resume 20010101-000000-0000
expect_err 'no run "20010101-000000-0000" in .*; the newest of 1 is '
expect_exit 1 "$ASSAY" bench --resume ./nothing.jsonl
expect_err 'nothing.jsonl: cannot be opened: No such file'

say "without a journal the run goes on, and says so once"
rm -r "$XDG_DATA_HOME"
echo "in the way" >"$XDG_DATA_HOME"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --impl ref
expect_err 'no journal, so this run cannot be resumed'
expect_err_lines 1
expect_out '1 ok'
