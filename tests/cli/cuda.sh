#!/usr/bin/env bash
# CUDA without a GPU: stand-ins for the driver, NVRTC and NVML (tests/device/fake_*.c) behave, and
# misbehave, as told.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
: "${ASSAY_FAKES:?the folder of the stand-ins}"
export ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda.so ASSAY_NVRTC=$ASSAY_FAKES/fake_nvrtc.so
export ASSAY_NVML=$ASSAY_FAKES/fake_nvml.so ASSAY_CUBLASLT=$work/no_cublaslt.so
export ASSAY_CUDNN=$work/no_cudnn.so
export FAKE_NVRTC_COUNT=$work/compiled FAKE_CUDA_LOG=$work/log
gpu=(--device cuda --strict-device)
cold=(--batch 2 --seq 3 --dim 5 --iters 10 --warmup 1)
: >"$FAKE_NVRTC_COUNT"
rows=$work/rows.jsonl

# Ceilings, so that nothing is calibrated; as those of the CPU (lib.sh).
cat >"$XDG_CACHE_HOME/assay/ceilings-fake-gpu-1t.json" <<'END'
{"format": "assay-ceilings", "version": 5, "device": "Fake GPU", "threads": 1,
 "measured_at": 1700000000, "flops_f32": 1e18, "flops_f16": 1e18, "flops_bf16": 1e18,
 "flops_s8": 1e18, "flops_f8": 1e18, "clock_hz": 1.5e9, "timer_ns": 20, "floor_ns": 20,
 "levels": [{"name": "L2", "bytes": 65536}, {"name": "memory", "bytes": null}],
 "points": [{"bytes": 1024, "read": 1e15, "write": 1e15, "copy": 1e15, "triad": 1e15}]}
END
seal "$XDG_CACHE_HOME/assay/ceilings-fake-gpu-1t.json"

# Everything the driver gave was given back, by every process that used it since the log was empty.
nothing_left() {
    [ -s "$FAKE_CUDA_LOG" ] || fail "the driver was never closed"
    grep -Ev 'left: 0 bytes in 0 pieces, 0 of the host, 0 streams, 0 events, 0 modules, 0 graphs, 0 of' \
        "$FAKE_CUDA_LOG" >"$work/left" && fail "not given back: $(cat "$work/left")"
    : >"$FAKE_CUDA_LOG"
}

compilations() { wc -l <"$FAKE_NVRTC_COUNT"; }

say "info tells of driver, libraries, GPU and clocks"
expect_exit 0 "$ASSAY" info
expect_out '^cuda +driver 999\.01, CUDA 13\.0, .*/fake_cuda\.so$'
expect_out '^nvrtc +13\.0, .*/fake_nvrtc\.so$'
expect_out '^cublaslt +not here: .*no_cublaslt\.so'
expect_out '^cudnn +not here: .*no_cudnn\.so'
ASSAY_CUDNN=$ASSAY_FAKES/fake_cudnn.so expect_exit 0 "$ASSAY" info
expect_out '^cudnn +9\.19\.0, .*/fake_cudnn\.so$'
expect_out '^cuda:0 +Fake GPU, compute capability 9\.0, 4 SMs, 1\.1 GB of memory, L2 65\.5 kB'
expect_out '^ +SM 1500 MHz of 1980, memory 2600 MHz, 123 W of 700, 41 C, not throttled$'
FAKE_NVML_THROTTLE=0x24 expect_exit 0 "$ASSAY" info
expect_out ', throttled by: power limit, heat$'
[ ! -s "$FAKE_CUDA_LOG" ] || fail "asking made a context"
FAKE_CUDA_DEVICES=2 expect_exit 0 "$ASSAY" info
expect_out '^cuda:1 +Fake GPU 1, '
FAKE_CUDA_DEVICES=0 expect_exit 0 "$ASSAY" info
expect_out 'the driver sees no GPU'
FAKE_NVML_FAIL=1 expect_exit 0 "$ASSAY" info
expect_out '^nvml +not here: NVML does not start'
expect_exit 0 "$ASSAY" info --device cuda
expect_out '^ceilings with'
expect_out '^ +1 KiB +L2 +1000000\.0 '
expect_exit 2 "$ASSAY" info --device gpu
expect_err 'unknown device "gpu"'

