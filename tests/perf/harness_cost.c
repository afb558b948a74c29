/* What the harness itself costs: one timed sample around an empty kernel beyond two clock reads,
 * and one iteration of an empty batched loop. Prints "sample_ns loop_ns"; for tools/perf. */
#include "base/clock.h"
#include "device/device.h"
#include "stats/stats.h"

#include <stdio.h>

enum { SAMPLES = 20001, LOOP = 1000000 };

/* The least a kernel can do: the loop a batched sample runs, with nothing in it but the operands.
 */
static enum assay_status run(void *state, const struct assay_work *work)
{
    (void)state;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        __asm__ volatile("" : : "r"(args) : "memory");
    }
    return ASSAY_OK;
}

static double median(double *values, int64_t n)
{
    assay_stats_sort(values, n);
    return assay_stats_quantile(values, n, 0.5);
}

int main(void)
{
    static double samples[SAMPLES], reads[SAMPLES], loops[101];
    const struct assay_kernel kernel = {.run = run};
    const void *in[1] = {samples};
    void *out[1] = {samples};
    struct assay_args args = {in, out};
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    struct assay_timing timing;
    assay_device *device = NULL;
    if (assay_device_open(assay_device_at(0), 0, 1, &device, NULL) != ASSAY_OK)
        return 3;
    for (int i = 0; i < SAMPLES; i++) {
        int64_t start = assay_clock_ns();
        int64_t end = assay_clock_ns();
        reads[i] = (double)(end - start);
        device->driver->time(device, &kernel, NULL, &work, &timing);
        samples[i] = timing.device_ns;
    }
    work.iters = LOOP;
    for (int i = 0; i < 101; i++) {
        device->driver->time(device, &kernel, NULL, &work, &timing);
        loops[i] = timing.device_ns / LOOP;
    }
    printf("%.1f %.3f\n", median(samples, SAMPLES) - median(reads, SAMPLES), median(loops, 101));
    assay_device_close(device);
    return 0;
}
