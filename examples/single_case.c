/* single_case.c: one function of your own, measured: y = x·Wᵀ for 8 tokens.
 *     cc -O2 single_case.c $(pkg-config --cflags --libs assay) -o single_case && ./single_case */
#include <assay/assay.h>

#include <stdio.h>
#include <stdlib.h>

enum { TOKENS = 8, IN = 512, OUT = 1024 };

struct linear {
    float *x, *w, *y; /* [TOKENS, IN], [OUT, IN], [TOKENS, OUT] */
};

/* What is timed. 0 says that it worked. */
static int linear(void *argument)
{
    const struct linear *l = argument;
    for (int t = 0; t < TOKENS; t++)
        for (int o = 0; o < OUT; o++) {
            float sum = 0;
            for (int i = 0; i < IN; i++)
                sum += l->x[t * IN + i] * l->w[o * IN + i];
            l->y[t * OUT + o] = sum;
        }
    return 0;
}

static float *some_values(size_t n)
{
    float *values = malloc(n * sizeof *values);
    for (size_t i = 0; values && i < n; i++)
        values[i] = (float)(i * 7919 % 1000) / 1000 - 0.5f;
    return values;
}

int main(void)
{
    struct assay_error err = {0};
    assay_session *session = NULL;
    struct linear l = {some_values(TOKENS * IN), some_values(OUT * IN), some_values(TOKENS * OUT)};
    struct assay_case one;
    assay_case_init(&one, "linear_demo", linear, &l);
    int failed = assay_session_open(NULL, &session, &err) != ASSAY_OK ||
                 assay_session_run(session, &one, &err) != ASSAY_OK ||
                 assay_case_result_json(assay_session_case(session, 0), assay_write_file, stdout,
                                        &err) != ASSAY_OK;
    if (failed)
        fprintf(stderr, "single_case: %s %s\n", err.where, err.message);
    assay_session_close(session);
    free(l.x);
    free(l.w);
    free(l.y);
    return failed;
}
