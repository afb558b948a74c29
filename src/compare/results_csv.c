/* results_csv.c: rows of the formats csv and torchao-csv. Columns are found by their names, so that
 * their order, and columns that are added, make no difference. */
#include "compare/csv.h"
#include "compare/results.h"

#include "base/alloc.h"
#include "report/report_cells.h"

#include <stdio.h>
#include <string.h>

struct column {
    const char *name;
    enum assay_result_field field;
};

static bool set_columns(const struct assay_csv *csv, const struct column *columns, size_t n,
                        struct assay_result *row)
{
    for (size_t i = 0; i < n; i++)
        if (!assay_result_set(row, columns[i].field, assay_csv_value(csv, columns[i].name)))
            return false;
    return true;
}

static enum assay_status bad_value(const struct assay_csv *csv, const char *name,
                                   struct assay_error *err)
{
    char place[300];
    const char *value = assay_csv_value(csv, name);
    snprintf(place, sizeof place, "%.250s:%lld", csv->where, (long long)csv->line);
    return assay_error_set(err, ASSAY_ERR_CORRUPT, place, "\"%.60s\" is no %s", value ? value : "",
                           name);
}

/* The kind of machine is told by the table, which has no head: by its first row. */
static void note_run(struct assay_results *out, const struct assay_result *row)
{
    const char *threads = row->fields[ASSAY_RESULT_THREADS];
    int64_t n;
    if (out->run.device[0])
        return;
    snprintf(out->run.device, sizeof out->run.device, "%s", row->fields[ASSAY_RESULT_DEVICE]);
    if (threads[0] && assay_text_int64(threads, &n) == ASSAY_OK && n > 0 && n < 1 << 20)
        out->run.threads = (int32_t)n;
}

/* ---- csv ------------------------------------------------------------------------------------ */

static const struct column columns[] = {
    {"op", ASSAY_RESULT_OP},           {"axes", ASSAY_RESULT_SIZES},
    {"dtype", ASSAY_RESULT_DTYPE},     {"mode", ASSAY_RESULT_MODE},
    {"recipe", ASSAY_RESULT_RECIPE},   {"implementation", ASSAY_RESULT_IMPLEMENTATION},
    {"compile", ASSAY_RESULT_COMPILE}, {"device", ASSAY_RESULT_DEVICE},
    {"threads", ASSAY_RESULT_THREADS}, {"kernel", ASSAY_RESULT_KERNEL},
    {"label", ASSAY_RESULT_LABEL},     {"entry", ASSAY_RESULT_ENTRY},
};

/* A record has a line for each cache state, one right behind the other. */
struct record_of {
    int64_t group, variant;
};

static struct assay_result *row_of(const struct assay_csv *csv, struct assay_results *out,
                                   struct record_of *last)
{
    struct record_of now = {assay_csv_int(csv, "group"), assay_csv_int(csv, "variant")};
    if (out->n && now.group >= 0 && now.group == last->group && now.variant == last->variant)
        return &out->rows[out->n - 1];
    *last = now;
    struct assay_result *row = assay_results_add(out);
    if (!row || !set_columns(csv, columns, sizeof columns / sizeof columns[0], row) ||
        !assay_result_set_reason(row, assay_csv_value(csv, "reason")))
        return NULL;
    row->interrupted = assay_csv_flag(csv, "interrupted");
    return row;
}

static int64_t count(const struct assay_csv *csv, const char *name)
{
    int64_t n = assay_csv_int(csv, name);
    return n > 0 ? n : 0;
}

static bool is_disturbed(const struct assay_csv *csv)
{
    struct assay_measurement m = {
        .disturbed = count(csv, "disturbed"),
        .near_floor = count(csv, "near_floor"),
        .slow_unit = count(csv, "slow_unit"),
        .throttled = count(csv, "throttled"),
        .time.n = count(csv, "n"),
    };
    return assay_cell_disturbed(&m);
}

