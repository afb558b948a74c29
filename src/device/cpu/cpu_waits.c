#include "device/cpu/cpu_device.h"

#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void assay_cpu_watch(struct cpu_device *device)
{
    int32_t threads = device->base.threads;
    device->n_watched = threads < ASSAY_CPU_MAX_WATCHED ? threads : ASSAY_CPU_MAX_WATCHED;
    for (int32_t i = 0; i < ASSAY_CPU_MAX_WATCHED; i++)
        device->schedstat[i] = -1;
#pragma omp parallel num_threads(threads)
    {
        int32_t mine = omp_get_thread_num();
        if (mine < device->n_watched)
            device->schedstat[mine] = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    }
    device->stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
}

void assay_cpu_unwatch(struct cpu_device *device)
{
    for (int32_t i = 0; i < device->n_watched; i++)
        if (device->schedstat[i] >= 0)
            close(device->schedstat[i]);
    if (device->stat >= 0)
        close(device->stat);
}

/* The file from its start, as a string. */
static bool read_again(int file, char *text, size_t size)
{
    ssize_t got = file < 0 ? -1 : pread(file, text, size - 1, 0);
    if (got <= 0)
        return false;
    text[got] = '\0';
    return true;
}

/* "RUNNING WAITING SLICES", the first two in ns. */
int64_t assay_cpu_waited_ns(const struct cpu_device *device)
{
    int64_t sum = 0;
    char text[96];
    for (int32_t i = 0; i < device->n_watched; i++) {
        if (!read_again(device->schedstat[i], text, sizeof text))
            continue;
        const char *second = strchr(text, ' ');
        sum += second ? strtoll(second, NULL, 10) : 0;
    }
    return sum;
}

/* The eighth number of "cpu3 user nice system idle iowait irq softirq steal …", in ticks. */
static int64_t steal_ticks(const char *line)
{
    char *at = strchr(line, ' ');
    int64_t ticks = 0;
    for (int i = 0; i < 8 && at; i++)
        ticks = strtoll(at, &at, 10);
    return ticks;
}

int64_t assay_cpu_stolen_ns(assay_device *device)
{
    const struct cpu_device *cpu = (const struct cpu_device *)device;
    char text[16384], start[16];
    int64_t ticks = 0;
    if (!read_again(cpu->stat, text, sizeof text))
        return 0;
    for (int32_t i = 0; i < cpu->n_watched; i++) {
        snprintf(start, sizeof start, "\ncpu%d ", cpu->cores[i]);
        const char *line = cpu->cores[i] >= 0 ? strstr(text, start) : NULL;
        ticks += line ? steal_ticks(line + 1) : 0;
    }
    return ticks * (1000000000 / sysconf(_SC_CLK_TCK));
}
