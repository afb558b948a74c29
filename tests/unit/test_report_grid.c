/* test_report_grid.c: columns as data: widths from contents, which steps are taken at which width,
 * headings over several columns, cells across several, boxes. */
#include "unit.h"

#include "report/report_grid.h"

#include <stdio.h>

enum { NAME, TIME, RATE, NOTE, COLUMNS };

struct row {
    const char *name, *time, *note;
    bool failed;
};

static struct assay_figure name_cell(const struct assay_cell_request *q)
{
    return assay_figure_text(((const struct row *)q->row)->name, ASSAY_INK_PLAIN);
}

static struct assay_figure time_cell(const struct assay_cell_request *q)
{
    const struct row *row = q->row;
    struct assay_figure f = assay_figure_text(row->time, ASSAY_INK_PLAIN);
    f.lead = row->failed ? "x" : ">";
    f.lead_width = 2;
    f.mark = "!";
    f.span = row->failed;
    q->legend->times = true;
    return f;
}

static struct assay_figure rate_cell(const struct assay_cell_request *q)
{
    struct assay_figure f = {0};
    assay_cell_add(&f.cell, "%d", q->of * q->width);
    return f;
}

static struct assay_figure note_cell(const struct assay_cell_request *q)
{
    return assay_figure_text(((const struct row *)q->row)->note, ASSAY_INK_PLAIN);
}

static bool has_notes(const void *table, int of)
{
    (void)of;
    return *(const bool *)table;
}

/* clang-format off */
static const struct assay_column columns[COLUMNS] = {
    [NAME] = {.heading = "name", .width = 4, .most = 8, .cell = name_cell},
    [TIME] = {.heading = "time", .upper = " hot", .over = 1, .width = 6, .right = true, .led = true, .marked = true, .cell = time_cell},
    [RATE] = {.heading = "rate", .width = 5, .right = true, .of = 7, .cell = rate_cell},
    [NOTE] = {.heading = "note", .cell = note_cell, .shown = has_notes},
};
/* clang-format on */
static const struct row plain = {"native", "12 ms", "a long remark", false};
static const struct row failed = {"onednn", "crashed", "-", true};

static char written[4096];

static void keep(void *user, const char *bytes, size_t length)
{
    (void)user;
    size_t used = strlen(written);
    assert_true(used + length < sizeof written);
    memcpy(written + used, bytes, length);
    written[used + length] = '\0';
}

static struct assay_page page;

static struct assay_grid begin(const bool *notes)
{
    written[0] = '\0';
    page = (struct assay_page){0};
    assay_page_begin(&page, &(struct assay_sink){NULL, keep, NULL},
                     &(struct assay_report_style){.ascii = true, .width = 80});
    struct assay_grid grid = {.page = &page, .columns = columns, .n = COLUMNS, .table = notes};
    assay_grid_begin(&grid, 0);
    return grid;
}

static void widths_follow_from_contents(void **state)
{
    (void)state;
    bool notes = true, none = false;
    struct assay_grid grid = begin(&notes);
    assert_int_equal(grid.widths[NOTE], 4); /* its heading */
    assay_grid_measure(&grid, &plain);
    assert_int_equal(grid.widths[NOTE], 13);
    assert_int_equal(grid.widths[NAME], 4); /* has a width of its own */
    assert_int_equal(assay_grid_total(&grid), 1 + 4 + 1 + 6 + 1 + 1 + 5 + 1 + 13);
    assert_false(page.legend.times); /* measuring shows nothing */
    grid = begin(&none);
    assay_grid_measure(&grid, &plain);
    assert_int_equal(grid.widths[NOTE], 0);
}

