/* write_data.c: a comparison as JSON and as CSV. docs/compare.md says what the members mean. */
#include "compare/compare.h"

#include "report/report_sink.h"

#include <math.h>

/* ---- JSON ----------------------------------------------------------------------------------- */

static assay_json *null(void) { return assay_json_from_double((double)NAN); }

static assay_json *time_json(const struct assay_result *row, int time)
{
    if (!row || !row->times[time].there)
        return null();
    const struct assay_result_time *t = &row->times[time];
    assay_json *o = assay_json_object();
    assay_json_put_double(o, "time_ns", t->time.median);
    assay_json_put_double(o, "low_ns", t->has_interval ? t->time.ci.lo : (double)NAN);
    assay_json_put_double(o, "high_ns", t->has_interval ? t->time.ci.hi : (double)NAN);
    assay_json_put(o, "samples", t->time.n > 0 ? assay_json_from_int(t->time.n) : null());
    assay_json_put_int(o, "repeats", row->repeats);
    return o;
}

static assay_json *ratio_json(const struct assay_compare_row *row)
{
    if (!row->has_ratio)
        return null();
    assay_json *o = assay_json_object();
    double none = (double)NAN;
    assay_json_put_double(o, "ratio", row->ratio.ratio);
    assay_json_put_double(o, "low", row->has_interval ? row->ratio.ci.lo : none);
    assay_json_put_double(o, "high", row->has_interval ? row->ratio.ci.hi : none);
    assay_json_put_double(o, "smallest_visible",
                          row->has_interval ? row->ratio.smallest_visible : none);
    assay_json_put_double(o, "machine", row->drift > 0 ? row->drift : none);
    return o;
}

static assay_json *row_json(const struct assay_compare_row *row)
{
    const struct assay_result *r = row->new_row ? row->new_row : row->old_row;
    assay_json *o = assay_json_object();
    for (int i = 0; i < ASSAY_RESULT_FIELDS; i++)
        assay_json_put_string(o, assay_result_field_name((enum assay_result_field)i), r->fields[i]);
    assay_json_put_string(o, "cache", assay_result_time_name(row->time));
    assay_json_put_string(o, "verdict", assay_compare_verdict_name(row->verdict));
    assay_json_put(o, "old", time_json(row->old_row, row->time));
    assay_json_put(o, "new", time_json(row->new_row, row->time));
    assay_json_put(o, "change", ratio_json(row));
    assay_json_put_bool(o, "fails", row->fails);
    assay_json_put_string(o, "note", row->note);
    return o;
}

static assay_json *side_json(const struct assay_results *results)
{
    assay_json *o = assay_json_object();
    assay_json_put_string(o, "source", results->source);
    assay_json_put_string(o, "compared_as", results->format);
    assay_json_put_int(o, "groups_missing", results->groups_missing);
    assay_json_put(o, "run", assay_run_info_to_json(&results->run));
    return o;
}

static assay_json *summary_json(const struct assay_comparison *c)
{
    assay_json *o = assay_json_object();
    for (int i = 0; i < ASSAY_COMPARE_VERDICTS; i++)
        assay_json_put_int(o, assay_compare_verdict_name((enum assay_compare_verdict)i),
                           c->counts[i]);
    assay_json_put_int(o, "not measured", c->unmeasured);
    assay_json_put_int(o, "left out", c->ambiguous_old + c->ambiguous_new);
    assay_json_put_double(o, "typical_ratio", c->n_ratios ? c->typical : (double)NAN);
    assay_json_put_double(o, "allowed", c->allowed >= 0 ? c->allowed : (double)NAN);
    assay_json_put_int(o, "failing", c->failing);
    return o;
}

static assay_json *differences_json(const struct assay_strings *differences)
{
    assay_json *list = assay_json_array();
    for (int64_t i = 0; i < differences->n; i++)
        assay_json_append(list, assay_json_from_string(differences->items[i]));
    return list;
}

static void write_member(const struct assay_sink *sink, const char *before, assay_json *value)
{
    assay_sink_put(sink, before);
    assay_sink_json(sink, value, 2);
}

void assay_compare_write_json(const struct assay_comparison *comparison,
                              const struct assay_strings *differences,
                              const struct assay_sink *sink)
{
    write_member(sink, "{\n  \"old\": ", side_json(comparison->old_run));
    write_member(sink, ",\n  \"new\": ", side_json(comparison->new_run));
    write_member(sink, ",\n  \"differences\": ", differences_json(differences));
    write_member(sink, ",\n  \"summary\": ", summary_json(comparison));
    assay_sink_put(sink, ",\n  \"rows\": [");
    for (int64_t i = 0; i < comparison->n; i++) {
        assay_sink_put(sink, i ? ",\n    " : "\n    ");
        assay_sink_json(sink, row_json(&comparison->rows[i]), 4);
    }
    assay_sink_put(sink, comparison->n ? "\n  ]\n}\n" : "]\n}\n");
}

/* ---- CSV ------------------------------------------------------------------------------------ */

static void put_text(const struct assay_sink *sink, const char *text)
{
    assay_sink_put(sink, ",");
    assay_sink_csv(sink, text);
}

static void put_real(const struct assay_sink *sink, bool known, double value)
{
    assay_sink_put(sink, ",");
    if (known)
        assay_sink_csv_real(sink, value);
}

static void put_time(const struct assay_sink *sink, const struct assay_result *row, int time)
{
    static const struct assay_result_time none;
    const struct assay_result_time *t = row ? &row->times[time] : &none;
    put_real(sink, t->there, t->time.median);
    put_real(sink, t->has_interval, t->time.ci.lo);
    put_real(sink, t->has_interval, t->time.ci.hi);
    put_real(sink, t->there && t->time.n > 0, (double)t->time.n);
}

static void put_row(const struct assay_sink *sink, const struct assay_compare_row *row)
{
    const struct assay_result *r = row->new_row ? row->new_row : row->old_row;
    assay_sink_csv(sink, assay_compare_verdict_name(row->verdict));
    assay_sink_put(sink, row->fails ? ",true" : ",false");
    for (int i = 0; i < ASSAY_RESULT_FIELDS; i++)
        put_text(sink, r->fields[i]);
    put_text(sink, assay_result_time_name(row->time));
    put_time(sink, row->old_row, row->time);
    put_time(sink, row->new_row, row->time);
    put_real(sink, row->has_ratio, row->ratio.ratio);
    put_real(sink, row->has_interval, row->ratio.ci.lo);
    put_real(sink, row->has_interval, row->ratio.ci.hi);
    put_real(sink, row->has_interval, row->ratio.smallest_visible);
    put_real(sink, row->drift > 0, row->drift);
    put_text(sink, row->note);
    assay_sink_put(sink, "\n");
}

void assay_compare_write_csv(const struct assay_comparison *comparison,
                             const struct assay_sink *sink)
{
    assay_sink_put(sink, "verdict,fails");
    for (int i = 0; i < ASSAY_RESULT_FIELDS; i++)
        assay_sink_format(sink, ",%s", assay_result_field_name((enum assay_result_field)i));
    assay_sink_put(sink, ",cache,old_ns,old_lo_ns,old_hi_ns,old_samples,new_ns,new_lo_ns,"
                         "new_hi_ns,new_samples,ratio,ratio_lo,ratio_hi,smallest_visible,machine,"
                         "note\n");
    for (int64_t i = 0; i < comparison->n; i++)
        put_row(sink, &comparison->rows[i]);
}
