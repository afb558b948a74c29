#!/usr/bin/env bash
# The op of docs/adding.md: its file and its line, taken from the page, are all that a copy of the
# tree needs to have it. Only that copy's ref kernels are built: the others take a minute and know
# nothing of the new op.
set -euo pipefail
for tool in cmake ninja cc; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
if [ -n "${ASAN_OPTIONS:-}" ]; then
    echo "skipped: the same build is tested without sanitizers"
    exit 77
fi
doc=$ASSAY_SOURCE_DIR/docs/adding.md
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
export XDG_DATA_HOME=$tmp/data XDG_CACHE_HOME=$tmp/cache CMAKE_BUILD_PARALLEL_LEVEL=2

# block NAME: the lines of the code block between <!-- NAME --> and <!-- end -->
block() { sed -n "/^<!-- $1 -->\$/,/^<!-- end -->\$/p" "$doc" | sed '/^<!--/d;/^```/d'; }

tree=$tmp/tree
mkdir "$tree"
cd "$ASSAY_SOURCE_DIR"
cp -R CMakeLists.txt LICENSE assay.pc.in cmake include share src docs "$tree"
cd "$tree"
find src/kernel/cpu -name '*.c' ! -name ref.c -delete
: >src/kernel/kernel_list.h

block softsign.c >src/op/softsign.c
block 'op line' >>src/op/op_list.h
block 'op commands' >"$tmp/commands"
[ -s src/op/softsign.c ] && [ -s "$tmp/commands" ] || { echo "docs/adding.md has no op"; exit 1; }
bash -eu "$tmp/commands" >"$tmp/out" 2>&1 || { tail -n 40 "$tmp/out"; exit 1; }
grep -E 'softsign|rows? in' "$tmp/out"
grep -qE '^softsign +x / \(1 \+ \|x\|\)$' "$tmp/out"
grep -qE '^1 row in 1 group: 1 ok$' "$tmp/out"
