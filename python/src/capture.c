/* capture.c: launches of a kernel in Python as a graph. PyTorch captures them itself, by its own
 * CUDAGraph (assay/cuda_graphs.py), because its allocator has to know; other frameworks are
 * captured by the device. Either way what the calls returned is kept with the graph: a replay
 * writes there again. */
#include "call.h"

#include "device/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A graph, and what the runs that it is of returned. */
struct capture {
    PyObject *graph; /* PyTorch's; NULL: the device's */
    struct assay_py_guest *guest;
    int64_t n;
    struct kept {
        struct assay_py_row *row;
        PyObject *result;
        PyObject *arguments, *out; /* of calls that assign their results to .out; NULL: others */
    } kept[];
};

/* A call that assigned its result: a replay writes it there again. */
static void keep_assigned(const struct assay_py_call *c, struct kept *k)
{
    if (!c->collect)
        return;
    k->arguments = Py_NewRef(k->row->last ? k->row->last : k->row->arguments);
    k->out = PyObject_GetAttrString(PyTuple_GetItem(k->arguments, 0), "out");
    PyErr_Clear();
}

static void assign_again(const struct kept *k)
{
    if (!k->out)
        return;
    if (PyObject_SetAttrString(PyTuple_GetItem(k->arguments, 0), "out", k->out) != 0)
        PyErr_Clear();
    Py_XDECREF(k->row->last);
    k->row->last = Py_NewRef(k->arguments);
}

static PyObject *module_of(struct assay_py_guest *g)
{
    if (!g->graphs)
        g->graphs = PyImport_ImportModule("assay.cuda_graphs");
    return g->graphs;
}

enum assay_status assay_py_use_stream(struct assay_py_guest *g, struct assay_error *err)
{
    char words[sizeof err->message];
    PyObject *module = module_of(g);
    PyObject *answer = module
                           ? PyObject_CallMethod(module, "use", "Ki",
                                                 (unsigned long long)(uintptr_t)assay_cuda_stream(),
                                                 (int)g->host->device->index)
                           : NULL;
    if (!answer) {
        assay_py_tell_exception(g, words, sizeof words);
        return assay_error_set(err, ASSAY_ERR_FAILED, NULL, "%s", words);
    }
    Py_DECREF(answer);
    return ASSAY_OK;
}

void assay_py_keep_raised(struct assay_py_guest *g)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value && traceback)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(g->raised);
    g->raised = value;
    Py_XDECREF(type);
    Py_XDECREF(traceback);
}

/* (code of the driver, whether it waits for the GPU, why) of what was raised. */
static void explain(struct assay_py_guest *g, struct assay_captured *out)
{
    int code = 0, waits = 0;
    const char *module = "the call failed while it was captured";
    PyObject *said =
        g->graphs && g->raised ? PyObject_CallMethod(g->graphs, "explain", "O", g->raised) : NULL;
    PyObject *words = NULL;
    if (said && PyArg_ParseTuple(said, "ipO", &code, &waits, &words)) {
        PyObject *bytes = PyUnicode_AsUTF8String(words);
        if (bytes)
            snprintf(out->why, sizeof out->why, "%s", PyBytes_AsString(bytes));
        Py_XDECREF(bytes);
        out->waits = waits;
        if (code)
            out->error = code;
    } else {
        snprintf(out->why, sizeof out->why, "%s", module);
    }
    PyErr_Clear();
    Py_XDECREF(said);
    Py_CLEAR(g->raised);
}

static const char *refuses(void *user, void *state)
{
    const struct assay_py_call *c = state;
    (void)user;
    return c->again ? "its calls change their inputs, which are restored between them" : NULL;
}

