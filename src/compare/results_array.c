/* results_array.c: rows of the formats that are a JSON array: comprehensive, kobench-json and
 * pytorch. The first two say too little of a row to tell all of them apart, and hold no intervals;
 * kobench-json has means. pytorch has the medians of repeats: an interval from six of them on. */
#include "compare/results.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double NS_PER_MS = 1e6;

static const char *text(const assay_json *object, const char *key)
{
    return assay_json_string(assay_json_get(object, key), "");
}

static double real(const assay_json *object, const char *key)
{
    return assay_json_double(assay_json_get(object, key), (double)NAN);
}

static void copy(char *out, size_t size, const char *from) { snprintf(out, size, "%s", from); }

/* ---- comprehensive -------------------------------------------------------------------------- */

static enum assay_status read_comprehensive(const assay_json *element, struct assay_results *out)
{
    static const char *const axes[] = {"batch_size", "sequence_length", "tensor_dimension"};
    static const char *const names[] = {"batch", "seq", "dim"};
    char sizes[120] = "";
    for (size_t i = 0; i < 3; i++) {
        int64_t size = assay_json_int(assay_json_get(element, axes[i]), -1);
        size_t used = strlen(sizes);
        if (size >= 0)
            snprintf(sizes + used, sizeof sizes - used, "%s%s=%lld", used ? " " : "", names[i],
                     (long long)size);
    }
    struct assay_result *row = assay_results_add(out);
    if (!row || !assay_result_set(row, ASSAY_RESULT_OP, text(element, "operation")) ||
        !assay_result_set(row, ASSAY_RESULT_IMPLEMENTATION, text(element, "implementation")) ||
        !assay_result_set(row, ASSAY_RESULT_SIZES, sizes))
        return ASSAY_ERR_NOMEM;
    assay_result_set_time(row, ASSAY_RESULT_EITHER, real(element, "time_ms") * NS_PER_MS,
                          (double)NAN, (double)NAN, 0);
    return ASSAY_OK;
}

/* ---- kobench-json --------------------------------------------------------------------------- */

static void metadata_text(const assay_json *metadata, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int64_t i = 0; i < assay_json_count_keys(metadata) && used < size; i++) {
        const char *key = assay_json_key_at(metadata, i);
        int64_t value = assay_json_int(assay_json_get(metadata, key), -1);
        if (value >= 0)
            used += (size_t)snprintf(out + used, size - used, "%s%.40s=%lld", used ? " " : "", key,
                                     (long long)value);
    }
}

static enum assay_status read_kobench(const assay_json *element, struct assay_results *out)
{
    char sizes[400];
    metadata_text(assay_json_get(element, "metadata"), sizes, sizeof sizes);
    struct assay_result *row = assay_results_add(out);
    if (!row || !assay_result_set(row, ASSAY_RESULT_OP, text(element, "name")) ||
        !assay_result_set(row, ASSAY_RESULT_DTYPE, text(element, "dtype")) ||
        !assay_result_set(row, ASSAY_RESULT_DEVICE, text(element, "device")) ||
        !assay_result_set(row, ASSAY_RESULT_SIZES, sizes))
        return ASSAY_ERR_NOMEM;
    assay_result_set_time(row, ASSAY_RESULT_EITHER, real(element, "latency_ms") * NS_PER_MS,
                          (double)NAN, (double)NAN,
                          assay_json_int(assay_json_get(element, "iters"), 0));
    if (!out->run.device[0])
        copy(out->run.device, sizeof out->run.device, text(element, "device"));
    return ASSAY_OK;
}

/* ---- pytorch -------------------------------------------------------------------------------- */

/* Of a recipe its own time, of the baseline that of all: the other metrics follow from these. In
 * training there is one for each pass. NULL: it is another metric. */
static const char *pass_timed_by(const char *metric, const char *recipe)
{
    static const char *const passes[][2] = {
        {"Fwd", "forward"}, {"Bwd", "backward"}, {"Total", "both"}};
    bool baseline = strcmp(recipe, "baseline") == 0;
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s %s Time (ms)", baseline ? "Bfloat16" : "Quantized",
                 passes[i][0]);
        if (strcmp(metric, name) == 0)
            return passes[i][1];
    }
    return NULL;
}

/* "linear_backward", as records have it. */
static bool set_pass(struct assay_result *row, const char *pass)
{
    char op[128];
    snprintf(op, sizeof op, "%.100s_%s", row->fields[ASSAY_RESULT_OP], pass);
    return assay_result_set(row, ASSAY_RESULT_OP, op);
}

static enum assay_status set_values(struct assay_result *row, const assay_json *values)
{
    int64_t n = 0, count = assay_json_count(values);
    double *times = assay_calloc((size_t)count + 1, sizeof *times);
    if (!times)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < count; i++) {
        double ms = assay_json_double(assay_json_at(values, i), (double)NAN);
        if (ms > 0 && isfinite(ms))
            times[n++] = ms * NS_PER_MS;
    }
    assay_stats_sort(times, n);
    if (n > 0) {
        struct assay_interval ci = assay_stats_median_interval(times, n, 0.95);
        assay_result_set_time(row, ASSAY_RESULT_EITHER, assay_stats_quantile(times, n, 0.5), ci.lo,
                              ci.hi, n);
    }
    assay_free(times);
    return ASSAY_OK;
}

/* "int8wo-1024-1024-1024" is the recipe and the sizes. */
static const char *sizes_of(const char *model, const char *recipe)
{
    size_t length = strlen(recipe);
    bool follows = strncmp(model, recipe, length) == 0 && model[length] == '-';
    return follows ? model + length + 1 : model;
}

