#include "bench/operands.h"

#include "base/alloc.h"
#include "base/math.h"
#include "base/rng.h"
#include "bench/parts.h"

#include <math.h>
#include <string.h>

/* Every tensor has this many guard bytes before and behind it at the least. */
enum { GUARD = 64, MAX_TENSORS = ASSAY_MAX_INPUTS + ASSAY_MAX_OUTPUTS, PAGE = 4096 };
enum { GUARD_BYTE = 0xa5, POISON_FLOAT = 0xff, POISON_INTEGER = 0x80 };

/* NaN in every float type; as an integer a number no sum comes near, where -1 is a common one. */
static int poison_of(enum assay_dtype dtype)
{
    return assay_dtype_info(dtype)->is_float ? POISON_FLOAT : POISON_INTEGER;
}

/* Where the tensors of one set lie, from the set's start. */
struct layout {
    int32_t n;
    size_t offset[MAX_TENSORS], bytes[MAX_TENSORS];
    size_t stride; /* from one set to the next */
};

/* The inputs that are not constant, one behind the other, with the usual and with other values. */
struct others {
    /* The host's; NULL: not made. On a GPU they are uploaded to the same address, as the usual ones
     * were: after a copy on the GPU itself kernels that read them took 0.2 us longer (H200). */
    char *usual, *other;
    size_t offset[ASSAY_MAX_INPUTS], bytes;
    bool changes[ASSAY_MAX_INPUTS];
    const void *inputs[ASSAY_MAX_INPUTS];
    uint64_t checksums[ASSAY_MAX_INPUTS];
    double allowed; /* for the spikes among them */
};

struct assay_operands {
    assay_device *device;
    const assay_operands *like; /* whose values these are; NULL: they are its own */
    const struct assay_op *op;
    struct assay_problem problem;
    uint64_t seed;
    struct layout layout;
    char *base;
    char *image; /* the host's, of one set; NULL where it can use the device's memory */
    const void *inputs[ASSAY_MAX_INPUTS]; /* of set 0, the host's addresses */
    enum assay_status pushed; /* the first upload that failed: no check can be trusted */
    size_t total_bytes;
    int64_t n_sets;
    uint64_t checksums[ASSAY_MAX_INPUTS];
    const struct assay_change *changes; /* in set 0, the caller's */
    int64_t n_changes;
    double unchanged[ASSAY_SPIKES_MOST]; /* what they replaced */
    bool exact;                          /* set 0 holds the integer-valued inputs of `problem` */
    struct assay_args *sets;
    void **pointers; /* n_sets times the tensors, that `sets` points into */
    struct others others;
    unsigned char *in_set; /* for each set: enum assay_values; NULL: no others were made */
};

static const struct others *others_of(const assay_operands *o)
{
    return o->like ? &o->like->others : &o->others;
}

/* Loads and stores whose addresses agree in the low 12 bits look dependent to the CPU. Tensors of a
 * page or more therefore start at different offsets within a page: each 3072 bytes (so, minus 1024)
 * further than the one before, which keeps a store stream well behind the load stream it would
 * collide with. A relu of 16 KB took 159 ns in some processes and 809 in others where its output
 * began 64 bytes further in a page than its input. */
static struct layout lay_out(const struct assay_problem *problem)
{
    struct layout layout = {.n = problem->n_inputs + problem->n_outputs};
    size_t at = 0;
    for (int32_t i = 0; i < layout.n; i++) {
        const struct assay_tensor *tensor =
            i < problem->n_inputs ? &problem->inputs[i] : &problem->outputs[i - problem->n_inputs];
        layout.bytes[i] = assay_tensor_bytes(tensor);
        at = assay_round_up_bytes(at + GUARD, 64);
        if (layout.bytes[i] >= PAGE)
            at = assay_round_up_bytes(at, PAGE) + (size_t)i * 3072 % PAGE;
        layout.offset[i] = at;
        at += layout.bytes[i];
    }
    layout.stride = assay_round_up_bytes(at + GUARD, 64);
    if (layout.stride < PAGE) /* so that a sane number of sets outgrows any cache */
        layout.stride = PAGE;
    if (layout.stride >= 16 * PAGE)
        layout.stride = assay_round_up_bytes(layout.stride, PAGE);
    return layout;
}

