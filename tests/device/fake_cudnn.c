/* fake_cudnn.c: a stand-in for cuDNN that computes nothing: graphs leave their output as it was,
 * which verification finds. It holds its users to the rules of the backend interface (attributes
 * are set before a descriptor is final, and read after), and counts what it made. It has three
 * engines: 0 by Winograd's way, 1 with tensor cores, 2 with neither. FAKE_CUDNN_NONE=1     its
 * heuristic finds no engine FAKE_CUDNN_FAIL=N     the N-th call fails FAKE_CUDNN_LOG=FILE   a line
 * at the end: what was not given back FAKE_CUDA_LAUNCHES=FILE a line for each run: the engine, how
 * many operations, the operands */
#include "device/cuda/cuda_api.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(result, name, arguments) result name arguments;
CUDA_CUDNN_REQUIRED(DECLARE)
CUDA_CUDNN_OPTIONAL(DECLARE)
#undef DECLARE

enum { BAD_PARAM = 2000, NOT_FINAL = 2004, NOT_SUPPORTED = 3000, ENGINES = 3, MOST = 8 };

struct cudnnContext {
    int unused;
};

struct descriptor {
    int kind;
    bool final;
    int engine;          /* of an engine, a configuration or a plan */
    int64_t n_ops;       /* of a graph, and of all that is made of it */
    bool sizes, strides; /* of a tensor */
    int64_t n_operands;  /* of a pack */
    const void *operands[MOST];
};

static long handles, descriptors, calls;

/* Is it this call's turn to fail? Another number begins to count anew. */
static cudnn_status failing(void)
{
    static char last[16];
    const char *turn = getenv("FAKE_CUDNN_FAIL");
    if (strcmp(last, turn ? turn : "") != 0) {
        snprintf(last, sizeof last, "%s", turn ? turn : "");
        calls = 0;
    }
    return turn && ++calls == atol(turn) ? NOT_SUPPORTED : 0;
}

#define MAY_FAIL()                                                                                 \
    do {                                                                                           \
        if (failing())                                                                             \
            return NOT_SUPPORTED;                                                                  \
    } while (0)

size_t cudnnGetVersion(void) { return 91900; }

const char *cudnnGetErrorString(cudnn_status status)
{
    return status == NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_BAD_PARAM";
}

#ifndef FAKE_LEAN
void cudnnGetLastErrorString(char *text, size_t size)
{
    snprintf(text, size, "made to fail\nin two lines");
}
#endif

cudnn_status cudnnCreate(cudnn_handle *handle)
{
    MAY_FAIL();
    handles++;
    *handle = calloc(1, sizeof **handle);
    return *handle ? 0 : BAD_PARAM;
}

cudnn_status cudnnDestroy(cudnn_handle handle)
{
    const char *name = getenv("FAKE_CUDNN_LOG");
    FILE *file = name ? fopen(name, "a") : NULL;
    handles--;
    free(handle);
    if (file) {
        fprintf(file, "closed: %ld handles, %ld descriptors left\n", handles, descriptors);
        fclose(file);
    }
    return 0;
}

cudnn_status cudnnSetStream(cudnn_handle handle, cu_stream stream)
{
    MAY_FAIL();
    (void)stream;
    return handle ? 0 : BAD_PARAM;
}

cudnn_status cudnnBackendCreateDescriptor(int kind, cudnn_descriptor *descriptor)
{
    MAY_FAIL();
    struct descriptor *d = calloc(1, sizeof *d);
    if (!d)
        return BAD_PARAM;
    d->kind = kind;
    d->engine = -1;
    descriptors++;
    *descriptor = d;
    return 0;
}

cudnn_status cudnnBackendDestroyDescriptor(cudnn_descriptor descriptor)
{
    descriptors--;
    free(descriptor);
    return 0;
}

cudnn_status cudnnBackendFinalize(cudnn_descriptor descriptor)
{
    struct descriptor *d = descriptor;
    MAY_FAIL();
    if (d->final || (d->kind == DNN_TENSOR && !(d->sizes && d->strides)) ||
        (d->kind == DNN_PLAN && d->engine < 0))
        return BAD_PARAM;
    if (d->kind == DNN_ENGINEHEUR && getenv("FAKE_CUDNN_NONE"))
        return NOT_SUPPORTED;
    d->final = true;
    return 0;
}

