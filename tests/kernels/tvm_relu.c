/* Functions of TVM-FFI that compute relu, or do not; written by its documentation alone, without
 * headers of ours. Errors go through libtvm_ffi.so (tvm_runtime.c). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int32_t type_index;
    uint32_t zero_padding;
    union {
        int64_t v_int64;
        double v_float64;
        void *v_ptr;
    };
} TVMFFIAny;

typedef struct {
    void *data;
    struct {
        int32_t device_type, device_id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

enum { kTVMFFINone = 0, kTVMFFIInt = 1, kTVMFFIBool = 2, kTVMFFIFloat = 3, kTVMFFIDLTensorPtr = 7 };

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
void *TVMFFIEnvGetStream(int32_t type, int32_t id) __attribute__((weak));

static int refuse(const char *kind, const char *message)
{
    TVMFFIErrorSetRaisedFromCStr(kind, message);
    return -1;
}

static int64_t count(const DLTensor *t)
{
    int64_t n = 1;
    for (int32_t i = 0; i < t->ndim; i++)
        n *= t->shape[i];
    return n;
}

static int is_f32(const TVMFFIAny *value)
{
    const DLTensor *t = value->v_ptr;
    return value->type_index == kTVMFFIDLTensorPtr && t->dtype.code == 2 && t->dtype.bits == 32 &&
           t->dtype.lanes == 1 && t->device.device_type == 1 && t->byte_offset == 0 &&
           t->strides[t->ndim - 1] == 1;
}

static int scaled_relu(const TVMFFIAny *x, const TVMFFIAny *y, float slope)
{
    if (!is_f32(x) || !is_f32(y))
        return refuse("TypeError", "relu takes tensors of float32 on the CPU");
    const DLTensor *from = x->v_ptr, *to = y->v_ptr;
    if (from->ndim != to->ndim || count(from) != count(to))
        return refuse("ValueError", "x and y are not of one shape");
    const float *in = from->data;
    float *out = to->data;
    for (int64_t i = 0; i < count(from); i++)
        out[i] = in[i] > 0 ? in[i] : slope * in[i];
    return 0;
}

int __tvm_ffi_relu(void *handle, const TVMFFIAny *args, int32_t n, TVMFFIAny *result)
{
    (void)handle;
    if (n != 2 || result->type_index != kTVMFFINone)
        return refuse("TypeError", "relu takes x and y");
    return scaled_relu(&args[0], &args[1], 0);
}

int __tvm_ffi_relu_wrong(void *handle, const TVMFFIAny *args, int32_t n, TVMFFIAny *result)
{
    (void)handle, (void)n, (void)result;
    return scaled_relu(&args[0], &args[1], 0.5f);
}

int __tvm_ffi_relu_raises(void *handle, const TVMFFIAny *args, int32_t n, TVMFFIAny *result)
{
    const DLTensor *x = args[0].v_ptr;
    (void)handle, (void)n, (void)result;
    if (x->device.device_type == 2 && TVMFFIEnvGetStream(2, 0))
        return refuse("ValueError", "it was told the stream");
    return refuse("ValueError", "x must be a matrix");
}

int __tvm_ffi_relu_silent(void *handle, const TVMFFIAny *args, int32_t n, TVMFFIAny *result)
{
    (void)handle, (void)args, (void)n, (void)result;
    return -7;
}

int __tvm_ffi_relu_crashes(void *handle, const TVMFFIAny *args, int32_t n, TVMFFIAny *result)
{
    (void)handle, (void)args, (void)n, (void)result;
    abort();
}

int __tvm_ffi_relu_returns(void *handle, const TVMFFIAny *args, int32_t n, TVMFFIAny *result)
{
    (void)handle, (void)n;
    result->type_index = kTVMFFIInt;
    result->v_int64 = 3;
    return scaled_relu(&args[0], &args[1], 0);
}

/* Called as no op is: (slope, y, x, dim, factor, exact, nothing). */
int __tvm_ffi_bent(void *handle, const TVMFFIAny *args, int32_t n, TVMFFIAny *result)
{
    (void)handle, (void)result;
    if (n != 7 || args[0].type_index != kTVMFFIFloat || args[3].type_index != kTVMFFIInt ||
        args[4].type_index != kTVMFFIFloat || args[5].type_index != kTVMFFIBool ||
        args[6].type_index != kTVMFFINone)
        return refuse("TypeError", "bent takes slope, y, x, dim, factor, exact and nothing");
    const DLTensor *x = args[2].v_ptr;
    if (args[3].v_int64 != x->shape[x->ndim - 1] || args[4].v_float64 != 0.5 || !args[5].v_int64)
        return refuse("ValueError", "bent got other values");
    return scaled_relu(&args[2], &args[1], (float)args[0].v_float64);
}

/* What a compiler of TVM's leaves beside functions. */
const char __tvm_ffi__metadata_relu[] = "{}";
