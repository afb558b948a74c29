/* cpu_counters_linux.c: counters as Linux has them. */
#include "device/cpu/cpu_counters.h"

#include "device/cpu/cpu_info.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int64_t list_threads(void *user, int64_t process, int32_t *out, int64_t capacity)
{
    char path[64];
    int64_t n = 0;
    (void)user;
    snprintf(path, sizeof path, "/proc/%lld/task", process ? (long long)process : getpid());
    DIR *folder = opendir(path);
    if (!folder)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        if (n < capacity)
            out[n] = (int32_t)strtol(entry->d_name, NULL, 10);
        n++;
    }
    closedir(folder);
    return n;
}

static int open_counter(void *user, struct perf_event_attr *what, int32_t thread, int leader)
{
    (void)user;
    long fd = syscall(SYS_perf_event_open, what, thread, -1, leader, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

static int control(void *user, int fd, unsigned long request)
{
    (void)user;
    return ioctl(fd, request, PERF_IOC_FLAG_GROUP) == 0 ? 0 : -errno;
}

static int64_t read_counter(void *user, int fd, uint64_t *out, size_t bytes)
{
    (void)user;
    ssize_t got = read(fd, out, bytes);
    return got < 0 ? -errno : (int64_t)got;
}

static void close_counter(void *user, int fd)
{
    (void)user;
    close(fd);
}

static int paranoid(void)
{
    char text[16] = "";
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    bool read = file && fgets(text, sizeof text, file);
    if (file)
        fclose(file);
    return read ? (int)strtol(text, NULL, 10) : 99;
}

void assay_counter_source_linux(struct assay_counter_source *out)
{
    const struct assay_cpu_info *cpu = assay_cpu_info();
    *out = (struct assay_counter_source){
        .threads = list_threads,
        .open = open_counter,
        .control = control,
        .read = read_counter,
        .close = close_counter,
        .paranoid = paranoid(),
        .virtual_ = cpu->hypervisor,
        .misses_are_memory = strcmp(cpu->vendor, "GenuineIntel") == 0,
    };
}
