/* test_linear_bodies.c: the bodies of `linear` called directly, over awkward shapes and all kinds
 * of codes, against sums in double of the weights and activations as src/quant dequantises them.
 *
 * y and the scratch memory end where an untouchable page begins, and what lies before them is
 * checked; of y, only the requested part may change. */
#include "unit.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "kernel/native/linear/linear_bodies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, GUARD = 0xA5 };

struct fenced {
    unsigned char *map, *data;
    size_t map_bytes, bytes;
};

/* Aligned to `align`; the untouchable page follows within as many bytes. */
static struct fenced fenced_create(size_t bytes, size_t align)
{
    size_t padded = (bytes + align - 1) / align * align;
    size_t middle = (padded + 64 + PAGE - 1) / PAGE * PAGE;
    struct fenced f = {.map_bytes = middle + PAGE, .bytes = bytes};
    f.map = mmap(NULL, f.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.map != MAP_FAILED);
    assert_int_equal(mprotect(f.map + middle, PAGE, PROT_NONE), 0);
    memset(f.map, GUARD, middle);
    f.data = f.map + middle - padded;
    return f;
}

static bool fenced_whole(const struct fenced *f)
{
    for (const unsigned char *p = f->map; p < f->data; p++)
        if (*p != GUARD)
            return false;
    for (const unsigned char *p = f->data + f->bytes; (uintptr_t)p % PAGE; p++)
        if (*p != GUARD)
            return false;
    return true;
}

static void fenced_destroy(struct fenced *f) { munmap(f->map, f->map_bytes); }

/* ---- bodies -----------------------------------------------------------------------------------
 */

#define TILES                                                                                      \
    (ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16 | ASSAY_CPU_AMX_TILE | ASSAY_CPU_AMX_BF16 |          \
     ASSAY_CPU_AMX_INT8)

static const struct body {
    const char *name;
    const struct linear_body *body;
    uint32_t isa;
    enum { TAKES_ALL, TAKES_S8, TAKES_BF16, TAKES_TILES } takes;
} bodies[] = {
    {"portable", &assay_linear_portable, 0, TAKES_ALL},
    {"avx2", &assay_linear_avx2, ASSAY_CPU_AVX2, TAKES_ALL},
    {"avx512", &assay_linear_avx512, ASSAY_CPU_AVX512, TAKES_ALL},
    {"vnni", &assay_linear_vnni_avx512, ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_VNNI, TAKES_S8},
    {"amx", &assay_linear_amx, TILES, TAKES_TILES},
    {"bf16dot", &assay_linear_bf16dot_avx512, ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16, TAKES_BF16},
};
enum { BODIES = sizeof bodies / sizeof bodies[0] };

static bool takes(const struct body *body, const struct linear_job *job)
{
    if (!is_looked_at(body->name) || !assay_cpu_has(body->isa))
        return false;
    if (body->takes == TAKES_S8)
        return job->dtype == ASSAY_DTYPE_S8 || job->recipe.activation == ASSAY_DTYPE_S8;
    if (body->takes ==
        TAKES_TILES) { /* x in f32 has too many bits; bf16 rounds codes with groups */
        bool plain = job->recipe.activation == ASSAY_DTYPE_NONE;
        return plain ? job->dtype == ASSAY_DTYPE_F16 || job->dtype == ASSAY_DTYPE_S8 ||
                           (job->dtype == ASSAY_DTYPE_BF16 && !job->recipe.group)
                     : true;
    }
    if (body->takes == TAKES_BF16) /* nothing that becomes s8 */
        return job->recipe.activation == ASSAY_DTYPE_E4M3 ||
               (job->recipe.activation == ASSAY_DTYPE_NONE && job->dtype == ASSAY_DTYPE_BF16);
    return true;
}

/* ---- operands and expected outputs -------------------------------------------------------------
 */

enum values { WHOLE, REAL, ODD }; /* small integers; real numbers; with zero rows, NaN, infinity */

struct operands {
    struct linear_job job;
    struct linear_call call;
    struct assay_packed w;
    void *x, *weights, *bias, *norm_weight, *residual;
    bool has_bias, add;
    double *want, *size; /* of each output: its value before rounding, the sum of magnitudes */
};

