/* kernel_registry.c: the list of kernels, plug-ins, and the choice of variants for a problem. */
#include "kernel/host.h"

#include "base/alloc.h"
#include "base/text.h"
#include "device/cpu/cpu_info.h"
#include "op/op.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#define ASSAY_OP(n) extern const struct assay_kernel assay_kernel_##n##_ref;
#include "op/op_list.h"
#undef ASSAY_OP
#ifndef ASSAY_NO_KERNELS /* Python's extension has no kernels of assay's own, but for `ref` */
#define ASSAY_KERNEL(n) extern const struct assay_kernel assay_kernel_##n;
#include "kernel/kernel_list.h"
#undef ASSAY_KERNEL
#endif

static const struct assay_kernel *const builtin[] = {
#define ASSAY_OP(n) &assay_kernel_##n##_ref,
#include "op/op_list.h"
#undef ASSAY_OP
#ifndef ASSAY_NO_KERNELS
#define ASSAY_KERNEL(n) &assay_kernel_##n,
#include "kernel/kernel_list.h"
#undef ASSAY_KERNEL
#endif
};

enum { BUILTIN = sizeof builtin / sizeof builtin[0] };

/* The longest name a record can hold, with its zero: a kernel's; an implementation's is half of it.
 */
enum { MAX_NAME = 64 };

struct assay_kernel_registry {
    struct assay_kernel **added; /* from plug-ins: copies, zero where theirs are shorter */
    int64_t n_added;
};

/* A plug-in's kernel must have the fields up to here; those behind were added later. */
enum { LEAST_KERNEL_SIZE = offsetof(struct assay_kernel, prepare) };

assay_kernel_registry *assay_kernel_registry_create(void)
{
    return assay_calloc(1, sizeof(assay_kernel_registry));
}

void assay_kernel_registry_destroy(assay_kernel_registry *registry)
{
    if (!registry)
        return;
    for (int64_t i = 0; i < registry->n_added; i++)
        assay_free(registry->added[i]);
    assay_free(registry->added);
    assay_free(registry);
}

int64_t assay_kernel_count(const assay_kernel_registry *registry)
{
    return BUILTIN + registry->n_added;
}

const struct assay_kernel *assay_kernel_at(const assay_kernel_registry *registry, int64_t index)
{
    return index < BUILTIN ? builtin[index] : registry->added[index - BUILTIN];
}

const struct assay_kernel *assay_kernel_find(const assay_kernel_registry *registry,
                                             const char *name)
{
    for (int64_t i = 0; i < assay_kernel_count(registry); i++)
        if (strcmp(assay_kernel_at(registry, i)->name, name) == 0)
            return assay_kernel_at(registry, i);
    return NULL;
}

bool assay_kernel_is_builtin(const struct assay_kernel *kernel)
{
    for (int64_t i = 0; i < BUILTIN; i++)
        if (builtin[i] == kernel)
            return true;
    return false;
}

static enum assay_status check_plugin_kernel(const assay_kernel_registry *registry,
                                             const struct assay_kernel *kernel, const char *path,
                                             struct assay_error *err)
{
    if (!kernel || kernel->abi != ASSAY_KERNEL_ABI || kernel->struct_size < LEAST_KERNEL_SIZE)
        return assay_error_set(
            err, ASSAY_ERR_INVALID, path,
            "has a kernel built for another version of assay (abi %u, this is %u); "
            "rebuild it with this version's assay_kernel.h",
            kernel ? kernel->abi : 0, ASSAY_KERNEL_ABI);
    if (!kernel->name || !kernel->op || !kernel->implementation || !kernel->device || !kernel->run)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "has a kernel without name, op, implementation, device or run");
    if (kernel->struct_size >= offsetof(struct assay_kernel, prepared_bytes) && kernel->prepare &&
        (kernel->struct_size < offsetof(struct assay_kernel, run_activations) ||
         !kernel->prepared_bytes))
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "kernel \"%s\" has prepare without prepared_bytes", kernel->name);
    if (assay_kernel_find(registry, kernel->name))
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "a kernel \"%s\" exists already",
                               kernel->name);
    if (strlen(kernel->name) >= MAX_NAME || strlen(kernel->implementation) >= MAX_NAME / 2)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "kernel \"%.80s\": the name is too long", kernel->name);
    return ASSAY_OK;
}

