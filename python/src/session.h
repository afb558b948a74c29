/* session.h: sessions of assay.h for Python callables, as methods of the extension module. */
#ifndef ASSAY_PYTHON_SESSION_H
#define ASSAY_PYTHON_SESSION_H

#include <Python.h>

/* measure(cases, device, dtype, warmup, iters, precision, budget, seed, between) -> [dict …]. A
 * case is a tuple (name, callable, arguments, keywords or None, stream, flags); the rest is that of
 * struct assay_session_options, `between` a callable or None. */
PyObject *assay_python_measure(PyObject *module, PyObject *args);

#endif
