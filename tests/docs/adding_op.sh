#!/usr/bin/env bash
# The op of docs/adding.md: its file and its line, taken from the page, are all that a copy of the
# tree needs to have it.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
copy_tree adding.md
block softsign.c >src/op/softsign.c
block 'op line' >>src/op/op_list.h
[ -s src/op/softsign.c ] || { echo "docs/adding.md has no op"; exit 1; }
build_and_run 'op commands'
grep -E 'softsign|rows? in' "$tmp/out"
grep -qE '^softsign +x / \(1 \+ \|x\|\)$' "$tmp/out"
grep -qE '^1 row in 1 group: 1 ok$' "$tmp/out"

# It has no skeleton yet, and assay says so.
code=0
build/assay kernel --new "$tmp/mine" --op softsign --lang c 2>"$tmp/err" || code=$?
[ "$code" = 2 ] && [ ! -e "$tmp/mine" ]
grep -q 'no skeleton of softsign in c yet; there are those of layernorm' "$tmp/err"
