/* linear_product.c: see linear_product.h. Every element of y is summed by one thread in one order,
 * and every scale is the greatest magnitude of its scope, whoever found it: a number of threads
 * always gives the same bits. */
#include "kernel/native/linear/linear_product.h"

#include <string.h>

enum { ALIGN = 64 };

static bool casts(struct assay_cast cast) { return cast.code != ASSAY_DTYPE_NONE; }

/* Codes are exact in bf16; a product with an operand that is not cast is one of its type. */
static enum assay_dtype type_of(const struct linear_product_job *job)
{
    return casts(job->a) && casts(job->b) ? ASSAY_DTYPE_BF16 : job->dtype;
}

static const struct linear_body *body_of(const struct linear_product_job *job,
                                         const struct linear_product_body *body)
{
    enum assay_dtype type = type_of(job);
    return type == ASSAY_DTYPE_BF16 ? body->bf16 : type == ASSAY_DTYPE_F16 ? body->f16 : body->f32;
}

struct linear_product_job linear_product_job_of(const struct assay_problem *problem,
                                                const struct assay_recipe *recipe,
                                                enum assay_training_product product)
{
    int64_t m = problem->axes[ASSAY_LINEAR_M], k = problem->axes[ASSAY_LINEAR_K],
            n = problem->axes[ASSAY_LINEAR_N];
    bool output = product == ASSAY_PRODUCT_OUTPUT, dw = product == ASSAY_PRODUCT_WEIGHT_GRADIENT;
    return (struct linear_product_job){
        .m = dw ? n : m,
        .k = output ? k
             : dw   ? m
                    : n,
        .n = output ? n : k,
        .a_turned = dw,
        .b_turned = !output,
        .a = assay_recipe_cast(recipe, product,
                               output ? ASSAY_OPERAND_INPUT : ASSAY_OPERAND_GRADIENT),
        .b = assay_recipe_cast(recipe, product, dw ? ASSAY_OPERAND_INPUT : ASSAY_OPERAND_WEIGHT),
        .dtype = problem->dtype,
        .threads = problem->threads,
    };
}

enum assay_status linear_products_can_run(const struct assay_problem *problem,
                                          const struct linear_product_body *body,
                                          const enum assay_training_product *products, int n,
                                          int64_t least_rows, struct assay_error *why)
{
    struct assay_recipe recipe;
    bool any = body->bf16 == body->f32;
    enum assay_status status = assay_recipe_parse(problem->recipe, &recipe, why);
    if (status == ASSAY_OK)
        status = assay_recipe_trains(&recipe, why);
    if (status != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    for (int i = 0; i < n; i++) {
        struct linear_product_job job = linear_product_job_of(problem, &recipe, products[i]);
        if (job.m < least_rows)
            return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                                   "for products of %lld rows and more", (long long)least_rows);
        any |= body_of(&job, body) != body->f32;
    }
    return any ? ASSAY_OK
               : assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "%s has too many bits for bf16",
                                 assay_dtype_name(problem->dtype));
}

enum assay_status linear_product_create(const struct linear_product_job *job,
                                        const struct linear_product_body *body,
                                        struct linear_product *out, struct assay_error *err)
{
    const struct linear_inputs none = {-1, -1, -1};
    *out = (struct linear_product){.job = *job,
                                   .body = body,
                                   .type = type_of(job),
                                   .packed = linear_packed_columns(type_of(job), job->n, job->k)};
    struct linear_job plain = {.m = job->m,
                               .k = job->k,
                               .n = job->n,
                               .dtype = out->type,
                               .y_dtype = job->dtype,
                               .columns = job->a_turned};
    enum assay_status status = assay_recipe_parse(NULL, &plain.recipe, err);
    return status == ASSAY_OK ? assay_linear_create(&plain, &none, job->threads, body_of(job, body),
                                                    &out->state, err)
                              : status;
}

