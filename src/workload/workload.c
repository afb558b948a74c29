#include "workload/workload.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/text.h"
#include "tensor/tensor.h"
#include "workload/benchmarks.h"
#include "op/op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One workload, its op and its kernels. */
struct workload {
    char name[64]; /* "workload:Silu.large"; first, because a problem's op points at it */
    char reference_name[80];
    struct assay_workload_found found;
    const struct assay_benchmark *benchmark; /* NULL: its author's functions are elsewhere */
    struct assay_workload own;
    const struct assay_workload_author *author; /* how they are called there */
    struct assay_setup declared;                /* what setup last declared */
    struct assay_op op;
    struct assay_kernel kernel, reference;
    char failure[64]; /* what a function of it returned last, where that was not 0 */
};

struct assay_workloads {
    struct workload **all;
    int64_t n;
};

assay_workloads *assay_workloads_create(void) { return assay_calloc(1, sizeof(assay_workloads)); }

void assay_workloads_destroy(assay_workloads *workloads)
{
    for (int64_t i = 0; workloads && i < workloads->n; i++)
        assay_free(workloads->all[i]);
    assay_free(workloads ? workloads->all : NULL);
    assay_free(workloads);
}

bool assay_workload_is(const char *op)
{
    return strncmp(op, ASSAY_WORKLOAD_PREFIX, strlen(ASSAY_WORKLOAD_PREFIX)) == 0;
}

/* A problem's op is its op's name, and that of a workload is the workload's first member. */
static struct workload *workload_of(const struct assay_problem *p)
{
    return (struct workload *)(uintptr_t)p->op;
}

const char *assay_workload_failure(const struct assay_problem *problem)
{
    return assay_workload_is(problem->op) ? workload_of(problem)->failure : "";
}

const char *assay_workload_input_name(const struct assay_problem *problem, int32_t input)
{
    return workload_of(problem)->declared.inputs[input].name;
}

static struct workload *find(const assay_workloads *workloads, const char *name)
{
    for (int64_t i = 0; i < workloads->n; i++)
        if (strcmp(workloads->all[i]->name, name) == 0)
            return workloads->all[i];
    return NULL;
}

const struct assay_op *assay_workload_op(const assay_workloads *workloads, const char *name)
{
    struct workload *w = find(workloads, name);
    return w ? &w->op : NULL;
}

/* ---- setup: what the user's functions are called with ---- */

static void take_down(const struct workload *w, void *state)
{
    if (w->own.teardown)
        w->own.teardown(state);
}

static enum assay_status check_tensor(const struct workload *w, const struct assay_operand *o,
                                      struct assay_error *err)
{
    const char *name = w->name + strlen(ASSAY_WORKLOAD_PREFIX);
    if (!assay_dtype_info(o->tensor.dtype))
        return assay_error_set(err, ASSAY_ERR_INVALID, name, "setup gives \"%s\" an unknown dtype",
                               o->name);
    for (int32_t i = 0; i < o->tensor.rank; i++)
        if (o->tensor.dims[i] < 1)
            return assay_error_set(err, ASSAY_ERR_INVALID, name,
                                   "setup gives \"%s\" a size of %lld", o->name,
                                   (long long)o->tensor.dims[i]);
    return ASSAY_OK;
}

static enum assay_status check_setup(const struct workload *w, const struct assay_setup *s,
                                     struct assay_error *err)
{
    const char *name = w->name + strlen(ASSAY_WORKLOAD_PREFIX);
    enum assay_status status = ASSAY_OK;
    if (s->error[0])
        return assay_error_set(err, ASSAY_ERR_FAILED, name, "setup: %.200s", s->error);
    if (s->n_outputs < 1)
        return assay_error_set(err, ASSAY_ERR_INVALID, name,
                               "setup declares no output, so nothing could be checked");
    if (!(s->bytes >= 0 && s->bytes < 1e30 && s->flops >= 0 && s->flops < 1e30))
        return assay_error_set(err, ASSAY_ERR_INVALID, name,
                               "setup counts bytes or flops that are not a number");
    for (int32_t i = 0; i < s->n_inputs && status == ASSAY_OK; i++)
        status = check_tensor(w, &s->inputs[i], err);
    for (int32_t i = 0; i < s->n_outputs && status == ASSAY_OK; i++)
        status = check_tensor(w, &s->outputs[i], err);
    return status;
}

