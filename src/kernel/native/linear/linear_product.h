/* linear_product.h: a product of a training step, y = A B^T: what its operands become before it,
 * all within the timed call, because none of them is a weight.
 *
 * Where a recipe casts an operand, its codes are multiplied as what they are, values with a few
 * bits that bf16 holds exactly, and the scales are applied to the sums: so a product of two cast
 * operands is one in bf16, whatever their type was. Where only one is cast, its codes take the
 * other's type.
 *
 * An operand is read once for its scales, unless it needs none, and once more to be cast. A's codes
 * are written as the operand is stored, and packed by the bodies of `linear`, which turn it where
 * it is stored the other way round. B is cast on its way into panels, so that codes scaled along
 * columns cost no pass of their own. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_PRODUCT_H
#define ASSAY_KERNEL_NATIVE_LINEAR_PRODUCT_H

#include "base/math.h"
#include "kernel/native/linear/linear_bodies.h"

/* The layout of `n` columns of `k` rows as panels; codes are the caller's. */
static inline struct assay_packed linear_packed_columns(enum assay_dtype dtype, int64_t n,
                                                        int64_t k)
{
    int64_t per = dtype == ASSAY_DTYPE_F32 ? 1 : 2;
    return (struct assay_packed){
        .dtype = dtype,
        .code = ASSAY_DTYPE_NONE,
        .n = n,
        .k = k,
        .panels = assay_ceil_div(n, ASSAY_PANEL_ROWS),
        .lines = assay_round_up(assay_ceil_div(k, per), ASSAY_PANEL_LINES),
        .codes_in_dword = per,
    };
}

/* Where share t of n begins: at a multiple of `quantum`. */
static inline int64_t linear_share(int64_t n, int64_t quantum, int32_t threads, int64_t t)
{
    int64_t start = assay_ceil_div(n, quantum) * t / threads * quantum;
    return start < n ? start : n;
}
/* The same of the panels of n columns: at a multiple of four, a line of 16 bits. */
static inline int64_t linear_panel_share(int64_t n, int32_t threads, int64_t t)
{
    return linear_share(assay_ceil_div(n, ASSAY_PANEL_ROWS), 4, threads, t);
}

/* How elements become codes, in the type they are multiplied in. */
struct linear_cast {
    enum assay_dtype code; /* NONE: they stay */
    enum assay_dtype to;   /* the type of the codes' values */
    bool columns;          /* there is a scale for each column, not for each row */
    const float *inverses; /* of the scales; readable up to the next multiple of 16 */
};

/* One instruction set's way. Panels are of 16 rows of B, the last one perhaps of fewer. */
struct linear_product_body {
    /* Of products in these types. A kernel is there for those that are not as in f32. */
    const struct linear_body *bf16, *f16, *f32;
    /* The greatest magnitude of rows [row, row_end), of columns [column, column_end): one for each,
     * from amax[row] or amax[column] on. NaN where there is one. */
    void (*row_amax)(const struct linear_matrix *from, int64_t row, int64_t row_end, float *amax);
    void (*column_amax)(const struct linear_matrix *from, int64_t column, int64_t column_end,
                        float *amax);
    /* Rows [row, row_end) cast, to where they lie in `to`. */
    void (*cast)(const struct linear_matrix *from, const struct linear_cast *cast, int64_t row,
                 int64_t row_end, void *to);
    /* Columns, or rows, [16 panel, 16 panel_end) of `from`, cast, as panels of to->codes. */
    void (*pack_columns)(const struct linear_matrix *from, const struct linear_cast *cast,
                         const struct assay_packed *to, int64_t panel, int64_t panel_end);
    void (*pack_rows)(const struct linear_matrix *from, const struct linear_cast *cast,
                      const struct assay_packed *to, int64_t panel, int64_t panel_end);
    /* The sums of columns [16 panel, 16 panel_end), in an order that depends on nothing but the
     * rows. */
    void (*sums)(const struct linear_matrix *from, void *to, int64_t panel, int64_t panel_end);
};

/* y [m, n] is the sum over k. */
struct linear_product_job {
    int64_t m, k, n;
    bool a_turned, b_turned; /* A is stored [k, m], not [m, k]; B [k, n], not [n, k] */
    struct assay_cast a, b;  /* as the recipe has it for the operands as they are stored */
    enum assay_dtype dtype;  /* of A, B, y and bias */
    int32_t threads;
};

struct linear_product {
    struct linear_product_job job;
    const struct linear_product_body *body;
    enum assay_dtype type; /* what is multiplied */
    void *state;           /* linear_driver.c; NULL: there is no such product */
    struct assay_packed packed;
    /* In the memory of linear_product_place. */
    void *codes; /* A's; NULL where A stays */
    float *a_scales, *a_inverses, *b_inverses, *amax;
};

/* A product of a problem's training step; `problem` is one of linear_training or linear_backward.
 */
struct linear_product_job linear_product_job_of(const struct assay_problem *problem,
                                                const struct assay_recipe *recipe,
                                                enum assay_training_product product);
/* What both ops' can_run ask: is the recipe one of training, is any product of a type that the body
 * is there for, and are there so many rows? ASSAY_OK, or ASSAY_UNSUPPORTED with the reason. */
enum assay_status linear_products_can_run(const struct assay_problem *problem,
                                          const struct linear_product_body *body,
                                          const enum assay_training_product *products, int n,
                                          int64_t least_rows, struct assay_error *why);
enum assay_status linear_product_create(const struct linear_product_job *job,
                                        const struct linear_product_body *body,
                                        struct linear_product *out, struct assay_error *err);
void linear_product_fini(struct linear_product *product);

/* The memory a product needs in its call; several products may have the same, aligned to 64 bytes.
 * A product's codes of A come first. */
size_t linear_product_bytes(const struct linear_product *product);
void linear_product_place(struct linear_product *product, unsigned char *memory);

/* What comes before the product, where operands are cast: scales, codes, panels; nothing where none
 * is. `before`: a product of the same A whose codes are still there; or NULL. */
void linear_product_cast(const struct linear_product *product, const void *a, const void *b,
                         const struct linear_product *before);
/* Casts, packs and multiplies. */
void linear_product_run(const struct linear_product *product, const void *a, const void *b,
                        const void *bias, void *y, const struct linear_product *before);

#endif
