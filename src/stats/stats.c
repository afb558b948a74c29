/* stats.c: order statistics of samples, and nothing else.
 *
 * The file reads in the order things are used: putting values in order, the ranks that enclose a
 * median, then the three questions assay asks (summary, ratio, precision). NaN samples stand for
 * rounds that were sat out and are dropped before anything is put in order. */
#include "stats/stats.h"

#include <assert.h>
#include <math.h>

/* ---- Putting values in order ---------------------------------------------------------------- */

enum {
    INSERTION_LENGTH = 24, /* below this, insertion sort is the fastest */
    MAX_TODO = 80,         /* the shorter half is done first, so log2(2^63) entries and a few */
};

struct segment {
    int64_t lo, hi; /* both inclusive */
    int splits;     /* how many more times it may be split before heapsort takes over */
};

static void swap(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

static void insertion_sort(double *v, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        double value = v[i];
        int64_t at = i;
        for (; at > 0 && v[at - 1] > value; at--)
            v[at] = v[at - 1];
        v[at] = value;
    }
}

static void sift_down(double *v, int64_t parent, int64_t n)
{
    double value = v[parent];
    for (int64_t child; (child = 2 * parent + 1) < n; parent = child) {
        if (child + 1 < n && v[child + 1] > v[child])
            child++;
        if (v[child] <= value)
            break;
        v[parent] = v[child];
    }
    v[parent] = value;
}

static void heap_sort(double *v, int64_t n)
{
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sift_down(v, i, n);
    for (int64_t i = n - 1; i > 0; i--) {
        swap(&v[0], &v[i]);
        sift_down(v, 0, i);
    }
}

static double median_of_three(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Hoare's partition: returns j with lo <= j < hi such that no value of [lo, j] is above one of
 * [j + 1, hi]. The pivot is a median of three, so one of the first and the middle value is not
 * below it, which stops the left scan before hi and keeps j < hi. */
static int64_t partition(double *v, int64_t lo, int64_t hi)
{
    double pivot = median_of_three(v[lo], v[lo + (hi - lo) / 2], v[hi]);
    int64_t i = lo, j = hi;
    for (;; i++, j--) {
        while (v[i] < pivot)
            i++;
        while (v[j] > pivot)
            j--;
        if (i >= j)
            break;
        swap(&v[i], &v[j]);
    }
    return j;
}

/* Puts into v[first … last] what a full sort would put there, with smaller values before and larger
 * ones after them in no order. Introsort that skips every segment outside the window: n log n for
 * the whole array, about 3 n for the few hundred ranks in the middle that an interval needs. */
static void order_window(double *v, int64_t n, int64_t first, int64_t last)
{
    struct segment todo[MAX_TODO] = {{.lo = 0, .hi = n - 1}};
    int n_todo = 1;
    for (int64_t m = n; m > 1; m /= 2)
        todo[0].splits += 2;
    while (n_todo > 0) {
        struct segment s = todo[--n_todo];
        int64_t length = s.hi - s.lo + 1;
        if (s.hi < first || s.lo > last)
            continue;
        if (length <= INSERTION_LENGTH) {
            insertion_sort(v + s.lo, length);
        } else if (s.splits == 0) {
            heap_sort(v + s.lo, length);
        } else {
            int64_t middle = partition(v, s.lo, s.hi);
            struct segment left = {s.lo, middle, s.splits - 1};
            struct segment right = {middle + 1, s.hi, s.splits - 1};
            bool left_shorter = middle - s.lo < s.hi - middle;
            todo[n_todo++] = left_shorter ? right : left;
            todo[n_todo++] = left_shorter ? left : right;
        }
    }
}

void assay_stats_sort(double *values, int64_t n) { order_window(values, n, 0, n - 1); }

double assay_stats_quantile(const double *sorted, int64_t n, double p)
{
    assert(n >= 1 && p >= 0 && p <= 1);
    double at = (double)(n - 1) * p;
    int64_t below = (int64_t)at;
    double part = at - (double)below;
    if (below >= n - 1 || part == 0)
        return sorted[below < n ? below : n - 1];
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

/* ---- The ranks that enclose a median --------------------------------------------------------
 *
 * Each sample lies below the true median with probability 1/2, whatever the distribution, so the
 * number B of samples below it is binomial(n, 1/2). The median lies between the k-th smallest and
 * the k-th largest sample exactly when k <= B <= n - k. Hence
 *     coverage(k) = P(k <= B <= n - k),
 * and the narrowest interval has the largest k whose coverage reaches the level. n = 10:
 * coverage(2) = 1 - 2 (1 + 10) / 1024 = 97.9 %, coverage(3) = 1 - 2 (1 + 10 + 45) / 1024 = 89.1 %,
 * so k = 2.
 *
 * The sum starts at the middle and walks outwards until the level is reached. Probability falls by
 * P(B = k - 1) = P(B = k) k / (n - k + 1), and the walk ends about sqrt(n) steps out (1 at the 95 %
 * level, 1.3 at 99 %): exact for every n, and 1,300 steps for a million samples. */

/* C(2m, m) / 4^m, the probability of exactly m heads in 2m throws. A product while that is short;
 * from m = 64 on, Stirling's series of its logarithm, whose first term left out is 1 / (640 m^5):
 * below 2e-12. */
static double half_heads(int64_t m)
{
    if (m >= 64) {
        double x = (double)m;
        return exp(-1 / (8 * x) + 1 / (192 * x * x * x)) / sqrt(3.14159265358979323846 * x);
    }
    double product = 1;
    for (int64_t i = 1; i <= m; i++)
        product *= (double)(2 * i - 1) / (double)(2 * i);
    return product;
}

/* The largest k whose coverage reaches `level`, from 1; 0 where even the whole range does not.
 * n odd has two middle values of B, each as likely as half heads in n + 1 throws, because
 * C(2m + 1, m) = C(2m + 2, m + 1) / 2. */
static int64_t enclosing_rank(int64_t n, double level)
{
    int64_t k = n / 2;
    double probability = half_heads((n + 1) / 2); /* P(B = k) */
    double coverage = n % 2 ? 2 * probability : probability;
    while (k > 0 && coverage < level) {
        probability *= (double)k / (double)(n - k + 1);
        coverage += 2 * probability;
        k--;
    }
    return k;
}

/* The interval of ranks k and n + 1 - k; the whole range for k = 0. */
static struct assay_interval between_ranks(const double *sorted, int64_t n, int64_t k)
{
    if (k < 1)
        k = 1;
    return (struct assay_interval){sorted[k - 1], sorted[n - k]};
}

struct assay_interval assay_stats_median_interval(const double *sorted, int64_t n, double level)
{
    assert(n >= 1);
    return between_ranks(sorted, n, enclosing_rank(n, level));
}

/* ---- What is asked -------------------------------------------------------------------------- */

static const double CI_LEVEL = 0.95, SIGNIFICANCE_LEVEL = 0.998, CLEAR_LEVEL = 0.9998;

static int64_t copy_without_nan(const double *from, int64_t n, double *to)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(from[i]))
            to[kept++] = from[i];
    return kept;
}

