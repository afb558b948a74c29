/* record_json.c: records and run infos as JSON objects, and back.
 *
 * Tables say which member goes under which key; one pair of loops writes and reads them, so the two
 * directions cannot drift apart. Times carry their unit in the key. To add a member: one table row.
 *
 * What is not there is null: a cache state that was not measured, a ratio that was not taken. Their
 * members then read back as zeros. NaN and infinities are null too and read back as NaN, except
 * where infinite is a value (LEVEL). Keys that no row names are passed over, so that an older
 * program can read a newer record; keys that older programs did not write are optional. */
#include "record/record.h"

#include "tensor/dtype.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    TEXT, /* char[] */
    INT32,
    INT64,
    SEED,    /* uint64_t: a number, or its decimal digits as a string where int64 is too small */
    REAL,    /* double */
    LEVEL,   /* double, in dB: a number, "inf", or null for NaN */
    FLAG,    /* bool */
    DTYPE,   /* by name */
    OUTCOME, /* by name */
    RANGE,   /* struct assay_interval: [lo, hi] */
    PART,    /* a struct with a table of its own */
    AXES,    /* n_axes, axis_names and axes of a record */
    NAMES,   /* n_names and names of a graph: an array of texts */
    SAMPLES, /* struct assay_samples */
};

/* SPARE: what is not written where it is empty: a text, samples; a part where it is not there */
enum need { ESSENTIAL, OPTIONAL, SPARE };

enum { ALWAYS = -1 };

struct field {
    const char *key;
    enum kind kind;
    enum need need; /* may the key be missing when reading? */
    size_t offset, size;
    const struct field *part; /* of a PART; ends with a row without a key */
    ptrdiff_t flag; /* of a PART: where in the outer struct a bool says that it is there */
};

#define PLACE(type, member) offsetof(type, member), sizeof(((type *)0)->member)
#define MEMBER(type, member) PLACE(type, member), NULL, ALWAYS

/* clang-format off */
#define T struct assay_ratio
static const struct field ratio_fields[] = {
    {"ratio",            REAL,  ESSENTIAL, MEMBER(T, ratio)},
    {"ci",               RANGE, ESSENTIAL, MEMBER(T, ci)},
    {"ci_frac",          REAL,  ESSENTIAL, MEMBER(T, ci_frac)},
    {"significant",      FLAG,  ESSENTIAL, MEMBER(T, significant)},
    {"smallest_visible", REAL,  ESSENTIAL, MEMBER(T, smallest_visible)},
    {"rounds",           INT64, ESSENTIAL, MEMBER(T, n)},
    {0},
};
#undef T