/* A plug-in's op must be one of the list. */
enum assay_status assay_kernel_check_op(const struct assay_kernel *kernel, const char *path,
                                        struct assay_error *err)
{
    const struct assay_op *op;
    int64_t n;
    struct assay_error why = {0};
    if (assay_op_resolve(kernel->op, &op, 1, &n, &why) != ASSAY_OK)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "kernel \"%s\": %s", kernel->name,
                               why.message);
    if (strcmp(op->name, kernel->op) != 0)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "kernel \"%s\": write the op as \"%s\"", kernel->name, op->name);
    return ASSAY_OK;
}

enum assay_status assay_kernel_add(assay_kernel_registry *registry,
                                   const struct assay_kernel *kernel, const char *path,
                                   struct assay_error *err)
{
    enum assay_status status = check_plugin_kernel(registry, kernel, path, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_kernel **added =
        assay_realloc(registry->added, (size_t)registry->n_added + 1, sizeof *added);
    if (!added)
        return assay_error_set(err, ASSAY_ERR_NOMEM, path, "out of memory");
    registry->added = added;
    struct assay_kernel *copy = assay_calloc(1, sizeof *copy);
    if (!copy)
        return assay_error_set(err, ASSAY_ERR_NOMEM, path, "out of memory");
    size_t known = kernel->struct_size < sizeof *copy ? kernel->struct_size : sizeof *copy;
    memcpy(copy, kernel, known);
    copy->struct_size = sizeof *copy;
    added[registry->n_added++] = copy;
    return ASSAY_OK;
}

void *assay_kernel_open_object(const char *path, struct assay_error *err)
{
    /* A bare file name would be looked for in the library path; say that it is a file. */
    struct assay_text full = {0};
    if (!strchr(path, '/'))
        assay_text_add(&full, "./");
    assay_text_add(&full, path);
    void *object = full.failed ? NULL : dlopen(full.data, RTLD_NOW | RTLD_LOCAL);
    assay_text_fini(&full);
    if (!object)
        assay_error_set(err, ASSAY_ERR_INVALID, path, "cannot be opened: %s", dlerror());
    return object;
}

enum assay_status assay_kernel_add_plugin(assay_kernel_registry *registry, const char *path,
                                          struct assay_error *err)
{
    void *object = assay_kernel_open_object(path, err);
    if (!object)
        return ASSAY_ERR_INVALID;
    assay_plugin_fn plugin;
    void *symbol = dlsym(object, ASSAY_PLUGIN_SYMBOL);
    memcpy(&plugin, &symbol, sizeof plugin);
    if (!plugin)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "does not export %s; see assay_kernel.h", ASSAY_PLUGIN_SYMBOL);
    int32_t n = 0;
    const struct assay_kernel *const *kernels = plugin(ASSAY_KERNEL_ABI, &n);
    if (!kernels || n < 1)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "offers no kernels for abi %u",
                               ASSAY_KERNEL_ABI);
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < n && status == ASSAY_OK; i++) {
        status = assay_kernel_add(registry, kernels[i], path, err);
        if (status == ASSAY_OK)
            status = assay_kernel_check_op(kernels[i], path, err);
    }
    return status;
}

enum assay_status assay_kernel_run_elsewhere(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    return ASSAY_ERR_INTERNAL;
}

/* Not the same function: it says which of the two is meant. */
enum assay_status assay_kernel_activations_elsewhere(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    return ASSAY_UNSUPPORTED;
}

bool assay_kernel_is_elsewhere(const struct assay_kernel *kernel)
{
    return kernel->run == assay_kernel_run_elsewhere ||
           kernel->run == assay_kernel_activations_elsewhere;
}

enum assay_status assay_kernel_can_run(const struct assay_kernel *kernel,
                                       const struct assay_problem *problem, struct assay_error *why)
{
    if (problem && !(kernel->dtypes & ASSAY_DTYPE_BIT(problem->dtype)))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "no %s",
                               assay_dtype_name(problem->dtype));
    if (assay_kernel_is_elsewhere(kernel))
        return problem && problem->host && problem->host->can_run
                   ? problem->host->can_run(problem->host->strangers, kernel, problem, why)
                   : ASSAY_OK;
    return kernel->can_run ? kernel->can_run(problem, why) : ASSAY_OK;
}

