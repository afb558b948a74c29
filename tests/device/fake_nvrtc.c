/* fake_nvrtc.c: a stand-in for NVRTC that "compiles" any text to a struct fake_image.
 *   FAKE_NVRTC_COUNT=FILE  a line for each compilation: the text's name and its options
 *   FAKE_NVRTC_FAIL=TEXT   compiling that text ("eltwise.cu") fails
 *   FAKE_NVRTC_MINOR=N     the version is 13.N (default 0) */
#include "device/cuda/cuda_api.h"
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(result, name, arguments) result name arguments;
CUDA_NVRTC_REQUIRED(DECLARE)
#undef DECLARE

enum { ERROR_COMPILATION = 6 };

struct _nvrtcProgram {
    struct fake_image image;
    char log[128];
};

nvrtc_result nvrtcVersion(int *major, int *minor)
{
    const char *text = getenv("FAKE_NVRTC_MINOR");
    *major = 13;
    *minor = text ? atoi(text) : 0;
    return 0;
}

const char *nvrtcGetErrorString(nvrtc_result result)
{
    return result == 0 ? "NVRTC_SUCCESS" : "NVRTC_ERROR_FAKE";
}

nvrtc_result nvrtcCreateProgram(nvrtc_program *program, const char *text, const char *name,
                                int n_headers, const char *const *headers,
                                const char *const *header_names)
{
    (void)headers, (void)header_names;
    struct _nvrtcProgram *p = calloc(1, sizeof *p);
    if (!p || !text || n_headers < 1)
        return 1;
    snprintf(p->image.magic, sizeof p->image.magic, "%s", FAKE_IMAGE_MAGIC);
    snprintf(p->image.text, sizeof p->image.text, "%s", name);
    *program = p;
    return 0;
}

nvrtc_result nvrtcDestroyProgram(nvrtc_program *program)
{
    free(*program);
    *program = NULL;
    return 0;
}

static void count(const struct fake_image *image)
{
    const char *name = getenv("FAKE_NVRTC_COUNT");
    FILE *file = name ? fopen(name, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%s%s\n", image->text, image->options);
    fclose(file);
}

nvrtc_result nvrtcCompileProgram(nvrtc_program program, int n_options, const char *const *options)
{
    struct fake_image *image = &program->image;
    const char *wrong = getenv("FAKE_NVRTC_FAIL");
    for (int i = 0; i < n_options; i++) {
        size_t used = strlen(image->options);
        snprintf(image->options + used, sizeof image->options - used, " %s", options[i]);
    }
    count(image);
    if (!wrong || strcmp(wrong, image->text) != 0)
        return 0;
    snprintf(program->log, sizeof program->log, "%s(7): error: made to fail", image->text);
    return ERROR_COMPILATION;
}

nvrtc_result nvrtcGetProgramLogSize(nvrtc_program program, size_t *bytes)
{
    *bytes = strlen(program->log) + 1;
    return 0;
}

nvrtc_result nvrtcGetProgramLog(nvrtc_program program, char *text)
{
    memcpy(text, program->log, strlen(program->log) + 1);
    return 0;
}

nvrtc_result nvrtcGetCUBINSize(nvrtc_program program, size_t *bytes)
{
    *bytes = sizeof program->image;
    return 0;
}

nvrtc_result nvrtcGetCUBIN(nvrtc_program program, char *cubin)
{
    memcpy(cubin, &program->image, sizeof program->image);
    return 0;
}
