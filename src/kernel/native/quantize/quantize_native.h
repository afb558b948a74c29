/* quantize_native.h: what the native kernels of quantize and dequantize share.
 *
 * How it fits together. A body is compiled once for each instruction set (quantize_body.h and
 * dequantize_body.h over quantize_vec_*.h; quantize_portable.h and dequantize_portable.h have
 * plain loops). It knows how to go over runs of elements that share a scale: find their bounds,
 * encode them, decode them. The drivers (quantize_driver.c, dequantize_driver.c) are
 * compiled once, for any CPU: they split the work over threads, keep what is at hand in the L1
 * cache, and turn bounds into scales. */
#ifndef ASSAY_KERNEL_NATIVE_QUANTIZE_NATIVE_H
#define ASSAY_KERNEL_NATIVE_QUANTIZE_NATIVE_H

#include "kernel/native/native.h"
#include "op/quantize.h"

enum quantize_format { QUANTIZE_S8, QUANTIZE_E4M3, QUANTIZE_E5M2, QUANTIZE_U4, QUANTIZE_FORMATS };

/* n runs of `run` elements each, the first of which is element `at` of the tensor. */
struct quantize_runs {
    int64_t at, run, n;
};

/* Finds the bounds of each run, in the bits of x's type. high[i]: the bits of the greatest
 * magnitude. Where `ranged`, low[i] and high[i]: the least and the greatest of the keys
 * bits ^ (sign ? all other bits : 0), which are ordered as the floats are. Either way NaN is beyond
 * infinity, so bounds that are finite say that all is. */
typedef void quantize_measure(const void *x, struct quantize_runs runs, int32_t *low,
                              int32_t *high);

/* What makes codes of runs, one of each for every run; `low` is for u4. */
struct quantize_factors {
    const float *scale, *inverse, *low; /* inverse: 1.0f / scale */
};

/* Makes the codes of runs whose values are finite and within the bounds that the scale was made
 * from. `codes` is the byte of the first element's code.
 * Prefetches the memory that lies `ahead` bytes behind (or before) what it reads. */
typedef void quantize_encode(const void *x, struct quantize_runs runs,
                             struct quantize_factors factors, int64_t ahead, uint8_t *codes);

struct quantize_body {
    quantize_measure *measure[NATIVE_KINDS][2]; /* [1]: ranged */
    quantize_encode *encode[NATIVE_KINDS][QUANTIZE_FORMATS];
    /* Copies by streaming stores; NULL where there are none. The end of a thread's copies
     * makes them visible. */
    void (*stream)(uint8_t *to, const uint8_t *from, int64_t bytes);
    void (*stream_end)(void);
};

/* Brings codes back. `codes` and y are whole tensors, `scales` those of the first run. Where
 * `stream`, every run begins on a cache line of y and is written by streaming stores. */
typedef void dequantize_decode(const uint8_t *codes, struct quantize_runs runs, const float *scales,
                               bool stream, void *y);

struct dequantize_body {
    dequantize_decode *decode[NATIVE_KINDS][QUANTIZE_FORMATS]; /* a NULL NATIVE_BF16_INSN falls
                                                                  back to NATIVE_BF16 */
    void (*stream_end)(void);
};

enum assay_status assay_quantize_native_setup(const struct assay_problem *problem,
                                              const struct quantize_body *body, void **state,
                                              struct assay_error *err);
enum assay_status assay_quantize_native_run(void *state, const struct assay_work *work);
void assay_quantize_native_teardown(void *state);

enum assay_status assay_dequantize_native_setup(const struct assay_problem *problem,
                                                const struct dequantize_body *body, void **state,
                                                struct assay_error *err);
enum assay_status assay_dequantize_native_run(void *state, const struct assay_work *work);
void assay_dequantize_native_teardown(void *state);

static inline enum quantize_format quantize_format_of(const struct assay_problem *problem)
{
    enum assay_dtype format = assay_quantize_format(problem);
    return format == ASSAY_DTYPE_S8     ? QUANTIZE_S8
           : format == ASSAY_DTYPE_E4M3 ? QUANTIZE_E4M3
           : format == ASSAY_DTYPE_E5M2 ? QUANTIZE_E5M2
                                        : QUANTIZE_U4;
}

