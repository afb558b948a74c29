/* test_tensor.c: element types bit by bit, fills, checksums, comparison with a reference. */
#include "tensor/compare.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"
#include "unit.h"

#include <float.h>
#include <omp.h>

/* ---- 16-bit floats: every code, and every way to round between two of them --------------------
 */

struct format {
    enum assay_dtype dtype;
    int fraction_bits, bias;
    uint16_t infinity, quiet;
    float (*to_f32)(uint16_t bits);
    uint16_t (*from_f32)(float value);
};

static float f16_to_f32(uint16_t bits) { return assay_f16_to_f32(bits); }
static uint16_t f16_from_f32(float value) { return assay_f16_from_f32(value); }
static float bf16_to_f32(uint16_t bits) { return assay_bf16_to_f32(bits); }
static uint16_t bf16_from_f32(float value) { return assay_bf16_from_f32(value); }

static const struct format formats[] = {
    {ASSAY_DTYPE_F16, 10, 15, 0x7c00, 0x0200, f16_to_f32, f16_from_f32},
    {ASSAY_DTYPE_BF16, 7, 127, 0x7f80, 0x0040, bf16_to_f32, bf16_from_f32},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

/* The value of a code by the definition: (1 + f / 2^m) 2^(e - bias), or f / 2^m 2^(1 - bias). */
static double value_of(const struct format *format, uint16_t code)
{
    int e = (code & 0x7fff) >> format->fraction_bits;
    int f = code & ((1 << format->fraction_bits) - 1);
    if (e)
        f += 1 << format->fraction_bits;
    double magnitude = ldexp(f, (e ? e : 1) - format->bias - format->fraction_bits);
    return code & 0x8000 ? -magnitude : magnitude;
}

static uint16_t store_double(const struct format *format, double value)
{
    uint16_t code = 0xdead;
    assay_dtype_store(format->dtype, &value, &code, 0, 1);
    return code;
}

static void every_16_bit_code_decodes_to_its_value(void **state)
{
    (void)state;
    for (int k = 0; k < FORMATS; k++)
        for (uint32_t code = 0; code < 65536; code++) {
            float got = formats[k].to_f32((uint16_t)code);
            double loaded;
            uint16_t stored = (uint16_t)code;
            assay_dtype_load(formats[k].dtype, &stored, 0, 1, &loaded);
            uint16_t magnitude = code & 0x7fff;
            assert_int_equal(signbit(got) != 0, code >> 15);
            if (magnitude > formats[k].infinity)
                assert_true(isnan(got) && isnan(loaded));
            else if (magnitude == formats[k].infinity)
                assert_true(isinf(got) && isinf(loaded));
            else
                assert_true((double)got == value_of(&formats[k], (uint16_t)code) &&
                            loaded == (double)got);
        }
}

/* Back to the same code; a signalling NaN comes back quiet with its payload. */
static void every_16_bit_code_survives_the_round_trip(void **state)
{
    (void)state;
    for (int k = 0; k < FORMATS; k++)
        for (uint32_t code = 0; code < 65536; code++) {
            float value = formats[k].to_f32((uint16_t)code);
            bool nan = (code & 0x7fff) > formats[k].infinity;
            uint16_t want = (uint16_t)(nan ? code | formats[k].quiet : code);
            assert_int_equal(formats[k].from_f32(value), want);
            uint16_t stored = store_double(&formats[k], (double)value);
            if (nan)
                assert_true((stored & 0x7fff) > formats[k].infinity);
            else
                assert_int_equal(stored, code);
        }
}

/* Between each pair of neighbours, subnormal ones included, f32 holds their exact midpoint. It goes
 * to the even code, and the floats beside it to the nearer one. The last pair is the largest finite
 * value and what would follow it, so that the same rule says where overflow to infinity begins. */
static void f32_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (int k = 0; k < FORMATS; k++)
        for (uint16_t low = 0; low < formats[k].infinity; low++) {
            uint16_t high = (uint16_t)(low + 1), even = low & 1 ? high : low;
            double middle = (value_of(&formats[k], low) + value_of(&formats[k], high)) / 2;
            float exact = (float)middle;
            assert_true((double)exact == middle);
            assert_int_equal(formats[k].from_f32(exact), even);
            assert_int_equal(formats[k].from_f32(nextafterf(exact, 0)), low);
            assert_int_equal(formats[k].from_f32(nextafterf(exact, FLT_MAX)), high);
            assert_int_equal(formats[k].from_f32(-exact), even | 0x8000);
        }
}

