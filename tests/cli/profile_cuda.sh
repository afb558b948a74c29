#!/usr/bin/env bash
# --profile on a GPU, without one: a stand-in for CUPTI (tests/device/fake_cupti.c) sees every kernel;
# where it cannot, events are around nodes, figures stay, and it is said.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
: "${ASSAY_FAKES:?the folder of the stand-ins}"
export ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda.so ASSAY_NVRTC=$ASSAY_FAKES/fake_nvrtc.so
export ASSAY_NVML=$ASSAY_FAKES/fake_nvml.so ASSAY_CUBLASLT=$work/no_cublaslt.so
export ASSAY_CUDNN=$work/no_cudnn.so ASSAY_CUPTI=$ASSAY_FAKES/fake_cupti.so
export FAKE_CUPTI_LOG=$work/cupti_log FAKE_CUDA_LOG=$work/cuda_log
relu=(bench relu "${quick[@]}" --device cuda --strict-device)

cat >"$XDG_CACHE_HOME/assay/ceilings-fake-gpu-1t.json" <<'END'
{"format": "assay-ceilings", "version": 5, "device": "Fake GPU", "threads": 1,
 "measured_at": 1700000000, "flops_f32": 1e18, "flops_f16": 1e18, "flops_bf16": 1e18,
 "flops_s8": 1e18, "flops_f8": 1e18, "clock_hz": 1.5e9, "timer_ns": 20, "floor_ns": 20,
 "levels": [{"name": "L2", "bytes": 65536}, {"name": "memory", "bytes": null}],
 "points": [{"bytes": 1024, "read": 1e15, "write": 1e15, "copy": 1e15, "triad": 1e15}]}
END
seal "$XDG_CACHE_HOME/assay/ceilings-fake-gpu-1t.json"

cat >model.yml <<'END'
output_dir: made
model_params:
  - name: relus
    matrix_shapes: [{name: custom, shapes: [[4, 64, 64]]}]
    high_precision_dtype: float32
    device: cuda
    use_torch_compile: false
    model:
      name: relus
      inputs: {x: [m, k]}
      nodes:
        - {op: relu, name: y}
        - {op: add, inputs: [x, y]}
        - {op: relu}
END
model=(run model.yml --strict-device --iters 5 --warmup 1)

nothing_left() {
    grep -Ev 'left: 0 bytes in 0 pieces, 0 of the host, 0 streams, 0 events, 0 modules, 0 graphs, 0 of' \
        "$FAKE_CUDA_LOG" >"$work/left" && fail "not given back: $(cat "$work/left")"
    : >"$FAKE_CUDA_LOG"
}

say "info names it"
expect_exit 0 "$ASSAY" info
expect_out '^cupti +version 130001, .*/fake_cupti\.so$'
ASSAY_CUPTI=$work/none.so expect_exit 0 "$ASSAY" info
expect_out '^cupti +not here: .*none\.so'
[ ! -s "$FAKE_CUPTI_LOG" ] || ! grep -q finalised "$FAKE_CUPTI_LOG" || fail "asking attached it"

say "every launch of a kernel, by stream, with what it took"
expect_exit 0 "$ASSAY" "${relu[@]}" --profile t.json
expect_out '^ cuda .* [0-9.]+ [num]?s '
expect_no_err 'missing'
valid_json t.json
expect_file t.json '"name":"GPU stream 7"'
expect_file t.json '"name":"eltwise","cat":"gpu".*"kind":"kernel","call":0,"node":0,.*"grid":"1x1x1","block":"32x1x1","registers":42,"shared_bytes":16'
expect_count 20 '"cat":"gpu"' t.json
expect_count 20 '"name":"call","cat":"host"' t.json
expect_file t.json '"gpu_seen_by":"CUPTI \(version 130001\)"'
expect_exit 0 "$ASSAY" profile t.json
expect_out '^ GPU eltwise · 20 x · .* of what the GPU did · grid 1x1x1 · block 32x1x1'
nothing_left

say "attached for the pass alone: 21 calls of one launch and one gate, and nothing of what was timed"
expect_file "$FAKE_CUPTI_LOG" '^finalised: heard 42 launches, not attached$'
expect_file "$FAKE_CUPTI_LOG" '^end: heard 42 launches, not attached$'
: >"$FAKE_CUPTI_LOG"
expect_exit 0 "$ASSAY" "${relu[@]}"
grep -q 'heard [1-9]' "$FAKE_CUPTI_LOG" && fail "it was attached without a profile"

say "a model's nodes, each with its kernels"
expect_exit 0 "$ASSAY" "${model[@]}" --profile model.json
expect_count 20 '"name":"add","cat":"node".*"kernel":"add_cuda"' model.json
expect_count 40 '"name":"relu","cat":"node"' model.json
expect_count 20 '"cat":"gpu".*"node":1,' model.json
expect_count 20 '"cat":"gpu".*"node":2,' model.json
expect_exit 0 "$ASSAY" profile model.json
expect_out '^ 0 relu 1x4x64 +20 '
expect_out '^ relu_cuda x 2 +40 '
expect_out '^ GPU eltwise · 60 x '
expect_exit 0 "$ASSAY" profile model.json --format json
valid_json out
expect_out '"launches": 60'
expect_exit 0 "$ASSAY" profile model.json --format md
expect_out '^\| eltwise \| 60 \|'
nothing_left

say "several variants and groups: attached and detached for each group"
: >"$FAKE_CUPTI_LOG"
expect_exit 0 "$ASSAY" bench relu,add "${quick[@]}" --device cuda --strict-device --profile two.json
expect_count 2 '^finalised: ' "$FAKE_CUPTI_LOG"
expect_count 40 '"cat":"gpu"' two.json

