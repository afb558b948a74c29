/* test_sources.c: which files of a repository are compiled, in which language, and their hash. */
#include "base/alloc.h"
#include "repo/sources.h"
#include "temporary.h"

/* The repository of the temporary folder, or one file of it. */
static enum assay_status find(const char *file, struct assay_sources *out, struct assay_error *err)
{
    struct assay_repository repository = {0};
    snprintf(repository.name, sizeof repository.name, "./repo");
    assay_text_add(&repository.root, in_temporary("repo"));
    if (file)
        assay_text_add(&repository.file, in_temporary(file));
    *err = (struct assay_error){0};
    enum assay_status status = assay_sources_find(&repository, out, err);
    assay_repository_fini(&repository);
    return status;
}

static void benchmarks_are_found_by_name_in_order(void **state)
{
    (void)state;
    struct assay_sources sources;
    struct assay_error err;
    put_file("repo/benchmarks/benchmark_b.cu", "__global__ void k() {}");
    put_file("repo/benchmarks/benchmark_a.cpp", "");
    put_file("repo/benchmarks/benchmark.c", "int x;\n");
    put_file("repo/benchmarks/benchmark_c.cu", "#ifdef __CUDACC_RTC__\n#endif");
    put_file("repo/benchmarks/benchmark.py", "import torch");
    put_file("repo/benchmarks/helper.c", "ASSAY_BENCHMARK");
    put_file("repo/benchmarks/.benchmark.c", "");
    put_file("repo/benchmarks/benchmark_folder.c/x.c", "");
    put_file("repo/kernel.c", "ASSAY_KERNELS"); /* not looked at: there are benchmarks */
    assert_int_equal(find(NULL, &sources, &err), ASSAY_OK);
    assert_int_equal(sources.n, 5);
    static const struct {
        const char *shown;
        enum assay_language language;
        bool run_time;
    } want[] = {{"benchmarks/benchmark.c", ASSAY_LANGUAGE_C, false},
                {"benchmarks/benchmark.py", ASSAY_LANGUAGE_PYTHON, false},
                {"benchmarks/benchmark_a.cpp", ASSAY_LANGUAGE_CXX, false},
                {"benchmarks/benchmark_b.cu", ASSAY_LANGUAGE_CUDA, false},
                {"benchmarks/benchmark_c.cu", ASSAY_LANGUAGE_CUDA, true}};
    for (int64_t i = 0; i < sources.n; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/repo/%s", temporary, want[i].shown);
        assert_string_equal(sources.items[i].shown, want[i].shown);
        assert_string_equal(sources.items[i].path, path);
        assert_int_equal(sources.items[i].language, want[i].language);
        assert_int_equal(sources.items[i].run_time_cuda, want[i].run_time);
    }
    /* (cd repo && sha256sum benchmarks/benchmark.c ….py …_a.cpp …_b.cu …_c.cu | sha256sum) */
    assert_string_equal(sources.sha256,
                        "b96e0e3e5095b31c732f9708a0e8007c8c41ab7cc11027b0ce3dc15acc07e6cb");
    assay_sources_fini(&sources);
}

static void the_hash_follows_names_and_contents(void **state)
{
    (void)state;
    struct assay_sources sources;
    struct assay_error err;
    char first[65];
    put_file("repo/benchmarks/benchmark.c", "int x;");
    assert_int_equal(find(NULL, &sources, &err), ASSAY_OK);
    snprintf(first, sizeof first, "%s", sources.sha256);
    assay_sources_fini(&sources);
    put_file("repo/benchmarks/benchmark.c", "int y;");
    assert_int_equal(find(NULL, &sources, &err), ASSAY_OK);
    assert_string_not_equal(first, sources.sha256);
    assay_sources_fini(&sources);
    put_file("repo/benchmarks/benchmark.c", "int x;");
    put_file("repo/benchmarks/benchmark2.c", "");
    assert_int_equal(find(NULL, &sources, &err), ASSAY_OK);
    assert_string_not_equal(first, sources.sha256);
    assay_sources_fini(&sources);
}

static void without_benchmarks_files_that_define_kernels_are_taken(void **state)
{
    (void)state;
    struct assay_sources sources;
    struct assay_error err;
    put_file("repo/kernels/silu.cc", "ASSAY_KERNELS(&silu)");
    put_file("repo/kernels/helper.c", "int help(void);");
    put_file("repo/gelu.c", "const struct assay_kernel *const *assay_plugin(…)");
    put_file("repo/main.c", "int main(void) {}");
    put_file("repo/src/deep.c", "ASSAY_KERNELS(&deep)");
    assert_int_equal(find(NULL, &sources, &err), ASSAY_OK);
    assert_int_equal(sources.n, 2);
    assert_string_equal(sources.items[0].shown, "gelu.c");
    assert_string_equal(sources.items[1].shown, "kernels/silu.cc");
    assay_sources_fini(&sources);
}

static void a_single_file_is_that_file(void **state)
{
    (void)state;
    struct assay_sources sources;
    struct assay_error err;
    put_file("repo/benchmarks/benchmark_a.c", "");
    put_file("repo/src/any name.cu", "x");
    put_file("repo/notes.txt", "");
    assert_int_equal(find("repo/src/any name.cu", &sources, &err), ASSAY_OK);
    assert_int_equal(sources.n, 1);
    assert_string_equal(sources.items[0].shown, "src/any name.cu");
    assay_sources_fini(&sources);
    assert_int_equal(find("repo/notes.txt", &sources, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, ".cpp, .cxx or .cu"));
    assay_sources_fini(&sources);
}

