/* cuda_probe.c: probes of a GPU (device/probe.h), by the kernels of probe.cu. Of several ways to do
 * a thing (launches of several shapes, the driver's own copy) the fastest is taken. */
#include "base/alloc.h"
#include "device/cuda/cuda_gpu.h"

#include <math.h>

enum { MATH_THREADS = 256, TRIES = 4, MAX_WAYS = 16 };
/* What one call moves at the most. */
static const size_t MOST_BYTES = (size_t)1 << 30;
/* A launch of arithmetic is long enough that starting it does not count. */
static const double MATH_LAUNCH_NS = 100e3;

struct way {
    cu_function function; /* NULL: the driver's own copy */
    struct assay_cuda_launch launch;
};

struct cuda_probe {
    struct way way;
    uint64_t pieces; /* of 16 bytes, of each tensor */
    int32_t repeat;  /* of arithmetic */
    char *memory;
    size_t bytes;
    struct assay_args *sets;
    void *(*pointers)[3]; /* out, in, in */
};

static enum assay_status run_bytes(void *state, const struct assay_work *work)
{
    struct cuda_probe *p = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        void *to = args->out[0];
        const void *from = args->in[0], *more = args->in[1];
        void *parameters[] = {&to, &from, &more, &p->pieces};
        if (p->way.function)
            status = assay_cuda_launch(p->way.function, &p->way.launch, work->stream, parameters);
        else
            status =
                assay_cuda_check(assay_cuda_driver()->cuMemcpyDtoDAsync_v2(
                                     (cu_deviceptr)(uintptr_t)to, (cu_deviceptr)(uintptr_t)from,
                                     p->pieces * 16, work->stream),
                                 "cuMemcpyDtoDAsync", NULL);
    }
    return status;
}

static enum assay_status run_math(void *state, const struct assay_work *work)
{
    struct cuda_probe *p = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        void *parameters[] = {&p->memory, &p->repeat};
        status = assay_cuda_launch(p->way.function, &p->way.launch, work->stream, parameters);
    }
    return status;
}

double assay_cuda_least_ns(assay_device *device, const struct assay_kernel *kernel, void *state,
                           const struct assay_work *work, int tries)
{
    double least = 0;
    for (int i = 0; i < tries; i++) {
        struct assay_timing timing;
        if (assay_cuda_time(device, kernel, state, work, &timing) != ASSAY_OK)
            break;
        double ns = timing.device_ns / (double)work->iters;
        if (i > 0 && (least <= 0 || ns < least)) /* the first one warms up */
            least = ns;
    }
    assay_cuda_forget(device, state);
    return least;
}

/* ---- bandwidth ------------------------------------------------------------------------------- */

static void add_ways(const struct cuda_gpu *gpu, const char *function, uint64_t pieces,
                     struct way *ways, int *n)
{
    static const struct {
        const char *options;
        unsigned flight, threads, per_sm; /* 0: as many blocks as there are pieces for */
    } shapes[] = {{"-DFLIGHT=4", 4, 512, 0}, {"-DFLIGHT=4", 4, 512, 4},  {"-DFLIGHT=4", 4, 256, 0},
                  {"-DFLIGHT=8", 8, 256, 0}, {"-DFLIGHT=2", 2, 1024, 0}, {"-DFLIGHT=8", 8, 512, 4},
                  {"-DFLIGHT=2", 2, 128, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0] && *n < MAX_WAYS; i++) {
        struct way *way = &ways[*n];
        uint64_t block = (uint64_t)shapes[i].flight * shapes[i].threads;
        uint64_t all = (pieces + block - 1) / block;
        uint64_t blocks = (uint64_t)gpu->properties.sms * shapes[i].per_sm;
        way->launch = (struct assay_cuda_launch){
            .grid_x = (unsigned)(blocks && blocks < all ? blocks : all),
            .threads = shapes[i].threads,
        };
        if (assay_cuda_function("probe.cu", shapes[i].options, function, 0, &way->function, NULL) ==
            ASSAY_OK)
            ++*n;
    }
}

static int all_ways(const struct cuda_gpu *gpu, enum assay_probe_kind kind, uint64_t pieces,
                    struct way *ways)
{
    int n = 0;
    if (kind == ASSAY_PROBE_COPY)
        ways[n++] = (struct way){0};
    add_ways(gpu, assay_probe_name(kind), pieces, ways, &n);
    if (kind == ASSAY_PROBE_COPY)
        add_ways(gpu, "copy_cached", pieces, ways, &n);
    else if (kind == ASSAY_PROBE_TRIAD)
        add_ways(gpu, "triad_cached", pieces, ways, &n);
    return n;
}

