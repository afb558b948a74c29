/* quant.h: recipes: how a linear's weights are stored, and what happens to its activations.
 *
 * A recipe is one file src/quant/NAME.c that defines `const struct assay_quant assay_quant_NAME`
 * and the line ASSAY_QUANT(NAME) in quant_list.h. docs/recipes.md has every formula.
 *
 * Packed weights, for all recipes alike. W is [n, k]; 16 rows of it (16 outputs) make a panel, the
 * last panel filled up with zeros. Within a panel, a line of 64 bytes holds 4 bytes for each of the
 * 16 rows: one f32, two 16-bit, four 8-bit or eight 4-bit codes that follow each other along k, the
 * first in the low bits. Lines follow each other along k and are filled up with zero bytes to a
 * multiple of 16 lines. So code (row, i) of a format with U codes in 4 bytes lies in panel row /
 * 16, line i / U, dword row % 16, position i % U. One line feeds 16 lanes of any vector unit, and
 * 16 lines are one AMX tile. */
#ifndef ASSAY_QUANT_QUANT_H
#define ASSAY_QUANT_QUANT_H

#include "tensor/tensor.h"

enum { ASSAY_PANEL_ROWS = 16, ASSAY_PANEL_LINES = 16, ASSAY_LINE_BYTES = 64 };

enum assay_quant_scope {
    ASSAY_SCOPE_NONE, /* no scale */
    ASSAY_SCOPE_TENSOR,
    ASSAY_SCOPE_ROW,   /* of W: one output; of x: one token */
    ASSAY_SCOPE_GROUP, /* `group` consecutive elements of a row along k */
    ASSAY_SCOPE_COLUMN /* of operands in training only: what a product sums over lies in columns */
};

/* A training step of a linear layer has three products of three operands. */
enum assay_training_operand {
    ASSAY_OPERAND_INPUT,    /* x [m, k] */
    ASSAY_OPERAND_WEIGHT,   /* W [n, k] */
    ASSAY_OPERAND_GRADIENT, /* dY [m, n] */
    ASSAY_OPERANDS
};
enum assay_training_product {
    ASSAY_PRODUCT_OUTPUT,          /* y = x W^T */
    ASSAY_PRODUCT_INPUT_GRADIENT,  /* dX = dY W */
    ASSAY_PRODUCT_WEIGHT_GRADIENT, /* dW = dY^T x */
    ASSAY_PRODUCTS
};

struct assay_quant;

enum { ASSAY_RECIPE_NAME = 64 };

/* A recipe by its full name, "int4wo-128-hqq". */
struct assay_recipe {
    const struct assay_quant *quant; /* NULL: one that assay knows of and does not have */
    char name[ASSAY_RECIPE_NAME];
    enum assay_dtype code; /* of the stored weights: S8, U4, U8, E4M3; NONE: the high precision */
    enum assay_quant_scope scope;
    int32_t group; /* 0 without groups */
    /* What happens to x at run time: NONE, or S8 or E4M3 with a scale for each row or for all. */
    enum assay_dtype activation;
    enum assay_quant_scope activation_scope;
    bool trains; /* it casts the operands of a training step; x and W as above in the forward one */
    /* Of these operands (bit i: enum assay_training_operand) training leaves alone, and of these
     * products (bit i: enum assay_training_product) both operands. */
    uint32_t precise_operands, precise_products;
};

struct assay_quant {
    const char *pattern; /* "int4wo-G": what users read */
    const char *summary;
    const char *usual; /* the recipe `all` stands for: "int4wo-128" */
    bool only_trains;  /* weights cannot be stored by it: for training steps alone */

    /* Reads a name into *out (all but `quant` and `name`, which the caller sets). False where the
     * name is not this recipe's. */
    bool (*parse)(const char *name, struct assay_recipe *out);

    /* Scale and zero for `count` weights that share one (a group, a row, the whole tensor's are
     * reduced to their greatest magnitude first and come as one weight). Symmetric recipes leave
     * *zero at 0. Both are rounded to the type they are stored in by the caller. `dtype` is the
     * high-precision type. Optional: NULL for recipes without scales. */
    void (*solve)(const struct assay_recipe *recipe, enum assay_dtype dtype, const float *w,
                  int64_t count, float *scale, float *zero);
};

int64_t assay_quant_count(void);
const struct assay_quant *assay_quant_at(int64_t index);

/* Reads a recipe's name, any case; NULL is the baseline, and "float8dq" is "float8dq-tensor" (see
 * assay_recipe_alias). The error names the nearest that exists. ASSAY_UNSUPPORTED: TorchAO has it
 * and assay has not, or it is sparse, which is written "int8dq+semi-sparse"; then out->name is its
 * name, and the error says what it is. */
enum assay_status assay_recipe_parse(const char *name, struct assay_recipe *out,
                                     struct assay_error *err);
/* "semi-sparse" or "block", for this word or another for the same ("semi", "2:4"); NULL: none. */
const char *assay_sparsity_name(const char *word);
/* Does TorchAO measure this recipe with that sparsity? Both as they are named here. */
bool assay_sparsity_takes(const char *sparsity, const char *recipe);
/* Can weights with rows of k elements be stored by this recipe? ASSAY_OK, or ASSAY_UNSUPPORTED with
 * the reason and the nearest recipe that can ("group 128 does not divide k = 96; int4wo-32
 * does"). */
