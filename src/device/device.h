/* device.h: what a device is: a vtable, filled by null/, cpu/ and later others.
 *
 * To add one: src/device/NAME/NAME.c defines `const struct assay_device_driver assay_device_NAME`,
 * and the line ASSAY_DEVICE(NAME) goes into device_list.h. */
#ifndef ASSAY_DEVICE_DEVICE_H
#define ASSAY_DEVICE_DEVICE_H

#include "base/error.h"
#include "device/ceiling.h"
#include "device/counts.h"
#include "device/probe.h"
#include "device/timed.h"
#include "trace/activity.h"
#include <assay/assay_kernel.h>

typedef struct assay_device assay_device;

/* Things that disturb a measurement, counted since the device was opened. */
struct assay_disturbance {
    int64_t context_switches; /* involuntary ones of this process */
    int64_t waited_ns;        /* its threads were ready to run and had no core */
    uint64_t throttle;        /* what holds a GPU's clock down now: NVML's bits; 0: nothing */
};

/* How long one call of a kernel's run took, in ns. */
struct assay_timing {
    double device_ns; /* the work itself: what is reported */
    double host_ns;   /* the host's side of it; the same on a CPU */
    bool elsewhere;   /* a GPU's work on other streams than it was given: timed by the host's clock,
                         until the whole device is at rest */
    /* What disturbed it, where that is not this process's to see: in another one. */
    bool watched;
    struct assay_disturbance before, after;
};

struct assay_device_info {
    char name[64];           /* "Intel(R) Xeon(R) Processor" */
    size_t memory_bytes;     /* in all */
    size_t memory_available; /* now; 0: not known */
    size_t llc_bytes;        /* the last-level cache a cold measurement must exceed */
    size_t own_cache_bytes;  /* the largest cache a thread has to itself; 0: none, or not known */
    int32_t cores;
};

struct assay_device_driver {
    const char *name, *summary;

    /* ASSAY_OK when the device is there; ASSAY_UNSUPPORTED with the reason otherwise. */
    enum assay_status (*probe)(struct assay_error *why);
    /* How many there are, and their names, without opening one. Optional: one, without a name. */
    int32_t (*count)(void);
    void (*name_of)(int32_t index, char *out, size_t size);
    size_t (*memory_of)(int32_t index); /* total; optional */
    int32_t (*cores_of)(int32_t index); /* multiprocessors of a GPU; optional */
    enum assay_status (*open)(int32_t index, int32_t threads, assay_device **out,
                              struct assay_error *err);
    void (*close)(assay_device *device);
    void (*describe)(assay_device *device, struct assay_device_info *out);

    /* Memory aligned to 64 bytes or more, not zeroed. The host can read and write it where the
     * device has no `upload`. */
    enum assay_status (*alloc)(assay_device *device, size_t bytes, void **out,
                               struct assay_error *err);
    void (*free)(assay_device *device, void *ptr, size_t bytes);

    /* Memory use as the system reports it, in bytes; NaN where it cannot be read. For a device with
     * separate memory: what is in use now, by all processes. For the host's: the peak resident size
     * of this process since the last reset, or, where resetting is not permitted, ever. Optional.
     */
    double (*system_bytes)(assay_device *device);
    void (*system_reset)(assay_device *device);

    /* Copies between host and device memory, and within the latter, complete when they return.
     * NULL where device memory is the host's. */
    enum assay_status (*upload)(assay_device *device, void *to, const void *from, size_t bytes,
                                struct assay_error *err);
    enum assay_status (*download)(assay_device *device, void *to, const void *from, size_t bytes,
                                  struct assay_error *err);
    enum assay_status (*copy)(assay_device *device, void *to, const void *from, size_t bytes,
                              struct assay_error *err);

    /* Memory of this process that another one is to read and write: `share` gives a handle of 64
     * bytes for what was allocated, a multiple of `share_unit` bytes; `shared` opens it in the
     * other process, where all of `bytes` must be; `unshare` closes it there. Where a driver
     * cannot, ASSAY_UNSUPPORTED says so. Optional, all. */
    size_t share_unit;
    enum assay_status (*share)(assay_device *device, void *memory, unsigned char *handle,
                               struct assay_error *err);
    enum assay_status (*shared)(assay_device *device, const unsigned char *handle, size_t bytes,
                                void **out, struct assay_error *err);
    void (*unshare)(assay_device *device, void *memory);

    /* Runs the kernel once on `work`, to completion, and times it. Nothing but the clock reads and
     * the kernel lies between start and end. */
    enum assay_status (*time)(assay_device *device, const struct assay_kernel *kernel, void *state,
                              const struct assay_work *work, struct assay_timing *out);
    /* Runs it likewise and counts, in place of the time, what the processor does in it: sums over
     * all of `work`. Never while anything is timed. Optional. */
    enum assay_status (*counters)(assay_device *device, const struct assay_kernel *kernel,
                                  void *state, const struct assay_work *work,
                                  struct assay_counts *out);
    /* The next `time` begins with so many calls that are not timed, on the sets before its own.
     * Optional: a device in another process, to which each way is long. */
    void (*prime)(assay_device *device, int64_t calls);
    /* A kernel's state is about to change or end: drop everything cached of it. Optional. */
    void (*forget)(assay_device *device, void *state);
    /* How the samples of a kernel were taken; empty where there were none. Optional. */
    void (*timed)(assay_device *device, const struct assay_kernel *kernel, void *state,
                  struct assay_timed *out);