static enum assay_status begin(void *user, void *stream, struct assay_captured *out)
{
    struct assay_py_guest *g = user;
    (void)stream; /* is the current one: assay_py_use_stream */
    PyObject *module = module_of(g);
    g->graph = module ? PyObject_CallMethod(module, "begin", NULL) : NULL;
    if (!g->graph) {
        assay_py_keep_raised(g);
        explain(g, out);
        return ASSAY_ERR_FAILED;
    }
    g->capturing = true;
    g->n_captures++;
    if (g->graph != Py_None)
        return ASSAY_OK;
    Py_CLEAR(g->graph);
    return ASSAY_UNSUPPORTED;
}

/* The graph and what launches it, as numbers. */
static bool take_graph(struct assay_py_guest *g, bool worked, struct assay_captured *out)
{
    unsigned long long graph = 0, exec = 0;
    PyObject *pair = PyObject_CallMethod(g->graphs, "end", "OO", g->graph,
                                         worked && !g->raised ? Py_True : Py_False);
    bool fine = pair && PyArg_ParseTuple(pair, "KK", &graph, &exec);
    Py_XDECREF(pair);
    if (!fine && !g->raised)
        assay_py_keep_raised(g);
    PyErr_Clear();
    out->graph = (void *)(uintptr_t)graph;
    out->exec = (void *)(uintptr_t)exec;
    out->theirs = true;
    return fine && graph;
}

static struct capture *keep_results(struct assay_py_guest *g, const struct assay_py_call *c)
{
    struct capture *made = calloc(1, sizeof *made + (size_t)c->n_turns * sizeof made->kept[0]);
    if (!made)
        return NULL;
    made->guest = g;
    for (int64_t i = 0; i < c->n_turns; i++) {
        struct assay_py_row *row = c->turns[i];
        if (row && row->result && row->capture == g->n_captures)
            made->kept[made->n++] = (struct kept){.row = row, .result = Py_NewRef(row->result)};
    }
    for (int64_t i = 0; i < made->n; i++)
        keep_assigned(c, &made->kept[i]);
    return made;
}

static void drop(void *user, void *capture)
{
    struct capture *c = capture;
    (void)user;
    for (int64_t i = 0; i < c->n; i++) {
        Py_DECREF(c->kept[i].result);
        Py_XDECREF(c->kept[i].arguments);
        Py_XDECREF(c->kept[i].out);
    }
    if (c->graph) {
        PyObject *answer = PyObject_CallMethod(c->guest->graphs, "drop", "O", c->graph);
        PyErr_Clear();
        Py_XDECREF(answer);
        Py_DECREF(c->graph);
    }
    free(c);
}

static enum assay_status end(void *user, void *state, bool worked, struct assay_captured *out)
{
    struct assay_py_guest *g = user;
    bool by_framework = g->graph;
    g->capturing = false;
    if (by_framework)
        worked = take_graph(g, worked, out) && worked;
    if (!worked) {
        if (g->raised || by_framework)
            explain(g, out);
        Py_CLEAR(g->graph);
        out->graph = by_framework ? NULL : out->graph;
        return ASSAY_ERR_FAILED;
    }
    struct capture *made = keep_results(g, state);
    if (!made) {
        Py_CLEAR(g->graph);
        return ASSAY_ERR_NOMEM;
    }
    made->graph = g->graph;
    g->graph = NULL;
    out->capture = made;
    return ASSAY_OK;
}

static void replayed(void *user, void *state, void *capture)
{
    struct capture *c = capture;
    (void)user, (void)state;
    for (int64_t i = 0; i < c->n; i++) {
        struct assay_py_row *row = c->kept[i].row;
        PyObject *before = row->result;
        row->result = Py_NewRef(c->kept[i].result);
        row->fresh = true;
        Py_XDECREF(before);
        assign_again(&c->kept[i]);
    }
}

struct assay_capturer assay_py_capturer(struct assay_py_guest *g)
{
    return (struct assay_capturer){.user = g,
                                   .refuses = refuses,
                                   .begin = begin,
                                   .end = end,
                                   .replayed = replayed,
                                   .drop = drop};
}
