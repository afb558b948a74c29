/* message.h: what judge and runner say to each other, on a pair of sockets: one command, one
 * reply, both plain structs, because both ends are the same program.
 *
 * Nothing of a reply is believed that the judge cannot check: a stranger lives in the process that
 * writes it. Larger things than a reply are left in the runner's memory, where the judge reads
 * them. */
#ifndef ASSAY_RUNNER_MESSAGE_H
#define ASSAY_RUNNER_MESSAGE_H

#include "device/device.h"
#include "runner/memory.h"

#define ASSAY_RUNNER_VERSION 1u
enum { ASSAY_RUNNER_FD = 3, ASSAY_RUNNER_WORDS_FD = 4 }; /* the ends of the runner */

enum assay_runner_verb {
    ASSAY_RUNNER_CONFINE,  /* from here on; `text` says how. The first of all */
    ASSAY_RUNNER_DEVICE,   /* open it */
    ASSAY_RUNNER_PING,     /* nothing */
    ASSAY_RUNNER_LOAD,     /* open the shared object */
    ASSAY_RUNNER_CONTENTS, /* what it holds: a struct assay_contents at `address` */
    ASSAY_RUNNER_CAN_RUN,
    ASSAY_RUNNER_NOTE,
    ASSAY_RUNNER_SETUP,
    ASSAY_RUNNER_PREPARE,
    ASSAY_RUNNER_TEARDOWN,
    ASSAY_RUNNER_RESERVE, /* memory of the device, touched */
    ASSAY_RUNNER_RELEASE, /* all of it: the variant is done, and another may come */
    ASSAY_RUNNER_BIND,    /* a table of pointers, for the judge to fill: the sets of operands */
    ASSAY_RUNNER_READY,   /* of a guest (guest.h): before a run, which it is told of as `run` */
    ASSAY_RUNNER_RUN,
    ASSAY_RUNNER_FINISH,  /* and after it */
    ASSAY_RUNNER_TIMED,   /* how its samples were taken: a struct assay_timed at `address` */
    ASSAY_RUNNER_WATCH,   /* a profiled pass begins: `text` says who sees what the GPU does */
    ASSAY_RUNNER_WATCHED, /* what it did since: remote_watch.c's at `address` */
    ASSAY_RUNNER_UNWATCH,
    ASSAY_RUNNER_FENCE, /* once on set 0 between pages nobody may touch */
    /* Of a workload's author. */
    ASSAY_RUNNER_DECLARE, /* a struct assay_setup at `address` */
    ASSAY_RUNNER_FILL,    /* the input's bytes at `address` */
    ASSAY_RUNNER_INPUTS,  /* `address` takes all inputs for the next, one behind the other */
    ASSAY_RUNNER_VERIFY,  /* an output as doubles at `address` */
    ASSAY_RUNNER_VERBS
};

struct assay_runner_command {
    uint32_t version, verb;
    uint64_t number;
    char kernel[64]; /* of the object */
    union {
        struct {
            char name[32];
            int32_t threads;
        } device;
        struct {
            char path[1024];
            int64_t memory_bytes; /* 0: no limit */
            bool sandbox, mute, gpu;
        } load; /* and to confine */
        struct {
            struct assay_problem problem; /* its pointers are void: */
            char op[64], recipe[32];
            bool has_problem, has_recipe, autotune;
        } problem;
        int64_t set; /* to be prepared */
        size_t bytes;
        struct {
            int64_t n_sets;
            int32_t n_inputs, n_outputs;
        } bind;
        struct {
            int64_t prime;                /* calls before those that are timed */
            int64_t iters, first, n_sets; /* of the timed ones */
            int64_t offset;               /* of set 0 among those that were bound */
            bool activations;             /* only their part of run */
            bool memory;                  /* take down what it takes */
        } run;
        int32_t side; /* of a fence */
        struct {
            char op[64];
            int32_t index, threads; /* of the input or output */
            uint64_t seed;
        } workload;
    };
};

struct assay_runner_reply {
    uint32_t version;
    int32_t status; /* enum assay_status */
    uint64_t number;
    struct assay_error err;
    uint64_t address;
    uint64_t bytes;           /* there; prepared, for one set */
    unsigned char handle[64]; /* of a GPU's memory, for other processes */
    char text[160];           /* a note; how it is confined; a function's answer that was not 0 */
    struct assay_timing timing;
    double prime_ns; /* what the calls before took */
    struct assay_memory memory;
    int32_t trace;   /* enum assay_trace: what the call left changed */
    int32_t threads; /* of the process, besides the first */
};

#endif
