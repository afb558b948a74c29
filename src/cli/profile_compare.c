/* profile_compare.c: two profiles side by side. A node's partner is the first one not taken yet
 * with the same op and shape; what has none stands alone: it was fused, or is new. */
#include "cli/profile_show.h"

#include "base/alloc.h"
#include "report/report_line.h"

#include <stdio.h>
#include <string.h>

/* A node in both, or in one of them. */
struct couple {
    const struct assay_part *a, *b;
};

struct comparison {
    const struct assay_breakdown *a, *b;
    struct couple *couples;
    int64_t n;
};

static bool same_work(const struct assay_part *x, const struct assay_part *y)
{
    return strcmp(x->op, y->op) == 0 && strcmp(x->shape, y->shape) == 0;
}

static bool is_taken(const struct comparison *c, const struct assay_part *b)
{
    for (int64_t i = 0; i < c->n; i++)
        if (c->couples[i].b == b)
            return true;
    return false;
}

static bool couple_nodes(struct comparison *c)
{
    c->couples = assay_calloc((size_t)(c->a->n_nodes + c->b->n_nodes) + 1, sizeof *c->couples);
    if (!c->couples)
        return false;
    for (int64_t i = 0; i < c->a->n_nodes; i++) {
        struct couple one = {.a = &c->a->nodes[i]};
        for (int64_t k = 0; k < c->b->n_nodes && !one.b; k++)
            if (same_work(one.a, &c->b->nodes[k]) && !is_taken(c, &c->b->nodes[k]))
                one.b = &c->b->nodes[k];
        c->couples[c->n++] = one;
    }
    for (int64_t k = 0; k < c->b->n_nodes; k++)
        if (!is_taken(c, &c->b->nodes[k]))
            c->couples[c->n++] = (struct couple){.b = &c->b->nodes[k]};
    return true;
}

/* ---- the table ---- */

enum { NAME = 30, KERNEL = 22, TIME = 9, LEAST_WIDTH = 60 };

struct page {
    struct assay_sink sink;
    struct assay_line line;
    int width;
};

static void add_bytes(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
}

static void put_row(struct page *p, const char *name, const char *kernel, double old_ns,
                    double new_ns)
{
    char old_text[32] = "-", new_text[32] = "-", change[64] = "";
    if (old_ns > 0)
        assay_text_time(old_ns, old_text, sizeof old_text);
    if (new_ns > 0)
        assay_text_time(new_ns, new_text, sizeof new_text);
    if (old_ns > 0 && new_ns > 0)
        snprintf(change, sizeof change, "%.2fx", old_ns / new_ns);
    else
        snprintf(change, sizeof change, "only in the %s", old_ns > 0 ? "first" : "second");
    assay_line_to(&p->line, 1);
    assay_line_left(&p->line, name, NAME, ASSAY_INK_PLAIN);
    assay_line_to(&p->line, p->line.columns + 1);
    assay_line_right(&p->line, old_text, TIME, ASSAY_INK_PLAIN);
    assay_line_to(&p->line, p->line.columns + 1);
    assay_line_right(&p->line, new_text, TIME, ASSAY_INK_PLAIN);
    assay_line_to(&p->line, p->line.columns + 2);
    assay_line_left(&p->line, change, 18, ASSAY_INK_BOLD);
    assay_line_put(&p->line, kernel, p->width - p->line.columns, ASSAY_INK_DIM);
    assay_line_flush(&p->line, &p->sink);
}

static void put_couple(struct page *p, const struct couple *c)
{
    const struct assay_part *any = c->a ? c->a : c->b;
    char name[160], kernels[160];
    bool changed = c->a && c->b && strcmp(c->a->kernel, c->b->kernel) != 0;
    snprintf(name, sizeof name, "%s %s", any->op, any->shape);
    snprintf(kernels, sizeof kernels, "%s%s%s", any->kernel, changed ? " -> " : "",
             changed ? c->b->kernel : "");
    put_row(p, name, kernels, c->a ? c->a->call_ns : 0, c->b ? c->b->call_ns : 0);
}

