#include "config/measure_config.h"

#include "base/suggest.h"
#include "device/cpu/cpu_info.h"
#include "device/device.h"
#include "runner/python.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct assay_measure_config, field)

const struct assay_option assay_measure_rows[] = {
    {"threads", 't', ASSAY_OPTION_INT, AT(threads), "N",
     "threads of CPU kernels (default: all cores)", 1, 4096},
    {"precision", 0, ASSAY_OPTION_FRACTION, AT(precision), "P",
     "stop when every interval is within ±P (default 1%; tour 5%)", 1e-5, 0.5},
    {"budget", 0, ASSAY_OPTION_DURATION, AT(budget_s), "TIME",
     "time for sampling each group in each cache state (default 2s; tour 0.4s, preset 0.5s, kernel "
     "0.5s or 0.7s; only by default up to four times as long while a difference is uncertain)",
     1e-3, 86400},
    {"warmup", 0, ASSAY_OPTION_INT, AT(warmup), "N",
     "warm up with N calls, in addition to those that find the length of a sample", 1, 1e9},
    {"iters", 0, ASSAY_OPTION_INT, AT(rounds), "N", "take exactly N samples of each variant", 1,
     1e6},
    {"seed", 0, ASSAY_OPTION_INT, AT(seed), "N", "seed of inputs and order (default 0)", 0, 9e18},
    {"timeout", 0, ASSAY_OPTION_DURATION, AT(timeout_s), "TIME",
     "give up on a kernel that does not answer within TIME (default 60s)", 0.05, 86400},
    {"memory-limit", 0, ASSAY_OPTION_SIZE, AT(memory_limit), "SIZE",
     "memory the measuring process may use (default: what is free)", 0, 9e18},
    {"resume", 0, ASSAY_OPTION_TEXT, AT(resume), "RUN",
     "continue an earlier run, as it was planned: its id or the beginning of it, last, last~1, or "
     "a journal's path "
     "(`assay list runs`)",
     0, 0},
    {"plugin", 0, ASSAY_OPTION_REPEAT, AT(plugins), "FILE",
     "load kernels from a shared object (assay_kernel.h, or functions of TVM-FFI) or a file of "
     "Python; repeatable",
     0, 0},
    {"python", 0, ASSAY_OPTION_TEXT, AT(python), "PATH",
     "the interpreter of kernels in Python (default: $ASSAY_PYTHON, the active virtual "
     "environment's, "
     "python3)",
     0, 0},
    {"sandbox", 0, ASSAY_OPTION_FLAG, AT(sandbox), NULL,
     "run plug-ins and repositories without network access and with a read-only file system "
     "(default for cloned repositories)",
     0, 0},
    {"no-sandbox", 0, ASSAY_OPTION_FLAG, AT(no_sandbox), NULL,
     "let a cloned repository run with your rights", 0, 0},
    {"strict-device", 0, ASSAY_OPTION_FLAG, AT(strict_device), NULL,
     "fail if the device is not available, instead of falling back to the cpu", 0, 0},
    {"autotune", 0, ASSAY_OPTION_FLAG, AT(autotune), NULL,
     "let libraries that offer several algorithms (cuBLASLt, cuDNN) time them all first", 0, 0},
    {"no-ceiling", 0, ASSAY_OPTION_FLAG, AT(no_ceiling), NULL,
     "do not measure the ceilings beside the kernels, which takes a fifth of the time", 0, 0},
    {"energy", 0, ASSAY_OPTION_FLAG, AT(energy), NULL,
     "also measure the energy of a call, where the device has a counter (half a second each)", 0,
     0},
    {"counters", 0, ASSAY_OPTION_FLAG, AT(counters), NULL,
     "once a group is timed, also count what calls cost the processor: cycles, instructions, "
     "misses of caches and branches, bytes from memory; of a GPU what memory and L2 moved, and how "
     "busy it was (a tenth of a second each)",
     0, 0},
    {"profile", 0, ASSAY_OPTION_SPARE_FILE, AT(profile), "[FILE]",
     "once a group is measured, call each variant a few times more and record a trace: which node, "
     "thread and wait took the time; JSON for chrome://tracing and Perfetto, or "
     "FILE.perfetto-trace "
     "(default: profile_RUN.json)",
     0, 0},
    {"profile-memory", 0, ASSAY_OPTION_SPARE_FILE, AT(profile_memory), "[FILE]",
     "once a group is measured, set each variant up once more and record what it allocates: a page "
     "that says what holds the peak, or a snapshot for PyTorch's viewer, FILE.pickle (default: "
     "both, memory_RUN.html and .pickle)",
     0, 0},
    {"in-process", 0, ASSAY_OPTION_FLAG, AT(in_process), NULL,
     "run kernels in this process, for debuggers: a crash ends everything", 0, 0},
    {"wait", 0, ASSAY_OPTION_FLAG, AT(wait), NULL, "wait for another run to end instead of failing",
     0, 0},
    {"chart", 0, ASSAY_OPTION_TEXT, AT(chart), "CHART",
     "which chart an image of --output shows: a name, or NAME:KEY=VALUE,… (default: the one that "
     "fits; `assay list charts`)",
     0, 0},
    {"dark", 0, ASSAY_OPTION_FLAG, AT(dark), NULL, "draw images for dark pages", 0, 0},
    {"quiet", 'q', ASSAY_OPTION_FLAG, AT(quiet), NULL,
     "no table, no progress: only files and errors", 0, 0},
    {"verbose", 'v', ASSAY_OPTION_FLAG, AT(verbose), NULL,
     "also show samples, quartiles, disturbances, memory and accuracy of each row", 0, 0},
    {"plot", 0, ASSAY_OPTION_FLAG, AT(plot), NULL,
     "draw below the table: speedups as bars, or lines where an axis of numbers was swept", 0, 0},
    {"ascii", 0, ASSAY_OPTION_FLAG, AT(ascii), NULL,
     "write the table in ASCII only; so it is by itself where the locale is not UTF-8", 0, 0},
    {"help", 'h', ASSAY_OPTION_FLAG, AT(help), NULL, "this text", 0, 0},
    {0},
};

