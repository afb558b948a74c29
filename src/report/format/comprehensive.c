/* comprehensive.c: the JSON array of the comprehensive benchmark, so that scripts made for
 * it go on working: one object for each variant that is right and was timed, with that benchmark's
 * ten members and, behind them, two of assay's own: which op it is, because both losses are "Loss"
 * there, and the mean time. Times are hot where that was measured, else cold; 1 MB is 2^20 bytes;
 * gpu_efficiency is the percentage of this device's measured ceiling, null where none is known. */
#include "report/report_sink.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct state {
    struct assay_sink sink;
    bool any;
};

static void put_axis(assay_json *object, const char *key, const struct assay_record *record,
                     const char *axis)
{
    for (int32_t i = 0; i < record->n_axes; i++)
        if (strcmp(record->axis_names[i], axis) == 0) {
            assay_json_put_int(object, key, record->axes[i]);
            return;
        }
    assay_json_put_double(object, key, (double)NAN); /* null: the op has no such axis */
}

/* The names that its scripts filter by. */
static const char *operation_of(const struct assay_record *record)
{
    bool loss = strcmp(record->op, "mse") == 0 || strcmp(record->op, "cross_entropy") == 0;
    return loss ? "Loss" : record->title;
}

static const char *implementation_of(const struct assay_record *record)
{
    return strcmp(record->implementation, "cuda") == 0 ? "CUDA" : record->implementation;
}

static assay_json *to_json(const struct assay_record *record, const struct assay_measurement *m)
{
    double time_ms = m->time.median / 1e6;
    assay_json *object = assay_json_object();
    assay_json_put_string(object, "operation", operation_of(record));
    char variant[112]; /* "native", or "native/int8wo" where variants differ in their recipe too */
    snprintf(variant, sizeof variant, "%s%s%s", implementation_of(record),
             record->recipe[0] ? "/" : "", record->recipe);
    assay_json_put_string(object, "implementation", variant);
    put_axis(object, "batch_size", record, "batch");
    put_axis(object, "sequence_length", record, "seq");
    put_axis(object, "tensor_dimension", record, "dim");
    assay_json_put_double(object, "time_ms", time_ms);
    assay_json_put_double(object, "memory_mb", record->peak_bytes / (1 << 20));
    assay_json_put_double(object, "inference_speed", 1000 / time_ms);
    assay_json_put_double(object, "gpu_efficiency",
                          m->ceiling_ns > 0 ? 100 * m->efficiency : (double)NAN);
    assay_json_put_double(object, "throughput_gbps", m->bytes_per_s / 1e9);
    assay_json_put_string(object, "op", record->op);
    assay_json_put_double(object, "time_mean_ms", m->time.mean / 1e6);
    return object;
}

static void comprehensive_begin(void *state, const struct assay_sink *sink,
                                const struct assay_report_style *style,
                                const struct assay_run_info *run)
{
    (void)style;
    (void)run;
    struct state *s = state;
    s->sink = *sink;
    assay_sink_put(sink, "[");
}

static void comprehensive_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    for (int64_t i = 0; i < n; i++) {
        const struct assay_measurement *hot = &records[i].states[ASSAY_CACHE_HOT];
        const struct assay_measurement *m =
            hot->measured ? hot : &records[i].states[ASSAY_CACHE_COLD];
        if (records[i].outcome != ASSAY_OUTCOME_OK || !m->measured)
            continue;
        assay_sink_put(&s->sink, s->any ? ",\n  " : "\n  ");
        assay_sink_json(&s->sink, to_json(&records[i], m), 2);
        s->any = true;
    }
}

static void comprehensive_end(void *state)
{
    struct state *s = state;
    assay_sink_put(&s->sink, s->any ? "\n]\n" : "]\n");
}

const struct assay_report_format assay_report_comprehensive = {
    .name = "comprehensive",
    .extension = NULL, /* .json means the format of that name */
    .summary = "the JSON array of the comprehensive op benchmark: time_ms, memory_mb, …",
    .state_bytes = sizeof(struct state),
    .begin = comprehensive_begin,
    .group = comprehensive_group,
    .end = comprehensive_end,
};
