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

enum { BUILTIN = sizeof builtin / sizeof builtin[0], MAX_ADDED = 256, MAX_NAME = 64 };

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
static struct made_op *made[BUILTIN + MAX_ADDED];

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

enum assay_status assay_model_find(const char *name, const struct assay_model **out,
                                   struct assay_error *err)
{
    int64_t n = assay_model_count(), index = index_of(name, n);
    if (index >= 0) {
        *out = assay_model_at(index);
        return ASSAY_OK;
    }
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
    if (strlen(model->name) + strlen(ASSAY_MODEL_PREFIX) >= MAX_NAME)
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

/* With the lock held. NULL without memory. */
static struct made_op *make_op(int64_t index)
{
    const struct assay_model *model = assay_model_at(index);
    struct made_op *one = assay_calloc(1, sizeof *one);
    if (!one)
        return NULL;
    snprintf(one->name, sizeof one->name, "%s%s", ASSAY_MODEL_PREFIX, model->name);
    assay_model_op_fill(model, one->name, &one->op);
    return one;
}

const struct assay_op *assay_model_op(const char *name)
{
    if (strncmp(name, ASSAY_MODEL_PREFIX, strlen(ASSAY_MODEL_PREFIX)) != 0)
        return assay_op_find(name);
    int64_t index = index_of(name, assay_model_count());
    if (index < 0)
        return NULL;
    pthread_mutex_lock(&lock);
    if (!made[index])
        made[index] = make_op(index);
    struct made_op *one = made[index];
    pthread_mutex_unlock(&lock);
    return one ? &one->op : NULL;
}
