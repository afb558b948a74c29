/* test_chart_bars.c: the charts of bars: which bars, what they say, hatching, order, limits.
 * ASSAY_UPDATE_GOLDEN=1 rewrites the golden files; look at the diff and at the picture. */
#include "book_case.h"
#include "svg_check.h"

#include "base/alloc.h"
#include "report/chart/chart_rows.h"
#include "report/chart/chart_spec.h"

#include <locale.h>

static const char *const charts[] = {"speedup", "compiled", "memory", "outcome"};
enum { CHARTS = 4 };

static struct assay_text draw_look(const struct assay_book *book, const char *spec_text,
                                   enum assay_draw_look look)
{
    struct assay_chart_spec spec;
    struct assay_drawing drawing;
    struct assay_text svg = {0};
    assert_int_equal(assay_chart_spec_parse(spec_text, &spec, NULL), ASSAY_OK);
    assay_draw_begin(&drawing, look, ASSAY_CHART_WIDTH);
    assay_chart_spec_draw(&spec, book, &drawing);
    assay_draw_svg(&drawing, "", &svg);
    assay_draw_fini(&drawing);
    return svg;
}

static struct assay_text draw(const struct assay_book *book, const char *spec)
{
    struct assay_text svg = draw_look(book, spec, ASSAY_DRAW_LIGHT);
    assert_false(svg.failed);
    check_xml(&svg);
    check_texts(&svg);
    return svg;
}

/* Draws and forgets a book. */
static struct assay_text draw_case(const struct book_case *c, const char *spec)
{
    struct assay_book book = {0};
    book_case_add(c, &book);
    struct assay_text svg = draw(&book, spec);
    assay_book_fini(&book);
    return svg;
}

static struct assay_text draw_records(struct assay_record *records, int64_t n, const char *spec)
{
    struct assay_book book = {0};
    assay_book_begin(&book, &a_run);
    assay_book_add(&book, records, n);
    struct assay_text svg = draw(&book, spec);
    assay_book_fini(&book);
    return svg;
}

static void assert_has(const struct assay_text *svg, const char *part)
{
    if (!strstr(svg->data, part))
        fail_msg("no %s in\n%s", part, svg->data);
}

static void assert_lacks(const struct assay_text *svg, const char *part)
{
    if (strstr(svg->data, part))
        fail_msg("%s in\n%s", part, svg->data);
}

/* The parts stand in this order. */
static void assert_order(const struct assay_text *svg, const char *const *order, int n)
{
    const char *at = svg->data;
    for (int i = 0; i < n; i++) {
        const char *found = strstr(at, order[i]);
        if (!found)
            fail_msg("no %s, or too early, in\n%s", order[i], svg->data);
        at = found + 1;
    }
}

static int fits(const struct assay_book *book, const char *name, char *why)
{
    const struct assay_chart *chart = NULL;
    struct assay_chart_request any = {0};
    assert_int_equal(assay_chart_find(name, &chart, NULL), ASSAY_OK);
    return chart->fits(book, &any, why, ASSAY_CHART_WHY);
}

/* ---- speedup -------------------------------------------------------------------------------- */

static void variants(struct assay_record r[6])
{
    static const char *const names[] = {"onednn", "fast", "slow", "equal", "few", "wrong"};
    for (int i = 0; i < 6; i++) {
        r[i] = plain_record(0, i, "gelu", "GELU", names[i]);
        r[i].states[HOT] = around(2e6, 0.01);
    }
    r[0].is_baseline = true;
    r[1].states[HOT] = against(around(1e6, 0.01), 2, 0.01, true);
    r[2].states[HOT] = against(around(8e6, 0.01), 0.25, 0.01, true);
    r[3].states[HOT] = against(r[3].states[HOT], 1.004, 0.01, false);
    r[4].states[HOT] = against(r[4].states[HOT], 1.3, 0.3, false);
    r[4].states[HOT].ratio.n = 4;
    r[5] = failing(r[5], ASSAY_OUTCOME_MISMATCH, "12 of 1000 wrong");
    r[5].states[HOT] = (struct assay_measurement){0};
}

