#include "report/html/html_texts.h"

#include "base/alloc.h"

#include <string.h>

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash;
}

const char *assay_html_texts_at(const struct assay_html_texts *texts, int64_t number)
{
    return texts->bytes.data + texts->texts[number].at;
}

/* Where the text is in the table, or would be. */
static int64_t slot_of(const struct assay_html_texts *texts, const char *text, uint64_t hash)
{
    int64_t slot = (int64_t)(hash % (uint64_t)texts->n_slots);
    for (; texts->slots[slot]; slot = (slot + 1) % texts->n_slots) {
        int64_t number = texts->slots[slot] - 1;
        if (texts->texts[number].hash == hash &&
            strcmp(assay_html_texts_at(texts, number), text) == 0)
            break;
    }
    return slot;
}

/* Twice as many places, half of them free. */
static bool grow(struct assay_html_texts *texts)
{
    int64_t capacity = texts->capacity ? 2 * texts->capacity : 256;
    int32_t *slots = assay_calloc((size_t)capacity * 2, sizeof *slots);
    struct assay_html_text *moved =
        slots ? assay_realloc(texts->texts, (size_t)capacity, sizeof *moved) : NULL;
    if (!moved) {
        assay_free(slots);
        return false;
    }
    assay_free(texts->slots);
    texts->texts = moved;
    texts->slots = slots;
    texts->capacity = capacity;
    texts->n_slots = 2 * capacity;
    for (int64_t i = 0; i < texts->n; i++)
        slots[slot_of(texts, assay_html_texts_at(texts, i), moved[i].hash)] = (int32_t)i + 1;
    return true;
}

int64_t assay_html_texts_number(struct assay_html_texts *texts, const char *text)
{
    uint64_t hash = hash_of(text);
    if (texts->bytes.failed || (texts->n == texts->capacity && !grow(texts))) {
        texts->bytes.failed = true;
        return -1;
    }
    int64_t slot = slot_of(texts, text, hash);
    if (texts->slots[slot])
        return texts->slots[slot] - 1;
    size_t at = texts->bytes.length;
    assay_text_append(&texts->bytes, text, strlen(text) + 1);
    if (texts->bytes.failed)
        return -1;
    texts->texts[texts->n++] = (struct assay_html_text){at, hash};
    texts->slots[slot] = (int32_t)texts->n;
    return -1;
}

void assay_html_texts_fini(struct assay_html_texts *texts)
{
    assay_text_fini(&texts->bytes);
    assay_free(texts->texts);
    assay_free(texts->slots);
    *texts = (struct assay_html_texts){0};
}