#define T struct assay_measurement
static const struct field measurement_fields[] = {
    {"n",                INT64, ESSENTIAL, MEMBER(T, time.n)},
    {"calls_per_sample", INT64, ESSENTIAL, MEMBER(T, iters)},
    {"median_ns",        REAL,  ESSENTIAL, MEMBER(T, time.median)},
    {"median_ci_ns",     RANGE, ESSENTIAL, MEMBER(T, time.median_ci)},
    {"median_ci_frac",   REAL,  ESSENTIAL, MEMBER(T, time.median_ci_frac)},
    {"precise",          FLAG,  ESSENTIAL, MEMBER(T, precise)},
    {"mean_ns",          REAL,  ESSENTIAL, MEMBER(T, time.mean)},
    {"std_ns",           REAL,  ESSENTIAL, MEMBER(T, time.std)},
    {"min_ns",           REAL,  ESSENTIAL, MEMBER(T, time.min)},
    {"max_ns",           REAL,  ESSENTIAL, MEMBER(T, time.max)},
    {"q1_ns",            REAL,  ESSENTIAL, MEMBER(T, time.q1)},
    {"q3_ns",            REAL,  ESSENTIAL, MEMBER(T, time.q3)},
    {"iqr_ns",           REAL,  ESSENTIAL, MEMBER(T, time.iqr)},
    {"p5_ns",            REAL,  ESSENTIAL, MEMBER(T, time.p5)},
    {"p95_ns",           REAL,  ESSENTIAL, MEMBER(T, time.p95)},
    {"p99_ns",           REAL,  ESSENTIAL, MEMBER(T, time.p99)},
    {"outliers",         INT64, ESSENTIAL, MEMBER(T, time.outliers)},
    {"ratio",            PART,  ESSENTIAL, PLACE(T, ratio), ratio_fields, offsetof(T, has_ratio)},
    {"eager_ratio",      PART,  OPTIONAL,  PLACE(T, eager_ratio), ratio_fields,
     offsetof(T, has_eager_ratio)},
    {"fastest",          FLAG,  ESSENTIAL, MEMBER(T, fastest)},
    {"bytes_per_s",      REAL,  ESSENTIAL, MEMBER(T, bytes_per_s)},
    {"flops_per_s",      REAL,  ESSENTIAL, MEMBER(T, flops_per_s)},
    {"ceiling_ns",       REAL,  ESSENTIAL, MEMBER(T, ceiling_ns)},
    {"bound",            TEXT,  ESSENTIAL, MEMBER(T, bound)},
    {"efficiency",       REAL,  ESSENTIAL, MEMBER(T, efficiency)},
    {"context_switches", INT64, ESSENTIAL, MEMBER(T, context_switches)},
    {"clock_changes",    INT64, ESSENTIAL, MEMBER(T, clock_changes)},
    {"near_floor",       INT64, ESSENTIAL, MEMBER(T, near_floor)},
    {"clock_hz",         REAL,  ESSENTIAL, MEMBER(T, clock_hz)},
    {"slow_unit",        INT64, OPTIONAL,  MEMBER(T, slow_unit)},
    {"fast_unit_ns",     REAL,  OPTIONAL,  MEMBER(T, fast_unit_ns)},
    {"throttled",        INT64, OPTIONAL,  MEMBER(T, throttled)},
    {"host_ns",          REAL,  OPTIONAL,  MEMBER(T, host_ns)},
    {"efficiency_ci",    RANGE, OPTIONAL,  MEMBER(T, efficiency_ci)},
    {"ceiling_rounds",   INT64, OPTIONAL,  MEMBER(T, ceiling_rounds)},
    {"machine_frac",     REAL,  OPTIONAL,  MEMBER(T, machine_frac)},
    {"disturbed",        INT64, OPTIONAL,  MEMBER(T, disturbed)},
    {"waited",           INT64, OPTIONAL,  MEMBER(T, waited)},
    {"stolen",           INT64, OPTIONAL,  MEMBER(T, stolen)},
    {"samples",          SAMPLES, SPARE,   MEMBER(T, samples)},
    {0},
};
#undef T

#define T struct assay_verification
static const struct field verification_fields[] = {
    {"done",               FLAG,  ESSENTIAL, MEMBER(T, done)},
    {"times",              INT32, ESSENTIAL, MEMBER(T, times)},
    {"compared",           INT64, ESSENTIAL, MEMBER(T, compared)},
    {"of",                 INT64, ESSENTIAL, MEMBER(T, of)},
    {"mismatches",         INT64, ESSENTIAL, MEMBER(T, mismatches)},
    {"max_abs",            REAL,  ESSENTIAL, MEMBER(T, max_abs)},
    {"max_rel",            REAL,  ESSENTIAL, MEMBER(T, max_rel)},
    {"rms",                REAL,  ESSENTIAL, MEMBER(T, rms)},
    {"sqnr_db",            REAL,  ESSENTIAL, MEMBER(T, sqnr_db)},
    {"tolerance_relative", REAL,  ESSENTIAL, MEMBER(T, tolerance_relative)},
    {"tolerance_absolute", REAL,  ESSENTIAL, MEMBER(T, tolerance_absolute)},
    {"exact",              FLAG,  OPTIONAL,  MEMBER(T, exact)},
    {"author_reference",   FLAG,  OPTIONAL,  MEMBER(T, author_reference)},
    {"author_tolerance",   FLAG,  OPTIONAL,  MEMBER(T, author_tolerance)},
    {0},
};
#undef T

#define T struct assay_graph_audit
static const struct field graph_fields[] = {
    {"calls",   INT64, ESSENTIAL, MEMBER(T, calls)},
    {"kernels", INT64, ESSENTIAL, MEMBER(T, kernels)},
    {"copies",  INT64, ESSENTIAL, MEMBER(T, copies)},
    {"memsets", INT64, ESSENTIAL, MEMBER(T, memsets)},
    {"others",  INT64, ESSENTIAL, MEMBER(T, others)},
    {"names",   NAMES, ESSENTIAL, 0, 0, NULL, ALWAYS},
    {0},
};
#undef T

