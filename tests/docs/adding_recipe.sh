#!/usr/bin/env bash
# The recipe of docs/recipes.md: its file and its line, taken from the page, are all that the tree needs
# to have it and to pass its tests.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
added_tree recipes.md
build_and_run 'recipe commands'
grep -E 'int8pow2|rows? in' "$tmp/out"
grep -qE '^int8pow2 .*int8 weights, a power of two for each row$' "$tmp/out"
# baseline and the recipe, both right
grep -qE '^2 rows in 1 group: 2 ok$' "$tmp/out"
suite test_quant test_linear test_bench_config test_run_config cli_list_info cli_run