size_t assay_operands_bytes(const struct assay_problem *problem, int64_t n_sets)
{
    size_t bytes;
    if (__builtin_mul_overflow(lay_out(problem).stride, (size_t)n_sets, &bytes))
        return SIZE_MAX;
    return bytes;
}

int64_t assay_operands_cold_sets(const struct assay_problem *problem, size_t cache_bytes)
{
    enum { MOST = 1 << 20 }; /* tiny tensors: the bookkeeping of a set must not outweigh it */
    size_t stride = lay_out(problem).stride;
    int64_t sets = (int64_t)(2 * cache_bytes / stride) + 2;
    return sets > MOST ? MOST : sets;
}

static void *tensor_at(const assay_operands *o, int64_t set, int32_t tensor)
{
    return o->base + (size_t)set * o->layout.stride + o->layout.offset[tensor];
}

/* The same address as the host sees it. */
static char *host_set(const assay_operands *o, int64_t set)
{
    return o->image ? o->image : o->base + (size_t)set * o->layout.stride;
}

static void *host_at(const assay_operands *o, int64_t set, int32_t tensor)
{
    return host_set(o, set) + o->layout.offset[tensor];
}

/* Uploads what the host wrote: one tensor, or with -1 the whole set. A failure is kept for the next
 * check to report. */
static enum assay_status push(assay_operands *o, int64_t set, int32_t tensor)
{
    if (!o->image || o->pushed != ASSAY_OK)
        return o->pushed;
    size_t at = tensor < 0 ? 0 : o->layout.offset[tensor];
    size_t bytes = tensor < 0 ? o->layout.stride : o->layout.bytes[tensor];
    o->pushed = o->device->driver->upload(o->device, o->base + (size_t)set * o->layout.stride + at,
                                          o->image + at, bytes, NULL);
    return o->pushed;
}

static enum assay_status pull(const assay_operands *o, int64_t set)
{
    if (!o->image)
        return ASSAY_OK;
    return o->device->driver->download(
        o->device, o->image, o->base + (size_t)set * o->layout.stride, o->layout.stride, NULL);
}

/* The bytes between two tensors of a set: [start, end). `gap` 0 is before the first tensor. */
static void gap_at(const assay_operands *o, int64_t set, int32_t gap, char **start, char **end)
{
    const struct layout *l = &o->layout;
    char *base = host_set(o, set);
    *start = gap == 0 ? base : base + l->offset[gap - 1] + l->bytes[gap - 1];
    *end = gap == l->n ? base + l->stride : base + l->offset[gap];
}

static void write_guards(assay_operands *o, int64_t set)
{
    for (int32_t gap = 0; gap <= o->layout.n; gap++) {
        char *start, *end;
        gap_at(o, set, gap, &start, &end);
        memset(start, GUARD_BYTE, (size_t)(end - start));
    }
}

static void bind_set(assay_operands *o, int64_t set)
{
    void **own = o->pointers + set * o->layout.n;
    for (int32_t i = 0; i < o->layout.n; i++)
        own[i] = tensor_at(o, set, i);
    o->sets[set].in = (const void *const *)own;
    o->sets[set].out = own + o->problem.n_inputs;
}

static void make_changes(assay_operands *o)
{
    for (int64_t i = 0; i < o->n_changes; i++) {
        const struct assay_change *c = &o->changes[i];
        assay_dtype_store(o->problem.inputs[c->input].dtype, &c->value, host_at(o, 0, c->input),
                          c->at, 1);
    }
}

