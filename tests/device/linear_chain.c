/* linear_chain.c: launches of `linear` that may begin while the one before ends, each with the y of
 * that one as its x, as in a model. They must give what the same launches give one by one, to the
 * bit: a kernel that reads x too soon, or writes y while it is still read, does not. Exit 1 where
 * they differ, 77 without a GPU. usage: linear_chain [DEVICE] (default cuda) */
#include "base/alloc.h"
#include "device/cuda/cuda.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "op/linear.h"
#include "op/op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77, LAUNCHES = 24, TIMES = 20 };

/* m, and k which is n. */
static const int64_t shapes[][2] = {{1, 512}, {1, 4096}, {5, 1024}, {16, 4096}, {33, 1024}};
static const char *const recipes[] = {"baseline", "int8wo", "int4wo-32", "int4wo-128"};

struct chain {
    assay_device *device;
    const struct assay_kernel *kernel;
    void *state;
    size_t rows_bytes, weights_bytes;
    void *rows[2];              /* x and y, which change places from launch to launch */
    void *start, *weights;      /* the first x */
    void *drawn;                /* on the host, as the next: the weights */
    void *x, *apart, *together; /* the first x; the last y, in the two ways */
};

/* The launches [from, from + count). */
static enum assay_status run_some(const struct chain *c, int64_t from, int64_t count, void *stream)
{
    const void *in[2][2] = {{c->rows[0], c->weights}, {c->rows[1], c->weights}};
    void *out[2] = {c->rows[1], c->rows[0]};
    const struct assay_args args[2] = {{.in = in[0], .out = &out[0]},
                                       {.in = in[1], .out = &out[1]}};
    const struct assay_work work = {
        .iters = count, .first = from % 2, .n_sets = 2, .sets = args, .stream = stream};
    return c->kernel->run(c->state, &work);
}

static enum assay_status restart(const struct chain *c, void *stream)
{
    return assay_cuda_check(assay_cuda_driver()->cuMemcpyDtoDAsync_v2(
                                (cu_deviceptr)(uintptr_t)c->rows[0],
                                (cu_deviceptr)(uintptr_t)c->start, c->rows_bytes, stream),
                            "cuMemcpyDtoDAsync", NULL);
}

/* As the run of a kernel: all of the chain, anew for each call. */
static enum assay_status run_chain(void *state, const struct assay_work *work)
{
    const struct chain *c = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        status = restart(c, work->stream);
        if (status == ASSAY_OK)
            status = run_some(c, 0, LAUNCHES, work->stream);
    }
    return status;
}

/* One by one. */
static enum assay_status run_apart(const struct chain *c, struct assay_error *err)
{
    enum assay_status status = restart(c, NULL);
    for (int64_t i = 0; i < LAUNCHES && status == ASSAY_OK; i++) {
        status = run_some(c, i, 1, NULL);
        if (status == ASSAY_OK)
            status =
                assay_cuda_check(assay_cuda_driver()->cuCtxSynchronize(), "cuCtxSynchronize", err);
    }
    return status == ASSAY_OK
               ? assay_cuda_download(c->apart, c->rows[LAUNCHES % 2], c->rows_bytes, err)
               : status;
}

/* As they are measured: enqueued (one call), or as a graph (two). */
static enum assay_status run_together(struct chain *c, int64_t calls, struct assay_error *err)
{
    const struct assay_kernel kernel = {.run = run_chain};
    const struct assay_args none = {0};
    const struct assay_work work = {.iters = calls, .n_sets = 1, .sets = &none};
    struct assay_timing timing;
    enum assay_status status = c->device->driver->time(c->device, &kernel, c, &work, &timing);
    return status == ASSAY_OK
               ? assay_cuda_download(c->together, c->rows[LAUNCHES % 2], c->rows_bytes, err)
               : status;
}

/* Nearly normal, of this size: the sum of four from -1 to 1. */
static void draw(enum assay_dtype dtype, void *to, int64_t count, double size, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int j = 0; j < 4; j++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(seed >> 40) * 0x1p-23 - 1;
        }
        sum *= size * sqrt(0.75);
        assay_dtype_store(dtype, &sum, to, i, 1);
    }
}

static void chain_fini(struct chain *c)
{
    if (c->state) {
        c->device->driver->forget(c->device, c);
        c->kernel->teardown(c->state);
    }
    assay_cuda_free(c->rows[0], c->rows_bytes);
    assay_cuda_free(c->rows[1], c->rows_bytes);
    assay_cuda_free(c->start, c->rows_bytes);
    assay_cuda_free(c->weights, c->weights_bytes);
    assay_free(c->drawn);
    assay_free(c->x);
    assay_free(c->apart);
    assay_free(c->together);
}

