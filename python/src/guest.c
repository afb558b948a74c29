/* guest.c: the life of a runner that is an interpreter: the server (src/runner/serve.c) asks, and
 * what it asks of kernels goes to functions of the module assay._runner.
 *
 * Between the two clock reads of a sample is a loop of calls on arguments that were made before,
 * and nothing else of Python's. */
#include "call.h"

#include "intact.h"

#include "base/clock.h"
#include "device/cuda/cuda.h"
#include "kernel/kernel.h"
#include "runner/guest.h"
#include "runner/python.h"
#include "runner/runner.h"
#include "workload/contents.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_READABLE = 64 };

/* ---- exceptions ---- */

/* The last line of the traceback; all of it goes to what the process prints. */
void assay_py_tell_exception(const struct assay_py_guest *g, char *out, size_t size)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *none = Py_None;
    PyObject *words = PyObject_CallMethod(g->runner, "explain", "OOO", type ? type : none,
                                          value ? value : none, traceback ? traceback : none);
    PyObject *bytes = words ? PyUnicode_AsUTF8String(words) : NULL;
    snprintf(out, size, "%.400s", bytes ? PyBytes_AsString(bytes) : "an exception without words");
    PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(words);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

static enum assay_status failed(const struct assay_py_guest *g, enum assay_status status,
                                const char *where, struct assay_error *err)
{
    char words[sizeof err->message];
    bool memory = PyErr_ExceptionMatches(PyExc_MemoryError);
    assay_py_tell_exception(g, words, sizeof words);
    return memory ? assay_error_nomem(err) : assay_error_set(err, status, where, "%s", words);
}

/* ---- the object ---- */

static bool text_of(PyObject *dict, const char *key, char *out, size_t size)
{
    PyObject *value = PyMapping_GetItemString(dict, key);
    PyObject *bytes = value ? PyUnicode_AsUTF8String(value) : NULL;
    bool fits = bytes && PyBytes_Size(bytes) < (Py_ssize_t)size;
    if (bytes && !fits)
        PyErr_Format(PyExc_ValueError, "the %s is too long: %S", key, value);
    if (fits)
        snprintf(out, size, "%s", PyBytes_AsString(bytes));
    Py_XDECREF(bytes);
    Py_XDECREF(value);
    return fits;
}

static bool number_of(PyObject *dict, const char *key, double otherwise, double *out)
{
    PyObject *value = PyMapping_GetItemString(dict, key);
    *out = value ? PyFloat_AsDouble(value) : otherwise;
    if (!value)
        PyErr_Clear();
    Py_XDECREF(value);
    return !PyErr_Occurred();
}

static bool flag_of(PyObject *dict, const char *key)
{
    PyObject *value = PyMapping_GetItemString(dict, key);
    int is = value ? PyObject_IsTrue(value) : 0;
    PyErr_Clear();
    Py_XDECREF(value);
    return is == 1;
}

static bool dtypes_of(PyObject *dict, uint64_t *out)
{
    PyObject *list = PyMapping_GetItemString(dict, "dtypes");
    Py_ssize_t n = list ? PySequence_Size(list) : -1;
    *out = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        struct assay_error why = {0};
        enum assay_dtype dtype = ASSAY_DTYPE_NONE;
        PyObject *name = PySequence_GetItem(list, i);
        PyObject *bytes = name ? PyUnicode_AsUTF8String(name) : NULL;
        if (bytes && assay_dtype_parse(PyBytes_AsString(bytes), &dtype, &why) != ASSAY_OK)
            PyErr_SetString(PyExc_ValueError, why.message);
        *out |= ASSAY_DTYPE_BIT(dtype);
        Py_XDECREF(bytes);
        Py_XDECREF(name);
        if (PyErr_Occurred())
            n = -1;
    }
    Py_XDECREF(list);
    return n >= 0;
}

static enum assay_status run(void *state, const struct assay_work *work);
static void teardown(void *state);
static enum assay_status prepare(void *state, int64_t set, const struct assay_args *args,
                                 struct assay_error *err);
static size_t prepared_bytes(void *state);

static enum assay_status add_kernel(struct assay_py_guest *g, PyObject *dict, const char *path,
                                    assay_kernel_registry *registry, struct assay_error *err)
{
    struct assay_py_described *d = &g->kernels[g->n_kernels];
    struct assay_kernel kernel = {
        .struct_size = sizeof kernel,
        .abi = ASSAY_KERNEL_ABI,
        .name = d->name,
        .op = d->op,
        .implementation = d->implementation,
        .device = d->device,
        .run = run,
        .teardown = teardown,
        .prepare = prepare,
        .prepared_bytes = prepared_bytes,
    };
    double preference;
    if (!text_of(dict, "name", d->name, sizeof d->name) ||
        !text_of(dict, "op", d->op, sizeof d->op) ||
        !text_of(dict, "implementation", d->implementation, sizeof d->implementation) ||
        !text_of(dict, "device", d->device, sizeof d->device) || !dtypes_of(dict, &kernel.dtypes) ||
        !number_of(dict, "preference", 0, &preference))
        return failed(g, ASSAY_ERR_INVALID, path, err);
    kernel.preference = (int32_t)preference;
    g->n_kernels++;
    enum assay_status status = strncmp(d->op, ASSAY_MODEL_PREFIX, strlen(ASSAY_MODEL_PREFIX)) == 0
                                   ? ASSAY_OK
                                   : assay_kernel_check_op(&kernel, path, err);
    return status == ASSAY_OK ? assay_kernel_add(registry, &kernel, path, err) : status;
}