static void fill_inputs(assay_operands *o, int64_t set)
{
    for (int32_t i = 0; i < o->problem.n_inputs; i++) {
        if (o->like && !o->like->image)
            memcpy(host_at(o, set, i), host_at(o->like, 0, i), o->layout.bytes[i]);
        else if (o->exact)
            o->op->fill_exact(&o->problem, i, host_at(o, set, i),
                              assay_rng_at(o->seed, (uint64_t)i));
        else
            assay_op_fill(o->op, &o->problem, i, host_at(o, set, i), o->seed);
    }
    if (set == 0)
        make_changes(o);
}

void assay_operands_refill(assay_operands *o, const struct assay_problem *problem, bool exact)
{
    o->problem.recipe = problem->recipe;
    o->exact = exact;
    fill_inputs(o, 0);
    for (int32_t i = 0; i < o->problem.n_inputs; i++) {
        o->checksums[i] = assay_tensor_checksum(host_at(o, 0, i), o->layout.bytes[i]);
        push(o, 0, i);
    }
}

static void put_back_changes(assay_operands *o)
{
    for (int64_t i = o->n_changes - 1; i >= 0; i--) {
        const struct assay_change *c = &o->changes[i];
        assay_dtype_store(o->problem.inputs[c->input].dtype, &o->unchanged[i],
                          host_at(o, 0, c->input), c->at, 1);
    }
}

void assay_operands_change(assay_operands *o, const struct assay_change *changes, int64_t n)
{
    bool touched[ASSAY_MAX_INPUTS] = {0};
    for (int64_t i = 0; i < o->n_changes; i++)
        touched[o->changes[i].input] = true;
    put_back_changes(o);
    for (int64_t i = 0; i < n; i++) {
        const struct assay_change *c = &changes[i];
        assay_dtype_load(o->problem.inputs[c->input].dtype, host_at(o, 0, c->input), c->at, 1,
                         &o->unchanged[i]);
        touched[c->input] = true;
    }
    o->changes = changes;
    o->n_changes = n;
    make_changes(o);
    for (int32_t i = 0; i < o->problem.n_inputs; i++)
        if (touched[i]) {
            o->checksums[i] = assay_tensor_checksum(host_at(o, 0, i), o->layout.bytes[i]);
            push(o, 0, i);
        }
}

static void poison_host(assay_operands *o, int64_t set)
{
    for (int32_t i = o->problem.n_inputs; i < o->layout.n; i++)
        memset(host_at(o, set, i), poison_of(o->problem.outputs[i - o->problem.n_inputs].dtype),
               o->layout.bytes[i]);
}

/* On a device of its own: one image goes up, the rest are copies of it there. */
static enum assay_status fill_sets_there(assay_operands *o)
{
    write_guards(o, 0);
    poison_host(o, 0);
    enum assay_status status = push(o, 0, -1);
    for (int64_t set = 0; set < o->n_sets && status == ASSAY_OK; set++) {
        bind_set(o, set);
        if (set > 0 && o->device->driver->copy)
            status = o->device->driver->copy(o->device, o->base + (size_t)set * o->layout.stride,
                                             o->base, o->layout.stride, NULL);
        else if (set > 0)
            status = push(o, set, -1);
    }
    return status;
}

static enum assay_status fill_sets(assay_operands *o)
{
    assay_operands_refill(o, &o->problem, false);
    if (o->image)
        return fill_sets_there(o);
#pragma omp parallel for schedule(static)
    for (int64_t set = 0; set < o->n_sets; set++) {
        for (int32_t i = 0; i < o->problem.n_inputs && set > 0; i++)
            memcpy(tensor_at(o, set, i), tensor_at(o, 0, i), o->layout.bytes[i]);
        write_guards(o, set);
        poison_host(o, set);
        bind_set(o, set);
    }
    return ASSAY_OK;
}

