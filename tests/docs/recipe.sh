#!/usr/bin/env bash
# The recipe of docs/recipes.md: its file and its line, taken from the page, are all that a copy of
# the tree needs to have it.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
copy_tree recipes.md
block int8pow2.c >src/quant/int8pow2.c
block 'recipe line' >>src/quant/quant_list.h
[ -s src/quant/int8pow2.c ] || { echo "docs/recipes.md has no recipe"; exit 1; }
build_and_run 'recipe commands'
grep -E 'int8pow2|rows? in' "$tmp/out"
grep -qE '^int8pow2 .*int8 weights, a power of two for each row$' "$tmp/out"
# baseline and the recipe, both right
grep -qE '^2 rows in 1 group: 2 ok$' "$tmp/out"
