#include "runner/strangers.h"

#include "base/alloc.h"
#include "base/math.h"
#include "base/rng.h"
#include "base/text.h"
#include "op/op.h"
#include "op/op_name.h"
#include "quant/quant.h"
#include "runner/python.h"
#include "runner/sandbox.h"
#include "runner/spares.h"
#include "tensor/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* Opening a file takes milliseconds; one that needs longer does not come back. Importing a
 * framework from a cold disk takes a minute. */
static const double PATIENCE_S = 20, PYTHON_PATIENCE_S = 120;

enum { TRACKED = 256 }; /* inputs that authors fill */
enum { TRIES = 3 };     /* for one that was killed from outside */

/* What an author's fill made of two seeds. */
struct filled {
    char op[64];
    int32_t input;
    uint64_t seed, checksum;
    bool varies;
};

struct stranger {
    char path[1024];
    assay_strangers *all;
    assay_runner *clerk; /* NULL: not now */
    char device[32];     /* that it has open */
    struct assay_contents *contents;
    struct assay_workload_author author;
    char declared[64]; /* the workload that the clerk declared last */
    int32_t declared_threads;
    enum assay_runner_end broken;
    enum assay_runner_end ends[ASSAY_CONTENTS_KERNELS]; /* of the clerk that was asked for each */
    char name[64], reason[192];
};

/* The interpreter of what is Python's, found when it is first needed. */
struct interpreter {
    struct assay_text python, package;
};

struct assay_strangers {
    struct assay_host *host;
    assay_workloads *workloads;
    struct assay_runner_options options;
    struct interpreter interpreter;
    struct assay_spares spares;
    char device[32];
    int32_t threads;
    struct stranger **items;
    int64_t n;
    uint64_t secret; /* of what is done to authors' values */
    struct filled filled[TRACKED];
    int64_t n_filled;
    enum assay_runner_end last_end;
    struct assay_error failure;
    enum assay_runner_end failure_end;
};

assay_strangers *assay_strangers_create(struct assay_host *host, assay_workloads *workloads)
{
    assay_strangers *all = assay_calloc(1, sizeof *all);
    if (!all)
        return NULL;
    all->host = host;
    all->workloads = workloads;
    if (getrandom(&all->secret, sizeof all->secret, GRND_NONBLOCK) != sizeof all->secret)
        all->secret = (uintptr_t)all;
    return all;
}

static void forget_interpreter(struct interpreter *i)
{
    assay_text_fini(&i->python);
    assay_text_fini(&i->package);
}

static enum assay_status find_interpreter(struct interpreter *i, const char *wanted,
                                          struct assay_error *err)
{
    if (i->package.length > 0)
        return assay_python_restore(i->package.data, err);
    enum assay_status status = assay_python_find(wanted, &i->python, err);
    if (status == ASSAY_OK)
        status = assay_python_package(&i->package, err);
    if (status != ASSAY_OK)
        forget_interpreter(i);
    return status;
}

void assay_strangers_destroy(assay_strangers *all)
{
    for (int64_t i = 0; all && i < all->n; i++) {
        assay_runner_stop(all->items[i]->clerk);
        assay_free(all->items[i]->contents);
        assay_free(all->items[i]);
    }
    if (all) {
        assay_free(all->items);
        assay_spares_end(&all->spares);
        forget_interpreter(&all->interpreter);
    }
    assay_free(all);
}

/* The interpreter of an object that is Python's goes into `options`; others leave it alone. */
static enum assay_status take_interpreter(assay_strangers *all, const char *path,
                                          struct assay_runner_options *options,
                                          struct assay_error *err)
{
    struct interpreter *i = &all->interpreter;
    options->python = options->package = NULL;
    if (!assay_python_is(path))
        return ASSAY_OK;
    enum assay_status status = find_interpreter(i, all->options.python, err);
    if (status == ASSAY_OK) {
        options->python = i->python.data;
        options->package = i->package.data;
    }
    return status;
}

enum assay_status assay_strangers_hire(assay_strangers *all, const char *path,
                                       struct assay_runner_options *options, assay_runner **out,
                                       bool *opened, struct assay_error *err)
{
    enum assay_status status = take_interpreter(all, path, options, err);
    *out = status == ASSAY_OK ? assay_spares_take(&all->spares, path, all->device, all->threads)
                              : NULL;
    *opened = *out != NULL;
    if (*out)
        assay_runner_reuse(*out, options);
    else if (status == ASSAY_OK)
        status = assay_runner_launch(options, all->device, out, err);
    return status;
}

