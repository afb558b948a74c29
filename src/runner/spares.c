#include "runner/spares.h"

#include "runner/python.h"

#include <stdio.h>
#include <string.h>

static bool fits(const struct assay_spare *s, const char *path, const char *device, int32_t threads)
{
    return strcmp(s->path, path) == 0 && strcmp(s->device, device) == 0 && s->threads == threads;
}

assay_runner *assay_spares_take(struct assay_spares *spares, const char *path, const char *device,
                                int32_t threads)
{
    for (int i = 0; i < spares->n; i++) {
        assay_runner *runner = spares->items[i].runner;
        if (!fits(&spares->items[i], path, device, threads))
            continue;
        spares->items[i] = spares->items[--spares->n];
        if (assay_runner_end_of(runner) == ASSAY_RUNNER_ALIVE)
            return runner;
        assay_runner_stop(runner);
        i--;
    }
    return NULL;
}

bool assay_spares_keep(struct assay_spares *spares, assay_runner *runner, const char *path,
                       const char *device, int32_t threads)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_RELEASE};
    struct assay_runner_reply reply;
    struct assay_spare spare = {.runner = runner, .threads = threads};
    if (strncmp(path, ASSAY_PYTHON_PREFIX, strlen(ASSAY_PYTHON_PREFIX)) != 0 ||
        spares->n == ASSAY_SPARES_MOST || strlen(path) >= sizeof spare.path ||
        strlen(device) >= sizeof spare.device ||
        assay_runner_ask(runner, &c, &reply, NULL) != ASSAY_OK)
        return false;
    snprintf(spare.path, sizeof spare.path, "%s", path);
    snprintf(spare.device, sizeof spare.device, "%s", device);
    spares->items[spares->n++] = spare;
    return true;
}

void assay_spares_end(struct assay_spares *spares)
{
    while (spares->n > 0)
        assay_runner_stop(spares->items[--spares->n].runner);
}
