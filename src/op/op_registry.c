/* op_registry.c: the registry of ops, and the functions that serve any of them. */
#include "op/op.h"

#include "base/rng.h"
#include "base/suggest.h"
#include "base/text.h"
#include "op/op_name.h"

#include <stdio.h>
#include <string.h>

#define ASSAY_OP(n) extern const struct assay_op assay_op_##n;
#include "op/op_list.h"
#undef ASSAY_OP

static const struct assay_op *const ops[] = {
#define ASSAY_OP(n) &assay_op_##n,
#include "op/op_list.h"
#undef ASSAY_OP
};

int64_t assay_op_count(void) { return (int64_t)(sizeof ops / sizeof ops[0]); }

const struct assay_op *assay_op_at(int64_t index) { return ops[index]; }

const struct assay_op *assay_op_find(const char *name)
{
    for (int64_t i = 0; i < assay_op_count(); i++)
        if (strcmp(ops[i]->name, name) == 0)
            return ops[i];
    return NULL;
}

/* Equal up to case, hyphens and underscores: layer_norm, Cross-Entropy. */
static bool same_name(const char *a, const char *b)
{
    char plain[2][64];
    const char *const names[] = {a, b};
    for (int i = 0; i < 2; i++) {
        size_t n = 0;
        for (const char *c = names[i]; *c && n < sizeof plain[i] - 1; c++)
            if (*c != '_' && *c != '-')
                plain[i][n++] = *c;
        plain[i][n] = '\0';
    }
    return plain[0][0] && assay_text_same(plain[0], plain[1]);
}

static bool goes_by(const struct assay_op *op, const char *name)
{
    if (same_name(op->name, name))
        return true;
    for (const char *const *alias = op->aliases; alias && *alias; alias++)
        if (same_name(*alias, name))
            return true;
    return false;
}

static enum assay_status unknown_op(const char *name, struct assay_error *err)
{
    const char *candidates[128];
    int64_t n = 0;
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = ops[i];
        if (n < 120)
            candidates[n++] = op->name;
        for (const char *const *alias = op->aliases; alias && *alias && n < 120; alias++)
            candidates[n++] = *alias;
    }
    char rest[160];
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "unknown op \"%s\"; %s", name,
                           assay_suggest_text(ASSAY_TOPIC_OP, name, candidates, n,
                                              "`assay list ops` shows them all", rest,
                                              sizeof rest));
}

enum assay_status assay_op_resolve(const char *name, const struct assay_op **out, int64_t max,
                                   int64_t *n, struct assay_error *err)
{
    *n = 0;
    for (int64_t i = 0; i < assay_op_count() && *n < max; i++)
        if (goes_by(ops[i], name))
            out[(*n)++] = ops[i];
    return *n ? ASSAY_OK : unknown_op(name, err);
}

int32_t assay_op_axes(const struct assay_op *op)
{
    int32_t n = 0;
    while (n < ASSAY_MAX_AXES && op->axis_names[n])
        n++;
    return n;
}

bool assay_op_is_of_rows(const struct assay_op *op)
{
    static const char *const names[] = {"batch", "seq", "dim"};
    for (int i = 0; i < 3; i++)
        if (!op->axis_names[i] || strcmp(op->axis_names[i], names[i]) != 0)
            return false;
    return assay_op_axes(op) == 3;
}

const char *assay_op_order(const struct assay_op *op, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < assay_op_axes(op) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "x" : "", op->axis_names[i]);
    for (char *c = text; *c; c++) /* the x between them stays small */
        if (*c != 'x' && *c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    return text;
}

const char *assay_op_sample_shapes(const struct assay_op *op)
{
    if (assay_op_is_of_rows(op) && !op->sample_shapes)
        return "1x1x4096,3x17x1000,4x512x1024,16x512x768";
    return op->sample_shapes ? op->sample_shapes : op->usual_shapes;
}

const char *assay_op_skeleton_shapes(const struct assay_op *op)
{
    if (assay_op_is_of_rows(op) && !op->skeleton.shapes)
        return "8x128x512, 3x5x77";
    return op->skeleton.shapes ? op->skeleton.shapes : op->usual_shapes;
}

const char *assay_op_shown(const char *op)
{
    static const char *const prefixes[] = {ASSAY_MODEL_PREFIX, ASSAY_WORKLOAD_PREFIX};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(op, prefixes[i], strlen(prefixes[i])) == 0)
            return op + strlen(prefixes[i]);
    return op;
}

static enum assay_status check_size(const struct assay_tensor *tensor, const char *op,
                                    struct assay_error *err)
{
    if (assay_tensor_bytes(tensor) > (size_t)INT64_MAX / 8)
        return assay_error_set(err, ASSAY_ERR_INVALID, assay_op_shown(op),
                               "these sizes make a tensor too large for any machine");
    return ASSAY_OK;
}

bool assay_op_has_dtype(const struct assay_op *op, enum assay_dtype dtype)
{
    uint64_t usual = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F64) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) |
                     ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16);
    return ((op->dtypes ? op->dtypes : usual) & ASSAY_DTYPE_BIT(dtype)) != 0;
}

static enum assay_status set_mode(const struct assay_op *op, struct assay_problem *problem,
                                  const char *mode, struct assay_error *err)
{
    bool usual = !mode || !mode[0];
    if (op->set_mode)
        return op->set_mode(problem, usual ? "" : mode, err);
    if (usual)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, assay_op_shown(op->name),
                           "has no modes, so no \"%s\"", mode);
}

