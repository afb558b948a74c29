/* runner_memory.c: memory of a GPU that a runner has and the judge reaches: what the judge writes
 * is what a kernel there reads, and the other way round, from 1 KB to 1 GB, in a sandbox too. This
 * program is its own runner.
 * usage: runner_memory DEVICE gpu.so     the plug-in tests/kernels/gpu.c, built */
#include "base/clock.h"
#include "runner/remote_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fails(const char *what, enum assay_status status, const struct assay_error *err)
{
    if (status != ASSAY_OK)
        printf("WRONG: %s: %s %s\n", what, err->where, err->message);
    return status != ASSAY_OK;
}

static enum assay_status set_up(assay_runner *runner, int64_t n, struct assay_error *err)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_SETUP, .kernel = "gpu_copies"};
    struct assay_runner_reply reply;
    struct assay_tensor tensor = {.dtype = ASSAY_DTYPE_F32, .rank = 1, .dims = {n}};
    snprintf(c.problem.op, sizeof c.problem.op, "relu");
    c.problem.has_problem = true;
    c.problem.problem.n_inputs = c.problem.problem.n_outputs = 1;
    c.problem.problem.inputs[0] = c.problem.problem.outputs[0] = tensor;
    return assay_runner_ask(runner, &c, &reply, err);
}

/* Every byte differs from its neighbours and from those of other sizes. */
static void fill(unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)((i * 2654435761u + n) >> 13);
}

/* Input and output side by side in one block of `bytes`; a copy of the one by the runner. */
static bool copy_there(assay_runner *runner, assay_device *there, size_t bytes, unsigned char *sent,
                       unsigned char *got)
{
    struct assay_error err = {0};
    struct assay_timing timing = {0};
    struct assay_kernel kernel = {.name = "gpu_copies"};
    size_t half = bytes / 2;
    void *memory = NULL;
    int64_t start = assay_clock_ns();
    if (fails("reserve", assay_device_alloc(there, bytes, &memory, &err), &err))
        return false;
    double ms = (double)(assay_clock_ns() - start) * 1e-6;
    const void *in[] = {memory};
    void *out[] = {(char *)memory + half};
    struct assay_args args = {in, out};
    struct assay_work work = {.iters = 2, .n_sets = 1, .sets = &args};
    fill(sent, half);
    memset(got, 0, half);
    if (fails("setup", set_up(runner, (int64_t)(half / 4), &err), &err) ||
        fails("bind", assay_remote_device_bind(there, &args, 1, 1, 1, &err), &err) ||
        fails("upload", there->driver->upload(there, out[0], got, half, &err), &err) ||
        fails("upload", there->driver->upload(there, memory, sent, half, &err), &err))
        return false;
    enum assay_status status = there->driver->time(there, &kernel, NULL, &work, &timing);
    assay_error_set(&err, ASSAY_ERR_FAILED, NULL, "%s", assay_runner_reason(runner));
    if (fails("run", status, &err) ||
        fails("download", there->driver->download(there, got, out[0], half, &err), &err))
        return false;
    bool same = memcmp(sent, got, half) == 0;
    printf("%10zu bytes: %s, reserved and opened in %.1f ms, copied in %.1f us\n", bytes,
           same ? "ok" : "WRONG", ms, timing.device_ns / 2 * 1e-3);
    return same;
}

/* A runner for each: it has room for few blocks, and so has a small GPU. */
static bool try_size(assay_device *here, const char *device, const char *plugin, size_t bytes,
                     bool sandbox)
{
    struct assay_runner_options options = {.timeout_s = 60, .sandbox = sandbox};
    struct assay_error err = {0};
    enum assay_runner_end end;
    assay_runner *runner = NULL;
    assay_device *there = NULL;
    unsigned char *sent = malloc(bytes), *got = malloc(bytes);
    int64_t start = assay_clock_ns();
    bool ok =
        sent && got &&
        !fails("start", assay_runner_start(&options, plugin, device, 1, &runner, &end, &err), &err);
    if (ok)
        printf("runner in %.0f ms (%s): ", (double)(assay_clock_ns() - start) * 1e-6,
               assay_runner_confined(runner));
    ok = ok && assay_remote_device_create(runner, here, &there, &err) == ASSAY_OK &&
         copy_there(runner, there, bytes, sent, got);
    assay_remote_device_destroy(there);
    assay_runner_stop(runner);
    free(sent);
    free(got);
    fflush(stdout);
    return ok;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1 << 10, 12 << 10,      100 << 10, 1 << 20,
                                   2 << 20, (2 << 20) + 8, 48 << 20,  (size_t)1 << 30};
    const struct assay_device_driver *driver;
    int32_t index;
    assay_device *here = NULL;
    struct assay_error err = {0};
    if (argc == 2 && strcmp(argv[1], ASSAY_RUNNER_COMMAND) == 0)
        return assay_runner_main();
    if (argc != 3) {
        fputs("usage: runner_memory DEVICE PLUGIN\n", stderr);
        return 2;
    }
    if (fails("device", assay_device_parse(argv[1], &driver, &index, &err), &err) ||
        fails("device", assay_device_open(driver, index, 1, &here, &err), &err))
        return 1;
    bool ok = true;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        ok = try_size(here, argv[1], argv[2], sizes[i], false) && ok;
    ok = try_size(here, argv[1], argv[2], 3 << 20, true) && ok;
    assay_device_close(here);
    return ok ? 0 : 1;
}