void assay_strangers_dismiss(assay_strangers *all, const char *path, assay_runner *runner)
{
    if (!assay_spares_keep(&all->spares, runner, path, all->device, all->threads))
        assay_runner_stop(runner);
}

/* ---- clerks ---- */

/* One that lives and has the right device open. */
static enum assay_status need_clerk(struct stranger *s, struct assay_error *err)
{
    assay_strangers *all = s->all;
    const char *device = assay_device_is_host(all->device) ? "" : all->device;
    if (s->clerk && assay_runner_end_of(s->clerk) == ASSAY_RUNNER_ALIVE &&
        strcmp(device, s->device) == 0)
        return ASSAY_OK;
    assay_runner_stop(s->clerk);
    s->clerk = NULL;
    s->declared[0] = '\0';
    snprintf(s->device, sizeof s->device, "%s", device);
    struct assay_runner_options options = all->options;
    all->last_end = ASSAY_RUNNER_ALIVE;
    enum assay_status status = take_interpreter(all, s->path, &options, err);
    if (status == ASSAY_OK)
        status = assay_runner_launch(&options, device, &s->clerk, err);
    if (status == ASSAY_OK)
        status = assay_runner_open(s->clerk, s->path, device, all->threads, err);
    if (s->clerk)
        all->last_end = assay_runner_end_of(s->clerk);
    return status;
}

/* Its death is told with the function it died in. */
static enum assay_status ask(struct stranger *s, struct assay_runner_command *c,
                             struct assay_runner_reply *reply, const char *function,
                             struct assay_error *err)
{
    struct assay_error why = {0};
    enum assay_status status = need_clerk(s, &why);
    if (status == ASSAY_OK)
        status = assay_runner_ask(s->clerk, c, reply, &why);
    enum assay_runner_end end = s->clerk ? assay_runner_end_of(s->clerk) : s->all->last_end;
    s->all->last_end = end;
    if (status == ASSAY_OK)
        return status;
    if (end != ASSAY_RUNNER_ALIVE)
        return assay_error_set(err, ASSAY_ERR_FAILED, NULL, "%s in %s", why.message, function);
    return assay_error_set(err, status, why.where[0] ? why.where : NULL, "%s", why.message);
}

static struct stranger *find(const assay_strangers *all, const struct assay_kernel *kernel)
{
    bool workload = assay_workload_is(kernel->op);
    for (int64_t i = 0; i < all->n; i++) {
        const struct assay_contents *c = all->items[i]->contents;
        for (int64_t k = 0; k < c->n_kernels && !workload; k++)
            if (strcmp(c->kernels[k].name, kernel->name) == 0)
                return all->items[i];
        for (int64_t k = 0; k < c->n_workloads && workload; k++)
            if (strcmp(c->workloads[k].op, kernel->op) == 0)
                return all->items[i];
    }
    return NULL;
}

static struct stranger *find_author(const assay_strangers *all, const char *op)
{
    struct assay_kernel kernel = {.op = op, .name = ""};
    return find(all, &kernel);
}

const char *assay_strangers_path(const assay_strangers *all, const struct assay_kernel *kernel)
{
    const struct stranger *s = find(all, kernel);
    return s ? s->path : NULL;
}

/* ---- what a kernel is asked before it runs ---- */

static void note_kernel_end(struct stranger *s, const struct assay_kernel *kernel)
{
    for (int64_t i = 0; i < s->contents->n_kernels; i++)
        if (strcmp(s->contents->kernels[i].name, kernel->name) == 0)
            s->ends[i] = s->all->last_end;
}

enum assay_runner_end assay_strangers_end_of(const assay_strangers *all,
                                             const struct assay_kernel *kernel)
{
    const struct stranger *s = find(all, kernel);
    for (int64_t i = 0; s && i < s->contents->n_kernels; i++)
        if (strcmp(s->contents->kernels[i].name, kernel->name) == 0)
            return s->ends[i];
    return all->last_end;
}

