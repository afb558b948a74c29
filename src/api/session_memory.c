/* session_memory.c: memory of the session's device for the caller, counted. */
#include "api/session.h"

#include "base/alloc.h"
#include "device/cuda/cuda.h"

static size_t available(assay_device *device)
{
    struct assay_device_info info = {0};
    device->driver->describe(device, &info);
    return info.memory_available;
}

enum assay_status assay_session_device(struct assay_open_session *session, assay_device **out,
                                       struct assay_error *err)
{
    if (!session->driver->upload) { /* its memory is the host's */
        session->host.driver = session->driver;
        *out = &session->host;
        return ASSAY_OK;
    }
    if (!session->gpu) {
        assay_cuda_outlive_errors(true); /* a caller's kernel must not end the caller */
        enum assay_status status =
            assay_device_open(session->driver, session->index, 0, &session->gpu, err);
        if (status != ASSAY_OK)
            return status;
        session->gpu_at_open = available(session->gpu);
    }
    *out = session->gpu;
    return ASSAY_OK;
}

static void close_gpu(struct assay_open_session *session)
{
    if (!session->gpu)
        return;
    assay_device_close(session->gpu);
    session->gpu = NULL;
    assay_cuda_outlive_errors(false);
}

static assay_device *holder(struct assay_open_session *session)
{
    return session->gpu ? session->gpu : &session->host;
}

void assay_session_memory_close(struct assay_open_session *session)
{
    for (int64_t i = 0; i < session->n_blocks; i++)
        assay_device_free(holder(session), session->blocks[i].pointer, session->blocks[i].bytes);
    assay_free(session->blocks);
    session->blocks = NULL;
    session->n_blocks = 0;
    close_gpu(session);
}

enum assay_status assay_session_memory_rest(struct assay_open_session *session,
                                            struct assay_error *err)
{
    if (session->gpu && session->n_blocks > 0)
        return assay_error_set(err, ASSAY_ERR_INVALID, session->device_name,
                               "%lld blocks of assay_session_alloc are held: free them before an "
                               "op is measured, or use a session of its own for it",
                               (long long)session->n_blocks);
    close_gpu(session);
    return ASSAY_OK;
}

enum assay_status assay_session_alloc(assay_session *handle, size_t bytes, void **out,
                                      struct assay_error *err)
{
    struct assay_open_session *session = assay_session_find(handle, err);
    if (out)
        *out = NULL;
    if (!session)
        return ASSAY_ERR_INVALID;
    if (!out)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "nowhere to put the memory: NULL");
    assay_device *device = NULL;
    enum assay_status status = assay_session_device(session, &device, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_block *blocks =
        assay_realloc(session->blocks, (size_t)session->n_blocks + 1, sizeof *blocks);
    if (!blocks)
        return assay_error_nomem(err);
    session->blocks = blocks;
    struct assay_block block = {.bytes = bytes ? bytes : 1};
    status = assay_device_alloc(device, block.bytes, &block.pointer, err);
    if (status != ASSAY_OK)
        return status;
    blocks[session->n_blocks++] = block;
    *out = block.pointer;
    return ASSAY_OK;
}

enum assay_status assay_session_free(assay_session *handle, void *pointer, struct assay_error *err)
{
    struct assay_open_session *session = assay_session_find(handle, err);
    if (!session)
        return ASSAY_ERR_INVALID;
    if (!pointer)
        return ASSAY_OK;
    int64_t i = session->n_blocks - 1; /* the last one is the likeliest */
    while (i >= 0 && session->blocks[i].pointer != pointer)
        i--;
    if (i < 0)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "%p is not memory of this session: not from assay_session_alloc, or "
                               "freed already",
                               pointer);
    assay_device_free(holder(session), pointer, session->blocks[i].bytes);
    session->blocks[i] = session->blocks[--session->n_blocks];
    return ASSAY_OK;
}
