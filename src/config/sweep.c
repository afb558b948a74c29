/* sweep.c: most ops have the axes batch, seq and dim, and are swept over lists of each. The others
 * know their usual shapes. */
#include "config/sweep_part.h"

#include <stdio.h>
#include <string.h>

/* The ops of the comprehensive benchmark that `assay bench` replaces; its sizes are in sweep.h. */
static const char *const default_ops[] = {"layernorm", "gelu", "silu", "loss"};
enum { DEFAULT_MAX_ELEMENTS = 50000000 };

/* The tour: two sizes, one that lives in the caches and one that does not, in half a minute. */
static const int64_t tour_shapes[][3] = {{16, 256, 64}, {32, 512, 768}};

/* ASSAY_SWEEP_USUAL_ROWS, _DIMS: of batch and seq the diagonal of the sweep, of dim the ends and
 * two between; from what a core's own cache holds to what no cache does. */
static const int64_t usual_rows[][2] = {{16, 256}, {32, 512}, {64, 1024}};
static const int64_t usual_dims[] = {8, 64, 256, 512};
enum {
    USUAL_ROWS = sizeof usual_rows / sizeof usual_rows[0],
    USUAL_DIMS = sizeof usual_dims / sizeof usual_dims[0]
};

static int32_t axis_named(const struct assay_op *op, const char *name)
{
    int32_t n = assay_op_axes(op);
    for (int32_t i = 0; i < n; i++)
        if (strcmp(op->axis_names[i], name) == 0)
            return i;
    return -1;
}

static bool has_mkn(const struct assay_op *op)
{
    return assay_op_axes(op) == 3 && axis_named(op, "m") == 0 && axis_named(op, "k") == 1 &&
           axis_named(op, "n") == 2;
}

/* ---- reading the options ------------------------------------------------------------------ */

static enum assay_status resolve_passes(struct assay_sweep *sweep, struct assay_error *err)
{
    const char *pass = sweep->config->pass;
    bool forward = !pass || assay_text_same(pass, "forward");
    bool backward = pass && assay_text_same(pass, "backward");
    bool both = pass && assay_text_same(pass, "both");
    if (!forward && !backward && !both)
        return assay_error_set(err, ASSAY_ERR_INVALID, "--pass",
                               "\"%.60s\" is none; write forward, backward or both", pass);
    sweep->passes[ASSAY_PASS_FORWARD] = forward || both;
    sweep->passes[ASSAY_PASS_BACKWARD] = backward || both;
    sweep->passes[ASSAY_PASS_BOTH] = both;
    return ASSAY_OK;
}

static enum assay_status no_gradient(const struct assay_op *op, struct assay_error *err)
{
    struct assay_text known = {0};
    for (int64_t i = 0; i < assay_op_count(); i++)
        if (assay_op_pass(assay_op_at(i)) == ASSAY_PASS_BACKWARD)
            assay_text_format(&known, "%s%s", known.length ? " " : "",
                              assay_op_at(i)->gradient->forward);
    enum assay_status status = known.failed
                                   ? assay_error_nomem(err)
                                   : assay_error_set(err, ASSAY_ERR_INVALID, "--pass",
                                                     "%s has no backward pass; these have: %s",
                                                     op->name, known.data ? known.data : "none");
    assay_text_fini(&known);
    return status;
}

/* The op of this pass of a forward op; NULL: there is none. With recipes, both passes are those of
 * a training step, where the forward op may be another one. */
static const struct assay_op *op_of_pass(const struct assay_sweep *sweep,
                                         const struct assay_op *forward, enum assay_pass pass)
{
    bool trains = sweep->passes[ASSAY_PASS_BACKWARD] && sweep->config->recipes.n > 0;
    return pass == ASSAY_PASS_FORWARD && trains && forward->step_op
               ? assay_op_find(forward->step_op)
               : assay_op_of_pass(forward, pass);
}

