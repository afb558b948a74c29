#include "bench/verify.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A segment of a row that the reference covers; its values start at `at`. */
struct segment {
    int64_t row, first, n, at;
};

struct assay_reference {
    struct assay_tolerance tolerance;
    struct assay_tensor output;
    int32_t which; /* output */
    enum assay_dtype dtype;
    int64_t row_length, total; /* of the output */
    struct segment *segments;
    int64_t n_segments, n_values;
    double *values;
    double *sizes; /* of the sums, see reference_sums; NULL where the op has none */
};

enum { SEGMENT = 1024, LONG_ROW_PIECES = 4, SEGMENT_COSTLY = 16 };
/* The reference computes some 1e9 operations a second and thread; a tenth of a second or so is what
 * checking may take. */
static const double REFERENCE_FLOPS = 2.5e8;
/* Of blocks of rows, whose products share what they load: some 2e10 a second and thread. */
static const double BLOCKS_FLOPS = 4e9;

/* How much of a row one segment takes. A row is computed as a whole for some ops, so a row too long
 * to be covered gets few large segments, not many small ones. */
static int64_t segment_length(int64_t row_length, int64_t most)
{
    int64_t segment = most < ASSAY_VERIFY_MOST ? SEGMENT_COSTLY : SEGMENT;
    if (row_length <= most / LONG_ROW_PIECES)
        return row_length < segment ? row_length : segment;
    return most / LONG_ROW_PIECES;
}

static void add_segment(assay_reference *r, int64_t index, int64_t per_row, int64_t length)
{
    int64_t first = index % per_row * length;
    int64_t n = r->row_length - first < length ? r->row_length - first : length;
    r->segments[r->n_segments++] =
        (struct segment){.row = index / per_row, .first = first, .n = n, .at = r->n_values};
    r->n_values += n;
}

/* The i-th of `chosen` segments: the row is random in the i-th of as many equal stretches of rows,
 * the columns take turns, so that all of them are covered where there are enough segments. The
 * first and the last segment are always taken. */
static int64_t random_segment(struct assay_rng *rng, int64_t i, int64_t chosen, int64_t per_row,
                              int64_t rows)
{
    if (i == 0 || i == chosen - 1)
        return i == 0 ? 0 : rows * per_row - 1;
    double stretch = (double)rows / (double)chosen;
    int64_t from = (int64_t)((double)i * stretch), span = stretch < 1 ? 1 : (int64_t)stretch;
    int64_t row = from + assay_rng_below(rng, span);
    int64_t segment = (row < rows ? row : rows - 1) * per_row + i % per_row;
    /* The last segment is taken already: this one is what would have come in its turn. */
    return segment == rows * per_row - 1 ? segment - per_row + 1 + (chosen - 1) % per_row : segment;
}

static void choose_segments(assay_reference *r, int64_t length, int64_t per_row, int64_t in_all,
                            int64_t chosen, uint64_t seed)
{
    struct assay_rng rng = {seed ^ UINT64_C(0x7665726966790000)};
    for (int64_t i = 0; i < chosen; i++)
        add_segment(
            r, chosen < in_all ? random_segment(&rng, i, chosen, per_row, in_all / per_row) : i,
            per_row, length);
}

static int64_t share_of(const struct assay_reference_how *how)
{
    return how->share > 1 ? how->share : 1;
}

/* Blocks of whole rows, for ops that are computed so: the first, the last, and random ones between
 * them, as many as the reference can do in its time; where one alone takes that and more, it is any
 * one. `blocks` has space for all of them. */
static int64_t choose_blocks(assay_reference *r, const struct assay_op *op,
                             const struct assay_problem *problem,
                             const struct assay_reference_how *how, int64_t *blocks)
{
    struct assay_rng rng = {how->seed ^ UINT64_C(0x7665726966790000)};
    int64_t rows = op->row_block(problem), all = r->total / r->row_length / rows;
    double affordable = BLOCKS_FLOPS / fmax(op->cost(problem).flops / (double)all, 1);
    double roomy = (double)ASSAY_VERIFY_MOST / (double)(rows * r->row_length);
    affordable /= (double)share_of(how);
    roomy /= (double)share_of(how);
    int64_t least = affordable < 1 ? 1 : 2;
    int64_t chosen = (int64_t)fmax((double)least, fmin(fmin(affordable, roomy), (double)all));
    chosen = chosen < all ? chosen : all;
    for (int64_t i = 0; i < chosen; i++) {
        int64_t from = all * i / chosen, to = all * (i + 1) / chosen;
        bool any = chosen == 1 || (i > 0 && i < chosen - 1);
        blocks[i] = any ? from + assay_rng_below(&rng, to - from) : i == 0 ? 0 : all - 1;
        for (int64_t row = 0; row < rows; row++)
            add_segment(r, blocks[i] * rows + row, 1, r->row_length);
    }
    return chosen;
}