static void fill(enum assay_dtype dtype, enum values values, uint64_t seed, double range, void *to,
                 int64_t n)
{
    double *v = assay_calloc((size_t)n, sizeof *v);
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++) {
        double u = (double)(assay_rng_at(seed, (uint64_t)i) >> 11) * 0x1p-52 - 1; /* [-1, 1) */
        v[i] = values == WHOLE ? rint(u * range) : u * range;
    }
    if (dtype == ASSAY_DTYPE_S8)
        for (int64_t i = 0; i < n; i++)
            ((int8_t *)to)[i] = (int8_t)v[i];
    else
        assay_dtype_store(dtype, v, to, 0, n);
    assay_free(v);
}

static double activation(enum assay_linear_activation kind, double a)
{
    switch (kind) {
    case ASSAY_LINEAR_SIGMOID:
        return 1 / (1 + exp(-a));
    case ASSAY_LINEAR_RELU:
        return a > 0 || isnan(a) ? a : 0;
    case ASSAY_LINEAR_LEAKYRELU:
        return a < 0 ? 0.01 * a : a;
    case ASSAY_LINEAR_RELU6:
        return a < 0 ? 0 : a > 6 ? 6 : a;
    case ASSAY_LINEAR_GELU:
        return a * 0.5 * erfc(-a / sqrt(2));
    case ASSAY_LINEAR_SILU:
        return a / (1 + exp(-a));
    case ASSAY_LINEAR_HARDSWISH:
        return a * (a < -3 ? 0 : a > 3 ? 1 : (a + 3) / 6);
    default:
        return a;
    }
}

/* Rows of x in double, normalised and rounded to the dtype. */
static void normalise(const struct operands *o, double *x)
{
    const struct linear_job *job = &o->job;
    bool centre = job->norm == ASSAY_LINEAR_LN;
    for (int64_t row = 0; row < job->m; row++, x += job->k) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < job->k && centre; i++)
            mean += x[i] / (double)job->k;
        for (int64_t i = 0; i < job->k; i++)
            square += (x[i] - mean) * (x[i] - mean) / (double)job->k;
        for (int64_t i = 0; i < job->k; i++) {
            double weight = 1, room;
            if (!centre)
                assay_dtype_load(job->dtype, o->norm_weight, i, 1, &weight);
            x[i] = (x[i] - mean) / sqrt(square + ASSAY_LINEAR_EPS) * weight;
            assay_dtype_store(job->dtype, &x[i], &room, 0, 1);
            assay_dtype_load(job->dtype, &room, 0, 1, &x[i]);
        }
    }
}

static void answers(struct operands *o)
{
    const struct linear_job *job = &o->job;
    size_t xs = (size_t)(job->m * job->k), n = (size_t)job->n;
    float *x = assay_calloc(xs, sizeof *x), *w = assay_calloc((size_t)job->k, sizeof *w);
    double *xd = assay_calloc(xs, sizeof *xd), *bias = assay_calloc(n, sizeof *bias);
    o->want = assay_calloc((size_t)job->m * n, sizeof *o->want);
    o->size = assay_calloc((size_t)job->m * n, sizeof *o->size);
    assert_true(x && w && xd && bias && o->want && o->size);
    if (job->dtype == ASSAY_DTYPE_S8)
        for (size_t i = 0; i < xs; i++)
            xd[i] = ((const int8_t *)o->x)[i];
    else
        assay_dtype_load(job->dtype, o->x, 0, (int64_t)xs, xd);
    if (job->norm != ASSAY_LINEAR_NO_NORM)
        normalise(o, xd);
    for (size_t i = 0; i < xs; i++)
        x[i] = (float)xd[i];
    assay_quant_activations(&job->recipe, x, job->m, job->k, x);
    if (o->has_bias)
        assay_dtype_load(job->dtype, o->bias, 0, job->n, bias);
    for (int64_t col = 0; col < job->n; col++) {
        assay_packed_decode(&o->w, col, 0, job->k, w);
        for (int64_t row = 0; row < job->m; row++) {
            double sum = 0, size = 0, more = 0;
            if (o->add)
                assay_dtype_load(job->dtype, o->residual, row * job->n + col, 1, &more);
            for (int64_t i = 0; i < job->k; i++) {
                double product = (double)x[row * job->k + i] * (double)w[i];
                sum += product;
                size += fabs(product);
            }
            o->want[row * job->n + col] = activation(job->activation, sum + bias[col]) + more;
            o->size[row * job->n + col] = size + fabs(bias[col]) + fabs(more);
        }
    }
    assay_free(x);
    assay_free(w);
    assay_free(xd);
    assay_free(bias);
}

