/* operands.h: the tensors a group is measured on: filled from the seed, guarded on both sides,
 * copied as often as a cold measurement needs, and checked for what a kernel must not do to them.
 *
 * Where the device's memory is not the host's, the host keeps an image of one set: it is filled and
 * uploaded, or downloaded and looked at. */
#ifndef ASSAY_BENCH_OPERANDS_H
#define ASSAY_BENCH_OPERANDS_H

#include "device/device.h"
#include "op/op.h"

typedef struct assay_operands assay_operands;

/* Bytes that `n_sets` sets take, guards and padding included. */
size_t assay_operands_bytes(const struct assay_problem *problem, int64_t n_sets);

/* How many sets it takes to rotate through more than twice `cache_bytes`; at least 2. */
int64_t assay_operands_cold_sets(const struct assay_problem *problem, size_t cache_bytes);

/* Fills set 0 from the seed and copies it to the others. */
enum assay_status assay_operands_create(assay_device *device, const struct assay_op *op,
                                        const struct assay_problem *problem, uint64_t seed,
                                        int64_t n_sets, assay_operands **out,
                                        struct assay_error *err);
/* The same tensors once more, on another device, filled as `like` is and with its other values.
 * What is done to the inputs of both is done to `like` first. */
enum assay_status assay_operands_create_like(assay_device *device, const assay_operands *like,
                                             int64_t n_sets, assay_operands **out,
                                             struct assay_error *err);
void assay_operands_destroy(assay_operands *operands);

/* Fills set 0 alone anew: with the op's integer-valued inputs for this problem (the one of create,
 * with a recipe), or, where `exact` is false, as create did. */
void assay_operands_refill(assay_operands *operands, const struct assay_problem *problem,
                           bool exact);

/* Changes elements of set 0's inputs, after those of the last call were put back; n = 0 puts the
 * inputs back as they were filled. At most ASSAY_SPIKES_MOST; `changes` stay the caller's and must
 * live until the next call. */
void assay_operands_change(assay_operands *operands, const struct assay_change *changes, int64_t n);

/* The sets, for struct assay_work: the device's addresses. */
const struct assay_args *assay_operands_sets(const assay_operands *operands);
int64_t assay_operands_n_sets(const assay_operands *operands);

/* The inputs of set 0 and an output of a set as the host sees them. Inputs until another set is
 * fetched; outputs of the set that was fetched last. */
const void *const *assay_operands_inputs(const assay_operands *operands);
const void *assay_operands_output(const assay_operands *operands, int64_t set, int32_t output);

/* Downloads a set's outputs alone, as assay_operands_fetch does all of it. */
enum assay_status assay_operands_fetch_outputs(const assay_operands *operands, int64_t set,
                                               struct assay_error *why);

/* Downloads a set to where the host sees it, as every check does. */
enum assay_status assay_operands_fetch(const assay_operands *operands, int64_t set,
                                       struct assay_error *why);

/* Fills the outputs of a set with a pattern that is NaN in every float type. */
void assay_operands_poison(assay_operands *operands, int64_t set);

/* What a kernel must not have done to a set: changed an input (from what was last put there),
 * written outside an output, left an output unwritten (only checked after a poison). ASSAY_OK, or
 * ASSAY_ERR_CORRUPT with a sentence.
 */
enum assay_status assay_operands_check(const assay_operands *operands, int64_t set,
                                       struct assay_error *why);

/* Its two halves: what it did to what is not its own; and then, of the first output of the fetched
 * set that still holds poison, so many elements of so many (0: there is none). */
struct assay_unwritten {
    int64_t elements, of;
};
enum assay_status assay_operands_check_harm(const assay_operands *operands, int64_t set,
                                            struct assay_error *why);
struct assay_unwritten assay_operands_unwritten(const assay_operands *operands, int64_t set,
                                                struct assay_error *why);

/* Other values for every input other than weights, so that a kernel can be run on new inputs:
 * filled from `seed` when they are made, and again whenever they are filled. Takes twice the memory
 * of those inputs; NOMEM where it cannot be had. */
enum assay_status assay_operands_make_others(assay_operands *operands, struct assay_error *err);
bool assay_operands_have_others(const assay_operands *operands);
size_t assay_operands_others_bytes(const struct assay_op *op, const struct assay_problem *problem);
void assay_operands_fill_others(assay_operands *operands, uint64_t seed);
/* The others of a loss have spikes (parts.h): what their references allow for them. */
double assay_operands_others_allowed(const assay_operands *operands);
/* All inputs as the host sees them, with the other values; as long as those of set 0 are. */
const void *const *assay_operands_other_inputs(const assay_operands *operands);
/* Puts the others, or the usual ones, into a set. Its outputs stay as they are. */
void assay_operands_put(assay_operands *operands, int64_t set, bool others);
/* The same for as much work, and as much of the caches, as fresh values take, which come next. */
void assay_operands_put_alike(assay_operands *operands, int64_t set, bool others);
/* Values that no kernel has seen, and whose outputs nobody knows: the others, each changed a little
 * by `seed`, or filled anew from it. False: there are none. */
bool assay_operands_put_fresh(assay_operands *operands, int64_t set, uint64_t seed);
enum assay_values { ASSAY_VALUES_USUAL, ASSAY_VALUES_OTHERS, ASSAY_VALUES_FRESH };
enum assay_values assay_operands_values(const assay_operands *operands, int64_t set);

/* Is what was put there still there? Like assay_operands_check, of nothing else. */
enum assay_status assay_operands_check_put(const assay_operands *operands, int64_t set,
                                           struct assay_error *why);

/* Puts a set's inputs and guards back as they were, so that the next kernel is not blamed for the
 * last one's damage. */
void assay_operands_repair(assay_operands *operands, int64_t set);

/* The guards and inputs of every set, for after a cold measurement. */
enum assay_status assay_operands_check_all(const assay_operands *operands, struct assay_error *why);

#endif
