/* cpu.c: the CPU as a device: pinned threads, memory on huge pages, the monotonic clock. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/folder.h"
#include "base/sanitizer.h"
#include "device/cpu/cpu_calibrate.h"
#include "device/cpu/cpu_counters.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_info.h"
#include "device/cpu/cpu_loops.h"
#include "device/cpu/cpu_probe.h"
#include "device/cpu/cpu_resident.h"
#include "device/device.h"
#include "device/wash.h"

#include <errno.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

extern const struct assay_device_driver assay_device_cpu;

enum { HUGE_PAGE = 2 * 1024 * 1024 };

static enum assay_status probe(struct assay_error *why)
{
    (void)why;
    return ASSAY_OK;
}

/* Is this the first of the hardware threads that share a core? True where the system does not say.
 */
static bool first_of_its_core(int cpu)
{
    char path[96], line[64];
    long first = cpu;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    if (assay_folder_peek(path, line, sizeof line) == 0)
        first = strtol(line, NULL, 10); /* "0-1" or "0,64": the first number */
    return first == cpu;
}

/* The CPUs threads are put on, in this order: a core each, and only then a core's other threads. */
static int32_t seats(int *cpus, int32_t most)
{
    cpu_set_t allowed;
    int32_t n = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 0;
    for (int pass = 0; pass < 2; pass++)
        for (int cpu = 0; cpu < CPU_SETSIZE && n < most; cpu++)
            if (CPU_ISSET(cpu, &allowed) && first_of_its_core(cpu) == (pass == 0))
                cpus[n++] = cpu;
    return n;
}

/* Pins each OpenMP thread to its own CPU, out of those this process may use. Migrating threads cost
 * more than anything this program is meant to measure. */
static void pin_threads(struct cpu_device *device)
{
    int cpus[CPU_SETSIZE];
    int32_t threads = device->base.threads;
    bool enough = seats(cpus, CPU_SETSIZE) >= threads;
    for (int32_t i = 0; i < ASSAY_CPU_MAX_WATCHED; i++)
        device->cores[i] = enough && i < threads ? cpus[i] : -1;
    if (!enough)
        return;
#pragma omp parallel num_threads(threads)
    {
        cpu_set_t own;
        CPU_ZERO(&own);
        CPU_SET(cpus[omp_get_thread_num()], &own);
        sched_setaffinity(0, sizeof own, &own);
    }
}

static enum assay_status open_cpu(int32_t index, int32_t threads, assay_device **out,
                                  struct assay_error *err)
{
    if (index != 0)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "there is only one cpu: write \"cpu\"");
    int problem = assay_cpu_info()->problem;
    if (problem)
        return assay_error_set(err, problem == ENOMEM ? ASSAY_ERR_NOMEM : ASSAY_ERR_IO, "cpu",
                               "cannot look at this machine's caches: %s", strerror(problem));
    int32_t cores = assay_cpu_info()->cores; /* read before pinning, which narrows it */
    struct cpu_device *device = assay_calloc(1, sizeof *device);
    if (!device)
        return assay_error_set(err, ASSAY_ERR_NOMEM, "cpu", "out of memory");
    device->base.driver = &assay_device_cpu;
    device->base.threads = threads < 1 ? cores : threads;
    omp_set_dynamic(0); /* always the requested number of threads */
    omp_set_num_threads(device->base.threads);
    pin_threads(device);
    assay_cpu_watch(device);
    *out = &device->base;
    return ASSAY_OK;
}

static void close_cpu(assay_device *device)
{
    assay_cpu_unwatch((struct cpu_device *)device);
    assay_cpu_release_blocks((struct cpu_device *)device);
    assay_free(device);
}

static void describe(assay_device *device, struct assay_device_info *out)
{
    const struct assay_cpu_info *cpu = assay_cpu_info();
    *out = (struct assay_device_info){
        .memory_bytes = cpu->memory_bytes,
        .memory_available = assay_cpu_memory_available(),
        .llc_bytes = assay_cpu_llc_bytes(device->threads),
        .own_cache_bytes = cpu->l2_bytes,
        .cores = cpu->cores,
    };
    snprintf(out->name, sizeof out->name, "%s", cpu->model[0] ? cpu->model : "cpu");
}

/* Where blocks go, in every process that has a device: which addresses two tensors have decides
 * whether their lines get into each other's way in the caches, and equal kernels in two processes
 * differed by up to a factor of two. Sanitizers have their own idea of the address space. */
static const uintptr_t FIRST_BLOCK = 0x200000000000, BLOCK_STEP = 0x2000000000;
enum { BLOCKS = 64 };

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* At the first of the places that is free. */
static char *map_at_a_place(size_t size)
{
    for (uintptr_t i = 0; i < BLOCKS && !ASSAY_UNDER_SANITIZER && size <= BLOCK_STEP; i++) {
        void *wanted = (void *)(FIRST_BLOCK + i * BLOCK_STEP);
        char *got = mmap(wanted, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == wanted)
            return got;
        if (got != MAP_FAILED) /* an old system that takes it as a wish */
            munmap(got, size);
        else if (errno != EEXIST)
            break;
    }
    return MAP_FAILED;
}

/* On a huge page anywhere. */
static char *map_aligned(size_t size)
{
    char *base = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return base;
    char *aligned = base + (HUGE_PAGE - (uintptr_t)base % HUGE_PAGE) % HUGE_PAGE;
    size_t before = (size_t)(aligned - base), behind = HUGE_PAGE - before;
    if (before)
        munmap(base, before);
    if (behind)
        munmap(aligned + size, behind);
    return aligned;
}