static void poison(struct operands *o)
{
    /* Row 0 is zero, row 1 has a NaN, row 2 an infinity; 16-bit and 32-bit patterns. */
    int64_t k = o->job.k;
    for (int64_t row = 0; row < o->job.m && row < 3; row++)
        for (int64_t i = 0; i < k; i++) {
            double v = row == 0 ? 0 : row == 1 ? NAN : -INFINITY;
            if (row == 0 || i == k / 2)
                assay_dtype_store(o->job.dtype, &v, o->x, row * k + i, 1);
        }
}

static bool operands_create(struct operands *o, const char *recipe, enum assay_dtype dtype,
                            int64_t m, int64_t k, int64_t n, enum values values)
{
    struct assay_error err = {0};
    *o = (struct operands){.job = {.m = m, .k = k, .n = n, .dtype = dtype}};
    assert_int_equal(assay_recipe_parse(recipe, &o->job.recipe, &err), ASSAY_OK);
    if (assay_recipe_fits(&o->job.recipe, dtype, k, &err) != ASSAY_OK)
        return false;
    size_t bytes = dtype == ASSAY_DTYPE_S8 ? 1 : assay_dtype_bytes(dtype);
    o->x = aligned_alloc(64, ((size_t)(m * k) * bytes + 63) / 64 * 64); /* as operands are */
    o->weights = assay_calloc((size_t)(n * k), bytes);
    o->bias = assay_calloc((size_t)n, bytes);
    o->norm_weight = assay_calloc((size_t)k, bytes);
    o->residual = assay_calloc((size_t)(m * n), bytes);
    assert_true(o->x && o->weights && o->bias && o->norm_weight && o->residual);
    double range = dtype == ASSAY_DTYPE_S8 ? 128 : values == WHOLE ? 4 : 1;
    fill(dtype, values, 1 + (uint64_t)(m * k), range, o->x, m * k);
    fill(dtype, values, 2 + (uint64_t)(n * k), range, o->weights, n * k);
    fill(dtype, values, 3 + (uint64_t)n, range, o->bias, n);
    fill(dtype, values, 4 + (uint64_t)k, range, o->norm_weight, k);
    fill(dtype, values, 5 + (uint64_t)(m * n), range, o->residual, m * n);
    if (values == ODD)
        poison(o);
    assert_int_equal(assay_packed_create(&o->job.recipe, dtype, o->weights, n, k, 1, &o->w, &err),
                     ASSAY_OK);
    return true;
}

static void operands_destroy(struct operands *o)
{
    assay_packed_fini(&o->w);
    assay_free(o->x);
    assay_free(o->weights);
    assay_free(o->bias);
    assay_free(o->norm_weight);
    assay_free(o->residual);
    assay_free(o->want);
    assay_free(o->size);
}

/* ---- one call ----------------------------------------------------------------------------------
 */

static double output_at(const struct operands *o, const void *y, int64_t i)
{
    double v;
    assay_dtype_load(o->job.dtype == ASSAY_DTYPE_S8 ? ASSAY_DTYPE_S32 : o->job.dtype, y, i, 1, &v);
    return v;
}

/* A normalised value half-way between two of its dtype, or two codes, may become either. */
static double rounded_twice(const struct operands *o, int64_t i)
{
    if (o->job.norm == ASSAY_LINEAR_NO_NORM)
        return 0;
    double step = o->job.recipe.activation == ASSAY_DTYPE_S8     ? 0.02
                  : o->job.recipe.activation == ASSAY_DTYPE_E4M3 ? 0.06
                                                                 : 0;
    return (2 * assay_dtype_info(o->job.dtype)->unit + step) * o->size[i];
}

/* How far off an output may be. f32 sums of k products are off by less than k units of the sum of
 * magnitudes, by far; scales and group sums add a few. */