static bool listed(const char *name, const char *const *list, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (assay_text_same(list[i], name))
            return true;
    return false;
}

/* Not the machine or the type is in its way, but the problem: that reason is worth telling. */
static bool refuses_problem(const struct assay_contender *one, enum assay_dtype dtype)
{
    return (one->kernel->dtypes & ASSAY_DTYPE_BIT(dtype)) != 0 &&
           assay_kernel_can_run(one->kernel, NULL, NULL) == ASSAY_OK;
}

/* A kernel's preference on this CPU; see ASSAY_KERNEL_BF16_DOT. */
static int32_t preference_here(const struct assay_kernel *kernel)
{
    bool dot = (kernel->flags & ASSAY_KERNEL_BF16_DOT) && assay_cpu_info()->fast_bf16_dot;
    return kernel->preference + (dot ? 10 : 0);
}

static bool is_better(const struct assay_contender *a, const struct assay_contender *b,
                      enum assay_dtype dtype)
{
    bool runs = a->status == ASSAY_OK;
    if (runs != (b->status == ASSAY_OK))
        return runs;
    bool telling = !runs && refuses_problem(a, dtype);
    if (!runs && telling != refuses_problem(b, dtype))
        return telling;
    return preference_here(a->kernel) > preference_here(b->kernel);
}

/* Keeps one variant for each implementation: the most preferred that can run, else the one with
 * the most telling reason. */
static int64_t offer(struct assay_contender *out, int64_t n, int64_t max,
                     const struct assay_contender *candidate, enum assay_dtype dtype, bool by_name)
{
    for (int64_t i = 0; i < n && !by_name; i++) {
        if (strcmp(out[i].kernel->implementation, candidate->kernel->implementation) != 0)
            continue;
        if (is_better(candidate, &out[i], dtype))
            out[i] = *candidate;
        return n;
    }
    if (n < max)
        out[n++] = *candidate;
    return n;
}

void assay_kernel_label(const char *kernel, const char *recipe, char *text, size_t size)
{
    bool plain = !recipe || !recipe[0];
    snprintf(text, size, "%s%s%s", kernel, plain ? "" : "/", plain ? "" : recipe);
}

static bool excluded(const struct assay_kernel *kernel, const struct assay_problem *problem,
                     const struct assay_kernel_choice *choice)
{
    char label[MAX_NAME + 64];
    assay_kernel_label(kernel->name, problem->recipe, label, sizeof label);
    return listed(label, choice->excluded, choice->n_excluded);
}

/* Not a few operations for each element, but a sum of products: linear, attention. */
static bool is_product(const struct assay_op *op, const struct assay_problem *problem)
{
    enum { MOST_AN_ELEMENT = 12 }; /* of all ops but products: layernorm_gelu */
    return op->takes_recipes ||
           op->cost(problem).flops > MOST_AN_ELEMENT * (double)assay_tensor_count(problem->inputs);
}

/* Speedups refer to it; that takes the plain product only. */
static bool is_asked_baseline(const char *name, const struct assay_problem *problem,
                              const struct assay_kernel_choice *choice)
{
    return choice->baseline && assay_text_same(choice->baseline, name) &&
           (!problem->recipe || assay_text_same(problem->recipe, "baseline"));
}

/* The user did not name the reference, and it would be very slow. */
static bool too_slow(const struct assay_kernel *kernel, const struct assay_problem *problem,
                     const struct assay_kernel_choice *choice)
{
    if (strcmp(kernel->implementation, "ref") != 0 || choice->n_implementations ||
        choice->n_kernels || is_asked_baseline("ref", problem, choice))
        return false;
    const struct assay_op *op = assay_op_find(problem->op);
    return op && op->cost(problem).flops > ASSAY_REF_MOST_FLOPS && is_product(op, problem);
}

static bool is_every(const struct assay_kernel_choice *choice)
{
    return listed("all", choice->kernels, choice->n_kernels);
}

/* Did the user name this very kernel? */
static bool is_named(const struct assay_kernel *kernel, const struct assay_kernel_choice *choice)
{
    return is_every(choice) || listed(kernel->name, choice->kernels, choice->n_kernels);
}

