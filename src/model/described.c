/* described.c: models described as JSON (see assay_model_add in model.h). */
#include "model/model_op.h"

#include "base/alloc.h"
#include "base/expression.h"
#include "base/json.h"
#include "op/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORD = 32, MAX_NAME = 58, MAX_SIZE = 64, MAX_DESCRIBED_INPUTS = 4 };

struct described_input {
    char name[MAX_WORD];
    char rows[MAX_SIZE], columns[MAX_SIZE]; /* expressions of the axes */
};

struct described_node {
    const struct assay_op *op;
    char mode[MAX_WORD], name[MAX_WORD];
    int32_t in[ASSAY_NODE_VALUES]; /* inputs count from 0, nodes behind them */
    int32_t n_in;
    char sizes[ASSAY_NODE_KEYS][MAX_SIZE]; /* expressions, one for each key; empty: the usual one */
    bool flag;
};

struct described {
    struct assay_model model; /* first: a model found is one of these */
    char name[MAX_NAME];
    char *text; /* the description, to know it again */
    char axes[ASSAY_MAX_AXES][16];
    int64_t plain[ASSAY_MAX_AXES]; /* sizes to try it with */
    int32_t n_axes;
    struct described_input inputs[MAX_DESCRIBED_INPUTS];
    struct described_node nodes[ASSAY_GRAPH_NODES];
    int32_t n_inputs, n_nodes;
};

/* ---- building ---------------------------------------------------------------------------------
 */

/* A description for given sizes. */
struct building {
    const struct described *d;
    struct assay_graph *graph;
    struct assay_variable axes[ASSAY_MAX_AXES];
};

/* What an expression says; the graph keeps the first mistake, with the key it stands under. */
static int64_t size_of(const struct building *b, const char *key, const char *text)
{
    static const int64_t most = INT64_C(1) << 40; /* products of axes; checked again as tensors */
    struct assay_error why = {0};
    int64_t size = 1;
    if (b->graph->error.code == ASSAY_OK &&
        (assay_expression_size(text, b->axes, b->d->n_axes, 1, &size, &why) != ASSAY_OK ||
         size > most))
        assay_error_set(&b->graph->error, ASSAY_ERR_INVALID, NULL, "%s: %s", key,
                        why.message[0] ? why.message : "is too large");
    return size;
}

static int32_t build_node(const struct building *b, const struct described_node *node,
                          const int32_t *values)
{
    const struct assay_op_node *how = node->op->node;
    int32_t in[ASSAY_NODE_VALUES];
    int64_t sizes[ASSAY_NODE_KEYS];
    for (int32_t i = 0; i < how->values; i++)
        in[i] = values[node->in[i]];
    for (int i = 0; i < ASSAY_NODE_KEYS; i++)
        sizes[i] =
            node->sizes[i][0] ? size_of(b, how->keys[i].name, node->sizes[i]) : how->keys[i].usual;
    const char *mode = how->flag ? how->flag_modes[node->flag] : node->mode;
    return assay_graph_node(b->graph, node->op, mode, in, sizes);
}

static void build_described(const struct described *d, struct assay_graph *g, const int64_t *axes)
{
    struct building b = {.d = d, .graph = g};
    int32_t values[MAX_DESCRIBED_INPUTS + ASSAY_GRAPH_NODES];
    for (int32_t i = 0; i < d->n_axes; i++)
        b.axes[i] = (struct assay_variable){d->axes[i], (double)axes[i]};
    for (int32_t i = 0; i < d->n_inputs; i++) {
        int64_t rows = size_of(&b, d->inputs[i].name, d->inputs[i].rows);
        values[i] =
            assay_graph_input(g, rows, size_of(&b, d->inputs[i].name, d->inputs[i].columns));
    }
    if (g->error.code != ASSAY_OK)
        snprintf(g->error.where, sizeof g->error.where, "inputs");
    for (int32_t i = 0; i < d->n_nodes; i++) {
        bool fine = g->error.code == ASSAY_OK;
        values[d->n_inputs + i] = build_node(&b, &d->nodes[i], values);
        if (fine && g->error.code != ASSAY_OK)
            snprintf(g->error.where, sizeof g->error.where, "nodes[%d]", (int)i);
    }
    assay_graph_output(g, values[d->n_inputs + d->n_nodes - 1]);
}

