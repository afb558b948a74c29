/* test_dtype.c: the 8-bit floats code by code against a second decoder and a search for the
 * nearest, and the integers of 8 and 4 bits. The wider types are in test_tensor.c. */
#include "tensor/tensor.h"
#include "unit.h"

struct format {
    enum assay_dtype dtype;
    int fraction_bits, bias;
    uint8_t largest; /* the code of the largest finite magnitude */
    bool infinities; /* largest + 1 is infinite */
    float (*to_f32)(uint8_t code);
    uint8_t (*from_f32)(float value);
};

static float e4m3_to_f32(uint8_t code) { return assay_e4m3_to_f32(code); }
static uint8_t e4m3_from_f32(float value) { return assay_e4m3_from_f32(value); }
static float e5m2_to_f32(uint8_t code) { return assay_e5m2_to_f32(code); }
static uint8_t e5m2_from_f32(float value) { return assay_e5m2_from_f32(value); }

static const struct format formats[] = {
    {ASSAY_DTYPE_E4M3, 3, 7, 0x7e, false, e4m3_to_f32, e4m3_from_f32},
    {ASSAY_DTYPE_E5M2, 2, 15, 0x7b, true, e5m2_to_f32, e5m2_from_f32},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

/* The magnitude of a finite code by the definition: (1 + f / 2^m) 2^(e - bias), or
 * f / 2^m 2^(1 - bias). */
static double magnitude_of(const struct format *format, int code)
{
    int e = (code & 0x7f) >> format->fraction_bits;
    int f = code & ((1 << format->fraction_bits) - 1);
    if (e)
        f += 1 << format->fraction_bits;
    return ldexp(f, (e ? e : 1) - format->bias - format->fraction_bits);
}

static uint8_t store_double(const struct format *format, double value)
{
    uint8_t code = 0xaa;
    assay_dtype_store(format->dtype, &value, &code, 0, 1);
    return code;
}

static void every_8_bit_code_decodes_to_its_value(void **state)
{
    (void)state;
    for (int k = 0; k < FORMATS; k++)
        for (int code = 0; code < 256; code++) {
            const struct format *format = &formats[k];
            uint8_t stored = (uint8_t)code;
            float got = format->to_f32(stored);
            double loaded;
            assay_dtype_load(format->dtype, &stored, 0, 1, &loaded);
            assert_int_equal(signbit(got) != 0, code >> 7);
            int magnitude = code & 0x7f;
            if (magnitude <= format->largest) {
                assert_near(fabs((double)got), magnitude_of(format, code), 0);
                assert_near(loaded, (double)got, 0);
                assert_int_equal(format->from_f32(got), code); /* and back, -0 too */
                assert_int_equal(store_double(format, loaded), code);
            } else if (format->infinities && magnitude == format->largest + 1) {
                assert_true(isinf(got) && isinf(loaded));
            } else {
                assert_true(isnan(got) && isnan(loaded));
                assert_true(isnan(format->to_f32(format->from_f32(got))));
            }
        }
}

/* Nearest, of two equally near the even code, by looking at all of them. */
static int nearest_code(const struct format *format, double magnitude)
{
    if (magnitude > magnitude_of(format, format->largest))
        return format->largest;
    int best = 0;
    for (int code = 1; code <= format->largest; code++) {
        double here = fabs(magnitude_of(format, code) - magnitude);
        double there = fabs(magnitude_of(format, best) - magnitude);
        if (here < there || (here == there && code % 2 == 0))
            best = code;
    }
    return best;
}

static void check_rounding(const struct format *format, float value)
{
    uint8_t code = format->from_f32(value);
    if (isnan(value)) {
        assert_true(isnan(format->to_f32(code)));
        assert_int_equal(code >> 7, signbit(value) != 0);
        return;
    }
    int want = nearest_code(format, fabs((double)value));
    assert_int_equal(code, want | (signbit(value) ? 0x80 : 0));
    assert_int_equal(store_double(format, (double)value), code);
}

static void every_16_bit_float_rounds_to_the_nearest_code(void **state)
{
    (void)state;
    for (int k = 0; k < FORMATS; k++)
        for (uint32_t bits = 0; bits < 65536; bits++) {
            check_rounding(&formats[k], assay_bf16_to_f32((uint16_t)bits));
            check_rounding(&formats[k], assay_f16_to_f32((uint16_t)bits));
        }
}

/* Halfway between each pair of neighbours, and one f32 and one double to either side of it. */
static void ties_go_to_even_and_doubles_do_not_round_twice(void **state)
{
    (void)state;
    for (int k = 0; k < FORMATS; k++)
        for (int code = 0; code < formats[k].largest; code++) {
            double tie =
                (magnitude_of(&formats[k], code) + magnitude_of(&formats[k], code + 1)) / 2;
            int even = code % 2 ? code + 1 : code;
            float single = (float)tie;
            assert_near((double)single, tie, 0);
            assert_int_equal(formats[k].from_f32(single), even);
            assert_int_equal(formats[k].from_f32(nextafterf(single, 0)), code);
            assert_int_equal(formats[k].from_f32(nextafterf(single, INFINITY)), code + 1);
            assert_int_equal(store_double(&formats[k], tie), even);
            assert_int_equal(store_double(&formats[k], nextafter(tie, 0)), code);
            assert_int_equal(store_double(&formats[k], nextafter(tie, 1e9)), code + 1);
        }
}

static void beyond_the_largest_is_the_largest(void **state)
{
    (void)state;
    for (int k = 0; k < FORMATS; k++) {
        double max = assay_dtype_info(formats[k].dtype)->max;
        const double values[] = {max, max * 1.001, max * 2, 1e30, 1e300, (double)INFINITY};
        assert_near(magnitude_of(&formats[k], formats[k].largest), max, 0);
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            assert_int_equal(formats[k].from_f32((float)values[i]), formats[k].largest);
            assert_int_equal(formats[k].from_f32((float)-values[i]), formats[k].largest | 0x80);
            assert_int_equal(store_double(&formats[k], -values[i]), formats[k].largest | 0x80);
        }
        assert_true(isnan(formats[k].to_f32(formats[k].from_f32(NAN))));
        assert_true(isnan(formats[k].to_f32(store_double(&formats[k], (double)NAN))));
    }
    assert_int_equal(assay_e4m3_from_f32(NAN) & 0x7f, 0x7f);
}

