#!/usr/bin/env bash
# shellcheck disable=SC2054 # commas in arrays are lists of assay
# Ctrl-C: what is finished is kept and written, and how to go on is said.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
runs=$XDG_DATA_HOME/assay/runs
plan=(relu --batch 1:40:+1 --seq 3 --dim 5 --cache hot --impl ref,native --precision 1e-5 --budget 200ms)

journal_there() { ls "$runs"/*.jsonl >/dev/null 2>&1; }
some_done() { [ "$(cat "$runs"/*.jsonl | grep -c '^{"done":')" -ge "$1" ]; }

# SIGNAL OPTIONS: starts a run, waits until two groups are done, sends the signal, waits for the end.
# A job of a script ignores SIGINT from birth, and so would assay; env gives it back.
interrupt() {
    local signal=$1
    shift
    rm -rf "$runs"
    last_command="interrupted by $signal: $*"
    env --default-signal=INT "$ASSAY" bench "${plan[@]}" "$@" >"$work/out" 2>"$work/err" &
    pid=$!
    started+=("$pid")
    wait_for some_done 2
    kill -"$signal" $pid
}

ended() {
    wait $pid
    code=$?
    [ $code -eq "$1" ] || fail "exit $code, expected $1"
}

env --default-signal=INT true 2>/dev/null || skip "env cannot reset signals here"

for mode in "" --in-process; do
    say "SIGINT ${mode:-with a worker}"
    # shellcheck disable=SC2086
    interrupt INT -o done.json -o done.jsonl $mode
    ended 130
    expect_err '^assay: interrupted$'
    id=$(basename "$runs"/*.jsonl .jsonl)
    expect_err "groups are done; continue with: assay bench --resume $id"
    valid_json done.json
    valid_json done.jsonl
    n=$(cat "$runs"/*.jsonl | grep -c '^{"done":')
    expect_err "$n of 40 groups are done"
    expect_no_out 'mismatch|failed|crashed'
    expect_no_err 'mismatch|failed|crashed'
done

say "what was interrupted can be resumed, and interrupted again"
rows=$(grep -c '"status":"ok"' done.jsonl)
[ "$rows" -ge 4 ] || fail "$rows rows"
env --default-signal=INT "$ASSAY" bench --resume last -q >"$work/out" 2>"$work/err" &
pid=$!
started+=("$pid")
wait_for some_done $((n + 2))
kill -INT $pid
ended 130

say "SIGTERM is the same wish"
interrupt TERM -q
ended 130
expect_err 'continue with: assay bench --resume'

say "a terminal that is closed, too; unless nohup has it ignored"
interrupt HUP -o hup.jsonl
ended 130
expect_err '^assay: interrupted$'
expect_err 'continue with: assay bench --resume'
[ "$(grep -c '"status":"ok"' hup.jsonl)" -ge 4 ] || fail "results are missing"
rm -rf "$runs"
(trap '' HUP && exec "$ASSAY" bench relu --batch 2 --seq 3 --dim 5 --cache hot --impl ref,native --precision 1e-5 \
    --budget 1s -q -o nohup.jsonl) 2>"$work/err" &
pid=$!
started+=("$pid")
wait_for journal_there
kill -HUP $pid
ended 0
expect_count 2 '"status":"ok"' nohup.jsonl

say "a service that is stopped tells all its processes: nothing crashes"
rm -rf "$runs"
"$ASSAY" bench "${plan[@]}" -o service.jsonl >"$work/out" 2>"$work/err" &
pid=$!
started+=("$pid")
wait_for some_done 2
worker=$(grep -ls "^PPid:[[:space:]]*$pid\$" /proc/[0-9]*/status | cut -d/ -f3)
kill -TERM "$worker"
kill -TERM $pid
ended 130
expect_no_out 'crashed'
expect_count 0 '"status":"crashed"' service.jsonl

say "SIGINT twice: at once, even where a kernel hangs"
plan=(relu --batch 2 --seq 3 --dim 5 --cache hot --iters 10 --warmup 1
    --plugin "$ASSAY_PLUGINS/fatal.so" --impl hang --timeout 1h)
rm -rf "$runs"
env --default-signal=INT "$ASSAY" bench "${plan[@]}" >"$work/out" 2>"$work/err" &
pid=$!
started+=("$pid")
wait_for journal_there
sleep 0.5
kill -INT $pid
sleep 0.5
kill -INT $pid
ended 130
expect_err '^assay: interrupted$'

say "interrupted in the only group: still 130"
plan=(relu --batch 2 --seq 3 --dim 5 --cache hot --impl ref,native --precision 1e-5 --budget 1h)
rm -rf "$runs"
env --default-signal=INT "$ASSAY" bench "${plan[@]}" -o only.jsonl >"$work/out" 2>"$work/err" &
pid=$!
started+=("$pid")
wait_for journal_there
sleep 1.5
kill -INT $pid
ended 130
expect_err '0 of 1 groups are done; continue with'
expect_no_out 'mismatch'

say "what is prepared or verified is not waited for: it ends within a second, without a report"
# The reference of this product takes many seconds.
rm -rf "$runs"
env --default-signal=INT "$ASSAY" bench linear --shape 4096x4096x4096 --cache hot --impl ref,native \
    -o nothing.json >"$work/out" 2>"$work/err" &
pid=$!
started+=("$pid")
wait_for journal_there
sleep 1
start=$(date +%s%N)
kill -INT $pid
ended 130
took=$((($(date +%s%N) - start) / 1000000))
[ $took -lt 1000 ] || is_sanitized || fail "it took $took ms to end"
expect_err '0 of 1 groups are done; continue with'
expect_out_lines 0
[ ! -e nothing.json ] || fail "a report of nothing"
