/* make_charts.c: every chart of many books, for charts.py to measure in a browser.
 * usage: make_charts FOLDER
 *
 * Writes FOLDER/charts.html, with each chart as in a page, and FOLDER/NAME.light.svg and .dark.svg,
 * the same as files. NAME is CHART.BOOK, or CHART.BOOK.REQUEST. */
#include "../unit/book_case.h"

#include "report/chart/chart.h"
#include "report/draw/draw_axis.h"
#include "strange.h"

#define STRANGE(list) (list), (int64_t)(sizeof(list) / sizeof *(list))

/* ---- books ---------------------------------------------------------------------------------- */

static void name_1(struct assay_record *r)
{
    snprintf(r->implementation, sizeof r->implementation, "%c", (char)('a' + r->variant % 26));
}

static void name_60(struct assay_record *r)
{
    static const char *const texts[] = {"WMWMWM", "implementation of a long name "};
    STRANGE_PUT(r->title, texts[0], 60);
    STRANGE_PUT(r->label, texts[1], 60);
    STRANGE_PUT(r->kernel, texts[r->variant % 2], 60);
    if (r->recipe[0]) {
        STRANGE_PUT(r->recipe, texts[1], 56);
        snprintf(r->recipe + 56, sizeof r->recipe - 56, "-%lld", (long long)r->variant);
    }
}

static void wide(struct assay_record *r) { strange_names(r, STRANGE(strange_wide), 24); }
static void emoji(struct assay_record *r) { strange_names(r, STRANGE(strange_emoji), 24); }
static void combining(struct assay_record *r) { strange_names(r, STRANGE(strange_combining), 26); }
static void right(struct assay_record *r) { strange_names(r, STRANGE(strange_right), 26); }
static void hostile(struct assay_record *r) { strange_record(r, STRANGE(strange_hostile)); }

static void all_fail(struct assay_record *r)
{
    static const enum assay_outcome outcomes[] = {ASSAY_OUTCOME_MISMATCH, ASSAY_OUTCOME_CRASHED,
                                                  ASSAY_OUTCOME_UNSUPPORTED,
                                                  ASSAY_OUTCOME_OUT_OF_MEMORY};
    *r = failing(*r, outcomes[(r->group + r->variant) % 4], "a reason of its own");
    memset(r->states, 0, sizeof r->states);
}

/* What no measurement gives and a damaged file may. */
static void unreal(struct assay_record *r)
{
    static const double values[] = {(double)NAN, (double)INFINITY, 0, -1, 1e300, 1e-300};
    struct assay_measurement *m = &r->states[(r->group + r->variant) % ASSAY_CACHE_STATES];
    double value = values[(r->group + r->variant * 5) % 6];
    m->time.median = m->time.min = m->time.median_ci.lo = value;
    m->ratio.ratio = m->ratio.ci.hi = value;
    m->efficiency = m->ceiling_ns = m->bytes_per_s = m->flops_per_s = value;
    r->flops = r->bytes_read = r->weight_bytes = r->peak_bytes = r->accuracy_db = value;
}

static void no_ceilings(struct assay_record *r)
{
    for (int state = HOT; state <= COLD; state++)
        r->states[state] = no_ceiling(r->states[state]);
}

static void no_baseline(struct assay_record *r)
{
    r->is_baseline = false;
    r->baseline[0] = '\0';
    for (int state = HOT; state <= COLD; state++)
        r->states[state].has_ratio = false;
}

static void extreme_ratios(struct assay_record *r)
{
    double ratio = pow(10, (double)(r->variant % 13) - 6);
    for (int state = HOT; state <= COLD && r->variant > 0; state++)
        r->states[state] = against(r->states[state], ratio, 0.4, r->variant % 3 > 0);
}

static void hot_only(struct assay_record *r) { r->states[COLD] = (struct assay_measurement){0}; }

static void on_gpu(struct assay_record *r)
{
    snprintf(r->device, sizeof r->device, "cuda");
    r->energy_j = 0.01 * (double)(1 + r->variant);
}

struct chart_book {
    const char *name;
    struct book_case shape;
    void (*tweak)(struct assay_record *record);
    bool twice; /* a second run, on another machine */
    bool asked; /* also with each of the requests below */
};

