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

say "files that may not grow (ulimit -f): an error, what was measured is kept, and the run goes on later"
rm -rf "$runs"
echo old >limited.jsonl
(
    ulimit -f 16 # KiB
    expect_exit 1 "$ASSAY" bench relu --batch 1:20:+1 --seq 3 --dim 5 --cache hot --iters 10 --warmup 1 \
        --impl ref,native -o limited.jsonl
) || exit 1
expect_err 'jsonl: cannot be written: File too large; make room and continue with --resume'
expect_err '[1-9][0-9]* of 20 groups are done; continue with: assay bench --resume'
[ "$(cat limited.jsonl)" = old ] || [ "$(grep -c '"status":"ok"' limited.jsonl)" -ge 2 ] || fail "half a report"
[ -z "$(ls ./*.part 2>/dev/null)" ] || fail "a .part file is left"
expect_exit 0 "$ASSAY" bench --resume last -q -o limited.jsonl
expect_count 40 '"status":"ok"' limited.jsonl
expect_err_lines 0

say "the file a report is made in is its own: no link is followed, no other file taken"
ln -s "$work/victim" linked.jsonl.part
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --impl ref -q -o linked.jsonl
expect_count 1 '"status":"ok"' linked.jsonl
[ ! -e "$work/victim" ] || fail "a link was followed"
touch linked.jsonl.1-2f.part linked.jsonl.2-3f.part
if flock --no-fork linked.jsonl.2-3f.part true 2>/dev/null; then
    flock --no-fork linked.jsonl.2-3f.part sleep 60 &
    started+=($!)
    is_locked() { ! flock -n linked.jsonl.2-3f.part true; }
    wait_for is_locked
    expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --impl ref -q -o linked.jsonl
    [ ! -e linked.jsonl.1-2f.part ] || fail "what a killed run left is still there"
    [ -e linked.jsonl.2-3f.part ] || fail "what another run is writing was removed"
    [ "$(ls linked.jsonl.*-*.part)" = linked.jsonl.2-3f.part ] || fail "a part is left"
fi

say "a journal that cannot grow: the run ends, and goes on when there is room"
mkdir -p "$work/small" && mount -t tmpfs -o size=16k tmpfs "$work/small" 2>/dev/null || {
    say "  not checked: no tmpfs can be mounted here"
    exit 0
}
trap 'umount "$work/small"; clean_up' EXIT
export XDG_DATA_HOME=$work/small
expect_exit 1 "$ASSAY" bench relu --batch 1:20:+1 --seq 3 --dim 5 --cache hot --iters 10 --warmup 1 --impl ref,native
expect_err 'cannot be written: No space left on device; make room and continue with --resume'
expect_err 'of 20 groups are done; continue with: assay bench --resume'
mount -o remount,size=10m "$work/small" || fail "no room can be made"
expect_exit 0 "$ASSAY" bench --resume last -q -o rows.jsonl
expect_count 40 '"status":"ok"' rows.jsonl

say "a ceilings cache that cannot be written is no failure"
mount -o remount,ro "$work/small" || exit 0
XDG_CACHE_HOME=$work/small XDG_DATA_HOME=$work/data expect_exit 0 "$ASSAY" list ops
