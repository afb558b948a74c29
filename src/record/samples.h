/* samples.h: samples as they were taken, in order, kept in a record and written as JSON. */
#ifndef ASSAY_RECORD_SAMPLES_H
#define ASSAY_RECORD_SAMPLES_H

#include "base/json.h"

/* Of more samples than fit, one of each `every` in a row is kept, at a place in that row that
 * differs from row to row: samples are taken in turns on several sets of operands, and a fixed step
 * could find the same one each time. */
enum { ASSAY_SAMPLES_KEPT = 128 };
struct assay_samples {
    int32_t n, every;                          /* how many are here; 1: all that were taken */
    float ns[ASSAY_SAMPLES_KEPT];              /* of one call */
    uint8_t disturbed[ASSAY_SAMPLES_KEPT / 8]; /* bit i % 8 of byte i / 8: sample i was */
};

/* Sample `index` of `total`; each is offered once, in order, to a struct that begins as zeroes. */
void assay_samples_offer(struct assay_samples *samples, int64_t total, int64_t index, double ns,
                         bool disturbed);
bool assay_samples_is_disturbed(const struct assay_samples *samples, int64_t index);
int64_t assay_samples_count_disturbed(const struct assay_samples *samples);

/* {"every": 1, "ns": [2310.5, …], "disturbed": [3, …]}: times of five digits, and the indices of
 * those that were disturbed, growing. */
assay_json *assay_samples_to_json(const struct assay_samples *samples);
/* What is wrong with it, or NULL; `place` then says where: ".ns[3]", "". */
const char *assay_samples_from_json(const assay_json *json, struct assay_samples *out, char *place,
                                    size_t size);

#endif
