/* node.h: an op as a node of a model.
 *
 * Every value of a model is a matrix [rows, columns]; images have their channels last, batch *
 * height * width rows of them. A node takes one or two values and the sizes that its keys name, and
 * from these come the op's axes. What else the op needs, weights, biases and the vectors of norms,
 * the model makes by itself. */
#ifndef ASSAY_OP_NODE_H
#define ASSAY_OP_NODE_H

#include "op/op.h"

enum { ASSAY_NODE_KEYS = 6, ASSAY_NODE_VALUES = 2 };

/* A size that a node is given under a key of its own: "features". */
struct assay_node_key {
    const char *name;
    int64_t usual; /* where it is not given; 0: it must be */
};

/* What a node is made from. */
struct assay_node_sizes {
    int64_t rows, columns; /* of its first value */
    int64_t given[ASSAY_NODE_KEYS];
};

/* A neighbour that the op can do too, as one of its modes: a `compiled` model makes one node of
 * both. The neighbour must have its usual constants. */
struct assay_absorbed {
    const char *op;
    int32_t param; /* of this op: what the mode sets, 0 before */
    double value;
    uint32_t
        unless;  /* a bit for each param that must be 0, because it comes behind the neighbour */
    bool before; /* the neighbour gives this op's first input; else it takes its output */
    /* The input that the neighbour's other operand becomes; -1 in a problem without it. NULL: what
     * operands it has are ones and zeros. */
    int32_t (*input)(const struct assay_problem *problem);
};

struct assay_op_node {
    int32_t values;                              /* 1, or 2 matrices of the same sizes */
    struct assay_node_key keys[ASSAY_NODE_KEYS]; /* up to the first without a name */
    bool has_mode;                               /* it takes a mode, as the op does */
    const char *flag;          /* a key that chooses between two modes: "causal" */
    const char *flag_modes[2]; /* without it and with it */

    /* The op's axes. NULL: [1, rows, columns]. */
    enum assay_status (*axes)(const struct assay_node_sizes *sizes, int64_t *axes,
                              struct assay_error *err);
    /* Why a mode cannot be a node's; NULL where it can. Optional. */
    const char *(*refuse)(const struct assay_problem *problem);

    int32_t rows_axis; /* the axis that counts the rows, or the parts where it mixes them */
    bool mixes_rows;   /* an output row depends on other rows of its sequence or image */
    int32_t joined;    /* axes of the output that make a column together; 0: the last one alone */

    int32_t gain;      /* the input around 1 that a norm multiplies by; 0: there is none */
    bool unit_weights; /* a description's node has ones for its gain and zeros for the rest */

    const struct assay_absorbed *absorbs; /* up to the first without an op; NULL: nothing */

    /* How large the partial sums become for values of the order of 1. NULL: 4. */
    double (*size)(const struct assay_problem *problem);
    /* The whole of output 0 from inputs in f32, where that is faster than row by row. Optional. */
    enum assay_status (*whole)(const struct assay_problem *problem, const void *const *in,
                               double *out, struct assay_error *err);
};

/* A matrix in, one of the same sizes out. */
extern const struct assay_op_node assay_node_unary;

/* The field `axes` of ops of images: batch, height, width, channels, then what other keys name. The
 * first three keys are batch, height and width. */
enum assay_status assay_node_image_axes(const struct assay_node_sizes *sizes, int64_t *axes,
                                        struct assay_error *err);

#endif