static void speedups_say_what_tables_say(void **state)
{
    (void)state;
    struct assay_record r[6];
    variants(r);
    struct assay_text svg = draw_records(r, 6, "speedup");
    static const char *const order[] = {
        "gelu f32 32x512x768 (hot), baseline onednn 2.00 ms</text>",
        ">onednn<",
        ">baseline<",
        ">fast<",
        ">2.00x faster<",
        ">1.00 ms<",
        ">slow<",
        ">4.00x slower<",
        ">equal<",
        ">same within 1.4%<",
        ">few<",
        ">unclear (n=4)<",
        ">wrong<",
        ">mismatch<",
        ">12 of 1000 wrong<",
    };
    assert_order(&svg, order, sizeof order / sizeof *order);
    assert_has(&svg, "1 faster, 1 slower, 1 without a significant difference, 1 unclear, 1 without "
                     "a result.</desc>");
    assert_has(&svg, "<g data-row=\"2\"><title>gelu f32 32x512x768 (hot), baseline onednn 2.00 ms, "
                     "fast: 2.00x faster [1.98 2.02], 1.00 ms</title>");
    assert_has(&svg, "<g data-row=\"6\"><title>gelu f32 32x512x768 (hot), baseline onednn 2.00 ms, "
                     "wrong: mismatch: 12 of 1000 wrong</title>");
    assay_text_fini(&svg);
}

/* Twice as fast is as long as half as fast, and goes the other way. */
static void speedups_are_logarithmic(void **state)
{
    (void)state;
    struct assay_record r[6];
    variants(r);
    r[2].states[HOT].ratio.ratio = 0.5;
    r[2].states[HOT].ratio.ci = (struct assay_interval){0.49, 0.51};
    struct assay_text svg = draw_records(r, 3, "speedup");
    const char *faster = assay_draw_colour(ASSAY_DRAW_LIGHT, ASSAY_DRAW_FASTER);
    const char *slower = assay_draw_colour(ASSAY_DRAW_LIGHT, ASSAY_DRAW_SLOWER);
    double x[2] = {0}, width[2] = {0};
    for (const char *s = svg.data; (s = strstr(s, "<rect ")); s++) {
        int which = svg_has(s, faster) ? 0 : svg_has(s, slower) ? 1 : -1;
        if (which < 0 || svg_number(s, " height=\"") < ASSAY_CHART_BAR)
            continue;
        x[which] = svg_number(s, " x=\"");
        width[which] = svg_number(s, " width=\"");
    }
    assert_true(width[0] > 50);
    assert_near(width[0], width[1], 0.02);
    assert_near(x[1] + width[1], x[0], 0.02);
    assay_text_fini(&svg);
}

/* "same" and "unclear" are hatched, and neither faster nor slower in colour. */
static void what_is_not_significant_is_hatched(void **state)
{
    (void)state;
    struct assay_record r[6];
    variants(r);
    struct assay_record even[] = {r[0], r[3], r[4]};
    struct assay_text svg = draw_records(even, 3, "speedup");
    assert_int_equal(count_of(&svg, "fill=\"url(#stripes-even-)\""), 3); /* one of the legend */
    assert_lacks(&svg, assay_draw_colour(ASSAY_DRAW_LIGHT, ASSAY_DRAW_FASTER));
    assert_lacks(&svg, assay_draw_colour(ASSAY_DRAW_LIGHT, ASSAY_DRAW_SLOWER));
    assay_text_fini(&svg);

    struct assay_record both[] = {r[0], r[1], r[5]};
    svg = draw_records(both, 3, "speedup");
    assert_int_equal(count_of(&svg, "fill=\"url(#stripes-failed-)\""), 2);
    assert_lacks(&svg, "url(#stripes-even-)");
    assay_text_fini(&svg);
}

