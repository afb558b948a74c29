#include "device/ceiling.h"

#include "base/folder.h"
#include "base/sealed.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- what work must cost --------------------------------------------------------------------- */

static const char *const probe_names[ASSAY_PROBE_STREAMS] = {"read", "write", "copy", "triad"};

const char *assay_probe_name(enum assay_probe_kind kind) { return probe_names[kind]; }

int assay_probe_streams(enum assay_probe_kind kind)
{
    return kind == ASSAY_PROBE_TRIAD ? 3 : kind == ASSAY_PROBE_COPY ? 2 : 1;
}

size_t assay_probe_grains(double bytes, size_t grain)
{
    enum { FEW = 16 };
    double grains = bytes / (double)grain;
    grains = grains < FEW ? ceil(grains) : round(grains);
    return grains > 1 ? (size_t)grains : 1;
}

/* A stream below a twentieth of all bytes is counted with the others: a norm's weights do not turn
 * a copy into another kind of stream. */
static struct assay_ceiling_mix without_crumbs(struct assay_ceiling_mix mix)
{
    double all = 0;
    int most = 0;
    for (int i = 0; i < ASSAY_PROBE_STREAMS; i++) {
        all += mix.bytes[i];
        most = mix.bytes[i] > mix.bytes[most] ? i : most;
    }
    for (int i = 0; i < ASSAY_PROBE_STREAMS; i++)
        if (i != most && mix.bytes[i] < all / 20) {
            mix.bytes[most] += mix.bytes[i];
            mix.bytes[i] = 0;
        }
    return mix;
}

struct assay_ceiling_mix assay_ceiling_mix(double bytes_read, double bytes_written)
{
    double triads = fmin(fmax(bytes_read - bytes_written, 0), bytes_written);
    double copies = fmin(bytes_read, bytes_written) - triads;
    struct assay_ceiling_mix mix = {
        .bytes[ASSAY_PROBE_TRIAD] = 3 * triads,
        .bytes[ASSAY_PROBE_COPY] = 2 * copies,
        .bytes[ASSAY_PROBE_READ] = bytes_read - 2 * triads - copies,
        .bytes[ASSAY_PROBE_WRITE] = bytes_written - triads - copies,
    };
    return without_crumbs(mix);
}

/* Between two points the slower counts: the larger, unless it was measured in a bad moment. */
double assay_ceiling_rate(const struct assay_ceilings *ceilings, enum assay_probe_kind kind,
                          double working_set, bool cold)
{
    int32_t last = ceilings->n_points - 1, at = 0;
    if (last < 0)
        return 0;
    while (at < last && (cold || (double)ceilings->points[at].bytes < working_set))
        at++;
    double rate = ceilings->points[at].rates[kind];
    bool between = !cold && at > 0 && (double)ceilings->points[at].bytes > 1.25 * working_set;
    return between ? fmin(rate, ceilings->points[at - 1].rates[kind]) : rate;
}

const char *assay_ceiling_level(const struct assay_ceilings *ceilings, double working_set,
                                bool cold)
{
    int32_t last = ceilings->n_levels - 1;
    if (last < 0)
        return "";
    for (int32_t i = 0; i < last && !cold; i++)
        if ((double)ceilings->levels[i].bytes >= working_set)
            return ceilings->levels[i].name;
    return ceilings->levels[last].name;
}

/* ns that `amount` takes at `rate`; NaN, which poisons the sum, when a rate that is needed is not
 * known. */
static double ns_at(double amount, double rate)
{
    if (!(amount > 0))
        return 0;
    return rate > 0 ? amount / rate * 1e9 : (double)NAN;
}

struct assay_ceiling_time assay_ceiling_time(const struct assay_ceilings *ceilings,
                                             double bytes_read, double bytes_written, double flops,
                                             int math, double working_set, bool cold)
{
    struct assay_ceiling_mix mix = assay_ceiling_mix(bytes_read, bytes_written);
    struct assay_ceiling_time time = {.compute_ns = ns_at(flops, ceilings->flops[math])};
    for (int i = 0; i < ASSAY_PROBE_STREAMS; i++)
        time.transfer_ns +=
            ns_at(mix.bytes[i],
                  assay_ceiling_rate(ceilings, (enum assay_probe_kind)i, working_set, cold));
    return time;
}

