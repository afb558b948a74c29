/* op.h: what an op is: what is computed, not how.
 *
 * An op gives its tensors' shapes, its inputs' fills, a slow obvious reference in double, the least
 * bytes and operations it costs, and how exact an output must be; and whatever else anybody needs
 * to know of it: usual shapes, words for help, a skeleton, its part in a model. To add one: a file
 * src/op/NAME.c that defines `const struct assay_op assay_op_NAME`, and the line ASSAY_OP(NAME) in
 * op_list.h. */
#ifndef ASSAY_OP_OP_H
#define ASSAY_OP_OP_H

#include "tensor/compare.h"
#include <assay/assay_kernel.h>

/* Which arithmetic an op's operations need: each kind has a ceiling of its own. */
enum assay_math {
    ASSAY_MATH_F32,
    ASSAY_MATH_F16,
    ASSAY_MATH_BF16, /* products of bf16 summed in f32 */
    ASSAY_MATH_S8,   /* products of 8-bit integers summed in s32 */
    ASSAY_MATH_F8,   /* products of 8-bit floats summed in f32 */
    ASSAY_MATH_KINDS
};

/* The least an op must move and compute, whatever the kernel. */
struct assay_cost {
    double bytes_read, bytes_written;
    double flops;
    enum assay_math math;
    double weight_bytes; /* of bytes_read, those of weights as stored; 0 where there are none */
    double saved_bytes;  /* for the backward pass, by a forward op in training; 0: not known */
};

/* One element of an input, and another value for it. */
struct assay_change {
    int32_t input;
    int64_t at;
    double value; /* as the input's dtype holds it */
};

/* Of an op whose one output is the mean of so many terms that a kernel could leave some out and be
 * hardly off. */
struct assay_mean {
    int64_t (*terms)(const struct assay_problem *problem);
    /* Terms that lie in one row of the inputs. */
    int64_t (*row)(const struct assay_problem *problem);
    /* One of them, in double; with a change that is not made yet, or NULL. */
    double (*term)(const struct assay_problem *problem, const void *const *in, int64_t term,
                   const struct assay_change *change);
    /* A change after which the term is about `value`, or as much of it as the dtype can hold. */
    struct assay_change (*raise)(const struct assay_problem *problem, const void *const *in,
                                 int64_t term, double value);
};

/* A problem worked out by hand, for tests: [1, rows, dim] in f64, the inputs in the op's order. */
struct assay_op_example {
    int64_t rows, dim;
    double in[6][8];
    double want[8];
};

/* What `assay kernel --new` makes a kernel from. */
struct assay_skeleton {
    const char *body;    /* share/templates/BODY.c.in and BODY.cu.in; NULL: there is none */
    const char *formula; /* @FORMULA@ of templates that have it: an expression of C and CUDA */
    const char *shapes;  /* one to look at and an awkward one, small; NULL: those of rows */
};

/* The most outputs of an op that is no model. */
enum { ASSAY_OP_OUTPUTS = 4 };

/* An output behind the first one: like reference, reference_sums (optional) and tolerance of that.
 */
struct assay_op_output {
    void (*reference)(const struct assay_problem *problem, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out);
    void (*reference_sums)(const struct assay_problem *problem, const void *const *in, int64_t row,
                           int64_t first, int64_t n, double *out, double *sizes);
    struct assay_tolerance (*tolerance)(const struct assay_problem *problem);
};

/* Which part of training an op is. A gradient is an op of its own, which stands in the file of its
 * forward op and is measured like any other. */
enum assay_pass {
    ASSAY_PASS_FORWARD,
    ASSAY_PASS_BACKWARD,
    ASSAY_PASS_BOTH, /* the output and the gradient at once: a loss */
    ASSAY_PASS_STEP, /* of a model: both, and the optimizer */
    ASSAY_PASSES
};
/* "forward", "backward", "both", "step" */
const char *assay_pass_name(enum assay_pass pass);