/* Half the width over the middle. An interval of no width is exact even around 0. */
static double half_width_frac(struct assay_interval interval, double middle)
{
    double half = (interval.hi - interval.lo) / 2;
    if (half == 0)
        return 0;
    return isfinite(half) && middle != 0 ? half / fabs(middle) : (double)INFINITY;
}

/* Two passes. The second pass also sums the plain deviations, which are zero but for the rounding
 * of the mean, and so corrects both results for it. */
static void moments(const double *v, int64_t n, double *mean, double *std)
{
    double sum = 0, deviations = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += v[i];
    double rough = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double d = v[i] - rough;
        deviations += d;
        squares += d * d;
    }
    double correction = deviations / (double)n;
    double variance = squares / (double)n - correction * correction;
    *mean = rough + correction;
    *std = variance > 0 ? sqrt(variance) : 0;
}

static int64_t count_outside(const double *v, int64_t n, double lo, double hi)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += v[i] < lo || v[i] > hi;
    return count;
}

void assay_stats_summarise(const double *samples, int64_t n, double *scratch,
                           struct assay_summary *out)
{
    *out = (struct assay_summary){.n = copy_without_nan(samples, n, scratch)};
    n = out->n;
    if (n == 0)
        return;
    assay_stats_sort(scratch, n);
    moments(scratch, n, &out->mean, &out->std);
    out->min = scratch[0];
    out->max = scratch[n - 1];
    out->median = assay_stats_quantile(scratch, n, 0.5);
    out->q1 = assay_stats_quantile(scratch, n, 0.25);
    out->q3 = assay_stats_quantile(scratch, n, 0.75);
    out->iqr = out->q3 - out->q1;
    out->p5 = assay_stats_quantile(scratch, n, 0.05);
    out->p95 = assay_stats_quantile(scratch, n, 0.95);
    out->p99 = assay_stats_quantile(scratch, n, 0.99);
    out->outliers = count_outside(scratch, n, out->q1 - 1.5 * out->iqr, out->q3 + 1.5 * out->iqr);
    out->median_ci = assay_stats_median_interval(scratch, n, CI_LEVEL);
    out->median_ci_frac = half_width_frac(out->median_ci, out->median);
}