static void small_integers_stop_at_their_ends(void **state)
{
    (void)state;
    const double values[] = {-1e9, -129, -0.5, 2.5, 14.6, 127.5, 300, (double)NAN};
    static const int8_t want_s8[] = {-128, -128, 0, 2, 15, 127, 127, 0};
    static const uint8_t want_u8[] = {0, 0, 0, 2, 15, 128, 255, 0};
    uint8_t got[8];
    double back[8];
    assay_dtype_store(ASSAY_DTYPE_S8, values, got, 0, 8);
    assert_memory_equal(got, want_s8, 8);
    assay_dtype_load(ASSAY_DTYPE_S8, got, 0, 8, back);
    assert_near(back[0], -128, 0);
    assay_dtype_store(ASSAY_DTYPE_U8, values, got, 0, 8);
    assert_memory_equal(got, want_u8, 8);
    assay_dtype_load(ASSAY_DTYPE_U8, got, 0, 8, back);
    assert_near(back[6], 255, 0);
}

/* Any range of nibbles, from even and odd elements on, leaves the others alone. */
static void four_bits_lie_two_to_a_byte_the_even_one_low(void **state)
{
    (void)state;
    const double values[] = {1, 2.5, 14, 99, -3, 7};
    uint8_t bytes[3] = {0};
    assay_dtype_store(ASSAY_DTYPE_U4, values, bytes, 0, 6);
    static const uint8_t want[] = {0x21, 0xfe, 0x70};
    assert_memory_equal(bytes, want, 3);
    for (int64_t first = 0; first < 9; first++)
        for (int64_t n = 0; first + n <= 9; n++) {
            uint8_t all[5];
            double in[9], out[9];
            memset(all, 0xa5, sizeof all);
            for (int64_t i = 0; i < n; i++)
                in[i] = (double)(i * 5 % 16);
            assay_dtype_store(ASSAY_DTYPE_U4, in, all, first, n);
            assay_dtype_load(ASSAY_DTYPE_U4, all, 0, 9, out);
            for (int64_t i = 0; i < 9; i++) {
                bool inside = i >= first && i < first + n;
                assert_near(out[i], inside ? in[i - first] : i % 2 ? 10 : 5, 0);
            }
            assert_int_equal(all[4] >> 4, 10); /* element 9 is not ours */
        }
}