#define T struct assay_record
static const struct field record_fields[] = {
    {"group",           INT64,   ESSENTIAL, MEMBER(T, group)},
    {"variant",         INT64,   ESSENTIAL, MEMBER(T, variant)},
    {"op",              TEXT,    ESSENTIAL, MEMBER(T, op)},
    {"title",           TEXT,    OPTIONAL,  MEMBER(T, title)},
    {"implementation",  TEXT,    ESSENTIAL, MEMBER(T, implementation)},
    {"kernel",          TEXT,    ESSENTIAL, MEMBER(T, kernel)},
    {"device",          TEXT,    ESSENTIAL, MEMBER(T, device)},
    {"dtype",           DTYPE,   ESSENTIAL, MEMBER(T, dtype)},
    {"axes",            AXES,    ESSENTIAL, 0, 0, NULL, ALWAYS},
    {"mode",             TEXT,    OPTIONAL,  MEMBER(T, mode)},
    {"label",            TEXT,    OPTIONAL,  MEMBER(T, label)},
    {"entry",            TEXT,    OPTIONAL,  MEMBER(T, entry)},
    {"compile",          TEXT,    OPTIONAL,  MEMBER(T, compile)},
    {"profilers",        TEXT,    SPARE,     MEMBER(T, profilers)},
    {"pass",             TEXT,    SPARE,     MEMBER(T, pass)},
    {"recipe",           TEXT,    OPTIONAL,  MEMBER(T, recipe)},
    {"note",             TEXT,    OPTIONAL,  MEMBER(T, note)},
    {"isolation",        TEXT,    OPTIONAL,  MEMBER(T, confined)},
    {"printed",          TEXT,    OPTIONAL,  MEMBER(T, printed)},
    {"not_asked",        FLAG,    OPTIONAL,  MEMBER(T, not_asked)},
    {"threads",         INT32,   ESSENTIAL, MEMBER(T, threads)},
    {"seed",            SEED,    ESSENTIAL, MEMBER(T, seed)},
    {"status",          OUTCOME, ESSENTIAL, MEMBER(T, outcome)},
    {"reason",          TEXT,    OPTIONAL,  MEMBER(T, reason)},
    {"interrupted",     FLAG,    OPTIONAL,  MEMBER(T, interrupted)},
    {"is_baseline",     FLAG,    ESSENTIAL, MEMBER(T, is_baseline)},
    {"baseline",        TEXT,    ESSENTIAL, MEMBER(T, baseline)},
    {"bytes_read",      REAL,    ESSENTIAL, MEMBER(T, bytes_read)},
    {"bytes_written",   REAL,    ESSENTIAL, MEMBER(T, bytes_written)},
    {"flops",           REAL,    ESSENTIAL, MEMBER(T, flops)},
    {"macs",             REAL,    OPTIONAL,  MEMBER(T, macs)},
    {"counted_flops",    REAL,    OPTIONAL,  MEMBER(T, counted_flops)},
    {"memory_bytes",    REAL,    ESSENTIAL, MEMBER(T, memory_bytes)},
    {"idle_bytes",        REAL,  OPTIONAL,  MEMBER(T, idle_bytes)},
    {"peak_bytes",        REAL,  OPTIONAL,  MEMBER(T, peak_bytes)},
    {"workspace_bytes",   REAL,  OPTIONAL,  MEMBER(T, workspace_bytes)},
    {"system_peak_bytes", REAL,  OPTIONAL,  MEMBER(T, system_peak_bytes)},
    {"setup_ns",        REAL,    ESSENTIAL, MEMBER(T, setup_ns)},
    {"weight_bytes",     REAL,    OPTIONAL,  MEMBER(T, weight_bytes)},
    {"prepare_ns",       REAL,    OPTIONAL,  MEMBER(T, prepare_ns)},
    {"energy_j",         REAL,    OPTIONAL,  MEMBER(T, energy_j)},
    {"accuracy_db",      LEVEL,   OPTIONAL,  MEMBER(T, accuracy_db)},
    {"activation_share", REAL,    OPTIONAL,  MEMBER(T, activation_share)},
    {"pareto",           FLAG,    OPTIONAL,  MEMBER(T, pareto)},
    {"floor_ns",        REAL,    ESSENTIAL, MEMBER(T, floor_ns)},
    {"caller",          TEXT,    SPARE,     MEMBER(T, caller)},
    {"timed",           TEXT,    SPARE,     MEMBER(T, timed.way)},
    {"timed_why",       TEXT,    SPARE,     MEMBER(T, timed.why)},
    {"graph",           PART,    SPARE,     PLACE(T, timed.graph), graph_fields,
     offsetof(T, timed.has_graph)},
    {"hot",             PART,    ESSENTIAL, PLACE(T, states[ASSAY_CACHE_HOT]),
     measurement_fields, offsetof(T, states[ASSAY_CACHE_HOT].measured)},
    {"cold",            PART,    ESSENTIAL, PLACE(T, states[ASSAY_CACHE_COLD]),
     measurement_fields, offsetof(T, states[ASSAY_CACHE_COLD].measured)},
    {"verification",    PART,    ESSENTIAL, PLACE(T, verification), verification_fields, ALWAYS},
    {0},
};
#undef T