/* Calls the user's setup. On success the caller must tear its state down. */
static enum assay_status set_up(const struct workload *w, int32_t threads, struct assay_setup *out,
                                struct assay_error *err)
{
    *out = (struct assay_setup){
        .struct_size = sizeof *out,
        .seed = w->benchmark->seed,
        .threads = threads,
        .device = w->benchmark->device,
    };
    (w->own.setup ? w->own.setup : w->benchmark->setup)(out);
    enum assay_status status = check_setup(w, out, err);
    if (status != ASSAY_OK)
        take_down(w, out->state);
    return status;
}

static enum assay_status call(struct workload *w, const struct assay_setup *s,
                              assay_run_fn function, const struct assay_args *args, void *stream)
{
    struct assay_call one = {
        .in = args->in,
        .out = args->out,
        .inputs = s->inputs,
        .outputs = s->outputs,
        .state = s->state,
        .stream = stream,
        .threads = s->threads,
    };
    int answer = function(&one);
    if (answer == 0)
        return ASSAY_OK;
    snprintf(w->failure, sizeof w->failure, "%s returned %d",
             function == w->own.run ? "run" : "verify", answer);
    return ASSAY_ERR_FAILED;
}

/* ---- the op ---- */

static enum assay_status declare_here(struct workload *w, int32_t threads, struct assay_error *err)
{
    struct assay_setup s;
    enum assay_status status = set_up(w, threads, &s, err);
    if (status != ASSAY_OK)
        return status;
    take_down(w, s.state);
    s.state = NULL;
    w->declared = s;
    return ASSAY_OK;
}

static enum assay_status declare_there(struct workload *w, int32_t threads, struct assay_error *err)
{
    struct assay_setup *s = &w->declared;
    enum assay_status status = w->author->declare(w->author->user, w->name, threads, s, err);
    if (status != ASSAY_OK)
        return status;
    s->state = NULL;
    s->n_inputs = s->n_inputs < ASSAY_MAX_INPUTS ? s->n_inputs : ASSAY_MAX_INPUTS;
    s->n_outputs = s->n_outputs < ASSAY_MAX_OUTPUTS ? s->n_outputs : ASSAY_MAX_OUTPUTS;
    s->error[sizeof s->error - 1] = '\0';
    for (int32_t i = 0; i < s->n_inputs; i++)
        s->inputs[i].name[sizeof s->inputs[i].name - 1] = '\0';
    for (int32_t i = 0; i < s->n_outputs; i++)
        s->outputs[i].name[sizeof s->outputs[i].name - 1] = '\0';
    return check_setup(w, s, err);
}

static enum assay_status declare(struct workload *w, int32_t threads, struct assay_error *err)
{
    return w->author ? declare_there(w, threads, err) : declare_here(w, threads, err);
}

static bool has_own_tolerance(const struct assay_setup *s)
{
    return s->relative != 0 || s->absolute != 0;
}

bool assay_workload_has_tolerance(const struct assay_problem *problem)
{
    if (!assay_workload_is(problem->op) || workload_of(problem)->found.together)
        return false; /* a script's is not its author's: python/assay/reference.py */
    return has_own_tolerance(&workload_of(problem)->declared);
}

static enum assay_status check(const struct assay_problem *p, struct assay_error *err)
{
    struct workload *w = workload_of(p);
    enum assay_status status = declare(w, p->threads, err);
    if (status == ASSAY_OK) /* the author's is as it is */
        w->op.absolute_of_rms = !has_own_tolerance(&w->declared);
    return status;
}

static void shapes(struct assay_problem *p)
{
    const struct assay_setup *s = &workload_of(p)->declared;
    p->n_inputs = s->n_inputs;
    p->n_outputs = s->n_outputs;
    for (int32_t i = 0; i < s->n_inputs; i++)
        p->inputs[i] = s->inputs[i].tensor;
    for (int32_t i = 0; i < s->n_outputs; i++)
        p->outputs[i] = s->outputs[i].tensor;
    p->dtype = p->outputs[0].dtype;
}

