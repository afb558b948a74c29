/* test_quantize.c: the ops quantize and dequantize and their kernels: codes and scales bit for bit
 * against a definition written down here, over awkward shapes, every mode, dtype and instruction
 * set of this machine. */
#include "unit.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "bench/verify.h"
#include "kernel/kernel.h"
#include "op/quantize.h"
#include "quant/quant_recipe.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, GUARD = 0xA5 };

static const char *const isas[] = {"ref", "portable", "avx2", "avx512"};
static const char *const formats[] = {"s8", "e4m3", "e5m2", "u4"};
static const char *const scopes[] = {"row", "tensor", "32", "64", "128", "256"};
static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
enum { ISAS = 4, FORMATS = 4, SCOPES = 6, DTYPES = 3 };

static assay_kernel_registry *registry;

static const struct assay_kernel *kernel_of(const char *op, const char *isa)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s", op, isa);
    const struct assay_kernel *kernel = assay_kernel_find(registry, name);
    assert_non_null(kernel);
    return assay_kernel_can_run(kernel, NULL, NULL) == ASSAY_OK ? kernel : NULL;
}

/* ---- memory that ends where an untouchable page begins ----------------------------------------
 */

struct fenced {
    unsigned char *map, *data;
    size_t map_bytes, bytes;
};

static struct fenced fenced_create(const struct assay_tensor *t)
{
    size_t bytes = assay_tensor_bytes(t), padded = (bytes + 63) / 64 * 64;
    size_t middle = (padded + 64 + PAGE - 1) / PAGE * PAGE;
    struct fenced f = {.map_bytes = middle + PAGE, .bytes = bytes};
    f.map = mmap(NULL, f.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.map != MAP_FAILED);
    assert_int_equal(mprotect(f.map + middle, PAGE, PROT_NONE), 0);
    memset(f.map, GUARD, middle);
    f.data = f.map + middle - padded;
    return f;
}

static void fenced_destroy(struct fenced *f)
{
    if (!f->map)
        return;
    for (const unsigned char *p = f->map; p < f->data; p++)
        assert_int_equal(*p, GUARD);
    for (const unsigned char *p = f->data + f->bytes; (uintptr_t)p % PAGE; p++)
        assert_int_equal(*p, GUARD);
    munmap(f->map, f->map_bytes);
}

struct bed {
    const struct assay_op *op;
    struct assay_problem p;
    struct fenced in[2], out[2];
};

/* False where the mode does not fit k. */
static bool make_bed(const char *op, enum assay_dtype dtype, const char *mode, int64_t m, int64_t k,
                     int32_t threads, struct bed *bed)
{
    int64_t axes[] = {m, k};
    *bed = (struct bed){.op = assay_op_find(op)};
    if (assay_op_problem(bed->op, dtype, mode, axes, threads, &bed->p, NULL) != ASSAY_OK)
        return false;
    for (int i = 0; i < bed->p.n_inputs; i++) {
        bed->in[i] = fenced_create(&bed->p.inputs[i]);
        assay_op_fill(bed->op, &bed->p, i, bed->in[i].data, 7);
    }
    for (int i = 0; i < bed->p.n_outputs; i++)
        bed->out[i] = fenced_create(&bed->p.outputs[i]);
    return true;
}

static void strip_bed(struct bed *bed)
{
    for (int i = 0; i < 2; i++) {
        fenced_destroy(&bed->in[i]);
        fenced_destroy(&bed->out[i]);
    }
}

static void run_kernel(struct bed *bed, const struct assay_kernel *kernel)
{
    const void *in[] = {bed->in[0].data, bed->in[1].data};
    void *out[] = {bed->out[0].data, bed->out[1].data};
    struct assay_args args = {in, out};
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    void *state = NULL;
    for (int i = 0; i < bed->p.n_outputs; i++)
        memset(bed->out[i].data, 0x5a, bed->out[i].bytes);
    assert_int_equal(kernel->setup(&bed->p, &state, NULL), ASSAY_OK);
    assert_int_equal(kernel->run(state, &work), ASSAY_OK);
    kernel->teardown(state);
}

/* ---- the definition, as docs/recipes.md has it ------------------------------------------------
 */

