/* fake_cuda.c: a stand-in for libcuda over the host's memory, for tests without a GPU. Streams run
 * at once, events carry the host's clock, captured launches are kept and replayed. It computes the
 * element-wise relu and add, and the timer's own kernels; other kernels do nothing, unless they are
 * emulated (fake_emulate.h).
 *
 * What it does is scripted by the environment:
 *   FAKE_CUDA_FAIL=NAME:CODE[:N[:M]]  function NAME answers CODE from the N-th call (default the
 *                                 first) to the M-th (default all further ones)
 *   FAKE_CUDA_ILLEGAL=KERNEL      launching it leaves error 700, as an illegal address does
 *   FAKE_CUDA_HANG=KERNEL         launching it never ends
 *   FAKE_CUDA_WRONG=KERNEL        its first element is wrong
 *   FAKE_CUDA_MEMORY=BYTES        of the GPU (default 1 GiB)
 *   FAKE_CUDA_DEVICES=N           (default 1)
 *   FAKE_CUDA_CAPABILITY=N        80 is 8.0 (default 90)
 *   FAKE_CUDA_CAPTURE=no          capturing fails; "unjoined": when it ends
 *   FAKE_CUDA_BUSY_NS=NS          so long the device takes to come to rest, streams done or not
 *   FAKE_CUDA_EVENT_NS=NS         so much two events add to what is between them
 *   FAKE_CUDA_LOG=FILE            a line at the end: how much was used, and what was not given back
 *   FAKE_CUDA_LAUNCHES=FILE       a line for each launch: options of its text, name, blocks,
 *                                 threads, and arguments where this file knows their kinds (a
 *                                 tensor map as address/box), else the shared bytes; "early"
 *                                 where it may begin before those before it have ended
 *   FAKE_CUDA_EMULATE=FOLDER      kernels of the texts in FOLDER compute: tests/device/emulate.sh
 * KERNEL is a function's name ("gate") or an op's ("relu").
 *
 * Built three times: as it is; FAKE_OLD, which lacks a function that is required; FAKE_LEAN, which
 * lacks all that need not be there, but for one way to read events. */
#define _GNU_SOURCE /* memfd_create */
#include "device/cuda/cuda_api.h"
#include "fake.h"
#include "fake_emulate.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DECLARE(result, name, arguments) result name arguments;
CUDA_DRIVER_REQUIRED(DECLARE)
CUDA_DRIVER_OPTIONAL(DECLARE)
#undef DECLARE

enum { ERROR_INVALID_VALUE = 1, ERROR_INVALID_IMAGE = 200, ERROR_INVALID_CONTEXT = 201 };

enum {
    SMS = 4,
    L2_BYTES = 64 * 1024,
    SHARED_MOST = 227 * 1024,
    MOST_PARAMETERS = 8,
    MOST_FUNCTIONS = 16,
};

/* ---- what there is --------------------------------------------------------------------------- */

struct CUctx_st {
    int retained;
};

struct CUfunc_st {
    char name[64], op[16]; /* op of the element-wise ones, else "" */
    int element;           /* 32, 16, 17; 0 where the text has none */
    const char *options;   /* the module's */
    struct emulated emulated;
};

struct CUmod_st {
    char text[64], options[256];
    struct CUfunc_st functions[MOST_FUNCTIONS];
    int n_functions;
};

struct CUstream_st {
    struct CUgraph_st *capturing;
    bool invalid; /* its capture: something was done that cannot be captured */
};

struct CUevent_st {
    int64_t ns;
};

union value {
    void *pointer;
    int64_t number;
    uint32_t word;
    float real;
};

enum node_kind { NODE_LAUNCH, NODE_EVENT, NODE_COPY, NODE_FILL, NODE_HOST, NODE_GRAPH };

struct node {
    enum node_kind kind;
    struct CUgraph_st *within; /* of NODE_GRAPH: not performed, and not freed with it */
    cu_function function;
    union value values[MOST_PARAMETERS];
    struct emulated_launch launch; /* of a kernel that is emulated */
    cu_event event;
    void *to;
    const void *from;
    unsigned char byte;
    size_t bytes;
    unsigned grid[3], block[3], shared_bytes; /* of NODE_LAUNCH */
};

struct CUgraph_st {
    struct node *nodes;
    int64_t n, room;
};

struct CUgraphExec_st {
    struct CUgraph_st graph;
};

static struct CUctx_st context, callers;
static cu_context is_current; /* one of the two, or none */
static struct CUstream_st default_stream;
static cu_result dead; /* the error that every call answers once a kernel did something illegal */
static size_t bytes_held;
static long allocations, host_allocations, streams, events, modules, graphs, execs;
static long launches, replays;

/* ---- the script ------------------------------------------------------------------------------ */

static bool named(const char *variable, const char *name)
{
    const char *text = getenv(variable);
    return text && name[0] && strcmp(text, name) == 0;
}

static bool names_function(const char *variable, const struct CUfunc_st *f)
{
    return named(variable, f->name) || named(variable, f->op);
}

static cu_result scripted(const char *name, int *calls)
{
    const char *text = getenv("FAKE_CUDA_FAIL");
    size_t length = strlen(name);
    int code = 0, from = 1, to = INT_MAX;
    ++*calls;
    if (!text || strncmp(text, name, length) != 0 || text[length] != ':')
        return CU_SUCCESS;
    if (sscanf(text + length + 1, "%d:%d:%d", &code, &from, &to) < 1 || *calls < from ||
        *calls > to)
        return CU_SUCCESS;
    return code;
}

