/* test_trace.c: what is recorded, how it is written, and that what was written can be read back:
 * by a small parser of this test's own, and by the breakdown of a profile. */
#include "base/alloc.h"
#include "base/folder.h"
#include "json_stream.h"
#include "temporary.h"
#include "trace/breakdown.h"
#include "trace/timeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the recorder ---- */

enum { OF_A_THREAD = 1000, THREADS = 4 };

static void *record_some(void *argument)
{
    struct assay_recorder *recorder = argument;
    for (int64_t i = 0; i < OF_A_THREAD; i++)
        assay_recorder_share(recorder, 1, assay_recorder_now(recorder), i);
    return NULL;
}

static void threads_record_side_by_side(void **state)
{
    (void)state;
    struct assay_recorder recorder;
    pthread_t threads[THREADS];
    int64_t sum = 0;
    assert_int_equal(assay_recorder_init(&recorder, (int64_t)THREADS * OF_A_THREAD), ASSAY_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_some, &recorder), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(assay_recorder_kept(&recorder), THREADS * OF_A_THREAD);
    assert_int_equal(assay_recorder_lost(&recorder), 0);
    for (int64_t i = 0; i < THREADS * OF_A_THREAD; i++)
        sum += recorder.spans[i].what;
    assert_int_equal(sum, (int64_t)THREADS * OF_A_THREAD * (OF_A_THREAD - 1) / 2);
    assay_recorder_node(&recorder, 0, 0); /* one more than fits */
    assert_int_equal(assay_recorder_kept(&recorder), THREADS * OF_A_THREAD);
    assert_int_equal(assay_recorder_lost(&recorder), 1);
    assay_recorder_fini(&recorder);
}

static void without_a_recorder_nothing_happens(void **state)
{
    (void)state;
    assert_int_equal(assay_recorder_now(NULL), 0);
    assay_recorder_share(NULL, 0, 0, 0);
    assay_recorder_node(NULL, 0, 0);
}

/* ---- the writers ---- */

static int feed(void *user, const char *bytes, size_t length)
{
    json_feed(user, bytes, length);
    return 0;
}

static int append(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
    return 0;
}

static int refuse(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    (void)length;
    ++*(int *)user;
    return ENOSPC;
}

static const struct assay_trace_track first = {1, 1};

static void add_events(assay_trace_writer *w, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const struct assay_trace_arg args[] = {{"kernel", "linear_amx", 0},
                                               {"bytes", NULL, 1048576 + (double)i},
                                               {"share", NULL, (double)i / 7}};
        if (i % 10 == 9)
            assay_trace_counter(w, first, "clock", 1000 * i, 3.25e9);
        else
            assay_trace_slice(w, first, "linear", "node", 1000 * i, 900, args, 3);
    }
}

/* However many there are: nothing is kept of them. */
static void a_million_events_take_constant_memory(void **state)
{
    (void)state;
    const int64_t n = HAVE_ASAN || HAVE_TSAN ? 50000 : 1000000;
    const struct assay_trace_arg about = {"assay", "1", 0};
    struct json_stream json = {.expects = JSON_VALUE};
    assay_trace_writer *w = assay_trace_writer_create(ASSAY_TRACE_CHROME, 0, feed, &json);
    assert_non_null(w);
    size_t held = assay_alloc_held();
    assay_alloc_reset_peak();
    add_events(w, n);
    assert_int_equal(assay_alloc_held(), held);
    assert_int_equal(assay_alloc_peak(), held);
    assert_true(assay_trace_bytes(w) > 100 * n);
    assert_int_equal(assay_trace_writer_end(w, &about, 1), 0);
    assert_true(json_is_whole(&json));
    assert_int_equal(json.values, n);
}

static void an_empty_trace_is_json_too(void **state)
{
    (void)state;
    struct json_stream json = {.expects = JSON_VALUE};
    assay_trace_writer *w = assay_trace_writer_create(ASSAY_TRACE_CHROME, 0, feed, &json);
    assert_int_equal(assay_trace_writer_end(w, NULL, 0), 0);
    assert_true(json_is_whole(&json));
    assert_int_equal(json.values, 0);
    assert_int_equal(assay_trace_writer_end(NULL, NULL, 0), 0);
}

