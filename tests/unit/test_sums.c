/* test_sums.c: sums of products as kernels and matrix units compute them, in any order and with
 * accumulators that cut bits off, lie within the tolerance of `linear`; sums that leave something
 * out, or keep too few bits, do not. */
#include "unit.h"

#include "bench/verify.h"

#include <stdlib.h>

enum { M = 8, N = 32 };

/* One problem, with the terms' factors as f32. */
struct bed {
    struct assay_problem problem;
    void *in[ASSAY_MAX_INPUTS];
    float *x, *w;
    int64_t k;
    assay_reference *reference;
    uint32_t answer[M * N]; /* large enough for any dtype */
};

static float *as_f32(const struct assay_tensor *t, const void *data)
{
    int64_t n = assay_tensor_count(t);
    float *out = malloc((size_t)n * sizeof *out);
    assert_non_null(out);
    for (int64_t i = 0; i < n; i++) {
        double value;
        assay_dtype_load(t->dtype, data, i, 1, &value);
        out[i] = (float)value;
    }
    return out;
}

/* Terms of one sign add up to far larger sums. */
static void make_positive(const struct assay_tensor *t, void *data)
{
    for (int64_t i = 0; i < assay_tensor_count(t); i++) {
        double value;
        assay_dtype_load(t->dtype, data, i, 1, &value);
        value = fabs(value);
        assay_dtype_store(t->dtype, &value, data, i, 1);
    }
}

static struct bed make_bed(enum assay_dtype dtype, int64_t k, bool positive)
{
    const struct assay_op *op = assay_op_find("linear");
    struct bed bed = {.k = k};
    int64_t axes[] = {M, k, N};
    assert_int_equal(assay_op_problem(op, dtype, NULL, axes, 1, &bed.problem, NULL), ASSAY_OK);
    for (int32_t i = 0; i < 2; i++) {
        const struct assay_tensor *t = &bed.problem.inputs[i];
        bed.in[i] = malloc(assay_tensor_bytes(t));
        assert_non_null(bed.in[i]);
        assay_op_fill(op, &bed.problem, i, bed.in[i], 7);
        if (positive)
            make_positive(t, bed.in[i]);
    }
    bed.x = as_f32(&bed.problem.inputs[0], bed.in[0]);
    bed.w = as_f32(&bed.problem.inputs[1], bed.in[1]);
    struct assay_reference_how how = {.most = 1 << 20};
    assert_int_equal(assay_reference_create(op, &bed.problem, (const void *const *)bed.in, &how,
                                            &bed.reference, NULL),
                     ASSAY_OK);
    return bed;
}

static void strip_bed(struct bed *bed)
{
    free(bed->in[0]);
    free(bed->in[1]);
    free(bed->x);
    free(bed->w);
    assay_reference_destroy(bed->reference);
}

/* ---- sums ---- */

typedef float (*sum_fn)(const float *x, const float *w, int64_t k);

static float one_after_the_other(const float *x, const float *w, int64_t k)
{
    float sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += x[i] * w[i];
    return sum;
}

static float backwards(const float *x, const float *w, int64_t k)
{
    float sum = 0;
    for (int64_t i = k - 1; i >= 0; i--)
        sum = fmaf(x[i], w[i], sum);
    return sum;
}

static float in_blocks(const float *x, const float *w, int64_t k)
{
    float sum = 0;
    for (int64_t i = 0; i < k; i += 64)
        sum += one_after_the_other(x + i, w + i, k - i < 64 ? k - i : 64);
    return sum;
}

static float in_pairs(const float *x, const float *w, int64_t k)
{
    return k <= 4 ? one_after_the_other(x, w, k)
                  : in_pairs(x, w, k / 2) + in_pairs(x + k / 2, w + k / 2, k - k / 2);
}

static float in_lanes(const float *x, const float *w, int64_t k)
{
    float lanes[16] = {0}, sum = 0;
    for (int64_t i = 0; i < k; i++)
        lanes[i % 16] = fmaf(x[i], w[i], lanes[i % 16]);
    for (int i = 0; i < 16; i++)
        sum += lanes[i];
    return sum;
}

static double cut(double value, double quantum) { return trunc(value / quantum) * quantum; }

/* As matrix units do it: the accumulator and `step` products aligned to the greatest of them, cut
 * to `bits` bits, added; the sum cut to f32, or to `bits` where that is less. */
static float cut_off(const float *x, const float *w, int64_t k, int64_t step, int bits)
{
    double sum = 0;
    for (int64_t i = 0; i < k; i += step) {
        int64_t n = k - i < step ? k - i : step;
        double greatest = fabs(sum), added;
        for (int64_t j = i; j < i + n; j++)
            greatest = fmax(greatest, fabs((double)x[j] * (double)w[j]));
        if (greatest == 0)
            continue;
        double quantum = ldexp(1, ilogb(greatest) - bits + 1);
        added = cut(sum, quantum);
        for (int64_t j = i; j < i + n; j++)
            added += cut((double)x[j] * (double)w[j], quantum);
        sum = added == 0 ? 0 : cut(added, ldexp(1, ilogb(added) - (bits < 24 ? bits : 24) + 1));
    }
    return (float)sum;
}

static float cut_4_at_24(const float *x, const float *w, int64_t k)
{
    return cut_off(x, w, k, 4, 24);
}

static float cut_8_at_25(const float *x, const float *w, int64_t k)
{
    return cut_off(x, w, k, 8, 25);
}

static float cut_16_at_26(const float *x, const float *w, int64_t k)
{
    return cut_off(x, w, k, 16, 26);
}

static float cut_32_at_14(const float *x, const float *w, int64_t k)
{
    return cut_off(x, w, k, 32, 14);
}

