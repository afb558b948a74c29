/* test_linear_training.c: recipes of training steps: the casts bit for bit against an independent
 * definition, and every native kernel of linear_training and of linear_backward with each recipe
 * against sums of such casts. Tensors end where their memory does, so that sanitizers see more. */
#include "unit.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "kernel/kernel.h"
#include "op/linear.h"
#include "op/op.h"
#include "op/quantize.h"

static assay_kernel_registry *registry;

static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
static const char *const recipes[] = {
    "baseline",           "float8dq-tensor",       "float8dq-row",
    "float8dq-row-gw-hp", "float8dq-tensor-go-hp", "float8dq-row-i-w-hp"};
enum { DTYPES = 3, RECIPES = sizeof recipes / sizeof recipes[0], M = 0, K = 1, N = 2 };

/* ---- the definition, again --------------------------------------------------------------------
 */

/* Every finite value of a format with so many bits behind the first, in order: 2^least is its
 * smallest step. */
static double nearest_code(double value, int bits, int least, double most)
{
    double size = fabs(value), best = 0, distance = size;
    bool even = true;
    for (int exponent = least;; exponent++)
        for (int i = exponent == least ? 1 : 1 << bits; i < 2 << bits; i++) {
            double code = ldexp(i, exponent), off = fabs(code - size);
            if (code > most)
                return copysign(best, value);
            if (off < distance || (off == distance && !even && i % 2 == 0)) {
                best = code;
                distance = off;
                even = i % 2 == 0;
            }
        }
}

static float by_definition(enum assay_dtype code, float x, float amax)
{
    bool wide = code == ASSAY_DTYPE_E5M2;
    float most = wide ? 57344.0f : 448.0f, scale = amax / most, inverse = 1.0f / scale;
    if (isinf(inverse))
        scale = inverse = 1;
    volatile float scaled = x * inverse;
    return (float)nearest_code((double)scaled, wide ? 2 : 3, wide ? -16 : -9, (double)most) * scale;
}

/* x [rows, columns] in double. */
static void cast_by_definition(struct assay_cast cast, const double *x, int64_t rows,
                               int64_t columns, double *out)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double amax = 0;
            for (int64_t a = 0; a < rows; a++)
                for (int64_t b = 0; b < columns; b++)
                    if ((cast.scope == ASSAY_SCOPE_TENSOR) ||
                        (cast.scope == ASSAY_SCOPE_ROW && a == i) ||
                        (cast.scope == ASSAY_SCOPE_COLUMN && b == j))
                        amax = fmax(amax, fabs(x[a * columns + b]));
            double value = x[i * columns + j];
            out[i * columns + j] =
                cast.code == ASSAY_DTYPE_NONE
                    ? value
                    : (double)by_definition(cast.code, (float)value, (float)amax);
        }
}

static void casts_are_those_of_the_definition(void **state)
{
    (void)state;
    enum { ROWS = 9, COLUMNS = 13, COUNT = ROWS * COLUMNS };
    static const enum assay_dtype codes[] = {ASSAY_DTYPE_E4M3, ASSAY_DTYPE_E5M2};
    static const enum assay_quant_scope scopes[] = {ASSAY_SCOPE_TENSOR, ASSAY_SCOPE_ROW,
                                                    ASSAY_SCOPE_COLUMN};
    static const double sizes[] = {1, 1e-30, 1e30, 3e-39, 448, 0};
    for (int c = 0; c < 2; c++)
        for (int s = 0; s < 3; s++)
            for (int z = 0; z < 6; z++) {
                struct assay_cast cast = {codes[c], scopes[s]};
                float x[COUNT], got[COUNT];
                double wide[COUNT], want[COUNT];
                struct assay_rng rng = {(uint64_t)(100 * c + 10 * s + z)};
                for (int i = 0; i < COUNT; i++) {
                    double uniform = (double)(assay_rng_next(&rng) >> 11) * 0x1p-53;
                    double value = sizes[z] * (2 * uniform - 1) * pow(2, (double)(i % 12) - 8);
                    x[i] = i % 7 == 3 ? 0 : (float)value;
                    wide[i] = (double)x[i];
                }
                assert_int_equal(assay_quant_cast(cast, x, ROWS, COLUMNS, got), ASSAY_OK);
                cast_by_definition(cast, wide, ROWS, COLUMNS, want);
                for (int i = 0; i < COUNT; i++)
                    if ((double)got[i] != want[i])
                        fail_msg("code %d scope %d size %g, element %d of %.9g: %.9g, not %.9g", c,
                                 s, sizes[z], i, wide[i], (double)got[i], want[i]);
            }
}

