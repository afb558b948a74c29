/* compile_texts.c: compiles CUDA texts with NVRTC, as assay does, for tests/device/compile_cu.sh.
 * No GPU is needed. Two such processes take half as long as one of nvcc for each text.
 *
 * usage: compile_texts <SETS
 *
 * A line of SETS is the name of a text and its options, separated by spaces. Prints what NVRTC says
 * of a text after its line, and "failed: LINE" where it does not compile.
 *
 * exit: 0 all compiled; 1 one did not; 77 there is no NVRTC */
#include "device/cuda/cuda.h"
#include "device/cuda/cuda_library.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXTS = 256, MOST_WORDS = 256, MOST_LINE = 8192 };

static const char *headers[MOST_TEXTS], *header_names[MOST_TEXTS];
static int n_headers;

static const char *find_text(const char *name)
{
    for (int i = 0; i < assay_cuda_n_texts; i++)
        if (strcmp(assay_cuda_texts[i].name, name) == 0)
            return assay_cuda_texts[i].text;
    return NULL;
}

static void gather_headers(void)
{
    for (int i = 0; i < assay_cuda_n_texts && n_headers < MOST_TEXTS; i++)
        if (strstr(assay_cuda_texts[i].name, ".cuh")) {
            headers[n_headers] = assay_cuda_texts[i].text;
            header_names[n_headers++] = assay_cuda_texts[i].name;
        }
}

static void print_log(const struct cuda_nvrtc_api *nvrtc, nvrtc_program program, const char *line)
{
    size_t size = 0;
    if (nvrtc->nvrtcGetProgramLogSize(program, &size) != 0 || size <= 1)
        return;
    char *log = malloc(size);
    if (log && nvrtc->nvrtcGetProgramLog(program, log) == 0)
        printf("== %s\n%s\n", line, log);
    free(log);
}

static bool compile(const struct cuda_nvrtc_api *nvrtc, const char *line)
{
    char text[MOST_LINE], *rest = NULL;
    const char *words[MOST_WORDS];
    int n = 0;
    snprintf(text, sizeof text, "%s", line);
    const char *name = strtok_r(text, " ", &rest);
    for (char *word; n < MOST_WORDS && (word = strtok_r(NULL, " ", &rest));)
        words[n++] = word;
    const char *body = name ? find_text(name) : NULL;
    nvrtc_program program = NULL;
    if (!body ||
        nvrtc->nvrtcCreateProgram(&program, body, name, n_headers, headers, header_names) != 0)
        return false;
    bool compiled = nvrtc->nvrtcCompileProgram(program, n, words) == 0;
    print_log(nvrtc, program, line);
    nvrtc->nvrtcDestroyProgram(&program);
    return compiled;
}

int main(void)
{
    const struct cuda_nvrtc_api *nvrtc = NULL;
    char line[MOST_LINE];
    int failed = 0;
    if (assay_cuda_open_nvrtc(&nvrtc, NULL, NULL) != ASSAY_OK)
        return 77;
    gather_headers();
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (!compile(nvrtc, line)) {
            printf("failed: %s\n", line);
            failed = 1;
        }
    }
    return failed;
}