static enum assay_status create(assay_device *device, const struct assay_op *op,
                                const struct assay_problem *problem, uint64_t seed, int64_t n_sets,
                                const assay_operands *like, assay_operands **out,
                                struct assay_error *err)
{
    enum assay_status status = ASSAY_ERR_NOMEM;
    assay_operands *o = assay_calloc(1, sizeof *o);
    if (!o)
        goto cleanup;
    o->device = device;
    o->like = like;
    o->op = op;
    o->seed = seed;
    o->problem = *problem;
    o->layout = lay_out(problem);
    o->n_sets = n_sets;
    o->total_bytes = assay_operands_bytes(problem, n_sets);
    o->sets = assay_calloc((size_t)n_sets, sizeof *o->sets);
    o->pointers = assay_calloc((size_t)n_sets * (size_t)o->layout.n, sizeof *o->pointers);
    if (!o->sets || !o->pointers)
        goto cleanup;
    void *base = NULL;
    status = assay_device_alloc(device, o->total_bytes, &base, err);
    if (status != ASSAY_OK)
        goto cleanup;
    o->base = base;
    if (device->driver->upload) {
        o->image = assay_calloc(1, o->layout.stride);
        if (!o->image) {
            status = ASSAY_ERR_NOMEM;
            goto cleanup;
        }
    }
    for (int32_t i = 0; i < problem->n_inputs; i++)
        o->inputs[i] = host_at(o, 0, i);
    status = fill_sets(o);
    if (status != ASSAY_OK) {
        assay_error_set(err, status, NULL, "the operands could not be copied to the device");
        goto cleanup;
    }
    *out = o;
    o = NULL;
cleanup:
    assay_operands_destroy(o);
    if (status == ASSAY_ERR_NOMEM)
        assay_error_set(err, status, NULL, "out of memory");
    return status;
}

enum assay_status assay_operands_create(assay_device *device, const struct assay_op *op,
                                        const struct assay_problem *problem, uint64_t seed,
                                        int64_t n_sets, assay_operands **out,
                                        struct assay_error *err)
{
    return create(device, op, problem, seed, n_sets, NULL, out, err);
}

static enum assay_status make_in_set(assay_operands *o, struct assay_error *err)
{
    assay_free(o->in_set);
    o->in_set = assay_calloc((size_t)o->n_sets, sizeof *o->in_set);
    return o->in_set ? ASSAY_OK : assay_error_nomem(err);
}

enum assay_status assay_operands_create_like(assay_device *device, const assay_operands *like,
                                             int64_t n_sets, assay_operands **out,
                                             struct assay_error *err)
{
    enum assay_status status =
        create(device, like->op, &like->problem, like->seed, n_sets, like, out, err);
    if (status == ASSAY_OK && like->others.other)
        status = make_in_set(*out, err);
    return status;
}

static void destroy_others(assay_operands *o)
{
    struct others *x = &o->others;
    assay_free(x->usual);
    assay_free(x->other);
    assay_free(o->in_set);
    o->in_set = NULL;
    *x = (struct others){0};
}

void assay_operands_destroy(assay_operands *operands)
{
    if (!operands)
        return;
    destroy_others(operands);
    assay_device_free(operands->device, operands->base, operands->total_bytes);
    assay_free(operands->image);
    assay_free(operands->sets);
    assay_free(operands->pointers);
    assay_free(operands);
}

const struct assay_args *assay_operands_sets(const assay_operands *o) { return o->sets; }
int64_t assay_operands_n_sets(const assay_operands *o) { return o->n_sets; }

const void *const *assay_operands_inputs(const assay_operands *o) { return o->inputs; }

const void *assay_operands_output(const assay_operands *o, int64_t set, int32_t output)
{
    return host_at(o, set, o->problem.n_inputs + output);
}

void assay_operands_poison(assay_operands *o, int64_t set)
{
    poison_host(o, set);
    for (int32_t i = o->problem.n_inputs; i < o->layout.n; i++)
        push(o, set, i);
}

