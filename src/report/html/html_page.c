/* html_page.c: the page as a whole: head, parts, data, script.
 *
 * A policy in its head forbids every request: what is in it comes from records, and records may
 * come from anywhere. Its own style and script are allowed by their hashes. */
#include "report/html/html_page.h"

#include "base/sha256.h"
#include "report/chart/chart_words.h"
#include "report/draw/draw.h"
#include "report/html/html_embed.h"
#include "report/html/html_parts.h"
#include "report/html/html_rows.h"
#include "report/report_sink.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void assay_html_flush(struct assay_html_out *out)
{
    out->written += out->text.length;
    if (out->text.length)
        out->sink->write(out->sink->user, out->text.data, out->text.length);
    if (out->text.failed)
        assay_sink_fail(out->sink);
    assay_text_clear(&out->text);
}

void assay_html_flush_much(struct assay_html_out *out)
{
    enum { MUCH = 32768 };
    if (out->text.length > MUCH || out->text.failed)
        assay_html_flush(out);
}

void assay_html_element(struct assay_html_out *out, const char *name, const char *text)
{
    if (!text[0])
        return;
    assay_text_format(&out->text, "<%s>", name);
    assay_draw_escape(&out->text, text);
    assay_text_format(&out->text, "</%.*s>\n", (int)strcspn(name, " "), name);
}

/* ---- head ----------------------------------------------------------------------------------- */

static const char *embedded(const char *name)
{
    for (int i = 0; i < assay_html_n_texts; i++)
        if (strcmp(assay_html_texts_embedded[i].name, name) == 0)
            return assay_html_texts_embedded[i].text;
    return "";
}

/* The colours of charts, light and dark, and what is the same in both. */
static void build_style(struct assay_text *style)
{
    struct assay_text light = {0}, dark = {0};
    assay_draw_style(ASSAY_DRAW_LIGHT, &light);
    assay_draw_style(ASSAY_DRAW_DARK, &dark);
    if (light.data && dark.data) {
        assay_text_format(style, ":root{color-scheme:light;%s}\n", light.data);
        assay_text_format(style,
                          "@media screen and (prefers-color-scheme:dark)"
                          "{:root:not([data-theme=light]){color-scheme:dark;%s}}\n",
                          dark.data);
        assay_text_format(style, "@media screen{:root[data-theme=dark]{color-scheme:dark;%s}}\n",
                          dark.data);
    }
    style->failed |= light.failed || dark.failed;
    assay_text_add(style, embedded("page.css"));
    assay_text_fini(&light);
    assay_text_fini(&dark);
}

static unsigned nibble(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* "'sha256-…'", as policies have it: base64. */
static void add_hash(struct assay_text *out, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct assay_sha256 hash;
    char hex[ASSAY_SHA256_HEX];
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, text, strlen(text));
    assay_sha256_hex(&hash, hex);
    assay_text_add(out, "'sha256-");
    for (int i = 0; i < 64; i += 3) { /* three digits of 16 are two of 64 */
        unsigned bits = nibble(hex[i]) << 8;
        bits |= i + 1 < 64 ? nibble(hex[i + 1]) << 4 : 0;
        bits |= i + 2 < 64 ? nibble(hex[i + 2]) : 0;
        assay_text_format(out, "%c", digits[bits >> 6]);
        if (i + 1 < 64)
            assay_text_format(out, "%c", digits[bits & 63]);
    }
    assay_text_add(out, "='");
}

static void put_policy(struct assay_html_out *out, const char *style, const char *script, bool live)
{
    assay_html_put(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                        "'none'; style-src ");
    add_hash(&out->text, style);
    assay_html_put(out, "; script-src ");
    add_hash(&out->text, script);
    assay_html_put(out, live ? "; connect-src 'self'" : "");
    assay_html_put(out, "; img-src data:; base-uri 'none'; form-action 'none'\">\n");
}

