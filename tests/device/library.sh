#!/usr/bin/env bash
# The programs that use the library together with the CUDA runtime compile, where a toolkit is
# installed; tools/check-device runs them where there is a GPU.
set -eu
source=${ASSAY_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
toolkit=${CUDA_HOME:-/usr/local/cuda}
if [ ! -e "$toolkit/include/cuda_runtime_api.h" ]; then
    echo "skipped: no CUDA headers"
    exit 77
fi
for file in examples/cuda_stream.c tests/device/library/stream.c; do
    cc -std=c17 -fsyntax-only -Wall -Wextra -Werror -I"$source/include" -isystem "$toolkit/include" "$source/$file"
done