/* Fewer than six rounds have no 95 % interval. */
static void few_rounds_have_no_whisker(void **state)
{
    (void)state;
    struct assay_record r[6];
    variants(r);
    struct assay_record pair[] = {r[0], r[4]};
    struct assay_text svg = draw_records(pair, 2, "speedup");
    assert_int_equal(count_of(&svg, "<path "), 0);
    assay_text_fini(&svg);
    pair[1].states[HOT].ratio.n = 6;
    svg = draw_records(pair, 2, "speedup");
    assert_int_equal(count_of(&svg, "<path "), 1);
    assay_text_fini(&svg);
}

/* An interval that is wider than the axis has arrows: it does not end there. */
static void wide_intervals_go_on(void **state)
{
    (void)state;
    struct assay_record r[6];
    variants(r);
    struct assay_record pair[] = {r[0], r[3]};
    pair[1].states[HOT].ratio.ci = (struct assay_interval){-0.5, 40};
    struct assay_text svg = draw_records(pair, 2, "speedup");
    assert_has(&svg, ">0.5x<");
    assert_has(&svg, ">2x<");
    assert_int_equal(count_of(&svg, "<path "), 2);
    assay_text_fini(&svg);
}

/* Each executor of a model has a baseline of its own: the heading names none. */
static void several_baselines_stand_in_rows(void **state)
{
    (void)state;
    struct book_case c = {.models = true, .sizes = 1, .variants = 2};
    struct assay_record r[2] = {book_case_record(&c, 0, 0, 0, 0), book_case_record(&c, 0, 0, 0, 1)};
    for (int i = 0; i < 2; i++) {
        snprintf(r[i].recipe, sizeof r[i].recipe, "baseline");
        snprintf(r[i].baseline, sizeof r[i].baseline, "%s", r[i].implementation);
    }
    struct assay_text svg = draw_records(r, 2, "speedup:state=hot");
    assert_has(&svg, ">ln_linear_gelu f32 32x16x768 (hot)<");
    assert_int_equal(count_of(&svg, ">baseline<"), 2);
    assay_text_fini(&svg);
}

static void states_are_chosen(void **state)
{
    (void)state;
    struct book_case c = {.variants = 3, .sizes = 1};
    struct assay_text svg = draw_case(&c, "speedup");
    static const char *const order[] = {"(hot), baseline onednn 1.00 us</text>",
                                        "(cold), baseline onednn 1.40 us</text>"};
    assert_order(&svg, order, 2);
    assay_text_fini(&svg);
    svg = draw_case(&c, "speedup:state=cold");
    assert_lacks(&svg, "(hot)");
    assert_has(&svg, order[1]);
    assay_text_fini(&svg);
}

/* What failed comes once, where it is first asked for. */
static void what_failed_comes_once(void **state)
{
    (void)state;
    struct book_case c = {.variants = 5, .sizes = 1, .bad = true};
    static const char *const specs[] = {"speedup", "speedup:state=cold", "memory"};
    for (int i = 0; i < 3; i++) {
        struct assay_text svg = draw_case(&c, specs[i]);
        assert_int_equal(count_of(&svg, ">mismatch<"), 1);
        assay_text_fini(&svg);
    }
}

static void whole_groups_are_drawn(void **state)
{
    (void)state;
    struct assay_text svg =
        draw_case(&(struct book_case){.sizes = 12, .variants = 8}, "speedup:state=hot");
    assert_has(&svg, ">40 of 96 rows are left out: the first 7 of 12 groups are shown.<");
    assert_int_equal(count_of(&svg, ">baseline<"), 7);
    assay_text_fini(&svg);

    svg = draw_case(&(struct book_case){.sizes = 1, .variants = 63}, "speedup:state=hot");
    assert_has(&svg, ">3 of 63 rows are left out.<");
    assert_int_equal(count_of(&svg, "<g data-row="), ASSAY_CHART_MOST_ROWS);
    assay_text_fini(&svg);
}

