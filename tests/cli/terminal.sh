#!/usr/bin/env bash
# What is only seen on a terminal: colour and progress.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
command -v script >/dev/null || skip "no script(1) to make a terminal with"
# Long enough to be drawn at least once.
bench="$ASSAY bench relu --batch 2 --seq 3 --dim 5,6 --cache hot --iters 20 --warmup 1 --impl native,ref"

on_terminal() {
    last_command=$*
    script -qec "$*" /dev/null >"$work/out" 2>"$work/err" </dev/null || fail "exit $?"
}

export TERM=xterm
say "progress and colour"
on_terminal "$bench"
expect_out '\[1/2\] relu 2x3x5 f32'
expect_out '\[2/2\] relu 2x3x6 f32'
expect_out $'\033\\[[0-9;]+m'

say "NO_COLOR is heard, an empty one is not; a dumb terminal has none"
on_terminal "NO_COLOR=1 $bench"
expect_no_out $'\033\\[[0-9;]+m'
on_terminal "NO_COLOR= $bench"
expect_out $'\033\\[[0-9;]+m'
on_terminal "TERM=dumb $bench"
expect_no_out $'\033\\[[0-9;]+m'

say "quiet is quiet"
on_terminal "$bench -q"
[ ! -s "$work/out" ] || fail "something was printed"
