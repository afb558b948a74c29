/* conv2d_backward_weights.c: dW = dY^T windows(x), and dbias (conv2d_backward_native.h).
 *
 * A thread has some panels of columns of the windows, or some rows of dW as well where the panels
 * are fewer than the threads. In f32 it sums over CHUNK pixels at a time, whose panels and rows
 * stay in its caches, and adds that to dW; in 16 bits, where dW would be rounded each time, over
 * all pixels at once, for as many panels as GROUP_BYTES hold. */
#include "kernel/native/linear/conv2d_backward_native.h"

#include "base/alloc.h"

enum { CHUNK = 1024, GROUP_BYTES = 64 << 20, LEAST_GROUP = 2, ROWS = 16 };

struct conv2d_weights {
    struct conv2d_backward_job job;
    struct assay_recipe recipe;
    int64_t pixels, chunk, columns, panels;
    int64_t along, across; /* threads side by side over panels, over rows */
    int64_t group;         /* panels unfolded at a time */
    unsigned char *scratch;
    size_t panels_bytes, scratch_bytes; /* of each thread, in this order */
    void *scratch_block;
};

/* ---- setup ----------------------------------------------------------------------------------- */

static struct linear_job job_of(const struct conv2d_weights *s, int64_t pixels)
{
    return (struct linear_job){.m = s->job.conv.out,
                               .k = pixels,
                               .n = s->columns,
                               .dtype = s->job.dtype,
                               .recipe = s->recipe,
                               .columns = true};
}

static int64_t share(int64_t n, int64_t unit, int64_t i, int64_t of)
{
    return assay_min(assay_ceil_div(n, unit) * i / of * unit, n);
}

/* What thread t computes; empty for some where neither rows nor panels are enough. */
static struct linear_part part_of(const struct conv2d_weights *s, int64_t t)
{
    int64_t i = t / s->along, j = t % s->along;
    if (i >= s->across)
        return (struct linear_part){0};
    return (struct linear_part){
        .row = share(s->job.conv.out, ROWS, i, s->across),
        .row_end = share(s->job.conv.out, ROWS, i + 1, s->across),
        .panel = s->panels * j / s->along,
        .panel_end = s->panels * (j + 1) / s->along,
    };
}

static void split(struct conv2d_weights *s)
{
    const struct assay_conv *c = &s->job.conv;
    s->pixels = c->batch * c->out_height * c->out_width;
    s->chunk = s->job.dtype == ASSAY_DTYPE_F32 ? assay_min(CHUNK, s->pixels) : s->pixels;
    s->columns = c->kernel * c->kernel * c->in;
    s->panels = assay_ceil_div(s->columns, ASSAY_PANEL_ROWS);
    s->along = assay_min(s->job.threads, s->panels);
    s->across = assay_min(s->job.threads / s->along, assay_ceil_div(c->out, ROWS));
    struct assay_packed packed = linear_packed_columns(s->job.dtype, s->columns, s->chunk);
    int64_t bytes = (int64_t)assay_packed_panel_bytes(&packed);
    s->group =
        assay_min(assay_max(GROUP_BYTES / bytes, LEAST_GROUP), assay_ceil_div(s->panels, s->along));
    s->panels_bytes = (size_t)(s->group * bytes);
}

/* Of one part and all its groups, for whole chunks and for the last one. */
static void measure_scratch(struct conv2d_weights *s, struct linear_part part)
{
    int64_t end = part.panel_end, rest = s->pixels % s->chunk;
    const int64_t lengths[] = {s->chunk, rest ? rest : s->chunk};
    for (; part.panel < end; part.panel += s->group)
        for (int i = 0; i < 2; i++) {
            struct linear_job job = job_of(s, lengths[i]);
            part.panel_end = assay_min(part.panel + s->group, end);
            s->scratch_bytes = assay_max_bytes(
                s->scratch_bytes, s->job.body->columns.products->scratch_bytes(&job, &part));
        }
}

