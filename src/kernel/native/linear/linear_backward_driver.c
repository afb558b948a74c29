/* linear_backward_driver.c: assay's own kernels of `linear_backward`: what is packed when, and the
 * two products. Every element of an output is summed by one thread in one order, so a number of
 * threads always gives the same bits. */
#include "kernel/native/linear/linear_backward_native.h"

#include "base/alloc.h"

/* One product: its state in linear_driver.c, and the weights in a layout whose memory both
 * products use, one after the other. */
struct product {
    void *state; /* NULL: the mode leaves it out */
    struct assay_packed packed;
};

struct state {
    const struct linear_backward_body *body;
    int64_t m, k, n;
    enum assay_dtype dtype;
    int32_t threads, x, w, dx, dw, dbias; /* inputs and outputs; -1: there is none */
    struct product data, weights;         /* of dX, of dW */
    unsigned char *panels;                /* the packed weights */
    void *panels_block;
};

enum assay_status assay_linear_backward_can_run(const struct assay_problem *problem, uint32_t isa,
                                                int64_t least_rows, struct assay_error *why)
{
    enum assay_status status = assay_cpu_need(isa, why);
    if (status != ASSAY_OK || !problem)
        return status;
    int64_t m = problem->axes[ASSAY_LINEAR_M], n = problem->axes[ASSAY_LINEAR_N];
    bool dx = assay_linear_backward_output(problem, ASSAY_LINEAR_DX) >= 0;
    bool dw = assay_linear_backward_output(problem, ASSAY_LINEAR_DW) >= 0;
    if ((dx && m < least_rows) || (dw && n < least_rows))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "for products of %lld rows and more",
                               (long long)least_rows);
    return ASSAY_OK;
}

static size_t packed_bytes(const struct assay_packed *packed)
{
    return (size_t)packed->panels * assay_packed_panel_bytes(packed);
}

/* The job's rows times packed columns: [m, k] and [k, n] of the product's own sizes. */
static enum assay_status make_product(struct state *s, struct linear_job job, struct product *out,
                                      struct assay_error *err)
{
    const struct linear_inputs none = {-1, -1, -1};
    job.dtype = s->dtype;
    out->packed = linear_packed_columns(s->dtype, job.n, job.k);
    enum assay_status status = assay_recipe_parse(NULL, &job.recipe, err);
    return status == ASSAY_OK
               ? assay_linear_create(&job, &none, s->threads, s->body->products, &out->state, err)
               : status;
}

static enum assay_status make_memory(struct state *s, struct assay_error *err)
{
    size_t data = s->data.state ? packed_bytes(&s->data.packed) : 0;
    size_t weights = s->weights.state ? packed_bytes(&s->weights.packed) : 0;
    s->panels = assay_linear_memory(data > weights ? data : weights, &s->panels_block);
    s->data.packed.codes = s->weights.packed.codes = s->panels;
    return s->panels ? ASSAY_OK : assay_error_nomem(err);
}

enum assay_status assay_linear_backward_setup(const struct assay_problem *problem,
                                              const struct linear_backward_body *body, void **state,
                                              struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    *s = (struct state){
        .body = body,
        .m = problem->axes[ASSAY_LINEAR_M],
        .k = problem->axes[ASSAY_LINEAR_K],
        .n = problem->axes[ASSAY_LINEAR_N],
        .dtype = problem->dtype,
        .threads = problem->threads,
        .x = assay_linear_backward_input(problem, ASSAY_LINEAR_OPERAND_X),
        .w = assay_linear_backward_input(problem, ASSAY_LINEAR_OPERAND_W),
        .dx = assay_linear_backward_output(problem, ASSAY_LINEAR_DX),
        .dw = assay_linear_backward_output(problem, ASSAY_LINEAR_DW),
        .dbias = assay_linear_backward_output(problem, ASSAY_LINEAR_DBIAS),
    };
    enum assay_status status = ASSAY_OK;
    if (s->dx >= 0)
        status =
            make_product(s, (struct linear_job){.m = s->m, .k = s->n, .n = s->k}, &s->data, err);
    if (status == ASSAY_OK && s->dw >= 0)
        status =
            make_product(s, (struct linear_job){.m = s->n, .k = s->m, .n = s->k, .columns = true},
                         &s->weights, err);
    if (status == ASSAY_OK)
        status = make_memory(s, err);
    if (status == ASSAY_OK)
        *state = s;
    else
        assay_linear_backward_teardown(s);
    return status;
}

void assay_linear_backward_teardown(void *state)
{
    struct state *s = state;
    assay_linear_teardown(s->data.state);
    assay_linear_teardown(s->weights.state);
    assay_free(s->panels_block);
    assay_free(s);
}

/* Where share t of the panels of `columns` begins: at a multiple of four, a line of 16 bits. */
static int64_t share_start(const struct state *s, int64_t columns, int64_t t)
{
    int64_t panels = (columns + ASSAY_PANEL_ROWS - 1) / ASSAY_PANEL_ROWS, fours = (panels + 3) / 4;
    int64_t start = fours * t / s->threads * 4;
    return start < panels ? start : panels;
}

static void pack(const struct state *s, const void *data, const struct product *product)
{
    struct linear_matrix from = {data, product->packed.k, product->packed.n, s->dtype};
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t t = 0; t < s->threads; t++)
        s->body->pack(&from, &product->packed, share_start(s, from.columns, t),
                      share_start(s, from.columns, t + 1));
}

static void sum(const struct state *s, const void *dy, void *dbias)
{
    struct linear_matrix from = {dy, s->m, s->n, s->dtype};
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t t = 0; t < s->threads; t++)
        s->body->sums(&from, dbias, share_start(s, s->n, t), share_start(s, s->n, t + 1));
}

enum assay_status assay_linear_backward_run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        const void *dy = args->in[ASSAY_LINEAR_OPERAND_DY];
        if (s->dx >= 0) {
            pack(s, args->in[s->w], &s->data);
            assay_linear_multiply(s->data.state, dy, &s->data.packed, args->out[s->dx]);
        }
        if (s->dw >= 0) {
            pack(s, args->in[s->x], &s->weights);
            assay_linear_multiply(s->weights.state, dy, &s->weights.packed, args->out[s->dw]);
        }
        if (s->dbias >= 0)
            sum(s, dy, args->out[s->dbias]);
    }
    return ASSAY_OK;
}