#define T struct assay_run_info
static const struct field run_info_fields[] = {
    {"id",               TEXT,  OPTIONAL, MEMBER(T, id)},
    {"version",          TEXT,  OPTIONAL, MEMBER(T, version)},
    {"command",          TEXT,  OPTIONAL, MEMBER(T, command)},
    {"started",          TEXT,  OPTIONAL, MEMBER(T, started)},
    {"host_os",          TEXT,  OPTIONAL, MEMBER(T, host_os)},
    {"device",           TEXT,  OPTIONAL, MEMBER(T, device)},
    {"device_name",      TEXT,  OPTIONAL, MEMBER(T, device_name)},
    {"isa",              TEXT,  OPTIONAL, MEMBER(T, isa)},
    {"threads",          INT32, OPTIONAL, MEMBER(T, threads)},
    {"hot",              FLAG,  OPTIONAL, MEMBER(T, hot)},
    {"cold",             FLAG,  OPTIONAL, MEMBER(T, cold)},
    {"precision",        REAL,  OPTIONAL, MEMBER(T, precision)},
    {"warmup",           INT64, OPTIONAL, MEMBER(T, warmup)},
    {"rounds",           INT64, OPTIONAL, MEMBER(T, rounds)},
    {"copy_bytes_per_s", REAL,  OPTIONAL, MEMBER(T, copy_bytes_per_s)},
    {"groups",           INT64, OPTIONAL, MEMBER(T, groups)},
    {"cpu_name",         TEXT,  OPTIONAL, MEMBER(T, cpu_name)},
    {"gpu_name",         TEXT,  OPTIONAL, MEMBER(T, gpu_name)},
    {"gpu_count",        INT32, OPTIONAL, MEMBER(T, gpu_count)},
    {"gpu_memory_bytes", REAL,  OPTIONAL, MEMBER(T, gpu_memory_bytes)},
    {"commit",           TEXT,  OPTIONAL, MEMBER(T, commit)},
    {"project",          TEXT,  OPTIONAL, MEMBER(T, project)},
    {"project_branch",   TEXT,  OPTIONAL, MEMBER(T, project_branch)},
    {"project_sha",      TEXT,  OPTIONAL, MEMBER(T, project_sha)},
    {"output_dir",       TEXT,  OPTIONAL, MEMBER(T, output_dir)},
    {"repository",       TEXT,  OPTIONAL, MEMBER(T, repository)},
    {"kernel_commit",    TEXT,  OPTIONAL, MEMBER(T, kernel_commit)},
    {"benchmark_path",   TEXT,  OPTIONAL, MEMBER(T, benchmark_path)},
    {"benchmark_sha",    TEXT,  OPTIONAL, MEMBER(T, benchmark_sha)},
    {"gpu_cores",        INT32, OPTIONAL, MEMBER(T, gpu_cores)},
    {"implementations",  TEXT,  OPTIONAL, MEMBER(T, implementations)},
    {"pytorch",          TEXT,  OPTIONAL, MEMBER(T, pytorch)},
    {"pytorch_cuda",     TEXT,  OPTIONAL, MEMBER(T, pytorch_cuda)},
    {0},
};
#undef T
/* clang-format on */

/* ---- writing ------------------------------------------------------------------------------ */

static assay_json *fields_to_json(const struct field *fields, const void *base);

static assay_json *range_to_json(const struct assay_interval *range)
{
    assay_json *pair = assay_json_array();
    assay_json_append(pair, assay_json_from_double(range->lo));
    assay_json_append(pair, assay_json_from_double(range->hi));
    return pair;
}