static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    const struct workload *w = workload_of(p);
    const struct assay_operand *input = &w->declared.inputs[index];
    uint64_t own_seed = assay_rng_at(seed, w->found.seed);
    if (input->fill && w->author)
        w->author->fill(w->author->user, w->name, index, &input->tensor, data, own_seed);
    else if (input->fill)
        input->fill(&input->tensor, data, assay_tensor_count(&input->tensor), own_seed);
    else if (assay_dtype_info(input->tensor.dtype)->is_float)
        assay_tensor_fill_normal(&input->tensor, data, own_seed);
    else
        assay_tensor_fill_index(&input->tensor, data, own_seed,
                                (int64_t)assay_dtype_info(input->tensor.dtype)->max);
}

static enum assay_math math_of(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_DTYPE_F16:
        return ASSAY_MATH_F16;
    case ASSAY_DTYPE_BF16:
        return ASSAY_MATH_BF16;
    case ASSAY_DTYPE_S8:
    case ASSAY_DTYPE_U8:
    case ASSAY_DTYPE_U4:
        return ASSAY_MATH_S8;
    case ASSAY_DTYPE_E4M3:
    case ASSAY_DTYPE_E5M2:
        return ASSAY_MATH_F8;
    default:
        return ASSAY_MATH_F32;
    }
}

/* What the author counted; where that is nothing, each tensor once. */
static struct assay_cost cost(const struct assay_problem *p)
{
    const struct assay_setup *s = &workload_of(p)->declared;
    const struct assay_tensor *main_one = p->n_inputs ? &p->inputs[0] : &p->outputs[0];
    struct assay_cost sum = {.flops = s->flops, .math = math_of(main_one->dtype)};
    for (int32_t i = 0; i < p->n_inputs; i++)
        sum.bytes_read += (double)assay_tensor_bytes(&p->inputs[i]);
    for (int32_t i = 0; i < p->n_outputs; i++)
        sum.bytes_written += (double)assay_tensor_bytes(&p->outputs[i]);
    if (s->bytes > 0) {
        double tensors = sum.bytes_read + sum.bytes_written;
        sum.bytes_read *= s->bytes / tensors;
        sum.bytes_written *= s->bytes / tensors;
    }
    return sum;
}

/* How many elements may have been summed for one of an output: a row of the first input, or as many
 * as there are inputs for each. */
static double summed(const struct assay_problem *p, const struct assay_tensor *output)
{
    double most = 1;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        const struct assay_tensor *t = &p->inputs[i];
        most = fmax(most, t->rank ? (double)t->dims[t->rank - 1] : 1);
        most = fmax(most, (double)assay_tensor_count(t) / (double)assay_tensor_count(output));
    }
    return most;
}

/* The reference is rounded too: two roundings of the output's type, a few of f32 for functions like
 * exp, and what sums in another order may differ by, of values as large as the output's usual ones
 * (see absolute_of_rms). Integers must be equal. */
static struct assay_tolerance tolerance_of(const struct assay_problem *p, int32_t output)
{
    const struct assay_setup *s = &workload_of(p)->declared;
    const struct assay_dtype_info *info = assay_dtype_info(p->outputs[output].dtype);
    if (has_own_tolerance(s))
        return (struct assay_tolerance){.relative = s->relative, .absolute = s->absolute};
    if (!info->is_float)
        return (struct assay_tolerance){0};
    double unit = fmax(info->unit, p->n_inputs ? assay_dtype_info(p->inputs[0].dtype)->unit : 0);
    return (struct assay_tolerance){.relative = 2 * unit + 0x1p-21,
                                    .absolute = (2 * unit + 0x1p-22) +
                                                0x1p-23 * sqrt(summed(p, &p->outputs[output]))};
}

static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    return tolerance_of(p, 0);
}

static struct assay_tolerance tolerance_1(const struct assay_problem *p)
{
    return tolerance_of(p, 1);
}

static struct assay_tolerance tolerance_2(const struct assay_problem *p)
{
    return tolerance_of(p, 2);
}

static struct assay_tolerance tolerance_3(const struct assay_problem *p)
{
    return tolerance_of(p, 3);
}

/* ---- the reference: verify, once, on separate tensors ---- */

