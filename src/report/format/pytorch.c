/* pytorch.c: records of the PyTorch OSS benchmark database, version 3: a JSON array with one object
 * for each recipe and metric. share/schema/pytorch_benchmark_v3.schema.json describes them.
 *
 * The figures are the compiled model's where there is one, else the eager model's. A case that
 * failed, was not supported or was skipped has no record; nor have ops without recipes. Cases with
 * the same description are repeats: one record, one value for each repeat, in their order. So that
 * repeats can come at any time, all is kept and written at the end. The passes of a configuration's
 * training are groups of their own with one description, and each has metrics of its own. */
#include "base/alloc.h"
#include "kernel/implementation.h"
#include "report/report_pairs.h"
#include "report/report_sink.h"
#include "report/report_trained.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum metric {
    SPEEDUP,
    BASELINE_TIME,
    QUANTIZED_TIME,
    BACKWARD_SPEEDUP, /* of training, up to TOPS */
    BACKWARD_BASELINE_TIME,
    BACKWARD_QUANTIZED_TIME,
    TOTAL_SPEEDUP,
    TOTAL_BASELINE_TIME,
    TOTAL_QUANTIZED_TIME,
    TOPS,
    MEMORY,
    SPEEDUP_WRT_BF16,
    METRICS
};

static const struct {
    const char *name, *unit;
} metrics[METRICS] = {
    [SPEEDUP] = {"Fwd Speedup (x)", "x"},
    [BASELINE_TIME] = {"Bfloat16 Fwd Time (ms)", "ms"},
    [QUANTIZED_TIME] = {"Quantized Fwd Time (ms)", "ms"},
    [BACKWARD_SPEEDUP] = {"Bwd Speedup (x)", "x"},
    [BACKWARD_BASELINE_TIME] = {"Bfloat16 Bwd Time (ms)", "ms"},
    [BACKWARD_QUANTIZED_TIME] = {"Quantized Bwd Time (ms)", "ms"},
    [TOTAL_SPEEDUP] = {"Total Speedup (x)", "x"},
    [TOTAL_BASELINE_TIME] = {"Bfloat16 Total Time (ms)", "ms"},
    [TOTAL_QUANTIZED_TIME] = {"Quantized Total Time (ms)", "ms"},
    [TOPS] = {"TOPS", "TOPS"},
    [MEMORY] = {"Allocated Memory (MB)", "MB"},
    [SPEEDUP_WRT_BF16] = {"speedup(wrt bf16)", "x"},
};

/* One case, measured once. */
struct point {
    char *subject; /* {"benchmark": {…}, "model": {…}}: equal for repeats */
    uint64_t hash; /* of the subject */
    bool written;
    double values[METRICS]; /* NaN: has no such value */
};

struct state {
    struct assay_sink sink;
    struct assay_run_info run;
    struct point *points;
    int64_t n, capacity;
    bool failed; /* a point did not fit into memory */
};

static void pytorch_begin(void *state, const struct assay_sink *sink,
                          const struct assay_report_style *style, const struct assay_run_info *run)
{
    (void)style;
    struct state *s = state;
    s->sink = *sink;
    s->run = *run;
}

/* ---- what was measured --------------------------------------------------------------------- */

/* Values of extra_info are text: the database keeps them in a map from text to text. */
static void put_known(assay_json *extra, const char *key, const char *text)
{
    if (text[0])
        assay_json_put_string(extra, key, text);
}

static void put_count(assay_json *extra, const char *key, int64_t count)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)count);
    assay_json_put_string(extra, key, text);
}

/* What the device calls itself. */
static const char *arch_of(const struct assay_run_info *run, const struct assay_record *record)
{
    if (strcmp(record->device, run->device) == 0 && run->device_name[0])
        return run->device_name;
    return assay_record_on_host(record) ? run->cpu_name : run->gpu_name;
}

static assay_json *benchmark_of(const struct state *s, const struct assay_record *record)
{
    assay_json *benchmark = assay_json_object(), *extra = assay_json_object();
    assay_json_put_string(benchmark, "name", "micro-benchmark api");
    assay_json_put_string(benchmark, "mode", record->pass[0] ? "training" : "inference");
    assay_json_put_string(benchmark, "dtype", record->recipe);
    bool eager = !assay_implementation_uncompiled(record->implementation);
    const char *mode = eager ? "false" : record->compile[0] ? record->compile : "default";
    assay_json_put_string(extra, "device", record->device);
    assay_json_put_string(extra, "arch", arch_of(&s->run, record));
    assay_json_put_string(extra, "torch_compile_mode", mode);
    put_known(extra, "high_precision_dtype", assay_dtype_name(record->dtype));
    bool trains = assay_run_trains(&s->run);
    put_known(extra, "model_type",
              trains ? assay_trained_subject(record).text : assay_cell_subject(record));
    if (trains)
        put_known(extra, "scaling", assay_trained_scaling(record->recipe).text);
    put_known(extra, "mode", record->mode);
    put_known(extra, "implementation", record->implementation);
    put_known(extra, "kernel", record->kernel);
    put_known(extra, "entry", record->entry);
    put_known(extra, "shape_name", record->label);
    if (record->threads > 0)
        put_count(extra, "threads", record->threads);
    assay_json_put(benchmark, "extra_info", extra);
    return benchmark;
}

