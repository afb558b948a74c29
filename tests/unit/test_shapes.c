/* test_shapes.c: shapes as text and as sets, and everything that is neither. */
#include "unit.h"

#include "base/alloc.h"
#include "config/shapes.h"

#include <stdio.h>
#include <string.h>

static struct assay_shapes set_of(const char *text)
{
    struct assay_shapes shapes = {0};
    struct assay_error err = {0};
    if (assay_shapes_add_set(&shapes, text, &err) != ASSAY_OK)
        fail_msg("%s: %s", text, err.message);
    return shapes;
}

static void assert_shape(const struct assay_shapes *shapes, int64_t i, int64_t m, int64_t k,
                         int64_t n, const char *label)
{
    const struct assay_shape *shape = &shapes->items[i];
    assert_in_range(i, 0, shapes->n - 1);
    assert_int_equal(shape->n, 3);
    assert_int_equal(shape->sizes[0], m);
    assert_int_equal(shape->sizes[1], k);
    assert_int_equal(shape->sizes[2], n);
    assert_string_equal(shape->label, label);
}

static void assert_no_text(const char *text, const char *message)
{
    struct assay_shapes shapes = {0};
    struct assay_error err = {0};
    assert_int_equal(assay_shapes_add_text(&shapes, text, &err), ASSAY_ERR_INVALID);
    if (!strstr(err.message, message))
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(shapes.n, 0);
    assay_shapes_fini(&shapes);
}

static void assert_no_set(const char *text, const char *message)
{
    struct assay_shapes shapes = {0};
    struct assay_error err = {0};
    assert_int_equal(assay_shapes_add_set(&shapes, text, &err), ASSAY_ERR_INVALID);
    if (!strstr(err.message, message))
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(shapes.n, 0);
    assay_shapes_fini(&shapes);
}