static float element(enum assay_dtype dtype, const void *data, int64_t i)
{
    double value;
    assay_dtype_load(dtype, data, i, 1, &value);
    return (float)value;
}

static int clamped(double value, int least, int most)
{
    return isnan(value) ? 0 : value < least ? least : value > most ? most : (int)rint(value);
}

/* Codes one to a byte, and scales, of all runs. */
static void define(const struct bed *bed, uint8_t *codes, float *scales)
{
    const struct assay_problem *p = &bed->p;
    const void *x = bed->in[0].data;
    enum assay_dtype format = assay_quantize_format(p);
    int64_t run = assay_quantize_run(p);
    for (int64_t r = 0; r < assay_quantize_runs(p); r++) {
        float amax = 0, least = INFINITY, most = -INFINITY, scale, zero = 0;
        bool nan = false;
        for (int64_t i = r * run; i < r * run + run; i++) {
            float v = element(p->dtype, x, i);
            nan |= isnan(v);
            amax = fmaxf(amax, fabsf(v));
            least = fminf(least, v);
            most = fmaxf(most, v);
        }
        if (format == ASSAY_DTYPE_U4) {
            float step = nan ? 0 : (most - least) / 15.0f;
            scale = !nan && least == most ? 1 : step > 1e-6f ? step : 1e-6f;
            zero = !nan && least == most ? least : least + 8 * scale;
            scales[2 * r] = scale;
            scales[2 * r + 1] = zero;
        } else {
            scales[r] = scale = assay_quant_scale(format, nan ? NAN : amax);
        }
        float inverse = 1.0f / scale, low = zero - 8 * scale;
        for (int64_t i = r * run; i < r * run + run; i++) {
            float v = element(p->dtype, x, i), product = v * inverse, quotient = (v - low) / scale;
            codes[i] = format == ASSAY_DTYPE_S8     ? (uint8_t)clamped((double)product, -128, 127)
                       : format == ASSAY_DTYPE_E4M3 ? assay_e4m3_from_f32(product)
                       : format == ASSAY_DTYPE_E5M2 ? assay_e5m2_from_f32(product)
                                                    : (uint8_t)clamped((double)quotient, 0, 15);
        }
    }
}

static bool same_float(float a, float b) { return a == b || (isnan(a) && isnan(b)); }

static bool is_nan_code(enum assay_dtype format, uint8_t code)
{
    return (format == ASSAY_DTYPE_E4M3 && (code & 0x7f) == 0x7f) ||
           (format == ASSAY_DTYPE_E5M2 && (code & 0x7f) > 0x7c);
}

/* One NaN is as good as another. */
static void check_against(const struct bed *bed, const char *isa, const char *mode,
                          const uint8_t *codes, const float *scales)
{
    const struct assay_problem *p = &bed->p;
    enum assay_dtype format = assay_quantize_format(p);
    const uint8_t *got = bed->out[0].data;
    const float *got_scales = (const float *)bed->out[1].data;
    for (int64_t i = 0; i < assay_tensor_count(&p->outputs[1]); i++)
        if (!same_float(got_scales[i], scales[i]))
            fail_msg("%s %s %s %lldx%lld: scale %lld is %.9g, not %.9g", isa, mode,
                     assay_dtype_name(p->dtype), (long long)p->axes[0], (long long)p->axes[1],
                     (long long)i, (double)got_scales[i], (double)scales[i]);
    for (int64_t i = 0; i < assay_tensor_count(&p->outputs[0]); i++) {
        uint8_t code = format == ASSAY_DTYPE_U4 ? (got[i / 2] >> (i % 2 * 4)) & 15 : got[i];
        if (code != codes[i] && !(is_nan_code(format, code) && is_nan_code(format, codes[i])))
            fail_msg("%s %s %s %lldx%lld: code %lld of %.9g is %d, not %d", isa, mode,
                     assay_dtype_name(p->dtype), (long long)p->axes[0], (long long)p->axes[1],
                     (long long)i, (double)element(p->dtype, bed->in[0].data, i), code, codes[i]);
    }
}

