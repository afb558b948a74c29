/* tvm_abi.h: the C interface of TVM-FFI 0.1 (tvm.apache.org/ffi), as far as it is used here: every
 * function is called the same way, with values of 16 bytes. */
#ifndef ASSAY_RUNNER_TVM_ABI_H
#define ASSAY_RUNNER_TVM_ABI_H

#include <stddef.h>
#include <stdint.h>

/* What a value is. From OBJECT on it is counted by reference. */
enum { TVM_NONE = 0, TVM_INT = 1, TVM_BOOL = 2, TVM_FLOAT = 3, TVM_TENSOR = 7, TVM_OBJECT = 64 };

struct tvm_any {
    int32_t type;
    uint32_t zero;
    union {
        int64_t integer;
        double real;
        void *pointer;
    } v;
};

/* Exported as __tvm_ffi_NAME. 0, or an error that was raised. */
typedef int (*tvm_function_fn)(void *handle, const struct tvm_any *args, int32_t n,
                               struct tvm_any *result);

/* The head of an object. */
struct tvm_object {
    uint64_t references;
    int32_t type;
    uint32_t padding;
    void (*deleter)(void *self, int flags);
};

struct tvm_bytes {
    const char *data;
    size_t size;
};

/* An error: an object, and behind its head this; more follows. */
struct tvm_error {
    struct tvm_object head;
    struct tvm_bytes kind, message;
};

/* Of libtvm_ffi.so. */
typedef void (*tvm_move_raised_fn)(void **out); /* TVMFFIErrorMoveFromRaised */
typedef int (*tvm_dec_ref_fn)(void *object);    /* TVMFFIObjectDecRef */
typedef int (*tvm_set_stream_fn)(int32_t type, int32_t id, void *stream,
                                 void **before); /* TVMFFIEnvSetStream */

#define TVM_PREFIX "__tvm_ffi_"

#endif