    /* For a profiled pass, of a device that works beside the host: from `watch` to `unwatch` what
     * it does is noted, and `how` says by whom. Never while anything is timed: being watched costs
     * every call. What is called without a replay belongs to calls, counted from 0; `mark` says
     * which node of a model comes next, -1: none. `watched` waits for the device and adds what was
     * noted since it was last asked. Optional, all. */
    enum assay_status (*watch)(assay_device *device, char *how, size_t size,
                               struct assay_error *err);
    void (*mark)(assay_device *device, int32_t node);
    enum assay_status (*watched)(assay_device *device, struct assay_activities *out,
                                 struct assay_error *err);
    void (*unwatch)(assay_device *device);

    /* Now, in ns, for budgets: monotonic. */
    int64_t (*now_ns)(assay_device *device);
    /* The clock the device runs at now, in Hz; 0 where it cannot be read. Takes some 20 us. */
    double (*clock_hz)(assay_device *device);
    void (*disturbance)(assay_device *device, struct assay_disturbance *out);
    /* Time that the host has taken from this machine's cores, in ns, in steps of 10 ms. Takes some
     * 50 us. Optional. */
    int64_t (*stolen_ns)(assay_device *device);
    /* What the device has used since some moment, in joules, from a counter that moves in steps;
     * NaN where it cannot be read. Optional. */
    double (*energy_j)(assay_device *device);
    /* How long a fixed piece of work on the matrix unit takes now, in ns; 0 where there is none.
     * Takes some 20 us. Optional. */
    double (*matrix_probe)(assay_device *device);
    double probe_flops; /* what each thread does in it, in bf16 */

    /* What the host's cores remember of the calls before is cleared: how branches went, so that new
     * values cost no more than known ones; where kernels are launched from the host, its caches
     * too. Takes a millisecond. Optional. */
    void (*wash)(assay_device *device, uint64_t seed);

    /* A probe of what the device can do now; ASSAY_UNSUPPORTED or NOMEM where it cannot be had.
     * Takes some milliseconds, to find the fastest loop. Optional, both. */
    enum assay_status (*probe_open)(assay_device *device, const struct assay_probe_spec *spec,
                                    struct assay_probe *out, struct assay_error *err);
    void (*probe_close)(assay_device *device, struct assay_probe *probe);

    /* Measures the ceilings for this device and thread count: seconds. Optional. */
    enum assay_status (*calibrate)(assay_device *device, struct assay_ceilings *out,
                                   struct assay_error *err);
};

/* What came of a capture. */
struct assay_captured {
    void *graph, *exec; /* CUgraph, CUgraphExec; NULL exec: it is still to be made */
    bool theirs;        /* the framework's, and valid until `capture` is dropped */
    void *capture;      /* the capturer's own */
    int32_t error;      /* the driver's, where it is known; 0 */
    bool waits;         /* failed: it waits for the GPU */
    char why[160];      /* it failed; empty: `error` says it */
};

/* Who is told of captures of a GPU's launches (python/src/capture.c): a framework captures by
 * itself, so that the memory it gives out meanwhile is the graph's; and results of the launches
 * are objects that are kept with the graph. */
struct assay_capturer {
    void *user;
    /* Why runs of this state cannot be replayed; NULL: they can. */
    const char *(*refuses)(void *user, void *state);
    /* ASSAY_OK: runs are captured from here on. ASSAY_UNSUPPORTED: the caller is to do that. */
    enum assay_status (*begin)(void *user, void *stream, struct assay_captured *out);
    /* After the runs, and the caller's capture; whether they worked. */
    enum assay_status (*end)(void *user, void *state, bool worked, struct assay_captured *out);
    /* After a replay: what the capture left is what the state's last run left. */
    void (*replayed)(void *user, void *state, void *capture);
    void (*drop)(void *user, void *capture);
};

/* The first member of every device. The functions below count bytes here; bytes of a device whose
 * memory is the host's also count in base/alloc. */
struct assay_device {
    const struct assay_device_driver *driver;
    int32_t index, threads;
    bool strangers;                /* run here: where times could be hidden, it is looked twice */
    size_t bytes_held, bytes_peak; /* the peak since it was last reset to the current value */
    const struct assay_capturer *capturer; /* NULL: the device captures by itself */
};

enum assay_status assay_device_alloc(assay_device *device, size_t bytes, void **out,
                                     struct assay_error *err);
void assay_device_free(assay_device *device, void *ptr, size_t bytes);
/* Does the device compute in the host's memory? */
bool assay_device_shares_memory(const assay_device *device);

int64_t assay_device_count(void);
const struct assay_device_driver *assay_device_at(int64_t index);

/* Reads "cpu", "cuda" or "cuda:0". The error names the nearest known device, or says why it is not
 * here. */
enum assay_status assay_device_parse(const char *name, const struct assay_device_driver **driver,
                                     int32_t *index, struct assay_error *err);

/* Does a device of this name compute on the host, with its threads and in its memory? By the name
 * alone: the device need not be here. */
bool assay_device_is_host(const char *name);

/* Opens a device, and closes it (NULL is fine). */
enum assay_status assay_device_open(const struct assay_device_driver *driver, int32_t index,
                                    int32_t threads, assay_device **out, struct assay_error *err);
void assay_device_close(assay_device *device);

#endif
