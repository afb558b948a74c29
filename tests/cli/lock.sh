#!/usr/bin/env bash
# Two runs at once would disturb each other: the second says so, or waits.
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