static enum assay_status can_run(void *strangers, const struct assay_kernel *kernel,
                                 const struct assay_problem *problem, struct assay_error *why)
{
    struct stranger *s = find(strangers, kernel);
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_CAN_RUN};
    struct assay_runner_reply reply;
    if (!s)
        return assay_error_set(why, ASSAY_ERR_INTERNAL, kernel->name,
                               "no plug-in or repository has this kernel");
    if (assay_workload_is(kernel->op)) /* there is nothing to ask */
        return ASSAY_OK;
    assay_runner_put_problem(&c, kernel, problem);
    enum assay_status status = ask(s, &c, &reply, "can_run", why);
    note_kernel_end(s, kernel);
    return status;
}

enum assay_status assay_strangers_note(assay_strangers *all, const struct assay_kernel *kernel,
                                       const struct assay_problem *problem, char *text, size_t size,
                                       struct assay_error *err)
{
    struct stranger *s = find(all, kernel);
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_NOTE};
    struct assay_runner_reply reply;
    bool has_note = false;
    for (int64_t i = 0; s && i < s->contents->n_kernels; i++)
        has_note |= s->contents->kernels[i].has_note &&
                    strcmp(s->contents->kernels[i].name, kernel->name) == 0;
    if (!has_note)
        return ASSAY_OK;
    assay_runner_put_problem(&c, kernel, problem);
    enum assay_status status = ask(s, &c, &reply, "note", err);
    note_kernel_end(s, kernel);
    if (status == ASSAY_OK && reply.text[0])
        snprintf(text, size, "%s", reply.text);
    return status;
}

/* ---- an author's functions ---- */

static enum assay_status declare(void *user, const char *op, int32_t threads,
                                 struct assay_setup *out, struct assay_error *err)
{
    struct stranger *s = find_author(user, op);
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_DECLARE};
    struct assay_runner_reply reply;
    snprintf(c.workload.op, sizeof c.workload.op, "%s", op);
    c.workload.threads = threads;
    const char *function = assay_python_is(s->path) ? "setup or the first call" : "setup";
    enum assay_status status = ask(s, &c, &reply, function, err);
    if (status == ASSAY_OK && reply.bytes != sizeof *out)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, assay_op_shown(op),
                               "the runner's answer does not fit");
    if (status == ASSAY_OK)
        status = assay_runner_read(s->clerk, out, reply.address, sizeof *out, err);
    snprintf(s->declared, sizeof s->declared, "%s", status == ASSAY_OK ? op : "");
    s->declared_threads = threads;
    return status;
}

/* A new clerk knows nothing of what an earlier one declared. */
static enum assay_status declare_again(struct stranger *s, const char *op, int32_t threads,
                                       struct assay_error *err)
{
    struct assay_setup setup;
    bool lives = s->clerk && assay_runner_end_of(s->clerk) == ASSAY_RUNNER_ALIVE;
    if (lives && strcmp(s->declared, op) == 0)
        return ASSAY_OK;
    return declare(s->all, op, threads, &setup, err);
}

static void note_filled(assay_strangers *all, const char *op, int32_t input, uint64_t seed,
                        uint64_t checksum)
{
    for (int64_t i = 0; i < all->n_filled; i++) {
        struct filled *f = &all->filled[i];
        if (f->input != input || strcmp(f->op, op) != 0)
            continue;
        f->varies = f->varies || (f->seed != seed && f->checksum != checksum);
        f->seed = seed;
        f->checksum = checksum;
        return;
    }
    if (all->n_filled == TRACKED)
        return;
    struct filled *f = &all->filled[all->n_filled++];
    *f = (struct filled){.input = input, .seed = seed, .checksum = checksum};
    snprintf(f->op, sizeof f->op, "%s", op);
}

bool assay_strangers_ignore_seed(const assay_strangers *all, const struct assay_problem *problem)
{
    int32_t same = 0;
    for (int64_t i = 0; i < all->n_filled; i++)
        same += strcmp(all->filled[i].op, problem->op) == 0 && !all->filled[i].varies;
    return problem->n_inputs > 0 && same == problem->n_inputs;
}

enum assay_runner_end assay_strangers_last_end(const assay_strangers *all) { return all->last_end; }

/* By a little, so that nobody can have prepared for exactly these values: zeros stay zeros, and
 * everything keeps its sign and about its size. Integers may be indices and stay as they are. */
