/* clean_environment.c: the variables that a runner sees. A list of those allowed, because nobody
 * can list the names of all tokens and passwords. */
#include "base/alloc.h"
#include "runner/sandbox.h"

#include <string.h>
#include <unistd.h>

/* Names; a star stands for any ending. */
static const char *const allowed[] = {
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "LD_LIBRARY_PATH",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "ASSAY_*",
    "OMP_*",
    "GOMP_*",
    "KMP_*",
    "OPENBLAS_*",
    "BLIS_*",
    "ONEDNN_*",
    "DNNL_*",
    "MKL_*",
    "TBB_*",
    "CUDA_*",
    "NVIDIA_*",
    "CUBLAS_*",
    "CUDNN_*",
    "NVRTC_*",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONNOUSERSITE",
    "TORCH*",
    "TRITON_*",
    "CC",
    "CXX",
    "VIRTUAL_ENV", /* below these two lie NVIDIA's libraries where Python brought them */
    "CONDA_PREFIX",
    "MALLOC_*",
    "GLIBC_TUNABLES",
    "ASAN_OPTIONS",
    "UBSAN_OPTIONS",
    "LSAN_OPTIONS",
    "TSAN_OPTIONS",
    "ASAN_SYMBOLIZER_PATH",
};

/* Parts of names that are left out although a star would allow them: NVIDIA_API_KEY. */
static const char *const secrets[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH"};

static size_t name_length(const char *variable) { return strcspn(variable, "="); }

static bool matches(const char *variable, const char *pattern)
{
    size_t length = strlen(pattern), name = name_length(variable);
    if (pattern[length - 1] == '*')
        return name >= length && strncmp(variable, pattern, length - 1) == 0;
    return name == length && strncmp(variable, pattern, length) == 0;
}

static bool looks_secret(const char *variable)
{
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        const char *found = strstr(variable, secrets[i]);
        if (found && found < variable + name_length(variable))
            return true;
    }
    return false;
}

/* A sanitized library in a program that is not needs its runtime first. Other preloads are left
 * out: they are not about the runner. */
static bool preloads_sanitizer(const char *variable)
{
    return strncmp(variable, "LD_PRELOAD=", 11) == 0 &&
           (strstr(variable, "san.so") || strstr(variable, "libclang_rt."));
}

static bool is_allowed(const char *variable)
{
    if (preloads_sanitizer(variable))
        return true;
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        if (matches(variable, allowed[i]))
            return !looks_secret(variable);
    return false;
}

static bool is_named_in(const char *variable, const char *const *list)
{
    size_t length = name_length(variable);
    for (; list && *list; list++)
        if (name_length(*list) == length && strncmp(*list, variable, length) == 0)
            return true;
    return false;
}

static size_t count(const char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

char **assay_confine_environment(const char *const *extra)
{
    const char *const *ours = (const char *const *)environ;
    const char **out = assay_calloc(count(ours) + count(extra) + 1, sizeof *out);
    size_t n = 0;
    if (!out)
        return NULL;
    for (; ours && *ours; ours++)
        if (is_allowed(*ours) && !is_named_in(*ours, extra))
            out[n++] = *ours;
    for (; extra && *extra; extra++)
        out[n++] = *extra;
    char **as_exec_takes_it; /* which changes nothing */
    memcpy(&as_exec_takes_it, &out, sizeof out);
    return as_exec_takes_it;
}
