/* strangers.h: the shared objects that are not assay's, as the judge knows them. It opens none of
 * them: for each there is a clerk, a runner that says what the object holds, answers whether a
 * kernel can run, and calls its author's functions. What is measured runs elsewhere, in a runner
 * for each variant. */
#ifndef ASSAY_RUNNER_STRANGERS_H
#define ASSAY_RUNNER_STRANGERS_H

#include "runner/runner.h"
#include "workload/contents.h"

typedef struct assay_strangers assay_strangers;

/* Makes `host` ask them. They end before its registry does. */
assay_strangers *assay_strangers_create(struct assay_host *host, assay_workloads *workloads);
void assay_strangers_destroy(assay_strangers *strangers);

/* For everything from now on. `device` is what workloads compute on. `options->python` is whom the
 * user asked for, if anybody: the interpreter of objects that are Python's. */
void assay_strangers_use(assay_strangers *strangers, const struct assay_runner_options *options,
                         const char *device, int32_t threads);

/* Adds the kernels and workloads of an object, once. One that cannot be used is an error; one whose
 * process does not live to tell what it holds becomes a broken one, below. */
enum assay_status assay_strangers_add(assay_strangers *strangers, const char *path,
                                      struct assay_error *err);

/* An object that could not be opened: its file's name, and how its process ended. */
struct assay_stranger_broken {
    const char *name, *reason;
    enum assay_runner_end end;
};
int64_t assay_strangers_n_broken(const assay_strangers *strangers);
struct assay_stranger_broken assay_strangers_broken(const assay_strangers *strangers,
                                                    int64_t index);

/* The object's path; NULL: it is none of theirs. */
const char *assay_strangers_path(const assay_strangers *strangers,
                                 const struct assay_kernel *kernel);
/* How the clerk ended that was asked last about this kernel, if it did. */
enum assay_runner_end assay_strangers_end_of(const assay_strangers *strangers,
                                             const struct assay_kernel *kernel);

/* The kernel's own line about itself; left alone where there is none. */
enum assay_status assay_strangers_note(assay_strangers *strangers,
                                       const struct assay_kernel *kernel,
                                       const struct assay_problem *problem, char *text, size_t size,
                                       struct assay_error *err);

/* Whether an author's function failed since the last call: ASSAY_OK, or why. */
enum assay_status assay_strangers_failure(assay_strangers *strangers, struct assay_error *err);
/* How the clerk ended that was asked last, if it did. */
enum assay_runner_end assay_strangers_last_end(const assay_strangers *strangers);
/* Are all inputs of this workload the same whatever the seed is? */
bool assay_strangers_ignore_seed(const assay_strangers *strangers,
                                 const struct assay_problem *problem);

/* A runner for a variant of the object at `path`: one that is left from another variant, which has
 * the object open (*opened), or a new process. */
enum assay_status assay_strangers_hire(assay_strangers *strangers, const char *path,
                                       struct assay_runner_options *options, assay_runner **out,
                                       bool *opened, struct assay_error *err);
/* The variant is done and torn down: kept for another, or ended. */
void assay_strangers_dismiss(assay_strangers *strangers, const char *path, assay_runner *runner);

/* Ends everything that strangers left behind, but for the clerks and these runners. */
void assay_strangers_sweep(const assay_strangers *strangers, assay_runner *const *runners,
                           int64_t n);

/* What an object holds, for commands that measure nothing of it now; recipes included. `python` as
 * in assay_python_find. Errors: it
 * cannot be opened, was built for another version, holds nothing, crashes or hangs. */
enum assay_status assay_contents_read(const char *path, const char *python, bool sandbox,
                                      struct assay_contents *out, struct assay_error *err);

#endif
