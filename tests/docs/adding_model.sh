#!/usr/bin/env bash
# The model and the set of shapes of docs/models.md: their files and lines, taken from the page, are
# all that a copy of the tree needs to have them, the model eager and compiled, with a recipe.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
copy_tree models.md
block 'model file' >src/model/two_layers.c
block 'model line' >>src/model/model_list.h
block 'shapes file' >src/config/shapes/tiny.c
block 'shapes line' >>src/config/shapes/shape_list.h
[ -s src/model/two_layers.c ] || { echo "docs/models.md has no model"; exit 1; }
build_and_run 'model commands'
cat "$tmp/out"
grep -qE '^two_layers +y = silu' "$tmp/out"
grep -qE '4 ok' "$tmp/out"
[ "$(grep -cE 'tiny_(attn|ffn) ' "$tmp/out")" = 4 ]
