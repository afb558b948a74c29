#!/usr/bin/env bash
# kill -9 at random moments, of the program and of its worker: after --resume every row is there,
# exactly once, and at most the group in flight was measured again.
# usage: kill.sh [N]   so many times each (default 10, 4 where ASSAY_SAMPLE is set); a run that was over does not count
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154,SC2054
. "$(dirname "$0")/lib.sh"
times=${1:-${ASAN_OPTIONS:+4}} # fewer under sanitizers, where each takes longer
times=${times:-${ASSAY_SAMPLE:+4}}
times=${times:-10}
groups=12
runs=$XDG_DATA_HOME/assay/runs
RANDOM=${SEED:-$$}
plan=(relu --batch "1:$groups:+1" --seq 3 --dim 5 --cache hot --impl ref,native --precision 1e-5 --budget 50ms)

worker_of() { grep -ls "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3; }
count_done() { cat "$runs"/*.jsonl 2>/dev/null | grep -c '^{"done":'; }

# The lines of the journal that finished groups have stay as they are.
finished_part() {
    local last
    last=$(grep -n '^{"done":' "$1" | tail -1 | cut -d: -f1)
    head -n "${last:-1}" "$1"
}

# complete FILE: both rows of each group, once.
complete() {
    local batch
    for batch in $(seq $groups); do
        expect_count 2 "\"axes\":\{\"batch\":$batch,.*\"status\":\"ok\"" "$1"
    done
    expect_count $((2 * groups)) '"status":' "$1"
}

begin() {
    rm -rf "$runs"
    "$ASSAY" bench "${plan[@]}" -q -o rows.jsonl >"$work/out" 2>"$work/err" &
    pid=$!
    started+=("$pid")
    sleep "0.$(printf %03d $((RANDOM % 900)))"
}

n=0 before_begun=0 early=0
say "the program, $times times"
while [ $n -lt "$times" ]; do
    rm -f rows.jsonl
    begin
    last_command="assay bench, killed (time $n)"
    kill -9 $pid 2>/dev/null
    { wait $pid; } 2>/dev/null
    [ ! -e rows.jsonl ] || continue
    n=$((n + 1))
    if ! ls "$runs"/*.jsonl >/dev/null 2>&1; then
        before_begun=$((before_begun + 1))
        continue
    fi
    journal=$(ls "$runs"/*.jsonl)
    done_before=$(count_done)
    [ "$done_before" -gt 0 ] || early=$((early + 1))
    cp "$journal" before
    "$ASSAY" bench --resume last -q -o rows.jsonl >"$work/out" 2>"$work/err"
    code=$?
    if [ $code -eq 2 ]; then # killed while it wrote the head: nothing had been measured
        [ "$done_before" -eq 0 ] || fail "exit 2 with $done_before groups done"
        expect_err 'head of this journal is damaged: it is cut short|is empty|is not a journal'
        continue
    fi
    [ $code -eq 0 ] || fail "exit $code"
    expect_err_lines 0
    complete rows.jsonl
    [ -z "$(ls ./*.part 2>/dev/null)" ] || fail "parts are left"
    finished_part before >kept
    head -n "$(wc -l <kept)" "$journal" | cmp -s - kept || fail "a finished group was measured again"
    [ "$(count_done)" -eq $groups ] || fail "$(count_done) groups are done"
done
echo "  $before_begun before there was a journal, $early more before the first group was done"

n=0 killed=0 restarted=0
say "the worker, $times times"
while [ $n -lt "$times" ]; do
    begin
    last_command="assay bench, its worker killed (time $n)"
    worker=$(worker_of $pid)
    [ -n "$worker" ] && kill -9 "$worker" 2>/dev/null && n=$((n + 1))
    wait $pid
    code=$?
    if [ $code -eq 1 ]; then
        killed=$((killed + 1))
        [ "$(grep -c '"status":"killed"' rows.jsonl)" -eq 1 ] || fail "not one row is killed"
        expect_count 0 '"status":"(crashed|out_of_memory|failed|timeout)"' rows.jsonl
        [ "$(count_done)" -eq $((groups - 1)) ] || fail "$(count_done) groups are done"
        cp "$runs"/*.jsonl before
        expect_exit 0 "$ASSAY" bench --resume last -q -o rows.jsonl
        [ "$(count_done)" -eq $groups ] || fail "$(count_done) groups are done after --resume"
    else
        [ $code -eq 0 ] || fail "exit $code"
        ! grep -q 'begun again' "$work/err" || restarted=$((restarted + 1))
    fi
    complete rows.jsonl
done
echo "  $killed times a row was killed and measured by --resume, $restarted times the group begun again at once"
