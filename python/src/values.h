/* values.h: the values of other libraries' tensors, as methods of the extension module: copied out,
 * changed, written back, compared in double. */
#ifndef ASSAY_PY_VALUES_H
#define ASSAY_PY_VALUES_H

#include <Python.h>

/* read(tensor) -> (dtype, dims, values, writable, device, protocol): a dense copy on the host.
 * TypeError: it is not a tensor, or of a type that assay does not know. */
PyObject *assay_py_read(PyObject *module, PyObject *tensor);
/* write(tensor, values): the same bytes, back into it. */
PyObject *assay_py_write(PyObject *module, PyObject *args);
/* stir(dtype, values, seed) -> values: floats times 0.5 … 1, of the same sign; others as they are.
 */
PyObject *assay_py_stir(PyObject *module, PyObject *args);
/* compare(dtype, got, dtype, expected, terms, relative, absolute) -> (mismatches, first, got,
 * expected, allowed, max_abs, max_rel): `terms` is how many values were summed for one of them; a
 * tolerance below 0 is derived from the types and that. */
PyObject *assay_py_compare(PyObject *module, PyObject *args);

#endif
