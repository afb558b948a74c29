/* chart_spec.c: which chart is wanted, read from one word, and drawn or explained. */
#include "report/chart/chart_spec.h"

#include "base/suggest.h"
#include "report/chart/chart_points.h"
#include "report/chart/chart_words.h"
#include "report/draw/draw_axis.h"

#include <stdio.h>
#include <string.h>

/* ---- reading -------------------------------------------------------------------------------- */

static const char *const key_names[] = {"x", "y", "figure", "state", "row"};
enum { KEYS = sizeof key_names / sizeof key_names[0] };

static const char *const state_names[] = {"hot", "cold", "both"};

/* The one of `names` that is meant; else the error says which there are. */
static const char *choose(const char *key, const char *word, const char *const *names, int64_t n,
                          struct assay_error *err)
{
    struct assay_text all = {0};
    for (int64_t i = 0; i < n; i++) {
        if (assay_text_same(names[i], word)) {
            assay_text_fini(&all);
            return names[i];
        }
        assay_text_format(&all, "%s%s", i == 0 ? "" : i + 1 == n ? " and " : ", ", names[i]);
    }
    assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--chart: unknown %s \"%s\"; there are %s", key,
                    word, all.failed ? "others" : all.data);
    assay_text_fini(&all);
    return NULL;
}

/* An axis, whose name only a book can know. */
static enum assay_status set_axis(char *to, size_t size, const char *key, const char *word,
                                  const char **out, struct assay_error *err)
{
    if (!word[0] || strlen(word) >= size)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--chart: %s takes the name of an axis, such as seq, dtype or "
                               "implementation, not \"%s\"",
                               key, word);
    snprintf(to, size, "%s", word);
    *out = to;
    return ASSAY_OK;
}

static enum assay_status set_figure(struct assay_chart_spec *spec, const char *word,
                                    struct assay_error *err)
{
    const char *names[ASSAY_CHART_FIGURES];
    for (int i = 0; i < ASSAY_CHART_FIGURES; i++)
        names[i] = assay_chart_figure_name((enum assay_chart_figure)i);
    const char *figure = choose("figure", word, names, ASSAY_CHART_FIGURES, err);
    if (!figure)
        return ASSAY_ERR_INVALID;
    snprintf(spec->figure, sizeof spec->figure, "%s", figure);
    spec->request.figure = spec->figure;
    return ASSAY_OK;
}

static enum assay_status set_state(struct assay_chart_spec *spec, const char *word,
                                   struct assay_error *err)
{
    const char *state = choose("state", word, state_names, 3, err);
    if (!state)
        return ASSAY_ERR_INVALID;
    spec->request.has_state = state != state_names[2];
    spec->request.state = state == state_names[1] ? ASSAY_CACHE_COLD : ASSAY_CACHE_HOT;
    return ASSAY_OK;
}

static enum assay_status set_row(struct assay_chart_spec *spec, const char *word,
                                 struct assay_error *err)
{
    if (assay_text_int64(word, &spec->request.row) == ASSAY_OK && spec->request.row >= 1)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "--chart: row takes a number from 1 on, not \"%s\"", word);
}

static enum assay_status set_key(struct assay_chart_spec *spec, const char *key, const char *word,
                                 struct assay_error *err)
{
    struct assay_chart_request *r = &spec->request;
    const char *found = choose("key", key, key_names, KEYS, err);
    if (!found)
        return ASSAY_ERR_INVALID;
    if (found == key_names[0])
        return set_axis(spec->x, sizeof spec->x, found, word, &r->x, err);
    if (found == key_names[1])
        return set_axis(spec->y, sizeof spec->y, found, word, &r->y, err);
    if (found == key_names[2])
        return set_figure(spec, word, err);
    return found == key_names[3] ? set_state(spec, word, err) : set_row(spec, word, err);
}

/* "KEY=VALUE", of `length` bytes. */
static enum assay_status parse_pair(const char *text, size_t length, struct assay_chart_spec *out,
                                    struct assay_error *err)
{
    char pair[96];
    char *equals = NULL;
    snprintf(pair, sizeof pair, "%.*s", (int)(length < sizeof pair ? length : sizeof pair), text);
    if (length < sizeof pair)
        equals = strchr(pair, '=');
    if (!equals)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--chart takes NAME or NAME:KEY=VALUE,KEY=VALUE: \"%s\" is no "
                               "KEY=VALUE",
                               pair);
    *equals = '\0';
    return set_key(out, pair, equals + 1, err);
}