static enum assay_status reference_of_blocks(assay_reference *r, const struct assay_op *op,
                                             const struct assay_problem *problem,
                                             const void *const *in,
                                             const struct assay_reference_how *how,
                                             struct assay_error *err)
{
    int64_t rows = r->total / r->row_length, room = rows * r->row_length;
    int64_t most = ASSAY_VERIFY_MOST + 2 * op->row_block(problem) * r->row_length;
    int64_t *blocks = assay_calloc((size_t)rows, sizeof *blocks);
    r->segments = assay_calloc((size_t)rows, sizeof *r->segments);
    size_t values = (size_t)(room < most ? room : most);
    r->values = assay_calloc(values, sizeof *r->values);
    r->sizes = r->tolerance.summed > 0 ? assay_calloc(values, sizeof *r->sizes) : NULL;
    enum assay_status status = ASSAY_OK;
    if (!blocks || !r->segments || !r->values || (r->tolerance.summed > 0 && !r->sizes))
        status = assay_error_nomem(err);
    if (status == ASSAY_OK) {
        int64_t chosen = choose_blocks(r, op, problem, how, blocks);
        status = op->reference_blocks(problem, in, blocks, chosen, r->values, r->sizes, err);
    }
    assay_free(blocks);
    return status;
}

static void compute_segment(assay_reference *r, const struct assay_op *op,
                            const struct assay_problem *problem, const void *const *in,
                            int32_t output, const struct segment *p)
{
    assay_op_reference(op, problem, output, in, p->row, p->first, p->n, r->values + p->at,
                       r->sizes ? r->sizes + p->at : NULL);
}

static void compute_values(assay_reference *r, const struct assay_op *op,
                           const struct assay_problem *problem, const void *const *in,
                           int32_t output)
{
    if (r->n_segments == 1) { /* the op may use threads itself */
        compute_segment(r, op, problem, in, output, &r->segments[0]);
        return;
    }
#pragma omp parallel for schedule(dynamic, 16)
    for (int64_t i = 0; i < r->n_segments; i++)
        compute_segment(r, op, problem, in, output, &r->segments[i]);
}

/* Bit for bit means: the exact value, rounded once to the output's type. */
static void make_exact(assay_reference *r)
{
    r->tolerance = (struct assay_tolerance){0};
    for (int64_t i = 0; i < r->n_values; i++) {
        double rounded;
        assay_dtype_store(r->dtype, &r->values[i], &rounded, 0, 1);
        assay_dtype_load(r->dtype, &rounded, 0, 1, &r->values[i]);
    }
}

/* The op's tolerance is for outputs around 1; those of integers are larger. */
static void scale_tolerance(assay_reference *r)
{
    double greatest = 1;
    for (int64_t i = 0; i < r->n_values; i++)
        if (isfinite(r->values[i]))
            greatest = fmax(greatest, fabs(r->values[i]));
    r->tolerance.absolute *= greatest;
}

/* The values from the inputs as they are, or from what a recipe makes of them. */
static enum assay_status fill_in_values(assay_reference *r, const struct assay_op *op,
                                        const struct assay_problem *problem, const void *const *in,
                                        const struct assay_reference_how *how,
                                        struct assay_error *err)
{
    if (!op->dequantised) {
        compute_values(r, op, problem, in, how->output);
        return ASSAY_OK;
    }
    struct assay_problem plain;
    void *made[ASSAY_MAX_INPUTS] = {0};
    const void *plain_in[ASSAY_MAX_INPUTS];
    enum assay_status status = op->dequantised(problem, in, how->output, &plain, made, err);
    if (status != ASSAY_OK)
        return status;
    for (int32_t i = 0; i < problem->n_inputs; i++)
        plain_in[i] = made[i] ? made[i] : in[i];
    compute_values(r, op, &plain, plain_in, how->output);
    for (int32_t i = 0; i < problem->n_inputs; i++)
        assay_free(made[i]);
    return ASSAY_OK;
}

