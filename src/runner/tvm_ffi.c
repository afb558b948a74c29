/* tvm_ffi.c: functions of TVM-FFI as kernels. The tensors of a call are described before it;
 * between two calls only their addresses change. Values that a function returns are let go: outputs
 * are written. Errors are told through libtvm_ffi.so, where the object uses it. */
#include "runner/tvm_ffi.h"

#include "base/alloc.h"
#include "device/device.h"
#include "runner/tvm_names.h"
#include "tensor/dlpack.h"
#include "tensor/tensor.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libtvm_ffi.so"

enum { MAX_TENSORS = ASSAY_MAX_INPUTS + ASSAY_MAX_OUTPUTS };

struct tvm {
    struct assay_guest guest;
    const struct assay_host *host;
    struct tvm_names names;
    tvm_function_fn functions[TVM_FUNCTIONS];
    char stem[32], kernels[TVM_FUNCTIONS][64]; /* "mine", "mine_relu_fast" */
    void *library, *object;
    tvm_move_raised_fn move_raised;
    tvm_dec_ref_fn dec_ref;
    tvm_set_stream_fn set_stream;
    char said[160]; /* why the last run failed */
};

/* One set-up kernel. Inputs before outputs. */
struct call {
    struct tvm *tvm;
    tvm_function_fn function;
    int32_t n_inputs, n_outputs, n_arguments;
    struct dl_tensor tensors[MAX_TENSORS];
    int64_t shapes[MAX_TENSORS][ASSAY_MAX_RANK], strides[MAX_TENSORS][ASSAY_MAX_RANK];
    struct tvm_any arguments[TVM_ARGUMENTS + MAX_TENSORS];
};

/* ---- opening --------------------------------------------------------------------------------- */

/* The newest of those that a Python environment has. */
static void *open_below(const char *folder)
{
    char pattern[1024];
    void *library = NULL;
    glob_t found = {0};
    if (!folder || !folder[0])
        return NULL;
    snprintf(pattern, sizeof pattern, "%.900s/lib/python3*/site-packages/tvm_ffi/lib/" LIBRARY,
             folder);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i > 0 && !library; i--)
            library = dlopen(found.gl_pathv[i - 1], RTLD_NOW | RTLD_GLOBAL);
    globfree(&found);
    return library;
}

/* For everybody in this process: objects look for its functions, or need a library of this name. */
static void *open_library(void)
{
    const char *named = getenv("ASSAY_TVM_FFI"), *home = getenv("HOME");
    char local[1024];
    if (named && named[0])
        return dlopen(named, RTLD_NOW | RTLD_GLOBAL);
    snprintf(local, sizeof local, "%.900s/.local", home ? home : "");
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    library = library ? library : open_below(getenv("VIRTUAL_ENV"));
    library = library ? library : open_below(getenv("CONDA_PREFIX"));
    return library || !home ? library : open_below(local);
}

/* Where the object finds it. */
static void *symbol(const struct tvm *t, const char *name)
{
    void *found = dlsym(t->object, name);
    return found || !t->library ? found : dlsym(t->library, name);
}

static enum assay_status open_object(struct tvm *t, const char *path, struct assay_error *err)
{
    struct assay_error why = {0};
    t->library = t->names.needs_library ? open_library() : NULL;
    t->object = assay_kernel_open_object(path, &why);
    if (!t->object && t->names.needs_library && !t->library)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "needs " LIBRARY ", which was not found: pip install "
                               "apache-tvm-ffi, or name it in ASSAY_TVM_FFI (%s)",
                               why.message);
    if (!t->object)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "%s", why.message);
    void *found[] = {symbol(t, "TVMFFIErrorMoveFromRaised"), symbol(t, "TVMFFIObjectDecRef"),
                     symbol(t, "TVMFFIEnvSetStream")};
    memcpy(&t->move_raised, &found[0], sizeof found[0]);
    memcpy(&t->dec_ref, &found[1], sizeof found[1]);
    memcpy(&t->set_stream, &found[2], sizeof found[2]);
    return ASSAY_OK;
}

static void name_after(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *end = strstr(name, ".so");
    snprintf(out, size, "%.*s", end && end > name ? (int)(end - name) : (int)strlen(name), name);
}

static const char *device_of(const struct tvm *t)
{
    return t->host->device ? t->host->device->driver->name : "cpu";
}

static enum assay_status run(void *state, const struct assay_work *work);
static void teardown(void *state);

