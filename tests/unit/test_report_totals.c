/* test_report_totals.c: what a run says as a whole, in words and as means. */
#include "report_case.h"

#include "base/alloc.h"
#include "report/report_totals.h"

#include <locale.h>

/* ---- groups ---------------------------------------------------------------------------------- */

/* What becomes of a row. */
enum kind {
    BASELINE, /* not marked */
    MARKED_BASELINE,
    FASTER,  /* 2x, marked */
    SLOWER,  /* 0.5x */
    SAME,    /* marked */
    UNCLEAR, /* marked */
    NOISY,   /* unclear, not marked */
    FEW,     /* of five rounds, not marked */
    WRONG,
    CRASHED,
    ABSENT, /* not supported */
};

static struct assay_measurement measured(enum kind kind)
{
    struct assay_measurement m = around(1e6, 0.01);
    m.fastest = kind == MARKED_BASELINE || kind == FASTER || kind == SAME || kind == UNCLEAR;
    if (kind == FASTER || kind == SLOWER)
        m = against(m, kind == FASTER ? 2 : 0.5, 0.02, true);
    else if (kind == SAME)
        m = against(m, 1.001, 0.02, false);
    else if (kind == UNCLEAR || kind == NOISY)
        m = against(m, 1.3, 0.3, false);
    else if (kind == FEW)
        m = against(m, 0.03, 0.1, false);
    if (kind == FEW) {
        m.ratio.n = 5;
        m.ratio.smallest_visible = (double)INFINITY;
    }
    return m;
}

static struct assay_record row(const char *op, const char *implementation, enum kind kind)
{
    struct assay_record r = plain_record(0, 0, op, op, implementation);
    if (kind == WRONG)
        return failing(r, ASSAY_OUTCOME_MISMATCH, "wrong");
    if (kind == CRASHED)
        return failing(r, ASSAY_OUTCOME_CRASHED, "SIGSEGV");
    if (kind == ABSENT)
        return failing(r, ASSAY_OUTCOME_UNSUPPORTED, "no GPU");
    r.states[HOT] = measured(kind);
    r.is_baseline = kind == BASELINE || kind == MARKED_BASELINE;
    return r;
}

/* native, onednn and, with `third` above ABSENT, no third. */
static void add(struct assay_totals *totals, const char *op, enum kind native, enum kind onednn,
                int third)
{
    struct assay_record records[3] = {row(op, "native", native), row(op, "onednn", onednn)};
    if (third <= ABSENT)
        records[2] = row(op, "ref", (enum kind)third);
    assay_totals_add(totals, records, third <= ABSENT ? 3 : 2);
}

enum { NONE = ABSENT + 1 };

static void assert_says(struct assay_totals *totals, const char *want)
{
    struct assay_text text = {0};
    assay_totals_verdict(totals, &text);
    assert_string_equal(text.data, want);
    assay_text_fini(&text);
    assay_totals_fini(totals);
}

/* ---- in words -------------------------------------------------------------------------------- */

static void the_sentence(void **state)
{
    (void)state;
    struct assay_totals totals = {0};
    for (int i = 0; i < 14; i++)
        add(&totals, "gelu", FASTER, BASELINE, SLOWER);
    for (int i = 0; i < 4; i++)
        add(&totals, i % 2 ? "gelu" : "relu", SLOWER, MARKED_BASELINE, i == 0 ? WRONG : NONE);
    add(&totals, "relu", UNCLEAR, MARKED_BASELINE, NONE);
    add(&totals, "relu", SAME, MARKED_BASELINE, NONE);
    assert_says(&totals, "native is fastest in 14 of 20 groups, onednn in 4; 1 tied; 1 unclear; "
                         "1 row wrong");
}

