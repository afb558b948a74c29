/* case_report.c: cases as JSON and as a table. */
#include "api/session.h"

#include "report/report_kobench.h"
#include "report/report_line.h"
#include "report/report_sink.h"

#include <math.h>
#include <stdio.h>

enum { COLUMNS = 12, SPEEDUP = COLUMNS - 1, GAP = 2 };

/* KoBench's, with the median behind the mean; the last only where cases were compared. */
static const char *const headings[COLUMNS] = {"name",      "mean_ms",   "median_ms", "std_ms",
                                              "idle_vram", "peak_vram", "workspace", "MACs",
                                              "MACS",      "FLOPs",     "FLOPS",     "speedup"};

void assay_write_file(void *file, const char *bytes, size_t length)
{
    if (file)
        (void)fwrite(bytes, 1, length, file);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static assay_json *metadata_of(const struct assay_case_result *r)
{
    assay_json *object = assay_json_object();
    for (int32_t i = 0; i < r->n_metadata; i++)
        assay_json_put(object, r->metadata[i].key,
                       r->metadata[i].text ? assay_json_from_string(r->metadata[i].text)
                                           : assay_json_from_number(r->metadata[i].number));
    return object;
}

static assay_json *case_json(const struct assay_case_result *r)
{
    assay_json *o = assay_json_object();
    assay_json_put_string(o, "name", r->name);
    assay_json_put_int(o, "iters", r->iters);
    assay_json_put_int(o, "warmup", r->warmup);
    assay_json_put_double(o, "latency_ms", r->latency_ms);
    assay_json_put_double(o, "latency_std_ms", r->latency_std_ms);
    assay_json_put_string(o, "device", r->device);
    assay_json_put_string(o, "dtype", r->dtype);
    assay_json_put_double(o, "idle_vram_mb", r->idle_vram_mb);
    assay_json_put_double(o, "peak_vram_mb", r->peak_vram_mb);
    assay_json_put_double(o, "workspace_vram_mb", r->workspace_vram_mb);
    assay_json_put(o, "macs", assay_json_from_number(r->macs));
    assay_json_put_double(o, "macs_rate", r->macs_rate);
    assay_json_put(o, "flops", assay_json_from_number(r->flops));
    assay_json_put_double(o, "flops_rate", r->flops_rate);
    assay_json_put(o, "metadata", metadata_of(r));
    assay_json_put_string(o, "status", r->status);
    assay_json_put_string(o, "reason", r->reason);
    assay_json_put_int(o, "samples", r->samples);
    assay_json_put_double(o, "median_ms", r->median_ms);
    assay_json_put_double(o, "median_lo_ms", r->median_lo_ms);
    assay_json_put_double(o, "median_hi_ms", r->median_hi_ms);
    assay_json_put_double(o, "q1_ms", r->q1_ms);
    assay_json_put_double(o, "q3_ms", r->q3_ms);
    assay_json_put_double(o, "min_ms", r->min_ms);
    assay_json_put_double(o, "max_ms", r->max_ms);
    if (r->speedup > 0) {
        assay_json_put_double(o, "speedup", r->speedup);
        assay_json_put_double(o, "speedup_lo", r->speedup_lo);
        assay_json_put_double(o, "speedup_hi", r->speedup_hi);
        assay_json_put_bool(o, "significant", r->significant != 0);
    }
    return o;
}

static enum assay_status written(bool incomplete, struct assay_error *err)
{
    return incomplete ? assay_error_nomem(err) : ASSAY_OK;
}

enum assay_status assay_case_result_json(const struct assay_case_result *result,
                                         assay_write_fn write, void *user, struct assay_error *err)
{
    if (!result || !write)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "no result, or nowhere to write");
    bool incomplete = false;
    struct assay_sink sink = {user, write, &incomplete};
    assay_sink_json(&sink, case_json(result), 0);
    assay_sink_put(&sink, "\n");
    return written(incomplete, err);
}

/* The session, where there is also somewhere to write. */
static const struct assay_open_session *writable(const assay_session *handle, assay_write_fn write,
                                                 struct assay_error *err)
{
    if (!write) {
        assay_error_set(err, ASSAY_ERR_INVALID, NULL, "nowhere to write: NULL");
        return NULL;
    }
    return assay_session_find(handle, err);
}

enum assay_status assay_session_cases_json(const assay_session *handle, assay_write_fn write,
                                           void *user, struct assay_error *err)
{
    const struct assay_open_session *session = writable(handle, write, err);
    if (!session)
        return ASSAY_ERR_INVALID;
    bool incomplete = false;
    struct assay_sink sink = {user, write, &incomplete};
    for (int64_t i = 0; i < session->n_cases; i++) {
        assay_sink_put(&sink, i == 0 ? "[\n  " : ",\n  ");
        assay_sink_json(&sink, case_json(session->cases[i]), 2);
    }
    assay_sink_put(&sink, session->n_cases ? "\n]\n" : "[]\n");
    return written(incomplete, err);
}

/* ---- the table ------------------------------------------------------------------------------- */

