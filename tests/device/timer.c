/* timer.c: is the GPU's timer right? Measures launches of nothing and kernels that spin for a known
 * time of the GPU's own clock, the way all kernels are measured, and compares what is reported with
 * what was asked for. Exit 1 where it is further off than it should be, 77 without a GPU.
 * usage: timer [DEVICE]   (default cuda) */
#include "device/cuda/cuda.h"
#include "device/device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 21, SKIPPED = 77 };

struct state {
    cu_function function;
    uint64_t ns; /* of a spin; 0: no parameter */
};

static enum assay_status run(void *state, const struct assay_work *work)
{
    struct state *s = state;
    struct assay_cuda_launch launch = {.threads = 1};
    void *parameters[] = {&s->ns};
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++)
        status = assay_cuda_launch(s->function, &launch, work->stream, s->ns ? parameters : NULL);
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
            return NAN;
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
    struct state spin = {function, ns};
    double host = 0, got = measure(device, &spin, iters, &host), over = got - nothing - (double)ns;
    bool fine = over >= -0.005 * (double)ns - 200 && over <= 0.005 * (double)ns + STEP_NS + 500;
    printf("spin %7.1f us x %3lld  %11.3f us, %+8.3f us beside nothing's, host %6.2f us  %s\n",
           (double)ns / 1e3, (long long)iters, got / 1e3, over / 1e3, host / 1e3,
           fine ? "ok" : "WRONG");
    return fine;
}

static bool check(assay_device *device)
{
    struct assay_error err = {0};
    struct state nothing = {0};
    cu_function spin;
    bool fine = true;
    if (assay_cuda_function("gate.cu", "", "nothing", 0, &nothing.function, &err) != ASSAY_OK ||
        assay_cuda_function("gate.cu", "", "spin", 0, &spin, &err) != ASSAY_OK) {
        printf("%s\n", err.message);
        return false;
    }
    static const int64_t iters[] = {1, 2, 20, 200};
    for (size_t i = 0; i < sizeof iters / sizeof iters[0]; i++) {
        double host = 0, floor = measure(device, &nothing, iters[i], &host);
        bool sane = floor > 0 && floor < 20000;
        printf("nothing         x %3lld  %11.3f us %28s host %6.2f us  %s\n", (long long)iters[i],
               floor / 1e3, "", host / 1e3, sane ? "ok" : "WRONG");
        fine = check_spin(device, spin, 10000, iters[i], floor) && sane && fine;
        if (iters[i] <= 20)
            fine = check_spin(device, spin, 1000000, iters[i], floor) && fine;
    }
    return fine;
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
