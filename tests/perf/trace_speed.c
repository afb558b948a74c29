/* trace_speed.c: how fast a trace of a million events is written, into a file that keeps nothing,
 * and how much memory that takes beyond the writer itself.
 *
 * prints: the form, MB/s, bytes of the trace, bytes of memory that were allocated on the way */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/io.h"
#include "trace/trace_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { EVENTS = 1000000 };

static int write_out(void *user, const char *bytes, size_t length)
{
    return assay_io_write(*(int *)user, bytes, length);
}

static void add_events(assay_trace_writer *w)
{
    for (int64_t i = 0; i < EVENTS; i++) {
        const struct assay_trace_arg args[] = {
            {"op", "linear", 0},
            {"shape", "2048x1024x256", 0},
            {"kernel", "linear_avx512", 0},
            {"bytes", NULL, 11534336},
            {"percent_of_ceiling", NULL, (double)(i % 10000) / 100},
        };
        struct assay_trace_track track = {1, 1 + (int32_t)(i % 16)};
        assay_trace_slice(w, track, "linear", "node", 1000 * i, 900, args, 5);
    }
}

static void measure(enum assay_trace_form form, const char *name)
{
    int file = open("/dev/null", O_WRONLY);
    assay_trace_writer *w = assay_trace_writer_create(form, 0, write_out, &file);
    size_t held = assay_alloc_held();
    assay_alloc_reset_peak();
    int64_t start = assay_clock_ns();
    add_events(w);
    double seconds = (double)(assay_clock_ns() - start) * 1e-9;
    int64_t bytes = assay_trace_bytes(w);
    size_t grown = assay_alloc_peak() - held;
    assay_trace_writer_end(w, NULL, 0);
    close(file);
    printf("%s %.0f %lld %zu\n", name, (double)bytes / seconds / 1e6, (long long)bytes, grown);
}

int main(void)
{
    measure(ASSAY_TRACE_CHROME, "json");
    measure(ASSAY_TRACE_PERFETTO, "perfetto");
    return 0;
}
