# shellcheck shell=bash disable=SC2034
# lib.sh: what the scripts here share; each begins with `. "$(dirname "$0")/lib.sh"`.
#
#   say TEXT                   what is being checked
#   expect_exit CODE CMD...    runs CMD; its output is kept for the checks that follow
#   expect_out PATTERN         a line of standard output matches (extended regular expression)
#   expect_err PATTERN         a line of standard error matches
#   expect_no_out PATTERN      no line does; expect_no_err likewise
#   expect_out_lines N         standard output has so many lines; expect_err_lines likewise
#   expect_usage PATTERN CMD...  exit 2, one line on standard error that matches, no output
#   expect_file FILE PATTERN   a line of the file matches
#   expect_count N PATTERN FILE  so many lines of the file match
#   valid_json FILE            the file is JSON, as far as this machine can tell
#   wait_for COMMAND...        until it succeeds, half a minute at the most
#   seal FILE                  gives a hand-written file of ceilings its checksum (tests/ceilings.sh)
#
# Every script has folders of its own, and ceilings in them that nothing reaches, so that nothing is
# calibrated. $quick are the options of a measurement that takes no time.
set -u
LC_ALL=C.UTF-8 # what the program writes follows from it
export LC_ALL
unset NO_COLOR
: "${ASSAY:?the program under test}" "${ASSAY_PLUGINS:?the folder of the plug-ins}"
# shellcheck source=tests/ceilings.sh
. "$(dirname "${BASH_SOURCE[0]}")/../ceilings.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/assay-cli-XXXXXX")
export HOME=$work XDG_CACHE_HOME=$work/cache XDG_DATA_HOME=$work/data
export ASSAY_LOCK=$work/measuring.lock # scripts run side by side
export ASSAY_CUDA_DRIVER=$work/no_driver # nothing depends on this machine's GPU
started=() # processes to end whatever happens
quick=(--batch 2 --seq 3 --dim 5 --cache hot --iters 10 --warmup 1)
last_command=

clean_up() {
    local pid
    for pid in "${started[@]}"; do
        kill -9 "$pid" 2>/dev/null
    done
    rm -rf "$work"
}
trap clean_up EXIT
cd "$work" || exit 1

say() { echo "- $*"; }

fail() {
    echo "FAILED: $*"
    echo "command: $last_command"
    for stream in out err; do
        echo "--- standard $stream:"
        [ ! -e "$work/$stream" ] || head -c 4000 "$work/$stream"
    done
    exit 1
}

skip() {
    echo "skipped: $*"
    exit 77
}

expect_exit() {
    local code=$1 got
    shift
    last_command=$*
    "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    [ "$got" -eq "$code" ] || fail "exit $got, expected $code"
}

expect_out() { grep -Eq -- "$1" "$work/out" || fail "no line of standard output matches: $1"; }
expect_err() { grep -Eq -- "$1" "$work/err" || fail "no line of standard error matches: $1"; }
expect_no_out() { ! grep -Eq -- "$1" "$work/out" || fail "standard output matches: $1"; }
expect_no_err() { ! grep -Eq -- "$1" "$work/err" || fail "standard error matches: $1"; }
expect_out_lines() { [ "$(wc -l <"$work/out")" -eq "$1" ] || fail "not $1 lines of output"; }
expect_err_lines() { [ "$(wc -l <"$work/err")" -eq "$1" ] || fail "not $1 lines of errors"; }
expect_file() { grep -Eq -- "$2" "$1" || fail "no line of $1 matches: $2"; }

expect_count() {
    local got
    got=$(grep -Ec -- "$2" "$3")
    [ "$got" -eq "$1" ] || fail "$got lines of $3 match, not $1: $2"
}

expect_usage() {
    local pattern=$1
    shift
    expect_exit 2 "$@"
    expect_err "$pattern"
    expect_err_lines 1
    expect_out_lines 0
}

valid_json() {
    if command -v jq >/dev/null; then
        jq -e . "$1" >/dev/null 2>&1 || fail "$1 is not JSON"
    else
        grep -Eq '^[{[]' "$1" && grep -Eq '[]}]$' "$1" || fail "$1 does not look like JSON"
    fi
}

wait_for() {
    local i
    for i in $(seq 300); do
        "$@" 2>/dev/null && return 0
        sleep 0.1
    done
    fail "waited in vain for: $*"
}

# Sanitized programs live under no memory limit.
is_sanitized() { grep -aqE '__(asan|tsan)_init' "$ASSAY"; }

make_ceilings

# Run by itself it checks that its own checks can fail.
if [ "$(basename "$0")" = lib.sh ]; then
    say "a check that should fail does"
    expect_exit 0 echo yes
    (expect_out no) >/dev/null && exit 1
    (expect_err yes) >/dev/null && exit 1
    (expect_no_out yes) >/dev/null && exit 1
    (expect_exit 0 false) >/dev/null && exit 1
    (expect_usage yes echo yes) >/dev/null && exit 1
    (expect_count 2 yes "$work/out") >/dev/null && exit 1
    (valid_json "$work/out") >/dev/null && exit 1
    trap clean_up EXIT
fi
