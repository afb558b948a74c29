/* test_group.c: a group from job to records, in this process, on the null device and with the
 * plug-ins of tests/kernels: right ones, wrong ones, and every way to be interrupted. */
#include "temporary.h"
#include "unit.h"

#include "base/alloc.h"
#include "bench/group.h"
#include "device/null/null.h"
#include "trace/memory_items.h"

#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define PLUGINS ASSAY_BINARY_DIR "/plugins/"

enum { MAX_RECORDS = 64 };

struct bed {
    struct assay_bench bench;
    struct assay_job job;
    struct assay_record records[MAX_RECORDS];
    int64_t n_records, contenders, last_step, steps, stop_after, stop_asked;
    const char *fails; /* a kernel whose runs fail once it is timed */
    int64_t fails_after;
    char labels[MAX_RECORDS][96]; /* of the variants, "right/int8wo" */
    struct {
        const char *label;
        double ns;
    } pace[8];             /* of those that do not take as long as all others, */
    double call_ns;        /* which is 30 us */
    double activations_ns; /* of run_activations */
};

/* Probes that a device may have: of memory at this many ns for a byte, of arithmetic at none. */
static struct {
    int64_t opened, closed, runs;
    double byte_ns;
} fake;

static enum assay_status open_fake(assay_device *device, const struct assay_probe_spec *spec,
                                   struct assay_probe *out, struct assay_error *err)
{
    static struct assay_args set;
    (void)device, (void)err;
    fake.opened++;
    *out = (struct assay_probe){.kernel = {.name = "probe"}, .sets = &set, .n_sets = 1};
    out->amount = spec->kind == ASSAY_PROBE_MATH ? 1e12 : spec->bytes;
    out->state = &fake;
    return ASSAY_OK;
}

static void close_fake(assay_device *device, struct assay_probe *probe)
{
    (void)device;
    fake.closed++;
    assert_ptr_equal(probe->state, &fake);
}

static double probe_ns(const struct assay_work *work)
{
    fake.runs++;
    return fake.byte_ns * 840 * (double)work->iters;
}

static double pace_of(const struct bed *bed, const struct assay_kernel *kernel)
{
    const struct assay_kernel *known = assay_kernel_find(bed->bench.host.registry, kernel->name);
    if (known->run != kernel->run) {
        assert_ptr_equal(kernel->run, known->run_activations);
        return bed->activations_ns;
    }
    for (int i = 0; i < 8 && bed->pace[i].label; i++)
        if (strcmp(bed->labels[bed->last_step], bed->pace[i].label) == 0)
            return bed->pace[i].ns;
    return bed->call_ns;
}

/* Every call takes 30 us; the failing kernel fails after fails_after runs. */
static double duration(void *user, const struct assay_kernel *kernel, void *state,
                       const struct assay_work *work)
{
    struct bed *bed = user;
    if (state == &fake) {
        assert_int_equal(bed->last_step, -1);
        return probe_ns(work);
    }
    assert_true(bed->last_step >= 0); /* whoever runs was announced */
    if (bed->fails && strcmp(kernel->name, bed->fails) == 0 && bed->fails_after-- <= 0)
        return -1;
    return pace_of(bed, kernel) * (double)work->iters;
}

static void on_contenders(void *user, const struct assay_contender *contenders, int64_t n)
{
    struct bed *bed = user;
    assert_true(n <= MAX_RECORDS);
    bed->contenders = n;
    for (int64_t i = 0; i < n; i++)
        assay_kernel_label(contenders[i].kernel->name, contenders[i].recipe, bed->labels[i],
                           sizeof bed->labels[i]);
}

static void on_step(void *user, int64_t variant)
{
    struct bed *bed = user;
    assert_true(variant >= -1 && variant < bed->contenders + (variant < 0));
    bed->last_step = variant;
    bed->steps++;
}

static bool on_stop(void *user)
{
    struct bed *bed = user;
    return bed->stop_after >= 0 && bed->stop_asked++ >= bed->stop_after;
}

static void on_record(void *user, const struct assay_record *record)
{
    struct bed *bed = user;
    assert_true(bed->n_records < MAX_RECORDS);
    bed->records[bed->n_records++] = *record;
}

static void make_bed(struct bed *bed, const char *op, int64_t a, int64_t b, int64_t c)
{
    *bed = (struct bed){.stop_after = -1, .call_ns = 30e3, .activations_ns = 6e3};
    struct assay_null_script script = {.user = bed, .duration = duration};
    assert_int_equal(assay_null_open(&script, &bed->bench.host.device, NULL), ASSAY_OK);
    bed->bench.host.registry = assay_kernel_registry_create();
    assert_non_null(bed->bench.host.registry);
    static const char *const files[] = {PLUGINS "good.so", PLUGINS "wrong.so", PLUGINS "old.so",
                                        PLUGINS "wrong_linear.so"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct assay_error err = {0};
        if (assay_kernel_add_plugin(bed->bench.host.registry, files[i], &err) != ASSAY_OK)
            fail_msg("%s: %s (is it built?)", files[i], err.message);
    }
    bed->job = (struct assay_job){
        .group_index = 4,
        .group = {.dtype = ASSAY_DTYPE_F32, .n_axes = 3, .axes = {a, b, c}},
        .settings = {.device = "cpu",
                     .threads = 1,
                     .hot = true,
                     .precision = 0.01,
                     .budget_s = 1,
                     .timeout_s = 1,
                     .warmup = 1,
                     .rounds = 9,
                     .seed = 3},
    };
    snprintf(bed->job.group.op, sizeof bed->job.group.op, "%s", op);
}

static void ask_for(struct bed *bed, const char *implementations)
{
    assay_strings_fini(&bed->job.settings.implementations);
    assert_int_equal(assay_strings_split(&bed->job.settings.implementations, implementations),
                     ASSAY_OK);
}

static enum assay_status measure(struct bed *bed, struct assay_error *err)
{
    struct assay_group_hooks hooks = {.user = bed,
                                      .contenders = on_contenders,
                                      .step = on_step,
                                      .stop = on_stop,
                                      .record = on_record};
    bed->n_records = bed->contenders = bed->steps = bed->stop_asked = 0;
    return assay_group_run(&bed->bench, &bed->job, &hooks, err);
}