static void what_is_missing_is_told(void **state)
{
    (void)state;
    struct assay_sources sources;
    struct assay_error err;
    put_file("repo/README.md", "");
    assert_int_equal(find(NULL, &sources, &err), ASSAY_ERR_INVALID);
    assert_string_equal(err.where, "./repo");
    assert_non_null(strstr(err.message, "no folder benchmarks/"));
    assay_sources_fini(&sources);
    put_file("repo/benchmarks/benchmark.rs", "");
    assert_int_equal(find(NULL, &sources, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "benchmark.rs, which assay does not run"));
    assay_sources_fini(&sources);
    assay_folder_remove(in_temporary("repo/benchmarks/benchmark.rs"));
    assert_int_equal(find(NULL, &sources, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "benchmarks/ has no file benchmark*"));
    assay_sources_fini(&sources);
    assay_folder_remove(in_temporary("repo/benchmarks"));
    put_file("repo/benchmarks", "a file");
    assert_int_equal(find(NULL, &sources, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.message, "Not a directory"));
    assay_sources_fini(&sources);
}

static void odd_names_are_shown_escaped_and_links_followed(void **state)
{
    (void)state;
    struct assay_sources sources;
    struct assay_error err;
    put_file("repo/benchmarks/benchmark\n\x1b.c", "");
    put_file("repo/src/shared.c", "");
    assert_int_equal(symlink("../src/shared.c", in_temporary("repo/benchmarks/benchmark_link.c")),
                     0);
    assert_int_equal(find(NULL, &sources, &err), ASSAY_OK);
    assert_int_equal(sources.n, 2);
    assert_string_equal(sources.items[0].shown, "benchmarks/benchmark\\n\\x1b.c");
    assert_non_null(strstr(sources.items[0].path, "benchmark\n\x1b.c"));
    assert_string_equal(sources.items[1].shown, "benchmarks/benchmark_link.c");
    assay_sources_fini(&sources);
}

/* A file, a folder, one that assay.yml names, and a single one. */
static void links_that_lead_out_are_refused(void **state)
{
    (void)state;
    struct assay_sources sources;
    struct assay_source source = {0};
    struct assay_error err;
    put_file("outside/benchmark_secret.c", "/* ASSAY_KERNELS: tiger */");
    put_file("repo/x.c", "");
    assert_int_equal(symlink("../outside", in_temporary("repo/benchmarks")), 0);
    assert_int_equal(find(NULL, &sources, &err), ASSAY_ERR_INVALID);
    assert_string_equal(err.where, "benchmarks");
    assert_non_null(strstr(err.message, "leads out of the repository"));
    assay_sources_fini(&sources);
    assert_int_equal(unlink(in_temporary("repo/benchmarks")), 0);
    assert_int_equal(mkdir(in_temporary("repo/benchmarks"), 0755), 0);
    assert_int_equal(symlink("../../outside/benchmark_secret.c",
                             in_temporary("repo/benchmarks/benchmark_link.c")),
                     0);
    assert_int_equal(find(NULL, &sources, &err), ASSAY_ERR_INVALID);
    assert_string_equal(err.where, "benchmarks/benchmark_link.c");
    assay_sources_fini(&sources);
    assert_int_equal(find("repo/benchmarks/benchmark_link.c", &sources, &err), ASSAY_ERR_INVALID);
    assay_sources_fini(&sources);
    static const char *const paths[] = {"benchmarks/benchmark_link.c",
                                        "../outside/benchmark_secret.c", "/etc/passwd.c",
                                        "benchmarks/../../outside/benchmark_secret.c"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        err = (struct assay_error){0};
        assert_int_equal(assay_source_at(in_temporary("repo"), paths[i], &source, &err),
                         ASSAY_ERR_INVALID);
        assert_non_null(strstr(err.message, "leads out of the repository"));
        assay_source_fini(&source);
    }
}

static void limits_end_in_an_error(void **state)
{
    (void)state;
    struct assay_sources sources;
    struct assay_error err;
    for (int i = 0; i <= ASSAY_SOURCES_MOST; i++) {
        char name[64];
        snprintf(name, sizeof name, "repo/benchmarks/benchmark%d.c", i);
        put_file(name, "");
    }
    assert_int_equal(find(NULL, &sources, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "more than 256 files"));
    assay_sources_fini(&sources);
    put_file("repo/one.c", "");
    assert_int_equal(truncate(in_temporary("repo/one.c"), ASSAY_SOURCE_BYTES + 1), 0);
    assert_int_equal(find("repo/one.c", &sources, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "too large"));
    assay_sources_fini(&sources);
}

/* Whichever allocation fails: an error, and nothing is lost (the sanitizer looks). */
static void without_memory_there_is_an_error(void **state)
{
    (void)state;
    put_file("repo/benchmarks/benchmark_a.c", "int a;");
    put_file("repo/benchmarks/benchmark_b.cc", "int b;");
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct assay_repository repository = {0};
        struct assay_sources sources;
        assay_text_add(&repository.root, in_temporary("repo"));
        assay_alloc_fail_after(nth);
        status = assay_sources_find(&repository, &sources, NULL);
        assay_alloc_fail_after(0);
        assert_true(status == ASSAY_OK || status == ASSAY_ERR_NOMEM);
        assert_true(nth < 100);
        assay_sources_fini(&sources);
        assay_repository_fini(&repository);
    }
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, temporary_make, temporary_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(benchmarks_are_found_by_name_in_order),
        WITH_FOLDER(the_hash_follows_names_and_contents),
        WITH_FOLDER(without_benchmarks_files_that_define_kernels_are_taken),
        WITH_FOLDER(a_single_file_is_that_file),
        WITH_FOLDER(what_is_missing_is_told),
        WITH_FOLDER(odd_names_are_shown_escaped_and_links_followed),
        WITH_FOLDER(links_that_lead_out_are_refused),
        WITH_FOLDER(limits_end_in_an_error),
        WITH_FOLDER(without_memory_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
