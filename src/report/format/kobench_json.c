/* kobench_json.c: results as KoBench's to_dict() has them, a JSON array: one object for each
 * variant that is right and was timed, with the members below and nothing else. Times are means,
 * hot where that was measured, else cold; 1 MB is 2^20 bytes; a count without a counter, and memory
 * that is not known, are null; so is warmup where the run warmed up until times had settled. */
#include "report/report_kobench.h"
#include "report/report_pairs.h"
#include "report/report_sink.h"

#include <math.h>

struct state {
    struct assay_sink sink;
    int64_t warmup;
    bool any;
};

static assay_json *metadata(const struct assay_record *record)
{
    struct assay_kobench_parameter parameters[ASSAY_KOBENCH_PARAMETERS];
    assay_json *object = assay_json_object();
    int32_t n = assay_kobench_parameters(record, parameters);
    for (int32_t i = 0; i < n; i++) {
        const struct assay_kobench_parameter *p = &parameters[i];
        assay_json_put(object, p->key,
                       p->text    ? assay_json_from_string(p->text)
                       : p->truth ? assay_json_from_bool(p->number != 0)
                                  : assay_json_from_number(p->number));
    }
    return object;
}

static assay_json *to_json(const struct state *s, const struct assay_record *record,
                           const struct assay_measurement *m)
{
    static const double mb = 1 << 20;
    assay_json *o = assay_json_object();
    assay_json_put_string(o, "name", assay_kobench_name(record, record->implementation).text);
    assay_json_put_int(o, "iters", m->time.n);
    assay_json_put(o, "warmup",
                   s->warmup ? assay_json_from_int(s->warmup)
                             : assay_json_from_double((double)NAN));
    assay_json_put_double(o, "latency_ms", m->time.mean / 1e6);
    assay_json_put_double(o, "latency_std_ms", m->time.std / 1e6);
    assay_json_put_string(o, "device", record->device);
    assay_json_put_string(o, "dtype", assay_kobench_dtype(record->dtype));
    assay_json_put_double(o, "idle_vram_mb", record->idle_bytes / mb);
    assay_json_put_double(o, "peak_vram_mb", record->peak_bytes / mb);
    assay_json_put_double(o, "workspace_vram_mb", record->workspace_bytes / mb);
    assay_json_put(o, "macs", assay_json_from_number(record->macs));
    assay_json_put_double(o, "macs_rate", assay_kobench_rate(record->macs, m));
    assay_json_put(o, "flops", assay_json_from_number(record->counted_flops));
    assay_json_put_double(o, "flops_rate", assay_kobench_rate(record->counted_flops, m));
    assay_json_put(o, "metadata", metadata(record));
    return o;
}

static void kobench_json_begin(void *state, const struct assay_sink *sink,
                               const struct assay_report_style *style,
                               const struct assay_run_info *run)
{
    (void)style;
    struct state *s = state;
    s->sink = *sink;
    s->warmup = run->warmup;
    assay_sink_put(sink, "[");
}

static void kobench_json_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    for (int64_t i = 0; i < n; i++) {
        const struct assay_measurement *m = assay_pair_figures(&records[i]);
        if (!m)
            continue;
        assay_sink_put(&s->sink, s->any ? ",\n  " : "\n  ");
        assay_sink_json(&s->sink, to_json(s, &records[i], m), 2);
        s->any = true;
    }
}

static void kobench_json_end(void *state)
{
    struct state *s = state;
    assay_sink_put(&s->sink, s->any ? "\n]\n" : "]\n");
}

const struct assay_report_format assay_report_kobench_json = {
    .name = "kobench-json",
    .extension = NULL, /* .json means the format of that name */
    .summary = "KoBench's results as a JSON array: latency_ms, macs_rate, peak_vram_mb, …",
    .state_bytes = sizeof(struct state),
    .begin = kobench_json_begin,
    .group = kobench_json_group,
    .end = kobench_json_end,
};