enum assay_status assay_op_problem(const struct assay_op *op, enum assay_dtype dtype,
                                   const char *mode, const int64_t *axes, int32_t threads,
                                   struct assay_problem *out, struct assay_error *err)
{
    *out = (struct assay_problem){
        .struct_size = sizeof *out,
        .op = op->name,
        .dtype = dtype,
        .n_axes = assay_op_axes(op),
        .threads = threads < 1 ? 1 : threads,
    };
    if (!assay_op_has_dtype(op, dtype))
        return assay_error_set(err, ASSAY_ERR_INVALID, assay_op_shown(op->name),
                               "does not compute in %s", assay_dtype_name(dtype));
    for (int32_t i = 0; i < out->n_axes; i++) {
        int least = op->zero_axes >> i & 1 ? 0 : 1;
        if (axes[i] < least)
            return assay_error_set(err, ASSAY_ERR_INVALID, assay_op_shown(op->name),
                                   "%s must be at least %d, not %lld", op->axis_names[i], least,
                                   (long long)axes[i]);
        out->axes[i] = axes[i];
    }
    while (out->n_params < ASSAY_MAX_PARAMS && op->param_names[out->n_params]) {
        out->params[out->n_params] = op->params[out->n_params];
        out->n_params++;
    }
    enum assay_status status = set_mode(op, out, mode, err);
    if (status == ASSAY_OK && op->check)
        status = op->check(out, err);
    if (status != ASSAY_OK)
        return status;
    op->shapes(out);
    if (out->n_outputs == 0) /* a model's graph takes memory */
        return assay_error_nomem(err);
    for (int32_t i = 0; i < out->n_inputs && status == ASSAY_OK; i++)
        status = check_size(&out->inputs[i], op->name, err);
    for (int32_t i = 0; i < out->n_outputs && status == ASSAY_OK; i++)
        status = check_size(&out->outputs[i], op->name, err);
    return status;
}

bool assay_op_is_constant(const struct assay_op *op, const struct assay_problem *problem,
                          int32_t input)
{
    if (op->is_constant)
        return op->is_constant(problem, input);
    return op->is_weight && op->is_weight(problem, input);
}

void assay_op_fill(const struct assay_op *op, const struct assay_problem *problem, int32_t index,
                   void *data, uint64_t seed)
{
    uint64_t own_seed = op->fills_together ? seed : assay_rng_at(seed, (uint64_t)index);
    if (op->fill)
        op->fill(problem, index, data, own_seed);
    else
        assay_tensor_fill_normal(&problem->inputs[index], data, own_seed);
}

void assay_op_reference(const struct assay_op *op, const struct assay_problem *problem,
                        int32_t output, const void *const *in, int64_t row, int64_t first,
                        int64_t n, double *out, double *sizes)
{
    struct assay_op_output first_one = {op->reference, op->reference_sums, op->tolerance};
    const struct assay_op_output *o = output == 0 ? &first_one : &op->more[output - 1];
    if (o->reference_sums && (sizes || !o->reference)) {
        o->reference_sums(problem, in, row, first, n, out, sizes);
        return;
    }
    o->reference(problem, in, row, first, n, out);
    for (int64_t i = 0; i < n && sizes; i++)
        sizes[i] = 0;
}

bool assay_op_has_sums(const struct assay_op *op, int32_t output)
{
    return output == 0 ? op->reference_sums != NULL : op->more[output - 1].reference_sums != NULL;
}

struct assay_tolerance assay_op_tolerance(const struct assay_op *op,
                                          const struct assay_problem *problem, int32_t output)
{
    return output == 0 ? op->tolerance(problem) : op->more[output - 1].tolerance(problem);
}

const char *assay_pass_name(enum assay_pass pass)
{
    static const char *const names[ASSAY_PASSES] = {"forward", "backward", "both", "step"};
    return names[pass];
}

enum assay_pass assay_op_pass(const struct assay_op *op)
{
    return op->gradient ? op->gradient->pass : op->pass;
}

const struct assay_op *assay_op_of_pass(const struct assay_op *forward, enum assay_pass pass)
{
    if (pass == ASSAY_PASS_FORWARD)
        return forward;
    for (int64_t i = 0; i < assay_op_count(); i++)
        if (assay_op_pass(ops[i]) == pass && strcmp(ops[i]->gradient->forward, forward->name) == 0)
            return ops[i];
    return NULL;
}

const struct assay_gradient *assay_op_gradient(const struct assay_op *op,
                                               const struct assay_problem *problem)
{
    const struct assay_gradient *usual = op->gradient, *in_mode = NULL;
    if (usual && usual->in_mode)
        in_mode = usual->in_mode(problem);
    return in_mode ? in_mode : usual;
}

int64_t assay_op_row_length(const struct assay_problem *problem)
{
    const struct assay_tensor *out = &problem->outputs[0];
    return out->rank ? out->dims[out->rank - 1] : 1;
}

int64_t assay_op_rows(const struct assay_problem *problem)
{
    return assay_tensor_count(&problem->outputs[0]) / assay_op_row_length(problem);
}

size_t assay_op_bytes(const struct assay_problem *problem)
{
    size_t bytes = 0;
    for (int32_t i = 0; i < problem->n_inputs; i++)
        bytes += assay_tensor_bytes(&problem->inputs[i]);
    for (int32_t i = 0; i < problem->n_outputs; i++)
        bytes += assay_tensor_bytes(&problem->outputs[i]);
    return bytes;
}
