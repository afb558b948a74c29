/* cuda_gpu.h: the open GPU, for the files of this folder. */
#ifndef ASSAY_DEVICE_CUDA_CUDA_GPU_H
#define ASSAY_DEVICE_CUDA_CUDA_GPU_H

#include "base/rng.h"
#include "device/cuda/cuda.h"
#include "device/cuda/cuda_library.h"
#include "device/device.h"

/* A sequence of launches, captured once and replayed. */
struct cuda_replay {
    /* What it is of: an unchanged call is replayed. */
    enum assay_status (*run)(void *state, const struct assay_work *work);
    void *state;
    int64_t iters, first, n_sets;
    const struct assay_args *sets;
    cu_graph_exec exec;
    bool theirs;    /* exec is the capturer's */
    void *capture;  /* of the capturer; NULL: there is none */
    double host_ns; /* what enqueueing it launch by launch costs the host */
    int64_t used;   /* when, for throwing the oldest away */
};

/* CUDA_CAPTURES: of one state by a capturer. Its frameworks keep each one's results. */
enum { CUDA_REPLAYS = 64, CUDA_CAPTURES = 8, CUDA_ODD_ONES = 32, CUDA_WAYS = 64 };

/* How the samples of a kernel were taken. */
struct cuda_way {
    enum assay_status (*run)(void *state, const struct assay_work *work); /* NULL: a free slot */
    void *state;
    struct assay_timed timed;
    int64_t samples[3]; /* of each way: graph, blocked, eager */
    bool several;       /* these are samples of several calls; without such, of one */
    char refused[sizeof((struct assay_captured *)0)->why]; /* why it could not be captured */
    double host_ns;                                        /* of a guest's call; 0: not measured */
    int64_t used;
};

/* A kernel that cannot be timed in the usual way. */
struct cuda_odd_one {
    enum assay_status (*run)(void *state, const struct assay_work *work); /* NULL: a free slot */
    void *state;
    bool waits;      /* for the GPU, inside run: behind the gate it would wait for itself */
    bool no_capture; /* it does what cannot be captured */
    bool elsewhere;  /* it uses its own streams: the whole device is timed */
};

/* A profiled pass: who sees what the GPU does, and where in it we are. */
struct cuda_watch {
    bool on, in_call;
    const struct cuda_cupti_api *cupti; /* NULL: events do */
    cupti_subscriber subscriber;
    cu_stream stream;
    int32_t call, node;                     /* -1: none yet; outside of nodes */
    struct cuda_pair *pairs, *whole, *part; /* of events: all, the call's and the node's */
    int64_t n_pairs, lost;
};

struct cuda_gpu {
    struct assay_device device; /* first */
    const struct cuda_driver_api *api;
    const struct cuda_nvml_api *nvml; /* NULL without */
    nvml_device nvml_device;
    cu_device ordinal;
    cu_context context;
    bool borrowed; /* the context was current already: the caller's own */
    cu_stream stream;
    cu_event start, end;
    struct assay_cuda_properties properties;
    cublaslt_handle cublaslt;
    cudnn_handle cudnn;

    /* Timing. */
    cu_function block; /* holds the stream until told; NULL where kernels cannot be compiled */
    volatile uint32_t *gate; /* host memory the GPU sees: [0] tickets let through, [1] gave up */
    cu_deviceptr gate_seen;
    uint32_t ticket;
    struct { /* what the two events of a sample add to it, ns */
        bool known;
        double replayed, direct;
    } events;
    cu_deviceptr flush;
    size_t flush_bytes;
    struct cuda_replay replays[CUDA_REPLAYS];
    int64_t replays_used;
    struct cuda_odd_one odd_ones[CUDA_ODD_ONES];
    int32_t n_odd_ones; /* the oldest are replaced */
    struct cuda_way ways[CUDA_WAYS];
    int64_t ways_used;
    struct { /* the last one after whose runs the device was still busy */
        const void *state;
        int32_t in_a_row;
    } lingers;
    struct { /* the last one whose direct runs were timed by the host's clock as well */
        const void *state;
        int32_t n; /* that could have shown something */
        struct assay_rng secret;
    } looks;

