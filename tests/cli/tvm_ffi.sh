#!/usr/bin/env bash
# Compiled functions of TVM-FFI as kernels of ops: found by their names, called as documented, measured in runners.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
export ASSAY_TVM_FFI=$ASSAY_PLUGINS/tvm_runtime.so
cp "$ASSAY_PLUGINS/tvm_relu.so" mine.so
expect_words() { tr -s ' \n' ' ' <"$work/out" | grep -Eq -- "$1" || fail "the output does not say: $1"; }

say "functions are matched to the op by their names, right and wrong ones told apart"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin mine.so --kernel all -o all.json
expect_words ' mine_relu [^✗]*✓'
expect_words ' mine_relu_returns [^✗]*✓'
expect_words 'mine_relu_wrong ✗? ?mismatch: '
expect_words 'mine_relu_raises ✗? ?failed: ValueError: x must be a matrix'
expect_words 'mine_relu_silent ✗? ?failed: it returned -7, and did not say why'
expect_words 'mine_relu_crashes ✗? ?crashed: SIGABRT'
expect_words ' ref '
valid_json all.json
! grep -q metadata all.json || fail "something is measured that is no function"

say "one of another type says so"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --dtype bf16 --plugin mine.so --kernel mine_relu,relu_ref
expect_words 'mine ✗? ?failed: TypeError: relu takes tensors of float32 on the CPU'

say "a file beside it names other ops and arguments"
cat >mine.so.args <<'END'
# for the test
bent: leakyrelu slope out in0 dim 0.5 true none   # everything that can be said
relu: relu in out
END
expect_exit 0 "$ASSAY" bench leakyrelu "${quick[@]}" --plugin mine.so --impl mine,ref
expect_words ' mine [^✗]*✓'
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin mine.so --kernel mine_relu
expect_exit 2 "$ASSAY" bench relu "${quick[@]}" --plugin mine.so --kernel mine_relu_wrong
expect_err 'unknown kernel "mine_relu_wrong"'
expect_exit 0 "$ASSAY" list kernels --plugin mine.so
expect_out 'mine_bent'

say "mistakes in it have a place"
refused() {
    echo "$1" >mine.so.args
    expect_usage "$2" "$ASSAY" bench relu "${quick[@]}" --plugin mine.so
}
refused 'relu: relu in slop' 'mine.so.args:1: unknown argument "slop" of relu; known are in, out'
refused $'\nrelu: relv in out' 'mine.so.args:2: unknown op "relv"; did you mean "relu"'
refused 'relu' 'mine.so.args:1: write it as FUNCTION: OP ARGUMENT'
refused '# nothing' 'mine.so.args: names no functions'
refused 'absent: relu in out' 'mine.so: does not export __tvm_ffi_absent'
echo 'relu: relu in out1' >mine.so.args
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin mine.so --kernel mine_relu,relu_ref
expect_words 'mine ✗? ?unsupported: there is no out1'
rm mine.so.args

say "without the library it says what is missing; who does not use it needs none"
ASSAY_TVM_FFI=$work/nowhere.so expect_usage 'mine.so: needs libtvm_ffi.so, which was not found: .*ASSAY_TVM_FFI' \
    "$ASSAY" bench relu "${quick[@]}" --plugin mine.so
cat >plain.c <<'END'
#include <stdint.h>
struct value { int32_t type, zero; void *pointer; };
struct tensor { float *data; int32_t device[2], rank, dtype; int64_t *shape, *strides; uint64_t offset; };
int __tvm_ffi_relu_plain(void *handle, const struct value *v, int32_t n, struct value *result)
{
    const struct tensor *x = v[0].pointer;
    struct tensor *y = v[1].pointer;
    int64_t count = 1;
    for (int32_t i = 0; i < x->rank; i++)
        count *= x->shape[i];
    for (int64_t i = 0; i < count; i++)
        y->data[i] = x->data[i] > 0 ? x->data[i] : 0;
    return count == 30 ? 0 : 5;
}
END
compile() { "${ASSAY_CC:-cc}" -O1 -shared -fPIC -w "$@" || skip "no compiler"; }
compile plain.c -o plain.so
ASSAY_TVM_FFI=$work/nowhere.so expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin plain.so --impl plain,ref
expect_words ' plain [^✗]*✓'
ASSAY_TVM_FFI=$work/nowhere.so expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --seq 4 --plugin plain.so --impl plain,ref
expect_words 'plain .*failed: it returned 5, and did not say why: libtvm_ffi.so, through which it would, is not here'

say "names that are no op's"
sed 's/relu_plain/relux_plain/' plain.c >other.c
compile other.c -o other.so
expect_usage "other.so: none of its functions of TVM-FFI is called as an op of assay is \(relux_plain\); say in .*other.so.args" \
    "$ASSAY" bench relu "${quick[@]}" --plugin other.so

say "they have a process of their own"
expect_exit 2 "$ASSAY" bench relu "${quick[@]}" --plugin mine.so --in-process
expect_err 'functions of TVM-FFI have a process of their own'

say "on a GPU the library tells them the stream"
export ASSAY_CUDA_DRIVER=$ASSAY_FAKES/fake_cuda.so ASSAY_NVRTC=$ASSAY_FAKES/fake_nvrtc.so
export ASSAY_NVML=$ASSAY_FAKES/fake_nvml.so ASSAY_CUBLASLT=$work/none.so ASSAY_CUDNN=$work/none.so
gpu=(--device cuda --strict-device "${quick[@]}" --plugin mine.so --kernel mine_relu_raises)
expect_exit 3 "$ASSAY" bench relu "${gpu[@]}"
expect_words 'unsupported: on a GPU it needs libtvm_ffi.so, which tells it the stream'
compile -DTVM_STREAMS "$ASSAY_SOURCE_DIR/tests/kernels/tvm_runtime.c" -o streams.so
ASSAY_TVM_FFI=$work/streams.so expect_exit 1 "$ASSAY" bench relu "${gpu[@]}"
expect_words 'failed: ValueError: it was told the stream'
