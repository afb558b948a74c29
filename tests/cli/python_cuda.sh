#!/usr/bin/env bash
# Kernels in Python on a GPU, both faked: tests/cli/python/fake_torch on tests/device/fake_cuda.c. How each was
# timed, what its graph holds, and why it was not a graph.
# Not under sanitizers: the program carries no package there, because an interpreter is not sanitized
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

say "what can be captured is replayed, and its graph looked through"
for name in right twice into joined; do
    measure $name 0
    row '"caller":"python","timed":"graph","graph":'
    row '"status":"ok"'
done
measure twice 0 --cache cold --iters 40
row '"status":"ok".*"timed":"graph"'
calls=$(grep -o '"calls":[0-9]*' row | head -n 1 | tr -dc 0-9)
[ "${calls:-0}" -gt 0 ] || fail "no calls were captured"
row "\"calls\":$calls,\"kernels\":$((2 * calls)),\"copies\":0,\"memsets\":0,\"others\":0,\"names\":\\[\"eltwise\"\\]"

say "the first call compiles, and is part of setting up"
measure compiles 0
row '"setup_ns":[0-9]{9,}'
row '"timed":"graph"'

say "nothing on the stream, work that is not joined"
for name in elsewhere nothing sets_the_stream; do
    measure $name 1
    row '"status":"mismatch","reason":"launched nothing on the stream it was given"'
done
measure sometimes 1
row '"reason":"launched nothing (on the stream it was given|in some of its calls)"'
measure unjoined 1
row '"status":"mismatch","reason":"its work on another stream is not joined .*cudaErrorStreamCaptureUnjoined'

say "what cannot be captured says so, and how it was timed"
measure takes_item 0
row '"timed":"eager","timed_why":"it waits for the GPU; not captured: a host synchronisation in it at relu_cuda.py:[0-9]+"'
measure synchronises 0
row '"timed":"eager",.*a host synchronisation in it \(cudaErrorStreamCaptureUnsupported\) at relu_cuda.py:[0-9]+"'
measure refuses_capture 0
row '"timed":"blocked stream","timed_why":"it raised ValueError while it was captured: not in a graph, please"'
grep -q '"graph":' row && fail "a graph that was not replayed"
TORCH_OLD=1 measure right 0
row '"timed":"blocked stream","timed_why":"PyTorch 2\.5\.0 cannot keep the graph it captures; 2\.8 and later can"'

say "the caller's side is a column; -v has the rest"
expect_exit 0 "$ASSAY" bench relu "${plugin[@]}" "${quick[@]}" --impl cuda,right,takes_item -v
expect_out '^ .*speedup.* host$'
expect_out '^ right .* us ✓'
expect_out '^ +timed +graph · 1 kernel a call · eltwise$'
expect_out '^ +timed +eager: it waits for the GPU'
expect_out 'a caller in Python waits [0-9.]+ (ns|us) a call'
expect_out '^.*host: what the caller waits for'
expect_exit 0 "$ASSAY" bench relu "${plugin[@]}" "${quick[@]}" --impl cuda
expect_no_out ' host$'
expect_exit 0 "$ASSAY" bench relu "${plugin[@]}" "${quick[@]}" --impl right --format csv
expect_out ',timed,timed_why,graph_calls,graph_kernels,graph_copies,graph_memsets$'
expect_out ',graph,,[0-9]+,[0-9]+,0,0$'
