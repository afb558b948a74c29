/* innocents.c: kernels that compute every call, in ways that a suspicious harness may take for
 * something else: threads, timers, handlers, compilers, slow first calls, memory of their own. None
 * of them may be blamed. */
#include "cheat.h"

#include <alloca.h>
#include <dlfcn.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

static void plain(struct call *c) { compute(c); }
CHEAT(gelu, plain)

/* ---- threads ---- */

enum { THREADS = 2 };

/* A pool of one thread beside the caller's. */
struct pool {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Atomic int64_t asked, done;
    _Atomic bool stop;
    int64_t polls; /* how often it looks before it sleeps */
    const float *in;
    float *out;
    int64_t n;
};

static void *work_in_pool(void *argument)
{
    struct pool *p = argument;
    for (int64_t seen = 0; !p->stop; seen = p->asked) {
        for (int64_t i = 0; i < p->polls && p->asked == seen && !p->stop; i++)
            __asm__ volatile("" ::: "memory");
        pthread_mutex_lock(&p->lock);
        while (p->asked == seen && !p->stop)
            pthread_cond_wait(&p->wake, &p->lock);
        pthread_mutex_unlock(&p->lock);
        if (p->asked != seen)
            gelu(p->in, p->out, p->n);
        p->done = p->asked;
    }
    return NULL;
}

static struct pool *open_pool(struct cheat *own, int64_t polls)
{
    struct pool *p = own->own;
    if (p)
        return p;
    p = own->own = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->polls = polls;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    if (pthread_create(&p->thread, NULL, work_in_pool, p) != 0) {
        free(p);
        own->own = p = NULL;
    }
    return p;
}

static void teardown_pool(void *state)
{
    struct pool *p = ((struct cheat *)state)->own;
    if (p) {
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_signal(&p->wake);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
    }
    cheat_teardown(state);
}

static void with_pool(struct call *c, struct pool *p)
{
    int64_t half = c->n / 2;
    if (!p) {
        compute(c);
        return;
    }
    p->in = c->in + half;
    p->out = c->out + half;
    p->n = c->n - half;
    pthread_mutex_lock(&p->lock);
    p->asked++;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    gelu(c->in, c->out, half);
    while (p->done != p->asked)
        sched_yield();
}

static void own_pool(struct call *c) { with_pool(c, open_pool(c->own, 0)); }
RUN(own_pool)
KERNEL(gelu, own_pool, cheat_setup, run_own_pool, teardown_pool, )

/* It polls for about a millisecond before it sleeps. */
static void polling_pool(struct call *c) { with_pool(c, open_pool(c->own, 1000000)); }
RUN(polling_pool)
KERNEL(gelu, polling_pool, cheat_setup, run_polling_pool, teardown_pool, )

/* A thread for each call. */
static void *second_half(void *argument)
{
    struct call *c = argument;
    gelu(c->in + c->n / 2, c->out + c->n / 2, c->n - c->n / 2);
    return NULL;
}

static void thread_each_call(struct call *c)
{
    pthread_t thread;
    bool has = pthread_create(&thread, NULL, second_half, c) == 0;
    gelu(c->in, c->out, has ? c->n / 2 : c->n);
    if (has)
        pthread_join(thread, NULL);
}
CHEAT(gelu, thread_each_call)

/* The same, pinned to its own core. */
static void *pinned_half(void *argument)
{
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
    pthread_setaffinity_np(pthread_self(), sizeof last, &last);
    return second_half(argument);
}

static void pins_its_threads(struct call *c)
{
    pthread_t thread;
    bool has = pthread_create(&thread, NULL, pinned_half, c) == 0;
    gelu(c->in, c->out, has ? c->n / 2 : c->n);
    if (has)
        pthread_join(thread, NULL);
}
CHEAT(gelu, pins_its_threads)