static void one_group(void **state)
{
    (void)state;
    static const struct {
        enum kind native, onednn;
        const char *says;
    } cases[] = {
        {FASTER, BASELINE, "native is fastest"},
        {SAME, MARKED_BASELINE, "none is fastest; 1 tied"},
        {UNCLEAR, MARKED_BASELINE, "none is fastest; 1 unclear"},
        {UNCLEAR, BASELINE, "none is fastest; 1 unclear"},      /* ahead, but it may be luck */
        {NOISY, MARKED_BASELINE, "none is fastest; 1 unclear"}, /* behind, but it may be luck */
        {FEW, MARKED_BASELINE, "onednn is fastest"}, /* too slow for more rounds, as ▸ says */
        {FEW, BASELINE, "none is fastest; 1 unclear"},
        {FASTER, WRONG, "nothing to compare; 1 with one variant alone; 1 row wrong"},
        {CRASHED, WRONG, "no figures in 1 group; 1 row wrong, 1 crashed"},
        {ABSENT, ABSENT, "no figures in 1 group"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct assay_totals totals = {0};
        add(&totals, "gelu", cases[i].native, cases[i].onednn, NONE);
        assert_false(assay_totals_worth(&totals));
        assert_says(&totals, cases[i].says);
    }
    struct assay_totals none = {0};
    assert_says(&none, "nothing was measured");
}

static void all_groups_and_many_names(void **state)
{
    (void)state;
    struct assay_totals totals = {0};
    for (int i = 0; i < 3; i++)
        add(&totals, "gelu", FASTER, BASELINE, NONE);
    assert_says(&totals, "native is fastest in all 3 groups");
    for (int i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "own%d", i % 6);
        struct assay_record records[] = {row("gelu", name, i < 9 ? FASTER : SAME),
                                         row("gelu", "ref", BASELINE)};
        records[0].states[HOT].fastest = i < 9;
        assay_totals_add(&totals, records, 2);
    }
    assert_says(&totals, "own0 is fastest in 2 of 12 groups, own1 in 2, own2 in 2, own3 in 1, "
                         "others in 2; 3 unclear");
}

static void two_states(void **state)
{
    (void)state;
    struct assay_totals totals = {0};
    for (int i = 0; i < 4; i++) {
        struct assay_record records[] = {row("gelu", "native", i ? FASTER : SAME),
                                         row("gelu", "onednn", i ? BASELINE : MARKED_BASELINE),
                                         row("gelu", "ref", CRASHED)};
        for (int r = 0; r < 2; r++)
            records[r].states[COLD] = measured(r ? MARKED_BASELINE : SLOWER);
        assay_totals_add(&totals, records, 3);
    }
    assert_says(&totals, "Hot: native is fastest in 3 of 4 groups; 1 tied. Cold: onednn is fastest "
                         "in all 4 groups; 4 rows crashed");
}

/* ---- as means -------------------------------------------------------------------------------- */

static const char *missing_of(const struct assay_totals *totals, const struct assay_total_op *op,
                              const char *variant, struct assay_cell *cell)
{
    for (int64_t i = 0; i < op->n; i++) {
        *cell = assay_total_missing(totals, op, i);
        if (strncmp(cell->text, variant, strlen(variant)) == 0)
            return cell->text;
    }
    return "";
}

static const struct assay_total *total_of(const struct assay_total_op *op, const char *variant,
                                          bool versus)
{
    for (int64_t i = 0; i < op->n; i++)
        if (op->totals[i].state == ASSAY_CACHE_HOT && op->totals[i].versus == versus &&
            strcmp(op->totals[i].variant.text, variant) == 0)
            return &op->totals[i];
    fail_msg("no total of %s", variant);
    return NULL;
}

/* Every group is counted once. */
static void assert_counts_add_up(const struct assay_total_op *op)
{
    for (int64_t i = 0; i < op->n; i++) {
        const struct assay_total *t = &op->totals[i];
        int64_t sum = t->baseline + t->untimed + t->uncompared;
        for (int v = 0; v < ASSAY_VERDICTS; v++)
            sum += t->verdicts[v];
        for (int o = 0; o < ASSAY_OUTCOME_COUNT; o++)
            sum += t->outcomes[o];
        assert_int_equal(sum, t->groups);
    }
}