static enum assay_status add_workload(struct assay_py_guest *g, PyObject *dict, const char *path,
                                      assay_workloads *workloads, assay_kernel_registry *registry,
                                      struct assay_error *err)
{
    const struct assay_kernel proxy = {.run = run, .teardown = teardown};
    struct assay_workload_found found = {0};
    double seed;
    if (!text_of(dict, "benchmark", found.benchmark, sizeof found.benchmark) ||
        !text_of(dict, "name", found.name, sizeof found.name) ||
        !text_of(dict, "device", found.device, sizeof found.device) ||
        !number_of(dict, "seed", 0, &seed))
        return failed(g, ASSAY_ERR_INVALID, path, err);
    found.seed = (uint64_t)(seed > 0 ? seed : 0);
    found.verified = flag_of(dict, "verified");
    found.on_device = flag_of(dict, "on_device");
    found.together = flag_of(dict, "together");
    if (snprintf(found.op, sizeof found.op, "%s%s.%s", ASSAY_WORKLOAD_PREFIX, found.benchmark,
                 found.name) >= (int)sizeof found.op)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "the name %s.%s is too long",
                               found.benchmark, found.name);
    return assay_workload_add_remote(workloads, registry, &found, &g->author, &proxy, path, err);
}

/* The list under `key`; a new reference, empty where there is none. */
static PyObject *list_of(PyObject *dict, const char *key)
{
    PyObject *list = PyMapping_GetItemString(dict, key);
    if (!list) {
        PyErr_Clear();
        list = PyList_New(0);
    }
    return list;
}

static enum assay_status add_all(struct assay_py_guest *g, PyObject *found, const char *path,
                                 assay_workloads *workloads, assay_kernel_registry *registry,
                                 struct assay_error *err)
{
    PyObject *kernels = list_of(found, "kernels"), *works = list_of(found, "workloads");
    Py_ssize_t n_kernels = kernels ? PySequence_Size(kernels) : -1;
    Py_ssize_t n_works = works ? PySequence_Size(works) : -1;
    enum assay_status status = ASSAY_OK;
    if (n_kernels < 0 || n_works < 0)
        status = failed(g, ASSAY_ERR_INVALID, path, err);
    else if (n_kernels + n_works == 0)
        status = assay_error_set(err, ASSAY_ERR_INVALID, path,
                                 "defines no kernels (@assay.kernel) and no benchmarks");
    else if (!(g->kernels = calloc((size_t)n_kernels + 1, sizeof *g->kernels)))
        status = assay_error_nomem(err);
    for (Py_ssize_t i = 0; i < n_kernels && status == ASSAY_OK; i++) {
        PyObject *one = PySequence_GetItem(kernels, i);
        status =
            one ? add_kernel(g, one, path, registry, err) : failed(g, ASSAY_ERR_INVALID, path, err);
        Py_XDECREF(one);
    }
    for (Py_ssize_t i = 0; i < n_works && status == ASSAY_OK; i++) {
        PyObject *one = PySequence_GetItem(works, i);
        status = one ? add_workload(g, one, path, workloads, registry, err)
                     : failed(g, ASSAY_ERR_INVALID, path, err);
        Py_XDECREF(one);
    }
    Py_XDECREF(kernels);
    Py_XDECREF(works);
    return status;
}

/* "cpu" or "cuda". */
static const char *device_of(const struct assay_py_guest *g)
{
    const assay_device *device = g->host ? g->host->device : NULL;
    return device ? device->driver->name : "cpu";
}

/* Before a stranger's code comes. */
static bool hold_what_is(struct assay_py_guest *g, const char *path)
{
    if (strncmp(path, ASSAY_PYTHON_PREFIX, strlen(ASSAY_PYTHON_PREFIX)) == 0)
        return true;
    PyObject *answer = PyObject_CallMethod(g->runner, "expect", "s", path);
    Py_XDECREF(answer);
    g->intact = answer ? assay_py_intact_hold() : NULL;
    return g->intact;
}

/* A stranger's doing, however it came about. */
static enum assay_status check_intact(const struct assay_py_guest *g, bool all,
                                      struct assay_error *err)
{
    char words[160];
    return !g->intact || assay_py_intact_check(g->intact, all, words, sizeof words)
               ? ASSAY_OK
               : assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "%s", words);
}