static void perturb(const struct assay_tensor *tensor, void *data, uint64_t seed)
{
    enum { BLOCK = 1024 };
    const struct assay_dtype_info *info = assay_dtype_info(tensor->dtype);
    int64_t n = assay_tensor_count(tensor);
    double by = fmax(1.0 / 32, 4 * info->unit);
    struct assay_rng rng = {seed};
    for (int64_t at = 0; at < n && info->is_float; at += BLOCK) {
        double values[BLOCK];
        int64_t part = n - at < BLOCK ? n - at : BLOCK;
        assay_dtype_load(tensor->dtype, data, at, part, values);
        for (int64_t i = 0; i < part; i++) {
            double unit = (double)(assay_rng_next(&rng) >> 11) * 0x1p-53;
            if (isfinite(values[i]))
                values[i] *= 1 - by * unit;
        }
        assay_dtype_store(tensor->dtype, values, data, at, part);
    }
}

/* Values that a change of one would make wrong beside the others. Only of a script in Python, whose
 * setup computes them all: who writes C fills tensor by tensor. */
static bool belongs_together(const struct stranger *s, const char *op)
{
    for (int64_t i = 0; i < s->contents->n_workloads; i++)
        if (strcmp(s->contents->workloads[i].op, op) == 0)
            return s->contents->workloads[i].together && assay_python_is(s->path);
    return false;
}

static void fill(void *user, const char *op, int32_t input, const struct assay_tensor *tensor,
                 void *data, uint64_t seed)
{
    assay_strangers *all = user;
    struct stranger *s = find_author(all, op);
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_FILL};
    struct assay_runner_reply reply;
    size_t bytes = assay_tensor_bytes(tensor);
    enum assay_status status = declare_again(s, op, all->threads, &all->failure);
    snprintf(c.workload.op, sizeof c.workload.op, "%s", op);
    c.workload.index = input;
    c.workload.seed = seed;
    if (status == ASSAY_OK)
        status = ask(s, &c, &reply, "fill", &all->failure);
    if (status == ASSAY_OK && reply.bytes != bytes)
        status = assay_error_set(&all->failure, ASSAY_ERR_CORRUPT, assay_op_shown(op),
                                 "fill is of another size");
    if (status == ASSAY_OK)
        status = assay_runner_read(s->clerk, data, reply.address, bytes, &all->failure);
    if (status != ASSAY_OK) {
        memset(data, 0, bytes);
        all->failure_end = all->last_end;
        return;
    }
    note_filled(all, op, input, seed, assay_tensor_checksum(data, bytes));
    if (!belongs_together(s, op))
        perturb(tensor, data, assay_rng_at(all->secret ^ seed, (uint64_t)input));
}

static enum assay_status give_inputs(struct stranger *s, const struct assay_problem *p,
                                     const void *const *in, struct assay_error *err)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_INPUTS};
    struct assay_runner_reply reply;
    enum assay_status status = ask(s, &c, &reply, "verify", err);
    uint64_t at = reply.address;
    for (int32_t i = 0; i < p->n_inputs && status == ASSAY_OK; i++) {
        size_t bytes = assay_tensor_bytes(&p->inputs[i]);
        status = assay_runner_write(s->clerk, at, in[i], bytes, err);
        at += assay_round_up_bytes(bytes, 64);
    }
    return status;
}

static enum assay_status verify(void *user, const struct assay_problem *p, const void *const *in,
                                int32_t output, double *out, struct assay_error *err)
{
    struct stranger *s = find_author(user, p->op);
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_VERIFY};
    struct assay_runner_reply reply;
    size_t bytes = (size_t)assay_tensor_count(&p->outputs[output]) * sizeof *out;
    snprintf(c.workload.op, sizeof c.workload.op, "%s", p->op);
    c.workload.index = output;
    c.workload.threads = p->threads;
    enum assay_status status = declare_again(s, p->op, p->threads, err);
    if (status == ASSAY_OK)
        status = give_inputs(s, p, in, err);
    if (status == ASSAY_OK)
        status = ask(s, &c, &reply, "verify", err);
    if (status == ASSAY_OK && reply.bytes != bytes)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, assay_op_shown(p->op),
                               "the runner's answer does not fit");
    return status == ASSAY_OK ? assay_runner_read(s->clerk, out, reply.address, bytes, err)
                              : status;
}

enum assay_status assay_strangers_failure(assay_strangers *all, struct assay_error *err)
{
    enum assay_status status = all->failure.code;
    if (status != ASSAY_OK) {
        assay_error_set(err, status, NULL, "%s", all->failure.message);
        all->last_end = all->failure_end;
    }
    all->failure = (struct assay_error){0};
    return status;
}