static void bind(struct cuda_probe *p, enum assay_probe_kind kind, size_t bytes, int64_t n_sets)
{
    for (int64_t i = 0; i < n_sets; i++) {
        char *set = p->memory + (size_t)i * bytes * (size_t)assay_probe_streams(kind);
        p->pointers[i][0] = p->pointers[i][1] = set;
        if (assay_probe_streams(kind) > 1)
            p->pointers[i][1] = set + bytes;
        p->pointers[i][2] = assay_probe_streams(kind) > 2 ? set + 2 * bytes : set;
        p->sets[i].out = p->pointers[i];
        p->sets[i].in = (const void *const *)(p->pointers[i] + 1);
    }
}

/* Numbers everywhere, by the kernel that writes. */
static enum assay_status fill(assay_device *device, struct cuda_probe *p)
{
    struct way ways[MAX_WAYS];
    int n = 0;
    struct assay_kernel kernel = {.run = run_bytes};
    void *pointers[3] = {p->memory, p->memory, p->memory};
    struct assay_args args = {.in = (const void *const *)(pointers + 1), .out = pointers};
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    struct assay_timing timing;
    uint64_t pieces = p->pieces;
    p->pieces = p->bytes / 16;
    add_ways((const struct cuda_gpu *)device, "write", p->pieces, ways, &n);
    if (n == 0)
        return ASSAY_UNSUPPORTED;
    p->way = ways[0];
    enum assay_status status = assay_cuda_time(device, &kernel, p, &work, &timing);
    assay_cuda_forget(device, p);
    p->pieces = pieces;
    return status;
}

static enum assay_status tune_bytes(assay_device *device, enum assay_probe_kind kind,
                                    struct cuda_probe *p, struct assay_probe *out)
{
    struct way ways[MAX_WAYS], best = {0};
    int n = all_ways((const struct cuda_gpu *)device, kind, p->pieces, ways);
    struct assay_work work = {.iters = 4, .n_sets = out->n_sets, .sets = p->sets};
    double least = 0;
    for (int i = 0; i < n; i++) {
        p->way = ways[i];
        double ns = assay_cuda_least_ns(device, &out->kernel, p, &work, TRIES);
        if (ns > 0 && (least <= 0 || ns < least)) {
            least = ns;
            best = ways[i];
        }
    }
    p->way = best;
    return least > 0 ? ASSAY_OK : ASSAY_UNSUPPORTED;
}

