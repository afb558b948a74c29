/* onednn_isa.h: the two kernels of an op for which the library has AMX: OP_onednn, with all that
 * the library has for this CPU, and OP_onednn_avx512 without AMX, for machines where the library
 * dies of it. The functions of the second end in _avx512; its setup begins with
 * assay_onednn_leave_out_amx.
 */
#ifndef ASSAY_KERNEL_ONEDNN_ISA_H
#define ASSAY_KERNEL_ONEDNN_ISA_H

#include "kernel/onednn/onednn.h"

enum assay_status assay_onednn_isa_can_run(const struct assay_problem *problem,
                                           struct assay_error *why);
enum assay_status assay_onednn_isa_can_run_avx512(const struct assay_problem *problem,
                                                  struct assay_error *why);

/* The library's version and instruction set. */
void assay_onednn_isa_note(const struct assay_problem *problem, char *text, size_t size);
void assay_onednn_isa_note_avx512(const struct assay_problem *problem, char *text, size_t size);

#endif