void assay_operands_repair(assay_operands *o, int64_t set)
{
    fill_inputs(o, set);
    write_guards(o, set);
    push(o, set, -1);
    if (o->in_set)
        o->in_set[set] = ASSAY_VALUES_USUAL;
}

/* ---- other values ---------------------------------------------------------------------------- */

static size_t lay_out_others(const struct assay_op *op, const struct assay_problem *problem,
                             struct others *x)
{
    size_t at = 0;
    for (int32_t i = 0; i < problem->n_inputs; i++) {
        x->changes[i] = !assay_op_is_constant(op, problem, i);
        x->offset[i] = at;
        if (x->changes[i])
            at = assay_round_up_bytes(at + assay_tensor_bytes(&problem->inputs[i]), 64);
    }
    return x->bytes = at;
}

size_t assay_operands_others_bytes(const struct assay_op *op, const struct assay_problem *problem)
{
    struct others layout;
    return 2 * lay_out_others(op, problem, &layout);
}

/* Within the device's memory. */
static void bring_there(assay_operands *o, void *to, const void *from, size_t bytes)
{
    if (!o->image)
        memcpy(to, from, bytes);
    else if (o->pushed == ASSAY_OK && bytes > 0)
        o->pushed = o->device->driver->upload(o->device, to, from, bytes, NULL);
}

enum assay_status assay_operands_make_others(assay_operands *o, struct assay_error *err)
{
    struct others *x = &o->others;
    if (lay_out_others(o->op, &o->problem, x) == 0)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "all inputs are constant");
    x->usual = assay_calloc(1, x->bytes);
    x->other = assay_calloc(1, x->bytes);
    if (make_in_set(o, NULL) != ASSAY_OK || !x->usual || !x->other) {
        destroy_others(o);
        return assay_error_nomem(err);
    }
    for (int32_t i = 0; i < o->problem.n_inputs; i++) {
        x->inputs[i] = x->changes[i] ? x->other + x->offset[i] : o->inputs[i];
        if (x->changes[i])
            memcpy(x->usual + x->offset[i], o->inputs[i], o->layout.bytes[i]);
    }
    return ASSAY_OK;
}

bool assay_operands_have_others(const assay_operands *o) { return others_of(o)->other; }

/* A loss shows that terms were left out only where some matter more than others. */
static void spike_others(assay_operands *o, uint64_t seed)
{
    struct assay_spikes spikes;
    assay_spikes_choose(o->op, &o->problem, o->others.inputs, seed, 0, &spikes, NULL);
    o->others.allowed = spikes.allowed;
    for (int64_t i = 0; i < spikes.n; i++) {
        const struct assay_change *c = &spikes.changes[i];
        assay_dtype_store(o->problem.inputs[c->input].dtype, &c->value,
                          o->others.other + o->others.offset[c->input], c->at, 1);
    }
}

void assay_operands_fill_others(assay_operands *o, uint64_t seed)
{
    struct others *x = &o->others;
    for (int32_t i = 0; i < o->problem.n_inputs; i++)
        if (x->changes[i])
            assay_op_fill(o->op, &o->problem, i, x->other + x->offset[i], seed);
    if (o->op->mean)
        spike_others(o, seed);
    for (int32_t i = 0; i < o->problem.n_inputs; i++)
        if (x->changes[i])
            x->checksums[i] = assay_tensor_checksum(x->other + x->offset[i], o->layout.bytes[i]);
}

double assay_operands_others_allowed(const assay_operands *o) { return o->others.allowed; }

const void *const *assay_operands_other_inputs(const assay_operands *o) { return o->others.inputs; }

void assay_operands_put(assay_operands *o, int64_t set, bool others)
{
    const struct others *x = others_of(o);
    const char *from = others ? x->other : x->usual;
    for (int32_t i = 0; i < o->problem.n_inputs; i++)
        if (x->changes[i])
            bring_there(o, tensor_at(o, set, i), from + x->offset[i], o->layout.bytes[i]);
    o->in_set[set] = others ? ASSAY_VALUES_OTHERS : ASSAY_VALUES_USUAL;
}

