/* For tools/check-device: what the library says of work on a caller's stream, against CUDA's own
 * events around the same work; that no second context was made; that a session may come after
 * another, and before anything of CUDA was used; and that a case which waits for the GPU is no
 * trap. Prints WRONG where one of them is not so. */
#include <assay/assay.h>

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 50 };

struct copy {
    cudaStream_t stream;
    void *to, *from;
    size_t bytes;
    int waits;
};

static int copy(void *argument)
{
    const struct copy *c = argument;
    if (cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDeviceToDevice, c->stream))
        return 1;
    return c->waits ? cudaStreamSynchronize(c->stream) != cudaSuccess : 0;
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The median of the same copy between two events, in ms. */
static double by_events(struct copy *c)
{
    cudaEvent_t start, end;
    float times[REPEATS] = {0};
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    for (int i = 0; i < REPEATS; i++) {
        cudaEventRecord(start, c->stream);
        copy(c);
        cudaEventRecord(end, c->stream);
        cudaEventSynchronize(end);
        cudaEventElapsedTime(&times[i], start, end);
    }
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    qsort(times, REPEATS, sizeof *times, compare_floats);
    return (double)times[REPEATS / 2];
}

static assay_session *open_session(double precision)
{
    struct assay_session_options options;
    struct assay_error err = {0};
    assay_session *session = NULL;
    assay_session_options_init(&options);
    options.device = "cuda";
    options.precision = precision;
    if (assay_session_open(&options, &session, &err) != ASSAY_OK) {
        printf("WRONG: %s\n", err.message);
        exit(1);
    }
    return session;
}

static void say(const char *what, int right) { printf("%s: %s\n", what, right ? "ok" : "WRONG"); }

static double median_of(assay_session *session, const struct assay_case *one)
{
    struct assay_error err = {0};
    if (assay_session_run(session, one, &err) != ASSAY_OK)
        printf("WRONG: %s %s\n", err.where, err.message);
    return assay_session_case(session, assay_session_case_count(session) - 1)->median_ms;
}

int main(void)
{
    struct copy c = {.bytes = (size_t)256 << 20};
    size_t before = 0, after = 0, total = 0;
    struct assay_case one;
    assay_session *first = open_session(0); /* before the runtime made its context */
    void *block = NULL;
    say("memory before the runtime", assay_session_alloc(first, 1 << 20, &block, NULL) == ASSAY_OK);
    assay_session_close(first);
    first = open_session(0); /* its context, then the runtime in it, then without the session */
    assay_session_alloc(first, 1 << 20, &block, NULL);
    cudaStreamCreate(&c.stream);
    assay_session_close(first);
    say("the runtime without the session", cudaStreamSynchronize(c.stream) == cudaSuccess);
    cudaMalloc(&c.to, c.bytes);
    cudaMalloc(&c.from, c.bytes);
    cudaMemGetInfo(&before, &total);
    assay_session *session = open_session(0);
    assay_case_init(&one, "copy", copy, &c);
    one.stream = c.stream;
    double library = median_of(session, &one), events = by_events(&c);
    cudaMemGetInfo(&after, &total);
    printf("ratio %.3f: library %.4f ms, events %.4f ms\n", library / events, library, events);
    say("the same figure", library / events > 0.9 && library / events < 1.1);
    /* A context takes hundreds of MB; the gate and two events do not. */
    say("no second context", before - after < (size_t)64 << 20);
    c.waits = 1;
    double waiting = median_of(session, &one);
    say("a case that waits", waiting / events > 0.9 && waiting / events < 1.3);
    c.waits = 0;
    one.stream = NULL;
    struct copy on_default = c;
    on_default.stream = NULL;
    one.argument = &on_default;
    double unnamed = median_of(session, &one);
    say("the default stream", unnamed / events > 0.9 && unnamed / events < 1.1);
    assay_session_close(session);
    session = open_session(0.02);
    one.argument = &c;
    one.stream = c.stream;
    one.flags = ASSAY_CASE_GRAPH;
    double captured = median_of(session, &one);
    say("captured", captured / events > 0.9 && captured / events < 1.1);
    assay_session_close(session);
    say("the runtime goes on", copy(&c) == 0 && cudaDeviceSynchronize() == cudaSuccess);
    cudaFree(c.to);
    cudaFree(c.from);
    return 0;
}