/* The passes that are wanted of a forward op; a gradient that was named is meant as it is. */
static enum assay_status add_passes(struct assay_sweep *sweep, const struct assay_op *op,
                                    struct assay_error *err)
{
    bool is_forward = assay_op_pass(op) == ASSAY_PASS_FORWARD;
    if (is_forward && sweep->passes[ASSAY_PASS_BACKWARD] &&
        !assay_op_of_pass(op, ASSAY_PASS_BACKWARD))
        return no_gradient(op, err);
    for (int pass = 0; pass < (is_forward ? ASSAY_PASSES : 1); pass++) {
        const struct assay_op *one = is_forward ? op_of_pass(sweep, op, (enum assay_pass)pass) : op;
        if (!one || (is_forward && !sweep->passes[pass]))
            continue;
        if (sweep->n_ops == ASSAY_SWEEP_OPS)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "more than %d ops",
                                   (int)ASSAY_SWEEP_OPS);
        sweep->ops[sweep->n_ops++] = one;
    }
    return ASSAY_OK;
}

static enum assay_status add_op(struct assay_sweep *sweep, const char *name,
                                struct assay_error *err)
{
    const struct assay_op *found[8];
    int64_t n;
    enum assay_status status = assay_op_resolve(name, found, 8, &n, err);
    for (int64_t k = 0; status == ASSAY_OK && k < n; k++)
        status = add_passes(sweep, found[k], err);
    return status;
}

/* "gelu" or "gelu,silu". */
static enum assay_status add_ops(struct assay_sweep *sweep, const char *words,
                                 struct assay_error *err)
{
    struct assay_strings names = {0};
    if (!strchr(words, ','))
        return add_op(sweep, words, err);
    enum assay_status status = assay_strings_split(&names, words);
    if (status == ASSAY_ERR_NOMEM)
        assay_error_nomem(err);
    else if (status != ASSAY_OK)
        assay_error_set(err, status, NULL, "\"%.100s\" is not a list of ops; write gelu,silu",
                        words);
    for (int64_t i = 0; i < names.n && status == ASSAY_OK; i++)
        status = add_op(sweep, names.items[i], err);
    assay_strings_fini(&names);
    return status;
}

static enum assay_status resolve_ops(struct assay_sweep *sweep, struct assay_error *err)
{
    const struct assay_strings *named = &sweep->config->ops;
    int64_t n_names = named->n ? named->n : (int64_t)(sizeof default_ops / sizeof default_ops[0]);
    enum assay_status status = resolve_passes(sweep, err);
    for (int64_t i = 0; i < n_names && status == ASSAY_OK; i++)
        status =
            named->n ? add_ops(sweep, named->items[i], err) : add_op(sweep, default_ops[i], err);
    return status;
}

/* f64 is for references; no kernel has it. */
static bool runs_in(const struct assay_op *op, enum assay_dtype dtype)
{
    return dtype != ASSAY_DTYPE_F64 && assay_op_has_dtype(op, dtype);
}

static bool any_op_runs_in(enum assay_dtype dtype)
{
    for (int64_t i = 0; i < assay_op_count(); i++)
        if (runs_in(assay_op_at(i), dtype))
            return true;
    return false;
}

/* "f32, bf16 or f16" */
static void dtypes_of(const struct assay_op *op, char *text, size_t size)
{
    static const enum assay_dtype order[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16, ASSAY_DTYPE_F16,
                                             ASSAY_DTYPE_S8};
    const char *names[4];
    int n = 0;
    for (int i = 0; i < 4; i++)
        if (runs_in(op, order[i]))
            names[n++] = assay_dtype_name(order[i]);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < n && used < size; i++) {
        const char *separator = i == 0 ? "" : i + 1 == n ? " or " : ", ";
        used += (size_t)snprintf(text + used, size - used, "%s%s", separator, names[i]);
    }
}

