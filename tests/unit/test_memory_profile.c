/* test_memory_profile.c: who holds what: what is heard of allocations, what it comes to, and the
 * snapshot and the page that are made of it. */
#include "base/alloc.h"
#include "device/null/null.h"
#include "report/memory_file.h"
#include "report/memory_page.h"
#include "temporary.h"
#include "trace/memory_snapshot.h"

#include <errno.h>

/* ---- what is heard ---- */

static struct assay_memory_log make_log(int64_t capacity)
{
    struct assay_memory_log log;
    assert_int_equal(assay_memory_log_init(&log, capacity), ASSAY_OK);
    return log;
}

static void check_event(const struct assay_memory_log *log, int64_t i, enum assay_memory_what what,
                        const void *at)
{
    assert_true(i < log->n);
    assert_int_equal(log->events[i].what, what);
    assert_true(log->events[i].address == (uint64_t)(uintptr_t)at);
}

static void every_allocation_is_heard_of(void **state)
{
    (void)state;
    struct assay_memory_log log;
    assert_int_equal(assay_memory_log_init(&log, 16), ASSAY_OK);
    char *before = assay_calloc(1, 100);
    assay_memory_log_begin(&log, ASSAY_STAGE_SETUP);
    assay_memory_log_owner(&log, ASSAY_HELD_PREPARED, 3);
    char *a = assay_calloc(10, 100), *first = a;
    char *b = assay_realloc(a, 100, 1000);
    assay_free(before);
    assay_free(b);
    assay_free(NULL);
    assay_memory_log_end(&log);
    char *after = assay_malloc(1);
    assay_free(after);
    assert_int_equal(log.n, 5);
    check_event(&log, 0, ASSAY_MEMORY_TOOK, first);
    check_event(&log, 1, ASSAY_MEMORY_GAVE, first);
    check_event(&log, 2, ASSAY_MEMORY_TOOK, b);
    check_event(&log, 3, ASSAY_MEMORY_GAVE, before);
    check_event(&log, 4, ASSAY_MEMORY_GAVE, b);
    assert_true(log.events[0].bytes >= 1000 && log.events[2].bytes >= 100000);
    assert_int_equal(log.events[0].held, ASSAY_HELD_PREPARED);
    assert_int_equal(log.events[0].node, 3);
    assert_int_equal(log.events[0].stage, ASSAY_STAGE_SETUP);
    assert_false(log.events[0].on_device);
    assay_memory_log_fini(&log);
}

static void a_failed_realloc_leaves_what_was(void **state)
{
    (void)state;
    struct assay_memory_log log;
    if (HAVE_ASAN || HAVE_TSAN) /* for them it is a mistake to ask for so much */
        skip();
    assert_int_equal(assay_memory_log_init(&log, 16), ASSAY_OK);
    assay_memory_log_begin(&log, ASSAY_STAGE_CALL);
    char *a = assay_calloc(1, 64);
    assert_null(assay_realloc(a, SIZE_MAX / 4, 1));
    assay_memory_log_end(&log);
    assay_free(a);
    assert_true(log.n >= 1);
    check_event(&log, log.n - 1, ASSAY_MEMORY_TOOK, a); /* the last word: it is held */
    assay_memory_log_fini(&log);
}

static double no_time(void *user, const struct assay_kernel *kernel, void *state,
                      const struct assay_work *work)
{
    (void)user, (void)kernel, (void)state, (void)work;
    return 1;
}

static void a_devices_memory_is_heard_of(void **state)
{
    (void)state;
    struct assay_null_script script = {.duration = no_time};
    struct assay_memory_log log;
    assay_device *device = NULL;
    void *memory = NULL;
    assert_int_equal(assay_memory_log_init(&log, 16), ASSAY_OK);
    assert_int_equal(assay_null_open(&script, &device, NULL), ASSAY_OK);
    assay_memory_log_begin(&log, ASSAY_STAGE_SETUP);
    assert_int_equal(assay_device_alloc(device, 4096, &memory, NULL), ASSAY_OK);
    assay_device_free(device, memory, 4096);
    assay_memory_log_end(&log);
    int64_t told = 0;
    for (int64_t i = 0; i < log.n; i++)
        told += log.events[i].on_device && log.events[i].bytes == 4096 &&
                log.events[i].what == ASSAY_MEMORY_TOOK;
    assert_int_equal(told, 1);
    assay_device_close(device);
    assay_memory_log_fini(&log);
}

