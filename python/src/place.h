/* place.h: where the tensors of any library lie: by DLPack (the C exchange table of the type, else
 * the method __dlpack__), the buffer protocol or __cuda_array_interface__. Nothing of a framework
 * is imported. Complex numbers and structures are not known. */
#ifndef ASSAY_PY_PLACE_H
#define ASSAY_PY_PLACE_H

#include <Python.h>

#include <assay/assay_types.h>
#include <stdbool.h>

enum { ASSAY_PY_MAX_RANK = 32 };

enum assay_py_kind {
    ASSAY_PY_FLOAT,
    ASSAY_PY_BFLOAT,
    ASSAY_PY_SIGNED,
    ASSAY_PY_UNSIGNED,
    ASSAY_PY_BOOLEAN,
    ASSAY_PY_OTHER
};

struct assay_py_element {
    const char *name;
    enum assay_py_kind kind;
    int32_t bytes;
    enum assay_dtype dtype; /* NONE: converted by values.c */
    int32_t dlpack;         /* DLPack's code, where kind and bytes do not say it */
};

/* NULL with a TypeError. */
const struct assay_py_element *assay_py_element_named(const char *name);

struct dl_managed_versioned;

struct assay_py_place {
    char *data;
    const struct assay_py_element *element;
    int32_t rank;
    int64_t dims[ASSAY_PY_MAX_RANK], strides[ASSAY_PY_MAX_RANK]; /* in bytes */
    bool writable, on_gpu;
    const char *by; /* which of the protocols it was */
    /* What keeps it alive, until assay_py_place_release. */
    Py_buffer buffer;
    PyObject *capsule;
    struct dl_managed_versioned *managed;
};

/* -1 with an exception: it is no tensor, or of a type, a device or a form that assay cannot read.
 * `place` may be released in either case. */
int assay_py_place_of(PyObject *tensor, struct assay_py_place *place);
void assay_py_place_release(struct assay_py_place *place);

#endif