static enum assay_status check_dtype(const struct assay_sweep *sweep, enum assay_dtype dtype,
                                     struct assay_error *err)
{
    char fit[64];
    if (!any_op_runs_in(dtype))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "no op runs in %s; try f32, bf16 or f16", assay_dtype_name(dtype));
    for (int64_t i = 0; i < sweep->n_ops; i++) {
        if (runs_in(sweep->ops[i], dtype))
            continue;
        dtypes_of(sweep->ops[i], fit, sizeof fit);
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "%s does not run in %s; try %s",
                               sweep->ops[i]->name, assay_dtype_name(dtype), fit);
    }
    return ASSAY_OK;
}

static enum assay_status resolve_dtypes(struct assay_sweep *sweep, struct assay_error *err)
{
    const struct assay_strings *named = &sweep->config->dtypes;
    if (named->n == 0)
        sweep->dtypes[sweep->n_dtypes++] = ASSAY_DTYPE_F32;
    for (int64_t i = 0; i < named->n && sweep->n_dtypes < ASSAY_SWEEP_DTYPES; i++) {
        enum assay_dtype dtype;
        enum assay_status status = assay_dtype_parse(named->items[i], &dtype, err);
        if (status == ASSAY_OK)
            status = check_dtype(sweep, dtype, err);
        if (status != ASSAY_OK)
            return status;
        sweep->dtypes[sweep->n_dtypes++] = dtype;
    }
    return ASSAY_OK;
}

static enum assay_status resolve_recipes(struct assay_sweep *sweep, struct assay_error *err)
{
    const struct assay_strings *named = &sweep->config->recipes;
    if (named->n == 0)
        return ASSAY_OK;
    for (int64_t i = 0; i < sweep->n_ops; i++)
        if (!sweep->ops[i]->takes_recipes)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                   "--recipe says how weights are stored, and %s has none; linear "
                                   "does",
                                   sweep->ops[i]->name);
    sweep->recipes.trains = true;
    for (int64_t i = 0; i < sweep->n_ops; i++)
        sweep->recipes.trains &= sweep->ops[i]->trains;
    enum assay_status status = assay_recipe_list_add(&sweep->recipes, "baseline", err);
    for (int64_t i = 0; i < named->n && status == ASSAY_OK; i++)
        status = assay_recipe_list_add(&sweep->recipes, named->items[i], err);
    return status;
}

static enum assay_status read_shapes(struct assay_sweep *sweep, struct assay_error *err)
{
    const struct assay_strings *shapes = &sweep->config->shapes, *sets = &sweep->config->shape_sets;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < shapes->n && status == ASSAY_OK; i++)
        status = assay_shapes_add_text(&sweep->shapes, shapes->items[i], err);
    for (int64_t i = 0; i < sets->n && status == ASSAY_OK; i++) {
        int64_t first = 0;
        while (!assay_text_same(sets->items[first], sets->items[i]))
            first++;
        if (first == i) /* a set that is named twice counts once */
            status = assay_shapes_add_set(&sweep->shapes, sets->items[i], err);
    }
    return status;
}

static enum assay_status read_axes(struct assay_sweep *sweep, struct assay_error *err)
{
    const struct assay_bench_config *c = sweep->config;
    enum assay_status status =
        assay_axis_parse("batch", c->batch ? c->batch : ASSAY_SWEEP_BATCH, &sweep->axes[0], err);
    if (status == ASSAY_OK)
        status = assay_axis_parse("seq", c->seq ? c->seq : ASSAY_SWEEP_SEQ, &sweep->axes[1], err);
    if (status == ASSAY_OK)
        status = assay_axis_parse("dim", c->dim ? c->dim : ASSAY_SWEEP_DIM, &sweep->axes[2], err);
    return status;
}

/* ---- do the options fit the ops? ---------------------------------------------------------- */

static const char *axis_option(const struct assay_bench_config *c)
{
    return c->batch ? "--batch" : c->seq ? "--seq" : c->dim ? "--dim" : NULL;
}

