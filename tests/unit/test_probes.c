/* test_probes.c: which probes of a machine a group opens and what they say, on a driver that only
 * takes notes; and the CPU's own probes: every loop computes what it should, within its memory. */
#include "unit.h"

#include "base/alloc.h"
#include "bench/probes.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_probe.h"
#include "device/cpu/cpu_stream.h"
#include "device/cpu/cpu_turns.h"
#include "stats/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a driver that takes notes --------------------------------------------------------------- */

enum { MOST_NOTES = 32, ROUNDS = 12 };

static struct {
    struct assay_probe_spec specs[MOST_NOTES];
    int64_t opened, closed, refused; /* as a bit for each kind: those are not there */
} notes;

static enum assay_status note_open(assay_device *device, const struct assay_probe_spec *spec,
                                   struct assay_probe *out, struct assay_error *err)
{
    (void)device, (void)err;
    if (notes.refused >> spec->kind & 1)
        return ASSAY_UNSUPPORTED;
    assert_true(notes.opened < MOST_NOTES);
    notes.specs[notes.opened++] = *spec;
    *out = (struct assay_probe){.amount = spec->kind == ASSAY_PROBE_MATH ? 1e9 : spec->bytes,
                                .state = &notes,
                                .n_sets = notes.opened};
    return ASSAY_OK;
}

static void note_close(assay_device *device, struct assay_probe *probe)
{
    (void)device;
    assert_ptr_equal(probe->state, &notes);
    notes.closed++;
}

static const struct assay_device_driver notes_driver = {
    .name = "notes", .probe_open = note_open, .probe_close = note_close};
static const struct assay_device_driver lean_driver = {.name = "lean"};
static struct assay_device notes_device = {.driver = &notes_driver};
static struct assay_device lean_device = {.driver = &lean_driver};

/* 10 GB/s everywhere and 1 TFLOP/s, but for 8-bit floats, of which nothing is known. */
static const struct assay_ceilings best = {
    .n_levels = 1,
    .levels = {{"memory", SIZE_MAX}},
    .n_points = 2,
    .points = {{1000000, {10e9, 10e9, 10e9, 10e9}}, {100000000, {10e9, 10e9, 10e9, 10e9}}},
    .flops = {1e12, 1e12, 1e12, 1e12},
};

static struct assay_probes fresh(bool cold)
{
    memset(&notes, 0, sizeof notes);
    return (struct assay_probes){.device = &notes_device, .cold = cold};
}

static struct assay_cost cost_of(double read, double written, double flops)
{
    return (struct assay_cost){.bytes_read = read, .bytes_written = written, .flops = flops};
}

/* The kinds that this cost opens, as bits. */
static int opened_for(const struct assay_ceilings *ceilings, struct assay_cost cost)
{
    struct assay_probes p = fresh(false);
    int kinds = 0;
    assay_probes_add(&p, ceilings, &cost, 8e6);
    assert_int_equal(p.n, notes.opened);
    for (int64_t i = 0; i < p.n; i++) {
        assert_memory_equal(&p.specs[i], &notes.specs[i], sizeof p.specs[i]);
        assert_false(kinds >> p.specs[i].kind & 1);
        kinds |= 1 << p.specs[i].kind;
    }
    assay_probes_close(&p);
    assert_int_equal(notes.closed, notes.opened);
    assert_int_equal(p.n, 0);
    return kinds;
}

enum {
    READ = 1 << ASSAY_PROBE_READ,
    WRITE = 1 << ASSAY_PROBE_WRITE,
    COPY = 1 << ASSAY_PROBE_COPY,
    TRIAD = 1 << ASSAY_PROBE_TRIAD,
    MATH = 1 << ASSAY_PROBE_MATH,
};

/* 1 MB in and out takes 200 us, and 200 M operations do. */
static void test_what_may_bind_is_probed(void **state)
{
    (void)state;
    assert_int_equal(opened_for(&best, cost_of(1e6, 1e6, 0)), COPY);
    assert_int_equal(opened_for(&best, cost_of(1e6, 1e6, 49e6)), COPY);
    assert_int_equal(opened_for(&best, cost_of(1e6, 1e6, 51e6)), COPY | MATH);
    assert_int_equal(opened_for(&best, cost_of(1e6, 1e6, 200e6)), COPY | MATH);
    assert_int_equal(opened_for(&best, cost_of(1e6, 1e6, 799e6)), COPY | MATH);
    assert_int_equal(opened_for(&best, cost_of(1e6, 1e6, 801e6)), MATH);
    assert_int_equal(opened_for(&best, cost_of(0, 0, 1e6)), MATH);
    assert_int_equal(opened_for(&best, cost_of(0, 0, 0)), 0);
}

static void test_each_stream_has_its_probe(void **state)
{
    (void)state;
    assert_int_equal(opened_for(&best, cost_of(1e6, 0, 0)), READ);
    assert_int_equal(opened_for(&best, cost_of(0, 1e6, 0)), WRITE);
    assert_int_equal(opened_for(&best, cost_of(2e6, 1e6, 0)), TRIAD);
    assert_int_equal(opened_for(&best, cost_of(5e6, 1e6, 0)), READ | TRIAD);
    assert_int_equal(opened_for(&best, cost_of(1e6, 5e6, 0)), WRITE | COPY);
    assert_int_equal(opened_for(&best, cost_of(1.01e6, 1e6, 0)), COPY);
}

