#include "record/samples.h"

#include "base/math.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void mark(struct assay_samples *samples, int64_t index)
{
    samples->disturbed[index / 8] |= (uint8_t)(1 << index % 8);
}

void assay_samples_offer(struct assay_samples *samples, int64_t total, int64_t index, double ns,
                         bool disturbed)
{
    int64_t every = assay_ceil_div(total, ASSAY_SAMPLES_KEPT), row = index / every;
    int64_t length = assay_min(every, total - row * every); /* the last row may be shorter */
    struct assay_rng rng = {(uint64_t)row};
    if (index % every != assay_rng_below(&rng, length))
        return;
    samples->every = (int32_t)every;
    samples->ns[row] = (float)ns;
    samples->n = (int32_t)row + 1;
    if (disturbed)
        mark(samples, row);
}

bool assay_samples_is_disturbed(const struct assay_samples *samples, int64_t index)
{
    return samples->disturbed[index / 8] >> index % 8 & 1;
}

int64_t assay_samples_count_disturbed(const struct assay_samples *samples)
{
    int64_t n = 0;
    for (int64_t i = 0; i < samples->n; i++)
        n += assay_samples_is_disturbed(samples, i);
    return n;
}

/* ---- as JSON -------------------------------------------------------------------------------- */

/* To five digits: a clock's noise is larger, and more of them would double a journal's size. */
static double rounded(double ns)
{
    if (!(ns > 0))
        return ns;
    int power = 4 - (int)floor(log10(ns));
    double scale = pow(10, abs(power));
    return power < 0 ? round(ns / scale) * scale : round(ns * scale) / scale;
}

assay_json *assay_samples_to_json(const struct assay_samples *samples)
{
    assay_json *object = assay_json_object();
    assay_json *times = assay_json_array(), *disturbed = assay_json_array();
    for (int64_t i = 0; i < samples->n; i++) {
        assay_json_append(times, assay_json_from_number(rounded((double)samples->ns[i])));
        if (assay_samples_is_disturbed(samples, i))
            assay_json_append(disturbed, assay_json_from_int(i));
    }
    assay_json_put_int(object, "every", samples->every);
    assay_json_put(object, "ns", times);
    assay_json_put(object, "disturbed", disturbed);
    return object;
}

static const char *times_from_json(const assay_json *times, struct assay_samples *out, char *place,
                                   size_t size)
{
    int64_t n = assay_json_count(times);
    snprintf(place, size, ".ns");
    if (!assay_json_is_array(times) || n < 1)
        return "is not an array of times";
    if (n > ASSAY_SAMPLES_KEPT)
        return "holds more times than are kept";
    for (int64_t i = 0; i < n; i++) {
        double ns = assay_json_double(assay_json_at(times, i), -1); /* NaN for null */
        if (!(ns >= 0 && ns <= (double)FLT_MAX)) {
            snprintf(place, size, ".ns[%d]", (int)i);
            return "is not a time";
        }
        out->ns[i] = (float)ns;
    }
    out->n = (int32_t)n;
    return NULL;
}

static const char *disturbed_from_json(const assay_json *disturbed, struct assay_samples *out,
                                       char *place, size_t size)
{
    int64_t before = -1;
    snprintf(place, size, ".disturbed");
    if (!assay_json_is_array(disturbed))
        return "is not an array of indices";
    for (int64_t i = 0; i < assay_json_count(disturbed); i++) {
        int64_t index = assay_json_int(assay_json_at(disturbed, i), -1);
        if (index <= before || index >= out->n) {
            snprintf(place, size, ".disturbed[%d]", (int)i);
            return "is not the index of a sample behind the one before it";
        }
        mark(out, index);
        before = index;
    }
    return NULL;
}

const char *assay_samples_from_json(const assay_json *json, struct assay_samples *out, char *place,
                                    size_t size)
{
    int64_t every = assay_json_int(assay_json_get(json, "every"), 0);
    *out = (struct assay_samples){0};
    snprintf(place, size, "%s", assay_json_is_object(json) ? ".every" : "");
    if (!assay_json_is_object(json))
        return "is not an object";
    if (every < 1 || every > INT32_MAX)
        return "is not a whole number from 1 on";
    out->every = (int32_t)every;
    const char *problem = times_from_json(assay_json_get(json, "ns"), out, place, size);
    return problem ? problem
                   : disturbed_from_json(assay_json_get(json, "disturbed"), out, place, size);
}