/* "1024,1024,1024": a shape whose sizes are separated as shapes are. */
static bool is_one_shape(const struct assay_strings *shapes, const struct assay_op *op, char *text,
                         size_t size)
{
    size_t used = 0;
    bool one = shapes->n > 1 && shapes->n == assay_op_axes(op);
    for (int64_t i = 0; i < shapes->n && one && used < size; i++) {
        one = strspn(shapes->items[i], "0123456789") == strlen(shapes->items[i]);
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "x" : "", shapes->items[i]);
    }
    return one;
}

static enum assay_status check_shape(const struct assay_sweep *sweep, const struct assay_op *op,
                                     const struct assay_shape *shape, struct assay_error *err)
{
    char order[80], whole[80];
    if (shape->n == assay_op_axes(op))
        return ASSAY_OK;
    if (is_one_shape(&sweep->config->shapes, op, whole, sizeof whole))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "commas separate shapes, and %s takes %s; write %s", op->name,
                               assay_op_order(op, order, sizeof order), whole);
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "%s takes %s%s%s; got %d size%s", op->name,
                           assay_op_order(op, order, sizeof order), op->size_words ? ": " : "",
                           op->size_words ? op->size_words : "", shape->n,
                           shape->n == 1 ? "" : "s");
}

static enum assay_status check_op(const struct assay_sweep *sweep, const struct assay_op *op,
                                  struct assay_error *err)
{
    const struct assay_bench_config *c = sweep->config;
    const char *axis = axis_option(c);
    char order[80];
    assay_op_order(op, order, sizeof order);
    if (axis && !assay_op_is_of_rows(op))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "%s has no such axis as %s; give its sizes with --shape %s",
                               op->name, axis, order);
    if (axis && sweep->shapes.n)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--shape names whole shapes, so there is nothing left for %s", axis);
    if (c->sweep && !assay_op_is_of_rows(op))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--sweep goes over batch, seq and dim, and %s has other axes; give "
                               "its sizes with --shape %s",
                               op->name, order);
    if (c->shape_sets.n && !has_mkn(op))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--shapes are sets of m, k and n, and %s has other axes; give its "
                               "sizes with --shape %s",
                               op->name, order);
    if (!assay_op_is_of_rows(op) && !op->usual_shapes && !sweep->shapes.n)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "%s has no usual shape; give --shape %s", op->name, order);
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < sweep->shapes.n && status == ASSAY_OK; i++)
        status = check_shape(sweep, op, &sweep->shapes.items[i], err);
    return status;
}

static double groups_of(const struct assay_sweep *sweep, const struct assay_op *op)
{
    double groups = (double)sweep->n_dtypes;
    if (sweep->config->modes.n)
        groups *= (double)sweep->config->modes.n;
    if (sweep->shapes.n)
        return groups * (double)sweep->shapes.n;
    if (sweep->is_usual && assay_op_is_of_rows(op))
        return groups * (double)(USUAL_ROWS * USUAL_DIMS);
    for (int i = 0; i < 3 && assay_op_is_of_rows(op); i++)
        groups *= (double)sweep->axes[i].n;
    return groups;
}

/* Three axes of a few thousand sizes each are quickly written and never measured. */
static enum assay_status check_groups(const struct assay_sweep *sweep, struct assay_error *err)
{
    double groups = 0;
    for (int64_t i = 0; i < sweep->n_ops; i++)
        groups += groups_of(sweep, sweep->ops[i]);
    if (groups <= ASSAY_SWEEP_GROUPS)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "these lists make %.0f groups; a run takes %d at the most", groups,
                           ASSAY_SWEEP_GROUPS);
}

/* Combinations of batch, seq and dim, of which some may be larger than anyone meant; a single one
 * and whole shapes are what was asked for. */
static bool is_sweep(const struct assay_sweep *sweep)
{
    const struct assay_bench_config *c = sweep->config;
    return !c->shapes.n && !c->shape_sets.n &&
           sweep->axes[0].n * sweep->axes[1].n * sweep->axes[2].n > 1;
}

