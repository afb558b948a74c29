#include "base/math.h"
#include "runner/fence.h"

#include "base/alloc.h"
#include "base/last_words.h"
#include "tensor/tensor.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { MAX_TENSORS = ASSAY_MAX_INPUTS + ASSAY_MAX_OUTPUTS, WORDS = 96, FENCE = 64 * 1024 };

/* A tensor between two fences. */
struct plot {
    char *base; /* of the first fence */
    size_t inner, total;
    char *tensor;
    char words[2][2][WORDS]; /* [written][past the end] */
};

struct assay_fence {
    int32_t n;
    struct plot plots[MAX_TENSORS];
    void *pointers[MAX_TENSORS];
    struct assay_args args;
    struct sigaction before[2];
};

/* The handler has no other way to know. */
static assay_fence *armed;

static bool stake(struct plot *p, size_t bytes, enum assay_fence_side side)
{
    size_t padded = assay_round_up_bytes(bytes ? bytes : 1, 64);
    p->inner = assay_round_up_bytes(padded, 4096);
    p->total = p->inner + (size_t)2 * FENCE;
    void *base =
        mmap(NULL, p->total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    p->base = base;
    char *inner = p->base + FENCE;
    p->tensor = side == ASSAY_FENCE_START ? inner : inner + p->inner - padded;
    return mprotect(inner, p->inner, PROT_READ | PROT_WRITE) == 0;
}

static void write_words(struct plot *p, const char *kind, int32_t index)
{
    for (int written = 0; written < 2; written++)
        for (int end = 0; end < 2; end++)
            snprintf(p->words[written][end], WORDS, "%s %s of %s %d", written ? "wrote" : "read",
                     end ? "past the end" : "before the start", kind, index);
}

enum assay_status assay_fence_create(const struct assay_problem *problem, const void *const *inputs,
                                     enum assay_fence_side side, assay_fence **out,
                                     struct assay_error *err)
{
    assay_fence *f = assay_calloc(1, sizeof *f);
    bool ok = f;
    for (int32_t i = 0; ok && i < problem->n_inputs + problem->n_outputs; i++) {
        struct plot *p = &f->plots[f->n++];
        bool is_input = i < problem->n_inputs;
        int32_t index = is_input ? i : i - problem->n_inputs;
        size_t bytes =
            assay_tensor_bytes(is_input ? &problem->inputs[index] : &problem->outputs[index]);
        ok = stake(p, bytes, side);
        if (!ok)
            break;
        write_words(p, is_input ? "input" : "output", index);
        if (is_input)
            memcpy(p->tensor, inputs[i], bytes);
        f->pointers[i] = p->tensor;
    }
    if (!ok) {
        assay_fence_destroy(f);
        return assay_error_nomem(err);
    }
    f->args = (struct assay_args){.in = (const void *const *)f->pointers,
                                  .out = f->pointers + problem->n_inputs};
    *out = f;
    return ASSAY_OK;
}

void assay_fence_destroy(assay_fence *f)
{
    for (int32_t i = 0; f && i < f->n; i++)
        if (f->plots[i].base)
            munmap(f->plots[i].base, f->plots[i].total);
    assay_free(f);
}

const struct assay_args *assay_fence_args(const assay_fence *f) { return &f->args; }

static bool was_write(const ucontext_t *context)
{
#if defined(__x86_64__)
    return context->uc_mcontext.gregs[REG_ERR] & 2; /* of the page fault's error code: W/R */
#else
    (void)context;
    return false;
#endif
}

/* Anything else than a fence is the kernel's own crash: it happens again, without us. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const char *at = info->si_addr;
    for (int32_t i = 0; armed && i < armed->n; i++) {
        const struct plot *p = &armed->plots[i];
        if (at >= p->base && at < p->base + p->total)
            assay_last_words(p->words[was_write(context)][at >= p->tensor]);
    }
    signal(number, SIG_DFL);
}

void assay_fence_arm(assay_fence *f)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_fault;
    sigemptyset(&action.sa_mask);
    armed = f;
    sigaction(SIGSEGV, &action, &f->before[0]);
    sigaction(SIGBUS, &action, &f->before[1]);
}

void assay_fence_disarm(assay_fence *f)
{
    sigaction(SIGSEGV, &f->before[0], NULL);
    sigaction(SIGBUS, &f->before[1], NULL);
    armed = NULL;
}
