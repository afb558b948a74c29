/* live.c: what the browser asks for. The page is made of the journals each time it is asked for;
 * whether one of them has changed is told by the file alone, so that asking often costs little. */
#include "cli/live.h"

#include "base/lock.h"
#include "bench/journal.h"
#include "cli/command.h"
#include "compare/book_read.h"
#include "report/html/html_page.h"
#include "serve/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct live {
    const struct assay_strings *names;
    struct assay_text seen; /* what the files looked like when they were last asked about */
    int64_t changes, idle;  /* how often in a row nobody measured one of them */
    bool begun, running;    /* one is measured, or has yet to begin */
};

/* ---- what there is -------------------------------------------------------------------------- */

/* A run of which there is no journal yet. */
static bool is_awaited(const char *name)
{
    struct assay_journal_names journals;
    bool none = strcmp(name, "last") == 0 && assay_journal_list(&journals, NULL) == ASSAY_OK;
    if (none) {
        none = journals.ids.n == 0;
        assay_journal_names_fini(&journals);
    }
    return none;
}

/* Appends how the file of this name looks: another run that has become the last, or a group
 * more. Whoever measures a run holds its journal locked; the system's list of locks, read while
 * others take and release some, can lack one, so it is asked twice. */
static bool look_at(const char *name, struct assay_text *seen)
{
    struct assay_text path = {0};
    struct stat info;
    bool found = assay_journal_find(name, &path, NULL) == ASSAY_OK, busy = false;
    int file = found ? open(path.data, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    if (file >= 0 && fstat(file, &info) == 0) {
        busy = assay_lock_holder(file) > 0 || assay_lock_holder(file) > 0;
        assay_text_format(seen, "%s %lld %lld %lld.%09ld\n", path.data, (long long)info.st_ino,
                          (long long)info.st_size, (long long)info.st_mtim.tv_sec,
                          info.st_mtim.tv_nsec);
    }
    if (file >= 0)
        close(file);
    assay_text_fini(&path);
    return busy || (!found && is_awaited(name));
}

/* Who follows a run stops where it is done: that nobody measures any more is believed when it is
 * seen the second time. */
static void look(struct live *live)
{
    struct assay_text seen = {0};
    bool busy = false;
    for (int64_t i = 0; i < live->names->n; i++)
        busy = look_at(live->names->items[i], &seen) || busy;
    live->idle = busy ? 0 : live->idle + 1;
    live->begun = live->begun || busy;
    live->running = busy || (live->begun && live->idle < 2);
    const char *now = seen.data ? seen.data : "", *before = live->seen.data ? live->seen.data : "";
    if (strcmp(now, before) == 0) {
        assay_text_fini(&seen);
        return;
    }
    live->changes++;
    assay_text_fini(&live->seen);
    live->seen = seen;
}

/* ---- what is served ------------------------------------------------------------------------- */

static void write_body(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
}

/* What cannot be read is told, unless it is only not there yet. */
static enum assay_status read_all(const struct live *live, struct assay_book *book,
                                  struct assay_book_gaps *gaps, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < live->names->n && status == ASSAY_OK; i++)
        if (!is_awaited(live->names->items[i]))
            status = assay_book_read(live->names->items[i], book, NULL, gaps, err);
    return status;
}

static enum assay_status get_page(struct live *live, struct assay_served *out,
                                  struct assay_error *err)
{
    struct assay_book book = {0};
    struct assay_book_gaps gaps = {0};
    bool incomplete = false;
    struct assay_sink sink = {&out->body, write_body, &incomplete};
    look(live); /* first: what comes meanwhile is a change */
    enum assay_status status = read_all(live, &book, &gaps, err);
    if (status == ASSAY_OK) {
        struct assay_html_options options = {.live = live->running ? "version" : NULL,
                                             .left = gaps.missing};
        out->type = "text/html; charset=utf-8";
        assay_html_write(&book, &options, &sink);
        if (incomplete || out->body.failed)
            status = assay_error_nomem(err);
    }
    assay_book_fini(&book);
    return status;
}

static enum assay_status get(void *user, const char *name, struct assay_served *out,
                             struct assay_error *err)
{
    struct live *live = user;
    if (strcmp(name, "") == 0)
        return get_page(live, out, err);
    if (strcmp(name, "version") != 0)
        return ASSAY_UNSUPPORTED;
    look(live);
    out->type = "text/plain; charset=utf-8";
    assay_text_format(&out->body, "%lld %s", (long long)live->changes,
                      live->running ? "running" : "done");
    return out->body.failed ? assay_error_nomem(err) : ASSAY_OK;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* A name that is wrong is told at once, not in the browser. */
static enum assay_status check_names(const struct assay_strings *names, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < names->n && status == ASSAY_OK; i++) {
        struct assay_book book = {0};
        if (is_awaited(names->items[i]))
            fputs("assay: there is no run yet; the page shows the first that begins\n", stderr);
        else
            status = assay_book_read(names->items[i], &book, assay_warn, NULL, err);
        assay_book_fini(&book);
    }
    return status;
}

/* Signals that ask for the end, as something that can be read; nohup keeps SIGHUP ignored. They
 * stay blocked: the program ends with this. */
static int open_stop(void)
{
    struct sigaction hangup;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static enum assay_status serve(struct live *live, assay_server *server, struct assay_error *err)
{
    struct assay_site site = {.user = live, .get = get};
    int stop = open_stop();
    if (stop < 0)
        return assay_error_set(err, ASSAY_ERR_IO, NULL, "cannot wait for Ctrl-C: %s",
                               strerror(errno));
    puts(assay_server_address(server));
    (void)fflush(stdout);
    fputs("assay: open this address in a browser of this machine; Ctrl-C ends it\n", stderr);
    enum assay_status status = assay_server_run(server, &site, stop, err);
    close(stop);
    return status;
}

int assay_live_serve(const struct assay_strings *names, int port)
{
    struct live live = {.names = names};
    struct assay_server_settings settings = {.port = port};
    struct assay_error err = {0};
    assay_server *server = NULL;
    enum assay_status status = check_names(names, &err);
    if (status == ASSAY_OK)
        status = assay_server_open(&settings, &server, &err);
    if (status == ASSAY_OK)
        status = serve(&live, server, &err);
    assay_server_close(server);
    assay_text_fini(&live.seen);
    return status == ASSAY_OK ? ASSAY_EXIT_FINE : assay_complain(&err);
}
