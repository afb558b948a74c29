#include "report/report_trained.h"

#include "base/alloc.h"
#include "quant/quant.h"
#include "report/report_pairs.h"

#include <math.h>
#include <string.h>

static bool is(const char *text, const char *other) { return strcmp(text, other) == 0; }

const char *assay_trained_pass_name(enum assay_trained_pass pass)
{
    static const char *const names[ASSAY_TRAINED_PASSES] = {"forward", "backward", "total"};
    return names[pass];
}

/* ---- which pass of what ---------------------------------------------------------------------- */

static const char *const passes[ASSAY_TRAINED_PASSES] = {"forward", "backward", "both"};

/* ASSAY_TRAINED_PASSES: none of the three. */
static int pass_of(const struct assay_record *record)
{
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++)
        if (is(record->pass, passes[i]))
            return i;
    return ASSAY_TRAINED_PASSES;
}

struct assay_cell assay_trained_subject(const struct assay_record *record)
{
    struct assay_cell cell = {""};
    const char *name = assay_cell_subject(record);
    size_t length = strlen(name), suffix = strlen(record->pass) + 1;
    bool ends = record->pass[0] && length > suffix && name[length - suffix] == '_' &&
                is(name + length - suffix + 1, record->pass);
    assay_cell_add(&cell, "%.*s", (int)(ends ? length - suffix : length), name);
    return cell;
}

static bool same_model(const struct assay_record *a, const struct assay_record *b)
{
    return is(a->entry, b->entry) && is(a->label, b->label) && is(a->device, b->device) &&
           is(a->compile, b->compile) && is(a->mode, b->mode) && a->dtype == b->dtype &&
           a->n_axes == b->n_axes && memcmp(a->axes, b->axes, sizeof a->axes) == 0 &&
           is(assay_trained_subject(a).text, assay_trained_subject(b).text);
}

const struct assay_record *assay_trained_any(const struct assay_trained *all)
{
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++)
        if (all->records[i])
            return all->records[i];
    return NULL;
}

/* ---- groups ---------------------------------------------------------------------------------- */

void assay_trained_fini(struct assay_trained *all)
{
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++)
        assay_free(all->records[i]);
    *all = (struct assay_trained){0};
}

void assay_trained_end(struct assay_trained *all,
                       void (*told)(void *user, const struct assay_trained *all), void *user)
{
    if (assay_trained_any(all))
        told(user, all);
    assay_trained_fini(all);
}

static bool is_whole(const struct assay_trained *all)
{
    bool whole = true;
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++)
        whole = whole && all->records[i];
    return whole;
}

bool assay_trained_add(struct assay_trained *all, const struct assay_record *records, int64_t n,
                       void (*told)(void *user, const struct assay_trained *all), void *user)
{
    const struct assay_record *any = assay_trained_any(all);
    int pass = pass_of(&records[0]);
    if (pass == ASSAY_TRAINED_PASSES) /* no group of training: it has no row here */
        return true;
    if (any && (all->records[pass] || !same_model(any, &records[0])))
        assay_trained_end(all, told, user);
    all->records[pass] = assay_calloc((size_t)n, sizeof *records);
    if (!all->records[pass])
        return false;
    memcpy(all->records[pass], records, (size_t)n * sizeof *records);
    all->n[pass] = n;
    for (int64_t i = 0; i < n; i++) /* those are gone before the copies are */
        for (int s = 0; s < ASSAY_CACHE_STATES; s++)
            all->records[pass][i].states[s].samples = (struct assay_samples){0};
    if (is_whole(all))
        assay_trained_end(all, told, user);
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* One record says of all variants why they were not measured. */
static bool is_of_all(const struct assay_trained *all, int pass)
{
    return all->n[pass] == 1 && !all->records[pass][0].kernel[0] &&
           !all->records[pass][0].implementation[0];
}

static const struct assay_record *find(const struct assay_trained *all, int pass,
                                       const struct assay_record *like)
{
    if (all->records[pass] && is_of_all(all, pass))
        return &all->records[pass][0];
    for (int64_t i = 0; i < all->n[pass]; i++)
        if (is(all->records[pass][i].implementation, like->implementation) &&
            is(all->records[pass][i].recipe, like->recipe))
            return &all->records[pass][i];
    return NULL;
}

static struct assay_trained_row row_of(const struct assay_trained *all,
                                       const struct assay_record *like)
{
    struct assay_trained_row row = {.all = all};
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++) {
        row.passes[i] = find(all, i, like);
        if (row.passes[i])
            row.references[i] = assay_pair_baseline(all->records[i], all->n[i], row.passes[i]);
    }
    return row;
}

/* The pass whose variants are the rows: the first that was not left out as a whole. */
static int leading_pass(const struct assay_trained *all)
{
    int found = -1;
    for (int i = ASSAY_TRAINED_PASSES - 1; i >= 0; i--)
        if (all->records[i] && (found < 0 || !is_of_all(all, i)))
            found = i;
    return found;
}

