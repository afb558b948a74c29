#include "device/cpu/cpu_resident.h"

#include "base/folder.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The value of a line "VmHWM:    1234 kB". */
static double high_water_bytes(void)
{
    static const char key[] = "\nVmHWM:";
    char text[4096];
    const char *line =
        assay_folder_peek("/proc/self/status", text, sizeof text) == 0 ? strstr(text, key) : NULL;
    return line ? strtod(line + sizeof key - 1, NULL) * 1024 : (double)NAN;
}

/* Some sandboxes have no such line: what they count of the whole process is still a figure. */
static double usage_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > 0
               ? (double)usage.ru_maxrss * 1024
               : (double)NAN;
}

double assay_cpu_resident_peak(assay_device *device)
{
    (void)device;
    double bytes = high_water_bytes();
    return isnan(bytes) ? usage_bytes() : bytes;
}

void assay_cpu_resident_reset(assay_device *device)
{
    (void)device;
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t written = write(file, "5", 1); /* 5: the peak alone; nothing is walked through */
    (void)written;
    close(file);
}
