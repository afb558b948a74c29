/* suggest.h: what to write instead of a word that is not known: first from a table of the words
 * people bring along from other tools, then the nearest known name. */
#ifndef ASSAY_BASE_SUGGEST_H
#define ASSAY_BASE_SUGGEST_H

#include <stddef.h>
#include <stdint.h>

/* What the word was meant to be. */
enum assay_topic {
    ASSAY_TOPIC_OP,
    ASSAY_TOPIC_DEVICE,
    ASSAY_TOPIC_DTYPE,
    ASSAY_TOPIC_RECIPE,
    ASSAY_TOPIC_OPTION, /* without the dashes */
    ASSAY_TOPIC_CACHE,
    ASSAY_TOPIC_FORMAT,
    ASSAY_TOPIC_CHART,
};

/* One of the two, or neither. */
struct assay_suggestion {
    const char *name; /* one of the candidates */
    const char *hint; /* a clause that says what there is: "write -o FILE.json" */
};

struct assay_suggestion assay_suggest(enum assay_topic topic, const char *word,
                                      const char *const *candidates, int64_t n);

/* The same as the end of a message, after a semicolon: did you mean "linear"?; or the hint; or
 * `otherwise`. Returns buf. */
const char *assay_suggest_text(enum assay_topic topic, const char *word,
                               const char *const *candidates, int64_t n, const char *otherwise,
                               char *buf, size_t size);

#endif
