/* first_sample.c: when does assay take its first sample? Loaded before the C library (LD_PRELOAD),
 * it appends the time, in microseconds, to the file that $FIRST_SAMPLE names: assay asks for its
 * own context switches before each sample, and for nothing of the kind before the first. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

int getrusage(__rusage_who_t who, struct rusage *out)
{
    static int (*real)(int, struct rusage *);
    struct timespec now;
    if (!real) {
        void *symbol = dlsym(RTLD_NEXT, "getrusage");
        FILE *file = fopen(getenv("FIRST_SAMPLE"), "a");
        memcpy(&real, &symbol, sizeof real);
        clock_gettime(CLOCK_REALTIME, &now);
        if (file) {
            fprintf(file, "%lld\n", (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
            fclose(file);
        }
    }
    return real((int)who, out);
}
