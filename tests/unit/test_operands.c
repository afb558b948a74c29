/* test_operands.c: the operands' layout and fills, and each thing a kernel must not do to them. */
#include "unit.h"

#include "base/alloc.h"
#include "bench/operands.h"
#include "device/null/null.h"
#include "op/linear.h"
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

static double no_time(void *user, const struct assay_kernel *kernel, void *state,
                      const struct assay_work *work)
{
    (void)user, (void)kernel, (void)state, (void)work;
    return 1;
}

static assay_device *open_device(void)
{
    struct assay_null_script script = {.duration = no_time};
    assay_device *device = NULL;
    assert_int_equal(assay_null_open(&script, &device, NULL), ASSAY_OK);
    return device;
}

static struct assay_problem problem_of(const char *op, enum assay_dtype dtype, int64_t a, int64_t b,
                                       int64_t c)
{
    struct assay_problem problem;
    int64_t axes[ASSAY_MAX_AXES] = {a, b, c};
    assert_int_equal(assay_op_problem(assay_op_find(op), dtype, NULL, axes, 1, &problem, NULL),
                     ASSAY_OK);
    return problem;
}

/* A device, a problem and its operands. */
struct bed {
    assay_device *device;
    struct assay_problem problem;
    assay_operands *operands;
};

static struct bed make_bed(const char *op, enum assay_dtype dtype, int64_t a, int64_t b, int64_t c,
                           int64_t n_sets)
{
    struct bed bed = {.device = open_device(), .problem = problem_of(op, dtype, a, b, c)};
    assert_int_equal(assay_operands_create(bed.device, assay_op_find(op), &bed.problem, 42, n_sets,
                                           &bed.operands, NULL),
                     ASSAY_OK);
    return bed;
}

static void strip_bed(struct bed *bed)
{
    assay_operands_destroy(bed->operands);
    assert_int_equal(bed->device->bytes_held, 0);
    assay_device_close(bed->device);
}

static char *output(const struct bed *bed, int64_t set)
{
    return assay_operands_sets(bed->operands)[set].out[0];
}

/* Tests may write inputs; kernels may not. */
static char *input(const struct bed *bed, int64_t set, int32_t index)
{
    char *writable;
    memcpy(&writable, &assay_operands_sets(bed->operands)[set].in[index], sizeof writable);
    return writable;
}

static size_t output_bytes(const struct bed *bed)
{
    return assay_tensor_bytes(&bed->problem.outputs[0]);
}

static void assert_refused(const struct bed *bed, int64_t set, const char *text)
{
    struct assay_error why = {0};
    assert_int_equal(assay_operands_check(bed->operands, set, &why), ASSAY_ERR_CORRUPT);
    assert_string_equal(why.message, text);
}

static void test_every_set_is_the_same_and_aligned(void **state)
{
    (void)state;
    struct bed bed = make_bed("layernorm", ASSAY_DTYPE_F32, 3, 5, 7, 4);
    assert_int_equal(assay_operands_n_sets(bed.operands), 4);
    for (int32_t i = 0; i < bed.problem.n_inputs; i++) {
        size_t bytes = assay_tensor_bytes(&bed.problem.inputs[i]);
        char *expected = calloc(1, bytes);
        assay_op_fill(assay_op_find("layernorm"), &bed.problem, i, expected, 42);
        for (int64_t set = 0; set < 4; set++) {
            assert_int_equal((uintptr_t)input(&bed, set, i) % 64, 0);
            assert_memory_equal(input(&bed, set, i), expected, bytes);
        }
        free(expected);
    }
    for (int64_t set = 0; set < 4; set++)
        assert_int_equal((uintptr_t)output(&bed, set) % 64, 0);
    strip_bed(&bed);
}

static void test_an_untouched_output_is_unwritten_in_every_dtype(void **state)
{
    (void)state;
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
    for (int d = 0; d < 3; d++) {
        struct bed bed = make_bed("relu", dtypes[d], 3, 5, 7, 2);
        double values[105];
        assay_dtype_load(dtypes[d], output(&bed, 1), 0, 105, values);
        for (int i = 0; i < 105; i++)
            assert_true(isnan(values[i]));
        assert_refused(&bed, 1, "left 105 of 105 elements of output 0 unwritten, first at [0,0,0]");
        memset(output(&bed, 1), 0, output_bytes(&bed));
        assert_int_equal(assay_operands_check(bed.operands, 1, NULL), ASSAY_OK);
        assay_operands_poison(bed.operands, 1);
        assert_refused(&bed, 1, "left 105 of 105 elements of output 0 unwritten, first at [0,0,0]");
        strip_bed(&bed);
    }
}

