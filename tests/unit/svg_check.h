/* svg_check.h: what tests ask of every image: it is XML, and its texts stand apart. */
#ifndef ASSAY_TESTS_SVG_CHECK_H
#define ASSAY_TESTS_SVG_CHECK_H

#include "unit.h"

#include "report/draw/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A small reader of XML as the drawings write it: elements nest, attributes are quoted, no
 * character that XML forbids, only the five entities, one root. Returns the number of elements. */
static inline int check_tag(const char **at, char (*open)[16], int *depth)
{
    const char *s = *at + 1;
    bool closing = *s == '/';
    s += closing;
    size_t length = strspn(s, "abcdefghijklmnopqrstuvwxyz");
    assert_true(length > 0 && length < 16);
    if (closing) {
        assert_true(*depth > 0);
        assert_true(strlen(open[*depth - 1]) == length &&
                    strncmp(open[*depth - 1], s, length) == 0);
        assert_int_equal(s[length], '>');
        --*depth;
        *at = s + length + 1;
        return 0;
    }
    assert_true(*depth < 16);
    snprintf(open[*depth], 16, "%.*s", (int)length, s);
    for (s += length; *s == ' ';) {
        s += strspn(s, " ");
        size_t name = strcspn(s, "=<>\" ");
        assert_true(name > 0 && s[name] == '=' && s[name + 1] == '"');
        s += name + 2;
        size_t value = strcspn(s, "\"<");
        assert_int_equal(s[value], '"');
        s += value + 1;
    }
    bool empty = *s == '/';
    s += empty;
    assert_int_equal(*s, '>');
    *depth += !empty;
    *at = s + 1;
    return 1;
}

static const char *const xml_entities[][2] = {
    {"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}, {"&quot;", "\""}, {"&#39;", "'"}};

/* Which one stands at `text`; -1: none. */
static inline int xml_entity(const char *text)
{
    for (int i = 0; i < 5; i++)
        if (strncmp(text, xml_entities[i][0], strlen(xml_entities[i][0])) == 0)
            return i;
    return -1;
}

static inline int check_xml(const struct assay_text *text)
{
    char open[16][16];
    int depth = 0, elements = 0;
    assert_true(strlen(text->data) == text->length);
    for (const char *s = text->data; *s;) {
        if (*s == '<') {
            assert_true(depth > 0 || elements == 0);
            elements += check_tag(&s, open, &depth);
            continue;
        }
        assert_true((unsigned char)*s >= 0x20 || *s == '\n' || *s == '\t');
        assert_true(depth > 0 || *s == '\n');
        if (*s == '&')
            assert_true(xml_entity(s) >= 0);
        s++;
    }
    assert_int_equal(depth, 0);
    return elements;
}

/* ---- boxes ---------------------------------------------------------------------------------- */

struct text_box {
    double left, top, right, bottom;
    char text[256];
};

static inline double svg_number(const char *tag, const char *attribute)
{
    const char *end = strchr(tag, '>'), *at = strstr(tag, attribute);
    return at && at < end ? strtod(at + strlen(attribute), NULL) : 0;
}

static inline bool svg_has(const char *tag, const char *attribute)
{
    const char *at = strstr(tag, attribute);
    return at && at < strchr(tag, '>');
}

static inline void read_text(const char *from, char *text, size_t size)
{
    size_t length = 0;
    while (*from != '<' && length + 1 < size) {
        int entity = *from == '&' ? xml_entity(from) : -1;
        text[length++] = entity < 0 ? *from : xml_entities[entity][1][0];
        from += entity < 0 ? 1 : strlen(xml_entities[entity][0]);
    }
    text[length] = '\0';
}

/* Letters reach about three quarters of the size above the baseline and a quarter below it. */
static inline struct text_box box_of(const char *tag)
{
    struct text_box box;
    read_text(strchr(tag, '>') + 1, box.text, sizeof box.text);
    int size = (int)svg_number(tag, " font-size=\"");
    double width = assay_draw_text_width(box.text, size, svg_has(tag, "font-weight"));
    double x = svg_number(tag, " x=\""), y = svg_number(tag, " y=\"");
    double back = svg_has(tag, "\"middle\"") ? width / 2 : svg_has(tag, "\"end\"") ? width : 0;
    if (svg_has(tag, "rotate(-90")) {
        box.left = x - 0.75 * size;
        box.right = x + 0.25 * size;
        box.top = y - width + back;
        box.bottom = y + back;
    } else {
        box.left = x - back;
        box.right = x + width - back;
        box.top = y - 0.75 * size;
        box.bottom = y + 0.25 * size;
    }
    return box;
}

/* No text covers another, and none leaves the image. Gives their number. */
static inline int check_texts(const struct assay_text *svg)
{
    enum { MOST_TEXTS = 1024 };
    struct text_box *boxes = malloc(MOST_TEXTS * sizeof *boxes);
    const double slack = 0.51; /* what rounding takes */
    double width = svg_number(svg->data, " width=\""), height = svg_number(svg->data, " height=\"");
    int n = 0;
    assert_non_null(boxes);
    for (const char *s = svg->data; (s = strstr(s, "<text ")) && n < MOST_TEXTS; s++) {
        struct text_box b = boxes[n++] = box_of(s);
        if (b.left < -slack || b.right > width + slack || b.top < 0 || b.bottom > height)
            fail_msg("outside: %s", b.text);
        for (int i = 0; i + 1 < n; i++)
            if (b.left < boxes[i].right - slack && boxes[i].left < b.right - slack &&
                b.top < boxes[i].bottom - slack && boxes[i].top < b.bottom - slack)
                fail_msg("\"%s\" covers \"%s\"", b.text, boxes[i].text);
    }
    free(boxes);
    return n;
}

static inline int count_of(const struct assay_text *text, const char *part)
{
    int n = 0;
    for (const char *s = text->data; (s = strstr(s, part)); s++)
        n++;
    return n;
}

#endif
