/* product_avx2.c: compiled for avx2 by its name (cmake/isa.cmake). */
#define PRODUCT_PART assay_product_part_avx2
#include "op/reference/product_body.h"
