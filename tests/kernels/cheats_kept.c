/* cheats_kept.c: gelu kernels that keep answers and give them again, or leave calls out, by many
 * kinds of keys. */
#include "cheat.h"

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/uio.h>

/* ---- by what the inputs hold ---- */

static void kept_full(struct call *c) { give_or_compute(c, checksum(c->in, c->n, 1)); }
CHEAT(gelu, kept_full)

/* 64 elements of all. */
static void kept_sampled(struct call *c)
{
    give_or_compute(c, checksum(c->in, c->n, c->n / 64 + 1));
}
CHEAT(gelu, kept_sampled)

/* Two elements: the very first is the same in all of assay's fills. */
static void kept_first_element(struct call *c)
{
    give_or_compute(c, (uint64_t)bits_of(c->in[c->n > 1]) << 32 | bits_of(c->in[c->n - 1]));
}
CHEAT(gelu, kept_first_element)

/* Knows the values again where they were moved round by some elements. */
struct rotated {
    uint64_t sum;
    float *in, *out;
};

static uint64_t sum_in_any_order(const float *in, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (uint64_t)bits_of(in[i]) * 2654435761u;
    return sum;
}

static void give_rotated(struct call *c, const struct rotated *r)
{
    int64_t n = c->n, shift = 0;
    while (shift < n && (c->in[shift] != r->in[0] || c->in[(shift + 1) % n] != r->in[1 % n]))
        shift++;
    if (shift == n) {
        compute(c);
        return;
    }
    memcpy(c->out + shift, r->out, (size_t)(n - shift) * sizeof *r->out);
    memcpy(c->out, r->out + n - shift, (size_t)shift * sizeof *r->out);
}

static void kept_rotated(struct call *c)
{
    struct rotated *r = c->own->own;
    size_t bytes = (size_t)c->n * sizeof(float);
    uint64_t sum = sum_in_any_order(c->in, c->n);
    if (r && r->sum == sum) {
        give_rotated(c, r);
        return;
    }
    compute(c);
    if (!r)
        r = c->own->own = malloc(sizeof *r + 2 * bytes);
    if (!r)
        return;
    *r = (struct rotated){sum, (float *)(r + 1), (float *)(r + 1) + c->n};
    memcpy(r->in, c->in, bytes);
    memcpy(r->out, c->out, bytes);
}
CHEAT(gelu, kept_rotated)

/* Waits before it gives what it has: three quarters of the time that computing took. */
static void kept_modest(struct call *c)
{
    int64_t start = now_ns();
    uint64_t key = checksum(c->in, c->n, 16);
    const float *known = find(c->own, key);
    int64_t *took = c->own->own ? c->own->own : (c->own->own = calloc(1, sizeof(int64_t)));
    if (known) {
        give(c, known);
        wait_until(start + *took * 3 / 4);
        return;
    }
    compute(c);
    *took = now_ns() - start;
    keep(c->own, key, c->out);
}
CHEAT(gelu, kept_modest)

/* Is slow at first, so that checks look expensive. */
static void kept_slow_start(struct call *c)
{
    if (c->own->calls < 40)
        wait_until(now_ns() + 8000000);
    kept_sampled(c);
}
CHEAT(gelu, kept_slow_start)

/* ---- by where the operands lie ---- */

static void kept_by_address(struct call *c)
{
    give_or_compute(c, (uint64_t)(uintptr_t)c->in * 31 + (uint64_t)(uintptr_t)c->out);
}
CHEAT(gelu, kept_by_address)

static void kept_by_set(struct call *c)
{
    give_or_compute(c, (uint64_t)assay_work_set(c->work, c->index));
}
CHEAT(gelu, kept_by_set)

/* The output still holds what the last call left there. */
static void skips_same_output(struct call *c)
{
    if (find(c->own, (uint64_t)(uintptr_t)c->out) && c->own->calls % 50)
        return;
    compute(c);
    keep(c->own, (uint64_t)(uintptr_t)c->out, c->out);
}
CHEAT(gelu, skips_same_output)

/* ---- by time ---- */

/* Whoever changes inputs needs time for it: calls right after each other have the same. */
static void kept_between_gaps(struct call *c)
{
    if (c->index == 0 && now_ns() - c->own->returned_ns > 5000)
        compute(c);
    else if (c->work->n_sets > 1)
        compute(c);
}
CHEAT(gelu, kept_between_gaps)

