/* conv2d_backward_data.c: dX, phase by phase (conv2d_backward_native.h). */
#include "kernel/native/linear/conv2d_backward_native.h"

#include "base/alloc.h"

#include <string.h>

/* Bytes of windows that are gathered at a time: a quarter of an L2 cache. */
enum { BAND_BYTES = 256 << 10, BAND_MOST = 512 };

/* The pixels of x that lie a whole number of strides from (y, x), and the taps they meet: from
 * (ky, kx) on, a stride apart. Along dY their windows are contiguous: `rows` x `columns` pixels,
 * the first pixel's from (top, left) on. */
struct phase {
    int64_t ky, kx, rows, columns;
    int64_t y, x, height, width; /* in pixels of the phase */
    int64_t top, left;
    int64_t turned_row; /* of the turned filters */
    int64_t band;       /* pixels at a time */
    struct linear_job job;
    struct assay_packed packed;
};

struct conv2d_data {
    struct conv2d_backward_job job;
    void *product; /* of stride 1: one phase, whose windows the body gathers */
    struct phase *phases;
    int64_t n_phases;
    unsigned char *turned, *panels, *scratch;
    size_t windows_bytes, rows_bytes, scratch_bytes; /* of each thread, in this order */
    void *turned_block, *panels_block, *scratch_block;
};

/* ---- setup ----------------------------------------------------------------------------------- */

/* The taps from `k` on, and the pixels of one axis of x that meet them. */
struct side {
    int64_t taps, first, n, begin;
};

static struct side side_of(const struct assay_conv *c, int64_t k, int64_t size)
{
    struct side s = {.taps = assay_ceil_div(c->kernel - k, c->stride)};
    s.first = ((k - c->pad) % c->stride + c->stride) % c->stride;
    s.n = s.first < size ? assay_ceil_div(size - s.first, c->stride) : 0;
    s.begin = (s.first + c->pad - k) / c->stride - (s.taps - 1);
    return s;
}

static void add_phase(struct conv2d_data *d, int64_t ky, int64_t kx)
{
    const struct assay_conv *c = &d->job.conv;
    struct side y = side_of(c, ky, c->height), x = side_of(c, kx, c->width);
    int64_t depth = y.taps * x.taps * c->out, pixels = c->batch * y.n * x.n;
    int64_t row_bytes = depth * (int64_t)assay_dtype_bytes(d->job.dtype);
    int64_t most = assay_min(assay_max(BAND_BYTES / row_bytes, 16), BAND_MOST);
    if (pixels == 0)
        return;
    int64_t turned_row = 0;
    if (d->n_phases) {
        const struct phase *before = &d->phases[d->n_phases - 1];
        turned_row = before->turned_row + before->packed.k;
    }
    struct phase *phase = &d->phases[d->n_phases++];
    *phase = (struct phase){
        .ky = ky,
        .kx = kx,
        .rows = y.taps,
        .columns = x.taps,
        .y = y.first,
        .x = x.first,
        .height = y.n,
        .width = x.n,
        .top = y.begin,
        .left = x.begin,
        .turned_row = turned_row,
        .band = assay_min(assay_round_up(assay_ceil_div(pixels, d->job.threads), 16), most),
        .packed = linear_packed_columns(d->job.dtype, c->in, depth),
    };
    phase->job =
        (struct linear_job){.m = phase->band, .k = depth, .n = c->in, .dtype = d->job.dtype};
}

static enum assay_status make_phases(struct conv2d_data *d, struct assay_error *err)
{
    const struct assay_conv *c = &d->job.conv;
    int64_t n = assay_min(c->stride, c->kernel);
    d->phases = assay_calloc((size_t)(n * n), sizeof *d->phases);
    if (!d->phases)
        return assay_error_nomem(err);
    for (int64_t ky = 0; ky < n; ky++)
        for (int64_t kx = 0; kx < n; kx++)
            add_phase(d, ky, kx);
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < d->n_phases && status == ASSAY_OK; i++)
        status = assay_recipe_parse(NULL, &d->phases[i].job.recipe, err);
    return status;
}

static struct linear_part part_of(const struct phase *phase)
{
    return (struct linear_part){0, phase->band, 0, phase->packed.panels};
}

/* dY is what is convolved, with filters of as many outputs as x has channels. */
static enum assay_status make_product(struct conv2d_data *d, struct assay_error *err)
{
    const struct linear_inputs none = {-1, -1, -1};
    const struct assay_conv *c = &d->job.conv;
    struct assay_conv turned = *c;
    turned.height = c->out_height;
    turned.width = c->out_width;
    turned.in = c->out;
    turned.out = c->in;
    turned.pad = c->kernel - 1 - c->pad;
    turned.out_height = c->height;
    turned.out_width = c->width;
    struct linear_job job = assay_conv2d_job(&turned, d->job.dtype);
    job.recipe = d->phases[0].job.recipe;
    return assay_linear_create(&job, &none, d->job.threads, d->job.body->columns.products,
                               &d->product, err);
}

