/* dry_run.c: the groups of a plan as a table, or in one sentence, with what bench/estimate.h knows
 * of them. */
#include "cli/dry_run.h"

#include "bench/estimate.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "model/model.h"
#include "quant/quant.h"
#include "tensor/tensor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum column {
    NUMBER,
    ENTRY,
    SUBJECT,
    LABEL,
    SIZES,
    DTYPE,
    DEVICE,
    COMPILE,
    ROWS,
    MEMORY,
    CALL,
    TIME,
    COLUMNS
};

/* A plan in a few figures. */
struct forecast {
    int64_t groups, variants, too_large; /* each once, however often it is repeated */
    double most_bytes;
    double total_s;   /* of timing, repeats included */
    bool knows_calls; /* the ceilings are known; else only the budget was counted */
};

struct dry_run {
    const struct assay_plan *plan;
    struct assay_text *out; /* NULL: only the sum is wanted */
    int width;              /* of the output; 0: as wide as it takes */
    int widths[COLUMNS];    /* 0: the column is left out */
    struct forecast sum;
};

static const char *device_name(const struct dry_run *run, const struct assay_group *group)
{
    return group->device[0] ? group->device : run->plan->settings.device;
}

static bool is_model(const struct assay_group *group)
{
    return strncmp(group->op, ASSAY_MODEL_PREFIX, strlen(ASSAY_MODEL_PREFIX)) == 0;
}

/* Why a group is not measured; NULL: it is. */
static const char *why_not(const struct assay_group *group, const struct assay_estimate *e)
{
    return group->over_limit ? "over --max-elements" : e->fits ? NULL : "does not fit this memory";
}

/* "2.0 s", "41 s", "4.1 min", "1.3 h" */
static void seconds_text(double seconds, char *buf, size_t size)
{
    if (seconds < 100)
        snprintf(buf, size, "%.*f s", seconds < 10 ? 1 : 0, seconds);
    else if (seconds < 6000)
        snprintf(buf, size, "%.1f min", seconds / 60);
    else
        snprintf(buf, size, "%.1f h", seconds / 3600);
}

/* "linear", "linear bias+gelu" */
static const char *subject_of(const struct assay_group *group, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s", assay_op_shown(group->op), group->mode[0] ? " " : "",
             group->mode);
    return buf;
}

/* As wide as the heading and the longest text; 0 where every text is empty. */
static void widen(int *width, const char *heading, const char *text)
{
    int needed = (int)strlen(text);
    if (needed && *width < (int)strlen(heading))
        *width = (int)strlen(heading);
    if (*width < needed)
        *width = needed;
}

/* What stands before a column, and on which side of it its text. */
static const struct {
    const char *gap;
    bool right;
} columns[COLUMNS] = {
    [NUMBER] = {"", true},   [ENTRY] = {"  ", false},  [SUBJECT] = {"  ", false},
    [LABEL] = {"  ", false}, [SIZES] = {" ", true},    [DTYPE] = {"  ", false},
    [DEVICE] = {" ", false}, [COMPILE] = {" ", false}, [ROWS] = {" ", true},
    [MEMORY] = {" ", true},  [CALL] = {" ", true},     [TIME] = {" ", true},
};

static int total_width(const struct dry_run *run)
{
    int total = 0;
    for (int c = 0; c < COLUMNS; c++)
        total += run->widths[c] ? (int)strlen(columns[c].gap) + run->widths[c] : 0;
    return total;
}

static void measure_columns(struct dry_run *run)
{
    static const enum column least_first[] = {DEVICE, CALL, COMPILE, ENTRY, LABEL, MEMORY};
    static const int usual[COLUMNS] = {[NUMBER] = 4, [SIZES] = 18, [DTYPE] = 5, [DEVICE] = 8,
                                       [ROWS] = 4,   [MEMORY] = 9, [CALL] = 9,  [TIME] = 9};
    char subject[128];
    memcpy(run->widths, usual, sizeof usual);
    for (int64_t i = 0; i < run->plan->n_groups; i++) {
        const struct assay_group *group = &run->plan->groups[i];
        widen(&run->widths[ENTRY], "entry", group->entry);
        widen(&run->widths[SUBJECT], "model", subject_of(group, subject, sizeof subject));
        widen(&run->widths[LABEL], "shape", group->label);
        widen(&run->widths[COMPILE], "max-autotune", group->compile);
    }
    size_t n = sizeof least_first / sizeof least_first[0];
    for (size_t i = 0; i < n && run->width && total_width(run) > run->width; i++)
        run->widths[least_first[i]] = 0;
}

