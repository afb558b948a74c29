/* fuzz_journal.c: the input is a journal. Whatever state it is in, the part that is said to be good
 * can be read again, without an error, and tells of the same groups. */
#include "bench/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
    int64_t plan_groups, groups, records;
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
    if (group < 0 || group >= heard->plan_groups)
        abort();
    for (int64_t i = 0; i < n; i++)
        if (records[i].group != group || records[i].interrupted)
            abort();
    heard->groups++;
    heard->records += n;
}

static enum assay_status hear(const char *path, struct heard *heard, int64_t *good)
{
    struct assay_error err = {0};
    struct assay_journal_visitor visitor = {.user = heard, .head = on_head, .group = on_group};
    *heard = (struct heard){0};
    enum assay_status status = assay_journal_read(path, &visitor, good, &err);
    if (status != err.code || (status != ASSAY_OK && !err.message[0]))
        abort();
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct heard first, second;
    int64_t good = -1, good_again = -1;
    int fd = memfd_create("journal", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    hear(path, &first, &good);
    if (good < 0 || good > (int64_t)size)
        abort();
    if (good > 0) {
        if (ftruncate(fd, good) != 0 || hear(path, &second, &good_again) != ASSAY_OK)
            abort();
        if (good_again != good || second.groups != first.groups || second.records != first.records)
            abort();
    }
    close(fd);
    return 0;
}
