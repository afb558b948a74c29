#!/usr/bin/env bash
# The model and the set of shapes of docs/models.md: their files and lines, taken from the page, are all
# that the tree needs to have them, the model eager and compiled, with a recipe, and to pass its tests.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
added_tree models.md
build_and_run 'model commands'
cat "$tmp/out"
grep -qE '^two_layers +y = silu' "$tmp/out"
grep -qE '4 ok' "$tmp/out"
[ "$(grep -cE 'tiny_(attn|ffn) ' "$tmp/out")" = 4 ]
suite test_model test_shapes test_run_config cli_list_info
