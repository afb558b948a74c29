/* many_cases.c: three ways to compute GELU, measured in turn until each is known to 2 %, and set
 * against the first.
 *     cc -O2 many_cases.c $(pkg-config --cflags --libs assay) -lm -o many_cases && ./many_cases */
#include <assay/assay.h>

#include <math.h>
#include <stdio.h>

enum { N = 16384 };

static float x[N], y[N];

static int gelu_erf(void *argument)
{
    (void)argument;
    for (int i = 0; i < N; i++)
        y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
    assay_keep(y); /* nobody reads it: without this the loop could be left out */
    return 0;
}

static int gelu_tanh(void *argument)
{
    (void)argument;
    for (int i = 0; i < N; i++)
        y[i] = 0.5f * x[i] * (1 + tanhf(0.79788456f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
    assay_keep(y);
    return 0;
}

static int gelu_sigmoid(void *argument)
{
    (void)argument;
    for (int i = 0; i < N; i++)
        y[i] = x[i] / (1 + expf(-1.702f * x[i]));
    assay_keep(y);
    return 0;
}

static double flops(const struct assay_case *self) { return 6 * assay_case_number(self, "n", 0); }

int main(void)
{
    const struct assay_metadata metadata[] = {{"n", N, NULL}, {"precision", 0, "float32"}};
    struct assay_session_options options;
    struct assay_error err = {0};
    struct assay_case cases[3];
    assay_session *session = NULL;
    for (int i = 0; i < N; i++)
        x[i] = 6.0f * (float)i / N - 3;
    assay_case_init(&cases[0], "gelu_erf", gelu_erf, NULL);
    assay_case_init(&cases[1], "gelu_tanh", gelu_tanh, NULL);
    assay_case_init(&cases[2], "gelu_sigmoid", gelu_sigmoid, NULL);
    for (int i = 0; i < 3; i++) {
        cases[i].metadata = metadata;
        cases[i].n_metadata = 2;
        cases[i].flops = flops;
    }
    assay_session_options_init(&options);
    options.precision = 0.02;
    options.budget_s = 1;
    if (assay_session_open(&options, &session, &err) != ASSAY_OK ||
        assay_session_run_many(session, cases, 3, &err) != ASSAY_OK ||
        assay_session_cases_table(session, assay_write_file, stdout, &err) != ASSAY_OK) {
        fprintf(stderr, "many_cases: %s %s\n", err.where, err.message);
        assay_session_close(session);
        return 1;
    }
    for (int64_t i = 1; i < assay_session_case_count(session); i++) {
        const struct assay_case_result *r = assay_session_case(session, i);
        printf("%s: %.2fx [%.2f %.2f]%s\n", r->name, r->speedup, r->speedup_lo, r->speedup_hi,
               r->significant ? "" : ", which may be chance");
    }
    assay_session_close(session);
    return 0;
}
