#include "intact.h"

#include <stdio.h>
#include <stdlib.h>

/* One thing to be found where it was. */
struct held {
    PyObject *words; /* "time.perf_counter" */
    PyObject *in, *key;
    PyObject *was; /* NULL: there was nothing */
    bool by_item;
};

struct assay_py_intact {
    struct held *all;
    Py_ssize_t n, n_looking; /* the first ones look at results */
    PyObject *tracers; /* functions that say who is called for every line; without arguments */
    PyObject **traced; /* what they said */
    Py_ssize_t n_tracers;
};

/* A new reference; NULL, and no exception, where there is nothing. */
static PyObject *found(const struct held *h)
{
    PyObject *now = h->by_item ? PyObject_GetItem(h->in, h->key) : PyObject_GetAttr(h->in, h->key);
    if (!now)
        PyErr_Clear();
    return now;
}

/* (words, container, key, by_item) */
static bool take(PyObject *entry, struct held *out)
{
    int by_item;
    if (!PyArg_ParseTuple(entry, "UOOp", &out->words, &out->in, &out->key, &by_item))
        return false;
    Py_INCREF(out->words);
    Py_INCREF(out->in);
    Py_INCREF(out->key);
    out->by_item = by_item;
    out->was = found(out);
    return true;
}

static bool take_list(PyObject *list, struct assay_py_intact *intact)
{
    Py_ssize_t n = PyList_Size(list);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!take(PyList_GetItem(list, i), &intact->all[intact->n++]))
            return false;
    return n >= 0;
}

static bool take_tracers(struct assay_py_intact *intact)
{
    intact->n_tracers = PyTuple_Size(intact->tracers);
    intact->traced = calloc((size_t)intact->n_tracers + 1, sizeof(PyObject *));
    for (Py_ssize_t i = 0; intact->traced && i < intact->n_tracers; i++) {
        intact->traced[i] = PyObject_CallObject(PyTuple_GetItem(intact->tracers, i), NULL);
        if (!intact->traced[i])
            return false;
    }
    return intact->traced;
}

/* (what looks at results, everything else, tracers) */
static bool take_all(PyObject *lists, struct assay_py_intact *intact)
{
    PyObject *looking, *rest, *tracers;
    if (!PyArg_ParseTuple(lists, "OOO", &looking, &rest, &tracers))
        return false;
    size_t n = (size_t)(PyList_Size(looking) + PyList_Size(rest));
    intact->all = calloc(n + 1, sizeof *intact->all);
    intact->tracers = Py_NewRef(tracers);
    if (!intact->all || !take_list(looking, intact))
        return false;
    intact->n_looking = intact->n;
    return take_list(rest, intact) && take_tracers(intact);
}

struct assay_py_intact *assay_py_intact_hold(void)
{
    struct assay_py_intact *intact = calloc(1, sizeof *intact);
    PyObject *module = PyImport_ImportModule("assay._held");
    PyObject *lists = module ? PyObject_CallMethod(module, "hold", NULL) : NULL;
    bool taken = intact && lists && take_all(lists, intact);
    Py_XDECREF(lists);
    Py_XDECREF(module);
    if (taken)
        return intact; /* references and all: until the process ends */
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    return NULL;
}

/* ---- afterwards ---- */

static bool is_there(const struct held *h, char *words, size_t size)
{
    PyObject *now = found(h);
    bool same = now == h->was;
    Py_XDECREF(now);
    if (same)
        return true;
    PyObject *bytes = PyUnicode_AsUTF8String(h->words);
    snprintf(words, size, "replaced %.80s in its process", bytes ? PyBytes_AsString(bytes) : "?");
    Py_XDECREF(bytes);
    return false;
}

static bool is_untraced(const struct assay_py_intact *intact, char *words, size_t size)
{
    for (Py_ssize_t i = 0; i < intact->n_tracers; i++) {
        PyObject *now = PyObject_CallObject(PyTuple_GetItem(intact->tracers, i), NULL);
        bool same = now == intact->traced[i];
        PyErr_Clear();
        Py_XDECREF(now);
        if (same)
            continue;
        snprintf(words, size, "left a function that traces all others (sys.settrace)");
        return false;
    }
    return true;
}

bool assay_py_intact_check(const struct assay_py_intact *intact, bool all, char *words, size_t size)
{
    Py_ssize_t n = all ? intact->n : intact->n_looking;
    bool same = is_untraced(intact, words, size);
    for (Py_ssize_t i = 0; i < n && same; i++)
        same = is_there(&intact->all[i], words, size);
    return same;
}
