#!/usr/bin/env bash
# What src/device/cuda/cuda_api.h declares, compared with NVIDIA's own headers where a toolkit is
# installed ($CUDA_HOME, or /usr/local/cuda).
set -u
source=${ASSAY_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
for folder in ${CUDA_HOME:+"$CUDA_HOME/include"} /usr/local/cuda/include /opt/cuda/include /usr/include; do
    [ ! -e "$folder/cuda.h" ] || break
done
if [ ! -e "$folder/cuda.h" ]; then
    echo "skipped: no CUDA headers"
    exit 77
fi
compiler=$(command -v c++ || command -v g++ || command -v clang++) || {
    echo "skipped: no C++ compiler"
    exit 77
}
for header in nvrtc cublasLt cudnn nvml cupti; do
    [ -e "$folder/$header.h" ] || echo "$folder has no $header.h: that part is not compared"
done
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
check() { "$compiler" -std=c++17 -fsyntax-only -Wall -Werror -I"$1" -I"$source/tests/device" -isystem "$folder" "$source/tests/device/check_headers.cc"; }
check "$source/src" || exit 1

# It can fail: with a wrong number, a wrong parameter and a parameter too few.
copy=$tmp/device/cuda
more=()
[ ! -e "$folder/cudnn.h" ] || more=('s/CUDNN_POINTWISE_EXP, 13/CUDNN_POINTWISE_EXP, 14/' 's/cudnn_descriptor plan, cudnn_descriptor pack/cudnn_descriptor plan/')
[ ! -e "$folder/cupti.h" ] || more+=('s/CUPTI_KIND_EXTERNAL = 39/CUPTI_KIND_EXTERNAL = 38/' 's/size_t \*bytes, size_t \*most_records/size_t *bytes/' 's/uint64_t start, end, completed;/uint64_t end, start, completed;/' 's/size_t pass, level;/size_t pass;/' 's/uint16_t levels, least_level;/uint32_t levels, least_level;/')
for edit in 's/CU_ATTRIBUTE_SMS = 16/CU_ATTRIBUTE_SMS = 17/' 's/int \*value, int attribute/int *value, long attribute/' \
    's/(cu_graph_exec exec, cu_stream stream)/(cu_graph_exec exec)/' "${more[@]}"; do
    mkdir -p "$copy"
    for file in cuda_api.h cupti_api.h; do
        sed "$edit" "$source/src/device/cuda/$file" >"$copy/$file"
    done
    if diff -rq "$copy" "$source/src/device/cuda" | grep -q '^Files' && ! check "$tmp" 2>/dev/null; then
        continue
    else
        echo "not noticed: $edit"
        exit 1
    fi
done
echo "$folder agrees"