static void check_quantize(struct bed *bed, const char *mode)
{
    uint8_t *codes = assay_calloc((size_t)assay_tensor_count(&bed->p.outputs[0]), 1);
    float *scales = assay_calloc((size_t)assay_tensor_count(&bed->p.outputs[1]), sizeof *scales);
    assert_true(codes && scales);
    define(bed, codes, scales);
    for (int i = 0; i < ISAS; i++) {
        const struct assay_kernel *kernel = kernel_of("quantize", isas[i]);
        if (!kernel)
            continue;
        run_kernel(bed, kernel);
        check_against(bed, isas[i], mode, codes, scales);
    }
    assay_free(codes);
    assay_free(scales);
}

static void every_mode(int64_t m, int64_t k, int32_t threads,
                       void (*change)(const struct assay_problem *, void *),
                       void (*check)(struct bed *, const char *), const char *op)
{
    for (int d = 0; d < DTYPES; d++)
        for (int f = 0; f < FORMATS; f++)
            for (int s = 0; s < SCOPES; s++) {
                char mode[32];
                struct bed bed;
                snprintf(mode, sizeof mode, "%s-%s", formats[f], scopes[s]);
                if (!make_bed(op, dtypes[d], mode, m, k, threads, &bed))
                    continue;
                if (change)
                    change(&bed.p, bed.in[0].data);
                check(&bed, mode);
                strip_bed(&bed);
            }
}

/* ---- quantize ---------------------------------------------------------------------------------
 */

static const int64_t rows[] = {1, 3, 17}, lengths[] = {1, 2, 31, 32, 34, 64, 96, 128, 257, 512};
enum { ROWS = 3, LENGTHS = 10 };

static void test_shapes(void **state)
{
    (void)state;
    for (int m = 0; m < ROWS; m++)
        for (int k = 0; k < LENGTHS; k++)
            every_mode(rows[m], lengths[k], 1, NULL, check_quantize, "quantize");
}

/* Rows longer than a batch, and several threads that share rows, groups or one tensor. */
static void test_threads(void **state)
{
    (void)state;
    every_mode(17, 4356, 3, NULL, check_quantize, "quantize");
    every_mode(40, 1536, 3, NULL, check_quantize, "quantize");
    every_mode(1, 70000, 4, NULL, check_quantize, "quantize");
}

/* Codes beyond the L2 cache are written with streaming stores. */
static void test_streams(void **state)
{
    (void)state;
    static const char *const modes[] = {"s8-row", "u4-row", "e4m3-tensor"};
    for (int i = 0; i < 3; i++) {
        struct bed bed;
        assert_true(make_bed("quantize", ASSAY_DTYPE_BF16, modes[i], 1051, 4106, 1, &bed));
        uint8_t *codes = assay_calloc((size_t)assay_tensor_count(&bed.p.outputs[0]), 1);
        float *scales = assay_calloc((size_t)assay_tensor_count(&bed.p.outputs[1]), sizeof *scales);
        assert_true(codes && scales);
        define(&bed, codes, scales);
        for (int k = 1; k < ISAS; k++)
            if (kernel_of("quantize", isas[k])) {
                run_kernel(&bed, kernel_of("quantize", isas[k]));
                check_against(&bed, isas[k], modes[i], codes, scales);
            }
        assay_free(codes);
        assay_free(scales);
        strip_bed(&bed);
    }
}

static void put(const struct assay_problem *p, void *x, int64_t i, double value)
{
    assay_dtype_store(p->dtype, &value, x, i, 1);
}

