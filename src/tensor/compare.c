#include "tensor/compare.h"

void assay_comparison_init(struct assay_comparison *comparison, struct assay_tolerance tolerance)
{
    *comparison = (struct assay_comparison){
        .tolerance = tolerance, .first_mismatch = -1, .worst_absolute = tolerance.absolute};
}

static bool acceptable(double got, double ref, double difference, double allowed)
{
    if (!isfinite(ref)) /* the same infinity, or both NaN */
        return isnan(ref) ? isnan(got) : got == ref;
    return difference <= allowed; /* NaN fails here */
}

/* Which element came nearest to its tolerance, or went furthest beyond it. */
static void note_worst(struct assay_comparison *c, double difference, double allowed,
                       double absolute)
{
    double fraction = allowed > 0 ? difference / allowed : difference > 0 ? (double)INFINITY : 0;
    if (fraction > c->worst) {
        c->worst = fraction;
        c->worst_absolute = absolute;
    }
}

static void add_one(struct assay_comparison *c, int64_t index, double got, double ref, double size)
{
    double difference = fabs(got - ref);
    double absolute = c->tolerance.absolute + c->tolerance.summed * size;
    double allowed = absolute + c->tolerance.relative * fabs(ref);
    c->compared++;
    if (!acceptable(got, ref, difference, allowed)) {
        if (c->mismatches++ == 0) {
            c->first_mismatch = index;
            c->first_got = got;
            c->first_ref = ref;
            c->first_allowed = allowed;
        }
    }
    if (!isfinite(ref) || !isfinite(got))
        return;
    note_worst(c, difference, allowed, absolute);
    if (difference > c->max_abs)
        c->max_abs = difference;
    if (ref != 0 && difference / fabs(ref) > c->max_rel)
        c->max_rel = difference / fabs(ref);
    c->sum_sq_error += difference * difference;
    c->sum_sq_ref += ref * ref;
}

/* Infinity is right where the type's largest number is too small. */
static double as_held(double ref, double got, double max)
{
    return isinf(got) && fabs(ref) > max && isfinite(ref) ? copysign((double)INFINITY, ref) : ref;
}

enum { COMPARE_BLOCK = 512 };

void assay_comparison_add_sums(struct assay_comparison *comparison, enum assay_dtype dtype,
                               const void *got, int64_t first, const double *ref,
                               const double *sizes, int64_t n)
{
    double values[COMPARE_BLOCK], max = assay_dtype_info(dtype)->max;
    for (int64_t done = 0; done < n; done += COMPARE_BLOCK) {
        int64_t count = n - done < COMPARE_BLOCK ? n - done : COMPARE_BLOCK;
        assay_dtype_load(dtype, got, first + done, count, values);
        for (int64_t i = 0; i < count; i++)
            add_one(comparison, first + done + i, values[i], as_held(ref[done + i], values[i], max),
                    sizes ? sizes[done + i] : 0);
    }
}

void assay_comparison_add(struct assay_comparison *comparison, enum assay_dtype dtype,
                          const void *got, int64_t first, const double *ref, int64_t n)
{
    assay_comparison_add_sums(comparison, dtype, got, first, ref, NULL, n);
}

double assay_comparison_rms(const struct assay_comparison *comparison)
{
    if (comparison->compared == 0)
        return 0;
    return sqrt(comparison->sum_sq_error / (double)comparison->compared);
}

double assay_comparison_sqnr_db(const struct assay_comparison *comparison)
{
    if (comparison->sum_sq_error == 0)
        return (double)INFINITY;
    return 10 * log10(comparison->sum_sq_ref / comparison->sum_sq_error);
}