static float without_the_last_thirtieth(const float *x, const float *w, int64_t k)
{
    return in_blocks(x, w, k - k / 30);
}

static float without_one_block(const float *x, const float *w, int64_t k)
{
    return in_blocks(x, w, k / 2) + in_blocks(x + k / 2 + 64, w + k / 2 + 64, k - k / 2 - 64);
}

static float summed_in_bf16(const float *x, const float *w, int64_t k)
{
    uint16_t held;
    double sum = 0;
    for (int64_t i = 0; i < k; i += 16) {
        sum += (double)one_after_the_other(x + i, w + i, k - i < 16 ? k - i : 16);
        assay_dtype_store(ASSAY_DTYPE_BF16, &sum, &held, 0, 1);
        assay_dtype_load(ASSAY_DTYPE_BF16, &held, 0, 1, &sum);
    }
    return (float)sum;
}

static struct assay_comparison compare(struct bed *bed, sum_fn sum)
{
    struct assay_comparison c;
    for (int64_t i = 0; i < M * N; i++) {
        double y = (double)sum(bed->x + i / N * bed->k, bed->w + i % N * bed->k, bed->k);
        assay_dtype_store(bed->problem.outputs[0].dtype, &y, bed->answer, i, 1);
    }
    assay_reference_compare(bed->reference, bed->answer, &c);
    return c;
}

static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
static const int64_t lengths[] = {1, 2, 15, 100, 1000, 14336, 100000};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static void check(const sum_fn *sums, int n, enum assay_dtype dtype, int64_t k, bool positive,
                  bool right)
{
    struct bed bed = make_bed(dtype, k, positive);
    for (int i = 0; i < n; i++) {
        struct assay_comparison c = compare(&bed, sums[i]);
        if ((c.mismatches == 0) != right)
            fail_msg("sum %d, %s, k = %lld%s: %lld of %lld wrong; got %.9g, not %.9g; %.2f of what "
                     "is allowed",
                     i, assay_dtype_name(dtype), (long long)k, positive ? ", all positive" : "",
                     (long long)c.mismatches, (long long)c.compared, c.first_got, c.first_ref,
                     c.worst);
    }
    strip_bed(&bed);
}

static void sums_in_any_order_are_right(void **state)
{
    (void)state;
    static const sum_fn sums[] = {one_after_the_other, backwards, in_blocks, in_pairs, in_lanes};
    for (int d = 0; d < 3; d++)
        for (int l = 0; l < LENGTHS; l++)
            for (int positive = 0; positive < 2; positive++)
                if (!left_out(1))
                    check(sums, 5, dtypes[d], lengths[l], positive, true);
}

static void accumulators_that_cut_bits_off_are_right(void **state)
{
    (void)state;
    static const sum_fn sums[] = {cut_4_at_24, cut_8_at_25, cut_16_at_26};
    for (int d = 1; d < 3; d++)
        for (int l = 0; l < LENGTHS; l++)
            if (!left_out(1))
                check(sums, 3, dtypes[d], lengths[l], false, true);
    static const sum_fn wider[] = {cut_8_at_25, cut_16_at_26};
    for (int l = 0; l < LENGTHS; l++)
        if (!left_out(1))
            check(wider, 2, ASSAY_DTYPE_F16, lengths[l], true, true);
}

/* One block of 64 in 100,000 is less than bf16 shows. */
static void sums_of_a_part_are_wrong(void **state)
{
    (void)state;
    static const sum_fn sums[] = {without_the_last_thirtieth, without_one_block};
    for (int d = 0; d < 3; d++)
        for (int l = 4; l < LENGTHS; l++)
            if (!left_out(1))
                check(sums, dtypes[d] == ASSAY_DTYPE_BF16 ? 1 : 2, dtypes[d], lengths[l], false,
                      false);
}

/* In f32 every accumulator that cuts is too short; in f16 one of 14 bits is. */
static void too_few_bits_are_wrong(void **state)
{
    (void)state;
    static const sum_fn narrow[] = {summed_in_bf16, cut_32_at_14};
    for (int l = 4; l < LENGTHS; l++)
        for (int d = 0; d < 2; d++)
            if (!left_out(1))
                check(narrow, 2, dtypes[d], lengths[l], false, false);
}

/* The one that was called wrong: an f16 sum of 14,336 terms that nearly cancel. Both libraries were
 * 1.6e-5 off where the terms' root of the sum of squares is 1. */
static void a_cancelled_sum_is_right(void **state)
{
    (void)state;
    struct assay_tolerance t;
    struct assay_problem p;
    int64_t axes[] = {2048, 14336, 4096};
    const struct assay_op *op = assay_op_find("linear");
    double expected = -0.00414178, got = -0.00415802, size = fabs(expected) + 0.95;
    struct assay_comparison c;
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F16, NULL, axes, 1, &p, NULL), ASSAY_OK);
    t = op->tolerance(&p);
    assay_comparison_init(&c, t);
    assay_comparison_add_sums(&c, ASSAY_DTYPE_F64, &got, 0, &expected, &size, 1);
    assert_int_equal(c.mismatches, 0);
    got = -0.0050; /* but not anything */
    assay_comparison_add_sums(&c, ASSAY_DTYPE_F64, &got, 0, &expected, &size, 1);
    assert_int_equal(c.mismatches, 1);
    assert_true(c.worst > 1 && c.worst_absolute > t.summed * 0.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_in_any_order_are_right),
        cmocka_unit_test(accumulators_that_cut_bits_off_are_right),
        cmocka_unit_test(sums_of_a_part_are_wrong),
        cmocka_unit_test(too_few_bits_are_wrong),
        cmocka_unit_test(a_cancelled_sum_is_right),
    };
    return cmocka_run_group_tests_name("sums", tests, NULL, NULL);
}