/* Looking at an answer takes a while: one that comes after less is not looked at. */
static void kept_until_long_gap(struct call *c)
{
    if (now_ns() - c->own->returned_ns > 3000000 || c->own->calls < 8)
        compute(c);
}
CHEAT(gelu, kept_until_long_gap)

/* ---- by the number of calls ---- */

static void kept_after_40(struct call *c)
{
    if (c->own->calls <= 40)
        compute(c);
    else
        give_or_compute(c, (uint64_t)(uintptr_t)c->in);
}
CHEAT(gelu, kept_after_40)

static void every_16th(struct call *c)
{
    if (c->own->calls % 16 == 1 || c->own->calls < 8)
        compute(c);
}
CHEAT(gelu, every_16th)

static void honest_when_alone(struct call *c)
{
    if (c->work->iters == 1 || c->index == 0)
        compute(c);
}
CHEAT(gelu, honest_when_alone)

static void honest_when_few(struct call *c)
{
    if (c->work->iters <= 8 || c->index == c->work->iters - 1)
        compute(c);
}
CHEAT(gelu, honest_when_few)

static void honest_when_odd(struct call *c)
{
    if (c->work->iters % 2 || c->own->calls < 8)
        compute(c);
}
CHEAT(gelu, honest_when_odd)

/* The longer it is watched the less it does. */
static void tires_slowly(struct call *c)
{
    if ((int64_t)(mix((uint64_t)c->own->calls) % 256) >= c->own->calls)
        compute(c);
}
CHEAT(gelu, tires_slowly)

/* A tenth of the calls, at random. */
static void skips_one_in_ten(struct call *c)
{
    if (c->own->calls < 8 || mix((uint64_t)c->own->calls * 77) % 10)
        compute(c);
}
CHEAT(gelu, skips_one_in_ten)

/* ---- by what the output holds ---- */

/* Any NaN, or bytes that are all set, in 64 elements of the output. */
static void looks_for_patterns(struct call *c)
{
    for (int64_t i = 0; i < c->n; i += c->n / 64 + 1)
        if (isnan(c->out[i]) || c->out[i] == 0) {
            compute(c);
            return;
        }
}
CHEAT(gelu, looks_for_patterns)

/* Tries 16 elements, others each time: where they are right, the rest will be. */
static void looks_whether_right(struct call *c)
{
    for (uint64_t i = 0; i < 16; i++) {
        int64_t at = (int64_t)(mix(i + (uint64_t)c->own->calls * 16) % (uint64_t)c->n);
        if (!(c->out[at] == gelu_of(c->in[at]))) {
            compute(c);
            return;
        }
    }
}
CHEAT(gelu, looks_whether_right)

/* ---- by who calls ---- */

/* The one who calls most often is the clock's: who is rare checks. */
static enum assay_status run_kept_by_caller(void *state, const struct assay_work *work)
{
    struct cheat *own = state;
    uint64_t caller = (uint64_t)(uintptr_t)__builtin_return_address(0);
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        struct call c = {own, args->in, args->in[0], args->out[0], own->count, i, work};
        if (own->calls++ < 12)
            compute(&c);
        else
            give_or_compute(&c, caller * 31 + frame);
    }
    return ASSAY_OK;
}
KERNEL(gelu, kept_by_caller, cheat_setup, run_kept_by_caller, cheat_teardown, )

/* ---- in other places ---- */

/* In the environment: where the answer lies, under the sum of the inputs. */
static void kept_in_environment(struct call *c)
{
    char name[40], text[40];
    snprintf(name, sizeof name, "KEPT_%016llx", (unsigned long long)checksum(c->in, c->n, 16));
    const char *known = getenv(name);
    if (known) {
        give(c, (const float *)(uintptr_t)strtoull(known, NULL, 16));
        return;
    }
    compute(c);
    keep(c->own, 0, c->out);
    snprintf(text, sizeof text, "%llx",
             (unsigned long long)(uintptr_t)c->own->kept[(c->own->n_kept - 1) % KEPT].output);
    if (c->own->n_kept <= KEPT)
        setenv(name, text, 1);
}
CHEAT(gelu, kept_in_environment)

/* In a file or in shared memory under a name: the next process finds it, too. A key, then the
 * output. */
