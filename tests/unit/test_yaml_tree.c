/* test_yaml_tree.c: YAML as a tree with positions, and files that must do no harm. */
#include "unit.h"

#include "base/alloc.h"
#include "config/yaml_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct assay_yaml *tree(const char *text)
{
    struct assay_yaml *root;
    struct assay_error err = {0};
    if (assay_yaml_parse(text, strlen(text), "f.yml", &root, &err) != ASSAY_OK)
        fail_msg("%s: %s: %s", text, err.where, err.message);
    return root;
}

static void assert_refused(const char *text, size_t length, const char *where, const char *message)
{
    struct assay_yaml *root;
    struct assay_error err = {0};
    assert_int_equal(assay_yaml_parse(text, length, "f.yml", &root, &err), ASSAY_ERR_INVALID);
    assert_null(root);
    assert_string_equal(err.where, where);
    if (!strstr(err.message, message))
        fail_msg("%s", err.message);
}

#define refused(text, where, message) assert_refused(text, strlen(text), where, message)

static void test_places(void **state)
{
    (void)state;
    struct assay_yaml *root = tree("one: 1\ntwo:\n  - {a: x}\n  - \"y\"\n");
    const struct assay_yaml *two = assay_yaml_get(root, "two");
    assert_int_equal(root->kind, ASSAY_YAML_MAP);
    assert_int_equal(assay_yaml_count(root), 2);
    assert_int_equal(two->kind, ASSAY_YAML_LIST);
    assert_int_equal(two->key_line, 2);
    assert_int_equal(two->key_column, 1);
    assert_int_equal(two->line, 3);
    assert_int_equal(two->column, 3);
    const struct assay_yaml *a = assay_yaml_at(root, "two[0].a");
    assert_string_equal(a->text, "x");
    assert_false(a->quoted);
    assert_int_equal(a->line, 3);
    assert_int_equal(a->column, 9);
    assert_true(assay_yaml_at(root, "two[1]")->quoted);
    assay_yaml_destroy(root);
}

/* A path that leads nowhere ends at the last node that is there. */
static void test_paths(void **state)
{
    (void)state;
    struct assay_yaml *root = tree("nodes: [{op: linear}, 7]");
    const struct assay_yaml *nodes = assay_yaml_get(root, "nodes");
    assert_ptr_equal(assay_yaml_at(root, ""), root);
    assert_ptr_equal(assay_yaml_at(root, "nodes"), nodes);
    assert_ptr_equal(assay_yaml_at(root, "nodes[0].features"), nodes->first);
    assert_ptr_equal(assay_yaml_at(root, "nodes[9].op"), nodes);
    assert_ptr_equal(assay_yaml_at(root, "nodes[1].op"), nodes->first->next);
    assert_ptr_equal(assay_yaml_at(root, "[0]"), root);
    assert_ptr_equal(assay_yaml_at(root, "nodes[0"), nodes->first);
    assay_yaml_destroy(root);
}

static void test_what_scalars_mean(void **state)
{
    (void)state;
    bool truth;
    int64_t number;
    struct assay_yaml *root =
        tree("[true, No, \"true\", 12, \"12\", 1e3, ~, '', -4, 99999999999999999999]");
    const struct assay_yaml *at = root->first;
    assert_true(assay_yaml_bool(at, &truth) && truth);
    at = at->next;
    assert_true(assay_yaml_bool(at, &truth) && !truth);
    at = at->next;
    assert_false(assay_yaml_bool(at, &truth));
    at = at->next;
    assert_true(assay_yaml_int(at, &number) && number == 12);
    at = at->next;
    assert_false(assay_yaml_int(at, &number));
    at = at->next;
    assert_false(assay_yaml_int(at, &number));
    at = at->next;
    assert_true(assay_yaml_is_null(at));
    at = at->next;
    assert_false(assay_yaml_is_null(at));
    at = at->next;
    assert_true(assay_yaml_int(at, &number) && number == -4);
    assert_false(assay_yaml_int(at->next, &number)); /* more than 64 bits */
    assay_yaml_destroy(root);
}

static void test_as_json(void **state)
{
    (void)state;
    struct assay_text text = {0};
    struct assay_yaml *root =
        tree("{name: mine, seq: 16, causal: true, size: 4*k, quoted: \"16\", half: 0.5, "
             "list: [n, {}]}");
    assay_json *json = assay_yaml_to_json(root);
    assay_json_write(json, 0, &text);
    assert_non_null(strstr(text.data, "\"name\":\"mine\""));
    assert_non_null(strstr(text.data, "\"seq\":16"));
    assert_non_null(strstr(text.data, "\"causal\":true"));
    assert_non_null(strstr(text.data, "\"size\":\"4*k\""));
    assert_non_null(strstr(text.data, "\"quoted\":\"16\""));
    assert_non_null(strstr(text.data, "\"half\":0.5"));
    assert_non_null(strstr(text.data, "\"list\":[\"n\",{}]"));
    assay_json_free(json);
    assay_text_fini(&text);
    assay_yaml_destroy(root);
}