static enum assay_status parse_name(const char *text, size_t length, struct assay_chart_spec *out,
                                    struct assay_error *err)
{
    char name[64];
    if (length == 0)
        return ASSAY_OK;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), text);
    return assay_chart_find(name, &out->chart, err);
}

enum assay_status assay_chart_spec_parse(const char *text, struct assay_chart_spec *out,
                                         struct assay_error *err)
{
    *out = (struct assay_chart_spec){0};
    size_t name = text ? strcspn(text, ":") : 0;
    enum assay_status status = text ? parse_name(text, name, out, err) : ASSAY_OK;
    const char *at = text && text[name] ? text + name + 1 : "";
    while (status == ASSAY_OK && *at) {
        size_t length = strcspn(at, ",");
        status = parse_pair(at, length, out, err);
        at += length + (at[length] == ',');
    }
    return status;
}

/* ---- drawing -------------------------------------------------------------------------------- */

/* "heat, sweep": those that fit the book, but for one; "" where none does. Does that one, as it
 * chooses itself? */
static bool add_fitting(const struct assay_book *book, const struct assay_chart *but,
                        struct assay_text *out)
{
    struct assay_chart_request any = {0};
    bool fits = false;
    for (int64_t i = 0; i < assay_chart_count(); i++) {
        const struct assay_chart *chart = assay_chart_at(i);
        char why[ASSAY_CHART_WHY] = "";
        if (chart->fits(book, &any, why, sizeof why) <= ASSAY_CHART_UNFIT)
            continue;
        if (chart == but)
            fits = true;
        else
            assay_text_format(out, "%s%s", out->length ? ", " : "", chart->name);
    }
    return fits;
}

static void say_unfit(const struct assay_chart *chart, const char *reason,
                      const struct assay_book *book, struct assay_text *why)
{
    struct assay_text fitting = {0};
    bool alone = add_fitting(book, chart, &fitting);
    assay_text_format(why, "the chart %s does not fit: %s", chart->name, reason);
    if (alone)
        assay_text_add(why, "; without keys it does");
    if (fitting.length)
        assay_text_format(why, "; these do: %s", fitting.data);
    why->failed |= fitting.failed;
    assay_text_fini(&fitting);
}

const struct assay_chart *assay_chart_spec_fitting(const struct assay_chart_spec *spec,
                                                   const struct assay_book *book,
                                                   struct assay_text *why)
{
    char reason[ASSAY_CHART_WHY] = "there is nothing to draw";
    const struct assay_chart *chart = spec->chart;
    if (book->failed)
        assay_text_add(why, "there was no memory for all results");
    else if (book->n_records == 0)
        assay_text_add(why, "there are no results");
    else if (!chart)
        return assay_chart_choose_or_say(book, &spec->request, why);
    else if (chart->fits(book, &spec->request, reason, sizeof reason) > ASSAY_CHART_UNFIT)
        return chart;
    else
        say_unfit(chart, reason, book, why);
    why->failed = why->failed || strcmp(reason, ASSAY_CHART_NO_MEMORY) == 0;
    return NULL;
}

bool assay_chart_spec_draw(const struct assay_chart_spec *spec, const struct assay_book *book,
                           struct assay_drawing *drawing)
{
    struct assay_text why = {0};
    const struct assay_chart *chart = assay_chart_spec_fitting(spec, book, &why);
    if (chart) {
        chart->draw(book, &spec->request, drawing);
    } else {
        struct assay_cell subject = assay_chart_subject(book), place = assay_chart_place(book);
        const char *title = subject.text[0] ? subject.text : "assay";
        double y = assay_draw_head(drawing, title, place.text);
        if (why.data)
            why.data[0] = (char)(why.data[0] - 'a' + 'A'); /* a sentence of its own */
        assay_text_add(&drawing->summary, why.data ? why.data : "");
        drawing->height =
            assay_draw_note(drawing, y + ASSAY_DRAW_MARGIN, why.data ? why.data : "") +
            ASSAY_DRAW_MARGIN;
        drawing->body.failed |= why.failed;
    }
    assay_text_fini(&why);
    return chart != NULL;
}
