/* fake_emulate.h: kernels that compute, on the host: fake_cuda.c has g++ compile emulated_kernel.cc
 * with a text, and calls it.
 *   FAKE_CUDA_EMULATE=FOLDER  holds emulated_kernel.cc and texts, which tests/device/emulate.sh
 *                             copies there; what is compiled is kept there, too. A text that is
 *                             not there is not emulated. */
#ifndef ASSAY_TESTS_DEVICE_FAKE_EMULATE_H
#define ASSAY_TESTS_DEVICE_FAKE_EMULATE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PACKED_BYTES = 512 };

struct emulated {
    void (*pack)(void **parameters, void *to);
    void (*run)(void *packed, const unsigned *grid, unsigned block, unsigned shared);
};

struct emulated_launch {
    _Alignas(16) unsigned char packed[PACKED_BYTES];
    unsigned grid[3], block, shared;
};

/* The -D among the options, quoted for no shell: they are names and numbers. */
static inline void emulate_options(const char *options, char *out, size_t size)
{
    size_t used = 0;
    for (const char *at = options; *at && used < size;) {
        size_t length = strcspn(at, " ");
        if (length > 2 && strncmp(at, "-D", 2) == 0)
            used += (size_t)snprintf(out + used, size - used, " %.*s", (int)length, at);
        at += length + strspn(at + length, " ");
    }
}

static inline void *emulate_open(const char *folder, const char *text, const char *defines,
                                 const char *name)
{
    char file[1024], command[4096];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = defines; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    snprintf(file, sizeof file, "%s/%s.%s.%016llx.so", folder, text, name,
             (unsigned long long)hash);
    if (access(file, R_OK) != 0) {
        int length = snprintf(command, sizeof command,
                              "${CXX:-g++} -std=c++17 -O1 -w -fno-strict-aliasing -shared -fPIC%s "
                              "-DEMULATED_TEXT='\"%s\"' -DEMULATED_KERNEL=%s -I'%s' -o '%s.%d' "
                              "'%s/emulated_kernel.cc' >&2 && mv '%s.%d' '%s'",
                              defines, text, name, folder, file, (int)getpid(), folder, file,
                              (int)getpid(), file);
        if (length < 0 || (size_t)length >= sizeof command || system(command) != 0)
            return NULL;
    }
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

/* Leaves *out empty where nothing is emulated; false: the text does not compile. */
static inline bool emulate_load(const char *text, const char *options, const char *name,
                                struct emulated *out)
{
    const char *folder = getenv("FAKE_CUDA_EMULATE");
    char defines[1024] = "", path[1024];
    if (folder)
        snprintf(path, sizeof path, "%s/%s", folder, text);
    if (!folder || access(path, R_OK) != 0)
        return true;
    emulate_options(options, defines, sizeof defines);
    void *library = emulate_open(folder, text, defines, name);
    if (!library)
        return false;
    *(void **)(void *)&out->pack = dlsym(library, "emulated_pack");
    *(void **)(void *)&out->run = dlsym(library, "emulated_run");
    return out->pack && out->run;
}

static inline void emulate_pack(const struct emulated *e, void **parameters, const unsigned *grid,
                                unsigned block, unsigned shared, struct emulated_launch *out)
{
    if (!e->run)
        return;
    e->pack(parameters, out->packed);
    memcpy(out->grid, grid, sizeof out->grid);
    out->block = block;
    out->shared = shared;
}

static inline void emulate_run(const struct emulated *e, const struct emulated_launch *launch)
{
    struct emulated_launch copy = *launch; /* the kernel may change its parameters */
    e->run(copy.packed, copy.grid, copy.block, copy.shared);
}

#endif
