/* quant_loops_body.h: the loops of quant_loops.h, for the instruction set of the including file,
 * which defines QUANT_ISA. Written for the vectorisers of gcc and clang, which do not vectorise
 * float sums and maxima under strict NaN and ordering rules: hence integers in place of floats
 * where only the order of values matters, and explicit lanes for sums. */
#include "quant/quant_loops.h"

#if defined(__clang__) /* gcc's standard C does not fuse a product with its sum; nor must clang,   \
                        */
#pragma STDC FP_CONTRACT OFF /* or the bits would depend on the CPU */
#endif

#define QUANT_NAME(a, b) QUANT_PASTE(a, b)
#define QUANT_PASTE(a, b) a##b
#define QUANT_TEXT(a) QUANT_QUOTE(a)
#define QUANT_QUOTE(a) #a

static void widen(enum assay_dtype dtype, const void *src, int64_t n, float *dst)
{
    const uint16_t *half = src;
    if (dtype == ASSAY_DTYPE_F32)
        memcpy(dst, src, (size_t)n * sizeof *dst);
    else if (dtype == ASSAY_DTYPE_BF16)
        for (int64_t i = 0; i < n; i++)
            dst[i] = assay_bf16_to_f32(half[i]);
    else
        for (int64_t i = 0; i < n; i++)
            dst[i] = assay_f16_to_f32(half[i]);
}

/* Floats without their signs are ordered as their bits are; NaN comes last. */
static float amax(const float *w, int64_t n)
{
    int32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t magnitude = (int32_t)(assay_f32_bits(w[i]) & 0x7fffffffu);
        most = magnitude > most ? magnitude : most;
    }
    return assay_f32_from_bits((uint32_t)most);
}

/* Turns the bits of a float into an integer of the same order, and back. */
static inline int32_t ordered(int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

static void range(const float *w, int64_t n, float *least, float *most)
{
    int32_t low = INT32_MAX, high = INT32_MIN;
    for (int64_t i = 0; i < n; i++) {
        int32_t key = ordered((int32_t)assay_f32_bits(w[i]));
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    *least = assay_f32_from_bits((uint32_t)ordered(low));
    *most = assay_f32_from_bits((uint32_t)ordered(high));
}

/* The nearest integer, ties to even, of a value between `least` and `most`, which are small: above
 * 2^23 floats are whole, so adding 1.5 * 2^23 rounds, and leaves the integer in the low bits. NaN
 * becomes 0 there. */
static inline int32_t nearest(float value, float least, float most)
{
    value = value < least ? least : value;
    value = value > most ? most : value;
    return (int32_t)assay_f32_bits(value + 0x1.8p23f);
}

static int32_t to_s8(const float *w, int64_t n, float inverse, int8_t *codes)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        int8_t code = (int8_t)nearest(w[i] * inverse, -128, 127);
        codes[i] = code;
        sum += code;
    }
    return sum;
}

static void to_e4m3(const float *w, int64_t n, float inverse, uint8_t *codes)
{
    for (int64_t i = 0; i < n; i++)
        codes[i] = assay_e4m3_from_f32(w[i] * inverse);
}

/* Groups are short: in whole blocks of 32, the shortest of them, there is nothing left over. */
static void to_u8(const float *w, int64_t n, float low, float scale, float most, uint8_t *codes)
{
    int64_t i = 0;
    for (; i + 32 <= n; i += 32)
        for (int64_t j = i; j < i + 32; j++)
            codes[j] = (uint8_t)nearest((w[j] - low) / scale, 0, most);
    for (; i < n; i++)
        codes[i] = (uint8_t)nearest((w[i] - low) / scale, 0, most);
}

static void pair(const uint8_t *codes, int64_t n, uint8_t *out)
{
    for (int64_t i = 0; i < n / 2; i++)
        out[i] = (uint8_t)(codes[2 * i] | codes[2 * i + 1] << 4);
}

static void interleave(const uint32_t *rows, int64_t stride, int64_t lines, uint32_t *out)
{
    for (int64_t line = 0; line < lines; line++)
        for (int64_t r = 0; r < ASSAY_PANEL_ROWS; r++)
            out[line * ASSAY_PANEL_ROWS + r] = rows[r * stride + line];
}

/* ---- half-quadratic quantisation, 16 lanes at a time ----------------------------------------- */

enum { LANES = 16 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t lane_bits __attribute__((vector_size(LANES * sizeof(int32_t))));

static inline float sum_of(const lanes *values)
{
    float all[LANES];
    memcpy(all, values, sizeof all);
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++)
            all[i] += all[i + half];
    return all[0];
}