/* A later group that would fit is not drawn where one before it is left out. */
static void nothing_is_skipped_in_between(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case sizes[] = {{.variants = 40}, {.variants = 30}, {.variants = 2}};
    for (int i = 0; i < 3; i++)
        book_case_add(&sizes[i], &book);
    struct assay_text svg = draw(&book, "speedup:state=hot");
    assert_has(&svg, ">32 of 72 rows are left out: the first 1 of 3 groups are shown.<");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

static void long_names_have_two_lines(void **state)
{
    (void)state;
    struct assay_record r[6];
    variants(r);
    snprintf(r[1].implementation, sizeof r[1].implementation, "%s",
             "my_implementation_of_all_thing");
    snprintf(r[1].recipe, sizeof r[1].recipe, "float8dq-row-with-a-name");
    struct assay_text svg = draw_records(r, 2, "speedup");
    assert_has(&svg, ">float8dq-row-with-a-name <");
    assert_has(&svg, ">my_implementation_of_all_thing<");
    assay_text_fini(&svg);
}

/* ---- compiled ------------------------------------------------------------------------------- */

static struct assay_record executor(int64_t variant, const char *implementation, const char *recipe,
                                    double ns)
{
    struct assay_record r =
        plain_record(0, variant, "model:ln_linear_gelu", "ln_linear_gelu", implementation);
    snprintf(r.recipe, sizeof r.recipe, "%s", recipe);
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        r.states[s] = around(ns * (s == COLD ? 1.5 : 1), 0.01);
    return r;
}

static void set_eager_ratio(struct assay_record *r, double ratio, bool significant)
{
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        r->states[s].has_eager_ratio = true;
        r->states[s].eager_ratio =
            against((struct assay_measurement){0}, ratio, 0.01, significant).ratio;
    }
}

/* assay's executors and PyTorch's, in two recipes; one that was not compiled. */
static void executors(struct assay_record r[7])
{
    r[0] = executor(0, "eager", "baseline", 40e3);
    r[1] = executor(1, "compiled", "baseline", 30e3);
    set_eager_ratio(&r[1], 1.33, true);
    r[2] = executor(2, "eager", "int8wo", 30e3);
    r[3] = executor(3, "compiled", "int8wo", 29.9e3);
    set_eager_ratio(&r[3], 1.003, false);
    r[4] = executor(4, "torch", "baseline", 50e3);
    r[5] = executor(5, "torch-compile", "baseline", 60e3);
    set_eager_ratio(&r[5], 0.83, true);
    r[6] = executor(6, "onednn", "baseline", 70e3);
}

static void pairs_stand_side_by_side(void **state)
{
    (void)state;
    struct assay_record r[7];
    executors(r);
    struct assay_text svg = draw_records(r, 7, "compiled:state=hot");
    static const char *const order[] = {
        ">ln_linear_gelu f32: compiled against eager<",
        ">ln_linear_gelu f32 32x512x768 (hot)<",
        ">baseline<",
        ">1.33x faster<",
        ">40.0 us eager, 30.0 us compiled<",
        ">int8wo<",
        ">same within 1.4%<",
        ">baseline torch<",
        ">1.20x slower<",
        ">eager<",
        ">compiled<",
        ">compiled, no significant difference<",
    };
    assert_order(&svg, order, sizeof order / sizeof *order);
    assert_lacks(&svg, "onednn");
    assert_int_equal(count_of(&svg, "<g data-row="), 3);
    assay_text_fini(&svg);

    svg = draw_records(r, 7, NULL); /* it is what such a run is drawn as */
    assert_has(&svg, ">ln_linear_gelu f32 32x512x768 (cold)<");
    assert_has(&svg, ": compiled against eager<");
    assay_text_fini(&svg);
}