static void put_row(struct dry_run *run, const char *const *cells)
{
    for (int c = 0; c < COLUMNS; c++)
        if (run->widths[c])
            assay_text_format(run->out, columns[c].right ? "%s%*s" : "%s%-*s", columns[c].gap,
                              run->widths[c], cells[c]);
}

static bool has_models(const struct assay_plan *plan)
{
    return plan->n_groups > 0 && is_model(&plan->groups[0]);
}

static void write_head(struct dry_run *run)
{
    bool models = has_models(run->plan);
    const struct assay_strings *recipes = &run->plan->settings.recipes;
    for (int64_t i = 0; i < recipes->n; i++) {
        struct assay_recipe recipe;
        bool missing = assay_recipe_parse(recipes->items[i], &recipe, NULL) == ASSAY_UNSUPPORTED;
        assay_text_format(run->out, "%s%s%s", i ? ", " : "recipes: ", recipes->items[i],
                          missing ? " (unsupported)" : "");
    }
    assay_text_add(run->out, recipes->n ? "\n\n" : "");
    const char *const headings[COLUMNS] = {[NUMBER] = "#",
                                           [ENTRY] = "entry",
                                           [SUBJECT] = models ? "model" : "op",
                                           [LABEL] = "shape",
                                           [SIZES] = models ? "m x k x n" : "sizes",
                                           [DTYPE] = "dtype",
                                           [DEVICE] = "device",
                                           [COMPILE] = "compile",
                                           [ROWS] = "rows",
                                           [MEMORY] = "memory",
                                           [CALL] = "call >=",
                                           [TIME] = "time"};
    put_row(run, headings);
    assay_text_add(run->out, "\n");
}

static void write_group(struct dry_run *run, int64_t number, const struct assay_group *group,
                        const struct assay_estimate *e)
{
    char shape[64], bytes[32], call[32] = "-", seconds[32] = "-", subject[128], count[24], rows[24];
    assay_tensor_shape_text(group->axes, group->n_axes, shape, sizeof shape);
    assay_text_bytes(e->bytes, bytes, sizeof bytes);
    if (e->call_ns > 0)
        assay_text_time(e->call_ns, call, sizeof call);
    const char *left_out = why_not(group, e);
    if (left_out)
        snprintf(seconds, sizeof seconds, "skipped");
    else if (e->has_ceilings)
        seconds_text(e->timing_s, seconds, sizeof seconds);
    snprintf(count, sizeof count, "%lld", (long long)number);
    snprintf(rows, sizeof rows, "%lld", (long long)e->variants);
    const char *const cells[COLUMNS] = {[NUMBER] = count,
                                        [ENTRY] = group->entry,
                                        [SUBJECT] = subject_of(group, subject, sizeof subject),
                                        [LABEL] = group->label,
                                        [SIZES] = shape,
                                        [DTYPE] = assay_dtype_name(group->dtype),
                                        [DEVICE] = device_name(run, group),
                                        [COMPILE] = group->compile,
                                        [ROWS] = rows,
                                        [MEMORY] = bytes,
                                        [CALL] = call,
                                        [TIME] = seconds};
    put_row(run, cells);
    if (left_out) {
        bool fits = !run->width || total_width(run) + 2 + (int)strlen(left_out) <= run->width;
        assay_text_format(run->out, "%s%s", fits ? "  " : "\n      ", left_out);
    }
    assay_text_add(run->out, "\n");
}

static void count_group(struct forecast *sum, const struct assay_group *group,
                        const struct assay_estimate *e, int64_t repeat)
{
    sum->groups++;
    sum->most_bytes = e->bytes > sum->most_bytes ? e->bytes : sum->most_bytes;
    sum->variants += e->variants;
    if (why_not(group, e)) {
        sum->too_large++;
        return;
    }
    sum->knows_calls = sum->knows_calls && e->has_ceilings;
    sum->total_s += e->timing_s * (double)repeat;
}

/* Broken between words where the output has a width. */
static void add_wrapped(const struct dry_run *run, const char *text)
{
    int column = 0;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        int length = (int)strcspn(text, " ");
        bool breaks = run->width && column && column + 1 + length > run->width;
        assay_text_format(run->out, "%s%.*s", breaks ? "\n" : column ? " " : "", length, text);
        column = (breaks || !column ? 0 : column + 1) + length;
        text += length;
    }
    assay_text_add(run->out, "\n");
}