/* Which element types it takes, and whether on this device, a function does not say: it raises. */
static enum assay_status add_kernel(struct tvm *t, int32_t i, const char *path,
                                    assay_kernel_registry *registry, struct assay_error *err)
{
    char exported[96];
    const struct tvm_named *named = &t->names.items[i];
    struct assay_kernel kernel = {
        .struct_size = sizeof kernel,
        .abi = ASSAY_KERNEL_ABI,
        .name = t->kernels[i],
        .op = named->op->name,
        .implementation = t->stem,
        .device = device_of(t),
        .run = run,
        .teardown = teardown,
    };
    for (int dtype = ASSAY_DTYPE_NONE + 1; dtype < ASSAY_DTYPE_COUNT; dtype++)
        kernel.dtypes |= ASSAY_DTYPE_BIT(dtype);
    snprintf(exported, sizeof exported, TVM_PREFIX "%s", named->name);
    void *found = dlsym(t->object, exported);
    memcpy(&t->functions[i], &found, sizeof found);
    if (!found)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "does not export %s", exported);
    if (snprintf(t->kernels[i], sizeof t->kernels[i], "%s_%s", t->stem, named->name) >=
        (int)sizeof t->kernels[i])
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "%s: the name is too long",
                               named->name);
    return assay_kernel_add(registry, &kernel, path, err);
}

static enum assay_status load(void *user, const struct assay_host *host, const char *path,
                              assay_workloads *workloads, assay_kernel_registry *registry,
                              struct assay_error *err)
{
    struct tvm *t = user;
    (void)workloads;
    t->host = host;
    name_after(path, t->stem, sizeof t->stem);
    enum assay_status status = assay_tvm_names_read(path, &t->names, err);
    if (status == ASSAY_OK)
        status = open_object(t, path, err);
    for (int32_t i = 0; i < t->names.n && status == ASSAY_OK; i++)
        status = add_kernel(t, i, path, registry, err);
    return status;
}

/* ---- a kernel -------------------------------------------------------------------------------- */

static int32_t index_of(const struct tvm *t, const struct assay_kernel *kernel)
{
    for (int32_t i = 0; i < t->names.n; i++)
        if (strcmp(t->kernels[i], kernel->name) == 0)
            return i;
    return -1;
}

static enum assay_status can_run(void *user, const struct assay_kernel *kernel,
                                 const struct assay_problem *problem, struct assay_error *why)
{
    const struct tvm *t = user;
    (void)kernel;
    if (strcmp(device_of(t), "cpu") != 0 && !t->set_stream)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "on a GPU it needs " LIBRARY ", which tells it the stream");
    if (problem && problem->recipe && strcmp(problem->recipe, "baseline") != 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "takes no recipes");
    return ASSAY_OK;
}

static void note(void *user, const struct assay_kernel *kernel, const struct assay_problem *problem,
                 char *text, size_t size)
{
    (void)user, (void)kernel, (void)problem, (void)text, (void)size;
}

/* Two of u4 are in a byte. */
static struct dl_dtype code_of(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_DTYPE_F64:
        return (struct dl_dtype){DL_FLOAT, 64, 1};
    case ASSAY_DTYPE_F32:
        return (struct dl_dtype){DL_FLOAT, 32, 1};
    case ASSAY_DTYPE_F16:
        return (struct dl_dtype){DL_FLOAT, 16, 1};
    case ASSAY_DTYPE_BF16:
        return (struct dl_dtype){DL_BFLOAT, 16, 1};
    case ASSAY_DTYPE_S32:
        return (struct dl_dtype){DL_INT, 32, 1};
    case ASSAY_DTYPE_S8:
        return (struct dl_dtype){DL_INT, 8, 1};
    case ASSAY_DTYPE_E4M3:
        return (struct dl_dtype){DL_E4M3FN, 8, 1};
    case ASSAY_DTYPE_E5M2:
        return (struct dl_dtype){DL_E5M2, 8, 1};
    default:
        return (struct dl_dtype){DL_UINT, 8, 1};
    }
}

static void describe(struct call *c, int32_t index, const struct assay_tensor *tensor)
{
    const assay_device *device = c->tvm->host->device;
    bool on_gpu = device && !assay_device_shares_memory(device);
    int64_t *shape = c->shapes[index], *strides = c->strides[index], stride = 1;
    for (int32_t i = tensor->rank - 1; i >= 0; i--) {
        bool halved = tensor->dtype == ASSAY_DTYPE_U4 && i == tensor->rank - 1;
        shape[i] = halved ? (tensor->dims[i] + 1) / 2 : tensor->dims[i];
        strides[i] = stride;
        stride *= shape[i];
    }
    c->tensors[index] = (struct dl_tensor){
        .device =
            on_gpu ? (struct dl_device){DL_CUDA, device->index} : (struct dl_device){DL_CPU, 0},
        .rank = tensor->rank,
        .dtype = code_of(tensor->dtype),
        .shape = shape,
        .strides = strides,
    };
}

static enum assay_status add_tensors(struct call *c, const struct tvm_argument *a, int32_t first,
                                     int32_t n, struct assay_error *err)
{
    if (a->index >= n)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "there is no %s%d",
                               a->source == TVM_IS_INPUT ? "in" : "out", a->index);
    for (int32_t i = a->index < 0 ? 0 : a->index; i < (a->index < 0 ? n : a->index + 1); i++) {
        struct tvm_any *one = &c->arguments[c->n_arguments++];
        *one = (struct tvm_any){.type = TVM_TENSOR};
        one->v.pointer = &c->tensors[first + i];
    }
    return ASSAY_OK;
}

