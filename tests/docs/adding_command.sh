#!/usr/bin/env bash
# The report format and the command of docs/adding.md: their files and lines, taken from the page, are
# all that a copy of the tree needs to have them, in lists, help, completions and the man page too.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
copy_tree adding.md
block tsv.c >src/report/format/tsv.c
block 'format line' >>src/report/report_list.h
block cmd_echo.c >src/cli/cmd_echo.c
block 'command line' >>src/cli/command_list.h
[ -s src/report/format/tsv.c ] && [ -s src/cli/cmd_echo.c ] || { echo "docs/adding.md has no format or command"; exit 1; }
build_and_run 'format and command commands'
tail -n 12 "$tmp/out"
grep -qE $'^relu\tref\t[0-9.]+$' "$tmp/out"
[ "$(grep -cx hello "$tmp/out")" = 2 ]
build/assay list formats --names | grep -qx tsv
build/assay list commands --names | grep -qx echo

# The tests that go through all commands have this one, and find nothing to complain about.
"$ASSAY_SOURCE_DIR/tools/test-completions" "$PWD/build/assay"
ASSAY=$PWD/build/assay bash "$ASSAY_SOURCE_DIR/tests/docs/man_page.sh"
build/assay help --man docs/assay.1.in | grep -qx '\.SH OPTIONS OF ECHO'