static void what_does_not_fit_is_counted(void **state)
{
    (void)state;
    struct assay_memory_log log = make_log(2);
    for (int i = 0; i < 5; i++)
        assay_memory_log_node(&log, i);
    assert_int_equal(log.n, 2);
    assert_int_equal(log.lost, 3);
    assay_memory_log_owner(NULL, ASSAY_HELD_STATE, 0);
    assay_memory_log_node(NULL, 0);
    assay_memory_log_fini(&log);
}

/* ---- a profile by hand ---- */

/* Three nodes. Buffer 0 lives from node 0 to 1, buffer 1 from 1 to 2 behind it, buffer 2, of node 2
 * alone, where the first was. A weight is held all the time, scratch in node 1. */
enum { BLOCK = 0x10000, SCRATCH = 0x90000, WEIGHT = 0x20000 };

static struct assay_memory_node nodes[] = {{"gelu", "4x5", "gelu_avx2", ""},
                                           {"<b>&\"", "4x5", "linear_amx", ""},
                                           {"add", "4x5", "add_avx2", ""}};
static struct assay_memory_buffer buffers[] = {
    {0, 0, 1, ASSAY_HELD_INNER, false, 0, 1024},
    {1, 0, 2, ASSAY_HELD_KEPT, false, 1024, 512},
    {2, 0, 2, ASSAY_HELD_GRADIENT, false, 0, 256},
};
static struct assay_memory_event events[] = {
    {1, WEIGHT, 1000, 0, ASSAY_MEMORY_TOOK, ASSAY_STAGE_BEFORE, ASSAY_HELD_WEIGHT, true},
    {2, BLOCK, 2048, -1, ASSAY_MEMORY_TOOK, ASSAY_STAGE_SETUP, ASSAY_HELD_PLANNED, true},
    {3, 0, 0, 0, ASSAY_MEMORY_NODE, ASSAY_STAGE_CALL, ASSAY_HELD_INPUT, false},
    {4, 0, 0, 1, ASSAY_MEMORY_NODE, ASSAY_STAGE_CALL, ASSAY_HELD_INPUT, false},
    {5, SCRATCH, 100, 1, ASSAY_MEMORY_TOOK, ASSAY_STAGE_CALL, ASSAY_HELD_STATE, false},
    {6, SCRATCH, 0, -1, ASSAY_MEMORY_GAVE, ASSAY_STAGE_CALL, ASSAY_HELD_INPUT, false},
    {7, 0, 0, 2, ASSAY_MEMORY_NODE, ASSAY_STAGE_CALL, ASSAY_HELD_INPUT, false},
    {8, 0, 0, -1, ASSAY_MEMORY_NODE, ASSAY_STAGE_CALL, ASSAY_HELD_INPUT, false},
    {9, 0x777, 0, -1, ASSAY_MEMORY_GAVE, ASSAY_STAGE_CALL, ASSAY_HELD_INPUT, false},
    {10, BLOCK, 0, -1, ASSAY_MEMORY_GAVE, ASSAY_STAGE_TEARDOWN, ASSAY_HELD_INPUT, false},
};
enum { EVENTS = sizeof events / sizeof events[0] };

