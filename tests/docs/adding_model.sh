#!/usr/bin/env bash
# The model and the set of shapes of docs/models.md: their files and lines, taken from the page, are
# all that a copy of the tree needs to have them, the model eager and compiled, with a recipe. Of the
# kernels only the portable ones are built: the others take a minute and know nothing of the model.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
copy_tree models.md
find src/kernel/cpu -name '*_avx*.c' -delete
find src/kernel/cpu -name '*_amx*.c' -delete
rm -rf src/kernel/cuda
grep -E '_portable\)' "$ASSAY_SOURCE_DIR/src/kernel/kernel_list.h" >src/kernel/kernel_list.h

block 'model file' >src/model/two_layers.c
block 'model line' >>src/model/model_list.h
block 'shapes file' >src/config/shapes/tiny.c
block 'shapes line' >>src/config/shapes/shape_list.h
commands 'model commands'
[ -s src/model/two_layers.c ] && [ -s "$tmp/commands" ] || { echo "docs/models.md has no model"; exit 1; }
bash -eu "$tmp/commands" >"$tmp/out" 2>&1 || { tail -n 40 "$tmp/out"; exit 1; }
cat "$tmp/out"
grep -qE '^two_layers +y = silu' "$tmp/out"
grep -qE '4 ok' "$tmp/out"
[ "$(grep -cE 'tiny_(attn|ffn) ' "$tmp/out")" = 4 ]