static void test_what_is_not_known_may_bind(void **state)
{
    (void)state;
    struct assay_ceilings none = {0};
    struct assay_cost f8 = cost_of(1e6, 1e6, 1);
    f8.math = ASSAY_MATH_F8;
    assert_int_equal(opened_for(&none, cost_of(1e6, 1e6, 1)), COPY | MATH);
    assert_int_equal(opened_for(&none, cost_of(1e6, 1e6, 1e15)), COPY | MATH);
    assert_int_equal(opened_for(&none, cost_of(1e6, 1e6, 0)), COPY);
    assert_int_equal(opened_for(&best, f8), COPY | MATH);
}

/* Hot, a probe goes through the working set; cold, through what a call moves. */
static void test_probes_are_as_large_as_the_work(void **state)
{
    (void)state;
    struct assay_cost cost = cost_of(2e6, 1e6, 0);
    for (int cold = 0; cold < 2; cold++) {
        struct assay_probes p = fresh(cold);
        assay_probes_add(&p, &best, &cost, 8e6);
        assert_int_equal(p.n, 1);
        assert_near(p.specs[0].bytes, cold ? 3e6 : 8e6, 0);
        assert_int_equal(p.specs[0].cold, cold);
    }
}

/* How many probes two sizes of a copy have. */
static int64_t probes_of(bool cold, double a, double b)
{
    struct assay_probes p = fresh(cold);
    struct assay_cost first = cost_of(a / 2, a / 2, 0), second = cost_of(b / 2, b / 2, 0);
    assay_probes_add(&p, &best, &first, a);
    assay_probes_add(&p, &best, &second, b);
    return p.n;
}

static void test_work_of_about_one_size_shares_a_probe(void **state)
{
    (void)state;
    assert_int_equal(probes_of(false, 8e6, 8e6), 1);
    assert_int_equal(probes_of(false, 8e6, 8.7e6), 1);
    assert_int_equal(probes_of(false, 8.7e6, 8e6), 1);
    assert_int_equal(probes_of(false, 8e6, 8.9e6), 2);
    assert_int_equal(probes_of(false, 8.9e6, 8e6), 2);
    assert_int_equal(probes_of(true, 8e6, 15e6), 1); /* in memory the size hardly matters */
    assert_int_equal(probes_of(true, 15e6, 8e6), 1);
    assert_int_equal(probes_of(true, 8e6, 17e6), 2);
    assert_int_equal(probes_of(true, 0.9e6, 1.5e6), 2); /* unless it is small */
    assert_int_equal(probes_of(true, 0.9e6, 0.95e6), 1);
}

static void test_arithmetic_of_one_kind_shares_a_probe(void **state)
{
    (void)state;
    struct assay_probes p = fresh(false);
    for (int i = 0; i < 6; i++) {
        struct assay_cost cost = cost_of(1, 1, 1e9 * (1 + i));
        cost.math = i % 2 ? ASSAY_MATH_S8 : ASSAY_MATH_F32;
        assay_probes_add(&p, &best, &cost, 1e3 * (1 + i));
    }
    assert_int_equal(p.n, 2);
    assert_int_equal(p.specs[0].math, ASSAY_CEILING_F32);
    assert_int_equal(p.specs[1].math, ASSAY_CEILING_S8);
}

static void test_there_are_six_at_the_most(void **state)
{
    (void)state;
    struct assay_probes p = fresh(false);
    struct assay_cost cost = cost_of(1e6, 1e6, 0);
    for (int i = 0; i < 9; i++)
        assay_probes_add(&p, &best, &cost, 1e6 * (1 + i));
    assert_int_equal(p.n, 6);
    assert_int_equal(ASSAY_MAX_PROBES, 6);
    assert_int_equal(notes.opened, 6);
    assay_probes_close(&p);
    assert_int_equal(notes.closed, 6);
}

static void test_what_cannot_be_opened_is_left_out(void **state)
{
    (void)state;
    struct assay_probes p = fresh(false);
    struct assay_cost cost = cost_of(5e6, 1e6, 1e9);
    notes.refused = TRIAD;
    assay_probes_add(&p, &best, &cost, 8e6);
    assert_int_equal(p.n, 2);
    assert_int_equal(p.specs[0].kind, ASSAY_PROBE_READ);
    assert_int_equal(p.specs[1].kind, ASSAY_PROBE_MATH);
    p = fresh(false);
    p.device = &lean_device; /* that has none at all */
    assay_probes_add(&p, &best, &cost, 8e6);
    assert_int_equal(p.n, 0);
    assay_probes_close(&p);
}

