/* What a sample costs through libassay, beyond a hand-written loop with two clock reads: the
 * function under measurement notes when it is entered, and the time from one entry to the next is
 * all that a sample takes. The two take turns. Also what the library reports for an empty function
 * beyond the loop's own figure. Prints "cost_ns bias_ns"; for tools/perf. */
#include "base/clock.h"
#include "stats/stats.h"
#include <assay/assay.h>

#include <stdio.h>

enum { SAMPLES = 2000, WARMUP = 100, TURNS = 41 };

static int64_t entries[WARMUP + SAMPLES];
static int64_t entered;

static int note_entry(void *argument)
{
    (void)argument;
    entries[entered++ % (WARMUP + SAMPLES)] = assay_clock_ns();
    return 0;
}

static double median(double *values, int64_t n)
{
    assay_stats_sort(values, n);
    return assay_stats_quantile(values, n, 0.5);
}

/* The median time from an entry to the next, without those of warming up. */
static double gap(void)
{
    static double gaps[SAMPLES - 1];
    for (int i = 0; i < SAMPLES - 1; i++)
        gaps[i] = (double)(entries[WARMUP + i + 1] - entries[WARMUP + i]);
    return median(gaps, SAMPLES - 1);
}

/* As one would write it oneself. */
static double by_hand(int (*run)(void *), double *gap_ns)
{
    static double samples[WARMUP + SAMPLES];
    entered = 0;
    for (int i = 0; i < WARMUP + SAMPLES; i++) {
        int64_t start = assay_clock_ns();
        int failed = run(NULL);
        int64_t end = assay_clock_ns();
        if (failed)
            return 0;
        samples[i] = (double)(end - start);
    }
    *gap_ns = gap();
    return median(samples + WARMUP, SAMPLES);
}

static double by_library(assay_session *session, const struct assay_case *one, double *gap_ns)
{
    entered = 0;
    if (assay_session_run(session, one, NULL) != ASSAY_OK)
        return 0;
    *gap_ns = gap();
    int64_t last = assay_session_case_count(session) - 1;
    return assay_session_case(session, last)->median_ms * 1e6;
}

int main(void)
{
    static double costs[TURNS], biases[TURNS];
    int (*volatile run)(void *) = note_entry; /* as unknown to the loop as to the library */
    struct assay_session_options options;
    struct assay_case one;
    assay_session *session = NULL;
    assay_session_options_init(&options);
    options.warmup = WARMUP;
    options.iters = SAMPLES;
    assay_case_init(&one, "note_entry", note_entry, NULL);
    if (assay_session_open(&options, &session, NULL) != ASSAY_OK)
        return 3;
    for (int i = 0; i < TURNS; i++) {
        double hand_gap = 0, library_gap = 0;
        double hand = by_hand(run, &hand_gap), library = by_library(session, &one, &library_gap);
        costs[i] = library_gap - hand_gap;
        biases[i] = library - hand;
    }
    assay_session_close(session);
    printf("%.1f %.1f\n", median(costs, TURNS), median(biases, TURNS));
    return 0;
}
