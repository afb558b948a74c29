/* assay_benchmark.h: benchmarks that define their own workloads, for `assay kernel`. Included by
 * assay_kernel.h.
 *
 * A workload says which tensors it needs (setup), computes (run), and, if it can, computes the same
 * in the simplest possible way (verify). assay makes the tensors, fills the inputs from the seed,
 * guards them, runs both, compares the outputs and measures the two in turns:
 *
 *     static void setup(assay_setup *s)
 *     {
 *         assay_input(s, "x", ASSAY_DTYPE_F32, 128, 1024);
 *         assay_output(s, "out", ASSAY_DTYPE_F32, 128, 1024);
 *     }
 *
 *     static int run(const assay_call *call)
 *     {
 *         my_silu((float *)call->out[0], (const float *)call->in[0], 128 * 1024);
 *         return 0;
 *     }
 *
 *     ASSAY_BENCHMARK(Silu, 0, setup, {"large", run, verify})
 *
 * The functions are called in processes apart from assay's, from one thread; run in another than
 * fill and verify, so that only tensors pass between them. C17, C++17 and CUDA. */
#ifndef ASSAY_BENCHMARK_H
#define ASSAY_BENCHMARK_H

#include <assay/assay_kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_MAX_NAME 48

/* Fills a tensor on the host: `count` elements of the tensor's dtype. */
typedef void (*assay_fill_fn)(const struct assay_tensor *tensor, void *data, int64_t count,
                              uint64_t seed);

/* A tensor that a workload declares. */
struct assay_operand {
    char name[ASSAY_MAX_NAME];
    struct assay_tensor tensor;
    /* Of an input; NULL: nearly normal values of mean 0 and deviation 1, or, for an integer type,
     * uniform from 0 to its largest value, so indices need a function. */
    assay_fill_fn fill;
};

/* What setup fills in, through the functions below. */
typedef struct assay_setup {
    uint32_t struct_size;
    uint64_t seed;      /* of the inputs */
    int32_t threads;    /* how many a workload on the CPU may use */
    const char *device; /* "cpu" or "cuda" */
    void *state;        /* yours: comes with every call, and to teardown */

    int32_t n_inputs, n_outputs;
    struct assay_operand inputs[ASSAY_MAX_INPUTS], outputs[ASSAY_MAX_OUTPUTS];
    double bytes,
        flops; /* one call's least, for the % of ceiling; 0: what the tensors hold, none */
    double relative, absolute; /* how far an output may be off; both 0: from dtype and size */
    char error[256];           /* why it cannot be set up; empty: it can */
} assay_setup;

/* One call. Pointers are the device's; inputs must not be written. */
typedef struct assay_call {
    const void *const *in;
    void *const *out;
    const struct assay_operand *inputs, *outputs; /* as setup declared them */
    void *state;
    void *stream; /* on a GPU: where to enqueue (a CUstream, which cudaStream_t also is) */
    int32_t threads;
} assay_call;

/* 0 on success; anything else ends the workload as failed, and is shown. On a GPU only enqueue:
 * `return (int)cudaGetLastError();` */
typedef int (*assay_run_fn)(const assay_call *call);

struct assay_workload {
    const char *name;    /* "large" */
    assay_run_fn run;    /* the kernel */
    assay_run_fn verify; /* the same outputs, computed plainly, into call->out. NULL: none */
    void (*setup)(assay_setup *setup); /* NULL: the benchmark's */
    void (*teardown)(void *state);     /* optional: once for every setup */
    uint32_t flags;                    /* ASSAY_WORKLOAD_… */
};

/* verify computes on the host, whatever the device: it is given the host's pointers, is not timed,
 * and there is no speedup. */
#define ASSAY_WORKLOAD_VERIFY_ON_HOST 1u

struct assay_benchmark {
    uint32_t struct_size, abi; /* sizeof(struct assay_benchmark), ASSAY_KERNEL_ABI */
    const char *name;          /* "SiluWorkloads" */
    uint64_t seed;
    const char *device; /* "cpu" or "cuda" */
    void (*setup)(assay_setup *setup);
    const struct assay_workload *workloads;
    int32_t n_workloads;
    uint32_t workload_size; /* sizeof(struct assay_workload) */
    struct assay_benchmark *next;
};

/* ---- for setup ---- */