static void half_a_pair_says_why(void **state)
{
    (void)state;
    struct assay_record r[7];
    executors(r);
    r[1] = failing(r[1], ASSAY_OUTCOME_CRASHED, "SIGSEGV at address 0x0");
    r[2].states[HOT].measured = r[2].states[COLD].measured = false;
    r[5].states[HOT].has_eager_ratio = r[5].states[COLD].has_eager_ratio = false;
    struct assay_text svg = draw_records(r, 6, "compiled:state=hot");
    static const char *const order[] = {">compiled crashed<", ">40.0 us eager<",
                                        ">eager not timed<", ">not compared<",
                                        ">all of the width: no time<"};
    assert_order(&svg, order, 5);
    assert_has(&svg, "compiled crashed, 40.0 us eager: SIGSEGV at address 0x0</title>");
    assay_text_fini(&svg);
}

/* Groups whose bars would be too short to see have a scale of their own. */
static void small_groups_have_their_own_scale(void **state)
{
    (void)state;
    struct book_case c = {.models = true, .sizes = 2, .variants = 2, .decades = 1};
    struct assay_text svg = draw_case(&c, "compiled:state=hot");
    assert_has(&svg, ">time of a call<");
    assay_text_fini(&svg);
    c.decades = 9;
    svg = draw_case(&c, "compiled:state=hot");
    assert_has(&svg, ">time of a call, of the longest of its group<");
    assert_has(&svg, ">100%<");
    assay_text_fini(&svg);
}

/* ---- memory --------------------------------------------------------------------------------- */

static double part_width(const struct assay_text *svg, enum assay_ink ink)
{
    const char *colour = assay_draw_colour(ASSAY_DRAW_LIGHT, ink);
    for (const char *s = svg->data; (s = strstr(s, "<rect ")); s++)
        if (svg_has(s, colour) && svg_number(s, " height=\"") == ASSAY_CHART_BAR)
            return svg_number(s, " width=\"");
    return 0;
}

static void memory_is_stacked(void **state)
{
    (void)state;
    struct assay_record r[2] = {plain_record(0, 0, "linear", "Linear", "native"),
                                plain_record(0, 1, "linear", "Linear", "cuda")};
    for (int i = 0; i < 2; i++) {
        r[i].weight_bytes = 30e6;
        r[i].idle_bytes = 40e6;
        r[i].bytes_written = 20e6;
        r[i].workspace_bytes = 5e6;
        r[i].peak_bytes = 80e6;
        r[i].states[HOT] = around(1e6, 0.01);
    }
    struct assay_text svg = draw_records(r, 1, "memory");
    double unit = part_width(&svg, ASSAY_DRAW_SERIES) / 10; /* of inputs */
    assert_true(unit > 0);
    assert_near(part_width(&svg, ASSAY_DRAW_SERIES + 3), 30 * unit, 0.1);
    assert_near(part_width(&svg, ASSAY_DRAW_SERIES + 2), 20 * unit, 0.1);
    assert_near(part_width(&svg, ASSAY_DRAW_SERIES + 1), 5 * unit, 0.1);
    assert_near(part_width(&svg, ASSAY_DRAW_EVEN), 15 * unit, 0.1);
    assert_has(&svg, ">80.0 MB<");
    assert_has(&svg, ">40.0 MB idle, 5.0 MB workspace<");
    assert_has(&svg, ": 167.8 MB by the operating system, of the whole process</title>");
    assert_lacks(&svg, "driver");
    assay_text_fini(&svg);

    snprintf(r[1].device, sizeof r[1].device, "cuda");
    svg = draw_records(r, 2, "memory");
    assert_has(&svg, ": 167.8 MB by the driver</title>");
    assert_has(&svg, ">the driver&#39;s figure<");
    assay_text_fini(&svg);
}

/* ---- outcome -------------------------------------------------------------------------------- */