static enum assay_status load(void *user, const struct assay_host *host, const char *path,
                              assay_workloads *workloads, assay_kernel_registry *registry,
                              struct assay_error *err)
{
    struct assay_py_guest *g = user;
    g->host = host;
    if (!hold_what_is(g, path))
        return failed(g, ASSAY_ERR_INVALID, path, err);
    PyObject *found = PyObject_CallMethod(g->runner, "load", "ss", path, device_of(g));
    if (!found)
        return failed(g, ASSAY_ERR_INVALID, path, err);
    enum assay_status status = add_all(g, found, path, workloads, registry, err);
    Py_DECREF(found);
    return status;
}

/* ---- what a kernel is asked before it runs ---- */

/* Its answer is None or words. */
static PyObject *ask(const struct assay_py_guest *g, const char *function,
                     const struct assay_kernel *kernel, const struct assay_problem *problem)
{
    PyObject *p = problem ? assay_py_problem(problem, device_of(g)) : Py_NewRef(Py_None);
    PyObject *answer = p ? PyObject_CallMethod(g->runner, function, "sO", kernel->name, p) : NULL;
    Py_XDECREF(p);
    return answer;
}

static enum assay_status can_run(void *user, const struct assay_kernel *kernel,
                                 const struct assay_problem *problem, struct assay_error *why)
{
    const struct assay_py_guest *g = user;
    PyObject *answer = ask(g, "can_run", kernel, problem);
    if (!answer)
        return failed(g, ASSAY_ERR_FAILED, kernel->name, why);
    enum assay_status status = ASSAY_OK;
    if (answer != Py_None) {
        PyObject *bytes = PyUnicode_AsUTF8String(answer);
        status =
            bytes ? assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "%.400s", PyBytes_AsString(bytes))
                  : failed(g, ASSAY_ERR_FAILED, kernel->name, why);
        Py_XDECREF(bytes);
    }
    Py_DECREF(answer);
    return status;
}

static void note(void *user, const struct assay_kernel *kernel, const struct assay_problem *problem,
                 char *text, size_t size)
{
    const struct assay_py_guest *g = user;
    PyObject *answer = ask(g, "note", kernel, problem);
    PyObject *bytes = answer && answer != Py_None ? PyUnicode_AsUTF8String(answer) : NULL;
    if (bytes)
        snprintf(text, size, "%s", PyBytes_AsString(bytes));
    PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(answer);
}

/* ---- a kernel that is set up ---- */

static void drop_row(struct assay_py_row *row)
{
    Py_CLEAR(row->last);
    Py_CLEAR(row->turns);
    Py_CLEAR(row->result);
    Py_CLEAR(row->arguments);
    Py_CLEAR(row->tensors);
}

static void drop_rows(struct assay_py_call *c)
{
    for (int64_t i = 0; i < c->n_rows; i++)
        drop_row(&c->rows[i]);
    free(c->rows);
    c->rows = NULL;
    c->n_rows = 0;
}

static void teardown(void *state)
{
    struct assay_py_call *c = state;
    PyObject *end = c->object ? PyObject_GetAttrString(c->object, "teardown") : NULL;
    PyObject *answer = end && end != Py_None ? PyObject_CallFunctionObjArgs(end, NULL) : NULL;
    PyErr_Clear();
    Py_XDECREF(answer);
    Py_XDECREF(end);
    drop_rows(c);
    drop_row(&c->spare);
    Py_XDECREF(c->prepare);
    Py_XDECREF(c->finish);
    Py_XDECREF(c->collect);
    Py_XDECREF(c->again);
    Py_XDECREF(c->object);
    Py_XDECREF(c->function);
    Py_XDECREF(c->wrap);
    Py_XDECREF(c->look);
    free(c->turns);
    free(c);
}

/* An attribute; NULL without an exception where it is None. */
static PyObject *member(const struct assay_py_call *c, const char *name)
{
    PyObject *value = PyObject_GetAttrString(c->object, name);
    if (value == Py_None)
        Py_CLEAR(value);
    return value;
}

static bool take_members(struct assay_py_call *c)
{
    PyObject *takes = PyObject_GetAttrString(c->object, "takes_out");
    c->takes_out = takes && PyObject_IsTrue(takes) == 1;
    Py_XDECREF(takes);
    c->function = PyObject_GetAttrString(c->object, "fn");
    c->wrap = c->function ? PyObject_GetAttrString(c->object, "wrap") : NULL;
    c->look = c->wrap ? PyObject_GetAttrString(c->object, "look") : NULL;
    if (c->look) {
        c->prepare = member(c, "prepare");
        c->finish = member(c, "finish");
        c->collect = member(c, "collect");
        c->again = member(c, "again");
    }
    return !PyErr_Occurred();
}