/* ---- reading ----------------------------------------------------------------------------------
 */

struct reader {
    struct described *d;
    struct assay_error *err;
    int32_t node; /* -1: outside the nodes */
    bool mkn;     /* its axes are m, k and n, not parameters of its own */
};

static enum assay_status bad(struct reader *r, const char *key, const char *message)
{
    char where[96];
    if (r->node >= 0)
        snprintf(where, sizeof where, "nodes[%d]%s%s", (int)r->node, key[0] ? "." : "", key);
    else
        snprintf(where, sizeof where, "%s", key);
    return assay_error_set(r->err, ASSAY_ERR_INVALID, where, "%s", message);
}

static enum assay_status read_word(struct reader *r, const assay_json *json, const char *key,
                                   char *out, size_t size)
{
    const char *text = assay_json_string(json, NULL);
    if (!text || !text[0])
        return bad(r, key, "must be a word");
    if (strlen(text) >= size)
        return bad(r, key, "is too long");
    snprintf(out, size, "%s", text);
    return ASSAY_OK;
}

/* 512, "512", "k", "4*k", "batch*seq_len". Unknown names, and values that cannot be sizes,
 * are found when it is evaluated. */
static enum assay_status read_size(struct reader *r, const assay_json *json, const char *key,
                                   char *out)
{
    struct assay_variable axes[ASSAY_MAX_AXES];
    struct assay_error why = {0};
    const char *text = assay_json_string(json, NULL);
    char number[32];
    int64_t value;
    snprintf(number, sizeof number, "%lld", (long long)assay_json_int(json, 0));
    for (int32_t i = 0; i < r->d->n_axes; i++)
        axes[i] = (struct assay_variable){r->d->axes[i], (double)r->d->plain[i]};
    if (!json)
        return bad(r, key, "is missing: a number, or an expression such as 4*k");
    text = text ? text : number;
    if (strlen(text) >= MAX_SIZE)
        return bad(r, key, "is too long for an expression");
    if (assay_expression_size(text, axes, r->d->n_axes, 1, &value, &why) != ASSAY_OK)
        return bad(r, key, why.message);
    snprintf(out, MAX_SIZE, "%s", text);
    return ASSAY_OK;
}

/* A value by name: an input or a node before this one. */
static int32_t value_named(const struct described *d, const char *name)
{
    for (int32_t i = d->n_nodes - 1; i >= 0; i--)
        if (strcmp(d->nodes[i].name, name) == 0)
            return d->n_inputs + i;
    for (int32_t i = 0; i < d->n_inputs; i++)
        if (strcmp(d->inputs[i].name, name) == 0)
            return i;
    return -1;
}

static enum assay_status read_value(struct reader *r, const assay_json *json, const char *key,
                                    struct described_node *node)
{
    char name[MAX_WORD], message[96];
    enum assay_status status = read_word(r, json, key, name, sizeof name);
    if (status != ASSAY_OK)
        return status;
    int32_t value = value_named(r->d, name);
    snprintf(message, sizeof message, "nothing before this is named \"%s\"", name);
    if (value < 0)
        return bad(r, key, message);
    node->in[node->n_in++] = value;
    return ASSAY_OK;
}