/* Where an input of a gradient comes from. */
enum assay_gradient_source {
    ASSAY_FROM_GRADIENT, /* of the forward op's output `index` */
    ASSAY_FROM_INPUT,    /* the forward op's input `index` */
    ASSAY_FROM_OUTPUT,   /* its output `index` */
    ASSAY_FROM_SAVED     /* a statistic that the forward pass saves: its own number `index` */
};
struct assay_gradient_input {
    enum assay_gradient_source source;
    int32_t index;
};

/* How a gradient hangs together with its forward op. Both have the same axes. Where the gradient
 * has modes that leave operands out, this is of those that do not. */
struct assay_gradient {
    enum assay_pass pass; /* not forward */
    const char *forward;  /* "layernorm" */
    /* The forward op that saves what this needs, as its outputs behind the first:
     * "layernorm_training". NULL: nothing is saved. */
    const char *training;
    /* What holds in a mode whose operands are others; it gives NULL, or is NULL, where this does.
     */
    const struct assay_gradient *(*in_mode)(const struct assay_problem *problem);
    struct assay_gradient_input in[ASSAY_MAX_INPUTS];
    /* Output i is the gradient of this input of the forward op; -1: it is that op's own output. */
    int32_t of[ASSAY_OP_OUTPUTS];
    bool passes_on; /* each output is the gradient of the output as it is: in a model no node */
    /* Sets the params of the mode that has the gradients of these inputs only (bit i: input i).
     * NULL: there is no such mode. */
    void (*only)(uint32_t wanted, double *params);
};

/* What an output must be: its elements, and how far off each may be; for assay_free. */
struct assay_expected {
    double *values;
    double *sizes; /* what the tolerance's `summed` refers to; NULL: none */
    struct assay_tolerance tolerance;
};

struct assay_op_node; /* op/node.h */

struct assay_op {
    const char *name;           /* "layernorm" */
    const char *title;          /* "LayerNorm", for reports made for people */
    const char *summary;        /* the formula in one line */
    const char *const *aliases; /* NULL-terminated or NULL; two ops may share one (loss) */
    const char *axis_names[ASSAY_MAX_AXES]; /* "batch", "seq", "dim" */
    const char *param_names[ASSAY_MAX_PARAMS];
    double params[ASSAY_MAX_PARAMS];

    /* Fills in n_inputs, n_outputs, inputs and outputs from dtype and axes. */
    void (*shapes)(struct assay_problem *problem);

    /* Fills input `index`. Optional: NULL fills each with nearly normal values. */
    void (*fill)(const struct assay_problem *problem, int32_t index, void *data, uint64_t seed);
    bool fills_together; /* values of different inputs belong together: those of one seed */

    /* Output 0 seen as rows: row `row`, its elements [first, first + n), in double. `in` are the
     * inputs in their own dtypes. An op whose output is one number has one row of one element.
     */
    void (*reference)(const struct assay_problem *problem, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out);

    struct assay_cost (*cost)(const struct assay_problem *problem);
    struct assay_tolerance (*tolerance)(const struct assay_problem *problem);

    /* From here on all are optional. */

    uint64_t dtypes; /* the dtypes it computes in; 0: f32, f16, bf16, and f64 in tests */

    /* An op that comes in several modes ("s8-row", "bias+gelu") reads one of them into the params.
     * Modes are part of the problem, not of the variant. The error lists them. `modes` is that list
     * in words, for help. */
    const char *modes;
    enum assay_status (*set_mode)(struct assay_problem *problem, const char *mode,
                                  struct assay_error *err);

    uint32_t zero_axes; /* bit i: axis i may be 0, like the padding of an image */

    /* Sizes it cannot have: ASSAY_ERR_INVALID and a sentence. Asked before `shapes`. */
    enum assay_status (*check)(const struct assay_problem *problem, struct assay_error *err);

