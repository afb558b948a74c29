/* module.c: the extension module assay._assay: what it is called, and what it holds. */
#include "module.h"

#include "session.h"
#include "values.h"

#include <assay/assay.h>

static PyObject *version(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return PyUnicode_FromString(assay_version());
}

static PyMethodDef methods[] = {
    {"version", version, METH_NOARGS, "The version of assay: '0.1.0'."},
    {"serve", assay_py_serve, METH_O, "serve(runner): the life of a runner; does not return."},
    {"capsule", assay_py_capsule, METH_VARARGS,
     "capsule(address, dtype, dims, device): a DLPack capsule; device -1 is the cpu."},
    {"view", assay_py_view, METH_VARARGS,
     "view(address, bytes): a memoryview of that memory, which can be written."},
    {"measure", assay_py_measure, METH_VARARGS, "Measures cases in turn: a list of dicts."},
    {"push", assay_py_push, METH_VARARGS, "Begins a range of a session's trace."},
    {"pop", assay_py_pop, METH_O, "Ends the innermost range of a session's trace."},
    {"read", assay_py_read, METH_O, "A tensor's values, on the host."},
    {"write", assay_py_write, METH_VARARGS, "Writes values back into a tensor."},
    {"stir", assay_py_stir, METH_VARARGS, "Values that differ a little from these."},
    {"compare", assay_py_compare, METH_VARARGS, "Compares values in double."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "assay._assay",
    .m_doc = "The C part of assay. Use the package `assay`.",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__assay(void); /* its only caller is the interpreter */

PyMODINIT_FUNC PyInit__assay(void) { return PyModuleDef_Init(&definition); }