static void a_tensor_of_four_bits_takes_half_the_bytes(void **state)
{
    (void)state;
    static const struct {
        enum assay_dtype dtype;
        int64_t count;
        size_t bytes;
    } table[] = {{ASSAY_DTYPE_U4, 0, 0},   {ASSAY_DTYPE_U4, 1, 1},  {ASSAY_DTYPE_U4, 6, 3},
                 {ASSAY_DTYPE_U4, 7, 4},   {ASSAY_DTYPE_S8, 7, 7},  {ASSAY_DTYPE_U8, 7, 7},
                 {ASSAY_DTYPE_E4M3, 7, 7}, {ASSAY_DTYPE_E5M2, 7, 7}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct assay_tensor t = {.dtype = table[i].dtype, .rank = 1, .dims = {table[i].count}};
        assert_int_equal(assay_tensor_bytes(&t), table[i].bytes);
    }
    assert_int_equal(assay_dtype_bytes(ASSAY_DTYPE_U4), 1);
    assert_int_equal(assay_dtype_info(ASSAY_DTYPE_U4)->bits, 4);
}

static void bits_and_bytes_agree(void **state)
{
    (void)state;
    for (int d = ASSAY_DTYPE_NONE + 1; d < ASSAY_DTYPE_COUNT; d++) {
        const struct assay_dtype_info *info = assay_dtype_info((enum assay_dtype)d);
        assert_int_equal((info->bits + 7) / 8, info->bytes);
    }
}

static void the_new_dtypes_go_by_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum assay_dtype want;
    } table[] = {
        {"s8", ASSAY_DTYPE_S8},
        {"INT8", ASSAY_DTYPE_S8},
        {"torch.int8", ASSAY_DTYPE_S8},
        {"i8", ASSAY_DTYPE_S8},
        {"u8", ASSAY_DTYPE_U8},
        {"torch.uint8", ASSAY_DTYPE_U8},
        {"uint4", ASSAY_DTYPE_U4},
        {"torch.float8_e4m3fn", ASSAY_DTYPE_E4M3},
        {"f8e4m3", ASSAY_DTYPE_E4M3},
        {"float8_e4m3", ASSAY_DTYPE_E4M3},
        {"torch.float8_e5m2", ASSAY_DTYPE_E5M2},
        {"E5M2", ASSAY_DTYPE_E5M2},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        enum assay_dtype got = ASSAY_DTYPE_NONE;
        assert_int_equal(assay_dtype_parse(table[i].name, &got, NULL), ASSAY_OK);
        assert_int_equal(got, table[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_8_bit_code_decodes_to_its_value),
        cmocka_unit_test(every_16_bit_float_rounds_to_the_nearest_code),
        cmocka_unit_test(ties_go_to_even_and_doubles_do_not_round_twice),
        cmocka_unit_test(beyond_the_largest_is_the_largest),
        cmocka_unit_test(small_integers_stop_at_their_ends),
        cmocka_unit_test(four_bits_lie_two_to_a_byte_the_even_one_low),
        cmocka_unit_test(a_tensor_of_four_bits_takes_half_the_bytes),
        cmocka_unit_test(bits_and_bytes_agree),
        cmocka_unit_test(the_new_dtypes_go_by_their_names),
    };
    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
