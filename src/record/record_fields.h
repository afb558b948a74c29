/* record_fields.h: the members of records and runs by the keys that they have in JSON.
 *
 * Tables, so that whoever writes and whoever reads a form of them cannot drift apart. Times carry
 * their unit in the key. To add a member: one row in record_fields.c. */
#ifndef ASSAY_RECORD_FIELDS_H
#define ASSAY_RECORD_FIELDS_H

#include <stddef.h>

enum assay_field_kind {
    ASSAY_FIELD_TEXT, /* char[] */
    ASSAY_FIELD_INT32,
    ASSAY_FIELD_INT64,
    ASSAY_FIELD_SEED,    /* uint64_t: a number, or its decimal digits as a string where int64 is too
                            small */
    ASSAY_FIELD_REAL,    /* double */
    ASSAY_FIELD_LEVEL,   /* double, in dB: a number, "inf", or null for NaN */
    ASSAY_FIELD_FLAG,    /* bool */
    ASSAY_FIELD_DTYPE,   /* by name */
    ASSAY_FIELD_OUTCOME, /* by name */
    ASSAY_FIELD_RANGE,   /* struct assay_interval: [lo, hi] */
    ASSAY_FIELD_PART,    /* a struct with a table of its own */
    ASSAY_FIELD_AXES,    /* n_axes, axis_names and axes of a record */
    ASSAY_FIELD_NAMES,   /* n_names and names of a graph: an array of texts */
    ASSAY_FIELD_SAMPLES, /* struct assay_samples */
};

/* May the key be missing when reading? Spare: it is not even written where it is empty: a text,
 * samples; a part where it is not there. */
enum assay_field_need { ASSAY_FIELD_ESSENTIAL, ASSAY_FIELD_OPTIONAL, ASSAY_FIELD_SPARE };

enum { ASSAY_FIELD_ALWAYS = -1 };

struct assay_field {
    const char *key;
    enum assay_field_kind kind;
    enum assay_field_need need;
    size_t offset, size;
    const struct assay_field *part; /* of a part; ends with a row without a key */
    ptrdiff_t flag; /* of a part: where in the outer struct a bool says that it is there */
};

/* Of struct assay_record and struct assay_run_info; each ends with a row without a key. */
extern const struct assay_field assay_record_fields[], assay_run_info_fields[];

#endif
