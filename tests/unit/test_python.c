/* test_python.c: which objects are Python's, which interpreter is meant, and the package that a
 * program without Python's headers does not carry. */
#include "unit.h"

#include "runner/python.h"
#include "base/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void test_objects_by_their_names(void **state)
{
    (void)state;
    assert_true(assay_python_is("python:torch"));
    assert_true(assay_python_is("./kernels.py"));
    assert_false(assay_python_is("kernels.so"));
    assert_false(assay_python_is(".py"));
    assert_false(assay_python_is("python"));
}

static void test_implementations_and_kernels_name_their_object(void **state)
{
    (void)state;
    static const struct {
        const char *name, *object;
    } cases[] = {
        {"torch", "python:torch"},
        {"torch-compile", "python:torch"},
        {"gelu_torch", "python:torch"},
        {"gelu_torch_compile_cuda", "python:torch"},
        {"triton", "python:triton"},
        {"gelu_triton", "python:triton"},
        {"torchlike", NULL},
        {"mytorch", NULL},
        {"native", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *object = assay_python_object_of(cases[i].name);
        if (cases[i].object)
            assert_string_equal(object, cases[i].object);
        else
            assert_null(object);
    }
}

/* A program called python3 in `folder`/bin. */
static void make_python(const char *folder, char *path, size_t size)
{
    snprintf(path, size, "%s/bin", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, size, "%s/bin/python3", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("#!/bin/sh\n", file);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
}

static void expect_python(const char *wanted, const char *path)
{
    struct assay_text found = {0};
    struct assay_error err = {0};
    assert_int_equal(assay_python_find(wanted, &found, &err), ASSAY_OK);
    assert_string_equal(found.data, path);
    assay_text_fini(&found);
}

static void test_the_interpreter_is_looked_for_in_order(void **state)
{
    char folder[] = "/tmp/assay-python-XXXXXX", path[256], bin[256];
    (void)state;
    assert_non_null(mkdtemp(folder));
    make_python(folder, path, sizeof path);
    snprintf(bin, sizeof bin, "%s/bin", folder);
    unsetenv("ASSAY_PYTHON");
    unsetenv("VIRTUAL_ENV");
    setenv("PATH", bin, 1);
    expect_python(NULL, path);
    expect_python("", path);
    expect_python("python3", path); /* a name is looked for */
    setenv("VIRTUAL_ENV", folder, 1);
    setenv("PATH", "/nowhere", 1);
    expect_python(NULL, path);
    setenv("VIRTUAL_ENV", "/nowhere", 1);
    setenv("ASSAY_PYTHON", path, 1);
    expect_python(NULL, path);
    setenv("ASSAY_PYTHON", "/nowhere", 1);
    expect_python(path, path);
    assay_folder_remove(folder);
}

static void expect_none(const char *wanted, const char *says)
{
    struct assay_text found = {0};
    struct assay_error err = {0};
    assert_int_equal(assay_python_find(wanted, &found, &err), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(err.message, says));
    assay_text_fini(&found);
}

static void test_who_is_missing_is_named(void **state)
{
    (void)state;
    unsetenv("ASSAY_PYTHON");
    unsetenv("VIRTUAL_ENV");
    setenv("PATH", "/nowhere", 1);
    expect_none("/etc", "--python /etc is not a program");
    expect_none("python9", "--python python9 is not a program");
    expect_none(NULL, "no python3 in PATH");
    setenv("VIRTUAL_ENV", "/nowhere", 1);
    expect_none(NULL, "/nowhere/bin/python3");
    setenv("ASSAY_PYTHON", "/etc/passwd", 1);
    expect_none(NULL, "$ASSAY_PYTHON /etc/passwd");
}

static void test_a_library_carries_no_package(void **state)
{
    struct assay_text folder = {0};
    struct assay_error err = {0};
    (void)state;
    assert_int_equal(assay_python_package(&folder, &err), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "python3-dev"));
    assay_text_fini(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_by_their_names),
        cmocka_unit_test(test_implementations_and_kernels_name_their_object),
        cmocka_unit_test(test_the_interpreter_is_looked_for_in_order),
        cmocka_unit_test(test_who_is_missing_is_named),
        cmocka_unit_test(test_a_library_carries_no_package),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