static assay_json *seed_to_json(uint64_t seed)
{
    if (seed <= INT64_MAX)
        return assay_json_from_int((int64_t)seed);
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)seed);
    return assay_json_from_string(digits);
}

static assay_json *level_to_json(double level)
{
    return isinf(level) && level > 0 ? assay_json_from_string("inf")
                                     : assay_json_from_double(level);
}

static assay_json *part_to_json(const struct field *field, const char *base)
{
    if (field->flag != ALWAYS && !*(const bool *)(base + field->flag))
        return assay_json_from_double((double)NAN); /* null */
    return fields_to_json(field->part, base + field->offset);
}

static assay_json *value_to_json(const struct field *field, const char *base)
{
    const void *value = base + field->offset;
    switch (field->kind) {
    case TEXT:
        return assay_json_from_string(value);
    case INT32:
        return assay_json_from_int(*(const int32_t *)value);
    case INT64:
        return assay_json_from_int(*(const int64_t *)value);
    case SEED:
        return seed_to_json(*(const uint64_t *)value);
    case REAL:
        return assay_json_from_double(*(const double *)value);
    case LEVEL:
        return level_to_json(*(const double *)value);
    case FLAG:
        return assay_json_from_bool(*(const bool *)value);
    case DTYPE:
        return assay_json_from_string(assay_dtype_name(*(const enum assay_dtype *)value));
    case OUTCOME:
        return assay_json_from_string(assay_outcome_name(*(const enum assay_outcome *)value));
    case RANGE:
        return range_to_json(value);
    case PART:
        return part_to_json(field, base);
    case SAMPLES:
        return assay_samples_to_json(value);
    case AXES:
    case NAMES:
        break;
    }
    return NULL;
}

/* JSON objects have no order that all tools keep, and axes do: hence the second key. */
static void axes_to_json(const struct assay_record *record, assay_json *object)
{
    assay_json *axes = assay_json_object(), *order = assay_json_array();
    for (int32_t i = 0; i < record->n_axes && i < ASSAY_MAX_AXES; i++) {
        assay_json_put_int(axes, record->axis_names[i], record->axes[i]);
        assay_json_append(order, assay_json_from_string(record->axis_names[i]));
    }
    assay_json_put(object, "axes", axes);
    assay_json_put(object, "axis_order", order);
}

static void names_to_json(const struct assay_graph_audit *graph, assay_json *object)
{
    assay_json *names = assay_json_array();
    for (int32_t i = 0; i < graph->n_names && i < ASSAY_GRAPH_NAMES; i++)
        assay_json_append(names, assay_json_from_string(graph->names[i]));
    assay_json_put(object, "names", names);
}

static bool is_empty(const struct field *field, const char *base)
{
    if (field->kind == PART)
        return !*(const bool *)(base + field->flag);
    if (field->kind == SAMPLES)
        return ((const struct assay_samples *)(const void *)(base + field->offset))->n == 0;
    return base[field->offset] == '\0';
}

static assay_json *fields_to_json(const struct field *fields, const void *base)
{
    assay_json *object = assay_json_object();
    for (const struct field *field = fields; field->key; field++) {
        if (field->kind == AXES)
            axes_to_json(base, object);
        else if (field->kind == NAMES)
            names_to_json(base, object);
        else if (field->need != SPARE || !is_empty(field, base))
            assay_json_put(object, field->key, value_to_json(field, base));
    }
    return object;
}

assay_json *assay_record_to_json(const struct assay_record *record)
{
    return fields_to_json(record_fields, record);
}