/* The parser of the test is one that sees mistakes. */
static void what_is_no_json_is_seen(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{",         "[1,]",  "{\"a\" 1}", "[1 2]",  "[01]", "[1.]",
                                        "[\"\n\"]",  "[nul]", "{1:2}",     "[1]]",   "",     "[1}",
                                        "[\"\\x\"]", "[-]",   "[1e]",      "{\"a\"}"};
    static const char *const right[] = {"[]",     "{}",         "[1,-2.5e-3,null]", "{\"a\":[{}]}",
                                        "[true]", "[\"\\\"\"]", " [ 0 ] ",          "[0.5,\"ä\"]"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct json_stream json = {.expects = JSON_VALUE};
        json_feed(&json, wrong[i], strlen(wrong[i]));
        assert_false(json_is_whole(&json));
    }
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        struct json_stream json = {.expects = JSON_VALUE};
        json_feed(&json, right[i], strlen(right[i]));
        assert_true(json_is_whole(&json));
    }
}

static void names_and_numbers_from_anywhere_stay_json(void **state)
{
    (void)state;
    const struct assay_trace_arg args[] = {
        {"quote\"", "tab\t\\", 0}, {"nan", NULL, (double)NAN}, {"inf", NULL, (double)INFINITY},
        {"tiny", NULL, 1e-300},    {"huge", NULL, 1e300},      {"whole", NULL, -12345}};
    struct assay_text text = {0};
    assay_trace_writer *w = assay_trace_writer_create(ASSAY_TRACE_CHROME, 5000, append, &text);
    assay_trace_process(w, 1, "bad \xff utf-8 \x01 and \xe2\x9c\x93");
    assay_trace_slice(w, first, "\"", "c", 5001, 1999, args, 6);
    assay_trace_slice(w, first, "before the origin", "c", 4500, 1, NULL, 0);
    assert_int_equal(assay_trace_writer_end(w, NULL, 0), 0);
    assay_json *json = assay_json_parse(text.data, text.length, "trace", NULL);
    const assay_json *events = assay_json_get(json, "traceEvents"), *slice, *before;
    assert_int_equal(assay_json_count(events), 4);
    const assay_json *named = assay_json_get(assay_json_at(events, 0), "args");
    assert_string_equal(assay_json_string(assay_json_get(named, "name"), ""),
                        "bad ? utf-8 \x01 and \xe2\x9c\x93");
    slice = assay_json_at(events, 2);
    assert_true(fabs(assay_json_double(assay_json_get(slice, "ts"), 0) - 0.001) < 1e-12);
    assert_true(fabs(assay_json_double(assay_json_get(slice, "dur"), 0) - 1.999) < 1e-12);
    const assay_json *of = assay_json_get(slice, "args");
    assert_string_equal(assay_json_string(assay_json_get(of, "quote\""), ""), "tab\t\\");
    assert_true(isnan(assay_json_double(assay_json_get(of, "nan"), 0)));
    assert_true(assay_json_double(assay_json_get(of, "huge"), 0) == 1e300);
    assert_true(assay_json_double(assay_json_get(of, "tiny"), 0) == 1e-300);
    assert_int_equal(assay_json_int(assay_json_get(of, "whole"), 0), -12345);
    before = assay_json_at(events, 3);
    assert_true(assay_json_double(assay_json_get(before, "ts"), 1) == -0.5);
    assay_json_free(json);
    assay_text_fini(&text);
}

static void a_full_disk_is_told_once_and_ends_the_writing(void **state)
{
    (void)state;
    int tries = 0;
    assay_trace_writer *w = assay_trace_writer_create(ASSAY_TRACE_CHROME, 0, refuse, &tries);
    add_events(w, 5000);
    assert_int_equal(assay_trace_writer_end(w, NULL, 0), ENOSPC);
    assert_int_equal(tries, 1);
}

/* ---- Perfetto's packets ---- */

struct packets {
    const unsigned char *at, *end;
    bool wrong;
};

