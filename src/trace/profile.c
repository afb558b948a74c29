#include "trace/profile.h"

#include "base/alloc.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than any profiled pass notes, and few enough to fit into memory. */
enum { MOST_NODES = 4096, MOST_SPANS = 4 << 20 };

void assay_profile_fini(struct assay_profile *profile)
{
    assay_free(profile->nodes);
    assay_free(profile->spans);
    assay_activities_fini(&profile->activities);
    profile->nodes = NULL;
    profile->spans = NULL;
    profile->n_nodes = profile->n_spans = 0;
}

/* What begins at the same time: the one that holds the other comes first. */
static int compare_spans(const void *a, const void *b)
{
    const struct assay_span *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->track > y->track) - (x->track < y->track);
}

void assay_profile_sort(struct assay_profile *profile)
{
    if (profile->n_spans > 1)
        qsort(profile->spans, (size_t)profile->n_spans, sizeof *profile->spans, compare_spans);
}

/* ---- as JSON ---- */

#define TEXT(member)                                                                               \
    {                                                                                              \
#member, offsetof(struct assay_profile, member),                                           \
            sizeof(((struct assay_profile *)0)->member)                                            \
    }
static const struct {
    const char *key;
    size_t offset, size;
} texts[] = {
    TEXT(title),  TEXT(op),    TEXT(implementation), TEXT(kernel),     TEXT(recipe),
    TEXT(device), TEXT(state), TEXT(missing),        TEXT(gpu_source),
};

static assay_json *node_to_json(const struct assay_profile_node *node)
{
    assay_json *o = assay_json_object();
    assay_json_put_string(o, "op", node->op);
    assay_json_put_string(o, "shape", node->shape);
    assay_json_put_string(o, "kernel", node->kernel);
    assay_json_put_double(o, "bytes", node->bytes);
    assay_json_put_double(o, "flops", node->flops);
    assay_json_put_double(o, "ceiling_ns", node->ceiling_ns);
    assay_json_put_string(o, "bound", node->bound);
    if (node->phase[0])
        assay_json_put_string(o, "phase", node->phase);
    return o;
}

/* Five numbers for each. */
static assay_json *spans_to_json(const struct assay_profile *profile)
{
    assay_json *list = assay_json_array();
    for (int64_t i = 0; i < profile->n_spans; i++) {
        const struct assay_span *s = &profile->spans[i];
        assay_json_append(list, assay_json_from_int(s->kind));
        assay_json_append(list, assay_json_from_int(s->track));
        assay_json_append(list, assay_json_from_int(s->what));
        assay_json_append(list, assay_json_from_int(s->start_ns));
        assay_json_append(list, assay_json_from_int(s->end_ns));
    }
    return list;
}

static assay_json *samples_to_json(const struct assay_profile_samples *samples)
{
    assay_json *o = assay_json_object(), *ns = assay_json_array(), *bad = assay_json_array();
    for (int32_t i = 0; i < samples->n; i++) {
        assay_json_append(ns, assay_json_from_double((double)samples->ns[i]));
        if (samples->disturbed[i])
            assay_json_append(bad, assay_json_from_int(i));
    }
    assay_json_put_int(o, "every", samples->every);
    assay_json_put(o, "ns", ns);
    assay_json_put(o, "disturbed", bad);
    return o;
}

static assay_json *readings_to_json(const struct assay_profile *profile)
{
    assay_json *list = assay_json_array();
    for (int64_t i = 0; i < profile->n_readings; i++) {
        assay_json *o = assay_json_object();
        assay_json_put_int(o, "at_ns", profile->readings[i].at_ns);
        assay_json_put_double(o, "clock_hz", profile->readings[i].clock_hz);
        assay_json_put_double(o, "bytes_held", profile->readings[i].bytes_held);
        assay_json_append(list, o);
    }
    return list;
}

/* Each a key and its value. */
static assay_json *facts_to_json(const struct assay_profile *profile)
{
    assay_json *list = assay_json_array();
    for (int32_t i = 0; i < profile->n_facts; i++) {
        assay_json_append(list, assay_json_from_string(profile->facts[i].key));
        assay_json_append(list, assay_json_from_double(profile->facts[i].value));
    }
    return list;
}