/* ---- which operand is cast how ----------------------------------------------------------------
 */

static struct assay_recipe recipe_of(const char *name)
{
    struct assay_recipe recipe;
    struct assay_error err = {0};
    if (assay_recipe_parse(name, &recipe, &err) != ASSAY_OK)
        fail_msg("%s: %s", name, err.message);
    return recipe;
}

/* "4R 4C - | …": for the products y, dX, dW the casts of x, W and dY. */
static void describe(const char *name, char *text)
{
    struct assay_recipe recipe = recipe_of(name);
    for (int p = 0; p < ASSAY_PRODUCTS; p++)
        for (int o = 0; o < ASSAY_OPERANDS; o++) {
            struct assay_cast cast = assay_recipe_cast(&recipe, (enum assay_training_product)p,
                                                       (enum assay_training_operand)o);
            *text++ = cast.code == ASSAY_DTYPE_NONE   ? '-'
                      : cast.code == ASSAY_DTYPE_E4M3 ? '4'
                                                      : '5';
            *text++ = cast.scope == ASSAY_SCOPE_TENSOR   ? 'T'
                      : cast.scope == ASSAY_SCOPE_ROW    ? 'R'
                      : cast.scope == ASSAY_SCOPE_COLUMN ? 'C'
                                                         : '-';
        }
    *text = '\0';
}

static void recipes_say_which_operand_is_cast_how(void **state)
{
    (void)state;
    /* of y: x W dY; of dX: x W dY; of dW: x W dY */
    static const char *const table[][2] = {
        {"float8dq-tensor", "4T4T--"
                            "--4T5T"
                            "4T--5T"},
        {"float8dq-row", "4R4R--"
                         "--4C4R"
                         "4C--4C"},
        {"float8dq-row-gw-hp", "4R4R--"
                               "--4C4R"
                               "------"},
        {"float8dq-tensor-go-hp", "4T4T--"
                                  "--4T--"
                                  "4T----"},
        {"float8dq-tensor-i-w-hp", "------"
                                   "----5T"
                                   "----5T"},
        {"baseline", "------------------"},
        {"int8dq", "------------------"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[32];
        describe(table[i][0], text);
        assert_string_equal(text, table[i][1]);
    }
    assert_string_equal(recipe_of("float8-rowwise").name, "float8dq-row");
    assert_string_equal(recipe_of("Float8-Tensorwise").name, "float8dq-tensor");
    static const char *const junk[] = {"float8dq-row-hp",        "float8dq-row-gw",
                                       "float8dq-w-i-hp",        "float8dq-row-w-i-hp",
                                       "float8dq-row-i-w-go-hp", "float8dq-row-gw-hp-hp",
                                       "float8dq-row-gw-gw-hp"};
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++) {
        struct assay_recipe recipe;
        if (assay_recipe_parse(junk[i], &recipe, NULL) != ASSAY_ERR_INVALID)
            fail_msg("\"%s\" was taken", junk[i]);
    }
}

static void what_is_not_for_training_says_so(void **state)
{
    (void)state;
    static const char *const others[] = {"int8wo", "int4wo-128", "float8wo", "gemlitewo-8-64"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct assay_recipe recipe = recipe_of(others[i]);
        struct assay_error why = {0};
        assert_int_equal(assay_recipe_trains(&recipe, &why), ASSAY_UNSUPPORTED);
        assert_non_null(strstr(why.message, "float8dq-row-gw-hp"));
    }
    struct assay_recipe hp = recipe_of("float8dq-row-gw-hp"), baseline = recipe_of("baseline");
    assert_int_equal(assay_recipe_trains(&baseline, NULL), ASSAY_OK);
    assert_int_equal(assay_recipe_fits(&hp, ASSAY_DTYPE_BF16, 64, NULL), ASSAY_UNSUPPORTED);
}

