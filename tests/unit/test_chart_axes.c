/* test_chart_axes.c: what varies over a book, from its records. */
#include "report_case.h"

#include "base/alloc.h"
#include "report/chart/chart_axes.h"

#include <string.h>

static struct assay_record sized(const char *op, int64_t batch, int64_t seq, const char *impl)
{
    struct assay_record r = plain_record(0, 0, op, op, impl);
    r.axes[0] = batch;
    r.axes[1] = seq;
    r.memory_bytes = (double)(batch * seq * 768 * 4);
    r.states[HOT] = around((double)seq * 100, 0.01);
    return r;
}

/* Two sizes, two implementations, and a product of another op that has sizes of its own. */
static void fill(struct assay_book *book)
{
    static const int64_t seqs[] = {4096, 128, 1024};
    assay_book_begin(book, &a_run);
    for (int batch = 1; batch <= 8; batch *= 8)
        for (int i = 0; i < 3; i++) {
            struct assay_record records[] = {sized("softmax", batch, seqs[i], "onednn"),
                                             sized("softmax", batch, seqs[i], "native")};
            assay_book_add(book, records, 2);
        }
    struct assay_record linear = {.op = "linear",
                                  .device = "cpu",
                                  .mode = "bias",
                                  .label = "llama",
                                  .recipe = "int8wo",
                                  .implementation = "native",
                                  .dtype = ASSAY_DTYPE_BF16,
                                  .threads = 2,
                                  .n_axes = 3,
                                  .axis_names = {"m", "k", "n"},
                                  .axes = {1, 4096, 11008}};
    assay_book_add(book, &linear, 1);
}

static const struct assay_chart_axis *named(const struct assay_chart_axes *axes, const char *name)
{
    int64_t a = assay_chart_axes_named(axes, name);
    return a < 0 ? NULL : &axes->axes[a];
}

static const char *value(const struct assay_chart_axes *axes, const char *name, int64_t record)
{
    int64_t a = assay_chart_axes_named(axes, name), at = assay_chart_axes_at(axes, a, record);
    return at < 0 ? "" : axes->axes[a].values[at].text;
}

static void test_axes_of_a_book(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_chart_axes axes = {0};
    fill(&book);
    assay_chart_axes_find(&book, &axes);
    assert_false(axes.failed);

    const struct assay_chart_axis *seq = named(&axes, "SEQ");
    assert_int_equal(seq->n, 3);
    assert_true(seq->numeric && seq->partial && !seq->of_variants);
    assert_string_equal(seq->values[0].text, "128"); /* sorted */
    assert_true(seq->values[2].number == 4096);
    assert_string_equal(value(&axes, "seq", 0), "4096");
    assert_string_equal(value(&axes, "seq", 3), "128");
    assert_string_equal(value(&axes, "seq", 12), ""); /* the product has none */

    const struct assay_chart_axis *implementation = named(&axes, "implementation");
    assert_string_equal(implementation->values[0].text, "onednn"); /* as they came */
    assert_true(implementation->of_variants && !implementation->numeric);
    assert_string_equal(value(&axes, "implementation", 5), "native");

    assert_string_equal(value(&axes, "shape", 12), "1x4096x11008");
    assert_string_equal(value(&axes, "shape", 0), "1x4096x768");
    assert_string_equal(named(&axes, "shape")->values[0].text, "1x128x768"); /* the smallest */
    assert_string_equal(value(&axes, "dtype", 12), "bf16");
    assert_string_equal(value(&axes, "recipe", 12), "int8wo");
    assert_string_equal(value(&axes, "mode", 12), "bias");
    assert_string_equal(value(&axes, "label", 12), "llama");
    assert_string_equal(value(&axes, "memory", 0), "12582912");
    assert_string_equal(value(&axes, "run", 0), a_run.id);
    assert_string_equal(value(&axes, "machine", 0), a_run.device_name);

    assert_true(assay_chart_axis_varies(named(&axes, "batch")));
    assert_true(assay_chart_axis_varies(named(&axes, "dim"))); /* 768, or none */
    assert_false(assay_chart_axis_varies(named(&axes, "threads")));
    assert_null(named(&axes, "compile")); /* no record has it */
    assert_null(named(&axes, "nonsense"));

    char names[160];
    assay_chart_axes_names(&axes, true, names, sizeof names);
    assert_string_equal(names, "memory, batch, seq, dim, m, k, n");
    assay_chart_axes_names(&axes, false, names, 12); /* cut, and no further */
    assert_int_equal(strlen(names), 11);
    assay_chart_axes_fini(&axes);
    assay_book_fini(&book);
}

