/* cuda_stream.c: work on a stream of the caller's, in the context of the CUDA runtime. The case
 * only enqueues; the GPU's own time for it is what is measured.
 *     cc -O2 cuda_stream.c $(pkg-config --cflags --libs assay) -I/usr/local/cuda/include \
 *        -L/usr/local/cuda/lib64 -lcudart -o cuda_stream && ./cuda_stream */
#include <assay/assay.h>

#include <cuda_runtime_api.h>
#include <stdio.h>

enum { MIB = 64 };

struct copy {
    cudaStream_t stream;
    void *to, *from; /* memory of the GPU */
    size_t bytes;
};

static int copy(void *argument)
{
    const struct copy *c = argument;
    return cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDeviceToDevice, c->stream) !=
           cudaSuccess;
}

static int fill(void *argument)
{
    const struct copy *c = argument;
    return cudaMemsetAsync(c->to, 1, c->bytes, c->stream) != cudaSuccess;
}

int main(void)
{
    struct assay_session_options options;
    struct assay_error err = {0};
    struct copy c = {.bytes = (size_t)MIB << 20};
    struct assay_case cases[2];
    assay_session *session = NULL;
    assay_session_options_init(&options);
    options.device = "cuda";
    enum assay_status status = assay_session_open(&options, &session, &err);
    if (status == ASSAY_UNSUPPORTED) {
        printf("skipped: %s\n", err.message);
        return 0;
    }
    if (status == ASSAY_OK && cudaStreamCreate(&c.stream) != cudaSuccess)
        status = ASSAY_ERR_DEVICE;
    if (status == ASSAY_OK)
        status = assay_session_alloc(session, c.bytes, &c.to, &err);
    if (status == ASSAY_OK)
        status = assay_session_alloc(session, c.bytes, &c.from, &err);
    assay_case_init(&cases[0], "copy", copy, &c);
    assay_case_init(&cases[1], "fill", fill, &c);
    cases[0].stream = cases[1].stream = c.stream;
    if (status == ASSAY_OK)
        status = assay_session_run_many(session, cases, 2, &err);
    if (status == ASSAY_OK)
        status = assay_session_cases_table(session, assay_write_file, stdout, &err);
    if (status != ASSAY_OK) {
        fprintf(stderr, "cuda_stream: %s %s\n", err.where, err.message);
    } else {
        double ms = assay_session_case(session, 0)->median_ms;
        printf("copy: %.0f GB/s\n", 2 * (double)c.bytes / ms / 1e6);
    }
    if (c.stream)
        cudaStreamDestroy(c.stream);
    assay_session_close(session);
    return status != ASSAY_OK;
}
