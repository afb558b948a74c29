/* benchmark_activation.c: workloads over src/activation.c, on the CPU. */
#include <assay/assay_kernel.h>

#include "activation.h"

#include <math.h>
#if ACTIVATION_F16
#include <immintrin.h>
#endif

/* ---- the kernels ---- */

static int run_silu_and_mul(const assay_call *call)
{
    int64_t rows = call->outputs[0].tensor.dims[0], d = call->outputs[0].tensor.dims[1];
#if ACTIVATION_F16
    if (call->inputs[0].tensor.dtype == ASSAY_DTYPE_F16)
        silu_and_mul_f16((uint16_t *)call->out[0], (const uint16_t *)call->in[0], rows, d,
                         call->threads);
    else
#endif
        silu_and_mul_f32((float *)call->out[0], (const float *)call->in[0], rows, d, call->threads);
    return 0;
}

static int run_gelu(const assay_call *call)
{
    int64_t count = assay_elements(&call->outputs[0]);
#if ACTIVATION_F16
    if (call->inputs[0].tensor.dtype == ASSAY_DTYPE_F16)
        gelu_f16((uint16_t *)call->out[0], (const uint16_t *)call->in[0], count, call->threads);
    else
#endif
        gelu_f32((float *)call->out[0], (const float *)call->in[0], count, call->threads);
    return 0;
}

/* ---- the same, the plain way: one element after the other, in double ---- */

static double get(const assay_call *call, int64_t i)
{
#if ACTIVATION_F16
    if (call->inputs[0].tensor.dtype == ASSAY_DTYPE_F16)
        return (double)_cvtsh_ss(((const uint16_t *)call->in[0])[i]);
#endif
    return (double)((const float *)call->in[0])[i];
}

static void set(const assay_call *call, int64_t i, double value)
{
#if ACTIVATION_F16
    if (call->outputs[0].tensor.dtype == ASSAY_DTYPE_F16)
        ((uint16_t *)call->out[0])[i] = _cvtss_sh((float)value, _MM_FROUND_TO_NEAREST_INT);
    else
#endif
        ((float *)call->out[0])[i] = (float)value;
}

static int verify_silu_and_mul(const assay_call *call)
{
    int64_t rows = call->outputs[0].tensor.dims[0], d = call->outputs[0].tensor.dims[1];
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < d; i++) {
            double gate = get(call, row * 2 * d + i), value = get(call, row * 2 * d + d + i);
            set(call, row * d + i, gate / (1 + exp(-gate)) * value);
        }
    return 0;
}

static int verify_gelu(const assay_call *call)
{
    for (int64_t i = 0; i < assay_elements(&call->outputs[0]); i++) {
        double x = get(call, i);
        set(call, i, 0.5 * x * erfc(-x / sqrt(2.0)));
    }
    return 0;
}

/* ---- shapes ---- */

static void gated(assay_setup *s, enum assay_dtype dtype, int64_t rows, int64_t d)
{
    assay_input(s, "x", dtype, rows, 2 * d);
    assay_output(s, "out", dtype, rows, d);
}

static void plain(assay_setup *s, enum assay_dtype dtype, int64_t rows, int64_t columns)
{
    assay_input(s, "x", dtype, rows, columns);
    assay_output(s, "out", dtype, rows, columns);
}

static void gated_f32(assay_setup *s) { gated(s, ASSAY_DTYPE_F32, 128, 512); }
static void gated_f32_large(assay_setup *s) { gated(s, ASSAY_DTYPE_F32, 1024, 2048); }
static void plain_f32(assay_setup *s) { plain(s, ASSAY_DTYPE_F32, 128, 1024); }
static void plain_f32_large(assay_setup *s) { plain(s, ASSAY_DTYPE_F32, 1024, 2048); }

ASSAY_BENCHMARK(Activation, 0, gated_f32, {"silu_and_mul", run_silu_and_mul, verify_silu_and_mul},
                {"silu_and_mul_large", run_silu_and_mul, verify_silu_and_mul, gated_f32_large},
                {"gelu", run_gelu, verify_gelu, plain_f32},
                {"gelu_large", run_gelu, verify_gelu, plain_f32_large})

#if ACTIVATION_F16
static void gated_f16(assay_setup *s) { gated(s, ASSAY_DTYPE_F16, 128, 512); }
static void plain_f16(assay_setup *s) { plain(s, ASSAY_DTYPE_F16, 128, 1024); }

ASSAY_BENCHMARK(ActivationF16, 0, gated_f16,
                {"silu_and_mul", run_silu_and_mul, verify_silu_and_mul},
                {"gelu", run_gelu, verify_gelu, plain_f16})
#endif
