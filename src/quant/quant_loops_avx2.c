/* quant_loops_avx2.c: the loops over weights, compiled for avx2 by its name (cmake/isa.cmake). */
#define QUANT_ISA avx2
#include "quant/quant_loops_body.h"
