#include "report/chart/chart_axes.h"

#include "base/alloc.h"
#include "report/report_cells.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a record stands, for the functions below. */
struct seat {
    const struct assay_book *book;
    const struct assay_book_view *view;
    int64_t run;
    const struct assay_record *record;
};

/* Its value of an axis: an empty text where it has none. */
struct value {
    struct assay_cell text;
    double number;
};

/* ---- the axes that are not sizes ------------------------------------------------------------ */

static struct value text_of(const char *text)
{
    struct value value = {.number = 0};
    assay_cell_add(&value.text, "%.95s", text);
    return value;
}

static struct value number_of(double number)
{
    struct value value = {.number = number};
    assay_cell_add(&value.text, "%.0f", number);
    return value;
}

/* Runs that are read twice stay two. */
static struct value run_of(const struct seat *seat)
{
    const struct assay_book_run *runs = seat->book->runs;
    struct value value = {.number = (double)seat->run};
    int64_t earlier = 0;
    for (int64_t i = 0; i < seat->run; i++)
        earlier += strcmp(runs[i].info.id, runs[seat->run].info.id) == 0;
    assay_cell_add(&value.text, "%.31s", runs[seat->run].info.id);
    if (earlier > 0 || !value.text.text[0])
        assay_cell_add(&value.text, "%s#%lld", value.text.text[0] ? " " : "",
                       (long long)(earlier + 1));
    return value;
}

static struct value machine_of(const struct seat *seat)
{
    return text_of(seat->view->run->info.device_name);
}

static struct value device_of(const struct seat *seat) { return text_of(seat->record->device); }
static struct value op_of(const struct seat *seat)
{
    return text_of(assay_cell_subject(seat->record));
}
static struct value mode_of(const struct seat *seat) { return text_of(seat->record->mode); }
static struct value entry_of(const struct seat *seat) { return text_of(seat->record->entry); }
static struct value compile_of(const struct seat *seat) { return text_of(seat->record->compile); }
static struct value label_of(const struct seat *seat) { return text_of(seat->record->label); }
static struct value recipe_of(const struct seat *seat) { return text_of(seat->record->recipe); }

static struct value shape_of(const struct seat *seat)
{
    struct value value = {.number = 1};
    for (int32_t i = 0; i < seat->record->n_axes && i < ASSAY_MAX_AXES; i++) {
        assay_cell_add(&value.text, "%s%lld", i ? "x" : "", (long long)seat->record->axes[i]);
        value.number *= (double)seat->record->axes[i];
    }
    return value;
}

static struct value memory_of(const struct seat *seat)
{
    double bytes = seat->record->memory_bytes;
    return bytes > 0 && bytes < 1e18 ? number_of(bytes) : text_of("");
}

static struct value dtype_of(const struct seat *seat)
{
    enum assay_dtype dtype = seat->record->dtype;
    return text_of(dtype == ASSAY_DTYPE_NONE ? "" : assay_dtype_name(dtype));
}

/* Work on a GPU has none to speak of. */
static struct value threads_of(const struct seat *seat)
{
    bool some = seat->record->threads > 0 && assay_record_on_host(seat->record);
    return some ? number_of(seat->record->threads) : text_of("");
}

static struct value implementation_of(const struct seat *seat)
{
    return text_of(assay_cell_variant(seat->record, seat->view->records, seat->view->n));
}

struct row {
    const char *name;
    struct value (*of)(const struct seat *seat);
    bool numeric, of_variants;
};

static const struct row rows[ASSAY_CHART_AXIS_SIZE] = {
    [ASSAY_CHART_AXIS_RUN] = {"run", run_of, false, false},
    [ASSAY_CHART_AXIS_MACHINE] = {"machine", machine_of, false, false},
    [ASSAY_CHART_AXIS_DEVICE] = {"device", device_of, false, false},
    [ASSAY_CHART_AXIS_OP] = {"op", op_of, false, false},
    [ASSAY_CHART_AXIS_MODE] = {"mode", mode_of, false, false},
    [ASSAY_CHART_AXIS_ENTRY] = {"entry", entry_of, false, false},
    [ASSAY_CHART_AXIS_COMPILE] = {"compile", compile_of, false, false},
    [ASSAY_CHART_AXIS_LABEL] = {"label", label_of, false, false},
    [ASSAY_CHART_AXIS_SHAPE] = {"shape", shape_of, false, false},
    [ASSAY_CHART_AXIS_MEMORY] = {"memory", memory_of, true, false},
    [ASSAY_CHART_AXIS_DTYPE] = {"dtype", dtype_of, false, false},
    [ASSAY_CHART_AXIS_THREADS] = {"threads", threads_of, true, false},
    [ASSAY_CHART_AXIS_RECIPE] = {"recipe", recipe_of, false, true},
    [ASSAY_CHART_AXIS_IMPLEMENTATION] = {"implementation", implementation_of, false, true},
};