static uint64_t varint(struct packets *p)
{
    uint64_t value = 0;
    for (int shift = 0; p->at < p->end && shift < 64; shift += 7) {
        unsigned char byte = *p->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    p->wrong = true;
    return 0;
}

/* The next field: its number; its value, or for a message what is in it. 0: the end. */
static int field(struct packets *p, uint64_t *value, struct packets *inner)
{
    if (p->at == p->end || p->wrong)
        return 0;
    uint64_t tag = varint(p);
    *value = 0;
    if ((tag & 7) == 0) {
        *value = varint(p);
    } else if ((tag & 7) == 1 && p->end - p->at >= 8) {
        memcpy(value, p->at, 8);
        p->at += 8;
    } else if ((tag & 7) == 2) {
        uint64_t length = varint(p);
        if (length > (uint64_t)(p->end - p->at)) {
            p->wrong = true;
            return 0;
        }
        *inner = (struct packets){p->at, p->at + length, false};
        p->at += length;
    } else {
        p->wrong = true;
        return 0;
    }
    return (int)(tag >> 3);
}

struct perfetto {
    int packets, descriptors, begins, ends, counters, annotations;
    uint64_t last_ns;
    double counter;
};

static void look_at_event(struct packets event, struct perfetto *seen)
{
    uint64_t value;
    struct packets inner;
    for (int n; (n = field(&event, &value, &inner)) != 0;) {
        seen->begins += n == 9 && value == 1;
        seen->ends += n == 9 && value == 2;
        seen->counters += n == 9 && value == 4;
        seen->annotations += n == 4;
        if (n == 44)
            memcpy(&seen->counter, &value, sizeof value);
    }
    assert_false(event.wrong);
}

static void look_at_packet(struct packets packet, struct perfetto *seen)
{
    uint64_t value;
    struct packets inner;
    bool in_sequence = false;
    seen->packets++;
    for (int n; (n = field(&packet, &value, &inner)) != 0;) {
        in_sequence |= n == 10 && value != 0;
        seen->descriptors += n == 60;
        if (n == 8)
            seen->last_ns = value;
        if (n == 11)
            look_at_event(inner, seen);
    }
    assert_false(packet.wrong);
    assert_true(in_sequence);
}

static void perfetto_packets_hold_the_events(void **state)
{
    (void)state;
    struct assay_text text = {0};
    struct perfetto seen = {0};
    uint64_t value;
    struct packets inner;
    assay_trace_writer *w = assay_trace_writer_create(ASSAY_TRACE_PERFETTO, 0, append, &text);
    assay_trace_process(w, 1, "process");
    assay_trace_track(w, first, "track", 1);
    assay_trace_counter_track(w, (struct assay_trace_track){1, 2}, "clock", "GHz");
    add_events(w, 1000);
    assert_int_equal(assay_trace_writer_end(w, NULL, 0), 0);
    struct packets all = {(const unsigned char *)text.data,
                          (const unsigned char *)text.data + text.length, false};
    for (int n; (n = field(&all, &value, &inner)) != 0;) {
        assert_int_equal(n, 1);
        look_at_packet(inner, &seen);
    }
    assert_false(all.wrong);
    assert_int_equal(seen.descriptors, 3);
    assert_int_equal(seen.begins, 900);
    assert_int_equal(seen.ends, 900);
    assert_int_equal(seen.counters, 100);
    assert_int_equal(seen.annotations, 3 * 900);
    assert_int_equal(seen.packets, 3 + 2 * 900 + 100);
    assert_int_equal(seen.last_ns, 999000);
    assert_true(seen.counter == 3.25e9);
    assay_text_fini(&text);
}

/* ---- a profile and its timeline ---- */

enum { MS = 1000000, CALLS = 4 };

/* A norm of 2 ms and a product of 6 ms, which two threads share: the second is done after 4 ms. */
static void make_profile(struct assay_profile *p)
{
    static const struct assay_profile_node nodes[] = {
        {"rmsnorm", "8x8", "rmsnorm_avx512", 1e6, 1e5, 1.0 * MS, "memory", ""},
        {"linear", "8x8x8", "linear_amx", 2e6, 1e9, 3.0 * MS, "compute", ""}};
    *p = (struct assay_profile){
        .variant = 1, .threads = 2, .median_ns = 8.0 * MS, .n_nodes = 2, .n_readings = 1};
    snprintf(p->title, sizeof p->title, "block 8x8 f32 eager");
    snprintf(p->implementation, sizeof p->implementation, "eager");
    snprintf(p->state, sizeof p->state, "hot");
    p->nodes = assay_calloc(2, sizeof *p->nodes);
    p->spans = assay_calloc(CALLS * 6, sizeof *p->spans);
    memcpy(p->nodes, nodes, sizeof nodes);
    p->readings[0] = (struct assay_profile_reading){MS, 3e9, 1e6};
    p->samples[0].n = 2;
    p->samples[0].every = 1;
    p->samples[0].ns[0] = p->samples[0].ns[1] = 8.0f * MS;
    p->samples[0].disturbed[1] = true;
    for (int64_t i = 0; i < CALLS; i++) {
        int64_t at = (100 + 10 * i) * MS;
        struct assay_span *s = p->spans + p->n_spans;
        s[0] = (struct assay_span){at + 2 * MS, at + 6 * MS, ASSAY_SPAN_SHARE, 1, 4};
        s[1] = (struct assay_span){at + 2 * MS, at + 8 * MS, ASSAY_SPAN_SHARE, 0, 4};
        s[2] = (struct assay_span){at + 2 * MS, at + 8 * MS, ASSAY_SPAN_NODE, 0, 1};
        s[3] = (struct assay_span){at, at + 2 * MS, ASSAY_SPAN_NODE, 0, 0};
        s[4] = (struct assay_span){at, at + 8 * MS, ASSAY_SPAN_CALL, 0, 0};
        p->n_spans += 5;
    }
    assay_profile_sort(p);
}

static void a_call_comes_before_its_nodes(void **state)
{
    (void)state;
    static const enum assay_span_kind order[] = {ASSAY_SPAN_CALL, ASSAY_SPAN_NODE, ASSAY_SPAN_NODE,
                                                 ASSAY_SPAN_SHARE, ASSAY_SPAN_SHARE};
    struct assay_profile p;
    make_profile(&p);
    for (int64_t i = 0; i < p.n_spans; i++)
        assert_int_equal(p.spans[i].kind, order[i % 5]);
    assay_profile_fini(&p);
}

static void a_profile_crosses_a_pipe(void **state)
{
    (void)state;
    struct assay_profile p, back;
    struct assay_text one = {0}, other = {0};
    make_profile(&p);
    assay_json *json = assay_profile_to_json(&p), *again;
    assay_json_write(json, 0, &one);
    assert_int_equal(assay_profile_from_json(json, &back, NULL), ASSAY_OK);
    again = assay_profile_to_json(&back);
    assay_json_write(again, 0, &other);
    assert_false(one.failed || other.failed);
    assert_string_equal(one.data, other.data);
    assert_int_equal(back.n_spans, p.n_spans);
    assert_true(back.samples[0].disturbed[1] && !back.samples[0].disturbed[0]);
    assay_json_free(json);
    assay_json_free(again);
    assay_text_fini(&one);
    assay_text_fini(&other);
    assay_profile_fini(&p);
    assay_profile_fini(&back);
}

static const assay_json *find(const assay_json *events, const char *category, const char *name)
{
    for (int64_t i = 0; i < assay_json_count(events); i++) {
        const assay_json *e = assay_json_at(events, i);
        if (strcmp(assay_json_string(assay_json_get(e, "cat"), ""), category) == 0 &&
            strcmp(assay_json_string(assay_json_get(e, "name"), ""), name) == 0)
            return e;
    }
    return NULL;
}

/* Two calls of a model on a GPU: two nodes, the second with a kernel that begins before the one
 * before it has ended, and a fill; and facts of its calls. */
static void make_gpu_profile(struct assay_profile *p)
{
    make_profile(p);
    p->n_spans = 0;
    p->threads = 0;
    snprintf(p->gpu_source, sizeof p->gpu_source, "CUPTI (version 130001)");
    p->n_facts = 1;
    p->facts[0] = (struct assay_profile_fact){"cycles", 1234};
    for (int32_t i = 0; i < CALLS; i++) {
        int64_t at = (100 + 10 * i) * MS;
        struct assay_span *s = p->spans + p->n_spans;
        s[0] = (struct assay_span){at - MS, at + 9 * MS, ASSAY_SPAN_HOST, 0, -1};
        s[1] = (struct assay_span){at - MS / 2, at, ASSAY_SPAN_HOST, 0, 0};
        s[2] = (struct assay_span){at, at + 8 * MS, ASSAY_SPAN_CALL, 0, 0};
        s[3] = (struct assay_span){at, at + 2 * MS, ASSAY_SPAN_NODE, 0, 0};
        s[4] = (struct assay_span){at + 2 * MS, at + 8 * MS, ASSAY_SPAN_NODE, 0, 1};
        p->n_spans += 5;
        struct assay_activity a = {at, at + 2 * MS,   ASSAY_ACTIVITY_KERNEL, i,   0,
                                   7,  {8, 4, 1},     {384, 1, 1},           168, 200e3,
                                   0,  "rmsnorm_rows"};
        assay_activities_add(&p->activities, &a);
        a = (struct assay_activity){at + MS, at + 6 * MS,   ASSAY_ACTIVITY_KERNEL, i,  1,
                                    7,       {2, 1, 1},     {128, 1, 1},           40, 0,
                                    0,       "linear_wgmma"};
        assay_activities_add(&p->activities, &a);
        a = (struct assay_activity){.start_ns = at + 6 * MS,
                                    .end_ns = at + 8 * MS,
                                    .kind = ASSAY_ACTIVITY_SET,
                                    .call = i,
                                    .node = 1,
                                    .stream = 13,
                                    .bytes = 4096,
                                    .name = "fill"};
        assay_activities_add(&p->activities, &a);
    }
    assay_profile_sort(p);
}

static void what_a_gpu_did_crosses_a_pipe(void **state)
{
    (void)state;
    struct assay_profile p, back;
    make_gpu_profile(&p);
    assay_json *json = assay_profile_to_json(&p);
    assert_int_equal(assay_profile_from_json(json, &back, NULL), ASSAY_OK);
    assert_int_equal(back.activities.n, 3 * CALLS);
    assert_int_equal(back.n_spans, p.n_spans);
    for (int64_t i = 0; i < back.activities.n; i++) {
        const struct assay_activity *a = &p.activities.items[i], *b = &back.activities.items[i];
        assert_string_equal(a->name, b->name);
        assert_true(a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->kind == b->kind);
        assert_true(a->call == b->call && a->node == b->node && a->stream == b->stream);
        assert_memory_equal(a->grid, b->grid, sizeof a->grid);
        assert_memory_equal(a->block, b->block, sizeof a->block);
        assert_true(a->registers == b->registers && a->shared_bytes == b->shared_bytes &&
                    a->bytes == b->bytes);
    }
    assert_string_equal(back.gpu_source, "CUPTI (version 130001)");
    assert_true(back.n_facts == 1 && back.facts[0].value == 1234);
    assay_json_free(json);
    assay_profile_fini(&p);
    assay_profile_fini(&back);
}

static void a_gpus_kernels_are_slices_and_sums(void **state)
{
    (void)state;
    struct assay_text text = {0};
    struct assay_profile p;
    struct assay_breakdowns read;
    double ends[2] = {0};
    int64_t slices = 0;
    assay_trace_writer *w = assay_trace_writer_create(ASSAY_TRACE_CHROME, 0, append, &text);
    make_gpu_profile(&p);
    assay_timeline_write(w, 2, &p);
    assert_int_equal(assay_trace_writer_end(w, NULL, 0), 0);
    assay_json *json = assay_json_parse(text.data, text.length, "gpu.json", NULL);
    const assay_json *events = assay_json_get(json, "traceEvents");
    for (int64_t i = 0; i < assay_json_count(events); i++) { /* a stream is a track */
        const assay_json *e = assay_json_at(events, i);
        int64_t track = assay_json_int(assay_json_get(e, "tid"), 0) - 2048;
        double start = assay_json_double(assay_json_get(e, "ts"), 0);
        if (strcmp(assay_json_string(assay_json_get(e, "cat"), ""), "gpu") != 0)
            continue;
        assert_true((track == 0 || track == 1) && start >= ends[track] - 1e-6);
        ends[track] = start + assay_json_double(assay_json_get(e, "dur"), 0);
        slices++;
    }
    assert_int_equal(slices, 3 * CALLS);
    const assay_json *args = assay_json_get(find(events, "gpu", "rmsnorm_rows"), "args");
    assert_string_equal(assay_json_string(assay_json_get(args, "grid"), ""), "8x4x1");
    assert_int_equal(assay_json_int(assay_json_get(args, "registers"), 0), 168);
    assert_non_null(find(events, "host", "call"));
    args = assay_json_get(find(events, "call", "call"), "args");
    assert_true(assay_json_double(assay_json_get(args, "cycles"), 0) == 1234);
    assert_int_equal(assay_breakdowns_parse(text.data, text.length, "gpu.json", &read, NULL),
                     ASSAY_OK);
    const struct assay_breakdown *b = &read.items[0];
    assert_int_equal(b->n_nodes, 2);
    assert_true(b->named_share > 0.999 &&
                b->named_share <= 1); /* of calls: the host's pauses
                                          between them are not the GPU's */
    assert_int_equal(b->n_gpu, 3);
    assert_string_equal(b->gpu[0].name, "linear_wgmma"); /* uncut, though it began too early */
    assert_near(b->gpu[0].total_ns, (double)CALLS * 5 * MS, 1);
    assert_near(b->gpu[0].share, 5.0 / 9, 1e-9);
    assert_int_equal(b->gpu[0].launches, CALLS);
    assay_breakdowns_fini(&read);
    assay_json_free(json);
    assay_text_fini(&text);
    assay_profile_fini(&p);
}

static void a_damaged_profile_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{}",
        "{\"group\":0,\"variant\":-1}",
        "{\"group\":0,\"variant\":0,\"spans\":[1,2,3]}",
        "{\"group\":0,\"variant\":0,\"spans\":[1,0,0,5,6]}",     /* of a node there is not */
        "{\"group\":0,\"variant\":0,\"spans\":[0,0,0,7,6]}",     /* backwards */
        "{\"group\":0,\"variant\":0,\"spans\":[9,0,0,5,6]}",     /* of no kind */
        "{\"group\":0,\"variant\":0,\"spans\":[2,70000,0,5,6]}", /* of no thread */
        "{\"group\":0,\"variant\":0,\"spans\":[2,\"a\",0,5,6]}",
        "{\"group\":0,\"variant\":0,\"spans\":[2,-1,0,5,6]}",
        "{\"group\":0,\"variant\":0,\"spans\":[3,0,7,5,6]}",
        "{\"group\":0,\"variant\":0,\"activities\":[\"k\",1,2]}",
        "{\"group\":0,\"variant\":0,\"activities\":[\"k\",2,1,0,0,-1,0,0,0,0,0,0,0,0,0,0]}",
        "{\"group\":0,\"variant\":0,\"activities\":[\"k\",1,2,9,0,-1,0,0,0,0,0,0,0,0,0,0]}",
        "{\"group\":0,\"variant\":0,\"activities\":[\"k\",1,2,0,-1,-1,0,0,0,0,0,0,0,0,0,0]}",
        "{\"group\":0,\"variant\":0,\"activities\":[\"k\",1,2,0,0,5,0,0,0,0,0,0,0,0,0,0]}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct assay_profile p;
        struct assay_error err = {0};
        assay_json *json = assay_json_parse(wrong[i], strlen(wrong[i]), "test", NULL);
        assert_non_null(json);
        assert_int_equal(assay_profile_from_json(json, &p, &err), ASSAY_ERR_CORRUPT);
        assert_non_null(strstr(err.message, "makes no sense"));
        assay_json_free(json);
    }
}