static const struct chart_book books[] = {
    {.name = "empty", .shape = {0}},
    {.name = "one", .shape = {.variants = 1}, .asked = true},
    {.name = "two", .shape = {.variants = 2, .samples = 64}},
    {.name = "bars_3", .shape = {.variants = 3, .samples = 120}, .asked = true},
    {.name = "bars_16", .shape = {.variants = 16}},
    {.name = "bars_60", .shape = {.variants = 60, .name_length = 31}},
    {.name = "bars_60_short", .shape = {.variants = 60}, .tweak = name_1},
    {.name = "groups_60", .shape = {.sizes = 60, .variants = 2}},
    {.name = "sweep",
     .shape = {.sizes = 12, .variants = 5, .decades = 9, .samples = 32},
     .asked = true},
    {.name = "series_40", .shape = {.sizes = 8, .variants = 40, .name_length = 31, .decades = 9}},
    {.name = "dtypes", .shape = {.sizes = 9, .variants = 4, .dtypes = 3}, .asked = true},
    {.name = "names_1", .shape = {.sizes = 6, .variants = 6}, .tweak = name_1},
    {.name = "names_60", .shape = {.sizes = 6, .variants = 6, .name_length = 31}, .tweak = name_60},
    {.name = "recipes", .shape = {.sizes = 2, .variants = 4, .recipes = true}, .asked = true},
    {.name = "recipes_40", .shape = {.variants = 40, .recipes = true}, .tweak = name_60},
    {.name = "models", .shape = {.sizes = 5, .variants = 2, .models = true}},
    {.name = "models_60", .shape = {.sizes = 30, .variants = 2, .models = true}, .tweak = name_60},
    {.name = "samples", .shape = {.variants = 2, .samples = 512}},
    {.name = "bad",
     .shape = {.sizes = 7, .variants = 6, .dtypes = 2, .samples = 32, .bad = true},
     .asked = true},
    {.name = "failed", .shape = {.sizes = 3, .variants = 5}, .tweak = all_fail},
    {.name = "unreal",
     .shape = {.sizes = 6, .variants = 6, .samples = 16},
     .tweak = unreal,
     .asked = true},
    {.name = "unreal_recipes",
     .shape = {.sizes = 2, .variants = 6, .recipes = true},
     .tweak = unreal},
    {.name = "no_ceilings", .shape = {.sizes = 6, .variants = 3}, .tweak = no_ceilings},
    {.name = "no_baseline", .shape = {.sizes = 4, .variants = 4}, .tweak = no_baseline},
    {.name = "extreme", .shape = {.variants = 14}, .tweak = extreme_ratios},
    {.name = "extreme_sweep",
     .shape = {.sizes = 5, .variants = 14, .decades = 9},
     .tweak = extreme_ratios},
    {.name = "hot_only", .shape = {.sizes = 4, .variants = 3}, .tweak = hot_only},
    {.name = "gpu", .shape = {.sizes = 4, .variants = 3, .samples = 32}, .tweak = on_gpu},
    {.name = "two_runs",
     .shape = {.sizes = 4, .variants = 3, .samples = 16},
     .twice = true,
     .asked = true},
    {.name = "wide", .shape = {.sizes = 4, .variants = 5}, .tweak = wide},
    {.name = "emoji", .shape = {.sizes = 4, .variants = 5}, .tweak = emoji},
    {.name = "combining", .shape = {.sizes = 4, .variants = 5}, .tweak = combining},
    {.name = "right", .shape = {.sizes = 4, .variants = 5}, .tweak = right},
    {.name = "hostile", .shape = {.sizes = 4, .variants = 12, .samples = 16}, .tweak = hostile},
    {.name = "hostile_recipes", .shape = {.variants = 12, .recipes = true}, .tweak = hostile},
};