static bool raise(double *held, double rate)
{
    bool better = rate > 1.02 * *held;
    if (rate > *held)
        *held = rate;
    return better;
}

bool assay_ceilings_raise(struct assay_ceilings *ceilings, enum assay_probe_kind kind, int math,
                          double working_set, bool cold, double rate)
{
    if (kind == ASSAY_PROBE_MATH)
        return raise(&ceilings->flops[math], rate);
    for (int32_t i = 0; i < ceilings->n_points; i++) {
        double bytes = (double)ceilings->points[i].bytes;
        bool here = cold ? i == ceilings->n_points - 1
                         : working_set <= 1.25 * bytes && working_set >= 0.8 * bytes;
        if (here)
            return raise(&ceilings->points[i].rates[kind], rate);
    }
    return false;
}

/* ---- the file they are kept in --------------------------------------------------------- */

/* Version 5: an object with format, version, device, threads, measured_at, flops_f32, flops_f16,
 * flops_bf16, flops_s8, flops_f8, clock_hz, timer_ns, floor_ns, levels, an array of {name, bytes},
 * and points, an array of {bytes, read, write, copy, triad}, sealed (base/sealed.h). Memory
 * has no size of its own: its bytes are null. Raise the number when the fields change, or when
 * ceilings are measured so differently that old ones should not be believed. */
enum { FILE_VERSION = 5, FILE_MAX_BYTES = 64 * 1024 };
static const char file_format[] = "assay-ceilings";
static const char *const flops_keys[ASSAY_CEILING_MATHS] = {"flops_f32", "flops_f16", "flops_bf16",
                                                            "flops_s8", "flops_f8"};

const char *assay_ceiling_math_name(int math) { return flops_keys[math] + strlen("flops_"); }

/* "Intel(R) Xeon(R) Processor" becomes intel-r-xeon-r-processor: a name for any file system. */
static void add_sanitised(struct assay_text *out, const char *name)
{
    size_t start = out->length;
    bool gap = false;
    for (const char *c = name; *c; c++) {
        char low = (char)tolower((unsigned char)*c);
        bool keep = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9');
        if (keep && gap && out->length > start)
            assay_text_add(out, "-");
        if (keep)
            assay_text_append(out, &low, 1);
        gap = !keep;
    }
    if (out->length == start)
        assay_text_add(out, "device");
}

/* Folder and file; `folder_length` is where the first ends. */
static enum assay_status file_path(const char *device, int32_t threads, struct assay_text *out,
                                   size_t *folder_length, struct assay_error *err)
{
    enum assay_status status = assay_folder_cache(out, err);
    if (status != ASSAY_OK)
        return status;
    *folder_length = out->length;
    assay_text_add(out, "/ceilings-");
    add_sanitised(out, device);
    assay_text_format(out, "-%dt.json", (int)threads);
    return out->failed ? assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "no memory for a path")
                       : ASSAY_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static assay_json *level_to_json(const struct assay_ceiling_level *level)
{
    assay_json *o = assay_json_object();
    assay_json_put_string(o, "name", level->name);
    assay_json_put(o, "bytes",
                   level->bytes > (size_t)INT64_MAX ? assay_json_from_double((double)NAN)
                                                    : assay_json_from_int((int64_t)level->bytes));
    return o;
}

static assay_json *point_to_json(const struct assay_ceiling_point *point)
{
    assay_json *o = assay_json_object();
    assay_json_put_int(o, "bytes", (int64_t)point->bytes);
    for (int i = 0; i < ASSAY_PROBE_STREAMS; i++)
        assay_json_put_double(o, probe_names[i], point->rates[i]);
    return o;
}

