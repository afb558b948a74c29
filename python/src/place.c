/* place.c: the protocols of place.h, each of which may be absent, or refuse what another one takes:
 * NumPy hands out no bool by DLPack, PyTorch no fp8 by the older method. They are tried in turn,
 * and the first refusal is told if none succeeds. */
#include "place.h"

#include "tensor/dlpack.h"

#include <string.h>

/* ---- element types --------------------------------------------------------------------------- */

static const struct assay_py_element elements[] = {
    {"float64", ASSAY_PY_FLOAT, 8, ASSAY_DTYPE_F64, 0},
    {"float32", ASSAY_PY_FLOAT, 4, ASSAY_DTYPE_F32, 0},
    {"float16", ASSAY_PY_FLOAT, 2, ASSAY_DTYPE_F16, 0},
    {"bfloat16", ASSAY_PY_BFLOAT, 2, ASSAY_DTYPE_BF16, 0},
    {"float8_e4m3fn", ASSAY_PY_OTHER, 1, ASSAY_DTYPE_E4M3, 10},
    {"float8_e5m2", ASSAY_PY_OTHER, 1, ASSAY_DTYPE_E5M2, 12},
    {"int64", ASSAY_PY_SIGNED, 8, ASSAY_DTYPE_NONE, 0},
    {"int32", ASSAY_PY_SIGNED, 4, ASSAY_DTYPE_S32, 0},
    {"int16", ASSAY_PY_SIGNED, 2, ASSAY_DTYPE_NONE, 0},
    {"int8", ASSAY_PY_SIGNED, 1, ASSAY_DTYPE_S8, 0},
    {"uint64", ASSAY_PY_UNSIGNED, 8, ASSAY_DTYPE_NONE, 0},
    {"uint32", ASSAY_PY_UNSIGNED, 4, ASSAY_DTYPE_NONE, 0},
    {"uint16", ASSAY_PY_UNSIGNED, 2, ASSAY_DTYPE_NONE, 0},
    {"uint8", ASSAY_PY_UNSIGNED, 1, ASSAY_DTYPE_U8, 0},
    {"bool", ASSAY_PY_BOOLEAN, 1, ASSAY_DTYPE_U8, 0},
};

static const struct assay_py_element *element_of(enum assay_py_kind kind, int64_t bytes)
{
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        if (kind != ASSAY_PY_OTHER && elements[i].kind == kind && elements[i].bytes == bytes)
            return &elements[i];
    return NULL;
}

const struct assay_py_element *assay_py_element_named(const char *name)
{
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        if (strcmp(elements[i].name, name) == 0)
            return &elements[i];
    PyErr_Format(PyExc_TypeError, "unknown element type %s", name);
    return NULL;
}

/* ---- what all have in common ----------------------------------------------------------------- */

void assay_py_place_release(struct assay_py_place *place)
{
    if (place->buffer.obj)
        PyBuffer_Release(&place->buffer);
    Py_CLEAR(place->capsule);
    if (place->managed && place->managed->deleter)
        place->managed->deleter(place->managed);
    place->managed = NULL;
}

static int refuse(PyObject *tensor, const char *what)
{
    PyErr_Format(PyExc_TypeError, "%R: %s", (PyObject *)Py_TYPE(tensor), what);
    return -1;
}

static int refuse_element(PyObject *tensor)
{
    return refuse(tensor, "elements of a type that assay cannot compare");
}

/* Row-major, where nobody said otherwise. */
static void set_dense(struct assay_py_place *place)
{
    int64_t stride = place->element->bytes;
    for (int32_t i = place->rank - 1; i >= 0; i--) {
        place->strides[i] = stride;
        stride *= place->dims[i];
    }
}

static int set_rank(struct assay_py_place *place, int64_t rank, PyObject *tensor)
{
    if (rank < 0 || rank > ASSAY_PY_MAX_RANK)
        return refuse(tensor, "it has too many dimensions");
    place->rank = (int32_t)rank;
    return 0;
}

/* ---- DLPack ---------------------------------------------------------------------------------- */

static const struct assay_py_element *element_of_dlpack(const struct dl_tensor *t)
{
    int code = t->dtype.code, bits = t->dtype.bits;
    if (t->dtype.lanes != 1)
        return NULL;
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        if (elements[i].kind == ASSAY_PY_OTHER && elements[i].dlpack == code && bits == 8)
            return &elements[i];
    enum assay_py_kind kind = code == DL_INT      ? ASSAY_PY_SIGNED
                              : code == DL_UINT   ? ASSAY_PY_UNSIGNED
                              : code == DL_FLOAT  ? ASSAY_PY_FLOAT
                              : code == DL_BFLOAT ? ASSAY_PY_BFLOAT
                              : code == DL_BOOL   ? ASSAY_PY_BOOLEAN
                                                  : ASSAY_PY_OTHER;
    return bits % 8 == 0 ? element_of(kind, bits / 8) : NULL;
}

