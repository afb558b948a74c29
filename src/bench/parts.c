#include "bench/parts.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

/* ---- losses: outputs from a part of the terms ---- */

enum skip { STRETCH, INTERLEAVED, ROWS, COLUMNS, SKIPS };
enum { FINEST = 30 };
/* One or two terms may be 0, or as large as the mean: leaving those out changes nothing. */
enum { LEAST = 3 };
static const int64_t shares[] = {5, 30};
enum { SHARES = sizeof shares / sizeof shares[0] };
static const char *const share_names[SHARES] = {"fifth", "thirtieth"};
static const char *const skip_names[SKIPS] = {"a stretch", "one in every few", "rows", "columns"};

/* Terms, and how many of them make a row. */
struct extent {
    int64_t terms, row;
};

/* Which of `share` parts the term is in. */
static int64_t part_of(enum skip skip, int64_t share, int64_t term, struct extent e)
{
    switch (skip) {
    case STRETCH:
        return term * share / e.terms;
    case INTERLEAVED:
        return term % share;
    case ROWS:
        return term / e.row % share;
    default:
        return term % e.row * share / e.row;
    }
}

static int64_t stretch_length(int64_t n, int64_t share, int64_t part)
{
    return (n * (part + 1) + share - 1) / share - (n * part + share - 1) / share;
}

static int64_t residue_count(int64_t n, int64_t share, int64_t part)
{
    return n > part ? (n - part + share - 1) / share : 0;
}

static int64_t part_length(enum skip skip, int64_t share, int64_t part, struct extent e)
{
    switch (skip) {
    case STRETCH:
        return stretch_length(e.terms, share, part);
    case INTERLEAVED:
        return residue_count(e.terms, share, part);
    case ROWS:
        return residue_count(e.terms / e.row, share, part) * e.row;
    default:
        return stretch_length(e.row, share, part) * (e.terms / e.row);
    }
}

/* What is known of the terms before there are spikes. */
struct usual {
    struct extent extent;
    double mean, deviation;
    bool known; /* the sums of all parts, and the mean; else estimates */
    double sums[SKIPS][SHARES][FINEST];
};

static void add_term(double sums[SKIPS][SHARES][FINEST], struct extent e, int64_t term,
                     double value)
{
    for (int skip = 0; skip < SKIPS; skip++)
        for (int i = 0; i < SHARES; i++)
            sums[skip][i][part_of((enum skip)skip, shares[i], term, e)] += value;
}

/* Inputs up to so many elements are gone through; of larger ones some terms are, and a part's sum
 * is taken for its share of the whole, which is true up to the terms' own noise. */
static const int64_t KNOWN_MOST = INT64_C(1) << 20;
enum { SAMPLED = 256, SAMPLED_ELEMENTS = 1 << 18 };

static int64_t terms_to_look_at(const struct assay_problem *p, int64_t terms, bool known)
{
    int64_t enough = SAMPLED_ELEMENTS / (assay_tensor_count(&p->inputs[0]) / terms);
    enough = enough < SAMPLED ? SAMPLED : enough;
    return known || terms < enough ? terms : enough;
}

static void look_at_terms(const struct assay_op *op, const struct assay_problem *p,
                          const void *const *in, struct usual *u)
{
    int64_t n = op->mean->terms(p);
    *u = (struct usual){.extent = {n, op->mean->row(p)},
                        .known = assay_tensor_count(&p->inputs[0]) <= KNOWN_MOST};
    int64_t looked = terms_to_look_at(p, n, u->known);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < looked; i++) {
        double value = op->mean->term(p, in, n / looked * i, NULL);
        sum += value;
        squares += value * value;
        if (u->known)
            add_term(u->sums, u->extent, i, value);
    }
    u->mean = sum / (double)looked;
    u->deviation = sqrt(fmax(squares / (double)looked - u->mean * u->mean, 0));
}

/* What the mean of all may seem to change by without `length` terms, for the terms' own noise. */
static double uncertainty(const struct usual *u, double length)
{
    enum { DEVIATIONS = 6 };
    return u->known ? 0 : DEVIATIONS * u->deviation * sqrt(length) / (double)u->extent.terms;
}