static enum assay_status read_node_inputs(struct reader *r, const assay_json *json,
                                          struct described_node *node)
{
    const assay_json *one = assay_json_get(json, "input"), *list = assay_json_get(json, "inputs");
    enum assay_status status = ASSAY_OK;
    if (one)
        return read_value(r, one, "input", node);
    if (list &&
        (!assay_json_is_array(list) || assay_json_count(list) < 1 || assay_json_count(list) > 2))
        return bad(r, "inputs", "must be a list of one or two names");
    for (int64_t i = 0; i < assay_json_count(list) && status == ASSAY_OK; i++)
        status = read_value(r, assay_json_at(list, i), "inputs", node);
    if (!list)
        node->in[node->n_in++] = r->d->n_nodes ? r->d->n_inputs + r->d->n_nodes - 1 : 0;
    return status;
}

/* A description has forward ops; what saves values for a gradient belongs to a training step. */
static bool is_described(const struct assay_op *op) { return op->node && !op->more[0].tolerance; }

static enum assay_status unknown_op(struct reader *r, const char *word)
{
    enum { MOST = 64 };
    const char *names[MOST];
    int64_t n = 0;
    for (int64_t i = 0; i < assay_op_count() && n < MOST; i++)
        if (is_described(assay_op_at(i)))
            names[n++] = assay_op_at(i)->name;
    char message[400];
    const char *nearest = assay_text_nearest(word, names, n);
    int used = snprintf(message, sizeof message,
                        "\"%s\" is not an op that a model can have; did you mean \"%s\"? There are",
                        word, nearest ? nearest : "linear");
    for (int64_t i = 0; i < n && used < (int)sizeof message; i++)
        used += snprintf(message + used, sizeof message - (size_t)used, "%s %s", i ? "," : "",
                         names[i]);
    return bad(r, "op", message);
}

static enum assay_status read_op(struct reader *r, const assay_json *json,
                                 struct described_node *node)
{
    char word[MAX_WORD];
    enum assay_status status = read_word(r, assay_json_get(json, "op"), "op", word, sizeof word);
    if (status != ASSAY_OK)
        return status;
    node->op = assay_op_find(word);
    return node->op && is_described(node->op) ? ASSAY_OK : unknown_op(r, word);
}

static bool has_key(const struct assay_op_node *node, const char *key)
{
    static const char *const common[] = {"op", "name", "input", "inputs"};
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        if (strcmp(key, common[i]) == 0)
            return true;
    for (int i = 0; i < ASSAY_NODE_KEYS && node->keys[i].name; i++)
        if (strcmp(key, node->keys[i].name) == 0)
            return true;
    return (node->has_mode && strcmp(key, "mode") == 0) ||
           (node->flag && strcmp(key, node->flag) == 0);
}

static enum assay_status read_node_sizes(struct reader *r, const assay_json *json,
                                         struct described_node *node)
{
    const struct assay_op_node *how = node->op->node;
    enum assay_status status = ASSAY_OK;
    for (int i = 0; i < ASSAY_NODE_KEYS && how->keys[i].name && status == ASSAY_OK; i++) {
        const struct assay_node_key *key = &how->keys[i];
        const assay_json *size = assay_json_get(json, key->name);
        if (size || !key->usual)
            status = read_size(r, size, key->name, node->sizes[i]);
    }
    if (status == ASSAY_OK && assay_json_get(json, "mode"))
        status = read_word(r, assay_json_get(json, "mode"), "mode", node->mode, sizeof node->mode);
    node->flag = how->flag && assay_json_bool(assay_json_get(json, how->flag), false);
    return status;
}