/* A double next to a midpoint is nearer to the midpoint than f32 can tell. By way of f32 it would
 * round to the midpoint and from there to even: wrong for half of them. */
static void doubles_do_not_round_twice(void **state)
{
    (void)state;
    for (int k = 0; k < FORMATS; k++)
        for (uint16_t low = 0; low < formats[k].infinity; low++) {
            uint16_t high = (uint16_t)(low + 1), even = low & 1 ? high : low;
            double middle = (value_of(&formats[k], low) + value_of(&formats[k], high)) / 2;
            assert_int_equal(store_double(&formats[k], middle), even);
            assert_int_equal(store_double(&formats[k], nextafter(middle, 0)), low);
            assert_int_equal(store_double(&formats[k], nextafter(middle, DBL_MAX)), high);
            assert_int_equal(store_double(&formats[k], -nextafter(middle, DBL_MAX)), high | 0x8000);
        }
}

static void extremes_overflow_to_infinity_and_underflow_to_zero(void **state)
{
    (void)state;
    for (int k = 0; k < FORMATS; k++) {
        assert_int_equal(formats[k].from_f32(INFINITY), formats[k].infinity);
        assert_int_equal(formats[k].from_f32(FLT_MAX), formats[k].infinity);
        assert_int_equal(store_double(&formats[k], 1e300), formats[k].infinity);
        assert_int_equal(store_double(&formats[k], -1e300), formats[k].infinity | 0x8000);
        assert_int_equal(store_double(&formats[k], 1e-300), 0);
        assert_int_equal(store_double(&formats[k], -1e-300), 0x8000);
        assert_int_equal(formats[k].from_f32(FLT_TRUE_MIN), 0);
        assert_true((store_double(&formats[k], (double)NAN) & 0x7fff) > formats[k].infinity);
    }
    assert_int_equal(assay_f16_from_f32(65519), 0x7bff); /* 65504, the largest */
    assert_int_equal(assay_f16_from_f32(65520), 0x7c00); /* half an ulp more: to infinity */
}

/* A NaN whose payload sits only in bits that are cut off must not become infinity. */
static void a_nan_stays_a_nan(void **state)
{
    (void)state;
    float nan = assay_f32_from_bits(0x7f800001u), minus = assay_f32_from_bits(0xff800001u);
    assert_int_equal(assay_f16_from_f32(nan), 0x7e00);
    assert_int_equal(assay_bf16_from_f32(nan), 0x7fc0);
    assert_int_equal(assay_f16_from_f32(minus), 0xfe00);
    assert_int_equal(assay_bf16_from_f32(minus), 0xffc0);
}

/* ---- the other dtypes, and the table -------------------------------------------------------- */

static void f32_and_f64_store_and_load(void **state)
{
    (void)state;
    const double values[] = {0.1, -2, 1e300, (double)INFINITY};
    float singles[5] = {0};
    double doubles[5] = {0}, back[4];
    assay_dtype_store(ASSAY_DTYPE_F32, values, singles, 1, 4);
    assert_true(singles[0] == 0 && singles[1] == 0.1f && singles[2] == -2);
    assert_true(isinf(singles[3]) && isinf(singles[4]));
    assay_dtype_store(ASSAY_DTYPE_F64, values, doubles, 1, 4);
    assay_dtype_load(ASSAY_DTYPE_F64, doubles, 1, 4, back);
    assert_memory_equal(back, values, sizeof values);
    assay_dtype_load(ASSAY_DTYPE_F32, singles, 2, 1, back);
    assert_near(back[0], -2, 0);
}

