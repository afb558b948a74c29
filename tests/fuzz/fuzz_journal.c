/* fuzz_journal.c: the input is a journal. Whatever state it is in, no group is told of twice or
 * with records of another, and what is said to be good can be read again and tells of the same
 * groups. Once as it is; once with a frame that fits behind each of its lines, or no change would
 * ever pass the checksum. */
#include "base/frame.h"
#include "bench/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
    int64_t plan_groups, groups, records, damaged;
    bool seen[1024];
};

static enum assay_status on_head(void *user, const struct assay_run_info *run,
                                 struct assay_plan *plan, struct assay_error *err)
{
    (void)run, (void)err;
    ((struct heard *)user)->plan_groups = plan->n_groups;
    return ASSAY_OK;
}

static void on_group(void *user, int64_t group, const struct assay_record *records, int64_t n)
{
    struct heard *heard = user;
    if (group < 0 || group >= heard->plan_groups || n < 1)
        abort();
    for (int64_t i = 0; i < n; i++)
        if (records[i].group != group || !assay_journal_is_final(&records[i]))
            abort();
    if (group < 1024 && heard->seen[group])
        abort();
    if (group < 1024)
        heard->seen[group] = true;
    heard->groups++;
    heard->records += n;
}

static void on_damage(void *user, const char *where, const char *what)
{
    if (!where[0] || !what[0])
        abort();
    ((struct heard *)user)->damaged++;
}

static enum assay_status hear(const char *path, struct heard *heard, struct assay_journal_end *end)
{
    struct assay_error err = {0};
    struct assay_journal_visitor visitor = {
        .user = heard, .head = on_head, .group = on_group, .damaged = on_damage};
    *heard = (struct heard){0};
    enum assay_status status = assay_journal_read(path, &visitor, end, &err);
    if (status != err.code || (status != ASSAY_OK && !err.message[0]) ||
        end->damaged != heard->damaged)
        abort();
    return status;
}

static void try_bytes(const void *data, size_t size)
{
    char path[64];
    struct heard first, second;
    struct assay_journal_end end, again;
    int fd = memfd_create("journal", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum assay_status status = hear(path, &first, &end);
    if (end.size < 0 || end.size > (int64_t)size)
        abort();
    if (status == ASSAY_OK) {
        if (ftruncate(fd, end.size) != 0 || hear(path, &second, &again) != ASSAY_OK)
            abort();
        if (again.size != end.size || again.next != end.next || second.groups != first.groups ||
            second.records != first.records)
            abort();
    }
    close(fd);
}

/* A line that ends as an object does gets a frame and the next number. */
static void add_framed(const char *line, size_t length, int64_t *seq, struct assay_text *out)
{
    struct assay_frame frame = {0};
    if (length < 3 || line[length - 1] != '}') {
        assay_text_append(out, line, length);
        assay_text_add(out, "\n");
        return;
    }
    assay_frame_add(&frame, line, length - 1);
    assay_text_append(out, line, length - 1);
    assay_frame_end(&frame, (*seq)++, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_text framed = {0};
    int64_t seq = 0;
    try_bytes(data, size);
    const char *line = (const char *)data, *end = line + size, *newline;
    while (line < end && (newline = memchr(line, '\n', (size_t)(end - line)))) {
        add_framed(line, (size_t)(newline - line), &seq, &framed);
        line = newline + 1;
    }
    if (framed.length > 0)
        try_bytes(framed.data, framed.length);
    assay_text_fini(&framed);
    return 0;
}