static struct assay_memory_profile by_hand(void)
{
    struct assay_memory_profile p = {.on_host = true,
                                     .calls = 1,
                                     .planned_bytes = 2048,
                                     .n_nodes = 3,
                                     .n_buffers = 3,
                                     .n_events = EVENTS,
                                     .nodes = nodes,
                                     .buffers = buffers,
                                     .events = events};
    snprintf(p.title, sizeof p.title, "mine <script>alert(1)</script> f32 \xff");
    snprintf(p.kernel, sizeof p.kernel, "eager");
    snprintf(p.device, sizeof p.device, "cpu");
    return p;
}

static void buffers_live_as_long_as_they_are_needed(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    struct assay_memory_items items;
    const double in_use[EVENTS] = {1000, 1000, 2024, 2536, 2636, 2536, 1768, 1000, 1000, 1000};
    const double held[EVENTS] = {1000, 3048, 3048, 3048, 3148, 3048, 3048, 3048, 3048, 1000};
    assert_int_equal(assay_memory_items_make(&p, &items), ASSAY_OK);
    for (int i = 0; i < EVENTS; i++) {
        assert_true(items.in_use[i] == in_use[i]);
        assert_true(items.held[i] == held[i]);
    }
    assert_int_equal(items.n, 6);
    assert_int_equal(items.peak, 4);
    assert_true(items.peak_held == 3148 && items.end_held == 3048 && items.end_in_use == 1000);
    assert_int_equal(items.allocations, 3);
    assert_true(items.total == 3148 && items.left_bytes == 0);
    assert_true(items.least == 1536); /* at node 1 both lie side by side */
    assert_int_equal(items.fullest, 1);
    assert_int_equal(assay_memory_node_at(&p, 4), 1);
    assert_int_equal(assay_memory_node_at(&p, 1), -1);
    assay_memory_items_fini(&items);
}

static void what_is_not_given_back_is_told(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    struct assay_memory_items items;
    struct assay_text text = {0};
    p.n_events = 5; /* with the scratch buffer and the block */
    assert_int_equal(assay_memory_items_make(&p, &items), ASSAY_OK);
    assert_true(items.left_bytes == 2148);
    assay_memory_sentence(&p, &items, &text);
    assert_non_null(strstr(text.data, "the peak, 2.6 kB in use, is reached in node 1 <b>&\""));
    assert_non_null(strstr(text.data, "2.1 kB was never given back"));
    assay_text_fini(&text);
    assay_memory_items_fini(&items);
}

/* Of a GPU's variant the host's memory is a sum beside. */
static void where_memory_is_the_devices_that_alone_counts(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    struct assay_memory_items items;
    p.on_host = false;
    assert_int_equal(assay_memory_items_make(&p, &items), ASSAY_OK);
    assert_true(items.host_peak == 100);
    assert_true(items.in_use[4] == 2536);
    assert_int_equal(items.allocations, 2);
    assay_memory_items_fini(&items);
}

static void the_stats_are_json(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    struct assay_memory_items items;
    struct assay_text text = {0};
    assert_int_equal(assay_memory_items_make(&p, &items), ASSAY_OK);
    assay_memory_stats(&p, &items, &text);
    assay_json *json = assay_json_parse(text.data, text.length, "stats", NULL);
    assert_non_null(json);
    assert_int_equal(assay_json_int(assay_json_get(json, "peak_memory_allocated"), 0), 2636);
    assert_int_equal(assay_json_int(assay_json_get(json, "peak_memory_reserved"), 0), 3148);
    assert_int_equal(assay_json_int(assay_json_get(json, "total_memory_allocated"), 0), 1000);
    assert_int_equal(assay_json_int(assay_json_get(json, "total_memory_reserved"), 0), 3048);
    assay_json_free(json);
    assay_text_fini(&text);
    assay_memory_items_fini(&items);
}

static void without_memory_nothing_is_lost(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    struct assay_memory_items items;
    size_t held = assay_alloc_held();
    for (int64_t nth = 1;; nth++) {
        assay_alloc_fail_after(nth);
        enum assay_status status = assay_memory_items_make(&p, &items);
        bool failed = assay_alloc_has_failed();
        assay_alloc_fail_after(0);
        assert_int_equal(status, failed ? ASSAY_ERR_NOMEM : ASSAY_OK);
        if (status == ASSAY_OK)
            assay_memory_items_fini(&items);
        assert_int_equal(assay_alloc_held(), held);
        if (!failed)
            break;
    }
}