static void integers_round_to_nearest_even_and_stop_at_the_ends(void **state)
{
    (void)state;
    const double values[] = {0.5, 1.5, -1.5, 2.4, 1e18, -1e18, (double)NAN, 2147483646.5};
    static const int32_t want[] = {0, 2, -2, 2, INT32_MAX, INT32_MIN, 0, 2147483646};
    int32_t got[8];
    double back[8];
    assay_dtype_store(ASSAY_DTYPE_S32, values, got, 0, 8);
    assert_memory_equal(got, want, sizeof want);
    assay_dtype_load(ASSAY_DTYPE_S32, got, 0, 8, back);
    assert_near(back[4], 2147483647.0, 0);
}

/* unit is half the distance from 1 to the next value, max the last before infinity. */
static void the_table_tells_the_truth_about_each_format(void **state)
{
    (void)state;
    for (int d = ASSAY_DTYPE_NONE + 1; d < ASSAY_DTYPE_COUNT; d++) {
        const struct assay_dtype_info *info = assay_dtype_info((enum assay_dtype)d);
        assert_non_null(info);
        assert_int_equal(info->dtype, d);
        assert_int_equal(assay_dtype_bytes(info->dtype), info->bytes);
        assert_string_equal(assay_dtype_name(info->dtype), info->name);
        if (!info->is_float)
            continue;
        double values[] = {1 + info->unit, 1 + 3 * info->unit, info->max, info->max * 2}, back[4];
        char storage[4 * sizeof(double)];
        assay_dtype_store(info->dtype, values, storage, 0, 4);
        assay_dtype_load(info->dtype, storage, 0, 4, back);
        assert_near(back[0], 1, 0); /* halfway, to the even 1 */
        assert_near(back[1], 1 + 4 * info->unit, 0);
        assert_near(back[2], info->max, 0);
        if (info->bytes > 1)
            assert_true(isinf(back[3]));
        else
            assert_near(back[3], info->max, 0); /* the 8-bit floats saturate */
    }
    assert_null(assay_dtype_info(ASSAY_DTYPE_NONE));
    assert_null(assay_dtype_info(ASSAY_DTYPE_COUNT));
    assert_string_equal(assay_dtype_name(ASSAY_DTYPE_NONE), "none");
    assert_int_equal(assay_dtype_bytes(ASSAY_DTYPE_NONE), 0);
}

static void dtypes_go_by_many_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum assay_dtype want;
    } table[] = {
        {"f32", ASSAY_DTYPE_F32},           {"float32", ASSAY_DTYPE_F32},
        {"FP32", ASSAY_DTYPE_F32},          {"float", ASSAY_DTYPE_F32},
        {"torch.float32", ASSAY_DTYPE_F32}, {"bf16", ASSAY_DTYPE_BF16},
        {"BFloat16", ASSAY_DTYPE_BF16},     {"Torch.BFloat16", ASSAY_DTYPE_BF16},
        {"half", ASSAY_DTYPE_F16},          {"fp16", ASSAY_DTYPE_F16},
        {"TORCH.HALF", ASSAY_DTYPE_F16},    {"double", ASSAY_DTYPE_F64},
        {"float64", ASSAY_DTYPE_F64},       {"int32", ASSAY_DTYPE_S32},
        {"torch.int32", ASSAY_DTYPE_S32},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        enum assay_dtype got = ASSAY_DTYPE_NONE;
        struct assay_error err = {0};
        assert_int_equal(assay_dtype_parse(table[i].name, &got, &err), ASSAY_OK);
        assert_int_equal(got, table[i].want);
        assert_int_equal(err.code, ASSAY_OK);
    }
}

static void an_unknown_dtype_suggests_the_nearest(void **state)
{
    (void)state;
    enum assay_dtype got = ASSAY_DTYPE_F64;
    struct assay_error err = {0};
    assert_int_equal(assay_dtype_parse("bfloat17", &got, &err), ASSAY_ERR_INVALID);
    assert_int_equal(got, ASSAY_DTYPE_F64);
    assert_string_equal(err.message, "unknown dtype \"bfloat17\"; did you mean \"bfloat16\"?");
    static const char *const junk[] = {"",     "torch.",     "torch",
                                       "f32 ", "quaternion", "torch.torch.f32"};
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++) {
        struct assay_error again = {0};
        assert_int_equal(assay_dtype_parse(junk[i], &got, &again), ASSAY_ERR_INVALID);
        assert_non_null(strstr(again.message, "did you mean"));
    }
    assert_int_equal(assay_dtype_parse("fp9", &got, NULL), ASSAY_ERR_INVALID);
}