#define SCRIPTED(name)                                                                             \
    do {                                                                                           \
        static int calls;                                                                          \
        cu_result wanted = scripted(#name, &calls);                                                \
        if (wanted != CU_SUCCESS)                                                                  \
            return wanted;                                                                         \
    } while (0)

/* For what needs a context that is alive. */
#define SCRIPTED_IN_CONTEXT(name)                                                                  \
    do {                                                                                           \
        SCRIPTED(name);                                                                            \
        if (!is_current || (is_current == &context && context.retained == 0))                      \
            return ERROR_INVALID_CONTEXT;                                                          \
        if (dead)                                                                                  \
            return dead;                                                                           \
    } while (0)

static size_t memory_bytes(void)
{
    const char *text = getenv("FAKE_CUDA_MEMORY");
    return text ? (size_t)strtoull(text, NULL, 10) : (size_t)1 << 30;
}

static int number(const char *variable, int other)
{
    const char *text = getenv(variable);
    return text ? atoi(text) : other;
}

static int device_count(void) { return number("FAKE_CUDA_DEVICES", 1); }

static void *at(cu_deviceptr pointer) { return (void *)(uintptr_t)pointer; }

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- the driver and its devices -------------------------------------------------------------- */

cu_result cuInit(unsigned flags)
{
    SCRIPTED(cuInit);
    return flags == 0 ? CU_SUCCESS : ERROR_INVALID_VALUE;
}

cu_result cuDriverGetVersion(int *version)
{
    SCRIPTED(cuDriverGetVersion);
    *version = 13000;
    return CU_SUCCESS;
}

cu_result cuGetErrorString(cu_result error, const char **text)
{
    static const struct {
        cu_result code;
        const char *text;
    } known[] = {
        {CU_SUCCESS, "no error"},
        {CU_ERROR_OUT_OF_MEMORY, "out of memory"},
        {CU_ERROR_NO_DEVICE, "no CUDA-capable device is detected"},
        {CU_ERROR_INVALID_DEVICE, "invalid device ordinal"},
        {ERROR_INVALID_IMAGE, "device kernel image is invalid"},
        {ERROR_INVALID_CONTEXT, "invalid device context"},
        {CU_ERROR_NOT_FOUND, "named symbol not found"},
        {CU_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
        {CU_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"},
    };
    *text = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].code == error)
            *text = known[i].text;
    return *text ? CU_SUCCESS : ERROR_INVALID_VALUE;
}

cu_result cuDeviceGetCount(int *count)
{
    SCRIPTED(cuDeviceGetCount);
    *count = device_count();
    return CU_SUCCESS;
}

cu_result cuDeviceGet(cu_device *device, int ordinal)
{
    SCRIPTED(cuDeviceGet);
    *device = ordinal;
    return ordinal >= 0 && ordinal < device_count() ? CU_SUCCESS : CU_ERROR_INVALID_DEVICE;
}

cu_result cuDeviceGetName(char *name, int size, cu_device device)
{
    SCRIPTED(cuDeviceGetName);
    if (device == 0)
        snprintf(name, (size_t)size, "Fake GPU");
    else
        snprintf(name, (size_t)size, "Fake GPU %d", device);
    return CU_SUCCESS;
}

cu_result cuDeviceTotalMem_v2(size_t *bytes, cu_device device)
{
    SCRIPTED(cuDeviceTotalMem_v2);
    (void)device;
    *bytes = memory_bytes();
    return CU_SUCCESS;
}

cu_result cuDeviceGetAttribute(int *value, int attribute, cu_device device)
{
    SCRIPTED(cuDeviceGetAttribute);
    (void)device;
    int capability = number("FAKE_CUDA_CAPABILITY", 90);
    const struct {
        int attribute, value;
    } known[] = {
        {CU_ATTRIBUTE_SHARED_MEMORY, 48 * 1024},  {CU_ATTRIBUTE_WARP_SIZE, 32},
        {CU_ATTRIBUTE_CLOCK_KHZ, 1980000},        {CU_ATTRIBUTE_SMS, SMS},
        {CU_ATTRIBUTE_L2_BYTES, L2_BYTES},        {CU_ATTRIBUTE_MAJOR, capability / 10},
        {CU_ATTRIBUTE_SHARED_OPTIN, SHARED_MOST}, {CU_ATTRIBUTE_MINOR, capability % 10},
    };
    *value = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].attribute == attribute)
            *value = known[i].value;
    return CU_SUCCESS;
}

cu_result cuDevicePrimaryCtxRetain(cu_context *out, cu_device device)
{
    SCRIPTED(cuDevicePrimaryCtxRetain);
    (void)device;
    context.retained++;
    *out = &context;
    return CU_SUCCESS;
}

static void write_log(void)
{
    const char *name = getenv("FAKE_CUDA_LOG");
    FILE *file = name ? fopen(name, "a") : NULL;
    if (!file)
        return;
    fprintf(file,
            "closed: %ld launches, %ld replays; left: %zu bytes in %ld pieces, %ld of the host, "
            "%ld streams, %ld events, %ld modules, %ld graphs, %ld of them ready\n",
            launches, replays, bytes_held, allocations, host_allocations, streams, events, modules,
            graphs, execs);
    fclose(file);
}

cu_result cuDevicePrimaryCtxRelease_v2(cu_device device)
{
    SCRIPTED(cuDevicePrimaryCtxRelease_v2);
    (void)device;
    if (--context.retained == 0)
        write_log();
    return CU_SUCCESS;
}

cu_result cuCtxSetCurrent(cu_context c)
{
    SCRIPTED(cuCtxSetCurrent);
    is_current = c == &callers || (c == &context && context.retained > 0) ? c : NULL;
    return is_current == c ? CU_SUCCESS : ERROR_INVALID_CONTEXT;
}

