/* book_case.h: books for the tests of charts and pages: as many rows as are wanted, all made up. */
#ifndef ASSAY_TESTS_BOOK_CASE_H
#define ASSAY_TESTS_BOOK_CASE_H

#include "report_case.h"

#include "report/report_book.h"

/* What the rows of a book are to be like. Zeroes: one group of one variant. */
struct book_case {
    int64_t sizes, variants; /* groups of growing seq; variants of each, the first the baseline */
    int64_t dtypes;          /* 1 to 3: f32, f16, bf16, each with all sizes */
    int64_t name_length;     /* of implementations: padded to it; up to 31 */
    double decades;          /* times go over so many powers of ten, over the sizes */
    int64_t samples;         /* kept with each figure */
    bool recipes;            /* variants are recipes, with weights and accuracy */
    bool models;             /* … eager and compiled executors of a model */
    bool bad;                /* each fifth row failed, each seventh has NaN and no ceiling */
};

static inline struct assay_record book_case_record(const struct book_case *c, int64_t group,
                                                   int64_t size, int64_t dtype, int64_t variant)
{
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
    static const char *const names[] = {"onednn", "native", "openblas", "ref", "torch", "triton"};
    static const char *const recipes[] = {"baseline", "int8wo", "int4wo-128", "float8dq-row"};
    struct assay_record r = plain_record(group, variant, "layernorm", "layernorm", "onednn");
    double at = c->sizes > 1 ? (double)size / (double)(c->sizes - 1) : 0;
    double base = 1e3 * pow(10, at * (c->decades > 0 ? c->decades : 3));
    double ratio = variant == 0 ? 1 : 0.55 + 0.37 * (double)((variant * 7 + group * 3) % 9);
    bool significant = variant > 0 && fabs(ratio - 1) > 0.1;
    r.dtype = dtypes[dtype % 3];
    r.axes[1] = (int64_t)1 << (size % 40 + 4);
    snprintf(r.implementation, sizeof r.implementation, "%s", names[variant % 6]);
    if (variant >= 6)
        snprintf(r.implementation, sizeof r.implementation, "plugin%lld", (long long)variant);
    for (size_t n = strlen(r.implementation);
         n < (size_t)c->name_length && n + 1 < sizeof r.implementation; n++)
        r.implementation[n] = (char)('a' + n % 26);
    snprintf(r.kernel, sizeof r.kernel, "layernorm_%.40s", r.implementation);
    r.bytes_read = r.bytes_written = base * 20;
    r.flops = base * 200;
    if (c->recipes) {
        snprintf(r.implementation, sizeof r.implementation, "native");
        snprintf(r.recipe, sizeof r.recipe, "%s%lld", recipes[variant % 4], (long long)variant / 4);
        if (variant < 4)
            snprintf(r.recipe, sizeof r.recipe, "%s", recipes[variant]);
        r.weight_bytes = 33e6 / (double)(1 + variant % 4);
        r.accuracy_db = variant == 0 ? (double)INFINITY : 50 - 9 * (double)(variant % 4);
        r.pareto = variant % 2 == 0;
    }
    if (c->models) {
        snprintf(r.op, sizeof r.op, "model:ln_linear_gelu");
        snprintf(r.title, sizeof r.title, "ln_linear_gelu");
        snprintf(r.implementation, sizeof r.implementation, variant % 2 ? "compiled" : "eager");
    }
    snprintf(r.baseline, sizeof r.baseline, "%s", "onednn");
    r.is_baseline = variant == 0;
    for (int state = HOT; state <= COLD; state++) {
        double ns = base / ratio * (state == COLD ? 1.4 : 1);
        struct assay_measurement m = around(ns, 0.01);
        m.ceiling_ns = base / 4;
        m.efficiency = m.ceiling_ns / ns;
        m.efficiency_ci = (struct assay_interval){m.efficiency * 0.98, m.efficiency * 1.02};
        m.bytes_per_s = (r.bytes_read + r.bytes_written) / (ns * 1e-9);
        m.flops_per_s = r.flops / (ns * 1e-9);
        snprintf(m.bound, sizeof m.bound, "%s", size % 3 == 0 ? "L2" : "memory");
        if (variant > 0)
            m = against(m, ratio, 0.02, significant);
        if (c->models && variant % 2) {
            m.has_eager_ratio = true;
            m.eager_ratio = m.ratio;
        }
        r.states[state] = c->samples ? sampled(m, c->samples) : m;
    }
    if (c->bad && (group + variant) % 7 == 6)
        r.states[COLD] = no_ceiling(r.states[COLD]);
    if (c->bad && (group + variant) % 5 == 4) {
        r = failing(r, ASSAY_OUTCOME_MISMATCH, "3 of 8192 elements: got NaN");
        memset(r.states, 0, sizeof r.states);
    }
    return r;
}

/* Adds a run. */
static inline void book_case_add(const struct book_case *c, struct assay_book *book)
{
    struct assay_record records[64];
    int64_t group = 0, sizes = c->sizes > 0 ? c->sizes : 1;
    assay_book_begin(book, &a_run);
    for (int64_t dtype = 0; dtype < (c->dtypes > 0 ? c->dtypes : 1); dtype++)
        for (int64_t size = 0; size < sizes; size++, group++) {
            int64_t n = c->variants > 0 ? c->variants : 1;
            for (int64_t v = 0; v < n && v < 64; v++)
                records[v] = book_case_record(c, group, size, dtype, v);
            assay_book_add(book, records, n < 64 ? n : 64);
        }
    assert_false(book->failed);
}

#endif
