#!/usr/bin/env bash
# assay kernel --new: every op has a skeleton in C that is right from the start, and one in CUDA that
# compiles; tools/check-device runs those. KERNEL_NEW_OPS: only these ops; a new op may have none.
# Not under sanitizers: it is mostly compiling, and what it compiles is not theirs.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
command -v "${CC:-cc}" >/dev/null || skip "no C compiler"
few=(--iterations 5 --warmup 1 --cache hot)

say "what cannot be made is said, and leaves nothing behind"
expect_usage 'unknown op "softmx"; did you mean "softmax"\?' "$ASSAY" kernel --new a --op softmx --lang c
expect_usage '"loss" is mse and cross_entropy' "$ASSAY" kernel --new a --op loss --lang c
expect_usage 'unknown language "rust"; there are c and cu' "$ASSAY" kernel --new a --op relu --lang rust
expect_usage 'cannot name a kernel' "$ASSAY" kernel --new 'a b' --op relu --lang c
expect_usage 'cannot name a kernel.* at the most 30 of them' "$ASSAY" kernel --new a234567890123456789012345678901 --op relu --lang c
expect_usage 'the name of kernels that are built in' "$ASSAY" kernel --new native --op relu --lang c
expect_usage 'its parent folder does not exist' "$ASSAY" kernel --new none/a --op relu --lang c
for left in a 'a b' native none; do
    [ ! -e "$left" ] || fail "$left was left behind"
done

say "what is there stays as it is"
mkdir mine
expect_usage 'mine: exists already' "$ASSAY" kernel --new mine --op relu --lang c
[ -z "$(ls mine)" ] || fail "something was written into it"

say "a path, an alias, a name that is no identifier"
expect_exit 0 "$ASSAY" kernel --new mine/2-swish.x --op swish --lang c
expect_out 'mine/2-swish.x/kernels/2-swish.x.c'
expect_file mine/2-swish.x/kernels/2-swish.x.c '\.name = "_2_swish_x",'
expect_file mine/2-swish.x/kernels/2-swish.x.c '\.op = "silu",'
expect_file mine/2-swish.x/README.md '^A kernel of .silu.:'
expect_exit 0 "$ASSAY" kernel mine/2-swish.x "${few[@]}"
expect_out '✓'

say "each op in C is right from the start, on both its shapes"
all=${KERNEL_NEW_OPS:-$("$ASSAY" list ops --names)} ops= seen=0
for op in $all; do
    if "$ASSAY" kernel --new "my_$op" --op "$op" --lang c 2>err.txt >/dev/null; then
        ops+=" $op"
    else
        grep -q "there is no skeleton of $op in c yet" err.txt || fail "$op: $(cat err.txt)"
        continue
    fi
    seen=$((seen + 1))
    [ -n "${KERNEL_NEW_OPS:-}" ] || [ $((seen % ${ASSAY_SAMPLE:-1})) -eq 0 ] || continue
    # Compiled quickly and for small shapes: it is right or it is not.
    sed -i 's/^# cflags:.*/cflags: [-O1, -Wall, -Wextra, -Werror]/; s/8x128x512/2x3x64/' "my_$op/assay.yml"
    expect_exit 0 "$ASSAY" kernel "my_$op" "${few[@]}"
    expect_out "my_$op.*✓|$op.*✓"
    expect_no_out '✗'
done

[ -n "${KERNEL_NEW_OPS:-}" ] || [ "$(wc -w <<<"$ops")" -ge 27 ] || fail "too few ops have skeletons:$ops"

say "a mistake in one is found"
[ -d my_relu ] || expect_exit 0 "$ASSAY" kernel --new my_relu --op relu --lang c
sed -i 's/y\[i\] = one/y[i] = 1 + one/' my_relu/kernels/my_relu.c
expect_exit 1 "$ASSAY" kernel my_relu "${few[@]}"
expect_out '✗'

say "each in CUDA: the host's part is C, the GPU's part CUDA"
nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null)
for op in $ops; do
    expect_exit 0 "$ASSAY" kernel --new "cu_$op" --op "$op" --lang cu
    file=cu_$op/kernels/cu_$op.cu
    expect_exit 0 "${CC:-cc}" -x c -std=gnu17 -Wall -Wextra -Werror -fsyntax-only -I "$ASSAY_SOURCE_DIR/include" "$file"
    # nvcc's own headers cannot do with -D__CUDACC_RTC__, so another word stands for it.
    {
        echo "namespace of_$op {"
        sed "s/__CUDACC_RTC__/__CUDACC__/; s/void compute(/void compute_$op(/" "$file"
        echo '}'
    } >>all.cu
done
[ -z "$nvcc" ] || expect_exit 0 "$nvcc" -arch=sm_80 -Werror all-warnings -cubin -o all.cubin all.cu

say "its host's part finds and launches the GPU's: on a stand-in, whose kernels write nothing"
export ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda.so ASSAY_NVRTC=$ASSAY_FAKES/fake_nvrtc.so ASSAY_NVML=$ASSAY_FAKES/fake_nvml.so
for op in softmax linear; do
    [ -d "cu_$op" ] || expect_exit 0 "$ASSAY" kernel --new "cu_$op" --op "$op" --lang cu
    expect_exit 1 "$ASSAY" kernel "cu_$op" --device cuda "${few[@]}" --quiet --output "$op.jsonl"
    expect_count 2 "\"implementation\":\"cu_$op\".*\"status\":\"mismatch\".*unwritten" "$op.jsonl"
done
