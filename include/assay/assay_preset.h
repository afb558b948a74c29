/* assay_preset.h: your own preset as a shared object, for `assay preset ./mine.so`.
 *
 *     cc -shared -fPIC -O2 mine.c -o mine.so
 *
 * It exports assay_preset_plugin(), which hands out cases: each has a name, parameters with their
 * defaults, functions and counters. C17 and C++17; no library is needed. Code can express what a
 * YAML preset cannot; but assay has no reference for it, so its outputs are not verified. */
#ifndef ASSAY_PRESET_H
#define ASSAY_PRESET_H

#include <assay/assay_kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_PRESET_ABI 1u
#define ASSAY_PRESET_MOST_PARAMETERS 8

struct assay_preset_value {
    const char *name; /* letters, digits and _: "seq_len" */
    int64_t value;    /* the default; 0: it may be 0, else it is at least 1 */
};

/* What a case is set up for. */
struct assay_preset_setting {
    uint32_t struct_size;
    enum assay_dtype dtype;
    const char *device;    /* "cpu", "cuda:0" */
    const int64_t *values; /* of the parameters, in their order */
};

struct assay_preset_entry {
    const char *name;
    struct assay_preset_value
        parameters[ASSAY_PRESET_MOST_PARAMETERS]; /* up to the first unnamed */
    /* Untimed: makes what run() needs. 0 when it worked. Optional, as teardown is. */
    int (*setup)(const struct assay_preset_setting *setting, void **state);
    /* The timed part: one whole call of it. 0 when it worked. On cuda it enqueues on the default
     * stream. */
    int (*run)(void *state);
    void (*teardown)(void *state);
    /* Optional: multiply-adds, and operations other than multiply-adds, of one call. */
    double (*macs)(const int64_t *values);
    double (*flops)(const int64_t *values);
};

struct assay_preset_plugin {
    uint32_t struct_size, abi; /* sizeof(struct assay_preset_plugin), ASSAY_PRESET_ABI */
    const char *name, *summary;
    const struct assay_preset_entry *entries;
    int32_t n_entries;
};

/* What the shared object exports. Everything it points at stays valid. */
const struct assay_preset_plugin *assay_preset_plugin(void);

#ifdef __cplusplus
}
#endif

#endif