/* Row by row: zeros, one value, NaN, infinities, the largest and the smallest numbers. */
static void odd_rows(const struct assay_problem *p, void *x)
{
    int64_t m = p->axes[0], k = p->axes[1];
    double most = assay_dtype_info(p->dtype)->max;
    double tiny = p->dtype == ASSAY_DTYPE_F16   ? 0x1p-24
                  : p->dtype == ASSAY_DTYPE_F32 ? 0x1p-149
                                                : 0x1p-133;
    for (int64_t r = 0; r < m; r++)
        for (int64_t i = 0; i < k; i++) {
            int64_t at = r * k + i, last = k - 1;
            switch (r % 14) {
            case 0:
                put(p, x, at, 0);
                break;
            case 1:
                put(p, x, at, i % 2 ? -0.0 : 0.0);
                break;
            case 2:
                put(p, x, at, -2.5);
                break;
            case 3:
                put(p, x, at, i == last ? (double)NAN : (double)i);
                break;
            case 4:
                put(p, x, at, i == 0 ? -(double)NAN : (double)i);
                break;
            case 5:
                put(p, x, at, i == last / 2 ? (double)INFINITY : 1);
                break;
            case 6:
                put(p, x, at, i == last ? -(double)INFINITY : i ? 3 : (double)INFINITY);
                break;
            case 7:
                put(p, x, at, i % 3 ? most : -most);
                break;
            case 8:
                put(p, x, at, tiny * (double)(i % 7));
                break;
            case 9:
                put(p, x, at, i == 3 ? most : tiny * (double)i);
                break;
            case 10:
                put(p, x, at, 1000 + 1e-3 * (double)i);
                break;
            case 11:
                put(p, x, at, ldexp(1, -(int)(i % 40))); /* down to the subnormals of the codes */
                break;
            case 12:
                put(p, x, at, (double)NAN);
                break;
            default:
                break; /* as it was */
            }
        }
}

static void test_odd_rows(void **state)
{
    (void)state;
    every_mode(14, 96, 1, odd_rows, check_quantize, "quantize");
    every_mode(28, 131, 1, odd_rows, check_quantize, "quantize");
    every_mode(14, 5000, 3, odd_rows, check_quantize, "quantize");
}

/* Values on and next to the middle between two codes: a code that a kernel rounds differently from
 * x / scale, or x * (1 / scale), rounded once, shows here. */
static void ties(const struct assay_problem *p, void *x)
{
    int64_t k = p->axes[1];
    bool ranged = assay_quantize_format(p) == ASSAY_DTYPE_U4;
    for (int64_t r = 0; r < p->axes[0]; r++)
        for (int64_t g = 0; g < k; g += 32) { /* each group of 32 has both ends of the range */
            uint64_t random = assay_rng_at(3, (uint64_t)(r * k + g));
            bool whole = random % 4 == 0;
            double scale = whole ? 0.25 : (double)((float)(random >> 40) * 0x1p-24f + 0.1f);
            double low = whole ? -2 : (double)((float)((random >> 16) & 0xffff) * 0x1p-14f - 2);
            for (int64_t i = g; i < g + 32 && i < k; i++) {
                uint64_t bits = assay_rng_at(random, (uint64_t)i);
                double step = i % 32 < 2 ? (i % 2 ? (ranged ? 15 : 127.5) : (ranged ? 0 : -100))
                                         : (double)(bits % (ranged ? 15 : 120)) + 0.5;
                float value = (float)(ranged ? low + step * scale : step * scale);
                for (int ulps = (int)(bits >> 60) % 5 - 2; ulps; ulps += ulps < 0 ? 1 : -1)
                    value = nextafterf(value, ulps < 0 ? -INFINITY : INFINITY);
                put(p, x, r * k + i, (double)value);
            }
        }
}

static void test_ties(void **state)
{
    (void)state;
    every_mode(64, 1024, 1, ties, check_quantize, "quantize");
}

/* ---- dequantize -------------------------------------------------------------------------------
 */

static void check_dequantize(struct bed *bed, const char *mode)
{
    const struct assay_problem *p = &bed->p;
    enum assay_dtype format = assay_quantize_format(p);
    const float *scales = (const float *)bed->in[1].data;
    bool ranged = format == ASSAY_DTYPE_U4;
    int64_t run = assay_quantize_run(p), k = p->axes[1];
    struct assay_tolerance tolerance = bed->op->tolerance(p);
    double flushed = assay_dtype_info(p->dtype)->tiny;
    for (int i = 0; i < ISAS; i++) {
        const struct assay_kernel *kernel = kernel_of("dequantize", isas[i]);
        if (!kernel)
            continue;
        run_kernel(bed, kernel);
        for (int64_t at = 0; at < p->axes[0] * k; at++) {
            double got = (double)element(p->dtype, bed->out[0].data, at), want, code;
            assay_dtype_load(format, bed->in[0].data, at, 1, &code);
            int64_t r = at / run;
            want = ranged  ? (code - 8) * (double)scales[2 * r] + (double)scales[2 * r + 1]
                   : i > 0 ? (double)((float)code * scales[r])
                           : code * (double)scales[r]; /* ref rounds only to its dtype */
            bool right = isnan(want) ? isnan(got) : got == want;
            if (ranged) {
                right = fabs(got - want) <= tolerance.absolute + tolerance.relative * fabs(want);
            } else if (!right && isfinite(want)) { /* to the bit */
                double rounded;
                assay_dtype_store(p->dtype, &want, &rounded, 0, 1);
                rounded = (double)element(p->dtype, &rounded, 0);
                right = got == rounded || (got == 0 && fabs(want) <= flushed);
            }
            if (!right)
                fail_msg("%s %s %s %lldx%lld: %lld is %.9g, not %.9g", isas[i], mode,
                         assay_dtype_name(p->dtype), (long long)p->axes[0], (long long)k,
                         (long long)at, got, want);
        }
    }
}

