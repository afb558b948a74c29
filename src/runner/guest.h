/* guest.h: kernels in another language than C. A runner that is that language's interpreter serves
 * the same line as any other (assay_runner_serve) and brings these functions, which are called
 * instead of a kernel's own; `run` and `teardown` are the kernel's, as always.
 *
 * The results of such kernels are objects of their own. `ready` and `finish` make operands the
 * language's tensors, and put results where operands lie; they are commands of their own, so that a
 * run is the calls alone. */
#ifndef ASSAY_RUNNER_GUEST_H
#define ASSAY_RUNNER_GUEST_H

#include "kernel/host.h"
#include "workload/workload.h"

/* The operands that were bound: a row of pointers for each set, inputs before outputs. */
struct assay_guest_sets {
    void *const *pointers;
    int64_t n_sets;
};

struct assay_guest {
    void *user;
    const char *const *readable; /* files and folders that the interpreter needs; NULL-terminated */
    /* Adds what the object at `path` holds. */
    enum assay_status (*load)(void *user, const struct assay_host *host, const char *path,
                              assay_workloads *workloads, assay_kernel_registry *registry,
                              struct assay_error *err);
    enum assay_status (*can_run)(void *user, const struct assay_kernel *kernel,
                                 const struct assay_problem *problem, struct assay_error *why);
    void (*note)(void *user, const struct assay_kernel *kernel, const struct assay_problem *problem,
                 char *text, size_t size);
    enum assay_status (*setup)(void *user, const struct assay_kernel *kernel,
                               const struct assay_problem *problem, void **state,
                               struct assay_error *err);
    /* Before a run and what it is primed with: the operands as the language's own tensors. */
    enum assay_status (*ready)(void *user, void *state, const struct assay_guest_sets *sets,
                               const struct assay_work *work, struct assay_error *err);
    /* Do its calls change their inputs? READY puts them back for as many calls as it is told of.
     * NULL: no kernel's do. */
    bool (*changes_inputs)(void *user, void *state);
    /* After it, where it succeeded: its results where the operands are. */
    enum assay_status (*finish)(void *user, void *state, const struct assay_work *work,
                                struct assay_error *err);
    /* Of launches on a GPU; NULL: nobody is told of captures. Valid as long as the guest. */
    const struct assay_capturer *capturer;
    /* Why the last run failed. */
    const char *(*failure)(void *user);
    /* Around each wait for a command: other threads of the interpreter may run. */
    void (*rest)(void *user);
    void (*wake)(void *user);
};

/* The whole life of a runner: takes a command, does it, and answers, until the line is closed.
 * NULL: its kernels are all C. The program's exit code. */
int assay_runner_serve(const struct assay_guest *guest);

#endif