/* ---- sizes and shapes ----------------------------------------------------------------------- */

static struct assay_tensor tensor_of(enum assay_dtype dtype, int64_t n)
{
    return (struct assay_tensor){.dtype = dtype, .rank = 1, .dims = {n}};
}

static void sizes_saturate_instead_of_wrapping(void **state)
{
    (void)state;
    struct assay_tensor t = {.dtype = ASSAY_DTYPE_F32, .rank = 3, .dims = {32, 512, 768}};
    assert_int_equal(assay_tensor_count(&t), 12582912);
    assert_int_equal(assay_tensor_bytes(&t), 50331648);
    t.rank = 0; /* a scalar */
    assert_int_equal(assay_tensor_count(&t), 1);
    struct assay_tensor huge = {
        .dtype = ASSAY_DTYPE_F32, .rank = 2, .dims = {INT64_C(1) << 40, INT64_C(1) << 40}};
    assert_true(assay_tensor_count(&huge) == INT64_MAX);
    assert_true(assay_tensor_bytes(&huge) == SIZE_MAX);
}

static void shapes_read_with_an_x(void **state)
{
    (void)state;
    static const int64_t dims[] = {32, 512, 768};
    char buf[32], small[6];
    assay_tensor_shape_text(dims, 3, buf, sizeof buf);
    assert_string_equal(buf, "32x512x768");
    assay_tensor_shape_text(dims, 1, buf, sizeof buf);
    assert_string_equal(buf, "32");
    assay_tensor_shape_text(dims, 0, buf, sizeof buf);
    assert_string_equal(buf, "");
    assay_tensor_shape_text(dims, 3, small, sizeof small);
    assert_string_equal(small, "32x51"); /* cut, terminated, nothing beyond */
}

static void coordinates_name_an_element(void **state)
{
    (void)state;
    struct assay_tensor t = {.dtype = ASSAY_DTYPE_F32, .rank = 3, .dims = {4, 18, 256}};
    char buf[ASSAY_MAX_RANK * 21 + 3], small[6];
    assay_tensor_coordinates(&t, (3 * 18 + 17) * 256 + 255, buf, sizeof buf);
    assert_string_equal(buf, "[3,17,255]");
    assay_tensor_coordinates(&t, 0, buf, sizeof buf);
    assert_string_equal(buf, "[0,0,0]");
    assay_tensor_coordinates(&t, 256, small, sizeof small);
    assert_string_equal(small, "[0,1,"); /* cut, terminated, nothing beyond */
    t.rank = 0;
    assay_tensor_coordinates(&t, 0, buf, sizeof buf);
    assert_string_equal(buf, "[]");
}

/* ---- fills ---------------------------------------------------------------------------------- */

enum { FILLED = 100000 };

static void a_fill_is_nearly_normal(void **state)
{
    (void)state;
    struct assay_tensor t = tensor_of(ASSAY_DTYPE_F64, FILLED);
    double *values = test_malloc(assay_tensor_bytes(&t)), sum = 0, squares = 0, largest = 0;
    int beyond_two = 0;
    assay_tensor_fill_normal(&t, values, 1);
    assert_near(values[0], 1.5, 0);
    for (int i = 0; i < FILLED; i++) {
        sum += values[i];
        squares += values[i] * values[i];
        largest = fmax(largest, fabs(values[i]));
        beyond_two += fabs(values[i]) > 2;
    }
    assert_near(sum / FILLED, 0, 0.015); /* 5 deviations of 1 / sqrt(100000) */
    assert_near(squares / FILLED, 1, 0.02);
    assert_true(largest <= 3.47);
    assert_near((double)beyond_two / FILLED, 0.0425, 0.003); /* 2 (2 - 2 / sqrt 3)^4 / 24 */
    test_free(values);
}