# unseen WORDS: a profile by events, whose figures stand.
unseen() {
    expect_exit 0 "$ASSAY" "${model[@]}" --profile events.json
    expect_out '^ *\*? *baseline'
    expect_err "of 1 of them something is missing: eager: single kernels, only events around nodes: $1"
    expect_count 0 '"cat":"gpu"' events.json
    expect_count 20 '"name":"add","cat":"node"' events.json
    expect_file events.json '"gpu_seen_by":"events around nodes"'
    expect_exit 0 "$ASSAY" profile events.json
    expect_out '^ missing: single kernels, only events around nodes: '
    expect_out '^ 1 add 1x4x64 +20 '
    nothing_left
}

say "without CUPTI there are events around the nodes"
ASSAY_CUPTI=$work/none.so unseen '.*none\.so: cannot open'
say "beside another profiler too"
FAKE_CUPTI_FAIL=cuptiSubscribe:39 unseen 'another profiler is attached to this process'
say "and where it is not permitted"
FAKE_CUPTI_FAIL=cuptiActivityEnable:35 unseen 'CUPTI does not start: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES'
say "a library that is no CUPTI is too old"
ASSAY_CUPTI=$ASSAY_FAKES/fake_nvml.so unseen 'CUPTI is too old: .*fake_nvml\.so has no function cupti'

say "what it loses is said"
FAKE_CUPTI_STRANGE=1 expect_exit 0 "$ASSAY" "${relu[@]}" --profile strange.json
expect_err 'something is missing: .*what the GPU did: nothing was recorded'
FAKE_CUPTI_FAIL=cuptiActivityGetNextRecord:999 expect_exit 0 "$ASSAY" "${relu[@]}" --profile broken.json
expect_err 'something is missing: .*of what the GPU did was not recorded'
expect_out '^ cuda .* [0-9.]+ [num]?s '

say "counters: what a call moves, and how busy the GPU is"
: >"$FAKE_CUPTI_LOG"
expect_exit 0 "$ASSAY" "${relu[@]}" --counters -o rows.jsonl
expect_out '^ +counts  hot · about 84 B from memory, 0\.35 of the least · L2 moved 8\.4 kB · occupancy 50%'
expect_file rows.jsonl '"counters": ?\{"calls": ?1000,.*"memory_bytes": ?84\.0,"memory_frac": ?0\.35,.*"l2_bytes": ?8400\.0,"occupancy_frac": ?0\.5,"tensor_frac": ?0\.0'
expect_file "$FAKE_CUPTI_LOG" '^finalised: heard 100[0-9] launches, not attached$'
expect_exit 0 "$ASSAY" "${relu[@]}" --counters --profile t.json
expect_file t.json '"name":"call","cat":"call".*"l2_bytes":8400,"occupancy":0\.5'
nothing_left
FAKE_CUPTI_FAIL=cuptiProfilerGetCounterAvailability:35 expect_exit 0 "$ASSAY" "${relu[@]}" --counters
tr -s ' \n' ' ' <out | grep -q 'n/a (not permitted: the driver lets administrators alone read its counters; NVreg_RestrictProfilingToAdminUsers=0 or CAP_SYS_ADMIN permits it)' ||
    fail "nothing about the right to read counters"
ASSAY_CUPTI=$ASSAY_FAKES/fake_cupti_lean.so expect_exit 0 "$ASSAY" "${relu[@]}" --counters
expect_out 'n/a \(CUPTI is too old: counting takes that of CUDA 12\.6 or newer\)'
ASSAY_CUPTI=$ASSAY_FAKES/fake_cupti_lean.so expect_exit 0 "$ASSAY" "${relu[@]}" --profile lean.json
expect_count 20 '"cat":"gpu"' lean.json
ASSAY_CUPTI=$work/none.so expect_exit 0 "$ASSAY" "${relu[@]}" --counters
tr -s ' \n' ' ' <out | grep -q 'n/a (.*none\.so: cannot open' || fail "nothing about CUPTI"

say "a library that crashes costs what it was to tell, and no figure"
FAKE_CUPTI_CRASH=cuptiRangeProfilerStart expect_exit 0 "$ASSAY" "${relu[@]}" --counters -o rows.jsonl
expect_err 'SIGSEGV while it was counted \(--counters\): this group is measured again without'
expect_count 1 '"status":"ok"' rows.jsonl
expect_no_out '^ +counts '
FAKE_CUPTI_CRASH=cuptiActivityFlushAll expect_exit 0 "$ASSAY" "${relu[@]}" --profile crash.json -o rows.jsonl
expect_err 'SIGSEGV while it was profiled: its profile.* is missing, its figures stay'
expect_count 1 '"status":"ok"' rows.jsonl

say "a plug-in's kernels, in a process of its own, which watches itself"
: >"$FAKE_CUPTI_LOG"
plugin=(bench relu "${quick[@]}" --device cuda --strict-device --plugin "$ASSAY_PLUGINS/gpu.so")
expect_exit 0 "$ASSAY" "${plugin[@]}" --impl gpu_direct,cuda --profile plugin.json
expect_no_err 'missing'
expect_count 20 '"name":"copy","cat":"gpu".*"kind":"copy".*"bytes":120' plugin.json
expect_count 20 '"name":"eltwise","cat":"gpu"' plugin.json
expect_exit 0 "$ASSAY" profile plugin.json
expect_out '^ GPU copy · 20 x '
expect_count 1 '^finalised: ' "$FAKE_CUPTI_LOG" # the runner's environment has no such log
ASSAY_CUPTI=$work/none.so expect_exit 0 "$ASSAY" "${plugin[@]}" --impl gpu_direct --profile plugin.json
expect_err 'only events around nodes: .*none\.so'
expect_count 20 '"name":"relu","cat":"node"' plugin.json