/* In s32 the poison is far from any sum: -1, the bytes of which are the floats' poison, is none. */
static void test_an_untouched_integer_output_is_unwritten(void **state)
{
    (void)state;
    struct bed bed = make_bed("linear", ASSAY_DTYPE_S8, 3, 5, 7, 2);
    int32_t *out = (int32_t *)output(&bed, 1);
    assert_int_equal(output_bytes(&bed), 21 * sizeof *out);
    assert_refused(&bed, 1, "left 21 of 21 elements of output 0 unwritten, first at [0,0]");
    for (int i = 0; i < 21; i++)
        assert_true(out[i] < -2000000000);
    memset(out, 0xff, 20 * sizeof *out);
    assert_refused(&bed, 1, "left 1 of 21 elements of output 0 unwritten, first at [2,6]");
    memset(out, 0xff, 21 * sizeof *out);
    assert_int_equal(assay_operands_check(bed.operands, 1, NULL), ASSAY_OK);
    out[3] = 0x80; /* one byte of the poison is not all of it */
    assert_int_equal(assay_operands_check(bed.operands, 1, NULL), ASSAY_OK);
    assay_operands_poison(bed.operands, 1);
    assert_refused(&bed, 1, "left 21 of 21 elements of output 0 unwritten, first at [0,0]");
    strip_bed(&bed);
}

/* ---- refilling ------------------------------------------------------------------------------- */

static bool is_whole(const float *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (values[i] != floorf(values[i] * 2) / 2) /* 127.5 is among them */
            return false;
    return true;
}

/* With integers, set 0 holds them and its checksums are theirs; then it is as it was at first. */
static void test_a_refill_changes_set_0_and_can_be_taken_back(void **state)
{
    (void)state;
    enum { M = 3, K = 64, N = 7 };
    struct bed bed = make_bed("linear", ASSAY_DTYPE_F32, M, K, N, 3);
    struct assay_problem with_recipe = bed.problem;
    const struct assay_op *op = assay_op_find("linear");
    float before[N * K], exact[N * K];
    memcpy(before, input(&bed, 0, 1), sizeof before);
    assert_false(is_whole(before, N * K));
    with_recipe.recipe = "int4wo-32";
    assay_operands_refill(bed.operands, &with_recipe, true);
    memcpy(exact, input(&bed, 0, 1), sizeof exact);
    assert_true(is_whole(exact, N * K));
    assert_true(is_whole((const float *)input(&bed, 0, 0), M * K));
    assert_memory_equal(input(&bed, 1, 1), before, sizeof before); /* the others stay */
    memset(output(&bed, 0), 0, output_bytes(&bed));
    assert_int_equal(assay_operands_check(bed.operands, 0, NULL), ASSAY_OK);
    input(&bed, 0, 1)[5] ^= 1;
    assert_refused(&bed, 0, "changed input 1");
    assay_operands_repair(bed.operands, 0); /* to the integers, which it holds now */
    assert_memory_equal(input(&bed, 0, 1), exact, sizeof exact);
    assert_int_equal(assay_operands_check(bed.operands, 0, NULL), ASSAY_OK);
    with_recipe.recipe = "int8wo";
    assay_operands_refill(bed.operands, &with_recipe, true);
    assert_memory_not_equal(input(&bed, 0, 1), exact, sizeof exact);
    assay_operands_refill(bed.operands, &bed.problem, false);
    assert_memory_equal(input(&bed, 0, 1), before, sizeof before);
    for (int32_t i = 0; i < 2; i++) {
        float *fresh = calloc(1, assay_tensor_bytes(&bed.problem.inputs[i]));
        assay_op_fill(op, &bed.problem, i, fresh, 42);
        assert_memory_equal(input(&bed, 0, i), fresh, assay_tensor_bytes(&bed.problem.inputs[i]));
        free(fresh);
    }
    assert_int_equal(assay_operands_check_all(bed.operands, NULL), ASSAY_OK);
    strip_bed(&bed);
}

static void test_unwritten_elements_are_counted(void **state)
{
    (void)state;
    struct bed bed = make_bed("relu", ASSAY_DTYPE_F32, 3, 5, 7, 1);
    float *out = (float *)output(&bed, 0);
    for (int i = 0; i < 104; i++)
        out[i] = 1;
    assert_refused(&bed, 0, "left 1 of 105 elements of output 0 unwritten, first at [2,4,6]");
    memset(&out[50], 0xff, 3 * sizeof *out);
    assert_refused(&bed, 0, "left 4 of 105 elements of output 0 unwritten, first at [1,2,1]");
    strip_bed(&bed);
}

