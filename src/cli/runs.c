/* runs.c: the list of runs. A journal that is damaged has its line too, and what is no journal is
 * named, so that nothing in the folder goes unseen. */
#include "cli/runs.h"

#include "base/lock.h"
#include "bench/journal.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/report_line.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void assay_run_command_name(const struct assay_run_info *run, char *out, size_t size)
{
    static const char program[] = "assay ";
    const char *word = run->command;
    out[0] = '\0';
    if (strncmp(word, program, sizeof program - 1) != 0)
        return;
    word += sizeof program - 1;
    snprintf(out, size, "%.*s", (int)strcspn(word, " "), word);
    if (!assay_command_find(out))
        out[0] = '\0';
}

void assay_run_again(const struct assay_run_info *run, char *out, size_t size)
{
    char name[32];
    assay_run_command_name(run, name, sizeof name);
    snprintf(out, size, "assay %s", name[0] ? name : "bench");
}

/* ---- one run -------------------------------------------------------------------------------- */

struct told {
    struct assay_run_info info;
    int64_t groups, done;
    int64_t damaged, bytes;
    bool busy; /* somebody measures it now */
};

static enum assay_status on_head(void *user, const struct assay_run_info *run,
                                 struct assay_plan *plan, struct assay_error *err)
{
    struct told *told = user;
    (void)err;
    told->info = *run;
    told->groups = plan->n_groups;
    return ASSAY_OK;
}

static void on_group(void *user, int64_t group, const struct assay_record *records, int64_t n)
{
    (void)group, (void)records, (void)n;
    ((struct told *)user)->done++;
}

static enum assay_status tell(const char *path, struct told *told, struct assay_error *err)
{
    struct assay_journal_visitor visitor = {.user = told, .head = on_head, .group = on_group};
    struct assay_journal_end end;
    struct stat info;
    *told = (struct told){0};
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &info) == 0)
        told->bytes = info.st_size;
    told->busy = file >= 0 && assay_lock_holder(file) > 0;
    if (file >= 0)
        close(file);
    enum assay_status status = assay_journal_read(path, &visitor, &end, err);
    told->damaged = end.damaged;
    return status;
}

/* ---- the list ------------------------------------------------------------------------------- */

enum { ID = 20, WHEN = 16, GROUPS = 11, SIZE = 8, DEVICE = 6, GAP = 2, ALL = 1 << 12 };

struct list {
    struct assay_sink sink;
    struct assay_line line;
    int width;
    char unfinished[sizeof((struct assay_run_info *)0)->id]; /* the newest that is not done */
    char again[64];                                          /* how to go on with it */
};

static void write_out(void *user, const char *bytes, size_t length)
{
    (void)user;
    (void)fwrite(bytes, 1, length, stdout); /* main tells of what fails here */
}

static void put(struct list *list, const char *text, int width, bool right)
{
    if (right)
        assay_line_right(&list->line, text, width, ASSAY_INK_PLAIN);
    else
        assay_line_left(&list->line, text, width, ASSAY_INK_PLAIN);
    assay_line_to(&list->line, list->line.columns + GAP);
}

static void put_row(struct list *list, const char *id, const char *when, const char *groups,
                    const char *size, const char *device, const char *command)
{
    put(list, id, ID, false);
    put(list, when, WHEN, false);
    put(list, groups, GROUPS, true);
    put(list, size, SIZE, true);
    put(list, device, DEVICE, false);
    int rest = list->width - list->line.columns;
    assay_line_put(&list->line, command, rest > 8 ? rest : 8, ASSAY_INK_PLAIN);
    assay_line_flush(&list->line, &list->sink);
}