static enum assay_status setup(void *user, const struct assay_kernel *kernel,
                               const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    struct assay_py_guest *g = user;
    struct assay_py_call *c = calloc(1, sizeof *c);
    if (!c)
        return assay_error_nomem(err);
    c->guest = g;
    c->n_inputs = problem->n_inputs;
    c->n_outputs = problem->n_outputs;
    memcpy(c->inputs, problem->inputs, sizeof c->inputs);
    memcpy(c->outputs, problem->outputs, sizeof c->outputs);
    c->object = ask(g, "setup", kernel, problem);
    if (c->object && take_members(c)) {
        enum assay_status intact = check_intact(g, true, err);
        if (intact == ASSAY_OK)
            *state = c;
        else
            teardown(c);
        return intact;
    }
    bool unsupported = PyErr_ExceptionMatches(PyExc_NotImplementedError);
    enum assay_status status =
        failed(g, unsupported ? ASSAY_UNSUPPORTED : ASSAY_ERR_FAILED, NULL, err);
    teardown(c);
    return status;
}

/* ---- before a run ---- */

static PyObject *wrap(const struct assay_py_call *c, void *at, const struct assay_tensor *tensor)
{
    const assay_device *device = c->guest->host->device;
    int index = !device || assay_device_shares_memory(device) ? -1 : device->index;
    PyObject *pair = assay_py_tensor(tensor);
    PyObject *dtype = pair ? PyTuple_GetItem(pair, 0) : NULL; /* borrowed */
    PyObject *dims = dtype ? PyTuple_GetItem(pair, 1) : NULL;
    PyObject *made =
        dims ? PyObject_CallFunction(c->wrap, "KnOOi", (unsigned long long)(uintptr_t)at,
                                     (Py_ssize_t)assay_tensor_bytes(tensor), dtype, dims, index)
             : NULL;
    Py_XDECREF(pair);
    return made;
}

static PyObject *make_tensors(const struct assay_py_call *c, void *const *pointers)
{
    int32_t n = c->n_inputs + (c->takes_out ? c->n_outputs : 0);
    PyObject *tensors = PyTuple_New(n);
    for (int32_t i = 0; tensors && i < n; i++) {
        const struct assay_tensor *tensor =
            i < c->n_inputs ? &c->inputs[i] : &c->outputs[i - c->n_inputs];
        PyObject *one = wrap(c, pointers[i], tensor);
        if (!one || PyTuple_SetItem(tensors, i, one) != 0)
            Py_CLEAR(tensors);
    }
    return tensors;
}

static PyObject *make_arguments(const struct assay_py_call *c, PyObject *tensors)
{
    if (!c->prepare)
        return Py_NewRef(tensors);
    PyObject *made = PyObject_Call(c->prepare, tensors, NULL);
    PyObject *tuple = made ? PySequence_Tuple(made) : NULL;
    Py_XDECREF(made);
    return tuple;
}

static bool fill_row(const struct assay_py_call *c, struct assay_py_row *row, void *const *pointers)
{
    drop_row(row);
    row->tensors = make_tensors(c, pointers);
    row->arguments = row->tensors ? make_arguments(c, row->tensors) : NULL;
    memcpy(row->own, pointers, (size_t)(c->n_inputs + c->n_outputs) * sizeof *pointers);
    return row->arguments != NULL;
}

/* The pointers of a set: its inputs', with those of its outputs behind them. */
static void pointers_of(const struct assay_py_call *c, const struct assay_args *args, void **out)
{
    for (int32_t i = 0; i < c->n_inputs; i++)
        memcpy(&out[i], &args->in[i], sizeof out[i]);
    for (int32_t i = 0; i < c->n_outputs; i++)
        out[c->n_inputs + i] = args->out[i];
}

static struct assay_py_row *row_of(struct assay_py_call *c, const struct assay_guest_sets *sets,
                                   const struct assay_args *args, bool *made)
{
    void *pointers[ASSAY_PY_TENSORS];
    int64_t each = c->n_inputs + c->n_outputs;
    intptr_t at = (const char *)args->out - (const char *)sets->pointers;
    int64_t index = at / (intptr_t)(each * (int64_t)sizeof(void *));
    bool bound = at >= 0 && index < sets->n_sets;
    struct assay_py_row *row = bound ? &c->rows[index] : &c->spare;
    pointers_of(c, args, pointers);
    bool known = row->arguments && memcmp(row->own, pointers, (size_t)each * sizeof *pointers) == 0;
    *made = *made || (!known && bound);
    return known || fill_row(c, row, pointers) ? row : NULL;
}

static enum assay_status make_place(struct assay_py_call *c, int64_t n_rows, int64_t n_turns,
                                    struct assay_error *err)
{
    if (c->n_rows != n_rows) {
        drop_rows(c);
        c->rows = calloc((size_t)n_rows, sizeof *c->rows);
        c->n_rows = c->rows ? n_rows : 0;
    }
    if (c->n_turns < n_turns) {
        free(c->turns);
        c->turns = calloc((size_t)n_turns, sizeof(*c->turns));
    }
    c->n_turns = c->turns ? n_turns : 0;
    return c->rows && c->turns ? ASSAY_OK : assay_error_nomem(err);
}

