#!/usr/bin/env bash
# The native kernels of docs/adding.md: one file and one line, taken from the page, make a kernel of the
# page's op for each instruction set.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
copy_tree adding.md
block softsign.c >src/op/softsign.c
block 'op line' >>src/op/op_list.h
block softsign_vec.c >src/kernel/native/rows/softsign_vec.c
block 'vector kernel line' >>src/kernel/kernel_list.h
[ -s src/kernel/native/rows/softsign_vec.c ] || { echo "docs/adding.md has no vector kernel"; exit 1; }
# What was added is not what the program under test was built from.
rm -f "$tmp/reuse"
reuse_objects "$tmp/reuse"
build_and_run 'vector kernel commands'
grep -E 'softsign|rows? in' "$tmp/out"
for isa in portable avx2 avx512; do
    grep -qE "^softsign_$isa +native +cpu +f32,f16,bf16" "$tmp/out"
done
grep -qE '^[0-9]+ rows in 1 group: [0-9]+ ok(, [0-9]+ unsupported)?$' "$tmp/out"