say "lists"
expect_exit 0 "$ASSAY" list devices
expect_out '^cuda +an NVIDIA GPU$'
expect_exit 0 "$ASSAY" list kernels
expect_out '^relu_cuda +cuda +cuda +.*runs here'
expect_out '^linear_cublaslt +cublaslt +cuda .*no_cublaslt\.so'
expect_out '^conv2d_cudnn +cudnn +cuda .*no_cudnn\.so'

say "hot and cold, verified, in each type; what was taken is given back"
for dtype in f32 bf16 f16; do
    expect_exit 0 "$ASSAY" bench relu add "${gpu[@]}" "${cold[@]}" --cache both --dtype $dtype -o "$rows"
    expect_out 'cuda .*[0-9.]+ [num]?s '
    expect_count 2 '"status":"ok"' "$rows"
    expect_file "$rows" '"device":"cuda"'
    valid_json "$rows"
done
expect_file "$FAKE_CUDA_LOG" ' [1-9][0-9]* replays'
nothing_left

say "memory: what a variant's calls take of the GPU, and what the driver says of it"
expect_exit 0 "$ASSAY" bench relu "${gpu[@]}" "${cold[@]}" --cache both --impl cuda --verbose -o "$rows"
expect_file "$rows" '"idle_bytes":120\.0,"peak_bytes":240\.0,"workspace_bytes":0\.0,"system_peak_bytes":240\.0,'
expect_out '^ +memory +idle 120 B.* peak 240 B.* workspace 0 B.* peak by the driver 240 B$'
# It does not tell any more, once it has said that there is room.
FAKE_CUDA_FAIL=cuMemGetInfo_v2:1:5 expect_exit 0 "$ASSAY" bench relu "${gpu[@]}" "${quick[@]}" -o "$rows"
expect_file "$rows" '"idle_bytes":120\.0,"peak_bytes":240\.0,"workspace_bytes":0\.0,"system_peak_bytes":null,'
nothing_left

say "in this process too"
expect_exit 0 "$ASSAY" bench relu "${gpu[@]}" "${quick[@]}" --in-process
expect_out '1 ok'
nothing_left

say "without capturing, launches go one by one"
FAKE_CUDA_CAPTURE=no expect_exit 0 "$ASSAY" bench relu "${gpu[@]}" "${cold[@]}" --cache both
expect_out '1 ok'
expect_file "$FAKE_CUDA_LOG" ' 0 replays'
nothing_left

say "a driver without what need not be there"
ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda_lean.so expect_exit 0 "$ASSAY" bench relu "${gpu[@]}" "${cold[@]}" --cache both
expect_out '1 ok'
nothing_left
ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda_lean.so expect_exit 0 "$ASSAY" info
expect_out '^cuda:0 +Fake GPU'

say "without NVRTC and NVML: no kernels of ours, and it says so"
ASSAY_NVRTC=$work/none.so ASSAY_NVML=$work/none.so expect_exit 3 "$ASSAY" bench relu "${gpu[@]}" "${quick[@]}" -o "$rows"
expect_count 1 '"status":"unsupported".*none\.so' "$rows"

say "a driver that is too old, does not start, or is not there"
ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda_old.so expect_exit 3 "$ASSAY" bench relu "${gpu[@]}" "${quick[@]}"
expect_err 'the NVIDIA driver is too old: .*fake_cuda_old\.so has no function cuGraphInstantiateWithFlags'
FAKE_CUDA_FAIL=cuInit:100 expect_exit 3 "$ASSAY" bench relu "${gpu[@]}" "${quick[@]}"
expect_err 'the NVIDIA driver does not start: no CUDA-capable device is detected'
FAKE_CUDA_FAIL=cuInit:100 expect_exit 0 "$ASSAY" info
expect_out '^cuda +no driver: the NVIDIA driver does not start: no CUDA-capable device'
FAKE_CUDA_DEVICES=0 expect_exit 3 "$ASSAY" bench relu "${gpu[@]}" "${quick[@]}"
expect_err 'no NVIDIA GPU is here'
export ASSAY_CUDA_DRIVER=$work/none.so
expect_exit 3 "$ASSAY" bench relu "${gpu[@]}" "${quick[@]}"
expect_err 'none\.so'
expect_exit 0 "$ASSAY" list devices
expect_out '^cuda +an NVIDIA GPU: .*none\.so'
expect_exit 0 "$ASSAY" list kernels
expect_out '^relu_cuda .*none\.so'
expect_out '^relu_ref .*runs here'
expect_exit 0 "$ASSAY" info
expect_out '^cuda +no driver: .*none\.so'
expect_exit 0 "$ASSAY" bench relu --device cuda "${quick[@]}" --impl ref
expect_err 'device "cuda" is not here \(.*none\.so.*\); using the cpu instead'
export ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda.so