/* where ? a : b, of masks that a comparison gave. */
#define CHOOSE(where, a, b) (((where) & (a)) | (~(where) & (b)))

/* As `nearest` between 0 and 15, but still a float. */
#define CODES_OF(value, out)                                                                       \
    do {                                                                                           \
        lane_bits v_ = (lane_bits)(value);                                                         \
        v_ &= (lane_bits)((lanes)v_ > 0);                                                          \
        lane_bits most_ = (lane_bits)(0 * magic + 15);                                             \
        v_ = CHOOSE((lanes)v_ > 15, most_, v_);                                                    \
        out = (lanes)v_ + magic;                                                                   \
        out -= magic;                                                                              \
    } while (0)

static float error_u4(const float *w, int64_t n, float scale, float zero)
{
    const lanes magic = (lanes){0} + 0x1.8p23f;
    lanes sum = {0};
    float low = zero - 8 * scale;
    for (int64_t i = 0; i < n; i += LANES) {
        lanes x, code;
        memcpy(&x, w + i, sizeof x);
        CODES_OF((x - low) / scale, code);
        lanes error = x - ((code - 8) * scale + zero);
        sum += error * error;
    }
    return sum_of(&sum);
}

/* |r|^-0.3 to about 1e-3: 2^(-0.3 log2 |r|), both by a cubic on one octave. The cubics meet the
 * curves at the ends of the octave. */
#define POWER(r, out)                                                                              \
    do {                                                                                           \
        lane_bits bits_ = (lane_bits)(r)&0x7fffffff;                                               \
        lanes m_ = (lanes)((bits_ & 0x7fffff) | 0x3f800000) - 1;                                   \
        lanes log_ = __builtin_convertvector((bits_ >> 23) - 127, lanes);                          \
        log_ += m_ * (1.4228f + m_ * (-0.5801f + m_ * 0.1573f));                                   \
        lanes y_ = log_ * -0.3f;                                                                   \
        lanes whole_ = y_ - 0.5f + magic; /* down to a whole number, or nearly */                  \
        lane_bits shift_ = (lane_bits)whole_ << 23;                                                \
        whole_ -= magic;                                                                           \
        lanes f_ = y_ - whole_;                                                                    \
        lanes power_ = 1 + f_ * (0.6951f + f_ * (0.2276f + f_ * 0.0773f));                         \
        out = (lanes)((lane_bits)power_ + shift_);                                                 \
    } while (0)

enum { HQQ_ITERATIONS = 20 };

/* Badri and Shaji, "Half-Quadratic Quantization of Large Machine Learning Models", 2023, and their
 * code (hqq/core/optimize.py), with weights in units of the scale, so that beta means the same for
 * any weights:
 *
 *     q = clamp(round(v + z)),  r = v - (q - z)
 *     e = sign(r) max(0, |r| - |r|^(p - 1) / beta)        p = 0.7
 *     z = mean(q - v + e)
 *
 * e takes the outliers out of the mean. beta starts at 10 and grows by 1 % each time. It ends when
 * the squared error grows, and keeps the z of the smallest. */
static void hqq(const float *v, int64_t n, float *z)
{
    const lanes magic = (lanes){0} + 0x1.8p23f;
    float best = INFINITY, now = *z, beta = 10;
    for (int iteration = 0; iteration < HQQ_ITERATIONS; iteration++) {
        lanes moved = {0}, error = {0};
        for (int64_t i = 0; i < n; i += LANES) {
            lanes x, code, power;
            memcpy(&x, v + i, sizeof x);
            CODES_OF(x + now, code);
            lanes r = x - (code - now);
            POWER(r, power);
            lanes excess = (lanes)((lane_bits)r & 0x7fffffff) - power / beta;
            lane_bits kept = (lane_bits)excess & (lane_bits)(excess > 0);
            lanes e = (lanes)(kept | ((lane_bits)r & INT32_MIN));
            moved += code - x + e;
            error += r * r;
        }
        float sum = sum_of(&error);
        if (!(sum < best))
            return;
        best = sum;
        *z = now;
        now = sum_of(&moved) / (float)n;
        beta *= 1.01f;
    }
}

const struct assay_quant_loops QUANT_NAME(assay_quant_loops_, QUANT_ISA) = {
    .isa = QUANT_TEXT(QUANT_ISA),
    .widen = widen,
    .amax = amax,
    .range = range,
    .to_s8 = to_s8,
    .to_e4m3 = to_e4m3,
    .to_u8 = to_u8,
    .pair = pair,
    .interleave = interleave,
    .error_u4 = error_u4,
    .hqq = hqq,
};
