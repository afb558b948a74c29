/* cuda_program.c: embedded texts compiled by NVRTC for the GPU at hand, and remembered.
 *
 * A compiled text lies in the cache folder under the hash of everything it depends on: the texts,
 * the options, the architecture and NVRTC's version. A file that is damaged is made anew; a folder
 * that cannot be written costs time at the next start, nothing else. */
#include "device/cuda/cuda_gpu.h"

#include "base/alloc.h"
#include "base/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
    char key[40]; /* the hash, in hex */
    cu_module module;
};

static struct program *programs;
static int64_t n_programs;

/* ---- the key --------------------------------------------------------------------------------- */

struct hash {
    uint64_t a, b;
};

/* Two FNV-1a hashes with different seeds: 128 bits, for telling files apart, not for secrets. */
static void hash_bytes(struct hash *h, const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < length; i++) {
        h->a = (h->a ^ p[i]) * UINT64_C(0x100000001b3);
        h->b = (h->b ^ (unsigned)(p[i] + 0x5b)) * UINT64_C(0x100000001b3);
    }
}

static void hash_text(struct hash *h, const char *text) { hash_bytes(h, text, strlen(text) + 1); }

static struct hash hash_start(void)
{
    return (struct hash){UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)};
}

static const char *text_of(const char *name)
{
    for (int i = 0; i < assay_cuda_n_texts; i++)
        if (strcmp(assay_cuda_texts[i].name, name) == 0)
            return assay_cuda_texts[i].text;
    return NULL;
}

/* What is compiled: an embedded text, or a file of the user's. */
struct source {
    const char *name, *body;
    const char *const *folders; /* to look for headers in; NULL-terminated; NULL: none */
    bool keep;                  /* all it depends on is known, so that it can be remembered */
};

static bool is_header(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".cuh") == 0;
}

/* "sm_90a" on Hopper, whose matrix instructions need the letter; the plain name elsewhere. */
static void architecture(char *out, size_t size)
{
    const struct assay_cuda_properties *p = assay_cuda_properties();
    snprintf(out, size, "sm_%d%d%s", p->major, p->minor,
             p->major == 9 || p->major == 10 ? "a" : "");
}

static void make_key(const struct source *source, const char *options, char *key, size_t size)
{
    const struct cuda_nvrtc_api *nvrtc;
    int version[2] = {0, 0};
    char arch[16];
    struct hash h = hash_start();
    assay_cuda_open_nvrtc(&nvrtc, NULL, NULL);
    if (nvrtc)
        nvrtc->nvrtcVersion(&version[0], &version[1]);
    architecture(arch, sizeof arch);
    hash_text(&h, source->name);
    hash_text(&h, source->body);
    for (int i = 0; i < assay_cuda_n_texts; i++)
        if (is_header(assay_cuda_texts[i].name))
            hash_text(&h, assay_cuda_texts[i].text);
    hash_text(&h, options);
    hash_text(&h, arch);
    hash_bytes(&h, version, sizeof version);
    snprintf(key, size, "%016llx%016llx", (unsigned long long)h.a, (unsigned long long)h.b);
}

/* ---- the cache ------------------------------------------------------------------------------- */

struct file_head {
    char magic[8];
    uint64_t length, check;
};

static const char magic[8] = {'a', 's', 's', 'a', 'y', 'c', 'u', '1'};

static uint64_t check_of(const void *bytes, size_t length)
{
    struct hash h = hash_start();
    hash_bytes(&h, bytes, length);
    return h.a;
}

static bool cache_path(const char *key, bool make, struct assay_text *path)
{
    if (assay_folder_cache(path, NULL) != ASSAY_OK)
        return false;
    assay_text_add(path, "/cuda");
    if (path->failed || (make && assay_folder_make(path->data, NULL) != ASSAY_OK))
        return false;
    assay_text_format(path, "/%s.cubin", key);
    return !path->failed;
}

/* The compiled text if the file is there and whole; the caller frees it. */
static void *cache_read(const char *key)
{
    struct assay_text path = {0};
    struct file_head head;
    void *image = NULL;
    FILE *file = cache_path(key, false, &path) ? fopen(path.data, "rb") : NULL;
    if (file && fread(&head, sizeof head, 1, file) == 1 &&
        memcmp(head.magic, magic, sizeof magic) == 0 && head.length < (UINT64_C(1) << 30)) {
        image = assay_calloc(1, (size_t)head.length + 1);
        if (image && (fread(image, 1, (size_t)head.length, file) != head.length ||
                      check_of(image, (size_t)head.length) != head.check)) {
            assay_free(image);
            image = NULL;
        }
    }
    if (file)
        fclose(file);
    assay_text_fini(&path);
    return image;
}

