#include "tensor/tensor.h"

#include "base/rng.h"

#include <stdio.h>

int64_t assay_tensor_count(const struct assay_tensor *tensor)
{
    int64_t count = 1;
    for (int32_t i = 0; i < tensor->rank; i++)
        if (__builtin_mul_overflow(count, tensor->dims[i], &count))
            return INT64_MAX;
    return count;
}

size_t assay_tensor_bytes(const struct assay_tensor *tensor)
{
    const struct assay_dtype_info *info = assay_dtype_info(tensor->dtype);
    size_t count = (size_t)assay_tensor_count(tensor), bytes;
    if (info && info->bits < 8) { /* several to a byte; the last one may not be full */
        size_t in_byte = 8 / (size_t)info->bits;
        return count / in_byte + (count % in_byte != 0);
    }
    if (__builtin_mul_overflow(count, info ? info->bytes : 0, &bytes))
        return SIZE_MAX;
    return bytes;
}

void assay_tensor_shape_text(const int64_t *dims, int32_t rank, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int32_t i = 0; i < rank && used < size; i++)
        used +=
            (size_t)snprintf(buf + used, size - used, "%s%lld", i ? "x" : "", (long long)dims[i]);
}

void assay_tensor_coordinates(const struct assay_tensor *tensor, int64_t index, char *buf,
                              size_t size)
{
    int64_t at[ASSAY_MAX_RANK];
    for (int32_t i = tensor->rank - 1; i >= 0; i--) {
        int64_t dim = tensor->dims[i] > 0 ? tensor->dims[i] : 1;
        at[i] = index % dim;
        index /= dim;
    }
    size_t used = (size_t)snprintf(buf, size, "[");
    for (int32_t i = 0; i < tensor->rank && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%lld", i ? "," : "", (long long)at[i]);
    if (used < size)
        snprintf(buf + used, size - used, "]");
}

/* The sum of four 16-bit uniforms: deviation 65536 * sqrt(4 / 12), so that dividing by it gives 1.
 */
static double normal_at(uint64_t seed, int64_t index)
{
    uint64_t bits = assay_rng_at(seed, (uint64_t)index);
    int64_t sum = (int64_t)(bits & 0xffff) + (int64_t)((bits >> 16) & 0xffff) +
                  (int64_t)((bits >> 32) & 0xffff) + (int64_t)(bits >> 48);
    return (double)(sum - 131070) * (1.0 / 37837.2272);
}

static void fill_values(uint64_t seed, double scale, double shift, int64_t first, int64_t n,
                        double *values)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = scale * normal_at(seed, first + i) + shift;
    if (first == 0)
        values[0] = 1.5;
}

void assay_tensor_fill_values(enum assay_dtype dtype, uint64_t seed, double scale, double shift,
                              int64_t first, int64_t n, double *values)
{
    double stored[ASSAY_FILL_BLOCK];
    fill_values(seed, scale, shift, first, n, values);
    assay_dtype_store(dtype, values, stored, 0, n);
    assay_dtype_load(dtype, stored, 0, n, values);
}

void assay_tensor_fill_scaled(const struct assay_tensor *tensor, void *data, uint64_t seed,
                              double scale, double shift)
{
    int64_t count = assay_tensor_count(tensor);
    int64_t blocks = (count + ASSAY_FILL_BLOCK - 1) / ASSAY_FILL_BLOCK;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        double values[ASSAY_FILL_BLOCK];
        int64_t first = b * ASSAY_FILL_BLOCK;
        int64_t n = count - first < ASSAY_FILL_BLOCK ? count - first : ASSAY_FILL_BLOCK;
        fill_values(seed, scale, shift, first, n, values);
        assay_dtype_store(tensor->dtype, values, data, first, n);
    }
}

void assay_tensor_fill_normal(const struct assay_tensor *tensor, void *data, uint64_t seed)
{
    assay_tensor_fill_scaled(tensor, data, seed, 1, 0);
}

void assay_tensor_fill_index(const struct assay_tensor *tensor, void *data, uint64_t seed,
                             int64_t limit)
{
    int64_t count = assay_tensor_count(tensor);
    for (int64_t i = 0; i < count; i++) {
        double value = (double)(assay_rng_at(seed, (uint64_t)i) % (uint64_t)limit);
        assay_dtype_store(tensor->dtype, &value, data, i, 1);
    }
}

static uint64_t load64(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Multiplying moves differences only upwards, and the top bit, the sign of a double, stays where it
 * is: two signs flipped in one lane would cancel. The rotation brings the top back to the bottom.
 */
static uint64_t absorb(uint64_t lane, uint64_t word)
{
    uint64_t product = (lane ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return product << 29 | product >> 35;
}

uint64_t assay_tensor_checksum(const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t lanes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    size_t done = 0;
    for (; done + 64 <= bytes; done += 64)
        for (int k = 0; k < 8; k++)
            lanes[k] = absorb(lanes[k], load64(p + done + 8 * k));
    uint64_t sum = bytes;
    for (; done < bytes; done++)
        sum = assay_rng_mix(sum ^ p[done]);
    for (int k = 0; k < 8; k++)
        sum = assay_rng_mix(sum ^ lanes[k]);
    return sum;
}
