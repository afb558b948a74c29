/* values.c: tensors of any library by the buffer protocol, DLPack or __cuda_array_interface__, as
 * dense values on the host; and what is done with such values.
 *
 * Strided tensors are read and written on the host only; on a GPU they must be dense. Complex
 * numbers and structures are not known. */
#include "values.h"

#include "base/rng.h"
#include "device/cuda/cuda_api.h"
#include "device/cuda/cuda.h"
#include "tensor/compare.h"

#include <math.h>
#include <string.h>

/* ---- element types --------------------------------------------------------------------------- */

enum { MAX_RANK = 32, BLOCK = 512 };

enum kind { FLOAT, BFLOAT, SIGNED, UNSIGNED, BOOLEAN, OTHER };

static const struct element {
    const char *name;
    enum kind kind;
    int32_t bytes;
    enum assay_dtype dtype; /* NONE: converted here */
    int32_t dlpack;         /* DLPack's code, where kind and bytes do not say it */
} elements[] = {
    {"float64", FLOAT, 8, ASSAY_DTYPE_F64, 0},
    {"float32", FLOAT, 4, ASSAY_DTYPE_F32, 0},
    {"float16", FLOAT, 2, ASSAY_DTYPE_F16, 0},
    {"bfloat16", BFLOAT, 2, ASSAY_DTYPE_BF16, 0},
    {"float8_e4m3fn", OTHER, 1, ASSAY_DTYPE_E4M3, 10},
    {"float8_e5m2", OTHER, 1, ASSAY_DTYPE_E5M2, 12},
    {"int64", SIGNED, 8, ASSAY_DTYPE_NONE, 0},
    {"int32", SIGNED, 4, ASSAY_DTYPE_S32, 0},
    {"int16", SIGNED, 2, ASSAY_DTYPE_NONE, 0},
    {"int8", SIGNED, 1, ASSAY_DTYPE_S8, 0},
    {"uint64", UNSIGNED, 8, ASSAY_DTYPE_NONE, 0},
    {"uint32", UNSIGNED, 4, ASSAY_DTYPE_NONE, 0},
    {"uint16", UNSIGNED, 2, ASSAY_DTYPE_NONE, 0},
    {"uint8", UNSIGNED, 1, ASSAY_DTYPE_U8, 0},
    {"bool", BOOLEAN, 1, ASSAY_DTYPE_U8, 0},
};

static const struct element *element_of(enum kind kind, int64_t bytes)
{
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        if (kind != OTHER && elements[i].kind == kind && elements[i].bytes == bytes)
            return &elements[i];
    return NULL;
}

static const struct element *element_named(const char *name)
{
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        if (strcmp(elements[i].name, name) == 0)
            return &elements[i];
    PyErr_Format(PyExc_TypeError, "unknown element type %s", name);
    return NULL;
}

static bool is_float(const struct element *e)
{
    return e->dtype && assay_dtype_info(e->dtype)->is_float;
}

static double integer_at(const struct element *e, const char *at)
{
    uint64_t value = 0; /* little-endian, as every machine that assay knows */
    memcpy(&value, at, (size_t)e->bytes);
    if (e->kind == UNSIGNED)
        return (double)value;
    int shift = 64 - 8 * e->bytes;
    return (double)((int64_t)(value << shift) >> shift);
}

static void load(const struct element *e, const char *values, int64_t first, int64_t n, double *out)
{
    if (e->dtype) {
        assay_dtype_load(e->dtype, values, first, n, out);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = integer_at(e, values + (first + i) * e->bytes);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* A tensor where it lies. Whatever keeps it alive is released by view_release. */
struct view {
    char *data;
    const struct element *element;
    int32_t rank;
    int64_t dims[MAX_RANK], strides[MAX_RANK]; /* in bytes */
    bool writable, on_gpu;
    Py_buffer buffer;
    PyObject *capsule;
};

/* DLPack's own structs, of its version 0. */
struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t rank;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t offset;
};
enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };

