#include "config/model_choice.h"

#include "kernel/implementation.h"

#include <stdio.h>
#include <string.h>

/* What runs whole models: assay's executors, and PyTorch. */
static const char *const all[] = {"eager", "compiled", "recomputed", "torch", "torch-compile"};

/* The first two are measured where none of them is named. */
enum { ALL = sizeof all / sizeof all[0], USUAL = 2, OWN = 3 };

static const char *find(const char *name)
{
    for (int i = 0; i < ALL; i++)
        if (assay_text_same(all[i], name))
            return all[i];
    return NULL;
}

static enum assay_status unknown(const char *name, struct assay_error *err)
{
    const char *nearest = assay_text_nearest(name, all, ALL);
    if (nearest)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "unknown implementation \"%.60s\" of models; did you mean \"%s\"?",
                               name, nearest);
    return assay_error_set(
        err, ASSAY_ERR_INVALID, NULL,
        "no whole models in \"%.60s\"; there are eager, compiled and "
        "recomputed, which choose among assay's kernels, torch and torch-compile",
        name);
}

static enum assay_status copy_names(const struct assay_strings *names, struct assay_settings *s,
                                    struct assay_error *err)
{
    for (int64_t i = 0; i < names->n; i++) {
        const char *known = find(names->items[i]);
        if (!known)
            return unknown(names->items[i], err);
        if (!assay_strings_have(&s->implementations, known) &&
            assay_strings_add(&s->implementations, known) != ASSAY_OK)
            return assay_error_nomem(err);
    }
    return ASSAY_OK;
}

/* With nothing named everything does, and assay's own do where none of them is named. */
static bool takes_part(const struct assay_strings *named, const char *name)
{
    const char *eager = assay_implementation_uncompiled(name);
    bool own = false;
    for (int i = 0; i < USUAL; i++)
        own = own || assay_strings_have(named, all[i]);
    if (assay_strings_have(named, name) || named->n == 0)
        return true;
    if (strcmp(name, all[0]) == 0 || strcmp(name, all[1]) == 0)
        return !own;
    return eager && assay_strings_have(named, eager);
}

static enum assay_status choose_baseline(const char *asked, struct assay_settings *s,
                                         struct assay_error *err)
{
    const struct assay_strings *named = &s->implementations;
    const char *baseline = all[0];
    for (int i = ALL - 1; i >= OWN && !asked; i--)
        if (assay_strings_have(named, all[i]))
            baseline = all[i];
    if (asked) {
        baseline = find(asked);
        if (!baseline)
            return unknown(asked, err);
        if (!takes_part(named, baseline))
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                   "--baseline %s: it does not take part; add it to --impl",
                                   baseline);
    }
    snprintf(s->baseline, sizeof s->baseline, "%s", baseline);
    return ASSAY_OK;
}

enum assay_status assay_model_choice_apply(const struct assay_model_choice *choice,
                                           const char *python, struct assay_settings *settings,
                                           struct assay_error *err)
{
    enum assay_status status = copy_names(&choice->implementations, settings, err);
    if (status == ASSAY_OK)
        status = choose_baseline(choice->baseline, settings, err);
    return status == ASSAY_OK ? assay_measure_python(python, settings, err) : status;
}