/* For tests: a context that a caller made by itself; and how often the primary one is held. */
cu_context fake_cuda_callers_context(void);
cu_context fake_cuda_callers_context(void) { return &callers; }
int fake_cuda_retained(void);
int fake_cuda_retained(void) { return context.retained; }
/* For plug-ins: what a kernel that touches an illegal address leaves. */
void fake_cuda_break(cu_result error);
void fake_cuda_break(cu_result error) { dead = error; }

cu_result cuCtxSynchronize(void)
{
    SCRIPTED_IN_CONTEXT(cuCtxSynchronize);
    const char *busy = getenv("FAKE_CUDA_BUSY_NS");
    if (busy)
        usleep((useconds_t)(atol(busy) / 1000));
    return CU_SUCCESS;
}

/* ---- memory: a line before each piece holds its size; whole blocks can be shared --------------
 */

enum { LINE = 256, BLOCK = 2 << 20, MOST_BLOCKS = 64 };

/* A file of memory, mapped: this process's own, or another's that it opened. */
struct block {
    char *base; /* NULL: a free slot */
    size_t bytes;
    int file; /* -1: another's */
};
static struct block whole[MOST_BLOCKS];

/* What a handle holds. */
struct shown {
    char magic[8];
    pid_t process;
    int file;
    size_t bytes;
};

static struct block *block_at(const void *base)
{
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (whole[i].base == base)
            return &whole[i];
    return NULL;
}

/* Takes over the file; NULL: there is no slot, or it cannot be mapped. */
static struct block *map_block(int file, size_t bytes)
{
    struct block *b = file >= 0 ? block_at(NULL) : NULL;
    void *base = b ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (base == MAP_FAILED)
        return NULL;
    *b = (struct block){.base = base, .bytes = bytes, .file = file};
    allocations++;
    return b;
}

static struct block *make_block(size_t bytes)
{
    int file = bytes % BLOCK == 0 ? memfd_create("fake-gpu", MFD_CLOEXEC) : -1;
    struct block *b =
        file >= 0 && ftruncate(file, (off_t)bytes) == 0 ? map_block(file, bytes) : NULL;
    if (!b && file >= 0)
        close(file);
    return b;
}

static void drop_block(struct block *b)
{
    munmap(b->base, b->bytes);
    if (b->file >= 0)
        close(b->file);
    b->base = NULL;
    allocations--;
}

cu_result cuMemGetInfo_v2(size_t *available, size_t *total)
{
    SCRIPTED_IN_CONTEXT(cuMemGetInfo_v2);
    *total = memory_bytes();
    *available = *total - bytes_held;
    return CU_SUCCESS;
}

cu_result cuMemAlloc_v2(cu_deviceptr *pointer, size_t bytes)
{
    SCRIPTED_IN_CONTEXT(cuMemAlloc_v2);
    if (bytes == 0)
        return ERROR_INVALID_VALUE;
    if (bytes > memory_bytes() - bytes_held)
        return CU_ERROR_OUT_OF_MEMORY;
    struct block *b = make_block(bytes);
    if (b) {
        bytes_held += bytes;
        *pointer = (cu_deviceptr)(uintptr_t)b->base;
        return CU_SUCCESS;
    }
    char *line = aligned_alloc(LINE, (bytes + 2 * LINE - 1) / LINE * LINE);
    if (!line)
        return CU_ERROR_OUT_OF_MEMORY;
    memcpy(line, &bytes, sizeof bytes);
    bytes_held += bytes;
    allocations++;
    *pointer = (cu_deviceptr)(uintptr_t)(line + LINE);
    return CU_SUCCESS;
}

cu_result cuMemFree_v2(cu_deviceptr pointer)
{
    size_t bytes;
    if (!pointer)
        return CU_SUCCESS;
    struct block *b = block_at(at(pointer));
    if (b) {
        bytes_held -= b->bytes;
        drop_block(b);
        return CU_SUCCESS;
    }
    char *line = (char *)at(pointer) - LINE;
    memcpy(&bytes, line, sizeof bytes);
    bytes_held -= bytes;
    allocations--;
    free(line);
    return CU_SUCCESS;
}

cu_result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    SCRIPTED_IN_CONTEXT(cuMemHostAlloc);
    (void)flags;
    *pointer = malloc(bytes);
    host_allocations++;
    return *pointer ? CU_SUCCESS : CU_ERROR_OUT_OF_MEMORY;
}

cu_result cuMemHostGetDevicePointer_v2(cu_deviceptr *pointer, void *host, unsigned flags)
{
    SCRIPTED_IN_CONTEXT(cuMemHostGetDevicePointer_v2);
    (void)flags;
    *pointer = (cu_deviceptr)(uintptr_t)host;
    return CU_SUCCESS;
}

cu_result cuMemFreeHost(void *pointer)
{
    free(pointer);
    host_allocations--;
    return CU_SUCCESS;
}

cu_result cuMemcpyHtoD_v2(cu_deviceptr to, const void *from, size_t bytes)
{
    SCRIPTED_IN_CONTEXT(cuMemcpyHtoD_v2);
    memcpy(at(to), from, bytes);
    return CU_SUCCESS;
}

cu_result cuMemcpyDtoH_v2(void *to, cu_deviceptr from, size_t bytes)
{
    SCRIPTED_IN_CONTEXT(cuMemcpyDtoH_v2);
    memcpy(to, at(from), bytes);
    return CU_SUCCESS;
}

cu_result cuMemcpyDtoD_v2(cu_deviceptr to, cu_deviceptr from, size_t bytes)
{
    SCRIPTED_IN_CONTEXT(cuMemcpyDtoD_v2);
    memmove(at(to), at(from), bytes);
    return CU_SUCCESS;
}

/* ---- modules: what fake_nvrtc.c made --------------------------------------------------------- */

