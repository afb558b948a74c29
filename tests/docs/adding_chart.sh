#!/usr/bin/env bash
# The chart of docs/adding.md: with its file and its line, as the page has them, it is listed and drawn,
# and the tests of charts pass.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
added_tree adding.md
build_and_run 'chart commands'
grep -qE '^setup +how long it took to set each variant up$' "$tmp/out"
grep -q '>relu f32: setup</text>' setup.svg
grep -q '>time to set up</text>' setup.svg
suite test_chart_bars test_chart_spec cli_list_info