/* Constant inputs have other values: what was made of them is made anew. */
static enum assay_status prepare(void *state, int64_t set, const struct assay_args *args,
                                 struct assay_error *err)
{
    struct assay_py_call *c = state;
    (void)args, (void)err;
    if (set < c->n_rows)
        drop_row(&c->rows[set]);
    return ASSAY_OK;
}

static size_t prepared_bytes(void *state)
{
    (void)state;
    return 0; /* PyTorch's own, which nobody tells */
}

/* Results of several sets are kept at a time, and malloc needs some rounds until it has a place for
 * each: until then a call pays for new pages. */
static enum assay_status settle_memory(struct assay_py_call *c, const struct assay_work *work)
{
    enum { ROUNDS = 4 };
    static const int64_t MOST_NS = 100000000;
    enum assay_status status = ASSAY_OK;
    struct assay_work round = {.iters = work->n_sets, .n_sets = work->n_sets, .sets = work->sets};
    int64_t start_ns = assay_clock_ns();
    for (int i = 0; i < ROUNDS && status == ASSAY_OK; i++) {
        status = run(c, &round);
        if (assay_clock_ns() - start_ns > MOST_NS)
            break;
    }
    return status;
}

/* A call that changes its inputs has arguments of its own, with the inputs as they were: this many
 * calls are coming for the sets of `work` together. */
static bool take_turns(struct assay_py_call *c, struct assay_py_row *row,
                       const struct assay_work *work)
{
    Py_ssize_t n = (Py_ssize_t)(work->iters / work->n_sets) + 2;
    Py_CLEAR(row->turns);
    row->turns = PyObject_CallFunction(c->again, "On", row->arguments, n);
    row->n_turns = row->turns ? PyList_Size(row->turns) : -1;
    row->next_turn = 0;
    return row->n_turns > 0;
}

static PyObject *arguments_of(struct assay_py_row *row)
{
    if (!row->turns)
        return row->arguments;
    PyObject *turn = PyList_GetItem(row->turns, row->next_turn++ % row->n_turns); /* borrowed */
    Py_XDECREF(row->last);
    row->last = Py_XNewRef(turn);
    return turn;
}

/* A kernel's first call on a GPU compiles, tunes and loads, and waits for all that: not behind a
 * gate, and not in a capture. */
static enum assay_status call_first(struct assay_py_call *c, const struct assay_work *work,
                                    struct assay_error *err)
{
    struct assay_work one = {.iters = 1, .n_sets = work->n_sets, .sets = work->sets};
    enum assay_status status = assay_py_use_stream(c->guest, err);
    if (status != ASSAY_OK || c->called)
        return status;
    c->called = true;
    status = run(c, &one);
    return status == ASSAY_OK ? assay_cuda_rest(err) : status;
}

static bool changes_inputs(void *user, void *state)
{
    (void)user;
    return ((const struct assay_py_call *)state)->again;
}

static enum assay_status ready(void *user, void *state, const struct assay_guest_sets *sets,
                               const struct assay_work *work, struct assay_error *err)
{
    struct assay_py_guest *g = user;
    struct assay_py_call *c = state;
    bool made = false;
    g->failure[0] = '\0';
    enum assay_status status = make_place(c, sets->n_sets, work->n_sets, err);
    for (int64_t i = 0; i < work->n_sets && status == ASSAY_OK; i++) {
        c->turns[i] = row_of(c, sets, &work->sets[i], &made);
        if (!c->turns[i])
            status = failed(g, ASSAY_ERR_FAILED, NULL, err);
    }
    bool here = !g->host->device || assay_device_shares_memory(g->host->device);
    if (status == ASSAY_OK && made && here && work->n_sets > 1)
        status = settle_memory(c, work);
    for (int64_t i = 0; i < work->n_sets && status == ASSAY_OK && c->again; i++)
        if (!take_turns(c, c->turns[i], work))
            status = failed(g, ASSAY_ERR_FAILED, NULL, err);
    if (status == ASSAY_OK && !here)
        status = call_first(c, work, err);
    if (status == ASSAY_ERR_FAILED && g->failure[0])
        assay_error_set(err, status, NULL, "%s", g->failure);
    return status;
}

/* ---- the run ---- */

static enum assay_status raised(struct assay_py_guest *g)
{
    if (g->capturing)
        assay_py_keep_raised(g);
    else
        assay_py_tell_exception(g, g->failure, sizeof g->failure);
    return ASSAY_ERR_FAILED;
}

/* A result is kept until the next call on its set: then its memory, which the new one will take, is
 * as cold as the operands of the set are. */

static enum assay_status run(void *state, const struct assay_work *work)
{
    const struct assay_py_call *c = state;
    for (int64_t i = 0; i < work->iters; i++) {
        struct assay_py_row *row = c->turns[assay_work_set(work, i)];
        Py_CLEAR(row->result);
        row->result = PyObject_Call(c->function, arguments_of(row), NULL);
        row->fresh = true;
        if (c->guest->capturing)
            row->capture = c->guest->n_captures;
        if (!row->result)
            return raised(c->guest);
    }
    return ASSAY_OK;
}

