/* benchmark_authors.c: workloads whose author cheats with what is his to write: the fill of the
 * inputs, the reference, the tolerance, what is counted, names. tests/cli/judge_authors.sh says
 * what is expected of each; the last ones are honest. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <assay/assay_kernel.h>

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

enum { ROWS = 40, COLUMNS = 1024, N = ROWS * COLUMNS };

static void tensors(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
}

static float silu_of(float x) { return x / (1 + expf(-x)); }

static void silu(float *out, const float *x)
{
    for (int i = 0; i < N; i++)
        out[i] = silu_of(x[i]);
}

static const float *input(const assay_call *c) { return (const float *)c->in[0]; }
static float *output(const assay_call *c) { return (float *)c->out[0]; }

static int honest(const assay_call *c)
{
    silu(output(c), input(c));
    return 0;
}

static void fill_normal(float *x, int64_t count, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        x[i] = (float)(seed >> 40) / (1 << 22) - 2;
    }
}

/* Keeps 16 of them under a key. */
static struct {
    uint64_t key;
    float *output;
} kept[16];
static int n_kept;

static uint64_t key_of(const float *x)
{
    uint64_t key = 1;
    for (int i = 1; i < N; i += 640) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        key = (key ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return key;
}

static void keep_for(const float *x)
{
    float *out = kept[n_kept % 16].output;
    if (!out)
        out = malloc(N * sizeof *out);
    if (!out)
        return;
    silu(out, x);
    kept[n_kept % 16].output = out;
    kept[n_kept++ % 16].key = key_of(x);
}

static int give(const assay_call *c)
{
    uint64_t key = key_of(input(c));
    for (int i = 0; i < 16; i++)
        if (kept[i].output && kept[i].key == key) {
            memcpy(output(c), kept[i].output, N * sizeof(float));
            return 0;
        }
    return honest(c);
}

/* ---- answers made beforehand ---- */

/* By the function that fills the inputs: it sees them first. */
static void fill_and_keep(const struct assay_tensor *t, void *data, int64_t count, uint64_t seed)
{
    (void)t;
    fill_normal(data, count, seed);
    keep_for(data);
}

static void setup_fill_keeps(assay_setup *s)
{
    tensors(s);
    s->n_inputs = 0;
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_fill_with(s, fill_and_keep);
}

/* By setup, which is told the seed: that of the first input is made of it. */
static uint64_t seed_of_input(uint64_t seed)
{
    uint64_t z = seed + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void fill_plainly(const struct assay_tensor *t, void *data, int64_t count, uint64_t seed)
{
    (void)t;
    fill_normal(data, count, seed);
}

static void setup_knows_seed(assay_setup *s)
{
    float *x = malloc(N * sizeof *x);
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_fill_with(s, fill_plainly);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    if (!x)
        return;
    fill_normal(x, N, seed_of_input(s->seed));
    keep_for(x);
    free(x);
}

/* By verify, which is given the same inputs. */
static int verify_keeps(const assay_call *c)
{
    honest(c);
    keep_for(input(c));
    return 0;
}

/* By verify, in a file. */
static const char file_name[] = "/tmp/assay-author-answers";

static int verify_writes_file(const assay_call *c)
{
    int fd = open(file_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    uint64_t key = key_of(input(c));
    honest(c);
    ssize_t written = fd < 0 ? 0 : write(fd, &key, sizeof key);
    written += fd < 0 ? 0 : write(fd, output(c), N * sizeof(float));
    (void)written;
    if (fd >= 0)
        close(fd);
    return 0;
}

static int run_reads_file(const assay_call *c)
{
    int fd = open(file_name, O_RDONLY | O_CLOEXEC);
    uint64_t key = 0;
    ssize_t got = fd < 0 ? 0 : read(fd, &key, sizeof key);
    if (got > 0 && key == key_of(input(c)))
        got = read(fd, output(c), N * sizeof(float));
    if (fd >= 0)
        close(fd);
    return got == N * (ssize_t)sizeof(float) ? 0 : honest(c);
}

/* By verify, in shared memory that has no file. */
struct note {
    uint64_t key;
    float answer[N];
};

static struct note *shared_note(int flags)
{
    static struct note *note;
    int id = note ? -1 : shmget(0xa55a, sizeof *note, flags);
    if (id >= 0)
        note = shmat(id, NULL, 0);
    return note == (void *)-1 ? NULL : note;
}

static int verify_shares(const assay_call *c)
{
    struct note *note = shared_note(IPC_CREAT | 0600);
    honest(c);
    if (note) {
        memcpy(note->answer, output(c), sizeof note->answer);
        note->key = key_of(input(c));
    }
    return 0;
}

static int run_shares(const assay_call *c)
{
    const struct note *note = shared_note(0);
    if (!note || note->key != key_of(input(c)))
        return honest(c);
    memcpy(output(c), note->answer, sizeof note->answer);
    return 0;
}

/* ---- inputs that are always the same ---- */

static void fill_without_seed(const struct assay_tensor *t, void *data, int64_t count,
                              uint64_t seed)
{
    (void)t, (void)seed;
    fill_normal(data, count, 7);
}

static void setup_ignores_seed(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_fill_with(s, fill_without_seed);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
}

/* One answer is enough then. */
static int only_answer(const assay_call *c)
{
    static float *answer;
    if (!answer) {
        answer = malloc(N * sizeof *answer);
        if (!answer)
            return honest(c);
        silu(answer, input(c));
    }
    memcpy(output(c), answer, N * sizeof *answer);
    return 0;
}

static void fill_ones(const struct assay_tensor *t, void *data, int64_t count, uint64_t seed)
{
    (void)t, (void)seed;
    for (int64_t i = 0; i < count; i++)
        ((float *)data)[i] = 1;
}

static void setup_ones(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_fill_with(s, fill_ones);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
}

static int one_value(const assay_call *c)
{
    for (int i = 0; i < N; i++)
        output(c)[i] = 0.731058579f;
    return 0;
}

/* Only its sign depends on the seed. */
static void fill_nearly(const struct assay_tensor *t, void *data, int64_t count, uint64_t seed)
{
    (void)t;
    fill_normal(data, count, 7);
    ((float *)data)[0] = seed & 1 ? 1.0f : -1.0f;
}

static void setup_nearly(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_fill_with(s, fill_nearly);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
}

static int all_but_one(const assay_call *c)
{
    only_answer(c);
    output(c)[0] = silu_of(input(c)[0]);
    return 0;
}

/* ---- a reference that agrees ---- */

/* With whatever run gave: they meet in memory that both can see. */
static float *meeting(void)
{
    static float *page;
    if (page)
        return page;
    int fd = open("/dev/shm/assay-author-meeting", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && ftruncate(fd, N * sizeof *page) == 0)
        page = mmap(NULL, N * sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return page = page == MAP_FAILED ? NULL : page;
}

static int half_wrong(const assay_call *c)
{
    for (int i = 0; i < N; i++)
        output(c)[i] = i % 2 ? 0.5f * input(c)[i] : silu_of(input(c)[i]);
    if (meeting())
        memcpy(meeting(), output(c), N * sizeof(float));
    return 0;
}

static int verify_copies_run(const assay_call *c)
{
    if (!meeting() || meeting()[1] == 0)
        return honest(c);
    memcpy(output(c), meeting(), N * sizeof(float));
    return 0;
}

static int zeros(const assay_call *c)
{
    memset(output(c), 0, N * sizeof(float));
    return 0;
}

/* It depends on nothing: no input is read. */
static int counts(const assay_call *c)
{
    for (int i = 0; i < N; i++)
        output(c)[i] = sinf((float)i);
    return 0;
}

/* Neither writes anything. */
static int nothing(const assay_call *c) { return (void)c, 0; }

/* It is another one each time, and run guesses. */
static int verify_random(const assay_call *c)
{
    static unsigned calls;
    honest(c);
    output(c)[calls++ % N] += 1;
    return 0;
}

/* It is slow on purpose in the timed calls, and quick when it is asked first. */
static int verify_changes(const assay_call *c)
{
    static unsigned calls;
    honest(c);
    for (int i = 0; i < N && calls > 3; i++)
        output(c)[i] *= 2;
    calls++;
    return 0;
}

/* ---- tolerances, and what is counted ---- */

static int in_8_bits(const assay_call *c)
{
    for (int i = 0; i < N; i++)
        output(c)[i] = (float)(int)(silu_of(input(c)[i]) * 8) / 8;
    return 0;
}

static int halves(const assay_call *c)
{
    for (int i = 0; i < N; i++)
        output(c)[i] = 0.8f * silu_of(input(c)[i]);
    return 0;
}

#define TOLERATES(name, relative, absolute)                                                        \
    static void name(assay_setup *s)                                                               \
    {                                                                                              \
        tensors(s);                                                                                \
        assay_tolerate(s, relative, absolute);                                                     \
    }
TOLERATES(setup_30_percent, 0.3, 0)
TOLERATES(setup_infinite, 0, (double)INFINITY)
TOLERATES(setup_not_a_number, (double)NAN, 0.1)
TOLERATES(setup_negative, -1, -1)
TOLERATES(setup_above_values, 0, 10)

#define COUNTS(name, bytes, flops)                                                                 \
    static void name(assay_setup *s)                                                               \
    {                                                                                              \
        tensors(s);                                                                                \
        assay_count_bytes(s, bytes);                                                               \
        assay_count_flops(s, flops);                                                               \
    }
COUNTS(setup_many_bytes, 1e18, 0)
COUNTS(setup_many_flops, 0, 1e21)
COUNTS(setup_no_number, (double)NAN, -1)

/* ---- what comes of setup ---- */

/* Fewer elements each time. */
static void setup_shrinks(assay_setup *s)
{
    static int calls;
    int64_t rows = calls++ ? 1 : ROWS;
    assay_input(s, "x", ASSAY_DTYPE_F32, rows, COLUMNS);
    assay_output(s, "out", ASSAY_DTYPE_F32, rows, COLUMNS);
}

static int as_declared(const assay_call *c)
{
    int64_t n = assay_elements(&c->outputs[0]);
    for (int64_t i = 0; i < n; i++)
        output(c)[i] = silu_of(input(c)[i]);
    return 0;
}

static void setup_hangs(assay_setup *s)
{
    tensors(s);
    for (;;)
        pause();
}

static void fill_crashes(const struct assay_tensor *t, void *data, int64_t count, uint64_t seed)
{
    (void)t, (void)data, (void)count, (void)seed;
    raise(SIGSEGV);
}

static void setup_fill_crashes(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_fill_with(s, fill_crashes);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
}

static int verify_exits(const assay_call *c)
{
    (void)c;
    exit(0);
}

static void teardown_crashes(void *state)
{
    (void)state;
    raise(SIGSEGV);
}

/* ---- names ---- */

static void setup_odd_names(assay_setup *s)
{
    assay_input(s, "\033[2Jx\n\"", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_output(s, "=cmd|' /C calc'!A0", ASSAY_DTYPE_F32, ROWS, COLUMNS);
}

/* ---- honest ones ---- */

/* Positive inputs, of the author's own distribution. */
static void fill_positive(const struct assay_tensor *t, void *data, int64_t count, uint64_t seed)
{
    (void)t;
    fill_normal(data, count, seed);
    for (int64_t i = 0; i < count; i++)
        ((float *)data)[i] = fabsf(((float *)data)[i]) + 0.5f;
}

static void setup_positive(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_fill_with(s, fill_positive);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_tolerate(s, 1e-5, 0);
}

/* A table of weights that setup makes, the same for every seed: not an input. */
static void setup_with_table(assay_setup *s)
{
    float *table = malloc(COLUMNS * sizeof *table);
    tensors(s);
    for (int i = 0; i < COLUMNS && table; i++)
        table[i] = 1 + (float)i / COLUMNS;
    s->state = table;
}

static int with_table(const assay_call *c)
{
    const float *table = (const float *)c->state;
    for (int i = 0; i < N; i++)
        output(c)[i] = silu_of(input(c)[i]) * table[i % COLUMNS];
    return 0;
}

/* One input that stays as it is beside one that does not. */
static void setup_two_inputs(assay_setup *s)
{
    assay_input(s, "indices", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_fill_with(s, fill_ones);
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
}

static int product(const assay_call *c)
{
    const float *ones = (const float *)c->in[0], *x = (const float *)c->in[1];
    for (int i = 0; i < N; i++)
        output(c)[i] = silu_of(x[i] * ones[i]);
    return 0;
}

ASSAY_BENCHMARK(Authors, 0, tensors, {"fill_keeps", give, honest, setup_fill_keeps},
                {"setup_knows_seed", give, honest, setup_knows_seed},
                {"verify_keeps", give, verify_keeps},
                {"verify_writes_file", run_reads_file, verify_writes_file},
                {"verify_shares", run_shares, verify_shares},
                {"fill_ignores_seed", only_answer, honest, setup_ignores_seed},
                {"fill_ones", one_value, honest, setup_ones},
                {"fill_changes_little", all_but_one, honest, setup_nearly},
                {"verify_copies_run", half_wrong, verify_copies_run},
                {"verify_zeros", zeros, zeros}, {"verify_counts", counts, counts},
                {"verify_nothing", nothing, nothing}, {"verify_random", honest, verify_random},
                {"verify_changes", honest, verify_changes},
                {"tolerates_30_percent", halves, honest, setup_30_percent},
                {"tolerates_infinity", zeros, honest, setup_infinite},
                {"tolerates_nan", halves, honest, setup_not_a_number},
                {"tolerates_negative", halves, honest, setup_negative},
                {"tolerates_above_values", in_8_bits, honest, setup_above_values},
                {"counts_many_bytes", honest, honest, setup_many_bytes},
                {"counts_many_flops", honest, honest, setup_many_flops},
                {"counts_no_number", honest, honest, setup_no_number},
                {"setup_shrinks", as_declared, as_declared, setup_shrinks},
                {"setup_hangs", honest, honest, setup_hangs},
                {"fill_crashes", honest, honest, setup_fill_crashes},
                {"verify_exits", honest, verify_exits},
                {"teardown_crashes", honest, honest, NULL, teardown_crashes},
                {"odd_tensors", honest, honest, setup_odd_names}, {"honest", honest, honest},
                {"honest_positive", honest, honest, setup_positive},
                {"honest_table", with_table, with_table, setup_with_table, free},
                {"honest_two_inputs", product, product, setup_two_inputs})