/* GNU's OpenMP, as a compiler would call it. */
static void omp_part(void *argument)
{
    static int (*number)(void), (*all)(void);
    struct call *c = argument;
    void *found;
    if (!all) {
        found = dlsym(RTLD_DEFAULT, "omp_get_thread_num");
        memcpy(&number, &found, sizeof number);
        found = dlsym(RTLD_DEFAULT, "omp_get_num_threads");
        memcpy(&all, &found, sizeof all);
    }
    int64_t i = number ? number() : 0, of = all ? all() : 1;
    int64_t from = c->n * i / of, to = c->n * (i + 1) / of;
    gelu(c->in + from, c->out + from, to - from);
}

static void openmp(struct call *c)
{
    static void (*parallel)(void (*)(void *), void *, unsigned, unsigned);
    if (!parallel) {
        dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
        void *found = dlsym(RTLD_DEFAULT, "GOMP_parallel");
        memcpy(&parallel, &found, sizeof parallel);
    }
    if (parallel)
        parallel(omp_part, c, 0, 0);
    else
        compute(c);
}
CHEAT(gelu, openmp)

/* A thread that looks after statistics, ten times a second. */
static void *sleep_often(void *state)
{
    struct cheat *own = state;
    while (!own->stop)
        usleep(20000);
    return NULL;
}

static void sleeping_thread(struct call *c)
{
    if (!c->own->has_thread)
        c->own->has_thread = pthread_create(&c->own->thread, NULL, sleep_often, c->own) == 0;
    compute(c);
}
CHEAT(gelu, sleeping_thread)

/* ---- code made at run time ---- */

/* Executable memory, and handlers for what may go wrong in it, which stay. */
static sigjmp_buf went_wrong;

static void code_failed(int number) { siglongjmp(went_wrong, number); }

static void own_jit(struct call *c)
{
    static int (*volatile identity)(int);
    if (!identity) {
        static const unsigned char code[] = {0x89, 0xf8, 0xc3}; /* mov eax, edi; ret */
        void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page != MAP_FAILED) {
            memcpy(page, code, sizeof code);
            memcpy((void *)(uintptr_t)&identity, &page, sizeof page);
        }
        signal(SIGSEGV, code_failed);
        signal(SIGILL, code_failed);
        signal(SIGFPE, code_failed);
    }
    volatile int step = 1;
#if defined(__x86_64__)
    if (identity && sigsetjmp(went_wrong, 1) == 0)
        step = identity(1);
#endif
    for (int64_t i = 0; i < c->n; i += step)
        c->out[i] = gelu_of(c->in[i]);
}
CHEAT(gelu, own_jit)

/* Has a compiler make its code in the first call, and loads that. */
static const char compiled_text[] =
    "float erff(float);\n"
    "void gelu(const float *in, float *out, long n)\n"
    "{ for (long i = 0; i < n; i++) out[i] = 0.5f * in[i] * (1 + erff(in[i] * 0.70710678f)); }\n";