static void means_and_what_is_not_in_them(void **state)
{
    (void)state;
    struct assay_totals totals = {0};
    add(&totals, "gelu", FASTER, BASELINE, SLOWER); /* 2, 0.5 */
    add(&totals, "gelu", SLOWER, MARKED_BASELINE, FEW);
    add(&totals, "gelu", FASTER, BASELINE, WRONG);
    add(&totals, "relu", SAME, MARKED_BASELINE, NONE);
    add(&totals, "gelu", WRONG, BASELINE, CRASHED);
    struct assay_record alone[] = {row("gelu", "native", MARKED_BASELINE),
                                   row("gelu", "onednn", WRONG)};
    alone[0].is_baseline = false; /* that of the group is wrong */
    assay_totals_add(&totals, alone, 2);

    assert_int_equal(totals.n_ops, 2);
    assert_true(assay_totals_op_worth(&totals.ops[0]));
    assert_false(assay_totals_op_worth(&totals.ops[1]));
    const struct assay_total *native = total_of(&totals.ops[0], "native", false);
    assert_int_equal(native->groups, 5);
    assert_int_equal(native->fastest, 3);
    assert_int_equal(native->verdicts[ASSAY_VERDICT_FASTER], 2);
    assert_int_equal(native->verdicts[ASSAY_VERDICT_SLOWER], 1);
    assert_int_equal(native->uncompared, 1);
    struct assay_ratio mean = assay_total_mean(native);
    assert_int_equal(mean.n, 3);
    assert_near(mean.ratio, pow(2, 1.0 / 3), 1e-12);
    struct assay_cell cell;
    assert_string_equal(missing_of(&totals, &totals.ops[0], "native", &cell),
                        "native: 1 mismatch, 1 without a baseline");
    assert_near(native->best.ratio, 2, 1e-12);
    assert_string_equal(native->best_problem.text, "f32 32x512x768");

    const struct assay_total *ref = total_of(&totals.ops[0], "ref", false);
    assert_int_equal(assay_total_mean(ref).n, 1);
    assert_string_equal(missing_of(&totals, &totals.ops[0], "ref", &cell),
                        "ref: 1 mismatch, 1 crashed, 1 with fewer than 10 rounds");
    const struct assay_total *onednn = total_of(&totals.all, "onednn", false);
    assert_int_equal(onednn->baseline, 5);
    assert_int_equal(assay_total_mean(onednn).n, 0);
    native = total_of(&totals.all, "native", false);
    assert_int_equal(native->groups, 6);
    assert_string_equal(native->best_op.text, "gelu");
    assert_counts_add_up(&totals.all);
    assert_counts_add_up(&totals.ops[0]);
    assay_totals_fini(&totals);
}

/* Figures that are not numbers are not compared, and nothing of them gets into a mean. */
static void ratios_that_are_no_numbers(void **state)
{
    (void)state;
    static const double bad[] = {(double)NAN, (double)INFINITY, 0, -1};
    struct assay_totals totals = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct assay_record records[] = {row("gelu", "native", FASTER),
                                         row("gelu", "onednn", BASELINE)};
        records[0].states[HOT].ratio.ratio = bad[i];
        assay_totals_add(&totals, records, 2);
    }
    const struct assay_total *native = total_of(&totals.all, "native", false);
    assert_int_equal(native->uncompared, 4);
    assert_true(native->best.ratio == 0);
    assert_int_equal(assay_total_mean(native).n, 0);
    assay_totals_fini(&totals);
}

/* A plug-in in its runner beside a built-in kernel: 1.2 % is luck in one group, and in a hundred.
 */
static void what_two_processes_do_is_not_averaged_away(void **state)
{
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        struct assay_totals totals = {0};
        for (int i = 0; i < 100; i++) {
            struct assay_record records[] = {row("gelu", "mine", SAME),
                                             row("gelu", "onednn", BASELINE)};
            records[0].states[HOT] = against(records[0].states[HOT], 1.012, 0.001, false);
            snprintf(records[0].confined, sizeof records[0].confined, "%s",
                     apart ? "a process of its own" : ASSAY_NOT_ISOLATED);
            assay_totals_add(&totals, records, 2);
        }
        struct assay_ratio mean = assay_total_mean(total_of(&totals.all, "mine", false));
        assert_int_equal(mean.significant, !apart);
        assay_totals_fini(&totals);
    }
}