static double allowed(const struct operands *o, const struct body *body, enum values values,
                      int64_t i)
{
    const struct assay_dtype_info *info = assay_dtype_info(o->job.dtype);
    if (o->job.dtype == ASSAY_DTYPE_S8)
        return 0;
    double want = fabs(o->want[i]), steps = 8 + sqrt((double)o->job.k);
    double rounding = info->unit * want + info->tiny;
    if (values == WHOLE && o->job.recipe.code == ASSAY_DTYPE_NONE && !o->job.activation)
        return o->job.dtype == ASSAY_DTYPE_F32 ? 0 : rounding;
    /* Tiles take 16 bits of such a weight, which has as many as an f32. Pairs take 8, but for few
     * rows of numbers, which are multiplied by the codes themselves. */
    int64_t streamed = o->job.recipe.code == ASSAY_DTYPE_U4 ? 8 : 4;
    bool coded = values != ODD && o->job.m <= streamed;
    double cut_off = !o->job.recipe.group                  ? 0
                     : body->takes == TAKES_TILES          ? 0x1p-17 * o->size[i]
                     : body->takes == TAKES_BF16 && !coded ? 0x1p-9 * o->size[i]
                                                           : 0;
    return rounding * 1.001 + steps * 0x1p-23 * o->size[i] + cut_off + rounded_twice(o, i) + 1e-6;
}

static void check_part(const struct operands *o, const struct body *body, enum values values,
                       const void *y, const struct linear_part *part)
{
    const struct linear_job *job = &o->job;
    int64_t first = part->panel * 16, end = part->panel_end * 16;
    for (int64_t row = 0; row < job->m; row++)
        for (int64_t col = 0; col < job->n; col++) {
            int64_t i = row * job->n + col;
            size_t bytes = job->dtype == ASSAY_DTYPE_S8 ? 4 : assay_dtype_bytes(job->dtype);
            if (row < part->row || row >= part->row_end || col < first || col >= end) {
                const unsigned char *p = (const unsigned char *)y + (size_t)i * bytes;
                for (size_t b = 0; b < bytes; b++)
                    assert_int_equal(p[b], GUARD);
                continue;
            }
            double got = output_at(o, y, i), want = o->want[i];
            if ((isnan(got) && isnan(want)) || got == want ||
                fabs(got - want) <= allowed(o, body, values, i))
                continue;
            fail_msg("%s %s %s (%lld, %lld, %lld) act %d bias %d norm %d add %d: [%lld, %lld] is "
                     "%.9g, not %.9g within %g",
                     body->name, job->recipe.name, assay_dtype_name(job->dtype), (long long)job->m,
                     (long long)job->k, (long long)job->n, (int)job->activation, o->has_bias,
                     (int)job->norm, o->add, (long long)row, (long long)col, got, want,
                     allowed(o, body, values, i));
        }
}

static void run_part(struct operands *o, const struct body *body, enum values values,
                     struct linear_part part)
{
    const struct linear_job *job = &o->job;
    size_t bytes = job->dtype == ASSAY_DTYPE_S8 ? 4 : assay_dtype_bytes(job->dtype);
    struct fenced y = fenced_create((size_t)(job->m * job->n) * bytes, bytes);
    struct fenced scratch = fenced_create(body->body->scratch_bytes(job, &part), 64);
    struct linear_call call = {
        .job = job, .x = o->x, .bias = o->has_bias ? o->bias : NULL, .w = &o->w, .y = y.data};
    call.norm_weight = job->norm == ASSAY_LINEAR_RMS ? o->norm_weight : NULL;
    call.residual = o->add ? o->residual : NULL;
    if (job->recipe.activation_scope == ASSAY_SCOPE_TENSOR)
        call.x_scale = assay_quant_scale(job->recipe.activation,
                                         body->body->amax(&call, 0, job->m, scratch.data));
    body->body->activations(&call, &part, scratch.data);
    body->body->compute(&call, &part, scratch.data);
    check_part(o, body, values, y.data, &part);
    assert_true(fenced_whole(&y));
    assert_true(fenced_whole(&scratch));
    fenced_destroy(&y);
    fenced_destroy(&scratch);
}

static void run_bodies(struct operands *o, enum values values)
{
    int64_t panels = (o->job.n + 15) / 16;
    answers(o);
    for (int i = 0; i < BODIES; i++) {
        const struct body *body = &bodies[i];
        if (!takes(body, &o->job))
            continue;
        run_part(o, body, values, (struct linear_part){0, o->job.m, 0, panels});
        if (o->job.m > 3)
            run_part(o, body, values, (struct linear_part){2, o->job.m - 1, 0, panels});
        if (panels > 2)
            run_part(o, body, values, (struct linear_part){0, o->job.m, 1, panels});
    }
}