/* Is the mean without a part, whose terms sum up to `sum`, off by more than that, divided by all
 * terms or by those that were counted? */
static bool part_shows(double mean, double allowed, double sum, double length, double terms)
{
    double over_all = sum / terms;
    double over_counted = fabs((mean * terms - sum) / (terms - length) - mean);
    return fmin(over_all, over_counted) > allowed;
}

/* `sums` are those of the spikes alone. */
static enum assay_status control(const struct usual *u, double mean, double allowed,
                                 double sums[SKIPS][SHARES][FINEST], struct assay_error *why)
{
    for (int j = 0; j < SKIPS * SHARES; j++) {
        enum skip skip = (enum skip)(j / SHARES);
        int64_t share = shares[j % SHARES];
        for (int64_t part = 0; part < share; part++) {
            int64_t length = part_length(skip, share, part, u->extent);
            double sum = u->known ? u->sums[skip][j % SHARES][part] : u->mean * (double)length;
            if (length >= LEAST && length < u->extent.terms &&
                !part_shows(mean, allowed + uncertainty(u, (double)length),
                            sum + sums[skip][j % SHARES][part], (double)length,
                            (double)u->extent.terms))
                return assay_error_set(
                    why, ASSAY_UNSUPPORTED, NULL,
                    "an answer without a %s of the terms (%s) would pass the check",
                    share_names[j % SHARES], skip_names[skip]);
        }
    }
    return ASSAY_OK;
}

/* ---- spikes ---- */

/* 19 spikes of equal size, and 23 when asked again. Where they are a share a of the sum, a kernel
 * that leaves out a share f of the terms, and k spikes with them, is off by a |k / 19 - f| even
 * where it divides by the terms it counted. No k makes that small for the shares people skip: it is
 * a / 95 for a fifth (k = 4), a / 52 for a thirtieth (k = 1), at the least. */
static int64_t spikes_for(int64_t terms, int pass)
{
    int64_t wanted = pass % 2 ? 23 : 19;
    return terms >= 3 * wanted ? wanted : terms < 3 ? 1 : terms / 3;
}

static const double LEAST_OFF = 1.0 / 95;

/* The share of the sum that is in spikes, and what is allowed beyond the op's tolerance: a partial
 * sum in f32 that holds a spike is coarse for the terms that follow. Of many terms no more than
 * needed is in spikes, so that
 *     share LEAST_OFF >= 1.2 (1.5 (tolerance + share LEAST_OFF / 4) + uncertainty). */
static double share_in_spikes(const struct usual *u, struct assay_tolerance t, double *allowed)
{
    enum { COARSER = 16 };
    double uncertain = uncertainty(u, (double)u->extent.terms / 5) / fabs(u->mean);
    double needed = 2.2 * (1.5 * t.relative + uncertain) / LEAST_OFF;
    double share = u->known ? 0.5 : fmin(fmax(needed, 0.05), 0.5);
    *allowed = fmin(COARSER * t.relative, share * LEAST_OFF / 4);
    return share;
}

static bool taken(const struct assay_spikes *s, int64_t term)
{
    for (int64_t i = 0; i < s->n; i++)
        if (s->terms[i] == term)
            return true;
    return false;
}

static double as_held(enum assay_dtype dtype, double value)
{
    double stored;
    assay_dtype_store(dtype, &value, &stored, 0, 1);
    assay_dtype_load(dtype, &stored, 0, 1, &value);
    return value;
}

static void raise_terms(const struct assay_op *op, const struct assay_problem *p,
                        const void *const *in, struct assay_rng *rng, int64_t wanted, double value,
                        struct assay_spikes *out)
{
    int64_t terms = op->mean->terms(p);
    out->n = 0;
    out->mean_change = 0;
    while (out->n < wanted) {
        int64_t term = (int64_t)(assay_rng_next(rng) % (uint64_t)terms);
        if (taken(out, term))
            continue;
        struct assay_change *change = &out->changes[out->n];
        *change = op->mean->raise(p, in, term, value);
        change->value = as_held(p->inputs[change->input].dtype, change->value);
        out->more[out->n] = op->mean->term(p, in, term, change) - op->mean->term(p, in, term, NULL);
        out->mean_change += out->more[out->n] / (double)terms;
        out->terms[out->n++] = term;
    }
}

