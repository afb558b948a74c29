/* cuda_library.c: where NVIDIA's libraries may lie, and opening them. They stay open until the
 * process ends: the driver has threads of its own. */
#include "device/cuda/cuda_library.h"

#include "base/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct function {
    const char *name;
    size_t offset; /* in the table */
    bool required;
};

/* One library: how it is called and what is wanted of it. The rest is found out once. */
struct library {
    const char *title;    /* "NVRTC" */
    const char *variable; /* an environment variable that names the file, instead of a search */
    const char *const *names;
    const char *const *wheels; /* folders below a Python's site-packages, where wheels put it */
    const struct function *functions;
    size_t n_functions;
    void *table;

    enum assay_status status;
    struct assay_error why;
    struct cuda_library_path found;
};

#define REQUIRED_ROW(struct_name, name) {#name, offsetof(struct struct_name, name), true},
#define OPTIONAL_ROW(struct_name, name) {#name, offsetof(struct struct_name, name), false},

static struct cuda_driver_api driver_table;
static const struct function driver_functions[] = {
#define ROW(result, name, arguments) REQUIRED_ROW(cuda_driver_api, name)
    CUDA_DRIVER_REQUIRED(ROW)
#undef ROW
#define ROW(result, name, arguments) OPTIONAL_ROW(cuda_driver_api, name)
        CUDA_DRIVER_OPTIONAL(ROW)
#undef ROW
};

static struct cuda_nvrtc_api nvrtc_table;
static const struct function nvrtc_functions[] = {
#define ROW(result, name, arguments) REQUIRED_ROW(cuda_nvrtc_api, name)
    CUDA_NVRTC_REQUIRED(ROW)
#undef ROW
};

static struct cuda_nvml_api nvml_table;
static const struct function nvml_functions[] = {
#define ROW(result, name, arguments) REQUIRED_ROW(cuda_nvml_api, name)
    CUDA_NVML_REQUIRED(ROW)
#undef ROW
#define ROW(result, name, arguments) OPTIONAL_ROW(cuda_nvml_api, name)
        CUDA_NVML_OPTIONAL(ROW)
#undef ROW
};

static struct cuda_cublaslt_api cublaslt_table;
static const struct function cublaslt_functions[] = {
#define ROW(result, name, arguments) REQUIRED_ROW(cuda_cublaslt_api, name)
    CUDA_CUBLASLT_REQUIRED(ROW)
#undef ROW
};

static struct cuda_cudnn_api cudnn_table;
static const struct function cudnn_functions[] = {
#define ROW(result, name, arguments) REQUIRED_ROW(cuda_cudnn_api, name)
    CUDA_CUDNN_REQUIRED(ROW)
#undef ROW
#define ROW(result, name, arguments) OPTIONAL_ROW(cuda_cudnn_api, name)
        CUDA_CUDNN_OPTIONAL(ROW)
#undef ROW
};