static const char *const recipes[] = {
    "baseline",  "int8wo",    "int8dq",     "float8wo",       "float8dq-tensor", "float8dq-row",
    "int4wo-32", "int4wo-64", "int4wo-128", "gemlitewo-8-32", "gemlitewo-8-128",
};
enum { RECIPES = sizeof recipes / sizeof recipes[0] };

static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16, ASSAY_DTYPE_F16};

static void run_shape(const char *recipe, enum assay_dtype dtype, const int64_t *shape,
                      enum values values)
{
    struct operands o;
    if (operands_create(&o, recipe, dtype, shape[0], shape[1], shape[2], values)) {
        uint64_t turn = assay_rng_at(7, (uint64_t)(shape[0] * 131 + shape[1] * 17 + shape[2]));
        o.has_bias = dtype != ASSAY_DTYPE_S8 && turn & 1;
        o.job.activation = values == REAL && dtype != ASSAY_DTYPE_S8
                               ? (enum assay_linear_activation)(turn / 2 % ASSAY_LINEAR_ACTIVATIONS)
                               : ASSAY_LINEAR_NONE;
        o.add = dtype != ASSAY_DTYPE_S8 && turn / 16 % 2;
        o.job.norm = values == REAL ? (enum assay_linear_norm)(turn / 32 % ASSAY_LINEAR_NORMS)
                                    : ASSAY_LINEAR_NO_NORM;
        run_bodies(&o, values);
    }
    operands_destroy(&o);
}

/* Every m, k and n of these once, in turns. */
static const int64_t ms[] = {1, 2, 3, 5, 8, 9, 16, 17, 33},
                     ks[] = {1, 3, 31, 32, 33, 64, 96, 127, 128, 160, 256, 257},
                     ns[] = {1, 5, 15, 16, 17, 33, 64, 80};

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static void run_shapes(const char *recipe, enum assay_dtype dtype, enum values values)
{
    for (int i = 0; i < COUNT(ms); i++)
        for (int j = 0; j < COUNT(ks); j++)
            for (int l = 0; l < 2; l++) {
                int64_t shape[3] = {ms[i], ks[j], ns[(3 * i + 5 * j + 4 * l + i * j) % COUNT(ns)]};
                if (!left_out(1))
                    run_shape(recipe, dtype, shape, values);
            }
}

static void test_whole_numbers(void **state)
{
    (void)state;
    for (int d = 0; d < COUNT(dtypes); d++)
        for (int i = 0; i < RECIPES; i++)
            run_shapes(recipes[i], dtypes[d], WHOLE);
    run_shapes("baseline", ASSAY_DTYPE_S8, WHOLE);
}

static void test_real_numbers(void **state)
{
    (void)state;
    for (int d = 0; d < COUNT(dtypes); d++)
        for (int i = 0; i < RECIPES; i++)
            run_shapes(recipes[i], dtypes[d], REAL);
}

static void test_nan_and_infinity(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{3, 64, 33}, {5, 96, 17}, {17, 160, 16}};
    for (int s = 0; s < COUNT(shapes); s++)
        for (int d = 0; d < COUNT(dtypes); d++)
            for (int i = 0; i < RECIPES; i++)
                run_shape(recipes[i], dtypes[d], shapes[s], ODD);
}

/* Slices of k, rows in several turns, and sums of s8 beyond 2^24. */
static void test_long_and_tall(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{2, 5000, 33}, {19, 2600, 49}, {300, 2100, 40}};
    for (int s = 0; s < COUNT(shapes); s++) {
        for (int d = 0; d < COUNT(dtypes); d++)
            run_shape("baseline", dtypes[d], shapes[s], WHOLE);
        run_shape("int8dq", ASSAY_DTYPE_BF16, shapes[s], REAL);
        run_shape("baseline", ASSAY_DTYPE_S8, shapes[s], WHOLE);
    }
    int64_t grouped[3] = {300, 4096, 40};
    run_shape("int4wo-128", ASSAY_DTYPE_BF16, grouped, REAL);
}

/* Enough rows, and rows that do not share L1 sets: half of them are used in place. */
static void test_rows_in_place(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{145, 1024, 40}, {170, 1056, 33}, {128, 2112, 16}};
    for (int s = 0; s < COUNT(shapes); s++) {
        run_shape("baseline", ASSAY_DTYPE_BF16, shapes[s], WHOLE);
        run_shape("baseline", ASSAY_DTYPE_BF16, shapes[s], REAL);
        run_shape("int8wo", ASSAY_DTYPE_BF16, shapes[s], REAL);
        run_shape("baseline", ASSAY_DTYPE_S8, shapes[s], WHOLE);
    }
}