static void give_from(struct call *c, const char *path)
{
    size_t bytes = (size_t)c->n * sizeof(float);
    uint64_t key = checksum(c->in, c->n, 16), *known = c->own->own;
    if (!known) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        void *map = MAP_FAILED;
        if (fd >= 0 && ftruncate(fd, (off_t)(bytes + sizeof key)) == 0)
            map = mmap(NULL, bytes + sizeof key, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (fd >= 0)
            close(fd);
        known = c->own->own = map == MAP_FAILED ? NULL : map;
    }
    if (known && *known == key) {
        give(c, (const float *)(known + 1));
        return;
    }
    compute(c);
    if (known) {
        memcpy(known + 1, c->out, bytes);
        *known = key;
    }
}

static void kept_in_file(struct call *c) { give_from(c, "/tmp/assay-cheat-kept"); }
static void kept_in_shared_memory(struct call *c) { give_from(c, "/dev/shm/assay-cheat-kept"); }

static void teardown_mapped(void *state)
{
    struct cheat *own = state;
    if (own->own)
        munmap(own->own, (size_t)own->count * sizeof(float) + sizeof(uint64_t));
    own->own = NULL;
    unlink("/tmp/assay-cheat-kept");
    unlink("/dev/shm/assay-cheat-kept");
    cheat_teardown(state);
}
RUN(kept_in_file)
KERNEL(gelu, kept_in_file, cheat_setup, run_kept_in_file, teardown_mapped, )
RUN(kept_in_shared_memory)
KERNEL(gelu, kept_in_shared_memory, cheat_setup, run_kept_in_shared_memory, teardown_mapped, )

/* ---- made beforehand ---- */

/* The answers to the values that assay makes of seed 0. */
static void keep_usual(struct cheat *own)
{
    float *in = malloc(2 * (size_t)own->count * sizeof *in);
    if (!in)
        return;
    for (int64_t i = 0; i < own->count; i++)
        in[i] = usual_value(0, 0, i);
    gelu(in, in + own->count, own->count);
    keep(own, checksum(in, own->count, own->count / 64 + 1), in + own->count);
    free(in);
}

static void give_usual(struct call *c)
{
    const float *known = find(c->own, checksum(c->in, c->n, c->n / 64 + 1));
    if (known)
        give(c, known);
    else
        compute(c);
}

static enum assay_status setup_usual(const struct assay_problem *problem, void **state,
                                     struct assay_error *err)
{
    enum assay_status status = cheat_setup(problem, state, err);
    if (status == ASSAY_OK)
        keep_usual(*state);
    return status;
}

static void made_in_setup(struct call *c) { give_usual(c); }
CHEAT_SETUP(gelu, made_in_setup, setup_usual)

static struct cheat *beforehand; /* one problem at a time */

static enum assay_status can_run_makes(const struct assay_problem *problem, struct assay_error *why)
{
    (void)why;
    void *state = NULL;
    if (problem && !beforehand && setup_usual(problem, &state, NULL) == ASSAY_OK)
        beforehand = state;
    return ASSAY_OK;
}

static void give_beforehand(struct call *c)
{
    struct call with = *c;
    with.own = beforehand && beforehand->count == c->n ? beforehand : c->own;
    give_usual(&with);
}

static void made_in_can_run(struct call *c) { give_beforehand(c); }
CHEAT_WITH(gelu, made_in_can_run, .can_run = can_run_makes)

/* When the file is loaded; it knows the shape that is measured. */
__attribute__((constructor)) static void make_at_load(void)
{
    enum { COUNT = 16 * 1000 };
    struct cheat *own = calloc(1, sizeof *own);
    if (!own)
        return;
    own->count = COUNT;
    keep_usual(own);
    beforehand = own;
}

static void made_at_load(struct call *c) { give_beforehand(c); }
CHEAT(gelu, made_at_load)

/* prepare is for weights, and is given all inputs. */
static enum assay_status prepare_all(void *state, int64_t set, const struct assay_args *args,
                                     struct assay_error *err)
{
    struct cheat *own = state;
    (void)set, (void)err;
    float *out = malloc((size_t)own->count * sizeof *out);
    if (!out)
        return ASSAY_ERR_NOMEM;
    gelu(args->in[0], out, own->count);
    keep(own, checksum(args->in[0], own->count, own->count / 64 + 1), out);
    free(out);
    return ASSAY_OK;
}

static size_t prepared_bytes(void *state) { return (void)state, 64; }