assay_json *assay_run_info_to_json(const struct assay_run_info *info)
{
    return fields_to_json(run_info_fields, info);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Where the reader stands: "hot.ratio." before the key. */
struct place {
    const char *path;
    struct assay_error *err;
};

static enum assay_status fields_from_json(const struct field *fields, const assay_json *object,
                                          void *base, const struct place *at);

static enum assay_status wrong(const struct place *at, const char *key, const char *what)
{
    return assay_error_set(at->err, ASSAY_ERR_CORRUPT, "record", "field \"%s%s\" %s", at->path, key,
                           what);
}

/* The getters give a default for a wrong type; two different defaults tell it from a value. */
static bool get_int(const assay_json *value, int64_t *out)
{
    *out = assay_json_int(value, 0);
    return *out == assay_json_int(value, 1);
}

static bool get_real(const assay_json *value, double *out)
{
    *out = assay_json_double(value, 0);
    double other = assay_json_double(value, 1);
    return *out == other || (isnan(*out) && isnan(other));
}

static bool get_flag(const assay_json *value, bool *out)
{
    *out = assay_json_bool(value, false);
    return *out == assay_json_bool(value, true);
}

static bool is_null(const assay_json *value) { return isnan(assay_json_double(value, 0)); }

static const char *text_from_json(const assay_json *value, char *out, size_t size)
{
    const char *text = assay_json_string(value, NULL);
    if (!text)
        return "is not a string";
    size_t length = strlen(text);
    if (length >= size)
        return "is longer than assay can hold";
    memcpy(out, text, length + 1);
    return NULL;
}

static const char *int32_from_json(const assay_json *value, int32_t *out)
{
    int64_t wide;
    if (!get_int(value, &wide) || wide < INT32_MIN || wide > INT32_MAX)
        return "is not a 32-bit integer";
    *out = (int32_t)wide;
    return NULL;
}

static const char *seed_from_json(const assay_json *value, uint64_t *out)
{
    int64_t small;
    if (get_int(value, &small) && small >= 0) {
        *out = (uint64_t)small;
        return NULL;
    }
    const char *digits = assay_json_string(value, "");
    char *end = NULL;
    errno = 0;
    *out = strtoull(digits, &end, 10);
    if (!isdigit((unsigned char)digits[0]) || *end || errno)
        return "is not an unsigned 64-bit integer";
    return NULL;
}

static const char *level_from_json(const assay_json *value, double *out)
{
    if (strcmp(assay_json_string(value, ""), "inf") == 0)
        *out = (double)INFINITY;
    else if (!get_real(value, out))
        return "is not a number or \"inf\"";
    return NULL;
}

static const char *dtype_from_json(const assay_json *value, enum assay_dtype *out)
{
    const char *name = assay_json_string(value, "");
    for (int i = ASSAY_DTYPE_NONE; i < ASSAY_DTYPE_COUNT; i++)
        if (strcmp(assay_dtype_name((enum assay_dtype)i), name) == 0) {
            *out = (enum assay_dtype)i;
            return NULL;
        }
    return "is not a dtype";
}

static const char *outcome_from_json(const assay_json *value, enum assay_outcome *out)
{
    enum assay_outcome outcome = assay_outcome_parse(assay_json_string(value, ""));
    if (outcome == ASSAY_OUTCOME_COUNT)
        return "is not a status";
    *out = outcome;
    return NULL;
}

static const char *range_from_json(const assay_json *value, struct assay_interval *out)
{
    if (!assay_json_is_array(value) || assay_json_count(value) != 2 ||
        !get_real(assay_json_at(value, 0), &out->lo) ||
        !get_real(assay_json_at(value, 1), &out->hi))
        return "is not a pair of numbers";
    return NULL;
}

/* Reads one plain value; what is wrong with it, or NULL. */
static const char *value_from_json(const struct field *field, const assay_json *json, void *value)
{
    switch (field->kind) {
    case TEXT:
        return text_from_json(json, value, field->size);
    case INT32:
        return int32_from_json(json, value);
    case INT64:
        return get_int(json, value) ? NULL : "is not an integer";
    case SEED:
        return seed_from_json(json, value);
    case REAL:
        return get_real(json, value) ? NULL : "is not a number";
    case LEVEL:
        return level_from_json(json, value);
    case FLAG:
        return get_flag(json, value) ? NULL : "is not true or false";
    case DTYPE:
        return dtype_from_json(json, value);
    case OUTCOME:
        return outcome_from_json(json, value);
    case RANGE:
        return range_from_json(json, value);
    case PART:
    case AXES:
    case NAMES:
    case SAMPLES:
        break;
    }
    return "is of no known kind";
}

static enum assay_status part_from_json(const struct field *field, const assay_json *json,
                                        char *base, const struct place *at)
{
    if (field->flag != ALWAYS && is_null(json))
        return ASSAY_OK;
    if (!assay_json_is_object(json))
        return wrong(at, field->key, "is not an object");
    char path[64];
    snprintf(path, sizeof path, "%s%s.", at->path, field->key);
    if (field->flag != ALWAYS)
        *(bool *)(base + field->flag) = true;
    return fields_from_json(field->part, json, base + field->offset,
                            &(struct place){.path = path, .err = at->err});
}

static enum assay_status axes_from_json(const assay_json *object, struct assay_record *out,
                                        const struct place *at)
{
    const assay_json *axes = assay_json_get(object, "axes");
    const assay_json *order = assay_json_get(object, "axis_order");
    if (!assay_json_is_object(axes))
        return wrong(at, "axes", "is not an object");
    if (!assay_json_is_array(order) || assay_json_count(order) > ASSAY_MAX_AXES)
        return wrong(at, "axis_order", "is not a short array of names");
    out->n_axes = (int32_t)assay_json_count(order);
    for (int32_t i = 0; i < out->n_axes; i++) {
        char *name = out->axis_names[i];
        if (text_from_json(assay_json_at(order, i), name, sizeof out->axis_names[i]))
            return wrong(at, "axis_order", "holds something that is not a short name");
        if (!get_int(assay_json_get(axes, name), &out->axes[i]))
            return wrong(at, "axes", "lacks an axis of axis_order, or it is not an integer");
    }
    return ASSAY_OK;
}

static enum assay_status names_from_json(const assay_json *names, struct assay_graph_audit *out,
                                         const struct place *at)
{
    if (!assay_json_is_array(names) || assay_json_count(names) > ASSAY_GRAPH_NAMES)
        return wrong(at, "names", "is not a short array of names");
    out->n_names = (int32_t)assay_json_count(names);
    for (int32_t i = 0; i < out->n_names; i++)
        if (text_from_json(assay_json_at(names, i), out->names[i], ASSAY_GRAPH_NAME))
            return wrong(at, "names", "holds something that is not a short name");
    return ASSAY_OK;
}

static enum assay_status samples_from_json(const char *key, const assay_json *json, void *out,
                                           const struct place *at)
{
    char place[64], whole[96];
    const char *problem = assay_samples_from_json(json, out, place, sizeof place);
    snprintf(whole, sizeof whole, "%s%s", key, place);
    return problem ? wrong(at, whole, problem) : ASSAY_OK;
}

static enum assay_status field_from_json(const struct field *field, const assay_json *object,
                                         char *base, const struct place *at)
{
    const assay_json *json = assay_json_get(object, field->key);
    if (!json)
        return field->need != ESSENTIAL ? ASSAY_OK : wrong(at, field->key, "is missing");
    if (field->kind == PART)
        return part_from_json(field, json, base, at);
    if (field->kind == AXES)
        return axes_from_json(object, (struct assay_record *)(void *)base, at);
    if (field->kind == NAMES)
        return names_from_json(json, (struct assay_graph_audit *)(void *)base, at);
    if (field->kind == SAMPLES)
        return samples_from_json(field->key, json, base + field->offset, at);
    const char *problem = value_from_json(field, json, base + field->offset);
    return problem ? wrong(at, field->key, problem) : ASSAY_OK;
}

static enum assay_status fields_from_json(const struct field *fields, const assay_json *object,
                                          void *base, const struct place *at)
{
    enum assay_status status = ASSAY_OK;
    for (const struct field *field = fields; field->key && status == ASSAY_OK; field++)
        status = field_from_json(field, object, base, at);
    return status;
}

enum assay_status assay_record_from_json(const assay_json *json, struct assay_record *out,
                                         struct assay_error *err)
{
    memset(out, 0, sizeof *out);
    if (!assay_json_is_object(json))
        return assay_error_set(err, ASSAY_ERR_CORRUPT, "record", "not a JSON object");
    out->accuracy_db = out->activation_share = out->energy_j =
        (double)NAN; /* where the record does not say */
    out->macs = out->counted_flops = (double)NAN;
    out->idle_bytes = out->peak_bytes = out->workspace_bytes = out->system_peak_bytes = (double)NAN;
    return fields_from_json(record_fields, json, out, &(struct place){.path = "", .err = err});
}

/* A run's description is for people: what cannot be read is left empty. */
void assay_run_info_from_json(const assay_json *json, struct assay_run_info *out)
{
    memset(out, 0, sizeof *out);
    struct place at = {.path = "", .err = NULL};
    for (const struct field *field = run_info_fields; field->key; field++)
        field_from_json(field, json, (char *)out, &at);
}