static void measure_well(struct bed *bed)
{
    struct assay_error err = {0};
    if (measure(bed, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
}

static void strip_bed(struct bed *bed)
{
    assert_int_equal(bed->bench.host.device->bytes_held, 0);
    assay_job_fini(&bed->job);
    assay_kernel_registry_destroy(bed->bench.host.registry);
    assay_device_close(bed->bench.host.device);
}

static const struct assay_record *record_of(const struct bed *bed, const char *kernel)
{
    for (int64_t i = 0; i < bed->n_records; i++)
        if (strcmp(bed->records[i].kernel, kernel) == 0)
            return &bed->records[i];
    fail_msg("no record of %s", kernel);
    return NULL;
}

/* 84 bytes of relu's 840 come from memory in each call, which has 2 instructions a cycle. */
static void count_fake(void *user, const struct assay_work *work, struct assay_counts *out)
{
    const struct bed *bed = user;
    assert_true(bed->last_step >= 0);
    out->cycles = 1000.0 * (double)work->iters;
    out->instructions = 2000.0 * (double)work->iters;
    out->memory_bytes = 84.0 * (double)work->iters;
    snprintf(out->missing, sizeof out->missing, "branch misses: as in the script");
}

static void count_on(struct bed *bed)
{
    struct assay_null_script script = {.user = bed, .duration = duration, .count = count_fake};
    assay_device_close(bed->bench.host.device);
    assert_int_equal(assay_null_open(&script, &bed->bench.host.device, NULL), ASSAY_OK);
    bed->job.settings.counters = true;
}

/* Set-ups of good.so that were not taken down. */
static int good_live(void)
{
    void *object = dlopen(PLUGINS "good.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(object);
    int (*live)(void);
    void *symbol = dlsym(object, "good_live");
    memcpy(&live, &symbol, sizeof live);
    int count = live();
    dlclose(object);
    return count;
}

static void test_a_good_kernel(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "relu", 3, 5, 7);
    ask_for(&bed, "good,ref");
    bed.job.settings.cold = true;
    measure_well(&bed);
    assert_int_equal(bed.n_records, 2);
    assert_int_equal(bed.contenders, 2);
    const struct assay_record *r = record_of(&bed, "good");
    assert_int_equal(r->outcome, ASSAY_OUTCOME_OK);
    assert_string_equal(r->reason, "");
    assert_int_equal(r->group, 4);
    assert_string_equal(r->op, "relu");
    assert_string_equal(r->title, "ReLU");
    assert_string_equal(r->implementation, "good");
    assert_string_equal(r->axis_names[2], "dim");
    assert_int_equal(r->axes[2], 7);
    assert_int_equal(r->seed, 3);
    assert_string_equal(r->baseline, "ref");
    assert_false(r->is_baseline || r->interrupted);
    assert_true(record_of(&bed, "relu_ref")->is_baseline);
    assert_near(r->bytes_read, 420, 0);
    assert_near(r->bytes_written, 420, 0);
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        assert_true(r->states[s].measured && r->states[s].has_ratio);
        assert_int_equal(r->states[s].time.n, 9);
        assert_near(r->states[s].time.median, 30e3, 1e-6);
        assert_near(r->states[s].ratio.ratio, 1, 1e-12);
    }
    assert_true(r->verification.done);
    assert_int_equal(r->verification.times, 3); /* before, after hot, after cold */
    assert_int_equal(r->verification.compared, 105);
    assert_int_equal(r->verification.of, 105);
    assert_int_equal(r->verification.mismatches, 0);
    assert_int_equal(good_live(), 0);
    strip_bed(&bed);
}

/* ---- a profiled pass ---- */

struct profiled {
    struct bed bed; /* first: hooks get it */
    int64_t records_then, measured, profiles, calls, memories, allocations;
    bool recorder_left;
};

static void on_measured(void *user)
{
    struct profiled *p = user;
    p->measured++;
    p->records_then = p->bed.n_records;
}

static void on_profile(void *user, const struct assay_profile *profile)
{
    struct profiled *p = user;
    assert_int_equal(p->bed.n_records, p->records_then); /* all are there, and none comes after */
    assert_int_equal(profile->group, 4);
    assert_int_equal(profile->variant, p->profiles);
    assert_string_equal(profile->kernel, p->bed.records[profile->variant].kernel);
    assert_string_equal(profile->state, "hot");
    assert_string_equal(profile->missing, "");
    assert_near(profile->median_ns, p->bed.records[profile->variant].states[0].time.median, 0);
    assert_int_equal(profile->samples[0].n, 9);
    assert_int_equal(profile->n_nodes, 1);
    for (int64_t i = 0; i < profile->n_spans; i++)
        p->calls += profile->spans[i].kind == ASSAY_SPAN_CALL;
    p->recorder_left = p->recorder_left || p->bed.bench.host.recorder;
    p->profiles++;
}

static void on_memory(void *user, const struct assay_memory_profile *profile)
{
    struct profiled *p = user;
    struct assay_memory_items items;
    assert_int_equal(p->bed.n_records, p->records_then);
    assert_int_equal(profile->group, 4);
    assert_string_equal(profile->kernel, p->bed.records[profile->variant].kernel);
    assert_string_equal(profile->missing, "");
    assert_int_equal(profile->calls, 2);
    assert_int_equal(assay_memory_items_make(profile, &items), ASSAY_OK);
    assert_true(items.left_bytes == 0);
    assert_true(items.peak >= 0 && items.in_use[items.peak] >= 2 * 3 * 5 * 7 * 4);
    p->allocations += items.allocations;
    p->recorder_left = p->recorder_left || p->bed.bench.host.memory;
    p->memories++;
    assay_memory_items_fini(&items);
}

/* What does not come from the scripted clock is left out. */
static void plain(struct assay_record *r)
{
    r->setup_ns = r->prepare_ns = r->system_peak_bytes = r->peak_bytes = r->workspace_bytes = 0;
}

static void measure_profiled(struct profiled *p, bool profile)
{
    struct assay_group_hooks hooks = {.user = p,
                                      .contenders = on_contenders,
                                      .step = on_step,
                                      .stop = on_stop,
                                      .record = on_record,
                                      .measured = on_measured,
                                      .profile = on_profile,
                                      .memory = on_memory};
    struct assay_error err = {0};
    *p = (struct profiled){.records_then = -1};
    make_bed(&p->bed, "relu", 3, 5, 7);
    ask_for(&p->bed, "good,ref,zeros");
    p->bed.job.settings.cold = true;
    p->bed.job.profile = p->bed.job.profile_memory = profile;
    if (assay_group_run(&p->bed.bench, &p->bed.job, &hooks, &err) != ASSAY_OK)
        fail_msg("%s", err.message);
    for (int64_t i = 0; i < p->bed.n_records; i++)
        plain(&p->bed.records[i]);
    strip_bed(&p->bed);
}

/* On a scripted clock: every byte of every record is the same with it and without. */
static void test_a_profile_comes_after_the_records_and_changes_none(void **state)
{
    (void)state;
    static struct profiled with, without;
    measure_profiled(&without, false);
    measure_profiled(&with, true);
    assert_int_equal(without.profiles, 0);
    assert_int_equal(with.measured, 1);
    assert_int_equal(with.profiles, 2); /* not of the wrong one */
    assert_int_equal(with.memories, 2);
    assert_int_equal(without.memories, 0);
    assert_true(with.allocations > 2 * 2); /* more than the operands */
    assert_true(with.calls >= 2 * 3);
    assert_false(with.recorder_left);
    assert_int_equal(with.bed.n_records, without.bed.n_records);
    for (int64_t i = 0; i < with.bed.n_records; i++) {
        assay_json *a = assay_record_to_json(&with.bed.records[i]);
        assay_json *b = assay_record_to_json(&without.bed.records[i]);
        struct assay_text one = {0}, other = {0};
        assay_json_write(a, 0, &one);
        assay_json_write(b, 0, &other);
        assert_string_equal(one.data, other.data);
        assay_json_free(a);
        assay_json_free(b);
        assay_text_fini(&one);
        assay_text_fini(&other);
    }
}

static void test_everything_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *kernel;
        enum assay_outcome outcome;
        const char *reason;
    } rows[] = {
        {"past_end", ASSAY_OUTCOME_MISMATCH,
         "wrote out of bounds: 4 bytes past the end of output 0"},
        {"before_start", ASSAY_OUTCOME_MISMATCH,
         "wrote out of bounds: 4 bytes before the start of output 0"},
        {"writes_input", ASSAY_OUTCOME_MISMATCH, "changed input 0"},
        {"zeros", ASSAY_OUTCOME_MISMATCH, "wrong, first at [0,0,0]: got 0, expected 1.5 (within "},
        {"unwritten", ASSAY_OUTCOME_MISMATCH,
         "left 1 of 105 elements of output 0 unwritten, first at [2,4,6]"},
        {"nan_answer", ASSAY_OUTCOME_MISMATCH, "105 of 105 wrong, first at [0,0,0]: got nan"},
        {"off_by_one", ASSAY_OUTCOME_MISMATCH, ", greatest error 1"},
        {"first_call_only", ASSAY_OUTCOME_MISMATCH,
         "left 105 of 105 elements of output 0 unwritten, first at [0,0,0]"},
        {"late_wrong", ASSAY_OUTCOME_MISMATCH, "1 of 105 wrong, first at [0,0,0]: got -1"},
        {"setup_nomem", ASSAY_OUTCOME_OUT_OF_MEMORY, "no room for the packed weights"},
        {"setup_refuses", ASSAY_OUTCOME_UNSUPPORTED, "only on Sundays"},
        {"setup_silently_fails", ASSAY_OUTCOME_FAILED, "setup said: device error"},
        {"run_error", ASSAY_OUTCOME_FAILED, "run said: device error"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bed bed;
        char both[64];
        make_bed(&bed, "relu", 3, 5, 7);
        snprintf(both, sizeof both, "good,ref,%s", rows[i].kernel);
        ask_for(&bed, both);
        bed.job.settings.cold = i % 2;
        measure_well(&bed);
        assert_int_equal(bed.n_records, 3);
        const struct assay_record *r = record_of(&bed, rows[i].kernel);
        if (r->outcome != rows[i].outcome || !strstr(r->reason, rows[i].reason))
            fail_msg("%s: %s: %s", r->kernel, assay_outcome_name(r->outcome), r->reason);
        strip_bed(&bed);
    }
}

