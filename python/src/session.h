/* session.h: sessions of assay.h for Python callables, as methods of the extension module. */
#ifndef ASSAY_PY_SESSION_H
#define ASSAY_PY_SESSION_H

#include <Python.h>

/* measure(cases, device, dtype, warmup, iters, precision, budget, seed, between, profile,
 * recording) -> [dict …]. A case is a tuple (name, callable, arguments, keywords or None, stream,
 * flags); the rest is that of struct assay_session_options, `between` a callable or None. `profile`
 * is a file for a trace or None: then the list `recording` holds the session's handle. */
PyObject *assay_py_measure(PyObject *module, PyObject *args);
/* push(handle, name), pop(handle): a range of that session's trace. */
PyObject *assay_py_push(PyObject *module, PyObject *args);
PyObject *assay_py_pop(PyObject *module, PyObject *handle);

#endif