    /* The op's weights can be stored by a recipe (src/quant): its variants are then implementation
     * times recipe. */
    bool takes_recipes;
    bool trains; /* they are recipes of training steps (assay_recipe_trains) */
    /* Of a forward op whose weights may be stored: the op of the same output in a training step,
     * where nothing is a weight: "linear_training". NULL: it is itself. */
    const char *step_op;
    /* Is this input such a weight? Required with takes_recipes. */
    bool (*is_weight)(const struct assay_problem *problem, int32_t input);
    /* Does this input stay the same from call to call, so that a kernel's `prepare` may take it in?
     * NULL: weights do. */
    bool (*is_constant)(const struct assay_problem *problem, int32_t input);

    /* Integer-valued inputs for which this problem, recipe included, comes out exact in every
     * accumulator, so that outputs can be compared bit for bit. */
    void (*fill_exact)(const struct assay_problem *problem, int32_t index, void *data,
                       uint64_t seed);
    bool (*can_be_exact)(const struct assay_problem *problem); /* required with fill_exact */

    /* The same problem as `plain` with inputs that the reference of output `output` can use
     * directly: weights and activations quantised and dequantised, in f32. A gradient's outputs may
     * take the same operand with other codes. plain_in[i] are the caller's to free with assay_free,
     * or NULL where in[i] is used as it is. */
    enum assay_status (*dequantised)(const struct assay_problem *problem, const void *const *in,
                                     int32_t output, struct assay_problem *plain, void **plain_in,
                                     struct assay_error *err);

    /* The same as `reference`, for ops whose elements are sums: sizes[i] is how large the partial
     * sums on the way to element i are, whatever their order (assay_op_sum_size); the tolerance's
     * `summed` refers to it. */
    void (*reference_sums)(const struct assay_problem *problem, const void *const *in, int64_t row,
                           int64_t first, int64_t n, double *out, double *sizes);

    /* Instead of `reference`, for ops whose rows share work: output 0 is seen as blocks of
     * row_block() whole rows, and those numbered `blocks` are computed, recipe included, one behind
     * the other. `sizes` as above; it may be NULL, and is left alone by ops that have none. */
    int64_t (*row_block)(const struct assay_problem *problem);
    enum assay_status (*reference_blocks)(const struct assay_problem *problem,
                                          const void *const *in, const int64_t *blocks, int64_t n,
                                          double *out, double *sizes, struct assay_error *err);

    /* Outputs 1, 2, …, for ops that have them. */
    struct assay_op_output more[ASSAY_OP_OUTPUTS - 1];

    /* Instead of all other references, for ops that can only compute all of it: every element of
     * output `output`. */
    enum assay_status (*reference_whole)(const struct assay_problem *problem, const void *const *in,
                                         int32_t output, double *out, struct assay_error *err);
    /* Instead of all references and tolerances, for ops that compute all outputs together. */
    enum assay_status (*reference_all)(const struct assay_problem *problem, const void *const *in,
                                       struct assay_expected *outputs, struct assay_error *err);
    /* The tolerance's absolute part is for outputs whose root of the mean square is 1, and scales
     * with it. */
    bool absolute_of_rms;

    /* How outputs from a part of the elements are told from those of all (bench/parts.h): for
     * losses, and for norms. A norm takes statistics of all elements of each row or image; the
     * first `normalised_axes` axes count these. */
    const struct assay_mean *mean;
    int32_t normalised_axes;
    bool unverified; /* it has no reference at all */

    /* What is measured where a user says nothing. Ops of batch, seq and dim are swept over these
     * and need none of it. */
    const char *usual_shapes;      /* of `assay bench`: "1024x1024x1024,1x4096x4096" */
    const char *usual_mode;        /* NULL: the empty one */
    const char *const *step_modes; /* where the products of a training step are measured each by
                                      itself: the modes of these, up to a NULL; or NULL */
    const char *sample_shapes; /* of a user's kernel: small, large, awkward; NULL: the usual ones */
    const char *size_words;    /* what the sizes are, in the order of the axes */