static enum assay_status make_memory(struct conv2d_weights *s, struct assay_error *err)
{
    for (int64_t t = 0; t < s->job.threads; t++)
        measure_scratch(s, part_of(s, t));
    /* Whole pages and a bit, so that threads do not use the same sets of their caches. */
    s->panels_bytes = assay_round_up_bytes(s->panels_bytes, 4096) + 320;
    s->scratch_bytes = assay_round_up_bytes(s->scratch_bytes, 4096) + 320;
    s->scratch = assay_linear_memory((size_t)s->job.threads * (s->panels_bytes + s->scratch_bytes),
                                     &s->scratch_block);
    return s->scratch ? ASSAY_OK : assay_error_nomem(err);
}

enum assay_status conv2d_weights_create(const struct conv2d_backward_job *job,
                                        struct conv2d_weights **out, struct assay_error *err)
{
    struct conv2d_weights *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->job = *job;
    split(s);
    enum assay_status status = assay_recipe_parse(NULL, &s->recipe, err);
    if (status == ASSAY_OK)
        status = make_memory(s, err);
    if (status == ASSAY_OK)
        *out = s;
    else
        conv2d_weights_destroy(s);
    return status;
}

void conv2d_weights_destroy(struct conv2d_weights *s)
{
    if (!s)
        return;
    assay_free(s->scratch_block);
    assay_free(s);
}

/* ---- run ------------------------------------------------------------------------------------- */

/* dbias: the sums of dY's columns. */
static void sum(const struct conv2d_weights *s, const void *dy, void *dbias)
{
    const struct linear_matrix from = {dy, s->pixels, s->job.conv.out, s->job.dtype};
    int64_t panels = assay_ceil_div(from.columns, ASSAY_PANEL_ROWS);
#pragma omp parallel for schedule(static) num_threads(s->job.threads)
    for (int64_t t = 0; t < s->job.threads; t++)
        s->job.body->columns.sums(&from, dbias, share(panels, 4, t, s->job.threads),
                                  share(panels, 4, t + 1, s->job.threads));
}

/* One chunk's products with the panels of `part`, which are unfolded to `panels`; added to dW where
 * it is not the first. */
static void multiply(const struct conv2d_weights *s, const struct linear_part *part, int64_t first,
                     const struct assay_args *args, unsigned char *panels)
{
    int64_t pixels = assay_min(s->chunk, s->pixels - first);
    size_t at = (size_t)(first * s->job.conv.out) * assay_dtype_bytes(s->job.dtype);
    struct conv2d_windows windows = {&s->job.conv, args->in[ASSAY_CONV_BACKWARD_X], s->job.dtype,
                                     first, first + pixels};
    struct assay_packed packed = linear_packed_columns(s->job.dtype, s->columns, pixels);
    struct linear_job job = job_of(s, pixels);
    struct linear_call call = {.job = &job,
                               .x = (const char *)args->in[ASSAY_CONV_BACKWARD_DY] + at,
                               .residual = first ? args->out[ASSAY_CONV_DW] : NULL,
                               .w = &packed,
                               .y = args->out[ASSAY_CONV_DW]};
    packed.codes = panels;
    s->job.body->unfold(&windows, &packed, part->panel, part->panel_end);
    /* The body counts panels from the first of all, which are not there. */
    packed.codes = (unsigned char *)((uintptr_t)panels -
                                     (size_t)part->panel * assay_packed_panel_bytes(&packed));
    s->job.body->columns.products->compute(&call, part, panels + s->panels_bytes);
}

static void multiply_part(const struct conv2d_weights *s, int64_t thread,
                          const struct assay_args *args)
{
    struct linear_part whole = part_of(s, thread), part = whole;
    unsigned char *panels = s->scratch + (size_t)thread * (s->panels_bytes + s->scratch_bytes);
    for (int64_t first = 0; first < s->pixels && whole.row < whole.row_end; first += s->chunk)
        for (part.panel = whole.panel; part.panel < whole.panel_end; part.panel += s->group) {
            part.panel_end = assay_min(part.panel + s->group, whole.panel_end);
            multiply(s, &part, first, args, panels);
        }
}

void conv2d_weights_run(const struct conv2d_weights *s, const struct assay_args *args, bool bias)
{
#pragma omp parallel for schedule(static) num_threads(s->job.threads)
    for (int64_t t = 0; t < s->job.threads; t++)
        multiply_part(s, t, args);
    if (bias)
        sum(s, args->in[ASSAY_CONV_BACKWARD_DY], args->out[ASSAY_CONV_DBIAS]);
}
