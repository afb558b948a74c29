#!/usr/bin/env bash
# Failed allocations and system calls, a sample of them: the right result or a clean error, never a wrong
# result. tools/sweep-failures makes every one fail.
# Not under sanitizers: they bring an allocator of their own, which nothing may come before.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

sweep=$ASSAY_SOURCE_DIR/tools/sweep-failures
sample() {
    last_command="tools/sweep-failures $*"
    CC=$ASSAY_CC "$sweep" --program "$ASSAY" "$@" >"$work/out" 2>"$work/err"
    local code=$?
    cat "$work/out"
    [ $code -ne 77 ] || skip "nothing can be made to fail here"
    [ $code -eq 0 ] || fail "exit $code"
}

rarer=${ASSAY_SAMPLE:-1}
say "each $((251 * rarer))th allocation"
sample --only memory --every $((251 * rarer))
say "each $((47 * rarer))th call"
sample --only calls --every $((47 * rarer)) list bench