/* Every byte, NaN and infinities too. */
static void every_code(const struct assay_problem *p, void *codes)
{
    uint8_t *bytes = codes;
    for (size_t i = 0; i < assay_tensor_bytes(&p->inputs[0]); i++)
        bytes[i] = (uint8_t)(i * 167 + 13);
}

static void test_decode(void **state)
{
    (void)state;
    for (int m = 0; m < ROWS; m++)
        for (int k = 0; k < LENGTHS; k++)
            every_mode(rows[m], lengths[k], 1, NULL, check_dequantize, "dequantize");
    every_mode(3, 512, 1, every_code, check_dequantize, "dequantize");
    every_mode(2, 263 * 2, 1, every_code, check_dequantize, "dequantize");
    every_mode(17, 4356, 3, NULL, check_dequantize, "dequantize");
    every_mode(1, 70000, 4, NULL, check_dequantize, "dequantize");
}

static void test_decode_streams(void **state)
{
    (void)state;
    static const char *const modes[] = {"s8-row", "u4-128", "e4m3-tensor", "e5m2-32"};
    for (int i = 0; i < 4; i++)
        for (int d = 0; d < DTYPES; d++) {
            struct bed bed;
            assert_true(make_bed("dequantize", dtypes[d], modes[i], 1100, 4096, 2, &bed));
            struct assay_reference_how how = {.seed = 1, .most = ASSAY_VERIFY_MOST};
            const void *in[] = {bed.in[0].data, bed.in[1].data};
            assay_reference *reference;
            assert_int_equal(assay_reference_create(bed.op, &bed.p, in, &how, &reference, NULL),
                             ASSAY_OK);
            for (int k = 1; k < ISAS; k++)
                if (kernel_of("dequantize", isas[k])) {
                    struct assay_comparison c;
                    run_kernel(&bed, kernel_of("dequantize", isas[k]));
                    assay_reference_compare(reference, bed.out[0].data, &c);
                    assert_int_equal(c.mismatches, 0);
                }
            assay_reference_destroy(reference);
            strip_bed(&bed);
        }
}

/* ---- the ops ----------------------------------------------------------------------------------
 */

static struct assay_problem problem_of(const char *op, const char *mode, int64_t m, int64_t k)
{
    struct assay_problem p;
    int64_t axes[] = {m, k};
    assert_int_equal(assay_op_problem(assay_op_find(op), ASSAY_DTYPE_BF16, mode, axes, 1, &p, NULL),
                     ASSAY_OK);
    return p;
}

static void test_modes(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        enum assay_dtype format;
        int64_t run, scales;
    } table[] = {
        {"", ASSAY_DTYPE_S8, 256, 6},           {"s8-row", ASSAY_DTYPE_S8, 256, 6},
        {"S8-Row", ASSAY_DTYPE_S8, 256, 6},     {"e4m3-tensor", ASSAY_DTYPE_E4M3, 1536, 1},
        {"e5m2-256", ASSAY_DTYPE_E5M2, 256, 6}, {"u4-32", ASSAY_DTYPE_U4, 32, 96},
        {"u4-tensor", ASSAY_DTYPE_U4, 1536, 2}, {"s8-64", ASSAY_DTYPE_S8, 64, 24},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct assay_problem p = problem_of("quantize", table[i].mode, 6, 256);
        assert_int_equal(assay_quantize_format(&p), table[i].format);
        assert_int_equal(assay_quantize_run(&p), table[i].run);
        assert_int_equal(assay_tensor_count(&p.outputs[1]), table[i].scales);
        assert_int_equal(p.outputs[0].dtype, table[i].format);
        struct assay_problem q = problem_of("dequantize", table[i].mode, 6, 256);
        assert_int_equal(assay_tensor_count(&q.inputs[1]), table[i].scales);
        assert_int_equal(q.outputs[0].dtype, ASSAY_DTYPE_BF16);
    }
}