static void test_aliases_and_merge_keys(void **state)
{
    (void)state;
    struct assay_yaml *root = tree("a: &a {x: 1, y: [2, 3]}\n"
                                   "b: *a\n"
                                   "c: {<<: *a, x: 9, z: 4}\n"
                                   "d: {x: 5, <<: [{x: 6, w: &w 7}, *a]}\n"
                                   "e: *w\n");
    assert_string_equal(assay_yaml_at(root, "b.y[1]")->text, "3");
    assert_string_equal(assay_yaml_at(root, "c.x")->text, "9");
    assert_string_equal(assay_yaml_at(root, "c.y[0]")->text, "2");
    assert_int_equal(assay_yaml_at(root, "c.y[0]")->line, 1); /* where it was written */
    assert_string_equal(assay_yaml_at(root, "c.z")->text, "4");
    assert_null(assay_yaml_get(assay_yaml_get(root, "c"), "<<"));
    assert_string_equal(assay_yaml_at(root, "d.x")->text, "5");
    assert_string_equal(assay_yaml_at(root, "d.w")->text, "7");
    assert_string_equal(assay_yaml_at(root, "d.y[0]")->text, "2");
    assert_string_equal(assay_yaml_get(root, "e")->text, "7");
    assay_yaml_destroy(root);
}

static void test_nothing_and_utf16(void **state)
{
    (void)state;
    struct assay_yaml *root;
    assert_null(tree(""));
    assert_null(tree("# only a comment\n"));
    static const char wide[] = "\xff\xfe"
                               "a\0:\0 \0"
                               "1";
    assert_int_equal(assay_yaml_parse(wide, sizeof wide, "f", &root, NULL), ASSAY_OK);
    assert_string_equal(assay_yaml_get(root, "a")->text, "1");
    assay_yaml_destroy(root);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    refused("a: [1\n", "f.yml:2:1", "not YAML");
    refused("a: b: c\n", "f.yml:1:5", "not YAML");
    refused("\ta: 1\n", "f.yml:1:1", "not YAML");
    refused("a: \xff\xff\n", "f.yml:1:1", "not YAML");
    refused("a: 1\nb: 2\na: 3\n", "f.yml:3:1", "\"a\" is given twice, first in line 1");
    refused("[1, 2]: 3\n", "f.yml:1:1", "a key must be a word");
    refused("a: 1\n---\nb: 2\n", "f.yml:2:1", "a second document");
    refused("a: \"x\\0y\"\n", "f.yml:1:4", "zero byte");
    refused("a: *b\n", "f.yml:1:4", "no anchor \"&b\"");
    refused("a: &a [*a]\n", "f.yml:1:8", "no anchor \"&a\"");
    refused("{<<: 3}\n", "f.yml:1:1", "<< takes a mapping");
    refused("{<<: [3]}\n", "f.yml:1:1", "<< takes a mapping");
}

/* Each would take forever, or all memory, or all of the stack. */
static void test_hostile_files(void **state)
{
    (void)state;
    struct assay_text text = {0};
    assay_text_add(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++) {
        assay_text_format(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            assay_text_format(&text, "*a%d,", i - 1);
        assay_text_add(&text, "]\n");
    }
    struct assay_yaml *root;
    struct assay_error err = {0};
    assert_int_equal(assay_yaml_parse(text.data, text.length, "f", &root, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "far more than a configuration needs"));

    assay_text_clear(&text);
    for (int i = 0; i < 100000; i++)
        assay_text_add(&text, "[");
    assert_refused(text.data, text.length, "f.yml:1:33", "nested too deeply");

    assay_text_clear(&text); /* aliases nest too */
    assay_text_add(&text, "a0: &a0 [x]\n");
    for (int i = 1; i < 40; i++)
        assay_text_format(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    err = (struct assay_error){0};
    assert_int_equal(assay_yaml_parse(text.data, text.length, "f", &root, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "nested too deeply"));

    assay_text_clear(&text);
    for (int i = 0; i < 5000; i++)
        assay_text_format(&text, "k%d: 1\n", i);
    assert_refused(text.data, text.length, "f.yml:1:1", "more than 1000 keys");

    assay_text_clear(&text);
    for (int i = 0; i < 70; i++)
        assay_text_format(&text, "- &a%d x\n", i);
    assert_refused(text.data, text.length, "f.yml:65:3", "more than 64 anchors");

    assay_text_clear(&text);
    for (int i = 0; i < 200000; i++)
        assay_text_add(&text, "- 1\n");
    assert_refused(text.data, text.length, "f.yml:100000:3", "far more than a configuration");
    for (int i = 0; i < 200000; i++)
        assay_text_add(&text, "- 1\n");
    assert_refused(text.data, text.length, "f.yml", "larger than a configuration can be");
    assay_text_fini(&text);
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    static const char text[] = "a: &a {x: [1, 2]}\nb: {<<: *a, y: *a}\n";
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct assay_yaml *root;
        struct assay_error err = {0};
        assay_alloc_fail_after(nth);
        status = assay_yaml_parse(text, sizeof text - 1, "f", &root, &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        assert_true(status == ASSAY_OK || status == ASSAY_ERR_NOMEM);
        assay_yaml_destroy(root);
        assert_true(nth < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_what_scalars_mean),
        cmocka_unit_test(test_as_json),
        cmocka_unit_test(test_aliases_and_merge_keys),
        cmocka_unit_test(test_nothing_and_utf16),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_hostile_files),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