/* An ordinary NaN, and a value whose bytes are mostly 0xff, are written. */
static void test_a_nan_is_not_poison(void **state)
{
    (void)state;
    struct bed bed = make_bed("relu", ASSAY_DTYPE_F32, 1, 1, 2, 1);
    float *out = (float *)output(&bed, 0);
    out[0] = NAN;
    out[1] = assay_f32_from_bits(0xff7fffffu);
    assert_int_equal(assay_operands_check(bed.operands, 0, NULL), ASSAY_OK);
    strip_bed(&bed);
}

static void test_every_byte_around_the_output_is_guarded(void **state)
{
    (void)state;
    struct bed bed = make_bed("relu", ASSAY_DTYPE_F32, 3, 5, 7, 3);
    size_t bytes = output_bytes(&bed);
    for (int64_t set = 0; set < 3; set++) {
        char *out = output(&bed, set);
        memset(out, 0, bytes);
        for (int distance = 1; distance <= 64; distance++) {
            char *behind = out + bytes + distance - 1, *before = out - distance;
            char held = *behind;
            *behind = 0;
            assert_int_equal(assay_operands_check(bed.operands, set, NULL), ASSAY_ERR_CORRUPT);
            *behind = held;
            held = *before;
            *before = 0;
            assert_int_equal(assay_operands_check(bed.operands, set, NULL), ASSAY_ERR_CORRUPT);
            *before = held;
            assert_int_equal(assay_operands_check(bed.operands, set, NULL), ASSAY_OK);
        }
    }
    strip_bed(&bed);
}

static void test_the_message_says_which_side(void **state)
{
    (void)state;
    struct bed bed = make_bed("add", ASSAY_DTYPE_F32, 3, 5, 7, 2);
    char *out = output(&bed, 1);
    memset(out, 0, output_bytes(&bed));
    memset(out + output_bytes(&bed), 0, 4);
    assert_refused(&bed, 1, "wrote out of bounds: 4 bytes past the end of output 0");
    memset(out + output_bytes(&bed), 0xa5, 4);
    memset(out - 8, 0, 8);
    assert_refused(&bed, 1, "wrote out of bounds: 8 bytes before the start of output 0");
    memset(out - 8, 0xa5, 8);
    memset(input(&bed, 1, 1) - 40, 0, 40); /* most of the gap, but it touches input 1 */
    assert_refused(&bed, 1, "wrote out of bounds: 40 bytes before the start of input 1");
    memset(input(&bed, 1, 1) - 40, 0xa5, 40);
    input(&bed, 1, 0)[-1] = 0;
    assert_refused(&bed, 1, "wrote out of bounds: 1 bytes before the start of input 0");
    input(&bed, 1, 0)[-1] = (char)0xa5;
    input(&bed, 1, 1)[assay_tensor_bytes(&bed.problem.inputs[1])] = 0;
    assert_refused(&bed, 1, "wrote out of bounds: 1 bytes past the end of input 1");
    strip_bed(&bed);
}

static void test_any_changed_bit_of_an_input_is_seen(void **state)
{
    (void)state;
    struct bed bed = make_bed("add", ASSAY_DTYPE_F32, 3, 5, 7, 2);
    memset(output(&bed, 1), 0, output_bytes(&bed));
    size_t bytes = assay_tensor_bytes(&bed.problem.inputs[1]);
    for (size_t i = 0; i < bytes; i++) {
        input(&bed, 1, 1)[i] ^= (char)(1 << i % 8);
        assert_refused(&bed, 1, "changed input 1");
        input(&bed, 1, 1)[i] ^= (char)(1 << i % 8);
    }
    input(&bed, 1, 0)[0] ^= 1;
    assert_refused(&bed, 1, "changed input 0");
    strip_bed(&bed);
}