/* One kernel's damage is not the next one's fault, whatever the order: two plug-ins' kernels come
 * after it and one before. */
static void test_the_innocent_are_not_blamed(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "relu", 3, 5, 7);
    ask_for(&bed, "past_end,before_start,writes_input,unwritten,prints,good,native");
    measure_well(&bed);
    for (int64_t i = 0; i < bed.n_records; i++) {
        const struct assay_record *r = &bed.records[i];
        bool innocent = strcmp(r->kernel, "prints") == 0 || strcmp(r->kernel, "good") == 0 ||
                        strcmp(r->implementation, "native") == 0;
        if ((r->outcome == ASSAY_OUTCOME_OK) != innocent)
            fail_msg("%s: %s", r->kernel, r->reason);
    }
    strip_bed(&bed);
}

static void test_a_kernel_that_fails_while_timed(void **state)
{
    (void)state;
    for (int64_t after = 0; after < 25; after++) {
        struct bed bed;
        make_bed(&bed, "relu", 3, 5, 7);
        ask_for(&bed, "good,ref");
        bed.fails = "relu_ref";
        bed.fails_after = after;
        measure_well(&bed);
        assert_int_equal(record_of(&bed, "good")->outcome, ASSAY_OUTCOME_OK);
        const struct assay_record *r = record_of(&bed, "relu_ref");
        assert_int_equal(r->outcome, ASSAY_OUTCOME_FAILED);
        assert_string_equal(r->reason, "run said: device error");
        strip_bed(&bed);
    }
}

/* Stopped at any question: what is told is true, and everything is taken down. */
static void test_interrupted_anywhere(void **state)
{
    (void)state;
    bool ended = false;
    for (int64_t after = 0; !ended; after++) {
        struct bed bed;
        struct assay_error err = {0};
        make_bed(&bed, "relu", 3, 5, 7);
        ask_for(&bed, "good,ref,zeros");
        bed.job.settings.cold = true;
        bed.stop_after = after;
        enum assay_status status = measure(&bed, &err);
        assert_int_equal(err.code, status);
        ended = status == ASSAY_OK;
        if (!ended)
            assert_int_equal(status, ASSAY_ERR_INTERRUPTED);
        for (int64_t i = 0; i < bed.n_records; i++) {
            const struct assay_record *r = &bed.records[i];
            bool zeros = strcmp(r->kernel, "zeros") == 0;
            if (r->outcome != (zeros ? ASSAY_OUTCOME_MISMATCH : ASSAY_OUTCOME_OK))
                fail_msg("stopped at %lld: %s: %s", (long long)after, r->kernel, r->reason);
            assert_int_equal(r->interrupted, !ended);
            if (!zeros)
                assert_true(r->states[0].measured);
        }
        if (ended)
            assert_int_equal(bed.n_records, 3);
        assert_int_equal(good_live(), 0);
        strip_bed(&bed);
        assert_true(after < 1000);
    }
}

static void test_nobody_to_measure(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "softmax", 3, 5, 7);
    ask_for(&bed, "good"); /* has only relu */
    measure_well(&bed);
    assert_int_equal(bed.n_records, 1);
    assert_int_equal(bed.records[0].outcome, ASSAY_OUTCOME_UNSUPPORTED);
    assert_string_equal(bed.records[0].reason, "none of the requested kernels implements this op");
    strip_bed(&bed);
}