void linear_product_fini(struct linear_product *product)
{
    assay_linear_teardown(product->state);
    product->state = NULL;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static size_t take(size_t *used, bool wanted, size_t bytes)
{
    size_t at = *used;
    *used += wanted ? (bytes + ALIGN - 1) / ALIGN * ALIGN : 0;
    return at;
}

static size_t floats(int64_t n)
{
    return (size_t)assay_round_up(n, ASSAY_PANEL_ROWS) * sizeof(float);
}

/* Where things lie, from `memory` on; NULL: only how many bytes that is. */
static size_t place(struct linear_product *p, unsigned char *memory)
{
    const struct linear_product_job *job = &p->job;
    bool a = casts(job->a), b = casts(job->b);
    int64_t most = assay_max(assay_max(job->m, job->n), job->k); /* of any rows or columns */
    size_t used = 0;
    size_t codes = take(&used, a, (size_t)(job->m * job->k) * assay_dtype_bytes(p->type));
    size_t panels =
        take(&used, true, (size_t)p->packed.panels * assay_packed_panel_bytes(&p->packed));
    size_t a_scales = take(&used, a, floats(job->m)), a_inverses = take(&used, a, floats(job->m));
    size_t b_scales = take(&used, b, floats(job->n)), b_inverses = take(&used, b, floats(job->n));
    size_t amax = take(&used, a || b, floats(most));
    if (!memory)
        return used;
    p->codes = a ? memory + codes : NULL;
    p->packed.codes = memory + panels;
    p->a_scales = a ? (float *)(void *)(memory + a_scales) : NULL;
    p->a_inverses = a ? (float *)(void *)(memory + a_inverses) : NULL;
    p->packed.row_scales = b ? (float *)(void *)(memory + b_scales) : NULL;
    p->b_inverses = b ? (float *)(void *)(memory + b_inverses) : NULL;
    p->amax = (float *)(void *)(memory + amax);
    return used;
}

size_t linear_product_bytes(const struct linear_product *product)
{
    struct linear_product copy = *product;
    return product->state ? place(&copy, NULL) : 0;
}

void linear_product_place(struct linear_product *product, unsigned char *memory)
{
    if (product->state)
        place(product, memory);
}

/* ---- scales -----------------------------------------------------------------------------------
 */

static int64_t share(const struct linear_product *p, int64_t n, int64_t quantum, int64_t t)
{
    return linear_share(n, quantum, p->job.threads, t);
}

/* The greatest magnitude of each row, or of each column. */
static void find_amax(const struct linear_product *p, const struct linear_matrix *from,
                      bool columns)
{
    int64_t n = columns ? from->columns : from->rows;
#pragma omp parallel for schedule(static) num_threads(p->job.threads)
    for (int64_t t = 0; t < p->job.threads; t++) {
        int64_t first = share(p, n, ASSAY_PANEL_ROWS, t),
                end = share(p, n, ASSAY_PANEL_ROWS, t + 1);
        if (first < end)
            (columns ? p->body->column_amax : p->body->row_amax)(from, first, end, p->amax);
    }
}

static float greatest(const float *amax, int64_t n)
{
    float most = 0;
    for (int64_t i = 0; i < n && !isnan(most); i++)
        most = amax[i] <= most ? most : amax[i];
    return most;
}

/* One scale for each of the product's rows or columns, n of them, whatever shares it. */
static void find_scales(const struct linear_product *p, struct assay_cast cast,
                        const struct linear_matrix *from, int64_t n, float *scales, float *inverses)
{
    bool tensor = cast.scope == ASSAY_SCOPE_TENSOR;
    find_amax(p, from, cast.scope == ASSAY_SCOPE_COLUMN);
    float whole = tensor ? assay_quant_scale(cast.code, greatest(p->amax, from->rows)) : 0;
    for (int64_t i = 0; i < n; i++) {
        scales[i] = tensor ? whole : assay_quant_scale(cast.code, p->amax[i]);
        inverses[i] = 1.0f / scales[i];
    }
}

/* ---- the call ---------------------------------------------------------------------------------
 */

static struct linear_matrix matrix(const struct linear_product *p, const void *data, int64_t rows,
                                   bool turned)
{
    int64_t k = p->job.k;
    return (struct linear_matrix){data, turned ? k : rows, turned ? rows : k, p->job.dtype};
}

static void cast_a(const struct linear_product *p, const void *a)
{
    struct linear_matrix from = matrix(p, a, p->job.m, p->job.a_turned);
    struct linear_cast cast = {p->job.a.code, p->type, p->job.a_turned, p->a_inverses};
    find_scales(p, p->job.a, &from, p->job.m, p->a_scales, p->a_inverses);
#pragma omp parallel for schedule(static) num_threads(p->job.threads)
    for (int64_t t = 0; t < p->job.threads; t++)
        p->body->cast(&from, &cast, share(p, from.rows, 1, t), share(p, from.rows, 1, t + 1),
                      p->codes);
}

static void pack_b(const struct linear_product *p, const void *b)
{
    struct linear_matrix from = matrix(p, b, p->job.n, p->job.b_turned);
    struct linear_cast cast = {p->job.b.code, p->type, p->job.b_turned, p->b_inverses};
    if (casts(p->job.b))
        find_scales(p, p->job.b, &from, p->job.n, p->packed.row_scales, p->b_inverses);
#pragma omp parallel for schedule(static) num_threads(p->job.threads)
    for (int64_t t = 0; t < p->job.threads; t++)
        (p->job.b_turned ? p->body->pack_columns : p->body->pack_rows)(
            &from, &cast, &p->packed, linear_panel_share(p->job.n, p->job.threads, t),
            linear_panel_share(p->job.n, p->job.threads, t + 1));
}

/* The codes of one scale for all of A are the same in both of its products. */
static bool has_codes(const struct linear_product *p, const struct linear_product *before)
{
    return before && before->codes && p->job.a.scope == ASSAY_SCOPE_TENSOR &&
           before->job.a.scope == ASSAY_SCOPE_TENSOR && before->type == p->type;
}

static void make_ready(const struct linear_product *p, const void *a, const void *b,
                       const struct linear_product *before)
{
    if (casts(p->job.a) && has_codes(p, before)) {
        float scale = before->a_scales[0];
        for (int64_t i = 0; i < p->job.m; i++)
            p->a_scales[i] = scale;
    } else if (casts(p->job.a))
        cast_a(p, a);
    pack_b(p, b);
}

void linear_product_cast(const struct linear_product *p, const void *a, const void *b,
                         const struct linear_product *before)
{
    if (casts(p->job.a) || casts(p->job.b))
        make_ready(p, a, b, before);
}

void linear_product_run(const struct linear_product *p, const void *a, const void *b,
                        const void *bias, void *y, const struct linear_product *before)
{
    make_ready(p, a, b, before);
    struct linear_call call = {.x = p->codes ? p->codes : a,
                               .bias = bias,
                               .w = &p->packed,
                               .x_scales = p->a_scales,
                               .y = y};
    assay_linear_multiply(p->state, call);
}
