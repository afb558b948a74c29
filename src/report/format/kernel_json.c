/* kernel_json.c: results as `kernels benchmark` writes them, with what assay knows beside them:
 * {"results": [{…}, …], "machineInfo": {…}, "kernelCommitSha": …}. docs/protocol.md says what the
 * members mean. One element for each workload, by name, with its hot figures where it has any; what
 * was measured cold as well is in its member `cold`. */
#include "report/report_bouts.h"
#include "report/report_sink.h"

#include "tensor/dtype.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
    struct assay_sink sink;
    struct assay_bouts bouts;
};

static assay_json *null(void) { return assay_json_from_double((double)NAN); }

static assay_json *text_or_null(const char *text)
{
    return text[0] ? assay_json_from_string(text) : null();
}

/* As there to four places; what is too short for them has four digits. */
static void put_ms(assay_json *o, const char *key, double ns)
{
    char text[64];
    snprintf(text, sizeof text, "%.*f", assay_bout_decimals(ns), ns / 1e6);
    assay_json_put_double(o, key, isfinite(ns) ? strtod(text, NULL) : ns);
}

static assay_json *times(const struct assay_measurement *m)
{
    if (!m)
        return null();
    const struct assay_summary *t = &m->time;
    assay_json *o = assay_json_object();
    put_ms(o, "mean_ms", t->mean);
    put_ms(o, "std_ms", t->std);
    put_ms(o, "min_ms", t->min);
    put_ms(o, "max_ms", t->max);
    put_ms(o, "q1_ms", t->q1);
    put_ms(o, "q3_ms", t->q3);
    put_ms(o, "iqr_ms", t->iqr);
    assay_json_put_int(o, "outliers", t->outliers);
    assay_json_put_int(o, "iterations", t->n);
    put_ms(o, "median_ms", t->median);
    put_ms(o, "ci_low_ms", t->median_ci.lo);
    put_ms(o, "ci_high_ms", t->median_ci.hi);
    return o;
}

/* true, false, or null where it was not verified. */
static assay_json *verified(const struct assay_record *record)
{
    if (record->outcome == ASSAY_OUTCOME_MISMATCH)
        return assay_json_from_bool(false);
    return record->outcome == ASSAY_OUTCOME_OK && record->verification.done
               ? assay_json_from_bool(true)
               : null();
}

static assay_json *speedup(const struct assay_bout *bout, const struct assay_record *rival)
{
    struct assay_ratio ratio;
    if (!rival || !assay_bout_ratio(bout, rival, &ratio))
        return null();
    assay_json *o = assay_json_object();
    assay_json_put_double(o, "ratio", ratio.ratio);
    assay_json_put_double(o, "low", ratio.ci.lo);
    assay_json_put_double(o, "high", ratio.ci.hi);
    assay_json_put_bool(o, "significant", ratio.significant);
    assay_json_put_double(o, "smallestVisible", ratio.smallest_visible);
    return o;
}

static void put_outcome(assay_json *o, const struct assay_record *record)
{
    assay_json_put_string(o, "outcome", assay_outcome_name(record->outcome));
    assay_json_put(o, "reason", text_or_null(record->reason));
}

static void put_ceiling(assay_json *o, const struct assay_measurement *m)
{
    bool known = m && m->ceiling_ns > 0;
    assay_json_put(o, "ceilingPercent",
                   known ? assay_json_from_double(100 * m->efficiency) : null());
    assay_json_put(o, "ceilingBound", known ? text_or_null(m->bound) : null());
}

static assay_json *rivals(const struct assay_bouts *bouts, const struct assay_bout *bout)
{
    assay_json *list = assay_json_array();
    const struct assay_record *rival = NULL;
    while ((rival = assay_bout_rival(bouts, bout, rival))) {
        assay_json *o = assay_json_object();
        assay_json_put_string(o, "implementation", rival->implementation);
        assay_json_put_string(o, "kernel", rival->kernel);
        assay_json_put(o, "timingResults", times(assay_bout_figures(bout, rival)));
        assay_json_put(o, "verified", verified(rival));
        assay_json_put(o, "speedup", speedup(bout, rival));
        put_outcome(o, rival);
        assay_json_append(list, o);
    }
    return list;
}