/* Each its name, its times, and so many numbers. */
enum { ACTIVITY_NUMBERS = 11, ACTIVITY_EACH = 3 + ACTIVITY_NUMBERS + 2 };

static assay_json *activities_to_json(const struct assay_activities *activities)
{
    assay_json *list = assay_json_array();
    for (int64_t i = 0; i < activities->n; i++) {
        const struct assay_activity *a = &activities->items[i];
        const int32_t numbers[ACTIVITY_NUMBERS] = {
            (int32_t)a->kind, a->call,     a->node,     a->stream,   a->grid[0],  a->grid[1],
            a->grid[2],       a->block[0], a->block[1], a->block[2], a->registers};
        assay_json_append(list, assay_json_from_string(a->name));
        assay_json_append(list, assay_json_from_int(a->start_ns));
        assay_json_append(list, assay_json_from_int(a->end_ns));
        for (int k = 0; k < ACTIVITY_NUMBERS; k++)
            assay_json_append(list, assay_json_from_int(numbers[k]));
        assay_json_append(list, assay_json_from_double(a->shared_bytes));
        assay_json_append(list, assay_json_from_double(a->bytes));
    }
    return list;
}

assay_json *assay_profile_to_json(const struct assay_profile *profile)
{
    assay_json *o = assay_json_object(), *nodes = assay_json_array();
    assay_json *samples = assay_json_array();
    assay_json_put_int(o, "group", profile->group);
    assay_json_put_int(o, "variant", profile->variant);
    assay_json_put_int(o, "threads", profile->threads);
    assay_json_put_double(o, "median_ns", profile->median_ns);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assay_json_put_string(o, texts[i].key, (const char *)profile + texts[i].offset);
    for (int64_t i = 0; i < profile->n_nodes; i++)
        assay_json_append(nodes, node_to_json(&profile->nodes[i]));
    for (int i = 0; i < ASSAY_PROFILE_STATES; i++)
        assay_json_append(samples, samples_to_json(&profile->samples[i]));
    assay_json_put(o, "nodes", nodes);
    assay_json_put(o, "spans", spans_to_json(profile));
    if (profile->activities.n > 0)
        assay_json_put(o, "activities", activities_to_json(&profile->activities));
    if (profile->n_facts > 0)
        assay_json_put(o, "facts", facts_to_json(profile));
    assay_json_put(o, "readings", readings_to_json(profile));
    assay_json_put(o, "samples", samples);
    return o;
}

/* ---- and back ---- */

/* Beyond these nothing makes sense, and sums and conversions might not fit. */
static const double MOST_FIGURE = 1e300, LONGEST_NS = 1e15;
static const int64_t LAST_NS = INT64_C(4000000000000000000);

static double figure(const assay_json *value, double most)
{
    double number = assay_json_double(value, 0);
    return number >= 0 && number <= most ? number : 0;
}

static enum assay_status corrupt(const char *what, struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "\"%s\" of a profile makes no sense",
                           what);
}

static void copy(const assay_json *json, const char *key, char *out, size_t size)
{
    snprintf(out, size, "%s", assay_json_string(assay_json_get(json, key), ""));
}

static enum assay_status read_nodes(const assay_json *list, struct assay_profile *out,
                                    struct assay_error *err)
{
    int64_t n = assay_json_count(list);
    if (n > MOST_NODES)
        return corrupt("nodes", err);
    out->nodes = assay_calloc((size_t)n + 1, sizeof *out->nodes);
    if (!out->nodes)
        return assay_error_nomem(err);
    out->n_nodes = n;
    for (int64_t i = 0; i < n; i++) {
        const assay_json *json = assay_json_at(list, i);
        struct assay_profile_node *node = &out->nodes[i];
        copy(json, "op", node->op, sizeof node->op);
        copy(json, "shape", node->shape, sizeof node->shape);
        copy(json, "kernel", node->kernel, sizeof node->kernel);
        copy(json, "bound", node->bound, sizeof node->bound);
        copy(json, "phase", node->phase, sizeof node->phase);
        node->bytes = figure(assay_json_get(json, "bytes"), MOST_FIGURE);
        node->flops = figure(assay_json_get(json, "flops"), MOST_FIGURE);
        node->ceiling_ns = figure(assay_json_get(json, "ceiling_ns"), LONGEST_NS);
    }
    return ASSAY_OK;
}