/* ---- across a pipe ---- */

static void a_memory_profile_crosses_a_pipe(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand(), back;
    snprintf(p.title, sizeof p.title, "mine");
    assay_json *json = assay_memory_profile_to_json(&p);
    assert_int_equal(assay_memory_profile_from_json(json, &back, NULL), ASSAY_OK);
    assert_string_equal(back.title, "mine");
    assert_string_equal(back.device, "cpu");
    assert_true(back.on_host && !back.sums);
    assert_int_equal(back.n_nodes, 3);
    assert_string_equal(back.nodes[1].kernel, "linear_amx");
    assert_int_equal(back.n_buffers, 3);
    assert_int_equal(back.buffers[1].offset, 1024);
    assert_int_equal(back.buffers[1].held, ASSAY_HELD_KEPT);
    assert_int_equal(back.n_events, EVENTS);
    for (int i = 0; i < EVENTS; i++) {
        assert_true(back.events[i].address == events[i].address);
        assert_int_equal(back.events[i].at_ns, events[i].at_ns);
        assert_int_equal(back.events[i].bytes, events[i].bytes);
        assert_int_equal(back.events[i].node, events[i].node);
        assert_int_equal(back.events[i].what, events[i].what);
        assert_int_equal(back.events[i].stage, events[i].stage);
        assert_int_equal(back.events[i].held, events[i].held);
        assert_int_equal(back.events[i].on_device, events[i].on_device);
    }
    assay_memory_profile_fini(&back);
    assay_json_free(json);
}

static void a_damaged_memory_profile_is_refused(void **state)
{
    (void)state;
#define HEAD "{\"group\":0,\"variant\":0,\"calls\":1,\"planned_bytes\":100,\"apart_bytes\":0,"
    static const char *const wrong[] = {
        "{}",
        "{\"group\":0,\"variant\":0,\"calls\":1,\"planned_bytes\":-1,\"apart_bytes\":0}",
        HEAD "\"events\":[1,2,3]}",
        HEAD "\"events\":[1,1,1,-1,9,0,0,0]}",                  /* no such event */
        HEAD "\"events\":[1,1,-1,-1,0,0,0,0]}",                 /* fewer than no bytes */
        HEAD "\"events\":[1,1,1,0,2,0,0,0]}",                   /* a node that is not there */
        HEAD "\"events\":[9,1,1,-1,0,0,0,0,8,1,1,-1,0,0,0,0]}", /* back in time */
        HEAD "\"events\":[1,1,1,-1,0,7,0,0]}",
        HEAD "\"events\":[1,1,1,-1,0,0,11,0]}",                /* a buffer is no allocation */
        HEAD "\"nodes\":[{}],\"buffers\":[0,0,0,10,0,50,51]}", /* beyond its block */
        HEAD "\"nodes\":[{}],\"buffers\":[1,0,1,10,0,0,1]}",
        HEAD "\"nodes\":[{}],\"buffers\":[0,0,0,10,1,0,1]}", /* there is no such block */
        HEAD "\"nodes\":[{}],\"buffers\":[0,0,0,2,0,0,1]}",
    };
    static const char right[] = HEAD "\"nodes\":[{}],\"buffers\":[0,0,1,10,0,50,50],"
                                     "\"events\":[1,1,1,-1,0,0,0,0]}";
    struct assay_memory_profile p;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct assay_error err = {0};
        assay_json *json = assay_json_parse(wrong[i], strlen(wrong[i]), "wrong", NULL);
        assert_non_null(json);
        if (assay_memory_profile_from_json(json, &p, &err) != ASSAY_ERR_CORRUPT)
            fail_msg("accepted: %s", wrong[i]);
        assert_non_null(strstr(err.message, "makes no sense"));
        assay_json_free(json);
    }
    assay_json *json = assay_json_parse(right, strlen(right), "right", NULL);
    assert_int_equal(assay_memory_profile_from_json(json, &p, NULL), ASSAY_OK);
    assay_memory_profile_fini(&p);
    assay_json_free(json);
}

