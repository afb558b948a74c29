/* quant_loops_avx512.c: the loops over weights, compiled for avx512 by its name (cmake/isa.cmake).
 */
#define QUANT_ISA avx512
#include "quant/quant_loops_body.h"