enum assay_status assay_recipe_fits(const struct assay_recipe *recipe, enum assay_dtype dtype,
                                    int64_t k, struct assay_error *why);

/* Bytes of n x k weights as the recipe stores them, scales and zeros included, padding not. */
double assay_recipe_bytes(const struct assay_recipe *recipe, enum assay_dtype dtype, int64_t n,
                          int64_t k);

/* Weights as stored. What a code means:
 *   code NONE      the weight itself, in `dtype` (f32, bf16, f16, s8)
 *   code S8, E4M3  w = code * scale[row]
 *   code U4, U8    w = (code - half) * scale[row, group] + zero[row, group], half 8 or 128
 * Scales of rows (and of the tensor, repeated for each row) are f32, one for each row, filled up to
 * whole panels with 0. Scales and zeros of groups are of type `dtype`, ordered [panel][k / group]
 * [16]. */
struct assay_packed {
    enum assay_dtype dtype, code;
    enum assay_quant_scope scope;
    int64_t n, k, group;
    int64_t panels, lines;  /* lines of one panel, padding included */
    int64_t codes_in_dword; /* U above */
    size_t bytes;           /* of the one block that holds all of it */
    unsigned char *codes;   /* aligned to 64 bytes; the start of the block */
    float *row_scales;      /* NULL without */
    void *scales, *zeros;   /* of groups; NULL without */
    int32_t *row_sums; /* of s8 codes: the sum of each row, for kernels that shift x; or NULL */
};

static inline size_t assay_packed_panel_bytes(const struct assay_packed *packed)
{
    return (size_t)packed->lines * ASSAY_LINE_BYTES;
}

/* Encodes and packs W [n, k] of type `dtype`, with `threads` threads. */
enum assay_status assay_packed_create(const struct assay_recipe *recipe, enum assay_dtype dtype,
                                      const void *weights, int64_t n, int64_t k, int32_t threads,
                                      struct assay_packed *out, struct assay_error *err);
/* Other weights of the same type and size in the memory of these, by the recipe they were made by:
 * what a training step packs anew in every call takes no memory anew. */
enum assay_status assay_packed_renew(const struct assay_recipe *recipe, const void *weights,
                                     int32_t threads, struct assay_packed *packed,
                                     struct assay_error *err);
enum assay_status assay_packed_copy(const struct assay_packed *from, struct assay_packed *out,
                                    struct assay_error *err);
void assay_packed_fini(struct assay_packed *packed);

/* Row `row`, elements [first, first + count), dequantised. */
void assay_packed_decode(const struct assay_packed *packed, int64_t row, int64_t first,
                         int64_t count, float *out);

/* ---- scales at run time, the one definition kernels must agree with to the bit --------------- */

/* The scale of values whose greatest magnitude is amax: amax / 127.5 for S8, amax / 448 for E4M3,
 * amax / 57344 for E5M2, each one f32 division; 1 where amax is 0 (or so small that the inverse
 * would not be finite). A code is then to_code(x * (1.0f / scale)): rounded to nearest even and
 * saturated. */
float assay_quant_scale(enum assay_dtype code, float amax);

/* x [m, k] quantised as the recipe does at run time and dequantised again, in f32. `out` may be
 * x. */
void assay_quant_activations(const struct assay_recipe *recipe, const float *x, int64_t m,
                             int64_t k, float *out);

/* ---- training: how the operands of its products are cast --------------------------------------
 */

/* Other names of recipes: the i-th of them and what it stands for; false behind the last one. */
bool assay_recipe_alias(int64_t index, const char **alias, const char **name);

/* Is it a recipe for training steps? ASSAY_OK, or ASSAY_UNSUPPORTED with those that are. */
enum assay_status assay_recipe_trains(const struct assay_recipe *recipe, struct assay_error *why);

/* What becomes of an operand in a product: its codes, and what shares a scale. Scales are along the
 * dimension the product sums over, so the same operand may have other codes in another product: x
 * has a scale for each row in y = x W^T, and one for each column in dW = dY^T x. code NONE: it
 * stays as it is. Of an operand the product does not have: NONE. */
struct assay_cast {
    enum assay_dtype code;
    enum assay_quant_scope scope; /* NONE, TENSOR, ROW or COLUMN, of the operand as it is stored */
};
struct assay_cast assay_recipe_cast(const struct assay_recipe *recipe,
                                    enum assay_training_product product,
                                    enum assay_training_operand operand);

/* Are both operands of the product cast? */
bool assay_recipe_casts_both(const struct assay_recipe *recipe,
                             enum assay_training_product product);

/* x [rows, columns] cast and decoded again: code * scale, with assay_quant_scale's scale of the
 * greatest magnitude of each scope. `out` may be x. ASSAY_ERR_NOMEM. */
enum assay_status assay_quant_cast(struct assay_cast cast, const float *x, int64_t rows,
                                   int64_t columns, float *out);

/* Bytes of x [m, k] of a type as the backward pass takes it: its codes and scales where the recipe
 * casts it for dW, else all of it. */
double assay_recipe_saved_bytes(const struct assay_recipe *recipe, enum assay_dtype dtype,
                                int64_t m, int64_t k);

#endif
