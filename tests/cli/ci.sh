#!/usr/bin/env bash
# assay ci: records for a dashboard, repeats, failures that are named, and GitHub's summary.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--iters 8 --warmup 1)
cat >c.yml <<'END'
quantization_config_recipe_names: [int8wo]
high_precision_dtype: float32
matrix_shapes: [{name: custom, shapes: [[4, 64, 32], [2, 32, 16]]}]
END

say "a dry run names each group once"
expect_exit 0 "$ASSAY" ci --config c.yml --dry-run
expect_out '^2 groups, 8 rows, each 3 times; '

say "records go to benchmark_results.json, three values each"
expect_exit 0 "$ASSAY" ci --config c.yml "${short[@]}" -q --limit 1
valid_json benchmark_results.json
expect_file benchmark_results.json 'micro-benchmark api'
expect_file benchmark_results.json 'int8wo-4-64-32'
expect_err_lines 0
expect_out_lines 0
[ ! -e results ] || fail "assay ci left a folder of results"

say "another file, and a summary"
expect_exit 0 "$ASSAY" ci --config c.yml "${short[@]}" -q --repeat 2 --output records.json \
    --github-summary summary.md
valid_json records.json
expect_file records.json 'int8wo-2-32-16'
[ -s summary.md ] || fail "no summary"
expect_count 2 '^\| custom .* \| int8wo' summary.md
expect_file summary.md '±: half of the range of the medians of 2 repeats'

say "repeats are one row with its spread, files have them all, and it says which it wrote"
expect_exit 0 "$ASSAY" ci --config c.yml "${short[@]}" --repeat 3 --output jsonl:all.jsonl --output b.json
expect_count 2 '^[* ] int8wo ' "$work/out"
expect_count 2 'Name: linear' "$work/out"
expect_out 'Spread'
expect_out 'Spread: half of the range of the medians of 3 repeats'
expect_out '^8 rows in 2 groups'
expect_count 6 '"recipe":"int8wo".*"implementation":"eager"|"implementation":"eager".*"recipe":"int8wo"' all.jsonl
expect_err '^assay: wrote all.jsonl, b.json$'
expect_exit 0 "$ASSAY" ci --config c.yml --resume last --output jsonl:again.jsonl
expect_count 2 'Name: linear' "$work/out"
cmp -s all.jsonl again.jsonl || fail "resuming changed the records"
expect_exit 0 "$ASSAY" ci --config c.yml "${short[@]}" --repeat 1 --output b.json
expect_no_out 'Spread'

say "GitHub's own file is written behind what is there"
echo 'before' >step.md
expect_exit 0 env GITHUB_STEP_SUMMARY=step.md "$ASSAY" ci --config c.yml "${short[@]}" -q --repeat 1 \
    --limit 1 --github-summary --output records.json
expect_file step.md '^before$'
[ "$(wc -l <step.md)" -gt 3 ] || fail "nothing was added to step.md"

say "several formats"
expect_exit 0 "$ASSAY" ci --config c.yml "${short[@]}" -q --repeat 1 --limit 1 --output a.json --output jsonl:b.jsonl
expect_file b.jsonl '"op":"model:linear"'

say "what does not fit is named and has no record; beside others it is no failure"
expect_exit 0 "$ASSAY" ci --config c.yml "${short[@]}" -q --repeat 1 --output none.json \
    --shapes custom=262144x262144x4096,2x32x16
expect_err 'no record of linear .*-262144-262144-4096.*: skipped: '

say "where it is all there is, that is exit code 3, and the summary shows it"
expect_exit 3 "$ASSAY" ci --config c.yml "${short[@]}" -q --repeat 1 --output none.json \
    --shapes custom=262144x262144x4096 --github-summary gaps.md
expect_err 'nothing was measured: every row is skipped or unsupported: '
expect_file gaps.md '4 cases, 0 failed, 4 not measured'
expect_err 'no record of linear .*-262144-262144-4096.*: skipped: '
valid_json none.json
if grep -q 'int8wo' none.json; then fail "a case that was skipped has a record"; fi

say "what fails is named, has no record, and the exit code says so"
if ! is_sanitized; then
    expect_exit 1 "$ASSAY" ci --config c.yml "${short[@]}" -q --repeat 1 --memory-limit 10k --output none.json
    expect_err 'no record of linear .*-4-64-32.*: (out_of_memory|failed|crashed)'
    if grep -q 'int8wo' none.json; then fail "a case that failed has a record"; fi
fi