static int take_dlpack(PyObject *tensor, const struct dl_tensor *t, struct assay_py_place *place)
{
    int32_t where = t->device.type;
    place->element = element_of_dlpack(t);
    if (!place->element)
        return refuse_element(tensor);
    place->on_gpu = where == DL_CUDA;
    if (where != DL_CPU && where != DL_CUDA && where != DL_CUDA_HOST && where != DL_CUDA_MANAGED)
        return refuse(tensor, "it lies on a device that assay cannot read");
    if (set_rank(place, t->rank, tensor) != 0)
        return -1;
    place->data = (char *)t->data + t->byte_offset;
    for (int32_t i = 0; i < place->rank; i++)
        place->dims[i] = t->shape[i];
    set_dense(place);
    for (int32_t i = 0; t->strides && i < place->rank; i++)
        place->strides[i] = t->strides[i] * place->element->bytes;
    return 0;
}

static int take_versioned(PyObject *tensor, const struct dl_managed_versioned *m,
                          struct assay_py_place *place)
{
    if (m->version.major != DL_MAJOR)
        return refuse(tensor, "it speaks a later DLPack than assay does");
    place->writable = !(m->flags & DL_READ_ONLY);
    return take_dlpack(tensor, &m->tensor, place);
}

/* The attribute of the object's type; NULL without an exception where it has none. */
static PyObject *attribute_of_type(PyObject *tensor, const char *name)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)Py_TYPE(tensor), name);
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return found;
}

/* A capsule since version 1.3; in 1.2 an integer, by another name. */
static const struct dl_exchange *exchange_of(PyObject *tensor)
{
    const struct dl_exchange *table = NULL;
    PyObject *found = attribute_of_type(tensor, "__dlpack_c_exchange_api__");
    if (!found && !PyErr_Occurred())
        found = attribute_of_type(tensor, "__c_dlpack_exchange_api__");
    if (found && PyCapsule_IsValid(found, "dlpack_exchange_api"))
        table = PyCapsule_GetPointer(found, "dlpack_exchange_api");
    else if (found && PyLong_Check(found))
        table = PyLong_AsVoidPtr(found);
    Py_XDECREF(found);
    while (table && table->version.major > DL_MAJOR)
        table = table->previous;
    return table && table->version.major == DL_MAJOR ? table : NULL;
}

/* 1: the type has no such table. */
static int by_exchange(PyObject *tensor, struct assay_py_place *place)
{
    const struct dl_exchange *table = exchange_of(tensor);
    if (PyErr_Occurred())
        return -1;
    if (!table || !table->from_object)
        return 1;
    place->by = "exchange";
    if (table->from_object(tensor, &place->managed) != 0 || !place->managed) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_BufferError, "the DLPack exchange failed and did not say why");
        return -1;
    }
    return take_versioned(tensor, place->managed, place);
}