static enum assay_status open_bytes(assay_device *device, const struct assay_probe_spec *spec,
                                    struct cuda_probe *p, struct assay_probe *out)
{
    struct assay_device_info info;
    void *memory = NULL;
    int streams = assay_probe_streams(spec->kind);
    device->driver->describe(device, &info);
    enum { GRAIN = 4096 };
    double each = fmin(spec->bytes, (double)MOST_BYTES) / streams;
    size_t bytes = assay_probe_grains(each, GRAIN) * GRAIN;
    size_t set = bytes * (size_t)streams;
    out->n_sets = spec->cold ? (int64_t)(2 * info.llc_bytes / set) + 2 : 1;
    p->bytes = set * (size_t)out->n_sets;
    p->pieces = bytes / 16;
    p->sets = assay_calloc((size_t)out->n_sets, sizeof *p->sets);
    p->pointers = assay_calloc((size_t)out->n_sets, sizeof *p->pointers);
    if (!p->sets || !p->pointers)
        return ASSAY_ERR_NOMEM;
    if (p->bytes > info.memory_available / 4 ||
        assay_device_alloc(device, p->bytes, &memory, NULL) != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    p->memory = memory;
    bind(p, spec->kind, bytes, out->n_sets);
    out->sets = p->sets;
    out->amount = (double)set;
    out->kernel.run = run_bytes;
    enum assay_status status = fill(device, p);
    return status == ASSAY_OK ? tune_bytes(device, spec->kind, p, out) : status;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* One way to multiply: a function of probe.cu, and what a block does in one repeat. */
struct math_way {
    const char *options, *function;
    unsigned per_sm, shared_bytes;
    double per_block;
};

static int math_ways(const struct cuda_gpu *gpu, int math, struct math_way ways[3])
{
    enum { WGMMA_SHARED = (64 + 64 + 256) * 128 };
    static const struct {
        const char *options;
        int k; /* of one matrix instruction */
    } kinds[ASSAY_CEILING_MATHS] = {[ASSAY_CEILING_F16] = {"-DKIND=1", 16},
                                    [ASSAY_CEILING_BF16] = {"-DKIND=2", 16},
                                    [ASSAY_CEILING_S8] = {"-DKIND=3", 32},
                                    [ASSAY_CEILING_F8] = {"-DKIND=4", 32}};
    const char *options = kinds[math].options;
    int n = 0, k = kinds[math].k;
    ways[n++] = (struct math_way){"", "fma_f32", 8, 0, 2.0 * 8 * 16 * MATH_THREADS};
    if (options)
        ways[n++] =
            (struct math_way){options, "mma", 4, 0, 2.0 * 16 * 8 * k * 8 * (MATH_THREADS / 32.0)};
    if (options && gpu->properties.major == 9) /* 4 instructions of 64 x 256, 2 warpgroups */
        ways[n++] =
            (struct math_way){options, "wgmma", 1, WGMMA_SHARED, 2.0 * 64 * 256 * k * 4 * 2};
    return n;
}

/* Operations per ns of one way, launched once for about so long. */
static double math_rate(assay_device *device, const struct math_way *way, struct cuda_probe *p,
                        struct assay_probe *out)
{
    const struct cuda_gpu *gpu = (const struct cuda_gpu *)device;
    struct assay_args args = {0};
    struct assay_work work = {.iters = 2, .n_sets = 1, .sets = &args};
    unsigned blocks = (unsigned)gpu->properties.sms * way->per_sm;
    if (assay_cuda_function("probe.cu", way->options, way->function, way->shared_bytes,
                            &p->way.function, NULL) != ASSAY_OK)
        return 0;
    p->way.launch = (struct assay_cuda_launch){
        .grid_x = blocks, .threads = MATH_THREADS, .shared_bytes = way->shared_bytes};
    p->repeat = 100;
    double ns = assay_cuda_least_ns(device, &out->kernel, p, &work, TRIES);
    if (ns <= 0)
        return 0;
    p->repeat = (int32_t)fmax(100, 100 * MATH_LAUNCH_NS / ns);
    ns = assay_cuda_least_ns(device, &out->kernel, p, &work, TRIES);
    out->amount = way->per_block * p->repeat * blocks;
    return ns > 0 ? out->amount / ns : 0;
}

static enum assay_status open_math(assay_device *device, int math, struct cuda_probe *p,
                                   struct assay_probe *out)
{
    struct math_way ways[3];
    int n = math_ways((const struct cuda_gpu *)device, math, ways);
    struct cuda_probe best = {0};
    double best_rate = 0, amount = 0;
    void *memory = NULL;
    enum assay_status status = assay_device_alloc(device, p->bytes = 256, &memory, NULL);
    if (status != ASSAY_OK)
        return status;
    p->memory = memory;
    p->sets = assay_calloc(1, sizeof *p->sets);
    if (!p->sets)
        return ASSAY_ERR_NOMEM;
    out->sets = p->sets;
    out->n_sets = 1;
    out->kernel.run = run_math;
    for (int i = 0; i < n; i++) {
        double rate = math_rate(device, &ways[i], p, out);
        if (rate > best_rate) {
            best_rate = rate;
            best = *p;
            amount = out->amount;
        }
    }
    if (best_rate <= 0)
        return ASSAY_UNSUPPORTED;
    *p = best;
    out->amount = amount;
    return ASSAY_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

enum assay_status assay_cuda_probe_open(assay_device *device, const struct assay_probe_spec *spec,
                                        struct assay_probe *out, struct assay_error *err)
{
    struct cuda_probe *p = assay_calloc(1, sizeof *p);
    *out = (struct assay_probe){.state = p};
    if (!p)
        return assay_error_set(err, ASSAY_ERR_NOMEM, "cuda", "out of memory");
    out->kernel = (struct assay_kernel){.struct_size = sizeof out->kernel,
                                        .abi = ASSAY_KERNEL_ABI,
                                        .name = "probe",
                                        .device = "cuda"};
    enum assay_status status = spec->kind == ASSAY_PROBE_MATH
                                   ? open_math(device, spec->math, p, out)
                                   : open_bytes(device, spec, p, out);
    if (status != ASSAY_OK) {
        assay_cuda_probe_close(device, out);
        return assay_error_set(err, status, "cuda", "this GPU cannot be probed");
    }
    return ASSAY_OK;
}

void assay_cuda_probe_close(assay_device *device, struct assay_probe *probe)
{
    struct cuda_probe *p = probe->state;
    if (!p)
        return;
    assay_cuda_forget(device, p);
    assay_device_free(device, p->memory, p->bytes);
    assay_free(p->sets);
    assay_free(p->pointers);
    assay_free(p);
    *probe = (struct assay_probe){0};
}