static void test_the_excluded_stay_out(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "relu", 3, 5, 7);
    ask_for(&bed, "good,ref");
    assert_int_equal(assay_strings_add(&bed.job.exclude, "relu_ref"), ASSAY_OK);
    measure_well(&bed);
    assert_int_equal(bed.n_records, 1);
    assert_string_equal(bed.records[0].kernel, "good");
    assert_true(bed.records[0].is_baseline);
    assert_int_equal(assay_strings_add(&bed.job.exclude, "good"), ASSAY_OK);
    measure_well(&bed); /* all of them crashed: their records are the supervisor's */
    assert_int_equal(bed.n_records, 0);
    strip_bed(&bed);
}

static void test_a_dtype_nobody_has(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "relu", 3, 5, 7);
    ask_for(&bed, "good");
    bed.job.group.dtype = ASSAY_DTYPE_BF16;
    measure_well(&bed);
    assert_int_equal(bed.n_records, 1);
    assert_int_equal(bed.records[0].outcome, ASSAY_OUTCOME_UNSUPPORTED);
    assert_string_equal(bed.records[0].reason, "no bf16");
    strip_bed(&bed);
}

static void test_too_large_for_the_memory(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "relu", 1024, 1024, 1024); /* the null device has 1 GiB */
    measure_well(&bed);
    assert_int_equal(bed.n_records, 1);
    assert_int_equal(bed.records[0].outcome, ASSAY_OUTCOME_SKIPPED);
    assert_string_equal(bed.records[0].reason, "needs 8.6 GB of memory, 966.4 MB can be had");
    bed.job.group.axes[0] = bed.job.group.axes[1] = 8;
    bed.job.settings.memory_limit = 100000;
    measure_well(&bed);
    assert_int_equal(bed.records[0].outcome, ASSAY_OUTCOME_SKIPPED);
    assert_non_null(strstr(bed.records[0].reason, "kB of memory, 100.0 kB can be had"));
    strip_bed(&bed);
}

static void test_a_job_that_makes_no_sense(void **state)
{
    (void)state;
    struct bed bed;
    struct assay_error err = {0};
    make_bed(&bed, "nothing", 3, 5, 7);
    assert_int_equal(measure(&bed, &err), ASSAY_ERR_INVALID);
    snprintf(bed.job.group.op, sizeof bed.job.group.op, "relu");
    bed.job.group.axes[2] = 0;
    err = (struct assay_error){0};
    assert_int_equal(measure(&bed, &err), ASSAY_ERR_INVALID);
    assert_int_equal(bed.n_records, 0);
    strip_bed(&bed);
}

static void test_a_check_that_proves_nothing_is_mistrusted(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "cross_entropy", 3, 5, 1);
    ask_for(&bed, "ref");
    measure_well(&bed);
    assert_int_equal(bed.records[0].outcome, ASSAY_OUTCOME_MISTRUSTED);
    assert_string_equal(bed.records[0].reason, "an answer of all zeros would pass the check");
    assert_true(bed.records[0].states[0].measured);
    strip_bed(&bed);
}

/* A bed of relu, 840 bytes in 30 us, on a device whose probes need this long for a byte. */
static void make_probed_bed(struct bed *bed, struct assay_device_driver *driver, double byte_ns)
{
    make_bed(bed, "relu", 3, 5, 7);
    ask_for(bed, "ref,good");
    *driver = *bed->bench.host.device->driver;
    driver->probe_open = open_fake;
    driver->probe_close = close_fake;
    bed->bench.host.device->driver = driver;
    bed->bench.ceilings = (struct assay_ceilings){
        .device = "null",
        .threads = 1,
        .n_levels = 1,
        .levels = {{"memory", SIZE_MAX}},
        .n_points = 1,
        .points = {{840, {20e6, 20e6, 20e6, 20e6}}},
        .flops = {1e12, 1e12, 1e12, 1e12, 1e12},
    };
    bed->job.settings.rounds = 100; /* so that there are some with probes */
    memset(&fake, 0, sizeof fake);
    fake.byte_ns = byte_ns;
}

/* 840 us is the least by the probes of the same rounds, 42 us what was ever seen, and it took 10.
 */
static void test_faster_than_the_machine(void **state)
{
    (void)state;
    struct bed bed;
    struct assay_device_driver driver;
    make_probed_bed(&bed, &driver, 1000);
    bed.call_ns = 10e3;
    measure_well(&bed);
    assert_int_equal(bed.records[1].outcome, ASSAY_OUTCOME_IMPOSSIBLE);
    assert_non_null(strstr(bed.records[1].reason, "is faster than this machine can be"));
    assert_non_null(strstr(bed.records[1].reason, "bound by memory"));
    assert_int_equal(fake.opened, 1); /* one for both, and none of arithmetic, which is far below */
    assert_int_equal(fake.closed, 1);
    strip_bed(&bed);
}

static void test_counts_are_of_one_call(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "relu", 3, 5, 7);
    ask_for(&bed, "good,ref,wrong");
    bed.job.settings.cold = true;
    measure_well(&bed);
    assert_false(record_of(&bed, "good")->states[0].has_counts); /* nobody asked */
    double before = record_of(&bed, "good")->states[0].time.median;
    count_on(&bed);
    measure_well(&bed);
    for (int cache = 0; cache < ASSAY_CACHE_STATES; cache++) {
        const struct assay_measurement *m = &record_of(&bed, "good")->states[cache];
        assert_true(m->has_counts);
        assert_int_equal(m->counts.calls, 3333); /* of 30 us in 100 ms */
        assert_near(m->counts.cycles, 1000, 1e-6);
        assert_near(m->counts.instructions, 2000, 1e-6);
        assert_near(m->memory_frac, 0.1, 1e-9);
        assert_true(isnan(m->counts.cache_misses));
        assert_string_equal(m->counts.missing, "branch misses: as in the script");
    }
    assert_near(record_of(&bed, "good")->states[0].time.median, before, 1e-9);
    for (int64_t i = 0; i < bed.n_records; i++)
        if (bed.records[i].outcome == ASSAY_OUTCOME_MISMATCH)
            assert_false(bed.records[i].states[0].has_counts);
    strip_bed(&bed);
}

static void test_counts_where_nobody_counts(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "relu", 3, 5, 7);
    ask_for(&bed, "good");
    bed.job.settings.counters = true;
    struct assay_device_driver driver = *bed.bench.host.device->driver;
    driver.counters = NULL; /* as a GPU's */
    bed.bench.host.device->driver = &driver;
    measure_well(&bed);
    const struct assay_measurement *m = &record_of(&bed, "good")->states[0];
    assert_int_equal(record_of(&bed, "good")->outcome, ASSAY_OUTCOME_OK);
    assert_true(m->has_counts && m->counts.calls == 0 && isnan(m->counts.cycles));
    assert_true(isnan(m->memory_frac));
    assert_non_null(strstr(m->counts.missing, "not counted"));
    strip_bed(&bed);
}