/* ---- values, each once ---------------------------------------------------------------------- */

/* Open addressing, kept at most half full: number of the value plus 1, or 0. */
struct slots {
    int32_t *at;
    int64_t n;
};

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash ^ hash >> 29;
}

/* Where the value is, or may be put. */
static int32_t *slot_of(const struct assay_chart_axis *axis, const struct slots *slots,
                        const char *text)
{
    for (uint64_t i = hash_of(text);; i++) {
        int32_t *slot = &slots->at[i % (uint64_t)slots->n];
        if (*slot == 0 || strcmp(axis->values[*slot - 1].text, text) == 0)
            return slot;
    }
}

static bool grow(struct assay_chart_axis *axis, struct slots *slots)
{
    int64_t more = axis->capacity ? 2 * axis->capacity : 8;
    struct assay_chart_value *moved = assay_realloc(axis->values, (size_t)more, sizeof *moved);
    int32_t *at = assay_calloc((size_t)(2 * more), sizeof *at);
    axis->values = moved ? moved : axis->values;
    if (!moved || !at) {
        assay_free(at);
        return false;
    }
    axis->capacity = more;
    assay_free(slots->at);
    *slots = (struct slots){at, 2 * more};
    for (int64_t i = 0; i < axis->n; i++)
        *slot_of(axis, slots, axis->values[i].text) = (int32_t)(i + 1);
    return true;
}

/* The value's number, -1 where it is empty; -2 without memory. */
static int32_t put(struct assay_chart_axis *axis, struct slots *slots, const struct value *value)
{
    if (!value->text.text[0])
        return -1;
    if (axis->n == axis->capacity && !grow(axis, slots))
        return -2;
    int32_t *slot = slot_of(axis, slots, value->text.text);
    if (*slot == 0) {
        struct assay_chart_value *added = &axis->values[axis->n];
        *added = (struct assay_chart_value){.number = value->number, .seen = axis->n};
        snprintf(added->text, sizeof added->text, "%.95s", value->text.text);
        *slot = (int32_t)++axis->n;
    }
    return *slot - 1;
}

static int by_number(const void *a, const void *b)
{
    const struct assay_chart_value *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->seen > y->seen) - (x->seen < y->seen);
}

/* Sorts the values; records keep theirs. */
static bool sort_axis(struct assay_chart_axes *axes, int64_t a)
{
    struct assay_chart_axis *axis = &axes->axes[a];
    int32_t *where = assay_calloc((size_t)axis->n, sizeof *where);
    if (axis->n > 0 && !where)
        return false;
    if (axis->n > 0)
        qsort(axis->values, (size_t)axis->n, sizeof *axis->values, by_number);
    for (int64_t i = 0; i < axis->n; i++)
        where[axis->values[i].seen] = (int32_t)i;
    for (int64_t r = 0; r < axes->n_records; r++) {
        int32_t *at = &axes->at[r * ASSAY_CHART_AXES_MOST + a];
        axis->partial |= *at < 0;
        *at = *at < 0 ? *at : where[*at];
    }
    assay_free(where);
    return true;
}

/* ---- all of a book -------------------------------------------------------------------------- */

/* The axis of sizes of this name; -1: there is no room for another. */
static int64_t size_axis(struct assay_chart_axes *axes, const char *name)
{
    int64_t a = ASSAY_CHART_AXIS_SIZE;
    while (a < axes->n && strcmp(axes->axes[a].name, name) != 0)
        a++;
    if (a == ASSAY_CHART_AXES_MOST)
        return -1;
    if (a == axes->n) {
        struct assay_chart_axis *axis = &axes->axes[axes->n++];
        *axis = (struct assay_chart_axis){.kind = ASSAY_CHART_AXIS_SIZE, .numeric = true};
        snprintf(axis->name, sizeof axis->name, "%.15s", name);
    }
    return a;
}

static void add_value(struct assay_chart_axes *axes, struct slots *slots, int32_t *at, int64_t a,
                      struct value value)
{
    at[a] = put(&axes->axes[a], &slots[a], &value);
    axes->failed |= at[a] == -2;
}