static void test_a_repaired_set_is_as_good_as_new(void **state)
{
    (void)state;
    struct bed bed = make_bed("add", ASSAY_DTYPE_F32, 3, 5, 7, 2);
    memset(output(&bed, 1), 0, output_bytes(&bed));
    memset(input(&bed, 1, 0) - 9, 1, 500);
    memset(output(&bed, 1) + output_bytes(&bed), 1, 64);
    assert_int_equal(assay_operands_check(bed.operands, 1, NULL), ASSAY_ERR_CORRUPT);
    assay_operands_repair(bed.operands, 1);
    assert_int_equal(assay_operands_check(bed.operands, 1, NULL), ASSAY_OK);
    assert_memory_equal(input(&bed, 1, 0), input(&bed, 0, 0), 105 * sizeof(float));
    strip_bed(&bed);
}

static void test_all_sets_are_checked_but_not_for_poison(void **state)
{
    (void)state;
    struct bed bed = make_bed("relu", ASSAY_DTYPE_BF16, 3, 5, 7, 50);
    struct assay_error why = {0};
    assert_int_equal(assay_operands_check_all(bed.operands, &why), ASSAY_OK);
    output(&bed, 49)[output_bytes(&bed)] = 0;
    assert_int_equal(assay_operands_check_all(bed.operands, &why), ASSAY_ERR_CORRUPT);
    assert_string_equal(why.message, "wrote out of bounds: 1 bytes past the end of output 0");
    output(&bed, 49)[output_bytes(&bed)] = (char)0xa5;
    input(&bed, 17, 0)[3] ^= 1;
    why = (struct assay_error){0};
    assert_int_equal(assay_operands_check_all(bed.operands, &why), ASSAY_ERR_CORRUPT);
    assert_string_equal(why.message, "changed input 0");
    strip_bed(&bed);
}

static void test_large_tensors_are_guarded_too(void **state)
{
    (void)state;
    struct bed bed = make_bed("add", ASSAY_DTYPE_F32, 4, 8, 1031, 2); /* more than 16 pages each */
    for (int64_t set = 0; set < 2; set++) {
        char *out = output(&bed, set);
        assert_int_equal((uintptr_t)out % 64, 0);
        memset(out, 0, output_bytes(&bed));
        out[output_bytes(&bed) + 63] = 0;
        assert_int_equal(assay_operands_check(bed.operands, set, NULL), ASSAY_ERR_CORRUPT);
        out[output_bytes(&bed) + 63] = (char)0xa5;
        out[-64] = 0;
        assert_int_equal(assay_operands_check(bed.operands, set, NULL), ASSAY_ERR_CORRUPT);
        out[-64] = (char)0xa5;
        assert_int_equal(assay_operands_check(bed.operands, set, NULL), ASSAY_OK);
    }
    strip_bed(&bed);
}

static void test_cold_sets_exceed_twice_the_cache(void **state)
{
    (void)state;
    for (int64_t dim = 1; dim < 100000; dim = dim * 3 + 1) {
        struct assay_problem problem = problem_of("relu", ASSAY_DTYPE_F32, 1, 4, dim);
        size_t cache = 1 << 20;
        int64_t sets = assay_operands_cold_sets(&problem, cache);
        assert_true(sets >= 2);
        assert_true(assay_operands_bytes(&problem, sets) > 2 * cache);
    }
    struct assay_problem tiny = problem_of("relu", ASSAY_DTYPE_F32, 1, 1, 1);
    assert_int_equal(assay_operands_cold_sets(&tiny, SIZE_MAX / 4), 1 << 20);
}

static void test_sizes_saturate(void **state)
{
    (void)state;
    struct assay_problem problem = problem_of("relu", ASSAY_DTYPE_F32, 1 << 19, 1 << 19, 1 << 19);
    assert_true(assay_operands_bytes(&problem, 1) > (size_t)1 << 59);
    assert_true(assay_operands_bytes(&problem, 1 << 17) == SIZE_MAX);
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    assay_device *device = open_device();
    struct assay_problem problem = problem_of("add", ASSAY_DTYPE_F32, 3, 5, 7);
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        assay_operands *operands = NULL;
        struct assay_error err = {0};
        assay_alloc_fail_after(nth);
        status =
            assay_operands_create(device, assay_op_find("add"), &problem, 1, 3, &operands, &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        assert_int_equal(operands != NULL, status == ASSAY_OK);
        assay_operands_destroy(operands);
        assert_int_equal(device->bytes_held, 0);
        assert_true(nth < 50);
    }
    assay_device_close(device);
}