static void cache_write(const char *key, const void *image, size_t length)
{
    struct assay_text path = {0};
    struct file_head head = {.length = length, .check = check_of(image, length)};
    memcpy(head.magic, magic, sizeof magic);
    char *bytes = assay_calloc(1, sizeof head + length);
    if (bytes && cache_path(key, true, &path)) {
        memcpy(bytes, &head, sizeof head);
        memcpy(bytes + sizeof head, image, length);
        assay_folder_write_atomic(path.data, bytes, sizeof head + length, NULL);
    }
    assay_free(bytes);
    assay_text_fini(&path);
}

/* ---- compiling ------------------------------------------------------------------------------- */

enum { MAX_OPTIONS = 32, MAX_HEADERS = 32 };

static int split_options(char *words, const char **out, int n)
{
    char *rest = words;
    for (char *word; (word = strsep(&rest, " ")) && n < MAX_OPTIONS;)
        if (*word)
            out[n++] = word;
    return n;
}

static enum assay_status compile_error(const struct cuda_nvrtc_api *nvrtc, nvrtc_program program,
                                       const char *text, nvrtc_result result,
                                       struct assay_error *err)
{
    size_t size = 0;
    char *log = NULL;
    if (program && nvrtc->nvrtcGetProgramLogSize(program, &size) == 0 && size > 1)
        log = assay_calloc(1, size + 1);
    if (log)
        nvrtc->nvrtcGetProgramLog(program, log);
    assay_error_set(err, ASSAY_ERR_DEVICE, text, "does not compile: %.400s",
                    log ? log : nvrtc->nvrtcGetErrorString(result));
    assay_free(log);
    return ASSAY_ERR_DEVICE;
}

/* The image; the caller frees it. */
static enum assay_status compile(const struct source *source, const char *options, void **image,
                                 size_t *length, struct assay_error *err)
{
    const struct cuda_nvrtc_api *nvrtc;
    const char *words[MAX_OPTIONS], *headers[MAX_HEADERS], *header_names[MAX_HEADERS];
    char arch[16], arch_option[48], option_words[512];
    int n_headers = 0;
    enum assay_status status = assay_cuda_open_nvrtc(&nvrtc, NULL, err);
    if (status != ASSAY_OK)
        return status;
    for (int i = 0; i < assay_cuda_n_texts && n_headers < MAX_HEADERS; i++)
        if (is_header(assay_cuda_texts[i].name)) {
            headers[n_headers] = assay_cuda_texts[i].text;
            header_names[n_headers++] = assay_cuda_texts[i].name;
        }
    architecture(arch, sizeof arch);
    snprintf(arch_option, sizeof arch_option, "--gpu-architecture=%s", arch);
    snprintf(option_words, sizeof option_words, "%s", options);
    words[0] = arch_option;
    words[1] = "--std=c++17";
    int n_words = split_options(option_words, words, 2);
    for (int i = 0; source->folders && source->folders[i] && n_words < MAX_OPTIONS; i++)
        words[n_words++] = source->folders[i];
    nvrtc_program program = NULL;
    nvrtc_result result = nvrtc->nvrtcCreateProgram(&program, source->body, source->name, n_headers,
                                                    headers, header_names);
    if (result == 0)
        result = nvrtc->nvrtcCompileProgram(program, n_words, words);
    if (result == 0)
        result = nvrtc->nvrtcGetCUBINSize(program, length);
    if (result == 0) {
        *image = assay_calloc(1, *length + 1);
        result = *image ? nvrtc->nvrtcGetCUBIN(program, *image) : 1;
    }
    if (result != 0)
        status = compile_error(nvrtc, program, source->name, result, err);
    if (program)
        nvrtc->nvrtcDestroyProgram(&program);
    return status;
}

static enum assay_status load(const char *key, const struct source *source, const char *options,
                              cu_module *out, struct assay_error *err)
{
    const struct cuda_driver_api *api = assay_cuda_driver();
    void *image = source->keep ? cache_read(key) : NULL;
    if (image && api->cuModuleLoadData(out, image) == CU_SUCCESS) {
        assay_free(image);
        return ASSAY_OK;
    }
    assay_free(image);
    image = NULL;
    size_t length = 0;
    enum assay_status status = compile(source, options, &image, &length, err);
    if (status == ASSAY_OK)
        status = assay_cuda_check(api->cuModuleLoadData(out, image), "cuModuleLoadData", err);
    if (status == ASSAY_OK && source->keep)
        cache_write(key, image, length);
    assay_free(image);
    return status;
}

static enum assay_status program_of(const struct source *source, const char *options,
                                    cu_module *out, struct assay_error *err)
{
    char key[40];
    make_key(source, options, key, sizeof key);
    for (int64_t i = 0; i < n_programs; i++)
        if (strcmp(programs[i].key, key) == 0) {
            *out = programs[i].module;
            return ASSAY_OK;
        }
    struct program *grown = assay_realloc(programs, (size_t)n_programs + 1, sizeof *grown);
    if (!grown)
        return assay_error_nomem(err);
    programs = grown;
    struct program *p = &programs[n_programs];
    *p = (struct program){0};
    snprintf(p->key, sizeof p->key, "%s", key);
    enum assay_status status = load(key, source, options, &p->module, err);
    if (status != ASSAY_OK)
        return status;
    n_programs++;
    *out = p->module;
    return ASSAY_OK;
}

