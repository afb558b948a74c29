#include "workload/contents.h"

#include "base/clock.h"
#include "quant/quant.h"
#include "workload/workload.h"
#include "op/op.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Opening a file takes milliseconds; one that needs longer does not come back. */
static const double PATIENCE_S = 20;

/* What child and parent share. */
struct page {
    struct assay_contents contents;
    struct assay_error error;
    enum assay_status status;
};

static enum assay_status too_many(const char *path, const char *what, int most,
                                  struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_INVALID, path, "has more than %d %s", most, what);
}

/* ---- in the child ---- */

static enum assay_status note_workloads(const assay_workloads *workloads, const char *path,
                                        struct assay_contents *c, struct assay_error *err)
{
    for (int64_t i = 0; i < assay_workload_count(workloads); i++) {
        struct assay_workload_info info = assay_workload_at(workloads, i);
        if (c->n_workloads == ASSAY_CONTENTS_WORKLOADS)
            return too_many(path, "workloads", ASSAY_CONTENTS_WORKLOADS, err);
        struct assay_workload_found *to = &c->workloads[c->n_workloads++];
        snprintf(to->op, sizeof to->op, "%s", info.op);
        snprintf(to->benchmark, sizeof to->benchmark, "%s", info.benchmark);
        snprintf(to->name, sizeof to->name, "%s", info.workload);
        snprintf(to->device, sizeof to->device, "%s", info.device);
        to->verified = info.verified;
    }
    return ASSAY_OK;
}

static enum assay_dtype first_dtype(uint64_t dtypes)
{
    int dtype = ASSAY_DTYPE_NONE;
    while (dtype < ASSAY_DTYPE_COUNT && !(dtypes >> dtype & 1))
        dtype++;
    return (enum assay_dtype)dtype;
}

/* Which recipes does it take? Asked with sizes every recipe can store. */
static void note_recipes(const struct assay_kernel *kernel, struct assay_kernel_found *to)
{
    const struct assay_op *op = assay_op_find(kernel->op);
    const int64_t axes[ASSAY_MAX_AXES] = {16, 1024, 1024};
    struct assay_problem problem;
    if (!op->takes_recipes || assay_op_problem(op, first_dtype(kernel->dtypes), NULL, axes, 1,
                                               &problem, NULL) != ASSAY_OK)
        return;
    for (int64_t i = 0; i < assay_quant_count() && to->n_recipes < ASSAY_CONTENTS_RECIPES; i++) {
        problem.recipe = assay_quant_at(i)->usual;
        if (assay_kernel_can_run(kernel, &problem, NULL) == ASSAY_OK)
            snprintf(to->recipes[to->n_recipes++], sizeof to->recipes[0], "%s", problem.recipe);
    }
}

static enum assay_status note_kernels(const assay_kernel_registry *registry, int64_t first,
                                      const char *path, struct assay_contents *c,
                                      struct assay_error *err)
{
    for (int64_t i = first; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (assay_workload_is(kernel->op))
            continue;
        if (c->n_kernels == ASSAY_CONTENTS_KERNELS)
            return too_many(path, "kernels", ASSAY_CONTENTS_KERNELS, err);
        struct assay_kernel_found *to = &c->kernels[c->n_kernels++];
        snprintf(to->name, sizeof to->name, "%s", kernel->name);
        snprintf(to->op, sizeof to->op, "%s", kernel->op);
        snprintf(to->implementation, sizeof to->implementation, "%s", kernel->implementation);
        snprintf(to->device, sizeof to->device, "%.7s", kernel->device);
        to->dtypes = kernel->dtypes;
        note_recipes(kernel, to);
    }
    return ASSAY_OK;
}

static enum assay_status look(const char *path, struct assay_contents *c, struct assay_error *err)
{
    bool has_kernels = false;
    assay_kernel_registry *registry = assay_kernel_registry_create();
    assay_workloads *workloads = assay_workloads_create();
    if (!registry || !workloads)
        return assay_error_nomem(err);
    int64_t first = assay_kernel_count(registry);
    enum assay_status status = assay_workload_add(workloads, registry, path, &has_kernels, err);
    if (status == ASSAY_OK && !assay_workload_count(workloads) && !has_kernels)
        status = assay_error_set(err, ASSAY_ERR_INVALID, path,
                                 "defines no benchmark (ASSAY_BENCHMARK) and no kernel "
                                 "(ASSAY_KERNELS); see assay_kernel.h");
    if (status == ASSAY_OK && has_kernels)
        status = assay_kernel_add_plugin(registry, path, err);
    if (status == ASSAY_OK)
        status = note_workloads(workloads, path, c, err);
    return status == ASSAY_OK ? note_kernels(registry, first, path, c, err) : status;
}

/* ---- in the parent ---- */

/* False where it had to be ended. */
static bool await(pid_t child, int *how)
{
    int64_t end = assay_clock_ns() + (int64_t)(PATIENCE_S * 1e9);
    struct timespec nap = {.tv_nsec = 200000};
    for (;;) {
        pid_t ended = waitpid(child, how, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return true;
        if (assay_clock_ns() > end)
            break;
        nanosleep(&nap, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, how, 0);
    return false;
}

static enum assay_status tell(const char *path, const struct page *page, bool came_back, int how,
                              struct assay_error *err)
{
    if (!came_back)
        return assay_error_set(err, ASSAY_ERR_FAILED, path, "hangs while it is opened (%g s)",
                               PATIENCE_S);
    if (WIFSIGNALED(how))
        return assay_error_set(err, ASSAY_ERR_FAILED, path, "crashes while it is opened: SIG%s",
                               sigabbrev_np(WTERMSIG(how)) ? sigabbrev_np(WTERMSIG(how)) : "?");
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
        return assay_error_set(err, ASSAY_ERR_FAILED, path,
                               "ends the process while it is opened (exit code %d)",
                               WEXITSTATUS(how));
    if (page->status != ASSAY_OK)
        return assay_error_set(err, page->status, page->error.where[0] ? page->error.where : path,
                               "%s", page->error.message);
    return ASSAY_OK;
}

enum assay_status assay_contents_read(const char *path, struct assay_contents *out,
                                      struct assay_error *err)
{
    int how = 0;
    struct page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return assay_error_nomem(err);
    page->status = ASSAY_ERR_FAILED;
    snprintf(page->error.message, sizeof page->error.message, "ended before it was read");
    pid_t child = fork();
    if (child == 0) {
        page->error = (struct assay_error){0};
        page->status = look(path, &page->contents, &page->error);
        _exit(0);
    }
    if (child < 0) {
        munmap(page, sizeof *page);
        return assay_error_set(err, ASSAY_ERR_IO, path, "no process to open it in: %s",
                               strerror(errno));
    }
    bool came_back = await(child, &how);
    enum assay_status status = tell(path, page, came_back, how, err);
    *out = page->contents;
    munmap(page, sizeof *page);
    return status;
}
