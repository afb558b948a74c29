/* dlpack.h: what DLPack fixes (github.com/dmlc/dlpack), as far as it is used here: tensors of
 * versions 0 and 1, and the table of functions of 1.2 and later. */
#ifndef ASSAY_TENSOR_DLPACK_H
#define ASSAY_TENSOR_DLPACK_H

#include <stdint.h>

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
enum {
    DL_INT = 0,
    DL_UINT = 1,
    DL_FLOAT = 2,
    DL_BFLOAT = 4,
    DL_BOOL = 6,
    DL_E4M3FN = 10,
    DL_E5M2 = 12
};
enum { DL_MAJOR = 1, DL_READ_ONLY = 1 };

struct dl_device {
    int32_t type, id;
};

struct dl_dtype {
    uint8_t code, bits;
    uint16_t lanes;
};

struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t rank;
    struct dl_dtype dtype;
    int64_t *shape, *strides; /* in elements; no strides: row-major */
    uint64_t byte_offset;
};

/* In a capsule "dltensor". */
struct dl_managed {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
};

struct dl_version {
    uint32_t major, minor;
};

/* In a capsule "dltensor_versioned". The fields up to the flags never change. */
struct dl_managed_versioned {
    struct dl_version version;
    void *context;
    void (*deleter)(struct dl_managed_versioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

/* What a type has as __dlpack_c_exchange_api__: a capsule "dlpack_exchange_api". */
struct dl_exchange {
    struct dl_version version;
    const struct dl_exchange *previous; /* of an older version */
    void *allocate;
    int (*from_object)(void *object, struct dl_managed_versioned **out);
    void *to_object, *borrow, *current_stream;
};

#endif