/* The low bits of a type's fraction: flipped they change a value by a little. 0: it has none that
 * could be, as integers may be indices. */
static uint64_t low_bits(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_DTYPE_F64:
        return 0xffffffffff;
    case ASSAY_DTYPE_F32:
        return 0x0000ffff0000ffff;
    case ASSAY_DTYPE_F16:
        return 0x001f001f001f001f;
    case ASSAY_DTYPE_BF16:
        return 0x0003000300030003;
    default:
        return 0;
    }
}

static bool can_flip(const assay_operands *o, int32_t input)
{
    return low_bits(o->problem.inputs[input].dtype) && o->layout.bytes[input] >= 64;
}

static bool any_flips(const assay_operands *o)
{
    bool any = false;
    for (int32_t i = 0; i < o->problem.n_inputs; i++)
        any = any || (others_of(o)->changes[i] && can_flip(o, i));
    return any;
}

/* Infinities have no fraction: with one they would be no numbers. Whole words of them, as in masks,
 * stay as they are. */
static bool has_infinity(uint64_t word, enum assay_dtype dtype)
{
    double values[4];
    int64_t n = 8 / (int64_t)assay_dtype_bytes(dtype);
    assay_dtype_load(dtype, &word, 0, n, values);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return true;
    return false;
}

/* Has any value in the word the two highest bits of its exponent set? Seldom, but for infinities.
 */
static bool may_have_infinity(uint64_t word, enum assay_dtype dtype)
{
    size_t bytes = assay_dtype_bytes(dtype);
    uint64_t top = bytes == 8   ? 0x4000000000000000
                   : bytes == 4 ? 0x4000000040000000
                                : 0x4000400040004000;
    return word & (word << 1) & top;
}

/* Eight bytes at a time; what is left over stays. Without a mask everything does, for as much work.
 */
static void flip(char *to, const char *from, size_t bytes, enum assay_dtype dtype, uint64_t mask,
                 uint64_t seed)
{
    size_t words = bytes / 8;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, from + 8 * i, 8);
        if (!may_have_infinity(word, dtype) || !has_infinity(word, dtype))
            word ^= assay_rng_at(seed, i) & mask;
        memcpy(to + 8 * i, &word, 8);
    }
    memcpy(to + 8 * words, from + 8 * words, bytes - 8 * words);
}

/* New values of one input: the others, changed a little, or filled anew. */
static void make_fresh(const assay_operands *o, int32_t input, void *to, bool filled, uint64_t seed)
{
    const struct others *x = others_of(o);
    const char *from = x->other + x->offset[input];
    enum assay_dtype dtype = o->problem.inputs[input].dtype;
    if (filled)
        assay_op_fill(o->op, &o->problem, input, to, seed);
    else if (can_flip(o, input))
        flip(to, from, o->layout.bytes[input], dtype, low_bits(dtype), seed);
    else
        memcpy(to, from, o->layout.bytes[input]);
}

bool assay_operands_put_fresh(assay_operands *o, int64_t set, uint64_t seed)
{
    const struct others *x = others_of(o);
    bool flips = any_flips(o), fresh = false;
    for (int32_t i = 0; i < o->problem.n_inputs; i++) {
        size_t bytes = o->layout.bytes[i];
        void *made = x->changes[i] ? assay_malloc(bytes) : NULL;
        bool together = o->op->fills_together;
        bool filled = together || (!can_flip(o, i) && (!flips || bytes < PAGE));
        if (!made)
            continue;
        make_fresh(o, i, made, filled, together ? seed : seed + (uint64_t)i);
        bring_there(o, tensor_at(o, set, i), made, bytes);
        fresh = fresh || filled || can_flip(o, i);
        assay_free(made);
    }
    o->in_set[set] = fresh ? ASSAY_VALUES_FRESH : ASSAY_VALUES_OTHERS;
    return fresh;
}

