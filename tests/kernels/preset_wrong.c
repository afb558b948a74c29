/* preset_wrong.c: a preset whose cases fail, crash and hang, beside one that is fine. */
#include <assay/assay_preset.h>

#include <stdlib.h>
#include <time.h>

static int refuse(const struct assay_preset_setting *setting, void **state)
{
    (void)state;
    return setting->values[0] > 3 ? 1 : 0;
}

static int fine(void *state)
{
    (void)state;
    return 0;
}

static int fails(void *state)
{
    (void)state;
    return 1;
}

static int crashes(void *state)
{
    (void)state;
    abort();
}

static int hangs(void *state)
{
    (void)state;
    struct timespec second = {1, 0};
    while (nanosleep(&second, NULL) < 1)
        ;
    return 0;
}

static const struct assay_preset_entry entries[] = {
    {"fine", {{"size", 1}, {"spare", 0}}, refuse, fine, NULL, NULL, NULL},
    {"fails", {{NULL, 0}}, NULL, fails, NULL, NULL, NULL},
    {"crashes", {{NULL, 0}}, NULL, crashes, NULL, NULL, NULL},
    {"hangs", {{NULL, 0}}, NULL, hangs, NULL, NULL, NULL},
};

const struct assay_preset_plugin *assay_preset_plugin(void)
{
    static const struct assay_preset_plugin plugin = {sizeof plugin, ASSAY_PRESET_ABI, "wrong",
                                                      NULL,          entries,          4};
    return &plugin;
}