/* One that writes past the end and nothing else is told the worse of the two. */
static void test_harm_comes_before_what_is_unwritten(void **state)
{
    (void)state;
    struct bed bed = make_bed("add", ASSAY_DTYPE_F32, 4, 6, 5, 1);
    struct assay_error why = {0};
    assay_operands_poison(bed.operands, 0);
    assert_int_equal(assay_operands_check_harm(bed.operands, 0, NULL), ASSAY_OK);
    struct assay_unwritten left = assay_operands_unwritten(bed.operands, 0, NULL);
    assert_int_equal(left.elements, 4 * 6 * 5);
    assert_int_equal(left.of, left.elements);
    float *out = assay_operands_sets(bed.operands)[0].out[0];
    out[4 * 6 * 5] = 1;
    assert_int_equal(assay_operands_check_harm(bed.operands, 0, NULL), ASSAY_ERR_CORRUPT);
    assert_int_equal(assay_operands_check(bed.operands, 0, &why), ASSAY_ERR_CORRUPT);
    assert_null(strstr(why.message, "unwritten"));
    strip_bed(&bed);
}

/* ---- other values ---- */

static void test_others_take_the_place_of_the_usual(void **state)
{
    (void)state;
    struct bed bed = make_bed("linear", ASSAY_DTYPE_F32, 4, 6, 5, 2);
    const struct assay_args *sets = assay_operands_sets(bed.operands);
    size_t bytes = assay_tensor_bytes(&bed.problem.inputs[0]);
    float usual[24], others[24];
    assert_int_equal(bytes, sizeof usual);
    memcpy(usual, sets[0].in[0], bytes);
    assert_false(assay_operands_have_others(bed.operands));
    assert_int_equal(assay_operands_make_others(bed.operands, NULL), ASSAY_OK);
    assert_true(assay_operands_have_others(bed.operands));
    assay_operands_fill_others(bed.operands, 77);
    memcpy(others, assay_operands_other_inputs(bed.operands)[0], bytes);
    assert_memory_not_equal(usual, others, bytes);
    assert_ptr_equal(assay_operands_other_inputs(bed.operands)[1], sets[0].in[1]); /* a weight */
    assay_operands_put(bed.operands, 1, true);
    assert_memory_equal(sets[1].in[0], others, bytes);
    assert_memory_equal(sets[0].in[0], usual, bytes);
    assert_int_equal(assay_operands_check_all(bed.operands, NULL), ASSAY_OK);
    struct assay_error why = {0};
    float *changed = (float *)(uintptr_t)sets[1].in[0];
    changed[3] += 1;
    assert_int_equal(assay_operands_check_put(bed.operands, 1, &why), ASSAY_ERR_CORRUPT);
    assert_string_equal(why.message, "changed input 0");
    assay_operands_put(bed.operands, 1, false);
    assert_memory_equal(sets[1].in[0], usual, bytes);
    assert_int_equal(assay_operands_check_put(bed.operands, 1, NULL), ASSAY_OK);
    assay_operands_put(bed.operands, 1, true);
    assay_operands_repair(bed.operands, 1);
    assert_memory_equal(sets[1].in[0], usual, bytes);
    assert_int_equal(assay_operands_check_all(bed.operands, NULL), ASSAY_OK);
    strip_bed(&bed);
}

/* ---- changed elements ---- */

/* Changes take the place of the changes before, survive a repair, and leave nothing behind. */
static void test_changes_come_and_go(void **state)
{
    (void)state;
    struct bed bed = make_bed("mse", ASSAY_DTYPE_BF16, 2, 3, 5, 2);
    const struct assay_args *sets = assay_operands_sets(bed.operands);
    static const struct assay_change first[] = {{0, 7, 96}, {1, 29, -2}, {0, 7, 128}},
                                     second[] = {{1, 0, 3}};
    uint16_t usual[2][30];
    double value;
    for (int i = 0; i < 2; i++)
        memcpy(usual[i], sets[0].in[i], sizeof usual[i]);
    assay_operands_change(bed.operands, first, 3);
    assay_dtype_load(ASSAY_DTYPE_BF16, sets[0].in[0], 7, 1, &value);
    assert_near(value, 128, 0);
    assert_int_equal(assay_operands_check_harm(bed.operands, 0, NULL), ASSAY_OK);
    assert_memory_equal(sets[1].in[0], usual[0], sizeof usual[0]); /* set 0 alone */
    uint16_t *harmed = (uint16_t *)(uintptr_t)sets[0].in[1];
    harmed[3] ^= 1;
    assert_int_equal(assay_operands_check_harm(bed.operands, 0, NULL), ASSAY_ERR_CORRUPT);
    assay_operands_repair(bed.operands, 0);
    assert_int_equal(assay_operands_check_harm(bed.operands, 0, NULL), ASSAY_OK);
    assay_dtype_load(ASSAY_DTYPE_BF16, sets[0].in[1], 29, 1, &value);
    assert_near(value, -2, 0);
    assay_operands_change(bed.operands, second, 1);
    assert_memory_equal(sets[0].in[0], usual[0], sizeof usual[0]);
    assert_memory_not_equal(sets[0].in[1], usual[1], sizeof usual[1]);
    assay_operands_change(bed.operands, NULL, 0);
    assert_memory_equal(sets[0].in[1], usual[1], sizeof usual[1]);
    assert_int_equal(assay_operands_check_all(bed.operands, NULL), ASSAY_OK);
    strip_bed(&bed);
}