/* ---- pickles ---- */

static int append(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
    return 0;
}

/* What pickletools says of these bytes: {'a': 1, 'b': [-1, 4294967296]}. */
static void a_pickle_has_pythons_instructions(void **state)
{
    (void)state;
    static const char expected[] = "\x80\x02}(X\x01\0\0\0aJ\x01\0\0\0X\x01\0\0\0b]("
                                   "J\xff\xff\xff\xff\x8a\x08\0\0\0\0\x01\0\0\0eu.";
    static struct assay_pickle p;
    struct assay_text text = {0};
    assay_pickle_begin(&p, append, &text);
    assay_pickle_dict(&p);
    assay_pickle_put_int(&p, "a", 1);
    assay_pickle_text(&p, "b");
    assay_pickle_list(&p);
    assay_pickle_int(&p, -1);
    assay_pickle_int(&p, INT64_C(1) << 32);
    assay_pickle_list_end(&p);
    assay_pickle_dict_end(&p);
    assert_int_equal(assay_pickle_end(&p), 0);
    assert_int_equal(text.length, sizeof expected - 1);
    assert_memory_equal(text.data, expected, sizeof expected - 1);
    assay_text_fini(&text);
}

static void any_text_is_utf8_in_a_pickle(void **state)
{
    (void)state;
    static const char expected[] = "\x80\x02X\x06\0\0\0a?\xc3\xa4\?\?.";
    static struct assay_pickle p;
    struct assay_text text = {0};
    assay_pickle_begin(&p, append, &text);
    assay_pickle_text(&p, "a\xff\xc3\xa4\xe2\x82");
    assert_int_equal(assay_pickle_end(&p), 0);
    assert_int_equal(text.length, sizeof expected - 1);
    assert_memory_equal(text.data, expected, sizeof expected - 1);
    assay_text_fini(&text);
}

static int refuse(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    (void)length;
    ++*(int *)user;
    return ENOSPC;
}

static void a_full_disk_ends_a_pickle(void **state)
{
    (void)state;
    static struct assay_pickle p;
    int asked = 0;
    assay_pickle_begin(&p, refuse, &asked);
    assay_pickle_list(&p);
    for (int i = 0; i < 100000; i++)
        assay_pickle_int(&p, i);
    assay_pickle_list_end(&p);
    assert_int_equal(assay_pickle_end(&p), ENOSPC);
    assert_int_equal(asked, 1);
}

static void many_events_take_constant_memory(void **state)
{
    (void)state;
    static struct assay_pickle p;
    struct assay_text text = {0};
    assay_pickle_begin(&p, append, &text);
    assay_pickle_list(&p);
    assay_text_append(&text, "", 0);
    size_t held = assay_alloc_held();
    for (int i = 0; i < 100; i++)
        assay_pickle_address(&p, i ? UINT64_MAX : 0x7f0000000001);
    assert_int_equal(assay_alloc_held(), held); /* they fit into its own buffer */
    assay_pickle_list_end(&p);
    assert_int_equal(assay_pickle_end(&p), 0);
    assert_memory_equal(text.data + 4, "\x8a\x08\x01\0\0\0\0\x7f\0\0", 10);
    assert_memory_equal(text.data + 14, "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0", 11);
    assay_text_fini(&text);
}

/* ---- snapshots ---- */

/* Of a literal, which may have zeros in it. */
#define occurrences(text, word) occurrences_of(text, word, sizeof(word) - 1)
static int64_t occurrences_of(const struct assay_text *text, const char *word, size_t length)
{
    int64_t n = 0;
    for (size_t i = 0; i + length <= text->length; i++)
        n += memcmp(text->data + i, word, length) == 0;
    return n;
}

