#include "report/report_cells.h"

#include "op/op_name.h"
#include "report/report_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void assay_cell_add(struct assay_cell *cell, const char *fmt, ...)
{
    size_t length = strlen(cell->text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(cell->text + length, sizeof cell->text - length, fmt, args);
    va_end(args);
}

static struct assay_cell unknown(void) { return (struct assay_cell){"-"}; }

/* Three significant digits where that is short, never more than six characters. */
static struct assay_cell three_digits(double value)
{
    struct assay_cell cell;
    if (value != 0 && (value < 0.0005 || value >= 99999.5))
        snprintf(cell.text, sizeof cell.text, "%.0e", value);
    else
        snprintf(cell.text, sizeof cell.text, "%.*f",
                 value < 0.0995 && value != 0 ? 3
                 : value < 9.995              ? 2
                 : value < 99.95              ? 1
                                              : 0,
                 value);
    return cell;
}

struct assay_cell assay_cell_time(double ns)
{
    if (!(ns >= 0) || isinf(ns))
        return unknown();
    struct assay_cell cell;
    assay_text_time(ns, cell.text, sizeof cell.text);
    return cell;
}

struct assay_cell assay_cell_milliseconds(double ns)
{
    double ms = ns / 1e6;
    if (!(ms >= 0) || isinf(ms))
        return unknown();
    struct assay_cell cell;
    bool plain = ms == 0 || (ms >= 0.0009995 && ms < 99999.5);
    int decimals = ms < 0.009995  ? 5
                   : ms < 0.09995 ? 4
                   : ms < 9.9995  ? 3
                   : ms < 99.995  ? 2
                   : ms < 999.95  ? 1
                                  : 0;
    if (plain)
        snprintf(cell.text, sizeof cell.text, "%.*f", decimals, ms);
    else
        snprintf(cell.text, sizeof cell.text, ms < 9.5e99 && ms > 9.5e-99 ? "%.1e" : "%.0e", ms);
    return cell;
}

struct assay_cell assay_cell_spread(const struct assay_measurement *m)
{
    double percent = 100 * m->time.median_ci_frac;
    if (!(percent >= 0) || isinf(percent))
        return unknown();
    if (percent >= 999.5)
        return (struct assay_cell){">10x"};
    struct assay_cell cell;
    bool tiny = percent >= 0.005 && percent < 0.095; /* ".04%": the column is four wide */
    int decimals = tiny ? 2 : percent < 9.95 ? 1 : 0;
    snprintf(cell.text, sizeof cell.text, "%.*f%%", decimals, percent);
    if (tiny)
        memmove(cell.text, cell.text + 1, strlen(cell.text));
    return cell;
}

static struct assay_cell whole_percent(double percent)
{
    if (!(percent >= 0) || isinf(percent))
        return unknown();
    if (percent >= 999.5)
        return (struct assay_cell){"999+"};
    if (percent > 0 && percent < 0.5)
        return (struct assay_cell){"<1%"};
    struct assay_cell cell;
    snprintf(cell.text, sizeof cell.text, "%.0f%%", percent);
    return cell;
}

struct assay_cell assay_cell_efficiency(const struct assay_measurement *m)
{
    return m->ceiling_ns > 0 ? whole_percent(100 * m->efficiency) : unknown();
}

struct assay_cell assay_cell_share(double fraction) { return whole_percent(100 * fraction); }

struct assay_cell assay_cell_megabytes(double bytes)
{
    return bytes > 0 && !isinf(bytes) ? three_digits(bytes / 1e6) : unknown();
}

struct assay_cell assay_cell_level(double db)
{
    if (isnan(db))
        return unknown();
    if (isinf(db) && db > 0)
        return (struct assay_cell){"exact"};
    struct assay_cell cell;
    snprintf(cell.text, sizeof cell.text, fabs(db) < 999.5 ? "%.1f" : "%.0e", db);
    return cell;
}

static struct assay_cell flop_rate(double flops_per_s, const char *separator, const char *unit)
{
    static const char *const prefixes = "GTP";
    double value = flops_per_s / 1e9;
    int i = 0;
    for (; i < 2 && value >= 999.5; i++)
        value /= 1000;
    struct assay_cell number = three_digits(value), cell;
    snprintf(cell.text, sizeof cell.text, "%.16s%s%c%s", number.text, separator, prefixes[i], unit);
    return cell;
}

struct assay_cell assay_cell_rate(const struct assay_measurement *m, bool units)
{
    bool compute = strcmp(m->bound, "compute") == 0;
    double rate = compute ? m->flops_per_s : m->bytes_per_s;
    if (!(rate > 0) || isinf(rate))
        return unknown();
    if (compute)
        return units ? flop_rate(rate, " ", "FLOP/s") : flop_rate(rate, "", "F");
    struct assay_cell cell = three_digits(rate / 1e9);
    if (units)
        assay_cell_add(&cell, " GB/s");
    return cell;
}

struct assay_cell assay_cell_weight_rate(const struct assay_record *record,
                                         const struct assay_measurement *m)
{
    bool compute = !m->bound[0] || strcmp(m->bound, "compute") == 0;
    double bytes_per_s =
        record->weight_bytes > 0 ? record->weight_bytes * 1e9 / m->time.median : m->bytes_per_s;
    double rate = compute ? m->flops_per_s : bytes_per_s;
    if (!(rate > 0) || isinf(rate))
        return unknown();
    if (compute)
        return flop_rate(rate, " ", "F/s");
    struct assay_cell cell = three_digits(rate / 1e9);
    assay_cell_add(&cell, " GB/s");
    return cell;
}

int assay_cell_ratio_direction(const struct assay_ratio *ratio)
{
    return !ratio->significant ? 0 : ratio->ratio > 1 ? 1 : ratio->ratio < 1 ? -1 : 0;
}

int assay_cell_direction(const struct assay_measurement *m)
{
    return m->has_ratio ? assay_cell_ratio_direction(&m->ratio) : 0;
}

bool assay_cell_is_model(const struct assay_record *record)
{
    return strncmp(record->op, ASSAY_MODEL_PREFIX, sizeof ASSAY_MODEL_PREFIX - 1) == 0;
}

bool assay_cell_is_workload(const struct assay_record *record)
{
    return strncmp(record->op, ASSAY_WORKLOAD_PREFIX, sizeof ASSAY_WORKLOAD_PREFIX - 1) == 0;
}

const char *assay_cell_subject(const struct assay_record *record)
{
    return assay_op_shown(record->op);
}

bool assay_cell_is_baseline(const struct assay_record *record)
{
    return record->is_baseline ||
           (assay_cell_is_model(record) && strcmp(record->recipe, "baseline") == 0);
}

/* "1.62x", and how many decimals that took; ratios that round to 1.00 get a third. */
static int format_ratio(double ratio, struct assay_cell *cell)
{
    int decimals = ratio < 1.005 ? 3 : ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0;
    if (ratio >= 99999.5)
        snprintf(cell->text, sizeof cell->text, "%.0ex", ratio);
    else
        snprintf(cell->text, sizeof cell->text, "%.*fx", decimals, ratio);
    return decimals;
}

static struct assay_cell with_margin(struct assay_cell cell, double margin, int decimals)
{
    double unit = pow(10, -decimals);
    double rounded_up = ceil(margin / unit - 1e-9) * unit;
    if (rounded_up < 99999.5)
        assay_cell_add(&cell, " ±%.*f", decimals, rounded_up);
    return cell;
}

/* "same" only where the run could have seen a difference of 10 %; else "unclear". */
static struct assay_cell same_as_baseline(const struct assay_ratio *ratio, int width)
{
    struct assay_cell cell = {"same"};
    double percent = 100 * ratio->smallest_visible;
    if (!(percent <= 10))
        return (struct assay_cell){"unclear"};
    if (width >= 16 && percent > 0) /* "same within 0.8%" */
        snprintf(cell.text, sizeof cell.text, "same within %.1f%%", percent);
    return cell;
}

/* A ratio in words: its text, and the number in it (a slowdown is inverted) with its decimals. */
struct saying {
    struct assay_cell cell;
    double ratio;
    int decimals, direction;
};

static struct saying say_ratio(const struct assay_ratio *r, int width)
{
    struct saying s = {.direction = assay_cell_ratio_direction(r)};
    if (!(r->ratio > 0) || isinf(r->ratio)) {
        s.direction = 0;
        s.cell = unknown();
    } else if (s.direction == 0) {
        s.cell = same_as_baseline(r, width);
    } else {
        s.ratio = s.direction > 0 ? r->ratio : 1 / r->ratio;
        s.decimals = format_ratio(s.ratio, &s.cell);
        if (s.direction < 0)
            assay_cell_add(&s.cell, " slower");
    }
    return s;
}

static struct assay_cell ratio_cell(const struct assay_ratio *ratio, int width, bool ascii)
{
    struct saying s = say_ratio(ratio, width);
    if (s.direction == 0)
        return s.cell;
    struct assay_cell longer = with_margin(s.cell, s.ratio * ratio->ci_frac, s.decimals);
    return assay_line_columns_of(longer.text, ascii) <= width ? longer : s.cell;
}

struct assay_cell assay_cell_interval(const struct assay_ratio *ratio, int width, bool ascii)
{
    struct saying s = say_ratio(ratio, width);
    double lo = ratio->ci.lo, hi = ratio->ci.hi;
    if (s.direction == 0 || !(lo > 0) || !(hi < 99999.5))
        return ratio_cell(ratio, width, ascii);
    double least = s.direction > 0 ? lo : 1 / hi, most = s.direction > 0 ? hi : 1 / lo;
    double unit = pow(10, -s.decimals); /* outwards, so that it never says less than is known */
    least = floor(least / unit + 1e-9) * unit;
    most = ceil(most / unit - 1e-9) * unit;
    assay_cell_add(&s.cell, " [%.*f %.*f]", s.decimals, least, s.decimals, most);
    return assay_line_columns_of(s.cell.text, ascii) <= width ? s.cell
                                                              : ratio_cell(ratio, width, ascii);
}

struct assay_cell assay_cell_speedup(const struct assay_record *record,
                                     const struct assay_measurement *m, int width, bool ascii)
{
    if (assay_cell_is_baseline(record))
        return (struct assay_cell){"baseline"};
    return m->has_ratio ? ratio_cell(&m->ratio, width, ascii) : unknown();
}

struct assay_cell assay_cell_shape(const struct assay_record *record)
{
    struct assay_cell cell = {""};
    for (int32_t i = 0; i < record->n_axes && i < ASSAY_MAX_AXES; i++)
        assay_cell_add(&cell, "%s%lld", i ? ", " : "[", (long long)record->axes[i]);
    assay_cell_add(&cell, "%s", cell.text[0] ? "]" : "");
    return cell;
}

struct assay_cell assay_cell_axes(const struct assay_record *record)
{
    struct assay_cell cell = {""};
    for (int32_t i = 0; i < record->n_axes && i < ASSAY_MAX_AXES; i++)
        assay_cell_add(&cell, "%s%.15s=%lld", i ? " " : "", record->axis_names[i],
                       (long long)record->axes[i]);
    return cell;
}

struct assay_cell assay_cell_outcome(enum assay_outcome outcome)
{
    struct assay_cell cell;
    snprintf(cell.text, sizeof cell.text, "%s", assay_outcome_name(outcome));
    for (char *c = cell.text; *c; c++)
        if (*c == '_')
            *c = ' ';
    return cell;
}

bool assay_cell_disturbed(const struct assay_measurement *m)
{
    double disturbed =
        (double)m->disturbed + (double)m->near_floor + (double)m->slow_unit + (double)m->throttled;
    return disturbed > 0.05 * (double)m->time.n;
}
