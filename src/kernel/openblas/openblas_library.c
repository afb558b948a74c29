/* openblas_library.c: finding and opening OpenBLAS.
 *
 * It reads its environment while it is being loaded and never again, so what it should know is set
 * for that moment and then put back.
 *
 * OPENBLAS_CORETYPE. It chooses its kernels by the CPU's model number, and for a model it does not
 * know it falls back to those of 2004: 0.3.21 runs Emerald Rapids with SSE3, at a sixth of its
 * speed. So it is opened once as it is, asked which kernels it chose, and, where the CPU can do
 * more, opened again with the best core that every build knows.
 *
 * OPENBLAS_NUM_THREADS. It starts a pool of threads while loading, one for each core. With 1 it
 * starts none; openblas_set_num_threads adds as many as a problem may use. Without threads it can
 * also be closed again.
 *
 * OPENBLAS_THREAD_TIMEOUT. After each call the threads of the pool wait for the next one in a loop
 * around sched_yield, for 2^N ticks of the time-stamp counter, before they sleep. The default of 28
 * is a tenth of a second: they would take time from every kernel measured in between. 2^17 ticks
 * are 30 to 60 us: far longer than the gap between two calls in a row, so nothing is lost there,
 * and over before the next kernel's untimed calls are. */
#include "kernel/openblas/openblas.h"

#include "base/library.h"
#include "device/cpu/cpu_info.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct assay_openblas_api api;
static enum assay_status status;
static struct assay_error reason;
static char text[128];

static const char core_variable[] = "OPENBLAS_CORETYPE";

/* A variable of the environment with another value for a while. */
struct loan {
    const char *name;
    char before[64];
    bool was_set, taken;
};

/* Not where the user's own value is to stay, or is longer than any that makes sense. */
static void take(struct loan *loan, const char *name, const char *value, bool over_users)
{
    const char *now = getenv(name);
    *loan = (struct loan){.name = name, .was_set = now};
    if (now && (!over_users || strlen(now) >= sizeof loan->before))
        return;
    snprintf(loan->before, sizeof loan->before, "%s", now ? now : "");
    loan->taken = setenv(name, value, 1) == 0;
}

static void give_back(const struct loan *loan)
{
    if (loan->taken && loan->was_set)
        setenv(loan->name, loan->before, 1);
    else if (loan->taken)
        unsetenv(loan->name);
}

/* `core` NULL: as it is. */
static void *open_library(const char *core)
{
    struct loan threads, timeout, type = {0};
    take(&threads, "OPENBLAS_NUM_THREADS", "1", true);
    take(&timeout, "OPENBLAS_THREAD_TIMEOUT", "17", false);
    if (core)
        take(&type, core_variable, core, false);
    const char *named = getenv("ASSAY_OPENBLAS");
    bool by_name = named && *named;
    struct assay_error why = {0};
    void *library = assay_library_open(by_name ? named : "libopenblas.so.0", &why);
    if (!library && (by_name || why.code == ASSAY_ERR_NOMEM))
        status = assay_error_set(&reason, why.code, "ASSAY_OPENBLAS", "%s", why.message);
    else if (!library)
        status = assay_error_set(&reason, ASSAY_UNSUPPORTED, NULL,
                                 "libopenblas is not installed; install the package "
                                 "libopenblas0-pthread (or set ASSAY_OPENBLAS to the file)");
    give_back(&type);
    give_back(&timeout);
    give_back(&threads);
    return library;
}

/* Writes the function's address to *out, a pointer to function of any type: ISO C has no conversion
 * from the void * that dlsym returns, but POSIX says they look the same. */
static void find(void *library, const char *name, void *out, bool required)
{
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
    if (!symbol && required && status == ASSAY_OK)
        status = assay_error_set(&reason, ASSAY_UNSUPPORTED, NULL, "libopenblas has no function %s",
                                 name);
}

static void find_all(void *library)
{
    find(library, "openblas_get_config", &api.get_config, true);
    find(library, "openblas_get_corename", &api.get_corename, true);
    find(library, "openblas_get_parallel", &api.get_parallel, true);
    find(library, "openblas_get_num_threads", &api.get_num_threads, true);
    find(library, "openblas_set_num_threads", &api.set_num_threads, true);
    find(library, "cblas_sgemm", &api.sgemm, true);
    find(library, "cblas_sgemv", &api.sgemv, true);
    find(library, "cblas_sbgemm", &api.sbgemm, false);
}

static bool among(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcasecmp(name, *list) == 0)
            return true;
    return false;
}

/* The core to name where the library chose one below what this CPU can do; NULL where its choice
 * is fine. Cooperlake, which it also has for AVX-512, is as fast in f32. */
static const char *better_core(const char *chosen)
{
    static const char *const avx512[] = {"SkylakeX", "Cooperlake", "SapphireRapids", NULL};
    static const char *const avx2[] = {"Haswell", "Zen", "Excavator", NULL};
    if (among(chosen, avx512))
        return NULL;
    if (assay_cpu_has(ASSAY_CPU_AVX512))
        return "SKYLAKEX";
    if (!assay_cpu_has(ASSAY_CPU_AVX2) || among(chosen, avx2))
        return NULL;
    return strcmp(assay_cpu_info()->vendor, "AuthenticAMD") == 0 ? "ZEN" : "HASWELL";
}

static void describe(const char *set_by_us)
{
    char version[32] = "";
    sscanf(api.get_config(), "OpenBLAS %31s", version);
    const char *users = getenv(core_variable);
    int n = snprintf(text, sizeof text, "OpenBLAS %s, core %s", version, api.get_corename());
    if (set_by_us && n > 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, " (%s=%s set before loading)", core_variable,
                 set_by_us);
    else if (users && n > 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, " (%s=%.20s)", core_variable, users);
}

static void load(void)
{
    void *library = open_library(NULL);
    if (library)
        find_all(library);
    if (status != ASSAY_OK)
        return;
    const char *core = getenv(core_variable) ? NULL : better_core(api.get_corename());
    if (core) {
        dlclose(library);
        library = open_library(core);
        if (library)
            find_all(library);
    }
    if (status == ASSAY_OK)
        describe(core);
}

enum assay_status assay_openblas_api(const struct assay_openblas_api **out, struct assay_error *why)
{
    pthread_once(&once, load);
    *out = &api;
    if (status != ASSAY_OK)
        return assay_error_set(why, status, reason.where, "%s", reason.message);
    return ASSAY_OK;
}

const char *assay_openblas_text(void)
{
    const struct assay_openblas_api *blas;
    return assay_openblas_api(&blas, NULL) == ASSAY_OK ? text : "";
}