static bool trains; /* what is written is a model in training */

static const char *write_timeline(const char *name)
{
    static char path[600];
    struct assay_profile p;
    struct assay_error err = {0};
    const struct assay_trace_arg about = {"run", "a-run", 0};
    assay_timeline *timeline;
    snprintf(path, sizeof path, "%s/%s", temporary, name);
    assert_int_equal(assay_timeline_open(path, &timeline, &err), ASSAY_OK);
    make_profile(&p);
    snprintf(p.nodes[0].phase, sizeof p.nodes[0].phase, "%s", trains ? "forward" : "");
    snprintf(p.nodes[1].phase, sizeof p.nodes[1].phase, "%s", trains ? "backward" : "");
    assay_timeline_add(timeline, &p);
    assay_timeline_range(timeline, "outer", 0, MS, 5 * MS);
    assay_timeline_range(timeline, "inner", 1, 2 * MS, 3 * MS);
    assert_int_equal(assay_timeline_count(timeline), 1);
    assert_int_equal(access(path, F_OK), -1); /* it has no name before it is complete */
    assert_int_equal(assay_timeline_close(timeline, &about, 1, &err), ASSAY_OK);
    assay_profile_fini(&p);
    return path;
}

static void a_timeline_has_every_track(void **state)
{
    (void)state;
    struct assay_text text = {0};
    assert_int_equal(assay_folder_read_file(write_timeline("t.json"), 1 << 20, &text, NULL),
                     ASSAY_OK);
    assay_json *json = assay_json_parse(text.data, text.length, "t.json", NULL);
    assert_non_null(json);
    const assay_json *events = assay_json_get(json, "traceEvents");
    const assay_json *ghost = find(events, "ceiling", "linear");
    const assay_json *waits = find(events, "wait", "waits");
    assert_non_null(find(events, "call", "call"));
    assert_non_null(find(events, "node", "rmsnorm"));
    assert_non_null(find(events, "share", "linear"));
    assert_non_null(find(events, "sample", "disturbed sample"));
    assert_non_null(find(events, "range", "outer"));
    assert_non_null(find(events, "range", "inner"));
    assert_true(assay_json_double(assay_json_get(ghost, "dur"), 0) == 3000);
    assert_true(assay_json_double(assay_json_get(waits, "dur"), 0) == 2000);
    assay_json_free(json);
    assay_text_fini(&text);
}