cu_result cuModuleLoadData(cu_module *module, const void *image)
{
    SCRIPTED_IN_CONTEXT(cuModuleLoadData);
    const struct fake_image *made = image;
    if (strcmp(made->magic, FAKE_IMAGE_MAGIC) != 0)
        return ERROR_INVALID_IMAGE;
    struct CUmod_st *m = calloc(1, sizeof *m);
    if (!m)
        return CU_ERROR_OUT_OF_MEMORY;
    snprintf(m->text, sizeof m->text, "%s", made->text);
    snprintf(m->options, sizeof m->options, "%s", made->options);
    modules++;
    *module = m;
    return CU_SUCCESS;
}

cu_result cuModuleUnload(cu_module module)
{
    free(module);
    modules--;
    return CU_SUCCESS;
}

/* The number behind "-DNAME=" in a module's options; `other` where there is none. */
static int option(const struct CUmod_st *m, const char *name, int other)
{
    const char *found = strstr(m->options, name);
    return found ? atoi(found + strlen(name)) : other;
}

cu_result cuModuleGetFunction(cu_function *function, cu_module module, const char *name)
{
    static const char *const ops[] = {"gelu",      "gelu_tanh", "silu",      "relu", "sigmoid",
                                      "leakyrelu", "relu6",     "hardswish", "add"};
    SCRIPTED_IN_CONTEXT(cuModuleGetFunction);
    for (int i = 0; i < module->n_functions; i++)
        if (strcmp(module->functions[i].name, name) == 0) {
            *function = &module->functions[i];
            return CU_SUCCESS;
        }
    if (module->n_functions == MOST_FUNCTIONS)
        return CU_ERROR_NOT_FOUND;
    struct CUfunc_st *f = &module->functions[module->n_functions++];
    int op = option(module, "-DOP=", -1);
    snprintf(f->name, sizeof f->name, "%s", name);
    if (strcmp(module->text, "eltwise.cu") == 0 && op >= 0 && op < 9)
        snprintf(f->op, sizeof f->op, "%s", ops[op]);
    f->element = option(module, "-DELEMENT=", 0);
    f->options = module->options;
    *function = f;
    if (emulate_load(module->text, module->options, name, &f->emulated))
        return CU_SUCCESS;
    module->n_functions--;
    return ERROR_INVALID_IMAGE;
}

cu_result cuFuncSetAttribute(cu_function function, int attribute, int value)
{
    SCRIPTED_IN_CONTEXT(cuFuncSetAttribute);
    (void)function, (void)attribute;
    return value <= SHARED_MOST ? CU_SUCCESS : ERROR_INVALID_VALUE;
}