static void what_is_saved_is_counted(void **state)
{
    (void)state;
    struct assay_recipe tensor = recipe_of("float8dq-tensor"), row = recipe_of("float8dq-row");
    struct assay_recipe hp = recipe_of("float8dq-row-gw-hp");
    assert_near(assay_recipe_saved_bytes(&tensor, ASSAY_DTYPE_BF16, 10, 6), 60 + 4, 0);
    assert_near(assay_recipe_saved_bytes(&row, ASSAY_DTYPE_BF16, 10, 6), 60 + 6 * 4, 0);
    assert_near(assay_recipe_saved_bytes(&hp, ASSAY_DTYPE_BF16, 10, 6), 120, 0);
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

struct bed {
    const struct assay_op *op;
    struct assay_problem problem;
    struct assay_recipe recipe;
    void *in[ASSAY_MAX_INPUTS], *out[ASSAY_MAX_OUTPUTS];
    double *want[ASSAY_MAX_OUTPUTS], *sizes[ASSAY_MAX_OUTPUTS];
};

static double *load(const struct assay_tensor *t, const void *data)
{
    int64_t count = assay_tensor_count(t);
    double *out = assay_calloc((size_t)count, sizeof *out);
    assay_dtype_load(t->dtype, data, 0, count, out);
    return out;
}

/* The reference's operands by the op, its sums by the op. */
static void settle(struct bed *b, int32_t output)
{
    struct assay_problem plain;
    void *made[ASSAY_MAX_INPUTS] = {0};
    const void *in[ASSAY_MAX_INPUTS];
    const struct assay_tensor *t = &b->problem.outputs[output];
    int64_t length = t->dims[t->rank - 1], count = assay_tensor_count(t);
    assert_int_equal(
        b->op->dequantised(&b->problem, (const void *const *)b->in, output, &plain, made, NULL),
        ASSAY_OK);
    for (int32_t i = 0; i < plain.n_inputs; i++)
        in[i] = made[i] ? made[i] : b->in[i];
    for (int64_t row = 0; row < count / length; row++)
        assay_op_reference(b->op, &plain, output, in, row, 0, length,
                           b->want[output] + row * length, b->sizes[output] + row * length);
    for (int32_t i = 0; i < plain.n_inputs; i++)
        assay_free(made[i]);
}

static void settle_all(struct bed *b, bool exact)
{
    for (int32_t k = 0; k < b->problem.n_outputs; k++) {
        settle(b, k);
        for (int64_t i = 0; i < assay_tensor_count(&b->problem.outputs[k]) && exact; i++) {
            double rounded;
            assay_dtype_store(b->problem.dtype, &b->want[k][i], &rounded, 0, 1);
            assay_dtype_load(b->problem.dtype, &rounded, 0, 1, &b->want[k][i]);
        }
    }
}

static void bed_create(struct bed *b, const char *op, enum assay_dtype dtype, const char *mode,
                       const char *recipe, const int64_t *axes, bool exact, uint64_t seed)
{
    *b = (struct bed){.op = assay_op_find(op), .recipe = recipe_of(recipe)};
    assert_int_equal(assay_op_problem(b->op, dtype, mode, axes, 1, &b->problem, NULL), ASSAY_OK);
    b->problem.recipe = recipe;
    for (int32_t i = 0; i < b->problem.n_inputs; i++) {
        b->in[i] = assay_calloc(1, assay_tensor_bytes(&b->problem.inputs[i]));
        if (exact)
            b->op->fill_exact(&b->problem, i, b->in[i], seed + (uint64_t)i);
        else
            assay_op_fill(b->op, &b->problem, i, b->in[i], seed);
    }
    for (int32_t k = 0; k < b->problem.n_outputs; k++) {
        size_t count = (size_t)assay_tensor_count(&b->problem.outputs[k]);
        b->out[k] = assay_calloc(1, assay_tensor_bytes(&b->problem.outputs[k]));
        b->want[k] = assay_calloc(count, sizeof(double));
        b->sizes[k] = assay_calloc(count, sizeof(double));
    }
    settle_all(b, exact);
}

static void bed_destroy(struct bed *b)
{
    for (int32_t i = 0; i < b->problem.n_inputs; i++)
        assay_free(b->in[i]);
    for (int32_t k = 0; k < b->problem.n_outputs; k++) {
        assay_free(b->out[k]);
        assay_free(b->want[k]);
        assay_free(b->sizes[k]);
    }
}

static bool takes(const struct assay_kernel *kernel, const struct bed *b)
{
    return strcmp(kernel->implementation, "native") == 0 &&
           strcmp(kernel->op, b->problem.op) == 0 && strcmp(kernel->device, "cpu") == 0 &&
           is_looked_at(kernel->name) &&
           assay_kernel_can_run(kernel, &b->problem, NULL) == ASSAY_OK;
}

static void run(const struct assay_kernel *kernel, struct bed *b, int64_t iters)
{
    struct assay_args args = {.in = (const void *const *)b->in, .out = b->out};
    struct assay_work work = {.iters = iters, .n_sets = 1, .sets = &args};
    struct assay_error err = {0};
    void *own = NULL;
    for (int32_t k = 0; k < b->problem.n_outputs; k++)
        memset(b->out[k], 0xff, assay_tensor_bytes(&b->problem.outputs[k]));
    if (kernel->setup(&b->problem, &own, &err) != ASSAY_OK)
        fail_msg("%s: %s", kernel->name, err.message);
    assert_null(kernel->prepare); /* nothing is a weight */
    assert_int_equal(kernel->run(own, &work), ASSAY_OK);
    kernel->teardown(own);
}

static void judge(const struct assay_kernel *kernel, const struct bed *b, bool exact)
{
    const struct assay_problem *p = &b->problem;
    for (int32_t k = 0; k < p->n_outputs; k++) {
        struct assay_tolerance tolerance = assay_op_tolerance(b->op, p, k);
        struct assay_comparison c;
        assay_comparison_init(&c, exact ? (struct assay_tolerance){0} : tolerance);
        assay_comparison_add_sums(&c, p->outputs[k].dtype, b->out[k], 0, b->want[k], b->sizes[k],
                                  assay_tensor_count(&p->outputs[k]));
        if (c.mismatches)
            fail_msg("%s %s %s %lldx%lldx%lld, %d threads: output %d: %lld of %lld wrong; element "
                     "%lld is %.9g, should be %.9g",
                     kernel->name, p->recipe, assay_dtype_name(p->dtype), (long long)p->axes[0],
                     (long long)p->axes[1], (long long)p->axes[2], p->threads, k,
                     (long long)c.mismatches, (long long)c.compared, (long long)c.first_mismatch,
                     c.first_got, c.first_ref);
    }
}

static void every_kernel(struct bed *b, int32_t most_threads, bool exact)
{
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        for (b->problem.threads = 1; b->problem.threads <= most_threads; b->problem.threads++)
            if (takes(kernel, b)) {
                run(kernel, b, 1);
                judge(kernel, b, exact);
            }
    }
}