/* A sum of the slices of every track that may not overlap: no slice begins before the last ends,
 * but within it. */
static void slices_of_a_track_do_not_overlap(void **state)
{
    (void)state;
    struct assay_text text = {0};
    double ends[64] = {0};
    assert_int_equal(assay_folder_read_file(write_timeline("o.json"), 1 << 20, &text, NULL),
                     ASSAY_OK);
    assay_json *json = assay_json_parse(text.data, text.length, "o.json", NULL);
    const assay_json *events = assay_json_get(json, "traceEvents");
    for (int64_t i = 0; i < assay_json_count(events); i++) {
        const assay_json *e = assay_json_at(events, i);
        int64_t track = assay_json_int(assay_json_get(e, "tid"), 0);
        double start = assay_json_double(assay_json_get(e, "ts"), 0);
        bool is_slice = strcmp(assay_json_string(assay_json_get(e, "ph"), ""), "X") == 0;
        bool caller = assay_json_int(assay_json_get(e, "pid"), 0) == 1;
        if (!is_slice || caller || track == 1) /* nodes lie within their calls */
            continue;
        assert_true(track < 64 && (ends[track] == 0 || start >= ends[track] - 1e-6));
        ends[track] = start + assay_json_double(assay_json_get(e, "dur"), 0);
    }
    assay_json_free(json);
    assay_text_fini(&text);
}

