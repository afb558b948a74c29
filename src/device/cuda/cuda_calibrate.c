/* cuda_calibrate.c: the ceilings of a GPU, by kernels that do nothing but what is measured, timed
 * the way all kernels are. Of several ways to do a thing the fastest counts. */
#include "device/cuda/cuda_gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 8, MATH_THREADS = 256 };

/* One thing to launch again and again, as a kernel's state. */
struct piece {
    cu_function function; /* NULL: the driver's own copy */
    struct assay_cuda_launch launch;
    void *from, *to;
    uint64_t n, mask; /* pieces of 16 bytes; their numbers are taken modulo mask + 1 */
    int32_t repeat;
};

static enum assay_status run_bytes(void *state, const struct assay_work *work)
{
    struct piece *p = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        void *parameters[] = {&p->from, &p->to, &p->n, &p->mask};
        if (p->function)
            status = assay_cuda_launch(p->function, &p->launch, work->stream, parameters);
        else
            status =
                assay_cuda_check(assay_cuda_driver()->cuMemcpyDtoDAsync_v2(
                                     (cu_deviceptr)(uintptr_t)p->to,
                                     (cu_deviceptr)(uintptr_t)p->from, p->n * 16, work->stream),
                                 "cuMemcpyDtoDAsync", NULL);
    }
    return status;
}

static enum assay_status run_math(void *state, const struct assay_work *work)
{
    struct piece *p = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        void *parameters[] = {&p->to, &p->repeat};
        status = assay_cuda_launch(p->function, &p->launch, work->stream, parameters);
    }
    return status;
}

/* The least time one launch took, in ns; 0 where it does not run. */
static double least_ns(assay_device *device,
                       enum assay_status (*run)(void *, const struct assay_work *), void *state,
                       int64_t iters)
{
    struct assay_kernel kernel = {.run = run};
    struct assay_args args = {0};
    struct assay_work work = {.iters = iters, .n_sets = 1, .sets = &args};
    double least = 0;
    for (int i = 0; i < SAMPLES; i++) {
        struct assay_timing timing;
        if (assay_cuda_time(device, &kernel, state, &work, &timing) != ASSAY_OK)
            break;
        double ns = timing.device_ns / (double)iters;
        if (i > 1 && (least <= 0 || ns < least)) /* the first ones warm up */
            least = ns;
    }
    assay_cuda_forget(device, state);
    return least;
}

/* Pieces of memory to go through: `times` times `bytes`, a power of two. */
struct span {
    char *memory;
    size_t bytes;
    int64_t times;
};

/* Bytes per second that one function moves at best, over several shapes of its launch. `streams` is
 * 2 where it reads and writes. Without a function: the driver's own copy. */
static double rate(assay_device *device, const char *function, const struct span *s, int streams)
{
    static const struct {
        const char *options;
        unsigned flight, threads, per_sm; /* 0: as many blocks as there are pieces for */
    } shapes[] = {{"-DFLIGHT=4", 4, 512, 0}, {"-DFLIGHT=4", 4, 512, 4},  {"-DFLIGHT=4", 4, 256, 0},
                  {"-DFLIGHT=8", 8, 256, 0}, {"-DFLIGHT=2", 2, 1024, 0}, {"-DFLIGHT=8", 8, 512, 4}};
    const struct cuda_gpu *gpu = (const struct cuda_gpu *)device;
    size_t each = s->bytes / (size_t)streams;
    struct piece p = {.from = s->memory, .to = s->memory + s->bytes - each};
    p.n = each / 16 * (uint64_t)(function ? s->times : 1);
    p.mask = each / 16 - 1;
    double best = 0;
    for (size_t i = 0; i < (function ? sizeof shapes / sizeof shapes[0] : 1); i++) {
        uint64_t piece = (uint64_t)shapes[i].flight * shapes[i].threads;
        uint64_t all = (p.n + piece - 1) / piece;
        uint64_t blocks = (uint64_t)gpu->properties.sms * shapes[i].per_sm;
        if (function && assay_cuda_function("calibrate.cu", shapes[i].options, function, 0,
                                            &p.function, NULL) != ASSAY_OK)
            return 0;
        p.launch = (struct assay_cuda_launch){
            .grid_x = (unsigned)(blocks && blocks < all ? blocks : all),
            .threads = shapes[i].threads,
        };
        double ns = least_ns(device, run_bytes, &p, 2);
        if (ns > 0)
            best = fmax(best, (double)p.n * 16 * streams / (ns * 1e-9));
    }
    return best;
}

static void measure_level(assay_device *device, struct assay_ceiling_level *level,
                          const struct span *span)
{
    level->read = rate(device, "read", span, 1);
    level->write = rate(device, "write", span, 1);
    level->copy = fmax(rate(device, "copy", span, 2), rate(device, "copy_cached", span, 2));
    if (span->times == 1)
        level->copy = fmax(level->copy, rate(device, NULL, span, 2));
}

static size_t power_of_two_within(size_t bytes)
{
    size_t power = 4096;
    while (power * 2 <= bytes)
        power *= 2;
    return power;
}