say "a GPU that is not there"
expect_usage 'no device "cuda:7"; there is one: write "cuda"' "$ASSAY" bench relu --device cuda:7 --strict-device "${quick[@]}"
FAKE_CUDA_DEVICES=2 expect_usage 'no device "cuda:7"; there are 2: cuda:0 to cuda:1' \
    "$ASSAY" bench relu --device cuda:7 --strict-device "${quick[@]}"

say "the second of two, whose ceilings are measured on the way"
FAKE_CUDA_DEVICES=2 FAKE_CUDA_MEMORY=8000000 expect_exit 0 "$ASSAY" bench relu --device cuda:1 --strict-device "${quick[@]}" -o "$rows"
expect_err 'measuring .* ceilings, once'
expect_out 'Fake GPU 1'
expect_count 1 '"status":"ok"' "$rows"
[ -e "$XDG_CACHE_HOME/assay/ceilings-fake-gpu-1-1t.json" ] || fail "its ceilings are not remembered"
nothing_left

say "a context that cannot be made"
FAKE_CUDA_FAIL=cuDevicePrimaryCtxRetain:2 expect_exit 3 "$ASSAY" bench relu "${gpu[@]}" "${quick[@]}"
expect_err 'out of GPU memory'
: >"$FAKE_CUDA_LOG"

say "too large for the GPU's memory: that group is skipped with the figures, the next is measured"
FAKE_CUDA_MEMORY=1000000 expect_exit 0 "$ASSAY" bench relu "${gpu[@]}" --batch 1 --seq 1 --dim 5,1000000 \
    --cache hot --iters 10 --warmup 1 -o "$rows"
expect_count 1 '"status":"skipped".*needs 8.* of memory' "$rows"
expect_count 1 '"status":"ok"' "$rows"

say "an allocation that fails all the same (of what is to flush the cache)"
FAKE_CUDA_FAIL=cuMemAlloc_v2:2:2:2 expect_exit 1 "$ASSAY" bench relu add "${gpu[@]}" "${cold[@]}" --cache cold --no-ceiling -o "$rows"
expect_count 1 '"kernel":"relu_cuda".*"status":"out_of_memory"' "$rows"
expect_count 1 '"kernel":"add_cuda".*"status":"ok"' "$rows"
nothing_left

say "an illegal address costs its own row; the rest of the plan goes on"
FAKE_CUDA_ILLEGAL=relu expect_exit 1 "$ASSAY" bench relu add "${gpu[@]}" "${quick[@]}" -o "$rows"
expect_count 1 '"kernel":"relu_cuda".*"status":"crashed"' "$rows"
expect_file "$rows" 'CUDA error 700: an illegal memory access was encountered'
expect_count 1 '"kernel":"add_cuda".*"status":"ok"' "$rows"
expect_out 'crashed: CUDA error 700'

