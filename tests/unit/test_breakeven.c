/* test_breakeven.c: from which shape on a recipe pays, of sweeps written down here. */
#include "unit.h"

#include "report/report_breakeven.h"

#include <stdio.h>
#include <string.h>

/* A point of a sweep: its sizes, and how the recipe compares: '+' pays, '-' does not, '=' the same,
 * '?' unclear, 'x' without figures. */
struct point {
    int64_t m, k, n;
    char way;
};

static void set_ratio(struct assay_measurement *m, char way)
{
    double ratio = way == '+' ? 1.5 : way == '-' ? 0.5 : 1.0, width = way == '?' ? 0.6 : 0.01;
    m->measured = way != 'x';
    m->has_ratio = way != 'x';
    m->ratio = (struct assay_ratio){.ratio = ratio,
                                    .ci = {ratio - width, ratio + width},
                                    .significant = way == '+' || way == '-',
                                    .smallest_visible = width,
                                    .n = 20};
    m->time.median = 1000 / ratio;
    m->time.median_ci = (struct assay_interval){990 / ratio, 1010 / ratio};
}

static struct assay_record record_of(const char *op, const char *mode, const char *recipe,
                                     const struct point *p)
{
    struct assay_record r;
    assay_record_clear(&r);
    snprintf(r.op, sizeof r.op, "%s", op);
    snprintf(r.mode, sizeof r.mode, "%s", mode);
    snprintf(r.recipe, sizeof r.recipe, "%s", recipe);
    snprintf(r.implementation, sizeof r.implementation, "native");
    snprintf(r.baseline, sizeof r.baseline, "native");
    r.is_baseline = strcmp(recipe, "baseline") == 0;
    r.dtype = ASSAY_DTYPE_BF16;
    r.n_axes = 3;
    int64_t axes[] = {p->m, p->k, p->n};
    for (int i = 0; i < 3; i++) {
        r.axes[i] = axes[i];
        snprintf(r.axis_names[i], sizeof r.axis_names[i], "%c", "mkn"[i]);
    }
    struct assay_measurement *hot = &r.states[ASSAY_CACHE_HOT];
    set_ratio(hot, r.is_baseline ? '=' : p->way);
    if (r.is_baseline)
        hot->has_ratio = false;
    r.outcome = p->way == 'x' && !r.is_baseline ? ASSAY_OUTCOME_UNSUPPORTED : ASSAY_OUTCOME_OK;
    return r;
}

static void add(struct assay_breakevens *all, const char *op, const char *mode,
                const struct point *points)
{
    for (; points->m; points++) {
        struct assay_record group[2] = {record_of(op, mode, "baseline", points),
                                        record_of(op, mode, "float8dq-row", points)};
        assay_breakevens_add(all, group, 2);
    }
}

/* Of cubes 256, 512, …, one for each letter. */
static void expect_cubes(const char *ways, const char *want)
{
    struct point points[16] = {{0}};
    struct assay_breakevens all = {0};
    for (int64_t i = 0; ways[i]; i++) {
        int64_t side = (int64_t)256 << i;
        points[i] = (struct point){side, side, side, ways[i]};
    }
    add(&all, "linear", "", points);
    assay_breakevens_find(&all);
    assert_int_equal(all.n, 1);
    assert_string_equal(all.items[0].axis.text, "m = k = n");
    assert_string_equal(assay_breakeven_text(&all.items[0]).text, want);
    assay_breakevens_fini(&all);
}

static void verdicts_follow_the_intervals(void **state)
{
    (void)state;
    expect_cubes("--++", "pays from 1024 on: break-even between 512 and 1024");
    expect_cubes("-=?+", "pays from 2048 on: break-even between 256 and 2048");
    expect_cubes("-+-+", "pays from 2048 on: break-even between 1024 and 2048");
    expect_cubes("++++", "pays everywhere in 256…2048");
    expect_cubes("----", "pays nowhere in 256…2048");
    expect_cubes("--==", "pays nowhere in 256…2048");
    expect_cubes("?=++", "pays from 1024 on, unclear below");
    expect_cubes("x-++", "pays from 1024 on: break-even between 512 and 1024");
    expect_cubes("--+x", "unclear in 256…2048");
    expect_cubes("++--", "unclear in 256…2048");
    expect_cubes("---?", "unclear in 256…2048");
    expect_cubes("xx", "unclear in 256…512");
}

