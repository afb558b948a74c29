/* training_reference.c: what a pass in training must give, and how far off it may be.
 *
 * The training graph is computed in double (training_run.h) once as it is, and again with noise.
 * The root mean square of the difference, in each output, is a deviation of what rounding on the
 * path to it does; six of them are allowed. So a tolerance knows what a graph does to errors: which
 * cancel, which grow behind a norm, which an optimizer divides by. Rounding is relative: what comes
 * of large values is off by more, a row of dW of an output that is large, or a column of one of x.
 * So an element is allowed more where the deviations of its row and its column are larger than that
 * of all: their product over it is what they would be if rows and columns were independent.
 *
 * Gradients that jump at a kink (relu at 0) are another matter: where an element lies so near it
 * that rounding decides on which side, the gradient is dy or nothing, and a row and a column of the
 * gradients behind it show that. The graph is computed again with these elements on the one side,
 * on the other, and some times with each on a side of its own, because what two of them do to an
 * element may cancel. Four times the greatest difference is allowed in each element. */
#include "model/model_op.h"

#include "base/alloc.h"
#include "model/training_run.h"

#include <math.h>
#include <string.h>

enum { NOISE_RUNS = 3, SHIFTED_RUNS = 10, FEW = 64, LONG = 16 };

/* A minute or so, for all runs. */
static const double MOST_SECONDS = 60;

struct reference {
    struct assay_training_run usual;
    const struct assay_problem *problem;
    struct assay_expected *outputs;
    double squares[ASSAY_MAX_OUTPUTS]; /* of differences from the usual run, added up */
    int64_t n_squares[ASSAY_MAX_OUTPUTS];
    /* The same of each row and of each column; NULL where one of them has fewer than LONG. */
    double *row_squares[ASSAY_MAX_OUTPUTS], *column_squares[ASSAY_MAX_OUTPUTS];
    double sum_squares; /* of the terms of the loss */
    double shifts[ASSAY_GRAPH_NODES];
};

static bool is_watched(const struct assay_node *node)
{
    return node->op->kinked || strcmp(node->op->name, "sum") == 0;
}

static bool has_kinks(const struct assay_graph *g)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op->kinked)
            return true;
    return false;
}

static int64_t count_of(const struct reference *r, int32_t output)
{
    return assay_tensor_count(&r->problem->outputs[output]);
}

static bool is_loss(const struct reference *r, int32_t output)
{
    enum assay_pass pass = assay_model_op(r->problem->op)->pass;
    return output == 0 && (pass == ASSAY_PASS_BOTH || pass == ASSAY_PASS_STEP);
}

static int64_t columns_of(const struct reference *r, int32_t output)
{
    const struct assay_tensor *t = &r->problem->outputs[output];
    return t->rank ? t->dims[t->rank - 1] : 1;
}

/* Few elements say little of a deviation. */
static int noise_runs(const struct reference *r)
{
    for (int32_t i = 0; i < r->problem->n_outputs; i++)
        if (!is_loss(r, i) && count_of(r, i) < FEW)
            return NOISE_RUNS;
    return 1;
}

static enum assay_status run_again(const struct reference *r, uint64_t noise, const double *shifts,
                                   uint64_t mixed, struct assay_training_run *out,
                                   struct assay_error *err)
{
    *out = (struct assay_training_run){.graph = r->usual.graph,
                                       .problem = r->problem,
                                       .in = r->usual.in,
                                       .noise = noise,
                                       .shifts = shifts,
                                       .mixed = mixed,
                                       .watched = is_watched};
    return assay_training_run(out, err);
}

/* ---- deviations ------------------------------------------------------------------------------ */

/* How far elements near a kink are moved: nine deviations of what comes before, because those of
 * single rows and columns differ. Of small elements alone, whose own rounding, which moves nothing
 * to the other side, is small. */
static double shift_of(const double *usual, const double *noisy, int64_t n)
{
    double size = 0, squares = 0;
    int64_t small = 0;
    for (int64_t i = 0; i < n; i++)
        size += usual[i] * usual[i] / (double)n;
    double most = 0.1 * sqrt(size);
    for (int64_t i = 0; i < n; i++)
        if (fabs(usual[i]) <= most) {
            squares += (noisy[i] - usual[i]) * (noisy[i] - usual[i]);
            small++;
        }
    return small ? 9 * sqrt(squares / (double)small) : 9 * 0x1p-8 * most;
}

