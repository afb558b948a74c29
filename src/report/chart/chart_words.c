#include "report/chart/chart_words.h"

#include "report/report_bouts.h"
#include "tensor/dtype.h"

#include <string.h>

/* Cut at its first option, and without the folders of the program. */
static void add_command(struct assay_cell *cell, const struct assay_run_info *run)
{
    const char *command = run->command, *option = strstr(command, " -");
    const char *blank = command + strcspn(command, " "), *name = blank;
    while (name > command && name[-1] != '/')
        name--;
    assay_cell_add(cell, "%.*s", (int)(option ? option - name : (int64_t)strlen(name)), name);
    if (!cell->text[0])
        assay_cell_add(cell, "assay");
}

/* What all groups have in common. */
struct common {
    struct assay_cell subject;
    enum assay_dtype dtype;
    bool one_subject, one_dtype;
};

static struct common find_common(const struct assay_book *book)
{
    struct common c = {.one_subject = book->n_groups > 0, .one_dtype = true};
    struct assay_book_view view = {0};
    for (int64_t g = 0; g < book->n_groups && c.one_subject; g++) {
        if (!assay_book_open(book, g, &view)) {
            c.one_subject = false;
            break;
        }
        const struct assay_record *r = &view.records[0];
        if (g == 0) {
            assay_cell_add(&c.subject, "%s", assay_cell_subject(r));
            c.dtype = r->dtype;
        }
        c.one_subject = strcmp(assay_cell_subject(r), c.subject.text) == 0;
        c.one_dtype = c.one_dtype && r->dtype == c.dtype;
    }
    assay_book_view_fini(&view);
    return c;
}

struct assay_cell assay_chart_subject(const struct assay_book *book)
{
    struct assay_cell cell = {""};
    if (book->n_runs && book->runs[0].info.repository[0]) {
        assay_cell_add(&cell, "%s", book->runs[0].info.repository);
        return cell;
    }
    struct common c = find_common(book);
    if (c.one_subject)
        assay_cell_add(&cell, "%s%s%s", c.subject.text,
                       c.one_dtype && c.dtype != ASSAY_DTYPE_NONE ? " " : "",
                       c.one_dtype && c.dtype != ASSAY_DTYPE_NONE ? assay_dtype_name(c.dtype) : "");
    else if (book->n_runs)
        add_command(&cell, &book->runs[0].info);
    else
        assay_cell_add(&cell, "assay");
    return cell;
}

static const char *machine_of(const struct assay_run_info *run)
{
    return run->device_name[0] ? run->device_name : run->device;
}

static int64_t count_machines(const struct assay_book *book)
{
    int64_t n = 0;
    for (int64_t i = 0; i < book->n_runs; i++) {
        bool seen = false;
        for (int64_t k = 0; k < i && !seen; k++)
            seen = strcmp(machine_of(&book->runs[i].info), machine_of(&book->runs[k].info)) == 0;
        n += !seen;
    }
    return n;
}

struct assay_cell assay_chart_place(const struct assay_book *book)
{
    struct assay_cell cell = {""};
    if (book->n_runs == 0)
        return cell;
    const struct assay_run_info *run = &book->runs[0].info;
    int64_t machines = count_machines(book);
    if (book->n_runs > 1)
        assay_cell_add(&cell, "%lld runs on ", (long long)book->n_runs);
    if (machines > 1)
        assay_cell_add(&cell, "%lld machines", (long long)machines);
    else
        assay_cell_add(&cell, "%.70s", machine_of(run));
    if (book->n_runs > 1)
        return cell;
    if (run->repository[0])
        assay_cell_add(&cell, " · %s%s", run->kernel_commit[0] ? "commit " : "no commit",
                       run->kernel_commit[0] ? assay_bout_short_sha(run->kernel_commit).text : "");
    else if (run->threads > 0 && assay_run_on_host(run))
        assay_cell_add(&cell, " · %d thread%s", run->threads, run->threads == 1 ? "" : "s");
    if (run->hot || run->cold)
        assay_cell_add(&cell, " · %s",
                       run->hot && run->cold ? "hot and cold"
                       : run->hot            ? "hot"
                                             : "cold");
    assay_cell_add(&cell, " · assay %s", run->version);
    return cell;
}

struct assay_cell assay_chart_group_name(const struct assay_book *book,
                                         const struct assay_book_view *view)
{
    const struct assay_record *r = &view->records[0];
    struct assay_cell cell = {""};
    if (book->n_runs > 1)
        assay_cell_add(&cell, "%.24s: ", view->run->info.id);
    assay_cell_add(&cell, "%s%s%s", assay_cell_subject(r), r->mode[0] ? " " : "", r->mode);
    if (r->dtype != ASSAY_DTYPE_NONE)
        assay_cell_add(&cell, " %s", assay_dtype_name(r->dtype));
    for (int32_t i = 0; i < r->n_axes && i < ASSAY_MAX_AXES; i++)
        assay_cell_add(&cell, "%s%lld", i ? "x" : " ", (long long)r->axes[i]);
    if (r->label[0])
        assay_cell_add(&cell, " %.40s", r->label);
    return cell;
}