cu_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, cu_function function,
                                                      int threads, size_t shared_bytes)
{
    SCRIPTED_IN_CONTEXT(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    (void)function, (void)shared_bytes;
    *blocks = 2048 / (threads > 0 ? threads : 1);
    return CU_SUCCESS;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static float load(const void *data, int64_t i, int element)
{
    float value;
    if (element == 32)
        return ((const float *)data)[i];
    uint16_t half = ((const uint16_t *)data)[i];
    if (element == 17) {
        uint32_t bits = (uint32_t)half << 16;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    int exponent = half >> 10 & 31, fraction = half & 1023;
    value = exponent == 31  ? (fraction ? NAN : INFINITY)
            : exponent == 0 ? ldexpf((float)fraction, -24)
                            : ldexpf((float)(fraction + 1024), exponent - 25);
    return half & 0x8000 ? -value : value;
}

static uint16_t round_half(float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    float size = fabsf(value);
    if (isnan(value))
        return 0x7e00;
    if (size >= 65520)
        return sign | 0x7c00;
    int exponent = 0;
    frexpf(size, &exponent);
    if (exponent < -13 || size == 0) /* nearbyint rounds ties to even */
        return sign | (uint16_t)nearbyintf(ldexpf(size, 24));
    int units = (int)nearbyintf(ldexpf(size, 11 - exponent));
    return sign | (uint16_t)(((exponent + 14) << 10) + units - 1024);
}

static void store(void *data, int64_t i, int element, float value)
{
    if (element == 32) {
        ((float *)data)[i] = value;
    } else if (element == 17) {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits = isnan(value) ? 0x7fc00000 : bits + 0x7fff + (bits >> 16 & 1);
        ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
    } else {
        ((uint16_t *)data)[i] = round_half(value);
    }
}

static bool is_eltwise(const struct CUfunc_st *f)
{
    return strcmp(f->name, "eltwise") == 0 || strcmp(f->name, "eltwise_short") == 0;
}

static void eltwise(const struct CUfunc_st *f, const union value *v)
{
    bool add = strcmp(f->op, "add") == 0;
    if (!add && strcmp(f->op, "relu") != 0)
        return;
    const void *x = v[0].pointer, *y = v[1].pointer;
    for (int64_t i = 0; i < v[3].number; i++) {
        float a = load(x, i, f->element);
        store(v[2].pointer, i, f->element, add ? a + load(y, i, f->element) : a < 0.0f ? 0.0f : a);
    }
    if (names_function("FAKE_CUDA_WRONG", f))
        store(v[2].pointer, 0, f->element, 12345.0f);
}

static void spin(int64_t ns)
{
    int64_t start = now_ns();
    while (now_ns() - start < ns)
        ;
}

/* The gate is open at once: nothing waits here for anything. */
static void compute(const struct node *n)
{
    const struct CUfunc_st *f = n->function;
    const union value *v = n->values;
    launches++;
    if (names_function("FAKE_CUDA_ILLEGAL", f))
        dead = CU_ERROR_ILLEGAL_ADDRESS;
    while (names_function("FAKE_CUDA_HANG", f))
        pause();
    if (f->emulated.run)
        emulate_run(&f->emulated, &n->launch);
    else if (strcmp(f->name, "spin") == 0)
        spin(v[0].number);
    else if (is_eltwise(f))
        eltwise(f, v);
}

/* Takes the arguments of the kernels that are known here. */
static void read_values(const struct CUfunc_st *f, void **parameters, union value *v)
{
    if (is_eltwise(f)) {
        for (int i = 0; i < 3; i++)
            memcpy(&v[i].pointer, parameters[i], sizeof v[i].pointer);
        memcpy(&v[3].number, parameters[3], sizeof v[3].number);
        memcpy(&v[4].real, parameters[4], sizeof v[4].real);
    } else if (strcmp(f->name, "spin") == 0) {
        memcpy(&v[0].number, parameters[0], sizeof v[0].number);
    }
}

/* fake_cupti.c, while it is attached. */
static void (*listener)(const struct fake_activity *activity);
void fake_cuda_listen(void (*hear)(const struct fake_activity *activity));
void fake_cuda_listen(void (*hear)(const struct fake_activity *activity)) { listener = hear; }

static void tell(const struct node *n, int64_t start_ns)
{
    struct fake_activity a = {.start_ns = start_ns, .end_ns = now_ns(), .bytes = n->bytes};
    if (!listener || (n->kind != NODE_LAUNCH && n->kind != NODE_COPY && n->kind != NODE_FILL))
        return;
    a.kind = n->kind == NODE_LAUNCH ? FAKE_KERNEL : n->kind == NODE_COPY ? FAKE_COPY : FAKE_FILL;
    a.name = n->function ? n->function->name : NULL;
    memcpy(a.grid, n->grid, sizeof a.grid);
    memcpy(a.block, n->block, sizeof a.block);
    a.shared_bytes = n->shared_bytes;
    a.value = n->byte;
    listener(&a);
}

static void perform(const struct node *n)
{
    int64_t start_ns = now_ns();
    switch (n->kind) {
    case NODE_LAUNCH:
        compute(n);
        break;
    case NODE_EVENT:
        n->event->ns = now_ns();
        break;
    case NODE_COPY:
        memmove(n->to, n->from, n->bytes);
        break;
    case NODE_FILL:
        memset(n->to, n->byte, n->bytes);
        break;
    case NODE_HOST:
    case NODE_GRAPH:
        break;
    }
    tell(n, start_ns);
}

/* NULL and 1 both mean the default stream. */
static struct CUstream_st *the_stream(cu_stream stream)
{
    return (uintptr_t)stream <= CU_STREAM_LEGACY_ ? &default_stream : stream;
}

/* Done now, or kept where the stream is being captured. */
static cu_result enqueue(cu_stream stream, const struct node *n)
{
    struct CUgraph_st *graph = the_stream(stream)->capturing;
    if (!graph) {
        perform(n);
        return CU_SUCCESS;
    }
    if (graph->n == graph->room) {
        graph->room = graph->room ? 2 * graph->room : 16;
        graph->nodes = realloc(graph->nodes, (size_t)graph->room * sizeof *graph->nodes);
        if (!graph->nodes)
            abort();
    }
    graph->nodes[graph->n++] = *n;
    return CU_SUCCESS;
}

/* p: a pointer, w: a word, m: a tensor map as cuTensorMapEncodeTiled below writes it, i: one as
 * cuTensorMapEncodeIm2col does. */
static const struct {
    const char *name, *kinds;
} signatures[] = {
    {"linear_wgmma", "mmpppppppwww"}, {"conv2d_wgmma", "impppwww"},    {"epilogue", "ppppppww"},
    {"quantise_rows", "ppppwww"},     {"quantise_tensor", "ppppwwww"}, {"measure_rows", "pppppww"},
    {"encode_rows", "pppppwww"},      {"normalise_rows", "pppww"},     {"row_scales", "pppww"},
    {"fold_weights", "ppppww"},
};

static void note_argument(FILE *file, char kind, const void *argument)
{
    uint64_t map[2];
    void *pointer;
    uint32_t word;
    if (kind == 'i') {
        uint64_t places[6];
        memcpy(places, argument, sizeof places);
        fprintf(file, " %p/%d/%d/%d/%d/%d", at(places[0]), (int)places[1], (int)places[2],
                (int)places[3], (int)places[4], (int)places[5]);
    } else if (kind == 'm') {
        memcpy(map, argument, sizeof map);
        fprintf(file, " %p/%d", at(map[0]), (int)map[1]);
    } else if (kind == 'p') {
        memcpy(&pointer, argument, sizeof pointer);
        fprintf(file, " %p", pointer);
    } else {
        memcpy(&word, argument, sizeof word);
        fprintf(file, " %u", word);
    }
}

static bool early; /* the launch that is noted */

static void note_launch(cu_function function, unsigned blocks, unsigned threads,
                        unsigned shared_bytes, void **parameters)
{
    const char *name = getenv("FAKE_CUDA_LAUNCHES"), *kinds = "";
    FILE *file = name ? fopen(name, "a") : NULL;
    if (!file)
        return;
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
        if (strcmp(signatures[i].name, function->name) == 0)
            kinds = signatures[i].kinds;
    fprintf(file, "%s | %s %u %u", function->options, function->name, blocks, threads);
    if (!kinds[0])
        fprintf(file, " %u", shared_bytes);
    for (int i = 0; kinds[i]; i++)
        note_argument(file, kinds[i], parameters[i]);
    fputs(early ? " early\n" : "\n", file);
    fclose(file);
}

cu_result cuLaunchKernel(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z,
                         unsigned shared_bytes, cu_stream stream, void **parameters, void **extra)
{
    SCRIPTED_IN_CONTEXT(cuLaunchKernel);
    if (!grid_x || !grid_y || !grid_z || !block_x || block_x * block_y * block_z > 1024 || extra)
        return ERROR_INVALID_VALUE;
    if (shared_bytes > SHARED_MOST)
        return CU_ERROR_LAUNCH_OUT_OF_RESOURCES;
    note_launch(function, grid_x * grid_y * grid_z, block_x * block_y * block_z, shared_bytes,
                parameters);
    struct node n = {.kind = NODE_LAUNCH,
                     .function = function,
                     .grid = {grid_x, grid_y, grid_z},
                     .block = {block_x, block_y, block_z},
                     .shared_bytes = shared_bytes};
    read_values(function, parameters, n.values);
    emulate_pack(&function->emulated, parameters, (const unsigned[3]){grid_x, grid_y, grid_z},
                 block_x, shared_bytes, &n.launch);
    return enqueue(stream, &n);
}

cu_result cuMemcpyDtoDAsync_v2(cu_deviceptr to, cu_deviceptr from, size_t bytes, cu_stream stream)
{
    SCRIPTED_IN_CONTEXT(cuMemcpyDtoDAsync_v2);
    return enqueue(
        stream, &(struct node){.kind = NODE_COPY, .to = at(to), .from = at(from), .bytes = bytes});
}

cu_result cuMemsetD8Async(cu_deviceptr pointer, unsigned char value, size_t bytes, cu_stream stream)
{
    SCRIPTED_IN_CONTEXT(cuMemsetD8Async);
    return enqueue(
        stream,
        &(struct node){.kind = NODE_FILL, .to = at(pointer), .byte = value, .bytes = bytes});
}

/* ---- streams, events ------------------------------------------------------------------------- */

cu_result cuStreamCreate(cu_stream *stream, unsigned flags)
{
    SCRIPTED_IN_CONTEXT(cuStreamCreate);
    (void)flags;
    *stream = calloc(1, sizeof **stream);
    streams++;
    return *stream ? CU_SUCCESS : CU_ERROR_OUT_OF_MEMORY;
}

cu_result cuStreamDestroy_v2(cu_stream stream)
{
    free(stream);
    streams--;
    return CU_SUCCESS;
}

cu_result cuStreamSynchronize(cu_stream stream)
{
    SCRIPTED_IN_CONTEXT(cuStreamSynchronize);
    the_stream(stream)->invalid = the_stream(stream)->capturing;
    return the_stream(stream)->capturing ? CU_ERROR_CAPTURE_UNSUPPORTED : CU_SUCCESS;
}

cu_result cuEventCreate(cu_event *event, unsigned flags)
{
    SCRIPTED_IN_CONTEXT(cuEventCreate);
    (void)flags;
    *event = calloc(1, sizeof **event);
    events++;
    return *event ? CU_SUCCESS : CU_ERROR_OUT_OF_MEMORY;
}

cu_result cuEventDestroy_v2(cu_event event)
{
    free(event);
    events--;
    return CU_SUCCESS;
}

/* In a capture this orders work and takes no time, as in the real one. */
cu_result cuEventRecord(cu_event event, cu_stream stream)
{
    SCRIPTED_IN_CONTEXT(cuEventRecord);
    if (!the_stream(stream)->capturing)
        event->ns = now_ns();
    return CU_SUCCESS;
}

static cu_result between(float *ms, cu_event start, cu_event end)
{
    *ms = (float)((double)(end->ns - start->ns + number("FAKE_CUDA_EVENT_NS", 0)) * 1e-6);
    return CU_SUCCESS;
}

cu_result cuEventElapsedTime(float *ms, cu_event start, cu_event end)
{
    SCRIPTED_IN_CONTEXT(cuEventElapsedTime);
    return between(ms, start, end);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

cu_result cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    SCRIPTED_IN_CONTEXT(cuStreamBeginCapture_v2);
    (void)mode;
    if (named("FAKE_CUDA_CAPTURE", "no") || the_stream(stream)->capturing)
        return CU_ERROR_CAPTURE_UNSUPPORTED;
    the_stream(stream)->capturing = calloc(1, sizeof *the_stream(stream)->capturing);
    the_stream(stream)->invalid = false;
    graphs++;
    return the_stream(stream)->capturing ? CU_SUCCESS : CU_ERROR_OUT_OF_MEMORY;
}

cu_result cuStreamEndCapture(cu_stream stream, cu_graph *graph)
{
    SCRIPTED_IN_CONTEXT(cuStreamEndCapture);
    *graph = the_stream(stream)->capturing;
    the_stream(stream)->capturing = NULL;
    if (*graph && (the_stream(stream)->invalid || named("FAKE_CUDA_CAPTURE", "unjoined"))) {
        cuGraphDestroy(*graph);
        *graph = NULL;
        return the_stream(stream)->invalid ? CU_ERROR_CAPTURE_INVALIDATED
                                           : CU_ERROR_CAPTURE_UNJOINED;
    }
    return *graph ? CU_SUCCESS : ERROR_INVALID_VALUE;
}

#ifndef FAKE_OLD
cu_result cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph graph, unsigned long long flags)
{
    SCRIPTED_IN_CONTEXT(cuGraphInstantiateWithFlags);
    (void)flags;
    struct CUgraphExec_st *e = calloc(1, sizeof *e);
    if (!e)
        return CU_ERROR_OUT_OF_MEMORY;
    e->graph.n = e->graph.room = graph->n;
    e->graph.nodes = calloc((size_t)graph->n + 1, sizeof *e->graph.nodes);
    if (!e->graph.nodes)
        abort();
    if (graph->n)
        memcpy(e->graph.nodes, graph->nodes, (size_t)graph->n * sizeof *e->graph.nodes);
    execs++;
    *exec = e;
    return CU_SUCCESS;
}
#endif

cu_result cuGraphLaunch(cu_graph_exec exec, cu_stream stream)
{
    SCRIPTED_IN_CONTEXT(cuGraphLaunch);
    replays++;
    for (int64_t i = 0; i < exec->graph.n; i++)
        enqueue(stream, &exec->graph.nodes[i]);
    return CU_SUCCESS;
}

cu_result cuGraphExecDestroy(cu_graph_exec exec)
{
    free(exec->graph.nodes);
    free(exec);
    execs--;
    return CU_SUCCESS;
}

cu_result cuGraphDestroy(cu_graph graph)
{
    free(graph->nodes);
    free(graph);
    graphs--;
    return CU_SUCCESS;
}

/* ---- what need not be there ------------------------------------------------------------------ */

#ifndef FAKE_LEAN
cu_result cuLaunchKernelEx(const cu_launch_config *c, cu_function function, void **parameters,
                           void **extra)
{
    SCRIPTED_IN_CONTEXT(cuLaunchKernelEx);
    if (c->n_attributes != 1 || c->attributes[0].id != CU_LAUNCH_PROGRAMMATIC ||
        c->attributes[0].value.programmatic != 1)
        return ERROR_INVALID_VALUE;
    early = true;
    cu_result result =
        cuLaunchKernel(function, c->grid_x, c->grid_y, c->grid_z, c->block_x, c->block_y,
                       c->block_z, c->shared_bytes, c->stream, parameters, extra);
    early = false;
    return result;
}

cu_result cuCtxGetCurrent(cu_context *c)
{
    SCRIPTED(cuCtxGetCurrent);
    *c = is_current;
    return CU_SUCCESS;
}

cu_result cuDevicePrimaryCtxGetState(cu_device device, unsigned *flags, int *active)
{
    SCRIPTED(cuDevicePrimaryCtxGetState);
    (void)device;
    *flags = 0;
    *active = context.retained > 0;
    return CU_SUCCESS;
}

cu_result cuCtxGetDevice(cu_device *device)
{
    SCRIPTED_IN_CONTEXT(cuCtxGetDevice);
    *device = 0;
    return CU_SUCCESS;
}

cu_result cuEventRecordWithFlags(cu_event event, cu_stream stream, unsigned flags)
{
    SCRIPTED_IN_CONTEXT(cuEventRecordWithFlags);
    if (flags != CU_RECORD_EXTERNAL)
        return cuEventRecord(event, stream);
    return enqueue(stream, &(struct node){.kind = NODE_EVENT, .event = event});
}

cu_result cuEventElapsedTime_v2(float *ms, cu_event start, cu_event end)
{
    SCRIPTED_IN_CONTEXT(cuEventElapsedTime_v2);
    return between(ms, start, end);
}

cu_result cuGraphUpload(cu_graph_exec exec, cu_stream stream)
{
    SCRIPTED_IN_CONTEXT(cuGraphUpload);
    (void)exec, (void)stream;
    return CU_SUCCESS;
}

/* A node's name is its address, until the graph grows. */
cu_result cuGraphGetNodes(cu_graph graph, cu_graph_node *nodes, size_t *n)
{
    SCRIPTED_IN_CONTEXT(cuGraphGetNodes);
    for (size_t i = 0; nodes && i < *n && i < (size_t)graph->n; i++)
        nodes[i] = (cu_graph_node)&graph->nodes[i];
    *n = (size_t)graph->n;
    return CU_SUCCESS;
}

cu_result cuGraphNodeGetType(cu_graph_node node, int *type)
{
    static const int types[] = {[NODE_LAUNCH] = CU_NODE_KERNEL, [NODE_EVENT] = CU_NODE_RECORD_EVENT,
                                [NODE_COPY] = CU_NODE_COPY,     [NODE_FILL] = CU_NODE_MEMSET,
                                [NODE_HOST] = CU_NODE_HOST,     [NODE_GRAPH] = CU_NODE_GRAPH};
    SCRIPTED_IN_CONTEXT(cuGraphNodeGetType);
    *type = types[((struct node *)node)->kind];
    return CU_SUCCESS;
}

cu_result cuGraphKernelNodeGetParams_v2(cu_graph_node node, cu_kernel_node *params)
{
    SCRIPTED_IN_CONTEXT(cuGraphKernelNodeGetParams_v2);
    *params = (cu_kernel_node){.function = ((struct node *)node)->function};
    return CU_SUCCESS;
}

cu_result cuGraphChildGraphNodeGetGraph(cu_graph_node node, cu_graph *graph)
{
    SCRIPTED_IN_CONTEXT(cuGraphChildGraphNodeGetGraph);
    *graph = ((struct node *)node)->within;
    return CU_SUCCESS;
}

cu_result cuFuncGetName(const char **name, cu_function function)
{
    SCRIPTED_IN_CONTEXT(cuFuncGetName);
    *name = function->name;
    return CU_SUCCESS;
}

cu_result cuKernelGetName(const char **name, cu_kernel kernel)
{
    (void)name, (void)kernel;
    return CU_ERROR_NOT_FOUND; /* there are functions only */
}

/* For a framework that is faked itself: y = max(x, 0). */
cu_result fake_cuda_relu(cu_stream stream, const float *x, float *y, int64_t n);
cu_result fake_cuda_relu(cu_stream stream, const float *x, float *y, int64_t n)
{
    static struct CUfunc_st relu = {.name = "eltwise", .op = "relu", .element = 32, .options = ""};
    struct node node = {.kind = NODE_LAUNCH, .function = &relu};
    memcpy(&node.values[0].pointer, &x, sizeof x);
    node.values[2].pointer = y;
    node.values[3].number = n;
    return dead ? dead : enqueue(stream, &node);
}

/* For tests: nodes that nothing here launches. */
cu_result fake_cuda_add_host(cu_stream stream);
cu_result fake_cuda_add_host(cu_stream stream)
{
    return enqueue(stream, &(struct node){.kind = NODE_HOST});
}
cu_result fake_cuda_add_graph(cu_stream stream, cu_graph within);
cu_result fake_cuda_add_graph(cu_stream stream, cu_graph within)
{
    return enqueue(stream, &(struct node){.kind = NODE_GRAPH, .within = within});
}

cu_result cuDeviceGetPCIBusId(char *text, int size, cu_device device)
{
    SCRIPTED(cuDeviceGetPCIBusId);
    snprintf(text, (size_t)size, "0000:%02X:00.0", 0x1b + device);
    return CU_SUCCESS;
}

cu_result cuMemGetAddressRange_v2(cu_deviceptr *base, size_t *bytes, cu_deviceptr pointer)
{
    SCRIPTED_IN_CONTEXT(cuMemGetAddressRange_v2);
    const struct block *b = block_at(at(pointer));
    if (!b)
        return ERROR_INVALID_VALUE; /* nobody asks for others here */
    *base = pointer;
    *bytes = b->bytes;
    return CU_SUCCESS;
}

/* What is smaller than a block lies in one with others. The real driver gives that one's handle;
 * who asks for it does not know what they get, and is told so here. */
cu_result cuIpcGetMemHandle(cu_ipc_handle *handle, cu_deviceptr pointer)
{
    SCRIPTED_IN_CONTEXT(cuIpcGetMemHandle);
    const struct block *b = block_at(at(pointer));
    if (!b || b->file < 0)
        return ERROR_INVALID_VALUE;
    struct shown shown = {"fakeipc", getpid(), b->file, b->bytes};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &shown, sizeof shown);
    return CU_SUCCESS;
}

/* A process cannot open what it gave out itself. */
cu_result cuIpcOpenMemHandle_v2(cu_deviceptr *pointer, cu_ipc_handle handle, unsigned flags)
{
    SCRIPTED_IN_CONTEXT(cuIpcOpenMemHandle_v2);
    struct shown shown;
    char path[64];
    memcpy(&shown, &handle, sizeof shown);
    if (memcmp(shown.magic, "fakeipc", sizeof shown.magic) != 0 || flags != CU_IPC_LAZY_PEER_ACCESS)
        return ERROR_INVALID_VALUE;
    if (shown.process == getpid())
        return ERROR_INVALID_CONTEXT;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)shown.process, shown.file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    struct block *b = map_block(file, shown.bytes);
    if (file >= 0)
        close(file);
    if (!b)
        return ERROR_INVALID_VALUE;
    b->file = -1;
    *pointer = (cu_deviceptr)(uintptr_t)b->base;
    return CU_SUCCESS;
}

