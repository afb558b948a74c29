/* attention_values.c: the GPU's kernels of attention on values that `assay bench` does not draw.
 * Its scores are nearly normal, so the greatest one hardly ever grows from tile to tile, and
 * nothing is infinite. Here they grow, are large, or are not finite; answers are compared with the
 * op's reference. Exit 1 where one is wrong, 77 without a GPU. usage: attention_values [DEVICE]
 * (default cuda) */
#include "base/alloc.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "op/attention.h"
#include "op/op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77, ROW_STEP = 37 };

/* GROWING: keys grow with their position, so what is summed up must be scaled again and again.
 * LARGE: queries times 60, whose scores overflow unless their greatest is taken off. UNUSUAL: NaN
 * and infinities. */
enum values { GROWING, LARGE, UNUSUAL, N_VALUES };
static const char *const names[] = {"growing", "large", "unusual"};

static const char *const modes[] = {"none", "causal"};
static const int64_t shapes[][4] = {
    {2, 20, 3, 64}, {1, 130, 2, 128}, {2, 300, 3, 64}, {1, 700, 2, 128}, {1, 1000, 17, 64}};

struct operands {
    size_t bytes; /* of each */
    void *host[4], *gpu[4];
};

/* Nearly normal: the sum of twelve from 0 to 1. */
static double draw(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*seed >> 40) * 0x1p-24;
    }
    return sum;
}

/* Of q, k or v: the element of any head at this position and column. */
static double value_of(enum values values, int input, const int64_t *axes, int64_t position,
                       int64_t column, uint64_t *seed)
{
    double x = draw(seed), at = (double)position / (double)axes[ASSAY_ATTENTION_SEQ];
    if (values == GROWING && input == 1)
        return x * (0.2 + 30 * at);
    if (values == LARGE && input == 0)
        return 60 * x;
    if (values != UNUSUAL)
        return x;
    bool infinite = (input == 0 && position == 7) || (input == 1 && position == 3);
    if (column == 0 && input < 2) /* so that infinities make scores of one sign */
        return infinite ? -(double)INFINITY : 1;
    if (column == 1 && input == 0 && position == 5)
        return (double)NAN;
    return x;
}

static void fill(const struct assay_problem *p, enum values values, struct operands *o)
{
    int64_t heads = p->axes[ASSAY_ATTENTION_HEADS], dim = p->axes[ASSAY_ATTENTION_DIM];
    int64_t count = assay_tensor_count(&p->inputs[0]), seq = p->axes[ASSAY_ATTENTION_SEQ];
    uint64_t seed = 1;
    for (int input = 0; input < 3; input++)
        for (int64_t i = 0; i < count; i++) {
            double x = value_of(values, input, p->axes, i / dim / heads % seq, i % dim, &seed);
            assay_dtype_store(p->dtype, &x, o->host[input], i, 1);
        }
    memset(o->host[3], 0xff, o->bytes);
}

static enum assay_status operands_create(assay_device *device, const struct assay_problem *p,
                                         struct operands *o, struct assay_error *err)
{
    *o = (struct operands){.bytes = (size_t)assay_tensor_count(&p->inputs[0]) *
                                    assay_dtype_bytes(p->dtype)};
    enum assay_status status = ASSAY_OK;
    for (int i = 0; i < 4 && status == ASSAY_OK; i++) {
        o->host[i] = assay_calloc(1, o->bytes);
        status = o->host[i] ? assay_device_alloc(device, o->bytes, &o->gpu[i], err)
                            : assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    }
    return status;
}

static void operands_destroy(assay_device *device, struct operands *o)
{
    for (int i = 0; i < 4; i++) {
        assay_free(o->host[i]);
        if (o->gpu[i])
            assay_device_free(device, o->gpu[i], o->bytes);
    }
}

