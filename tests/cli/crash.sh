#!/usr/bin/env bash
# Kernels that do not come back cost their own row and nothing else.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
with=(--plugin "$ASSAY_PLUGINS/fatal.so" --plugin "$ASSAY_PLUGINS/good.so")

# NAME OUTCOME REASON [OPTIONS]: one bad kernel beside a good one.
beside_good() {
    local name=$1 outcome=$2 reason=$3
    shift 3
    say "$name: $outcome"
    expect_exit 1 "$ASSAY" bench relu "${quick[@]}" "${with[@]}" --impl "$name,good" -o rows.jsonl "$@"
    expect_out "^ *$name .*$outcome: .*$reason"
    expect_out '^ *good .*[0-9.]+ [num]?s '
    expect_count 1 "\"kernel\":\"$name\".*\"status\":\"${outcome// /_}\"" rows.jsonl
    expect_count 1 '"kernel":"good".*"status":"ok"' rows.jsonl
    valid_json rows.jsonl
}

beside_good segfault crashed SIGSEGV
beside_good aborts crashed SIGABRT
beside_good exits crashed 'exit code 0'
beside_good setup_crash crashed SIGSEGV
beside_good hang timeout 'no answer within 1 s \(--timeout\)' --timeout 1s
beside_good deaf timeout 'no answer within 0.5 s' --timeout 500ms
if is_sanitized; then
    say "hog: not under a sanitizer, which lives under no limit"
else
    beside_good hog 'out of memory' '[0-9] MB' --memory-limit 600M
fi

say "all of them in one group, and a second group after it"
expect_exit 1 "$ASSAY" bench relu --batch 1 --seq 1 --dim 4,5 --cache hot --iters 10 --warmup 1 \
    "${with[@]}" --impl segfault,aborts,exits,setup_crash,good,ref -o rows.jsonl
expect_count 8 '"status":"crashed"' rows.jsonl
expect_count 4 '"status":"ok"' rows.jsonl
expect_out '12 rows in 2 groups: 4 ok, 8 crashed'

say "a group of nothing but crashes"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" "${with[@]}" --impl segfault,exits -o rows.jsonl
expect_count 2 '"status":"crashed"' rows.jsonl

say "no core file is left, no process either"
[ -z "$(ls core* 2>/dev/null)" ] || fail "core files"