static enum assay_status control_spikes(const struct usual *u, struct assay_tolerance t,
                                        const struct assay_spikes *s, struct assay_error *why)
{
    double sums[SKIPS][SHARES][FINEST] = {{{0}}}, mean = u->mean + s->mean_change;
    for (int64_t i = 0; i < s->n; i++)
        add_term(sums, u->extent, s->terms[i], s->more[i]);
    return control(u, mean, 1.5 * (t.absolute + (t.relative + s->allowed) * fabs(mean)), sums, why);
}

/* Some part may be as large as its share, spikes included: by chance where there are few terms, or
 * because rows have 19 columns. Others are tried, 19 and 23 in turns. */
enum { TRIES = 64 };

enum assay_status assay_spikes_choose(const struct assay_op *op, const struct assay_problem *p,
                                      const void *const *in, uint64_t seed, int pass,
                                      struct assay_spikes *out, struct assay_error *why)
{
    struct usual u;
    struct assay_tolerance t = op->tolerance(p);
    struct assay_rng rng = {seed ^ UINT64_C(0x7370696b65730000)};
    *out = (struct assay_spikes){0};
    look_at_terms(op, p, in, &u);
    double share = share_in_spikes(&u, t, &out->allowed);
    double sum = share / (1 - share) * u.mean * (double)u.extent.terms;
    enum assay_status status = ASSAY_UNSUPPORTED;
    for (int i = 0; i < TRIES && status != ASSAY_OK; i++) {
        int64_t wanted = spikes_for(u.extent.terms, pass + i);
        raise_terms(op, p, in, &rng, wanted, sum / (double)wanted, out);
        status = control_spikes(&u, t, out, i == TRIES - 1 ? why : NULL);
    }
    return status;
}

/* ---- norms: statistics from a part of a row ---- */

/* Rows that are tried: a kernel that skips does so in all of them, and one that shows is enough. */
enum { ROWS_TRIED = 16 };
static const int64_t TRIED_MOST = INT64_C(1) << 22; /* elements, all together */

/* One row, or image, as a problem of its own. */
struct one_row {
    const struct assay_op *op;
    struct assay_problem problem;
    const void *in[ASSAY_MAX_INPUTS];
    int64_t length;
    void *inputs;           /* its elements of input 0, which are changed */
    double *right, *sizes;  /* of all elements */
    double *wrong, *values; /* with a part of them replaced; scratch */
};

static enum assay_status row_reference(const struct one_row *r, double *out, double *sizes)
{
    int64_t zero = 0;
    if (r->op->reference_blocks)
        return r->op->reference_blocks(&r->problem, r->in, &zero, 1, out, sizes, NULL);
    assay_op_reference(r->op, &r->problem, 0, r->in, 0, 0, r->length, out, sizes);
    return ASSAY_OK;
}

static enum assay_status row_create(const struct assay_op *op, const struct assay_problem *p,
                                    struct one_row *r)
{
    *r = (struct one_row){.op = op, .problem = *p};
    for (int32_t i = 0; i < op->normalised_axes; i++)
        r->problem.axes[i] = 1;
    op->shapes(&r->problem);
    r->length = assay_tensor_count(&r->problem.inputs[0]);
    r->inputs = assay_calloc(1, assay_tensor_bytes(&r->problem.inputs[0]));
    r->right = assay_calloc((size_t)r->length, sizeof *r->right);
    r->sizes = assay_calloc((size_t)r->length, sizeof *r->sizes);
    r->wrong = assay_calloc((size_t)r->length, sizeof *r->wrong);
    r->values = assay_calloc((size_t)r->length, sizeof *r->values);
    return r->inputs && r->right && r->sizes && r->wrong && r->values ? ASSAY_OK : ASSAY_ERR_NOMEM;
}

static void row_destroy(struct one_row *r)
{
    assay_free(r->inputs);
    assay_free(r->right);
    assay_free(r->sizes);
    assay_free(r->wrong);
    assay_free(r->values);
}