static void test_lanes_are_those_of_the_probes(void **state)
{
    (void)state;
    struct assay_probes p = fresh(false);
    struct assay_cost cost = cost_of(1e6, 1e6, 200e6);
    struct assay_lane lanes[ASSAY_MAX_PROBES];
    memset(lanes, 0xee, sizeof lanes);
    assay_probes_add(&p, &best, &cost, 8e6);
    assay_probes_lanes(&p, lanes);
    for (int i = 0; i < 2; i++) {
        assert_true(lanes[i].probe);
        assert_ptr_equal(lanes[i].kernel, &p.probes[i].kernel);
        assert_ptr_equal(lanes[i].state, &notes);
        assert_int_equal(lanes[i].n_sets, i + 1);
        assert_null(lanes[i].samples);
    }
    const unsigned char *untouched = (const unsigned char *)&lanes[2];
    assert_int_equal(*untouched, 0xee);
}

/* ---- what they say --------------------------------------------------------------------------- */

/* Probes of reading, of two reads with a write, and of f32: how long they need in round i. */
struct said {
    struct assay_probes probes;
    struct assay_lane lanes[ASSAY_MAX_PROBES];
    double samples[3][ROUNDS], out[ROUNDS];
};

static void make_said(struct said *s, bool cold)
{
    *s = (struct said){.probes = fresh(cold)};
    struct assay_cost cost = cost_of(5e6, 1e6, 600e6);
    assay_probes_add(&s->probes, &best, &cost, 8e6);
    assert_int_equal(s->probes.n, 3);
    for (int i = 0; i < 3; i++) {
        s->lanes[i].samples = s->samples[i];
        for (int r = 0; r < ROUNDS; r++)
            s->samples[i][r] = r % 3 == 1 ? (double)NAN : 1e6 * (i + 1) * (r + 1);
    }
}

static void test_transfer_is_the_sum_of_the_streams(void **state)
{
    (void)state;
    struct said s;
    make_said(&s, false);
    struct assay_cost cost = cost_of(5e6, 1e6, 0); /* 3 MB alone, 3 MB of them together */
    assert_true(assay_probes_transfer(&s.probes, s.lanes, ROUNDS, &cost, 8e6, s.out));
    for (int r = 0; r < ROUNDS; r++)
        if (r % 3 == 1)
            assert_true(isnan(s.out[r]));
        else
            assert_near(s.out[r], (r + 1) * (3e6 / 8e6 * 1e6 + 3e6 / 8e6 * 2e6), 1e-6);
    cost = cost_of(1e6, 0, 0); /* a variant that only reads */
    assert_true(assay_probes_transfer(&s.probes, s.lanes, ROUNDS, &cost, 8.1e6, s.out));
    assert_near(s.out[0], 1e6 / 8e6 * 1e6, 1e-6);
}

static void test_transfer_is_not_known_without_its_probes(void **state)
{
    (void)state;
    struct said s;
    make_said(&s, false);
    struct assay_cost cost = cost_of(1e6, 1e6, 0), read = cost_of(1e6, 0, 0);
    assert_false(assay_probes_transfer(&s.probes, s.lanes, ROUNDS, &cost, 8e6, s.out));
    assert_false(assay_probes_transfer(&s.probes, s.lanes, ROUNDS, &read, 16e6, s.out));
    cost = cost_of(0, 0, 1e6); /* nothing is moved */
    assert_false(assay_probes_transfer(&s.probes, s.lanes, ROUNDS, &cost, 8e6, s.out));
    s.lanes[0].samples = NULL; /* stopped before the first round */
    assert_false(assay_probes_transfer(&s.probes, s.lanes, 0, &read, 8e6, s.out));
}

static void test_compute_is_by_the_kind_of_arithmetic(void **state)
{
    (void)state;
    struct said s;
    double fast[ROUNDS];
    make_said(&s, false);
    struct assay_cost cost = cost_of(1, 1, 2e9);
    assert_true(assay_probes_compute(&s.probes, s.lanes, ROUNDS, &cost, false, s.out));
    assert_near(s.out[0], 2 * 3e6, 1e-6);
    assert_true(isnan(s.out[1]));
    assert_near(s.out[2], 2 * 9e6, 1e-6);
    assert_false(assay_probes_compute(&s.probes, s.lanes, ROUNDS, &cost, true, s.out));
    for (int r = 0; r < ROUNDS; r++)
        fast[r] = r == 4 ? 1e6 : (double)NAN;
    s.lanes[2].fast = fast;
    assert_true(assay_probes_compute(&s.probes, s.lanes, ROUNDS, &cost, true, s.out));
    assert_near(s.out[4], 2e6, 1e-6);
    assert_true(isnan(s.out[0]));
    cost.math = ASSAY_MATH_BF16;
    assert_false(assay_probes_compute(&s.probes, s.lanes, ROUNDS, &cost, false, s.out));
}