static enum assay_status parse_cache(const char *text, struct assay_settings *s,
                                     struct assay_error *err)
{
    s->hot = assay_text_same(text, "hot") || assay_text_same(text, "both");
    s->cold = assay_text_same(text, "cold") || assay_text_same(text, "both");
    if (s->hot || s->cold)
        return ASSAY_OK;
    static const char *const names[] = {"hot", "cold", "both"};
    char rest[64];
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "--cache takes hot, cold or both, not \"%s\"; %s", text,
                           assay_suggest_text(ASSAY_TOPIC_CACHE, text, names, 3,
                                              "did you mean \"both\"?", rest, sizeof rest));
}

/* Plug-ins are code of others: only the worker opens them. */
static enum assay_status check_plugin_files(const struct assay_strings *plugins,
                                            struct assay_error *err)
{
    for (int64_t i = 0; i < plugins->n; i++)
        if (strncmp(plugins->items[i], ASSAY_PYTHON_PREFIX, strlen(ASSAY_PYTHON_PREFIX)) != 0 &&
            access(plugins->items[i], R_OK) != 0)
            return assay_error_set(err, ASSAY_ERR_INVALID, plugins->items[i],
                                   "this plug-in cannot be read: %s", strerror(errno));
    return ASSAY_OK;
}

enum assay_status assay_measure_settings(const struct assay_measure_config *c, double budget_s,
                                         struct assay_settings *s, struct assay_error *err)
{
    *s = (struct assay_settings){
        .threads = c->threads ? (int32_t)c->threads : assay_cpu_info()->cores,
        .precision = c->precision > 0 ? c->precision : 0.01,
        .budget_s = c->budget_s > 0 ? c->budget_s : budget_s,
        .overtime = c->budget_s <= 0 && c->rounds == 0,
        .timeout_s = c->timeout_s > 0 ? c->timeout_s : 60,
        .warmup = c->warmup,
        .rounds = c->rounds,
        .seed = (uint64_t)c->seed,
        .memory_limit = c->memory_limit,
        .energy = c->energy,
        .counters = c->counters,
        .no_ceiling = c->no_ceiling,
        .autotune = c->autotune,
        .sandbox = c->sandbox && !c->no_sandbox,
    };
    if (s->threads > assay_cpu_info()->cores)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--threads %d is more than the %d cores this process may use",
                               s->threads, assay_cpu_info()->cores);
    enum assay_status status = parse_cache(c->cache, s, err);
    if (status == ASSAY_OK)
        status = check_plugin_files(&c->plugins, err);
    if (status == ASSAY_OK && assay_strings_copy(&c->plugins, &s->plugins) != ASSAY_OK)
        status = assay_error_nomem(err);
    return status;
}

static enum assay_status add_object(const char *name, struct assay_settings *s,
                                    struct assay_error *err)
{
    const char *object = assay_python_object_of(name);
    if (object && !assay_strings_have(&s->plugins, object) &&
        assay_strings_add(&s->plugins, object) != ASSAY_OK)
        return assay_error_nomem(err);
    return ASSAY_OK;
}

static enum assay_status find_python(const char *wanted, struct assay_settings *s,
                                     struct assay_error *err)
{
    struct assay_text path = {0};
    enum assay_status status = assay_python_find(wanted, &path, err);
    if (status == ASSAY_OK && path.length >= sizeof s->python)
        status = assay_error_set(err, ASSAY_ERR_INVALID, path.data, "the path is too long");
    if (status == ASSAY_OK)
        snprintf(s->python, sizeof s->python, "%s", path.data);
    assay_text_fini(&path);
    return status;
}

enum assay_status assay_measure_python(const char *wanted, struct assay_settings *s,
                                       struct assay_error *err)
{
    enum assay_status status = add_object(s->baseline, s, err);
    bool any = false;
    for (int64_t i = 0; i < s->implementations.n && status == ASSAY_OK; i++)
        status = add_object(s->implementations.items[i], s, err);
    for (int64_t i = 0; i < s->kernels.n && status == ASSAY_OK; i++)
        status = add_object(s->kernels.items[i], s, err);
    for (int64_t i = 0; i < s->plugins.n; i++)
        any = any || assay_python_is(s->plugins.items[i]);
    return status == ASSAY_OK && any ? find_python(wanted, s, err) : status;
}

enum assay_status assay_measure_device(const char *name, bool strict, char *out, size_t size,
                                       void (*warn)(const char *), struct assay_error *err)
{
    const struct assay_device_driver *driver;
    int32_t index;
    struct assay_error why = {0};
    enum assay_status status = assay_device_parse(name, &driver, &index, &why);
    if (status == ASSAY_OK) {
        if (index > 0)
            snprintf(out, size, "%s:%d", driver->name, index);
        else
            snprintf(out, size, "%s", driver->name);
        return ASSAY_OK;
    }
    if (status != ASSAY_UNSUPPORTED)
        return assay_error_set(err, status, NULL, "%s", why.message);
    if (strict)
        return assay_error_set(err, ASSAY_UNSUPPORTED, name, "%s", why.message);
    char text[640];
    snprintf(text, sizeof text, "device \"%.60s\" is not here (%s); using the cpu instead", name,
             why.message);
    warn(text);
    snprintf(out, size, "cpu");
    return ASSAY_OK;
}
