/* tvm_names.h: which functions of TVM-FFI a shared object has, which op each computes, and what it
 * is called with. Nothing is opened: the names are in the file.
 *
 * A function that is called as an op is, or OP_ANYTHING, computes that op, and is called with the
 * inputs and then the outputs. A file beside the object, FILE.so.args, says it of others:
 *
 *     # FUNCTION: OP ARGUMENT...
 *     my_norm: rmsnorm out in eps
 *
 * An argument is in or out (all of them, in order), in0, out0 and so on, one of the op's parameters
 * or axes, a number, true, false or none. Where there is such a file, only its functions count. */
#ifndef ASSAY_RUNNER_TVM_NAMES_H
#define ASSAY_RUNNER_TVM_NAMES_H

#include "op/op.h"
#include "runner/tvm_abi.h"

enum { TVM_FUNCTIONS = 64, TVM_ARGUMENTS = 32 };

enum tvm_source { TVM_IS_INPUT, TVM_IS_OUTPUT, TVM_IS_PARAM, TVM_IS_AXIS, TVM_IS_VALUE };

struct tvm_argument {
    enum tvm_source source;
    int32_t index; /* -1: all of them */
    struct tvm_any value;
};

struct tvm_named {
    char name[64]; /* without the prefix */
    const struct assay_op *op;
    struct tvm_argument arguments[TVM_ARGUMENTS];
    int32_t n_arguments;
};

struct tvm_names {
    struct tvm_named items[TVM_FUNCTIONS];
    int32_t n;
    bool needs_library; /* it calls functions of libtvm_ffi.so */
};

/* Is it a shared object with functions of TVM-FFI and nothing for assay? */
bool assay_tvm_is(const char *path);

/* ASSAY_ERR_INVALID: there is none that computes an op, or FILE.so.args has a mistake. */
enum assay_status assay_tvm_names_read(const char *path, struct tvm_names *out,
                                       struct assay_error *err);

#endif
