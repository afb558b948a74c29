/* tvm_ffi.h: kernels that are functions of TVM-FFI (tvm.apache.org/ffi), without Python: a guest of
 * the runner for the objects that tvm_names.h finds. */
#ifndef ASSAY_RUNNER_TVM_FFI_H
#define ASSAY_RUNNER_TVM_FFI_H

#include "runner/guest.h"

/* For the rest of the process's life; NULL: out of memory. */
const struct assay_guest *assay_tvm_guest_create(void);

#endif