static enum assay_status make_bands(struct conv2d_data *d, struct assay_error *err)
{
    for (int64_t i = 0; i < d->n_phases; i++) {
        const struct phase *phase = &d->phases[i];
        struct linear_part part = part_of(phase);
        size_t size = assay_dtype_bytes(d->job.dtype), band = (size_t)phase->band;
        d->windows_bytes = assay_max_bytes(d->windows_bytes, band * (size_t)phase->job.k * size);
        d->rows_bytes = assay_max_bytes(d->rows_bytes, band * (size_t)phase->job.n * size);
        d->scratch_bytes = assay_max_bytes(
            d->scratch_bytes, d->job.body->columns.products->scratch_bytes(&phase->job, &part));
    }
    /* Whole pages and a bit, so that threads do not use the same sets of their caches. */
    d->windows_bytes = assay_round_up_bytes(d->windows_bytes, 4096) + 320;
    d->rows_bytes = assay_round_up_bytes(d->rows_bytes, 4096) + 320;
    d->scratch_bytes = assay_round_up_bytes(d->scratch_bytes, 4096) + 320;
    size_t each = d->windows_bytes + d->rows_bytes + d->scratch_bytes;
    d->scratch = assay_linear_memory((size_t)d->job.threads * each, &d->scratch_block);
    return d->scratch ? ASSAY_OK : assay_error_nomem(err);
}

static enum assay_status make_filters(struct conv2d_data *d, struct assay_error *err)
{
    const struct assay_conv *c = &d->job.conv;
    size_t turned = (size_t)(c->kernel * c->kernel * c->out * c->in), panels = 0;
    for (int64_t i = 0; i < d->n_phases; i++) {
        const struct assay_packed *packed = &d->phases[i].packed;
        panels += (size_t)packed->panels * assay_packed_panel_bytes(packed);
    }
    d->turned = assay_linear_memory(turned * assay_dtype_bytes(d->job.dtype), &d->turned_block);
    d->panels = assay_linear_memory(panels, &d->panels_block);
    if (!d->turned || !d->panels)
        return assay_error_nomem(err);
    unsigned char *at = d->panels;
    for (int64_t i = 0; i < d->n_phases; i++) {
        struct assay_packed *packed = &d->phases[i].packed;
        packed->codes = at;
        at += (size_t)packed->panels * assay_packed_panel_bytes(packed);
    }
    return ASSAY_OK;
}

enum assay_status conv2d_data_create(const struct conv2d_backward_job *job,
                                     struct conv2d_data **out, struct assay_error *err)
{
    struct conv2d_data *d = assay_calloc(1, sizeof *d);
    if (!d)
        return assay_error_nomem(err);
    d->job = *job;
    enum assay_status status = make_phases(d, err);
    if (status == ASSAY_OK)
        status = make_filters(d, err);
    if (status == ASSAY_OK)
        status = job->conv.stride == 1 ? make_product(d, err) : make_bands(d, err);
    if (status == ASSAY_OK)
        *out = d;
    else
        conv2d_data_destroy(d);
    return status;
}

void conv2d_data_destroy(struct conv2d_data *d)
{
    if (!d)
        return;
    assay_linear_teardown(d->product);
    assay_free(d->phases);
    assay_free(d->turned_block);
    assay_free(d->panels_block);
    assay_free(d->scratch_block);
    assay_free(d);
}

/* ---- filters --------------------------------------------------------------------------------- */

/* Row `row` of a phase's turned filters: one tap and one channel of dY, all channels of x. The taps
 * come in the order of the pixels of dY that meet them: the last ones first. */
static const char *filter_row(const struct conv2d_data *d, const struct phase *phase, const char *w,
                              int64_t row)
{
    const struct assay_conv *c = &d->job.conv;
    int64_t o = row % c->out, tap = row / c->out;
    int64_t ky = phase->ky + (phase->rows - 1 - tap / phase->columns) * c->stride;
    int64_t kx = phase->kx + (phase->columns - 1 - tap % phase->columns) * c->stride;
    return w + (size_t)(((o * c->kernel + ky) * c->kernel + kx) * c->in) *
                   assay_dtype_bytes(d->job.dtype);
}

static void turn_and_pack(const struct conv2d_data *d, const struct phase *phase, const char *w)
{
    const struct assay_packed *packed = &phase->packed;
    size_t bytes = (size_t)d->job.conv.in * assay_dtype_bytes(d->job.dtype);
    unsigned char *turned = d->turned + (size_t)phase->turned_row * bytes;
    struct linear_matrix from = {turned, packed->k, packed->n, d->job.dtype};
#pragma omp parallel num_threads(d->job.threads)
    {
#pragma omp for schedule(static)
        for (int64_t row = 0; row < packed->k; row++)
            memcpy(turned + (size_t)row * bytes, filter_row(d, phase, w, row), bytes);
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < packed->panels; panel++)
            d->job.body->columns.pack(&from, packed, panel, panel + 1);
    }
}