static void test_counts_explain_the_impossible(void **state)
{
    (void)state;
    struct bed bed;
    struct assay_device_driver driver;
    make_probed_bed(&bed, &driver, 1000);
    count_on(&bed);
    driver.counters = bed.bench.host.device->driver->counters;
    bed.bench.host.device->driver = &driver;
    bed.call_ns = 10e3;
    measure_well(&bed);
    assert_int_equal(bed.records[1].outcome, ASSAY_OUTCOME_IMPOSSIBLE);
    assert_non_null(strstr(bed.records[1].reason, "is faster than this machine can be"));
    assert_non_null(strstr(bed.records[1].reason,
                           "; hot it moved about 0.1 of its least bytes from memory: they were in "
                           "a cache"));
    strip_bed(&bed);
}

/* 21 us: 70 % of what the machine can do, which was seen to do half of it. That it does more is
 * remembered; as cold work so small says nothing of the curve, only hot work tells. */
static void test_efficiency_is_by_probes_hot_and_cold(void **state)
{
    (void)state;
    struct bed bed;
    struct assay_device_driver driver;
    make_probed_bed(&bed, &driver, 25);
    bed.job.settings.cold = true;
    measure_well(&bed);
    assert_int_equal(bed.n_records, 2);
    for (int i = 0; i < 2; i++)
        for (int cache = 0; cache < ASSAY_CACHE_STATES; cache++) {
            const struct assay_measurement *m = &bed.records[i].states[cache];
            assert_int_equal(bed.records[i].outcome, ASSAY_OUTCOME_OK);
            assert_near(m->efficiency, 0.7, 1e-9);
            assert_near(m->ceiling_ns, 21e3, 1e-6);
            assert_true(m->ceiling_rounds >= 10 && m->ceiling_rounds < 80);
            assert_string_equal(m->bound, "memory");
            assert_near(m->machine_frac, cache == ASSAY_CACHE_HOT ? 2 : 0, 1e-9);
        }
    assert_int_equal(fake.opened, 2);
    assert_int_equal(fake.closed, 2);
    assert_near(bed.bench.ceilings.points[0].rates[ASSAY_PROBE_COPY], 40e6, 1);
    struct assay_ceilings remembered;
    assert_int_equal(assay_ceilings_load("null", 1, &remembered, NULL), ASSAY_OK);
    assert_near(remembered.points[0].rates[ASSAY_PROBE_COPY], 40e6, 1);
    assert_near(remembered.points[0].rates[ASSAY_PROBE_READ], 20e6, 0);
    strip_bed(&bed);
}

static void test_without_ceilings_nothing_is_probed(void **state)
{
    (void)state;
    struct bed bed;
    struct assay_device_driver driver;
    make_probed_bed(&bed, &driver, 1000);
    bed.job.settings.no_ceiling = true;
    measure_well(&bed);
    assert_int_equal(fake.opened + fake.runs, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bed.records[i].outcome, ASSAY_OUTCOME_OK);
        assert_near(bed.records[i].states[0].efficiency, 0, 0);
    }
    strip_bed(&bed);
}

/* Whatever ends a group, what was opened is closed. */
static void test_probes_are_closed_wherever_it_stops(void **state)
{
    (void)state;
    for (int64_t after = 0; after < 300; after += 7) {
        struct bed bed;
        struct assay_device_driver driver;
        make_probed_bed(&bed, &driver, 25);
        bed.stop_after = after;
        struct assay_error err = {0};
        measure(&bed, &err);
        assert_int_equal(fake.closed, fake.opened);
        strip_bed(&bed);
    }
    assert_int_equal(fake.opened, 1);
    assert_true(fake.runs > 0);
}

static void test_the_baseline_asked_for(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "relu", 3, 5, 7);
    ask_for(&bed, "good,ref,zeros");
    snprintf(bed.job.settings.baseline, sizeof bed.job.settings.baseline, "GOOD");
    measure_well(&bed);
    assert_true(record_of(&bed, "good")->is_baseline);
    assert_string_equal(record_of(&bed, "relu_ref")->baseline, "good");
    /* One that is not right is not replaced by another. */
    snprintf(bed.job.settings.baseline, sizeof bed.job.settings.baseline, "zeros");
    measure_well(&bed);
    assert_false(record_of(&bed, "relu_ref")->is_baseline);
    assert_string_equal(record_of(&bed, "relu_ref")->baseline, "");
    assert_false(record_of(&bed, "relu_ref")->states[ASSAY_CACHE_HOT].has_ratio);
    strip_bed(&bed);
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct bed bed;
        struct assay_error err = {0};
        make_bed(&bed, "relu", 3, 5, 7);
        ask_for(&bed, "good,ref");
        assay_alloc_fail_after(nth);
        status = measure(&bed, &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        assert_int_equal(good_live(), 0);
        if (status == ASSAY_OK && (bed.records[0].outcome == ASSAY_OUTCOME_OUT_OF_MEMORY ||
                                   !record_of(&bed, "good")->states[0].measured))
            status = ASSAY_ERR_NOMEM; /* none for operands or statistics: told, and no crash */
        strip_bed(&bed);
        assert_true(nth < 200);
    }
}

/* A plug-in from before kernels had prepare, with rubbish behind its struct. */
static void test_an_older_plugin_works(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "relu", 3, 5, 7);
    ask_for(&bed, "old,ref");
    bed.job.settings.cold = true;
    measure_well(&bed);
    const struct assay_record *r = record_of(&bed, "old");
    assert_int_equal(r->outcome, ASSAY_OUTCOME_OK);
    assert_true(r->states[ASSAY_CACHE_COLD].measured);
    assert_string_equal(r->note, "");
    assert_near(r->prepare_ns, 0, 0);
    strip_bed(&bed);
}

/* ---- recipes --------------------------------------------------------------------------------- */

static void make_linear(struct bed *bed, int64_t m, int64_t k, int64_t n,
                        const char *implementations, const char *recipes)
{
    make_bed(bed, "linear", m, k, n);
    ask_for(bed, implementations);
    assert_int_equal(assay_strings_split(&bed->job.settings.recipes, recipes), ASSAY_OK);
}

/* "right/int8wo" */
static const struct assay_record *row_of(const struct bed *bed, const char *wanted)
{
    for (int64_t i = 0; i < bed->n_records; i++) {
        char label[96];
        assay_kernel_label(bed->records[i].kernel, bed->records[i].recipe, label, sizeof label);
        if (strcmp(label, wanted) == 0)
            return &bed->records[i];
    }
    fail_msg("no record of %s", wanted);
    return NULL;
}

