/* quantize_turned_vec.c: tiles of 16 rows and columns are cast as floats, turned, and become bytes
 * by way of f16: of an e5m2 that is the upper half, and of an e4m3, times 2^-8, seven bits in the
 * middle, subnormals included, because both have as many exponents below 1 as they need. What is
 * rounded to zero loses its sign. */
#include "kernel/native/vec/vec.h"

#if VEC_BITS == 512
#include "kernel/native/linear/linear_line_avx512.h"
#elif VEC_BITS == 256
#include "kernel/native/linear/linear_line_avx2.h"
#else
#include "kernel/native/linear/linear_line_portable.h"
#endif
#include "kernel/native/linear/linear_amax.h"
#include "kernel/native/linear/linear_columns.h"
#include "kernel/native/quantize/quantize_turned_native.h"

enum { RUN = 64 /* rows of x whose codes are a cache line */ };

/* 16 rows and columns as values of their codes, times `factor`, turned. */
VEC_INLINE void tile(enum native_kind kind, enum assay_dtype format,
                     const struct linear_matrix *from, const float *inverses, int64_t row,
                     int64_t column, float *turned)
{
    uint32_t buffer[COLUMNS];
    float lines[16 * COLUMNS];
    vec factor = vec_set(format == ASSAY_DTYPE_E4M3 ? 0x1p-8f : 1.0f);
    for (int l = 0; l < 16; l++) {
        const void *piece =
            columns_piece(from, kind == NATIVE_F32 ? 4 : 2, row + l, column, buffer);
        for (int j = 0; j < COLUMNS; j += VEC_LANES) {
            vec inverse = vec_load(NATIVE_F32, inverses, column + j);
            vec code = pack_code(format, vec_load(kind, piece, j), inverse);
            vec_store(NATIVE_F32, lines, l * COLUMNS + j, vec_mul(code, factor));
        }
    }
    columns_turn(lines, turned);
}

VEC_INLINE uint8_t code_of(enum assay_dtype format, uint16_t half)
{
    uint8_t sign = (uint8_t)(half >> 8 & 0x80);
    bool nan = (half & 0x7fff) > 0x7c00;
    if (format == ASSAY_DTYPE_E5M2)
        return nan ? sign | 0x7e : (uint8_t)(half >> 8);
    return nan ? sign | 0x7f : sign | (half >> 7 & 0x7f);
}

/* 64 rows of 16 columns. */
VEC_INLINE void encode_run(enum native_kind kind, enum assay_dtype format,
                           const struct linear_matrix *from, const float *inverses, int64_t row,
                           int64_t column, uint8_t *to)
{
    uint8_t codes[COLUMNS][RUN];
    for (int part = 0; part < RUN; part += 16) {
        float turned[16 * COLUMNS];
        uint16_t halves[16 * COLUMNS];
        tile(kind, format, from, inverses, row + part, column, turned);
        for (int i = 0; i < 16 * COLUMNS; i += VEC_LANES)
            vec_store(NATIVE_F16, halves, i, vec_load(NATIVE_F32, turned, i));
        for (int c = 0; c < COLUMNS; c++)
            for (int i = 0; i < 16; i++)
                codes[c][part + i] = code_of(format, halves[c * 16 + i]);
    }
    int64_t n = from->rows - row < RUN ? from->rows - row : RUN;
    int64_t columns = from->columns - column < COLUMNS ? from->columns - column : COLUMNS;
    for (int64_t c = 0; c < columns; c++)
        memcpy(to + (column + c) * from->rows + row, codes[c], (size_t)n);
}

VEC_INLINE void encode_kind(enum native_kind kind, enum assay_dtype format,
                            const struct linear_matrix *from, const float *inverses, int64_t column,
                            int64_t column_end, uint8_t *to)
{
    for (int64_t row = 0; row < from->rows; row += RUN)
        for (int64_t c = column; c < column_end; c += COLUMNS)
            encode_run(kind, format, from, inverses, row, c, to);
}

#define ENCODE(kind)                                                                               \
    (format == ASSAY_DTYPE_E4M3                                                                    \
         ? encode_kind(kind, ASSAY_DTYPE_E4M3, from, inverses, column, column_end, to)             \
         : encode_kind(kind, ASSAY_DTYPE_E5M2, from, inverses, column, column_end, to))

static void encode(const struct linear_matrix *from, enum assay_dtype format, const float *inverses,
                   int64_t column, int64_t column_end, uint8_t *to)
{
    enum native_kind kind = linear_kind_of(from->dtype);
    if (kind == NATIVE_BF16)
        ENCODE(NATIVE_BF16);
    else if (kind == NATIVE_F16)
        ENCODE(NATIVE_F16);
    else
        ENCODE(NATIVE_F32);
}

static const struct quantize_turned_body body = {.amax = amax_of_columns, .encode = encode};

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    (void)problem;
    return assay_cpu_need(VEC_NEED, why);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return assay_quantize_turned_setup(problem, &body, state, err);
}

#define NATIVE_OP quantize_turned
extern const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME);
const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME) = {
    .struct_size = sizeof(struct assay_kernel),
    .abi = ASSAY_KERNEL_ABI,
    .name = NATIVE_TEXT(NATIVE_NAME),
    .op = "quantize_turned",
    .implementation = "native",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .preference = VEC_PREFERENCE,
    .can_run = can_run,
    .setup = setup,
    .run = assay_quantize_turned_run,
    .teardown = assay_quantize_turned_teardown,
};