    struct cuda_watch watch;

    /* Health. */
    int64_t health_at; /* when NVML was last read, ns */
    uint64_t throttle; /* reasons it gave then */
    double clock_hz;
};

/* The open GPU; NULL where none is. */
struct cuda_gpu *assay_cuda_gpu(void);

/* cuda_program.c */
void assay_cuda_programs_close(void);

/* cuda_time.c */
enum assay_status assay_cuda_time_open(struct cuda_gpu *gpu, struct assay_error *err);
void assay_cuda_time_close(struct cuda_gpu *gpu);
enum assay_status assay_cuda_time(assay_device *device, const struct assay_kernel *kernel,
                                  void *state, const struct assay_work *work,
                                  struct assay_timing *out);
/* A kernel's run whose state is the function `nothing` of gate.cu. */
enum assay_status assay_cuda_run_nothing(void *nothing, const struct assay_work *work);
/* The launches before the timed ones, on the sets before theirs. */
struct assay_work assay_cuda_lead_in(const struct assay_work *work);

/* cuda_replay.c */
/* What is known of a kernel; NULL where it is like all others. */
struct cuda_odd_one *assay_cuda_odd_one(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                        const void *state);
struct cuda_odd_one *assay_cuda_note_odd_one(struct cuda_gpu *gpu,
                                             const struct assay_kernel *kernel, void *state);
/* Everything of a sample that the GPU does, as it is captured or enqueued. */
enum assay_status assay_cuda_enqueue(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                     void *state, const struct assay_work *work, bool capturing);
/* The replay of this work, captured now if it is new; NULL where it is to be enqueued directly. */
struct cuda_replay *assay_cuda_replay_of(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                         void *state, const struct assay_work *work,
                                         enum assay_status *status);
/* After it ran. */
void assay_cuda_replayed(struct cuda_gpu *gpu, const struct cuda_replay *replay);
void assay_cuda_note_way(struct cuda_gpu *gpu, const struct assay_kernel *kernel, void *state,
                         const struct assay_work *work, bool replayed);
void assay_cuda_timed(assay_device *device, const struct assay_kernel *kernel, void *state,
                      struct assay_timed *out);
/* Forgets replays of a state that is about to end. */
void assay_cuda_forget(assay_device *device, void *state);
void assay_cuda_replays_close(struct cuda_gpu *gpu);

/* cuda_watch.c */
enum assay_status assay_cuda_watch(assay_device *device, char *how, size_t size,
                                   struct assay_error *err);
void assay_cuda_mark(assay_device *device, int32_t node);
enum assay_status assay_cuda_watched(assay_device *device, struct assay_activities *out,
                                     struct assay_error *err);
void assay_cuda_unwatch(assay_device *device);
/* Around the launches of a call that are not captured; nothing where nobody watches. */
void assay_cuda_watch_call(struct cuda_gpu *gpu, cu_stream stream, bool begins);

/* cuda_counters.c */
enum assay_status assay_cuda_counters(assay_device *device, const struct assay_kernel *kernel,
                                      void *state, const struct assay_work *work,
                                      struct assay_counts *out);

/* cuda_health.c */
void assay_cuda_health_open(struct cuda_gpu *gpu);
double assay_cuda_clock_hz(assay_device *device);
double assay_cuda_energy_j(assay_device *device);
void assay_cuda_disturbance(assay_device *device, struct assay_disturbance *out);

/* cuda_probe.c */
enum assay_status assay_cuda_probe_open(assay_device *device, const struct assay_probe_spec *spec,
                                        struct assay_probe *out, struct assay_error *err);
void assay_cuda_probe_close(assay_device *device, struct assay_probe *probe);
/* The least time of one call in `tries` tries, in ns; 0 where it does not run. */
double assay_cuda_least_ns(assay_device *device, const struct assay_kernel *kernel, void *state,
                           const struct assay_work *work, int tries);

/* cuda_calibrate.c */
enum assay_status assay_cuda_calibrate(assay_device *device, struct assay_ceilings *out,
                                       struct assay_error *err);

#endif
