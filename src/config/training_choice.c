#include "config/training_choice.h"

#include "base/text.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

static enum assay_status find_pass(const char *name, enum assay_pass *out, struct assay_error *err)
{
    for (int i = 0; i < ASSAY_PASSES; i++)
        if (assay_text_same(name, assay_pass_name((enum assay_pass)i))) {
            *out = (enum assay_pass)i;
            return ASSAY_OK;
        }
    return assay_error_set(err, ASSAY_ERR_INVALID, "--pass",
                           "\"%.60s\" is none; write forward, backward, both or step", name);
}

/* Named before, too? */
static bool is_repeated(const struct assay_training_choice *choice, int64_t index)
{
    for (int64_t i = 0; i < index; i++)
        if (assay_text_same(choice->passes.items[i], choice->passes.items[index]))
            return true;
    return false;
}

enum assay_status assay_training_check(const struct assay_training_choice *choice, int64_t *passes,
                                       struct assay_error *err)
{
    bool steps = false;
    *passes = choice->passes.n ? 0 : 1;
    for (int64_t i = 0; i < choice->passes.n; i++) {
        enum assay_pass pass;
        enum assay_status status = find_pass(choice->passes.items[i], &pass, err);
        if (status != ASSAY_OK)
            return status;
        steps = steps || pass == ASSAY_PASS_STEP;
        *passes += !is_repeated(choice, i);
    }
    if (choice->optimizer && !steps)
        return assay_error_set(err, ASSAY_ERR_INVALID, "--optimizer",
                               "only a step has an optimizer; add --pass step");
    return ASSAY_OK;
}

/* The same problem in this pass; what was counted of the forward pass is not told of others. */
static enum assay_status make_group(const struct assay_training_choice *choice,
                                    const struct assay_group *model, enum assay_pass pass,
                                    struct assay_group *out, struct assay_error *err)
{
    struct assay_problem problem;
    const char *mode = pass == ASSAY_PASS_STEP && choice->optimizer ? choice->optimizer : "";
    *out = *model;
    int length = snprintf(out->op, sizeof out->op, "%s_%s", model->op, assay_pass_name(pass));
    if (length < 0 || (size_t)length >= sizeof out->op)
        return assay_error_set(err, ASSAY_ERR_INVALID, "--pass",
                               "the name %.60s is too long for a pass in training",
                               assay_op_shown(model->op));
    const struct assay_op *op = assay_model_op(out->op);
    if (!op)
        return assay_error_set(err, ASSAY_ERR_INVALID, "--pass",
                               "%.60s is no model: only models are trained",
                               assay_op_shown(model->op));
    if (pass != ASSAY_PASS_FORWARD)
        out->macs = out->counted_flops = 0;
    if (pass == ASSAY_PASS_STEP)
        snprintf(out->mode, sizeof out->mode, "%s",
                 choice->optimizer ? choice->optimizer : "adamw");
    return assay_op_problem(op, out->dtype, mode, out->axes, 1, &problem, err);
}

static enum assay_status add(struct assay_plan *plan, const struct assay_group *group,
                             struct assay_error *err)
{
    return assay_plan_add(plan, group) == ASSAY_OK ? ASSAY_OK : assay_error_nomem(err);
}

enum assay_status assay_training_add(const struct assay_training_choice *choice,
                                     const struct assay_group *group, struct assay_plan *plan,
                                     struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    if (!choice->passes.n)
        return add(plan, group, err);
    for (int64_t i = 0; i < choice->passes.n && status == ASSAY_OK; i++) {
        struct assay_group one;
        enum assay_pass pass;
        if (is_repeated(choice, i))
            continue;
        status = find_pass(choice->passes.items[i], &pass, err);
        if (status == ASSAY_OK)
            status = make_group(choice, group, pass, &one, err);
        if (status == ASSAY_OK)
            status = add(plan, &one, err);
    }
    return status;
}