static void where_the_time_went_is_read_back(void **state)
{
    (void)state;
    struct assay_breakdowns all;
    struct assay_text sentence = {0};
    assert_int_equal(assay_breakdowns_read(write_timeline("b.json"), &all, NULL), ASSAY_OK);
    assert_int_equal(all.n, 1);
    assert_string_equal(all.run, "a-run");
    const struct assay_breakdown *b = &all.items[0];
    assert_int_equal(b->calls, CALLS);
    assert_int_equal(b->n_nodes, 2);
    assert_true(fabs(b->call_ns - 8.0 * MS) < 1);
    assert_true(fabs(b->wall_ns - 38.0 * MS) < 10); /* 2 ms between the calls */
    assert_true(fabs(b->named_share - 32.0 / 38) < 1e-6);
    assert_true(fabs(b->nodes[1].share - 0.75) < 1e-6);
    assert_true(fabs(b->nodes[1].ceiling_share - 0.5) < 1e-6);
    assert_int_equal(b->nodes[1].binds, ASSAY_BINDS_ARITHMETIC);
    assert_int_equal(b->nodes[0].binds, ASSAY_BINDS_MEMORY);
    assert_true(fabs(b->nodes[1].waits_ns / b->nodes[1].call_ns - 1.0 / 6) < 1e-6);
    assert_true(isnan(b->nodes[0].waits_ns)); /* nobody noted its shares */
    assert_true(fabs(b->nodes[1].flops_per_s - 1e9 / 6e-3) < 1e6);
    assert_string_equal(b->kernels[0].kernel, "linear_amx");
    assay_breakdown_sentence(b, &sentence);
    assert_string_equal(sentence.data,
                        "75 % of a call is in linear (linear_amx); the whole is 2.0x from its "
                        "ceiling; the largest gain, up to 38 %, is in linear_amx, which "
                        "arithmetic binds.");
    assay_text_fini(&sentence);
    assay_breakdowns_fini(&all);
}

