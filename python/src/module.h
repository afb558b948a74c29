/* module.h: what the files of the extension module share. The stable ABI of CPython 3.11 only. */
#ifndef ASSAY_PY_MODULE_H
#define ASSAY_PY_MODULE_H

#include <Python.h>

#include <assay/assay_kernel.h>
#include <stdbool.h>

/* ---- tensor.c: memory of others as tensors, and back ---- */

/* _assay.capsule(address, dtype, dims, device): a DLPack capsule of memory that somebody else
 * keeps. */
PyObject *assay_py_capsule(PyObject *module, PyObject *arguments);
/* _assay.view(address, bytes): the same memory as a memoryview that may be written. */
PyObject *assay_py_view(PyObject *module, PyObject *arguments);

/* ("f32", (16, 256)) */
PyObject *assay_py_tensor(const struct assay_tensor *tensor);
/* Reads such a pair; false with an exception. */
bool assay_py_read_tensor(PyObject *pair, struct assay_tensor *out);

/* ---- problem.c ---- */

/* A problem as Python sees it: a types.SimpleNamespace. */
PyObject *assay_py_problem(const struct assay_problem *problem, const char *device);

/* ---- guest.c: a runner's life ---- */

/* _assay.serve(runner): does not return. */
PyObject *assay_py_serve(PyObject *module, PyObject *runner);

#endif
