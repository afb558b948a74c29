#!/usr/bin/env bash
# Kernels in Python on a GPU, both faked: tests/cli/python/fake_torch on tests/device/fake_cuda.c. How each was
# timed, what its graph holds, and why it was not a graph.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
: "${ASSAY_FAKES:?the folder of the stand-ins}"
here=$(cd "$(dirname "$0")" && pwd)
unset VIRTUAL_ENV
python=/usr/bin/python3
"$ASSAY" bench relu "${quick[@]}" --python $python --plugin "$here/python/relu.py" --dry-run 2>&1 |
    grep -q "built without Python's headers" && skip "built without Python's headers"
$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no Python 3.11"
export ASSAY_PYTHON=$python PYTHONPATH=$here/python/fake_torch PYTHONDONTWRITEBYTECODE=1
export ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda.so ASSAY_NVRTC=$ASSAY_FAKES/fake_nvrtc.so
export ASSAY_NVML=$ASSAY_FAKES/fake_nvml.so ASSAY_CUBLASLT=$work/no_cublaslt.so ASSAY_CUDNN=$work/no_cudnn.so
cat >"$XDG_CACHE_HOME/assay/ceilings-fake-gpu-1t.json" <<'END'
{"format": "assay-ceilings", "version": 5, "device": "Fake GPU", "threads": 1,
 "measured_at": 1700000000, "flops_f32": 1e18, "flops_f16": 1e18, "flops_bf16": 1e18,
 "flops_s8": 1e18, "flops_f8": 1e18, "clock_hz": 1.5e9, "timer_ns": 20, "floor_ns": 20,
 "levels": [{"name": "L2", "bytes": 65536}, {"name": "memory", "bytes": null}],
 "points": [{"bytes": 1024, "read": 1e15, "write": 1e15, "copy": 1e15, "triad": 1e15}]}
END
seal "$XDG_CACHE_HOME/assay/ceilings-fake-gpu-1t.json"
plugin=(--device cuda --strict-device --dtype f32 --plugin "$here/python/relu_cuda.py")
rows=$work/rows.jsonl

# measure KERNEL EXIT OPTIONS...: one kernel's row
measure() {
    local name=$1 code=$2
    shift 2
    : >"$rows"
    expect_exit "$code" "$ASSAY" bench relu "${plugin[@]}" --kernel "relu_cuda_$name" "${quick[@]}" "$@" -o "$rows"
    grep '"kernel":"relu_cuda_' "$rows" >row || fail "no row for $name"
}
row() { expect_file row "$1"; }