static void outcomes_are_counted(void **state)
{
    (void)state;
    struct assay_record r[ASSAY_OUTCOME_COUNT + 2];
    for (int i = 0; i < ASSAY_OUTCOME_COUNT; i++)
        r[i] = failing(plain_record(0, i, "gelu", "GELU", "native"), (enum assay_outcome)i,
                       i ? "a reason" : "");
    r[ASSAY_OUTCOME_COUNT] = plain_record(0, 20, "gelu", "GELU", "ref");
    r[ASSAY_OUTCOME_COUNT].states[COLD] = around(1e6, 0.01);
    r[ASSAY_OUTCOME_COUNT + 1] =
        failing(plain_record(0, 21, "gelu", "GELU", ""), ASSAY_OUTCOME_SKIPPED, "needs 96.0 GB");
    struct assay_text svg = draw_records(r, ASSAY_OUTCOME_COUNT + 2, "outcome");
    static const char *const order[] = {">native<",       ">0 of 11 timed<",   ">ref<",
                                        ">1 of 1 timed<", ">all variants<",    ">0 of 1 timed<",
                                        ">timed<",        ">ok but not timed<"};
    assert_order(&svg, order, 8);
    assert_has(&svg, "1 out of memory, 1 failed: a reason</title>");
    assert_has(&svg, "1 of 13 rows were timed; 1 ok but not timed, 2 skipped, 1 unsupported, ");
    for (int i = 1; i < ASSAY_OUTCOME_COUNT; i++) {
        char text[160];
        snprintf(text, sizeof text, ">%s<", assay_cell_outcome((enum assay_outcome)i).text);
        assert_has(&svg, text); /* in the legend */
    }
    assay_text_fini(&svg);
}

/* ---- which fits ----------------------------------------------------------------------------- */

static void an_empty_book_is_said(void **state)
{
    (void)state;
    struct assay_book book = {0};
    char why[ASSAY_CHART_WHY];
    assay_book_begin(&book, &a_run);
    for (int i = 0; i < CHARTS; i++) {
        why[0] = '\0';
        assert_int_equal(fits(&book, charts[i], why), ASSAY_CHART_UNFIT);
        assert_true(why[0]);
        struct assay_text svg = draw(&book, charts[i]);
        assert_has(&svg, "There are no results");
        assay_text_fini(&svg);
    }
    assay_book_fini(&book);
}

static void where_all_failed_outcomes_are_drawn(void **state)
{
    (void)state;
    struct assay_record r[3];
    for (int i = 0; i < 3; i++)
        r[i] = failing(plain_record(0, i, "gelu", "GELU", i ? "native" : "ref"),
                       ASSAY_OUTCOME_CRASHED, "SIGSEGV");
    struct assay_text svg = draw_records(r, 3, NULL);
    assert_has(&svg, ": outcomes<");
    assay_text_fini(&svg);
    svg = draw_records(r, 3, "memory");
    assert_has(&svg, "no row has a count of its memory");
    assay_text_fini(&svg);
    svg = draw_records(r, 3, "speedup"); /* what a repository's own chart shows of it */
    assert_int_equal(count_of(&svg, ">crashed<"), 3);
    assay_text_fini(&svg);
}

static void other_wishes_are_refused(void **state)
{
    (void)state;
    struct book_case c = {.variants = 2};
    static const struct {
        const char *spec, *why;
    } wishes[] = {{"speedup:x=seq", "it has no axis to choose"},
                  {"speedup:figure=time", "its figure is speedup, and no other"},
                  {"memory:figure=ceiling", "its figure is memory, and no other"},
                  {"compiled", "no model was measured both eager and compiled"}};
    for (int i = 0; i < 4; i++) {
        struct assay_text svg = draw_case(&c, wishes[i].spec);
        assert_has(&svg, wishes[i].why);
        assay_text_fini(&svg);
    }
    struct assay_record r = plain_record(0, 0, "gelu", "GELU", "native");
    r.states[HOT] = around(1e6, 0.01);
    struct assay_text svg = draw_records(&r, 1, "speedup:state=cold");
    assert_has(&svg, "no row was timed cold");
    assay_text_fini(&svg);
}

