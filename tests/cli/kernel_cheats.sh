#!/usr/bin/env bash
# Workloads that cheat: each is caught, and named for what it does. The same tricks as kernels of a
# known op are in cheats.sh.
# Not under sanitizers: compiled code is not theirs, and they slow down what its time is compared with.
# Needs quiet cores: some cheats show in times only.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"

mkdir -p cheats/benchmarks
cat >cheats/benchmarks/benchmark_cheats.c <<'C'
#include <assay/assay_kernel.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 40, COLUMNS = 1024, N = ROWS * COLUMNS };

static void setup(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
}

static void compute(float *out, const float *x, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = x[i] / (1 + expf(-x[i]));
}

static int honest(const assay_call *c)
{
    compute((float *)c->out[0], (const float *)c->in[0], N);
    return 0;
}

static int kept_by_pointer(const assay_call *c)
{
    static const void *seen[64];
    for (int i = 0; i < 64; i++) {
        if (seen[i] == c->out[0])
            return 0;
        if (!seen[i]) {
            seen[i] = c->out[0];
            return honest(c);
        }
    }
    return honest(c);
}

static uint64_t sum_of(const void *data)
{
    uint64_t sum = 0, word;
    for (int i = 0; i < N / 2; i++) {
        memcpy(&word, (const char *)data + 8 * i, 8);
        sum += word * (2 * (uint64_t)i + 1);
    }
    return sum;
}

static int kept_by_content(const assay_call *c)
{
    static uint64_t sum;
    static float *answer;
    if (!answer)
        answer = malloc(N * sizeof *answer);
    if (sum != sum_of(c->in[0])) {
        sum = sum_of(c->in[0]);
        compute(answer, (const float *)c->in[0], N);
    }
    memcpy(c->out[0], answer, N * sizeof *answer);
    return 0;
}

static int first_call_only(const assay_call *c)
{
    static int calls;
    return calls++ ? 0 : honest(c);
}

static int second_calls_only(const assay_call *c)
{
    static int calls;
    return calls++ % 2 ? 0 : honest(c);
}

static int looks_for_poison(const assay_call *c)
{
    const float *out = (const float *)c->out[0];
    return isnan(out[0]) || isnan(out[N - 1]) ? honest(c) : 0;
}

struct later {
    void *out;
    const void *in;
};

static void *finish(void *argument)
{
    struct later *l = argument;
    usleep(3000);
    compute((float *)l->out, (const float *)l->in, N);
    free(l);
    return NULL;
}

static int finishes_later(const assay_call *c)
{
    pthread_t thread;
    struct later *l = malloc(sizeof *l);
    *l = (struct later){c->out[0], c->in[0]};
    if (pthread_create(&thread, NULL, finish, l) != 0)
        return 1;
    pthread_detach(thread);
    return 0;
}

static int first_rows_only(const assay_call *c)
{
    compute((float *)c->out[0], (const float *)c->in[0], N - 3 * COLUMNS);
    return 0;
}

static int stale_rows(const assay_call *c)
{
    static int calls;
    compute((float *)c->out[0], (const float *)c->in[0], calls++ < 3 ? N : N - 3 * COLUMNS);
    return 0;
}

static int low_precision(const assay_call *c)
{
    const float *x = (const float *)c->in[0];
    float *out = (float *)c->out[0];
    for (int i = 0; i < N; i++)
        out[i] = (float)((_Float16)x[i] / ((_Float16)1 + (_Float16)expf(-x[i])));
    return 0;
}

static int eases_inputs(const assay_call *c)
{
    honest(c);
    memset((void *)c->in[0], 0, COLUMNS);
    return 0;
}

static int reads_past_end(const assay_call *c)
{
    const volatile float *x = (const volatile float *)c->in[0];
    float beyond = x[N + 64];
    return beyond == 12345 ? 0 : honest(c);
}

static volatile int burning;

static void *burn(void *argument)
{
    while (burning)
        ;
    return argument;
}

static int burns(const assay_call *c)
{
    pthread_t thread;
    if (!burning) {
        burning = 1;
        pthread_create(&thread, NULL, burn, NULL);
    }
    return honest(c);
}

ASSAY_BENCHMARK(Cheats, 0, setup, {"kept_by_pointer", kept_by_pointer, honest},
                {"kept_by_content", kept_by_content, honest}, {"first_call_only", first_call_only, honest},
                {"second_calls_only", second_calls_only, honest}, {"looks_for_poison", looks_for_poison, honest},
                {"finishes_later", finishes_later, honest}, {"first_rows_only", first_rows_only, honest},
                {"stale_rows", stale_rows, honest}, {"low_precision", low_precision, honest},
                {"eases_inputs", eases_inputs, honest}, {"reads_past_end", reads_past_end, honest},
                {"burns", burns, honest}, {"unwatched_first_call", first_call_only}, {"honest", honest, honest})
C
printf 'ldflags: [-lpthread]\n' >cheats/assay.yml

say "each is caught, and named"
expect_exit 1 "$ASSAY" kernel cheats --threads 1 --iterations 30
expect_out ' kept_by_pointer: .*(kept from other inputs|did not compute every call)'
expect_out ' kept_by_content: .*answers known inputs from memory'
expect_out ' first_call_only: .*(did not compute every call|unwritten)'
expect_out ' second_calls_only: .*(did not compute every call|unwritten)'
expect_out ' looks_for_poison: .*(kept from other inputs|did not compute every call)'
expect_out ' finishes_later: .*had not finished when it returned'
expect_out ' first_rows_only: .*left 3072 of 40960 elements of output 0 unwritten'
expect_out ' stale_rows: .*(wrong|unwritten|did not compute every call)'
expect_out ' low_precision: .*wrong'
expect_out ' eases_inputs: .*changed input 0'
expect_out ' reads_past_end: .*read past the end of input 0'
expect_out ' burns: .*left threads computing'
expect_out ' unwatched_first_call: .*unwritten'
expect_out '│ Cheats .*│ honest .*✓'
expect_count 13 '✗ (mismatch|crashed)' out