static void refused(const char *text, enum assay_status status, const char *words)
{
    struct assay_breakdowns all;
    struct assay_error err = {0};
    assert_int_equal(assay_breakdowns_parse(text, strlen(text), "x.json", &all, &err), status);
    assert_string_equal(err.where[0] ? "x.json" : "", "x.json");
    assert_non_null(strstr(err.message, words));
}

/* Each call has both, one behind the other, and the table has their sums. */
static void training_has_phases(void **state)
{
    (void)state;
    struct assay_text text = {0}, sentence = {0};
    struct assay_breakdowns all;
    struct assay_error err = {0};
    int64_t slices = 0;
    trains = true;
    const char *path = write_timeline("p.json");
    trains = false;
    assert_int_equal(assay_folder_read_file(path, 1 << 20, &text, NULL), ASSAY_OK);
    assay_json *json = assay_json_parse(text.data, text.length, "p.json", NULL);
    const assay_json *events = assay_json_get(json, "traceEvents");
    for (int64_t i = 0; i < assay_json_count(events); i++) {
        const assay_json *e = assay_json_at(events, i);
        if (strcmp(assay_json_string(assay_json_get(e, "cat"), ""), "phase") != 0)
            continue;
        bool forward = slices++ % 2 == 0;
        assert_string_equal(assay_json_string(assay_json_get(e, "name"), ""),
                            forward ? "forward" : "backward");
        assert_true(assay_json_double(assay_json_get(e, "dur"), 0) == (forward ? 2000 : 6000));
    }
    assert_int_equal(slices, 2 * CALLS);
    assert_int_equal(assay_breakdowns_read(path, &all, &err), ASSAY_OK);
    const struct assay_breakdown *b = &all.items[0];
    assert_int_equal(b->n_phases, 2);
    assert_string_equal(b->nodes[1].phase, "backward");
    assert_string_equal(b->phases[0].phase, "forward");
    assert_string_equal(b->phases[1].phase, "backward");
    assert_true(b->phases[1].call_ns == 6.0 * MS && b->phases[1].share == 0.75);
    assert_int_equal(b->phases[1].calls, CALLS);
    assert_string_equal(b->phases[1].kernel, "");
    assert_string_equal(b->kernels[0].phase, "");
    assay_breakdown_sentence(b, &sentence);
    assert_non_null(strstr(sentence.data, "; forward 25 %, backward 75 %"));
    assay_breakdowns_fini(&all);
    assay_json_free(json);
    assay_text_fini(&text);
    assay_text_fini(&sentence);
}

