#!/usr/bin/env bash
# The command of docs/adding.md: its file and its line, taken from the page, are all that the tree needs
# to have it and to pass its tests.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
added_tree adding.md
build_and_run 'command commands'
grep -qE '^  where +the folders of this program$' "$tmp/out"
grep -qxF "$XDG_CACHE_HOME/assay" "$tmp/out"
build/assay wher 2>"$tmp/err" && exit 1
grep -q 'did you mean "where"' "$tmp/err"
suite cli_help cli_usage docs_man_page completions
