#!/usr/bin/env bash
# A disk that is full: the message says so, and what was measured is not lost.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
runs=$XDG_DATA_HOME/assay/runs

say "an output that cannot be written"
[ -c /dev/full ] || skip "no /dev/full"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --impl ref -o json:/dev/full
expect_err '/dev/full: cannot be written: No space left on device'
expect_err 'nothing is lost; write the results again with: assay bench --resume'
expect_out '1 ok'
id=$(basename "$runs"/*.jsonl .jsonl)
expect_exit 0 "$ASSAY" bench --resume "$id" -q -o again.json
valid_json again.json

say "standard output that cannot be written"
last_command="assay bench > /dev/full"
"$ASSAY" bench relu "${quick[@]}" --impl ref >/dev/full 2>"$work/err"
code=$?
[ $code -eq 1 ] || fail "exit $code"
expect_err 'standard output: cannot be written: No space left on device'

say "nor can a list, the help and the version"
for words in "list ops" "help" "bench --help" "--version" "info"; do
    last_command="assay $words > /dev/full"
    # shellcheck disable=SC2086
    "$ASSAY" $words >/dev/full 2>"$work/err"
    code=$?
    [ $code -eq 1 ] || fail "exit $code"
    expect_err 'standard output: cannot be written'
done

say "streams that came closed are not taken for files"
last_command="assay bench with closed streams"
"$ASSAY" bench relu "${quick[@]}" --impl ref -q -o closed.jsonl >&- <&- 2>&- || fail "exit $?"
expect_count 1 '"status":"ok"' closed.jsonl
"$ASSAY" bench relu "${quick[@]}" --impl ref -o closed.jsonl >&- 2>"$work/err"
code=$?
[ $code -eq 1 ] || fail "exit $code"
expect_err 'standard output: cannot be written: Bad file descriptor'
expect_count 1 '"status":"ok"' closed.jsonl

say "a journal that cannot grow: the run ends, and goes on when there is room"
mkdir -p "$work/small" && mount -t tmpfs -o size=16k tmpfs "$work/small" 2>/dev/null || {
    say "  not checked: no tmpfs can be mounted here"
    exit 0
}
trap 'umount "$work/small"; clean_up' EXIT
export XDG_DATA_HOME=$work/small
expect_exit 1 "$ASSAY" bench relu --batch 1:20:+1 --seq 3 --dim 5 --cache hot --iters 10 --warmup 1 --impl ref,native
expect_err 'cannot be written: No space left on device; make room and go on with --resume'
expect_err 'of 20 groups are done; go on with: assay bench --resume'
mount -o remount,size=10m "$work/small" || fail "no room can be made"
expect_exit 0 "$ASSAY" bench --resume last -q -o rows.jsonl
expect_count 40 '"status":"ok"' rows.jsonl

say "a ceilings cache that cannot be written is no failure"
mount -o remount,ro "$work/small" || exit 0
XDG_CACHE_HOME=$work/small XDG_DATA_HOME=$work/data expect_exit 0 "$ASSAY" list ops