static bool run_compiler(const char *from, const char *to)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        execlp("cc", "cc", "-O2", "-shared", "-fPIC", "-o", to, from, "-lm", (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void *compile_body(void)
{
    char folder[] = "/tmp/innocent-XXXXXX", from[64], to[64];
    void *library = NULL;
    if (!mkdtemp(folder))
        return NULL;
    snprintf(from, sizeof from, "%s/body.c", folder);
    snprintf(to, sizeof to, "%s/body.so", folder);
    FILE *text = fopen(from, "we");
    if (text) {
        fputs(compiled_text, text);
        fclose(text);
        if (run_compiler(from, to))
            library = dlopen(to, RTLD_NOW | RTLD_LOCAL);
    }
    unlink(from);
    unlink(to);
    rmdir(folder);
    return library ? dlsym(library, "gelu") : NULL;
}

static void calls_compiler(struct call *c)
{
    static void (*body)(const float *, float *, long);
    static bool tried;
    if (!tried) {
        void *made = compile_body();
        memcpy(&body, &made, sizeof body);
        tried = true;
    }
    if (body)
        body(c->in, c->out, (long)c->n);
    else
        compute(c);
}
CHEAT(gelu, calls_compiler)

/* A tenth of a second for the first call. */
static void slow_first_call(struct call *c)
{
    if (c->own->calls == 1)
        wait_until(now_ns() + 100000000);
    compute(c);
}
CHEAT(gelu, slow_first_call)

/* Tries two ways in the first calls, by its own clock, and keeps the better. */
static void by_erfc(const float *in, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = 0.5f * in[i] * erfcf(in[i] * -0.70710678f);
}

static void autotunes(struct call *c)
{
    int64_t *spent = c->own->own ? c->own->own : (c->own->own = calloc(2, sizeof *spent));
    int way = c->own->calls <= 10 ? (int)(c->own->calls % 2) : spent && spent[1] < spent[0];
    int64_t start = c->own->calls <= 10 ? now_ns() : 0;
    if (way)
        by_erfc(c->in, c->out, c->n);
    else
        compute(c);
    if (start && spent)
        spent[way] += now_ns() - start;
}
CHEAT(gelu, autotunes)

/* ---- memory of its own ---- */

static void scratch_each_call(struct call *c)
{
    float *scratch = malloc((size_t)c->n * sizeof *scratch);
    if (!scratch)
        return;
    gelu(c->in, scratch, c->n);
    memcpy(c->out, scratch, (size_t)c->n * sizeof *scratch);
    free(scratch);
}
CHEAT(gelu, scratch_each_call)

/* Huge pages, locked and dropped again. */
static void maps_scratch(struct call *c)
{
    size_t bytes = ((size_t)c->n * sizeof(float) + (2 << 20)) / (2 << 20) * (2 << 20);
    float *scratch = c->own->own;
    if (!scratch) {
        scratch = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (scratch == MAP_FAILED)
            return;
        c->own->own = scratch;
        madvise(scratch, bytes, MADV_HUGEPAGE);
        mlock(scratch, PAGE);
    }
    gelu(c->in, scratch, c->n);
    memcpy(c->out, scratch, (size_t)c->n * sizeof *scratch);
    if (c->own->calls % 16 == 0)
        madvise((char *)scratch + PAGE, bytes - PAGE, MADV_DONTNEED);
}

static void teardown_scratch(void *state)
{
    struct cheat *own = state;
    size_t bytes = ((size_t)own->count * sizeof(float) + (2 << 20)) / (2 << 20) * (2 << 20);
    if (own->own)
        munmap(own->own, bytes);
    own->own = NULL;
    cheat_teardown(state);
}
RUN(maps_scratch)
KERNEL(gelu, maps_scratch, cheat_setup, run_maps_scratch, teardown_scratch, )

/* Half a megabyte of stack. */
static void large_stack(struct call *c)
{
    enum { BLOCK = 128 << 10 };
    float *block = alloca(BLOCK * sizeof *block);
    for (int64_t at = 0; at < c->n; at += BLOCK) {
        int64_t n = c->n - at < BLOCK ? c->n - at : BLOCK;
        memcpy(block, c->in + at, (size_t)n * sizeof *block);
        gelu(block, c->out + at, n);
    }
}
CHEAT(gelu, large_stack)

/* State of each thread. */
static _Thread_local float of_thread[1024];

static void thread_local_state(struct call *c)
{
    for (int64_t at = 0; at < c->n; at += 1024) {
        int64_t n = c->n - at < 1024 ? c->n - at : 1024;
        gelu(c->in + at, of_thread, n);
        memcpy(c->out + at, of_thread, (size_t)n * sizeof *of_thread);
    }
}
CHEAT(gelu, thread_local_state)

/* ---- what it asks the system for ---- */

static void reads_system(struct call *c)
{
    if (c->own->calls == 1) {
        char line[256];
        FILE *file = fopen("/proc/cpuinfo", "re");
        while (file && fgets(line, sizeof line, file))
            ;
        if (file)
            fclose(file);
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
    }
    uint64_t noise;
    ssize_t got = getrandom(&noise, sizeof noise, GRND_NONBLOCK);
    (void)got;
    compute(c);
}
CHEAT(gelu, reads_system)

static void prints_a_line(struct call *c)
{
    if (c->own->calls == 1)
        fprintf(stderr, "innocents: %lld elements\n", (long long)c->n);
    compute(c);
}
CHEAT(gelu, prints_a_line)

/* A profiler's timer, a thousand times a second of its own time. */
static volatile sig_atomic_t ticks;

static void tick(int number)
{
    (void)number;
    ticks = (ticks + 1) & 0xffff;
}

static void profiles_itself(struct call *c)
{
    if (c->own->calls == 1) {
        struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
        struct itimerval often = {{0, 4000}, {0, 4000}};
        sigaction(SIGPROF, &action, NULL);
        setitimer(ITIMER_PROF, &often, NULL);
    }
    compute(c);
}

static void teardown_profile(void *state)
{
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &never, NULL);
    cheat_teardown(state);
}
RUN(profiles_itself)
KERNEL(gelu, profiles_itself, cheat_setup, run_profiles_itself, teardown_profile, )

static jmp_buf row_done;

static void rows_by_jump(struct call *c)
{
    volatile int64_t row = 0;
    setjmp(row_done);
    if (row == c->own->rows)
        return;
    gelu(c->in + row * c->own->columns, c->out + row * c->own->columns, c->own->columns);
    row++;
    longjmp(row_done, 1);
}
CHEAT(gelu, rows_by_jump)

/* Subnormals are flushed inside, and only there. */
static void flushes_inside(struct call *c)
{
#if defined(__x86_64__)
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040);
    compute(c);
    __builtin_ia32_ldmxcsr(before);
#else
    compute(c);
#endif
}
CHEAT(gelu, flushes_inside)

