/* graph.h: a model as values and the nodes that make them.
 *
 * A model's build() makes one for given sizes with the functions below. The first mistake is kept
 * in `error`, and everything after it does nothing, so build() need not check. Every value is a
 * matrix [rows, columns]. Images have their channels last: batch * height * width rows of them. */
#ifndef ASSAY_MODEL_GRAPH_H
#define ASSAY_MODEL_GRAPH_H

#include "op/op.h"

/* Of a model, and of its training graph (training.h), which is made of it. A graph is too large for
 * the stack. */
enum {
    ASSAY_MODEL_VALUES = 64,
    ASSAY_MODEL_NODES = 40,
    ASSAY_GRAPH_VALUES = 384,
    ASSAY_GRAPH_NODES = 192
};

enum assay_value_kind {
    ASSAY_VALUE_INPUT,
    ASSAY_VALUE_WEIGHT, /* of a linear: stored as the recipe says */
    ASSAY_VALUE_FILTER, /* of a convolution: constant, never quantised */
    ASSAY_VALUE_SCALE,  /* a norm's or bias's vector: constant, never quantised */
    ASSAY_VALUE_ONES,   /* constants that are what they say */
    ASSAY_VALUE_ZEROS,
    ASSAY_VALUE_INNER /* made by a node */
};

struct assay_value {
    enum assay_value_kind kind;
    struct assay_tensor tensor;
    int32_t input;    /* which of the model's inputs; -1: none of them */
    int32_t output;   /* which of its outputs; -1: none of them */
    bool kept;        /* of a training graph: the forward pass leaves it to the backward pass */
    bool around_one;  /* of a SCALE: values around 1, not 0 */
    double deviation; /* of a WEIGHT's or FILTER's values */
};

struct assay_node {
    const struct assay_op *op;
    struct assay_problem problem; /* without a recipe */
    int32_t in[ASSAY_MAX_INPUTS];
    int32_t out[ASSAY_OP_OUTPUTS];
};

struct assay_graph {
    enum assay_dtype dtype;
    int32_t threads;
    struct assay_value values[ASSAY_GRAPH_VALUES];
    int32_t n_values;
    struct assay_node nodes[ASSAY_GRAPH_NODES];
    int32_t n_nodes;
    int32_t n_inputs;   /* of the model: x and what is constant */
    int32_t n_outputs;  /* of the model */
    int32_t n_forward;  /* the first nodes that are the forward pass; all of them but in training */
    bool runs_backward; /* what runs is the nodes behind them; they make what these need */
    int32_t output;     /* the value that the forward pass gives; -1: not yet */
    int64_t parts;      /* equal parts of every value's rows that nothing but themselves depend on:
                           sequences, images; 0: each row is one */
    struct assay_error error;
};

/* An empty one; NULL without memory. For assay_free. */
struct assay_graph *assay_graph_create(enum assay_dtype dtype, int32_t threads);

/* A value of the graph, and the node that makes a value; -1: none does. */
int32_t assay_graph_value(struct assay_graph *graph, enum assay_value_kind kind,
                          const struct assay_tensor *tensor);
int32_t assay_graph_maker(const struct assay_graph *graph, int32_t value);
/* The nodes from this one on are what is measured. */
int32_t assay_graph_first_timed(const struct assay_graph *graph);
/* What a node of a training graph is part of: "forward", "loss", "backward", "optimizer". */
const char *assay_graph_phase(const struct assay_graph *graph, int32_t node);

/* Each gives the value it makes, or -1 after a mistake. */
int32_t assay_graph_input(struct assay_graph *graph, int64_t rows, int64_t columns);
/* A node of any op that has one (struct assay_op_node): as many values as it takes, and the sizes
 * of its keys in their order. */
int32_t assay_graph_node(struct assay_graph *graph, const struct assay_op *op, const char *mode,
                         const int32_t *values, const int64_t *sizes);
/* x W^T with a weight of its own; `mode` as of the op linear, without add: "", "bias", "gelu". */
int32_t assay_graph_linear(struct assay_graph *graph, int32_t x, int64_t features,
                           const char *mode);
int32_t assay_graph_layernorm(struct assay_graph *graph, int32_t x); /* without weights */
int32_t assay_graph_rmsnorm(struct assay_graph *graph, int32_t x);   /* with a weight */
/* The same with gamma and beta, and with an eps of the model's own. */
int32_t assay_graph_layernorm_affine(struct assay_graph *graph, int32_t x);
int32_t assay_graph_rmsnorm_eps(struct assay_graph *graph, int32_t x, double eps);
/* An op of one element in, one out: "gelu"; or of two: "add". */
int32_t assay_graph_unary(struct assay_graph *graph, const char *op, int32_t x);
int32_t assay_graph_binary(struct assay_graph *graph, const char *op, int32_t x, int32_t y);
/* Of qkv [batch * seq, 3 * heads * dim]; gives [batch * seq, heads * dim]. */
int32_t assay_graph_attention(struct assay_graph *graph, int32_t qkv, int64_t seq, int64_t heads,
                              bool causal);
/* Each row's first half times silu of its second. */
int32_t assay_graph_swiglu(struct assay_graph *graph, int32_t x);

/* What x is an image of. */
struct assay_image {
    int64_t batch, height, width;
};
/* `mode` as of the op conv2d, without add: "", "bias", "pad0+bias". */
int32_t assay_graph_conv2d(struct assay_graph *graph, int32_t x, struct assay_image image,
                           int64_t out, int64_t kernel, int64_t stride, const char *mode);
int32_t assay_graph_depthwise(struct assay_graph *graph, int32_t x, struct assay_image image,
                              int64_t kernel, int64_t stride, const char *mode);
/* With gamma and beta; `mode` as of the op: "", "silu". */
int32_t assay_graph_groupnorm(struct assay_graph *graph, int32_t x, struct assay_image image,
                              int64_t groups, const char *mode);
void assay_graph_output(struct assay_graph *graph, int32_t value);

#endif