static void test_bad_modes(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        int64_t k;
        const char *message;
    } table[] = {
        {"s8-rows", 64,
         "unknown mode \"s8-rows\"; did you mean \"s8-row\"? A mode is FORMAT-SCOPE"},
        {"u4_128", 128, "unknown mode \"u4_128\"; did you mean \"u4-128\"?"},
        {"s8", 64, "unknown mode \"s8\"; did you mean \"s8-"},
        {"e4m3-48", 96, "unknown mode \"e4m3-48\"; did you mean \"e4m3-"},
        {"bias+gelu", 64, "did you mean \"s8-row\"?"},
        {"u4-128", 192, "u4-128: group 128 does not divide k = 192; u4-64 does"},
        {"s8-32", 33, "s8-32: group 32 does not divide k = 33; s8-row does"},
        {"u4-row", 33, "u4-row: codes of 4 bits lie two to a byte, so k must be even, not 33"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        for (int op = 0; op < 2; op++) {
            struct assay_problem p;
            struct assay_error err = {0};
            int64_t axes[] = {4, table[i].k};
            assert_int_equal(assay_op_problem(assay_op_find(op ? "dequantize" : "quantize"),
                                              ASSAY_DTYPE_F32, table[i].mode, axes, 1, &p, &err),
                             ASSAY_ERR_INVALID);
            if (!strstr(err.message, table[i].message))
                fail_msg("\"%s\" lacks \"%s\"", err.message, table[i].message);
        }
}

/* The scales are those of the recipes. */
static void test_scales_are_those_of_recipes(void **state)
{
    (void)state;
    struct assay_recipe recipe = {.code = ASSAY_DTYPE_U4, .group = 4};
    static const float groups[][4] = {{1, 2, 3, 4},      {-1, 5, 0.5f, 7}, {2, 2, 2, 2},
                                      {0, 0, -0.0f, 0},  {1e-9f, 0, 0, 0}, {-3e38f, 3e37f, 1, 2},
                                      {1e-45f, 0, 0, 0}, {7, -8, 3, 2.5f}, {100, 100.5f, 101, 99}};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        float scale, zero;
        assay_solve_asymmetric(&recipe, ASSAY_DTYPE_F32, groups[i], 4, &scale, &zero);
        struct assay_quantize_step step =
            assay_quantize_step_of(ASSAY_DTYPE_U4, ASSAY_DTYPE_F32, groups[i], 0, 4);
        assert_near((double)step.scale, (double)scale, 0);
        assert_near((double)step.zero, (double)zero, 0);
    }
}

/* A worked example: the range of u4 is -8 to 7, so codes are x + 8; s8 has 127.5 for a scale of 1.
 */