/* Each executor has its own baseline; compiled is also compared with eager. */
static void models(void **state)
{
    (void)state;
    struct assay_totals totals = {0};
    for (int i = 0; i < 2; i++) {
        struct assay_record records[4];
        for (int r = 0; r < 4; r++) {
            records[r] = row("model:ln_linear_gelu", r % 2 ? "compiled" : "eager",
                             r < 2 ? BASELINE : FASTER);
            struct assay_record *record = &records[r];
            record->is_baseline = false;
            snprintf(record->baseline, sizeof record->baseline, "%s", record->implementation);
            snprintf(record->recipe, sizeof record->recipe, "%s", r < 2 ? "baseline" : "int8wo");
            record->states[HOT].has_eager_ratio = r % 2;
            record->states[HOT].eager_ratio = against(record->states[HOT], 3, 0.01, true).ratio;
        }
        records[2].states[HOT].fastest = false;
        assay_totals_add(&totals, records, 4);
    }
    const struct assay_total *compiled = total_of(&totals.all, "int8wo compiled", false);
    assert_near(assay_total_mean(compiled).ratio, 2, 1e-12);
    assert_near(assay_total_mean(total_of(&totals.all, "int8wo compiled", true)).ratio, 3, 1e-12);
    assert_int_equal(total_of(&totals.all, "baseline eager", false)->baseline, 2);
    assert_string_equal(totals.ops[0].name.text, "ln_linear_gelu");
    assert_says(&totals, "int8wo compiled is fastest in all 2 groups");
}

/* ---- books ----------------------------------------------------------------------------------- */

static void runs_of_a_book(void **state)
{
    (void)state;
    struct assay_book book = {0};
    for (int run = 0; run < 2; run++) {
        assay_book_begin(&book, &a_run);
        for (int i = 0; i < 2; i++) {
            struct assay_record records[] = {
                row("gelu", "native", run ? SLOWER : FASTER),
                row("gelu", "onednn", run ? MARKED_BASELINE : BASELINE)};
            assay_book_add(&book, records, 2);
        }
    }
    static const char *const says[] = {"native is fastest in all 2 groups",
                                       "onednn is fastest in all 2 groups",
                                       "native is fastest in 2 of 4 groups, onednn in 2"};
    for (int64_t run = 0; run < 3; run++) {
        struct assay_totals totals = {0};
        assay_totals_add_book(&totals, &book, run < 2 ? run : -1);
        assert_says(&totals, says[run]);
    }
    assay_book_fini(&book);
}

/* Without memory something is missing, and it says so. */
static void memory_runs_out(void **state)
{
    (void)state;
    int64_t failures = 0;
    for (int64_t nth = 1; nth < 100; nth++) {
        struct assay_totals totals = {0};
        assay_alloc_fail_once(nth);
        for (int i = 0; i < 20; i++)
            add(&totals, i % 2 ? "gelu" : "relu", FASTER, BASELINE, SLOWER);
        assay_alloc_fail_once(0);
        bool failed = totals.failed;
        assay_totals_fini(&totals);
        failures += failed;
        if (!failed)
            break;
    }
    assert_true(failures >= 4); /* ops, their totals, those of all, winners */
}

/* ---- as tables ------------------------------------------------------------------------------- */

/* A sweep of two ops in both states: wins, losses, ties, and one that was wrong once. */
static void sweep(const char *format, const struct assay_report_style *style,
                  const struct assay_run_info *run, struct assay_text *out)
{
    enum { SIZES = 6 };
    static struct group groups[2 * SIZES];
    for (int i = 0; i < 2 * SIZES; i++) {
        const char *op = i < SIZES ? "layernorm" : "gelu";
        struct group *g = &groups[i];
        *g = (struct group){.n = 3,
                            .records = {row(op, "native", i % 5 == 4 ? SAME : FASTER),
                                        row(op, "onednn", i % 5 == 4 ? MARKED_BASELINE : BASELINE),
                                        row(op, "ref", i == 7 ? WRONG : SLOWER)}};
        for (int r = 0; r < 3; r++) {
            struct assay_record *record = &g->records[r];
            record->group = i;
            record->axes[2] = 64 << i % SIZES;
            if (record->outcome == ASSAY_OUTCOME_OK && run->cold)
                record->states[COLD] = measured(r == 0   ? SLOWER
                                                : r == 1 ? MARKED_BASELINE
                                                         : UNCLEAR);
            struct assay_ratio *ratio = &record->states[HOT].ratio;
            if (r == 0 && i % 5 != 4)
                *ratio = against(record->states[HOT], 1.2 + 0.3 * (i % SIZES), 0.02, true).ratio;
        }
    }
    report_groups(format, style, run, groups, 2 * SIZES, out);
}

