/* onednn.c: one oneDNN primitive with its operands, made in setup and executed in run. */
#include "kernel/onednn/onednn.h"

#include "base/alloc.h"
#include "device/cpu/cpu_info.h"
#include "tensor/tensor.h"

#include <sys/mman.h>

struct operand {
    int32_t index;
    void *bound;                       /* the data the memory object has now */
    int64_t widen;                     /* see assay_onednn_operand; the f32 copy is in `bound` */
    bool inverse;                      /* of ASSAY_DNNL_ARG_VARIANCE */
    struct assay_onednn_buffer buffer; /* what holds that copy */
};

struct state {
    const struct assay_dnnl_api *dnnl;
    struct assay_dnnl_engine *engine;
    struct assay_dnnl_stream *stream;
    struct assay_dnnl_primitive *primitive;
    int32_t threads, n;
    struct operand operands[ASSAY_ONEDNN_MAX_OPERANDS];
    struct assay_dnnl_exec_arg args[ASSAY_ONEDNN_MAX_OPERANDS];
};

enum assay_status assay_onednn_can_run(const struct assay_problem *problem, struct assay_error *why)
{
    const struct assay_dnnl_api *dnnl;
    enum assay_status status = assay_onednn_api(&dnnl, why);
    if (status != ASSAY_OK)
        return status;
    if (problem && problem->dtype == ASSAY_DTYPE_BF16 && !assay_cpu_has(ASSAY_CPU_AVX512))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "oneDNN has no bf16 on this CPU; it needs avx512");
    return ASSAY_OK;
}

int assay_onednn_dtype(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_DTYPE_BF16:
        return ASSAY_DNNL_BF16;
    case ASSAY_DTYPE_S8:
        return ASSAY_DNNL_S8;
    case ASSAY_DTYPE_S32:
        return ASSAY_DNNL_S32;
    default:
        return ASSAY_DNNL_F32;
    }
}

int assay_onednn_describe(const struct assay_dnnl_api *dnnl, enum assay_dtype dtype, int rank,
                          const int64_t *dims, struct assay_dnnl_memory_desc *out)
{
    int64_t strides[ASSAY_MAX_RANK], stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims[i];
    }
    return dnnl->memory_desc_init_by_strides(out, rank, dims, assay_onednn_dtype(dtype), strides);
}

int assay_onednn_describe_rows(const struct assay_dnnl_api *dnnl,
                               const struct assay_problem *problem,
                               struct assay_dnnl_memory_desc *out)
{
    const struct assay_tensor *x = &problem->inputs[0];
    int64_t length = x->dims[x->rank - 1];
    int64_t dims[2] = {assay_tensor_count(x) / length, length};
    return assay_onednn_describe(dnnl, x->dtype, 2, dims, out);
}

int assay_onednn_describe_flat(const struct assay_dnnl_api *dnnl,
                               const struct assay_problem *problem,
                               struct assay_dnnl_memory_desc *out)
{
    int64_t count = assay_tensor_count(&problem->inputs[0]);
    return assay_onednn_describe(dnnl, problem->inputs[0].dtype, 1, &count, out);
}

enum assay_status assay_onednn_failed(const struct assay_problem *problem, const char *what,
                                      int code, struct assay_error *err)
{
    if (code == ASSAY_DNNL_OUT_OF_MEMORY)
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "oneDNN: out of memory");
    if (code == ASSAY_DNNL_UNIMPLEMENTED)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "oneDNN has no %s %s on this CPU",
                               assay_dtype_name(problem->dtype), problem->op);
    return assay_error_set(err, ASSAY_ERR_DEVICE, NULL, "oneDNN: %s failed with status %d", what,
                           code);
}

/* `forward`, which a gradient's choice depends on, may be NULL. */
static int create_primitive(struct state *s, const struct assay_dnnl_op_desc *forward,
                            const struct assay_dnnl_op_desc *desc)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct assay_dnnl_primitive_desc *hint = NULL, *choice = NULL;
    int code = ASSAY_DNNL_SUCCESS;
    if (forward)
        code = dnnl->primitive_desc_create(&hint, forward, NULL, s->engine, NULL);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_desc_create(&choice, desc, NULL, s->engine, hint);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_create(&s->primitive, choice);
    dnnl->primitive_desc_destroy(choice); /* NULL is fine */
    dnnl->primitive_desc_destroy(hint);
    return code;
}