static void view_release(struct view *view)
{
    if (view->buffer.obj)
        PyBuffer_Release(&view->buffer);
    Py_CLEAR(view->capsule);
}

static int not_known(PyObject *tensor, const char *what)
{
    PyErr_Format(PyExc_TypeError, "%R: %s", (PyObject *)Py_TYPE(tensor), what);
    return -1;
}

/* Row-major, where nobody said otherwise. */
static void set_dense(struct view *view)
{
    int64_t stride = view->element->bytes;
    for (int32_t i = view->rank - 1; i >= 0; i--) {
        view->strides[i] = stride;
        stride *= view->dims[i];
    }
}

static int set_rank(struct view *view, int64_t rank, PyObject *tensor)
{
    if (rank < 0 || rank > MAX_RANK)
        return not_known(tensor, "it has too many dimensions");
    view->rank = (int32_t)rank;
    return 0;
}

static enum kind kind_of_format(const char *format)
{
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    if (!format[0] || format[1])
        return OTHER;
    return strchr("efd", *format)     ? FLOAT
           : strchr("bhilq", *format) ? SIGNED
           : strchr("BHILQ", *format) ? UNSIGNED
           : *format == '?'           ? BOOLEAN
                                      : OTHER;
}

static int view_buffer(PyObject *tensor, struct view *view)
{
    Py_buffer *b = &view->buffer;
    view->writable = PyObject_GetBuffer(tensor, b, PyBUF_FULL) == 0;
    if (!view->writable) {
        PyErr_Clear();
        if (PyObject_GetBuffer(tensor, b, PyBUF_FULL_RO) != 0)
            return -1;
    }
    if (b->suboffsets)
        return not_known(tensor, "its rows lie apart");
    view->element = element_of(b->format ? kind_of_format(b->format) : UNSIGNED, b->itemsize);
    if (!view->element)
        return not_known(tensor, "elements of a type that assay cannot compare");
    if (set_rank(view, b->ndim, tensor) != 0)
        return -1;
    view->data = b->buf;
    for (int32_t i = 0; i < view->rank; i++) {
        view->dims[i] = b->shape[i];
        view->strides[i] = b->strides[i];
    }
    return 0;
}

static const struct element *element_of_dlpack(const struct dl_tensor *t)
{
    int code = t->dtype.code, bits = t->dtype.bits;
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        if (elements[i].kind == OTHER && elements[i].dlpack == code && bits == 8)
            return &elements[i];
    enum kind kind = code == DL_INT      ? SIGNED
                     : code == DL_UINT   ? UNSIGNED
                     : code == DL_FLOAT  ? FLOAT
                     : code == DL_BFLOAT ? BFLOAT
                     : code == DL_BOOL   ? BOOLEAN
                                         : OTHER;
    return t->dtype.lanes == 1 ? element_of(kind, bits / 8) : NULL;
}

static int view_dlpack(PyObject *tensor, struct view *view)
{
    view->capsule = PyObject_CallMethod(tensor, "__dlpack__", NULL);
    if (!view->capsule)
        return -1;
    const struct dl_tensor *t = PyCapsule_GetPointer(view->capsule, "dltensor");
    if (!t)
        return -1;
    view->element = element_of_dlpack(t);
    if (!view->element)
        return not_known(tensor, "elements of a type that assay cannot compare");
    int32_t where = t->device.type;
    view->on_gpu = where == DL_CUDA;
    if (where != DL_CPU && where != DL_CUDA && where != DL_CUDA_HOST && where != DL_CUDA_MANAGED)
        return not_known(tensor, "it lies on a device that assay cannot read");
    if (set_rank(view, t->rank, tensor) != 0)
        return -1;
    view->writable = true;
    view->data = (char *)t->data + t->offset;
    for (int32_t i = 0; i < view->rank; i++)
        view->dims[i] = t->shape[i];
    set_dense(view);
    for (int32_t i = 0; t->strides && i < view->rank; i++)
        view->strides[i] = t->strides[i] * view->element->bytes;
    return 0;
}