struct buffers {
    assay_device *device; /* NULL: the host's memory */
    void *all[ASSAY_MAX_INPUTS + ASSAY_MAX_OUTPUTS];
    size_t bytes[ASSAY_MAX_INPUTS + ASSAY_MAX_OUTPUTS];
    int32_t n;
};

static void *reserve(struct buffers *b, size_t bytes, struct assay_error *err)
{
    void *made = NULL;
    if (b->device)
        assay_device_alloc(b->device, bytes, &made, err);
    else
        made = assay_calloc(1, bytes);
    if (!made) {
        assay_error_nomem(err);
        return NULL;
    }
    b->bytes[b->n] = bytes;
    b->all[b->n++] = made;
    return made;
}

static void release(struct buffers *b)
{
    for (int32_t i = 0; i < b->n; i++) {
        if (b->device)
            assay_device_free(b->device, b->all[i], b->bytes[i]);
        else
            assay_free(b->all[i]);
    }
}

/* The inputs where verify can read them. */
static enum assay_status bring_inputs(struct buffers *b, const struct assay_problem *p,
                                      const void *const *in, const void **out,
                                      struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < p->n_inputs && status == ASSAY_OK; i++) {
        out[i] = in[i];
        if (!b->device)
            continue;
        size_t bytes = assay_tensor_bytes(&p->inputs[i]);
        void *there = reserve(b, bytes, err);
        out[i] = there;
        status = there ? b->device->driver->upload(b->device, there, in[i], bytes, err)
                       : ASSAY_ERR_NOMEM;
    }
    return status;
}

/* An output as doubles. */
static enum assay_status take_output(const struct buffers *b, const struct assay_tensor *tensor,
                                     const void *from, double *out, struct assay_error *err)
{
    int64_t n = assay_tensor_count(tensor);
    size_t bytes = assay_tensor_bytes(tensor);
    if (!b->device) {
        assay_dtype_load(tensor->dtype, from, 0, n, out);
        return ASSAY_OK;
    }
    void *here = assay_calloc(1, bytes);
    if (!here)
        return assay_error_nomem(err);
    enum assay_status status = b->device->driver->download(b->device, here, from, bytes, err);
    if (status == ASSAY_OK)
        assay_dtype_load(tensor->dtype, here, 0, n, out);
    assay_free(here);
    return status;
}

static enum assay_status run_verify(struct workload *w, const struct assay_problem *p,
                                    const struct assay_args *args, struct assay_error *err)
{
    struct assay_setup s;
    enum assay_status status = set_up(w, p->threads, &s, err);
    if (status != ASSAY_OK)
        return status;
    status = call(w, &s, w->own.verify, args, NULL);
    if (status != ASSAY_OK)
        assay_error_set(err, status, w->name + strlen(ASSAY_WORKLOAD_PREFIX), "%s", w->failure);
    take_down(w, s.state);
    return status;
}

static enum assay_status reference_whole(const struct assay_problem *p, const void *const *in,
                                         int32_t output, double *out, struct assay_error *err)
{
    struct workload *w = workload_of(p);
    if (w->author)
        return w->author->verify(w->author->user, p, in, output, out, err);
    assay_device *device = p->host ? p->host->device : NULL;
    bool apart = w->found.on_device && device && !assay_device_shares_memory(device);
    struct buffers b = {.device = apart ? device : NULL};
    const void *inputs[ASSAY_MAX_INPUTS];
    void *outputs[ASSAY_MAX_OUTPUTS];
    struct assay_args args = {inputs, outputs};
    enum assay_status status = bring_inputs(&b, p, in, inputs, err);
    for (int32_t i = 0; i < p->n_outputs && status == ASSAY_OK; i++) {
        outputs[i] = reserve(&b, assay_tensor_bytes(&p->outputs[i]), err);
        status = outputs[i] ? ASSAY_OK : ASSAY_ERR_NOMEM;
    }
    if (status == ASSAY_OK)
        status = run_verify(w, p, &args, err);
    if (status == ASSAY_OK)
        status = take_output(&b, &p->outputs[output], outputs[output], out, err);
    release(&b);
    return status;
}

/* ---- the kernels ---- */

struct state {
    struct workload *workload;
    assay_run_fn function;
    struct assay_setup setup;
};

