/* verify.h: is the output right? The reference of a problem, computed once in double on the whole
 * output or on a seeded part of it, and comparisons of kernels' outputs with it.
 *
 * The check checks itself: outputs that are known to be wrong (zeros, an output nobody wrote, a
 * permuted result) must be rejected, or the problem cannot tell right from wrong. */
#ifndef ASSAY_BENCH_VERIFY_H
#define ASSAY_BENCH_VERIFY_H

#include "op/op.h"

typedef struct assay_reference assay_reference;

/* Elements of the output that are compared at the most; larger outputs are compared in part. */
#define ASSAY_VERIFY_MOST (INT64_C(1) << 20)

/* How an output is compared. */
struct assay_reference_how {
    uint64_t seed; /* of the part that is chosen; the same seed chooses the same part */
    int64_t most;  /* elements, see ASSAY_VERIFY_MOST */
    bool integers; /* the inputs are the op's integer-valued ones */
    bool exact;    /* and then everything is exact: bit for bit */
    int32_t output;
    double allowed; /* added to the relative tolerance */
    int64_t share;  /* one part in so many of what would be worth comparing; 0 is 1 */
};

enum assay_status assay_reference_create(const struct assay_op *op,
                                         const struct assay_problem *problem, const void *const *in,
                                         const struct assay_reference_how *how,
                                         assay_reference **out, struct assay_error *err);
/* Those of all outputs, for ops that compute them together (reference_all); for
 * assay_reference_destroy also where it fails. */
enum assay_status assay_reference_create_all(const struct assay_op *op,
                                             const struct assay_problem *problem,
                                             const void *const *in, uint64_t seed,
                                             assay_reference **out, struct assay_error *err);
/* The reference of the same problem, whose output is one number, on inputs that change it by
 * `change`; `allowed` is added to its relative tolerance. */
enum assay_status assay_reference_moved(const assay_reference *like, double change, double allowed,
                                        assay_reference **out, struct assay_error *err);
void assay_reference_destroy(assay_reference *reference);

/* Elements compared, and how many the output has. */
int64_t assay_reference_compared(const assay_reference *reference);
int64_t assay_reference_of(const assay_reference *reference);

/* The elements of an output worth comparing: fewer where each takes the reference long. */
int64_t assay_reference_most(const struct assay_op *op, const struct assay_problem *problem,
                             int32_t output);

/* Compares the output with the reference. */
void assay_reference_compare(const assay_reference *reference, const void *got,
                             struct assay_comparison *out);

/* What a comparison that failed found: "12 of 1000 wrong, first at [3,17,255]: got 0, expected 1.5
 * (within 0.015), greatest error 2.1". `when` follows "wrong": "" or " after timing". */
void assay_reference_describe(const assay_reference *reference,
                              const struct assay_comparison *found, const char *when, char *buf,
                              size_t size);

/* Copies the elements of an output that are compared, and no others, to the same
 * offsets of another. */
void assay_reference_copy(const assay_reference *reference, const void *from, void *to);

/* Do the known-wrong outputs fail? ASSAY_OK, or ASSAY_UNSUPPORTED with a sentence that says which
 * wrong output would have passed. */
enum assay_status assay_reference_controls(const assay_reference *reference,
                                           struct assay_error *why);
/* The same of a tolerance that is an author's own: an output a tenth off, or by some units of its
 * type, must fail, too. */
enum assay_status assay_reference_control_author(const assay_reference *reference,
                                                 struct assay_error *why);

#endif