say "so do a hang, a wrong answer, a launch that fails and a text that does not compile"
FAKE_CUDA_HANG=relu expect_exit 1 "$ASSAY" bench relu add "${gpu[@]}" "${quick[@]}" --timeout 1s -o "$rows"
expect_count 1 '"kernel":"relu_cuda".*"status":"timeout"' "$rows"
expect_count 1 '"kernel":"add_cuda".*"status":"ok"' "$rows"
: >"$FAKE_CUDA_LOG"
FAKE_CUDA_WRONG=relu expect_exit 1 "$ASSAY" bench relu add "${gpu[@]}" "${quick[@]}" -o "$rows"
expect_count 1 '"kernel":"relu_cuda".*"status":"mismatch"' "$rows"
expect_file "$rows" 'got 12345'
expect_count 1 '"kernel":"add_cuda".*"status":"ok"' "$rows"
FAKE_CUDA_FAIL=cuLaunchKernel:701:2 expect_exit 1 "$ASSAY" bench relu "${gpu[@]}" "${quick[@]}" -o "$rows"
expect_count 1 '"status":"failed"' "$rows"
FAKE_NVRTC_FAIL=norm.cu expect_exit 1 "$ASSAY" bench rmsnorm add "${gpu[@]}" "${quick[@]}" -o "$rows"
expect_count 1 '"kernel":"rmsnorm_cuda".*"status":"failed"' "$rows"
expect_file "$rows" 'norm\.cu\(7\): error: made to fail'
expect_count 1 '"kernel":"add_cuda".*"status":"ok"' "$rows"
nothing_left

say "a kernel this stand-in does not know leaves its output unwritten, which is found"
expect_exit 1 "$ASSAY" bench gelu "${gpu[@]}" "${quick[@]}" -o "$rows"
expect_count 1 '"status":"mismatch"' "$rows"
expect_file "$rows" 'left .* unwritten'
nothing_left

say "every recipe of linear, with a cuBLASLt that computes nothing: wrong, and all is given back"
export FAKE_CUBLASLT_LOG=$work/lt
linear=(--recipe all --dtype bf16 --shape 1x256x64 --shape 130x256x64 --cache hot --iters 2 --warmup 1)
ASSAY_CUBLASLT=$ASSAY_FAKES/fake_cublaslt.so expect_exit 1 "$ASSAY" bench linear "${gpu[@]}" "${linear[@]}" -o "$rows"
expect_no_out 'crashed|timeout|failed|out of memory'
expect_file "$rows" '"kernel":"linear_cublaslt"'
expect_file "$rows" '"kernel":"linear_wgmma_cuda"'
expect_file "$rows" '"kernel":"linear_wo_cuda"'
nothing_left
expect_count 1 '^closed: 0 handles, 0 descriptions, 0 layouts, 0 preferences left$' "$FAKE_CUBLASLT_LOG"
ASSAY_CUBLASLT=$ASSAY_FAKES/fake_cublaslt.so FAKE_CUBLASLT_NONE=1 expect_exit 1 "$ASSAY" bench linear "${gpu[@]}" "${linear[@]}" -o "$rows"
expect_count 8 '"kernel":"linear_cublaslt".*"status":"unsupported"' "$rows"
nothing_left

say "the same with a norm and a residual, and with tiles that are tried first"
modes=(--mode "ln+gelu,bias+rms+add" --recipe "baseline,int8dq,float8dq-tensor")
ASSAY_CUBLASLT=$ASSAY_FAKES/fake_cublaslt.so expect_exit 1 "$ASSAY" bench linear "${gpu[@]}" "${linear[@]}" "${modes[@]}" --autotune -o "$rows"
expect_no_out 'crashed|timeout|failed|out of memory'
expect_file "$rows" '"kernel":"linear_wgmma_cuda".*autotuned: the fastest of up to 8 tiles'
nothing_left

say "each allocation may fail, each time all is given back"
for n in $(seq 2 3 50); do
    norm=()
    [ $((n % 2)) = 0 ] || norm=("${modes[@]}")
    FAKE_CUDA_FAIL=cuMemAlloc_v2:2:$n ASSAY_CUBLASLT=$ASSAY_FAKES/fake_cublaslt.so \
        "$ASSAY" bench linear "${gpu[@]}" "${linear[@]}" "${norm[@]}" -o "$rows" >"$work/out" 2>"$work/err"
    [ $? -le 3 ] || fail "allocation $n"
    ! grep -q '"status":"crashed"' "$rows" || fail "a crash after allocation $n failed"
    nothing_left
done
! grep -v ': 0 handles, 0 descriptions, 0 layouts, 0 preferences' "$FAKE_CUBLASLT_LOG" || fail "left by cuBLASLt's users"