void assay_operands_put_alike(assay_operands *o, int64_t set, bool others)
{
    const struct others *x = others_of(o);
    const char *from = others ? x->other : x->usual;
    for (int32_t i = 0; i < o->problem.n_inputs; i++) {
        size_t bytes = o->layout.bytes[i];
        const char *values = from + x->offset[i];
        char *made = x->changes[i] ? assay_malloc(bytes) : NULL;
        if (made)
            flip(made, values, bytes, o->problem.inputs[i].dtype, 0, 0);
        if (x->changes[i])
            bring_there(o, tensor_at(o, set, i), made ? made : values, bytes);
        assay_free(made);
    }
    o->in_set[set] = others ? ASSAY_VALUES_OTHERS : ASSAY_VALUES_USUAL;
}

enum assay_values assay_operands_values(const assay_operands *o, int64_t set)
{
    return o->in_set ? (enum assay_values)o->in_set[set] : ASSAY_VALUES_USUAL;
}

static bool intact(const char *guard) { return (unsigned char)*guard == GUARD_BYTE; }

/* "output 0", in the order of the layout. */
static enum assay_status broke_guard(const assay_operands *o, long long bytes, const char *side,
                                     int32_t tensor, struct assay_error *why)
{
    bool is_input = tensor < o->problem.n_inputs;
    return assay_error_set(why, ASSAY_ERR_CORRUPT, NULL, "wrote out of bounds: %lld bytes %s %s %d",
                           bytes, side, is_input ? "input" : "output",
                           is_input ? tensor : tensor - o->problem.n_inputs);
}

/* A gap lies between two tensors: whichever the broken bytes are nearer to was overrun. */
static enum assay_status check_gap(const assay_operands *o, int64_t set, int32_t gap,
                                   struct assay_error *why)
{
    char *start, *end;
    gap_at(o, set, gap, &start, &end);
    const char *first = start, *last = end;
    while (first < end && intact(first))
        first++;
    if (first == end)
        return ASSAY_OK;
    while (intact(last - 1))
        last--;
    bool before_next = gap == 0 || (gap < o->layout.n && end - last < first - start);
    return before_next ? broke_guard(o, end - first, "before the start of", gap, why)
                       : broke_guard(o, last - start, "past the end of", gap - 1, why);
}

static enum assay_status check_guards(const assay_operands *o, int64_t set, struct assay_error *why)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t gap = 0; gap <= o->layout.n && status == ASSAY_OK; gap++)
        status = check_gap(o, set, gap, why);
    return status;
}

static uint64_t checksum_in(const assay_operands *o, int64_t set, int32_t input)
{
    const struct others *x = others_of(o);
    bool other = x->changes[input] && assay_operands_values(o, set) == ASSAY_VALUES_OTHERS;
    return other ? x->checksums[input] : o->checksums[input];
}

/* Nobody knows what fresh values sum up to. */
static bool is_known(const assay_operands *o, int64_t set, int32_t input)
{
    return !others_of(o)->changes[input] || assay_operands_values(o, set) != ASSAY_VALUES_FRESH;
}

/* All inputs, or all but the weights. */
static enum assay_status check_inputs(const assay_operands *o, int64_t set, bool weights,
                                      struct assay_error *why)
{
    for (int32_t i = 0; i < o->problem.n_inputs; i++)
        if ((weights || others_of(o)->changes[i]) && is_known(o, set, i) &&
            assay_tensor_checksum(host_at(o, set, i), o->layout.bytes[i]) != checksum_in(o, set, i))
            return assay_error_set(why, ASSAY_ERR_CORRUPT, NULL, "changed input %d", i);
    return ASSAY_OK;
}