/* The median of the rounds counts, and fewer than ten of them prove nothing. */
static void test_what_they_did_raises_the_ceilings(void **state)
{
    (void)state;
    struct said s;
    struct assay_ceilings c = best;
    double scratch[ROUNDS];
    make_said(&s, false);
    s.probes.specs[0].bytes = 1e6; /* near a point of the curve */
    for (int r = 0; r < ROUNDS; r++) {
        s.samples[0][r] = r == 0 ? 1 : 400e3; /* 8 MB: 20 GB/s, and once much more */
        s.samples[1][r] = 1e-3;               /* of 8 MB: far from every point */
        s.samples[2][r] = 2e6;                /* slower than was seen */
    }
    assert_true(assay_probes_raise(&s.probes, s.lanes, ROUNDS, scratch, &c));
    assert_near(c.points[0].rates[ASSAY_PROBE_READ], 20e9, 1);
    assert_near(c.points[0].rates[ASSAY_PROBE_TRIAD], 10e9, 0);
    assert_near(c.flops[ASSAY_CEILING_F32], 1e12, 0);
    assert_false(assay_probes_raise(&s.probes, s.lanes, ROUNDS, scratch, &c)); /* nothing new */
    c = best;
    for (int r = 0; r < ROUNDS - ASSAY_STATS_FEWEST_ROUNDS + 1; r++)
        s.samples[0][r] = (double)NAN;
    assert_false(assay_probes_raise(&s.probes, s.lanes, ROUNDS, scratch, &c));
    assert_memory_equal(&c, &best, sizeof c);
    s.lanes[0].samples = s.lanes[1].samples = NULL;
    for (int r = 0; r < ROUNDS; r++)
        s.samples[2][r] = 0.5e6;
    assert_true(assay_probes_raise(&s.probes, s.lanes, ROUNDS, scratch, &c));
    assert_near(c.flops[ASSAY_CEILING_F32], 2e12, 1);
}

static void test_only_long_cold_probes_tell_of_memory(void **state)
{
    (void)state;
    struct said s;
    struct assay_ceilings c = best;
    double scratch[ROUNDS];
    make_said(&s, true);
    for (int r = 0; r < ROUNDS; r++)
        s.samples[0][r] = 100e3;
    assert_false(assay_probes_raise(&s.probes, s.lanes, ROUNDS, scratch, &c));
    s.probes.specs[0].bytes = 64e6;
    assert_true(assay_probes_raise(&s.probes, s.lanes, ROUNDS, scratch, &c));
    assert_near(c.points[1].rates[ASSAY_PROBE_READ], 60e9, 1);
    assert_near(c.points[0].rates[ASSAY_PROBE_READ], 10e9, 0);
}

/* ---- the CPU's loops ------------------------------------------------------------------------- */

enum { GUARD = 4096, LARGEST = 11 * ASSAY_CPU_LOOP_GRAIN, EMPTY = 0xee };

/* Memory with guards around it. Floats in it are whole numbers, on which all ways to compute a
 * triad agree. */
struct tensor {
    unsigned char *memory, *data;
};

static struct tensor make_tensor(int salt)
{
    struct tensor t = {.memory = aligned_alloc(4096, 2 * GUARD + LARGEST)};
    assert_non_null(t.memory);
    t.data = t.memory + GUARD;
    memset(t.memory, EMPTY, 2 * GUARD + LARGEST);
    for (size_t i = 0; salt && i < LARGEST / sizeof(float); i++) {
        float value = (float)((i * 7 + (size_t)salt) % 1009);
        memcpy(t.data + i * sizeof value, &value, sizeof value);
    }
    return t;
}

static bool is_empty(const unsigned char *from, const unsigned char *to)
{
    while (from < to && *from == EMPTY)
        from++;
    return from == to;
}

static bool is_guarded(const struct tensor *t, size_t bytes)
{
    return is_empty(t->memory, t->data) &&
           is_empty(t->data + bytes, t->memory + 2 * GUARD + LARGEST);
}

static uint32_t words_folded(const unsigned char *data, size_t bytes)
{
    uint32_t all = 0, word;
    for (size_t i = 0; i < bytes; i += sizeof word) {
        word = 0;
        memcpy(&word, data + i, bytes - i < sizeof word ? bytes - i : sizeof word);
        all ^= word;
    }
    return all;
}

/* Either ones, byte by byte, or 1.0f. */
static bool is_written(const unsigned char *data, size_t bytes)
{
    const float one = 1;
    unsigned char pattern[sizeof one];
    memcpy(pattern, &one, sizeof one);
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != 1 && data[i] != pattern[i % sizeof one])
            return false;
    return true;
}

static bool is_triad(const struct tensor *out, const struct tensor *a, const struct tensor *b,
                     size_t bytes)
{
    size_t whole = bytes / sizeof(float) * sizeof(float);
    for (size_t i = 0; i < whole; i += sizeof(float)) {
        float x, y, sum;
        memcpy(&x, a->data + i, sizeof x);
        memcpy(&y, b->data + i, sizeof y);
        memcpy(&sum, out->data + i, sizeof sum);
        if (sum != x + 3 * y)
            return false;
    }
    return is_empty(out->data + whole, out->data + bytes);
}