/* ---- anything ------------------------------------------------------------------------------- */

/* draw() looks at every text. */
static void texts_stand_apart_in_all_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 3, 20}, counts[] = {1, 4, 40}, lengths[] = {1, 12, 31};
    for (int i = 0; i < 81; i++) {
        struct book_case c = {.sizes = sizes[i % 3],
                              .variants = counts[i / 3 % 3],
                              .name_length = lengths[i / 9 % 3],
                              .decades = i % 2 ? 9 : 1,
                              .models = i / 27 == 1,
                              .recipes = i / 27 == 2,
                              .bad = i % 2};
        for (int k = 0; k < CHARTS; k++) {
            struct assay_text svg = draw_case(&c, charts[k]);
            assay_text_fini(&svg);
        }
    }
}

/* Names and reasons come from anywhere. */
static void hostile_names_stay_text(void **state)
{
    (void)state;
    static const char hostile[] = "</text><script>alert(1)//";
    struct assay_record r[4];
    for (int i = 0; i < 4; i++) {
        r[i] = executor(i, i % 2 ? "compiled" : "eager", i < 2 ? "<b>&\"'\x01\n" : hostile, 1e6);
        snprintf(r[i].title, sizeof r[i].title, "%s\xff\x1b[31m\xe2\x80\xae", hostile);
        snprintf(r[i].label, sizeof r[i].label, "\xe6\xbc%s", hostile);
        snprintf(r[i].mode, sizeof r[i].mode, "%s", hostile);
    }
    set_eager_ratio(&r[1], (double)NAN, true);
    r[3] = failing(r[3], ASSAY_OUTCOME_FAILED, "</title></g></svg><script>\n\x7f\"\xc3");
    for (int i = 0; i < CHARTS; i++) {
        struct assay_text svg = draw_records(r, 4, charts[i]);
        assert_lacks(&svg, "<script");
        assert_lacks(&svg, "\xff");
        assay_text_fini(&svg);
    }
}

/* What is not a number is no bar. */
static void odd_numbers_are_no_bars(void **state)
{
    (void)state;
    static const double odd[] = {(double)NAN, (double)INFINITY, -1, 0, 1e300, 1e-300};
    for (int i = 0; i < 6; i++) {
        struct assay_record r[7];
        executors(r);
        for (int k = 0; k < 7; k++)
            for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
                struct assay_measurement *m = &r[k].states[s];
                m->time.median = m->time.median_ci.lo = m->time.median_ci.hi = odd[i];
                m->has_ratio = true;
                m->ratio = m->eager_ratio =
                    (struct assay_ratio){.n = 20, .ratio = odd[i], .ci = {odd[i], odd[i]}};
                r[k].peak_bytes = r[k].idle_bytes = r[k].workspace_bytes = odd[i];
                r[k].weight_bytes = r[k].system_peak_bytes = r[k].bytes_written = odd[i];
            }
        for (int k = 0; k < CHARTS; k++) {
            struct assay_text svg = draw_records(r, 7, charts[k]);
            assert_lacks(&svg, "=\"nan");
            assert_lacks(&svg, "=\"-nan");
            assert_lacks(&svg, "=\"inf");
            assay_text_fini(&svg);
        }
    }
}

/* Two runs of two machines: groups say whose they are. */
static void several_runs_are_told_apart(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.variants = 2};
    book_case_add(&c, &book);
    book_case_add(&c, &book);
    snprintf(book.runs[1].info.id, sizeof book.runs[1].info.id, "another");
    snprintf(book.runs[1].info.device_name, sizeof book.runs[1].info.device_name, "NVIDIA H200");
    struct assay_text svg = draw(&book, "speedup");
    assert_has(&svg, ">20261115-034711-a1b2: layernorm f32 32x16x768 (hot), baseline onednn");
    assert_has(&svg, ">another: layernorm f32 32x16x768 (hot), baseline onednn");
    assert_has(&svg, ">2 runs on 2 machines<");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