/* Aligned to a cache line, and large ones to huge pages, as operands and the weights of assay's own
 * kernels are. */
bool assay_onednn_buffer_init(struct assay_onednn_buffer *buffer, size_t bytes)
{
    const size_t line = 64, huge_page = (size_t)2 << 20;
    size_t align = bytes >= 2 * huge_page ? huge_page : line;
    buffer->allocated = assay_calloc(bytes + align, 1);
    if (!buffer->allocated)
        return false;
    char *start = buffer->allocated;
    buffer->data = start + (align - (uintptr_t)start % align) % align;
    if (align == huge_page)
        madvise(buffer->data, bytes / huge_page * huge_page, MADV_HUGEPAGE); /* slower without */
    return true;
}

void assay_onednn_buffer_fini(struct assay_onednn_buffer *buffer)
{
    assay_free(buffer->allocated);
    *buffer = (struct assay_onednn_buffer){0};
}

static int create_operand(struct state *s, const struct assay_onednn_operand *from, bool is_bf16)
{
    struct operand *operand = &s->operands[s->n];
    bool inverse = from->arg == ASSAY_DNNL_ARG_VARIANCE;
    *operand = (struct operand){
        .index = from->index, .inverse = inverse, .widen = is_bf16 || inverse ? from->widen : 0};
    if (operand->widen &&
        !assay_onednn_buffer_init(&operand->buffer, (size_t)operand->widen * sizeof(float)))
        return ASSAY_DNNL_OUT_OF_MEMORY;
    operand->bound = operand->buffer.data;
    struct assay_dnnl_exec_arg *arg = &s->args[s->n++];
    arg->arg = from->arg;
    return s->dnnl->memory_create(&arg->memory, from->desc, s->engine, operand->bound);
}

static enum assay_status create_all(struct state *s, const struct assay_problem *problem,
                                    const struct assay_dnnl_op_desc *forward,
                                    const struct assay_dnnl_op_desc *desc,
                                    const struct assay_onednn_operand *operands, int32_t n,
                                    struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    int code = dnnl->engine_create(&s->engine, ASSAY_DNNL_ENGINE_CPU, 0);
    if (code != ASSAY_DNNL_SUCCESS)
        return assay_onednn_failed(problem, "making an engine", code, err);
    code = dnnl->stream_create(&s->stream, s->engine, ASSAY_DNNL_STREAM_DEFAULT);
    if (code != ASSAY_DNNL_SUCCESS)
        return assay_onednn_failed(problem, "making a stream", code, err);
    int before = dnnl->omp_get_max_threads(); /* the library plans for as many threads as it sees */
    dnnl->omp_set_num_threads(s->threads);
    code = create_primitive(s, forward, desc);
    dnnl->omp_set_num_threads(before);
    if (code != ASSAY_DNNL_SUCCESS)
        return assay_onednn_failed(problem, "making the primitive", code, err);
    for (int32_t i = 0; i < n && code == ASSAY_DNNL_SUCCESS; i++)
        code = create_operand(s, &operands[i], problem->dtype == ASSAY_DTYPE_BF16);
    return code == ASSAY_DNNL_SUCCESS
               ? ASSAY_OK
               : assay_onednn_failed(problem, "making an operand", code, err);
}

enum assay_status assay_onednn_create(const struct assay_problem *problem, int described,
                                      const struct assay_dnnl_op_desc *desc,
                                      const struct assay_onednn_operand *operands, int32_t n,
                                      void **state, struct assay_error *err)
{
    return assay_onednn_create_gradient(problem, described, NULL, desc, operands, n, state, err);
}

