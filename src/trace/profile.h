/* profile.h: what was noted of one variant in its profiled pass. Plain data: it crosses from the
 * worker to whoever writes traces (trace/timeline.h). */
#ifndef ASSAY_TRACE_PROFILE_H
#define ASSAY_TRACE_PROFILE_H

#include "base/json.h"
#include "trace/activity.h"
#include "trace/recorder.h"

/* A node of a model, or the kernel of an op. Per call of it. */
struct assay_profile_node {
    char op[64], shape[64], kernel[64]; /* "linear", "64x256 x 768x256 -> 64x768", "linear_amx" */
    double bytes, flops;                /* the least it costs */
    double ceiling_ns; /* the least time by the best this machine was seen to do; 0: not known */
    char bound[16];    /* what binds there: "compute", "memory", "L2"; empty: not known */
    char phase[16]; /* of a model in training: "forward", "backward", …; empty: there are none */
};

/* A reading of something that changes: the clock, in Hz. */
struct assay_profile_reading {
    int64_t at_ns;
    double clock_hz, bytes_held; /* 0: not known */
};

/* Samples of the timed pass, in their order; those of a long run thinned out (record/samples.h). */
enum { ASSAY_PROFILE_SAMPLES = 128, ASSAY_PROFILE_STATES = 2, ASSAY_PROFILE_READINGS = 64 };
struct assay_profile_samples {
    int32_t n, every;
    float ns[ASSAY_PROFILE_SAMPLES]; /* of one call */
    bool disturbed[ASSAY_PROFILE_SAMPLES];
};

/* A figure to know about each call: what the processor's counters said. */
struct assay_profile_fact {
    char key[32];
    double value;
};

enum { ASSAY_PROFILE_FACTS = 16 };
struct assay_profile {
    int64_t group, variant; /* as in the variant's record */
    char title[200];        /* "transformer_block 4x64x256 f32 compiled int8wo" */
    char op[64], implementation[32], kernel[64], recipe[64], device[32];
    char state[8];        /* on which operands it was called: "hot", "cold" */
    char missing[256];    /* what is not here, and why; empty: nothing is missing */
    char gpu_source[160]; /* who saw what the GPU did: "CUPTI 13.0", or what is in its place */
    int32_t threads;
    double median_ns; /* of the timed pass, in that state; 0: not measured */
    int64_t n_nodes, n_spans, n_readings;
    struct assay_profile_node *nodes;
    struct assay_span *spans;           /* by their start */
    struct assay_activities activities; /* of a GPU, by their start */
    int32_t n_facts;
    struct assay_profile_fact facts[ASSAY_PROFILE_FACTS];
    struct assay_profile_reading readings[ASSAY_PROFILE_READINGS];
    struct assay_profile_samples samples[ASSAY_PROFILE_STATES]; /* hot, cold; n 0: none */
};

void assay_profile_fini(struct assay_profile *profile);

/* Puts the spans into the order of time, a call before its nodes. */
void assay_profile_sort(struct assay_profile *profile);

assay_json *assay_profile_to_json(const struct assay_profile *profile);
/* ASSAY_ERR_CORRUPT, or ASSAY_ERR_NOMEM; `out` then needs no fini. */
enum assay_status assay_profile_from_json(const assay_json *json, struct assay_profile *out,
                                          struct assay_error *err);

#endif