/* m = k = n in every record: k follows m. Dim does not follow seq. */
static void test_axes_that_follow(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_chart_axes axes = {0};
    fill(&book);
    assay_chart_axes_find(&book, &axes);
    int64_t seq = assay_chart_axes_named(&axes, "seq"), dim = assay_chart_axes_named(&axes, "dim");
    int64_t batch = assay_chart_axes_named(&axes, "batch");
    int64_t shape = assay_chart_axes_named(&axes, "shape");
    assert_true(assay_chart_axes_follows(&axes, seq, shape));
    assert_false(assay_chart_axes_follows(&axes, shape, seq));
    assert_false(assay_chart_axes_follows(&axes, batch, seq));
    assert_true(assay_chart_axes_follows(&axes, dim, seq));
    assert_false(assay_chart_axes_follows(&axes, seq, dim));
    assay_chart_axes_fini(&axes);
    assay_book_fini(&book);
}

/* Two runs, of which one is there twice, on two machines. */
static void test_runs(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_chart_axes axes = {0};
    struct assay_run_info other = a_run;
    snprintf(other.device_name, sizeof other.device_name, "a \"quoted\" machine");
    struct assay_record record = sized("softmax", 1, 128, "native");
    assay_book_begin(&book, &a_run);
    assay_book_add(&book, &record, 1);
    assay_book_begin(&book, &other);
    assay_book_add(&book, &record, 1);
    other.id[0] = '\0';
    assay_book_begin(&book, &other);
    assay_book_add(&book, &record, 1);
    assay_chart_axes_find(&book, &axes);
    assert_int_equal(named(&axes, "run")->n, 3);
    assert_string_equal(value(&axes, "run", 1), "20261115-034711-a1b2 #2");
    assert_string_equal(value(&axes, "run", 2), "#1");
    assert_int_equal(named(&axes, "machine")->n, 2);
    assay_chart_axes_fini(&axes);
    assay_book_fini(&book);
}

/* Several kernels of one implementation for one problem are told apart. */
static void test_kernels_of_one_implementation(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_chart_axes axes = {0};
    struct assay_record records[] = {sized("softmax", 1, 128, "native"),
                                     sized("softmax", 1, 128, "native")};
    snprintf(records[1].kernel, sizeof records[1].kernel, "softmax_portable");
    assay_book_begin(&book, &a_run);
    assay_book_add(&book, records, 2);
    assay_chart_axes_find(&book, &axes);
    assert_string_equal(value(&axes, "implementation", 0), "softmax_native");
    assert_string_equal(value(&axes, "implementation", 1), "softmax_portable");
    assay_chart_axes_fini(&axes);
    assay_book_fini(&book);
}

static void test_many_values(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_chart_axes axes = {0};
    enum { MANY = 3000 };
    assay_book_begin(&book, &a_run);
    for (int64_t i = 0; i < MANY; i++) {
        struct assay_record record = sized("softmax", 1, MANY - i, "native");
        snprintf(record.label, sizeof record.label, "<shape %lld>", (long long)i);
        for (int32_t k = 3; k < ASSAY_MAX_AXES; k++, record.n_axes++) {
            snprintf(record.axis_names[k], sizeof record.axis_names[k], "a%lld",
                     (long long)i * ASSAY_MAX_AXES + k); /* more names than there is room for */
            record.axes[k] = 1;
        }
        assay_book_add(&book, &record, 1);
    }
    assay_chart_axes_find(&book, &axes);
    assert_int_equal(named(&axes, "seq")->n, MANY);
    assert_int_equal(axes.n, ASSAY_CHART_AXES_MOST);
    for (int64_t i = 0; i < MANY; i++) {
        assert_int_equal(assay_chart_axes_at(&axes, assay_chart_axes_named(&axes, "seq"), i),
                         MANY - 1 - i);
        assert_int_equal(assay_chart_axes_at(&axes, assay_chart_axes_named(&axes, "label"), i), i);
    }
    assay_chart_axes_fini(&axes);
    assay_book_fini(&book);
}

static void test_nothing(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_chart_axes axes = {0};
    char names[16];
    assay_chart_axes_find(&book, &axes);
    assert_false(axes.failed);
    assert_null(named(&axes, "op"));
    assay_chart_axes_names(&axes, false, names, sizeof names);
    assert_string_equal(names, "");
    assay_chart_axes_fini(&axes);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct assay_book book = {0};
    fill(&book);
    bool whole = false;
    for (int64_t n = 1; !whole; n++) {
        struct assay_chart_axes axes = {0};
        assay_alloc_fail_after(n);
        assay_chart_axes_find(&book, &axes);
        assay_alloc_fail_after(0);
        whole = !axes.failed;
        assert_int_equal(axes.n_records, whole ? book.n_records : 0);
        assay_chart_axes_fini(&axes);
        assert_true(n < 200);
    }
    assay_book_fini(&book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes_of_a_book), cmocka_unit_test(test_axes_that_follow),
        cmocka_unit_test(test_runs),           cmocka_unit_test(test_kernels_of_one_implementation),
        cmocka_unit_test(test_many_values),    cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
