/* pickle.h: values in, the bytes of a Python pickle out: dicts, lists, texts and numbers, which
 * pickle.load reads. Protocol 2, without a memo: every reader since Python 2.3 knows it, and
 * nothing is kept of what was written, so that the memory is constant.
 *
 * Its instructions: https://docs.python.org/3/library/pickletools.html */
#ifndef ASSAY_TRACE_PICKLE_H
#define ASSAY_TRACE_PICKLE_H

#include <stddef.h>
#include <stdint.h>

/* Takes all of it, or says why not: an errno. */
typedef int (*assay_pickle_sink)(void *user, const char *bytes, size_t length);

struct assay_pickle {
    assay_pickle_sink sink;
    void *user;
    int error; /* of the first write that failed; nothing is written after it */
    size_t used;
    char buffer[1 << 14];
};

/* One value in all, between these; the second gives the errno, or 0. */
void assay_pickle_begin(struct assay_pickle *p, assay_pickle_sink sink, void *user);
int assay_pickle_end(struct assay_pickle *p);

/* A dict holds pairs of a text and a value, a list values, as many as are written until its end. */
void assay_pickle_dict(struct assay_pickle *p);
void assay_pickle_dict_end(struct assay_pickle *p);
void assay_pickle_list(struct assay_pickle *p);
void assay_pickle_list_end(struct assay_pickle *p);
/* In a long list, after every thousand values or so: readers in JavaScript take no more at once. */
void assay_pickle_list_batch(struct assay_pickle *p);
/* Any text: what is not UTF-8 becomes '?'. */
void assay_pickle_text(struct assay_pickle *p, const char *text);
void assay_pickle_int(struct assay_pickle *p, int64_t number);
void assay_pickle_address(struct assay_pickle *p, uint64_t number);

/* A pair of a dict. */
void assay_pickle_put_text(struct assay_pickle *p, const char *key, const char *text);
void assay_pickle_put_int(struct assay_pickle *p, const char *key, int64_t number);
void assay_pickle_put_address(struct assay_pickle *p, const char *key, uint64_t number);

#endif
