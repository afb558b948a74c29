/* tensor.c: memory as tensors of any framework, by DLPack. */
#include "module.h"

#include "tensor/dlpack.h"
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

static const char CAPSULE[] = "dltensor";

/* A capsule's tensor, with its shape and strides behind it. */
struct lent {
    struct dl_managed managed;
    int64_t shape[ASSAY_MAX_RANK + 1], strides[ASSAY_MAX_RANK + 1];
};

static void release(struct dl_managed *managed) { free(managed); }

/* Nobody took it over: then its name is still this one. */
static void release_capsule(PyObject *capsule)
{
    struct dl_managed *managed =
        PyCapsule_IsValid(capsule, CAPSULE) ? PyCapsule_GetPointer(capsule, CAPSULE) : NULL;
    if (managed)
        managed->deleter(managed);
}

/* Codes of 8 bits and less travel as bytes, which a framework sees as what they are. */
static struct dl_dtype code_of(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_DTYPE_F64:
        return (struct dl_dtype){DL_FLOAT, 64, 1};
    case ASSAY_DTYPE_F32:
        return (struct dl_dtype){DL_FLOAT, 32, 1};
    case ASSAY_DTYPE_F16:
        return (struct dl_dtype){DL_FLOAT, 16, 1};
    case ASSAY_DTYPE_BF16:
        return (struct dl_dtype){DL_BFLOAT, 16, 1};
    case ASSAY_DTYPE_S32:
        return (struct dl_dtype){DL_INT, 32, 1};
    case ASSAY_DTYPE_S8:
        return (struct dl_dtype){DL_INT, 8, 1};
    default:
        return (struct dl_dtype){DL_UINT, 8, 1};
    }
}

/* Two of u4 are in a byte: the last dimension is half as long. */
static void set_shape(struct lent *lent, const struct assay_tensor *tensor)
{
    int64_t stride = 1;
    for (int32_t i = tensor->rank - 1; i >= 0; i--) {
        bool halved = tensor->dtype == ASSAY_DTYPE_U4 && i == tensor->rank - 1;
        lent->shape[i] = halved ? (tensor->dims[i] + 1) / 2 : tensor->dims[i];
        lent->strides[i] = stride;
        stride *= lent->shape[i];
    }
}

PyObject *assay_py_tensor(const struct assay_tensor *tensor)
{
    PyObject *dims = PyTuple_New(tensor->rank);
    for (int32_t i = 0; dims && i < tensor->rank; i++) {
        PyObject *dim = PyLong_FromLongLong(tensor->dims[i]);
        if (!dim || PyTuple_SetItem(dims, i, dim) != 0)
            Py_CLEAR(dims);
    }
    return dims ? Py_BuildValue("(sN)", assay_dtype_name(tensor->dtype), dims) : NULL;
}

static bool read_dims(PyObject *dims, struct assay_tensor *out)
{
    Py_ssize_t n = PySequence_Size(dims);
    if (n < 0)
        return false;
    if (n > ASSAY_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "a tensor has at most %d dimensions, not %zd",
                     ASSAY_MAX_RANK, n);
        return false;
    }
    out->rank = (int32_t)n;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *dim = PySequence_GetItem(dims, i);
        out->dims[i] = dim ? PyLong_AsLongLong(dim) : -1;
        Py_XDECREF(dim);
        if (PyErr_Occurred())
            return false;
    }
    return true;
}

static bool read_dtype(PyObject *name, enum assay_dtype *out)
{
    struct assay_error why = {0};
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    if (!bytes)
        return false;
    enum assay_status status = assay_dtype_parse(PyBytes_AsString(bytes), out, &why);
    Py_DECREF(bytes);
    if (status != ASSAY_OK)
        PyErr_SetString(PyExc_ValueError, why.message);
    return status == ASSAY_OK;
}

bool assay_py_read_tensor(PyObject *pair, struct assay_tensor *out)
{
    PyObject *dtype = PySequence_GetItem(pair, 0), *dims = NULL;
    if (dtype)
        dims = PySequence_GetItem(pair, 1);
    bool fine = dims && read_dtype(dtype, &out->dtype) && read_dims(dims, out);
    Py_XDECREF(dtype);
    Py_XDECREF(dims);
    return fine;
}

PyObject *assay_py_capsule(PyObject *module, PyObject *arguments)
{
    unsigned long long address;
    PyObject *dtype, *dims;
    struct assay_tensor tensor;
    int device;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "KOOi:capsule", &address, &dtype, &dims, &device) ||
        !read_dtype(dtype, &tensor.dtype) || !read_dims(dims, &tensor))
        return NULL;
    struct lent *lent = calloc(1, sizeof *lent);
    if (!lent)
        return PyErr_NoMemory();
    set_shape(lent, &tensor);
    lent->managed.tensor = (struct dl_tensor){
        .data = (void *)(uintptr_t)address,
        .device = device < 0 ? (struct dl_device){DL_CPU, 0} : (struct dl_device){DL_CUDA, device},
        .rank = tensor.rank,
        .dtype = code_of(tensor.dtype),
        .shape = lent->shape,
        .strides = lent->strides,
    };
    lent->managed.deleter = release;
    PyObject *capsule = PyCapsule_New(&lent->managed, CAPSULE, release_capsule);
    if (!capsule)
        free(lent);
    return capsule;
}

PyObject *assay_py_view(PyObject *module, PyObject *arguments)
{
    unsigned long long address;
    Py_ssize_t bytes;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Kn:view", &address, &bytes))
        return NULL;
    return PyMemoryView_FromMemory((char *)(uintptr_t)address, bytes, PyBUF_WRITE);
}
