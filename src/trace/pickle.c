#include "trace/pickle.h"

#include "base/text.h"

#include <string.h>

/* Names of pickletools. */
enum {
    PROTO = 0x80,
    MARK = '(',
    EMPTY_DICT = '}',
    SETITEMS = 'u',
    EMPTY_LIST = ']',
    APPENDS = 'e',
    BINUNICODE = 'X', /* a length of four bytes, the lowest first, and UTF-8 */
    BININT = 'J',     /* four bytes, signed */
    LONG1 = 0x8a,     /* how many bytes, and those, signed */
    STOP = '.',
    PROTOCOL = 2
};

static void flush(struct assay_pickle *p)
{
    if (p->used > 0 && p->error == 0)
        p->error = p->sink(p->user, p->buffer, p->used);
    p->used = 0;
}

static void put_bytes(struct assay_pickle *p, const void *bytes, size_t length)
{
    const char *from = bytes;
    while (length > 0) {
        size_t some = sizeof p->buffer - p->used < length ? sizeof p->buffer - p->used : length;
        memcpy(p->buffer + p->used, from, some);
        p->used += some;
        from += some;
        length -= some;
        if (p->used == sizeof p->buffer)
            flush(p);
    }
}

static void put_byte(struct assay_pickle *p, int byte)
{
    char one = (char)byte;
    put_bytes(p, &one, 1);
}

/* The lowest byte first. */
static void put_number(struct assay_pickle *p, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        put_byte(p, (int)(number >> 8 * i & 0xff));
}

void assay_pickle_begin(struct assay_pickle *p, assay_pickle_sink sink, void *user)
{
    p->sink = sink;
    p->user = user;
    p->error = 0;
    p->used = 0;
    put_byte(p, PROTO);
    put_byte(p, PROTOCOL);
}

int assay_pickle_end(struct assay_pickle *p)
{
    put_byte(p, STOP);
    flush(p);
    return p->error;
}

void assay_pickle_dict(struct assay_pickle *p)
{
    put_byte(p, EMPTY_DICT);
    put_byte(p, MARK);
}

void assay_pickle_dict_end(struct assay_pickle *p) { put_byte(p, SETITEMS); }

void assay_pickle_list(struct assay_pickle *p)
{
    put_byte(p, EMPTY_LIST);
    put_byte(p, MARK);
}

void assay_pickle_list_batch(struct assay_pickle *p)
{
    put_byte(p, APPENDS);
    put_byte(p, MARK);
}

void assay_pickle_list_end(struct assay_pickle *p) { put_byte(p, APPENDS); }

/* As many bytes as the text has: '?' takes the place of each that is no UTF-8. */
void assay_pickle_text(struct assay_pickle *p, const char *text)
{
    size_t length = strlen(text), most = UINT32_MAX;
    length = length < most ? length : 0;
    put_byte(p, BINUNICODE);
    put_number(p, length, 4);
    for (size_t i = 0, n; i < length; i += n) {
        n = assay_text_utf8(text + i, length - i);
        if (n > 0)
            put_bytes(p, text + i, n);
        else
            put_byte(p, '?');
        n = n ? n : 1;
    }
}

void assay_pickle_int(struct assay_pickle *p, int64_t number)
{
    bool small = number >= INT32_MIN && number <= INT32_MAX;
    put_byte(p, small ? BININT : LONG1);
    if (!small)
        put_byte(p, 8);
    put_number(p, (uint64_t)number, small ? 4 : 8);
}

/* A ninth byte keeps it from being negative; where there is one, PyTorch's viewer cannot compute
 * with the number. */
void assay_pickle_address(struct assay_pickle *p, uint64_t number)
{
    bool large = number > INT64_MAX;
    put_byte(p, LONG1);
    put_byte(p, large ? 9 : 8);
    put_number(p, number, 8);
    if (large)
        put_byte(p, 0);
}

void assay_pickle_put_text(struct assay_pickle *p, const char *key, const char *text)
{
    assay_pickle_text(p, key);
    assay_pickle_text(p, text);
}

void assay_pickle_put_int(struct assay_pickle *p, const char *key, int64_t number)
{
    assay_pickle_text(p, key);
    assay_pickle_int(p, number);
}

void assay_pickle_put_address(struct assay_pickle *p, const char *key, uint64_t number)
{
    assay_pickle_text(p, key);
    assay_pickle_address(p, number);
}