static void one_size_may_grow_or_several(void **state)
{
    (void)state;
    static const struct point rows[] = {{1, 64, 64, '+'}, {8, 64, 64, '+'}, {64, 64, 64, '-'}, {0}};
    static const struct point mixed[] = {
        {8, 16, 32, '-'}, {16, 16, 64, '+'}, {16, 32, 64, '+'}, {0}};
    static const struct point grid[] = {{1, 64, 64, '-'},
                                        {8, 64, 64, '+'},
                                        {1, 128, 64, '-'},
                                        {8, 128, 64, '-'},
                                        {1, 256, 64, '+'},
                                        {8, 256, 64, '+'},
                                        {0}};
    struct assay_breakevens all = {0};
    add(&all, "linear", "bias", rows);
    assay_breakevens_find(&all);
    assert_int_equal(all.n, 1);
    assert_string_equal(assay_breakeven_heading(&all.items[0]).text,
                        "linear bias bf16 hot, along m at k=64 n=64");
    assay_breakevens_fini(&all);
    add(&all, "linear", "", mixed);
    assay_breakevens_find(&all);
    assert_int_equal(all.n, 1);
    assert_string_equal(assay_breakeven_text(&all.items[0]).text,
                        "pays from 16x16x64 on: break-even between 8x16x32 and 16x16x64");
    assay_breakevens_fini(&all);
    add(&all, "linear", "", grid);
    assay_breakevens_find(&all);
    assert_int_equal(all.n, 2); /* k grows, of m = 1 and of m = 8 */
    assert_string_equal(all.items[0].fixed.text, "m=1 n=64");
    assert_string_equal(assay_breakeven_text(&all.items[0]).text,
                        "pays from 256 on: break-even between 128 and 256");
    assert_string_equal(all.items[1].fixed.text, "m=8 n=64");
    assert_string_equal(all.items[1].below.text, "128");
    assay_breakevens_fini(&all);
}

static void one_shape_is_no_sweep(void **state)
{
    (void)state;
    static const struct point twice[] = {{64, 64, 64, '+'}, {64, 64, 64, '-'}, {0}};
    struct assay_breakevens all = {0};
    add(&all, "linear", "", twice);
    assay_breakevens_find(&all);
    assert_int_equal(all.n, 0);
    assay_breakevens_fini(&all);
}

/* A forward product that loses 500 ns and gradients that win 1000 x 1/3 each: together 3000 ns
 * against 2000 + 667 + 667. */
static void a_step_is_the_sum_of_its_products(void **state)
{
    (void)state;
    static const struct point loses[] = {{64, 64, 64, '-'}, {128, 128, 128, '-'}, {0}};
    static const struct point wins[] = {{64, 64, 64, '+'}, {128, 128, 128, '+'}, {0}};
    struct assay_breakevens all = {0};
    add(&all, "linear_training", "", loses);
    add(&all, "linear_backward", "dx", wins);
    add(&all, "linear_backward", "dw", wins);
    assay_breakevens_find(&all);
    assert_int_equal(all.n, 4);
    assert_string_equal(all.items[0].op.text, "linear_training"); /* in the order they came */
    assert_string_equal(all.items[1].op.text, "linear_backward dx");
    const struct assay_breakeven *step = &all.items[3];
    assert_string_equal(step->op.text, "linear, a whole step");
    assert_int_equal(step->verdict, ASSAY_PAYS_NOWHERE);
    assert_near(all.points[step->point].ratio, 3000 / (2000 + 2 * 1000 / 1.5), 1e-9);
    assert_near(all.points[step->point].ci.hi, 3 * 1010 / (0.99 * (2000 + 2 * 1000 / 1.5)), 1e-9);
    assay_breakevens_fini(&all);
    add(&all, "linear_training", "", wins); /* without dW there is no step */
    add(&all, "linear_backward", "dx", wins);
    assay_breakevens_find(&all);
    assert_int_equal(all.n, 2);
    assay_breakevens_fini(&all);
}

static void runs_are_kept_apart(void **state)
{
    (void)state;
    static const struct point loses[] = {{64, 64, 64, '-'}, {128, 128, 128, '-'}, {0}};
    static const struct point wins[] = {{64, 64, 64, '+'}, {128, 128, 128, '+'}, {0}};
    struct assay_breakevens all = {0};
    add(&all, "linear", "", loses);
    all.run = 1;
    add(&all, "linear", "", wins);
    assay_breakevens_find(&all);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.items[0].verdict, ASSAY_PAYS_NOWHERE);
    assert_int_equal(all.items[1].verdict, ASSAY_PAYS_EVERYWHERE);
    assay_breakevens_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_follow_the_intervals),
        cmocka_unit_test(one_size_may_grow_or_several),
        cmocka_unit_test(one_shape_is_no_sweep),
        cmocka_unit_test(a_step_is_the_sum_of_its_products),
        cmocka_unit_test(runs_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