static enum assay_status check_sweep(const struct assay_bench_config *c, struct assay_error *err)
{
    if (!c->sweep || (!c->shapes.n && !c->shape_sets.n))
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "--sweep is every batch, seq and dim; leave out --%s",
                           c->shapes.n ? "shape" : "shapes");
}

enum assay_status assay_sweep_init(struct assay_sweep *sweep, const struct assay_bench_config *c,
                                   struct assay_error *err)
{
    *sweep = (struct assay_sweep){.config = c};
    bool no_sizes = !axis_option(c) && !c->shapes.n && !c->shape_sets.n && !c->sweep;
    sweep->is_tour = c->ops.n == 0 && no_sizes;
    sweep->is_usual = c->ops.n > 0 && no_sizes;
    enum assay_status status = check_sweep(c, err);
    if (status == ASSAY_OK)
        status = resolve_ops(sweep, err);
    if (status == ASSAY_OK)
        status = resolve_dtypes(sweep, err);
    if (status == ASSAY_OK)
        status = resolve_recipes(sweep, err);
    if (status == ASSAY_OK)
        status = read_shapes(sweep, err);
    if (status == ASSAY_OK)
        status = read_axes(sweep, err);
    if (status == ASSAY_OK)
        sweep->max_elements = c->max_elements >= 0 ? c->max_elements
                              : is_sweep(sweep)    ? DEFAULT_MAX_ELEMENTS
                                                   : 0;
    for (int64_t i = 0; i < sweep->n_ops && status == ASSAY_OK; i++)
        status = check_op(sweep, sweep->ops[i], err);
    return status == ASSAY_OK ? check_groups(sweep, err) : status;
}

void assay_sweep_fini(struct assay_sweep *sweep)
{
    for (int i = 0; i < 3; i++)
        assay_axis_fini(&sweep->axes[i]);
    assay_shapes_fini(&sweep->shapes);
}

/* ---- the groups --------------------------------------------------------------------------- */

static int64_t largest_input(const struct assay_problem *problem)
{
    int64_t most = 0;
    for (int32_t i = 0; i < problem->n_inputs; i++) {
        int64_t count = assay_tensor_count(&problem->inputs[i]);
        most = count > most ? count : most;
    }
    return most;
}

enum assay_status assay_sweep_add_group(const struct assay_sweep_part *part, const int64_t *axes,
                                        const char *label, struct assay_error *err)
{
    const struct assay_sweep *sweep = part->sweep;
    struct assay_problem problem;
    enum assay_status status =
        assay_op_problem(part->op, part->dtype, part->mode, axes, 1, &problem, err);
    if (status == ASSAY_OK && has_mkn(part->op) && !part->op->trains)
        status = assay_recipe_list_fits(&sweep->recipes, part->op->name, part->dtype, axes, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_group group = {.dtype = part->dtype, .n_axes = problem.n_axes};
    snprintf(group.op, sizeof group.op, "%s", part->op->name);
    snprintf(group.mode, sizeof group.mode, "%s", part->mode);
    snprintf(group.label, sizeof group.label, "%s", label);
    memcpy(group.axes, axes, (size_t)problem.n_axes * sizeof *axes);
    group.over_limit = sweep->max_elements > 0 && largest_input(&problem) > sweep->max_elements;
    if (assay_plan_add(part->plan, &group) != ASSAY_OK)
        return assay_error_nomem(err);
    return ASSAY_OK;
}

static enum assay_status add_product(const struct assay_sweep_part *part, struct assay_error *err)
{
    const struct assay_axis *a = part->sweep->axes;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < a[0].n; i++)
        for (int64_t j = 0; j < a[1].n; j++)
            for (int64_t k = 0; k < a[2].n && status == ASSAY_OK; k++) {
                int64_t axes[3] = {a[0].values[i], a[1].values[j], a[2].values[k]};
                status = assay_sweep_add_group(part, axes, "", err);
            }
    return status;
}

