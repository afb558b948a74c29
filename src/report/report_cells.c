#include "report/report_cells.h"

#include "op/op_name.h"
#include "report/report_line.h"
#include "tensor/dtype.h"

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

bool assay_cell_has_interval(const struct assay_summary *time)
{
    return time->n >= ASSAY_STATS_FEWEST_SAMPLES;
}

struct assay_cell assay_cell_spread(const struct assay_measurement *m)
{
    double percent = 100 * m->time.median_ci_frac;
    if (!assay_cell_has_interval(&m->time) || !(percent >= 0) || isinf(percent))
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

static bool is(const char *text, const char *other) { return strcmp(text, other) == 0; }

const char *assay_cell_variant(const struct assay_record *record,
                               const struct assay_record *records, int64_t n)
{
    for (int64_t i = 0; i < n && record->kernel[0]; i++) {
        const struct assay_record *other = &records[i];
        if (other->kernel[0] && !is(other->kernel, record->kernel) &&
            is(other->recipe, record->recipe) && is(other->implementation, record->implementation))
            return record->kernel;
    }
    return record->implementation;
}

struct assay_cell assay_cell_name(const struct assay_record *record,
                                  const struct assay_record *records, int64_t n)
{
    struct assay_cell cell = {""};
    const char *name = assay_cell_variant(record, records, n);
    assay_cell_add(&cell, "%s%s%s", record->recipe, record->recipe[0] && name[0] ? " " : "", name);
    return cell;
}

bool assay_cell_is_baseline(const struct assay_record *record)
{
    bool own = !record->baseline[0] || is(record->baseline, record->implementation);
    return record->is_baseline ||
           (assay_cell_is_model(record) && own && is(record->recipe, "baseline"));
}

/* "1.62x", of a ratio >= 1, and how many decimals that took; ratios that round to 1.00 get a third.
 */
static struct assay_cell ratio_text(double ratio, int *decimals)
{
    struct assay_cell cell;
    *decimals = ratio < 1.005 ? 3 : ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0;
    if (ratio >= 99999.5)
        snprintf(cell.text, sizeof cell.text, "%.0ex", ratio);
    else
        snprintf(cell.text, sizeof cell.text, "%.*fx", *decimals, ratio);
    return cell;
}

enum assay_verdict assay_cell_verdict(const struct assay_ratio *ratio)
{
    int direction = assay_cell_ratio_direction(ratio);
    if (direction != 0)
        return direction > 0 ? ASSAY_VERDICT_FASTER : ASSAY_VERDICT_SLOWER;
    return ratio->smallest_visible <= 0.1 ? ASSAY_VERDICT_SAME : ASSAY_VERDICT_UNCLEAR;
}

/* Where it is unclear, how many rounds there were to tell. */
static struct assay_cell same_as_baseline(const struct assay_ratio *ratio, int width)
{
    struct assay_cell cell = {"same"}, longer = {""};
    double percent = 100 * ratio->smallest_visible;
    if (assay_cell_verdict(ratio) == ASSAY_VERDICT_UNCLEAR) {
        cell = (struct assay_cell){"unclear"};
        assay_cell_add(&longer, "unclear (n=%lld)", (long long)ratio->n);
    } else if (percent > 0) {
        assay_cell_add(&longer, "same within %.1f%%", percent);
    }
    return longer.text[0] && (int)strlen(longer.text) <= width ? longer : cell;
}

/* One end of an interval, rounded outwards, so that it never says less than is known. A far end has
 * fewer decimals than the ratio: "[1.65 12.6]". */
static void add_end(struct assay_cell *cell, double end, int decimals, bool upper)
{
    int own = end < 9.995 ? 3 : end < 99.95 ? 1 : 0;
    decimals = own < decimals ? own : decimals;
    double unit = pow(10, -decimals);
    double value = (upper ? ceil(end / unit - 1e-9) : floor(end / unit + 1e-9)) * unit;
    if (value < 99999.5)
        assay_cell_add(cell, "%.*f", decimals, value);
    else
        assay_cell_add(cell, ">99999");
}

/* "[1.58 1.66]", or nothing where the ends are not known. */
static struct assay_cell ends_text(struct assay_interval ci, int decimals)
{
    struct assay_cell cell = {""};
    if (!(ci.lo > 0) || !(ci.hi >= ci.lo) || ci.lo >= 99999)
        return cell;
    assay_cell_add(&cell, "[");
    add_end(&cell, ci.lo, decimals, false);
    assay_cell_add(&cell, " ");
    add_end(&cell, ci.hi, decimals, true);
    assay_cell_add(&cell, "]");
    return cell;
}

/* What is said of a slowdown is inverted. */
struct assay_cell assay_cell_times(const struct assay_ratio *ratio, struct assay_cell *interval)
{
    int decimals;
    bool slower = ratio->ratio < 1;
    struct assay_interval ci = ratio->ci;
    struct assay_cell cell = ratio_text(slower ? 1 / ratio->ratio : ratio->ratio, &decimals);
    if (slower)
        ci = (struct assay_interval){1 / ratio->ci.hi, 1 / ratio->ci.lo};
    *interval = ends_text(ci, decimals);
    return cell;
}

struct assay_cell assay_cell_interval(const struct assay_ratio *ratio, int width, bool ascii)
{
    int direction = assay_cell_ratio_direction(ratio);
    struct assay_cell ends;
    if (!(ratio->ratio > 0) || isinf(ratio->ratio))
        return unknown();
    if (direction == 0)
        return same_as_baseline(ratio, width);
    struct assay_cell cell = assay_cell_times(ratio, &ends);
    assay_cell_add(&cell, "%s", direction < 0 ? " slower" : "");
    struct assay_cell longer = cell;
    assay_cell_add(&longer, " %s", ends.text);
    return ends.text[0] && assay_line_columns_of(longer.text, ascii) <= width ? longer : cell;
}

struct assay_cell assay_cell_speedup(const struct assay_record *record,
                                     const struct assay_measurement *m, int width, bool ascii)
{
    if (assay_cell_is_baseline(record))
        return (struct assay_cell){"baseline"};
    return m->has_ratio ? assay_cell_interval(&m->ratio, width, ascii) : unknown();
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

struct assay_cell assay_cell_problem(const struct assay_record *record)
{
    struct assay_cell cell = {""};
    const char *blank = "";
    if (record->dtype != ASSAY_DTYPE_NONE) {
        assay_cell_add(&cell, "%s", assay_dtype_name(record->dtype));
        blank = " ";
    }
    for (int32_t i = 0; i < record->n_axes && i < ASSAY_MAX_AXES; i++)
        assay_cell_add(&cell, "%s%lld", i ? "x" : blank, (long long)record->axes[i]);
    if (record->label[0])
        assay_cell_add(&cell, "%s%s", cell.text[0] ? " " : "", record->label);
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
