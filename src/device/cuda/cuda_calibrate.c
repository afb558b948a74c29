/* cuda_calibrate.c: the best a GPU does, by its probes: bytes over the working set, arithmetic. */
#include "device/cuda/cuda_gpu.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { SMALLEST = 20, LARGEST = 30, SAMPLES = 8 }; /* log2 of the working sets */

/* What a probe does in a second, at its best; 0 where it cannot be opened. */
static double best_rate(assay_device *device, struct assay_probe_spec spec)
{
    struct assay_probe probe;
    if (assay_cuda_probe_open(device, &spec, &probe, NULL) != ASSAY_OK)
        return 0;
    struct assay_work work = {.iters = 4, .n_sets = probe.n_sets, .sets = probe.sets};
    double ns = assay_cuda_least_ns(device, &probe.kernel, probe.state, &work, SAMPLES);
    double rate = ns > 0 ? probe.amount / (ns * 1e-9) : 0;
    assay_cuda_probe_close(device, &probe);
    return rate;
}

static void measure_bytes(assay_device *device, struct assay_ceilings *out)
{
    const struct cuda_gpu *gpu = (const struct cuda_gpu *)device;
    out->n_levels = 2;
    out->levels[0] = (struct assay_ceiling_level){"L2", gpu->properties.l2_bytes};
    out->levels[1] = (struct assay_ceiling_level){"memory", SIZE_MAX};
    for (int size = SMALLEST; size <= LARGEST; size++) {
        struct assay_ceiling_point *point = &out->points[out->n_points];
        point->bytes = (size_t)1 << size;
        for (int kind = 0; kind < ASSAY_PROBE_STREAMS; kind++)
            point->rates[kind] =
                best_rate(device, (struct assay_probe_spec){.kind = (enum assay_probe_kind)kind,
                                                            .bytes = (double)point->bytes});
        if (point->rates[ASSAY_PROBE_READ] > 0) /* else there is no memory for it */
            out->n_points++;
    }
}

enum assay_status assay_cuda_calibrate(assay_device *device, struct assay_ceilings *out,
                                       struct assay_error *err)
{
    struct cuda_gpu *gpu = (struct cuda_gpu *)device;
    *out = (struct assay_ceilings){.threads = device->threads, .measured_at = (int64_t)time(NULL)};
    snprintf(out->device, sizeof out->device, "%s", gpu->properties.name);
    enum assay_status status = assay_cuda_can_compile(err);
    if (status != ASSAY_OK)
        return status;
    measure_bytes(device, out);
    for (int math = 0; math < ASSAY_CEILING_MATHS; math++)
        out->flops[math] =
            best_rate(device, (struct assay_probe_spec){.kind = ASSAY_PROBE_MATH, .math = math});
    if (out->n_points == 0)
        return assay_error_set(err, ASSAY_ERR_NOMEM, "cuda",
                               "no memory on the GPU to measure its ceilings in");
    cu_function nothing = NULL;
    status = assay_cuda_function("gate.cu", "", "nothing", 0, &nothing, err);
    if (status == ASSAY_OK) {
        struct assay_kernel kernel = {.run = assay_cuda_run_nothing};
        struct assay_args args = {0};
        struct assay_work work = {.iters = 200, .n_sets = 1, .sets = &args};
        out->floor_ns = assay_cuda_least_ns(device, &kernel, nothing, &work, SAMPLES);
        out->timer_ns = gpu->events.replayed / 2;
    }
    out->clock_hz = assay_cuda_clock_hz(device);
    return status;
}