static void a_fill_scales_and_shifts_all_but_the_first(void **state)
{
    (void)state;
    struct assay_tensor t = tensor_of(ASSAY_DTYPE_F64, 1000);
    double plain[1000], scaled[1000];
    assay_tensor_fill_normal(&t, plain, 9);
    assay_tensor_fill_scaled(&t, scaled, 9, 0.25, 1);
    assert_near(scaled[0], 1.5, 0);
    for (int i = 1; i < 1000; i++)
        assert_near(scaled[i], 0.25 * plain[i] + 1, 1e-15);
}

/* The same bits from one thread and from many, at lengths around the block of 1024. */
static void a_fill_does_not_depend_on_threads(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 1023, 1024, 1025, 10007};
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
    int threads = omp_get_max_threads();
    unsigned char one[10007 * 4], many[10007 * 4];
    for (int d = 0; d < 3; d++)
        for (int l = 0; l < 5; l++) {
            struct assay_tensor t = tensor_of(dtypes[d], lengths[l]);
            omp_set_num_threads(1);
            assay_tensor_fill_normal(&t, one, 42);
            omp_set_num_threads(7);
            assay_tensor_fill_normal(&t, many, 42);
            assert_memory_equal(one, many, assay_tensor_bytes(&t));
        }
    omp_set_num_threads(threads);
}

static void seeds_and_positions_give_different_values(void **state)
{
    (void)state;
    struct assay_tensor t = tensor_of(ASSAY_DTYPE_F32, 1000);
    float a[1000], b[1000];
    int same = 0;
    assay_tensor_fill_normal(&t, a, 1);
    assay_tensor_fill_normal(&t, b, 2);
    for (int i = 1; i < 1000; i++)
        same += a[i] == b[i] || a[i] == a[i - 1];
    assert_in_range(same, 0, 3);
}

static void a_shorter_tensor_is_a_prefix_of_a_longer_one(void **state)
{
    (void)state;
    struct assay_tensor shorter = tensor_of(ASSAY_DTYPE_BF16, 1500), longer = shorter;
    longer.dims[0] = 3000;
    uint16_t a[1500], b[3000];
    assay_tensor_fill_normal(&shorter, a, 5);
    assay_tensor_fill_normal(&longer, b, 5);
    assert_memory_equal(a, b, sizeof a);
}

static void indices_meet_every_class_and_no_other(void **state)
{
    (void)state;
    struct assay_tensor t = tensor_of(ASSAY_DTYPE_S32, 1000);
    int32_t classes[1000];
    int seen[7] = {0};
    assay_tensor_fill_index(&t, classes, 3, 7);
    for (int i = 0; i < 1000; i++) {
        assert_in_range(classes[i], 0, 6);
        seen[classes[i]]++;
    }
    for (int i = 0; i < 7; i++)
        assert_true(seen[i] > 80); /* 143 expected, deviation 11 */
    assay_tensor_fill_index(&t, classes, 3, 1);
    assert_int_equal(classes[999], 0);
}

/* ---- checksum ------------------------------------------------------------------------------- */

enum { CHECKED = 200 }; /* three blocks of 64 and a tail of 8 */

static void random_bytes(unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(i * 167 + (i >> 3) * 31 + 5);
}

static void the_checksum_sees_every_single_bit(void **state)
{
    (void)state;
    unsigned char bytes[CHECKED];
    random_bytes(bytes, CHECKED);
    uint64_t sum = assay_tensor_checksum(bytes, CHECKED);
    for (int b = 0; b < 8 * CHECKED; b++) {
        bytes[b / 8] ^= (unsigned char)(1 << b % 8);
        assert_true(assay_tensor_checksum(bytes, CHECKED) != sum);
        bytes[b / 8] ^= (unsigned char)(1 << b % 8);
    }
    assert_true(assay_tensor_checksum(bytes, CHECKED) == sum);
}

/* The same bit of two words in one lane, 64 or 128 bytes apart: with a multiply alone, two signs of
 * doubles cancel. (One multiply a word leaves some pairs that do: bit 63, and bit 28 a block later.
 * They are no pattern that a kernel leaves.) */
