/* session.c: Python callables as cases of assay.h, measured in this process and interpreter.
 *
 * The GIL is held throughout; a timed call is PyObject_Call on arguments that were made before. An
 * exception ends its case and is kept with its traceback; KeyboardInterrupt, or what `between`
 * raises, ends the measuring and is raised again. A crash is not caught: the interpreter could not
 * go on. Nothing is kept between two calls of measure(). */
#include "session.h"

#include <assay/assay.h>

#include <malloc.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* The callable `between` is called this often at the most. */
static const double BETWEEN_S = 0.05;

struct python_case {
    PyObject *function, *arguments, *keywords; /* borrowed from the caller's tuple */
    PyObject *error;                           /* what it raised */
    PyObject **stop;                           /* the session's: what ends all of it */
};

struct python_session {
    assay_session *session;
    struct assay_case *cases;
    struct python_case *own;
    int32_t n;
    PyObject *between;   /* borrowed; NULL: none */
    const char *profile; /* a file for the trace; NULL: none */
    PyObject *recording; /* a list, which holds the session's handle while it records */
    PyObject *stop;
    double called_at_s;
};

/* ---- calls ----------------------------------------------------------------------------------- */

/* The exception that is set, taken; with its traceback. */
static PyObject *take_error(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value && traceback)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

/* What a case raises is its own failure, unless it means the whole program. */
static void keep_error(struct python_case *c)
{
    bool everybody = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) ||
                     PyErr_ExceptionMatches(PyExc_MemoryError);
    PyObject *error = take_error();
    if (everybody && !*c->stop) {
        *c->stop = error;
        error = NULL;
    }
    Py_XDECREF(c->error);
    c->error = error;
}

static int run(void *argument)
{
    struct python_case *c = argument;
    PyObject *returned = PyObject_Call(c->function, c->arguments, c->keywords);
    if (!returned) {
        keep_error(c);
        return -1;
    }
    Py_DECREF(returned);
    return 0;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int call_between(struct python_session *s)
{
    if (!s->between || now_s() - s->called_at_s < BETWEEN_S)
        return 0;
    PyObject *returned = PyObject_CallNoArgs(s->between);
    Py_XDECREF(returned);
    s->called_at_s = now_s();
    return returned ? 0 : -1;
}

static int between(void *user)
{
    struct python_session *s = user;
    if (!s->stop && (PyErr_CheckSignals() != 0 || call_between(s) != 0))
        s->stop = take_error();
    return s->stop != NULL;
}

/* ---- what came of it ------------------------------------------------------------------------- */

/* Takes `value` over. */
static int put(PyObject *dict, const char *key, PyObject *value)
{
    int failed = value ? PyDict_SetItemString(dict, key, value) : -1;
    Py_XDECREF(value);
    return failed;
}

static PyObject *number(double value)
{
    return isnan(value) ? Py_NewRef(Py_None) : PyFloat_FromDouble(value);
}

static PyObject *samples_of(const struct assay_case_result *r)
{
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < r->rounds; i++) {
        PyObject *sample = number(r->sample_ms[i]);
        if (!sample || PyList_Append(list, sample) != 0)
            Py_CLEAR(list);
        Py_XDECREF(sample);
    }
    return list;
}

static int put_numbers(PyObject *dict, const struct assay_case_result *r)
{
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"latency_ms", r->latency_ms},
        {"latency_std_ms", r->latency_std_ms},
        {"median_ms", r->median_ms},
        {"median_lo_ms", r->median_lo_ms},
        {"median_hi_ms", r->median_hi_ms},
        {"q1_ms", r->q1_ms},
        {"q3_ms", r->q3_ms},
        {"min_ms", r->min_ms},
        {"max_ms", r->max_ms},
        {"idle_mb", r->idle_vram_mb},
        {"peak_mb", r->peak_vram_mb},
        {"workspace_mb", r->workspace_vram_mb},
        {"speedup", r->speedup > 0 ? r->speedup : (double)NAN},
        {"speedup_lo", r->speedup > 0 ? r->speedup_lo : (double)NAN},
        {"speedup_hi", r->speedup > 0 ? r->speedup_hi : (double)NAN},
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && !failed; i++)
        failed = put(dict, numbers[i].key, number(numbers[i].value));
    return failed;
}