static bool fits(const struct assay_span *s, int64_t kind, const struct assay_profile *profile)
{
    return kind >= 0 && kind < ASSAY_SPAN_KINDS && s->end_ns >= s->start_ns && s->start_ns >= 0 &&
           s->end_ns <= LAST_NS && s->track >= 0 && s->track < 65536 &&
           (kind != ASSAY_SPAN_NODE || (s->what >= 0 && s->what < profile->n_nodes)) &&
           (kind != ASSAY_SPAN_HOST || (s->what >= -1 && s->what < profile->n_nodes));
}

static enum assay_status read_spans(const assay_json *list, struct assay_profile *out,
                                    struct assay_error *err)
{
    enum { EACH = 5 };
    int64_t n = assay_json_count(list) / EACH;
    if (assay_json_count(list) % EACH != 0 || n > MOST_SPANS)
        return corrupt("spans", err);
    out->spans = assay_calloc((size_t)n + 1, sizeof *out->spans);
    if (!out->spans)
        return assay_error_nomem(err);
    out->n_spans = n;
    for (int64_t i = 0; i < n; i++) {
        int64_t number[EACH];
        for (int64_t k = 0; k < EACH; k++)
            number[k] = assay_json_int(assay_json_at(list, i * EACH + k), -1);
        out->spans[i] = (struct assay_span){.kind = (enum assay_span_kind)(number[0] & 3),
                                            .track = (int32_t)number[1],
                                            .what = number[2],
                                            .start_ns = number[3],
                                            .end_ns = number[4]};
        if (number[1] > INT32_MAX || !fits(&out->spans[i], number[0], out))
            return corrupt("spans", err);
    }
    return ASSAY_OK;
}

/* `numbers` as they were written; false: they make no sense. */
static bool activity_of(const int64_t *numbers, const struct assay_profile *profile,
                        struct assay_activity *out)
{
    for (int k = 0; k < ACTIVITY_NUMBERS; k++)
        if (numbers[k] < -1 || numbers[k] > INT32_MAX)
            return false;
    out->kind = (enum assay_activity_kind)numbers[0];
    out->call = (int32_t)numbers[1];
    out->node = (int32_t)numbers[2];
    out->stream = (int32_t)numbers[3];
    for (int k = 0; k < 3; k++) {
        out->grid[k] = (int32_t)numbers[4 + k];
        out->block[k] = (int32_t)numbers[7 + k];
    }
    out->registers = (int32_t)numbers[10];
    return numbers[0] >= 0 && numbers[0] < ASSAY_ACTIVITY_KINDS && out->call >= 0 &&
           out->node < profile->n_nodes && out->start_ns >= 0 && out->end_ns >= out->start_ns &&
           out->end_ns <= LAST_NS;
}

static enum assay_status read_activities(const assay_json *list, struct assay_profile *out,
                                         struct assay_error *err)
{
    int64_t n = assay_json_count(list) / ACTIVITY_EACH;
    if (assay_json_count(list) % ACTIVITY_EACH != 0 || n > ASSAY_ACTIVITIES_MOST)
        return corrupt("activities", err);
    for (int64_t i = 0; i < n; i++) {
        struct assay_activity one = {0};
        int64_t numbers[ACTIVITY_NUMBERS], at = i * ACTIVITY_EACH;
        snprintf(one.name, sizeof one.name, "%s", assay_json_string(assay_json_at(list, at), ""));
        one.start_ns = assay_json_int(assay_json_at(list, at + 1), -1);
        one.end_ns = assay_json_int(assay_json_at(list, at + 2), -1);
        for (int k = 0; k < ACTIVITY_NUMBERS; k++)
            numbers[k] = assay_json_int(assay_json_at(list, at + 3 + k), -2);
        if (!activity_of(numbers, out, &one))
            return corrupt("activities", err);
        one.shared_bytes = figure(assay_json_at(list, at + ACTIVITY_EACH - 2), MOST_FIGURE);
        one.bytes = figure(assay_json_at(list, at + ACTIVITY_EACH - 1), MOST_FIGURE);
        assay_activities_add(&out->activities, &one);
    }
    return out->activities.lost ? assay_error_nomem(err) : ASSAY_OK;
}

