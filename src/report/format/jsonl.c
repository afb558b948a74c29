/* jsonl.c: one JSON value a line: first {"format": 1, "run": {…}}, then each record. */
#include "report/report_sink.h"

struct state {
    struct assay_sink sink;
};

static void jsonl_begin(void *state, const struct assay_sink *sink,
                        const struct assay_report_style *style, const struct assay_run_info *run)
{
    (void)style;
    struct state *s = state;
    s->sink = *sink;
    assay_json *line = assay_json_object();
    assay_json_put_int(line, "format", ASSAY_RECORD_FORMAT);
    assay_json_put(line, "run", assay_run_info_to_json(run));
    assay_sink_json(sink, line, 0);
    assay_sink_put(sink, "\n");
}

static void jsonl_group(void *state, const struct assay_record *records, int64_t n)
{
    struct state *s = state;
    for (int64_t i = 0; i < n; i++) {
        assay_sink_json(&s->sink, assay_record_to_json(&records[i]), 0);
        assay_sink_put(&s->sink, "\n");
    }
}

static void jsonl_end(void *state) { (void)state; }

const struct assay_report_format assay_report_jsonl = {
    .name = "jsonl",
    .extension = "jsonl",
    .summary = "everything, one JSON object a line: the run, then each record",
    .state_bytes = sizeof(struct state),
    .begin = jsonl_begin,
    .group = jsonl_group,
    .end = jsonl_end,
};