/* The op's own operands are those of the definition, for every product: so what kernels are
 * compared with is. */
static void references_take_the_definition(void **state)
{
    (void)state;
    const int64_t axes[] = {7, 9, 6};
    for (int r = 0; r < RECIPES; r++)
        for (int product = 0; product < ASSAY_PRODUCTS; product++) {
            bool forward = product == ASSAY_PRODUCT_OUTPUT;
            const char *mode = forward ? "" : product == ASSAY_PRODUCT_INPUT_GRADIENT ? "dx" : "dw";
            struct bed b;
            bed_create(&b, forward ? "linear_training" : "linear_backward", ASSAY_DTYPE_BF16, mode,
                       recipes[r], axes, false, 3);
            struct assay_problem plain;
            void *made[ASSAY_MAX_INPUTS] = {0};
            b.op->dequantised(&b.problem, (const void *const *)b.in, 0, &plain, made, NULL);
            for (int32_t i = 0; i < 2; i++) {
                const struct assay_tensor *t = &b.problem.inputs[i];
                enum assay_training_operand operand =
                    !forward && i == 0                                    ? ASSAY_OPERAND_GRADIENT
                    : (forward && i == 0) || (!forward && mode[1] == 'w') ? ASSAY_OPERAND_INPUT
                                                                          : ASSAY_OPERAND_WEIGHT;
                double *x = load(t, b.in[i]);
                double *want = assay_calloc((size_t)assay_tensor_count(t), sizeof *want);
                struct assay_tensor is = plain.inputs[i];
                double *got = load(&is, made[i] ? made[i] : b.in[i]);
                cast_by_definition(
                    assay_recipe_cast(&b.recipe, (enum assay_training_product)product, operand), x,
                    t->dims[0], t->dims[1], want);
                for (int64_t e = 0; e < assay_tensor_count(t); e++)
                    if (got[e] != want[e])
                        fail_msg("%s, product %d, input %d, element %lld: %.9g, not %.9g",
                                 recipes[r], product, i, (long long)e, got[e], want[e]);
                assay_free(x);
                assay_free(want);
                assay_free(got);
            }
            for (int32_t i = 0; i < plain.n_inputs; i++)
                assay_free(made[i]);
            bed_destroy(&b);
        }
}