static void the_checksum_sees_the_same_bit_flipped_twice(void **state)
{
    (void)state;
    unsigned char bytes[CHECKED];
    random_bytes(bytes, CHECKED);
    uint64_t sum = assay_tensor_checksum(bytes, CHECKED);
    for (int apart = 512; apart <= 1024; apart += 512)
        for (int a = 0; a + apart < 8 * CHECKED; a++) {
            unsigned char flipped[CHECKED];
            memcpy(flipped, bytes, CHECKED);
            flipped[a / 8] ^= (unsigned char)(1 << a % 8);
            flipped[(a + apart) / 8] ^= (unsigned char)(1 << a % 8);
            assert_true(assay_tensor_checksum(flipped, CHECKED) != sum);
        }
}

static void the_checksum_sees_a_negated_tensor(void **state)
{
    (void)state;
    double values[32];
    for (int i = 0; i < 32; i++)
        values[i] = 1 + i;
    uint64_t sum = assay_tensor_checksum(values, sizeof values);
    for (int i = 0; i < 32; i++)
        values[i] = -values[i];
    assert_true(assay_tensor_checksum(values, sizeof values) != sum);
}

static void the_checksum_sees_permutations(void **state)
{
    (void)state;
    float values[64];
    for (int i = 0; i < 64; i++)
        values[i] = (float)i;
    uint64_t sum = assay_tensor_checksum(values, sizeof values);
    for (int a = 0; a < 64; a++)
        for (int b = a + 1; b < 64; b++) {
            float swapped[64];
            memcpy(swapped, values, sizeof swapped);
            swapped[a] = values[b];
            swapped[b] = values[a];
            assert_true(assay_tensor_checksum(swapped, sizeof swapped) != sum);
        }
}

static void the_checksum_sees_the_length_and_not_the_address(void **state)
{
    (void)state;
    unsigned char zeros[130] = {0}, shifted[131] = {0};
    for (size_t a = 0; a < 130; a++)
        assert_true(assay_tensor_checksum(zeros, a) != assay_tensor_checksum(zeros, a + 1));
    random_bytes(zeros, 130);
    memcpy(shifted + 1, zeros, 130);
    assert_true(assay_tensor_checksum(zeros, 130) == assay_tensor_checksum(shifted + 1, 130));
}

/* ---- comparison ----------------------------------------------------------------------------- */

static struct assay_comparison compare(struct assay_tolerance tolerance, const double *got,
                                       const double *ref, int64_t n)
{
    struct assay_comparison c;
    assay_comparison_init(&c, tolerance);
    assay_comparison_add(&c, ASSAY_DTYPE_F64, got, 0, ref, n);
    return c;
}