static void add_record(struct assay_chart_axes *axes, struct slots *slots, int64_t index,
                       const struct seat *seat)
{
    const struct assay_record *r = seat->record;
    int32_t *at = &axes->at[index * ASSAY_CHART_AXES_MOST];
    for (int64_t a = 0; a < ASSAY_CHART_AXES_MOST; a++)
        at[a] = -1;
    for (int64_t a = 0; a < ASSAY_CHART_AXIS_SIZE; a++)
        add_value(axes, slots, at, a, rows[a].of(seat));
    for (int32_t i = 0; i < r->n_axes && i < ASSAY_MAX_AXES; i++) {
        int64_t a = size_axis(axes, r->axis_names[i]);
        if (a >= 0)
            add_value(axes, slots, at, a, number_of((double)r->axes[i]));
    }
}

static void add_group(struct assay_chart_axes *axes, struct slots *slots,
                      const struct assay_book *book, int64_t group,
                      const struct assay_book_view *view)
{
    struct seat seat = {.book = book, .view = view, .run = book->groups[group].run};
    for (int64_t i = 0; i < view->n; i++) {
        seat.record = &view->records[i];
        add_record(axes, slots, book->groups[group].first + i, &seat);
    }
}

void assay_chart_axes_find(const struct assay_book *book, struct assay_chart_axes *axes)
{
    struct slots slots[ASSAY_CHART_AXES_MOST] = {0};
    struct assay_book_view view = {0};
    axes->n = ASSAY_CHART_AXIS_SIZE;
    for (int64_t a = 0; a < axes->n; a++) {
        axes->axes[a] = (struct assay_chart_axis){.kind = (enum assay_chart_axis_kind)a,
                                                  .numeric = rows[a].numeric,
                                                  .of_variants = rows[a].of_variants};
        snprintf(axes->axes[a].name, sizeof axes->axes[a].name, "%s", rows[a].name);
    }
    axes->at = assay_malloc((size_t)book->n_records * ASSAY_CHART_AXES_MOST * sizeof *axes->at);
    axes->failed = !axes->at && book->n_records > 0;
    for (int64_t g = 0; g < book->n_groups && !axes->failed; g++) {
        axes->failed |= !assay_book_open(book, g, &view);
        if (!axes->failed)
            add_group(axes, slots, book, g, &view);
    }
    axes->n_records = book->n_records;
    for (int64_t a = 0; a < axes->n; a++) {
        axes->failed = axes->failed || !sort_axis(axes, a);
        assay_free(slots[a].at);
    }
    axes->n_records = axes->failed ? 0 : axes->n_records;
    assay_book_view_fini(&view);
}

void assay_chart_axes_fini(struct assay_chart_axes *axes)
{
    for (int64_t a = 0; a < axes->n; a++)
        assay_free(axes->axes[a].values);
    assay_free(axes->at);
    *axes = (struct assay_chart_axes){0};
}

/* ---- questions ------------------------------------------------------------------------------ */

int64_t assay_chart_axes_at(const struct assay_chart_axes *axes, int64_t axis, int64_t record)
{
    return axes->at[record * ASSAY_CHART_AXES_MOST + axis];
}

int64_t assay_chart_axes_named(const struct assay_chart_axes *axes, const char *name)
{
    for (int64_t a = 0; a < axes->n; a++)
        if (axes->axes[a].n > 0 && assay_text_same(axes->axes[a].name, name))
            return a;
    return -1;
}

bool assay_chart_axis_varies(const struct assay_chart_axis *axis)
{
    return axis->n + (axis->n > 0 && axis->partial) > 1;
}

bool assay_chart_axes_follows(const struct assay_chart_axes *axes, int64_t axis, int64_t leader)
{
    enum { UNKNOWN = -2 };
    int64_t n = axes->axes[leader].n + 1; /* and those without a value */
    int64_t *first = assay_malloc((size_t)n * sizeof *first);
    bool follows = first != NULL;
    for (int64_t i = 0; i < n && follows; i++)
        first[i] = UNKNOWN;
    for (int64_t r = 0; r < axes->n_records && follows; r++) {
        int64_t *its = &first[assay_chart_axes_at(axes, leader, r) + 1];
        int64_t value = assay_chart_axes_at(axes, axis, r);
        *its = *its == UNKNOWN ? value : *its;
        follows = *its == value;
    }
    assay_free(first);
    return follows;
}

void assay_chart_axes_names(const struct assay_chart_axes *axes, bool numeric, char *text,
                            size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (int64_t a = 0; a < axes->n && length < size; a++) {
        const struct assay_chart_axis *axis = &axes->axes[a];
        if (assay_chart_axis_varies(axis) && (axis->numeric || !numeric))
            length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "",
                                       axis->name);
    }
}
