/* sweep_steps.c: a training step in a sweep: the casts of its products' operands, as groups of
 * their own. */
#include "config/sweep_part.h"

#include <stdio.h>
#include <string.h>

bool assay_sweep_is_of_steps(const struct assay_sweep *sweep)
{
    return sweep->passes[ASSAY_PASS_BACKWARD] && sweep->recipes.trains && sweep->recipes.n;
}

static bool is_planned(const struct assay_plan *plan, const char *op, const char *mode,
                       enum assay_dtype dtype, const int64_t *axes)
{
    for (int64_t i = 0; i < plan->n_groups; i++) {
        const struct assay_group *group = &plan->groups[i];
        if (strcmp(group->op, op) == 0 && strcmp(group->mode, mode) == 0 && group->dtype == dtype &&
            group->n_axes == 2 && group->axes[0] == axes[0] && group->axes[1] == axes[1])
            return true;
    }
    return false;
}

/* An operand of a product of [m, k, n] is cast as it is, or turned where what is summed over lies
 * in its columns: a measurement of its own, once. */
static enum assay_status add_cast(struct assay_sweep_part *part, const struct assay_cast *cast,
                                  enum assay_training_operand operand, const int64_t *mkn,
                                  struct assay_error *err)
{
    bool turned = cast->scope == ASSAY_SCOPE_COLUMN;
    bool tensor = cast->scope == ASSAY_SCOPE_TENSOR;
    int64_t axes[2] = {operand == ASSAY_OPERAND_WEIGHT ? mkn[2] : mkn[0],
                       operand == ASSAY_OPERAND_GRADIENT ? mkn[2] : mkn[1]};
    char mode[32];
    if (cast->code == ASSAY_DTYPE_NONE)
        return ASSAY_OK;
    snprintf(mode, sizeof mode, "%s-%s", assay_dtype_name(cast->code), tensor ? "tensor" : "row");
    part->op = assay_op_find(turned ? "quantize_turned" : "quantize");
    part->mode = mode;
    if (is_planned(part->plan, part->op->name, mode, part->dtype, axes))
        return ASSAY_OK;
    return assay_sweep_add_group(part, axes, "", err);
}

static enum assay_status add_casts(struct assay_sweep_part *part, const int64_t *mkn,
                                   struct assay_error *err)
{
    const struct assay_recipe_list *recipes = &part->sweep->recipes;
    enum assay_status status = ASSAY_OK;
    for (int64_t r = 0; r < recipes->n; r++)
        for (int p = 0; p < ASSAY_PRODUCTS; p++)
            for (int o = 0; o < ASSAY_OPERANDS && status == ASSAY_OK; o++) {
                struct assay_cast cast =
                    assay_recipe_cast(&recipes->items[r], (enum assay_training_product)p,
                                      (enum assay_training_operand)o);
                status = add_cast(part, &cast, (enum assay_training_operand)o, mkn, err);
            }
    return status;
}

enum assay_status assay_sweep_add_casts(const struct assay_sweep *sweep, struct assay_plan *plan,
                                        struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    int64_t planned = plan->n_groups;
    for (int64_t i = 0; i < planned && assay_sweep_is_of_steps(sweep) && status == ASSAY_OK; i++) {
        struct assay_group group = plan->groups[i];
        const struct assay_op *op = assay_op_find(group.op);
        struct assay_sweep_part part = {sweep, plan, op, group.dtype, ""};
        if (op->trains && assay_op_pass(op) == ASSAY_PASS_FORWARD && !group.over_limit)
            status = add_casts(&part, group.axes, err);
    }
    return status;
}