static int64_t integer_of(PyObject *sequence, Py_ssize_t i)
{
    PyObject *item = PySequence_GetItem(sequence, i);
    int64_t value = item ? PyLong_AsLongLong(item) : -1;
    Py_XDECREF(item);
    return value;
}

static int read_interface(PyObject *tensor, PyObject *dict, struct view *view)
{
    PyObject *shape = PyDict_GetItemString(dict, "shape"), *strides;
    PyObject *data = PyDict_GetItemString(dict, "data");
    PyObject *type = PyDict_GetItemString(dict, "typestr");
    const char *text = type ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
    if (!shape || !data || !text || strlen(text) < 3 || text[0] == '>')
        return not_known(tensor, "its __cuda_array_interface__ is incomplete");
    enum kind kind = text[1] == 'f'   ? FLOAT
                     : text[1] == 'i' ? SIGNED
                     : text[1] == 'u' ? UNSIGNED
                     : text[1] == 'b' ? BOOLEAN
                                      : OTHER;
    view->element = element_of(kind, text[2] - '0');
    if (!view->element)
        return not_known(tensor, "elements of a type that assay cannot compare");
    if (set_rank(view, PySequence_Size(shape), tensor) != 0)
        return -1;
    for (int32_t i = 0; i < view->rank; i++)
        view->dims[i] = integer_of(shape, i);
    set_dense(view);
    strides = PyDict_GetItemString(dict, "strides");
    for (int32_t i = 0; strides && strides != Py_None && i < view->rank; i++)
        view->strides[i] = integer_of(strides, i);
    view->data = (char *)(uintptr_t)integer_of(data, 0);
    view->writable = integer_of(data, 1) == 0;
    view->on_gpu = true;
    return PyErr_Occurred() ? -1 : 0;
}

static int view_cuda(PyObject *tensor, struct view *view)
{
    PyObject *dict = PyObject_GetAttrString(tensor, "__cuda_array_interface__");
    int failed = dict && PyDict_Check(dict) ? read_interface(tensor, dict, view) : -1;
    Py_XDECREF(dict);
    return failed;
}

static int view_of(PyObject *tensor, struct view *view)
{
    *view = (struct view){0};
    if (PyObject_CheckBuffer(tensor))
        return view_buffer(tensor, view);
    if (PyObject_HasAttrString(tensor, "__dlpack__"))
        return view_dlpack(tensor, view);
    if (PyObject_HasAttrString(tensor, "__cuda_array_interface__"))
        return view_cuda(tensor, view);
    return not_known(tensor, "not a tensor");
}

/* ---- copies ---------------------------------------------------------------------------------- */

static int64_t count_of(const struct view *view)
{
    int64_t n = 1;
    for (int32_t i = 0; i < view->rank; i++)
        n *= view->dims[i];
    return n;
}

static bool is_dense(const struct view *view)
{
    int64_t stride = view->element->bytes;
    for (int32_t i = view->rank - 1; i >= 0; i--) {
        if (view->dims[i] > 1 && view->strides[i] != stride)
            return false;
        stride *= view->dims[i];
    }
    return true;
}

/* Between the tensor and `dense`, one way or the other; of a dimension all below it. */
static char *copy_strided(const struct view *view, int32_t d, char *at, char *dense, bool out)
{
    int64_t bytes = view->element->bytes;
    if (d == view->rank) {
        memcpy(out ? dense : at, out ? at : dense, (size_t)bytes);
        return dense + bytes;
    }
    for (int64_t i = 0; i < view->dims[d]; i++)
        dense = copy_strided(view, d + 1, at + i * view->strides[d], dense, out);
    return dense;
}