static enum assay_status run(assay_device *device, const struct assay_kernel *kernel,
                             const struct assay_problem *p, struct operands *o,
                             struct assay_error *err)
{
    const void *in[3] = {o->gpu[0], o->gpu[1], o->gpu[2]};
    const struct assay_args args = {.in = in, .out = &o->gpu[3]};
    const struct assay_work work = {.iters = 1, .n_sets = 1, .sets = &args};
    struct assay_timing timing;
    void *state = NULL;
    enum assay_status status = ASSAY_OK;
    for (int i = 0; i < 4 && status == ASSAY_OK; i++)
        status = device->driver->upload(device, o->gpu[i], o->host[i], o->bytes, err);
    if (status == ASSAY_OK)
        status = kernel->setup(p, &state, err);
    if (status != ASSAY_OK)
        return status;
    status = device->driver->time(device, kernel, state, &work, &timing);
    device->driver->forget(device, state);
    kernel->teardown(state);
    return status == ASSAY_OK
               ? device->driver->download(device, o->host[3], o->gpu[3], o->bytes, err)
               : status;
}

/* Scores are up to 60 times larger than the tolerance expects, as are their errors. */
static struct assay_comparison compare(const struct assay_op *op, struct assay_problem p,
                                       const struct operands *o)
{
    const void *in[3] = {o->host[0], o->host[1], o->host[2]};
    int64_t dim = p.axes[ASSAY_ATTENTION_DIM], rows = assay_tensor_count(&p.outputs[0]) / dim;
    double want[256], sizes[256];
    struct assay_comparison c;
    struct assay_tolerance t = op->tolerance(&p);
    t.summed += 0x1p-24 * 8 * sqrt((double)dim) * 60;
    assay_comparison_init(&c, t);
    for (int64_t row = 0; row<rows; row += rows> 1000 ? ROW_STEP : 1) {
        assay_op_reference(op, &p, 0, in, row, 0, dim, want, sizes);
        assay_comparison_add_sums(&c, p.dtype, o->host[3], row * dim, want, sizes, dim);
    }
    return c;
}

static bool check(assay_device *device, const struct assay_op *op,
                  const struct assay_kernel *kernel, const struct assay_problem *p,
                  const char *mode, enum values values)
{
    struct assay_error err = {0};
    struct assay_comparison c = {0};
    struct operands o;
    enum assay_status status = operands_create(device, p, &o, &err);
    if (status == ASSAY_OK) {
        fill(p, values, &o);
        status = run(device, kernel, p, &o, &err);
    }
    if (status == ASSAY_OK)
        c = compare(op, *p, &o);
    operands_destroy(device, &o);
    bool fine = status == ASSAY_OK && c.compared > 0 && c.mismatches == 0;
    printf("%-20s %-4s %lldx%lldx%lldx%lld %-6s %-8s %7lld compared  %s", kernel->name,
           assay_dtype_name(p->dtype), (long long)p->axes[0], (long long)p->axes[1],
           (long long)p->axes[2], (long long)p->axes[3], mode, names[values], (long long)c.compared,
           fine ? "ok\n" : "WRONG");
    if (!fine)
        printf(": %lld, first %lld: %g, not %g %s\n", (long long)c.mismatches,
               (long long)c.first_mismatch, c.first_got, c.first_ref, err.message);
    return fine;
}

/* Every kernel that takes it, on all values. */
static bool check_problem(assay_device *device, const assay_kernel_registry *registry,
                          const struct assay_op *op, const struct assay_problem *p,
                          const char *mode)
{
    bool fine = true;
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (strcmp(kernel->op, op->name) != 0 || strcmp(kernel->device, "cuda") != 0 ||
            assay_kernel_can_run(kernel, p, NULL) != ASSAY_OK)
            continue;
        for (int values = 0; values < N_VALUES; values++)
            fine = check(device, op, kernel, p, mode, (enum values)values) && fine;
    }
    return fine;
}

static bool check_all(assay_device *device, const assay_kernel_registry *registry)
{
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
    const struct assay_op *op = assay_op_find("attention");
    bool fine = true;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int d = 0; d < 3; d++)
            for (int m = 0; m < 2; m++) {
                struct assay_problem p;
                fine =
                    assay_op_problem(op, dtypes[d], modes[m], shapes[s], 1, &p, NULL) == ASSAY_OK &&
                    check_problem(device, registry, op, &p, modes[m]) && fine;
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