static void row_load(struct one_row *r, const struct assay_problem *p, const void *const *in,
                     int64_t row)
{
    for (int32_t i = 0; i < p->n_inputs; i++)
        r->in[i] = i == 0 ? r->inputs : in[i];
    assay_dtype_load(p->inputs[0].dtype, in[0], row * r->length, r->length, r->values);
    assay_dtype_store(p->inputs[0].dtype, r->values, r->inputs, 0, r->length);
}

/* The last part, or the last of every `share` elements. */
static bool left_out(int64_t share, bool stretch, int64_t i, int64_t n)
{
    return stretch ? i >= n - n / share : i % share == share - 1;
}

/* Statistics without the elements of a part are those of a row in which others stand in for them.
 * Outliers (assay_op_fill_outliers) are too few to be among those as often as among the kept: by
 * chance there may be as many of them as before, so that others are tried. */
enum { STAND_INS = 8 };

static bool has_outliers(const struct one_row *r)
{
    enum { FAR = 30 }; /* deviations of the others */
    for (int64_t i = 0; i < r->length; i++)
        if (fabs(r->values[i]) > FAR)
            return true;
    return false;
}

static void leave_out(const struct one_row *r, int64_t share, bool stretch, int stand_in)
{
    static const int64_t steps[STAND_INS] = {7, 11, 13, 17, 19, 23, 29, 31};
    int64_t n = r->length, kept = n - n / share;
    for (int64_t i = 0; i < n; i++) {
        int64_t instead = stretch ? i * steps[stand_in] % kept : i - 1 - stand_in % (share - 1);
        int64_t from = left_out(share, stretch, i, n) ? instead : i;
        assay_dtype_store(r->problem.inputs[0].dtype, &r->values[from], r->inputs, i, 1);
    }
}

/* Of the elements that stand where they stood, is one outside the tolerance, once it is rounded? */
static bool row_shows(const struct one_row *r, int64_t share, bool stretch, int stand_in)
{
    struct assay_comparison c;
    enum assay_dtype dtype = r->problem.outputs[0].dtype;
    leave_out(r, share, stretch, stand_in);
    if (row_reference(r, r->wrong, NULL) != ASSAY_OK)
        return true;
    assay_comparison_init(&c, r->op->tolerance(&r->problem));
    for (int64_t i = 0; i < r->length && c.mismatches == 0; i++) {
        double held = as_held(dtype, r->wrong[i]);
        if (!left_out(share, stretch, i, r->length))
            assay_comparison_add_sums(&c, ASSAY_DTYPE_F64, &held, 0, &r->right[i], &r->sizes[i], 1);
    }
    return c.mismatches > 0;
}

enum assay_status assay_parts_control_norm(const struct assay_op *op, const struct assay_problem *p,
                                           const void *const *in, struct assay_error *why)
{
    struct one_row r;
    bool shown[2 * SHARES] = {0};
    enum assay_status status = row_create(op, p, &r);
    for (int j = 0; j < 2 * SHARES; j++)
        shown[j] = r.length / shares[j / 2] < LEAST; /* not asked */
    int64_t rows = assay_tensor_count(&p->inputs[0]) / r.length;
    int64_t tried = rows < ROWS_TRIED ? rows : ROWS_TRIED;
    for (int64_t i = 0; i < tried && status == ASSAY_OK; i++) {
        if (i > 0 && (i + 1) * r.length > TRIED_MOST)
            break;
        row_load(&r, p, in, rows / tried * i);
        status = row_reference(&r, r.right, r.sizes);
        int tries = has_outliers(&r) ? STAND_INS : 1;
        for (int j = 0; j < 2 * SHARES * tries; j++)
            shown[j / tries] =
                shown[j / tries] || row_shows(&r, shares[j / tries / 2], j / tries % 2, j % tries);
    }
    row_destroy(&r);
    if (status != ASSAY_OK)
        return assay_error_set(why, status, NULL, "out of memory");
    for (int j = 0; j < 2 * SHARES; j++)
        if (!shown[j])
            return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                                   "statistics without a %s of a row would pass the check",
                                   share_names[j / 2]);
    return ASSAY_OK;
}