static struct cuda_cupti_api cupti_table;
static const struct function cupti_functions[] = {
#define ROW(result, name, arguments) REQUIRED_ROW(cuda_cupti_api, name)
    CUDA_CUPTI_REQUIRED(ROW)
#undef ROW
#define ROW(result, name, arguments) OPTIONAL_ROW(cuda_cupti_api, name)
        CUDA_CUPTI_COUNTING(ROW)
#undef ROW
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const driver_names[] = {"libcuda.so.1", "libcuda.so", NULL};
static const char *const nvml_names[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
static const char *const cublaslt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                             "libcublasLt.so", NULL};
static const char *const cudnn_names[] = {"libcudnn.so.9", NULL};
static const char *const cupti_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
static const char *const no_wheels[] = {NULL};
static const char *const nvrtc_wheels[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", NULL};
static const char *const cublaslt_wheels[] = {"nvidia/cu13/lib", "nvidia/cublas/lib", NULL};
static const char *const cudnn_wheels[] = {"nvidia/cudnn/lib", NULL};
static const char *const cupti_wheels[] = {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib", NULL};

static struct library driver_library = {
    .title = "the NVIDIA driver",
    .variable = "ASSAY_CUDA_DRIVER",
    .names = driver_names,
    .wheels = no_wheels,
    .functions = driver_functions,
    .n_functions = COUNT(driver_functions),
    .table = &driver_table,
};
static struct library nvrtc_library = {
    .title = "NVRTC",
    .variable = "ASSAY_NVRTC",
    .names = nvrtc_names,
    .wheels = nvrtc_wheels,
    .functions = nvrtc_functions,
    .n_functions = COUNT(nvrtc_functions),
    .table = &nvrtc_table,
};
static struct library nvml_library = {
    .title = "NVML",
    .variable = "ASSAY_NVML",
    .names = nvml_names,
    .wheels = no_wheels,
    .functions = nvml_functions,
    .n_functions = COUNT(nvml_functions),
    .table = &nvml_table,
};
static struct library cublaslt_library = {
    .title = "cuBLASLt",
    .variable = "ASSAY_CUBLASLT",
    .names = cublaslt_names,
    .wheels = cublaslt_wheels,
    .functions = cublaslt_functions,
    .n_functions = COUNT(cublaslt_functions),
    .table = &cublaslt_table,
};

static struct library cudnn_library = {
    .title = "cuDNN",
    .variable = "ASSAY_CUDNN",
    .names = cudnn_names,
    .wheels = cudnn_wheels,
    .functions = cudnn_functions,
    .n_functions = COUNT(cudnn_functions),
    .table = &cudnn_table,
};

static struct library cupti_library = {
    .title = "CUPTI",
    .variable = "ASSAY_CUPTI",
    .names = cupti_names,
    .wheels = cupti_wheels,
    .functions = cupti_functions,
    .n_functions = COUNT(cupti_functions),
    .table = &cupti_table,
};

/* Below these, folders named by `wheels` are looked into. A virtual environment that is active
 * comes first. */
static const char *const site_packages[] = {
    "/usr/local/lib/python3*/dist-packages",   "/usr/local/lib/python3*/site-packages",
    "/usr/lib/python3/dist-packages",          "/opt/*/lib/python3*/site-packages",
    "/opt/*/.venv/lib/python3*/site-packages", "/opt/*/*/lib/python3*/site-packages",
};

static const char *const toolkit_folders[] = {
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/local/nvidia/lib64",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/local/cuda-*/lib64",
    "/opt/cuda/lib64",
    "/usr/local/cuda/extras/CUPTI/lib64",
    "/usr/local/cuda-*/extras/CUPTI/lib64",
    "/opt/cuda/extras/CUPTI/lib64",
};

/* Whether it is there cannot be told without memory. */
static void *try_file(struct library *l, const char *name)
{
    struct assay_error why = {0};
    void *library = l->status == ASSAY_OK ? assay_library_open(name, &why) : NULL;
    if (why.code == ASSAY_ERR_NOMEM)
        l->status = assay_error_set(&l->why, why.code, NULL, "%s", why.message);
    return library;
}

/* Opens the first file that a pattern names. */
static void *open_pattern(struct library *l, const char *pattern)
{
    glob_t found = {0};
    void *library = NULL;
    int result = glob(pattern, 0, NULL, &found);
    if (result == GLOB_NOSPACE && l->status == ASSAY_OK)
        l->status = assay_error_nomem(&l->why);
    for (size_t i = 0; result == 0 && i < found.gl_pathc && !library; i++)
        library = try_file(l, found.gl_pathv[i]);
    globfree(&found);
    return library;
}

static void *open_in_wheels(struct library *l, const char *root)
{
    void *library = NULL;
    char pattern[1024];
    for (const char *const *wheel = l->wheels; *wheel && !library; wheel++)
        for (const char *const *name = l->names; *name && !library; name++) {
            snprintf(pattern, sizeof pattern, "%.600s/%s/%s", root, *wheel, *name);
            library = open_pattern(l, pattern);
        }
    return library;
}

static void *open_active_environment(struct library *l)
{
    const char *environment = getenv("VIRTUAL_ENV");
    const char *conda = getenv("CONDA_PREFIX");
    char root[700];
    void *library = NULL;
    for (int i = 0; i < 2 && !library; i++) {
        const char *prefix = i == 0 ? environment : conda;
        if (!prefix || !*prefix)
            continue;
        snprintf(root, sizeof root, "%.500s/lib/python3*/site-packages", prefix);
        library = open_in_wheels(l, root);
    }
    return library;
}

static void *open_home_environment(struct library *l)
{
    const char *home = getenv("HOME");
    char root[700];
    if (!home || !*home)
        return NULL;
    snprintf(root, sizeof root, "%.500s/.local/lib/python3*/site-packages", home);
    return open_in_wheels(l, root);
}

/* The dynamic linker's own folders first, then a toolkit's, then those of Python's wheels. */
static void *search(struct library *l)
{
    void *library = NULL;
    char pattern[1024];
    for (const char *const *name = l->names; *name && !library; name++)
        library = try_file(l, *name);
    if (l->wheels[0]) {
        if (!library)
            library = open_active_environment(l);
        for (size_t i = 0; i < COUNT(toolkit_folders) && !library; i++)
            for (const char *const *name = l->names; *name && !library; name++) {
                snprintf(pattern, sizeof pattern, "%s/%s", toolkit_folders[i], *name);
                library = open_pattern(l, pattern);
            }
        if (!library)
            library = open_home_environment(l);
        for (size_t i = 0; i < COUNT(site_packages) && !library; i++)
            library = open_in_wheels(l, site_packages[i]);
    }
    return library;
}

static void *open_library(struct library *l)
{
    const char *named = getenv(l->variable);
    if (named && *named) {
        struct assay_error why = {0};
        void *library = assay_library_open(named, &why);
        if (!library)
            l->status = assay_error_set(&l->why, why.code, l->variable, "%s", why.message);
        return library;
    }
    void *library = search(l);
    if (!library && l->status == ASSAY_OK)
        l->status = assay_error_set(&l->why, ASSAY_UNSUPPORTED, NULL,
                                    "%s is not here (%s not found; %s can name the file)", l->title,
                                    l->names[0], l->variable);
    return library;
}

static void note_place(struct library *l, void *library)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        snprintf(l->found.path, sizeof l->found.path, "%s", map->l_name);
}

static void load(struct library *l)
{
    void *library = open_library(l);
    if (!library)
        return;
    note_place(l, library);
    for (size_t i = 0; i < l->n_functions; i++) {
        const struct function *f = &l->functions[i];
        void *symbol = dlsym(library, f->name);
        memcpy((char *)l->table + f->offset, &symbol, sizeof symbol);
        if (!symbol && f->required && l->status == ASSAY_OK)
            l->status = assay_error_set(&l->why, ASSAY_UNSUPPORTED, NULL,
                                        "%s is too old: %s has no function %s", l->title,
                                        l->found.path, f->name);
    }
}

static const char *driver_error(cu_result result)
{
    const char *text = NULL;
    if (driver_table.cuGetErrorString(result, &text) != CU_SUCCESS || !text)
        text = "unknown error";
    return text;
}

static void load_driver(void)
{
    load(&driver_library);
    if (driver_library.status != ASSAY_OK)
        return;
    cu_result result = driver_table.cuInit(0);
    if (result != CU_SUCCESS)
        driver_library.status =
            assay_error_set(&driver_library.why, ASSAY_UNSUPPORTED, NULL,
                            "the NVIDIA driver does not start: %s", driver_error(result));
}

static void load_nvrtc(void) { load(&nvrtc_library); }
static void load_cublaslt(void) { load(&cublaslt_library); }
static void load_cudnn(void) { load(&cudnn_library); }
static void load_cupti(void) { load(&cupti_library); }

static void load_nvml(void)
{
    load(&nvml_library);
    if (nvml_library.status == ASSAY_OK && nvml_table.nvmlInit_v2() != 0)
        nvml_library.status =
            assay_error_set(&nvml_library.why, ASSAY_UNSUPPORTED, NULL, "NVML does not start");
}

static enum assay_status report(const struct library *l, struct cuda_library_path *found,
                                struct assay_error *why)
{
    if (found)
        *found = l->found;
    if (l->status == ASSAY_OK)
        return ASSAY_OK;
    return assay_error_set(why, l->status, l->why.where[0] ? l->why.where : NULL, "%s",
                           l->why.message);
}

#define DEFINE_OPEN(name)                                                                          \
    enum assay_status assay_cuda_open_##name(const struct cuda_##name##_api **api,                 \
                                             struct cuda_library_path *found,                      \
                                             struct assay_error *why)                              \
    {                                                                                              \
        static pthread_once_t once = PTHREAD_ONCE_INIT;                                            \
        pthread_once(&once, load_##name);                                                          \
        *api = name##_library.status == ASSAY_OK ? &name##_table : NULL;                           \
        return report(&name##_library, found, why);                                                \
    }

DEFINE_OPEN(driver)
DEFINE_OPEN(nvrtc)
DEFINE_OPEN(nvml)
DEFINE_OPEN(cublaslt)
DEFINE_OPEN(cudnn)
DEFINE_OPEN(cupti)