/* got, ref, and whether 0.25 + 0.125 |ref| accepts it. The edges are exact in binary. */
static void the_tolerance_includes_its_edge(void **state)
{
    (void)state;
    static const struct {
        double got, ref;
        bool accepted;
    } table[] = {
        {0.25, 0, true},       {-0.25, 0, true},  {0.2500001, 0, false},
        {10.5, 9, false},      {9.25, 8, true},   {6.75, 8, true},
        {9.2500001, 8, false}, {-9.25, -8, true}, {6.7499999, 8, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct assay_comparison c =
            compare((struct assay_tolerance){.relative = 0.125, .absolute = 0.25}, &table[i].got,
                    &table[i].ref, 1);
        assert_int_equal(c.mismatches, !table[i].accepted);
    }
}

static void infinities_and_nan_must_match_in_kind(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan = (double)NAN;
    const struct {
        double got, ref;
        bool accepted;
    } table[] = {
        {nan, nan, true},  {inf, inf, true},  {-inf, -inf, true}, {nan, 1, false},
        {1, nan, false},   {inf, 1, false},   {1, inf, false},    {-inf, inf, false},
        {nan, inf, false}, {inf, nan, false}, {0.0, -0.0, true},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct assay_comparison c =
            compare((struct assay_tolerance){.relative = 1, .absolute = 1e300}, &table[i].got,
                    &table[i].ref, 1);
        assert_int_equal(c.mismatches, !table[i].accepted);
        assert_true(isfinite(c.max_abs) && isfinite(c.max_rel) && isfinite(c.sum_sq_error));
    }
}

/* Exactness needs no tolerance. */
static void no_tolerance_means_equal(void **state)
{
    (void)state;
    const double ref[] = {1, 2, 3}, got[] = {1, 2, nextafter(3.0, 4)};
    struct assay_comparison c = compare((struct assay_tolerance){0}, got, ref, 3);
    assert_int_equal(c.compared, 3);
    assert_int_equal(c.mismatches, 1);
    assert_int_equal(c.first_mismatch, 2);
}

/* Errors 0.5, 0, -1 against 2, 4, 8: largest 1, relative 0.5 / 2 = 0.25; squares 1.25 over
 * 84, so rms sqrt(1.25 / 3) and 10 log10(84 / 1.25) = 18.27 dB. */
static void the_comparison_measures_the_error(void **state)
{
    (void)state;
    static const double ref[] = {2, 4, 8}, got[] = {2.5, 4, 7};
    struct assay_comparison c = compare((struct assay_tolerance){.relative = 0.2}, got, ref, 3);
    assert_int_equal(c.mismatches, 1);
    assert_int_equal(c.first_mismatch, 0);
    assert_near(c.first_got, 2.5, 0);
    assert_near(c.first_ref, 2, 0);
    assert_near(c.max_abs, 1, 0);
    assert_near(c.max_rel, 0.25, 0);
    assert_near(assay_comparison_rms(&c), sqrt(1.25 / 3), 1e-15);
    assert_near(assay_comparison_sqnr_db(&c), 18.273692, 1e-6);
}

static void an_exact_answer_has_infinite_sqnr(void **state)
{
    (void)state;
    static const double ref[] = {1, 2};
    struct assay_comparison c = compare((struct assay_tolerance){0}, ref, ref, 2);
    assert_int_equal(c.mismatches, 0);
    assert_int_equal(c.first_mismatch, -1);
    assert_near(assay_comparison_rms(&c), 0, 0);
    assert_near(assay_comparison_sqnr_db(&c), (double)INFINITY, 0);
    assay_comparison_init(&c, (struct assay_tolerance){0});
    assert_near(assay_comparison_rms(&c), 0, 0);
}

/* bf16 keeps 8 bits: rounding a value spread evenly over its binade leaves about 6.02 * 8 + 4 dB,
 * and f16 with 11 bits about 18 dB more. */
static void sqnr_grows_six_db_a_bit(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct assay_tensor t = tensor_of(ASSAY_DTYPE_F64, N);
    double *values = test_malloc(N * sizeof *values);
    uint16_t *rounded = test_malloc(N * sizeof *rounded);
    double db[2];
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_BF16, ASSAY_DTYPE_F16};
    assay_tensor_fill_normal(&t, values, 17);
    for (int d = 0; d < 2; d++) {
        struct assay_comparison c;
        double unit = assay_dtype_info(dtypes[d])->unit;
        assay_comparison_init(&c, (struct assay_tolerance){.relative = unit, .absolute = 0x1p-25});
        assay_dtype_store(dtypes[d], values, rounded, 0, N);
        assay_comparison_add(&c, dtypes[d], rounded, 0, values, N);
        assert_int_equal(c.mismatches, 0);
        db[d] = assay_comparison_sqnr_db(&c);
    }
    assert_in_range((int)db[0], 49, 57);
    assert_near(db[1] - db[0], 18, 1);
    test_free(values);
    test_free(rounded);
}