static enum assay_status function_of(const struct source *source, const char *options,
                                     const char *name, cu_function *out, struct assay_error *err)
{
    cu_module module = NULL;
    enum assay_status status = program_of(source, options, &module, err);
    if (status != ASSAY_OK)
        return status;
    return assay_cuda_check(assay_cuda_driver()->cuModuleGetFunction(out, module, name), name, err);
}

static enum assay_status need_gpu(struct assay_error *err)
{
    if (!assay_cuda_driver() || !assay_cuda_properties())
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "no GPU is open");
    return ASSAY_OK;
}

enum assay_status assay_cuda_function(const char *text, const char *options, const char *name,
                                      size_t shared_bytes, cu_function *out,
                                      struct assay_error *err)
{
    struct source source = {.name = text, .body = text_of(text), .keep = true};
    enum assay_status status = need_gpu(err);
    if (status == ASSAY_OK && !source.body)
        status = assay_error_set(err, ASSAY_ERR_INTERNAL, text, "no such text is in the program");
    if (status == ASSAY_OK)
        status = function_of(&source, options, name, out, err);
    if (status == ASSAY_OK && shared_bytes > 48 * 1024)
        status = assay_cuda_check(assay_cuda_driver()->cuFuncSetAttribute(
                                      *out, CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)shared_bytes),
                                  name, err);
    return status;
}

/* ---- files of the user's --------------------------------------------------------------------- */

enum { MOST_FOLDERS = 6, MOST_FILE = 16 << 20 };

static enum assay_status read_file(const char *path, struct assay_text *out,
                                   struct assay_error *err)
{
    char piece[4096];
    size_t n;
    FILE *file = fopen(path, "rb");
    if (!file)
        return assay_error_set(err, ASSAY_ERR_IO, path, "cannot be read: %s", strerror(errno));
    while ((n = fread(piece, 1, sizeof piece, file)) > 0 && out->length < MOST_FILE)
        assay_text_append(out, piece, n);
    bool failed = ferror(file) || out->failed || !out->data;
    fclose(file);
    return failed ? assay_error_set(err, ASSAY_ERR_IO, path, "cannot be read") : ASSAY_OK;
}

/* "--include-path=FOLDER" for the file's own folder and where a toolkit keeps its headers: named by
 * the environment, usual, or beside NVRTC's library. */
static void name_folders(const char *file, struct assay_text *texts, const char **out)
{
    const struct cuda_nvrtc_api *nvrtc;
    struct cuda_library_path found = {0};
    const char *slash = strrchr(file, '/'), *home = getenv("CUDA_HOME");
    int n = 0;
    assay_cuda_open_nvrtc(&nvrtc, &found, NULL);
    const char *library = strrchr(found.path, '/');
    int beside = library ? (int)(library - found.path) : 0;
    assay_text_format(&texts[n++], "--include-path=%.*s", slash ? (int)(slash - file) : 1,
                      slash ? file : ".");
    if (home && home[0])
        assay_text_format(&texts[n++], "--include-path=%s/include", home);
    assay_text_add(&texts[n++], "--include-path=/usr/local/cuda/include");
    if (beside) {
        assay_text_format(&texts[n++], "--include-path=%.*s/../include", beside, found.path);
        assay_text_format(&texts[n++], "--include-path=%.*s/../../cuda_runtime/include", beside,
                          found.path);
    }
    for (int i = 0; i < n; i++)
        out[i] = texts[i].failed ? NULL : texts[i].data;
}

enum assay_status assay_cuda_function_of_file(const char *file, const char *name, cu_function *out,
                                              struct assay_error *err)
{
    struct assay_text body = {0}, texts[MOST_FOLDERS] = {0};
    const char *folders[MOST_FOLDERS + 1] = {0};
    enum assay_status status = need_gpu(err);
    if (status == ASSAY_OK)
        status = read_file(file, &body, err);
    if (status == ASSAY_OK) {
        name_folders(file, texts, folders);
        struct source source = {.name = file,
                                .body = body.data,
                                .folders = folders,
                                .keep = !strstr(body.data, "#include \"")};
        status = function_of(&source, "", name, out, err);
    }
    for (int i = 0; i < MOST_FOLDERS; i++)
        assay_text_fini(&texts[i]);
    assay_text_fini(&body);
    return status;
}

void assay_cuda_programs_close(void)
{
    const struct cuda_driver_api *api = assay_cuda_driver();
    for (int64_t i = 0; i < n_programs; i++)
        api->cuModuleUnload(programs[i].module);
    assay_free(programs);
    programs = NULL;
    n_programs = 0;
}