static void put_run(struct list *list, const char *id, const struct told *told)
{
    char when[24], groups[48], size[32];
    snprintf(when, sizeof when, "%.16s", told->info.started);
    char *t = strchr(when, 'T');
    if (t)
        *t = ' ';
    snprintf(groups, sizeof groups, "%lld/%lld", (long long)told->done, (long long)told->groups);
    assay_text_bytes((double)told->bytes, size, sizeof size);
    put_row(list, id, when, groups, size, told->info.device, told->info.command);
    if (told->damaged)
        printf("%*s%lld line%s damaged\n", ID + GAP, "", (long long)told->damaged,
               told->damaged == 1 ? " is" : "s are");
    if (told->busy && told->done < told->groups)
        printf("%*sis being measured now\n", ID + GAP, "");
    if (list->unfinished[0] || told->busy || told->done == told->groups)
        return;
    snprintf(list->unfinished, sizeof list->unfinished, "%s", id);
    assay_run_again(&told->info, list->again, sizeof list->again);
}

/* One that cannot be read has its line, and is no reason to fail. */
static enum assay_status list_one(struct list *list, const char *folder, const char *id,
                                  struct assay_error *err)
{
    struct assay_text path = {0};
    struct assay_error why = {0};
    struct told told;
    assay_text_format(&path, "%s/%s.jsonl", folder, id);
    if (path.failed)
        return assay_error_nomem(err);
    enum assay_status status = tell(path.data, &told, &why);
    assay_text_fini(&path);
    if (status == ASSAY_ERR_NOMEM)
        return assay_error_nomem(err);
    if (status == ASSAY_OK) {
        put_run(list, id, &told);
    } else {
        put(list, id, ID, false);
        assay_line_put(&list->line, why.message, ALL, ASSAY_INK_PLAIN);
        assay_line_flush(&list->line, &list->sink);
    }
    return ASSAY_OK;
}

static void name_foreign(const struct assay_strings *foreign, const char *folder)
{
    struct assay_text text = {0};
    for (int64_t i = 0; i < foreign->n; i++)
        assay_text_format(&text, "%s%s", i ? ", " : "", foreign->items[i]);
    if (text.data && !text.failed) {
        fputs("assay: ", stderr);
        assay_put(stderr, folder);
        fputs(": written by no run: ", stderr);
        assay_put(stderr, text.data);
        fputs("\n", stderr);
    }
    assay_text_fini(&text);
}

static void put_end(const struct list *list)
{
    puts("\nTimes are UTC. `assay show RUN` prints one again, `assay compare OLD NEW` puts two "
         "side by side;\nRUN is an id, the beginning of one, last, or last~1 for the one before.");
    if (list->unfinished[0])
        printf("Go on with the newest that is not done: %s --resume %s\n", list->again,
               list->unfinished);
}

static enum assay_status list_all(const struct assay_journal_names *names, const char *folder,
                                  struct assay_error *err)
{
    struct assay_measure_config config = {0};
    struct assay_report_style style = assay_output_style(&config, STDOUT_FILENO);
    struct list list = {.sink = {NULL, write_out, NULL}};
    enum assay_status status = ASSAY_OK;
    list.width = isatty(STDOUT_FILENO) == 1 ? style.width : ALL;
    assay_line_init(&list.line, &style);
    if (names->ids.n == 0) {
        printf("There are no runs yet in %s.\n", folder);
        return ASSAY_OK;
    }
    put_row(&list, "run", "when", "groups", "size", "device", "command");
    for (int64_t i = 0; i < names->ids.n && status == ASSAY_OK; i++)
        status = list_one(&list, folder, names->ids.items[i], err);
    if (status == ASSAY_OK)
        put_end(&list);
    return status;
}

int assay_list_runs(bool only_names)
{
    struct assay_journal_names names;
    struct assay_text folder = {0};
    struct assay_error err = {0};
    enum assay_status status = assay_journal_list(&names, &err);
    if (status != ASSAY_OK)
        return assay_complain(&err);
    status = assay_journal_folder(&folder, &err);
    for (int64_t i = 0; only_names && i < names.ids.n; i++)
        puts(names.ids.items[i]);
    if (status == ASSAY_OK && !only_names) {
        status = list_all(&names, folder.data, &err);
        name_foreign(&names.foreign, folder.data);
    }
    assay_journal_names_fini(&names);
    assay_text_fini(&folder);
    return status == ASSAY_OK ? ASSAY_EXIT_FINE : assay_complain(&err);
}