/* Outputs that do not fit L2 are written with streaming stores, in whole lines. */
static void test_large_answers(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1057, 64, 1024}, {1090, 96, 992}, {1030, 64, 1000}};
    for (int s = 0; s < COUNT(shapes); s++) {
        if (left_out(s > 0 ? 4 : 1))
            continue;
        run_shape("baseline", ASSAY_DTYPE_BF16, shapes[s], WHOLE);
        run_shape("int8dq", ASSAY_DTYPE_BF16, shapes[s], WHOLE);
        run_shape("float8dq-row", ASSAY_DTYPE_BF16, shapes[s], REAL);
        run_shape("int8dq", ASSAY_DTYPE_F32, shapes[s], WHOLE);
        run_shape("baseline", ASSAY_DTYPE_S8, shapes[s], WHOLE);
    }
}

/* ---- f16 ---------------------------------------------------------------------------------------
 */

static void pack_again(struct operands *o)
{
    assay_packed_fini(&o->w);
    assert_int_equal(assay_packed_create(&o->job.recipe, o->job.dtype, o->weights, o->job.n,
                                         o->job.k, 1, &o->w, NULL),
                     ASSAY_OK);
}

/* Every f16 times 1 is itself: subnormals, and in the second turn infinities and NaNs as well. */
static void test_every_f16(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct operands o;
        double one = 1, two = -2;
        assert_true(operands_create(&o, "baseline", ASSAY_DTYPE_F16, 65536, 1, 2, REAL));
        for (int64_t i = 0; i < 65536; i++) {
            bool odd = (i & 0x7c00) == 0x7c00;
            ((uint16_t *)o.x)[i] = odd && turn == 0 ? 0 : (uint16_t)i;
        }
        assay_dtype_store(ASSAY_DTYPE_F16, &one, o.weights, 0, 1);
        assay_dtype_store(ASSAY_DTYPE_F16, &two, o.weights, 1, 1);
        pack_again(&o);
        answers(&o);
        for (int64_t i = 0; i < 2 * 65536; i++)
            if (fabs(o.want[i]) > 65504)
                o.want[i] = copysign(INFINITY, o.want[i]);
        for (int b = 0; b < BODIES; b++) {
            uint16_t *y = assay_calloc(2 * 65536, sizeof *y);
            struct linear_part part = {0, 65536, 0, 1};
            if (takes(&bodies[b], &o.job)) {
                struct fenced scratch =
                    fenced_create(bodies[b].body->scratch_bytes(&o.job, &part), 64);
                struct linear_call call = {.job = &o.job, .x = o.x, .w = &o.w, .y = y};
                bodies[b].body->compute(&call, &part, scratch.data);
                for (int64_t i = 0; i < 2 * 65536; i++) {
                    double got = output_at(&o, y, i);
                    if (got != o.want[i] && !(isnan(got) && isnan(o.want[i])))
                        fail_msg("%s: %04llx gives %g, not %g", bodies[b].name,
                                 (unsigned long long)i / 2, got, o.want[i]);
                }
                fenced_destroy(&scratch);
            }
            assay_free(y);
        }
        operands_destroy(&o);
    }
}

/* x of all magnitudes with weights of which a quarter is subnormal. */
static void test_f16_of_all_magnitudes(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{5, 33, 17}, {17, 100, 40}, {40, 97, 33}, {70, 1100, 50}};
    for (int s = 0; s < COUNT(shapes); s++) {
        struct operands o;
        int64_t m = shapes[s][0], k = shapes[s][1], n = shapes[s][2];
        assert_true(operands_create(&o, "baseline", ASSAY_DTYPE_F16, m, k, n, REAL));
        for (int64_t i = 0; i < m * k; i++) {
            uint16_t bits = (uint16_t)assay_rng_at(51, (uint64_t)i);
            ((uint16_t *)o.x)[i] = (bits & 0x7c00) == 0x7c00 ? bits & 0xbfff : bits;
        }
        for (int64_t i = 0; i < n * k; i++)
            ((uint16_t *)o.weights)[i] = (uint16_t)(assay_rng_at(52, (uint64_t)i) & 0x8fff);
        pack_again(&o);
        run_bodies(&o, REAL);
        operands_destroy(&o);
    }
}

