#include "device/ceiling.h"

#include "base/folder.h"
#include "base/json.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- what work must cost --------------------------------------------------------------------- */

static const struct assay_ceiling_level *level_of(const struct assay_ceilings *ceilings,
                                                  double working_set, bool cold)
{
    if (ceilings->n_levels <= 0)
        return NULL;
    int32_t last = ceilings->n_levels - 1;
    for (int32_t i = 0; i < last && !cold; i++)
        if ((double)ceilings->levels[i].bytes >= working_set)
            return &ceilings->levels[i];
    return &ceilings->levels[last];
}

/* Seconds that `amount` takes at `rate`; NaN, which poisons the sum, when a rate that is needed is
 * not known. */
static double seconds_at(double amount, double rate)
{
    if (!(amount > 0))
        return 0;
    return rate > 0 ? amount / rate : (double)NAN;
}

static double transfer_seconds(const struct assay_ceiling_level *level, double bytes_read,
                               double bytes_written)
{
    double both = fmin(bytes_read, bytes_written);
    return seconds_at(2 * both, level->copy) + seconds_at(bytes_read - both, level->read) +
           seconds_at(bytes_written - both, level->write);
}

struct assay_ceiling_time assay_ceiling_time(const struct assay_ceilings *ceilings,
                                             double bytes_read, double bytes_written, double flops,
                                             int math, double working_set, bool cold)
{
    struct assay_ceiling_time result = {0, ""};
    const struct assay_ceiling_level *level = level_of(ceilings, working_set, cold);
    double transfer = level ? transfer_seconds(level, bytes_read, bytes_written) : 0;
    double compute = seconds_at(flops, ceilings->flops[math]);
    /* Comparisons with NaN are false: a side whose rate is not known does not bind. */
    if (transfer > 0)
        result = (struct assay_ceiling_time){transfer * 1e9, level->name};
    if (compute * 1e9 > result.ns)
        result = (struct assay_ceiling_time){compute * 1e9, "compute"};
    return result;
}

/* ---- the file they are remembered in --------------------------------------------------------- */

/* Version 4: an object with format, version, device, threads, measured_at, flops_f32, flops_f16,
 * flops_bf16, flops_s8, flops_f8, clock_hz, timer_ns, floor_ns and levels, an array of {name,
 * bytes, read, write, copy}. Memory has no size of its own: its bytes are null. Raise the number
 * when the fields change, or when ceilings are measured so differently that old ones should not be
 * believed. */
enum { FILE_VERSION = 4, FILE_MAX_BYTES = 64 * 1024 };
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
    assay_json_put_double(o, "read", level->read);
    assay_json_put_double(o, "write", level->write);
    assay_json_put_double(o, "copy", level->copy);
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
    return o;
}

enum assay_status assay_ceilings_save(const struct assay_ceilings *ceilings,
                                      struct assay_error *err)
{
    struct assay_text path = {0}, text = {0};
    size_t folder_length = 0;
    assay_json *o = to_json(ceilings);
    assay_json_write(o, 2, &text);
    assay_text_add(&text, "\n");
    enum assay_status status =
        file_path(ceilings->device, ceilings->threads, &path, &folder_length, err);
    if (status == ASSAY_OK && text.failed)
        status = assay_error_set(err, ASSAY_ERR_NOMEM, path.data, "no memory to write this file");
    if (status == ASSAY_OK) {
        path.data[folder_length] = '\0';
        status = assay_folder_make(path.data, err);
        path.data[folder_length] = '/';
    }
    if (status == ASSAY_OK)
        status = assay_folder_write_atomic(path.data, text.data, text.length, err);
    assay_json_free(o);
    assay_text_fini(&path);
    assay_text_fini(&text);
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
    return read_name(o, "name", out->name, sizeof out->name) && out->name[0] &&
           read_number(o, "read", &out->read) && read_number(o, "write", &out->write) &&
           read_number(o, "copy", &out->copy);
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
           read_levels(assay_json_get(o, "levels"), out);
}

/* The whole file, which is short. A longer one comes back cut, and is then not valid JSON. */
static enum assay_status read_file(const char *path, struct assay_text *out,
                                   struct assay_error *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, path, "%s",
                               errno == ENOENT ? "ceilings not measured yet" : strerror(errno));
    char part[4096];
    ssize_t got = 0;
    while (out->length < FILE_MAX_BYTES && (got = read(fd, part, sizeof part)) > 0)
        assay_text_append(out, part, (size_t)got);
    int problem = errno;
    close(fd);
    if (got < 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, path, "cannot read this file: %s",
                               strerror(problem));
    return out->failed ? assay_error_set(why, ASSAY_ERR_NOMEM, path, "no memory to read this file")
                       : ASSAY_OK;
}

static enum assay_status read_ceilings(const char *path, const char *device, int32_t threads,
                                       struct assay_ceilings *out, struct assay_error *why)
{
    struct assay_text text = {0};
    enum assay_status status = read_file(path, &text, why);
    if (status != ASSAY_OK)
        goto cleanup;
    assay_json *o = assay_json_parse(text.data ? text.data : "", text.length, path, NULL);
    struct assay_ceilings stored;
    if (!from_json(o, &stored))
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
cleanup:
    assay_text_fini(&text);
    return status;
}

enum assay_status assay_ceilings_load(const char *device, int32_t threads,
                                      struct assay_ceilings *out, struct assay_error *why)
{
    struct assay_text path = {0};
    size_t folder_length = 0;
    struct assay_error problem = {0};
    enum assay_status status = file_path(device, threads, &path, &folder_length, &problem);
    if (status == ASSAY_ERR_IO) /* nowhere to remember them: then they are not remembered */
        status = assay_error_set(why, ASSAY_UNSUPPORTED, problem.where, "%s", problem.message);
    else if (status != ASSAY_OK)
        assay_error_set(why, status, problem.where, "%s", problem.message);
    else
        status = read_ceilings(path.data, device, threads, out, why);
    assay_text_fini(&path);
    return status;
}
