/* runner_memory.c: a runner's memory, read and written by the judge from outside, and whether it is
 * still what was reserved. */
#include "runner/runner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

typedef ssize_t (*transfer_fn)(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                               unsigned long, unsigned long);

/* All of it: one call moves at most so much. */
static enum assay_status transfer(assay_runner *r, transfer_fn move, char *here, uint64_t there,
                                  size_t bytes, struct assay_error *err)
{
    enum { AT_ONCE = 1 << 30 };
    if (assay_runner_end_of(r) != ASSAY_RUNNER_ALIVE)
        return assay_error_set(err, ASSAY_ERR_FAILED, NULL, "%s", assay_runner_reason(r));
    for (size_t done = 0; done < bytes;) {
        size_t part = bytes - done < AT_ONCE ? bytes - done : AT_ONCE;
        struct iovec own = {here + done, part};
        struct iovec other = {(void *)(uintptr_t)(there + done), part};
        ssize_t n = move(assay_runner_pid(r), &own, 1, &other, 1, 0);
        if (n <= 0) {
            char text[96];
            snprintf(text, sizeof text,
                     "its tensors cannot be read from outside: pages protected or gone (%s)",
                     n < 0 ? strerror(errno) : "nothing is there");
            assay_runner_condemn(r, text);
            return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "%s", text);
        }
        done += (size_t)n;
    }
    return ASSAY_OK;
}

enum assay_status assay_runner_read(assay_runner *r, void *to, uint64_t from, size_t bytes,
                                    struct assay_error *err)
{
    return transfer(r, process_vm_readv, to, from, bytes, err);
}

enum assay_status assay_runner_write(assay_runner *r, uint64_t to, const void *from, size_t bytes,
                                     struct assay_error *err)
{
    return transfer(r, process_vm_writev, (char *)(uintptr_t)from, to, bytes, err);
}

/* A line "start-end perms offset device inode path" of /proc/PID/maps. */
struct mapping {
    uint64_t start, end;
    char permissions[8];
    unsigned long inode;
};

static bool read_mapping(const char *line, struct mapping *m)
{
    unsigned long start, end;
    int n = sscanf(line, "%lx-%lx %7s %*s %*s %lu", &start, &end, m->permissions, &m->inode);
    m->start = start;
    m->end = end;
    return n == 4;
}

/* "VmFlags: rd wr …": um and uw stand for pages that userfaultfd fills or guards. */
static bool is_lazy(const char *line)
{
    return strncmp(line, "VmFlags:", 8) == 0 && (strstr(line, " um") || strstr(line, " uw"));
}

bool assay_runner_intact(assay_runner *r, uint64_t start, size_t bytes, struct assay_error *why)
{
    char path[64], line[512];
    uint64_t covered = start, end = start + bytes;
    bool fine = true, inside = false;
    snprintf(path, sizeof path, "/proc/%d/smaps", (int)assay_runner_pid(r));
    FILE *file = assay_runner_end_of(r) == ASSAY_RUNNER_ALIVE ? fopen(path, "re") : NULL;
    if (!file)
        return true; /* the system does not tell */
    while (fine && fgets(line, sizeof line, file)) {
        struct mapping m;
        if (read_mapping(line, &m)) {
            inside = m.start < end && m.end > start;
            if (inside && m.start <= covered)
                covered = m.end;
            fine = !inside || (strcmp(m.permissions, "rw-p") == 0 && m.inode == 0);
        } else if (inside) {
            fine = !is_lazy(line);
        }
    }
    fclose(file);
    if (fine && covered >= end)
        return true;
    assay_error_set(why, ASSAY_ERR_CORRUPT, NULL,
                    "changed the pages of its tensors (protection, mapping or who fills them)");
    return false;
}