static bool set_subject(struct assay_result *row, const assay_json *benchmark,
                        const assay_json *model)
{
    const assay_json *extra = assay_json_get(benchmark, "extra_info");
    const char *recipe = text(benchmark, "dtype");
    const char *const fields[ASSAY_RESULT_FIELDS] = {
        [ASSAY_RESULT_OP] = text(extra, "model_type"),
        [ASSAY_RESULT_SIZES] = sizes_of(text(model, "name"), recipe),
        [ASSAY_RESULT_DTYPE] = text(extra, "high_precision_dtype"),
        [ASSAY_RESULT_MODE] = text(extra, "mode"),
        [ASSAY_RESULT_RECIPE] = recipe,
        [ASSAY_RESULT_IMPLEMENTATION] = text(extra, "implementation"),
        [ASSAY_RESULT_COMPILE] = text(extra, "torch_compile_mode"),
        [ASSAY_RESULT_DEVICE] = text(extra, "device"),
        [ASSAY_RESULT_THREADS] = text(extra, "threads"),
        [ASSAY_RESULT_KERNEL] = text(extra, "kernel"),
        [ASSAY_RESULT_LABEL] = text(extra, "shape_name"),
        [ASSAY_RESULT_ENTRY] = text(extra, "entry"),
    };
    for (int i = 0; i < ASSAY_RESULT_FIELDS; i++)
        if (!assay_result_set(row, (enum assay_result_field)i, fields[i]))
            return false;
    return true;
}

static void note_runner(const assay_json *element, struct assay_run_info *run)
{
    const assay_json *runner = assay_json_at(assay_json_get(element, "runners"), 0);
    const assay_json *extra = assay_json_get(runner, "extra_info");
    const assay_json *assay = assay_json_get(assay_json_get(element, "dependencies"), "assay");
    const assay_json *benchmark = assay_json_get(element, "benchmark");
    int64_t threads = 0;
    if (run->device_name[0])
        return;
    copy(run->device_name, sizeof run->device_name, text(runner, "name"));
    copy(run->gpu_name, sizeof run->gpu_name, text(runner, "gpu_info"));
    copy(run->cpu_name, sizeof run->cpu_name, text(extra, "cpu"));
    copy(run->host_os, sizeof run->host_os, text(extra, "os"));
    copy(run->isa, sizeof run->isa, text(extra, "isa"));
    copy(run->id, sizeof run->id, text(extra, "run"));
    copy(run->started, sizeof run->started, text(extra, "started"));
    copy(run->version, sizeof run->version, text(assay_json_get(assay, "extra_info"), "version"));
    copy(run->device, sizeof run->device, text(assay_json_get(benchmark, "extra_info"), "device"));
    if (assay_text_int64(text(extra, "threads"), &threads) == ASSAY_OK && threads > 0 &&
        threads < 1 << 20)
        run->threads = (int32_t)threads;
}

static enum assay_status read_pytorch(const assay_json *element, struct assay_results *out)
{
    const assay_json *benchmark = assay_json_get(element, "benchmark");
    const assay_json *metric = assay_json_get(element, "metric");
    note_runner(element, &out->run);
    const char *pass = pass_timed_by(text(metric, "name"), text(benchmark, "dtype"));
    bool trains = strcmp(text(benchmark, "mode"), "training") == 0;
    if (!pass)
        return ASSAY_OK;
    struct assay_result *row = assay_results_add(out);
    if (!row || !set_subject(row, benchmark, assay_json_get(element, "model")) ||
        (trains && !set_pass(row, pass)))
        return ASSAY_ERR_NOMEM;
    return set_values(row, assay_json_get(metric, "benchmark_values"));
}

/* ---- all of them ---------------------------------------------------------------------------- */

static const struct {
    const char *name, *must; /* a key that every element has */
    enum assay_status (*read)(const assay_json *element, struct assay_results *out);
    bool means, no_intervals;
} arrays[] = {
    {"comprehensive", "time_ms", read_comprehensive, false, true},
    {"kobench-json", "latency_ms", read_kobench, true, true},
    {"pytorch", "metric", read_pytorch, false, false},
};

static enum assay_status bad_element(const char *where, int64_t i, const char *must,
                                     struct assay_error *err)
{
    char place[300];
    snprintf(place, sizeof place, "%.250s: [%lld]", where, (long long)i);
    return assay_error_set(err, ASSAY_ERR_CORRUPT, place, "is no result: it has no \"%s\"", must);
}

enum assay_status assay_results_read_array(const char *format, const assay_json *json,
                                           const char *where, struct assay_results *out,
                                           struct assay_error *err)
{
    size_t kind = 0;
    while (kind + 1 < sizeof arrays / sizeof arrays[0] && strcmp(arrays[kind].name, format) != 0)
        kind++;
    out->means = arrays[kind].means;
    out->no_intervals = arrays[kind].no_intervals;
    if (!assay_json_is_array(json))
        return assay_error_set(err, ASSAY_ERR_CORRUPT, where, "is no array of results");
    for (int64_t i = 0; i < assay_json_count(json); i++) {
        const assay_json *element = assay_json_at(json, i);
        if (!assay_json_get(element, arrays[kind].must))
            return bad_element(where, i, arrays[kind].must, err);
        if (arrays[kind].read(element, out) != ASSAY_OK)
            return assay_error_nomem(err);
    }
    return ASSAY_OK;
}