static void test_shapes_as_text(void **state)
{
    (void)state;
    struct assay_shapes shapes = {0};
    static const char *const texts[] = {"1024x4096x640", "7", "7x1", "1024X4096X640", "1x2x3x4"};
    for (int i = 0; i < 5; i++)
        assert_int_equal(assay_shapes_add_text(&shapes, texts[i], NULL), ASSAY_OK);
    assert_int_equal(shapes.n, 4); /* one came twice */
    assert_shape(&shapes, 0, 1024, 4096, 640, "");
    assert_int_equal(shapes.items[1].n, 1);
    assert_int_equal(shapes.items[2].n, 2);
    assert_int_equal(shapes.items[3].sizes[3], 4);
    assay_shapes_fini(&shapes);
    static const char *const bad[] = {"",
                                      "x",
                                      "4x",
                                      "x4",
                                      "4xx4",
                                      "4x4 ",
                                      "4,4",
                                      "4*4",
                                      "ax4",
                                      "1.5x2",
                                      "9223372036854775808x1",
                                      "1111111111111111111111111111111111111111x1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_no_text(bad[i], "is not a shape; write 1024x4096x4096");
    assert_no_text("4x0x4", "at least 1");
    assert_no_text("-4x4", "at least 1");
    assert_no_text("1x2x3x4x5x6x7x8x9", "has more than 8 sizes");
}

static void test_sets_of_models(void **state)
{
    (void)state;
    struct assay_shapes shapes = set_of("llama");
    assert_int_equal(shapes.n, 4);
    assert_shape(&shapes, 0, 16384, 8192, 1280, "llama_attn.wqkv");
    assert_shape(&shapes, 1, 16384, 1024, 8192, "llama_attn.w0");
    assert_shape(&shapes, 2, 16384, 8192, 7168, "llama_ffn.w13");
    assert_shape(&shapes, 3, 16384, 3584, 8192, "llama_ffn.w2");
    assay_shapes_fini(&shapes);
    shapes = set_of("LLAMA4");
    assert_int_equal(shapes.n, 6);
    assert_shape(&shapes, 0, 16384, 8192, 5120, "llama4_FFN");
    assert_shape(&shapes, 5, 128000, 8192, 1024, "llama4_KV_proj");
    assay_shapes_fini(&shapes);
    shapes = set_of("deepseek_v3_671b");
    assert_int_equal(shapes.n, 4);
    assert_shape(&shapes, 0, 16384, 2048, 7168, "deepseek_v3_671b_FFN");
    assert_shape(&shapes, 3, 128000, 7168, 7168, "deepseek_v3_671b_QKVO_proj");
    assay_shapes_fini(&shapes);
}

static void test_sets_of_powers(void **state)
{
    (void)state;
    struct assay_shapes shapes = set_of("pow2");
    assert_int_equal(shapes.n, 5);
    assert_shape(&shapes, 0, 1024, 1024, 1024, "pow2_0");
    assert_shape(&shapes, 4, 16384, 16384, 16384, "pow2_4");
    assay_shapes_fini(&shapes);
    shapes = set_of("pow2_extended:3:4");
    assert_int_equal(shapes.n, 4);
    assert_shape(&shapes, 0, 8, 8, 8, "pow2_extended_0");
    assert_shape(&shapes, 1, 12, 12, 12, "pow2_extended_1");
    assert_shape(&shapes, 3, 24, 24, 24, "pow2_extended_3");
    assay_shapes_fini(&shapes);
    shapes = set_of("small_sweep");
    assert_int_equal(shapes.n, 35); /* five powers, ascending, with repetition */
    for (int64_t i = 0; i < shapes.n; i++) {
        const int64_t *s = shapes.items[i].sizes;
        assert_true(s[0] <= s[1] && s[1] <= s[2]);
    }
    assert_shape(&shapes, 1, 1024, 1024, 2048, "small_sweep_1");
    assert_shape(&shapes, 34, 16384, 16384, 16384, "small_sweep_34");
    assay_shapes_fini(&shapes);
    shapes = set_of("sweep");
    assert_int_equal(shapes.n, 512);
    assert_shape(&shapes, 0, 256, 256, 256, "sweep_0");
    assert_shape(&shapes, 1, 256, 256, 512, "sweep_1");
    assert_shape(&shapes, 511, 32768, 32768, 32768, "sweep_511");
    assay_shapes_fini(&shapes);
    shapes = set_of("sweep:0:0");
    assert_int_equal(shapes.n, 1);
    assert_shape(&shapes, 0, 1, 1, 1, "sweep_0");
    assay_shapes_fini(&shapes);
}

static void test_what_is_no_set(void **state)
{
    (void)state;
    assert_no_set("lama", "unknown set \"lama\"; did you mean \"llama\"?");
    assert_no_set("deepseek_v3_236", "did you mean \"deepseek_v3_236b\"?");
    assert_no_set("", "unknown set \"\"");
    assert_no_set("1024x1024x1024", "sizes are written --shape MxKxN");
    assert_no_set("llama:10:12", "llama has no range");
    assert_no_set("pow2:10", "write pow2:10:14");
    assert_no_set("pow2:", "write pow2:10:14");
    assert_no_set("pow2:1:2:3", "write pow2:10:14");
    assert_no_set("pow2:a:2", "write pow2:10:14");
    assert_no_set("pow2:12:10", "runs backwards");
    assert_no_set("pow2:-1:10", "lie between 0 and 30");
    assert_no_set("pow2:10:63", "lie between 0 and 30");
    assert_no_set("pow2_extended:0:2", "lie between 1 and 30");
}

/* Every set has a unique name, a summary, and labels that fit. */
static void test_the_table(void **state)
{
    (void)state;
    assert_true(assay_shape_set_count() >= 10);
    for (int64_t i = 0; i < assay_shape_set_count(); i++) {
        const char *name = assay_shape_set_at(i)->name;
        struct assay_shapes shapes = set_of(name);
        assert_true(assay_shape_set_at(i)->summary[0]);
        assert_true(shapes.n > 0);
        for (int64_t k = 0; k < shapes.n; k++) {
            assert_memory_equal(shapes.items[k].label, name, strlen(name));
            assert_true(strlen(shapes.items[k].label) < sizeof shapes.items[k].label - 1);
        }
        assay_shapes_fini(&shapes);
    }
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct assay_shapes shapes = {0};
        struct assay_error err = {0};
        assay_alloc_fail_after(nth);
        status = assay_shapes_add_set(&shapes, "small_sweep", &err);
        if (status == ASSAY_OK)
            status = assay_shapes_add_text(&shapes, "1x2x3", &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        assay_shapes_fini(&shapes);
        assert_true(nth < 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_as_text),
        cmocka_unit_test(test_sets_of_models),
        cmocka_unit_test(test_sets_of_powers),
        cmocka_unit_test(test_what_is_no_set),
        cmocka_unit_test(test_the_table),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