/* tests/cli/profile_memory.py reads whole ones, with Python. */
static void a_snapshot_has_what_happened(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    struct assay_text text = {0};
    assay_memory_snapshot *snapshot = assay_memory_snapshot_create(1, append, &text);
    assert_non_null(snapshot);
    assert_int_equal(assay_memory_snapshot_add(snapshot, &p), ASSAY_OK);
    assert_int_equal(assay_memory_snapshot_end(snapshot, "of a test"), 0);
    assert_int_equal(occurrences(&text, "segment_alloc"), 3);    /* weight, block, scratch */
    assert_int_equal(occurrences(&text, "X\x05\0\0\0alloc"), 5); /* buffers, too; not the block */
    assert_int_equal(occurrences(&text, "free_completed"), 4);   /* three buffers, scratch */
    assert_int_equal(occurrences(&text, "total_size"), 2);
    assert_int_equal(occurrences(&text, "segment_free"), 1);
    assert_int_equal(occurrences(&text, "of a test"), 1);
    assay_text_fini(&text);
}

static void what_came_before_is_freed_in_the_next(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    struct assay_text text = {0};
    assay_memory_snapshot *snapshot = assay_memory_snapshot_create(0, append, &text);
    for (int i = 0; i < 3; i++)
        assert_int_equal(assay_memory_snapshot_add(snapshot, &p), ASSAY_OK);
    assert_int_equal(assay_memory_snapshot_end(snapshot, ""), 0);
    assert_int_equal(occurrences(&text, "segment_alloc"), 9);
    assert_int_equal(occurrences(&text, "segment_free"), 7); /* the last's weight and block stay */
    assert_int_equal(assay_memory_snapshot_end(NULL, ""), 0);
    assay_text_fini(&text);
}

/* Readers in JavaScript append no more values at once. */
static void long_histories_come_in_batches(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    struct assay_text text = {0};
    assay_memory_snapshot *snapshot = assay_memory_snapshot_create(0, append, &text);
    for (int i = 0; i < 300; i++)
        assert_int_equal(assay_memory_snapshot_add(snapshot, &p), ASSAY_OK);
    assert_int_equal(assay_memory_snapshot_end(snapshot, ""), 0);
    int64_t told = occurrences(&text, "time_us");
    assert_true(told > 3000);
    assert_int_equal(occurrences(&text, "ue(}"), told / 1000);
    assay_text_fini(&text);
}

/* ---- pages ---- */

static struct assay_text page_of(const struct assay_memory_profile *p)
{
    struct assay_memory_items items;
    struct assay_text page = {0};
    assert_int_equal(assay_memory_items_make(p, &items), ASSAY_OK);
    assay_memory_page_begin("\"run\" <1>", &page);
    assay_memory_page_add(1, p, &items, &page);
    assay_memory_page_end(&page);
    assay_memory_items_fini(&items);
    assert_false(page.failed);
    return page;
}

static void a_page_says_what_holds_the_peak(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    snprintf(p.missing, sizeof p.missing, "half of it");
    struct assay_text page = page_of(&p);
    assert_non_null(
        strstr(page.data, "<th scope=\"row\">node 0 gelu: output 0</th><td>1.0 kB</td>"));
    assert_non_null(strstr(page.data, "The most that is needed at once is 1.5 kB, in node 1"));
    assert_non_null(strstr(page.data, "<title>node 0 gelu: output 0, 1.0 kB; from node 0 gelu "
                                      "until node 2 add</title>"));
    assert_non_null(strstr(page.data, "Missing: half of it"));
    assay_text_fini(&page);
}

static void hostile_names_stay_text(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    struct assay_text page = page_of(&p);
    assert_null(strstr(page.data, "<script"));
    assert_null(strstr(page.data, "<b>"));
    assert_null(strstr(page.data, "\xff"));
    assert_non_null(strstr(page.data, "&lt;script&gt;"));
    assert_int_equal(occurrences(&page, "http:"),
                     occurrences(&page, "xmlns=\"http://www.w3.org/2000/svg\""));
    assert_null(strstr(page.data, "https:"));
    assert_null(strstr(page.data, "src="));
    assay_text_fini(&page);
}