static const int64_t shapes[][3] = {{1, 1, 1},    {1, 40, 30},  {40, 1, 7},    {2, 3, 5},
                                    {17, 17, 17}, {31, 33, 32}, {64, 48, 64},  {65, 63, 67},
                                    {7, 127, 64}, {97, 71, 53}, {20, 130, 257}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void kernels_agree(bool exact)
{
    for (int s = 0; s < SHAPES; s++)
        for (int d = 0; d < DTYPES; d++)
            for (int r = 0; r < RECIPES; r++) {
                if ((s + d + r) % 3 != 0 || left_out(1 + s % 2)) /* in turns */
                    continue;
                struct bed b;
                bed_create(&b, "linear_training", dtypes[d], exact && d ? "" : "bias", recipes[r],
                           shapes[s], exact, (uint64_t)s + 1);
                every_kernel(&b, 1 + s % 3, exact);
                bed_destroy(&b);
                bed_create(&b, "linear_backward", dtypes[d], "bias", recipes[r], shapes[s], exact,
                           (uint64_t)s + 1);
                every_kernel(&b, 1 + s % 3, exact);
                bed_destroy(&b);
            }
}

static void kernels_agree_with_the_reference(void **state)
{
    (void)state;
    kernels_agree(false);
}

static void kernels_are_exact_on_integers(void **state)
{
    (void)state;
    kernels_agree(true);
}

/* Sums in slices, rows packed more than once, threads that share rows. */
static void larger_ones_agree(void **state)
{
    (void)state;
    static const int64_t large[][3] = {{700, 33, 40}, {90, 70, 900}, {270, 540, 60}};
    for (int s = 0; s < 3; s++)
        for (int r = 1; r < RECIPES; r++) {
            if (left_out(2))
                continue;
            struct bed b;
            bed_create(&b, "linear_backward", dtypes[(s + r) % DTYPES], "bias", recipes[r],
                       large[s], false, 5);
            every_kernel(&b, 2, false);
            bed_destroy(&b);
            bed_create(&b, "linear_training", dtypes[(s + r) % DTYPES], "bias", recipes[r],
                       large[s], false, 5);
            every_kernel(&b, 2, false);
            bed_destroy(&b);
        }
}

/* A scope's greatest magnitude is 7 times a power of two, so its scale is one, and scales of rows
 * and of columns differ: one that is taken from the wrong row, column or dimension shows. */
static void integers_have_scales_of_their_own(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {5, 64}, {64, 5}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int64_t rows = sizes[s][0], columns = sizes[s][1];
        struct assay_tensor t = {.dtype = ASSAY_DTYPE_F32, .rank = 2, .dims = {rows, columns}};
        float x[320], row_most[64] = {0}, column_most[64] = {0};
        assay_linear_fill_scaled(&t, x, 11, 3);
        for (int64_t i = 0; i < rows * columns; i++) {
            row_most[i / columns] = fmaxf(row_most[i / columns], fabsf(x[i]));
            column_most[i % columns] = fmaxf(column_most[i % columns], fabsf(x[i]));
        }
        for (int64_t i = 0; i < rows; i++)
            assert_near((double)row_most[i], i % 2 ? 14 : 28, 0);
        for (int64_t i = 0; i < columns; i++)
            assert_near((double)column_most[i], i % 2 ? 14 : 28, 0);
    }
}

static void the_same_bits_each_time_and_of_every_call(void **state)
{
    (void)state;
    const int64_t axes[] = {300, 71, 90};
    for (int r = 1; r < RECIPES; r++)
        for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            struct bed b;
            if (strcmp(kernel->implementation, "native") != 0 ||
                strcmp(kernel->op, "linear_backward") != 0 || left_out(2))
                continue;
            bed_create(&b, "linear_backward", ASSAY_DTYPE_BF16, "", recipes[r], axes, false, 8);
            uint64_t first[2] = {0};
            for (int again = 0; again < 4 && takes(kernel, &b); again++) {
                b.problem.threads = 1 + again % 2; /* scales and sums do not depend on them */
                run(kernel, &b, 1 + again);
                for (int k = 0; k < 2; k++) {
                    uint64_t bits =
                        assay_tensor_checksum(b.out[k], assay_tensor_bytes(&b.problem.outputs[k]));
                    if (again > 0 && bits != first[k])
                        fail_msg("%s %s: other bits in output %d", kernel->name, recipes[r], k);
                    first[k] = bits;
                }
            }
            bed_destroy(&b);
        }
}