/* ---- adding them ---- */

static enum assay_status prepare_elsewhere(void *state, int64_t set, const struct assay_args *args,
                                           struct assay_error *err)
{
    (void)state, (void)set, (void)args;
    return assay_error_set(err, ASSAY_ERR_INTERNAL, NULL, "prepared elsewhere");
}

static size_t bytes_elsewhere(void *state)
{
    (void)state;
    return 0;
}

/* The judge's idea of it. The strings are the contents'. */
static struct assay_kernel proxy_of(const struct assay_kernel_found *found)
{
    return (struct assay_kernel){
        .struct_size = sizeof(struct assay_kernel),
        .abi = ASSAY_KERNEL_ABI,
        .name = found->name,
        .op = found->op,
        .implementation = found->implementation,
        .device = found->device,
        .dtypes = found->dtypes,
        .preference = found->preference,
        .run = assay_kernel_run_elsewhere,
        .prepare = found->prepares ? prepare_elsewhere : NULL,
        .prepared_bytes = found->prepares ? bytes_elsewhere : NULL,
        .run_activations = found->has_activations ? assay_kernel_activations_elsewhere : NULL,
        .units = found->units,
        .flags = found->flags,
    };
}

static void end_strings(struct assay_contents *c)
{
    c->n_kernels = c->n_kernels < ASSAY_CONTENTS_KERNELS ? c->n_kernels : ASSAY_CONTENTS_KERNELS;
    c->n_workloads =
        c->n_workloads < ASSAY_CONTENTS_WORKLOADS ? c->n_workloads : ASSAY_CONTENTS_WORKLOADS;
    for (int64_t i = 0; i < c->n_kernels; i++) {
        struct assay_kernel_found *k = &c->kernels[i];
        k->name[sizeof k->name - 1] = k->op[sizeof k->op - 1] = '\0';
        k->implementation[sizeof k->implementation - 1] = k->device[sizeof k->device - 1] = '\0';
        k->n_recipes = 0;
    }
    for (int64_t i = 0; i < c->n_workloads; i++) {
        struct assay_workload_found *w = &c->workloads[i];
        w->op[sizeof w->op - 1] = w->benchmark[sizeof w->benchmark - 1] = '\0';
        w->name[sizeof w->name - 1] = w->device[sizeof w->device - 1] = '\0';
    }
}

static enum assay_status read_contents(assay_runner *runner, struct assay_contents *out,
                                       struct assay_error *err)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_CONTENTS};
    struct assay_runner_reply reply;
    enum assay_status status = assay_runner_ask(runner, &c, &reply, err);
    if (status == ASSAY_OK)
        status = assay_runner_read(runner, out, reply.address, sizeof *out, err);
    if (status == ASSAY_OK)
        end_strings(out);
    return status;
}

static enum assay_status add_all(struct stranger *s, struct assay_error *err)
{
    assay_strangers *all = s->all;
    const struct assay_contents *c = s->contents;
    const struct assay_kernel proxy = {.run = assay_kernel_run_elsewhere};
    enum assay_status status = ASSAY_OK;
    s->author = (struct assay_workload_author){
        .user = all, .declare = declare, .fill = fill, .verify = verify};
    for (int64_t i = 0; i < c->n_kernels && status == ASSAY_OK; i++) {
        struct assay_kernel kernel = proxy_of(&c->kernels[i]);
        status = assay_kernel_add(all->host->registry, &kernel, s->path, err);
    }
    for (int64_t i = 0; i < c->n_workloads && status == ASSAY_OK; i++)
        status = assay_workload_add_remote(all->workloads, all->host->registry, &c->workloads[i],
                                           &s->author, &proxy, s->path, err);
    return status;
}

static bool is_known(const assay_strangers *all, const char *path)
{
    for (int64_t i = 0; i < all->n; i++)
        if (strcmp(all->items[i]->path, path) == 0)
            return true;
    return false;
}

static struct stranger *grow(assay_strangers *all)
{
    struct stranger **items = assay_realloc(all->items, (size_t)all->n + 1, sizeof(*items));
    struct stranger *s = items ? assay_calloc(1, sizeof *s) : NULL;
    if (items)
        all->items = items;
    if (s)
        s->contents = assay_calloc(1, sizeof *s->contents);
    if (s && s->contents) {
        all->items[all->n++] = s;
        return s;
    }
    assay_free(s);
    return NULL;
}

