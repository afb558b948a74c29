#include "api/case_memory.h"

#include "base/folder.h"
#include "base/math.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel counts resident pages for each CPU and adds them up now and then: growth below this
 * may be none. */
enum { RESIDENT_NOISE = 256 * 1024 };

/* What malloc has given out; 0 where it does not say. */
static size_t heap_bytes(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

/* Free memory that malloc keeps would hide what a call takes of it. */
static void return_free_heap(void)
{
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

/* A line of /proc/self/status, in bytes: "VmHWM:". */
static size_t status_bytes(const char *name)
{
    char text[4096];
    if (assay_folder_peek("/proc/self/status", text, sizeof text) != 0)
        return 0;
    const char *line = strstr(text, name);
    return line ? (size_t)strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

/* Makes the most that was resident what is resident now; false where the system has no such thing.
 */
static bool reset_most_resident(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, "5", 1) == 1;
    if (fd >= 0)
        close(fd);
    return ok;
}

static size_t more_than(size_t a, size_t b) { return a > b ? a - b : 0; }

/* Memory in use that was not asked of the session. */
static size_t in_use(struct assay_open_session *session, assay_device *device)
{
    if (device != session->gpu)
        return heap_bytes();
    struct assay_device_info info = {0};
    device->driver->describe(device, &info);
    return more_than(session->gpu_at_open, info.memory_available);
}

size_t assay_case_memory_idle(struct assay_open_session *session, assay_device *device)
{
    size_t counted = device->bytes_held, other = in_use(session, device);
    /* The GPU's own figure has the counted bytes in it; the heap's has not. */
    return device == session->gpu ? assay_max_bytes(counted, other) : counted + other;
}

void assay_case_memory_begin(struct assay_case_memory *memory, struct assay_open_session *session,
                             assay_device *device)
{
    *memory = (struct assay_case_memory){.session = session, .device = device};
    memory->held = device->bytes_peak = device->bytes_held;
    if (device != session->gpu) {
        return_free_heap();
        if (reset_most_resident())
            memory->resident = status_bytes("VmRSS:");
    }
    memory->usual = in_use(session, device);
}

size_t assay_case_memory_end(struct assay_case_memory *memory)
{
    assay_device *device = memory->device;
    size_t counted = more_than(device->bytes_peak, memory->held);
    size_t kept = more_than(in_use(memory->session, device), memory->usual);
    size_t resident = memory->resident ? more_than(status_bytes("VmHWM:"), memory->resident) : 0;
    if (resident < RESIDENT_NOISE)
        resident = 0;
    return assay_max_bytes(assay_max_bytes(counted, kept), resident);
}
