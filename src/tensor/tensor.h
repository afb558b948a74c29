/* tensor.h: sizes of dense tensors and seeded fills. */
#ifndef ASSAY_TENSOR_TENSOR_H
#define ASSAY_TENSOR_TENSOR_H

#include "tensor/dtype.h"

/* Elements of a tensor, and its bytes. Both saturate at INT64_MAX / SIZE_MAX instead of wrapping.
 */
int64_t assay_tensor_count(const struct assay_tensor *tensor);
size_t assay_tensor_bytes(const struct assay_tensor *tensor);

/* "[32, 512, 768]" without blanks: "32x512x768". */
void assay_tensor_shape_text(const int64_t *dims, int32_t rank, char *buf, size_t size);
/* "[3,17,255]": where the element with this index is. */
void assay_tensor_coordinates(const struct assay_tensor *tensor, int64_t index, char *buf,
                              size_t size);

/* Nearly normal values, mean 0, deviation 1, within ±3.47, rounded to the dtype. Element i depends
 * only on (seed, i), so threads do not matter. Element 0 is 1.5: no filled tensor is all zeros. */
void assay_tensor_fill_normal(const struct assay_tensor *tensor, void *data, uint64_t seed);

/* The same, scaled and shifted: scale * normal + shift. */
void assay_tensor_fill_scaled(const struct assay_tensor *tensor, void *data, uint64_t seed,
                              double scale, double shift);

/* Elements [first, first + n) as that fill stores them, n at most ASSAY_FILL_BLOCK: for what is
 * derived from them. */
enum { ASSAY_FILL_BLOCK = 1024 };
void assay_tensor_fill_values(enum assay_dtype dtype, uint64_t seed, double scale, double shift,
                              int64_t first, int64_t n, double *values);

/* Uniform integers in [0, limit). */
void assay_tensor_fill_index(const struct assay_tensor *tensor, void *data, uint64_t seed,
                             int64_t limit);

/* A 64-bit checksum of any bytes, in blocks so that it runs at memory speed. */
uint64_t assay_tensor_checksum(const void *data, size_t bytes);

#endif
