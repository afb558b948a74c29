#include "report/html/html_order.h"

#include "base/alloc.h"
#include "report/html/html_texts.h"
#include "report/report_cells.h"
#include "tensor/dtype.h"

#include <stdlib.h>
#include <string.h>

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t length)
{
    for (const unsigned char *at = bytes; length > 0; at++, length--)
        hash = (hash ^ *at) * 0x100000001b3; /* FNV-1a */
    return hash;
}

static uint64_t add_text(uint64_t hash, const char *text)
{
    return add_bytes(hash, text, strlen(text) + 1);
}

/* What makes two groups the same one: not the machine, nor how many threads it has. */
static uint64_t hash_of(const struct assay_record *r)
{
    uint64_t hash = 0xcbf29ce484222325;
    const char *const texts[] = {r->op, r->mode, r->entry, r->compile, r->label};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        hash = add_text(hash, texts[i]);
    hash = add_text(hash, assay_dtype_name(r->dtype));
    for (int32_t i = 0; i < r->n_axes && i < ASSAY_MAX_AXES; i++) {
        hash = add_text(hash, r->axis_names[i]);
        hash = add_bytes(hash, &r->axes[i], sizeof r->axes[i]);
    }
    return hash;
}

/* The number of the op, with its mode. */
static int64_t op_of(struct assay_html_texts *ops, const struct assay_record *r)
{
    char name[sizeof r->op + sizeof r->mode];
    size_t length = strlen(r->op);
    memcpy(name, r->op, length);
    name[length] = ' ';
    memcpy(name + length + 1, r->mode, strlen(r->mode) + 1);
    int64_t number = assay_html_texts_number(ops, name);
    return number >= 0 ? number : ops->n - 1;
}

static int compare(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* By what they are; of the same in the order of the book, which is that of its runs. */
static int by_hash(const void *a, const void *b)
{
    const struct assay_html_place *x = a, *y = b;
    int order = (x->hash > y->hash) - (x->hash < y->hash);
    return order ? order : compare(x->group, y->group);
}

/* The second of a run belongs to the second of another. */
static int by_occurrence(const void *a, const void *b)
{
    const struct assay_html_place *x = a, *y = b;
    int order = (x->hash > y->hash) - (x->hash < y->hash);
    if (!order)
        order = compare(x->occurrence, y->occurrence);
    return order ? order : compare(x->group, y->group);
}

static int by_place(const void *a, const void *b)
{
    const struct assay_html_place *x = a, *y = b;
    int order = compare(x->op, y->op);
    if (!order)
        order = compare(x->table, y->table);
    return order ? order : compare(x->group, y->group);
}

static void count_occurrences(const struct assay_book *book, struct assay_html_place *places)
{
    qsort(places, (size_t)book->n_groups, sizeof *places, by_hash);
    for (int64_t i = 1; i < book->n_groups; i++) {
        bool again = places[i].hash == places[i - 1].hash &&
                     book->groups[places[i].group].run == book->groups[places[i - 1].group].run;
        places[i].occurrence = again ? places[i - 1].occurrence + 1 : 0;
    }
}

static void join_runs(const struct assay_book *book, struct assay_html_place *places)
{
    count_occurrences(book, places);
    qsort(places, (size_t)book->n_groups, sizeof *places, by_occurrence);
    for (int64_t i = 1; i < book->n_groups; i++)
        if (places[i].hash == places[i - 1].hash &&
            places[i].occurrence == places[i - 1].occurrence)
            places[i].table = places[i - 1].table;
}

struct assay_html_place *assay_html_order_create(const struct assay_book *book)
{
    struct assay_html_texts ops = {0};
    struct assay_book_view view = {0};
    struct assay_html_place *places =
        book->n_groups ? assay_calloc((size_t)book->n_groups, sizeof *places) : NULL;
    bool fine = places != NULL;
    for (int64_t g = 0; fine && g < book->n_groups; g++) {
        fine = assay_book_open(book, g, &view);
        if (!fine)
            break;
        places[g] = (struct assay_html_place){
            .group = g, .op = op_of(&ops, view.records), .table = g, .hash = hash_of(view.records)};
    }
    fine = fine && !ops.bytes.failed;
    if (fine && book->n_runs > 1)
        join_runs(book, places);
    if (fine)
        qsort(places, (size_t)book->n_groups, sizeof *places, by_place);
    assay_book_view_fini(&view);
    assay_html_texts_fini(&ops);
    if (!fine) {
        assay_free(places);
        places = NULL;
    }
    return places;
}