static inline void assay_setup_fails(assay_setup *s, const char *why)
{
    size_t i = 0;
    if (s->error[0])
        return;
    for (; why[i] && i + 1 < sizeof s->error; i++)
        s->error[i] = why[i];
    s->error[i] = '\0';
}

/* What assay_input and assay_output stand for: sizes end at the first 0. */
static inline void assay_declare(assay_setup *s, int is_output, const char *name,
                                 enum assay_dtype dtype, int64_t d0, int64_t d1, int64_t d2,
                                 int64_t d3, int64_t d4)
{
    const int64_t dims[ASSAY_MAX_RANK + 1] = {d0, d1, d2, d3, d4};
    int32_t *n = is_output ? &s->n_outputs : &s->n_inputs;
    if (*n >= (is_output ? ASSAY_MAX_OUTPUTS : ASSAY_MAX_INPUTS)) {
        assay_setup_fails(s, is_output ? "more than 20 outputs" : "more than 16 inputs");
        return;
    }
    struct assay_operand *o = is_output ? &s->outputs[*n] : &s->inputs[*n];
    size_t i = 0;
    for (; name[i] && i + 1 < sizeof o->name; i++)
        o->name[i] = name[i];
    o->name[i] = '\0';
    o->tensor.dtype = dtype;
    o->tensor.rank = 0;
    o->fill = NULL;
    while (o->tensor.rank < ASSAY_MAX_RANK && dims[o->tensor.rank] != 0) {
        o->tensor.dims[o->tensor.rank] = dims[o->tensor.rank];
        o->tensor.rank++;
    }
    if (dims[o->tensor.rank] != 0)
        assay_setup_fails(s, "a tensor has at most 4 dimensions");
    ++*n;
}

#define ASSAY_FIRST_FIVE(a, b, c, d, e, ...) a, b, c, d, e
#define ASSAY_FIVE_DIMS(...) ASSAY_FIRST_FIVE(__VA_ARGS__)
/* assay_input(setup, name, dtype, size, …): the next input, call->in[0] and so on. */
#define assay_input(setup, name, dtype, ...)                                                       \
    assay_declare((setup), 0, (name), (dtype), ASSAY_FIVE_DIMS(__VA_ARGS__, 0, 0, 0, 0, 0))
/* assay_output(setup, name, dtype, size, …): the next output, call->out[0] and so on. */
#define assay_output(setup, name, dtype, ...)                                                      \
    assay_declare((setup), 1, (name), (dtype), ASSAY_FIVE_DIMS(__VA_ARGS__, 0, 0, 0, 0, 0))

/* The input declared last is filled by your function. */
static inline void assay_fill_with(assay_setup *s, assay_fill_fn fill)
{
    if (s->n_inputs > 0)
        s->inputs[s->n_inputs - 1].fill = fill;
    else
        assay_setup_fails(s, "assay_fill_with comes after the input it is for");
}

/* The least one call moves and computes: gives the % of ceiling. Where bytes are not counted they
 * are those of the tensors. */
static inline void assay_count_bytes(assay_setup *s, double bytes) { s->bytes = bytes; }
static inline void assay_count_flops(assay_setup *s, double flops) { s->flops = flops; }

/* An output element is right where |got - expected| <= absolute + relative * |expected|. */
static inline void assay_tolerate(assay_setup *s, double relative, double absolute)
{
    s->relative = relative;
    s->absolute = absolute;
}

/* The number of elements of an operand. */
static inline int64_t assay_elements(const struct assay_operand *operand)
{
    int64_t n = 1;
    for (int32_t i = 0; i < operand->tensor.rank; i++)
        n *= operand->tensor.dims[i];
    return n;
}

#define ASSAY_BENCHMARK_SYMBOL "assay_benchmarks"

/* ---- CUDA without nvcc: device code that assay compiles when it runs ----
 *
 * A .cu file in which the word __CUDACC_RTC__ occurs is compiled twice: its host part by the C
 * compiler, its device part by NVRTC on the GPU that is there:
 *
 *     #ifdef __CUDACC_RTC__
 *     extern "C" __global__ void silu(float *out, const float *x, int n) { … }
 *     #else
 *     #include <assay/assay_kernel.h>
 *     …assay_cuda_kernel(__FILE__, "silu", &function, &err)…
 *     #endif
 */
