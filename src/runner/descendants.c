/* descendants.c: what a runner leaves behind is found in /proc and ended.
 *
 * Processes are doomed by descent and killed by group: a signal to a group reaches all of it at
 * once, also a process that forks and exits faster than /proc can be read. Filtered runners cannot
 * leave their group (seccomp.c); for others, passes are repeated until nothing is left. */
#include "base/alloc.h"
#include "base/clock.h"
#include "runner/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t patience_ns = (int64_t)5 * 1000 * 1000 * 1000;

struct process {
    pid_t pid, parent, group;
    char state; /* 'Z': a zombie */
};

/* All processes, in the order of their numbers. */
struct processes {
    struct process *items;
    int64_t n, capacity;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* "1234 (a name) S 1 1234 …": a name may have blanks and brackets in it. */
static bool parse_stat(const char *text, struct process *out)
{
    int parent, group;
    const char *end = strrchr(text, ')');
    out->pid = (pid_t)strtol(text, NULL, 10);
    if (!end || sscanf(end + 1, " %c %d %d", &out->state, &parent, &group) != 3)
        return false;
    out->parent = parent;
    out->group = group;
    return true;
}

static bool read_process(const char *name, struct process *out)
{
    char path[64], text[512];
    if (name[0] < '0' || name[0] > '9' || strlen(name) > 20)
        return false;
    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    return parse_stat(text, out);
}

static bool append(struct processes *all, const struct process *one)
{
    if (all->n == all->capacity) {
        int64_t capacity = all->capacity ? 2 * all->capacity : 256;
        struct process *items = assay_realloc(all->items, (size_t)capacity, sizeof *items);
        if (!items)
            return false;
        all->items = items;
        all->capacity = capacity;
    }
    all->items[all->n++] = *one;
    return true;
}

static int by_pid(const void *a, const void *b)
{
    pid_t left = ((const struct process *)a)->pid, right = ((const struct process *)b)->pid;
    return (left > right) - (left < right);
}

static bool read_all(struct processes *all)
{
    struct process one;
    bool ok = true;
    DIR *folder = opendir("/proc");
    all->n = 0;
    if (!folder)
        return false;
    for (struct dirent *entry; ok && (entry = readdir(folder));)
        if (read_process(entry->d_name, &one))
            ok = append(all, &one);
    closedir(folder);
    if (all->n > 0)
        qsort(all->items, (size_t)all->n, sizeof *all->items, by_pid);
    return ok;
}

/* ---- descent --------------------------------------------------------------------------------- */

static const struct process *find(const struct processes *all, pid_t pid)
{
    const struct process key = {.pid = pid};
    return all->n ? bsearch(&key, all->items, (size_t)all->n, sizeof key, by_pid) : NULL;
}

/* A list read while it changes may have a circle in it. */
static bool descends(const struct processes *all, const struct process *one, pid_t from)
{
    for (int64_t steps = 0; one && steps < all->n; steps++) {
        if (one->parent == from)
            return true;
        one = find(all, one->parent);
    }
    return false;
}

void assay_descendants_adopt(void) { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

/* All but zombies, or those that run. */
static int64_t count(pid_t of, bool running)
{
    struct processes all = {0};
    int64_t n = -1;
    if (read_all(&all)) {
        n = 0;
        for (int64_t i = 0; i < all.n; i++) {
            const struct process *one = &all.items[i];
            bool counts = running ? one->state == 'R' : one->state != 'Z';
            n += one->pid != of && counts && (one->group == of || descends(&all, one, of));
        }
    }
    assay_free(all.items);
    return n;
}

int64_t assay_descendants_count(pid_t of) { return count(of, false); }
int64_t assay_descendants_running(pid_t of) { return count(of, true); }

/* ---- ending ---------------------------------------------------------------------------------- */

struct spared {
    const pid_t *pids;
    int64_t n;
};

static bool is_spared(const struct processes *all, const struct process *one,
                      const struct spared *spared)
{
    for (int64_t i = 0; i < spared->n; i++)
        if (one->pid == spared->pids[i] || one->group == spared->pids[i] ||
            descends(all, one, spared->pids[i]))
            return true;
    return false;
}

/* Ours and those of the spared are not for killing; a group that has lost its leader is one whose
 * number nobody else can have. */
static bool is_whole_group_doomed(const struct processes *all, pid_t group,
                                  const struct spared *spared)
{
    bool doomed = group > 1 && group != getpgrp();
    for (int64_t i = 0; doomed && i < all->n; i++) {
        const struct process *one = &all->items[i];
        if (one->group == group)
            doomed = descends(all, one, getpid()) && !is_spared(all, one, spared);
    }
    return doomed;
}

/* One pass; returns how many were found. */
static int64_t end_found(const struct processes *all, const struct spared *spared)
{
    int64_t found = 0;
    pid_t last_group = 0;
    for (int64_t i = 0; i < all->n; i++) {
        const struct process *one = &all->items[i];
        if (!descends(all, one, getpid()) || is_spared(all, one, spared))
            continue;
        found++;
        if (one->group != last_group && is_whole_group_doomed(all, one->group, spared))
            kill(-one->group, SIGKILL);
        last_group = one->group;
        kill(one->pid, SIGKILL);
        waitpid(one->pid, NULL, WNOHANG); /* fails for a child's child: not for us to reap yet */
    }
    return found;
}

bool assay_descendants_end(const pid_t *spared, int64_t n)
{
    const struct spared list = {spared, n};
    struct processes all = {0};
    int64_t last = assay_clock_ns() + patience_ns;
    bool none = false;
    for (useconds_t nap = 100; !none && assay_clock_ns() < last;) {
        if (!read_all(&all))
            break;
        none = end_found(&all, &list) == 0;
        if (!none)
            usleep(nap);
        nap = nap < 10000 ? 2 * nap : nap;
    }
    assay_free(all.items);
    return none;
}