/* The others of a loss have spikes, the same whenever they are filled from the same seed. */
static void test_others_of_a_loss_have_spikes(void **state)
{
    (void)state;
    struct bed bed = make_bed("mse", ASSAY_DTYPE_F32, 1, 10, 100, 1);
    float once[1000], greatest = 0;
    assert_int_equal(assay_operands_make_others(bed.operands, NULL), ASSAY_OK);
    assay_operands_fill_others(bed.operands, 77);
    memcpy(once, assay_operands_other_inputs(bed.operands)[0], sizeof once);
    for (int i = 0; i < 1000; i++)
        greatest = fmaxf(greatest, once[i]);
    assert_true(greatest > 6); /* 3.5 without */
    assert_true(assay_operands_others_allowed(bed.operands) > 0);
    assay_operands_fill_others(bed.operands, 78);
    assay_operands_fill_others(bed.operands, 77);
    assert_memory_equal(assay_operands_other_inputs(bed.operands)[0], once, sizeof once);
    assay_operands_put(bed.operands, 0, true);
    assert_int_equal(assay_operands_check_all(bed.operands, NULL), ASSAY_OK);
    strip_bed(&bed);
}

/* A kernel may take a norm's weights into those of the product. */
static void test_weights_of_a_norm_are_constant(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("linear");
    const int64_t axes[] = {4, 8, 5};
    struct assay_problem problem;
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, "rms+bias+add", axes, 1, &problem, NULL),
                     ASSAY_OK);
    for (int32_t i = 0; i < problem.n_inputs; i++) {
        bool constant = i == ASSAY_LINEAR_W || i == assay_linear_norm_input(&problem);
        assert_int_equal(assay_op_is_constant(op, &problem, i), constant);
    }
}

static void test_others_may_not_be_had(void **state)
{
    (void)state;
    for (int64_t nth = 1; nth <= 3; nth++) {
        struct bed bed = make_bed("add", ASSAY_DTYPE_F32, 4, 6, 5, 2);
        assay_alloc_fail_after(nth);
        enum assay_status status = assay_operands_make_others(bed.operands, NULL);
        assay_alloc_fail_after(0);
        assert_int_equal(status == ASSAY_OK, assay_operands_have_others(bed.operands));
        assert_true(nth > 1 || status == ASSAY_ERR_NOMEM);
        strip_bed(&bed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_set_is_the_same_and_aligned),
        cmocka_unit_test(test_an_untouched_output_is_unwritten_in_every_dtype),
        cmocka_unit_test(test_an_untouched_integer_output_is_unwritten),
        cmocka_unit_test(test_a_refill_changes_set_0_and_can_be_taken_back),
        cmocka_unit_test(test_unwritten_elements_are_counted),
        cmocka_unit_test(test_a_nan_is_not_poison),
        cmocka_unit_test(test_every_byte_around_the_output_is_guarded),
        cmocka_unit_test(test_the_message_says_which_side),
        cmocka_unit_test(test_any_changed_bit_of_an_input_is_seen),
        cmocka_unit_test(test_a_repaired_set_is_as_good_as_new),
        cmocka_unit_test(test_all_sets_are_checked_but_not_for_poison),
        cmocka_unit_test(test_large_tensors_are_guarded_too),
        cmocka_unit_test(test_cold_sets_exceed_twice_the_cache),
        cmocka_unit_test(test_sizes_saturate),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
        cmocka_unit_test(test_others_take_the_place_of_the_usual),
        cmocka_unit_test(test_changes_come_and_go),
        cmocka_unit_test(test_others_of_a_loss_have_spikes),
        cmocka_unit_test(test_harm_comes_before_what_is_unwritten),
        cmocka_unit_test(test_weights_of_a_norm_are_constant),
        cmocka_unit_test(test_others_may_not_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