static inline enum native_kind quantize_kind_of(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F32   ? NATIVE_F32
           : dtype == ASSAY_DTYPE_F16 ? NATIVE_F16
                                      : NATIVE_BF16;
}

/* ---- the split over threads ------------------------------------------------------------------ */

/* Units are runs or, where there is only one run, elements. */
struct quantize_split {
    int64_t units, quantum; /* shares begin at multiples of `quantum` units */
    int32_t threads;
    bool whole; /* one run: units are elements */
};

/* Waking the team costs a few microseconds; a share of this many elements takes about as long. */
enum { QUANTIZE_SHARE_MIN = 16384 };

/* Where there are enough units, shares begin with a cache line of codes and of scales. */
enum { QUANTIZE_ELEMENT_QUANTUM = 128, QUANTIZE_RUN_QUANTUM = 16 };

static inline struct quantize_split quantize_split_of(const struct assay_problem *problem)
{
    struct assay_tensor all = assay_quantize_matrix(problem, problem->dtype);
    int64_t count = assay_tensor_count(&all), runs = assay_quantize_runs(problem);
    int64_t busy = count / QUANTIZE_SHARE_MIN, quantum = QUANTIZE_RUN_QUANTUM;
    struct quantize_split split = {.whole = runs == 1, .units = runs == 1 ? count : runs};
    busy = busy < 1 ? 1 : busy < split.units ? busy : split.units;
    split.threads = problem->threads < busy ? problem->threads : (int32_t)busy;
    split.quantum = split.whole                           ? QUANTIZE_ELEMENT_QUANTUM
                    : runs / split.threads >= 8 * quantum ? quantum
                                                          : 1;
    return split;
}

/* Where share `index` begins; the last one ends at index == threads. */
static inline int64_t quantize_share_begin(const struct quantize_split *split, int32_t index)
{
    int64_t groups = (split->units + split->quantum - 1) / split->quantum;
    int64_t even = groups / split->threads, odd = groups % split->threads;
    int64_t begin = (even * index + (index < odd ? index : odd)) * split->quantum;
    return index >= split->threads || begin > split->units ? split->units : begin;
}

/* As native.c has it: beyond the L2 cache an ordinary store reads first what it overwrites. */
static inline bool quantize_wants_stream(const struct assay_tensor *out, int32_t threads)
{
    size_t l2 = assay_cpu_info()->l2_bytes;
    return assay_tensor_bytes(out) / (size_t)threads > (l2 ? l2 : (size_t)1 << 20);
}

/* ---- a kernel of either op; from the vector header come VEC_NAME, VEC_NEED, VEC_PREFERENCE ----
 */

#define QUANTIZE_KERNEL(op_, body_)                                                                \
    static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why) \
    {                                                                                              \
        (void)problem;                                                                             \
        return assay_cpu_need(VEC_NEED, why);                                                      \
    }                                                                                              \
    static enum assay_status setup(const struct assay_problem *problem, void **state,              \
                                   struct assay_error *err)                                        \
    {                                                                                              \
        return NATIVE_PASTE(NATIVE_PASTE(assay, op_), native_setup)(problem, &body_, state, err);  \
    }                                                                                              \
    extern const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_PASTE(op_, VEC_NAME));      \
    const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_PASTE(op_, VEC_NAME)) = {          \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = NATIVE_TEXT(NATIVE_PASTE(op_, VEC_NAME)),                                          \
        .op = NATIVE_TEXT(op_),                                                                    \
        .implementation = "native",                                                                \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |            \
                  ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),                                               \
        .preference = VEC_PREFERENCE,                                                              \
        .can_run = can_run,                                                                        \
        .setup = setup,                                                                            \
        .run = NATIVE_PASTE(NATIVE_PASTE(assay, op_), native_run),                                 \
        .teardown = NATIVE_PASTE(NATIVE_PASTE(assay, op_), native_teardown),                       \
    }

#endif