say "conv2d and attention, with a cuDNN that computes nothing: wrong, and all is given back"
export FAKE_CUDNN_LOG=$work/dnn
conv=(--dtype "bf16,f32" --cache hot --iters 2 --warmup 1)
ASSAY_CUDNN=$ASSAY_FAKES/fake_cudnn.so expect_exit 1 "$ASSAY" bench conv2d "${gpu[@]}" "${conv[@]}" --kernel all \
    --mode "none,bias+add" --shape 1x9x9x64x32x3x1 --shape 1x9x9x3x5x2x2 --autotune -o "$rows"
expect_no_out 'crashed|timeout|failed|out of memory'
expect_file "$rows" '"kernel":"conv2d_cudnn".*cuDNN 9\.19\.0, autotuned: the fastest of up to 8'
expect_file "$rows" '"kernel":"conv2d_wgmma_cuda".*autotuned: the fastest of up to 8 tiles'
expect_file "$rows" '"kernel":"conv2d_wgmma_cuda".*"status":"unsupported".*3 channels are not a multiple of 16 bytes'
expect_file "$rows" '"kernel":"conv2d_cuda"'
nothing_left
ASSAY_CUDNN=$ASSAY_FAKES/fake_cudnn_lean.so expect_exit 1 "$ASSAY" bench attention "${gpu[@]}" "${conv[@]}" --impl cudnn \
    --mode none,qkv+causal --shape 2x7x3x16 -o "$rows"
expect_count 2 '"kernel":"attention_cudnn".*"status":"mismatch"' "$rows"
nothing_left
FAKE_CUDNN_NONE=1 ASSAY_CUDNN=$ASSAY_FAKES/fake_cudnn_lean.so expect_exit 3 "$ASSAY" bench attention "${gpu[@]}" "${conv[@]}" \
    --dtype bf16 --impl cudnn --shape 2x7x3x16 -o "$rows"
expect_file "$rows" '"status":"unsupported".*no engine for this graph: CUDNN_STATUS_NOT_SUPPORTED"'
nothing_left
for n in $(seq 1 9); do
    FAKE_CUDA_FAIL=cuMemAlloc_v2:2:$n ASSAY_CUDNN=$ASSAY_FAKES/fake_cudnn.so \
        "$ASSAY" bench conv2d "${gpu[@]}" "${conv[@]}" --shape 1x9x9x64x32x3x1 -o "$rows" >"$work/out" 2>"$work/err"
    [ $? -le 3 ] || fail "allocation $n"
    ! grep -q '"status":"crashed"' "$rows" || fail "a crash after allocation $n failed"
    nothing_left
done
! grep -v '^closed: 0 handles, 0 descriptors left$' "$FAKE_CUDNN_LOG" || fail "left by cuDNN's users"

say "held clocks are counted"
FAKE_NVML_THROTTLE=0x4 expect_exit 0 "$ASSAY" bench relu "${gpu[@]}" "${quick[@]}" -o "$rows"
expect_file "$rows" '"throttled": ?[1-9]'
: >"$FAKE_CUDA_LOG"

say "the second start compiles nothing"
bench=("$ASSAY" bench "relu" "${gpu[@]}" "${quick[@]}" --no-ceiling)
rm -rf "$XDG_CACHE_HOME/assay/cuda"
: >"$FAKE_NVRTC_COUNT"
expect_exit 0 "${bench[@]}"
expect_count 1 '^gate\.cu .*-gpu-architecture=sm_90a' "$FAKE_NVRTC_COUNT"
expect_count 1 '^eltwise\.cu .*-DELEMENT=32 -DOP=3' "$FAKE_NVRTC_COUNT"
[ "$(compilations)" = 2 ] || fail "compiled more than it used: $(cat "$FAKE_NVRTC_COUNT")"
expect_exit 0 "${bench[@]}"
[ "$(compilations)" = 2 ] || fail "compiled again"

say "another version of NVRTC does"
FAKE_NVRTC_MINOR=1 expect_exit 0 "${bench[@]}"
[ "$(compilations)" = 4 ] || fail "not compiled by the new version"
rm -rf "$XDG_CACHE_HOME/assay/cuda"
expect_exit 0 "${bench[@]}"