int64_t assay_reference_most(const struct assay_op *op, const struct assay_problem *problem,
                             int32_t output)
{
    const struct assay_tensor *tensor = &problem->outputs[output];
    int64_t total = assay_tensor_count(tensor), row = tensor->dims[tensor->rank - 1];
    double per_element = op->cost(problem).flops / (double)total;
    double most = REFERENCE_FLOPS / (per_element > 1 ? per_element : 1);
    if (row < total)
        most = fmax(most, 2 * (double)row); /* every column, twice */
    /* Of costly elements 4096 all the same, but where each is a sum over most of the inputs. */
    double least = fmin(4096, fmax(64, 4 * REFERENCE_FLOPS / fmax(per_element, 1)));
    return (int64_t)fmin(fmax(most, least), (double)ASSAY_VERIFY_MOST);
}

/* Segments of rows, each computed by itself. */
static enum assay_status reference_of_segments(assay_reference *r, const struct assay_op *op,
                                               const struct assay_problem *problem,
                                               const void *const *in,
                                               const struct assay_reference_how *how,
                                               struct assay_error *err)
{
    int64_t most = how->most / share_of(how), length = segment_length(r->row_length, most);
    int64_t per_row = (r->row_length + length - 1) / length;
    int64_t in_all = per_row * (r->total / r->row_length);
    int64_t chosen = r->total <= most ? in_all : most / length;
    if (chosen > in_all)
        chosen = in_all;
    r->segments = assay_calloc((size_t)chosen, sizeof *r->segments);
    r->values = assay_calloc((size_t)(chosen * length), sizeof *r->values);
    bool sums = assay_op_has_sums(op, how->output);
    if (sums)
        r->sizes = assay_calloc((size_t)(chosen * length), sizeof *r->sizes);
    if (!r->segments || !r->values || (sums && !r->sizes))
        return assay_error_nomem(err);
    choose_segments(r, length, per_row, in_all, chosen, how->seed);
    return fill_in_values(r, op, problem, in, how, err);
}

/* Of a whole output, all or, where it is large, a part. `sizes` as in reference_sums, or NULL. */
static enum assay_status keep_of_whole(assay_reference *r, const double *whole, const double *sizes,
                                       uint64_t seed, struct assay_error *err)
{
    int64_t length = segment_length(r->row_length, ASSAY_VERIFY_MOST);
    int64_t per_row = (r->row_length + length - 1) / length;
    int64_t in_all = per_row * (r->total / r->row_length);
    int64_t chosen = r->total <= ASSAY_VERIFY_MOST ? in_all : ASSAY_VERIFY_MOST / length;
    chosen = chosen < in_all ? chosen : in_all;
    r->segments = assay_calloc((size_t)chosen, sizeof *r->segments);
    r->values = assay_calloc((size_t)(chosen * length), sizeof *r->values);
    r->sizes = sizes ? assay_calloc((size_t)(chosen * length), sizeof *r->sizes) : NULL;
    if (!r->segments || !r->values || (sizes && !r->sizes))
        return assay_error_nomem(err);
    choose_segments(r, length, per_row, in_all, chosen, seed);
    for (int64_t i = 0; i < r->n_segments; i++) {
        const struct segment *p = &r->segments[i];
        int64_t from = p->row * r->row_length + p->first;
        memcpy(r->values + p->at, whole + from, (size_t)p->n * sizeof *whole);
        if (sizes)
            memcpy(r->sizes + p->at, sizes + from, (size_t)p->n * sizeof *sizes);
    }
    return ASSAY_OK;
}

/* Computed as a whole. */
static enum assay_status reference_of_whole(assay_reference *r, const struct assay_op *op,
                                            const struct assay_problem *problem,
                                            const void *const *in,
                                            const struct assay_reference_how *how,
                                            struct assay_error *err)
{
    double *whole = assay_calloc((size_t)r->total, sizeof *whole);
    enum assay_status status =
        whole ? op->reference_whole(problem, in, how->output, whole, err) : assay_error_nomem(err);
    if (status == ASSAY_OK)
        status = keep_of_whole(r, whole, NULL, how->seed, err);
    assay_free(whole);
    return status;
}

