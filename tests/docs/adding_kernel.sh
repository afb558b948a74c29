#!/usr/bin/env bash
# The plug-in of docs/adding.md: the page shows the very file, and its commands build and run it.
# shellcheck source=tests/docs/lib.sh
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
doc=$ASSAY_SOURCE_DIR/docs/adding.md
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
export XDG_DATA_HOME=$tmp/data XDG_CACHE_HOME=$tmp/cache
make_ceilings

block my_relu.c | diff -u "$ASSAY_SOURCE_DIR/examples/adding/my_relu.c" - ||
    { echo "docs/adding.md does not show examples/adding/my_relu.c as it is"; exit 1; }

# The commands are those of somebody who stands in the project's folder.
mkdir "$tmp/build"
ln -s "$ASSAY_SOURCE_DIR/include" "$ASSAY_SOURCE_DIR/examples" "$tmp"
ln -s "$ASSAY" "$tmp/build/assay"
block 'kernel commands' >"$tmp/commands"
[ -s "$tmp/commands" ] || { echo "docs/adding.md has no commands for the kernel"; exit 1; }
cd "$tmp"
bash -eu commands >out 2>err || { cat out err; echo "the commands of docs/adding.md fail"; exit 1; }
tail -n 12 out
grep -qE '^my_relu +mine +cpu +f32 +runs here' out
grep -qE '^2 rows in 1 group: 2 ok$' out

# What it refuses is a row with its reason, not a failure.
build/assay bench relu --plugin my_relu.so --impl mine --batch 1 --seq 1 --dim 65537 --cache hot \
    --iters 3 --warmup 1 >out 2>err || [ $? = 3 ] # nothing else was asked for
grep -q 'unsupported: rows of at most 65536 elements' out