/* ---- products -------------------------------------------------------------------------------- */

/* What the `pixel`-th pixel of a phase meets of dY, with zeros where that has no pixels. */
static void gather(const struct conv2d_data *d, const struct phase *phase, const char *dy,
                   int64_t pixel, char *to)
{
    const struct assay_conv *c = &d->job.conv;
    size_t size = (size_t)c->out * assay_dtype_bytes(d->job.dtype);
    size_t line = (size_t)phase->columns * size;
    int64_t image = pixel / (phase->height * phase->width);
    int64_t top = phase->top + pixel / phase->width % phase->height;
    int64_t left = phase->left + pixel % phase->width;
    int64_t begin = assay_max(0, -left), end = assay_min(phase->columns, c->out_width - left);
    for (int64_t y = top; y < top + phase->rows; y++, to += line) {
        if (y < 0 || y >= c->out_height || begin >= end) {
            memset(to, 0, line);
            continue;
        }
        int64_t from = (image * c->out_height + y) * c->out_width + left + begin;
        memset(to, 0, (size_t)begin * size);
        memcpy(to + (size_t)begin * size, dy + (size_t)from * size, (size_t)(end - begin) * size);
        memset(to + (size_t)end * size, 0, (size_t)(phase->columns - end) * size);
    }
}

/* Where that pixel lies in dX. */
static char *pixel_of(const struct conv2d_data *d, const struct phase *phase, char *dx,
                      int64_t pixel)
{
    const struct assay_conv *c = &d->job.conv;
    int64_t image = pixel / (phase->height * phase->width);
    int64_t y = phase->y + pixel / phase->width % phase->height * c->stride;
    int64_t x = phase->x + pixel % phase->width * c->stride;
    return dx + (size_t)(((image * c->height + y) * c->width + x) * c->in) *
                    assay_dtype_bytes(d->job.dtype);
}

/* Pixels [pixel, pixel + n), n up to a band; the rows of a band beyond them hold what was there. */
static void multiply_band(const struct conv2d_data *d, const struct phase *phase, int64_t thread,
                          const char *dy, char *dx, int64_t pixel, int64_t n)
{
    size_t size = assay_dtype_bytes(d->job.dtype), row_bytes = (size_t)phase->job.n * size;
    char *windows =
        (char *)d->scratch + (size_t)thread * (d->windows_bytes + d->rows_bytes + d->scratch_bytes);
    char *rows = windows + d->windows_bytes;
    struct linear_call call = {.job = &phase->job, .x = windows, .w = &phase->packed, .y = rows};
    struct linear_part part = part_of(phase);
    for (int64_t i = 0; i < n; i++)
        gather(d, phase, dy, pixel + i, windows + (size_t)(i * phase->job.k) * size);
    d->job.body->columns.products->compute(&call, &part, rows + d->rows_bytes);
    for (int64_t i = 0; i < n; i++)
        memcpy(pixel_of(d, phase, dx, pixel + i), rows + (size_t)i * row_bytes, row_bytes);
}

/* A thread's share of a phase. */
static void multiply_share(const struct conv2d_data *d, const struct phase *phase, int64_t thread,
                           const char *dy, char *dx)
{
    int64_t pixels = d->job.conv.batch * phase->height * phase->width;
    int64_t end = pixels * (thread + 1) / d->job.threads;
    for (int64_t pixel = pixels * thread / d->job.threads; pixel < end; pixel += phase->band)
        multiply_band(d, phase, thread, dy, dx, pixel, assay_min(phase->band, end - pixel));
}

/* Pixels that no window meets are in no phase. */
static void clear(const struct conv2d_data *d, char *dx)
{
    const struct assay_conv *c = &d->job.conv;
    size_t line = (size_t)(c->width * c->in) * assay_dtype_bytes(d->job.dtype);
#pragma omp parallel for schedule(static) num_threads(d->job.threads)
    for (int64_t y = 0; y < c->batch * c->height; y++)
        memset(dx + (size_t)y * line, 0, line);
}

void conv2d_data_run(const struct conv2d_data *d, const struct assay_args *args)
{
    const void *dy = args->in[ASSAY_CONV_BACKWARD_DY];
    void *dx = args->out[ASSAY_CONV_DX];
    for (int64_t i = 0; i < d->n_phases; i++)
        turn_and_pack(d, &d->phases[i], args->in[ASSAY_CONV_BACKWARD_W]);
    if (d->product) {
        assay_linear_multiply(d->product,
                              (struct linear_call){.x = dy, .w = &d->phases[0].packed, .y = dx});
        return;
    }
    if (d->job.conv.stride > d->job.conv.kernel)
        clear(d, dx);
#pragma omp parallel for schedule(static) num_threads(d->job.threads)
    for (int64_t t = 0; t < d->job.threads; t++)
        for (int64_t i = 0; i < d->n_phases; i++)
            multiply_share(d, &d->phases[i], t, dy, dx);
}