/* ---- after it ---- */

/* Equal but for dimensions of 1: a scalar is a tensor of one element. */
static bool same_dims(const struct assay_tensor *a, const struct assay_tensor *b)
{
    int32_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < a->rank && a->dims[i] == 1)
            i++;
        while (k < b->rank && b->dims[k] == 1)
            k++;
        if (i == a->rank || k == b->rank)
            return i == a->rank && k == b->rank;
        if (a->dims[i] != b->dims[k])
            return false;
    }
}

static void describe(const struct assay_tensor *tensor, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s [", assay_dtype_name(tensor->dtype));
    for (int32_t i = 0; i < tensor->rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%lld", i ? ", " : "",
                                 (long long)tensor->dims[i]);
    if (used < size)
        snprintf(out + used, size - used, "]");
}

/* Codes of 4 bits come as the bytes that hold two of them. */
static struct assay_tensor as_bytes(struct assay_tensor tensor)
{
    if (tensor.dtype == ASSAY_DTYPE_U4 && tensor.rank > 0) {
        tensor.dtype = ASSAY_DTYPE_U8;
        tensor.dims[tensor.rank - 1] = (tensor.dims[tensor.rank - 1] + 1) / 2;
    }
    return tensor;
}

/* What was returned, as `look` sees it: (address, dtype, dims, device). */
static enum assay_status look_at(const struct assay_py_call *c, PyObject *result,
                                 struct assay_tensor *tensor, unsigned long long *address,
                                 int *device, struct assay_error *err)
{
    PyObject *seen = PyObject_CallFunctionObjArgs(c->look, result, NULL);
    PyObject *pair = seen ? PySequence_GetSlice(seen, 1, 3) : NULL;
    bool fine =
        pair && assay_py_read_tensor(pair, tensor) &&
        PyArg_ParseTuple(seen, "KOOi", address, &(PyObject *){NULL}, &(PyObject *){NULL}, device);
    Py_XDECREF(pair);
    Py_XDECREF(seen);
    return fine ? ASSAY_OK : failed(c->guest, ASSAY_ERR_FAILED, NULL, err);
}

static enum assay_status copy_result(const struct assay_py_call *c, PyObject *result,
                                     int32_t output, void *to, struct assay_error *err)
{
    assay_device *device = c->guest->host->device;
    bool here = !device || assay_device_shares_memory(device);
    struct assay_tensor want = as_bytes(c->outputs[output]), got;
    char wanted[96], found[96];
    unsigned long long address;
    int on;
    enum assay_status status = look_at(c, result, &got, &address, &on, err);
    if (status != ASSAY_OK)
        return status;
    if (on != (here ? -1 : device->index))
        return assay_error_set(err, ASSAY_ERR_FAILED, NULL,
                               "it returned a tensor on another device (%s)",
                               on < 0 ? "the cpu" : "cuda");
    if (got.dtype != want.dtype || !same_dims(&got, &want)) {
        describe(&want, wanted, sizeof wanted);
        describe(&got, found, sizeof found);
        return assay_error_set(err, ASSAY_ERR_FAILED, NULL, "it returned %s, not %s", found,
                               wanted);
    }
    const void *from = (const void *)(uintptr_t)address;
    size_t bytes = assay_tensor_bytes(&want);
    if (!from && bytes > 0)
        return assay_error_set(err, ASSAY_ERR_FAILED, NULL, "it returned a tensor without memory");
    if (from == to)
        return ASSAY_OK;
    if (!here)
        return device->driver->copy(device, to, from, bytes, err);
    memcpy(to, from, bytes);
    return ASSAY_OK;
}

/* The results of the last call on a set. A new reference. */
static PyObject *given_by(const struct assay_py_call *c, const struct assay_py_row *row)
{
    if (c->collect)
        return PyObject_Call(c->collect, row->last ? row->last : row->arguments, NULL);
    return c->finish ? PyObject_CallFunctionObjArgs(c->finish, row->result, NULL)
                     : Py_NewRef(row->result);
}

/* A kernel that was given its outputs may return whatever it likes. */
static enum assay_status take_results(const struct assay_py_call *c, const struct assay_py_row *row,
                                      struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    if (c->takes_out && !c->collect)
        return ASSAY_OK;
    PyObject *result = given_by(c, row);
    if (!result)
        return failed(c->guest, ASSAY_ERR_FAILED, NULL, err);
    bool tuple = PyTuple_Check(result), list = PyList_Check(result);
    Py_ssize_t n = tuple ? PyTuple_Size(result) : list ? PyList_Size(result) : 1;
    if (n != c->n_outputs)
        status = assay_error_set(err, ASSAY_ERR_FAILED, NULL,
                                 "it returned %zd tensors, and there are %d outputs", n,
                                 (int)c->n_outputs);
    for (int32_t i = 0; i < c->n_outputs && status == ASSAY_OK; i++) {
        /* What is in it, whatever a subclass says that it holds; borrowed. */
        PyObject *one = tuple  ? PyTuple_GetItem(result, i)
                        : list ? PyList_GetItem(result, i)
                               : result;
        status = copy_result(c, one, i, row->own[c->n_inputs + i], err);
    }
    Py_DECREF(result);
    return status;
}

static enum assay_status finish(void *user, void *state, const struct assay_work *work,
                                struct assay_error *err)
{
    enum { ALL_FIRST = 8, ALL_ONE_IN = 16 };
    struct assay_py_guest *g = user;
    struct assay_py_call *c = state;
    bool all = g->n_finished < ALL_FIRST || g->n_finished % ALL_ONE_IN == 0;
    int collects = PyGC_Disable(); /* a stranger may be told of it, or have something collected */
    enum assay_status status = check_intact(g, all, err);
    g->n_finished++;
    for (int64_t i = 0; i < c->n_turns && i < work->n_sets; i++) {
        struct assay_py_row *row = c->turns[i];
        if (row->fresh && row->result && status == ASSAY_OK)
            status = take_results(c, row, err);
        row->fresh = false;
    }
    if (collects)
        PyGC_Enable();
    return status;
}

static const char *failure(void *user) { return ((const struct assay_py_guest *)user)->failure; }

/* ---- a workload's author ---- */

static void filled_elsewhere(const struct assay_tensor *tensor, void *data, int64_t count,
                             uint64_t seed)
{
    (void)tensor, (void)data, (void)count, (void)seed;
}

static bool read_operands(PyObject *dict, const char *key, struct assay_operand *out, int most,
                          int32_t *n)
{
    PyObject *list = PyMapping_GetItemString(dict, key);
    Py_ssize_t count = list ? PySequence_Size(list) : -1;
    bool fine = count >= 0 && count <= most;
    if (count > most)
        PyErr_Format(PyExc_ValueError, "more than %d %s", most, key);
    for (Py_ssize_t i = 0; i < count && fine; i++) {
        PyObject *one = PySequence_GetItem(list, i); /* (name, dtype, dims) */
        PyObject *pair = one ? PySequence_GetSlice(one, 1, 3) : NULL;
        PyObject *name = pair ? PySequence_GetItem(one, 0) : NULL;
        PyObject *bytes = name ? PyUnicode_AsUTF8String(name) : NULL;
        fine = bytes && assay_py_read_tensor(pair, &out[i].tensor);
        if (fine)
            snprintf(out[i].name, sizeof out[i].name, "%s", PyBytes_AsString(bytes));
        Py_XDECREF(bytes);
        Py_XDECREF(name);
        Py_XDECREF(pair);
        Py_XDECREF(one);
    }
    *n = fine ? (int32_t)count : 0;
    Py_XDECREF(list);
    return fine;
}

static bool read_setup(PyObject *dict, struct assay_setup *out)
{
    if (!read_operands(dict, "inputs", out->inputs, ASSAY_MAX_INPUTS, &out->n_inputs) ||
        !read_operands(dict, "outputs", out->outputs, ASSAY_MAX_OUTPUTS, &out->n_outputs))
        return false;
    for (int32_t i = 0; i < out->n_inputs && flag_of(dict, "fills"); i++)
        out->inputs[i].fill = filled_elsewhere;
    return number_of(dict, "relative", 0, &out->relative) &&
           number_of(dict, "absolute", 0, &out->absolute) &&
           number_of(dict, "bytes", 0, &out->bytes) && number_of(dict, "flops", 0, &out->flops);
}

static enum assay_status declare(void *user, const char *op, int32_t threads,
                                 struct assay_setup *out, struct assay_error *err)
{
    struct assay_py_guest *g = user;
    const char *name = op + strlen(ASSAY_WORKLOAD_PREFIX);
    *out = (struct assay_setup){.struct_size = sizeof *out, .threads = threads};
    PyObject *dict = PyObject_CallMethod(g->runner, "declare", "sis", name, threads, device_of(g));
    bool fine = dict && read_setup(dict, out);
    Py_XDECREF(dict);
    bool unsupported = !fine && PyErr_ExceptionMatches(PyExc_NotImplementedError);
    return fine ? ASSAY_OK
                : failed(g, unsupported ? ASSAY_UNSUPPORTED : ASSAY_ERR_FAILED, name, err);
}

/* The bytes of something with a buffer; of a tuple, its first. */
static bool copy_buffer(PyObject *object, void *to, size_t bytes)
{
    Py_buffer buffer;
    PyObject *source = PyTuple_Check(object) ? PyTuple_GetItem(object, 0) : object; /* borrowed */
    if (!source || PyObject_GetBuffer(source, &buffer, PyBUF_SIMPLE) != 0)
        return false;
    bool fits = (size_t)buffer.len == bytes;
    if (fits)
        memcpy(to, buffer.buf, bytes);
    else
        PyErr_Format(PyExc_ValueError, "%zd bytes, not %zd", buffer.len, (Py_ssize_t)bytes);
    PyBuffer_Release(&buffer);
    return fits;
}

static void fill(void *user, const char *op, int32_t input, const struct assay_tensor *tensor,
                 void *data, uint64_t seed)
{
    struct assay_py_guest *g = user;
    size_t bytes = assay_tensor_bytes(tensor);
    PyObject *values =
        PyObject_CallMethod(g->runner, "fill", "siK", op + strlen(ASSAY_WORKLOAD_PREFIX),
                            (int)input, (unsigned long long)seed);
    if (!values || !copy_buffer(values, data, bytes)) {
        assay_py_tell_exception(g, g->failure, sizeof g->failure);
        memset(data, 0, bytes);
    }
    Py_XDECREF(values);
}

static PyObject *inputs_of(const struct assay_py_guest *g, const struct assay_problem *p,
                           const void *const *in)
{
    PyObject *out = PyTuple_New(p->n_inputs);
    for (int32_t i = 0; out && i < p->n_inputs; i++) {
        PyObject *pair = assay_py_tensor(&p->inputs[i]);
        PyObject *one =
            pair ? PyObject_CallMethod(g->runner, "tensor", "KnOOi",
                                       (unsigned long long)(uintptr_t)in[i],
                                       (Py_ssize_t)assay_tensor_bytes(&p->inputs[i]),
                                       PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), -1)
                 : NULL;
        if (!one || PyTuple_SetItem(out, i, one) != 0)
            Py_CLEAR(out);
        Py_XDECREF(pair);
    }
    return out;
}