/* The amax of one call must not serve the next, whose operands are a thousand times larger. */
static void scales_are_those_of_the_call(void **state)
{
    (void)state;
    const int64_t axes[] = {33, 40, 37};
    for (int r = 1; r < RECIPES; r++)
        for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            struct bed b[2];
            struct assay_args sets[2];
            void *own = NULL;
            for (int k = 0; k < 2; k++) {
                bed_create(&b[k], "linear_backward", ASSAY_DTYPE_F32, "bias", recipes[r], axes,
                           false, 50 + (uint64_t)k);
                for (int32_t in = 0; in < 3 && k; in++)
                    for (int64_t e = 0; e < assay_tensor_count(&b[k].problem.inputs[in]); e++)
                        ((float *)b[k].in[in])[e] *= 1000;
                settle_all(&b[k], false);
                sets[k] = (struct assay_args){.in = (const void *const *)b[k].in, .out = b[k].out};
            }
            if (takes(kernel, &b[0])) {
                struct assay_work work = {.iters = 4, .n_sets = 2, .sets = sets};
                assert_int_equal(kernel->setup(&b[0].problem, &own, NULL), ASSAY_OK);
                assert_int_equal(kernel->run(own, &work), ASSAY_OK);
                kernel->teardown(own);
                judge(kernel, &b[0], false);
                judge(kernel, &b[1], false);
            }
            bed_destroy(&b[0]);
            bed_destroy(&b[1]);
        }
}

/* A NaN makes its scope NaN, whichever kernel; nothing crashes over it. */
static void a_nan_is_not_lost(void **state)
{
    (void)state;
    const int64_t axes[] = {20, 35, 18};
    for (int r = 1; r < RECIPES; r++) {
        struct bed b;
        bed_create(&b, "linear_training", ASSAY_DTYPE_BF16, "", recipes[r], axes, false, 4);
        double nan = (double)NAN;
        assay_dtype_store(ASSAY_DTYPE_BF16, &nan, b.in[0], 3 * 35 + 2, 1);
        for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            if (!takes(kernel, &b))
                continue;
            run(kernel, &b, 1);
            for (int64_t n = 0; n < 18; n++) {
                double y;
                assay_dtype_load(ASSAY_DTYPE_BF16, b.out[0], 3 * 18 + n, 1, &y);
                assert_true(isnan(y));
            }
        }
        bed_destroy(&b);
    }
}

static void without_memory_there_is_no_state(void **state)
{
    (void)state;
    const int64_t axes[] = {40, 40, 40};
    static const char *const ops[] = {"linear_training", "linear_backward", "quantize_turned"};
    for (int o = 0; o < 3; o++)
        for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
            const struct assay_kernel *kernel = assay_kernel_at(registry, i);
            struct assay_problem p;
            assert_int_equal(
                assay_op_problem(assay_op_find(ops[o]), ASSAY_DTYPE_F32, NULL, axes, 1, &p, NULL),
                ASSAY_OK);
            p.recipe = o < 2 ? "float8dq-row" : NULL;
            if (strcmp(kernel->op, ops[o]) != 0 || strcmp(kernel->implementation, "native") != 0 ||
                assay_kernel_can_run(kernel, &p, NULL) != ASSAY_OK)
                continue;
            bool done = false;
            for (int64_t nth = 1; nth <= 10 && !done; nth++) {
                void *own = NULL;
                assay_alloc_fail_after(nth);
                enum assay_status status = kernel->setup(&p, &own, NULL);
                assay_alloc_fail_after(0);
                done = status == ASSAY_OK;
                assert_true(done || status == ASSAY_ERR_NOMEM);
                assert_true(done == (own != NULL));
                if (own)
                    kernel->teardown(own);
            }
            assert_true(done);
        }
}

/* ---- casts that turn --------------------------------------------------------------------------
 */

