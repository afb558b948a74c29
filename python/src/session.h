/* session.h: sessions of assay.h for Python callables, as methods of the extension module. */
#ifndef ASSAY_PY_SESSION_H
#define ASSAY_PY_SESSION_H

#include <Python.h>

/* measure(cases, device, dtype, warmup, iters, precision, budget, seed, between) -> [dict …]. A
 * case is a tuple (name, callable, arguments, keywords or None, stream, flags); the rest is that of
 * struct assay_session_options, `between` a callable or None. */
PyObject *assay_py_measure(PyObject *module, PyObject *args);

#endif
