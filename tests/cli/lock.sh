#!/usr/bin/env bash
# Two runs at once would disturb each other: the second says so, or waits. Whoever starts it, and
# whatever folders it uses.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
long=(relu --batch 2 --seq 3 --dim 5 --cache hot --impl ref --precision 1e-5 --budget 1h)

is_measuring() { ls "$XDG_DATA_HOME"/assay/runs/*.jsonl; }

"$ASSAY" bench "${long[@]}" -q >"$work/first" 2>&1 &
first=$!
started+=("$first")
wait_for is_measuring >/dev/null

say "the second is refused, and told who is measuring"
expect_exit 3 "$ASSAY" bench relu "${quick[@]}"
expect_err "another run \(process $first\) is measuring.*--wait"
expect_err_lines 1
expect_out_lines 0

say "what does not measure is not"
expect_exit 0 "$ASSAY" list ops
expect_exit 0 "$ASSAY" info

say "with --wait it waits"
"$ASSAY" bench relu "${quick[@]}" --impl ref --wait >"$work/out" 2>"$work/err" &
second=$!
started+=("$second")
wait_for grep -q "waiting for another run to end (process $first)" "$work/err"
sleep 0.3
kill -0 $second || fail "it did not wait"
kill -9 $first
wait $first 2>/dev/null
wait $second || fail "exit $? after waiting"
expect_out '1 ok'

say "one journal is gone on with by one process"
runs=$XDG_DATA_HOME/assay/runs
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --impl ref -q
journal=$(ls -t "$runs"/*.jsonl | head -n 1)
if flock --no-fork "$journal" true 2>/dev/null; then
    cp "$journal" before
    flock --no-fork -x "$journal" sleep 60 &
    holder=$!
    started+=("$holder")
    is_locked() { ! flock -n -x "$journal" true; }
    wait_for is_locked
    expect_exit 3 "$ASSAY" bench --resume "$journal" -q
    expect_err "^assay: $journal: process $holder is continuing this run; wait until it ends"
    cmp -s "$journal" before || fail "the journal changed"
    kill $holder
    wait $holder 2>/dev/null
    is_free() { ! is_locked; }
    wait_for is_free
fi
expect_exit 0 "$ASSAY" bench --resume "$journal" -q

say "two that resume it at once: one does, and the report is complete"
head -n 1 "$journal" >begun.jsonl && cp begun.jsonl "$journal"
"$ASSAY" bench --resume "$journal" -q -o one.jsonl 2>one.err &
one=$!
"$ASSAY" bench --resume "$journal" -q -o two.jsonl 2>two.err &
two=$!
wait $one
codes=$?
wait $two
codes="$codes $?"
case $codes in
"0 3" | "3 0") cat one.err two.err >"$work/err" && expect_err "another run \(process ($one|$two)\) is measuring" ;;
"0 0") ;; # one after the other
*) fail "exit $codes" ;;
esac
expect_exit 0 "$ASSAY" bench --resume "$journal" -q -o rows.jsonl
expect_count 1 '"status":"ok"' rows.jsonl
expect_err_lines 0

say "a lock that cannot be had is told of, and measuring goes on"
expect_exit 0 env ASSAY_LOCK="$work/no/such/folder" "$ASSAY" bench relu "${quick[@]}" --impl ref -q
expect_err 'nothing keeps another run from measuring at the same time: no lock can be had: No such file'
ln -s "$work/victim" "$work/link"
expect_exit 0 env ASSAY_LOCK="$work/link" "$ASSAY" bench relu "${quick[@]}" --impl ref -q
expect_err 'no lock can be had'
[ ! -e "$work/victim" ] || fail "a link was followed"

# The machine's own lock. Somebody else may be measuring here: then that is whom it names.
say "without ASSAY_LOCK it is the machine's, whatever the cache folder is"
unset ASSAY_LOCK
rm -rf "$runs"
"$ASSAY" bench "${long[@]}" -q --wait >"$work/first" 2>&1 &
first=$!
started+=("$first")
is_measuring_or_waits() { is_measuring || grep -q waiting "$work/first"; }
wait_for is_measuring_or_waits >/dev/null
expect_exit 3 env XDG_CACHE_HOME="$work/other" HOME=/nonexistent "$ASSAY" bench relu "${quick[@]}" --impl ref
expect_err 'another run \(process [0-9]+\) is measuring.*--wait'
grep -q waiting "$work/first" || expect_err "another run \(process $first\)"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && ! grep -q waiting "$work/first"; then
    say "another user, without a folder to write to, is told the same"
    chmod 755 "$work"
    last_command="assay as another user"
    setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent XDG_CACHE_HOME=/nonexistent \
        XDG_DATA_HOME=/nonexistent "$ASSAY" bench relu "${quick[@]}" --impl ref >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq 3 ] || [ $code -eq 126 ] || [ $code -eq 127 ] || fail "exit $code" # or it may not even run it
    [ $code -ne 3 ] || expect_err "another run \(process $first\) is measuring"
fi
kill -9 $first
{ wait $first; } 2>/dev/null || true