static PyObject *result_of(const struct python_session *s, int64_t index)
{
    const struct assay_case_result *r = assay_session_case(s->session, index);
    PyObject *error = s->own[index].error, *dict = PyDict_New();
    char verdict[128];
    if (!dict)
        return NULL;
    assay_case_result_verdict(r, verdict, sizeof verdict);
    if (put_numbers(dict, r) || put(dict, "name", PyUnicode_FromString(r->name)) ||
        put(dict, "status", PyUnicode_FromString(r->status)) ||
        put(dict, "reason", PyUnicode_FromString(r->reason)) ||
        put(dict, "device", PyUnicode_FromString(r->device)) ||
        put(dict, "dtype", PyUnicode_FromString(r->dtype)) ||
        put(dict, "verdict", PyUnicode_FromString(verdict)) ||
        put(dict, "iters", PyLong_FromLongLong(r->iters)) ||
        put(dict, "warmup", PyLong_FromLongLong(r->warmup)) ||
        put(dict, "samples", PyLong_FromLongLong(r->samples)) ||
        put(dict, "significant", PyBool_FromLong(r->significant)) ||
        put(dict, "sample_ms", samples_of(r)) ||
        put(dict, "error", Py_NewRef(error ? error : Py_None)))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *results_of(const struct python_session *s)
{
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < s->n; i++) {
        PyObject *one = result_of(s, i);
        if (!one || PyList_Append(list, one) != 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* ---- from Python and back -------------------------------------------------------------------- */

/* One of the caller's tuples; what is borrowed from it lives as long as it does. */
static int read_case(struct python_session *s, int32_t i, PyObject *tuple)
{
    struct python_case *own = &s->own[i];
    unsigned long long stream = 0;
    unsigned int flags = 0;
    const char *name;
    own->stop = &s->stop;
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "a case is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(tuple, "sOO!OKI", &name, &own->function, &PyTuple_Type, &own->arguments,
                          &own->keywords, &stream, &flags))
        return -1;
    if (own->keywords == Py_None)
        own->keywords = NULL;
    if (!PyCallable_Check(own->function) || (own->keywords && !PyDict_Check(own->keywords))) {
        PyErr_Format(PyExc_TypeError, "%s: not callable, or its keywords are not a dict", name);
        return -1;
    }
    assay_case_init(&s->cases[i], name, run, own);
    s->cases[i].flags = flags | ASSAY_CASE_UNGUARDED;
    s->cases[i].stream = (void *)(uintptr_t)stream;
    return 0;
}

static int read_cases(struct python_session *s, PyObject *tuples)
{
    Py_ssize_t n = PyTuple_Size(tuples);
    if (n < 1 || n > INT32_MAX / 2) {
        PyErr_SetString(PyExc_ValueError, "no cases to measure");
        return -1;
    }
    s->n = (int32_t)n;
    s->cases = PyMem_Calloc((size_t)n, sizeof *s->cases);
    s->own = PyMem_Calloc((size_t)n, sizeof *s->own);
    if (!s->cases || !s->own) {
        PyErr_NoMemory();
        return -1;
    }
    for (int32_t i = 0; i < s->n; i++)
        if (read_case(s, i, PyTuple_GetItem(tuples, i)) != 0)
            return -1;
    return 0;
}

static void raise_status(enum assay_status status, const struct assay_error *err)
{
    PyObject *type = status == ASSAY_ERR_INVALID ? PyExc_ValueError
                     : status == ASSAY_ERR_NOMEM ? PyExc_MemoryError
                                                 : PyExc_RuntimeError;
    if (err->where[0])
        PyErr_Format(type, "%s: %s", err->where, err->message);
    else
        PyErr_SetString(type, err->message);
}

/* Functions that allocate, as PyTorch's do, would else meet a heap whose end is handed back to the
 * system with each call and faulted in again with the next, or one where it is not: by luck, and up
 * to seven times as slow. The mapping threshold is the one that glibc itself rises to. A user's own
 * settings stay. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    enum { TRIM = 1 << 30, MAP = 32 << 20 };
    if (getenv("MALLOC_TRIM_THRESHOLD_") || getenv("GLIBC_TUNABLES"))
        return;
    mallopt(M_MMAP_THRESHOLD, MAP);
    mallopt(M_TRIM_THRESHOLD, TRIM);
#endif
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Functions find the session that they are called by in this list. */
static int announce(const struct python_session *s)
{
    PyObject *handle = PyLong_FromVoidPtr(s->session);
    int failed = handle ? PyList_Append(s->recording, handle) : -1;
    Py_XDECREF(handle);
    return failed;
}

/* What became of the cases is told before what became of the trace. */
static enum assay_status end_profile(struct python_session *s, enum assay_status status,
                                     struct assay_error *err)
{
    struct assay_error why = {0};
    enum assay_status ended = assay_session_profile_end(s->session, &why);
    if (ended == ASSAY_OK)
        return status;
    *err = why;
    return ended;
}

PyObject *assay_py_push(PyObject *module, PyObject *args)
{
    unsigned long long handle;
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(args, "Ks", &handle, &name))
        return NULL;
    assay_range_push((assay_session *)(uintptr_t)handle, name);
    Py_RETURN_NONE;
}