/* ---- arithmetic ---- */

static void branches(struct call *c)
{
    for (int64_t i = 0; i < c->n; i++) {
        if (c->in[i] < 0)
            c->out[i] = 0.5f * c->in[i] * erfcf(c->in[i] * -0.70710678f);
        else
            c->out[i] = c->in[i] - 0.5f * c->in[i] * erfcf(c->in[i] * 0.70710678f);
    }
}
CHEAT(gelu, branches)

/* Little but branches: the CPU learns them within a few calls, and is five times as fast then. */
static void jumps(struct call *c)
{
    for (int64_t i = 0; i < c->n; i++) {
        c->out[i] = 0;
        if (c->in[i] >= 0) {
            __asm__ volatile("" ::: "memory"); /* a jump, not a mask */
            c->out[i] = c->in[i];
        }
    }
}
CHEAT(relu, jumps)

/* A series until it converges: large values cost more than small ones. */
static void costs_by_value(struct call *c)
{
    for (int64_t i = 0; i < c->n; i++) {
        double x = c->in[i], y = x * M_SQRT1_2, term = y, sum = y;
        for (int k = 1; fabs(term) > 1e-12 && fabs(y) < 5; k++) {
            term *= -y * y / k;
            sum += term / (2 * k + 1);
        }
        double erf_y = fabs(y) < 5 ? M_2_SQRTPI * sum : copysign(1, y);
        c->out[i] = (float)(0.5 * x * (1 + erf_y));
    }
}
CHEAT(gelu, costs_by_value)

/* From the end to the beginning. */
static void backwards(struct call *c)
{
    for (int64_t i = c->n; i-- > 0;)
        c->out[i] = gelu_of(c->in[i]);
}
CHEAT(gelu, backwards)

/* Nothing is written twice, and what is right already not at all: but all is computed. */
static void writes_what_differs(struct call *c)
{
    for (int64_t i = 0; i < c->n; i++) {
        float y = gelu_of(c->in[i]);
        if (!(c->out[i] == y))
            c->out[i] = y;
    }
}
CHEAT(gelu, writes_what_differs)

/* Sums in other orders. */
static void sums_by_kahan(struct call *c)
{
    const float *a = c->in, *b = c->ins[1];
    volatile float sum = 0, low = 0;
    for (int64_t i = 0; i < c->n; i++) {
        float term = (a[i] - b[i]) * (a[i] - b[i]) - low, next = sum + term;
        low = (next - sum) - term;
        sum = next;
    }
    c->out[0] = sum / (float)c->n;
}
CHEAT(mse, sums_by_kahan)

static double pairwise(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    if (n > 64)
        return pairwise(a, b, n / 2) + pairwise(a + n / 2, b + n / 2, n - n / 2);
    for (int64_t i = n; i-- > 0;)
        sum += (double)(a[i] - b[i]) * (double)(a[i] - b[i]);
    return sum;
}

