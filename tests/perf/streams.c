/* streams.c: how fast plain loops move bytes, with no code of assay's, to hold `assay bench read
 * copy triad` against (tests/perf/bandwidth).
 *
 * usage: streams KIND BYTES THREADS SECONDS     KIND: read, copy or triad; BYTES of one array
 * prints GB/s of all arrays together: the median of whole passes by the best of a few ways to write
 * the loop (ordinary and streaming stores; one, two and four reads side by side). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <omp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { WAYS = 3, MOST = 4096 };
typedef float floats __attribute__((vector_size(64), aligned(64), may_alias));

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A whole line at once where the machine can: one that is put together from quarters is written out
 * half full when other lines come between. */
static inline void stream_store(float *to, const floats *value)
{
#if defined(__AVX512F__)
    _mm512_stream_ps(to, (__m512)*value);
#elif defined(__x86_64__)
    const float *from = (const float *)value;
    for (int i = 0; i < 4; i++)
        _mm_stream_ps(to + 4 * i, _mm_load_ps(from + 4 * i));
#else
    memcpy(to, value, sizeof *value);
#endif
}

static volatile float sink;

static void read_pass(const float *a, size_t n, int streams)
{
    floats sums[8] = {0};
    size_t part = n / (size_t)streams;
    for (size_t i = 0; i + 32 <= part; i += 32)
        for (int s = 0; s < streams; s++) {
            const float *p = a + (size_t)s * part + i;
            sums[2 * s] += *(const floats *)p;
            sums[2 * s + 1] += *(const floats *)(p + 16);
        }
    float sum = 0;
    for (int s = 0; s < 8; s++)
        for (int i = 0; i < 16; i++)
            sum += sums[s][i];
    if (sum == 12345.0f)
        sink = sum;
}

static void copy_pass(float *y, const float *a, size_t n, int way)
{
    if (way == 0)
        memcpy(y, a, n * sizeof *y);
    for (size_t i = 0; i + 16 <= n && way == 1; i += 16)
        *(floats *)(y + i) = *(const floats *)(a + i);
    for (size_t i = 0; i + 16 <= n && way == 2; i += 16)
        stream_store(y + i, (const floats *)(a + i));
}

static void triad_pass(float *y, const float *a, const float *b, size_t n, int way)
{
    for (size_t i = 0; i + 16 <= n && way != 2; i += 16)
        *(floats *)(y + i) = *(const floats *)(a + i) + 3.0f * *(const floats *)(b + i);
    for (size_t i = 0; i + 16 <= n && way == 2; i += 16) {
        floats sum = *(const floats *)(a + i) + 3.0f * *(const floats *)(b + i);
        stream_store(y + i, &sum);
    }
}

static float *array(size_t bytes, int threads)
{
    const size_t huge = (size_t)2 << 20;
    char *memory =
        mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    memory += (huge - (uintptr_t)memory % huge) % huge;
    madvise(memory, bytes, MADV_HUGEPAGE);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        ((float *)(void *)memory)[i] = 1.0f + (float)(i % 251) * 0.001f;
    return (float *)(void *)memory;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct arrays {
    float *y;
    const float *a, *b;
    size_t n;
    int count; /* 1: read, 2: copy, 3: triad */
};

static double pass(const struct arrays *v, int threads, int way)
{
    double start = now();
#pragma omp parallel num_threads(threads)
    {
        size_t t = (size_t)omp_get_thread_num(), share = v->n / (size_t)threads / 32 * 32;
        size_t at = t * share;
        if (v->count == 1)
            read_pass(v->a + at, share, 1 << way);
        else if (v->count == 2)
            copy_pass(v->y + at, v->a + at, share, way);
        else
            triad_pass(v->y + at, v->a + at, v->b + at, share, way);
    }
    return now() - start;
}

/* Each way several times in a row: what it leaves in the caches is its own. */
static double median_pass(const struct arrays *v, int threads, int way, double seconds)
{
    static double taken[MOST];
    int passes = 0;
    double until = now() + seconds;
    pass(v, threads, way);
    for (; passes < MOST && (passes < 5 || now() < until); passes++)
        taken[passes] = pass(v, threads, way);
    qsort(taken, (size_t)passes, sizeof taken[0], ascending);
    return taken[passes / 2];
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: streams KIND BYTES THREADS SECONDS\n");
        return 2;
    }
    struct arrays v = {.n = strtoull(argv[2], NULL, 10) / sizeof(float),
                       .count = strcmp(argv[1], "read") == 0   ? 1
                                : strcmp(argv[1], "copy") == 0 ? 2
                                                               : 3};
    int threads = atoi(argv[3]), best = 0;
    double seconds = atof(argv[4]), least = 1e9;
#pragma omp parallel num_threads(threads)
    { /* a core each */
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(omp_get_thread_num(), &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    v.y = array(v.n * sizeof *v.y, threads);
    v.a = array(v.n * sizeof *v.a, threads);
    v.b = v.count == 3 ? array(v.n * sizeof *v.b, threads) : v.a;
    for (int way = 0; way < WAYS; way++) {
        double taken = median_pass(&v, threads, way, seconds / 6);
        if (taken < least) {
            least = taken;
            best = way;
        }
    }
    least = median_pass(&v, threads, best, seconds);
    printf("%.2f\n", (double)v.n * sizeof(float) * v.count / least * 1e-9);
    return 0;
}