/* "mine" of "folder/mine.so" */
static void name_after(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *end = strstr(name, ".so");
    snprintf(out, size, "%.*s", end && end > name ? (int)(end - name) : (int)strlen(name), name);
}

/* With the last line it printed. */
static void tell_broken(struct stranger *s, const char *how)
{
    if (s->broken == ASSAY_RUNNER_TIMEOUT && assay_python_is(s->path)) {
        snprintf(s->reason, sizeof s->reason,
                 "importing %.60s took longer than %g s: allow more with --timeout", s->name,
                 s->all->options.timeout_s);
        return;
    }
    struct assay_text shown = {0};
    const char *printed = s->clerk ? assay_runner_printed(s->clerk) : "", *line = printed;
    size_t length = strlen(printed);
    while (length > 0 && strchr("\n\r ", printed[length - 1]))
        length--;
    for (size_t i = 0; i < length; i++)
        if (printed[i] == '\n')
            line = printed + i + 1;
    char last[96];
    snprintf(last, sizeof last, "%.*s", (int)(length - (size_t)(line - printed)), line);
    assay_text_add_shown(&shown, last);
    snprintf(s->reason, sizeof s->reason, "%.90s while it was opened%s%.80s", how,
             shown.length ? ": " : "", shown.data ? shown.data : "");
    assay_text_fini(&shown);
}

enum assay_status assay_strangers_add(assay_strangers *all, const char *path,
                                      struct assay_error *err)
{
    struct assay_error why = {0};
    if (is_known(all, path))
        return ASSAY_OK;
    struct stranger *s = grow(all);
    if (!s)
        return assay_error_nomem(err);
    s->all = all;
    snprintf(s->path, sizeof s->path, "%s", path);
    name_after(path, s->name, sizeof s->name);
    enum assay_runner_end end = ASSAY_RUNNER_KILLED;
    enum assay_status status = ASSAY_ERR_FAILED;
    for (int i = 0; i < TRIES && status != ASSAY_OK && end == ASSAY_RUNNER_KILLED; i++) {
        why = (struct assay_error){0};
        status = need_clerk(s, &why);
        if (status == ASSAY_OK)
            status = read_contents(s->clerk, s->contents, &why);
        end = s->clerk ? assay_runner_end_of(s->clerk) : all->last_end;
    }
    if (status == ASSAY_ERR_FAILED && end != ASSAY_RUNNER_ALIVE) { /* costs its own rows */
        s->broken = end;
        tell_broken(s, why.message);
        *s->contents = (struct assay_contents){0};
        return ASSAY_OK;
    }
    if (status == ASSAY_OK)
        status = add_all(s, &why);
    if (status != ASSAY_OK)
        assay_error_set(err, status, why.where[0] ? why.where : path, "%s", why.message);
    return status;
}

void assay_strangers_use(assay_strangers *all, const struct assay_runner_options *options,
                         const char *device, int32_t threads)
{
    all->options = *options;
    all->options.mute = true; /* what authors compute is for the judge alone */
    all->threads = threads;
    snprintf(all->device, sizeof all->device, "%s", device);
    all->host->can_run = can_run;
    all->host->strangers = all;
}

int64_t assay_strangers_n_broken(const assay_strangers *all)
{
    int64_t n = 0;
    for (int64_t i = 0; i < all->n; i++)
        n += all->items[i]->broken != ASSAY_RUNNER_ALIVE;
    return n;
}

struct assay_stranger_broken assay_strangers_broken(const assay_strangers *all, int64_t index)
{
    for (int64_t i = 0; i < all->n; i++) {
        const struct stranger *s = all->items[i];
        if (s->broken != ASSAY_RUNNER_ALIVE && index-- == 0)
            return (struct assay_stranger_broken){s->name, s->reason, s->broken};
    }
    return (struct assay_stranger_broken){0};
}