static bool differs(double ratio, double luck, struct assay_interval interval)
{
    return fabs(ratio - 1) >= ASSAY_STATS_EQUAL &&
           (interval.lo > 1 + luck || interval.hi < 1 - luck);
}

/* Of n ratios, which are put in order. */
static void judge_ratios(double *scratch, int64_t n, double luck, struct assay_ratio *out)
{
    *out = (struct assay_ratio){.n = n};
    if (n == 0)
        return;
    int64_t k = enclosing_rank(n, SIGNIFICANCE_LEVEL);
    int64_t widest = enclosing_rank(n, CLEAR_LEVEL); /* this interval holds the other two */
    order_window(scratch, n, widest < 1 ? 0 : widest - 1, widest < 1 ? n - 1 : n - widest);
    out->ratio = assay_stats_quantile(scratch, n, 0.5);
    out->ci = assay_stats_median_interval(scratch, n, CI_LEVEL);
    out->ci_frac = half_width_frac(out->ci, out->ratio);
    out->smallest_visible = (double)INFINITY;
    if (k < 1) /* n < 10: 1 - 2 / 2^n is below 99.8 %, so no difference could ever be shown */
        return;
    struct assay_interval wide = between_ranks(scratch, n, k);
    out->likely = differs(out->ratio, luck, out->ci);
    out->significant = differs(out->ratio, luck, wide);
    out->clear = widest >= 1 && differs(out->ratio, luck, between_ranks(scratch, n, widest));
    /* A true ratio r would have moved the interval to [r lo / ratio, r hi / ratio]; it leaves out
     * all from 1 - luck to 1 + luck from r = (1 + luck) ratio / lo upwards and from
     * r = (1 - luck) ratio / hi downwards. */
    double visible =
        fmax((1 + luck) * out->ratio / wide.lo - 1, 1 - (1 - luck) * out->ratio / wide.hi);
    out->smallest_visible = fmax(visible, ASSAY_STATS_EQUAL);
}

/* 0 / 0 drops out too: such a round tells nothing. */
static int64_t add_ratio(double base, double mine, double *ratios, int64_t n)
{
    double ratio = base / mine;
    if (!isnan(ratio))
        ratios[n++] = ratio;
    return n;
}

void assay_stats_ratio(const double *base, const double *mine, int64_t n, double *scratch,
                       struct assay_ratio *out)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        kept = add_ratio(base[i], mine[i], scratch, kept);
    judge_ratios(scratch, kept, 0, out);
}

void assay_stats_ratio_by_place(const double *base, const double *mine, int64_t n,
                                struct assay_places places, double *scratch,
                                struct assay_ratio *out)
{
    double *rounds = scratch + n; /* of one place */
    if (places.n < 2) {
        places.n = n;
        places.block = 1;
    }
    int64_t turn = places.n * places.block, kept = 0;
    for (int64_t first = 0; first < turn && first < n; first += places.block) {
        int64_t here = 0;
        for (int64_t block = first; block < n; block += turn)
            for (int64_t i = block; i < block + places.block && i < n; i++)
                here = add_ratio(base[i], mine[i], rounds, here);
        if (here == 0)
            continue;
        assay_stats_sort(rounds, here);
        scratch[kept++] = assay_stats_quantile(rounds, here, 0.5);
    }
    judge_ratios(scratch, kept, places.luck, out);
}

double assay_stats_precision(const double *samples, int64_t n, double *scratch)
{
    n = copy_without_nan(samples, n, scratch);
    int64_t k = n ? enclosing_rank(n, CI_LEVEL) : 0;
    if (k < 1) /* n < 6: 1 - 2 / 2^n is below 95 % */
        return (double)INFINITY;
    order_window(scratch, n, k - 1, n - k);
    return half_width_frac(between_ranks(scratch, n, k), assay_stats_quantile(scratch, n, 0.5));
}