static PyObject *call_dlpack(PyObject *tensor)
{
    PyObject *method = PyObject_GetAttrString(tensor, "__dlpack__");
    PyObject *none = method ? PyTuple_New(0) : NULL;
    PyObject *versions = none ? Py_BuildValue("{s(ii)}", "max_version", DL_MAJOR, 0) : NULL;
    PyObject *capsule = versions ? PyObject_Call(method, none, versions) : NULL;
    if (!capsule && versions && PyErr_ExceptionMatches(PyExc_TypeError)) { /* of before 2023 */
        PyErr_Clear();
        capsule = PyObject_Call(method, none, NULL);
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(versions);
    return capsule;
}

/* The capsule is not taken over: who made it frees the tensor when it goes. */
static int by_method(PyObject *tensor, struct assay_py_place *place)
{
    if (!PyObject_HasAttrString(tensor, "__dlpack__"))
        return 1;
    place->by = "__dlpack__";
    place->capsule = call_dlpack(tensor);
    if (!place->capsule)
        return -1;
    if (PyCapsule_IsValid(place->capsule, "dltensor_versioned"))
        return take_versioned(tensor, PyCapsule_GetPointer(place->capsule, "dltensor_versioned"),
                              place);
    const struct dl_managed *m = PyCapsule_GetPointer(place->capsule, "dltensor");
    place->writable = true;
    return m ? take_dlpack(tensor, &m->tensor, place) : -1;
}

/* ---- the buffer protocol --------------------------------------------------------------------- */

static enum assay_py_kind kind_of_format(const char *format)
{
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    if (!format[0] || format[1])
        return ASSAY_PY_OTHER;
    return strchr("efd", *format)      ? ASSAY_PY_FLOAT
           : strchr("bhilqn", *format) ? ASSAY_PY_SIGNED
           : strchr("BHILQN", *format) ? ASSAY_PY_UNSIGNED
           : *format == '?'            ? ASSAY_PY_BOOLEAN
                                       : ASSAY_PY_OTHER;
}

static int by_buffer(PyObject *tensor, struct assay_py_place *place)
{
    Py_buffer *b = &place->buffer;
    if (!PyObject_CheckBuffer(tensor))
        return 1;
    place->by = "buffer";
    place->writable = PyObject_GetBuffer(tensor, b, PyBUF_FULL) == 0;
    if (!place->writable) {
        PyErr_Clear();
        if (PyObject_GetBuffer(tensor, b, PyBUF_FULL_RO) != 0)
            return -1;
    }
    if (b->suboffsets)
        return refuse(tensor, "its rows lie apart");
    place->element =
        element_of(b->format ? kind_of_format(b->format) : ASSAY_PY_UNSIGNED, b->itemsize);
    if (!place->element)
        return refuse_element(tensor);
    if (set_rank(place, b->ndim, tensor) != 0)
        return -1;
    place->data = b->buf;
    for (int32_t i = 0; i < place->rank; i++) {
        place->dims[i] = b->shape[i];
        place->strides[i] = b->strides[i];
    }
    return 0;
}

/* ---- __cuda_array_interface__ ---------------------------------------------------------------- */

static int64_t integer_of(PyObject *sequence, Py_ssize_t i)
{
    PyObject *item = PySequence_GetItem(sequence, i);
    int64_t value = item ? PyLong_AsLongLong(item) : -1;
    Py_XDECREF(item);
    return value;
}

/* "<f4" */
static const struct assay_py_element *element_of_typestr(PyObject *type)
{
    const char *text = type && PyUnicode_Check(type) ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
    if (!text || strlen(text) != 3 || text[0] == '>')
        return NULL;
    enum assay_py_kind kind = text[1] == 'f'   ? ASSAY_PY_FLOAT
                              : text[1] == 'i' ? ASSAY_PY_SIGNED
                              : text[1] == 'u' ? ASSAY_PY_UNSIGNED
                              : text[1] == 'b' ? ASSAY_PY_BOOLEAN
                                               : ASSAY_PY_OTHER;
    return element_of(kind, text[2] - '0');
}

static int read_interface(PyObject *tensor, PyObject *dict, struct assay_py_place *place)
{
    PyObject *shape = PyDict_GetItemString(dict, "shape");
    PyObject *data = PyDict_GetItemString(dict, "data");
    PyObject *mask = PyDict_GetItemString(dict, "mask");
    PyObject *strides = PyDict_GetItemString(dict, "strides");
    if (!shape || !PyTuple_Check(shape) || !data || !PyTuple_Check(data))
        return refuse(tensor, "its __cuda_array_interface__ is incomplete");
    if (mask && mask != Py_None)
        return refuse(tensor, "it has a mask");
    place->element = element_of_typestr(PyDict_GetItemString(dict, "typestr"));
    if (!place->element)
        return refuse_element(tensor);
    if (set_rank(place, PyTuple_Size(shape), tensor) != 0)
        return -1;
    for (int32_t i = 0; i < place->rank; i++)
        place->dims[i] = integer_of(shape, i);
    set_dense(place);
    for (int32_t i = 0; strides && strides != Py_None && i < place->rank; i++)
        place->strides[i] = integer_of(strides, i);
    place->data = (char *)(uintptr_t)integer_of(data, 0);
    place->writable = integer_of(data, 1) == 0;
    place->on_gpu = true;
    return PyErr_Occurred() ? -1 : 0;
}

static int by_cuda(PyObject *tensor, struct assay_py_place *place)
{
    if (!PyObject_HasAttrString(tensor, "__cuda_array_interface__"))
        return 1;
    place->by = "__cuda_array_interface__";
    PyObject *dict = PyObject_GetAttrString(tensor, "__cuda_array_interface__");
    if (dict && !PyDict_Check(dict))
        refuse(tensor, "its __cuda_array_interface__ is not a dict");
    int failed = dict && PyDict_Check(dict) ? read_interface(tensor, dict, place) : -1;
    Py_XDECREF(dict);
    return failed;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The first refusal, kept while other protocols are tried. */
struct refusal {
    PyObject *type, *value, *traceback;
};

static void keep_refusal(struct refusal *first)
{
    if (first->type)
        PyErr_Clear();
    else
        PyErr_Fetch(&first->type, &first->value, &first->traceback);
}

static void drop_refusal(struct refusal *first)
{
    Py_CLEAR(first->type);
    Py_CLEAR(first->value);
    Py_CLEAR(first->traceback);
}

int assay_py_place_of(PyObject *tensor, struct assay_py_place *place)
{
    static int (*const ways[])(PyObject *, struct assay_py_place *) = {by_exchange, by_method,
                                                                       by_buffer, by_cuda};
    struct refusal first = {0};
    int result = 1;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && result != 0; i++) {
        *place = (struct assay_py_place){0};
        result = ways[i](tensor, place);
        if (result != 0)
            assay_py_place_release(place);
        if (result < 0 && !PyErr_ExceptionMatches(PyExc_Exception))
            break; /* Ctrl-C */
        if (result < 0)
            keep_refusal(&first);
    }
    if (result == 0 || PyErr_Occurred())
        drop_refusal(&first);
    else if (first.type)
        PyErr_Restore(first.type, first.value, first.traceback);
    else
        refuse(tensor, "not a tensor");
    return result == 0 ? 0 : -1;
}