static void add_run(const struct chart_book *book, bool other, struct assay_book *out)
{
    struct assay_run_info run = a_run;
    int64_t sizes = book->shape.sizes > 0 ? book->shape.sizes : 1, group = 0;
    if (book->tweak == hostile)
        strange_run(&run, STRANGE(strange_hostile));
    if (book->tweak == hot_only)
        run.cold = false;
    if (other) {
        snprintf(run.id, sizeof run.id, "20261116-120000-ffff");
        snprintf(run.cpu_name, sizeof run.cpu_name, "AMD EPYC 9654 96-Core Processor");
        snprintf(run.device_name, sizeof run.device_name, "AMD EPYC 9654 96-Core Processor");
        run.threads = 96;
    }
    assay_book_begin(out, &run);
    for (int64_t dtype = 0; dtype == 0 || dtype < book->shape.dtypes; dtype++)
        for (int64_t size = 0; size < sizes; size++, group++) {
            struct assay_record records[64];
            for (int64_t v = 0; v < book->shape.variants; v++) {
                records[v] = book_case_record(&book->shape, group, size, dtype, v);
                if (book->tweak)
                    book->tweak(&records[v]);
            }
            if (book->shape.variants > 0)
                assay_book_add(out, records, book->shape.variants);
        }
}

/* ---- requests ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    struct assay_chart_request request;
} requests[] = {
    {"", {0}},
    {.name = "speedup", .request = {.figure = "speedup"}},
    {.name = "ceiling", .request = {.figure = "ceiling"}},
    {.name = "time", .request = {.figure = "time"}},
    {.name = "bandwidth", .request = {.figure = "bandwidth"}},
    {.name = "winner", .request = {.figure = "winner"}},
    {.name = "cold", .request = {.has_state = true, .state = ASSAY_CACHE_COLD}},
    {.name = "dtype", .request = {.x = "dtype"}},
    {.name = "shape", .request = {.x = "shape", .y = "implementation"}},
    {.name = "swapped", .request = {.x = "implementation", .y = "seq"}},
    {.name = "row", .request = {.row = 2}},
};

/* ---- a chart that has all the draw layer can do --------------------------------------------- */

static void demo_label(const void *user, double value, char *text, size_t size)
{
    const struct assay_book_view *view = user;
    snprintf(text, size, "%s", view->records[(int64_t)value].implementation);
}

static int demo_fits(const struct assay_book *book, const struct assay_chart_request *request,
                     char *why, size_t size)
{
    (void)request;
    snprintf(why, size, "no groups");
    return book->n_groups ? ASSAY_CHART_POSSIBLE : ASSAY_CHART_UNFIT;
}

static void demo_draw(const struct assay_book *book, const struct assay_chart_request *request,
                      struct assay_drawing *d)
{
    struct assay_book_view view = {0};
    struct assay_legend_entry entries[64];
    struct assay_scale times;
    (void)request;
    assert_true(assay_book_open(book, 0, &view) && view.n <= 64);
    assay_scale_init(&times, ASSAY_SCALE_LOG);
    for (int64_t i = 0; i < view.n; i++) {
        assay_scale_see(&times, view.records[i].states[HOT].time.median);
        entries[i] = (struct assay_legend_entry){
            (enum assay_legend_shape)(i % 5), assay_draw_series_ink(i), assay_draw_series_dash(i),
            assay_draw_series_marker(i), view.records[i].kernel};
    }
    assay_scale_round(&times);
    double y = assay_draw_head(d, view.records[0].title, view.records[0].label);
    y += assay_legend_draw(d, ASSAY_DRAW_MARGIN, y, d->width - 2.0 * ASSAY_DRAW_MARGIN, entries,
                           view.n);
    struct assay_scale bands = assay_scale_bands(view.n, 0, 1);
    struct assay_axis left = {&times, "time of a call", assay_axis_time, NULL, true};
    struct assay_axis below = {&bands, "implementation", demo_label, &view, false};
    struct assay_plot plot = {ASSAY_DRAW_MARGIN + assay_axis_width(&left), y + 12,
                              d->width - ASSAY_DRAW_MARGIN, y + 250};
    bands = assay_scale_bands(view.n, plot.left, plot.right);
    times.from = plot.bottom;
    times.to = plot.top;
    assay_axis_draw_left(d, &left, &plot);
    assay_axis_draw_below(d, &below, &plot);
    y = plot.bottom + assay_axis_height(&below, plot.right - plot.left);
    d->height = assay_draw_note(d, y + 8, view.records[view.n - 1].reason) + ASSAY_DRAW_MARGIN;
    assay_text_add(&d->summary, "Axes and a legend.");
    assay_book_view_fini(&view);
}