static void scale_by_rms(assay_reference *r)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < r->n_values; i++)
        if (isfinite(r->values[i])) {
            sum += r->values[i] * r->values[i];
            n++;
        }
    r->tolerance.absolute *= n ? sqrt(sum / (double)n) : 1;
}

/* One with nothing in it yet. */
static assay_reference *make_empty(const struct assay_problem *problem, int32_t which)
{
    const struct assay_tensor *output = &problem->outputs[which];
    assay_reference *r = assay_calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->output = *output;
    r->which = which;
    r->dtype = output->dtype;
    r->row_length = output->rank ? output->dims[output->rank - 1] : 1;
    r->total = assay_tensor_count(output);
    return r;
}

enum assay_status assay_reference_create(const struct assay_op *op,
                                         const struct assay_problem *problem, const void *const *in,
                                         const struct assay_reference_how *how,
                                         assay_reference **out, struct assay_error *err)
{
    assay_reference *r = make_empty(problem, how->output);
    if (!r)
        return assay_error_nomem(err);
    r->tolerance = assay_op_tolerance(op, problem, how->output);
    r->tolerance.relative += how->allowed;
    enum assay_status status = op->reference_whole
                                   ? reference_of_whole(r, op, problem, in, how, err)
                               : op->reference_blocks && how->output == 0
                                   ? reference_of_blocks(r, op, problem, in, how, err)
                                   : reference_of_segments(r, op, problem, in, how, err);
    if (status != ASSAY_OK) {
        assay_reference_destroy(r);
        return status;
    }
    if (how->exact)
        make_exact(r);
    else if (how->integers)
        scale_tolerance(r);
    else if (op->absolute_of_rms)
        scale_by_rms(r);
    *out = r;
    return ASSAY_OK;
}

enum assay_status assay_reference_create_all(const struct assay_op *op,
                                             const struct assay_problem *problem,
                                             const void *const *in, uint64_t seed,
                                             assay_reference **out, struct assay_error *err)
{
    struct assay_expected expected[ASSAY_MAX_OUTPUTS] = {0};
    enum assay_status status = op->reference_all(problem, in, expected, err);
    for (int32_t i = 0; i < problem->n_outputs; i++) {
        if (status == ASSAY_OK)
            out[i] = make_empty(problem, i);
        if (status == ASSAY_OK && !out[i])
            status = assay_error_nomem(err);
        if (status == ASSAY_OK) {
            out[i]->tolerance = expected[i].tolerance;
            status = keep_of_whole(out[i], expected[i].values, expected[i].sizes, seed, err);
        }
        assay_free(expected[i].values);
        assay_free(expected[i].sizes);
    }
    return status;
}

void assay_reference_destroy(assay_reference *reference)
{
    if (!reference)
        return;
    assay_free(reference->segments);
    assay_free(reference->values);
    assay_free(reference->sizes);
    assay_free(reference);
}

enum assay_status assay_reference_moved(const assay_reference *like, double change, double allowed,
                                        assay_reference **out, struct assay_error *err)
{
    assay_reference *r = assay_calloc(1, sizeof *r);
    if (!r)
        return assay_error_nomem(err);
    *r = *like;
    r->sizes = NULL;
    r->values = assay_calloc(1, sizeof *r->values);
    r->segments = assay_calloc(1, sizeof *r->segments);
    if (!r->values || !r->segments) {
        assay_reference_destroy(r);
        return assay_error_nomem(err);
    }
    r->segments[0] = like->segments[0];
    r->values[0] = like->values[0] + change;
    r->tolerance.relative += allowed;
    *out = r;
    return ASSAY_OK;
}

int64_t assay_reference_compared(const assay_reference *r) { return r->n_values; }
int64_t assay_reference_of(const assay_reference *r) { return r->total; }

void assay_reference_compare(const assay_reference *r, const void *got,
                             struct assay_comparison *out)
{
    assay_comparison_init(out, r->tolerance);
    out->output = r->which;
    for (int64_t i = 0; i < r->n_segments; i++) {
        const struct segment *p = &r->segments[i];
        assay_comparison_add_sums(out, r->dtype, got, p->row * r->row_length + p->first,
                                  r->values + p->at, r->sizes ? r->sizes + p->at : NULL, p->n);
    }
}