enum assay_status assay_onednn_create_gradient(const struct assay_problem *problem, int described,
                                               const struct assay_dnnl_op_desc *forward,
                                               const struct assay_dnnl_op_desc *desc,
                                               const struct assay_onednn_operand *operands,
                                               int32_t n, void **state, struct assay_error *err)
{
    if (described != ASSAY_DNNL_SUCCESS)
        return assay_onednn_failed(problem, "describing the operation", described, err);
    const struct assay_dnnl_api *dnnl;
    enum assay_status status = assay_onednn_api(&dnnl, err);
    if (status != ASSAY_OK)
        return status;
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->dnnl = dnnl;
    s->threads = problem->threads;
    status = create_all(s, problem, forward, desc, operands, n, err);
    if (status == ASSAY_OK)
        *state = s;
    else
        assay_onednn_teardown(s);
    return status;
}

void assay_onednn_teardown(void *state)
{
    struct state *s = state;
    for (int32_t i = 0; i < s->n; i++) {
        s->dnnl->memory_destroy(s->args[i].memory); /* NULL is fine, here and below */
        assay_onednn_buffer_fini(&s->operands[i].buffer);
    }
    s->dnnl->primitive_destroy(s->primitive);
    s->dnnl->stream_destroy(s->stream);
    s->dnnl->engine_destroy(s->engine);
    assay_free(s);
}

/* In blocks of a known length, which compilers turn into vector code even at -O2. */
static void widen(const uint16_t *restrict from, float *restrict to, int64_t n)
{
    enum { BLOCK = 32 };
    int64_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        for (int k = 0; k < BLOCK; k++)
            to[i + k] = assay_bf16_to_f32(from[i + k]);
    for (; i < n; i++)
        to[i] = assay_bf16_to_f32(from[i]);
}

static void narrow(const float *restrict from, uint16_t *restrict to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = assay_bf16_from_f32(from[i]);
}

static void square_inverse(const float *restrict from, float *restrict to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = 1 / (from[i] * from[i]);
}

/* Points the memory objects at this iteration's data. A hot measurement has the same data every
 * time and pays only the comparison; bf16 gamma and beta are widened every time, as whoever has
 * them in bf16 must. */
static int bind(struct state *s, const struct assay_args *args)
{
    for (int32_t i = 0; i < s->n; i++) {
        struct operand *operand = &s->operands[i];
        bool is_output = operand->index <= ASSAY_ONEDNN_OUTPUT;
        if (operand->inverse)
            square_inverse(args->in[operand->index], operand->bound, operand->widen);
        else if (operand->widen && !is_output)
            widen(args->in[operand->index], operand->bound, operand->widen);
        if (operand->widen)
            continue;
        void *data = is_output ? args->out[ASSAY_ONEDNN_OUTPUT - operand->index]
                               : assay_onednn_writable(args->in[operand->index]);
        if (data == operand->bound)
            continue;
        int code = s->dnnl->memory_set_data_handle(s->args[i].memory, data);
        if (code != ASSAY_DNNL_SUCCESS)
            return code;
        operand->bound = data;
    }
    return ASSAY_DNNL_SUCCESS;
}

/* What the library has left in f32 for outputs in bf16. */
static void collect(const struct state *s, const struct assay_args *args)
{
    for (int32_t i = 0; i < s->n; i++) {
        const struct operand *operand = &s->operands[i];
        if (operand->widen && operand->index <= ASSAY_ONEDNN_OUTPUT)
            narrow(operand->bound, args->out[ASSAY_ONEDNN_OUTPUT - operand->index], operand->widen);
    }
}

enum assay_status assay_onednn_run(void *state, const struct assay_work *work)
{
    struct state *s = state;
    const struct assay_dnnl_api *dnnl = s->dnnl;
    int before = dnnl->omp_get_max_threads(), code = ASSAY_DNNL_SUCCESS;
    dnnl->omp_set_num_threads(s->threads); /* a thread's own variable: costs nothing */
    for (int64_t i = 0; i < work->iters && code == ASSAY_DNNL_SUCCESS; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        code = bind(s, args);
        if (code == ASSAY_DNNL_SUCCESS)
            code = dnnl->primitive_execute(s->primitive, s->stream, s->n, s->args);
        if (code == ASSAY_DNNL_SUCCESS)
            code = dnnl->stream_wait(s->stream);
        if (code == ASSAY_DNNL_SUCCESS)
            collect(s, args);
    }
    dnnl->omp_set_num_threads(before);
    return code == ASSAY_DNNL_SUCCESS ? ASSAY_OK : ASSAY_ERR_DEVICE;
}