static void sums_in_pairs(struct call *c)
{
    c->out[0] = (float)(pairwise(c->in, c->ins[1], c->n) / (double)c->n);
}
CHEAT(mse, sums_in_pairs)

/* ---- weights ---- */

/* y = x W^T with W transposed beforehand, as prepare may: one copy for each set. */
struct packed {
    int64_t m, k, n, n_sets;
    float **sets;
};

static enum assay_status takes_baseline(const struct assay_problem *problem,
                                        struct assay_error *why)
{
    if (problem && problem->recipe && strcmp(problem->recipe, "baseline") != 0)
        return not_here(why, "the baseline only");
    return ASSAY_OK;
}

static enum assay_status setup_packed(const struct assay_problem *problem, void **state,
                                      struct assay_error *err)
{
    (void)err;
    struct packed *p = calloc(1, sizeof *p);
    if (!p)
        return ASSAY_ERR_NOMEM;
    p->m = problem->axes[0];
    p->k = problem->axes[1];
    p->n = problem->axes[2];
    *state = p;
    return ASSAY_OK;
}

static enum assay_status pack(void *state, int64_t set, const struct assay_args *args,
                              struct assay_error *err)
{
    struct packed *p = state;
    const float *w = args->in[1];
    (void)err;
    if (set >= p->n_sets) {
        float **more = realloc(p->sets, ((size_t)set + 1) * sizeof *more);
        float *one = malloc((size_t)(p->n * p->k) * sizeof *one);
        if (more)
            p->sets = more;
        if (!more || !one) {
            free(one);
            return ASSAY_ERR_NOMEM;
        }
        p->sets[set] = one;
        p->n_sets = set + 1;
    }
    for (int64_t i = 0; i < p->k; i++)
        for (int64_t j = 0; j < p->n; j++)
            p->sets[set][i * p->n + j] = w[j * p->k + i];
    return ASSAY_OK;
}

static size_t packed_bytes(void *state)
{
    const struct packed *p = state;
    return (size_t)(p->n * p->k) * sizeof(float);
}

static enum assay_status run_packs_weights(void *state, const struct assay_work *work)
{
    const struct packed *p = state;
    for (int64_t call = 0; call < work->iters; call++) {
        const struct assay_args *args = assay_work_args(work, call);
        const float *x = args->in[0], *w = p->sets[assay_work_set(work, call)];
        float *y = args->out[0];
        for (int64_t row = 0; row < p->m; row++) {
            memset(y + row * p->n, 0, (size_t)p->n * sizeof *y);
            for (int64_t i = 0; i < p->k; i++)
                for (int64_t j = 0; j < p->n; j++)
                    y[row * p->n + j] += x[row * p->k + i] * w[i * p->n + j];
        }
    }
    return ASSAY_OK;
}

static void teardown_packed(void *state)
{
    struct packed *p = state;
    for (int64_t set = 0; set < p->n_sets; set++)
        free(p->sets[set]);
    free(p->sets);
    free(p);
}

KERNEL(linear, packs_weights, setup_packed, run_packs_weights, teardown_packed,
       .can_run = takes_baseline, .prepare = pack, .prepared_bytes = packed_bytes)

ASSAY_KERNELS(&kernel_plain, &kernel_own_pool, &kernel_polling_pool, &kernel_thread_each_call,
              &kernel_pins_its_threads, &kernel_openmp, &kernel_sleeping_thread, &kernel_own_jit,
              &kernel_calls_compiler, &kernel_slow_first_call, &kernel_autotunes,
              &kernel_scratch_each_call, &kernel_maps_scratch, &kernel_large_stack,
              &kernel_thread_local_state, &kernel_reads_system, &kernel_prints_a_line,
              &kernel_profiles_itself, &kernel_rows_by_jump, &kernel_flushes_inside,
              &kernel_branches, &kernel_jumps, &kernel_costs_by_value, &kernel_backwards,
              &kernel_writes_what_differs, &kernel_sums_by_kahan, &kernel_sums_in_pairs,
              &kernel_packs_weights)
