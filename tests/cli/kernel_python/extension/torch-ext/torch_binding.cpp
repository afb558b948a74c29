#include <torch/library.h>
#include "registration.h"
#include "torch_binding.h"
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops)
{
    ops.def("silu_and_mul(Tensor! out, Tensor x) -> ()");
#ifdef CPU_KERNEL
    ops.impl("silu_and_mul", c10::kCPU, &silu_and_mul);
#endif
}
REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