struct assay_services {
    uint32_t struct_size;
    enum assay_status (*cuda_kernel)(const char *file, const char *name, void **function,
                                     struct assay_error *err);
    enum assay_status (*cuda_launch)(void *function, const uint32_t grid[3],
                                     const uint32_t block[3], uint32_t shared_bytes, void *stream,
                                     void **args);
};
#define ASSAY_SERVICES_SYMBOL "assay_services"

#ifndef ASSAY_KERNEL_ONLY /* programs that measure: they export nothing */

/* ---- what a file exports ---- */

#ifndef ASSAY_BENCHMARK_DEVICE
#ifdef __CUDACC__
#define ASSAY_BENCHMARK_DEVICE "cuda"
#else
#define ASSAY_BENCHMARK_DEVICE "cpu"
#endif
#endif

/* One list for a shared object, however many files it is made of. */
__attribute__((weak, visibility("default"))) struct assay_benchmark *assay_benchmarks;

static inline void assay_benchmark_add(struct assay_benchmark *benchmark)
{
    struct assay_benchmark **end = &assay_benchmarks;
    while (*end)
        end = &(*end)->next;
    *end = benchmark;
}

/* ASSAY_BENCHMARK(Name, seed, setup, {"workload", run, verify}, {…}): a benchmark, at file scope.
 * Members that a workload leaves out are NULL, so the warning about them is off. */
#define ASSAY_BENCHMARK(name_, seed_, setup_, ...)                                                 \
    _Pragma("GCC diagnostic push")                                                                 \
        _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"") static const struct     \
        assay_workload name_##_workloads[] = {__VA_ARGS__};                                        \
    _Pragma("GCC diagnostic pop") static struct assay_benchmark name_##_benchmark = {              \
        sizeof(struct assay_benchmark),                                                            \
        ASSAY_KERNEL_ABI,                                                                          \
        #name_,                                                                                    \
        (seed_),                                                                                   \
        ASSAY_BENCHMARK_DEVICE,                                                                    \
        (setup_),                                                                                  \
        name_##_workloads,                                                                         \
        (int32_t)(sizeof name_##_workloads / sizeof name_##_workloads[0]),                         \
        sizeof(struct assay_workload),                                                             \
        NULL};                                                                                     \
    __attribute__((constructor)) static void name_##_add(void)                                     \
    {                                                                                              \
        assay_benchmark_add(&name_##_benchmark);                                                   \
    }

/* ASSAY_KERNELS(&one, &two): the kernels of known ops a file offers, at file scope. */
#define ASSAY_KERNELS(...)                                                                         \
    static const struct assay_kernel *const assay_kernels_here[] = {__VA_ARGS__};                  \
    ASSAY_EXTERN_C ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi,          \
                                                                            int32_t *n_kernels);   \
    ASSAY_EXTERN_C const struct assay_kernel *const *assay_plugin(uint32_t abi,                    \
                                                                  int32_t *n_kernels)              \
    {                                                                                              \
        *n_kernels = (int32_t)(sizeof assay_kernels_here / sizeof assay_kernels_here[0]);          \
        return abi == ASSAY_KERNEL_ABI ? assay_kernels_here : NULL;                                \
    }
#ifdef __cplusplus
#define ASSAY_EXTERN_C extern "C"
#else
#define ASSAY_EXTERN_C
#endif

/* Set by assay when it opens the shared object. */
__attribute__((weak, visibility("default"))) const struct assay_services *assay_services;

/* The function `name` (declared extern "C") of a CUDA source file; compiled once, then kept in the
 * cache folder. For setup. */
static inline enum assay_status assay_cuda_kernel(const char *file, const char *name,
                                                  void **function, struct assay_error *err)
{
    if (!assay_services || !assay_services->cuda_kernel)
        return ASSAY_UNSUPPORTED;
    return assay_services->cuda_kernel(file, name, function, err);
}

/* Enqueues it. `args` point to the arguments, as for cuLaunchKernel. For run. */
static inline enum assay_status assay_cuda_launch(void *function, uint32_t blocks, uint32_t threads,
                                                  uint32_t shared_bytes, void *stream, void **args)
{
    const uint32_t grid[3] = {blocks, 1, 1}, block[3] = {threads, 1, 1};
    if (!assay_services || !assay_services->cuda_launch)
        return ASSAY_UNSUPPORTED;
    return assay_services->cuda_launch(function, grid, block, shared_bytes, stream, args);
}

#endif /* ASSAY_KERNEL_ONLY */

#ifdef __cplusplus
}
#endif

#endif