static int copy_on_gpu(const struct view *view, char *dense, size_t bytes, bool out)
{
    const struct cuda_driver_api *driver = assay_cuda_driver();
    if (!driver) {
        PyErr_SetString(PyExc_RuntimeError, "there is no CUDA driver to read the tensor with");
        return -1;
    }
    cu_deviceptr at = (cu_deviceptr)(uintptr_t)view->data;
    cu_result result = driver->cuCtxSynchronize();
    if (result == 0)
        result = out ? driver->cuMemcpyDtoH_v2(dense, at, bytes)
                     : driver->cuMemcpyHtoD_v2(at, dense, bytes);
    if (result == 0)
        return 0;
    PyErr_Format(PyExc_RuntimeError, "the GPU did not copy the tensor: CUDA error %d", (int)result);
    return -1;
}

static int copy(const struct view *view, char *dense, bool out)
{
    size_t bytes = (size_t)count_of(view) * (size_t)view->element->bytes;
    bool plain = is_dense(view);
    if (bytes == 0)
        return 0;
    if (view->on_gpu && !plain) {
        PyErr_SetString(PyExc_TypeError, "a tensor on the GPU that is not contiguous");
        return -1;
    }
    if (view->on_gpu)
        return copy_on_gpu(view, dense, bytes, out);
    if (plain)
        memcpy(out ? dense : view->data, out ? view->data : dense, bytes);
    else
        copy_strided(view, 0, view->data, dense, out);
    return 0;
}

static PyObject *dims_of(const struct view *view)
{
    PyObject *dims = PyTuple_New(view->rank);
    for (int32_t i = 0; dims && i < view->rank; i++) {
        PyObject *dim = PyLong_FromLongLong(view->dims[i]);
        if (!dim || PyTuple_SetItem(dims, i, dim) != 0)
            Py_CLEAR(dims);
    }
    return dims;
}

PyObject *assay_py_read(PyObject *module, PyObject *tensor)
{
    struct view view;
    PyObject *result = NULL;
    (void)module;
    if (view_of(tensor, &view) == 0) {
        int64_t bytes = count_of(&view) * view.element->bytes;
        PyObject *dims = dims_of(&view), *values = PyBytes_FromStringAndSize(NULL, bytes);
        if (dims && values && copy(&view, PyBytes_AsString(values), true) == 0)
            result =
                Py_BuildValue("(sOOOs)", view.element->name, dims, values,
                              view.writable ? Py_True : Py_False, view.on_gpu ? "cuda" : "cpu");
        Py_XDECREF(dims);
        Py_XDECREF(values);
    }
    view_release(&view);
    return result;
}

PyObject *assay_py_write(PyObject *module, PyObject *args)
{
    struct view view;
    PyObject *tensor, *values, *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "OS", &tensor, &values))
        return NULL;
    if (view_of(tensor, &view) == 0) {
        if (!view.writable || PyBytes_Size(values) != count_of(&view) * view.element->bytes)
            PyErr_SetString(PyExc_ValueError, "the tensor is read-only or of another size");
        else if (copy(&view, PyBytes_AsString(values), false) == 0)
            result = Py_NewRef(Py_None);
    }
    view_release(&view);
    return result;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* `values` is new. */
static void stir(const struct element *e, char *values, int64_t n, uint64_t seed)
{
    struct assay_rng rng = {assay_rng_mix(seed)};
    double block[BLOCK];
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t count = n - first < BLOCK ? n - first : BLOCK;
        assay_dtype_load(e->dtype, values, first, count, block);
        for (int64_t i = 0; i < count; i++)
            block[i] *= 0.5 + 0.5 * (double)(assay_rng_next(&rng) >> 11) * 0x1p-53;
        assay_dtype_store(e->dtype, block, values, first, count);
    }
}