static void steps_are_taken_in_order_and_no_more_than_needed(void **state)
{
    (void)state;
    static const struct assay_shrink steps[] = {
        {NOTE, 6}, {TIME, ASSAY_DROP}, {RATE, ASSAY_DROP_TOO}, {NOTE, 2}};
    static const struct {
        int width, name, time, rate, note;
    } cases[] = {
        {60, 8, 6, 5, 13}, /* all of it, and what may grow grows to its most */
        {35, 6, 6, 5, 13}, /* … or as far as it can */
        {33, 4, 6, 5, 13}, /* just fits */
        {30, 4, 6, 5, 10}, /* cut as far as needed */
        {26, 4, 6, 5, 6},  /* … and down to the least */
        {25, 8, 0, 0,
         13}, /* both go together; the note gets its width back, the rest is the name's */
        {15, 4, 0, 0, 9}, /* … or as much as there is */
        {11, 4, 0, 0, 5}, /* cut again */
        {5, 4, 0, 0, 2},  /* it cannot be narrower */
    };
    bool notes = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct assay_grid grid = begin(&notes);
        assay_grid_measure(&grid, &plain);
        assay_grid_fit(&grid, steps, sizeof steps / sizeof steps[0], cases[i].width);
        assert_int_equal(grid.widths[NAME], cases[i].name);
        assert_int_equal(grid.widths[TIME], cases[i].time);
        assert_int_equal(grid.widths[RATE], cases[i].rate);
        assert_int_equal(grid.widths[NOTE], cases[i].note);
        assert_int_equal(grid.width, assay_grid_total(&grid));
    }
}

static void headings_and_rows(void **state)
{
    (void)state;
    bool notes = true;
    struct assay_grid grid = begin(&notes);
    assay_grid_measure(&grid, &plain);
    assay_grid_fit(&grid, NULL, 0, 37);
    assay_grid_headings(&grid);
    assay_grid_row(&grid, &plain);
    assay_grid_row(&grid, &failed);
    assert_string_equal(written, "           hot --------\n"
                                 " name       time   rate note\n"
                                 " native   >12 ms!    35 a long remark\n"
                                 " onednn   x crashed     -\n");
    assert_int_equal(page.lines, 4);
    assert_true(page.legend.times);
}

static void boxes(void **state)
{
    (void)state;
    bool notes = false;
    struct assay_grid grid = begin(&notes);
    grid.boxed = true;
    grid.widths[TIME] = 0;
    assay_grid_rule(&grid, ASSAY_GRID_TOP);
    assay_grid_headings(&grid);
    assay_grid_rule(&grid, ASSAY_GRID_MIDDLE);
    assay_grid_row(&grid, &plain);
    assay_grid_rule(&grid, ASSAY_GRID_BOTTOM);
    assert_string_equal(written, "+------+-------+\n"
                                 "| name |  rate |\n"
                                 "+------+-------+\n"
                                 "| n... |    35 |\n"
                                 "+------+-------+\n");
}

/* The text on lines of so many columns, behind what stands there, going on at column 2. */
static void wrap(const char *before, const char *text, int width)
{
    bool notes = false;
    begin(&notes);
    assay_line_put(&page.line, before, width, ASSAY_INK_PLAIN);
    assay_line_wrap(&page.line, &page.sink, text, 2, width, ASSAY_INK_PLAIN);
    assay_page_flush(&page);
}

static void texts_are_broken_between_words(void **state)
{
    (void)state;
    wrap("", "it fits", 7);
    assert_string_equal(written, "it fits\n");
    wrap("", "one  two three four", 9);
    assert_string_equal(written, "one two\n  three\n  four\n");
    wrap("a row: ", "reason", 9); /* not even one word behind it */
    assert_string_equal(written, "a row:\n  reason\n");
    wrap("", "an overlong_word_here", 10); /* cut where it is longer than any line */
    assert_string_equal(written, "an\n  overl...\n");
    wrap("", "\xc2\xb1 5 %", 7); /* +/- in ASCII */
    assert_string_equal(written, "+/- 5 %\n");
}

static void items_longer_than_a_line_are_broken(void **state)
{
    (void)state;
    bool notes = false;
    begin(&notes);
    struct assay_flow flow = assay_page_flow(&page, 1, 16, ASSAY_INK_PLAIN);
    assay_flow_item(&flow, "short");
    assay_flow_item(&flow, "an item of many words");
    assay_flow_item(&flow, "end");
    assay_page_flush(&page);
    assert_string_equal(written, " short\n an item of many\n words | end\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_follow_from_contents),
        cmocka_unit_test(steps_are_taken_in_order_and_no_more_than_needed),
        cmocka_unit_test(headings_and_rows),
        cmocka_unit_test(boxes),
        cmocka_unit_test(texts_are_broken_between_words),
        cmocka_unit_test(items_longer_than_a_line_are_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
