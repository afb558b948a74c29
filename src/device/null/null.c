#include "device/null/null.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

struct null_device {
    struct assay_device device;
    struct assay_null_script script;
    double now_ns;
};

static struct null_device *null_of(assay_device *device) { return (struct null_device *)device; }

static void close_null(assay_device *device) { assay_free(device); }

static void describe(assay_device *device, struct assay_device_info *out)
{
    (void)device;
    *out = (struct assay_device_info){.name = "null",
                                      .memory_bytes = 1 << 30,
                                      .memory_available = 1 << 30,
                                      .llc_bytes = 1 << 16,
                                      .cores = 1};
}

static enum assay_status alloc_null(assay_device *device, size_t bytes, void **out,
                                    struct assay_error *err)
{
    (void)device;
    *out = aligned_alloc(64, (bytes + 63) / 64 * 64);
    return *out ? ASSAY_OK : assay_error_set(err, ASSAY_ERR_NOMEM, "null", "out of memory");
}

static void free_null(assay_device *device, void *ptr, size_t bytes)
{
    (void)device, (void)bytes;
    free(ptr);
}

static enum assay_status time_null(assay_device *device, const struct assay_kernel *kernel,
                                   void *state, const struct assay_work *work,
                                   struct assay_timing *out)
{
    struct null_device *null = null_of(device);
    double ns = null->script.duration(null->script.user, kernel, state, work);
    if (ns < 0)
        return ASSAY_ERR_DEVICE;
    null->now_ns += ns;
    out->device_ns = out->host_ns = ns;
    return kernel->run ? kernel->run(state, work) : ASSAY_OK;
}

static enum assay_status count_null(assay_device *device, const struct assay_kernel *kernel,
                                    void *state, const struct assay_work *work,
                                    struct assay_counts *out)
{
    struct null_device *null = null_of(device);
    struct assay_timing timing;
    assay_counts_clear(out);
    if (null->script.count)
        null->script.count(null->script.user, work, out);
    return time_null(device, kernel, state, work, &timing);
}

static int64_t now_null(assay_device *device) { return (int64_t)null_of(device)->now_ns; }

static double clock_null(assay_device *device)
{
    struct null_device *null = null_of(device);
    return null->script.clock_hz ? null->script.clock_hz(null->script.user) : 0;
}

static void disturbance(assay_device *device, struct assay_disturbance *out)
{
    struct null_device *null = null_of(device);
    *out = (struct assay_disturbance){0};
    if (null->script.context_switches)
        out->context_switches = null->script.context_switches(null->script.user);
    if (null->script.waited_ns)
        out->waited_ns = null->script.waited_ns(null->script.user);
    if (null->script.throttle)
        out->throttle = null->script.throttle(null->script.user);
}

static int64_t stolen_null(assay_device *device)
{
    struct null_device *null = null_of(device);
    return null->script.stolen_ns ? null->script.stolen_ns(null->script.user) : 0;
}

static double matrix_probe(assay_device *device)
{
    struct null_device *null = null_of(device);
    return null->script.matrix_probe ? null->script.matrix_probe(null->script.user) : 0;
}

static const struct assay_device_driver null_driver = {
    .name = "null",
    .summary = "computes nothing; its clock is a script",
    .close = close_null,
    .describe = describe,
    .alloc = alloc_null,
    .free = free_null,
    .time = time_null,
    .counters = count_null,
    .now_ns = now_null,
    .clock_hz = clock_null,
    .disturbance = disturbance,
    .stolen_ns = stolen_null,
    .matrix_probe = matrix_probe,
};

enum assay_status assay_null_open(const struct assay_null_script *script, assay_device **out,
                                  struct assay_error *err)
{
    struct null_device *null = assay_calloc(1, sizeof *null);
    if (!null)
        return assay_error_set(err, ASSAY_ERR_NOMEM, "null", "out of memory");
    null->device.driver = &null_driver;
    null->device.threads = 1;
    null->script = *script;
    *out = &null->device;
    return ASSAY_OK;
}
