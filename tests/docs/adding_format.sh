#!/usr/bin/env bash
# The report format of docs/adding.md: with its file, its line, its golden file and its words in the
# docs, all as the page has them, the tests of reports pass.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
added_tree adding.md
rm -f tests/golden/report.influx

# Without its golden file the test asks for it.
run_quietly cmake --build build --target test_report
build/tests/test_report >"$tmp/out" 2>&1 && { echo "test_report did not miss the golden file"; exit 1; }
grep -q 'report.influx is missing; ASSAY_UPDATE_GOLDEN=1 makes it' "$tmp/out"

build_and_run 'format commands'
grep -qE "^influx +.*InfluxDB's line protocol$" "$tmp/out"
grep -qE '^relu,implementation=ref,cache=cold median_ns=[0-9.e+]+$' "$tmp/out"
# What it writes of others is what it was.
for golden in "$ASSAY_SOURCE_DIR"/tests/golden/*; do
    cmp "$golden" "tests/golden/$(basename "$golden")"
done
suite test_report cli_outputs cli_list_info docs_protocol
