/* onednn_library.c: finding and opening oneDNN. It stays open until the process ends: it may have
 * left OpenMP threads behind. */
#include "kernel/onednn/onednn.h"

#include "base/library.h"
#include "device/cpu/cpu_info.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct assay_dnnl_api api;
static enum assay_status status;
static struct assay_error reason;
static bool amx_left_out; /* by us */

/* A soname with the minor version in it is what some packages install alone. */
static const char *const file_names[] = {"libdnnl.so.2",   "libdnnl.so.2.7", "libdnnl.so.2.6",
                                         "libdnnl.so.2.5", "libdnnl.so.2.4", "libdnnl.so.2.3"};

static void *open_library(void)
{
    const char *named = getenv("ASSAY_DNNL");
    struct assay_error why = {0};
    if (named && *named) {
        void *library = assay_library_open(named, &why);
        if (!library)
            status = assay_error_set(&reason, why.code, "ASSAY_DNNL", "%s", why.message);
        return library;
    }
    for (size_t i = 0; i < sizeof file_names / sizeof file_names[0]; i++) {
        why = (struct assay_error){0};
        void *library = assay_library_open(file_names[i], &why);
        if (library)
            return library;
        if (why.code == ASSAY_ERR_NOMEM) {
            status = assay_error_set(&reason, why.code, NULL, "%s", why.message);
            return NULL;
        }
    }
    status = assay_error_set(&reason, ASSAY_UNSUPPORTED, NULL,
                             "libdnnl.so.2 not found; install the package libdnnl2 (or set "
                             "ASSAY_DNNL to the file)");
    return NULL;
}

/* Writes the function's address to *out, a pointer to function of any type: ISO C has no conversion
 * from the void * that dlsym returns, but POSIX says they look the same. */
static bool look_up(void *library, const char *name, void *out)
{
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
    return symbol;
}

static void find(void *library, const char *name, void *out)
{
    if (!look_up(library, name, out) && status == ASSAY_OK)
        status =
            assay_error_set(&reason, ASSAY_UNSUPPORTED, NULL,
                            "libdnnl has no function %s; 2.3 or a later 2.x, built for OpenMP, "
                            "is needed",
                            name);
}

static void check_version(void *library)
{
    find(library, "dnnl_version", &api.version);
    if (status != ASSAY_OK)
        return;
    const struct assay_dnnl_version *version = api.version();
    if (version->major != ASSAY_DNNL_MAJOR)
        status =
            assay_error_set(&reason, ASSAY_UNSUPPORTED, NULL, "libdnnl %d.%d.%d; 2.x is needed",
                            version->major, version->minor, version->patch);
    else if (version->cpu_runtime != ASSAY_DNNL_RUNTIME_OMP)
        status = assay_error_set(&reason, ASSAY_UNSUPPORTED, NULL,
                                 "libdnnl %d.%d.%d is not built for OpenMP, so its number of "
                                 "threads cannot be set",
                                 version->major, version->minor, version->patch);
}

const char *assay_onednn_users_limit(void)
{
    static const char *const names[] = {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return names[i];
    return NULL;
}

/* The call wins over the variables. It fails once the library has looked at the CPU. */
static bool leave_out_amx(void)
{
    if (!amx_left_out)
        amx_left_out =
            api.set_max_cpu_isa(ASSAY_DNNL_CPU_ISA_AVX512_CORE_BF16) == ASSAY_DNNL_SUCCESS;
    return amx_left_out;
}

/* Where AMX is advertised but its CPUID leaf is hidden (some hypervisors), oneDNN configures no
 * tiles and dies of an illegal instruction. A user who told it what to use gets that. */
static void avoid_broken_amx(void)
{
    if (assay_cpu_info()->amx_leaf_hidden && !assay_onednn_users_limit())
        leave_out_amx();
}

static void load(void)
{
    void *library = open_library();
    if (library)
        check_version(library);
    if (status != ASSAY_OK)
        return;
#define FIND(name, result, args) find(library, "dnnl_" #name, &api.name);
    ASSAY_DNNL_FUNCTIONS(FIND)
#undef FIND
#define LOOK_UP(name, result, args) look_up(library, "dnnl_" #name, &api.name);
    ASSAY_DNNL_LATER_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    /* A handle's symbols include those of the libraries it depends on. */
    find(library, "omp_set_num_threads", &api.omp_set_num_threads);
    find(library, "omp_get_max_threads", &api.omp_get_max_threads);
    if (status == ASSAY_OK)
        avoid_broken_amx();
}

enum assay_status assay_onednn_api(const struct assay_dnnl_api **out, struct assay_error *why)
{
    pthread_once(&once, load);
    *out = &api;
    if (status != ASSAY_OK)
        return assay_error_set(why, status, reason.where, "%s", reason.message);
    return ASSAY_OK;
}

enum assay_status assay_onednn_leave_out_amx(struct assay_error *why)
{
    const struct assay_dnnl_api *dnnl;
    enum assay_status opened = assay_onednn_api(&dnnl, why);
    if (opened != ASSAY_OK)
        return opened;
    if (!leave_out_amx())
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "oneDNN was used with AMX in this process before; ask for this "
                               "kernel alone");
    return ASSAY_OK;
}

bool assay_onednn_amx_left_out(void) { return amx_left_out; }
