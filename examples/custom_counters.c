/* custom_counters.c: a projection with counters of its own, which read the case's metadata. Its
 * memory comes from the session, so that the figures have all of it.
 *     cc -O2 custom_counters.c $(pkg-config --cflags --libs assay) -o custom_counters */
#include <assay/assay.h>

#include <stdio.h>

enum { TOKENS = 32, IN = 384, OUT = 384 };

struct projection {
    assay_session *session;
    float *x, *w, *y;
};

/* Untimed: before the first call. */
static int setup(void *argument)
{
    struct projection *p = argument;
    void *x, *w, *y;
    if (assay_session_alloc(p->session, TOKENS * IN * sizeof *p->x, &x, NULL) != ASSAY_OK ||
        assay_session_alloc(p->session, OUT * IN * sizeof *p->w, &w, NULL) != ASSAY_OK ||
        assay_session_alloc(p->session, TOKENS * OUT * sizeof *p->y, &y, NULL) != ASSAY_OK)
        return 1;
    p->x = x;
    p->w = w;
    p->y = y;
    for (int i = 0; i < TOKENS * IN; i++)
        p->x[i] = (float)(i % 17) - 8;
    for (int i = 0; i < OUT * IN; i++)
        p->w[i] = (float)(i % 13) - 6;
    return 0;
}

static int run(void *argument)
{
    const struct projection *p = argument;
    for (int t = 0; t < TOKENS; t++)
        for (int o = 0; o < OUT; o++) {
            float sum = 0;
            for (int i = 0; i < IN; i++)
                sum += p->x[t * IN + i] * p->w[o * IN + i];
            p->y[t * OUT + o] = sum;
        }
    return 0;
}

static void teardown(void *argument)
{
    struct projection *p = argument;
    assay_session_free(p->session, p->x, NULL);
    assay_session_free(p->session, p->w, NULL);
    assay_session_free(p->session, p->y, NULL);
}

static double macs(const struct assay_case *self)
{
    return assay_case_number(self, "batch_tokens", 0) * assay_case_number(self, "in", 0) *
           assay_case_number(self, "out", 0);
}

static double flops(const struct assay_case *self)
{
    return assay_case_number(self, "batch_tokens", 0) * assay_case_number(self, "out", 0);
}

int main(void)
{
    static const struct assay_metadata metadata[] = {
        {"batch_tokens", TOKENS, NULL}, {"in", IN, NULL}, {"out", OUT, NULL}};
    struct assay_error err = {0};
    struct projection p = {0};
    struct assay_case one;
    assay_case_init(&one, "proj", run, &p);
    one.setup = setup;
    one.teardown = teardown;
    one.metadata = metadata;
    one.n_metadata = 3;
    one.macs = macs;
    one.flops = flops;
    int failed = assay_session_open(NULL, &p.session, &err) != ASSAY_OK ||
                 assay_session_run(p.session, &one, &err) != ASSAY_OK ||
                 assay_session_cases_json(p.session, assay_write_file, stdout, &err) != ASSAY_OK ||
                 assay_session_cases_table(p.session, assay_write_file, stdout, &err) != ASSAY_OK;
    if (failed)
        fprintf(stderr, "custom_counters: %s %s\n", err.where, err.message);
    assay_session_close(p.session);
    return failed;
}
