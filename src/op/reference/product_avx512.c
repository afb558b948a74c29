/* product_avx512.c: compiled for avx512 by its name (cmake/isa.cmake). */
#define PRODUCT_PART assay_product_part_avx512
#include "op/reference/product_body.h"