/* Added in pieces that straddle the block of 512, with the index of the whole output. */
static void a_comparison_gathers_over_calls(void **state)
{
    (void)state;
    float got[2000];
    double ref[2000];
    for (int i = 0; i < 2000; i++)
        ref[i] = i, got[i] = (float)i;
    got[1234] += 1;
    got[1999] += 3;
    struct assay_comparison c;
    assay_comparison_init(&c, (struct assay_tolerance){0});
    for (int64_t first = 0; first < 2000; first += 700) {
        int64_t n = 2000 - first < 700 ? 2000 - first : 700;
        assay_comparison_add(&c, ASSAY_DTYPE_F32, got, first, ref + first, n);
    }
    assert_int_equal(c.compared, 2000);
    assert_int_equal(c.mismatches, 2);
    assert_int_equal(c.first_mismatch, 1234);
    assert_near(c.first_got, 1235, 0);
    assert_near(c.first_ref, 1234, 0);
    assert_near(c.max_abs, 3, 0);
}

/* A sum may be off by a part of its size; without one, only by the rest. */
static void sizes_widen_the_tolerance(void **state)
{
    (void)state;
    const struct assay_tolerance t = {.relative = 0.125, .absolute = 0.25, .summed = 0.5};
    double got[] = {9.25, 10.25, 10.2500001}, ref[] = {8, 8, 8}, sizes[] = {0, 2, 2};
    struct assay_comparison c;
    assay_comparison_init(&c, t);
    assert_near(c.worst_absolute, 0.25, 0);
    assay_comparison_add_sums(&c, ASSAY_DTYPE_F64, got, 0, ref, sizes, 2);
    assert_int_equal(c.mismatches, 0);
    assert_near(c.worst, 1, 0);
    assay_comparison_add_sums(&c, ASSAY_DTYPE_F64, got, 2, ref, sizes + 2, 1);
    assert_int_equal(c.first_mismatch, 2);
    assert_near(c.worst_absolute, 1.25, 0);
    assay_comparison_init(&c, t);
    assay_comparison_add(&c, ASSAY_DTYPE_F64, got, 0, ref, 2);
    assert_int_equal(c.first_mismatch, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_widen_the_tolerance),
        cmocka_unit_test(every_16_bit_code_decodes_to_its_value),
        cmocka_unit_test(every_16_bit_code_survives_the_round_trip),
        cmocka_unit_test(f32_rounds_to_nearest_even),
        cmocka_unit_test(doubles_do_not_round_twice),
        cmocka_unit_test(extremes_overflow_to_infinity_and_underflow_to_zero),
        cmocka_unit_test(a_nan_stays_a_nan),
        cmocka_unit_test(f32_and_f64_store_and_load),
        cmocka_unit_test(integers_round_to_nearest_even_and_stop_at_the_ends),
        cmocka_unit_test(the_table_tells_the_truth_about_each_format),
        cmocka_unit_test(dtypes_go_by_many_names),
        cmocka_unit_test(an_unknown_dtype_suggests_the_nearest),
        cmocka_unit_test(sizes_saturate_instead_of_wrapping),
        cmocka_unit_test(shapes_read_with_an_x),
        cmocka_unit_test(coordinates_name_an_element),
        cmocka_unit_test(a_fill_is_nearly_normal),
        cmocka_unit_test(a_fill_scales_and_shifts_all_but_the_first),
        cmocka_unit_test(a_fill_does_not_depend_on_threads),
        cmocka_unit_test(seeds_and_positions_give_different_values),
        cmocka_unit_test(a_shorter_tensor_is_a_prefix_of_a_longer_one),
        cmocka_unit_test(indices_meet_every_class_and_no_other),
        cmocka_unit_test(the_checksum_sees_every_single_bit),
        cmocka_unit_test(the_checksum_sees_the_same_bit_flipped_twice),
        cmocka_unit_test(the_checksum_sees_a_negated_tensor),
        cmocka_unit_test(the_checksum_sees_permutations),
        cmocka_unit_test(the_checksum_sees_the_length_and_not_the_address),
        cmocka_unit_test(the_tolerance_includes_its_edge),
        cmocka_unit_test(infinities_and_nan_must_match_in_kind),
        cmocka_unit_test(no_tolerance_means_equal),
        cmocka_unit_test(the_comparison_measures_the_error),
        cmocka_unit_test(an_exact_answer_has_infinite_sqnr),
        cmocka_unit_test(sqnr_grows_six_db_a_bit),
        cmocka_unit_test(a_comparison_gathers_over_calls),
    };
    return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