static enum assay_status read_node(struct reader *r, const assay_json *json)
{
    struct described *d = r->d;
    struct described_node *node = &d->nodes[d->n_nodes];
    *node = (struct described_node){0};
    if (!assay_json_is_object(json))
        return bad(r, "", "must be a mapping with an op");
    enum assay_status status = read_op(r, json, node);
    for (int64_t i = 0; i < assay_json_count_keys(json) && status == ASSAY_OK; i++)
        if (!has_key(node->op->node, assay_json_key_at(json, i)))
            status = bad(r, assay_json_key_at(json, i), "is not a key of this op");
    if (status == ASSAY_OK)
        status = read_node_inputs(r, json, node);
    if (status == ASSAY_OK && node->n_in != node->op->node->values)
        status = bad(r, "inputs",
                     node->op->node->values == 2 ? "must be two names" : "must be one name");
    if (status == ASSAY_OK && assay_json_get(json, "name"))
        status = read_word(r, assay_json_get(json, "name"), "name", node->name, sizeof node->name);
    if (status == ASSAY_OK && node->name[0] && value_named(d, node->name) >= 0)
        status = bad(r, "name", "is taken already");
    if (status == ASSAY_OK)
        status = read_node_sizes(r, json, node);
    d->n_nodes += status == ASSAY_OK;
    return status;
}

/* The names of its sizes: m, k and n, or parameters of its own. */
static enum assay_status read_parameters(struct reader *r, const assay_json *json)
{
    struct described *d = r->d;
    int64_t n = assay_json_count_keys(json);
    r->mkn = !json;
    if (!json) {
        static const int64_t plain[] = {16, 3072, 3072};
        for (; d->n_axes < 3; d->n_axes++) {
            snprintf(d->axes[d->n_axes], sizeof d->axes[0], "%c", "mkn"[d->n_axes]);
            d->plain[d->n_axes] = plain[d->n_axes];
        }
        return ASSAY_OK;
    }
    if (!assay_json_is_object(json) || n < 1 || n > ASSAY_MAX_AXES)
        return bad(r, "parameters", "must be a mapping of one to eight names to usual sizes");
    for (int64_t i = 0; i < n; i++) {
        const char *name = assay_json_key_at(json, i);
        int64_t size = assay_json_int(assay_json_get(json, name), -1);
        if (!assay_expression_is_name(name) || strlen(name) >= sizeof d->axes[0])
            return bad(r, "parameters", "has something that is not a short name");
        if (size < 0)
            return bad(r, "parameters", "has something that is not a size");
        snprintf(d->axes[d->n_axes], sizeof d->axes[0], "%s", name);
        d->plain[d->n_axes++] = size;
    }
    return ASSAY_OK;
}

static enum assay_status read_inputs(struct reader *r, const assay_json *json)
{
    struct described *d = r->d;
    enum assay_status status = ASSAY_OK;
    if (!json && !r->mkn)
        return bad(r, "inputs", "are missing: {x: [rows, columns]}");
    if (!json) { /* what every model of [m, k, n] starts from */
        d->inputs[d->n_inputs++] = (struct described_input){"x", "m", "k"};
        return ASSAY_OK;
    }
    int64_t n = assay_json_count_keys(json);
    if (!assay_json_is_object(json) || n < 1 || n > MAX_DESCRIBED_INPUTS)
        return bad(r, "inputs", "must be a mapping of one to four names to [rows, columns]");
    for (int64_t i = 0; i < n && status == ASSAY_OK; i++) {
        const char *name = assay_json_key_at(json, i);
        const assay_json *sizes = assay_json_get(json, name);
        struct described_input *input = &d->inputs[d->n_inputs++];
        char key[64];
        snprintf(key, sizeof key, "inputs.%.48s", name);
        if (strlen(name) >= MAX_WORD)
            return bad(r, key, "is too long for a name");
        snprintf(input->name, sizeof input->name, "%s", name);
        if (!assay_json_is_array(sizes) || assay_json_count(sizes) != 2)
            return bad(r, key, "must be [rows, columns]");
        status = read_size(r, assay_json_at(sizes, 0), key, input->rows);
        if (status == ASSAY_OK)
            status = read_size(r, assay_json_at(sizes, 1), key, input->columns);
    }
    return status;
}