static enum assay_status make_room(struct chain *c, struct assay_error *err)
{
    enum assay_status status = assay_cuda_alloc(c->rows_bytes, &c->rows[0], err);
    if (status == ASSAY_OK)
        status = assay_cuda_alloc(c->rows_bytes, &c->rows[1], err);
    if (status == ASSAY_OK)
        status = assay_cuda_alloc(c->rows_bytes, &c->start, err);
    if (status == ASSAY_OK)
        status = assay_cuda_alloc(c->weights_bytes, &c->weights, err);
    c->drawn = assay_calloc(1, c->weights_bytes);
    c->x = assay_calloc(1, c->rows_bytes);
    c->apart = assay_calloc(1, c->rows_bytes);
    c->together = assay_calloc(1, c->rows_bytes);
    if (status == ASSAY_OK && !(c->drawn && c->x && c->apart && c->together))
        status = assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    return status;
}

static enum assay_status chain_init(struct chain *c, const struct assay_problem *p,
                                    struct assay_error *err)
{
    int64_t k = p->axes[ASSAY_LINEAR_K];
    enum assay_status status = make_room(c, err);
    if (status != ASSAY_OK)
        return status;
    draw(p->dtype, c->x, p->axes[ASSAY_LINEAR_M] * k, 1, 1);
    draw(p->dtype, c->drawn, k * k, 1 / sqrt((double)k), 2);
    status = assay_cuda_upload(c->start, c->x, c->rows_bytes, err);
    if (status == ASSAY_OK)
        status = assay_cuda_upload(c->weights, c->drawn, c->weights_bytes, err);
    if (status == ASSAY_OK)
        status = c->kernel->setup(p, &c->state, err);
    const void *in[2] = {c->rows[0], c->weights};
    const struct assay_args args = {.in = in, .out = &c->rows[1]};
    for (int64_t set = 0; set < 2 && status == ASSAY_OK; set++)
        status = c->kernel->prepare(c->state, set, &args, err);
    return status;
}

static bool check(assay_device *device, const struct assay_kernel *kernel,
                  const struct assay_problem *p)
{
    size_t row = (size_t)p->axes[ASSAY_LINEAR_K] * assay_dtype_bytes(p->dtype);
    struct assay_error err = {0};
    struct chain c = {.device = device,
                      .kernel = kernel,
                      .rows_bytes = (size_t)p->axes[ASSAY_LINEAR_M] * row,
                      .weights_bytes = (size_t)p->axes[ASSAY_LINEAR_N] * row};
    enum assay_status status = chain_init(&c, p, &err);
    if (status == ASSAY_OK)
        status = run_apart(&c, &err);
    bool fine = status == ASSAY_OK && memcmp(c.apart, c.x, c.rows_bytes) != 0;
    for (int i = 0; i < TIMES && fine; i++)
        fine = run_together(&c, 1 + i % 2, &err) == ASSAY_OK &&
               memcmp(c.together, c.apart, c.rows_bytes) == 0;
    chain_fini(&c);
    printf("%-16s %-4s %lldx%lldx%lld %-10s %d launches, %d times  %s%s\n", kernel->name,
           assay_dtype_name(p->dtype), (long long)p->axes[0], (long long)p->axes[1],
           (long long)p->axes[2], p->recipe, LAUNCHES, TIMES, fine ? "ok" : "WRONG ", err.message);
    return fine;
}

static bool check_all(assay_device *device, const assay_kernel_registry *registry)
{
    const struct assay_kernel *kernel = assay_kernel_find(registry, "linear_wo_cuda");
    const struct assay_op *op = assay_op_find("linear");
    bool fine = kernel && op;
    for (size_t s = 0; fine && s < sizeof shapes / sizeof *shapes; s++)
        for (size_t r = 0; r < sizeof recipes / sizeof *recipes; r++) {
            const int64_t axes[] = {shapes[s][0], shapes[s][1], shapes[s][1]};
            struct assay_problem p;
            if (assay_op_problem(op, ASSAY_DTYPE_BF16, NULL, axes, 1, &p, NULL) != ASSAY_OK)
                return false;
            p.recipe = recipes[r];
            fine = check(device, kernel, &p) && fine;
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
    assay_kernel_registry *registry = assay_kernel_registry_create();
    bool fine = registry && check_all(device, registry);
    assay_kernel_registry_destroy(registry);
    assay_device_close(device);
    return fine ? 0 : 1;
}