static assay_json *to_json(const struct assay_ceilings *ceilings)
{
    assay_json *o = assay_json_object();
    assay_json_put_string(o, "format", file_format);
    assay_json_put_int(o, "version", FILE_VERSION);
    assay_json_put_string(o, "device", ceilings->device);
    assay_json_put_int(o, "threads", ceilings->threads);
    assay_json_put_int(o, "measured_at", ceilings->measured_at);
    for (int i = 0; i < ASSAY_CEILING_MATHS; i++)
        assay_json_put_double(o, flops_keys[i], ceilings->flops[i]);
    assay_json_put_double(o, "clock_hz", ceilings->clock_hz);
    assay_json_put_double(o, "timer_ns", ceilings->timer_ns);
    assay_json_put_double(o, "floor_ns", ceilings->floor_ns);
    assay_json *levels = assay_json_array();
    for (int32_t i = 0; i < ceilings->n_levels; i++)
        assay_json_append(levels, level_to_json(&ceilings->levels[i]));
    assay_json_put(o, "levels", levels);
    assay_json *points = assay_json_array();
    for (int32_t i = 0; i < ceilings->n_points; i++)
        assay_json_append(points, point_to_json(&ceilings->points[i]));
    assay_json_put(o, "points", points);
    return o;
}

enum assay_status assay_ceilings_save(const struct assay_ceilings *ceilings,
                                      struct assay_error *err)
{
    struct assay_text path = {0};
    size_t folder_length = 0;
    assay_json *o = to_json(ceilings);
    enum assay_status status =
        file_path(ceilings->device, ceilings->threads, &path, &folder_length, err);
    if (status == ASSAY_OK) {
        path.data[folder_length] = '\0';
        status = assay_folder_make(path.data, err);
        path.data[folder_length] = '/';
    }
    if (status == ASSAY_OK)
        status = assay_sealed_write(path.data, o, err);
    assay_json_free(o);
    assay_text_fini(&path);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A rate, a time: a number that is there, finite and not negative. */
static bool read_number(const assay_json *object, const char *key, double *out)
{
    *out = assay_json_double(assay_json_get(object, key), (double)NAN);
    return isfinite(*out) && *out >= 0;
}

static bool read_name(const assay_json *object, const char *key, char *out, size_t size)
{
    const char *text = assay_json_string(assay_json_get(object, key), NULL);
    if (!text || strlen(text) >= size)
        return false;
    snprintf(out, size, "%s", text);
    return true;
}

static bool read_level(const assay_json *o, bool last, struct assay_ceiling_level *out)
{
    const assay_json *size = assay_json_get(o, "bytes");
    int64_t bytes = assay_json_int(size, 0);
    bool null = size && isnan(assay_json_double(size, 0));
    if (last ? !null : bytes <= 0)
        return false;
    out->bytes = last ? SIZE_MAX : (size_t)bytes;
    return read_name(o, "name", out->name, sizeof out->name) && out->name[0];
}

static bool read_point(const assay_json *o, struct assay_ceiling_point *out)
{
    int64_t bytes = assay_json_int(assay_json_get(o, "bytes"), 0);
    bool ok = bytes > 0;
    out->bytes = (size_t)bytes;
    for (int i = 0; i < ASSAY_PROBE_STREAMS; i++)
        ok = read_number(o, probe_names[i], &out->rates[i]) && ok;
    return ok;
}

static bool read_points(const assay_json *points, struct assay_ceilings *out)
{
    int64_t n = assay_json_count(points);
    if (!assay_json_is_array(points) || n < 1 || n > ASSAY_MAX_POINTS)
        return false;
    out->n_points = (int32_t)n;
    for (int32_t i = 0; i < out->n_points; i++) {
        if (!read_point(assay_json_at(points, i), &out->points[i]))
            return false;
        if (i > 0 && out->points[i].bytes <= out->points[i - 1].bytes)
            return false;
    }
    return true;
}

static bool read_levels(const assay_json *levels, struct assay_ceilings *out)
{
    int64_t n = assay_json_count(levels);
    if (!assay_json_is_array(levels) || n < 1 || n > ASSAY_MAX_LEVELS)
        return false;
    out->n_levels = (int32_t)n;
    for (int32_t i = 0; i < out->n_levels; i++) {
        if (!read_level(assay_json_at(levels, i), i == n - 1, &out->levels[i]))
            return false;
        if (i > 0 && out->levels[i].bytes <= out->levels[i - 1].bytes)
            return false;
    }
    return true;
}

static bool read_flops(const assay_json *o, struct assay_ceilings *out)
{
    bool ok = true;
    for (int i = 0; i < ASSAY_CEILING_MATHS; i++)
        ok = read_number(o, flops_keys[i], &out->flops[i]) && ok;
    return ok;
}

static bool from_json(const assay_json *o, struct assay_ceilings *out)
{
    *out = (struct assay_ceilings){0};
    const char *format = assay_json_string(assay_json_get(o, "format"), "");
    int64_t threads = assay_json_int(assay_json_get(o, "threads"), 0);
    if (strcmp(format, file_format) != 0 ||
        assay_json_int(assay_json_get(o, "version"), 0) != FILE_VERSION || threads < 1 ||
        threads > INT32_MAX)
        return false;
    out->threads = (int32_t)threads;
    out->measured_at = assay_json_int(assay_json_get(o, "measured_at"), -1);
    return out->measured_at >= 0 && read_name(o, "device", out->device, sizeof out->device) &&
           read_flops(o, out) && read_number(o, "clock_hz", &out->clock_hz) &&
           read_number(o, "timer_ns", &out->timer_ns) &&
           read_number(o, "floor_ns", &out->floor_ns) &&
           read_levels(assay_json_get(o, "levels"), out) &&
           read_points(assay_json_get(o, "points"), out);
}

static enum assay_status read_ceilings(const char *path, const char *device, int32_t threads,
                                       struct assay_ceilings *out, struct assay_error *why)
{
    struct assay_error problem = {0};
    struct assay_ceilings stored;
    enum assay_status status = ASSAY_OK;
    int access_problem = access(path, R_OK) == 0 ? 0 : errno;
    if (access_problem == ENOENT)
        return assay_error_set(why, ASSAY_UNSUPPORTED, path, "ceilings not measured yet");
    if (access_problem == EACCES) /* another user's: this one measures its own */
        return assay_error_set(why, ASSAY_UNSUPPORTED, path, "%s; the ceilings must be measured",
                               strerror(access_problem));
    assay_json *o = assay_sealed_read(path, FILE_MAX_BYTES, &problem);
    bool damaged = problem.code != ASSAY_ERR_NOMEM && problem.code != ASSAY_ERR_IO;
    if (!o)
        status = assay_error_set(why, damaged ? ASSAY_UNSUPPORTED : problem.code, path,
                                 damaged ? "%s; the ceilings must be measured again" : "%s",
                                 problem.message);
    else if (!from_json(o, &stored))
        status = assay_error_set(why, ASSAY_UNSUPPORTED, path,
                                 "not a file of ceilings, version %d; they must be measured again",
                                 FILE_VERSION);
    else if (strcmp(stored.device, device) != 0 || stored.threads != threads)
        status = assay_error_set(why, ASSAY_UNSUPPORTED, path,
                                 "holds the ceilings of \"%s\" with %d threads", stored.device,
                                 (int)stored.threads);
    else
        *out = stored;
    assay_json_free(o);
    return status;
}

enum assay_status assay_ceilings_load(const char *device, int32_t threads,
                                      struct assay_ceilings *out, struct assay_error *why)
{
    struct assay_text path = {0};
    size_t folder_length = 0;
    struct assay_error problem = {0};
    enum assay_status status = file_path(device, threads, &path, &folder_length, &problem);
    if (status == ASSAY_ERR_IO) /* no folder to keep them in: then they are not kept */
        status = assay_error_set(why, ASSAY_UNSUPPORTED, problem.where, "%s", problem.message);
    else if (status != ASSAY_OK)
        assay_error_set(why, status, problem.where, "%s", problem.message);
    else
        status = read_ceilings(path.data, device, threads, out, why);
    assay_text_fini(&path);
    return status;
}
