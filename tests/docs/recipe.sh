#!/usr/bin/env bash
# The recipe of docs/recipes.md: its file and its line, taken from the page, are all that a copy of
# the tree needs to have it. Of that copy's kernels only the portable one of linear and the reference
# are built: the others take a minute, and none of them knows recipes by name.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
copy_tree recipes.md
find src/kernel/cpu -name '*.c' ! -name ref.c ! -name native.c ! -name linear.c \
    ! -name linear_portable.c -delete
echo 'ASSAY_KERNEL(linear_portable)' >src/kernel/kernel_list.h

block int8pow2.c >src/quant/int8pow2.c
block 'recipe line' >>src/quant/quant_list.h
commands 'recipe commands'
[ -s src/quant/int8pow2.c ] && [ -s "$tmp/commands" ] || { echo "docs/recipes.md has no recipe"; exit 1; }
bash -eu "$tmp/commands" >"$tmp/out" 2>&1 || { tail -n 40 "$tmp/out"; exit 1; }
grep -E 'int8pow2|rows? in' "$tmp/out"
grep -qE '^int8pow2 .*int8 weights, a power of two for each row$' "$tmp/out"
# baseline and the recipe, both right
grep -qE '^2 rows in 1 group: 2 ok$' "$tmp/out"
