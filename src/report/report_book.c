#include "report/report_book.h"

#include "base/alloc.h"

#include <string.h>

/* Room for one more of `size` bytes each; what is there stays. */
static bool grow(void **items, int64_t *capacity, int64_t n, size_t size)
{
    if (n < *capacity)
        return true;
    int64_t more = *capacity ? 2 * *capacity : 16;
    void *moved = assay_realloc(*items, (size_t)more, size);
    if (!moved)
        return false;
    *items = moved;
    *capacity = more;
    return true;
}

/* ---- records without their zeroes ----------------------------------------------------------- */

/* A packed record is a row of runs: how many zero bytes, how many bytes as they are, those bytes.
 * Both numbers are at most 65,535; the runs together are as long as a record. */
struct run_head {
    uint16_t zeroes, bytes;
};

enum {
    WORTH = 2 * sizeof(struct run_head), /* fewer zeroes in a row are cheaper as they are */
    MOST = UINT16_MAX,
};

static size_t zeroes_at(const unsigned char *from, size_t n)
{
    size_t i = 0;
    while (i < n && i < MOST && from[i] == 0)
        i++;
    return i;
}

/* Up to the next zeroes that are worth leaving out. */
static size_t bytes_at(const unsigned char *from, size_t n)
{
    size_t i = 0, zeroes = 0;
    for (; i < n && i < MOST && zeroes < WORTH; i++)
        zeroes = from[i] == 0 ? zeroes + 1 : 0;
    return i - (zeroes == WORTH || i == n ? zeroes : 0);
}

/* Writes to `out` where that is not NULL; gives the length. */
static size_t pack(const struct assay_record *record, unsigned char *out)
{
    const unsigned char *from = (const unsigned char *)record;
    size_t length = 0;
    for (size_t at = 0; at < sizeof *record;) {
        struct run_head head = {.zeroes = (uint16_t)zeroes_at(from + at, sizeof *record - at)};
        at += head.zeroes;
        head.bytes = (uint16_t)bytes_at(from + at, sizeof *record - at);
        if (out) {
            memcpy(out + length, &head, sizeof head);
            memcpy(out + length + sizeof head, from + at, head.bytes);
        }
        length += sizeof head + head.bytes;
        at += head.bytes;
    }
    return length;
}

/* Gives the length of what it read. */
static size_t unpack(const unsigned char *from, struct assay_record *out)
{
    unsigned char *to = (unsigned char *)out;
    size_t length = 0;
    memset(out, 0, sizeof *out);
    for (size_t at = 0; at < sizeof *out;) {
        struct run_head head;
        memcpy(&head, from + length, sizeof head);
        at += head.zeroes;
        memcpy(to + at, from + length + sizeof head, head.bytes);
        length += sizeof head + head.bytes;
        at += head.bytes;
    }
    return length;
}

/* ---- the book ------------------------------------------------------------------------------- */

void assay_book_begin(struct assay_book *book, const struct assay_run_info *run)
{
    if (!grow((void **)&book->runs, &book->run_capacity, book->n_runs, sizeof *book->runs)) {
        book->failed = true;
        return;
    }
    book->runs[book->n_runs++] = (struct assay_book_run){.info = *run, .first = book->n_groups};
}

static bool make_room(struct assay_book *book, size_t more)
{
    size_t wanted = book->packed_bytes + more;
    if (wanted <= book->packed_capacity)
        return true;
    size_t capacity = wanted + wanted / 2;
    unsigned char *moved = assay_realloc(book->packed, 1, capacity);
    if (!moved)
        return false;
    book->packed = moved;
    book->packed_capacity = capacity;
    return true;
}

void assay_book_add(struct assay_book *book, const struct assay_record *records, int64_t n)
{
    size_t length = 0;
    for (int64_t i = 0; i < n; i++)
        length += pack(&records[i], NULL);
    if (n == 0 || book->n_runs == 0)
        return;
    if (!grow((void **)&book->groups, &book->group_capacity, book->n_groups,
              sizeof *book->groups) ||
        !make_room(book, length)) {
        book->failed = true;
        return;
    }
    book->groups[book->n_groups++] = (struct assay_book_group){
        .run = book->n_runs - 1, .n = n, .at = book->packed_bytes, .first = book->n_records};
    book->runs[book->n_runs - 1].n++;
    book->n_records += n;
    for (int64_t i = 0; i < n; i++)
        book->packed_bytes += pack(&records[i], book->packed + book->packed_bytes);
}

void assay_book_fini(struct assay_book *book)
{
    assay_free(book->runs);
    assay_free(book->groups);
    assay_free(book->packed);
    *book = (struct assay_book){0};
}

bool assay_book_open(const struct assay_book *book, int64_t group, struct assay_book_view *view)
{
    const struct assay_book_group *found = &book->groups[group];
    const unsigned char *from = book->packed + found->at;
    view->n = 0;
    view->run = &book->runs[found->run];
    while (view->capacity < found->n)
        if (!grow((void **)&view->records, &view->capacity, found->n, sizeof *view->records))
            return false;
    for (; view->n < found->n; view->n++)
        from += unpack(from, &view->records[view->n]);
    return true;
}

void assay_book_view_fini(struct assay_book_view *view)
{
    assay_free(view->records);
    *view = (struct assay_book_view){0};
}