static bool computes(const struct assay_cpu_stream *s)
{
    bool reads = s->kind == ASSAY_CPU_LOOP_READ, writes = s->kind == ASSAY_CPU_LOOP_WRITE;
    struct tensor out = make_tensor(0), a = make_tensor(1), b = make_tensor(500);
    struct tensor a_before = make_tensor(1), b_before = make_tensor(500);
    bool ok = false;
    uint32_t word = assay_cpu_stream_run(s, out.data, writes ? NULL : a.data,
                                         s->kind == ASSAY_CPU_LOOP_TRIAD ? b.data : NULL);
    if (reads)
        ok = word == words_folded(a.data, s->bytes);
    else if (writes)
        ok = is_written(out.data, s->bytes);
    else if (s->kind == ASSAY_CPU_LOOP_COPY)
        ok = memcmp(out.data, a.data, s->bytes) == 0;
    else
        ok = is_triad(&out, &a, &b, s->bytes);
    ok = ok && is_guarded(&out, reads ? 0 : s->bytes);
    ok = ok && memcmp(a.memory, a_before.memory, 2 * GUARD + LARGEST) == 0;
    ok = ok && memcmp(b.memory, b_before.memory, 2 * GUARD + LARGEST) == 0;
    free(out.memory), free(a.memory), free(b.memory);
    free(a_before.memory), free(b_before.memory);
    return ok;
}

/* Sizes of whole grains, of none, and those between. */
static int64_t check_loops(const struct assay_cpu_loop *loops)
{
    static const size_t sizes[] = {4,     100,          4095,      4096,         4100,
                                   8192,  3 * 4096,     20000,     20001,        20002,
                                   20003, 9 * 4096 + 8, 10 * 4096, LARGEST - 60, LARGEST};
    int64_t checked = 0;
    for (const struct assay_cpu_loop *loop = loops; loop && loop->name; loop++) {
        if (loop->kind >= ASSAY_CPU_LOOP_FMA)
            continue;
        for (int32_t threads = 1; threads <= 3; threads++)
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                struct assay_cpu_stream s = {loop->kind, sizes[i], loop, threads};
                if (!computes(&s))
                    fail_msg("%s, kind %d, of %zu bytes with %d threads", loop->name, loop->kind,
                             sizes[i], threads);
            }
        checked++;
    }
    return checked;
}

static void test_every_loop_computes_right(void **state)
{
    (void)state;
    uint32_t isa = assay_cpu_info()->isa;
    struct assay_cpu_loops plain = assay_cpu_loops(0);
    assert_true(check_loops(plain.wide) >= 13);
    assert_true(check_loops(plain.any) >= 2);
#if defined(__x86_64__)
    if (isa & ASSAY_CPU_AVX2)
        assert_true(check_loops(assay_cpu_loops_avx2) >= 25);
    if (isa & ASSAY_CPU_AVX512)
        assert_true(check_loops(assay_cpu_loops_avx512) >= 25);
#else
    (void)isa;
#endif
}

/* Tensors lie in their set one behind the other, aligned, and start at different offsets in a page.
 */
static void test_tensors_lie_in_their_set(void **state)
{
    (void)state;
    static const size_t sizes[] = {4096, 3 * 4096, 4100, 1 << 20};
    static const int tensors[] = {1, 1, 2, 3};
    for (int kind = 0; kind < ASSAY_CPU_LOOP_FMA; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            enum assay_cpu_loop_kind k = (enum assay_cpu_loop_kind)kind;
            size_t all = assay_cpu_stream_set_bytes(k, sizes[i]);
            char *set = aligned_alloc(4096, all);
            void *pointers[3];
            struct assay_args args;
            assert_non_null(set);
            assert_int_equal(all % 4096, 0);
            assay_cpu_stream_bind(k, sizes[i], set, pointers, &args);
            size_t first = kind == ASSAY_CPU_LOOP_READ ? 1 : 0, end = 0;
            for (int t = 0; t < tensors[kind]; t++) {
                size_t at = (size_t)((char *)pointers[first + (size_t)t] - set);
                assert_true(at >= end && at % 64 == 0);
                assert_true(t == 0 || at % 4096 != end % 4096);
                end = at + sizes[i];
            }
            assert_true(end <= all);
            assert_ptr_equal(args.out[0], pointers[0]);
            assert_ptr_equal(args.in[0], pointers[1]);
            assert_ptr_equal(args.in[1], pointers[2]);
            free(set);
        }
}

static void test_tuning_takes_a_way_that_works(void **state)
{
    (void)state;
    for (int kind = 0; kind < ASSAY_CPU_LOOP_FMA; kind++)
        for (int64_t n_sets = 1; n_sets <= 3; n_sets += 2) {
            enum assay_cpu_loop_kind k = (enum assay_cpu_loop_kind)kind;
            struct assay_cpu_stream s = {.kind = k, .bytes = 3 * ASSAY_CPU_LOOP_GRAIN};
            size_t bytes = assay_cpu_stream_set_bytes(k, s.bytes);
            char *pool = aligned_alloc(4096, bytes * (size_t)n_sets);
            void *pointers[3][3];
            struct assay_args sets[3];
            assert_non_null(pool);
            memset(pool, 0, bytes * (size_t)n_sets);
            for (int64_t i = 0; i < n_sets; i++)
                assay_cpu_stream_bind(k, s.bytes, pool + (size_t)i * bytes, pointers[i], &sets[i]);
            assay_cpu_stream_tune(&s, 2, sets, n_sets, 100e6);
            assert_true(s.loop && s.loop->kind == k && s.threads >= 1 && s.threads <= 2);
            assert_true(computes(&s));
            free(pool);
        }
}

