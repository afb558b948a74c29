/* json.c: {"format": 1, "run": {…}, "records": [{…}, …]}, indented; behind a sweep of recipes also
 * "breakevens" (report_breakeven.h). record.h says what the members mean,
 * share/schema/assay_report_v1.schema.json what there is. */
#include "report/report_breakeven.h"
#include "report/report_sink.h"

struct state {
    struct assay_sink sink;
    bool any;
    struct assay_breakevens breakevens;
};

static void json_begin(void *state, const struct assay_sink *sink,
                       const struct assay_report_style *style, const struct assay_run_info *run)
{
    (void)style;
    struct state *s = state;
    s->sink = *sink;
    assay_sink_format(sink, "{\n  \"format\": %d,\n  \"run\": ", ASSAY_RECORD_FORMAT);
    assay_sink_json(sink, assay_run_info_to_json(run), 2);
    assay_sink_put(sink, ",\n  \"records\": [");
}

static void json_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    assay_breakevens_add(&s->breakevens, records, n);
    for (int64_t i = 0; i < n; i++) {
        assay_sink_put(&s->sink, s->any ? ",\n    " : "\n    ");
        assay_sink_json(&s->sink, assay_record_to_json(&records[i]), 4);
        s->any = true;
    }
}

static void json_end(void *state)
{
    struct state *s = state;
    assay_sink_put(&s->sink, s->any ? "\n  ]" : "]");
    assay_breakevens_find(&s->breakevens);
    if (s->breakevens.failed)
        assay_sink_fail(&s->sink);
    if (s->breakevens.n > 0) {
        assay_sink_put(&s->sink, ",\n  \"breakevens\": ");
        assay_sink_json(&s->sink, assay_breakevens_to_json(&s->breakevens), 2);
    }
    assay_sink_put(&s->sink, "\n}\n");
}

static void json_fini(void *state) { assay_breakevens_fini(&((struct state *)state)->breakevens); }

const struct assay_report_format assay_report_json = {
    .name = "json",
    .extension = "json",
    .summary = "everything, as one JSON object",
    .state_bytes = sizeof(struct state),
    .begin = json_begin,
    .group = json_group,
    .end = json_end,
    .fini = json_fini,
};