void assay_reference_describe(const assay_reference *r, const struct assay_comparison *found,
                              const char *when, char *buf, size_t size)
{
    char at[ASSAY_MAX_RANK * 21 + 3], first[sizeof at + 16] = "", within[48] = "";
    char greatest[48] = "", where[32] = "";
    if (found->output)
        snprintf(where, sizeof where, " in output %d", found->output);
    assay_tensor_coordinates(&r->output, found->first_mismatch, at, sizeof at);
    if (r->total > 1)
        snprintf(first, sizeof first, ", first at %s", at);
    if (isfinite(found->first_ref) && found->first_allowed > 0)
        snprintf(within, sizeof within, " (within %.2g)", found->first_allowed);
    else if (isfinite(found->first_ref))
        snprintf(within, sizeof within, " (exactly)");
    if (found->max_abs > 0) /* of those that are finite */
        snprintf(greatest, sizeof greatest, ", greatest error %.3g", found->max_abs);
    snprintf(buf, size, "%lld of %lld wrong%s%s%s: got %.6g, expected %.6g%s%s",
             (long long)found->mismatches, (long long)found->compared, where, when, first,
             found->first_got, found->first_ref, within, greatest);
}

void assay_reference_copy(const assay_reference *r, const void *from, void *to)
{
    size_t bits = (size_t)assay_dtype_info(r->dtype)->bits;
    for (int64_t i = 0; i < r->n_segments; i++) {
        const struct segment *p = &r->segments[i];
        size_t first = (size_t)(p->row * r->row_length + p->first);
        size_t at = first * bits / 8, end = ((first + (size_t)p->n) * bits + 7) / 8;
        memcpy((char *)to + at, (const char *)from + at, end - at);
    }
}

/* Would an output pass whose value i is wrong(r, i)? */
static bool passes(const assay_reference *r, double (*wrong)(const assay_reference *, int64_t))
{
    struct assay_comparison comparison;
    assay_comparison_init(&comparison, r->tolerance);
    for (int64_t i = 0; i < r->n_values && comparison.mismatches == 0; i++) {
        double value = wrong(r, i);
        assay_comparison_add_sums(&comparison, ASSAY_DTYPE_F64, &value, 0, r->values + i,
                                  r->sizes ? r->sizes + i : NULL, 1);
    }
    return comparison.mismatches == 0;
}

static double zero(const assay_reference *r, int64_t i)
{
    (void)r, (void)i;
    return 0;
}

static double unwritten(const assay_reference *r, int64_t i)
{
    (void)r, (void)i;
    return (double)NAN;
}

static double reversed(const assay_reference *r, int64_t i)
{
    return r->values[r->n_values - 1 - i];
}

/* A permutation that changes nothing (all values the same) is not a wrong output. */
static bool reversal_differs(const assay_reference *r)
{
    for (int64_t i = 0; i < r->n_values; i++)
        if (!(r->values[i] == reversed(r, i)))
            return true;
    return false;
}

enum assay_status assay_reference_controls(const assay_reference *r, struct assay_error *why)
{
    if (passes(r, zero))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "an answer of all zeros would pass the check");
    if (passes(r, unwritten))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "an output that was never written would pass the check");
    if (reversal_differs(r) && passes(r, reversed))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "the right values in the wrong order would pass the check");
    return ASSAY_OK;
}

/* What nobody calls rounding. */
static double tenth_off(const assay_reference *r, int64_t i)
{
    return r->values[i] * (1 + fmax(0.1, 8 * assay_dtype_info(r->dtype)->unit));
}

enum assay_status assay_reference_control_author(const assay_reference *r, struct assay_error *why)
{
    bool is_float = assay_dtype_info(r->dtype)->is_float;
    if (is_float && passes(r, tenth_off))
        return assay_error_set(
            why, ASSAY_UNSUPPORTED, NULL,
            "the author's tolerance (%.2g relative, %.2g absolute) would pass an "
            "answer that is %.0f%% off",
            r->tolerance.relative, r->tolerance.absolute,
            100 * fmax(0.1, 8 * assay_dtype_info(r->dtype)->unit));
    return ASSAY_OK;
}