/* ---- the CPU's probes ------------------------------------------------------------------------ */

static assay_device *cpu;

static int open_cpu(void **state)
{
    const struct assay_device_driver *driver;
    int32_t index;
    (void)state;
    return assay_device_parse("cpu", &driver, &index, NULL) == ASSAY_OK &&
                   assay_device_open(driver, index, 2, &cpu, NULL) == ASSAY_OK
               ? 0
               : -1;
}

static int close_cpu(void **state)
{
    (void)state;
    assay_device_close(cpu);
    return 0;
}

static double held_bytes(void) { return assay_cpu_block_bytes((struct cpu_device *)cpu); }

static struct assay_probe open_probe(enum assay_probe_kind kind, int math, double bytes)
{
    struct assay_probe_spec spec = {.kind = kind, .math = math, .bytes = bytes};
    struct assay_probe probe;
    struct assay_error err = {0};
    if (cpu->driver->probe_open(cpu, &spec, &probe, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    return probe;
}

static void run_probe(const struct assay_probe *probe, int64_t iters)
{
    struct assay_timing timing;
    struct assay_work work = {.iters = iters, .n_sets = probe->n_sets, .sets = probe->sets};
    assert_int_equal(cpu->driver->time(cpu, &probe->kernel, probe->state, &work, &timing),
                     ASSAY_OK);
    assert_true(timing.device_ns > 0);
}

/* Few grains are rounded up, many to the nearest number: a probe that moves less than the kernel
 * must not be scaled up by much. */
static void test_grains_are_not_too_few(void **state)
{
    (void)state;
    assert_int_equal(assay_probe_grains(0, 4096), 1);
    assert_int_equal(assay_probe_grains(1, 4096), 1);
    assert_int_equal(assay_probe_grains(4096, 4096), 1);
    assert_int_equal(assay_probe_grains(6000, 4096), 2);
    assert_int_equal(assay_probe_grains(15.1 * 4096, 4096), 16);
    assert_int_equal(assay_probe_grains(99.4 * 4096, 4096), 99);
    for (double bytes = 1; bytes < 1e6; bytes *= 1.01)
        assert_true((double)assay_probe_grains(bytes, 4096) * 4096 * 1.04 >= bytes);
}

/* The amount is what the tensors hold: whole grains, few of them rounded up. */
static void test_probes_move_what_they_say(void **state)
{
    (void)state;
    static const double sizes[] = {1, 5000, 100000, 1e6};
    for (int kind = 0; kind < ASSAY_PROBE_STREAMS; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            enum assay_probe_kind k = (enum assay_probe_kind)kind;
            double grain = (double)ASSAY_CPU_LOOP_GRAIN * assay_probe_streams(k);
            struct assay_probe probe = open_probe(k, 0, sizes[i]);
            assert_int_equal(probe.n_sets, 1);
            assert_near(remainder(probe.amount, grain), 0, 0);
            assert_true(probe.amount * 1.04 >= sizes[i] && probe.amount < sizes[i] + grain);
            run_probe(&probe, 3);
            size_t each = (size_t)(probe.amount / assay_probe_streams(k));
            if (k == ASSAY_PROBE_COPY)
                assert_memory_equal(probe.sets[0].out[0], probe.sets[0].in[0], each);
            if (k == ASSAY_PROBE_WRITE)
                assert_true(is_written(probe.sets[0].out[0], each));
            cpu->driver->probe_close(cpu, &probe);
        }
}

static void test_probes_of_arithmetic_are_of_every_kind(void **state)
{
    (void)state;
    for (int math = 0; math < ASSAY_CEILING_MATHS; math++) {
        struct assay_probe probe = open_probe(ASSAY_PROBE_MATH, math, 0);
        struct assay_timing timing;
        struct assay_work work = {.iters = 1, .n_sets = 1, .sets = probe.sets};
        double least = (double)INFINITY;
        for (int i = 0; i < 20; i++) {
            cpu->driver->time(cpu, &probe.kernel, probe.state, &work, &timing);
            least = fmin(least, timing.device_ns);
        }
        assert_true(probe.amount >= 2 * (1 << 18));
        /* Operations per ns. How long a call is depends on how busy the machine was. */
        assert_true(probe.amount / least > 0.1 && probe.amount / least < 1e6);
        cpu->driver->probe_close(cpu, &probe);
    }
}

/* Cold, the sets of a probe are more than the last-level cache holds, each on its own. */
static void test_cold_probes_leave_the_caches(void **state)
{
    (void)state;
    struct assay_probe_spec spec = {.kind = ASSAY_PROBE_COPY, .bytes = 8 << 20, .cold = true};
    struct assay_probe probe;
    struct assay_error err = {0};
    size_t llc = assay_cpu_llc_bytes(2);
    if (cpu->driver->probe_open(cpu, &spec, &probe, &err) != ASSAY_OK) {
        assert_string_equal(err.message, "no memory for a probe of its bandwidth");
        skip();
    }
    assert_true(probe.amount * (double)probe.n_sets >= 2 * (double)llc);
    for (int64_t i = 1; i < probe.n_sets; i++)
        assert_true((char *)probe.sets[i].out[0] - (char *)probe.sets[i - 1].out[0] >= 8 << 20);
    run_probe(&probe, probe.n_sets);
    for (int64_t i = 0; i < probe.n_sets; i++)
        assert_memory_equal(probe.sets[i].out[0], probe.sets[i].in[0], 4 << 20);
    cpu->driver->probe_close(cpu, &probe);
}

static void test_probes_close_in_any_order(void **state)
{
    (void)state;
    static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    for (int turn = 0; turn < 3; turn++) {
        struct assay_probe open[4], moved[4];
        for (int i = 0; i < 4; i++)
            open[i] = open_probe((enum assay_probe_kind)i, 0, 1 << 16);
        memcpy(moved, open, sizeof moved); /* they may be moved while they are open */
        memset(open, 0, sizeof open);
        for (int i = 0; i < 4; i++) {
            run_probe(&moved[orders[turn][i]], 2);
            cpu->driver->probe_close(cpu, &moved[orders[turn][i]]);
            for (int k = i + 1; k < 4; k++)
                run_probe(&moved[orders[turn][k]], 1);
        }
    }
}

static void test_memory_is_used_again(void **state)
{
    (void)state;
    struct assay_probe first = open_probe(ASSAY_PROBE_COPY, 0, 1 << 20);
    void *memory = first.sets[0].out[0];
    double held = held_bytes();
    assert_true(held >= 1 << 20);
    struct assay_probe second = open_probe(ASSAY_PROBE_COPY, 0, 1 << 20); /* beside it: its own */
    assert_ptr_not_equal(second.sets[0].out[0], memory);
    assert_near(held_bytes(), 2 * held, 0);
    cpu->driver->probe_close(cpu, &first);
    struct assay_probe smaller = open_probe(ASSAY_PROBE_COPY, 0, 1 << 16);
    assert_ptr_equal(smaller.sets[0].out[0], memory);
    assert_near(held_bytes(), 2 * held, 0);
    cpu->driver->probe_close(cpu, &smaller);
    cpu->driver->probe_close(cpu, &second);
    assert_near(held_bytes(), 2 * held, 0); /* kept for the next one */
    assay_cpu_release_blocks((struct cpu_device *)cpu);
    assert_near(held_bytes(), 0, 0);
}

/* As many as are kept may be open; then no slot is free until one is closed. What is kept is
 * bounded by that number, too. */
static void test_probes_are_as_many_as_there_are_blocks(void **state)
{
    (void)state;
    struct assay_probe open[ASSAY_CPU_MAX_BLOCKS], more;
    struct assay_probe_spec spec = {.kind = ASSAY_PROBE_READ, .bytes = 1 << 16};
    struct assay_error err = {0};
    assert_true((int)ASSAY_CPU_MAX_BLOCKS >= (int)ASSAY_MAX_PROBES);
    for (int i = 0; i < ASSAY_CPU_MAX_BLOCKS; i++)
        open[i] = open_probe(ASSAY_PROBE_READ, 0, 1 << 16);
    double held = held_bytes();
    assert_int_equal(cpu->driver->probe_open(cpu, &spec, &more, &err), ASSAY_UNSUPPORTED);
    assert_true(err.message[0] && !more.state);
    cpu->driver->probe_close(cpu, &open[3]);
    open[3] = open_probe(ASSAY_PROBE_READ, 0, 1 << 16);
    for (int i = 0; i < ASSAY_CPU_MAX_BLOCKS; i++)
        cpu->driver->probe_close(cpu, &open[i]);
    assert_near(held_bytes(), held, 0);
    struct assay_probe large = open_probe(ASSAY_PROBE_READ, 0, 1 << 18); /* in a small one's slot */
    double most = held / ASSAY_CPU_MAX_BLOCKS * (ASSAY_CPU_MAX_BLOCKS - 1) + 1.2 * (1 << 18);
    assert_true(held_bytes() <= most);
    cpu->driver->probe_close(cpu, &large);
}

/* Too large for this machine, or no memory: told, nothing is left behind, and the next one works.
 */
static void test_probes_without_memory_are_not_opened(void **state)
{
    (void)state;
    for (int kind = 0; kind <= ASSAY_PROBE_MATH; kind++) {
        struct assay_probe_spec spec = {.kind = (enum assay_probe_kind)kind, .bytes = 1 << 16};
        enum assay_status status = ASSAY_ERR_NOMEM;
        struct assay_probe probe;
        for (int64_t nth = 1; status != ASSAY_OK; nth++) {
            struct assay_error err = {0};
            assay_alloc_fail_after(nth);
            status = cpu->driver->probe_open(cpu, &spec, &probe, &err);
            assay_alloc_fail_after(0);
            assert_int_equal(err.code, status);
            if (status != ASSAY_OK)
                assert_null(probe.state);
            assert_true(nth < 10);
        }
        run_probe(&probe, 1);
        cpu->driver->probe_close(cpu, &probe);
    }
}

/* ---- which way is the fastest ---------------------------------------------------------------- */

/* As on a busy machine: by each turn's best alone none of them would be left. */
static void test_where_each_turn_has_another_winner_one_is_left(void **state)
{
    (void)state;
    struct assay_cpu_turns turns = {.n = 3};
    assay_cpu_turns_take(&turns, (const double[]){1.0, 1.2, 1.25});
    assay_cpu_turns_take(&turns, (const double[]){2.4, 2.0, 2.5});
    assay_cpu_turns_take(&turns, (const double[]){1.2, 1.3, 1.0});
    assert_false(turns.ways[0].out);
    assert_false(turns.ways[1].out);
    assert_false(turns.ways[2].out);
    assert_int_equal(assay_cpu_turns_fastest(&turns), 0);
}

static void test_slower_ways_are_out(void **state)
{
    (void)state;
    struct assay_cpu_turns turns = {.n = 4};
    assay_cpu_turns_take(&turns, (const double[]){2.0, 1.0, 1.2, 1.05});
    assert_true(turns.ways[0].out);
    assert_false(turns.ways[2].out);
    for (int i = 1; i < 4; i++) /* what is out may say what it likes */
        assay_cpu_turns_take(&turns, (const double[]){0.1, 1.0, 1.2, 1.05});
    assert_true(turns.ways[0].out);
    assert_true(turns.ways[2].out);
    assert_false(turns.ways[3].out);
    assert_false(assay_cpu_turns_decided(&turns));
    assert_int_equal(assay_cpu_turns_fastest(&turns), 1);
}

/* The more turns there are, the smaller the difference that is believed. */
static void test_turns_go_on_until_one_way_is_left(void **state)
{
    (void)state;
    struct assay_cpu_turns turns = {.n = 2};
    while (!assay_cpu_turns_decided(&turns))
        assay_cpu_turns_take(&turns, (const double[]){1.03, 1.0});
    assert_true(turns.ways[0].out && !turns.ways[1].out);
    assert_true(turns.taken > 5 && turns.taken < ASSAY_CPU_TURNS);
    struct assay_cpu_turns equals = {.n = 2};
    while (!assay_cpu_turns_decided(&equals))
        assay_cpu_turns_take(&equals, (const double[]){1.005, 1.0});
    assert_int_equal(assay_cpu_turns_fastest(&equals), 0); /* the first of equals */
    assert_int_equal(equals.taken, ASSAY_CPU_TURNS);
    assert_false(equals.ways[0].out || equals.ways[1].out);
}

int main(void)
{
#define ON_CPU(name) cmocka_unit_test_setup_teardown(name, open_cpu, close_cpu)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_each_turn_has_another_winner_one_is_left),
        cmocka_unit_test(test_slower_ways_are_out),
        cmocka_unit_test(test_turns_go_on_until_one_way_is_left),
        cmocka_unit_test(test_grains_are_not_too_few),
        cmocka_unit_test(test_what_may_bind_is_probed),
        cmocka_unit_test(test_each_stream_has_its_probe),
        cmocka_unit_test(test_what_is_not_known_may_bind),
        cmocka_unit_test(test_probes_are_as_large_as_the_work),
        cmocka_unit_test(test_work_of_about_one_size_shares_a_probe),
        cmocka_unit_test(test_arithmetic_of_one_kind_shares_a_probe),
        cmocka_unit_test(test_there_are_six_at_the_most),
        cmocka_unit_test(test_what_cannot_be_opened_is_left_out),
        cmocka_unit_test(test_lanes_are_those_of_the_probes),
        cmocka_unit_test(test_transfer_is_the_sum_of_the_streams),
        cmocka_unit_test(test_transfer_is_not_known_without_its_probes),
        cmocka_unit_test(test_compute_is_by_the_kind_of_arithmetic),
        cmocka_unit_test(test_what_they_did_raises_the_ceilings),
        cmocka_unit_test(test_only_long_cold_probes_tell_of_memory),
        cmocka_unit_test(test_every_loop_computes_right),
        cmocka_unit_test(test_tensors_lie_in_their_set),
        cmocka_unit_test(test_tuning_takes_a_way_that_works),
        ON_CPU(test_probes_move_what_they_say),
        ON_CPU(test_probes_of_arithmetic_are_of_every_kind),
        ON_CPU(test_cold_probes_leave_the_caches),
        ON_CPU(test_probes_close_in_any_order),
        ON_CPU(test_memory_is_used_again),
        ON_CPU(test_probes_are_as_many_as_there_are_blocks),
        ON_CPU(test_probes_without_memory_are_not_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