cu_result cuIpcCloseMemHandle(cu_deviceptr pointer)
{
    SCRIPTED(cuIpcCloseMemHandle);
    struct block *b = block_at(at(pointer));
    if (!b || b->file >= 0)
        return ERROR_INVALID_VALUE;
    drop_block(b);
    return CU_SUCCESS;
}

static size_t persisting = 11 * 1024; /* of the L2 cache, set aside for lines that persist */

cu_result cuCtxGetLimit(size_t *value, int limit)
{
    SCRIPTED_IN_CONTEXT(cuCtxGetLimit);
    *value = limit == CU_LIMIT_PERSISTING_L2 ? persisting : 0;
    return CU_SUCCESS;
}

cu_result cuCtxSetLimit(int limit, size_t value)
{
    SCRIPTED_IN_CONTEXT(cuCtxSetLimit);
    if (limit == CU_LIMIT_PERSISTING_L2)
        persisting = value;
    return CU_SUCCESS;
}

cu_result cuCtxResetPersistingL2Cache(void)
{
    SCRIPTED_IN_CONTEXT(cuCtxResetPersistingL2Cache);
    return CU_SUCCESS;
}

cu_result cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                                 const uint64_t *sizes, const uint64_t *strides,
                                 const uint32_t *box, const uint32_t *element_strides,
                                 int interleave, int swizzle, int promotion, int fill)
{
    SCRIPTED_IN_CONTEXT(cuTensorMapEncodeTiled);
    (void)type, (void)rank, (void)sizes, (void)strides;
    (void)element_strides, (void)interleave, (void)swizzle, (void)promotion, (void)fill;
    const uint64_t shown[2] = {(uint64_t)(uintptr_t)address, box[1]};
    memset(map, 0, 128);
    memcpy(map, shown, sizeof shown);
    return CU_SUCCESS;
}

