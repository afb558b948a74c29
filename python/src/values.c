/* values.c: the values of tensors (place.h) as dense bytes on the host, and what is done with such
 * values.
 *
 * Strided tensors are read and written on the host only; on a GPU they must be dense. */
#include "values.h"

#include "place.h"

#include "base/rng.h"
#include "device/cuda/cuda_api.h"
#include "device/cuda/cuda.h"
#include "tensor/compare.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 512 };

/* ---- elements -------------------------------------------------------------------------------- */

static bool is_float(const struct assay_py_element *e)
{
    return e->dtype && assay_dtype_info(e->dtype)->is_float;
}

static double integer_at(const struct assay_py_element *e, const char *at)
{
    uint64_t value = 0; /* little-endian, as every machine that assay knows */
    memcpy(&value, at, (size_t)e->bytes);
    if (e->kind == ASSAY_PY_UNSIGNED)
        return (double)value;
    int shift = 64 - 8 * e->bytes;
    return (double)((int64_t)(value << shift) >> shift);
}

static void load(const struct assay_py_element *e, const char *values, int64_t first, int64_t n,
                 double *out)
{
    if (e->dtype) {
        assay_dtype_load(e->dtype, values, first, n, out);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = integer_at(e, values + (first + i) * e->bytes);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static int64_t count_of(const struct assay_py_place *place)
{
    int64_t n = 1;
    for (int32_t i = 0; i < place->rank; i++)
        n *= place->dims[i];
    return n;
}

static bool is_dense(const struct assay_py_place *place)
{
    int64_t stride = place->element->bytes;
    for (int32_t i = place->rank - 1; i >= 0; i--) {
        if (place->dims[i] > 1 && place->strides[i] != stride)
            return false;
        stride *= place->dims[i];
    }
    return true;
}

/* Between the tensor and `dense`, one way or the other; of a dimension all below it. */
static char *copy_strided(const struct assay_py_place *place, int32_t d, char *at, char *dense,
                          bool out)
{
    int64_t bytes = place->element->bytes;
    if (d == place->rank) {
        memcpy(out ? dense : at, out ? at : dense, (size_t)bytes);
        return dense + bytes;
    }
    for (int64_t i = 0; i < place->dims[d]; i++)
        dense = copy_strided(place, d + 1, at + i * place->strides[d], dense, out);
    return dense;
}

static int copy_on_gpu(const struct assay_py_place *place, char *dense, size_t bytes, bool out)
{
    const struct cuda_driver_api *driver = assay_cuda_driver();
    if (!driver) {
        PyErr_SetString(PyExc_RuntimeError, "there is no CUDA driver to read the tensor with");
        return -1;
    }
    cu_deviceptr at = (cu_deviceptr)(uintptr_t)place->data;
    cu_result result = driver->cuCtxSynchronize();
    if (result == 0)
        result = out ? driver->cuMemcpyDtoH_v2(dense, at, bytes)
                     : driver->cuMemcpyHtoD_v2(at, dense, bytes);
    if (result == 0)
        return 0;
    PyErr_Format(PyExc_RuntimeError, "the GPU did not copy the tensor: CUDA error %d", (int)result);
    return -1;
}

static int copy(const struct assay_py_place *place, char *dense, bool out)
{
    size_t bytes = (size_t)count_of(place) * (size_t)place->element->bytes;
    bool plain = is_dense(place);
    if (bytes == 0)
        return 0;
    if (place->on_gpu && !plain) {
        PyErr_SetString(PyExc_TypeError, "a tensor on the GPU that is not contiguous");
        return -1;
    }
    if (place->on_gpu)
        return copy_on_gpu(place, dense, bytes, out);
    if (plain)
        memcpy(out ? dense : place->data, out ? place->data : dense, bytes);
    else
        copy_strided(place, 0, place->data, dense, out);
    return 0;
}

static PyObject *dims_of(const struct assay_py_place *place)
{
    PyObject *dims = PyTuple_New(place->rank);
    for (int32_t i = 0; dims && i < place->rank; i++) {
        PyObject *dim = PyLong_FromLongLong(place->dims[i]);
        if (!dim || PyTuple_SetItem(dims, i, dim) != 0)
            Py_CLEAR(dims);
    }
    return dims;
}

PyObject *assay_py_read(PyObject *module, PyObject *tensor)
{
    struct assay_py_place place;
    PyObject *result = NULL;
    (void)module;
    if (assay_py_place_of(tensor, &place) == 0) {
        int64_t bytes = count_of(&place) * place.element->bytes;
        PyObject *dims = dims_of(&place), *values = PyBytes_FromStringAndSize(NULL, bytes);
        if (dims && values && copy(&place, PyBytes_AsString(values), true) == 0)
            result = Py_BuildValue("(sOOOss)", place.element->name, dims, values,
                                   place.writable ? Py_True : Py_False,
                                   place.on_gpu ? "cuda" : "cpu", place.by);
        Py_XDECREF(dims);
        Py_XDECREF(values);
    }
    assay_py_place_release(&place);
    return result;
}

PyObject *assay_py_write(PyObject *module, PyObject *args)
{
    struct assay_py_place place;
    PyObject *tensor, *values, *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "OS", &tensor, &values))
        return NULL;
    if (assay_py_place_of(tensor, &place) == 0) {
        if (!place.writable || PyBytes_Size(values) != count_of(&place) * place.element->bytes)
            PyErr_SetString(PyExc_ValueError, "the tensor is read-only or of another size");
        else if (copy(&place, PyBytes_AsString(values), false) == 0)
            result = Py_NewRef(Py_None);
    }
    assay_py_place_release(&place);
    return result;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* `values` is new. */
static void stir(const struct assay_py_element *e, char *values, int64_t n, uint64_t seed)
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
    const struct assay_py_element *e = assay_py_element_named(name);
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
static double size_of(const struct assay_py_element *e, const char *values, int64_t n)
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

static double unit_of(const struct assay_py_element *e)
{
    return is_float(e) ? assay_dtype_info(e->dtype)->unit : 0;
}

/* Both sides round to their types, and may do so at steps on the way: four units of the coarser
 * one. A sum of n terms in the arithmetic that goes with it, at least f32, is off by 16 + 4 sqrt(n)
 * of its units (op/common.c), of values as large as the outputs are. Integers have no tolerance. */
static struct assay_tolerance derive(const struct assay_py_element *got,
                                     const struct assay_py_element *expected, double terms,
                                     double size)
{
    double unit = fmax(unit_of(got), unit_of(expected));
    double arithmetic = fmin(unit, 0x1p-24) * (16 + 4 * sqrt(fmin(terms, 0x1p20)));
    double tiny = is_float(got) ? assay_dtype_info(got->dtype)->tiny : 0;
    return (struct assay_tolerance){.relative = 4 * unit + arithmetic,
                                    .absolute = (unit + arithmetic) * size + tiny};
}

static void compare(const struct assay_py_element *g, const char *got,
                    const struct assay_py_element *e, const char *expected, int64_t n,
                    struct assay_comparison *c)
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
    const struct assay_py_element *g = assay_py_element_named(got_name),
                                  *e = g ? assay_py_element_named(expected_name) : NULL;
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
