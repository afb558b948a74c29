/* timer.c: is the GPU's timer right? Measures launches of nothing and kernels that spin for a known
 * time of the GPU's own clock, the way all kernels are measured, and compares what is reported with
 * what was asked for, and with what the GPU's own clock said at the first and the last instruction.
 * Exit 1 where it is further off than it should be, 77 without a GPU.
 * usage: timer [DEVICE]   (default cuda) */
#include "device/cuda/cuda.h"
#include "device/device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 21, SKIPPED = 77, MOST_NOTED = 200 };

struct state {
    cu_function function;
    uint64_t ns;     /* of a spin; 0: no parameter */
    uint64_t *times; /* on the GPU: when each launch began and ended; NULL: not noted */
};

static enum assay_status run(void *state, const struct assay_work *work)
{
    struct state *s = state;
    struct assay_cuda_launch launch = {.threads = 1};
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        uint64_t *times = s->times ? s->times + 2 * i : NULL;
        void *parameters[] = {&s->ns, &times};
        status = assay_cuda_launch(s->function, &launch, work->stream, s->ns ? parameters : NULL);
    }
    return status;
}

/* The median of some samples, in ns a launch; NaN where one fails. */
static double measure(assay_device *device, struct state *s, int64_t iters, double *host_ns)
{
    struct assay_kernel kernel = {.run = run};
    struct assay_args args = {0};
    struct assay_work work = {.iters = iters, .n_sets = 1, .sets = &args};
    double sorted[SAMPLES];
    struct assay_timing timing = {0};
    for (int i = -2; i < SAMPLES; i++) { /* the first two warm up */
        if (device->driver->time(device, &kernel, s, &work, &timing) != ASSAY_OK)
            return (double)NAN;
        double ns = timing.device_ns / (double)iters;
        int at = i;
        for (; at > 0 && sorted[at - 1] > ns; at--)
            sorted[at] = sorted[at - 1];
        if (i >= 0)
            sorted[at] = ns;
    }
    device->driver->forget(device, s);
    *host_ns = timing.host_ns / (double)iters;
    return sorted[SAMPLES / 2];
}

/* %globaltimer moves in steps of up to 1 us on some GPUs, so a spin may last so much longer. */
static const double STEP_NS = 1100;

static bool check_spin(assay_device *device, cu_function function, uint64_t ns, int64_t iters,
                       double nothing)
{
    struct state spin = {.function = function, .ns = ns};
    double host = 0, got = measure(device, &spin, iters, &host), over = got - nothing - (double)ns;
    bool fine = over >= -0.005 * (double)ns - 200 && over <= 0.005 * (double)ns + STEP_NS + 500;
    printf("spin %7.1f us x %3lld  %11.3f us, less nothing's %+.2f %%, host %6.2f us  %s\n",
           (double)ns / 1e3, (long long)iters, got / 1e3, 100 * over / (double)ns, host / 1e3,
           fine ? "ok" : "WRONG");
    return fine;
}

/* From the first instruction of the first launch to the last one of the last, by the GPU's own
 * clock: what is reported is that, within 1 %. */
static bool check_noted(assay_device *device, cu_function function, uint64_t ns, int64_t iters)
{
    static uint64_t times[2 * MOST_NOTED];
    struct assay_error err = {0};
    void *noted = NULL;
    double host = 0, got = (double)NAN, inside = 0, between = 0;
    if (assay_cuda_alloc(sizeof times, &noted, &err) == ASSAY_OK) {
        struct state spin = {function, ns, noted};
        got = measure(device, &spin, iters, &host) * (double)iters;
        if (assay_cuda_download(times, noted, sizeof times, &err) != ASSAY_OK)
            got = (double)NAN;
    }
    assay_cuda_free(noted, sizeof times);
    for (int64_t i = 0; i < iters; i++) {
        inside += (double)(times[2 * i + 1] - times[2 * i]) / (double)iters;
        if (i > 0)
            between += (double)(times[2 * i] - times[2 * i - 1]) / (double)(iters - 1);
    }
    double span = (double)(times[2 * iters - 1] - times[0]);
    bool fine = got >= span - STEP_NS && got <= 1.01 * span;
    printf("noted %6.1f us x %3lld  %11.3f us inside, %.3f us between; all %.3f us by events, %.3f "
           "by the GPU's clock  %s\n",
           (double)ns / 1e3, (long long)iters, inside / 1e3, between / 1e3, got / 1e3, span / 1e3,
           fine ? "ok" : "WRONG");
    return fine;
}

static bool check(assay_device *device)
{
    struct assay_error err = {0};
    struct state nothing = {0};
    cu_function spin, noted;
    if (assay_cuda_function("gate.cu", "", "nothing", 0, &nothing.function, &err) != ASSAY_OK ||
        assay_cuda_function("gate.cu", "", "spin", 0, &spin, &err) != ASSAY_OK ||
        assay_cuda_function("gate.cu", "", "spin_noted", 0, &noted, &err) != ASSAY_OK) {
        printf("%s\n", err.message);
        return false;
    }
    double host = 0, floor = measure(device, &nothing, 200, &host);
    bool fine = floor > 0 && floor < 20000;
    printf("nothing         x 200  %11.3f us %23s host %6.2f us  %s\n", floor / 1e3, "", host / 1e3,
           fine ? "ok" : "WRONG");
    static const int64_t iters[] = {1, 2, 20, 200};
    for (size_t i = 0; i < sizeof iters / sizeof iters[0]; i++) {
        fine = check_spin(device, spin, 10000, iters[i], floor) && fine;
        if (iters[i] <= 20)
            fine = check_spin(device, spin, 1000000, iters[i], floor) && fine;
    }
    fine = check_noted(device, noted, 10000, MOST_NOTED) && fine;
    return check_noted(device, noted, 1000000, 20) && fine;
}

int main(int argc, char **argv)
{
    const struct assay_device_driver *driver;
    int32_t index;
    assay_device *device = NULL;
    struct assay_error err = {0};
    if (assay_device_parse(argc > 1 ? argv[1] : "cuda", &driver, &index, &err) != ASSAY_OK ||
        strcmp(driver->name, "cuda") != 0 ||
        assay_device_open(driver, index, 1, &device, &err) != ASSAY_OK) {
        printf("skipped: no CUDA device (%s)\n", err.message);
        return SKIPPED;
    }
    bool fine = check(device);
    assay_device_close(device);
    return fine ? 0 : 1;
}