static void put_title(struct page *p, const struct comparison *c)
{
    char title[450];
    bool same = strcmp(c->a->title, c->b->title) == 0;
    snprintf(title, sizeof title, "%s%s%s", c->a->title, same ? "" : " -> ",
             same ? "" : c->b->title);
    assay_line_wrap(&p->line, &p->sink, title, 0, p->width, ASSAY_INK_BOLD);
    assay_line_flush(&p->line, &p->sink);
    assay_line_to(&p->line, 1 + NAME + 1);
    assay_line_right(&p->line, "first", TIME, ASSAY_INK_DIM);
    assay_line_to(&p->line, p->line.columns + 1);
    assay_line_right(&p->line, "second", TIME, ASSAY_INK_DIM);
    assay_line_to(&p->line, p->line.columns + 2);
    assay_line_left(&p->line, "first / second", 18, ASSAY_INK_DIM);
    assay_line_flush(&p->line, &p->sink);
}

static void put_comparison(struct page *p, const struct comparison *c)
{
    put_title(p, c);
    for (int64_t i = 0; i < c->n; i++)
        put_couple(p, &c->couples[i]);
    put_row(p, "a call", "", c->a->call_ns, c->b->call_ns);
}

/* ---- JSON ---- */

static assay_json *comparison_to_json(const struct comparison *c)
{
    assay_json *o = assay_json_object(), *nodes = assay_json_array();
    assay_json_put_string(o, "first", c->a->title);
    assay_json_put_string(o, "second", c->b->title);
    assay_json_put_double(o, "first_call_ns", c->a->call_ns);
    assay_json_put_double(o, "second_call_ns", c->b->call_ns);
    for (int64_t i = 0; i < c->n; i++) {
        const struct couple *two = &c->couples[i];
        assay_json *node = assay_json_object();
        assay_json_put_string(node, "op", two->a ? two->a->op : two->b->op);
        assay_json_put_string(node, "shape", two->a ? two->a->shape : two->b->shape);
        assay_json_put_string(node, "first_kernel", two->a ? two->a->kernel : "");
        assay_json_put_string(node, "second_kernel", two->b ? two->b->kernel : "");
        assay_json_put_double(node, "first_ns", two->a ? two->a->call_ns : 0);
        assay_json_put_double(node, "second_ns", two->b ? two->b->call_ns : 0);
        assay_json_append(nodes, node);
    }
    assay_json_put(o, "nodes", nodes);
    return o;
}

/* ---- which with which ---- */

static const struct assay_breakdown *partner(const struct assay_breakdowns *a, int64_t i,
                                             const struct assay_breakdowns *b)
{
    for (int64_t k = 0; k < b->n; k++)
        if (strcmp(a->items[i].title, b->items[k].title) == 0)
            return &b->items[k];
    return a->n == 1 && b->n == 1 ? &b->items[0] : NULL;
}

enum assay_status assay_profile_compare(const struct assay_breakdowns *a,
                                        const struct assay_breakdowns *b, bool json,
                                        const struct assay_report_style *style,
                                        struct assay_text *out, struct assay_error *err)
{
    struct page page = {.sink = {out, add_bytes, &out->failed}};
    assay_json *list = json ? assay_json_array() : NULL;
    int64_t n = 0;
    assay_line_init(&page.line, style);
    page.width = style->width < LEAST_WIDTH ? LEAST_WIDTH : style->width;
    for (int64_t i = 0; i < a->n; i++) {
        struct comparison c = {.a = &a->items[i], .b = partner(a, i, b)};
        if (!c.b)
            continue;
        if (!couple_nodes(&c))
            out->failed = true;
        else if (json)
            assay_json_append(list, comparison_to_json(&c));
        else
            put_comparison(&page, &c);
        assay_free(c.couples);
        n++;
    }
    if (json) {
        assay_json *o = assay_json_object();
        assay_json_put_int(o, "assay_profile_comparison", 1);
        assay_json_put(o, "variants", list);
        assay_json_write(o, 2, out);
        assay_text_add(out, "\n");
        assay_json_free(o);
    }
    if (n > 0)
        return ASSAY_OK;
    return assay_error_set(
        err, ASSAY_ERR_INVALID, NULL,
        "no variant of the first profile is in the second: the first has \"%s\", "
        "the second \"%s\"",
        a->items[0].title, b->items[0].title);
}
