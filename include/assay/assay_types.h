/* assay_types.h: the words every other assay header uses: status, error, dtype, tensor.
 *
 * C17 and C++17. Nothing here allocates, and every struct is plain data. */
#ifndef ASSAY_TYPES_H
#define ASSAY_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ASSAY_API __attribute__((visibility("default")))
#else
#define ASSAY_API
#endif

/* What every call that can fail returns. Negative is a failure. ASSAY_UNSUPPORTED is a result, not
 * an error: "not on this machine, or not for this shape", with the reason in the assay_error. */
enum assay_status {
    ASSAY_OK = 0,
    ASSAY_UNSUPPORTED = 1,
    ASSAY_ERR_INVALID = -1,     /* the caller asked for something that makes no sense */
    ASSAY_ERR_NOMEM = -2,       /* no memory, on the host or on the device */
    ASSAY_ERR_IO = -3,          /* a file, pipe or folder did not do what was asked */
    ASSAY_ERR_DEVICE = -4,      /* the device failed */
    ASSAY_ERR_CORRUPT = -5,     /* data that was read is not what it should be */
    ASSAY_ERR_INTERRUPTED = -6, /* the user asked to stop */
    ASSAY_ERR_INTERNAL = -7,    /* a mistake of ours */
    ASSAY_ERR_FAILED = -8       /* the caller's own function failed, crashed or hung */
};

/* What went wrong: a code, the place (a file:line:column, a flag, a kernel's name; may be empty)
 * and one sentence that says what to do about it. Initialise to {0}; the first error written is
 * kept. */
struct assay_error {
    enum assay_status code;
    char where[128];
    char message[512];
};

/* Element types. The numbers are part of the plug-in ABI: they never change, new ones go last. */
enum assay_dtype {
    ASSAY_DTYPE_NONE = 0,
    ASSAY_DTYPE_F64 = 1,
    ASSAY_DTYPE_F32 = 2,
    ASSAY_DTYPE_F16 = 3,
    ASSAY_DTYPE_BF16 = 4,
    ASSAY_DTYPE_S32 = 5,
    ASSAY_DTYPE_S8 = 6,
    ASSAY_DTYPE_U8 = 7,
    ASSAY_DTYPE_U4 = 8,   /* two to a byte, the even element in the low half */
    ASSAY_DTYPE_E4M3 = 9, /* 8-bit floats of the OCP specification */
    ASSAY_DTYPE_E5M2 = 10,
    ASSAY_DTYPE_COUNT
};

#define ASSAY_DTYPE_BIT(dtype) (UINT64_C(1) << (dtype))

#define ASSAY_MAX_RANK 4

/* A dense row-major tensor's type and extent; the last dimension is contiguous. */
struct assay_tensor {
    enum assay_dtype dtype;
    int32_t rank;
    int64_t dims[ASSAY_MAX_RANK];
};

#ifdef __cplusplus
}
#endif

#endif