#define PROCESS "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"args\":{\"name\":\"a\"}}"

static void what_is_no_profile_is_refused(void **state)
{
    (void)state;
    refused("", ASSAY_ERR_CORRUPT, "not valid JSON");
    refused("{}", ASSAY_ERR_INVALID, "no \"traceEvents\"");
    refused("{\"traceEvents\":[]}", ASSAY_ERR_INVALID, "no calls of a variant");
    refused("{\"traceEvents\":[" PROCESS "]}", ASSAY_ERR_INVALID, "no calls of a variant");
    refused("{\"traceEvents\":[{\"ph\":\"X\",\"pid\":2,\"cat\":\"call\"}]}", ASSAY_ERR_CORRUPT,
            "\"ts\" and \"dur\"");
    refused("{\"traceEvents\":[" PROCESS ",{\"ph\":\"X\",\"pid\":2,\"cat\":\"node\",\"ts\":1,"
            "\"dur\":1,\"args\":{\"node\":99999}}]}",
            ASSAY_ERR_CORRUPT, "beyond all");
    refused("{\"traceEvents\":[" PROCESS ",{\"ph\":\"X\",\"pid\":2,\"cat\":\"call\",\"ts\":1,"
            "\"dur\":-1}]}",
            ASSAY_ERR_CORRUPT, "\"ts\" and \"dur\"");
    refused("\n\x02\x50\x01", ASSAY_ERR_INVALID, "Perfetto's form");
}

static void a_file_that_cannot_be_written_is_told(void **state)
{
    (void)state;
    struct assay_profile p;
    struct assay_error err = {0};
    assay_timeline *timeline;
    assert_int_equal(assay_timeline_open("/nosuch/folder/t.json", &timeline, &err),
                     ASSAY_ERR_INVALID);
    assert_null(timeline);
    assert_non_null(strstr(err.message, "cannot be written"));
    err = (struct assay_error){0};
    assert_int_equal(assay_timeline_open("/dev/full", &timeline, &err), ASSAY_OK);
    make_profile(&p);
    assay_timeline_add(timeline, &p);
    assert_int_equal(assay_timeline_close(timeline, NULL, 0, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.message, strerror(ENOSPC)));
    assay_profile_fini(&p);
    assay_timeline_cancel(NULL);
}

static void a_cancelled_timeline_leaves_nothing(void **state)
{
    (void)state;
    char path[600];
    assay_timeline *timeline;
    snprintf(path, sizeof path, "%s/c.json", temporary);
    assert_int_equal(assay_timeline_open(path, &timeline, NULL), ASSAY_OK);
    assay_timeline_cancel(timeline);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(rmdir(temporary), 0); /* it is empty */
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, temporary_make, temporary_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_record_side_by_side),
        cmocka_unit_test(without_a_recorder_nothing_happens),
        cmocka_unit_test(what_is_no_json_is_seen),
        cmocka_unit_test(a_million_events_take_constant_memory),
        cmocka_unit_test(an_empty_trace_is_json_too),
        cmocka_unit_test(names_and_numbers_from_anywhere_stay_json),
        cmocka_unit_test(a_full_disk_is_told_once_and_ends_the_writing),
        cmocka_unit_test(perfetto_packets_hold_the_events),
        cmocka_unit_test(a_call_comes_before_its_nodes),
        cmocka_unit_test(a_profile_crosses_a_pipe),
        cmocka_unit_test(what_a_gpu_did_crosses_a_pipe),
        cmocka_unit_test(a_gpus_kernels_are_slices_and_sums),
        cmocka_unit_test(a_damaged_profile_is_refused),
        WITH_FOLDER(a_timeline_has_every_track),
        WITH_FOLDER(slices_of_a_track_do_not_overlap),
        WITH_FOLDER(where_the_time_went_is_read_back),
        WITH_FOLDER(training_has_phases),
        cmocka_unit_test(what_is_no_profile_is_refused),
        cmocka_unit_test(a_file_that_cannot_be_written_is_told),
        WITH_FOLDER(a_cancelled_timeline_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
