#!/usr/bin/env bash
# Failed allocations and system calls, a sample of them: the right result or a clean error, never a wrong
# result. tools/sweep-failures makes every one fail.
# Not under sanitizers: they bring an allocator of their own, which nothing may come before.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

say "each 41st allocation, each 5th call"
sweep=$ASSAY_SOURCE_DIR/tools/sweep-failures
sample() {
    CC=$ASSAY_CC "$sweep" --program "$ASSAY" "$@" >"$work/out" 2>&1
    local code=$?
    cat "$work/out"
    [ $code -ne 77 ] || skip "nothing can be made to fail here"
    [ $code -eq 0 ] || fail "something went wrong"
}
sample --only memory --every 41
sample --only calls --every 5 list bench run