static void read_facts(const assay_json *list, struct assay_profile *out)
{
    int64_t n = assay_json_count(list) / 2;
    out->n_facts = n < ASSAY_PROFILE_FACTS ? (int32_t)n : ASSAY_PROFILE_FACTS;
    for (int32_t i = 0; i < out->n_facts; i++) {
        struct assay_profile_fact *fact = &out->facts[i];
        snprintf(fact->key, sizeof fact->key, "%s",
                 assay_json_string(assay_json_at(list, 2 * (int64_t)i), ""));
        fact->value = figure(assay_json_at(list, 2 * (int64_t)i + 1), MOST_FIGURE);
    }
}

static void read_samples(const assay_json *json, struct assay_profile_samples *out)
{
    const assay_json *ns = assay_json_get(json, "ns"), *bad = assay_json_get(json, "disturbed");
    int64_t n = assay_json_count(ns);
    out->n = (int32_t)(n < ASSAY_PROFILE_SAMPLES ? n : ASSAY_PROFILE_SAMPLES);
    int64_t every = assay_json_int(assay_json_get(json, "every"), 1);
    out->every = every >= 0 && every <= INT32_MAX ? (int32_t)every : 1;
    for (int32_t i = 0; i < out->n; i++)
        out->ns[i] = (float)figure(assay_json_at(ns, i), LONGEST_NS);
    for (int64_t i = 0; i < assay_json_count(bad); i++) {
        int64_t at = assay_json_int(assay_json_at(bad, i), -1);
        if (at >= 0 && at < out->n)
            out->disturbed[at] = true;
    }
}

static void read_readings(const assay_json *list, struct assay_profile *out)
{
    int64_t n = assay_json_count(list);
    out->n_readings = n < ASSAY_PROFILE_READINGS ? n : ASSAY_PROFILE_READINGS;
    for (int64_t i = 0; i < out->n_readings; i++) {
        const assay_json *json = assay_json_at(list, i);
        out->readings[i] = (struct assay_profile_reading){
            .at_ns = assay_json_int(assay_json_get(json, "at_ns"), 0),
            .clock_hz = figure(assay_json_get(json, "clock_hz"), MOST_FIGURE),
            .bytes_held = figure(assay_json_get(json, "bytes_held"), MOST_FIGURE)};
    }
}

enum assay_status assay_profile_from_json(const assay_json *json, struct assay_profile *out,
                                          struct assay_error *err)
{
    int64_t threads = assay_json_int(assay_json_get(json, "threads"), 0);
    *out = (struct assay_profile){
        .group = assay_json_int(assay_json_get(json, "group"), -1),
        .variant = assay_json_int(assay_json_get(json, "variant"), -1),
        .threads = threads > 0 && threads < 65536 ? (int32_t)threads : 0,
        .median_ns = figure(assay_json_get(json, "median_ns"), LONGEST_NS),
    };
    if (out->group < 0 || out->variant < 0)
        return corrupt("group", err);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        copy(json, texts[i].key, (char *)out + texts[i].offset, texts[i].size);
    for (int i = 0; i < ASSAY_PROFILE_STATES; i++)
        read_samples(assay_json_at(assay_json_get(json, "samples"), i), &out->samples[i]);
    read_readings(assay_json_get(json, "readings"), out);
    read_facts(assay_json_get(json, "facts"), out);
    enum assay_status status = read_nodes(assay_json_get(json, "nodes"), out, err);
    if (status == ASSAY_OK)
        status = read_spans(assay_json_get(json, "spans"), out, err);
    if (status == ASSAY_OK)
        status = read_activities(assay_json_get(json, "activities"), out, err);
    if (status != ASSAY_OK)
        assay_profile_fini(out);
    return status;
}
