#!/usr/bin/env bash
# The first benchmark of docs/kernels.md runs as it stands there; the page has every function and
# field of the header, every key of assay.yml and every option that is the command's own.
set -euo pipefail
doc=$ASSAY_SOURCE_DIR/docs/kernels.md header=$ASSAY_SOURCE_DIR/include/assay/assay_benchmark.h
command -v "${CC:-cc}" >/dev/null || { echo "skipped: no C compiler"; exit 77; }
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
export HOME=$tmp XDG_DATA_HOME=$tmp/data XDG_CACHE_HOME=$tmp/cache ASSAY_CUDA_DRIVER=$tmp/no_driver
# shellcheck source=tests/docs/lib.sh
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
make_ceilings

cd "$tmp"
mkdir -p my_kernel/benchmarks bin
ln -s "$ASSAY" bin/assay
block benchmark_silu.c >my_kernel/benchmarks/benchmark_silu.c
block 'first commands' | sed 's/$/ --iterations 5 --warmup 1 --device cpu --cache hot/' >commands
for file in my_kernel/benchmarks/benchmark_silu.c commands; do
    [ -s $file ] || { echo "the page has no first benchmark"; exit 1; }
done
[ "$(wc -l <my_kernel/benchmarks/benchmark_silu.c)" -le 30 ] || { echo "the first benchmark has grown"; exit 1; }
PATH=$tmp/bin:$PATH bash -eu commands >out 2>err || { cat out err; echo "the first benchmark fails"; exit 1; }
grep -qE 'Silu .*large .* 5 .*✓' out || { cat out; echo "the first benchmark is not verified"; exit 1; }

# What the page says of a wrong formula
sed -i 's/1 + expf/2 + expf/' my_kernel/benchmarks/benchmark_silu.c
code=0
bin/assay kernel my_kernel --iterations 5 --warmup 1 --device cpu --cache hot >out 2>err || code=$?
[ "$code $(grep -c '✗' out)" = "1 2" ] || { cat out err; echo "a wrong formula: exit $code"; exit 1; }

failed=0
names() {
    grep -oE '\bassay_(input|output|fill_with|count_bytes|count_flops|tolerate|setup_fails|elements|cuda_kernel|cuda_launch)\b' "$header"
    sed -n '/^typedef struct assay_setup {/,/^}/p; /^typedef struct assay_call {/,/^}/p; /^struct assay_workload {/,/^}/p' "$header" |
        sed 's,/\*.*\*/,,; s,/\*.*,,; s,^ *[a-z].*\*/$,,' | grep -oE '[a-z_]+(\[[^]]*\])?\)? *[,;(]' | grep -oE '^[a-z_]+'
    grep -oE '\bASSAY_(BENCHMARK|KERNELS|BENCHMARK_DEVICE|WORKLOAD_VERIFY_ON_HOST)\b' "$header"
    sed -n 's/^ \*   \([a-z]*\):.*/\1/p' "$ASSAY_SOURCE_DIR/src/config/kernel_file.h"
    "$ASSAY" kernel --help | grep -oE -- '--(version|branch|hub|offline|list|build|workload|warmup|iterations|output|visual|new|op|lang)\b'
}
for name in $(names | sort -u); do
    grep -qF -- "$name" "$doc" || { echo "docs/kernels.md does not name $name"; failed=1; }
done
[ "$(names | sort -u | wc -l)" -gt 45 ] || { echo "the header was not understood"; exit 1; }
exit $failed