static void test_recipes_times_kernels(void **state)
{
    (void)state;
    static const char *const labels[] = {"linear_ref/baseline",  "right/baseline",
                                         "linear_ref/int8wo",    "right/int8wo",
                                         "linear_ref/int4wo-32", "right/int4wo-32"};
    static const double weights[] = {5 * 64 * 4, 5 * 64 + 5 * 4, 5 * 32 + 5 * 2 * 2 * 4};
    struct bed bed;
    make_linear(&bed, 3, 64, 5, "right,ref", "int8wo,Baseline,int4wo-32"); /* baseline goes first */
    bed.job.settings.cold = true;
    measure_well(&bed);
    assert_int_equal(bed.contenders, 6);
    assert_int_equal(bed.n_records, 6);
    for (int i = 0; i < 6; i++) {
        const struct assay_record *r = &bed.records[i];
        bool right = strcmp(r->implementation, "right") == 0;
        if (r->outcome != ASSAY_OUTCOME_OK)
            fail_msg("%s: %s", labels[i], r->reason);
        assert_string_equal(bed.labels[i], labels[i]);
        assert_ptr_equal(row_of(&bed, labels[i]), r);
        assert_int_equal(r->variant, i);
        assert_string_equal(r->note, right ? "plain loops" : "");
        assert_near(r->weight_bytes, weights[i / 2], 0);
        assert_near(r->bytes_read, weights[i / 2] + 3 * 64 * 4, 0);
        assert_int_equal(r->prepare_ns > 0, right);
        assert_true(r->verification.exact);
        assert_int_equal(r->verification.times, 4); /* on integers, before, after hot, after cold */
        assert_int_equal(r->verification.compared, 15);
        assert_true(r->states[0].measured && r->states[1].measured);
        assert_int_equal(r->is_baseline, i == 0);
        assert_string_equal(r->baseline, "ref");
        assert_true(isnan(r->activation_share));
    }
    for (int i = 0; i < 2; i++) { /* how far from the product of the weights as they were */
        assert_true(bed.records[i].accuracy_db > 100);
        assert_true(bed.records[2 + i].accuracy_db > 30 && bed.records[2 + i].accuracy_db < 60);
        assert_true(bed.records[4 + i].accuracy_db > 10 && bed.records[4 + i].accuracy_db < 30);
    }
    strip_bed(&bed);
}

static void test_without_recipes_there_is_the_baseline(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed, "linear", 3, 64, 5);
    ask_for(&bed, "right");
    snprintf(bed.job.group.mode, sizeof bed.job.group.mode, "bias+gelu");
    snprintf(bed.job.group.label, sizeof bed.job.group.label, "a.label");
    measure_well(&bed);
    assert_int_equal(bed.n_records, 1);
    assert_string_equal(bed.records[0].recipe, "baseline");
    assert_int_equal(bed.records[0].outcome, ASSAY_OUTCOME_UNSUPPORTED);
    assert_string_equal(bed.records[0].reason, "no modes");
    assert_string_equal(bed.records[0].mode, "bias+gelu");
    assert_string_equal(bed.records[0].label, "a.label");
    ask_for(&bed, "ref");
    measure_well(&bed);
    assert_int_equal(bed.records[0].outcome, ASSAY_OUTCOME_OK);
    assert_false(bed.records[0].verification.exact); /* gelu is not */
    assert_int_equal(bed.records[0].verification.times, 3);
    strip_bed(&bed);
    make_linear(&bed, 3, 64, 5, "good", "int8wo"); /* for an op that takes none */
    snprintf(bed.job.group.op, sizeof bed.job.group.op, "relu");
    measure_well(&bed);
    assert_int_equal(bed.n_records, 1);
    assert_string_equal(bed.records[0].recipe, "");
    assert_true(isnan(bed.records[0].accuracy_db));
    assert_false(bed.records[0].pareto);
    strip_bed(&bed);
}

static void test_integers_in_and_out(void **state)
{
    (void)state;
    struct bed bed;
    make_linear(&bed, 3, 65, 5, "ref", "baseline,int8wo");
    bed.job.group.dtype = ASSAY_DTYPE_S8;
    measure_well(&bed);
    assert_int_equal(row_of(&bed, "linear_ref/baseline")->outcome, ASSAY_OUTCOME_OK);
    assert_true(isinf(row_of(&bed, "linear_ref/baseline")->accuracy_db));
    assert_int_equal(row_of(&bed, "linear_ref/int8wo")->outcome, ASSAY_OUTCOME_UNSUPPORTED);
    strip_bed(&bed);
}

/* A library that has only the plain product is shown with that, and where it was asked for. */
static void test_refusals_do_not_fill_the_table(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        struct bed bed;
        int refused = 0;
        make_linear(&bed, 3, 64, 5, "transposed,rounded_sums,right", "int8wo,int4wo-32");
        if (!asked)
            assay_strings_fini(&bed.job.settings.implementations);
        measure_well(&bed);
        for (int64_t i = 0; i < bed.n_records; i++) {
            const struct assay_record *r = &bed.records[i];
            bool plugin = strcmp(r->implementation, "transposed") == 0 ||
                          strcmp(r->implementation, "rounded_sums") == 0;
            if (plugin) {
                assert_int_equal(r->outcome, ASSAY_OUTCOME_UNSUPPORTED);
                refused++;
            }
        }
        assert_int_equal(refused, asked ? 6 : 2);
        strip_bed(&bed);
    }
}

static void test_an_excluded_kernel_makes_room_for_the_next(void **state)
{
    (void)state;
    struct bed bed;
    make_linear(&bed, 3, 64, 5, "right", "int8wo");
    assert_int_equal(assay_strings_add(&bed.job.exclude, "right/int8wo"), ASSAY_OK);
    measure_well(&bed);
    assert_int_equal(bed.n_records, 2);
    assert_int_equal(row_of(&bed, "right/baseline")->outcome, ASSAY_OUTCOME_OK);
    assert_int_equal(row_of(&bed, "right_plain/int8wo")->outcome, ASSAY_OUTCOME_OK);
    assert_near(row_of(&bed, "right_plain/int8wo")->prepare_ns, 0, 0);
    assert_int_equal(assay_strings_add(&bed.job.exclude, "right_plain/int8wo"), ASSAY_OK);
    measure_well(&bed);
    assert_int_equal(bed.n_records, 1);
    assert_string_equal(bed.records[0].recipe, "baseline");
    strip_bed(&bed);
}