static enum assay_status setup_for(const struct assay_problem *p, bool reference, void **state,
                                   struct assay_error *err)
{
    struct workload *w = workload_of(p);
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->workload = w;
    s->function = reference ? w->own.verify : w->own.run;
    enum assay_status status = set_up(w, p->threads, &s->setup, err);
    if (status != ASSAY_OK)
        assay_free(s);
    else
        *state = s;
    return status;
}

static enum assay_status setup_kernel(const struct assay_problem *p, void **state,
                                      struct assay_error *err)
{
    return setup_for(p, false, state, err);
}

static enum assay_status setup_reference(const struct assay_problem *p, void **state,
                                         struct assay_error *err)
{
    return setup_for(p, true, state, err);
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    struct state *s = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++)
        status = call(s->workload, &s->setup, s->function, assay_work_args(work, i), work->stream);
    return status;
}

static void teardown(void *state)
{
    struct state *s = state;
    take_down(s->workload, s->setup.state);
    assay_free(s);
}

/* ---- adding them ---- */

static void make_op(struct workload *w)
{
    w->op = (struct assay_op){
        .name = w->name,
        .title = w->name + strlen(ASSAY_WORKLOAD_PREFIX),
        .summary = "a workload of a benchmark",
        .dtypes = ~UINT64_C(0),
        .check = check,
        .shapes = shapes,
        .fill = fill,
        .cost = cost,
        .tolerance = tolerance,
        .more = {{.tolerance = tolerance_1},
                 {.tolerance = tolerance_2},
                 {.tolerance = tolerance_3}},
        .reference_whole = w->found.verified ? reference_whole : NULL,
        .unverified = !w->found.verified,
        .fills_together = w->found.together,
    };
}

static void make_kernels(struct workload *w)
{
    w->kernel = (struct assay_kernel){
        .struct_size = sizeof w->kernel,
        .abi = ASSAY_KERNEL_ABI,
        .name = w->op.title,
        .op = w->name,
        .implementation = ASSAY_WORKLOAD_KERNEL,
        .device = w->found.device,
        .dtypes = ~UINT64_C(0),
        .setup = setup_kernel,
        .run = run,
        .teardown = teardown,
    };
    snprintf(w->reference_name, sizeof w->reference_name, "%s:verify", w->op.title);
    w->reference = w->kernel;
    w->reference.name = w->reference_name;
    w->reference.implementation = ASSAY_WORKLOAD_REFERENCE;
    w->reference.setup = setup_reference;
}

/* The workload by its name, in memory of its own; its op and kernels are made from `found`. */
static enum assay_status add(assay_workloads *workloads, const struct assay_workload_found *found,
                             const char *path, struct workload **out, struct assay_error *err)
{
    struct workload **grown =
        assay_realloc(workloads->all, (size_t)workloads->n + 1, sizeof *grown);
    struct workload *w = grown ? assay_calloc(1, sizeof *w) : NULL;
    if (grown)
        workloads->all = grown;
    if (!w)
        return assay_error_nomem(err);
    w->found = *found;
    snprintf(w->name, sizeof w->name, "%s", found->op);
    if (find(workloads, w->name)) {
        assay_error_set(err, ASSAY_ERR_INVALID, path, "there is a workload %s.%s already",
                        found->benchmark, found->name);
        assay_free(w);
        return ASSAY_ERR_INVALID;
    }
    make_op(w);
    make_kernels(w);
    workloads->all[workloads->n++] = *out = w;
    return ASSAY_OK;
}

static enum assay_status add_kernels(struct workload *w, assay_kernel_registry *registry,
                                     const char *path, struct assay_error *err)
{
    enum assay_status status = assay_kernel_add(registry, &w->kernel, path, err);
    if (status == ASSAY_OK && w->found.on_device)
        status = assay_kernel_add(registry, &w->reference, path, err);
    return status;
}