struct row {
    struct assay_cell cells[COLUMNS]; /* the name is not copied */
};

static struct assay_cell time_cell(double ms)
{
    struct assay_cell cell = {"n/a"};
    if (!isnan(ms))
        snprintf(cell.text, sizeof cell.text, "%.4f", ms);
    return cell;
}

/* What a result has kept of a comparison: what it could have shown is taken from the 95 % interval,
 * or unknown where there were too few rounds. */
static struct assay_cell speedup_cell(const struct assay_case_result *r)
{
    enum { WIDE = 40 };
    struct assay_cell none = {""};
    struct assay_ratio ratio = {.n = r->samples,
                                .ratio = r->speedup,
                                .ci = {r->speedup_lo, r->speedup_hi},
                                .significant = r->significant != 0,
                                .smallest_visible = (double)INFINITY};
    if (r->samples >= ASSAY_STATS_FEWEST_ROUNDS)
        ratio.smallest_visible = fmax(fabs(r->speedup_hi - 1), fabs(1 - r->speedup_lo));
    return r->speedup > 0 ? assay_cell_interval(&ratio, WIDE, false) : none;
}

void assay_case_result_verdict(const struct assay_case_result *result, char *out, size_t size)
{
    if (out && size > 0)
        snprintf(out, size, "%s", result ? speedup_cell(result).text : "");
}

static void fill_row(const struct assay_case_result *r, struct row *row)
{
    static const double MB = 1 << 20;
    row->cells[1] = time_cell(r->latency_ms);
    row->cells[2] = time_cell(r->median_ms);
    row->cells[3] = time_cell(r->latency_std_ms);
    row->cells[4] = assay_kobench_memory(r->idle_vram_mb * MB);
    row->cells[5] = assay_kobench_memory(r->peak_vram_mb * MB);
    row->cells[6] = assay_kobench_memory(r->workspace_vram_mb * MB);
    row->cells[7] = assay_kobench_count(r->macs, "");
    row->cells[8] = assay_kobench_count(r->macs_rate, "/s");
    row->cells[9] = assay_kobench_count(r->flops, "");
    row->cells[10] = assay_kobench_count(r->flops_rate, "/s");
    row->cells[SPEEDUP] = speedup_cell(r);
}

static void measure_widths(const struct assay_open_session *session, int *widths)
{
    struct row row;
    for (int c = 0; c < COLUMNS; c++)
        widths[c] = c == SPEEDUP ? 0 : assay_line_columns_of(headings[c], false);
    for (int64_t i = 0; i < session->n_cases; i++) {
        fill_row(session->cases[i], &row);
        for (int c = 0; c < COLUMNS; c++) {
            int wide =
                assay_line_columns_of(c ? row.cells[c].text : session->cases[i]->name, false);
            widths[c] = wide > widths[c] ? wide : widths[c];
        }
    }
    int least = assay_line_columns_of(headings[SPEEDUP], false);
    if (widths[SPEEDUP] && widths[SPEEDUP] < least)
        widths[SPEEDUP] = least;
}

static void put_row(struct assay_line *line, const struct assay_sink *sink, const int *widths,
                    const char *name, const struct row *row)
{
    assay_line_left(line, name, widths[0], ASSAY_INK_PLAIN);
    for (int c = 1; c < SPEEDUP; c++)
        assay_line_right(line, row ? row->cells[c].text : headings[c], GAP + widths[c],
                         ASSAY_INK_PLAIN);
    if (widths[SPEEDUP]) {
        assay_line_to(line, line->columns + GAP);
        assay_line_left(line, row ? row->cells[SPEEDUP].text : headings[SPEEDUP], widths[SPEEDUP],
                        ASSAY_INK_PLAIN);
    }
    assay_line_flush(line, sink);
}

enum assay_status assay_session_cases_table(const assay_session *handle, assay_write_fn write,
                                            void *user, struct assay_error *err)
{
    const struct assay_open_session *session = writable(handle, write, err);
    if (!session)
        return ASSAY_ERR_INVALID;
    struct assay_sink sink = {user, write, NULL}; /* lines need no memory */
    struct assay_report_style style = {.width = 100};
    struct assay_line line;
    struct row row;
    int widths[COLUMNS];
    assay_line_init(&line, &style);
    measure_widths(session, widths);
    put_row(&line, &sink, widths, headings[0], NULL);
    for (int64_t i = 0; i < session->n_cases; i++) {
        const struct assay_case_result *r = session->cases[i];
        fill_row(r, &row);
        put_row(&line, &sink, widths, r->name, &row);
        if (r->reason && r->reason[0]) {
            assay_line_to(&line, GAP);
            assay_line_put(&line, r->status, 200, ASSAY_INK_PLAIN);
            assay_line_put(&line, ": ", GAP, ASSAY_INK_PLAIN);
            assay_line_put(&line, r->reason, 200, ASSAY_INK_PLAIN);
            assay_line_flush(&line, &sink);
        }
    }
    return ASSAY_OK;
}
