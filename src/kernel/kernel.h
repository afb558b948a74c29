/* kernel.h: the registry of kernels and how one is chosen.
 *
 * To add a kernel: a file NAME.c in the folder of its implementation that defines `const struct
 * assay_kernel assay_kernel_NAME`, and the line ASSAY_KERNEL(NAME) in kernel_list.h. Files named
 * *_avx2.c, *_avx512.c are compiled with those instruction sets; OP_vec.c is compiled for each and
 * is the line ASSAY_VECTOR_KERNEL(OP); everything else is portable. */
#ifndef ASSAY_KERNEL_KERNEL_H
#define ASSAY_KERNEL_KERNEL_H

#include "tensor/tensor.h"
#include <assay/assay_kernel.h>

/* Built-in kernels first, then plug-ins' in the order they were added. */
typedef struct assay_kernel_registry assay_kernel_registry;

assay_kernel_registry *assay_kernel_registry_create(void);
void assay_kernel_registry_destroy(assay_kernel_registry *registry);
int64_t assay_kernel_count(const assay_kernel_registry *registry);
const struct assay_kernel *assay_kernel_at(const assay_kernel_registry *registry, int64_t index);
const struct assay_kernel *assay_kernel_find(const assay_kernel_registry *registry,
                                             const char *name);

/* Is it one of assay's own, and not a user's? */
bool assay_kernel_is_builtin(const struct assay_kernel *kernel);

/* A kernel that runs in another process, and is known here by its description: its functions are
 * these, which nobody calls. Whether it can run is asked through the problem's host. */
enum assay_status assay_kernel_run_elsewhere(void *state, const struct assay_work *work);
enum assay_status assay_kernel_activations_elsewhere(void *state, const struct assay_work *work);
bool assay_kernel_is_elsewhere(const struct assay_kernel *kernel);

/* Opens a shared object, by a path or by a bare name in this folder. NULL with the reason. */
void *assay_kernel_open_object(const char *path, struct assay_error *err);

/* Opens a shared object and adds its kernels, after checking ABI, sizes and names. It stays open
 * until the process ends: its kernels may have left threads behind. */
enum assay_status assay_kernel_add_plugin(assay_kernel_registry *registry, const char *path,
                                          struct assay_error *err);

/* Adds one kernel, whatever its op, after the same checks; `path` says in errors where it is from.
 */
enum assay_status assay_kernel_add(assay_kernel_registry *registry,
                                   const struct assay_kernel *kernel, const char *path,
                                   struct assay_error *err);

/* Is the kernel's op one of those assay knows, by its own name? */
enum assay_status assay_kernel_check_op(const struct assay_kernel *kernel, const char *path,
                                        struct assay_error *err);

/* Does this kernel take this problem here? Checks device, op and dtype, then asks can_run. With
 * problem == NULL, whether it can run on this machine at all. */
enum assay_status assay_kernel_can_run(const struct assay_kernel *kernel,
                                       const struct assay_problem *problem,
                                       struct assay_error *why);

/* The user's choice: NULL or empty lists mean everything. */
struct assay_kernel_choice {
    const char *device;                 /* "cpu" */
    const char *const *implementations; /* of each, the best kernel that can run */
    int64_t n_implementations;
    const char *const *kernels; /* exactly these; "all" for every kernel of the op */
    int64_t n_kernels;
    const char *baseline; /* an implementation, for the checks below; NULL or empty: none. Chosen by
                           * only where it is ref, which is else left out where it is slow */
    /* Kernels to leave out ("linear_onednn", or with a recipe "linear_onednn/baseline"): their
     * implementation is then represented by its next one. */
    const char *const *excluded;
    int64_t n_excluded;
    bool here; /* only those that run in this process, as the steps of a model do */
};

/* One variant: the kernel, and why it cannot run where status is not ASSAY_OK. */
struct assay_contender {
    const struct assay_kernel *kernel;
    const char *recipe; /* of the problem it was chosen for; NULL where the op has none */
    enum assay_status status;
    struct assay_error why;
};

/* How a variant is named in a list of excluded ones. */
void assay_kernel_label(const char *kernel, const char *recipe, char *text, size_t size);

/* Products of more operations than this are not given to `ref` unless it is named:
 * with a recipe it encodes the weights anew in each call, and would take up to seconds. */
#define ASSAY_REF_MOST_FLOPS 5e6

/* The variants of a problem, in registry order. An implementation none of whose kernels can run
 * is represented by its most preferred one, with the reason. Writes up to `max`; returns the count.
 */
int64_t assay_kernel_choose(const assay_kernel_registry *registry,
                            const struct assay_problem *problem,
                            const struct assay_kernel_choice *choice, struct assay_contender *out,
                            int64_t max);

/* Are these names of implementations and kernels known? The error names the nearest. */
enum assay_status assay_kernel_check_choice(const assay_kernel_registry *registry,
                                            const struct assay_kernel_choice *choice,
                                            struct assay_error *err);

/* Does the baseline take part in this op with this choice? The error names those that do. */
enum assay_status assay_kernel_check_baseline(const assay_kernel_registry *registry, const char *op,
                                              const struct assay_kernel_choice *choice,
                                              struct assay_error *err);

#endif