static enum assay_status read_description(struct reader *r, const assay_json *json)
{
    static const char *const keys[] = {"name", "parameters", "inputs", "nodes"};
    const assay_json *nodes = assay_json_get(json, "nodes");
    if (!assay_json_is_object(json))
        return bad(r, "", "a model must be a mapping with nodes");
    for (int64_t i = 0; i < assay_json_count_keys(json); i++) {
        const char *key = assay_json_key_at(json, i);
        bool known = false;
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            known = known || strcmp(key, keys[k]) == 0;
        if (!known)
            return bad(r, key, "is not a key of a model: there are name, inputs and nodes");
    }
    enum assay_status status =
        read_word(r, assay_json_get(json, "name"), "name", r->d->name, sizeof r->d->name);
    if (status == ASSAY_OK)
        status = read_parameters(r, assay_json_get(json, "parameters"));
    if (status == ASSAY_OK)
        status = read_inputs(r, assay_json_get(json, "inputs"));
    if (status == ASSAY_OK && (!assay_json_is_array(nodes) || assay_json_count(nodes) < 1 ||
                               assay_json_count(nodes) > ASSAY_GRAPH_NODES))
        status = bad(r, "nodes", "must be a list of one to 40 ops");
    for (int64_t i = 0; i < assay_json_count(nodes) && status == ASSAY_OK; i++) {
        r->node = (int32_t)i;
        status = read_node(r, assay_json_at(nodes, i));
    }
    return status;
}

/* A description that cannot be built for usual sizes is told now, not when it is measured. */
static enum assay_status try_to_build(const struct described *d, struct assay_error *err)
{
    struct assay_graph *g = assay_calloc(1, sizeof *g);
    if (!g)
        return assay_error_nomem(err);
    *g = (struct assay_graph){.dtype = ASSAY_DTYPE_F32, .threads = 1, .output = -1};
    build_described(d, g, d->plain);
    enum assay_status status = g->error.code;
    if (status != ASSAY_OK)
        assay_error_set(err, status, g->error.where[0] ? g->error.where : "nodes", "%s",
                        g->error.message);
    assay_free(g);
    return status;
}

static void build(struct assay_graph *g, const struct assay_model *model, const int64_t *axes)
{
    build_described((const struct described *)model, g, axes);
}

static bool is_described_as(const struct assay_model *known, const char *json)
{
    return known->build_from == build && strcmp(((const struct described *)known)->text, json) == 0;
}

enum assay_status assay_model_add(const char *json, struct assay_error *err)
{
    struct described *d = assay_calloc(1, sizeof *d);
    assay_json *tree = assay_json_parse(json, strlen(json), "model", err);
    struct reader reader = {.d = d, .err = err, .node = -1};
    const struct assay_model *known = NULL;
    enum assay_status status = ASSAY_ERR_INVALID;
    if (!d) {
        status = assay_error_nomem(err);
        goto cleanup;
    }
    if (tree)
        status = read_description(&reader, tree);
    if (status == ASSAY_OK)
        status = try_to_build(d, err);
    if (status != ASSAY_OK)
        goto cleanup;
    d->text = assay_strdup(json);
    d->model = (struct assay_model){.name = d->name,
                                    .title = d->name,
                                    .summary = "described in a configuration",
                                    .build_from = build};
    for (int32_t i = 0; i < d->n_axes && assay_json_get(tree, "parameters"); i++) {
        d->model.axis_names[i] = d->axes[i];
        d->model.zero_axes |= d->plain[i] == 0 ? 1u << i : 0;
    }
    status = d->text ? assay_model_add_built(&d->model, &known, err) : assay_error_nomem(err);
    if (status == ASSAY_OK && !known)
        d = NULL; /* it lives on */
    else if (status == ASSAY_OK && !is_described_as(known, json))
        status = assay_error_set(err, ASSAY_ERR_INVALID, "name", "there is a model \"%s\" already",
                                 d->name);
cleanup:
    assay_json_free(tree);
    if (d)
        assay_free(d->text);
    assay_free(d);
    return status;
}