static void of_nothing_a_page_says_so(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    p.n_events = p.n_buffers = p.n_nodes = 0;
    snprintf(p.missing, sizeof p.missing, "it failed");
    struct assay_text page = page_of(&p);
    assert_non_null(strstr(page.data, "Nothing was recorded: it failed"));
    assay_text_fini(&page);
}

/* ---- files ---- */

static void a_file_takes_its_name_when_it_is_whole(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    assay_memory_file *file;
    struct assay_error err = {0};
    char path[100];
    assert_int_equal(assay_memory_form_of("a.pickle"), ASSAY_MEMORY_SNAPSHOT);
    assert_int_equal(assay_memory_form_of("a.pkl"), ASSAY_MEMORY_SNAPSHOT);
    assert_int_equal(assay_memory_form_of("a.pickle/b"), ASSAY_MEMORY_PAGE);
    snprintf(path, sizeof path, "%s/m.pickle", temporary);
    for (int keep = 0; keep < 2; keep++) {
        assert_int_equal(assay_memory_file_open(path, ASSAY_MEMORY_SNAPSHOT, "", 0, &file, &err),
                         ASSAY_OK);
        assay_memory_file_add(file, &p);
        assert_int_not_equal(access(path, F_OK), 0);
        if (keep)
            assert_int_equal(assay_memory_file_close(file, &err), ASSAY_OK);
        else
            assay_memory_file_cancel(file);
        assert_int_equal(access(path, F_OK) == 0, keep);
    }
    assert_int_equal(
        assay_memory_file_open("/nosuch/m.html", ASSAY_MEMORY_PAGE, "", 0, &file, &err),
        ASSAY_ERR_INVALID);
    assert_null(file);
    assay_memory_file_cancel(NULL);
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    struct assay_memory_profile p = by_hand();
    assay_memory_file *file;
    for (int form = 0; form < 2; form++) {
        struct assay_error err = {0};
        assert_int_equal(
            assay_memory_file_open("/dev/full", (enum assay_memory_form)form, "", 0, &file, &err),
            ASSAY_OK);
        assay_memory_file_add(file, &p);
        assert_int_equal(assay_memory_file_close(file, &err), ASSAY_ERR_IO);
        assert_non_null(strstr(err.message, "No space left"));
    }
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, temporary_make, temporary_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_is_heard_of),
        cmocka_unit_test(a_failed_realloc_leaves_what_was),
        cmocka_unit_test(a_devices_memory_is_heard_of),
        cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(buffers_live_as_long_as_they_are_needed),
        cmocka_unit_test(what_is_not_given_back_is_told),
        cmocka_unit_test(where_memory_is_the_devices_that_alone_counts),
        cmocka_unit_test(the_stats_are_json),
        cmocka_unit_test(without_memory_nothing_is_lost),
        cmocka_unit_test(a_memory_profile_crosses_a_pipe),
        cmocka_unit_test(a_damaged_memory_profile_is_refused),
        cmocka_unit_test(a_pickle_has_pythons_instructions),
        cmocka_unit_test(any_text_is_utf8_in_a_pickle),
        cmocka_unit_test(a_full_disk_ends_a_pickle),
        cmocka_unit_test(many_events_take_constant_memory),
        cmocka_unit_test(a_snapshot_has_what_happened),
        cmocka_unit_test(what_came_before_is_freed_in_the_next),
        cmocka_unit_test(long_histories_come_in_batches),
        cmocka_unit_test(a_page_says_what_holds_the_peak),
        cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(of_nothing_a_page_says_so),
        WITH_FOLDER(a_file_takes_its_name_when_it_is_whole),
        cmocka_unit_test(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
