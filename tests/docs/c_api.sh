#!/usr/bin/env bash
# docs/c-api.md shows the example programs as they are, and names every function and field that
# assay.h has. tools/test-install builds and runs the programs.
set -euo pipefail
doc=$ASSAY_SOURCE_DIR/docs/c-api.md header=$ASSAY_SOURCE_DIR/include/assay/assay.h
# shellcheck source=tests/docs/lib.sh
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"

shown=0
for example in $(sed -n 's/^<!-- \(.*\.cc\?\) -->$/\1/p' "$doc"); do
    block "$example" | diff -u "$ASSAY_SOURCE_DIR/examples/$example" - ||
        { echo "docs/c-api.md does not show examples/$example as it is"; exit 1; }
    shown=$((shown + 1))
done
[ $shown -ge 6 ] || { echo "docs/c-api.md shows $shown examples only"; exit 1; }

names() { # functions, and the fields of a case's result
    grep -oE '\bassay_[a-z_]+\(' "$header" | tr -d '(' | sort -u
    sed -n '/^struct assay_case_result {/,/^};/p' "$header" | sed 's,/\*.*,,; s,^ *[^/].*\*/,,' |
        grep -oE '[a-z_0-9]+ *[,;]' | tr -d ' ,;'
}
missing=0
for name in $(names); do
    [ "$name" = n_metadata ] || grep -qE "\b$name\b" "$doc" || { echo "docs/c-api.md does not name $name"; missing=1; }
done
[ "$(names | wc -l)" -gt 40 ] || { echo "the header was not understood"; exit 1; }
exit $missing