static size_t block_size(size_t bytes) { return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE; }

/* mmap, so that freeing gives the memory back. Huge pages, for small blocks too: page walks would
 * otherwise be part of every cold figure, and where the pages of a small block happen to lie part
 * of every hot one. */
static enum assay_status alloc_cpu(assay_device *device, size_t bytes, void **out,
                                   struct assay_error *err)
{
    (void)device;
    size_t size = block_size(bytes ? bytes : 1);
    char *block = size < bytes ? MAP_FAILED : map_at_a_place(size);
    if (block == MAP_FAILED && size >= bytes && size < SIZE_MAX - HUGE_PAGE)
        block = map_aligned(size);
    if (block == MAP_FAILED) {
        char text[32];
        assay_text_bytes((double)bytes, text, sizeof text);
        return assay_error_set(err, ASSAY_ERR_NOMEM, "cpu", "cannot allocate %s", text);
    }
    madvise(block, size, MADV_HUGEPAGE);
    *out = block;
    return ASSAY_OK;
}

static void free_cpu(assay_device *device, void *ptr, size_t bytes)
{
    (void)device;
    munmap(ptr, block_size(bytes ? bytes : 1));
}

/* The stack begins anywhere in a page in each process, and buffers on it get into the way of
 * tensors or do not: softmax differed by 6 % between processes. Kernels begin at the same offset.
 */
__attribute__((noinline)) static enum assay_status time_on_stack(const struct assay_kernel *kernel,
                                                                 void *state,
                                                                 const struct assay_work *work,
                                                                 struct assay_timing *out)
{
    enum { STACK_UNIT = 4096 };
    volatile char *below =
        __builtin_alloca((uintptr_t)__builtin_frame_address(0) % STACK_UNIT + 64);
    below[0] = 0;
    int64_t start = assay_clock_ns();
    enum assay_status status = kernel->run(state, work);
    int64_t end = assay_clock_ns();
    out->device_ns = out->host_ns = (double)(end - start);
    return status;
}

static enum assay_status time_cpu(assay_device *device, const struct assay_kernel *kernel,
                                  void *state, const struct assay_work *work,
                                  struct assay_timing *out)
{
    (void)device;
    return time_on_stack(kernel, state, work, out);
}

/* The calls are those of `time`, so that the two are of the same thing. */
static enum assay_status count_cpu(assay_device *device, const struct assay_kernel *kernel,
                                   void *state, const struct assay_work *work,
                                   struct assay_counts *out)
{
    struct assay_timing timing;
    struct assay_counter_source source;
    assay_counter_source_linux(&source);
    assay_counters *counters = assay_counters_open(&source, 0);
    if (!counters)
        return ASSAY_ERR_NOMEM;
    assay_counters_start(counters);
    enum assay_status status = time_cpu(device, kernel, state, work, &timing);
    assay_counters_stop(counters);
    assay_counters_read(counters, out);
    assay_counters_close(counters);
    return status;
}

static int64_t now_cpu(assay_device *device)
{
    (void)device;
    return assay_clock_ns();
}

static double clock_cpu(assay_device *device)
{
    (void)device;
    return assay_cpu_clock_hz();
}

static void disturbance(assay_device *device, struct assay_disturbance *out)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    *out = (struct assay_disturbance){
        .context_switches = usage.ru_nivcsw,
        .waited_ns = assay_cpu_waited_ns((const struct cpu_device *)device),
    };
}

/* Memory that probes keep does not count as a variant's. */
static double resident_peak(assay_device *device)
{
    return assay_cpu_resident_peak(device) -
           assay_cpu_block_bytes((const struct cpu_device *)device);
}

/* All threads at once, as a kernel would use the units: the time of the slowest. */
static double matrix_probe(assay_device *device)
{
#if defined(__x86_64__)
    double slowest = 0;
    if (!assay_cpu_has(ASSAY_CPU_AMX_TILE | ASSAY_CPU_AMX_BF16))
        return 0;
#pragma omp parallel num_threads(device->threads) reduction(max : slowest)
    {
        assay_cpu_matrix_work(); /* wakes the unit up */
        int64_t start = assay_clock_ns();
        assay_cpu_matrix_work();
        slowest = (double)(assay_clock_ns() - start);
    }
    return slowest;
#else
    (void)device;
    return 0;
#endif
}

/* The caches hold the operands, and stay. */
static void wash(assay_device *device, uint64_t seed)
{
    (void)device;
    assay_wash(seed, false);
}

const struct assay_device_driver assay_device_cpu = {
    .name = "cpu",
    .summary = "this machine's processor",
    .probe = probe,
    .open = open_cpu,
    .close = close_cpu,
    .describe = describe,
    .alloc = alloc_cpu,
    .free = free_cpu,
    .system_bytes = resident_peak,
    .system_reset = assay_cpu_resident_reset,
    .time = time_cpu,
    .counters = count_cpu,
    .now_ns = now_cpu,
    .clock_hz = clock_cpu,
    .disturbance = disturbance,
    .stolen_ns = assay_cpu_stolen_ns,
    .matrix_probe = matrix_probe,
    .probe_flops = ASSAY_CPU_MATRIX_WORK,
    .wash = wash,
    .probe_open = assay_cpu_probe_open,
    .probe_close = assay_cpu_probe_close,
    .calibrate = assay_cpu_calibrate,
};