static void test_worked_examples(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("quantize");
    struct assay_problem p = problem_of("quantize", "u4-row", 1, 6);
    uint16_t x[8];
    static const double values[] = {-8, 7, 0, 2.5, 3.5, -7.75},
                        s8[] = {127.5, -127.5, 0.5, 1.5, -2, 0};
    static const double codes[] = {0, 15, 8, 10, 12, 0}, s8_codes[] = {127, -128, 0, 2, -2, 0};
    const void *in[] = {x};
    double out[8];
    assay_dtype_store(ASSAY_DTYPE_BF16, values, x, 0, 6);
    op->reference(&p, in, 0, 0, 6, out);
    for (int i = 0; i < 6; i++)
        assert_near(out[i], codes[i], 0);
    op->more[0].reference(&p, in, 0, 0, 2, out);
    assert_near(out[0], 1, 0);
    assert_near(out[1], 0, 0);
    p = problem_of("quantize", "s8-tensor", 2, 3);
    assay_dtype_store(ASSAY_DTYPE_BF16, s8, x, 0, 6);
    for (int row = 0; row < 2; row++) {
        op->reference(&p, in, row, 0, 3, out);
        for (int i = 0; i < 3; i++)
            assert_near(out[i], s8_codes[3 * row + i], 0);
    }
    op->more[0].reference(&p, in, 0, 0, 1, out);
    assert_near(out[0], 1, 0);

    const struct assay_op *back = assay_op_find("dequantize");
    struct assay_problem q = problem_of("dequantize", "u4-row", 1, 4);
    static const uint8_t packed[] = {0xf0, 0x98};
    static const float scales[] = {0.5f, 3};
    static const double want[] = {-1, 6.5, 3, 3.5};
    const void *codes_in[] = {packed, scales};
    back->reference(&q, codes_in, 0, 0, 4, out);
    for (int i = 0; i < 4; i++)
        assert_near(out[i], want[i], 0);
}

/* What bench/verify.c makes of them: right outputs pass, and known-wrong ones do not. */
static void test_verification(void **state)
{
    (void)state;
    for (int f = 0; f < FORMATS; f++)
        for (int s = 0; s < SCOPES; s++)
            for (int o = 0; o < 2; o++) {
                char mode[32];
                struct bed bed;
                snprintf(mode, sizeof mode, "%s-%s", formats[f], scopes[s]);
                assert_true(make_bed(o ? "dequantize" : "quantize", ASSAY_DTYPE_F16, mode, 5, 512,
                                     1, &bed));
                run_kernel(&bed, kernel_of(bed.op->name, "portable"));
                const void *in[] = {bed.in[0].data, bed.in[1].data};
                for (int32_t output = 0; output < bed.p.n_outputs; output++) {
                    struct assay_reference_how how = {
                        .seed = 1, .most = ASSAY_VERIFY_MOST, .output = output};
                    assay_reference *reference;
                    struct assay_comparison c;
                    assert_int_equal(
                        assay_reference_create(bed.op, &bed.p, in, &how, &reference, NULL),
                        ASSAY_OK);
                    assert_int_equal(assay_reference_controls(reference, NULL), ASSAY_OK);
                    assay_reference_compare(reference, bed.out[output].data, &c);
                    assert_int_equal(c.mismatches, 0);
                    bed.out[output].data[0] ^= 0x41;
                    bed.out[output].data[2] ^= 0x51;
                    assay_reference_compare(reference, bed.out[output].data, &c);
                    assert_true(c.mismatches > 0);
                    assay_reference_destroy(reference);
                }
                strip_bed(&bed);
            }
}

static void test_no_memory(void **state)
{
    (void)state;
    for (int o = 0; o < 2; o++) {
        struct bed bed;
        assert_true(
            make_bed(o ? "dequantize" : "quantize", ASSAY_DTYPE_F32, "s8-tensor", 4, 64, 1, &bed));
        for (int i = 1; i < ISAS; i++)
            for (int nth = 1; nth <= 2; nth++) {
                const struct assay_kernel *kernel = kernel_of(bed.op->name, isas[i]);
                void *own = NULL;
                if (!kernel)
                    continue;
                assay_alloc_fail_after(nth);
                enum assay_status status = kernel->setup(&bed.p, &own, NULL);
                assay_alloc_fail_after(0);
                if (status == ASSAY_OK)
                    kernel->teardown(own);
                else
                    assert_int_equal(status, ASSAY_ERR_NOMEM);
            }
        strip_bed(&bed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_odd_rows),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_decode_streams),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_bad_modes),
        cmocka_unit_test(test_scales_are_those_of_recipes),
        cmocka_unit_test(test_worked_examples),
        cmocka_unit_test(test_verification),
        cmocka_unit_test(test_no_memory),
    };
    registry = assay_kernel_registry_create();
    omp_set_num_threads(1); /* of fills and references; kernels say how many they want */
    int failed = cmocka_run_group_tests_name("quantize", tests, NULL, NULL);
    assay_kernel_registry_destroy(registry);
    return failed;
}
