/* native.h: what assay's own CPU kernels share: the split of a call over threads, and the struct a
 * kernel's body fills in.
 *
 * How it fits together. Each op is written once, in OP_vec.c, over a small vector type
 * (vec/vec.h); ops of one kind share a body header (eltwise_body.h, norm_body.h, …). The build
 * compiles OP_vec.c for each instruction set, each time with another vector type, and so makes the
 * kernels OP_portable, OP_avx2 and OP_avx512. The driver here (native.c) is compiled once, for any
 * CPU: it picks the body's variant for the dtype, splits the work into one contiguous share for
 * each thread, and calls the variant on each share.
 *
 * Small problems have fewer shares than there are threads, yet a parallel region has all of them,
 * or is none at all: OpenMP ends the threads that a smaller team does not need, and those it starts
 * for the next larger one are not pinned: on 16 cores they all ran on the first. */
#ifndef ASSAY_KERNEL_NATIVE_NATIVE_H
#define ASSAY_KERNEL_NATIVE_NATIVE_H

#include "device/cpu/cpu_info.h"
#include "kernel/kernel.h"

/* A kernel's code begins a page, wherever the linker puts it. Prefetchers are found by low bits of
 * the address of a load: with others the same softmax took 3 % longer on cold operands (Zen 4). */
__asm__(".pushsection .text\n.balign 4096\n.popsection");

/* How elements lie in memory, and how they are rounded when stored. */
enum native_kind {
    NATIVE_F32,
    NATIVE_F16,
    NATIVE_BF16,      /* rounded with integer arithmetic: any CPU */
    NATIVE_BF16_INSN, /* rounded by vcvtneps2bf16: AVX512_BF16. It makes subnormals zero. */
    NATIVE_KINDS
};

enum native_split {
    NATIVE_ELEMENTS, /* one flat array: shares are whole cache lines */
    NATIVE_ROWS      /* shares are whole rows */
};

/* Sums over rows for each column: the gradients of what all rows share, gamma and beta. A thread
 * adds up its rows, in their order, in vectors of its own; then, when all have come that far, the
 * threads' vectors are added up in the order of the threads. So the same number of threads gives
 * the same bits. */
struct native_columns {
    float *own;    /* this thread's vectors, one behind the other, zero before its share */
    float *first;  /* those of thread 0; those of thread t are t * stride behind */
    int64_t width; /* floats of a vector: dim, and some more */
    int64_t stride;
    int32_t threads;
};

/* What a share needs to know about the whole problem. */
struct native_job {
    const struct assay_problem *problem;
    int64_t rows, dim; /* a row is what the last axis counts */
    double param;      /* the op's constant: eps, slope; 0 where it has none */
    struct native_columns columns;
};

/* Computes units (elements or rows) [begin, end). What it returns is added up over the shares, for
 * ops whose output is a mean or a sum; the others return 0. */
typedef double native_share(const struct native_job *job, const struct assay_args *args,
                            int64_t begin, int64_t end);

/* An op's body for one instruction set. [1] writes the output by streaming stores (see native.c);
 * a NULL NATIVE_BF16_INSN falls back to NATIVE_BF16. */
struct native_body {
    enum native_split split;
    bool mean;     /* output 0 is the sum of the shares over the units, one f32 number */
    bool total;    /* with `mean`: it is the sum itself */
    bool of_input; /* units are those of input 0; else of output 0, or with `mean` of input 0 */
    int columns;   /* vectors of struct native_columns */
    native_share *share[NATIVE_KINDS][2];
    /* With columns: adds up columns [begin, end) of all threads and stores them. `begin` is a
     * multiple of 64. */
    native_share *finish[NATIVE_KINDS];
};

/* Before each function of the vector headers and the bodies: what is constant where it is called is
 * then constant inside. Sanitized builds, which need not be fast, say `static inline` instead: they
 * compile in a third of the time. */
#ifndef VEC_INLINE
#define VEC_INLINE static inline __attribute__((always_inline))
#endif

/* A loop whose trip count is constant, written out in full: its arrays become registers. */
#ifdef __clang__
#define NATIVE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define NATIVE_UNROLL _Pragma("GCC unroll 16")
#endif

/* Of n elements from element `at` of a tensor, how many come before its first whole cache line;
 * streaming stores write whole lines. */
static inline int64_t native_head(enum native_kind kind, int64_t at, int64_t n)
{
    int64_t line = kind == NATIVE_F32 ? 16 : 32, head = -at & (line - 1);
    return head < n ? head : n;
}

/* The kind of a dtype here; `has_insn`: the body has one that rounds by instruction. */
enum native_kind assay_native_kind(enum assay_dtype dtype, bool has_insn);

/* An ordinary store first reads the line it writes, a streaming one does not: beyond the L2 cache
 * that saves a third of the traffic. Within it, streaming would push out what the next reader
 * wants. `share_bytes` is what one thread writes. */
bool assay_native_wants_stream(size_t share_bytes);

enum assay_status assay_native_setup(const struct assay_problem *problem,
                                     const struct native_body *body, void **state,
                                     struct assay_error *err);
enum assay_status assay_native_run(void *state, const struct assay_work *work);
void assay_native_teardown(void *state);

/* The rest defines a kernel, which is NATIVE_KERNEL(…) of its body. From the vector header come
 * VEC_NAME (avx512), VEC_NEED (what the CPU must have) and VEC_PREFERENCE; from the kernel's own
 * file NATIVE_OP. */