/* Or its implementation, or none? */
static bool is_wanted(const struct assay_kernel *kernel, const struct assay_kernel_choice *choice)
{
    bool every = is_every(choice);
    bool wanted =
        choice->n_implementations
            ? listed(kernel->implementation, choice->implementations, choice->n_implementations)
            : !choice->n_kernels || every;
    return wanted || (!every && is_named(kernel, choice));
}

int64_t assay_kernel_choose(const assay_kernel_registry *registry,
                            const struct assay_problem *problem,
                            const struct assay_kernel_choice *choice, struct assay_contender *out,
                            int64_t max)
{
    int64_t n = 0;
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (strcmp(kernel->op, problem->op) != 0 || strcmp(kernel->device, choice->device) != 0)
            continue;
        if (choice->here && assay_kernel_is_elsewhere(kernel))
            continue;
        if (!is_wanted(kernel, choice) || excluded(kernel, problem, choice) ||
            too_slow(kernel, problem, choice))
            continue;
        struct assay_contender candidate = {.kernel = kernel, .recipe = problem->recipe};
        candidate.status = assay_kernel_can_run(kernel, problem, &candidate.why);
        n = offer(out, n, max, &candidate, problem->dtype, is_named(kernel, choice));
    }
    return n;
}

static enum assay_status check_name(const assay_kernel_registry *registry, const char *name,
                                    bool implementation, struct assay_error *err)
{
    enum { MAX_CANDIDATES = 512 };
    const char *candidates[MAX_CANDIDATES];
    int64_t n = 0;
    const char *what = implementation ? "implementation" : "kernel";
    for (int64_t i = 0; i < assay_kernel_count(registry) && n < MAX_CANDIDATES; i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        candidates[n++] = implementation ? kernel->implementation : kernel->name;
        if (assay_text_same(candidates[n - 1], name))
            return ASSAY_OK;
    }
    const char *nearest = assay_text_nearest(name, candidates, n);
    if (nearest)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "unknown %s \"%s\"; did you mean \"%s\"?", what, name, nearest);
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "unknown %s \"%s\"; `assay list kernels` shows them all", what, name);
}

enum assay_status assay_kernel_check_choice(const assay_kernel_registry *registry,
                                            const struct assay_kernel_choice *choice,
                                            struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < choice->n_implementations && status == ASSAY_OK; i++)
        status = check_name(registry, choice->implementations[i], true, err);
    for (int64_t i = 0; i < choice->n_kernels && status == ASSAY_OK; i++)
        if (!assay_text_same(choice->kernels[i], "all"))
            status = check_name(registry, choice->kernels[i], false, err);
    if (status == ASSAY_OK && choice->baseline && choice->baseline[0])
        status = check_name(registry, choice->baseline, true, err);
    return status;
}

/* The implementation's name, once. */
static void add_once(const char *name, struct assay_text *names)
{
    const char *at = names->data ? strstr(names->data, name) : NULL;
    size_t length = strlen(name);
    while (at && !((at == names->data || at[-1] == ' ') && (!at[length] || at[length] == ',')))
        at = strstr(at + 1, name);
    if (!at)
        assay_text_format(names, "%s%s", names->length ? ", " : "", name);
}

enum assay_status assay_kernel_check_baseline(const assay_kernel_registry *registry, const char *op,
                                              const struct assay_kernel_choice *choice,
                                              struct assay_error *err)
{
    struct assay_text others = {0};
    bool found = !choice->baseline || !choice->baseline[0];
    for (int64_t i = 0; i < assay_kernel_count(registry) && !found; i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (strcmp(kernel->op, op) != 0 || strcmp(kernel->device, choice->device) != 0 ||
            !is_wanted(kernel, choice))
            continue;
        found = assay_text_same(kernel->implementation, choice->baseline);
        add_once(kernel->implementation, &others);
    }
    enum assay_status status = ASSAY_OK;
    if (others.failed)
        status = assay_error_nomem(err);
    else if (!found)
        status = assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                 "--baseline %s: it does not take part in %s on %s; %s%s",
                                 choice->baseline, op, choice->device,
                                 others.length ? "these do: " : "nor does anything else",
                                 others.length ? others.data : "");
    assay_text_fini(&others);
    return status;
}