static enum assay_status verify(void *user, const struct assay_problem *p, const void *const *in,
                                int32_t output, double *out, struct assay_error *err)
{
    struct assay_py_guest *g = user;
    const char *name = p->op + strlen(ASSAY_WORKLOAD_PREFIX);
    const struct assay_tensor *tensor = &p->outputs[output];
    size_t bytes = assay_tensor_bytes(tensor);
    void *here = malloc(bytes ? bytes : 1);
    if (!here)
        return assay_error_nomem(err);
    PyObject *inputs = inputs_of(g, p, in);
    PyObject *values =
        inputs ? PyObject_CallMethod(g->runner, "verify", "sOi", name, inputs, (int)output) : NULL;
    enum assay_status status = ASSAY_OK;
    if (!values || !copy_buffer(values, here, bytes))
        status = failed(g, ASSAY_ERR_FAILED, name, err);
    else
        assay_dtype_load(tensor->dtype, here, 0, assay_tensor_count(tensor), out);
    Py_XDECREF(values);
    Py_XDECREF(inputs);
    free(here);
    return status;
}

/* ---- the life of a runner ---- */

static void rest(void *user) { ((struct assay_py_guest *)user)->resting = PyEval_SaveThread(); }

static void wake(void *user) { PyEval_RestoreThread(((struct assay_py_guest *)user)->resting); }