static enum assay_status measure_bytes(assay_device *device, struct assay_ceilings *out,
                                       struct assay_error *err)
{
    enum { L2_TIMES = 64 };
    const struct cuda_gpu *gpu = (const struct cuda_gpu *)device;
    struct assay_device_info info;
    void *memory = NULL;
    device->driver->describe(device, &info);
    size_t most = (size_t)4 << 30, quarter = info.memory_available / 4;
    size_t bytes = power_of_two_within(quarter < most ? quarter : most);
    enum assay_status status = assay_device_alloc(device, bytes, &memory, err);
    if (status != ASSAY_OK)
        return status;
    struct span cache = {memory, power_of_two_within(gpu->properties.l2_bytes / 3), L2_TIMES};
    struct span all = {memory, bytes, 1};
    out->n_levels = 2;
    snprintf(out->levels[0].name, sizeof out->levels[0].name, "L2");
    out->levels[0].bytes = gpu->properties.l2_bytes;
    measure_level(device, &out->levels[0], &cache);
    snprintf(out->levels[1].name, sizeof out->levels[1].name, "memory");
    out->levels[1].bytes = SIZE_MAX;
    measure_level(device, &out->levels[1], &all);
    assay_device_free(device, memory, bytes);
    return ASSAY_OK;
}

/* Operations per second of one function; `per_block` are a block's in one repeat. */
static double math_rate(assay_device *device, const char *options, const char *function,
                        unsigned blocks_per_sm, unsigned shared, double per_block, int32_t repeat,
                        void *out)
{
    const struct cuda_gpu *gpu = (const struct cuda_gpu *)device;
    struct piece p = {.to = out, .repeat = repeat};
    if (assay_cuda_function("calibrate.cu", options, function, shared, &p.function, NULL) !=
        ASSAY_OK)
        return 0;
    unsigned blocks = (unsigned)gpu->properties.sms * blocks_per_sm;
    p.launch = (struct assay_cuda_launch){
        .grid_x = blocks, .threads = MATH_THREADS, .shared_bytes = shared};
    double ns = least_ns(device, run_math, &p, 2);
    return ns > 0 ? per_block * repeat * blocks / (ns * 1e-9) : 0;
}

static enum assay_status measure_math(assay_device *device, struct assay_ceilings *out,
                                      struct assay_error *err)
{
    enum { WGMMA_SHARED = (64 + 64 + 256) * 128 };
    static const struct {
        int ceiling;
        const char *options;
        int k; /* of one matrix instruction */
    } kinds[] = {{ASSAY_CEILING_F16, "-DKIND=1", 16},
                 {ASSAY_CEILING_BF16, "-DKIND=2", 16},
                 {ASSAY_CEILING_S8, "-DKIND=3", 32},
                 {ASSAY_CEILING_F8, "-DKIND=4", 32}};
    const struct cuda_gpu *gpu = (const struct cuda_gpu *)device;
    void *place = NULL;
    enum assay_status status = assay_device_alloc(device, 256, &place, err);
    if (status != ASSAY_OK)
        return status;
    out->flops[ASSAY_CEILING_F32] =
        math_rate(device, "", "fma_f32", 8, 0, 2.0 * 8 * 16 * MATH_THREADS, 200, place);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        double own = math_rate(device, kinds[i].options, "mma", 4, 0,
                               2.0 * 16 * 8 * kinds[i].k * 8 * (MATH_THREADS / 32.0), 400, place);
        if (gpu->properties.major == 9) /* 4 instructions of 64 x 256 in each of 2 warpgroups */
            own = fmax(own, math_rate(device, kinds[i].options, "wgmma", 1, WGMMA_SHARED,
                                      2.0 * 64 * 256 * kinds[i].k * 4 * 2, 600, place));
        out->flops[kinds[i].ceiling] = fmax(own, out->flops[ASSAY_CEILING_F32]);
    }
    assay_device_free(device, place, 256);
    return ASSAY_OK;
}

enum assay_status assay_cuda_calibrate(assay_device *device, struct assay_ceilings *out,
                                       struct assay_error *err)
{
    struct cuda_gpu *gpu = (struct cuda_gpu *)device;
    *out = (struct assay_ceilings){.threads = device->threads, .measured_at = (int64_t)time(NULL)};
    snprintf(out->device, sizeof out->device, "%s", gpu->properties.name);
    enum assay_status status = assay_cuda_can_compile(err);
    if (status == ASSAY_OK)
        status = measure_bytes(device, out, err);
    if (status == ASSAY_OK)
        status = measure_math(device, out, err);
    if (status != ASSAY_OK)
        return status;
    cu_function nothing = NULL;
    status = assay_cuda_function("gate.cu", "", "nothing", 0, &nothing, err);
    if (status == ASSAY_OK) {
        out->floor_ns = least_ns(device, assay_cuda_run_nothing, nothing, 200);
        out->timer_ns = gpu->events.replayed / 2;
    }
    out->clock_hz = assay_cuda_clock_hz(device);
    return status;
}