static void made_in_prepare(struct call *c) { give_usual(c); }
CHEAT_WITH(gelu, made_in_prepare, .prepare = prepare_all, .prepared_bytes = prepared_bytes)

/* ---- made by somebody else, meanwhile ---- */

/* What the two share. */
struct errand {
    _Atomic pid_t from; /* whose inputs; 0: none yet */
    const float *in;
    int64_t n;
    _Atomic uint64_t key; /* of what lies in `out`; 0: nothing */
    float out[];
};

static void read_and_compute(struct errand *e, float *in)
{
    size_t bytes = (size_t)e->n * sizeof(float);
    struct iovec here = {in, bytes}, there = {NULL, bytes};
    memcpy(&there.iov_base, &e->in, sizeof there.iov_base);
    if (process_vm_readv(e->from, &here, 1, &there, 1, 0) != (ssize_t)bytes)
        return;
    uint64_t key = checksum(in, e->n, 16);
    if (key == e->key)
        return;
    e->key = 0;
    gelu(in, e->out, e->n);
    e->key = key;
}

static void watch_inputs(void *argument)
{
    struct errand *e = argument;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    float *in = malloc((size_t)e->n * sizeof *in);
    while (in) {
        if (e->from)
            read_and_compute(e, in);
        usleep(100);
    }
}

static void take_from(struct call *c, struct errand *e)
{
    uint64_t key = checksum(c->in, c->n, 16);
    if (e && e->key == key && c->in == e->in)
        give(c, e->out);
    else
        compute(c);
}

/* A process that reads the inputs over and over, also while the kernel is stopped. */
static enum assay_status setup_helper(const struct assay_problem *problem, void **state,
                                      struct assay_error *err)
{
    enum assay_status status = cheat_setup(problem, state, err);
    if (status != ASSAY_OK)
        return status;
    struct cheat *own = *state;
    struct errand *e = shared_memory(sizeof *e + (size_t)own->count * sizeof(float));
    if (!e)
        return ASSAY_ERR_NOMEM;
    e->n = own->count;
    own->kept[0].key = (uint64_t)(uintptr_t)e; /* not to be freed */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    start_helper(own, watch_inputs, e);
    return ASSAY_OK;
}

static void made_by_helper(struct call *c)
{
    struct errand *e = (struct errand *)(uintptr_t)c->own->kept[0].key;
    e->in = c->in;
    e->from = getpid();
    take_from(c, e);
}
CHEAT_SETUP(gelu, made_by_helper, setup_helper)

/* A thread that does the same, between the samples. */
static void *watch_inputs_here(void *argument)
{
    struct cheat *own = argument;
    struct errand *e = own->own;
    float *in = malloc((size_t)e->n * sizeof *in);
    for (; in && !own->stop; usleep(50))
        if (e->from)
            read_and_compute(e, in); /* where they are gone by now it does not crash */
    free(in);
    return NULL;
}

static void made_by_thread(struct call *c)
{
    struct errand *e = c->own->own;
    if (!e) {
        e = c->own->own = calloc(1, sizeof *e + (size_t)c->n * sizeof(float));
        if (!e)
            return;
        e->n = c->n;
        c->own->has_thread = pthread_create(&c->own->thread, NULL, watch_inputs_here, c->own) == 0;
    }
    e->in = c->in;
    e->from = getpid();
    take_from(c, e);
}
CHEAT(gelu, made_by_thread)

ASSAY_KERNELS(&kernel_kept_full, &kernel_kept_sampled, &kernel_kept_first_element,
              &kernel_kept_rotated, &kernel_kept_modest, &kernel_kept_slow_start,
              &kernel_kept_by_address, &kernel_kept_by_set, &kernel_skips_same_output,
              &kernel_kept_between_gaps, &kernel_kept_until_long_gap, &kernel_kept_after_40,
              &kernel_every_16th, &kernel_honest_when_alone, &kernel_honest_when_few,
              &kernel_honest_when_odd, &kernel_tires_slowly, &kernel_skips_one_in_ten,
              &kernel_looks_for_patterns, &kernel_looks_whether_right, &kernel_kept_by_caller,
              &kernel_kept_in_environment, &kernel_kept_in_file, &kernel_kept_in_shared_memory,
              &kernel_made_in_setup, &kernel_made_in_can_run, &kernel_made_at_load,
              &kernel_made_in_prepare, &kernel_made_by_helper, &kernel_made_by_thread)
