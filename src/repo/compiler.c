#include "repo/compiler.h"

#include "base/folder.h"
#include "device/cpu/cpu_info.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct tool {
    const char *what, *variable, *usual, *advice;
} tools[] = {
    [ASSAY_LANGUAGE_C] = {"C compiler", "CC", "cc", "install one (Debian: apt-get install gcc)"},
    [ASSAY_LANGUAGE_CXX] = {"C++ compiler", "CXX", "c++",
                            "install one (Debian: apt-get install g++)"},
    [ASSAY_LANGUAGE_CUDA] = {"CUDA compiler", "NVCC", "nvcc",
                             "install NVIDIA's CUDA toolkit, write the file for NVRTC "
                             "(__CUDACC_RTC__)"},
};

enum assay_language assay_compiler_language(const struct assay_source *source)
{
    return source->run_time_cuda ? ASSAY_LANGUAGE_C : source->language;
}

/* nvcc is seldom in $PATH. */
static bool find_toolkit(struct assay_text *out)
{
    const char *const folders[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        struct assay_text path = {0};
        if (!folders[i] || folders[i][0] != '/')
            continue;
        assay_text_format(&path, "%s/bin/nvcc", folders[i]);
        bool found = !path.failed && assay_process_find(path.data, out);
        assay_text_fini(&path);
        if (found)
            return true;
    }
    return false;
}

enum assay_status assay_compiler_find(enum assay_language language, const char *file,
                                      struct assay_arguments *out, struct assay_error *err)
{
    const struct tool *tool = &tools[language];
    const char *given = getenv(tool->variable);
    struct assay_arguments words = {0};
    struct assay_text path = {0};
    assay_arguments_split(&words, given ? given : "");
    bool chosen = words.n > 0;
    if (!chosen)
        assay_arguments_add(&words, tool->usual);
    const char *name = words.n ? words.items[0] : tool->usual;
    bool found = assay_process_find(name, &path) ||
                 (!chosen && language == ASSAY_LANGUAGE_CUDA && find_toolkit(&path));
    enum assay_status status = ASSAY_OK;
    if (words.failed) {
        out->failed = true; /* told when it is run */
    } else if (found) {
        assay_arguments_add(out, path.data);
        assay_arguments_add_all(out, (const char *const *)words.items + 1);
    } else if (!chosen) {
        status = assay_error_set(err, ASSAY_UNSUPPORTED, file,
                                 "no %s was found (%s); %s, or set %s to its path", tool->what,
                                 name, tool->advice, tool->variable);
    } else {
        status =
            assay_error_set(err, ASSAY_UNSUPPORTED, file,
                            "%s is \"%.200s\", and there is no such program", tool->variable, name);
    }
    assay_arguments_fini(&words);
    assay_text_fini(&path);
    return status;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void add_program(struct assay_sha256 *key, const char *program)
{
    char whole[PATH_MAX], line[128];
    struct stat found = {0};
    const char *path = realpath(program, whole) ? whole : program;
    if (stat(path, &found) != 0)
        found = (struct stat){0};
    snprintf(line, sizeof line, "%lld %lld.%09ld", (long long)found.st_size,
             (long long)found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
    assay_sha256_add_text(key, path);
    assay_sha256_add_text(key, line);
}

static void add_cpu(struct assay_sha256 *key)
{
    const struct assay_cpu_info *cpu = assay_cpu_info();
    char line[160];
    snprintf(line, sizeof line, "%s %s %d %d %d %x", cpu->vendor, cpu->model, cpu->family,
             cpu->model_number, cpu->stepping, cpu->isa);
    assay_sha256_add_text(key, line);
}

/* What the kernel's driver says of each: its model among others. */
static void add_gpus(struct assay_sha256 *key)
{
    static const char gpus[] = "/proc/driver/nvidia/gpus";
    struct dirent **entries = NULL;
    int n = scandir(gpus, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        struct assay_text path = {0}, text = {0};
        assay_text_format(&path, "%s/%s/information", gpus, entries[i]->d_name);
        if (!path.failed && entries[i]->d_name[0] != '.' &&
            assay_folder_read_file(path.data, 65536, &text, NULL) == ASSAY_OK)
            assay_sha256_add_text(key, text.data);
        assay_text_fini(&path);
        assay_text_fini(&text);
        free(entries[i]);
    }
    free(entries);
}

bool assay_compiler_sees_gpu(void) { return access("/dev/nvidiactl", R_OK) == 0; }

void assay_compiler_key(enum assay_language language, const char *program, struct assay_sha256 *key)
{
    static const char *const variables[] = {
        "CPATH",         "C_INCLUDE_PATH",    "CPLUS_INCLUDE_PATH",   "LIBRARY_PATH",
        "COMPILER_PATH", "GCC_EXEC_PREFIX",   "SOURCE_DATE_EPOCH",    "NVCC_PREPEND_FLAGS",
        "NVCC_CCBIN",    "NVCC_APPEND_FLAGS", "CUDA_VISIBLE_DEVICES",
    };
    assay_sha256_init(key);
    assay_sha256_add_text(key, "2"); /* the form of what follows */
    add_program(key, program);
    add_cpu(key);
    if (language == ASSAY_LANGUAGE_CUDA)
        add_gpus(key);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        assay_sha256_add_text(key, variables[i]);
        assay_sha256_add_text(key, getenv(variables[i]));
    }
}