static void note_watched(struct reference *r, const struct assay_training_run *noisy)
{
    const struct assay_graph *g = r->usual.graph;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct assay_node *node = &g->nodes[i];
        if (!r->usual.seen[i])
            continue;
        const double *a = r->usual.seen[i], *b = noisy->seen[i];
        int64_t n = assay_tensor_count(&node->problem.inputs[node->problem.n_inputs - 1]);
        if (node->op->kinked)
            r->shifts[i] = fmax(r->shifts[i], shift_of(a, b, n));
        for (int64_t j = 0; j < n && !node->op->kinked; j++)
            r->sum_squares += (b[j] - a[j]) * (b[j] - a[j]);
    }
}

static double square_of(const struct reference *r, const struct assay_training_run *noisy,
                        int32_t output, int64_t at)
{
    double difference = noisy->outputs[output][at] - r->usual.outputs[output][at];
    return isfinite(difference) ? difference * difference : 0;
}

static void note_noise(struct reference *r, const struct assay_training_run *noisy)
{
    for (int32_t i = 0; i < r->problem->n_outputs; i++) {
        int64_t n = count_of(r, i), columns = columns_of(r, i);
        double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
        for (int64_t j = 0; j < n; j++)
            sum += square_of(r, noisy, i, j);
        for (int64_t j = 0; j < n && r->row_squares[i]; j++) {
            double square = square_of(r, noisy, i, j);
            r->row_squares[i][j / columns] += square;
            r->column_squares[i][j % columns] += square;
        }
        r->squares[i] += sum;
        r->n_squares[i] += n;
    }
    note_watched(r, noisy);
}

static enum assay_status run_with_noise(struct reference *r, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int i = 0; i < noise_runs(r) && status == ASSAY_OK; i++) {
        struct assay_training_run noisy;
        status =
            run_again(r, UINT64_C(0x6e6f697365000000) + ((uint64_t)i << 16), NULL, 0, &noisy, err);
        if (status == ASSAY_OK)
            note_noise(r, &noisy);
        assay_training_run_fini(&noisy);
    }
    return status;
}

/* ---- kinks ----------------------------------------------------------------------------------- */

static void note_shifted(const struct reference *r, const struct assay_training_run *shifted)
{
    for (int32_t i = 0; i < r->problem->n_outputs; i++) {
        double *sizes = r->outputs[i].sizes;
        int64_t n = count_of(r, i);
#pragma omp parallel for schedule(static)
        for (int64_t j = 0; j < n; j++)
            sizes[j] = fmax(sizes[j], fabs(shifted->outputs[i][j] - r->usual.outputs[i][j]));
    }
}

static enum assay_status run_shifted(struct reference *r, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int side = 0; side < SHIFTED_RUNS && status == ASSAY_OK; side++) {
        struct assay_training_run shifted;
        for (int32_t i = 0; i < ASSAY_GRAPH_NODES && side == 1; i++)
            r->shifts[i] = -r->shifts[i];
        status = run_again(r, 0, r->shifts, side < 2 ? 0 : (uint64_t)side << 16, &shifted, err);
        if (status == ASSAY_OK)
            note_shifted(r, &shifted);
        assay_training_run_fini(&shifted);
    }
    return status;
}

/* ---- together -------------------------------------------------------------------------------- */

/* A deviation from k values may be so much larger. */
static double deviations(int64_t k) { return 6 * (1 + 8 / (double)k); }

/* A loss is one number, whose terms say more of its deviation: their errors add up as if they were
 * independent, or as they did. Those of a row share the rounding of its statistics: PyTorch's in
 * bf16 were seen to be 15 deviations off, so more of them are allowed than of an element. */
static struct assay_tolerance tolerance_of(const struct reference *r, int32_t output)
{
    const struct assay_dtype_info *info = assay_dtype_info(r->problem->outputs[output].dtype);
    double deviation = sqrt(r->squares[output] / (double)r->n_squares[output]);
    double allowed = is_loss(r, output) ? 24 * fmax(deviation, sqrt(r->sum_squares))
                                        : deviations(r->n_squares[output]) * deviation;
    return (struct assay_tolerance){.relative = 4 * info->unit + 0x1p-20,
                                    .absolute = info->tiny + allowed,
                                    .summed = r->outputs[output].sizes ? 1 : 0};
}