static double time_of(const struct assay_trained_row *row, enum assay_trained_order order)
{
    if (order == ASSAY_TRAINED_AS_LISTED)
        return 0;
    const struct assay_measurement *m = assay_pair_figures(row->passes[ASSAY_TRAINED_TOTAL]);
    return m ? m->time.median : (double)INFINITY;
}

/* Does a come before b? Both lead their rows. */
static bool precedes(const struct assay_trained_row *a, const struct assay_trained_row *b, int lead,
                     enum assay_trained_order order)
{
    double ta = time_of(a, order), tb = time_of(b, order);
    return ta < tb || (ta == tb && a->passes[lead] < b->passes[lead]);
}

bool assay_trained_next(const struct assay_trained *all, enum assay_trained_order order,
                        struct assay_trained_row *row)
{
    int lead = leading_pass(all);
    bool first = !row->all, found = false;
    struct assay_trained_row next = {0};
    for (int64_t i = 0; lead >= 0 && i < all->n[lead]; i++) {
        struct assay_trained_row one = row_of(all, &all->records[lead][i]);
        if (one.passes[lead] != &all->records[lead][i] ||
            (!first && !precedes(row, &one, lead, order)) ||
            (found && !precedes(&one, &next, lead, order)))
            continue;
        next = one;
        found = true;
    }
    *row = next;
    return found;
}

const struct assay_record *assay_trained_row_any(const struct assay_trained_row *row)
{
    const struct assay_record *any = NULL;
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++)
        if (row->passes[i] && (!any || (!any->implementation[0] && !any->kernel[0])))
            any = row->passes[i];
    return any;
}

const struct assay_record *assay_trained_trouble(const struct assay_trained_row *row)
{
    const struct assay_record *found = NULL;
    for (int i = 0; i < ASSAY_TRAINED_PASSES; i++) {
        const struct assay_record *one = row->passes[i];
        if (one && one->outcome != ASSAY_OUTCOME_OK &&
            (!found ||
             (assay_outcome_is_fine(found->outcome) && !assay_outcome_is_fine(one->outcome))))
            found = one;
    }
    return found;
}

/* ---- figures --------------------------------------------------------------------------------- */

double assay_trained_ops_per_s(const struct assay_record *total)
{
    const struct assay_measurement *m = assay_pair_figures(total);
    double ops = total ? total->flops : 0;
    if (!m || !(m->time.median > 0))
        return (double)NAN;
    if (is(assay_trained_subject(total).text, "linear"))
        ops = 3 * 2.0 * (double)total->axes[0] * (double)total->axes[1] * (double)total->axes[2];
    return ops / m->time.median * 1e9;
}

/* What a recipe does to an operand wherever it casts it. */
static struct assay_cast cast_of(const struct assay_recipe *recipe,
                                 enum assay_training_operand operand)
{
    struct assay_cast cast = {ASSAY_DTYPE_NONE, ASSAY_SCOPE_NONE};
    for (int i = 0; i < ASSAY_PRODUCTS && cast.code == ASSAY_DTYPE_NONE; i++)
        cast = assay_recipe_cast(recipe, (enum assay_training_product)i, operand);
    return cast;
}

static const char *code_name(struct assay_cast cast)
{
    return cast.code == ASSAY_DTYPE_E5M2 ? "e5m2" : "e4m3";
}

static bool reads(const char *name, struct assay_recipe *out)
{
    return assay_recipe_parse(name, out, NULL) == ASSAY_OK && out->trains;
}

struct assay_cell assay_trained_scaling(const char *name)
{
    static const char *const words[ASSAY_OPERANDS] = {"i", "w", "go"};
    struct assay_cell cell = {""};
    struct assay_recipe recipe;
    if (!reads(name, &recipe))
        return cell;
    for (int i = 0; i < ASSAY_OPERANDS; i++) {
        struct assay_cast cast = cast_of(&recipe, (enum assay_training_operand)i);
        assay_cell_add(&cell, "%s%s:", i ? "," : "", words[i]);
        if (cast.code == ASSAY_DTYPE_NONE)
            assay_cell_add(&cell, "dis");
        else
            assay_cell_add(&cell, "dyn_%s_%s", cast.scope == ASSAY_SCOPE_TENSOR ? "ten" : "axs",
                           code_name(cast));
    }
    if (recipe.precise_products >> ASSAY_PRODUCT_WEIGHT_GRADIENT & 1)
        assay_cell_add(&cell, ",gw:dis");
    return cell;
}

struct assay_cell assay_trained_scaling_short(const char *name)
{
    struct assay_cell cell = {""};
    struct assay_recipe recipe;
    if (!reads(name, &recipe)) {
        assay_cell_add(&cell, "-");
        return cell;
    }
    assay_cell_add(&cell, "%s", recipe.scope == ASSAY_SCOPE_TENSOR ? "ten" : "axs");
    for (int i = 0; i < ASSAY_OPERANDS; i++) {
        struct assay_cast cast = cast_of(&recipe, (enum assay_training_operand)i);
        assay_cell_add(&cell, " %s", cast.code == ASSAY_DTYPE_NONE ? "-" : code_name(cast));
    }
    return cell;
}