static void set_measurement(const struct assay_csv *csv, struct assay_result *row, int time)
{
    assay_result_set_time(row, time, assay_csv_real(csv, "median_ns"),
                          assay_csv_real(csv, "median_lo_ns"), assay_csv_real(csv, "median_hi_ns"),
                          assay_csv_int(csv, "n"));
    const char *bound = assay_csv_value(csv, "bound");
    struct assay_interval efficiency = {assay_csv_real(csv, "efficiency_lo"),
                                        assay_csv_real(csv, "efficiency_hi")};
    assay_result_set_ceiling(&row->times[time], assay_csv_real(csv, "ceiling_ns"),
                             assay_csv_real(csv, "efficiency"), efficiency, assay_csv_int(csv, "n"),
                             bound ? bound : "");
    row->times[time].disturbed = is_disturbed(csv);
}

static enum assay_status read_row(const struct assay_csv *csv, struct assay_results *out,
                                  struct record_of *last, struct assay_error *err)
{
    struct assay_result *row = row_of(csv, out, last);
    const char *cache = assay_csv_value(csv, "cache"), *status = assay_csv_value(csv, "status");
    if (!row)
        return assay_error_nomem(err);
    row->outcome = assay_outcome_parse(status ? status : "ok");
    if (row->outcome == ASSAY_OUTCOME_COUNT)
        return bad_value(csv, "status", err);
    note_run(out, row);
    if (!cache || !cache[0])
        return ASSAY_OK;
    for (int i = 0; i < ASSAY_CACHE_STATES; i++)
        if (strcmp(cache, assay_cache_state_name((enum assay_cache_state)i)) == 0) {
            set_measurement(csv, row, i);
            *(i == ASSAY_CACHE_HOT ? &out->run.hot : &out->run.cold) = true;
            return ASSAY_OK;
        }
    return bad_value(csv, "cache", err);
}

typedef enum assay_status read_line(const struct assay_csv *csv, struct assay_results *out,
                                    struct record_of *last, struct assay_error *err);

static enum assay_status read_lines(const char *bytes, size_t length, const char *where,
                                    read_line *read, struct assay_results *out,
                                    struct assay_error *err)
{
    struct record_of last = {-1, -1};
    struct assay_csv *csv = assay_calloc(1, sizeof *csv);
    if (!csv)
        return assay_error_nomem(err);
    enum assay_status status = assay_csv_init(csv, bytes, length, where, err);
    for (bool more = true; status == ASSAY_OK && more;) {
        status = assay_csv_next(csv, &more, err);
        if (status == ASSAY_OK && more)
            status = read(csv, out, &last, err);
    }
    assay_csv_fini(csv);
    assay_free(csv);
    return status;
}

enum assay_status assay_results_read_csv(const char *bytes, size_t length, const char *where,
                                         struct assay_results *out, struct assay_error *err)
{
    return read_lines(bytes, length, where, read_row, out, err);
}

/* ---- torchao-csv ---------------------------------------------------------------------------- */

static const struct column torchao_columns[] = {
    {"model_type", ASSAY_RESULT_OP},
    {"high_precision_dtype", ASSAY_RESULT_DTYPE},
    {"quantization", ASSAY_RESULT_RECIPE},
    {"sparsity", ASSAY_RESULT_MODE},
    {"torch_compile_mode", ASSAY_RESULT_COMPILE},
    {"device", ASSAY_RESULT_DEVICE},
    {"threads", ASSAY_RESULT_THREADS},
    {"name", ASSAY_RESULT_LABEL},
    {"entry", ASSAY_RESULT_ENTRY},
};

/* The columns of an executor, or of a pass of training; those that TorchAO does not write may not
 * be there. */
struct executor {
    const char *name, *implementation, *status, *time, *lo, *hi, *samples, *cache, *kernel;
    const char *pass; /* behind the model's name, as it is in records; NULL: inference */
};

static const struct executor executors[] = {
    {"eager", "eager_implementation", "eager_status", "quantized_model_eager_inference_time_in_ms",
     "eager_median_lo_ms", "eager_median_hi_ms", "eager_samples", "eager_cache", "eager_kernel",
     NULL},
    {"compiled", "compiled_implementation", "compiled_status",
     "quantized_model_compiled_inference_time_in_ms", "compiled_median_lo_ms",
     "compiled_median_hi_ms", "compiled_samples", "compiled_cache", "compiled_kernel", NULL},
};

