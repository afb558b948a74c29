/* problem.c: a problem as Python sees it. */
#include "module.h"

#include "kernel/host.h"
#include "op/op.h"

#include <string.h>

static PyObject *names_of(const char *const *names, int32_t n)
{
    PyObject *out = PyTuple_New(n);
    for (int32_t i = 0; out && i < n; i++) {
        PyObject *name = PyUnicode_FromString(names && names[i] ? names[i] : "");
        if (!name || PyTuple_SetItem(out, i, name) != 0)
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *axes_of(const struct assay_problem *p)
{
    PyObject *out = PyTuple_New(p->n_axes);
    for (int32_t i = 0; out && i < p->n_axes; i++) {
        PyObject *size = PyLong_FromLongLong(p->axes[i]);
        if (!size || PyTuple_SetItem(out, i, size) != 0)
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *params_of(const struct assay_problem *p)
{
    PyObject *out = PyTuple_New(p->n_params);
    for (int32_t i = 0; out && i < p->n_params; i++) {
        PyObject *value = PyFloat_FromDouble(p->params[i]);
        if (!value || PyTuple_SetItem(out, i, value) != 0)
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *tensors_of(const struct assay_tensor *tensors, int32_t n)
{
    PyObject *out = PyTuple_New(n);
    for (int32_t i = 0; out && i < n; i++) {
        PyObject *tensor = assay_py_tensor(&tensors[i]);
        if (!tensor || PyTuple_SetItem(out, i, tensor) != 0)
            Py_CLEAR(out);
    }
    return out;
}

PyObject *assay_py_problem(const struct assay_problem *p, const char *device)
{
    const struct assay_op *op = assay_op_find(p->op);
    PyObject *types = PyImport_ImportModule("types");
    PyObject *make = types ? PyObject_GetAttrString(types, "SimpleNamespace") : NULL;
    PyObject *none = PyTuple_New(0);
    PyObject *values =
        make && none
            ? Py_BuildValue("{s:s,s:s,s:N,s:N,s:N,s:N,s:N,s:N,s:i,s:z,s:s,s:N}", "op", p->op,
                            "dtype", p->dtype ? assay_dtype_name(p->dtype) : "", "axes", axes_of(p),
                            "axis_names", names_of(op ? op->axis_names : NULL, p->n_axes), "params",
                            params_of(p), "param_names",
                            names_of(op ? op->param_names : NULL, p->n_params), "inputs",
                            tensors_of(p->inputs, p->n_inputs), "outputs",
                            tensors_of(p->outputs, p->n_outputs), "threads", (int)p->threads,
                            "recipe", p->recipe, "device", device, "autotune",
                            PyBool_FromLong(p->host && p->host->autotune))
            : NULL;
    PyObject *problem = values ? PyObject_Call(make, none, values) : NULL;
    Py_XDECREF(types);
    Py_XDECREF(make);
    Py_XDECREF(none);
    Py_XDECREF(values);
    return problem;
}
