/* assay_kernel.h: how to write a kernel that assay can verify and measure.
 *
 * A kernel is one way to compute an op on one kind of device. It is a struct of functions; assay's
 * own kernels and a user's are the same struct. A shared object with kernels in it exports one
 * function, assay_plugin (below), and is loaded with `assay bench --plugin FILE.so`.
 *
 * The calls come in this order, all from one thread: can_run(problem), setup(problem, &state),
 * run(state, work) many times, teardown(state). Only `run` is ever timed. Packing weights, choosing
 * a code path and allocating scratch memory belong in `setup`.
 *
 * C17 and C++17. */
#ifndef ASSAY_KERNEL_H
#define ASSAY_KERNEL_H

#include <assay/assay_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a struct below changes in a way old kernels cannot survive. Fields are only ever added
 * at the end of a struct, and struct_size tells which of them the other side knows. */
#define ASSAY_KERNEL_ABI 5u

#define ASSAY_MAX_AXES 8
#define ASSAY_MAX_PARAMS 8
#define ASSAY_MAX_INPUTS 16
#define ASSAY_MAX_OUTPUTS 20

struct assay_host; /* assay's own */

/* What is to be computed. Borrowed: valid until teardown returns. */
struct assay_problem {
    uint32_t struct_size;
    const char *op;               /* the op's own name, "layernorm" */
    enum assay_dtype dtype;       /* the type of the main input */
    int32_t n_axes;               /* the op's axes and their sizes: batch, seq, dim */
    int64_t axes[ASSAY_MAX_AXES]; /* each >= 1 */
    int32_t n_params;             /* the op's constants, in its own order: eps, slope, … */
    double params[ASSAY_MAX_PARAMS];
    int32_t n_inputs, n_outputs;
    struct assay_tensor inputs[ASSAY_MAX_INPUTS];
    struct assay_tensor outputs[ASSAY_MAX_OUTPUTS];
    int32_t threads;    /* how many threads a CPU kernel may use, >= 1 */
    const char *recipe; /* how weights are stored and multiplied: "int8wo"; NULL where the op has
                           none. A kernel that does not know the recipe returns ASSAY_UNSUPPORTED
                           from can_run. */
    const struct assay_host *host; /* for assay's own kernels; others ignore it */
};

/* One set of operands. Inputs must not be written; the guard bytes around every tensor are checked.
 * Pointers are aligned to 64 bytes. On a GPU they are device pointers. */
struct assay_args {
    const void *const *in;
    void *const *out;
};

/* One timed sample: compute the op `iters` times, call i on assay_work_args(work, i). A hot
 * measurement has one set of operands; a cold one rotates through many. */
struct assay_work {
    int64_t iters;
    int64_t first; /* the set that call 0 uses */
    int64_t n_sets;
    const struct assay_args *sets;
    void *stream; /* on a GPU: the stream to enqueue on (a CUstream, which cudaStream_t also is) */
};

/* The set that call i uses: an index below n_sets. */
static inline int64_t assay_work_set(const struct assay_work *work, int64_t i)
{
    return work->n_sets == 1 ? 0 : (work->first + i) % work->n_sets;
}

static inline const struct assay_args *assay_work_args(const struct assay_work *work, int64_t i)
{
    return &work->sets[assay_work_set(work, i)];
}

struct assay_kernel {
    uint32_t struct_size, abi;  /* sizeof(struct assay_kernel), ASSAY_KERNEL_ABI */
    const char *name;           /* unique: "layernorm_avx512" */
    const char *op;             /* "layernorm" */
    const char *implementation; /* the implementation a user compares: "native", "onednn", yours */
    const char *device;         /* "cpu" or "cuda" */
    uint64_t dtypes;            /* ASSAY_DTYPE_BIT(…) | … of the problems it takes */
    int32_t preference; /* of an implementation's kernels that can run, the one with the highest
                           preference is used */

    /* Can this machine run it, and, when `problem` is not NULL, for this problem? ASSAY_OK, or
     * ASSAY_UNSUPPORTED with the reason in `why` (may be NULL). Optional: NULL means always. */
    enum assay_status (*can_run)(const struct assay_problem *problem, struct assay_error *why);

    /* Prepare. *state is yours and comes back in run and teardown. Never timed. Optional. */
    enum assay_status (*setup)(const struct assay_problem *problem, void **state,
                               struct assay_error *err);

    /* The timed region: loop work->iters times inside. On a GPU only enqueue. */
    enum assay_status (*run)(void *state, const struct assay_work *work);

    void (*teardown)(void *state); /* optional; called once for each setup that succeeded */

    /* From here on all are optional, and a kernel built before they existed lacks them. */

    /* Weights stay the same from call to call, so a kernel may store them in its own layout. Called
     * after setup, never timed: store what run needs of the constant inputs of set number `set` (an
     * input the op calls a weight, see `assay list ops`, and a norm's weights). Sets come in order
     * from 0 and all hold the same values, so from set 1 on a copy will do. Set 0 may come again
     * with other values: what was stored for other sets is then void. run must use what was
     * prepared for the set it is given, not one copy for all: that is what makes a cold measurement
     * cold. */
    enum assay_status (*prepare)(void *state, int64_t set, const struct assay_args *args,
                                 struct assay_error *err);
    /* Bytes one prepared set takes. Required with prepare; called after set 0 was prepared. */
    size_t (*prepared_bytes)(void *state);

    /* Only the part of run that quantises the activations, for recipes that do so at run time;
     * timed to show its share of run. */
    enum assay_status (*run_activations)(void *state, const struct assay_work *work);

    /* One line on how this kernel is set up here that a reader of the figures should know (a
     * library's version, an environment variable that was set). Leave `text` alone if none. */
    void (*note)(const struct assay_problem *problem, char *text, size_t size);

    uint32_t units; /* ASSAY_UNIT_…: units it uses that other guests may share */
    uint32_t flags; /* ASSAY_KERNEL_… */
};

/* On a GPU: its launches are enqueued one by one, as in a program without graphs, and never
 * captured and replayed. */
#define ASSAY_KERNEL_DIRECT 1u
/* It multiplies by dot products of bf16 (AVX512_BF16), which some CPUs do at twice the rate of FMAs
 * in f32 and others at half of it: its preference is raised by 10 on the former only. */
#define ASSAY_KERNEL_BF16_DOT 2u

/* The CPU's matrix unit (AMX). On shared hosts it runs at two speeds, so samples of kernels that
 * use it are taken between two probes of it, and the slow ones are counted. */
#define ASSAY_UNIT_MATRIX 1u

/* What a plug-in's shared object exports:
 *     const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels);
 * Return your kernels and their number, or NULL if you cannot work with this `abi`. The kernels
 * must stay valid until the process ends. */
#define ASSAY_PLUGIN_SYMBOL "assay_plugin"
typedef const struct assay_kernel *const *(*assay_plugin_fn)(uint32_t abi, int32_t *n_kernels);

#ifdef __cplusplus
}
#endif

#ifndef ASSAY_KERNEL_ONLY
#include <assay/assay_benchmark.h> /* benchmarks that define their own workloads */
#endif

#endif
