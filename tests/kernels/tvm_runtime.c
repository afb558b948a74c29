/* A stand-in for libtvm_ffi.so: one error is kept, as the real one keeps it for each thread, and
 * the counts of its references are checked. With TVM_STREAMS it also keeps the stream. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct error {
    uint64_t references;
    int32_t type;
    uint32_t padding;
    void (*deleter)(void *self, int flags);
    const char *kind;
    size_t kind_size;
    const char *message;
    size_t message_size;
};

static struct error *raised;

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message)
{
    enum { ERROR = 67 };
    raised = calloc(1, sizeof *raised);
    if (!raised)
        abort();
    *raised = (struct error){.references = 1, .type = ERROR, .kind = kind, .message = message};
    raised->kind_size = strlen(kind);
    raised->message_size = strlen(message);
}

void TVMFFIErrorMoveFromRaised(void **out)
{
    *out = raised;
    raised = NULL;
}

#ifdef TVM_STREAMS
static void *stream;

int TVMFFIEnvSetStream(int32_t type, int32_t id, void *now, void **before)
{
    (void)type, (void)id;
    if (before)
        *before = stream;
    stream = now;
    return 0;
}

void *TVMFFIEnvGetStream(int32_t type, int32_t id)
{
    (void)type, (void)id;
    return stream;
}
#endif

int TVMFFIObjectDecRef(void *object)
{
    struct error *error = object;
    if (error->references != 1) {
        fputs("an error was let go twice\n", stderr);
        abort();
    }
    free(error);
    return 0;
}