PyObject *assay_py_pop(PyObject *module, PyObject *handle)
{
    (void)module;
    unsigned long long number = PyLong_AsUnsignedLongLong(handle);
    if (PyErr_Occurred())
        return NULL;
    assay_range_pop((assay_session *)(uintptr_t)number);
    Py_RETURN_NONE;
}

static PyObject *measure(struct python_session *s, const struct assay_session_options *options)
{
    keep_freed_memory();
    struct assay_error err = {0};
    enum assay_status status = assay_session_open(options, &s->session, &err);
    if (status == ASSAY_OK && s->profile)
        status = assay_session_profile(s->session, s->profile, &err);
    if (status == ASSAY_OK && s->profile && announce(s) != 0)
        return NULL;
    if (status == ASSAY_OK)
        status = assay_session_run_many(s->session, s->cases, s->n, &err);
    if (s->profile && (status == ASSAY_OK || status == ASSAY_ERR_FAILED) && !s->stop)
        status = end_profile(s, status, &err);
    if (s->stop) {
        PyErr_SetObject((PyObject *)Py_TYPE(s->stop), s->stop);
        return NULL;
    }
    if (status == ASSAY_OK || status == ASSAY_ERR_FAILED)
        return results_of(s);
    raise_status(status, &err);
    return NULL;
}

static void clear(struct python_session *s)
{
    assay_session_close(s->session);
    for (int32_t i = 0; s->own && i < s->n; i++)
        Py_CLEAR(s->own[i].error);
    Py_CLEAR(s->stop);
    PyMem_Free(s->cases);
    PyMem_Free(s->own);
}

PyObject *assay_py_measure(PyObject *module, PyObject *args)
{
    struct assay_session_options options;
    struct python_session s = {0};
    PyObject *cases, *result = NULL;
    long long warmup = 0, iters = 0;
    unsigned long long seed = 0;
    (void)module;
    assay_session_options_init(&options);
    if (!PyArg_ParseTuple(args, "OzzLLddKO|zO!", &cases, &options.device, &options.dtype, &warmup,
                          &iters, &options.precision, &options.budget_s, &seed, &s.between,
                          &s.profile, &PyList_Type, &s.recording))
        return NULL;
    PyObject *tuples = PySequence_Tuple(cases);
    if (!tuples)
        return NULL;
    if (s.between == Py_None)
        s.between = NULL;
    if (s.profile && !s.recording) {
        PyErr_SetString(PyExc_TypeError, "a profile takes a list for the session's handle");
        Py_DECREF(tuples);
        return NULL;
    }
    options.warmup = warmup;
    options.iters = iters;
    options.seed = seed;
    options.between = between;
    options.user = &s;
    if (read_cases(&s, tuples) == 0)
        result = measure(&s, &options);
    if (s.profile && PyList_Size(s.recording) > 0)
        PyList_SetSlice(s.recording, 0, PyList_Size(s.recording), NULL);
    clear(&s);
    Py_DECREF(tuples);
    return result;
}