/* What depends on the cache state. */
static void put_comparison(assay_json *o, const struct assay_bouts *bouts,
                           const struct assay_bout *bout)
{
    const struct assay_record *reference = assay_bout_reference(bouts, bout);
    if (reference) {
        assay_json_put_string(o, "reference", reference->implementation);
        assay_json_put(o, "refTimingResults", times(assay_bout_figures(bout, reference)));
    }
    assay_json_put(o, "speedup", speedup(bout, reference));
    put_ceiling(o, bout->m);
    if (!reference || !assay_cell_is_workload(bout->kernel)) /* else the reference is all of them */
        assay_json_put(o, "rivals", rivals(bouts, bout));
}

/* "SiluWorkloads.large" */
static struct assay_cell workload_of(const struct assay_bout *bout)
{
    struct assay_bout plain = *bout;
    plain.state = ASSAY_CACHE_HOT; /* its name without " (cold)" */
    struct assay_cell cell = assay_bout_benchmark(bout->kernel);
    assay_cell_add(&cell, ".%s", assay_bout_workload(&plain).text);
    return cell;
}

static void put_workload(assay_json *o, const struct assay_bout *bout)
{
    assay_json_put_string(o, "workload", workload_of(bout).text);
    assay_json_put_string(o, "benchmark", assay_bout_benchmark(bout->kernel).text);
}

static assay_json *result(const struct assay_bouts *bouts, const struct assay_bout *bout)
{
    const struct assay_record *kernel = bout->kernel;
    assay_json *o = assay_json_object();
    put_workload(o, bout);
    assay_json_put(o, "timingResults", times(bout->m));
    assay_json_put(o, "verified", verified(kernel));
    put_outcome(o, kernel);
    assay_json_put_string(o, "implementation", kernel->implementation);
    assay_json_put_string(o, "kernel", kernel->kernel);
    assay_json_put_string(o, "device", kernel->device);
    if (kernel->note[0])
        assay_json_put_string(o, "note", kernel->note);
    if (kernel->printed[0])
        assay_json_put_string(o, "printed", kernel->printed);
    if (!assay_cell_is_workload(kernel)) /* a workload's tensors have each their own */
        assay_json_put_string(o, "dtype", assay_dtype_name(kernel->dtype));
    assay_json_put(o, "cache",
                   bout->m ? assay_json_from_string(assay_cache_state_name(bout->state)) : null());
    assay_json_put_bool(o, "interrupted", kernel->interrupted);
    put_comparison(o, bouts, bout);
    return o;
}

static assay_json *cold(const struct assay_bouts *bouts, const struct assay_bout *bout)
{
    assay_json *o = assay_json_object();
    assay_json_put(o, "timingResults", times(bout->m));
    put_comparison(o, bouts, bout);
    return o;
}

/* A workload in the order of names; those of the same name in the order they ran. */
struct listed {
    struct assay_bout bout; /* its first: hot, where it has two */
    struct assay_cell name;
    int64_t at;
};

static bool is_before(const struct listed *a, const struct listed *b)
{
    int order = strcmp(a->name.text, b->name.text);
    return order < 0 || (order == 0 && a->at < b->at);
}

/* The next after *last, or the first where `last` has no kernel yet. */
static bool next_by_name(const struct assay_bouts *bouts, struct listed *last)
{
    struct listed candidate = {0}, best = {0};
    const struct assay_record *previous = NULL;
    while (assay_bouts_next(bouts, &candidate.bout)) {
        if (candidate.bout.kernel == previous)
            continue;
        previous = candidate.bout.kernel;
        candidate.name = workload_of(&candidate.bout);
        candidate.at++;
        if ((!last->bout.kernel || is_before(last, &candidate)) &&
            (!best.bout.kernel || is_before(&candidate, &best)))
            best = candidate;
    }
    *last = best;
    return best.bout.kernel;
}

static void write_results(const struct state *s)
{
    struct listed at = {0};
    const char *separator = "\n    ";
    for (; next_by_name(&s->bouts, &at); separator = ",\n    ") {
        struct assay_bout second = at.bout;
        assay_json *o = result(&s->bouts, &at.bout);
        if (assay_bouts_next(&s->bouts, &second) && second.kernel == at.bout.kernel)
            assay_json_put(o, "cold", cold(&s->bouts, &second));
        assay_sink_put(&s->sink, separator);
        assay_sink_json(&s->sink, o, 4);
    }
    if (s->bouts.failed) { /* a null marks what is missing */
        assay_sink_format(&s->sink, "%snull", s->bouts.n ? ",\n    " : "\n    ");
        assay_sink_fail(&s->sink);
    }
    assay_sink_put(&s->sink, s->bouts.n || s->bouts.failed ? "\n  ]" : "]");
}