/* Elements that still hold the poison, and the first of them. */
static int64_t count_unwritten(const unsigned char *data, int64_t count, enum assay_dtype dtype,
                               int64_t *first)
{
    unsigned char poison[8];
    size_t size = assay_dtype_bytes(dtype);
    int64_t unwritten = 0;
    memset(poison, poison_of(dtype), sizeof poison);
    for (int64_t i = count - 1; i >= 0; i--)
        if (data[(size_t)i * size] == poison[0] &&
            memcmp(data + (size_t)i * size, poison, size) == 0) {
            unwritten++;
            *first = i;
        }
    return unwritten;
}

/* In types where the poison is an ordinary value (codes of 8 bits and less) it proves nothing. */
static bool poison_shows(enum assay_dtype dtype) { return assay_dtype_bytes(dtype) > 1; }

struct assay_unwritten assay_operands_unwritten(const assay_operands *o, int64_t set,
                                                struct assay_error *why)
{
    for (int32_t i = 0; i < o->problem.n_outputs; i++) {
        const struct assay_tensor *t = &o->problem.outputs[i];
        struct assay_unwritten left = {.of = assay_tensor_count(t)};
        int64_t first = -1;
        if (poison_shows(t->dtype))
            left.elements = count_unwritten(host_at(o, set, o->problem.n_inputs + i), left.of,
                                            t->dtype, &first);
        if (left.elements == 0)
            continue;
        char at[ASSAY_MAX_RANK * 21 + 3];
        assay_tensor_coordinates(t, first, at, sizeof at);
        assay_error_set(why, ASSAY_ERR_CORRUPT, NULL,
                        "left %lld of %lld elements of output %d unwritten, first at %s",
                        (long long)left.elements, (long long)left.of, i, at);
        return left;
    }
    return (struct assay_unwritten){0};
}

enum assay_status assay_operands_fetch(const assay_operands *o, int64_t set,
                                       struct assay_error *why)
{
    if (o->pushed != ASSAY_OK)
        return assay_error_set(why, o->pushed, NULL, "could not be copied to the device");
    enum assay_status status = pull(o, set);
    return status == ASSAY_OK
               ? status
               : assay_error_set(why, status, NULL, "could not be copied from the device");
}

enum assay_status assay_operands_fetch_outputs(const assay_operands *o, int64_t set,
                                               struct assay_error *why)
{
    enum assay_status status = o->pushed;
    for (int32_t i = o->problem.n_inputs; o->image && i < o->layout.n && status == ASSAY_OK; i++)
        status = o->device->driver->download(o->device, host_at(o, set, i), tensor_at(o, set, i),
                                             o->layout.bytes[i], why);
    return status == ASSAY_OK
               ? status
               : assay_error_set(why, status, NULL, "could not be copied from the device");
}

enum assay_status assay_operands_check_harm(const assay_operands *o, int64_t set,
                                            struct assay_error *why)
{
    enum assay_status status = assay_operands_fetch(o, set, why);
    if (status == ASSAY_OK)
        status = check_guards(o, set, why);
    return status == ASSAY_OK ? check_inputs(o, set, true, why) : status;
}

enum assay_status assay_operands_check(const assay_operands *o, int64_t set,
                                       struct assay_error *why)
{
    enum assay_status status = assay_operands_check_harm(o, set, why);
    if (status == ASSAY_OK && assay_operands_unwritten(o, set, why).elements > 0)
        status = ASSAY_ERR_CORRUPT;
    return status;
}

enum assay_status assay_operands_check_all(const assay_operands *o, struct assay_error *why)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t set = 0; set < o->n_sets && status == ASSAY_OK; set++)
        status = assay_operands_check_harm(o, set, why);
    return status;
}

enum assay_status assay_operands_check_put(const assay_operands *o, int64_t set,
                                           struct assay_error *why)
{
    enum assay_status status = assay_operands_fetch(o, set, why);
    return status == ASSAY_OK ? check_inputs(o, set, false, why) : status;
}