/* Descriptors that go into others are final. */
static bool all_final(int type, int64_t count, const void *values)
{
    const struct descriptor *const *list = values;
    for (int64_t i = 0; i < count && type == DNN_TYPE_DESCRIPTOR; i++)
        if (!list[i] || !list[i]->final)
            return false;
    return true;
}

cudnn_status cudnnBackendSetAttribute(cudnn_descriptor descriptor, int attribute, int type,
                                      int64_t count, const void *values)
{
    struct descriptor *d = descriptor;
    MAY_FAIL();
    if (!d || d->final || count < 1 || !values || !all_final(type, count, values))
        return BAD_PARAM;
    const struct descriptor *first =
        type == DNN_TYPE_DESCRIPTOR ? *(const struct descriptor *const *)values : NULL;
    d->sizes |= attribute == DNN_TENSOR_SIZES;
    d->strides |= attribute == DNN_TENSOR_STRIDES;
    if (attribute == DNN_GRAPH_OPS)
        d->n_ops = count;
    if (attribute == DNN_HEUR_GRAPH)
        d->n_ops = first->n_ops;
    if (attribute == DNN_PLAN_CFG) {
        d->engine = first->engine;
        d->n_ops = first->n_ops;
    }
    if (attribute == DNN_PACK_POINTERS) {
        d->n_operands = count;
        if (count > MOST)
            return BAD_PARAM;
        memcpy(d->operands, values, (size_t)count * sizeof *d->operands);
    }
    return attribute == DNN_PACK_IDS && count != d->n_operands ? BAD_PARAM : 0;
}

/* Into descriptors the caller made. */
static cudnn_status give_engines(const struct descriptor *from, int64_t room, int64_t *count,
                                 void *values)
{
    struct descriptor *const *list = values;
    *count = from->kind == DNN_ENGINEHEUR ? ENGINES : 1;
    for (int64_t i = 0; i < *count && i < room; i++) {
        list[i]->engine = from->kind == DNN_ENGINEHEUR ? (int)i : from->engine;
        list[i]->n_ops = from->n_ops;
        list[i]->final = true;
    }
    return 0;
}

static cudnn_status give_notes(const struct descriptor *from, int64_t room, int64_t *count,
                               void *values)
{
    static const int notes[] = {DNN_NOTE_WINOGRAD, DNN_NOTE_TENSOR_CORE};
    *count = from->engine < 2;
    if (*count && room > 0)
        memcpy(values, &notes[from->engine], sizeof notes[0]);
    return 0;
}

cudnn_status cudnnBackendGetAttribute(cudnn_descriptor descriptor, int attribute, int type,
                                      int64_t room, int64_t *count, void *values)
{
    const struct descriptor *d = descriptor;
    const int64_t workspace = 1000;
    MAY_FAIL();
    (void)type;
    if (!d->final)
        return NOT_FINAL;
    if (attribute == DNN_HEUR_RESULTS || attribute == DNN_CFG_ENGINE)
        return give_engines(d, room, count, values);
    if (attribute == DNN_ENGINE_NOTES)
        return give_notes(d, room, count, values);
    if (attribute != DNN_PLAN_WORKSPACE)
        return BAD_PARAM;
    *count = 1;
    memcpy(values, &workspace, sizeof workspace);
    return 0;
}

cudnn_status cudnnBackendExecute(cudnn_handle handle, cudnn_descriptor plan, cudnn_descriptor pack)
{
    const struct descriptor *how = plan, *with = pack;
    const char *name = getenv("FAKE_CUDA_LAUNCHES");
    MAY_FAIL();
    if (!handle || how->kind != DNN_PLAN || !how->final || with->kind != DNN_PACK || !with->final)
        return BAD_PARAM;
    FILE *file = name ? fopen(name, "a") : NULL;
    if (!file)
        return 0;
    fprintf(file, "| cudnnBackendExecute %d %d", how->engine, (int)how->n_ops);
    for (int64_t i = 0; i < with->n_operands; i++)
        fprintf(file, " %p", with->operands[i]);
    fputc('\n', file);
    fclose(file);
    return 0;
}