static const struct assay_chart demo = {"demo", "the draw layer", demo_fits, demo_draw};

/* ---- files ---------------------------------------------------------------------------------- */

struct place {
    const char *folder;
    FILE *page;
    int64_t number;
};

static void write_file(const char *folder, const char *name, const char *kind,
                       const struct assay_text *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, kind);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text->data, 1, text->length, file) != text->length || fclose(file)) {
        perror(path);
        exit(1);
    }
}

static void write_look(const struct assay_chart *chart, const struct assay_book *book,
                       const struct assay_chart_request *request, const char *name,
                       enum assay_draw_look look, struct place *place)
{
    struct assay_drawing drawing = {0};
    struct assay_text svg = {0};
    char id[32] = "";
    assay_draw_begin(&drawing, look, ASSAY_CHART_WIDTH);
    chart->draw(book, request, &drawing);
    if (look == ASSAY_DRAW_PAGE)
        snprintf(id, sizeof id, "c%lld", (long long)place->number++);
    assay_draw_svg(&drawing, id, &svg);
    assert_false(svg.failed);
    if (look == ASSAY_DRAW_PAGE)
        fprintf(place->page, "<figure data-name=\"%s\" data-rows=\"%lld\">\n%s</figure>\n", name,
                (long long)book->n_records, svg.data);
    else
        write_file(place->folder, name, look == ASSAY_DRAW_LIGHT ? ".light.svg" : ".dark.svg",
                   &svg);
    assay_text_fini(&svg);
    assay_draw_fini(&drawing);
}

static void write_chart(const struct assay_chart *chart, const struct chart_book *from,
                        const struct assay_book *book, struct place *place)
{
    size_t n = from->asked ? sizeof requests / sizeof *requests : 1;
    for (size_t i = 0; i < n; i++) {
        char name[128], why[ASSAY_CHART_WHY] = "";
        if (chart->fits(book, &requests[i].request, why, sizeof why) <= ASSAY_CHART_UNFIT) {
            if (!why[0]) {
                fprintf(stderr, "%s does not fit %s and says not why\n", chart->name, from->name);
                exit(1);
            }
            continue;
        }
        snprintf(name, sizeof name, "%s.%s%s%s", chart->name, from->name, i > 0 ? "." : "",
                 requests[i].name);
        for (int look = 0; look < ASSAY_DRAW_LOOKS; look++)
            write_look(chart, book, &requests[i].request, name, (enum assay_draw_look)look, place);
    }
}

static void write_style(FILE *page)
{
    struct assay_text light = {0}, dark = {0};
    assay_draw_style(ASSAY_DRAW_LIGHT, &light);
    assay_draw_style(ASSAY_DRAW_DARK, &dark);
    fprintf(page,
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>charts</title>\n"
            "<style>:root{%s}@media(prefers-color-scheme:dark){:root{%s}}"
            "body{background:var(--ink-background);margin:0}figure{margin:0}</style>\n",
            light.data, dark.data);
    assay_text_fini(&light);
    assay_text_fini(&dark);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_charts FOLDER\n");
        return 2;
    }
    char path[512];
    snprintf(path, sizeof path, "%s/charts.html", argv[1]);
    struct place place = {argv[1], fopen(path, "wb"), 0};
    if (!place.page) {
        perror(path);
        return 1;
    }
    write_style(place.page);
    for (size_t i = 0; i < sizeof books / sizeof *books; i++) {
        struct assay_book book = {0};
        add_run(&books[i], false, &book);
        if (books[i].twice)
            add_run(&books[i], true, &book);
        assert_false(book.failed);
        write_chart(&demo, &books[i], &book, &place);
        for (int64_t c = 0; c < assay_chart_count(); c++)
            write_chart(assay_chart_at(c), &books[i], &book, &place);
        assay_book_fini(&book);
    }
    for (int64_t c = 0; c < assay_chart_count(); c++) /* charts.py misses those that never fit */
        fprintf(place.page, "<meta name=\"chart\" content=\"%s\">\n", assay_chart_at(c)->name);
    return fclose(place.page) ? 1 : 0;
}
