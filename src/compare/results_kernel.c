/* results_kernel.c: rows of the format kernel-json: of each workload the kernel, and what it was
 * compared with. A file of `kernels benchmark`, which has neither intervals nor rivals, is read as
 * far as it goes. */
#include "compare/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text(const assay_json *object, const char *key)
{
    return assay_json_string(assay_json_get(object, key), "");
}

static double ns(const assay_json *object, const char *key)
{
    return 1e6 * assay_json_double(assay_json_get(object, key), (double)NAN);
}

/* Where the median is not told, its place is taken by nothing: a mean is another figure. */
static void set_time(struct assay_result *row, int time, const assay_json *timing)
{
    if (assay_json_is_object(timing))
        assay_result_set_time(row, time, ns(timing, "median_ms"), ns(timing, "ci_low_ms"),
                              ns(timing, "ci_high_ms"),
                              assay_json_int(assay_json_get(timing, "iterations"), 0));
}

/* Older files, and those of `kernels benchmark`, only say whether it was verified. */
static enum assay_outcome outcome_of(const assay_json *result)
{
    const assay_json *verified = assay_json_get(result, "verified");
    enum assay_outcome outcome = assay_outcome_parse(text(result, "outcome"));
    if (outcome != ASSAY_OUTCOME_COUNT)
        return outcome;
    return assay_json_bool(verified, true) ? ASSAY_OUTCOME_OK : ASSAY_OUTCOME_MISMATCH;
}

struct workload {
    const assay_json *json;
    int64_t first; /* the row of the kernel itself */
    int time;      /* that its own figures are of */
};

/* "silu" of "Activation.silu". */
static const char *workload_of(const assay_json *json)
{
    const char *benchmark = text(json, "benchmark"), *workload = text(json, "workload");
    size_t length = strlen(benchmark);
    bool qualified = strncmp(workload, benchmark, length) == 0 && workload[length] == '.';
    return qualified ? workload + length + 1 : workload;
}

/* The workload's row of this implementation and kernel; a new one where there is none yet. */
static struct assay_result *row_of(const struct workload *w, struct assay_results *out,
                                   const char *implementation, const char *kernel)
{
    char name[256];
    for (int64_t i = w->first; i < out->n; i++)
        if (strcmp(out->rows[i].fields[ASSAY_RESULT_IMPLEMENTATION], implementation) == 0 &&
            strcmp(out->rows[i].fields[ASSAY_RESULT_KERNEL], kernel) == 0)
            return &out->rows[i];
    struct assay_result *row = assay_results_add(out);
    snprintf(name, sizeof name, "%.100s %.150s", text(w->json, "benchmark"), workload_of(w->json));
    if (!row || !assay_result_set(row, ASSAY_RESULT_OP, name) ||
        !assay_result_set(row, ASSAY_RESULT_DTYPE, text(w->json, "dtype")) ||
        !assay_result_set(row, ASSAY_RESULT_DEVICE, text(w->json, "device")) ||
        !assay_result_set(row, ASSAY_RESULT_IMPLEMENTATION, implementation) ||
        !assay_result_set(row, ASSAY_RESULT_KERNEL, kernel))
        return NULL;
    row->interrupted = assay_json_bool(assay_json_get(w->json, "interrupted"), false);
    return row;
}

/* What the kernel was compared with: rivals, or the author's reference alone. */
static enum assay_status add_others(const struct workload *w, const assay_json *part, int time,
                                    struct assay_results *out)
{
    const assay_json *rivals = assay_json_get(part, "rivals");
    if (!rivals && assay_json_is_object(assay_json_get(part, "refTimingResults"))) {
        struct assay_result *row = row_of(w, out, text(part, "reference"), "");
        if (!row)
            return ASSAY_ERR_NOMEM;
        set_time(row, time, assay_json_get(part, "refTimingResults"));
    }
    for (int64_t i = 0; i < assay_json_count(rivals); i++) {
        const assay_json *rival = assay_json_at(rivals, i);
        struct assay_result *row =
            row_of(w, out, text(rival, "implementation"), text(rival, "kernel"));
        if (!row || !assay_result_set_reason(row, text(rival, "reason")))
            return ASSAY_ERR_NOMEM;
        row->outcome = outcome_of(rival);
        set_time(row, time, assay_json_get(rival, "timingResults"));
    }
    return ASSAY_OK;
}

static enum assay_status add_workload(const assay_json *json, struct assay_results *out)
{
    const assay_json *cold = assay_json_get(json, "cold");
    const char *cache = text(json, "cache");
    struct workload w = {json, out->n, ASSAY_RESULT_EITHER};
    for (int i = 0; i < ASSAY_CACHE_STATES; i++)
        if (strcmp(cache, assay_cache_state_name((enum assay_cache_state)i)) == 0)
            w.time = i;
    struct assay_result *row = row_of(&w, out, text(json, "implementation"), text(json, "kernel"));
    if (!row || !assay_result_set_reason(row, text(json, "reason")))
        return ASSAY_ERR_NOMEM;
    row->outcome = outcome_of(json);
    set_time(row, w.time, assay_json_get(json, "timingResults"));
    set_time(row, ASSAY_CACHE_COLD, assay_json_get(cold, "timingResults"));
    enum assay_status status = add_others(&w, json, w.time, out);
    return status == ASSAY_OK ? add_others(&w, cold, ASSAY_CACHE_COLD, out) : status;
}

static void note_run(const assay_json *json, struct assay_run_info *run)
{
    const assay_json *machine = assay_json_get(json, "machineInfo");
    int64_t threads = assay_json_int(assay_json_get(json, "threads"), 0);
    const struct {
        char *out;
        size_t size;
        const char *text;
    } texts[] = {
        {run->id, sizeof run->id, text(json, "runId")},
        {run->version, sizeof run->version, text(json, "assayVersion")},
        {run->started, sizeof run->started, text(json, "started")},
        {run->device, sizeof run->device, text(json, "device")},
        {run->repository, sizeof run->repository, text(json, "repository")},
        {run->kernel_commit, sizeof run->kernel_commit, text(json, "kernelCommitSha")},
        {run->host_os, sizeof run->host_os, text(machine, "os")},
        {run->cpu_name, sizeof run->cpu_name, text(machine, "cpu")},
        {run->gpu_name, sizeof run->gpu_name, text(machine, "gpu")},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        snprintf(texts[i].out, texts[i].size, "%s", texts[i].text);
    run->threads = threads > 0 && threads < 1 << 20 ? (int32_t)threads : 0;
}

enum assay_status assay_results_read_kernel_json(const assay_json *json, const char *where,
                                                 struct assay_results *out, struct assay_error *err)
{
    const assay_json *results = assay_json_get(json, "results");
    if (!assay_json_is_array(results))
        return assay_error_set(err, ASSAY_ERR_CORRUPT, where, "has no array \"results\"");
    note_run(json, &out->run);
    for (int64_t i = 0; i < assay_json_count(results); i++) {
        char place[300];
        const assay_json *result = assay_json_at(results, i);
        snprintf(place, sizeof place, "%.250s: results[%lld]", where, (long long)i);
        if (!assay_json_get(result, "timingResults"))
            return assay_error_set(err, ASSAY_ERR_CORRUPT, place,
                                   "is no result: it has no \"timingResults\"");
        if (add_workload(result, out) != ASSAY_OK)
            return assay_error_nomem(err);
    }
    return ASSAY_OK;
}