cu_result cuTensorMapEncodeIm2col(void *map, int type, uint32_t rank, void *address,
                                  const uint64_t *sizes, const uint64_t *strides, const int *lowest,
                                  const int *highest, uint32_t channels, uint32_t places,
                                  const uint32_t *element_strides, int interleave, int swizzle,
                                  int promotion, int fill)
{
    SCRIPTED_IN_CONTEXT(cuTensorMapEncodeIm2col);
    (void)type, (void)rank, (void)strides, (void)channels;
    (void)interleave, (void)swizzle, (void)promotion, (void)fill;
    /* A box that leaves no places is refused, as the real one does. */
    if (lowest[0] < -128 || highest[0] < -128 || (int64_t)sizes[1] + highest[0] <= lowest[0])
        return ERROR_INVALID_VALUE;
    if (lowest[0] != lowest[1] || highest[0] != highest[1])
        return ERROR_INVALID_VALUE; /* nobody asks for it here */
    const uint64_t shown[6] = {(uint64_t)(uintptr_t)address, places,
                               (uint64_t)lowest[0],          (uint64_t)highest[0],
                               element_strides[1],           sizes[1]};
    memset(map, 0, 128);
    memcpy(map, shown, sizeof shown);
    return CU_SUCCESS;
}
#endif