static void test_planted_mistakes_are_found(void **state)
{
    (void)state;
    static const char *const mistakes[] = {"wrong_scale", "swapped_group", "short_k",
                                           "short_n",     "transposed",    "rounded_sums",
                                           "cached",      "stale_weights"};
    static const int64_t shapes[][3] = {{5, 64, 5}, {33, 128, 48}, {1, 96, 2}};
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16};
    int found[8] = {0};
    for (int d = 0; d < 2; d++)
        for (int shape = 0; shape < 3; shape++)
            for (int i = 0; i < 8; i++) {
                struct bed bed;
                char who[64];
                snprintf(who, sizeof who, "right,%s", mistakes[i]);
                make_linear(&bed, shapes[shape][0], shapes[shape][1], shapes[shape][2], who,
                            "int8wo,int8dq,int4wo-32");
                bed.job.group.dtype = dtypes[d];
                bed.job.settings.cold = shape == 0;
                bed.job.settings.rounds = 2;
                bed.call_ns = bed.activations_ns =
                    25e6; /* so long that once is enough for a sample */
                measure_well(&bed);
                assert_int_equal(bed.n_records, 8);
                for (int64_t r = 0; r < 8; r++) {
                    const struct assay_record *row = &bed.records[r];
                    bool planted = strcmp(row->kernel, "right") != 0;
                    if (planted && row->outcome == ASSAY_OUTCOME_UNSUPPORTED)
                        continue;
                    found[i] += planted;
                    if (row->outcome != (planted ? ASSAY_OUTCOME_MISMATCH : ASSAY_OUTCOME_OK))
                        fail_msg("%s/%s %s shape %d: %s %s", row->kernel, row->recipe,
                                 assay_dtype_name(dtypes[d]), shape,
                                 assay_outcome_name(row->outcome), row->reason);
                }
                strip_bed(&bed);
            }
    for (int i = 0; i < 8; i++)
        assert_true(found[i] > 0);
}

static void test_preparing_can_fail(void **state)
{
    (void)state;
    struct bed bed;
    make_linear(&bed, 3, 64, 5, "unable,no_room,one_set,right", "baseline");
    bed.job.settings.cold = true;
    measure_well(&bed);
    assert_int_equal(row_of(&bed, "right/baseline")->outcome, ASSAY_OUTCOME_OK);
    assert_int_equal(row_of(&bed, "unable/baseline")->outcome, ASSAY_OUTCOME_UNSUPPORTED);
    assert_string_equal(row_of(&bed, "unable/baseline")->reason, "not on a Monday");
    assert_int_equal(row_of(&bed, "no_room/baseline")->outcome, ASSAY_OUTCOME_OUT_OF_MEMORY);
    assert_string_equal(row_of(&bed, "no_room/baseline")->reason, "prepare said: out of memory");
    const struct assay_record *r = row_of(&bed, "one_set/baseline");
    assert_int_equal(r->outcome, ASSAY_OUTCOME_OUT_OF_MEMORY);
    assert_true(r->states[ASSAY_CACHE_HOT].measured);
    assert_false(r->states[ASSAY_CACHE_COLD].measured);
    strip_bed(&bed);
}

/* k does not divide into groups, and one kernel has no can_run to say so: its row is at fault, not
 * the group. Where it fits, what it computes is not the recipe. */
static void test_a_kernel_ignorant_of_recipes_harms_only_itself(void **state)
{
    (void)state;
    struct bed bed;
    make_linear(&bed, 3, 96, 5, "right,ignorant", "int4wo-64,int4wo-32");
    measure_well(&bed);
    assert_int_equal(row_of(&bed, "right/baseline")->outcome, ASSAY_OUTCOME_OK);
    assert_int_equal(row_of(&bed, "right/int4wo-32")->outcome, ASSAY_OUTCOME_OK);
    assert_int_equal(row_of(&bed, "ignorant/baseline")->outcome, ASSAY_OUTCOME_OK);
    assert_int_equal(row_of(&bed, "ignorant/int4wo-32")->outcome, ASSAY_OUTCOME_MISMATCH);
    const struct assay_record *r = row_of(&bed, "ignorant/int4wo-64");
    assert_int_equal(r->outcome, ASSAY_OUTCOME_UNSUPPORTED);
    assert_non_null(strstr(r->reason, "group 64 does not divide k = 96"));
    strip_bed(&bed);
}

/* ---- the share of the activations ------------------------------------------------------------ */

static void test_the_share_of_the_activations(void **state)
{
    (void)state;
    struct bed bed;
    make_linear(&bed, 3, 64, 5, "right,ref", "int8wo,int8dq");
    bed.job.settings.cold = true;
    measure_well(&bed);
    assert_int_equal(bed.n_records, 6); /* the lanes that time it are no rows */
    for (int64_t i = 0; i < 6; i++) {
        const struct assay_record *r = &bed.records[i];
        bool quantises = strcmp(r->kernel, "right") == 0 && strcmp(r->recipe, "int8dq") == 0;
        assert_int_equal(r->outcome, ASSAY_OUTCOME_OK);
        assert_near(r->states[ASSAY_CACHE_HOT].time.median, 30e3, 1e-6);
        if (quantises)
            assert_near(r->activation_share, 0.2, 1e-9);
        else
            assert_true(isnan(r->activation_share));
    }
    strip_bed(&bed);
}

/* ---- the front ------------------------------------------------------------------------------- */

static void assert_front(const struct bed *bed, const char *label, bool on_it)
{
    const struct assay_record *r = row_of(bed, label);
    if (r->pareto != on_it)
        fail_msg("%s is%s on the front", label, r->pareto ? "" : " not");
}

/* All take the same time: with the same bytes and accuracy rows are equals, and both are marked;
 * less accuracy pays for itself in bytes. */
static void test_equals_share_the_front(void **state)
{
    (void)state;
    struct bed bed;
    make_linear(&bed, 3, 64, 5, "right,ref,short_k", "int8wo,int4wo-32");
    bed.pace[0].label = "short_k/int8wo"; /* the fastest, and wrong */
    bed.pace[0].ns = 1e3;
    measure_well(&bed);
    assert_int_equal(bed.n_records, 9);
    for (int64_t i = 0; i < 9; i++) {
        const struct assay_record *r = &bed.records[i];
        assert_int_equal(r->outcome == ASSAY_OUTCOME_OK, strcmp(r->kernel, "short_k") != 0);
        assert_int_equal(r->pareto, r->outcome == ASSAY_OUTCOME_OK);
    }
    strip_bed(&bed);
}

