/* test_kernel_file.c: assay.yml is read, and its mistakes are told where they stand. */
#include "config/kernel_file.h"

#include "base/alloc.h"
#include "temporary.h"

static enum assay_status parse(const char *text, struct assay_kernel_file *out,
                               struct assay_error *err)
{
    *err = (struct assay_error){0};
    return assay_kernel_file_parse(text, strlen(text), "assay.yml", NULL, out, err);
}

static void assert_words(const struct assay_strings *got, const char *want)
{
    struct assay_text text = {0};
    for (int64_t i = 0; i < got->n; i++)
        assay_text_format(&text, "%s%s", i ? "|" : "", got->items[i]);
    assert_string_equal(text.data ? text.data : "", want);
    assay_text_fini(&text);
}

static void every_key_is_read(void **state)
{
    (void)state;
    struct assay_kernel_file file;
    struct assay_error err;
    assert_int_equal(parse("name: activation\n"
                           "cflags: [-O3, -ffast-math, \"-DNAME=two words\"]\n"
                           "cxxflags: -O3  -std=c++20\n"
                           "cudaflags: [-arch=sm_90a]\n"
                           "ldflags:\n  - -lm\n  - lib/libx.a\n"
                           "include: src\n"
                           "sources: [src/silu.c, src/a b.c]\n"
                           "shapes: 4x512x1024, 8x8x8\n"
                           "dtypes: [f32, bf16]\n",
                           &file, &err),
                     ASSAY_OK);
    assert_string_equal(file.name, "activation");
    assert_words(&file.cflags, "-O3|-ffast-math|-DNAME=two words");
    assert_words(&file.cxxflags, "-O3|-std=c++20");
    assert_words(&file.cudaflags, "-arch=sm_90a");
    assert_words(&file.ldflags, "-lm|lib/libx.a");
    assert_words(&file.include, "src");
    assert_words(&file.sources, "src/silu.c|src/a b.c");
    assert_words(&file.shapes, "4x512x1024|8x8x8");
    assert_words(&file.dtypes, "f32|bf16");
    struct assay_compile_flags flags = assay_kernel_file_flags(&file);
    assert_string_equal(flags.c[2], "-DNAME=two words");
    assert_null(flags.c[3]);
    assert_string_equal(flags.cxx[1], "-std=c++20");
    assert_string_equal(flags.cuda[0], "-arch=sm_90a");
    assert_string_equal(flags.link[1], "lib/libx.a");
    assert_string_equal(flags.include[0], "src");
    assert_string_equal(flags.sources[1], "src/a b.c");
    assay_kernel_file_fini(&file);
}

static void nothing_said_is_nothing_read(void **state)
{
    (void)state;
    static const char *const texts[] = {"",      "# a comment\n", "{}\n",
                                        "---\n", "cflags: []\n",  "cflags: ''\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct assay_kernel_file file;
        struct assay_error err;
        if (parse(texts[i], &file, &err) != ASSAY_OK)
            fail_msg("%s: %s", texts[i], err.message);
        assert_int_equal(file.cflags.n, 0);
        assert_null(assay_kernel_file_flags(&file).c);
        assay_kernel_file_fini(&file);
    }
}

static void mistakes_have_a_place_and_a_hint(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *message;
    } table[] = {
        {"cflag: -O3\n", "assay.yml:1:1", "unknown key \"cflag\"; did you mean \"cflags\"?"},
        {"name: x\nbananas: 1\n", "assay.yml:2:1", "unknown key \"bananas\"; assay.yml has name,"},
        {"cflags:\n", "assay.yml:1:8", "cflags has no value"},
        {"cflags: {a: b}\n", "assay.yml:1:9", "cflags takes a list of words"},
        {"cflags: [[-O3]]\n", "assay.yml:1:10", "cflags takes a list of words"},
        {"sources: ['']\n", "assay.yml:1:11", "sources takes"},
        {"name: [a]\n", "assay.yml:1:7", "name takes a name"},
        {"- a\n", "assay.yml:1:1", "is a mapping"},
        {"cflags: [\n", "assay.yml:", ""},
        {"cflags: [-O3, -g,\n  -fplugin=x.so]\n", "assay.yml:2:3",
         "cflags: \"-fplugin=x.so\" is refused: it loads a plug-in into the compiler"},
        {"cxxflags: -O3 -B.\n", "assay.yml:1:11", "CXX=\"c++ -B.\""},
        {"ldflags:\n  - -lm\n  - -Wl,-Map=/etc/x\n", "assay.yml:3:5", "is refused"},
        {"cudaflags: [\"-DX=`id`\"]\n", "assay.yml:1:13", "shell"},
        {"include: [src, ../other]\n", "assay.yml:1:16", "leads out of the repository"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct assay_kernel_file file;
        struct assay_error err;
        assert_int_equal(parse(table[i].text, &file, &err), ASSAY_ERR_INVALID);
        if (strncmp(err.where, table[i].where, strlen(table[i].where)) != 0 ||
            !strstr(err.message, table[i].message))
            fail_msg("%s gave %s: %s", table[i].text, err.where, err.message);
        assay_kernel_file_fini(&file);
    }
}