static enum assay_status add_argument(struct call *c, const struct tvm_argument *a,
                                      const struct assay_problem *p, struct assay_error *err)
{
    if (c->n_arguments + MAX_TENSORS > (int32_t)(sizeof c->arguments / sizeof c->arguments[0]))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "too many arguments");
    if (a->source == TVM_IS_INPUT)
        return add_tensors(c, a, 0, p->n_inputs, err);
    if (a->source == TVM_IS_OUTPUT)
        return add_tensors(c, a, p->n_inputs, p->n_outputs, err);
    struct tvm_any *one = &c->arguments[c->n_arguments++];
    *one = a->value;
    if (a->source == TVM_IS_PARAM) {
        one->type = TVM_FLOAT;
        one->v.real = p->params[a->index];
    } else if (a->source == TVM_IS_AXIS) {
        one->type = TVM_INT;
        one->v.integer = p->axes[a->index];
    }
    return ASSAY_OK;
}

static enum assay_status setup(void *user, const struct assay_kernel *kernel,
                               const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    struct tvm *t = user;
    int32_t index = index_of(t, kernel);
    struct call *c = index < 0 ? NULL : assay_calloc(1, sizeof *c);
    if (!c)
        return assay_error_nomem(err);
    const struct tvm_named *named = &t->names.items[index];
    enum assay_status status = ASSAY_OK;
    c->tvm = t;
    c->function = t->functions[index];
    c->n_inputs = problem->n_inputs;
    c->n_outputs = problem->n_outputs;
    for (int32_t i = 0; i < problem->n_inputs; i++)
        describe(c, i, &problem->inputs[i]);
    for (int32_t i = 0; i < problem->n_outputs; i++)
        describe(c, problem->n_inputs + i, &problem->outputs[i]);
    for (int32_t i = 0; i < named->n_arguments && status == ASSAY_OK; i++)
        status = add_argument(c, &named->arguments[i], problem, err);
    if (status == ASSAY_OK)
        *state = c;
    else
        assay_free(c);
    return status;
}

static void teardown(void *state) { assay_free(state); }

/* "ValueError: x must be a matrix" */
static enum assay_status tell_raised(struct tvm *t, int code)
{
    struct tvm_error *raised = NULL;
    if (t->move_raised)
        t->move_raised((void **)&raised);
    if (raised)
        snprintf(t->said, sizeof t->said, "%.*s: %.*s", (int)raised->kind.size, raised->kind.data,
                 (int)raised->message.size, raised->message.data);
    else
        snprintf(t->said, sizeof t->said, "it returned %d, and did not say why%s", code,
                 t->move_raised ? "" : ": " LIBRARY ", through which it would, is not here");
    if (raised && t->dec_ref)
        t->dec_ref(raised);
    return ASSAY_ERR_FAILED;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    struct call *c = state;
    struct tvm *t = c->tvm;
    const struct dl_device *where = &c->tensors[0].device;
    if (t->set_stream && where->type == DL_CUDA)
        t->set_stream(where->type, where->id, work->stream, NULL);
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        struct tvm_any result = {.type = TVM_NONE};
        for (int32_t k = 0; k < c->n_inputs; k++)
            c->tensors[k].data = (void *)(uintptr_t)args->in[k];
        for (int32_t k = 0; k < c->n_outputs; k++)
            c->tensors[c->n_inputs + k].data = args->out[k];
        int code = c->function(NULL, c->arguments, c->n_arguments, &result);
        if (code != 0)
            return tell_raised(t, code);
        if (result.type >= TVM_OBJECT && t->dec_ref)
            t->dec_ref(result.v.pointer);
    }
    return ASSAY_OK;
}

/* ---- the guest ------------------------------------------------------------------------------- */

static enum assay_status ready(void *user, void *state, const struct assay_guest_sets *sets,
                               const struct assay_work *work, struct assay_error *err)
{
    (void)user, (void)state, (void)sets, (void)work, (void)err;
    return ASSAY_OK;
}

static enum assay_status finish(void *user, void *state, const struct assay_work *work,
                                struct assay_error *err)
{
    (void)user, (void)state, (void)work, (void)err;
    return ASSAY_OK;
}

static const char *failure(void *user) { return ((struct tvm *)user)->said; }

static void do_nothing(void *user) { (void)user; }

const struct assay_guest *assay_tvm_guest_create(void)
{
    struct tvm *t = assay_calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->guest = (struct assay_guest){
        .user = t,
        .load = load,
        .can_run = can_run,
        .note = note,
        .setup = setup,
        .ready = ready,
        .finish = finish,
        .failure = failure,
        .rest = do_nothing,
        .wake = do_nothing,
    };
    return &t->guest;
}