    /* Its sentence in the help of `assay bench`, where @ORDER@ is MxKxN and @SHAPES@ the usual
     * shapes; a new paragraph where it begins with a newline. NULL: the usual sentence, or none for
     * ops of batch, seq and dim. Empty: another op's sentence tells of it. */
    const char *help;

    const struct assay_gradient *gradient; /* NULL: it is a forward op */
    bool kinked; /* a gradient that jumps where its other input passes a kink of the forward op */
    bool in_training;     /* a model, of which `pass` is run */
    enum assay_pass pass; /* where there is no `gradient` */

    struct assay_skeleton skeleton;
    const struct assay_op_node *node; /* how it stands in a model; NULL: it cannot */
    const struct assay_op_example *example;
};

int64_t assay_op_count(void);
const struct assay_op *assay_op_at(int64_t index);
const struct assay_op *assay_op_find(const char *name); /* the exact name; NULL if there is none */

/* The ops a user means by a name or alias, any case: `loss` is two. Writes up to `max`, returns how
 * many through *n. The error names the nearest known name. */
enum assay_status assay_op_resolve(const char *name, const struct assay_op **out, int64_t max,
                                   int64_t *n, struct assay_error *err);

/* The number of axes an op has. */
int32_t assay_op_axes(const struct assay_op *op);

/* Are its axes batch, seq and dim? */
bool assay_op_is_of_rows(const struct assay_op *op);

/* The names of its axes as a user gives their sizes: "MxKxN". Returns `text`. */
const char *assay_op_order(const struct assay_op *op, char *text, size_t size);

/* Shapes for a user's kernel of this op, separated by commas; NULL: there are no usual ones. */
const char *assay_op_sample_shapes(const struct assay_op *op);

/* Shapes for a new kernel, "8x128x512, 3x5x77". */
const char *assay_op_skeleton_shapes(const struct assay_op *op);

/* A problem of this op. Axes must be >= 1 and the tensors' sizes must not overflow. `mode` may be
 * NULL or empty: the op's usual one. */
enum assay_status assay_op_problem(const struct assay_op *op, enum assay_dtype dtype,
                                   const char *mode, const int64_t *axes, int32_t threads,
                                   struct assay_problem *out, struct assay_error *err);

/* Does this op compute in this dtype? */
bool assay_op_has_dtype(const struct assay_op *op, enum assay_dtype dtype);

/* May a kernel's `prepare` take this input in? */
bool assay_op_is_constant(const struct assay_op *op, const struct assay_problem *problem,
                          int32_t input);

/* Fills input `index`; each input gets a seed of its own derived from `seed`. */
void assay_op_fill(const struct assay_op *op, const struct assay_problem *problem, int32_t index,
                   void *data, uint64_t seed);

/* The reference of output `output`, with sizes (may be NULL): 0 where the op has none. */
void assay_op_reference(const struct assay_op *op, const struct assay_problem *problem,
                        int32_t output, const void *const *in, int64_t row, int64_t first,
                        int64_t n, double *out, double *sizes);
bool assay_op_has_sums(const struct assay_op *op, int32_t output);
struct assay_tolerance assay_op_tolerance(const struct assay_op *op,
                                          const struct assay_problem *problem, int32_t output);

enum assay_pass assay_op_pass(const struct assay_op *op);
/* The op of this pass of a forward op; NULL: it has none. */
const struct assay_op *assay_op_of_pass(const struct assay_op *forward, enum assay_pass pass);

/* How the operands of a gradient's problem hang together with those of its forward op's. */
const struct assay_gradient *assay_op_gradient(const struct assay_op *op,
                                               const struct assay_problem *problem);

/* Output 0 seen as rows (see reference). */
int64_t assay_op_rows(const struct assay_problem *problem);
int64_t assay_op_row_length(const struct assay_problem *problem);

/* Bytes of all inputs and outputs together. */
size_t assay_op_bytes(const struct assay_problem *problem);

#endif
