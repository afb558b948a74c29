/* dot.c: a preset as a shared object: two ways to a dot product.
 *     cc -O2 -shared -fPIC dot.c $(pkg-config --cflags assay) -o dot.so
 *     assay preset ./dot.so --set length=1000000 */
#include <assay/assay_preset.h>

#include <stdlib.h>

struct dot {
    int64_t length;
    float *x, *y;
    volatile float answer; /* somebody may read it: the loop cannot be left out */
};

static void tear_down(void *state)
{
    struct dot *d = state;
    if (!d)
        return;
    free(d->x);
    free(d->y);
    free(d);
}

static int set_up(const struct assay_preset_setting *setting, void **state)
{
    struct dot *d = calloc(1, sizeof *d);
    *state = d;
    if (!d)
        return 1;
    d->length = setting->values[0];
    d->x = malloc((size_t)d->length * sizeof *d->x);
    d->y = malloc((size_t)d->length * sizeof *d->y);
    for (int64_t i = 0; d->x && d->y && i < d->length; i++)
        d->x[i] = d->y[i] = (float)(i % 7);
    return d->x && d->y ? 0 : 1;
}

static int one_sum(void *state)
{
    struct dot *d = state;
    float sum = 0;
    for (int64_t i = 0; i < d->length; i++)
        sum += d->x[i] * d->y[i];
    d->answer = sum;
    return 0;
}

/* Sums that do not wait for one another. */
static int many_sums(void *state)
{
    struct dot *d = state;
    float sums[16] = {0};
    int64_t i = 0;
    for (; i + 16 <= d->length; i += 16)
        for (int k = 0; k < 16; k++)
            sums[k] += d->x[i + k] * d->y[i + k];
    for (; i < d->length; i++)
        sums[0] += d->x[i] * d->y[i];
    for (int k = 1; k < 16; k++)
        sums[0] += sums[k];
    d->answer = sums[0];
    return 0;
}

static double macs(const int64_t *values) { return (double)values[0]; }

static const struct assay_preset_entry entries[] = {
    {"one_sum", {{"length", 100000}}, set_up, one_sum, tear_down, macs, NULL},
    {"many_sums", {{"length", 100000}}, set_up, many_sums, tear_down, macs, NULL},
};

const struct assay_preset_plugin *assay_preset_plugin(void)
{
    static const struct assay_preset_plugin plugin = {
        sizeof plugin, ASSAY_PRESET_ABI, "dot", "two ways to a dot product", entries, 2};
    return &plugin;
}