/* What an element is allowed beyond its output's: by the deviations of its row and column, and at
 * kinks. */
static void set_sizes(const struct reference *r, int32_t output)
{
    double *sizes = r->outputs[output].sizes, *rows = r->row_squares[output];
    int64_t n = count_of(r, output), columns = columns_of(r, output);
    double all = sqrt(r->squares[output]), allowed = deviations(r->n_squares[output]);
    double runs = (double)r->n_squares[output] / (double)n, mean = all / sqrt((double)n * runs);
#pragma omp parallel for schedule(static)
    for (int64_t j = 0; j < n; j++) {
        double own = 0;
        if (rows && all > 0) /* sqrt(row / columns) sqrt(column / rows) / mean */
            own = sqrt(rows[j / columns] * r->column_squares[output][j % columns] / runs) / all;
        sizes[j] = 4 * sizes[j] + allowed * fmax(own - mean, 0);
    }
}

static enum assay_status check_size(const struct reference *r, struct assay_error *err)
{
    int runs = 1 + noise_runs(r) + (has_kinks(r->usual.graph) ? SHIFTED_RUNS : 0);
    double seconds = runs * assay_training_run_seconds(r->usual.graph, r->problem->threads);
    return seconds <= MOST_SECONDS
               ? ASSAY_OK
               : assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                                 "too large to be verified: the reference of all gradients would "
                                 "take some %.0f s",
                                 seconds);
}

static enum assay_status make_sums(struct reference *r, int32_t output, struct assay_error *err)
{
    int64_t columns = columns_of(r, output), rows = count_of(r, output) / columns;
    if (rows < LONG || columns < LONG)
        return ASSAY_OK;
    r->row_squares[output] = assay_calloc((size_t)rows, sizeof(double));
    r->column_squares[output] = assay_calloc((size_t)columns, sizeof(double));
    return r->row_squares[output] && r->column_squares[output] ? ASSAY_OK : assay_error_nomem(err);
}

static enum assay_status make_outputs(struct reference *r, bool kinks, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < r->problem->n_outputs && status == ASSAY_OK; i++) {
        status = make_sums(r, i, err);
        bool sizes = kinks || r->row_squares[i];
        r->outputs[i].sizes =
            sizes ? assay_calloc((size_t)count_of(r, i), sizeof *r->outputs[i].sizes) : NULL;
        if (sizes && !r->outputs[i].sizes)
            status = assay_error_nomem(err);
    }
    return status;
}

static enum assay_status run_all(struct reference *r, struct assay_error *err)
{
    bool kinks = has_kinks(r->usual.graph);
    enum assay_status status = check_size(r, err);
    if (status == ASSAY_OK)
        status = make_outputs(r, kinks, err);
    if (status == ASSAY_OK)
        status = assay_training_run(&r->usual, err);
    if (status == ASSAY_OK)
        status = run_with_noise(r, err);
    if (status == ASSAY_OK && kinks)
        status = run_shifted(r, err);
    for (int32_t i = 0; i < r->problem->n_outputs && status == ASSAY_OK; i++) {
        if (r->outputs[i].sizes)
            set_sizes(r, i);
        r->outputs[i].tolerance = tolerance_of(r, i);
        r->outputs[i].values = r->usual.outputs[i];
        r->usual.outputs[i] = NULL;
    }
    return status;
}

enum assay_status assay_model_training_reference(const struct assay_problem *problem,
                                                 const void *const *in,
                                                 struct assay_expected *outputs,
                                                 struct assay_error *err)
{
    struct assay_graph *graph = NULL;
    struct reference *r = assay_calloc(1, sizeof *r);
    enum assay_status status = r ? assay_model_graph(problem, &graph, err) : assay_error_nomem(err);
    if (status == ASSAY_OK) {
        r->problem = problem;
        r->outputs = outputs;
        r->usual = (struct assay_training_run){
            .graph = graph, .problem = problem, .in = in, .watched = is_watched};
        status = run_all(r, err);
        assay_training_run_fini(&r->usual);
    }
    for (int32_t i = 0; r && i < ASSAY_MAX_OUTPUTS; i++) {
        assay_free(r->row_squares[i]);
        assay_free(r->column_squares[i]);
    }
    assay_free(r);
    assay_free(graph);
    return status;
}
