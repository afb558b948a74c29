/* call.h: a guest and its kernels that are set up, for guest.c and capture.c. */
#ifndef ASSAY_PYTHON_CALL_H
#define ASSAY_PYTHON_CALL_H

#include "module.h"

#include "device/device.h"
#include "kernel/host.h"
#include "workload/workload.h"

enum { ASSAY_PY_TENSORS = ASSAY_MAX_INPUTS + ASSAY_MAX_OUTPUTS };

/* The strings of a kernel that was described by Python. */
struct assay_py_described {
    char name[64], op[64], implementation[32], device[8];
};

struct assay_py_guest {
    PyObject *runner; /* the module assay._runner */
    PyThreadState *resting;
    const struct assay_host *host;
    struct assay_workload_author author;
    struct assay_py_described *kernels;
    int64_t n_kernels;
    struct assay_py_intact *intact; /* what a stranger must leave alone; NULL: there is none */
    int64_t n_finished;
    char failure[sizeof((struct assay_error *)0)->message]; /* of a run */

    /* Launches on a GPU. */
    PyObject *graphs; /* the module assay.cuda_graphs; NULL until it is needed */
    PyObject *graph;  /* that is being captured; NULL: none, or not by a framework */
    PyObject *raised; /* by a call while it was captured */
    bool capturing;
    int64_t n_captures;
};

/* The operands of one set as tensors, the arguments made of them, and what the call returned. */
struct assay_py_row {
    void *own[ASSAY_PY_TENSORS]; /* where the operands are */
    PyObject *tensors, *arguments, *result;
    PyObject *turns, *last; /* of calls that change their inputs: see take_turns; NULL: none */
    Py_ssize_t n_turns, next_turn;
    bool fresh;      /* the result has not been copied to the outputs */
    int64_t capture; /* the last one that a call on it was part of */
};

/* A kernel that is set up. */
struct assay_py_call {
    struct assay_py_guest *guest;
    PyObject *object, *function, *wrap, *look;
    PyObject *prepare, *finish, *collect, *again; /* NULL: there is none */
    bool takes_out;
    bool called; /* once: what is compiled at the first call is */
    int32_t n_inputs, n_outputs;
    struct assay_tensor inputs[ASSAY_MAX_INPUTS], outputs[ASSAY_MAX_OUTPUTS];
    struct assay_py_row *rows; /* of the sets that were bound */
    int64_t n_rows;
    struct assay_py_row spare;   /* of others: operands at a fence */
    struct assay_py_row **turns; /* the sets of the work that is next */
    int64_t n_turns;
};

/* The last line of the exception's traceback; all of it goes to what the process prints. */
void assay_py_tell_exception(const struct assay_py_guest *g, char *out, size_t size);

/* ---- capture.c ---- */

/* Has the frameworks launch on the stream that the GPU's work is timed on. */
enum assay_status assay_py_use_stream(struct assay_py_guest *g, struct assay_error *err);
/* A call raised while it was captured: it is kept for the reason. */
void assay_py_keep_raised(struct assay_py_guest *g);
/* What is told of captures. */
struct assay_capturer assay_py_capturer(struct assay_py_guest *g);

#endif