static void without_memory_nothing_is_wrong(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.models = true, .variants = 4, .sizes = 2, .bad = true};
    book_case_add(&c, &book);
    for (int k = 0; k < CHARTS; k++)
        for (int64_t nth = 1; nth < 60; nth++) {
            assay_alloc_fail_after(nth);
            struct assay_chart_spec spec = {0};
            struct assay_drawing drawing;
            assay_chart_find(charts[k], &spec.chart, NULL);
            assay_draw_begin(&drawing, ASSAY_DRAW_LIGHT, ASSAY_CHART_WIDTH);
            assay_chart_spec_draw(&spec, &book, &drawing);
            assay_alloc_fail_after(0);
            struct assay_text svg = {0};
            assay_draw_svg(&drawing, "", &svg);
            check_xml(&svg);
            if (svg.failed)
                assert_has(&svg, "no memory for the chart");
            assay_text_fini(&svg);
            assay_draw_fini(&drawing);
        }
    assay_book_fini(&book);
}

static void images_are_as_before(void **state)
{
    (void)state;
    static const struct {
        const char *name, *spec;
        struct book_case c;
        enum assay_draw_look look;
    } images[] = {
        {"chart_speedup", "speedup", {.sizes = 2, .variants = 5, .bad = true}, ASSAY_DRAW_LIGHT},
        {"chart_speedup_dark", "speedup:state=hot", {.sizes = 1, .variants = 4}, ASSAY_DRAW_DARK},
        {"chart_memory",
         "memory",
         {.sizes = 2, .variants = 4, .recipes = true, .bad = true},
         ASSAY_DRAW_LIGHT},
        {"chart_outcome", "outcome", {.sizes = 9, .variants = 5, .bad = true}, ASSAY_DRAW_PAGE},
    };
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        struct assay_book book = {0};
        book_case_add(&images[i].c, &book);
        check_golden(images[i].name, draw_look(&book, images[i].spec, images[i].look));
        assay_book_fini(&book);
    }
    struct assay_record r[7];
    executors(r);
    check_golden("chart_compiled", draw_records(r, 7, "compiled"));
}

int main(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speedups_say_what_tables_say),
        cmocka_unit_test(speedups_are_logarithmic),
        cmocka_unit_test(what_is_not_significant_is_hatched),
        cmocka_unit_test(few_rounds_have_no_whisker),
        cmocka_unit_test(wide_intervals_go_on),
        cmocka_unit_test(several_baselines_stand_in_rows),
        cmocka_unit_test(states_are_chosen),
        cmocka_unit_test(what_failed_comes_once),
        cmocka_unit_test(whole_groups_are_drawn),
        cmocka_unit_test(nothing_is_skipped_in_between),
        cmocka_unit_test(long_names_have_two_lines),
        cmocka_unit_test(pairs_stand_side_by_side),
        cmocka_unit_test(half_a_pair_says_why),
        cmocka_unit_test(small_groups_have_their_own_scale),
        cmocka_unit_test(memory_is_stacked),
        cmocka_unit_test(outcomes_are_counted),
        cmocka_unit_test(an_empty_book_is_said),
        cmocka_unit_test(where_all_failed_outcomes_are_drawn),
        cmocka_unit_test(other_wishes_are_refused),
        cmocka_unit_test(texts_stand_apart_in_all_sizes),
        cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(odd_numbers_are_no_bars),
        cmocka_unit_test(several_runs_are_told_apart),
        cmocka_unit_test(without_memory_nothing_is_wrong),
        cmocka_unit_test(images_are_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