void assay_strangers_sweep(const assay_strangers *all, assay_runner *const *runners, int64_t n)
{
    enum { MOST = 1024 };
    pid_t spared[MOST];
    int64_t n_spared = 0;
    for (int64_t i = 0; i < n && n_spared < MOST; i++)
        if (runners[i] && assay_runner_pid(runners[i]) > 0)
            spared[n_spared++] = assay_runner_pid(runners[i]);
    for (int i = 0; i < all->spares.n && n_spared < MOST; i++)
        if (assay_runner_pid(all->spares.items[i].runner) > 0)
            spared[n_spared++] = assay_runner_pid(all->spares.items[i].runner);
    for (int64_t i = 0; i < all->n && n_spared < MOST; i++)
        if (all->items[i]->clerk && assay_runner_pid(all->items[i]->clerk) > 0)
            spared[n_spared++] = assay_runner_pid(all->items[i]->clerk);
    assay_descendants_end(spared, n_spared);
}

/* ---- for commands that measure nothing ---- */

static enum assay_dtype first_dtype(uint64_t dtypes)
{
    int dtype = ASSAY_DTYPE_NONE;
    while (dtype < ASSAY_DTYPE_COUNT && !(dtypes >> dtype & 1))
        dtype++;
    return (enum assay_dtype)dtype;
}

/* Those of training, or those that store weights. */
static bool has_recipe(const struct assay_op *op, const struct assay_quant *quant)
{
    struct assay_recipe recipe;
    if (assay_recipe_parse(quant->usual, &recipe, NULL) != ASSAY_OK)
        return false;
    return op->trains ? assay_recipe_trains(&recipe, NULL) == ASSAY_OK : !quant->only_trains;
}

/* Which recipes does it take? Asked with sizes every recipe can store. */
static enum assay_status read_recipes(assay_runner *runner, struct assay_kernel_found *found,
                                      struct assay_error *err)
{
    const struct assay_op *op = assay_op_find(found->op);
    const int64_t axes[ASSAY_MAX_AXES] = {16, 1024, 1024};
    struct assay_kernel kernel = proxy_of(found);
    struct assay_problem problem;
    enum assay_status status = ASSAY_OK;
    if (!op || !op->takes_recipes ||
        assay_op_problem(op, first_dtype(found->dtypes), NULL, axes, 1, &problem, NULL) != ASSAY_OK)
        return ASSAY_OK;
    for (int64_t i = 0; i < assay_quant_count() && found->n_recipes < ASSAY_CONTENTS_RECIPES; i++) {
        struct assay_runner_command c = {.verb = ASSAY_RUNNER_CAN_RUN};
        struct assay_runner_reply reply;
        if (!has_recipe(op, assay_quant_at(i)))
            continue;
        problem.recipe = assay_quant_at(i)->usual;
        assay_runner_put_problem(&c, &kernel, &problem);
        status = assay_runner_ask(runner, &c, &reply, err);
        if (status == ASSAY_ERR_FAILED)
            return status;
        if (status == ASSAY_OK)
            snprintf(found->recipes[found->n_recipes++], sizeof found->recipes[0], "%s",
                     problem.recipe);
    }
    return ASSAY_OK;
}

enum assay_status assay_contents_read(const char *path, const char *python, bool sandbox,
                                      struct assay_contents *out, struct assay_error *err)
{
    struct assay_runner_options options = {.timeout_s = PATIENCE_S, .sandbox = sandbox};
    struct interpreter interpreter = {0};
    struct assay_error why = {0};
    enum assay_runner_end end = ASSAY_RUNNER_ALIVE;
    assay_runner *runner = NULL;
    enum assay_status status = ASSAY_OK;
    if (assay_python_is(path)) {
        status = find_interpreter(&interpreter, python, &why);
        options.python = interpreter.python.data;
        options.package = interpreter.package.data;
        options.timeout_s = PYTHON_PATIENCE_S;
    }
    if (status == ASSAY_OK)
        status = assay_runner_start(&options, path, "", 1, &runner, &end, &why);
    if (status == ASSAY_OK)
        status = read_contents(runner, out, &why);
    for (int64_t i = 0; status == ASSAY_OK && i < out->n_kernels; i++)
        status = read_recipes(runner, &out->kernels[i], &why);
    end = runner ? assay_runner_end_of(runner) : end;
    assay_runner_stop(runner);
    forget_interpreter(&interpreter);
    if (status == ASSAY_OK)
        return status;
    const char *how = end == ASSAY_RUNNER_TIMEOUT ? "hangs while it is opened: "
                      : end != ASSAY_RUNNER_ALIVE ? "crashes while it is opened: "
                                                  : "";
    return assay_error_set(err, status, why.where[0] ? why.where : path, "%s%s", how, why.message);
}