PyObject *assay_py_stir(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *values;
    unsigned long long seed;
    (void)module;
    if (!PyArg_ParseTuple(args, "sSK", &name, &values, &seed))
        return NULL;
    const struct element *e = element_named(name);
    if (!e)
        return NULL;
    if (!is_float(e))
        return Py_NewRef(values);
    Py_ssize_t bytes = PyBytes_Size(values);
    PyObject *stirred = PyBytes_FromStringAndSize(PyBytes_AsString(values), bytes);
    if (stirred)
        stir(e, PyBytes_AsString(stirred), bytes / e->bytes, seed);
    return stirred;
}

/* The root of the mean square of what is finite. */
static double size_of(const struct element *e, const char *values, int64_t n)
{
    double block[BLOCK], sum = 0;
    int64_t finite = 0;
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t count = n - first < BLOCK ? n - first : BLOCK;
        load(e, values, first, count, block);
        for (int64_t i = 0; i < count; i++)
            if (isfinite(block[i])) {
                sum += block[i] * block[i];
                finite++;
            }
    }
    return finite ? sqrt(sum / (double)finite) : 0;
}

static double unit_of(const struct element *e)
{
    return is_float(e) ? assay_dtype_info(e->dtype)->unit : 0;
}

/* Both sides round to their types, and may do so at steps on the way: four units of the coarser
 * one. A sum of n terms in the arithmetic that goes with it, at least f32, is off by 16 + 4 sqrt(n)
 * of its units (op/common.c), of values as large as the outputs are. Integers have no tolerance. */
static struct assay_tolerance derive(const struct element *got, const struct element *expected,
                                     double terms, double size)
{
    double unit = fmax(unit_of(got), unit_of(expected));
    double arithmetic = fmin(unit, 0x1p-24) * (16 + 4 * sqrt(fmin(terms, 0x1p20)));
    double tiny = is_float(got) ? assay_dtype_info(got->dtype)->tiny : 0;
    return (struct assay_tolerance){.relative = 4 * unit + arithmetic,
                                    .absolute = (unit + arithmetic) * size + tiny};
}

static void compare(const struct element *g, const char *got, const struct element *e,
                    const char *expected, int64_t n, struct assay_comparison *c)
{
    double mine[BLOCK], theirs[BLOCK];
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t count = n - first < BLOCK ? n - first : BLOCK, before = c->mismatches;
        load(g, got, first, count, mine);
        load(e, expected, first, count, theirs);
        assay_comparison_add(c, ASSAY_DTYPE_F64, mine, 0, theirs, count);
        if (before == 0 && c->mismatches > 0)
            c->first_mismatch += first;
    }
}

PyObject *assay_py_compare(PyObject *module, PyObject *args)
{
    const char *got_name, *expected_name;
    PyObject *got, *expected;
    double terms, relative, absolute;
    struct assay_comparison c;
    (void)module;
    if (!PyArg_ParseTuple(args, "sSsSddd", &got_name, &got, &expected_name, &expected, &terms,
                          &relative, &absolute))
        return NULL;
    const struct element *g = element_named(got_name), *e = g ? element_named(expected_name) : NULL;
    if (!e)
        return NULL;
    int64_t n = PyBytes_Size(got) / g->bytes;
    if (PyBytes_Size(expected) / e->bytes != n) {
        PyErr_SetString(PyExc_ValueError, "the outputs are not of one size");
        return NULL;
    }
    const char *values = PyBytes_AsString(expected);
    struct assay_tolerance tolerance = derive(g, e, terms, size_of(e, values, n));
    if (relative >= 0)
        tolerance.relative = relative;
    if (absolute >= 0)
        tolerance.absolute = absolute;
    assay_comparison_init(&c, tolerance);
    compare(g, PyBytes_AsString(got), e, values, n, &c);
    return Py_BuildValue("(LLddddd)", (long long)c.mismatches, (long long)c.first_mismatch,
                         c.first_got, c.first_ref, c.first_allowed, c.max_abs, c.max_rel);
}
