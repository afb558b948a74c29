/* model.h: models: small graphs of ops that are measured as one thing.
 *
 * A model is one file src/model/NAME.c that defines `const struct assay_model assay_model_NAME` and
 * the line ASSAY_MODEL(NAME) in model_list.h; or a description in a configuration (see
 * assay_model_add). Its sizes are [m, k, n] as those of `linear`, or axes of its own.
 *
 * For the harness a model is an op: assay_model_op gives its tensors, fills, reference, cost and
 * tolerance, under the name "model:NAME". Its kernels are two executors: `eager` runs the nodes one
 * after the other, each with the best kernel there is for it; `compiled` runs the graph after
 * fusing neighbours and with memory planned for what lies between nodes (fuse.c). */
#ifndef ASSAY_MODEL_MODEL_H
#define ASSAY_MODEL_MODEL_H

#include "kernel/host.h"
#include "model/graph.h"
#include "op/op_name.h"

struct assay_model {
    const char *name;    /* "ln_linear_gelu" */
    const char *title;   /* "LayerNorm + linear + GELU" */
    const char *summary; /* the formula in one line */
    void (*build)(struct assay_graph *graph, int64_t m, int64_t k, int64_t n);
    /* Instead of `build`, for models that are data or have axes of their own. */
    void (*build_from)(struct assay_graph *graph, const struct assay_model *model,
                       const int64_t *axes);
    const char *axis_names[ASSAY_MAX_AXES]; /* none: m, k, n */
    uint32_t zero_axes;                     /* bit i: axis i may be 0 */
};

/* Built-in models first, then added ones. */
int64_t assay_model_count(void);
const struct assay_model *assay_model_at(int64_t index);

/* By name, with or without the prefix, any case. The error names the nearest. */
enum assay_status assay_model_find(const char *name, const struct assay_model **out,
                                   struct assay_error *err);

/* The same, but only those whose sizes are m, k and n; the error says what others are for. */
enum assay_status assay_model_find_mkn(const char *name, const struct assay_model **out,
                                       struct assay_error *err);

/* Adds a model described as JSON:
 *   {"name": "mine", "inputs": {"x": ["m", "k"]},
 *    "nodes": [{"op": "linear", "input": "x", "name": "h", "features": "4*k", "mode": "bias"},
 *              {"op": "gelu"},
 *              {"op": "linear", "features": "n"},
 *              {"op": "attention", "seq": 16, "heads": 8, "causal": true},
 *              {"op": "add", "inputs": ["h", "x"]}]}
 * A node's input is, where not given, the node before; its name, where not given, nobody needs. The
 * last node is the output. Sizes are numbers, or expressions (base/expression.h) of the axes: m, k
 * and n, or, where the description has "parameters": {"batch": 4, "seq_len": 1024}, these, in their
 * order, each with a size to try the description with; an axis whose size is 0 there may be 0. An
 * error's `where` is "nodes[3].features", so that a reader of another format can point at its own
 * place.
 * The same name again with the same description is fine; with another one it is an error. */
enum assay_status assay_model_add(const char *json, struct assay_error *err);

/* The op with this name: of a model where it starts with the prefix, else assay_op_find. NULL where
 * there is none. */
const struct assay_op *assay_model_op(const char *name);

/* The executors for a problem of a model, like assay_kernel_choose: `eager`, and `compiled` where
 * that is wanted; where the choice names executors, those. The problem's host gives them device and
 * kernels; where it autotunes, `compiled` times the kernels that can run each node and keeps the
 * fastest. */
int64_t assay_model_choose(const struct assay_problem *problem, bool compiled,
                           const struct assay_kernel_choice *choice, struct assay_contender *out,
                           int64_t max);

/* "eager" or "compiled"? */
bool assay_model_is_executor(const char *implementation);

/* Bytes an eager executor takes for what lies between its nodes, and for what it keeps of each set
 * of operands before a backward pass. */
double assay_model_scratch_bytes(const struct assay_problem *problem);
double assay_model_kept_bytes(const struct assay_problem *problem);
/* Of an executor of a pass in training: the bytes that the forward pass leaves to the backward
 * pass, and the most that is held for what lies between nodes. */
struct assay_model_memory {
    double saved_bytes, planned_bytes;
};
struct assay_model_memory assay_model_memory(const void *state);
/* The nodes that an executor, set up, runs in this order; a recorder's spans number them. */
struct assay_model_step {
    const struct assay_op *op;
    const struct assay_kernel *kernel;
    const struct assay_problem *problem; /* with the recipe where it takes one */
    const char *phase; /* in training: "forward", "loss", "backward", "optimizer"; else "" */
};
int64_t assay_model_steps(const void *state);
void assay_model_step(const void *state, int64_t index, struct assay_model_step *out);
/* A value of an executor's that lies in one of its blocks: what lies between nodes in the first, in
 * a backward pass what the forward pass has left in the other. */
struct assay_model_buffer {
    int32_t node, output;  /* that makes it, and as which of its outputs */
    int32_t last;          /* the last node that it is kept for */
    int64_t offset, bytes; /* in its block, padding included */
    bool apart;            /* in the other block */
    bool saved, gradient;  /* left to the backward pass; made by it */
};
int64_t assay_model_buffers(const void *state); /* how many at the most */
/* False: this one is an output of the model, or needs no memory. */
bool assay_model_buffer(const void *state, int64_t index, struct assay_model_buffer *out);
/* Bytes of both blocks. */
void assay_model_blocks(const void *state, int64_t *planned, int64_t *apart);
/* Does any of its kernels read this input of the model as it is, because it prepares nothing? */
bool assay_model_reads_plain(const void *state, int32_t input);
/* Bytes of the weights that this one's kernels read as they are, because they prepare none. */
double assay_model_plain_weight_bytes(const void *state);

#endif