/* What stands below the rows. */
static struct assay_text foot_of(struct assay_text whole, const char *from)
{
    struct assay_text foot = {0};
    const char *at = strstr(whole.data, from);
    assert_non_null(at);
    assay_text_add(&foot, at);
    assay_text_fini(&whole);
    return foot;
}

static void golden_tables(void **state)
{
    (void)state;
    static const struct {
        int width;
        bool ascii, hot_only;
        const char *format, *golden;
    } cases[] = {
        {80, false, false, "table", "totals_80"},
        {100, false, false, "table", "totals_100"},
        {140, false, false, "table", "totals_140"},
        {100, true, false, "table", "totals_ascii"},
        {80, false, true, "table", "totals_hot_80"},
        {100, false, true, "kobench", "totals_kobench"},
        {100, false, true, "md", "totals_md"},
        {100, true, false, "github", "totals_github_ascii"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct assay_report_style style = {.width = cases[i].width, .ascii = cases[i].ascii};
        struct assay_run_info run = a_run;
        struct assay_text text = {0};
        bool table = strcmp(cases[i].format, "md") != 0 && strcmp(cases[i].format, "github") != 0;
        run.cold = !cases[i].hot_only;
        sweep(cases[i].format, &style, &run, &text);
        if (table)
            assert_no_wider(&text, cases[i].width);
        for (size_t c = 0; cases[i].ascii && c < text.length; c++)
            assert_true((unsigned char)text.data[c] < 128);
        check_golden(cases[i].golden, foot_of(text, table ? " across groups" : "### Across"));
    }
}

static void no_line_is_wider_than_the_terminal(void **state)
{
    (void)state;
    for (int width = 60; width <= 180; width += 3) {
        struct assay_report_style style = {.width = width, .colour = width % 2};
        struct assay_text text = {0};
        sweep("table", &style, &a_run, &text);
        assert_no_wider(&text, width);
        assay_text_fini(&text);
    }
}

/* One group, or nothing to compare in any: nothing is summed up. */
static void nothing_to_sum_up(void **state)
{
    (void)state;
    static const char *const formats[] = {"table", "torchao", "kobench", "md", "github"};
    struct group one = {.n = 2,
                        .records = {row("gelu", "native", FASTER), row("gelu", "ref", BASELINE)}};
    struct group alone[2] = {{.n = 1, .records = {row("gelu", "native", MARKED_BASELINE)}},
                             {.n = 1, .records = {row("gelu", "native", MARKED_BASELINE)}}};
    struct group failed[2] = {
        {.n = 2, .records = {row("gelu", "native", WRONG), row("gelu", "ref", CRASHED)}},
        {.n = 2, .records = {row("gelu", "native", CRASHED), row("gelu", "ref", BASELINE)}}};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        struct assay_text text = {0};
        report_groups(formats[f], &usual_style, &a_run, &one, 1, &text);
        report_groups(formats[f], &usual_style, &a_run, alone, 2, &text);
        report_groups(formats[f], &usual_style, &a_run, failed, 2, &text);
        report_groups(formats[f], &usual_style, &a_run, NULL, 0, &text);
        assert_null(strstr(text.data, "across groups"));
        assert_null(strstr(text.data, "Across groups"));
        assert_null(strstr(text.data, "is fastest"));
        assay_text_fini(&text);
    }
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8"); /* widths of characters */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sentence),
        cmocka_unit_test(one_group),
        cmocka_unit_test(all_groups_and_many_names),
        cmocka_unit_test(two_states),
        cmocka_unit_test(means_and_what_is_not_in_them),
        cmocka_unit_test(ratios_that_are_no_numbers),
        cmocka_unit_test(what_two_processes_do_is_not_averaged_away),
        cmocka_unit_test(models),
        cmocka_unit_test(runs_of_a_book),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(golden_tables),
        cmocka_unit_test(no_line_is_wider_than_the_terminal),
        cmocka_unit_test(nothing_to_sum_up),
    };
    return cmocka_run_group_tests_name("report_totals", tests, NULL, NULL);
}