#define NATIVE_PASTE_(a, b) a##_##b
#define NATIVE_PASTE(a, b) NATIVE_PASTE_(a, b)
#define NATIVE_TEXT_(a) #a
#define NATIVE_TEXT(a) NATIVE_TEXT_(a)
#define NATIVE_NAME NATIVE_PASTE(NATIVE_OP, VEC_NAME)

/* Two functions, without and with streaming stores, from an always-inlined `body`, whose first two
 * arguments are then constants. */
#define NATIVE_VARIANT(body, kind, suffix)                                                         \
    static double NATIVE_PASTE(share, suffix)(                                                     \
        const struct native_job *job, const struct assay_args *args, int64_t begin, int64_t end)   \
    {                                                                                              \
        return body(kind, false, job, args, begin, end);                                           \
    }                                                                                              \
    static double NATIVE_PASTE(share_stream, suffix)(                                              \
        const struct native_job *job, const struct assay_args *args, int64_t begin, int64_t end)   \
    {                                                                                              \
        return body(kind, true, job, args, begin, end);                                            \
    }

#define NATIVE_FINISH(body, kind, suffix)                                                          \
    static double NATIVE_PASTE(finish, suffix)(                                                    \
        const struct native_job *job, const struct assay_args *args, int64_t begin, int64_t end)   \
    {                                                                                              \
        return body(kind, job, args, begin, end);                                                  \
    }

#ifdef VEC_HAS_BF16_INSN
#define NATIVE_VARIANT_INSN(body) NATIVE_VARIANT(body, NATIVE_BF16_INSN, bf16_insn)
#define NATIVE_ENTRY_INSN [NATIVE_BF16_INSN] = {share_bf16_insn, share_stream_bf16_insn},
#define NATIVE_FINISH_INSN(body) NATIVE_FINISH(body, NATIVE_BF16_INSN, bf16_insn)
#define NATIVE_FINISH_ENTRY_INSN [NATIVE_BF16_INSN] = finish_bf16_insn,
#else
#define NATIVE_VARIANT_INSN(body)
#define NATIVE_ENTRY_INSN
#define NATIVE_FINISH_INSN(body)
#define NATIVE_FINISH_ENTRY_INSN
#endif

/* The kernel's struct, for these three functions; it runs where the instruction set is. */
#define NATIVE_KERNEL_STRUCT(setup_, run_, teardown_)                                              \
    static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why) \
    {                                                                                              \
        (void)problem;                                                                             \
        return assay_cpu_need(VEC_NEED, why);                                                      \
    }                                                                                              \
    NATIVE_KERNEL_STRUCT_MORE(setup_, run_, teardown_)

/* Another op's, behind that one in the same file. */
#define NATIVE_KERNEL_STRUCT_MORE(setup_, run_, teardown_)                                         \
    extern const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME);                      \
    const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME) = {                          \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = NATIVE_TEXT(NATIVE_NAME),                                                          \
        .op = NATIVE_TEXT(NATIVE_OP),                                                              \
        .implementation = "native",                                                                \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |            \
                  ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),                                               \
        .preference = VEC_PREFERENCE,                                                              \
        .can_run = can_run,                                                                        \
        .setup = setup_,                                                                           \
        .run = run_,                                                                               \
        .teardown = teardown_,                                                                     \
    }

/* Of a body for shares; what follows are further fields of struct native_body. */
#define NATIVE_KERNEL_OF(body, ...)                                                                \
    NATIVE_VARIANT(body, NATIVE_F32, f32)                                                          \
    NATIVE_VARIANT(body, NATIVE_F16, f16)                                                          \
    NATIVE_VARIANT(body, NATIVE_BF16, bf16)                                                        \
    NATIVE_VARIANT_INSN(body)                                                                      \
    static const struct native_body native_body = {                                                \
        __VA_ARGS__,                                                                               \
        .share = {[NATIVE_F32] = {share_f32, share_stream_f32},                                    \
                  [NATIVE_F16] = {share_f16, share_stream_f16},                                    \
                  [NATIVE_BF16] = {share_bf16, share_stream_bf16},                                 \
                  NATIVE_ENTRY_INSN},                                                              \
    };                                                                                             \
    static enum assay_status setup(const struct assay_problem *problem, void **state,              \
                                   struct assay_error *err)                                        \
    {                                                                                              \
        return assay_native_setup(problem, &native_body, state, err);                              \
    }                                                                                              \
    NATIVE_KERNEL_STRUCT(setup, assay_native_run, assay_native_teardown)

#define NATIVE_KERNEL(body, split_, mean_) NATIVE_KERNEL_OF(body, .split = split_, .mean = mean_)

/* Rows whose sums over all rows are outputs, too: `columns_` vectors, stored by `finish_`. */
#define NATIVE_KERNEL_COLUMNS(body, finish_, columns_)                                             \
    NATIVE_FINISH(finish_, NATIVE_F32, f32)                                                        \
    NATIVE_FINISH(finish_, NATIVE_F16, f16)                                                        \
    NATIVE_FINISH(finish_, NATIVE_BF16, bf16)                                                      \
    NATIVE_FINISH_INSN(finish_)                                                                    \
    NATIVE_KERNEL_OF(body, .split = NATIVE_ROWS, .columns = columns_,                              \
                     .finish = {[NATIVE_F32] = finish_f32,                                         \
                                [NATIVE_F16] = finish_f16,                                         \
                                [NATIVE_BF16] = finish_bf16,                                       \
                                NATIVE_FINISH_ENTRY_INSN})

#endif