static enum assay_status add_tour(const struct assay_sweep_part *part, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (size_t i = 0; i < sizeof tour_shapes / sizeof tour_shapes[0] && status == ASSAY_OK; i++)
        status = assay_sweep_add_group(part, tour_shapes[i], "", err);
    return status;
}

static enum assay_status add_usual_rows(const struct assay_sweep_part *part,
                                        struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int i = 0; i < USUAL_ROWS; i++)
        for (int k = 0; k < USUAL_DIMS && status == ASSAY_OK; k++) {
            int64_t axes[3] = {usual_rows[i][0], usual_rows[i][1], usual_dims[k]};
            status = assay_sweep_add_group(part, axes, "", err);
        }
    return status;
}

static enum assay_status add_list(const struct assay_sweep_part *part,
                                  const struct assay_shapes *shapes, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < shapes->n && status == ASSAY_OK; i++)
        status = assay_sweep_add_group(part, shapes->items[i].sizes, shapes->items[i].label, err);
    return status;
}

static enum assay_status add_usual(const struct assay_sweep_part *part, struct assay_error *err)
{
    struct assay_strings texts = {0};
    struct assay_shapes shapes = {0};
    enum assay_status status = assay_strings_split(&texts, part->op->usual_shapes);
    if (status != ASSAY_OK)
        assay_error_set(err, status, NULL, "out of memory");
    for (int64_t i = 0; i < texts.n && status == ASSAY_OK; i++)
        status = assay_shapes_add_text(&shapes, texts.items[i], err);
    if (status == ASSAY_OK)
        status = add_list(part, &shapes, err);
    assay_strings_fini(&texts);
    assay_shapes_fini(&shapes);
    return status;
}

static enum assay_status add_part(const struct assay_sweep_part *part, struct assay_error *err)
{
    if (strlen(part->mode) >= sizeof((struct assay_group *)0)->mode)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "no op has a mode \"%.100s\"",
                               part->mode);
    if (part->sweep->shapes.n)
        return add_list(part, &part->sweep->shapes, err);
    if (!assay_op_is_of_rows(part->op))
        return add_usual(part, err);
    if (part->sweep->is_usual)
        return add_usual_rows(part, err);
    return part->sweep->is_tour ? add_tour(part, err) : add_product(part, err);
}

/* Every mode that was named, or the op's usual one. */
static enum assay_status add_modes(struct assay_sweep_part *part, struct assay_error *err)
{
    const struct assay_strings *modes = &part->sweep->config->modes;
    const char *usual_mode = part->op->usual_mode ? part->op->usual_mode : "";
    const char *const *each = part->op->step_modes;
    enum assay_status status = ASSAY_OK;
    part->mode = usual_mode;
    if (modes->n == 0 && !(each && assay_sweep_is_of_steps(part->sweep)))
        return add_part(part, err);
    for (; modes->n == 0 && *each && status == ASSAY_OK; each++) {
        part->mode = *each;
        status = add_part(part, err);
    }
    for (int64_t i = 0; i < modes->n && status == ASSAY_OK; i++) {
        int64_t first = 0;
        while (!assay_text_same(modes->items[first], modes->items[i]))
            first++;
        bool plain = !usual_mode[0] && assay_text_same(modes->items[i], "none");
        part->mode = plain ? "" : modes->items[i];
        if (first == i)
            status = add_part(part, err);
    }
    return status;
}

enum assay_status assay_sweep_plan(const struct assay_sweep *sweep, struct assay_plan *plan,
                                   struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    plan->max_elements = sweep->max_elements;
    for (int64_t i = 0; i < sweep->n_ops; i++)
        for (int64_t k = 0; k < sweep->n_dtypes && status == ASSAY_OK; k++) {
            struct assay_sweep_part part = {sweep, plan, sweep->ops[i], sweep->dtypes[k], ""};
            status = add_modes(&part, err);
        }
    return status == ASSAY_OK ? assay_sweep_add_casts(sweep, plan, err) : status;
}