static void limits_end_in_an_error(void **state)
{
    (void)state;
    struct assay_kernel_file file;
    struct assay_error err;
    char name[200] = "name: ";
    struct assay_text text = {0};
    assay_text_add(&text, "cflags:");
    for (int i = 0; i < 1001; i++)
        assay_text_add(&text, " -w");
    assert_int_equal(parse(text.data, &file, &err), ASSAY_ERR_INVALID);
    assay_text_fini(&text);
    assert_non_null(strstr(err.message, "more than 1000"));
    assay_kernel_file_fini(&file);
    memset(name + 6, 'n', 150);
    assert_int_equal(parse(name, &file, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "at most 127"));
    assay_kernel_file_fini(&file);
}

static void the_file_lies_at_the_root(void **state)
{
    (void)state;
    struct assay_kernel_file file;
    struct assay_error err = {0};
    assert_int_equal(assay_kernel_file_read(temporary, &file, &err), ASSAY_OK); /* none: fine */
    assert_int_equal(file.cflags.n, 0);
    assay_kernel_file_fini(&file);
    put_file("assay.yml", "cflags: -O1\n");
    assert_int_equal(assay_kernel_file_read(temporary, &file, &err), ASSAY_OK);
    assert_words(&file.cflags, "-O1");
    assay_kernel_file_fini(&file);
    put_file("assay.yml", "cflag: -O1\n");
    assert_int_equal(assay_kernel_file_read(temporary, &file, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.where, "assay.yml:1:1"));
    assay_kernel_file_fini(&file);
    assay_folder_remove(in_temporary("assay.yml"));
    put_file("secret", "password: tiger\n");
    assert_int_equal(mkdir(in_temporary("repo"), 0755), 0);
    assert_int_equal(symlink("../secret", in_temporary("repo/assay.yml")), 0);
    err = (struct assay_error){0};
    assert_int_equal(assay_kernel_file_read(in_temporary("repo"), &file, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "leads out of the repository"));
    assert_null(strstr(err.message, "password"));
    assay_kernel_file_fini(&file);
    assert_int_equal(mkdir(in_temporary("assay.yml"), 0755), 0);
    err = (struct assay_error){0};
    assert_int_equal(assay_kernel_file_read(temporary, &file, &err), ASSAY_ERR_INVALID);
    assay_kernel_file_fini(&file);
}

static void without_memory_there_is_an_error(void **state)
{
    (void)state;
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct assay_kernel_file file;
        struct assay_error err = {0};
        static const char text[] = "name: x\ncflags: -O1 -g\nsources: [c, d]\n";
        assay_alloc_fail_after(nth);
        status = assay_kernel_file_parse(text, strlen(text), "assay.yml", NULL, &file, &err);
        assay_alloc_fail_after(0);
        assert_true(status == ASSAY_OK || status == ASSAY_ERR_NOMEM);
        assay_kernel_file_fini(&file);
        assert_true(nth < 1000);
    }
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, temporary_make, temporary_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(nothing_said_is_nothing_read),
        cmocka_unit_test(mistakes_have_a_place_and_a_hint),
        cmocka_unit_test(limits_end_in_an_error),
        WITH_FOLDER(the_file_lies_at_the_root),
        cmocka_unit_test(without_memory_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