static void put_head(struct assay_html_out *out, const char *title, bool live)
{
    struct assay_text style = {0};
    build_style(&style);
    assay_html_put(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(out, style.data ? style.data : "", embedded("page.js"), live);
    assay_html_put(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                        "<meta name=\"generator\" content=\"assay " ASSAY_VERSION "\">\n"
                        "<meta name=\"referrer\" content=\"no-referrer\">\n");
    assay_html_element(out, "title", title);
    assay_html_put(out, "<style>");
    assay_html_put(out, style.data ? style.data : "");
    assay_html_put(out, "</style>\n</head>\n");
    out->text.failed |= style.failed;
    assay_text_fini(&style);
}

/* ---- body ----------------------------------------------------------------------------------- */

static void put_sentence(struct assay_html_out *out, const struct assay_totals *totals)
{
    struct assay_text verdict = {0};
    assay_totals_verdict(totals, &verdict);
    const struct assay_total_groups *states = totals->states;
    if (verdict.data && !states[0].won && !states[1].won) /* else it may begin with a name */
        verdict.data[0] = (char)toupper((unsigned char)verdict.data[0]);
    assay_draw_escape(&out->text, verdict.data ? verdict.data : "");
    assay_html_put(out, ".");
    out->text.failed |= verdict.failed;
    assay_text_fini(&verdict);
}

/* Of each run, where there are several. */
static void put_verdict(struct assay_html_out *out, const struct assay_book *book,
                        const struct assay_totals *totals)
{
    assay_html_put(out, "<p id=verdict>");
    if (book->n_runs < 2)
        put_sentence(out, totals);
    for (int64_t run = 0; run < book->n_runs && book->n_runs > 1; run++) {
        struct assay_totals of_run = {0};
        assay_totals_add_book(&of_run, book, run);
        assay_text_format(&out->text, "%s<b>Run %lld</b> ", run ? "<br>" : "", (long long)run + 1);
        put_sentence(out, &of_run);
        out->text.failed |= of_run.failed;
        assay_totals_fini(&of_run);
    }
    assay_html_put(out, "</p>\n");
}

static void put_header(struct assay_html_out *out, const struct assay_book *book,
                       const struct assay_totals *totals, const struct assay_html_options *options)
{
    assay_html_put(out, "<a class=skip href=#groups>Skip to the tables</a>\n<header>\n");
    assay_html_element(out, "h1", assay_chart_subject(book).text);
    assay_html_element(out, "p class=muted", assay_chart_place(book).text);
    assay_html_put_method(out, book);
    if (options->live) {
        int64_t planned = totals->groups + options->left;
        assay_html_put(out, "<p id=live role=status data-version=\"");
        assay_draw_escape(&out->text, options->live);
        assay_text_format(&out->text,
                          "\" data-groups=%lld data-planned=%lld>Measuring: %lld of "
                          "%lld groups</p>\n",
                          (long long)totals->groups, (long long)planned, (long long)totals->groups,
                          (long long)planned);
    }
    put_verdict(out, book, totals);
    assay_html_put(out, "<button id=theme class=control hidden type=button>Dark</button>\n"
                        "</header>\n");
}

static void put_summaries(struct assay_html_out *out, const struct assay_book *book,
                          const struct assay_totals *totals)
{
    size_t before = out->text.length;
    assay_html_put(out, "<section id=summary aria-labelledby=h-summary><h2 id=h-summary>Across "
                        "groups</h2>\n<p class=muted>Mean speedup over the baseline: geometric, "
                        "over the groups with a ratio, with its 95% interval.</p>\n");
    size_t head = out->text.length;
    for (int64_t run = 0; run < book->n_runs; run++) {
        struct assay_totals of_run = {0};
        char heading[32];
        snprintf(heading, sizeof heading, "Run %lld", (long long)run + 1);
        if (book->n_runs > 1)
            assay_totals_add_book(&of_run, book, run);
        assay_html_put_summary(out, book->n_runs > 1 ? &of_run : totals,
                               book->n_runs > 1 ? heading : "");
        assay_totals_fini(&of_run);
    }
    if (out->text.length == head && !out->text.failed) { /* nothing to sum up */
        out->text.length = before;
        out->text.data[before] = '\0';
        return;
    }
    assay_html_put(out, "</section>\n");
}

static void put_filters(struct assay_html_out *out)
{
    static const char *const kinds[][2] = {
        {"f", "faster"},   {"s", "slower"}, {"e", "same"},         {"u", "unclear"},
        {"b", "baseline"}, {"y", "failed"}, {"z", "not measured"},
    };
    assay_html_put(out, "<form id=filters class=control hidden role=search aria-label=\"Filter "
                        "rows\">\n<label>Filter <input id=filter type=search autocomplete=off "
                        "placeholder=\"native f16 4096\" title=\"Press / to get here\"></label>\n"
                        "<fieldset><legend>Rows</legend>");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        assay_text_format(&out->text,
                          "<label><input type=checkbox name=kind value=%s checked> %s</label>",
                          kinds[i][0], kinds[i][1]);
    assay_html_put(
        out, "</fieldset>\n<fieldset id=states><legend>Cache</legend>"
             "<label><input type=checkbox name=state value=hot checked> hot</label>"
             "<label><input type=checkbox name=state value=cold checked> cold</label>"
             "</fieldset>\n<label>Sort rows by <select id=sort><option value=\"\">the order "
             "of the run</option></select></label>\n<button type=button id=direction aria-pressed="
             "false>Greatest first</button>\n<p id=count role=status></p></form>\n");
}

static void put_groups(struct assay_html_out *out, const struct assay_book *book, bool live)
{
    assay_html_put(out,
                   "<section id=groups aria-labelledby=h-groups><h2 id=h-groups>Groups</h2>\n");
    if (!book->n_records)
        assay_html_put(out, live ? "<p>No group is finished yet.</p>\n"
                                 : "<p>Nothing was measured.</p>\n");
    else
        put_filters(out);
    if (book->n_records) {
        assay_html_put_legend(out);
        if (book->n_records > ASSAY_HTML_MOST_DETAILS)
            assay_html_put(out, "<noscript><p>Without scripts this page has no details of rows: "
                                "<code>assay show RUN --row N</code> shows them.</p></noscript>\n");
        assay_html_put_groups(out, book);
    }
    assay_html_put(out, "</section>\n");
}

static void put_footer(struct assay_html_out *out, const struct assay_html_samples *samples)
{
    assay_html_put(out, "<footer class=muted><p>Made by assay " ASSAY_VERSION ". The records are "
                        "in this file: <code>assay show FILE.html</code>, <code>assay report "
                        "FILE.html</code> and <code>assay compare</code> read them.</p>\n");
    if (samples->thinned && samples->most)
        assay_text_format(&out->text,
                          "<p id=samples>Of the samples at most %lld of each figure are in this "
                          "page, evenly chosen, because there are so many; the run's journal has "
                          "all.</p>\n",
                          (long long)samples->most);
    else if (samples->thinned)
        assay_html_put(out, "<p id=samples>Samples are left out of this page, because there are "
                            "too many; the run's journal has them.</p>\n");
    assay_html_put(out, "</footer>\n");
}

/* "</script" does not occur in it; it is our own. */
static void put_script(struct assay_html_out *out)
{
    assay_html_put(out, "<script>");
    assay_html_put(out, embedded("page.js"));
    assay_html_put(out, "</script>\n");
}

void assay_html_write(const struct assay_book *book, const struct assay_html_options *options,
                      const struct assay_sink *sink)
{
    struct assay_html_out out = {.sink = sink};
    struct assay_totals totals = {0};
    char title[160];
    assay_totals_add_book(&totals, book, -1);
    snprintf(title, sizeof title, "%s · assay", assay_chart_subject(book).text);
    put_head(&out, title, options->live != NULL);
    assay_html_put(&out, "<body>\n");
    put_header(&out, book, &totals, options);
    assay_html_put(&out, "<main id=assay>\n");
    assay_html_put_warnings(&out, book, options->left);
    put_summaries(&out, book, &totals);
    assay_html_put_charts(&out, book);
    put_groups(&out, book, options->live != NULL);
    assay_html_put_runs(&out, book);
    assay_html_put(&out, "</main>\n");
    assay_html_flush(&out);
    struct assay_html_samples samples = assay_html_samples_of(book, out.written);
    put_footer(&out, &samples);
    assay_html_put_data(&out, book, options->left, &samples);
    put_script(&out);
    assay_html_put(&out, "</body>\n</html>\n");
    out.text.failed |= book->failed || totals.failed;
    assay_html_flush(&out);
    assay_totals_fini(&totals);
    assay_text_fini(&out.text);
}