static const struct executor passes[] = {
    {"", "implementation", "forward_status", "forward_time_ms", "forward_median_lo_ms",
     "forward_median_hi_ms", "forward_samples", "cache", "kernel", "forward"},
    {"", "implementation", "backward_status", "backward_time_ms", "backward_median_lo_ms",
     "backward_median_hi_ms", "backward_samples", "cache", "kernel", "backward"},
    {"", "implementation", "total_status", "total_time_ms", "total_median_lo_ms",
     "total_median_hi_ms", "total_samples", "cache", "kernel", "both"},
};

/* "linear_backward" */
static bool set_pass(const struct assay_csv *csv, const struct executor *e,
                     struct assay_result *row)
{
    char op[128];
    const char *model = assay_csv_value(csv, "model_type");
    snprintf(op, sizeof op, "%.100s_%s", model ? model : "", e->pass ? e->pass : "");
    return !e->pass || assay_result_set(row, ASSAY_RESULT_OP, op);
}

static bool set_sizes(const struct assay_csv *csv, struct assay_result *row)
{
    char sizes[120];
    const char *m = assay_csv_value(csv, "m"), *k = assay_csv_value(csv, "k"),
               *n = assay_csv_value(csv, "n");
    snprintf(sizes, sizeof sizes, "m=%.30s k=%.30s n=%.30s", m ? m : "", k ? k : "", n ? n : "");
    return assay_result_set(row, ASSAY_RESULT_SIZES, sizes);
}

static int time_of(const char *cache)
{
    for (int i = 0; cache && i < ASSAY_CACHE_STATES; i++)
        if (strcmp(cache, assay_cache_state_name((enum assay_cache_state)i)) == 0)
            return i;
    return ASSAY_RESULT_EITHER;
}

static enum assay_status read_executor(const struct assay_csv *csv, const struct executor *e,
                                       struct assay_results *out, struct assay_error *err)
{
    const char *status = assay_csv_value(csv, e->status);
    double ms = assay_csv_real(csv, e->time);
    if (status ? !status[0] : !(ms > 0))
        return ASSAY_OK; /* the case was not run this way */
    const char *implementation = assay_csv_value(csv, e->implementation);
    struct assay_result *row = assay_results_add(out);
    size_t n = sizeof torchao_columns / sizeof torchao_columns[0];
    if (!row || !set_columns(csv, torchao_columns, n, row) || !set_sizes(csv, row) ||
        !set_pass(csv, e, row) ||
        !assay_result_set(row, ASSAY_RESULT_IMPLEMENTATION,
                          implementation && implementation[0] ? implementation : e->name) ||
        !assay_result_set(row, ASSAY_RESULT_KERNEL, assay_csv_value(csv, e->kernel)))
        return assay_error_nomem(err);
    row->outcome = status ? assay_outcome_parse(status) : ASSAY_OUTCOME_OK;
    if (row->outcome == ASSAY_OUTCOME_COUNT)
        return bad_value(csv, e->status, err);
    if (row->outcome != ASSAY_OUTCOME_OK &&
        !assay_result_set_reason(row, assay_csv_value(csv, "reason")))
        return assay_error_nomem(err);
    row->interrupted = assay_csv_flag(csv, "interrupted");
    assay_result_set_time(row, time_of(assay_csv_value(csv, e->cache)), ms * 1e6,
                          assay_csv_real(csv, e->lo) * 1e6, assay_csv_real(csv, e->hi) * 1e6,
                          assay_csv_int(csv, e->samples));
    note_run(out, row);
    return ASSAY_OK;
}

static enum assay_status read_torchao_row(const struct assay_csv *csv, struct assay_results *out,
                                          struct record_of *last, struct assay_error *err)
{
    (void)last;
    bool trains = assay_csv_value(csv, "total_time_ms") != NULL;
    const struct executor *all = trains ? passes : executors;
    size_t n = trains ? sizeof passes / sizeof *passes : sizeof executors / sizeof *executors;
    enum assay_status status = ASSAY_OK;
    for (size_t i = 0; i < n && status == ASSAY_OK; i++)
        status = read_executor(csv, &all[i], out, err);
    return status;
}

enum assay_status assay_results_read_torchao_csv(const char *bytes, size_t length,
                                                 const char *where, struct assay_results *out,
                                                 struct assay_error *err)
{
    return read_lines(bytes, length, where, read_torchao_row, out, err);
}