/* "int8wo-1024-1024-1024" */
static assay_json *model_of(const struct assay_record *record)
{
    struct assay_cell name = {""};
    assay_cell_add(&name, "%s", record->recipe);
    for (int32_t i = 0; i < record->n_axes && i < ASSAY_MAX_AXES; i++)
        assay_cell_add(&name, "-%lld", (long long)record->axes[i]);
    assay_json *model = assay_json_object(), *origins = assay_json_array();
    assay_json_put_string(model, "name", name.text);
    assay_json_put_string(model, "type", "micro-benchmark custom layer");
    assay_json_append(origins, assay_json_from_string("assay"));
    assay_json_put(model, "origins", origins);
    return model;
}

static char *subject_of(const struct state *s, const struct assay_record *record)
{
    assay_json *subject = assay_json_object();
    assay_json_put(subject, "benchmark", benchmark_of(s, record));
    assay_json_put(subject, "model", model_of(record));
    struct assay_text text = {0};
    assay_json_write(subject, 0, &text);
    assay_json_free(subject);
    char *copy = text.failed || !text.data ? NULL : assay_strdup(text.data);
    assay_text_fini(&text);
    return copy;
}

/* ---- cases --------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *text) /* FNV-1a */
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static double milliseconds(const struct assay_measurement *m)
{
    return m ? m->time.median / 1e6 : (double)NAN;
}

/* `speedup` and the two metrics behind it. */
static void take_times(const struct assay_record *records, int64_t n,
                       const struct assay_record *record, enum metric speedup, double *values)
{
    const struct assay_measurement *m = assay_pair_figures(record);
    const struct assay_record *baseline = assay_pair_baseline(records, n, record);
    bool is_baseline = assay_cell_is_baseline(record);
    values[speedup] = m->has_ratio ? m->ratio.ratio : (double)NAN;
    values[speedup + 1] = milliseconds(assay_pair_figures(baseline));
    values[speedup + 2] = is_baseline ? (double)NAN : milliseconds(m);
}

/* Of a pass of training those of that pass; what is said of the whole step is the total's. */
static void take_values(const struct assay_record *records, int64_t n,
                        const struct assay_record *record, bool trains, double *values)
{
    bool backward = trains && strcmp(record->pass, "backward") == 0;
    bool total = trains && strcmp(record->pass, "both") == 0;
    enum metric speedup = backward ? BACKWARD_SPEEDUP : total ? TOTAL_SPEEDUP : SPEEDUP;
    for (int i = 0; i < METRICS; i++)
        values[i] = (double)NAN;
    take_times(records, n, record, speedup, values);
    if (trains && !total)
        return;
    values[SPEEDUP_WRT_BF16] = values[speedup];
    values[MEMORY] = record->peak_bytes / 1e6;
    if (total)
        values[TOPS] = assay_trained_ops_per_s(record) / 1e12;
}

/* NULL without memory. */
static struct point *add_point(struct state *s)
{
    if (s->n == s->capacity) {
        int64_t capacity = s->capacity ? 2 * s->capacity : 64;
        struct point *points = assay_realloc(s->points, (size_t)capacity, sizeof *points);
        if (!points)
            return NULL;
        s->points = points;
        s->capacity = capacity;
    }
    s->points[s->n] = (struct point){0};
    return &s->points[s->n];
}

/* The compiled model, unless there can be none. */
static const struct assay_record *record_of(const struct assay_pair *pair)
{
    const struct assay_record *record = assay_pair_main(pair);
    bool impossible = record->outcome == ASSAY_OUTCOME_UNSUPPORTED && pair->eager;
    return impossible ? pair->eager : record;
}

static void pytorch_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    struct assay_pair pair = {0};
    while (assay_pair_next(records, n, ASSAY_PAIRS_AS_LISTED, &pair)) {
        const struct assay_record *record = record_of(&pair);
        if (!record->recipe[0] || !assay_pair_figures(record))
            continue;
        struct point *point = add_point(s);
        char *subject = point ? subject_of(s, record) : NULL;
        if (!subject) {
            s->failed = true;
            return;
        }
        point->subject = subject;
        point->hash = hash_of(subject);
        take_values(records, n, record, assay_run_trains(&s->run), point->values);
        s->n++;
    }
}

/* ---- the array ----------------------------------------------------------------------------- */