static enum assay_status add_here(assay_workloads *workloads, assay_kernel_registry *registry,
                                  const struct assay_benchmark *b, int32_t index, const char *path,
                                  struct assay_error *err)
{
    struct assay_workload own;
    struct workload *w;
    assay_benchmarks_workload(b, index, &own);
    struct assay_workload_found found = {.verified = own.verify, .seed = b->seed};
    found.on_device = own.verify && !(own.flags & ASSAY_WORKLOAD_VERIFY_ON_HOST);
    snprintf(found.op, sizeof found.op, "%s%s.%s", ASSAY_WORKLOAD_PREFIX, b->name, own.name);
    snprintf(found.benchmark, sizeof found.benchmark, "%s", b->name);
    snprintf(found.name, sizeof found.name, "%s", own.name);
    snprintf(found.device, sizeof found.device, "%.7s", b->device);
    enum assay_status status = add(workloads, &found, path, &w, err);
    if (status != ASSAY_OK)
        return status;
    w->benchmark = b;
    w->own = own;
    return add_kernels(w, registry, path, err);
}

enum assay_status assay_workload_load(assay_workloads *workloads, assay_kernel_registry *registry,
                                      const char *path, struct assay_error *err)
{
    struct assay_benchmarks object;
    enum assay_status status = assay_benchmarks_open(path, &object, err);
    for (const struct assay_benchmark *b = object.first; b && status == ASSAY_OK; b = b->next)
        for (int32_t i = 0; i < b->n_workloads && status == ASSAY_OK; i++)
            status = add_here(workloads, registry, b, i, path, err);
    if (status == ASSAY_OK && !object.plugin && !object.first)
        status = assay_error_set(err, ASSAY_ERR_INVALID, path,
                                 "defines no benchmark (ASSAY_BENCHMARK) and does not export %s "
                                 "(ASSAY_KERNELS); see assay_kernel.h",
                                 ASSAY_PLUGIN_SYMBOL);
    if (status == ASSAY_OK && object.plugin)
        status = assay_kernel_add_plugin(registry, path, err);
    return status;
}

/* Such a kernel runs elsewhere: the judge never calls it. */
static void run_elsewhere(struct assay_kernel *kernel, const struct assay_kernel *proxy)
{
    kernel->setup = proxy->setup;
    kernel->run = proxy->run;
    kernel->teardown = proxy->teardown;
}

enum assay_status assay_workload_add_remote(assay_workloads *workloads,
                                            assay_kernel_registry *registry,
                                            const struct assay_workload_found *found,
                                            const struct assay_workload_author *author,
                                            const struct assay_kernel *proxy, const char *path,
                                            struct assay_error *err)
{
    struct workload *w;
    enum assay_status status = add(workloads, found, path, &w, err);
    if (status != ASSAY_OK)
        return status;
    w->author = author;
    run_elsewhere(&w->kernel, proxy);
    run_elsewhere(&w->reference, proxy);
    return add_kernels(w, registry, path, err);
}

int64_t assay_workload_count(const assay_workloads *workloads) { return workloads->n; }

const struct assay_workload_found *assay_workload_at(const assay_workloads *workloads,
                                                     int64_t index)
{
    return &workloads->all[index]->found;
}

/* ---- for the process that has the author's functions ---- */

enum assay_status assay_workload_declare(assay_workloads *workloads, const char *op,
                                         int32_t threads, struct assay_setup *out,
                                         struct assay_error *err)
{
    struct workload *w = find(workloads, op);
    enum assay_status status =
        w ? declare(w, threads, err)
          : assay_error_set(err, ASSAY_ERR_INVALID, assay_op_shown(op), "no such workload");
    if (status == ASSAY_OK)
        *out = w->declared;
    return status;
}

void assay_workload_fill(assay_workloads *workloads, const char *op, int32_t input, void *data,
                         uint64_t seed)
{
    const struct workload *w = find(workloads, op);
    const struct assay_operand *operand = &w->declared.inputs[input];
    if (w->author)
        w->author->fill(w->author->user, w->name, input, &operand->tensor, data, seed);
    else
        operand->fill(&operand->tensor, data, assay_tensor_count(&operand->tensor), seed);
}

enum assay_status assay_workload_verify(assay_workloads *workloads, const struct assay_host *host,
                                        const char *op, const void *const *in, int32_t output,
                                        int32_t threads, double *out, struct assay_error *err)
{
    struct workload *w = find(workloads, op);
    struct assay_problem problem = {.op = w->name, .threads = threads, .host = host};
    shapes(&problem);
    return reference_whole(&problem, in, output, out, err);
}