static void write_total(const struct dry_run *run, int64_t repeat)
{
    char bytes[32], seconds[32];
    const struct forecast *sum = &run->sum;
    struct assay_text text = {0};
    assay_text_bytes(sum->most_bytes, bytes, sizeof bytes);
    seconds_text(sum->total_s, seconds, sizeof seconds);
    assay_text_format(&text, "%lld group%s, %lld rows", (long long)sum->groups,
                      sum->groups == 1 ? "" : "s", (long long)sum->variants);
    if (repeat > 1)
        assay_text_format(&text, ", each %lld times", (long long)repeat);
    assay_text_format(&text, "; up to %s of memory", bytes);
    if (sum->too_large)
        assay_text_format(&text, ", %lld group%s skipped", (long long)sum->too_large,
                          sum->too_large == 1 ? "" : "s");
    if (sum->knows_calls && sum->total_s > 0)
        assay_text_format(&text,
                          "; about %s of timing at the most, less where precision is reached; "
                          "preparing and verifying come on top",
                          seconds);
    else if (!sum->knows_calls)
        assay_text_add(&text, "; no times: ceilings are not known here (assay info "
                              "--calibrate)");
    assay_text_add(run->out, "\n");
    if (text.data)
        add_wrapped(run, text.data);
    run->out->failed |= text.failed;
    assay_text_fini(&text);
}

/* Goes through the groups, each once; writes them where there is an output. */
static enum assay_status walk(struct dry_run *run, int64_t repeat, struct assay_error *err)
{
    const struct assay_plan *plan = run->plan;
    assay_estimator *estimator = NULL;
    run->sum = (struct forecast){.knows_calls = true};
    /* A sum is not worth starting a GPU's driver for. */
    enum assay_status status = assay_estimator_create(plan, run->out != NULL, &estimator, err);
    if (status == ASSAY_OK && run->out) {
        measure_columns(run);
        write_head(run);
    }
    for (int64_t i = 0; i < plan->n_groups / repeat && status == ASSAY_OK; i++) {
        struct assay_estimate e;
        status = assay_estimate(estimator, &plan->groups[i], &e, err);
        if (status == ASSAY_OK && !e.known)
            status = assay_error_nomem(err); /* no other reason that a planned op is not there */
        if (status != ASSAY_OK)
            break;
        if (run->out)
            write_group(run, i + 1, &plan->groups[i], &e);
        count_group(&run->sum, &plan->groups[i], &e, repeat);
    }
    assay_estimator_destroy(estimator);
    return status;
}

enum assay_status assay_dry_run(const struct assay_plan *plan, int64_t repeat,
                                struct assay_text *out, struct assay_error *err)
{
    struct dry_run run = {.plan = plan, .out = out, .width = assay_terminal_columns(STDOUT_FILENO)};
    enum assay_status status = walk(&run, repeat, err);
    if (status != ASSAY_OK)
        return status;
    write_total(&run, repeat);
    return out->failed ? assay_error_nomem(err) : ASSAY_OK;
}

/* The plan's figures alone. */
static enum assay_status forecast_of(const struct assay_plan *plan, int64_t repeat,
                                     struct forecast *out, struct assay_error *err)
{
    struct dry_run run = {.plan = plan};
    enum assay_status status = walk(&run, repeat, err);
    *out = run.sum;
    return status;
}

int assay_dry_run_print(const struct assay_plan *plan, int64_t repeat)
{
    struct assay_text text = {0};
    struct assay_error err = {0};
    if (assay_dry_run(plan, repeat, &text, &err) == ASSAY_OK)
        return assay_print_text(&text);
    assay_text_fini(&text);
    return assay_complain(&err);
}

void assay_dry_run_announce(const struct assay_plan *plan, int64_t repeat, const char *how)
{
    char seconds[32];
    struct forecast sum;
    const double worth_saying_s = 20;
    if (forecast_of(plan, repeat, &sum, NULL) != ASSAY_OK || sum.total_s < worth_saying_s)
        return;
    seconds_text(sum.total_s, seconds, sizeof seconds);
    fprintf(stderr, "assay: %lld group%s, about %s of timing%s; %s\n", (long long)plan->n_groups,
            plan->n_groups == 1 ? "" : "s", seconds, sum.knows_calls ? "" : " at the least", how);
}

void assay_dry_run_warn(const struct assay_plan *plan, int64_t repeat)
{
    char seconds[32], text[256];
    struct forecast sum;
    const double hour_s = 3600;
    if (forecast_of(plan, repeat, &sum, NULL) != ASSAY_OK || sum.total_s < hour_s)
        return;
    seconds_text(sum.total_s, seconds, sizeof seconds);
    snprintf(
        text, sizeof text,
        "on the cpu this takes about %s%s; --dry-run shows where, --limit N measures the first "
        "N groups, --strict-device ends it instead",
        seconds, sum.knows_calls ? "" : " at the least");
    assay_warn(text);
}
