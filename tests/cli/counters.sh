#!/usr/bin/env bash
# --counters: what calls cost the processor, or why that is not known; that it is asked for, and where
# it is told.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
relu=(bench relu "${quick[@]}" --threads 1)

say "a line under each row, whatever this machine can count"
expect_exit 0 "$ASSAY" "${relu[@]}" --impl ref,native --counters -o rows.jsonl
expect_count 2 '^ +counts  hot' out
tr -d '\n' <out | tr -s ' ' | grep -Eq 'counts hot · ([0-9.]+ instructions a cycle|.*n/a \((this machine has no hardware counters|not permitted|this kernel has no perf))' ||
    fail "neither figures nor a reason"
expect_count 2 '"counters": ?\{"calls": ?[1-9]' rows.jsonl
expect_file rows.jsonl '"cycles": ?(null|[0-9])'

say "nothing of it where nobody asked"
expect_exit 0 "$ASSAY" "${relu[@]}" --impl native -o plain.jsonl
expect_no_out '^ +counts '
! grep -q '"counters"' plain.jsonl || fail "counted without being asked"

say "each cache state has its own, and a verbose row has them once"
expect_exit 0 "$ASSAY" bench relu --batch 2 --seq 3 --dim 5 --iters 10 --warmup 1 --cache both --threads 1 --impl native --counters -v
expect_count 1 '^ +counts  hot' out
expect_count 1 '^ +counts  cold' out

say "the software's own counters: what a process may always ask"
if grep -q '"task_clock_ns": *[0-9]' rows.jsonl; then
    expect_file rows.jsonl '"page_faults": ?[0-9]'
    expect_exit 0 "$ASSAY" "${relu[@]}" --impl native --counters
    tr '\n' ' ' <out | grep -Eq 'CPU time +[0-9.]+ [num]?s' || fail "no CPU time"
fi

say "a plug-in's process is counted from outside"
expect_exit 0 "$ASSAY" "${relu[@]}" --impl good --plugin "$ASSAY_PLUGINS/good.so" --counters -o good.jsonl
expect_count 1 '"counters": ?\{"calls": ?[1-9]' good.jsonl

say "a model, a preset and a configuration"
expect_exit 0 "$ASSAY" preset transformer --set batch=1 --set seq_len=8 --set embed_dim=16 --set num_heads=2 --device cpu \
    --threads 1 --iters 3 --warmup 1 --counters
expect_out '^ +counts  hot'

say "in a trace, on every call"
expect_exit 0 "$ASSAY" "${relu[@]}" --impl native --counters --profile trace.json
valid_json trace.json
if grep -q '"task_clock_ns": *[0-9]' rows.jsonl; then
    expect_file trace.json '"name":"call","cat":"call".*"cpu_time_us":[0-9.]+'
fi

say "shown again from the journal, and with --help"
expect_exit 0 "$ASSAY" show last
expect_out '^ +counts  hot'
expect_exit 0 "$ASSAY" bench --help
expect_out '^ +--counters'
