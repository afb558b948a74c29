/* model_registry.c: the registry of models, built in and added, and the op of each. */
#include "model/model_op.h"

#include "base/alloc.h"
#include "base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ASSAY_MODEL(n) extern const struct assay_model assay_model_##n;
#include "model/model_list.h"
#undef ASSAY_MODEL

static const struct assay_model *const builtin[] = {
#define ASSAY_MODEL(n) &assay_model_##n,
#include "model/model_list.h"
#undef ASSAY_MODEL
};

enum { BUILTIN = sizeof builtin / sizeof builtin[0], MAX_ADDED = 256, MAX_OP = 64, MAX_NAME = 80 };

/* Models live as long as the process: ops point at their names. What is there once never changes;
 * the lock is for adding to it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct assay_model *added[MAX_ADDED];
static int64_t n_added;

/* The op of each model, made on first use. */
struct made_op {
    struct assay_op op;
    char name[MAX_NAME];
};
static struct made_op *made[BUILTIN + MAX_ADDED][1 + ASSAY_PASSES]; /* inference, then passes */

int64_t assay_model_count(void)
{
    pthread_mutex_lock(&lock);
    int64_t n = BUILTIN + n_added;
    pthread_mutex_unlock(&lock);
    return n;
}

const struct assay_model *assay_model_at(int64_t index)
{
    return index < BUILTIN ? builtin[index] : added[index - BUILTIN];
}

/* "NAME_backward" where there is no such model: the pass, and how long NAME is. */
static bool has_pass(const char *bare, enum assay_pass *pass, size_t *length)
{
    for (int i = 0; i < ASSAY_PASSES; i++) {
        const char *word = assay_pass_name((enum assay_pass)i);
        size_t all = strlen(bare), behind = strlen(word) + 1;
        if (all <= behind || bare[all - behind] != '_' ||
            !assay_text_same(bare + all - behind + 1, word))
            continue;
        *pass = (enum assay_pass)i;
        *length = all - behind;
        return true;
    }
    return false;
}

static const char *without_prefix(const char *name)
{
    size_t length = strlen(ASSAY_MODEL_PREFIX);
    return strncmp(name, ASSAY_MODEL_PREFIX, length) == 0 ? name + length : name;
}

/* Among the first `n`. */
static int64_t index_of(const char *name, int64_t n)
{
    const char *bare = without_prefix(name);
    if (assay_text_same(bare, "ln_linear")) /* TorchAO's short form */
        bare = "ln_linear_relu";
    for (int64_t i = 0; i < n; i++)
        if (assay_text_same(assay_model_at(i)->name, bare))
            return i;
    return -1;
}

static enum assay_status unknown_model(const char *name, int64_t n, struct assay_error *err)
{
    const char *names[BUILTIN + MAX_ADDED];
    for (int64_t i = 0; i < n; i++)
        names[i] = assay_model_at(i)->name;
    const char *nearest = assay_text_nearest(without_prefix(name), names, n);
    if (nearest)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "unknown model \"%s\"; did you mean \"%s\"?", name, nearest);
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "unknown model \"%s\"; `assay list models` shows them all", name);
}

enum assay_status assay_model_find(const char *name, const struct assay_model **out,
                                   struct assay_error *err)
{
    int64_t n = assay_model_count(), index = index_of(name, n);
    if (index >= 0) {
        *out = assay_model_at(index);
        return ASSAY_OK;
    }
    return unknown_model(name, n, err);
}

enum assay_status assay_model_find_mkn(const char *name, const struct assay_model **out,
                                       struct assay_error *err)
{
    enum assay_status status = assay_model_find(name, out, err);
    if (status != ASSAY_OK || !(*out)->axis_names[0])
        return status;
    char axes[160] = "";
    size_t used = 0;
    for (int i = 0; i < ASSAY_MAX_AXES && (*out)->axis_names[i] && used < sizeof axes; i++)
        used += (size_t)snprintf(axes + used, sizeof axes - used, "%s%s", i ? ", " : "",
                                 (*out)->axis_names[i]);
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "the sizes of model \"%s\" are %s, not m, k and n; `assay preset` "
                           "measures it",
                           (*out)->name, axes);
}

enum assay_status assay_model_add_built(const struct assay_model *model,
                                        const struct assay_model **known, struct assay_error *err)
{
    enum assay_pass pass;
    size_t length;
    if (has_pass(model->name, &pass, &length))
        return assay_error_set(err, ASSAY_ERR_INVALID, "name",
                               "\"%.80s\" ends as the name of a training pass does", model->name);
    if (strlen(model->name) + strlen(ASSAY_MODEL_PREFIX) >= MAX_OP)
        return assay_error_set(err, ASSAY_ERR_INVALID, "name", "\"%.80s\" is too long",
                               model->name);
    pthread_mutex_lock(&lock);
    int64_t at = index_of(model->name, BUILTIN + n_added);
    *known = at < 0 ? NULL : assay_model_at(at);
    bool full = n_added == MAX_ADDED;
    if (at < 0 && !full)
        added[n_added++] = model;
    pthread_mutex_unlock(&lock);
    if (at < 0 && full)
        return assay_error_set(err, ASSAY_ERR_INVALID, "name", "more than %d models described",
                               MAX_ADDED);
    return ASSAY_OK;
}

/* Which model, of so many, and which of its ops; -1: none. */
static int64_t find_pass(const char *op, int64_t n, struct assay_model_pass *out)
{
    const char *bare = without_prefix(op);
    char name[MAX_NAME];
    size_t length;
    int64_t index = index_of(bare, n);
    *out = (struct assay_model_pass){0};
    if (index < 0 && has_pass(bare, &out->pass, &length) && length < sizeof name) {
        snprintf(name, sizeof name, "%.*s", (int)length, bare);
        index = index_of(name, n);
        out->trains = true;
    }
    out->model = index < 0 ? NULL : assay_model_at(index);
    return index;
}

enum assay_status assay_model_find_pass(const char *op, struct assay_model_pass *out,
                                        struct assay_error *err)
{
    int64_t n = assay_model_count();
    return find_pass(op, n, out) < 0 ? unknown_model(op, n, err) : ASSAY_OK;
}

/* With the lock held. NULL without memory. */
static struct made_op *make_op(const struct assay_model_pass *of)
{
    struct made_op *one = assay_calloc(1, sizeof *one);
    if (!one)
        return NULL;
    snprintf(one->name, sizeof one->name, "%s%s%s%s", ASSAY_MODEL_PREFIX, of->model->name,
             of->trains ? "_" : "", of->trains ? assay_pass_name(of->pass) : "");
    assay_model_op_fill(of, one->name, &one->op);
    return one;
}

const struct assay_op *assay_model_op(const char *name)
{
    struct assay_model_pass of;
    if (strncmp(name, ASSAY_MODEL_PREFIX, strlen(ASSAY_MODEL_PREFIX)) != 0)
        return assay_op_find(name);
    int64_t index = find_pass(name, assay_model_count(), &of);
    if (index < 0)
        return NULL;
    struct made_op **slot = &made[index][of.trains ? 1 + (int)of.pass : 0];
    pthread_mutex_lock(&lock);
    if (!*slot)
        *slot = make_op(&of);
    struct made_op *one = *slot;
    pthread_mutex_unlock(&lock);
    return one ? &one->op : NULL;
}