# DAMAGE COMMAND...: does it to each file of the cache, and sees that all are made anew.
damaged() {
    say "entries of the cache $1 are made anew"
    shift
    : >"$FAKE_NVRTC_COUNT"
    for file in "$XDG_CACHE_HOME"/assay/cuda/*.cubin; do
        "$@" "$file" || fail "$* $file"
    done
    expect_exit 0 "${bench[@]}"
    [ "$(compilations)" = 2 ] || fail "$(compilations) compilations, not 2"
    expect_exit 0 "${bench[@]}"
    [ "$(compilations)" = 2 ] || fail "they are not remembered again"
}
truncated() { truncate -s "$1" "$2"; }
flipped() { printf '\xff' | dd of="$2" bs=1 seek="$1" conv=notrunc status=none; }
grown() { sed -i 's/^/x/' "$1"; }
damaged "that are empty" truncated 0
damaged "cut in their head" truncated 10
damaged "cut in their middle" truncated 100
damaged "with another magic" flipped 2
damaged "with another length" flipped 14
damaged "with another byte" flipped 60
damaged "moved by a byte" grown
: >"$FAKE_NVRTC_COUNT"
expect_exit 0 "${bench[@]}"
[ "$(compilations)" = 0 ] || fail "the last ones were not remembered"

say "a cache folder that cannot be made costs compilations and nothing else"
rm -rf "$XDG_CACHE_HOME/assay/cuda"
: >"$XDG_CACHE_HOME/assay/cuda" # a file where the folder would be
expect_exit 0 "${bench[@]}"
expect_out '1 ok'
[ "$(compilations)" = 2 ] || fail "$(compilations) compilations, not 2"
rm "$XDG_CACHE_HOME/assay/cuda"
: >"$FAKE_CUDA_LOG"

say "ceilings are measured where there are none, and remembered"
rm "$XDG_CACHE_HOME/assay/ceilings-fake-gpu-1t.json"
expect_exit 0 "$ASSAY" info --device cuda
expect_out 'not measured yet .*assay info --device cuda --calibrate'
FAKE_CUDA_MEMORY=8000000 expect_exit 0 "$ASSAY" info --device cuda --calibrate
expect_err 'measuring Fake GPU'
expect_out '^ +[0-9]+ [KMG]iB +memory '
expect_file "$XDG_CACHE_HOME/assay/ceilings-fake-gpu-1t.json" '"device": ?"Fake GPU"'
nothing_left

say "a stranger's kernels run in processes of their own, and the judge reaches their memory"
: >"$FAKE_CUDA_LOG"
stranger=(bench relu "${gpu[@]}" "${cold[@]}" --plugin "$ASSAY_PLUGINS/gpu.so")
expect_exit 0 "$ASSAY" "${stranger[@]}" --impl gpu_right,cuda -o "$rows"
expect_count 2 '"status":"ok"' "$rows"
expect_count 1 '"kernel":"gpu_right".*"isolation":"seccomp' "$rows"
nothing_left
expect_exit 0 "$ASSAY" "${stranger[@]}" --impl gpu_right,cuda --sandbox -o "$rows"
expect_count 2 '"status":"ok"' "$rows"
expect_count 1 '"isolation":"[^"]*, no network"' "$rows"

say "an error that ends the GPU's context costs the stranger's own row"
expect_exit 1 "$ASSAY" "${stranger[@]}" --impl gpu_right,gpu_copies,gpu_illegal,cuda -o "$rows"
expect_count 2 '"status":"ok"' "$rows"
expect_count 1 '"kernel":"gpu_copies".*"status":"mismatch"' "$rows"
expect_count 1 '"kernel":"gpu_illegal".*"status":"crashed","reason":"CUDA error 700: an illegal memory access' "$rows"

say "a driver that cannot share memory: only in the same process"
ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda_lean.so expect_exit 0 "$ASSAY" "${stranger[@]}" --impl gpu_right,cuda -o "$rows"
expect_count 1 '"kernel":"gpu_right".*"status":"unsupported","reason":"needs --in-process' "$rows"
ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda_lean.so expect_exit 0 "$ASSAY" "${stranger[@]}" --impl gpu_right,cuda --in-process -o "$rows"
expect_count 2 '"status":"ok"' "$rows"