static assay_json *metric_of(enum metric metric, assay_json *values)
{
    assay_json *object = assay_json_object(), *extra = assay_json_object();
    assay_json_put_string(object, "name", metrics[metric].name);
    assay_json_put(object, "benchmark_values", values);
    assay_json_put_double(object, "target_value", 0);
    assay_json_put_string(extra, "unit", metrics[metric].unit);
    assay_json_put(object, "extra_info", extra);
    return object;
}

static assay_json *runners_of(const struct assay_run_info *run)
{
    assay_json *runners = assay_json_array(), *runner = assay_json_object();
    assay_json *extra = assay_json_object();
    assay_json_put_string(runner, "name",
                          run->device_name[0] ? run->device_name
                          : run->device[0]    ? run->device
                                              : "unknown");
    assay_json_put_string(runner, "gpu_info", run->gpu_name);
    assay_json_put_int(runner, "gpu_count", run->gpu_count);
    assay_json_put_int(runner, "avail_gpu_mem_in_gb",
                       run->gpu_memory_bytes > 0 ? (int64_t)(run->gpu_memory_bytes / 1e9) : 0);
    put_known(extra, "os", run->host_os);
    put_known(extra, "cpu", run->cpu_name);
    put_known(extra, "isa", run->isa);
    if (run->threads > 0)
        put_count(extra, "threads", run->threads);
    put_known(extra, "run", run->id);
    put_known(extra, "started", run->started);
    assay_json_put(runner, "extra_info", extra);
    assay_json_append(runners, runner);
    return runners;
}

static assay_json *dependency(const char *repo, const char *branch, const char *sha,
                              const char *version)
{
    assay_json *object = assay_json_object(), *extra = assay_json_object();
    assay_json_put_string(object, "repo", repo);
    assay_json_put_string(object, "branch", branch);
    assay_json_put_string(object, "sha", sha);
    put_known(extra, "version", version);
    assay_json_put(object, "extra_info", extra);
    return object;
}

/* assay itself, and the project whose checks this is part of. */
static assay_json *dependencies_of(const struct assay_run_info *run)
{
    assay_json *dependencies = assay_json_object();
    assay_json_put(dependencies, "assay", dependency("assay", "", run->commit, run->version));
    if (run->project[0])
        assay_json_put(dependencies, run->project,
                       dependency(run->project, run->project_branch, run->project_sha, ""));
    return dependencies;
}

static bool is_repeat(const struct point *a, const struct point *b)
{
    return a->hash == b->hash && strcmp(a->subject, b->subject) == 0;
}

/* This metric of the case and its repeats, which come after it. */
static assay_json *values_of(const struct state *s, int64_t first, enum metric metric)
{
    assay_json *values = assay_json_array();
    for (int64_t i = first; i < s->n; i++)
        if (isfinite(s->points[i].values[metric]) && is_repeat(&s->points[first], &s->points[i]))
            assay_json_append(values, assay_json_from_double(s->points[i].values[metric]));
    return values;
}

static void write_metric(const struct state *s, int64_t first, enum metric metric, bool *any)
{
    assay_json *values = values_of(s, first, metric);
    if (values && !assay_json_count(values) && assay_json_is_complete(values)) {
        assay_json_free(values);
        return;
    }
    const char *subject = s->points[first].subject;
    assay_json *object = assay_json_parse(subject, strlen(subject), "subject", NULL);
    assay_json_put(object, "metric", metric_of(metric, values));
    assay_json_put(object, "runners", runners_of(&s->run));
    assay_json_put(object, "dependencies", dependencies_of(&s->run));
    assay_sink_put(&s->sink, *any ? ",\n  " : "\n  ");
    assay_sink_json(&s->sink, object, 2);
    *any = true;
}

static void pytorch_end(void *state)
{
    struct state *s = state;
    bool any = false;
    assay_sink_put(&s->sink, "[");
    for (int64_t i = 0; i < s->n; i++) {
        if (s->points[i].written)
            continue;
        for (int metric = 0; metric < METRICS; metric++)
            write_metric(s, i, (enum metric)metric, &any);
        for (int64_t k = i; k < s->n; k++)
            s->points[k].written |= is_repeat(&s->points[i], &s->points[k]);
    }
    if (s->failed) { /* a null marks what is missing */
        assay_sink_put(&s->sink, any ? ",\n  null" : "\n  null");
        assay_sink_fail(&s->sink);
    }
    assay_sink_put(&s->sink, any || s->failed ? "\n]\n" : "]\n");
}

static void pytorch_fini(void *state)
{
    struct state *s = state;
    for (int64_t i = 0; i < s->n; i++)
        assay_free(s->points[i].subject);
    assay_free(s->points);
}

const struct assay_report_format assay_report_pytorch = {
    .name = "pytorch",
    .extension = NULL, /* .json means the format of that name */
    .summary = "records of the PyTorch OSS benchmark database: one for each recipe and metric",
    .state_bytes = sizeof(struct state),
    .begin = pytorch_begin,
    .group = pytorch_group,
    .end = pytorch_end,
    .fini = pytorch_fini,
};