static void test_the_dominated_are_not_on_the_front(void **state)
{
    (void)state;
    struct bed bed;
    make_linear(&bed, 3, 64, 5, "right,ref", "int8wo,int8dq,int4wo-32");
    bed.pace[0].label = "right/baseline"; /* slower than the other baseline */
    bed.pace[0].ns = 90e3;
    bed.pace[1].label = "linear_ref/int8wo"; /* slower than the other int8wo */
    bed.pace[1].ns = 30.2e3;
    bed.pace[2].label = "right/int4wo-32"; /* slower than all but one, and the smallest */
    bed.pace[2].ns = 60e3;
    bed.pace[3].label = "linear_ref/int4wo-32";
    bed.pace[3].ns = 60e3;
    measure_well(&bed);
    assert_front(&bed, "linear_ref/baseline", true);
    assert_front(&bed, "right/baseline", false);
    assert_front(&bed, "linear_ref/int8wo", false);
    assert_front(&bed, "right/int8wo", true);
    assert_front(&bed, "linear_ref/int8dq", false); /* as large and as fast as int8wo, less exact */
    assert_front(&bed, "right/int8dq", false);
    assert_front(&bed, "right/int4wo-32", true);
    assert_front(&bed, "linear_ref/int4wo-32", true);
    strip_bed(&bed);
}

static void test_an_answer_that_cannot_be_trusted_is_not_on_the_front(void **state)
{
    (void)state;
    bool met = false;
    for (uint64_t seed = 1; seed < 40 && !met;
         seed++) { /* one output element, and relu makes it 0 */
        struct bed bed;
        make_linear(&bed, 1, 7, 1, "ref", "baseline");
        snprintf(bed.job.group.mode, sizeof bed.job.group.mode, "relu");
        bed.job.settings.seed = seed;
        measure_well(&bed);
        met = bed.records[0].outcome == ASSAY_OUTCOME_MISTRUSTED;
        assert_int_equal(bed.records[0].pareto, !met);
        strip_bed(&bed);
    }
    assert_true(met);
}

/* ---- interrupted, and without memory --------------------------------------------------------- */

static void test_recipes_interrupted_anywhere(void **state)
{
    (void)state;
    bool ended = false;
    for (int64_t after = 0; !ended; after++) {
        struct bed bed;
        struct assay_error err = {0};
        make_linear(&bed, 2, 32, 3, "right,ref,short_k", "int8dq");
        bed.call_ns = bed.activations_ns = 25e6;
        bed.job.settings.rounds = 3;
        bed.job.settings.cold = true;
        bed.stop_after = after;
        enum assay_status status = measure(&bed, &err);
        assert_int_equal(err.code, status);
        ended = status == ASSAY_OK;
        if (!ended)
            assert_int_equal(status, ASSAY_ERR_INTERRUPTED);
        for (int64_t i = 0; i < bed.n_records; i++) {
            const struct assay_record *r = &bed.records[i];
            bool wrong = strcmp(r->kernel, "short_k") == 0;
            if (r->outcome != (wrong ? ASSAY_OUTCOME_MISMATCH : ASSAY_OUTCOME_OK))
                fail_msg("stopped at %lld: %s: %s", (long long)after, r->kernel, r->reason);
            if (!wrong)
                assert_true(r->states[0].measured);
        }
        if (ended)
            assert_int_equal(bed.n_records, 6);
        strip_bed(&bed);
        assert_true(after < 2000);
    }
}

static void test_no_allocation_of_recipes_is_taken_for_granted(void **state)
{
    (void)state;
    bool well = false;
    for (int64_t nth = 1; !well; nth++) {
        struct bed bed;
        struct assay_error err = {0};
        make_linear(&bed, 2, 32, 3, "right,ref", "int8dq");
        bed.call_ns = bed.activations_ns = 25e6; /* of long samples few are asked for */
        bed.job.settings.rounds = 3;
        bed.job.settings.cold = true;
        assay_alloc_fail_after(nth);
        enum assay_status status = measure(&bed, &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        well = status == ASSAY_OK && bed.n_records == 4;
        for (int64_t i = 0; i < bed.n_records; i++) /* not measured, or without a share: no crash */
            well = well && bed.records[i].outcome == ASSAY_OUTCOME_OK &&
                   bed.records[i].states[0].measured && bed.records[i].states[1].measured;
        well = well && !isnan(row_of(&bed, "right/int8dq")->activation_share);
        strip_bed(&bed);
        assert_true(nth < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_kernel),
        cmocka_unit_test(test_a_profile_comes_after_the_records_and_changes_none),
        cmocka_unit_test(test_counts_are_of_one_call),
        cmocka_unit_test(test_counts_where_nobody_counts),
        cmocka_unit_test(test_counts_explain_the_impossible),
        cmocka_unit_test(test_everything_wrong_is_named),
        cmocka_unit_test(test_the_innocent_are_not_blamed),
        cmocka_unit_test(test_a_kernel_that_fails_while_timed),
        cmocka_unit_test(test_interrupted_anywhere),
        cmocka_unit_test(test_nobody_to_measure),
        cmocka_unit_test(test_the_excluded_stay_out),
        cmocka_unit_test(test_a_dtype_nobody_has),
        cmocka_unit_test(test_too_large_for_the_memory),
        cmocka_unit_test(test_a_job_that_makes_no_sense),
        cmocka_unit_test(test_a_check_that_proves_nothing_is_mistrusted),
        cmocka_unit_test(test_faster_than_the_machine),
        cmocka_unit_test_setup_teardown(test_efficiency_is_by_probes_hot_and_cold, temporary_make,
                                        temporary_remove),
        cmocka_unit_test(test_without_ceilings_nothing_is_probed),
        cmocka_unit_test_setup_teardown(test_probes_are_closed_wherever_it_stops, temporary_make,
                                        temporary_remove),
        cmocka_unit_test(test_the_baseline_asked_for),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
        cmocka_unit_test(test_an_older_plugin_works),
        cmocka_unit_test(test_recipes_times_kernels),
        cmocka_unit_test(test_without_recipes_there_is_the_baseline),
        cmocka_unit_test(test_integers_in_and_out),
        cmocka_unit_test(test_refusals_do_not_fill_the_table),
        cmocka_unit_test(test_an_excluded_kernel_makes_room_for_the_next),
        cmocka_unit_test(test_planted_mistakes_are_found),
        cmocka_unit_test(test_preparing_can_fail),
        cmocka_unit_test(test_a_kernel_ignorant_of_recipes_harms_only_itself),
        cmocka_unit_test(test_the_share_of_the_activations),
        cmocka_unit_test(test_equals_share_the_front),
        cmocka_unit_test(test_the_dominated_are_not_on_the_front),
        cmocka_unit_test(test_an_answer_that_cannot_be_trusted_is_not_on_the_front),
        cmocka_unit_test(test_recipes_interrupted_anywhere),
        cmocka_unit_test(test_no_allocation_of_recipes_is_taken_for_granted),
    };
    omp_set_num_threads(1); /* of the references: small ones, many times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