static void check_turned(const struct assay_kernel *kernel, enum assay_dtype dtype,
                         const char *mode, const int64_t *axes, bool unusual)
{
    const struct assay_op *op = assay_op_find("quantize_turned");
    struct assay_problem p;
    assert_int_equal(assay_op_problem(op, dtype, mode, axes, 2, &p, NULL), ASSAY_OK);
    int64_t m = axes[0], k = axes[1], count = m * k;
    enum assay_dtype format = assay_quantize_format(&p);
    bool tensor = mode[5] == 't';
    void *x = assay_calloc(1, assay_tensor_bytes(&p.inputs[0]));
    uint8_t *codes = assay_calloc(1, (size_t)count);
    float *scales = assay_calloc((size_t)k, sizeof *scales);
    assay_op_fill(op, &p, 0, x, 77);
    double huge = (double)INFINITY, nan = (double)NAN;
    if (unusual) {
        assay_dtype_store(dtype, &nan, x, count / 2, 1);
        assay_dtype_store(dtype, &huge, x, count / 3, 1);
    }
    const void *in[] = {x};
    void *out[] = {codes, scales}, *own = NULL;
    struct assay_args args = {.in = in, .out = out};
    struct assay_work work = {.iters = 2, .n_sets = 1, .sets = &args};
    assert_int_equal(kernel->setup(&p, &own, NULL), ASSAY_OK);
    assert_int_equal(kernel->run(own, &work), ASSAY_OK);
    kernel->teardown(own);
    for (int64_t c = 0; c < k; c++)
        for (int64_t r = 0; r < m; r++) {
            double value;
            assay_dtype_load(dtype, x, r * k + c, 1, &value);
            uint8_t want = assay_quantize_code(format, (float)value, 1.0f / scales[tensor ? 0 : c]);
            if (codes[c * m + r] != want && ((codes[c * m + r] | want) & 0x7f) != 0) /* -0 is 0 */
                fail_msg("%s %s %lldx%lld: code (%lld, %lld) of %g is %02x, not %02x", kernel->name,
                         mode, (long long)m, (long long)k, (long long)c, (long long)r, value,
                         codes[c * m + r], want);
        }
    for (int64_t c = 0; c < (tensor ? 1 : k) && !unusual; c++) {
        float amax = 0;
        for (int64_t i = 0; i < count; i++) {
            double value;
            assay_dtype_load(dtype, x, i, 1, &value);
            if (tensor || i % k == c)
                amax = fmaxf(amax, fabsf((float)value));
        }
        assert_true(scales[c] == assay_quant_scale(format, amax));
    }
    assay_free(x);
    assay_free(codes);
    assay_free(scales);
}

static void turned_casts_are_those_of_the_definition(void **state)
{
    (void)state;
    static const char *const modes[] = {"e4m3-row", "e5m2-row", "e4m3-tensor", "e5m2-tensor"};
    static const int64_t sizes[][2] = {{1, 1}, {16, 16}, {65, 17}, {3, 130}, {130, 67}};
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (strcmp(kernel->op, "quantize_turned") != 0 ||
            strcmp(kernel->implementation, "native") != 0 || !is_looked_at(kernel->name) ||
            assay_kernel_can_run(kernel, NULL, NULL) != ASSAY_OK)
            continue;
        for (int s = 0; s < 5; s++)
            for (int d = 0; d < DTYPES; d++)
                for (int o = 0; o < 4; o++)
                    check_turned(kernel, dtypes[d], modes[o], sizes[s], s == 4 && d != 1);
    }
}

static int begin(void **state)
{
    (void)state;
    registry = assay_kernel_registry_create();
    return registry ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    assay_kernel_registry_destroy(registry);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts_are_those_of_the_definition),
        cmocka_unit_test(recipes_say_which_operand_is_cast_how),
        cmocka_unit_test(what_is_not_for_training_says_so),
        cmocka_unit_test(what_is_saved_is_counted),
        cmocka_unit_test(references_take_the_definition),
        cmocka_unit_test(integers_have_scales_of_their_own),
        cmocka_unit_test(kernels_agree_with_the_reference),
        cmocka_unit_test(kernels_are_exact_on_integers),
        cmocka_unit_test(larger_ones_agree),
        cmocka_unit_test(the_same_bits_each_time_and_of_every_call),
        cmocka_unit_test(scales_are_those_of_the_call),
        cmocka_unit_test(a_nan_is_not_lost),
        cmocka_unit_test(without_memory_there_is_no_state),
        cmocka_unit_test(turned_casts_are_those_of_the_definition),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