static void put_or_na(assay_json *o, const char *key, const char *text)
{
    assay_json_put_string(o, key, text[0] ? text : "N/A");
}

/* All of it text, as there. */
static assay_json *machine(const struct assay_run_info *run)
{
    assay_json *o = assay_json_object();
    char backend[64], cores[16] = "";
    snprintf(backend, sizeof backend, "%.*s", (int)strcspn(run->device, ":"), run->device);
    for (char *at = backend; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    if (!assay_run_on_host(run) && run->pytorch_cuda[0])
        snprintf(backend + strlen(backend), sizeof backend - strlen(backend), " %s",
                 run->pytorch_cuda);
    if (run->gpu_cores > 0)
        snprintf(cores, sizeof cores, "%d", run->gpu_cores);
    put_or_na(o, "gpu", run->gpu_name);
    put_or_na(o, "backend", backend);
    put_or_na(o, "pytorchVersion", run->pytorch); /* empty: none is used */
    put_or_na(o, "os", run->host_os);
    put_or_na(o, "cpu", run->cpu_name);
    put_or_na(o, "gpuCores", cores);
    return o;
}

static void write_member(const struct state *s, const char *name, assay_json *value)
{
    assay_sink_format(&s->sink, ",\n  \"%s\": ", name);
    assay_sink_json(&s->sink, value, 2);
}

/* The commit without the mark of changed files. */
static void write_commit(const struct state *s)
{
    char commit[sizeof s->bouts.run.kernel_commit];
    memcpy(commit, s->bouts.run.kernel_commit, sizeof commit);
    char *changed = strchr(commit, '+');
    if (changed)
        *changed = '\0';
    write_member(s, "kernelCommitSha", text_or_null(commit));
    write_member(s, "kernelChanged", assay_json_from_bool(changed));
}

/* The folder that all files are from; the files themselves where they lie elsewhere. */
static void write_path(const struct state *s)
{
    static const char folder[] = "benchmarks/";
    const char *files = s->bouts.run.benchmark_path;
    bool all = files[0];
    for (const char *at = files; all && *at;) {
        all = strncmp(at, folder, sizeof folder - 1) == 0;
        const char *comma = strstr(at, ", ");
        at = comma ? comma + 2 : at + strlen(at);
    }
    write_member(s, "benchmarkScriptPath",
                 all ? assay_json_from_string("benchmarks") : text_or_null(files));
}

static void kernel_json_begin(void *state, const struct assay_sink *sink,
                              const struct assay_report_style *style,
                              const struct assay_run_info *run)
{
    (void)style;
    struct state *s = state;
    s->sink = *sink;
    assay_bouts_begin(&s->bouts, run);
}

static void kernel_json_group(void *state, const struct assay_record *records, int64_t n)
{
    assay_bouts_add(&((struct state *)state)->bouts, records, n);
}

static void kernel_json_end(void *state)
{
    const struct state *s = state;
    const struct assay_run_info *run = &s->bouts.run;
    assay_sink_put(&s->sink, "{\n  \"results\": [");
    write_results(s);
    write_member(s, "machineInfo", machine(run));
    write_commit(s);
    write_path(s);
    write_member(s, "benchmarkScriptSha", text_or_null(run->benchmark_sha));
    write_member(s, "benchmarkFiles", text_or_null(run->benchmark_path));
    write_member(s, "repository", text_or_null(run->repository));
    write_member(s, "device", assay_json_from_string(run->device));
    write_member(s, "threads", assay_json_from_int(run->threads));
    write_member(s, "started", text_or_null(run->started));
    write_member(s, "runId", text_or_null(run->id));
    write_member(s, "assayVersion", text_or_null(run->version));
    assay_sink_put(&s->sink, "\n}\n");
}

static void kernel_json_fini(void *state) { assay_bouts_fini(&((struct state *)state)->bouts); }

const struct assay_report_format assay_report_kernel_json = {
    .name = "kernel-json",
    .extension = NULL, /* .json means the format of that name */
    .summary = "results of a kernel's repository as `kernels benchmark` writes them, and more",
    .state_bytes = sizeof(struct state),
    .begin = kernel_json_begin,
    .group = kernel_json_group,
    .end = kernel_json_end,
    .fini = kernel_json_fini,
};