/* Paths that the interpreter reads; the strings live as long as the process. */
static bool list_readable(PyObject *runner, const char **out)
{
    PyObject *list = PyObject_CallMethod(runner, "readable", NULL);
    Py_ssize_t n = list ? PySequence_Size(list) : -1;
    for (Py_ssize_t i = 0; i < n && i < MOST_READABLE; i++) {
        PyObject *path = PySequence_GetItem(list, i);
        PyObject *bytes = NULL;
        if (!path || !PyUnicode_FSConverter(path, &bytes))
            return false;
        out[i] = PyBytes_AsString(bytes); /* kept */
        Py_DECREF(path);
    }
    Py_XDECREF(list);
    return n >= 0;
}

/* Blocks up to 32 MiB stay with the process when they are freed. malloc comes to the same by
 * itself, but only after a while. */
static void keep_freed_memory(void)
{
    enum { LARGEST = 32 << 20, NEVER = 1 << 30 };
    mallopt(M_MMAP_THRESHOLD, LARGEST);
    mallopt(M_TRIM_THRESHOLD, NEVER);
}

PyObject *assay_py_serve(PyObject *module, PyObject *runner)
{
    const char *readable[MOST_READABLE + 1] = {NULL};
    struct assay_py_guest g = {.runner = runner};
    g.author = (struct assay_workload_author){
        .user = &g, .declare = declare, .fill = fill, .verify = verify};
    const struct assay_capturer capturer = assay_py_capturer(&g);
    struct assay_guest guest = {
        .user = &g,
        .capturer = &capturer,
        .readable = readable,
        .load = load,
        .can_run = can_run,
        .note = note,
        .setup = setup,
        .ready = ready,
        .changes_inputs = changes_inputs,
        .finish = finish,
        .failure = failure,
        .rest = rest,
        .wake = wake,
    };
    (void)module;
    if (!list_readable(runner, readable))
        return NULL;
    keep_freed_memory();
    return PyLong_FromLong(assay_runner_serve(&guest));
}