/* An infinity in x, in the weights, in both, and one that meets a 0. */
static void test_f16_infinite_weights(void **state)
{
    (void)state;
    static const char *const some[] = {"baseline", "int8wo", "float8wo"};
    for (int turn = 0; turn < 4; turn++)
        for (int r = 0; r < (turn == 0 ? 3 : 1); r++) { /* such weights have no codes */
            struct operands o;
            double infinity = -INFINITY, zero = 0;
            assert_true(operands_create(&o, some[r], ASSAY_DTYPE_F16, 40, 64, 33, WHOLE));
            for (int64_t i = 0; i < 33 * 64; i++) /* 1 … 5: no infinity meets a 0 */
                assay_dtype_store(ASSAY_DTYPE_F16, &(double){(double)(1 + i % 5)}, o.weights, i, 1);
            for (int64_t i = 0; i < 40 * 64; i++)
                assay_dtype_store(ASSAY_DTYPE_F16, &(double){(double)(-1 - i % 3)}, o.x, i, 1);
            if (turn != 1)
                assay_dtype_store(ASSAY_DTYPE_F16, &infinity, o.x, 3 * 64 + 5, 1);
            if (turn != 0)
                assay_dtype_store(ASSAY_DTYPE_F16, &infinity, o.weights, 20 * 64 + 9, 1);
            if (turn == 3) {
                assay_dtype_store(ASSAY_DTYPE_F16, &zero, o.x, 7 * 64 + 9, 1);
                assay_dtype_store(ASSAY_DTYPE_F16, &zero, o.weights, 5, 1);
            }
            pack_again(&o);
            run_bodies(&o, REAL);
            operands_destroy(&o);
        }
}

/* Weights of extreme magnitude meet x of extreme magnitude: -128 * -128, k times. */
static void test_s8_extremes(void **state)
{
    (void)state;
    struct operands o;
    static const int64_t shapes[][2] = {{1, 5000}, {20, 5000}, {3, 1024}, {20, 1025}};
    for (int s = 0; s < COUNT(shapes); s++) {
        int64_t m = shapes[s][0], k = shapes[s][1], n = 35;
        assert_true(operands_create(&o, "baseline", ASSAY_DTYPE_S8, m, k, n, WHOLE));
        memset(o.x, -128, (size_t)(m * k));
        memset(o.weights, -128, (size_t)(n * k));
        assay_packed_fini(&o.w);
        assert_int_equal(
            assay_packed_create(&o.job.recipe, ASSAY_DTYPE_S8, o.weights, n, k, 1, &o.w, NULL),
            ASSAY_OK);
        run_bodies(&o, WHOLE);
        operands_destroy(&o);
    }
}

/* All 256 codes of e4m3, NaN among them, in a panel with one weight for each output. */
static void test_every_e4m3(void **state)
{
    (void)state;
    for (int64_t m = 1; m <= 20; m += 19) {
        struct operands o;
        assert_true(operands_create(&o, "float8wo", ASSAY_DTYPE_F32, m, 5, 256, WHOLE));
        for (int64_t i = 0; i < m * 5; i++)
            ((float *)o.x)[i] = i % 5 == 3 ? 1.0f : 0.0f;
        for (int code = 0; code < 256; code++) {
            size_t at =
                (size_t)(code / 16) * assay_packed_panel_bytes(&o.w) + (size_t)(code % 16) * 4;
            memset(o.w.codes + at, 0, 4);
            memset(o.w.codes + at + 64, 0, 4);
            o.w.codes[at + 3] = (unsigned char)code;
            o.w.row_scales[code] = 1;
        }
        run_bodies(&o, REAL);
        for (int code = 0; code < 256; code++)
            assert_true((code & 0x7f) == 0x7f
                            ? isnan(o.want[code])
                            : o.want[code] == (double)assay_e4m3_to_f32((uint8_t)code));
        operands_destroy(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_real_numbers),
        cmocka_unit_test(test_nan_and_infinity),
        cmocka_unit_test(test_long_and_tall),
        cmocka_unit_test(test_rows_in_place),
        cmocka_unit_test(test_large_answers),
        cmocka_unit_test(test_every_f16),
        cmocka_unit_test(test_f16_of_all_magnitudes),
        cmocka_unit_test(test_f16_infinite_weights),
        cmocka_unit_test(test_s8_extremes),
        cmocka_unit_test(test_every_e4m3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
