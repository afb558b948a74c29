/* test_compile.c: files become shared objects, once; every change compiles again; what a compiler
 * says is passed on. */
#include "repo/compile.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "repo/compiler.h"
#include "repo/headers.h"
#include "repo/object_cache.h"
#include "temporary.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static int said; /* commands that were run */
static void count(const char *text)
{
    assert_non_null(text);
    said++;
}

/* Compiles REPO/FILE with these flags. Commands run are counted in `said`, from 0. */
static enum assay_status compile(const char *repo, const char *file,
                                 const struct assay_compile_flags *flags, struct assay_object *out,
                                 struct assay_error *err)
{
    struct assay_repository repository = {0};
    struct assay_source source = {0};
    *err = (struct assay_error){0};
    said = 0;
    assay_text_add(&repository.root, in_temporary(repo));
    assert_int_equal(assay_source_at(repository.root.data, file, &source, err), ASSAY_OK);
    enum assay_status status = assay_compile(&repository, &source, flags, count, out, err);
    assay_source_fini(&source);
    assay_repository_fini(&repository);
    return status;
}

/* Compiles "repo/x.c", must succeed, and gives what its function answer() returns. */
static int answer(const struct assay_compile_flags *flags, bool *cached)
{
    struct assay_object object;
    struct assay_error err;
    if (compile("repo", "x.c", flags, &object, &err) != ASSAY_OK)
        fail_msg("%s: %s\n%s", err.where, err.message, object.output.data);
    void *library = dlopen(object.path.data, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fail_msg("%s", dlerror());
        return -1;
    }
    int (*function)(void);
    *(void **)&function = dlsym(library, "answer");
    assert_non_null(function);
    int result = function();
    dlclose(library);
    if (cached)
        *cached = object.cached;
    assert_int_equal(object.cached, said == 0);
    assay_object_fini(&object);
    return result;
}

static const struct assay_compile_flags none;

static void a_file_is_compiled_once(void **state)
{
    (void)state;
    bool cached = false;
    put_file("repo/x.c", "int answer(void) { return 42; }\n");
    assert_int_equal(answer(&none, &cached), 42);
    assert_false(cached);
    assert_int_equal(said, 2); /* compiled and linked */
    assert_int_equal(answer(&none, &cached), 42);
    assert_true(cached);
    put_file("repo/x.c", "int answer(void) { return 43; }\n");
    assert_int_equal(answer(&none, &cached), 43);
    assert_false(cached);
    put_file("repo/x.c", "int answer(void) { return 42; }\n"); /* and back */
    assert_int_equal(answer(&none, &cached), 42);
    assert_true(cached);
}

/* The best of some, for other programs run here too; at first what is new is read again. */
static void finding_it_again_takes_no_time(void **state)
{
    (void)state;
    double best_ms = 1e9;
    put_file("repo/x.c", "#include <stdio.h>\n#include <math.h>\n#include <stdlib.h>\n"
                         "#include <assay/assay_kernel.h>\nint answer(void) { return 1; }\n");
    answer(&none, NULL);
    for (int i = 0; i < 500 && best_ms >= 10; i++) {
        int64_t start = assay_clock_ns();
        assert_int_equal(answer(&none, NULL), 1);
        assert_int_equal(said, 0);
        double ms = (double)(assay_clock_ns() - start) * 1e-6;
        best_ms = ms < best_ms ? ms : best_ms;
    }
    print_message("found again in %.2f ms\n", best_ms);
    assert_true(best_ms < 10);
}

static void a_changed_header_compiles_again(void **state)
{
    (void)state;
    static const char *const folders[] = {"inc", NULL};
    const struct assay_compile_flags flags = {.include = folders};
    bool cached = false;
    put_file("repo/inc/a b#$.h", "#include \"value.h\"\n");
    put_file("repo/inc/value.h", "#define VALUE 1\n");
    put_file("repo/x.c", "#include <a b#$.h>\nint answer(void) { return VALUE; }\n");
    assert_int_equal(answer(&flags, &cached), 1);
    assert_false(cached);
    assert_int_equal(answer(&flags, &cached), 1);
    assert_true(cached);
    put_file("repo/inc/value.h", "#define VALUE 2\n");
    assert_int_equal(answer(&flags, &cached), 2);
    assert_false(cached);
    put_file("repo/inc/value.h", "#define VALUE 2\n"); /* only its time is new */
    assert_int_equal(answer(&flags, &cached), 2);
    assert_true(cached);
    put_file("repo/inc/value.h", "#define VALUE 1\n"); /* as it was before */
    assert_int_equal(answer(&flags, &cached), 1);
    assert_true(cached);
    assay_folder_remove(in_temporary("repo/inc/value.h"));
    struct assay_object object;
    struct assay_error err;
    assert_int_equal(compile("repo", "x.c", &flags, &object, &err), ASSAY_ERR_FAILED);
    assert_non_null(strstr(object.output.data, "value.h"));
    assay_object_fini(&object);
}

/* What changes while it is compiled may be in it or not: it is compiled again. */
static void a_change_meanwhile_is_not_missed(void **state)
{
    (void)state;
    char script[1000];
    bool cached = false;
    snprintf(script, sizeof script,
             "#!/bin/sh\ncc \"$@\" || exit 1\ntest -e '%s' || echo '#define VALUE 2' > '%s'\n"
             "touch '%s'\n",
             in_temporary("once"), in_temporary("repo/value.h"), in_temporary("once"));
    setenv("CC", put_script("mycc", script), 1);
    put_file("repo/value.h", "#define VALUE 1\n");
    put_file("repo/x.c", "#include \"value.h\"\nint answer(void) { return VALUE; }\n");
    assert_int_equal(answer(&none, &cached), 1);
    assert_int_equal(answer(&none, &cached), 2);
    assert_false(cached);
    assert_int_equal(answer(&none, &cached), 2);
    assert_true(cached);
    unsetenv("CC");
}

static void changed_flags_compile_again(void **state)
{
    (void)state;
    static const char *const one[] = {"-DV=1", NULL}, *const two[] = {"-DV=2", NULL};
    const struct assay_compile_flags flags[2] = {{.c = one}, {.c = two}};
    bool cached = false;
    put_file("repo/x.c", "int answer(void) { return V; }\n");
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 2; i++) {
            assert_int_equal(answer(&flags[i], &cached), i + 1);
            assert_int_equal(cached, round);
        }
}

static void another_compiler_compiles_again(void **state)
{
    (void)state;
    bool cached = false;
    put_file("repo/x.c", "int answer(void) { return V; }\n");
    put_script("my cc",
               "#!/bin/sh\nexec cc -DV=5 \"$@\"\n"); /* a path with a blank: not $CC's to say */
    put_script("mycc", "#!/bin/sh\nexec cc -DV=6 \"$@\"\n");
    setenv("CC", in_temporary("mycc"), 1);
    assert_int_equal(answer(&none, &cached), 6);
    put_script("mycc", "#!/bin/sh\n\nexec cc -DV=7 \"$@\"\n"); /* the same path, another program */
    assert_int_equal(answer(&none, &cached), 7);
    assert_false(cached);
    setenv("CC", "cc -DV=8", 1); /* with a flag of its own */
    assert_int_equal(answer(&none, &cached), 8);
    unsetenv("CC");
}

static void more_sources_in_any_language_join_in(void **state)
{
    (void)state;
    static const char *const sources[] = {"src/part.c", "src/plus.cpp", "x.c", NULL};
    static const char *const cflags[] = {"-DPART=20", NULL}, *const cxxflags[] = {"-DPLUS=3", NULL};
    const struct assay_compile_flags flags = {.sources = sources, .c = cflags, .cxx = cxxflags};
    bool cached = false;
    put_file("repo/x.c",
             "int part(void), plus(void);\nint answer(void) { return part() + plus(); }\n");
    put_file("repo/src/part.c", "int part(void) { int class = PART; return class; }\n");
    put_file("repo/src/plus.cpp", "#include <string>\nextern \"C\" int plus()\n"
                                  "{ return PLUS + (int)std::to_string(PLUS).size(); }\n");
    assert_int_equal(answer(&flags, NULL), 24);
    assert_int_equal(said, 4);
    assert_int_equal(answer(&flags, &cached), 24);
    assert_true(cached);
    put_file("repo/src/part.c", "int part(void) { return 10; }\n");
    assert_int_equal(answer(&flags, NULL), 14);
    assert_int_equal(said, 2); /* one file, and linking */
}

static void a_source_that_is_not_there_is_told(void **state)
{
    (void)state;
    static const char *const sources[] = {"src/none.c", NULL};
    const struct assay_compile_flags flags = {.sources = sources};
    struct assay_object object;
    struct assay_error err;
    put_file("repo/x.c", "int answer(void) { return 0; }\n");
    assert_int_equal(compile("repo", "x.c", &flags, &object, &err), ASSAY_ERR_IO);
    assert_string_equal(err.where, "src/none.c");
    assert_non_null(strstr(err.message, "assay.yml"));
    assay_object_fini(&object);
}

static void a_benchmark_includes_assays_headers_in_c_and_cxx(void **state)
{
    (void)state;
    static const char text[] =
        "#include <assay/assay_benchmark.h>\n"
        "static void setup(assay_setup *s) { assay_output(s, \"y\", ASSAY_DTYPE_F32, 4); }\n"
        "static int run(const assay_call *c) { ((float *)c->out[0])[0] = 1; return 0; }\n"
        "ASSAY_BENCHMARK(Mine, 7, setup, {\"small\", run})\n";
    static const char *const names[] = {"benchmarks/benchmark.c", "benchmarks/benchmark.cc",
                                        "benchmarks/benchmark.cu"};
    for (int i = 0; i < 3; i++) {
        struct assay_object object;
        struct assay_error err;
        char name[64], whole[400];
        snprintf(name, sizeof name, "repo/%s", names[i]);
        /* The third is what NVRTC compiles later: the host's part is C, for the device "cuda". */
        snprintf(whole, sizeof whole, "%s%s", i == 2 ? "/* __CUDACC_RTC__ */" : "", text);
        put_file(name, whole);
        if (compile("repo", names[i], &none, &object, &err) != ASSAY_OK)
            fail_msg("%s: %s\n%s", err.where, err.message, object.output.data);
        assert_int_equal(object.output.length, 0); /* not even a warning */
        void *library = dlopen(object.path.data, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(library);
        const char ***list = dlsym(library, "assay_benchmarks");
        assert_non_null(list);
        assert_non_null(*list); /* struct assay_benchmark: size and abi, name, seed, device */
        assert_string_equal((*list)[1], "Mine");
        assert_string_equal((*list)[3], i == 2 ? "cuda" : "cpu");
        dlclose(library);
        assay_object_fini(&object);
    }
}

static void headers_that_were_changed_are_written_again(void **state)
{
    (void)state;
    struct assay_text folder = {0}, path = {0}, text = {0};
    assert_int_equal(assay_headers_folder(&folder, NULL), ASSAY_OK);
    assay_text_format(&path, "%s/assay/assay_kernel.h", folder.data);
    assert_int_equal(assay_folder_write_atomic(path.data, "x", 1, NULL), ASSAY_OK);
    assay_text_clear(&folder);
    assert_int_equal(assay_headers_folder(&folder, NULL), ASSAY_OK);
    assert_int_equal(assay_folder_read_file(path.data, 1 << 20, &text, NULL), ASSAY_OK);
    assert_non_null(strstr(text.data, "ASSAY_KERNEL_H"));
    assay_text_fini(&folder);
    assay_text_fini(&path);
    assay_text_fini(&text);
}

static void what_the_compiler_says_is_passed_on(void **state)
{
    (void)state;
    struct assay_object object;
    struct assay_error err;
    put_file("repo/x.c", "int answer(void) { return nonsense; }\n");
    assert_int_equal(compile("repo", "x.c", &none, &object, &err), ASSAY_ERR_FAILED);
    assert_string_equal(err.where, "x.c");
    assert_non_null(strstr(err.message, "cannot be compiled"));
    assert_non_null(strstr(object.output.data, "nonsense"));
    assert_non_null(strstr(object.command.data, "-O3"));
    assert_non_null(strstr(object.command.data, "x.c"));
    assert_false(object.cached);
    assert_int_equal(object.path.length, 0);
    assay_object_fini(&object);
    put_file("repo/x.c", "#warning take care\nint answer(void) { return 1; }\n");
    assert_int_equal(compile("repo", "x.c", &none, &object, &err), ASSAY_OK);
    assert_non_null(strstr(object.output.data, "take care"));
    assay_object_fini(&object);
}

/* Whatever way a source finds to another file of the user's, its lines stay unseen. */
static void files_outside_the_repository_are_not_shown(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "#include \"../secret\"\n",
        "#include \"../secret\"\n#error stop\n",
        "#include \"../secret\"\n#include \"missing.h\"\n",
        "#include \"link\"\n",
        "#include \"folder/secret\"\n",
        "#include \"/proc/self/cwd/../secret\"\n",
        "#pragma GCC system_header\n#include \"../secret\"\n",
        "#define Q(x) #x\nint tiger; int i =\n#include \"../secret\"\n;\n#error stop\n",
        "__asm__(\".include \\\"../secret\\\"\");\n",
        "__asm__(\".include \\\"link\\\"\");\n",
        "#line 1 \"../secret\"\nint x = nonsense;\n",
        "#line 1 \"link\"\nint x = nonsense;\n",
        "#include \"col\033[mour\"\n#include \"missing.h\"\n",
    };
    put_file("secret", "tiger password\n");
    assert_int_equal(mkdir(in_temporary("repo"), 0755), 0);
    assert_int_equal(symlink("../secret", in_temporary("repo/link")), 0);
    assert_int_equal(symlink("..", in_temporary("repo/folder")), 0);
    assert_int_equal(symlink("../secret", in_temporary("repo/col\033[mour")), 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct assay_object object;
        struct assay_error err;
        put_file("repo/x.c", texts[i]);
        enum assay_status status = compile("repo", "x.c", &none, &object, &err);
        if (status != ASSAY_ERR_INVALID || object.output.length || strstr(err.message, "tiger") ||
            !strstr(err.message, "outside the repository"))
            fail_msg("%s gives %s: %s", texts[i], err.message,
                     object.output.data ? object.output.data : "");
        assay_object_fini(&object);
    }
    /* A name of two lines: a message about it is not known as one. */
    struct assay_object odd;
    struct assay_error odd_err;
    assert_int_equal(symlink("../secret", in_temporary("repo/two\nlines")), 0);
    put_file("repo/x.c", "#line 1 \"two\\nlines\"\nint x = nonsense;\n");
    assert_int_equal(compile("repo", "x.c", &none, &odd, &odd_err), ASSAY_ERR_FAILED);
    assert_null(strstr(odd.output.data, "tiger"));
    assert_non_null(strstr(odd.output.data, "newlines"));
    assay_object_fini(&odd);
    assert_int_equal(unlink(in_temporary("repo/two\nlines")), 0);
    /* What the user has named is the user's to show. */
    char variable[600];
    snprintf(variable, sizeof variable, "cc -I%s", in_temporary("mine"));
    put_file("mine/mine.h", "int tiger = nonsense;\n");
    put_file("repo/x.c", "#include <mine.h>\n");
    struct assay_object object;
    struct assay_error err;
    setenv("CC", variable, 1);
    assert_int_equal(compile("repo", "x.c", &none, &object, &err), ASSAY_ERR_FAILED);
    assert_non_null(strstr(object.output.data, "tiger"));
    unsetenv("CC");
    assay_object_fini(&object);
}

/* gcc maps such a file as it is: a precompiled header is a program of its own. */
static void precompiled_headers_are_not_used(void **state)
{
    (void)state;
    char command[1200];
    put_file("repo/y.h", "#define ANSWER 2\n");
    snprintf(command, sizeof command,
             "cd '%s' && cc -std=gnu17 -O3 -march=native -fPIC -fopenmp "
             "-x c-header y.h -o y.h.gch",
             in_temporary("repo"));
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
    put_file("repo/y.h", "#define ANSWER 1\n");
    put_file("repo/x.c", "#include \"y.h\"\nint answer(void) { return ANSWER; }\n");
    assert_int_equal(answer(&none, NULL), 1);
}

static void flags_and_files_that_a_repository_may_not_name(void **state)
{
    (void)state;
    static const char *const wrapper[] = {"-wrapper", "./run.sh", NULL};
    static const char *const outside[] = {"../secret.c", NULL}, *const up[] = {"..", NULL};
    const struct assay_compile_flags flags[] = {
        {.c = wrapper}, {.link = wrapper}, {.sources = outside}, {.include = up}};
    put_file("repo/x.c", "int answer(void) { return 1; }\n");
    put_file("secret.c", "tiger\n");
    put_script("repo/run.sh", "#!/bin/sh\ntouch ran\nexec \"$@\"\n");
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        struct assay_object object;
        struct assay_error err;
        assert_int_equal(compile("repo", "x.c", &flags[i], &object, &err), ASSAY_ERR_INVALID);
        assert_int_equal(object.output.length, 0);
        assay_object_fini(&object);
    }
    assert_int_not_equal(access(in_temporary("repo/ran"), F_OK), 0);
}

static void an_undefined_symbol_is_found_now(void **state)
{
    (void)state;
    struct assay_object object;
    struct assay_error err;
    put_file("repo/x.c", "int somewhere(void);\nint answer(void) { return somewhere(); }\n");
    assert_int_equal(compile("repo", "x.c", &none, &object, &err), ASSAY_ERR_FAILED);
    assert_non_null(strstr(err.message, "no file defines somewhere"));
    assert_non_null(strstr(err.message, "sources"));
    assert_non_null(strstr(object.output.data, "somewhere"));
    assay_object_fini(&object);
}

static void a_compiler_that_is_not_here_is_no_failure(void **state)
{
    (void)state;
    struct assay_object object;
    struct assay_error err;
    put_file("repo/x.c", "int answer(void) { return 1; }\n");
    put_file("repo/y.cpp", "int answer;\n");
    setenv("PATH", in_temporary("repo"), 1);
    assert_int_equal(compile("repo", "x.c", &none, &object, &err), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "no C compiler was found (cc)"));
    assay_object_fini(&object);
    assert_int_equal(compile("repo", "y.cpp", &none, &object, &err), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "CXX"));
    assay_object_fini(&object);
    setenv("CC", "no-such-cc -O2", 1);
    assert_int_equal(compile("repo", "x.c", &none, &object, &err), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "CC is \"no-such-cc\""));
    assay_object_fini(&object);
    unsetenv("CC");
    put_file("repo/z.cu", "__global__ void k() {}\n");
    setenv("NVCC", "/no/nvcc", 1);
    assert_int_equal(compile("repo", "z.cu", &none, &object, &err), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "NVCC is"));
    assay_object_fini(&object);
    unsetenv("NVCC");
}

static void paths_may_be_called_anything(void **state)
{
    (void)state;
    static const char *const folders[] = {"in clude", NULL};
    const struct assay_compile_flags flags = {.include = folders};
    struct assay_object object;
    struct assay_error err;
    put_file("a repo's \"name\"/in clude/v.h", "#define V 1\n");
    put_file("a repo's \"name\"/be nch$(x).c", "#include <v.h>\nint answer(void) { return V; }\n");
    for (int i = 0; i < 2; i++) {
        if (compile("a repo's \"name\"", "be nch$(x).c", &flags, &object, &err) != ASSAY_OK)
            fail_msg("%s: %s\n%s", err.where, err.message, object.output.data);
        assert_int_equal(object.cached, i);
        assay_object_fini(&object);
    }
    put_file("a repo's \"name\"/in clude/v.h",
             "#define V 2\n"); /* was found in the list, blank and all */
    assert_int_equal(compile("a repo's \"name\"", "be nch$(x).c", &flags, &object, &err), ASSAY_OK);
    assert_false(object.cached);
    assay_object_fini(&object);
}

/* Runs a shell's command on the cache folder. */
static void harm(const char *command)
{
    char line[400];
    snprintf(line, sizeof line, "cd '%s/cache/assay/objects' && %s", temporary, command);
    assert_int_equal(system(line), 0); // NOLINT(cert-env33-c)
}

static void a_damaged_cache_is_made_again(void **state)
{
    (void)state;
    static const char *const damages[] = {
        "for f in *.so; do printf x >> $f; done",
        "for f in *.so; do : > $f; done",
        "rm *.so",
        "rm *.stamp",
        "for f in *.stamp; do : > $f; done",
        "for f in *.files; do : > $f; done",
        "for f in *.files; do printf '0 1 2' > $f; done",
        "rm *.o",
        "for f in *.files; do head -c 100 $f > y; mv y $f; done",
        "for f in *.stamp; do tr 0-9 1-90 < $f > y; mv y $f; done",
    };
    put_file("repo/x.c", "int answer(void) { return 9; }\n");
    assert_int_equal(answer(&none, NULL), 9);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        bool cached = false;
        harm(damages[i]);
        assert_int_equal(answer(&none, &cached), 9);
        if (cached)
            fail_msg("not noticed: %s", damages[i]);
        assert_int_equal(answer(&none, &cached), 9);
        assert_true(cached);
    }
    harm("test \"$(ls | grep -c tmp)\" = 0");
}

static void a_cache_that_cannot_be_written_is_told(void **state)
{
    (void)state;
    struct assay_object object;
    struct assay_error err;
    put_file("repo/x.c", "int answer(void) { return 9; }\n");
    put_file("nofolder", "");
    setenv("XDG_CACHE_HOME", in_temporary("nofolder"), 1);
    assert_int_equal(compile("repo", "x.c", &none, &object, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.message, "cannot make this folder"));
    assay_object_fini(&object);
}

/* Two at once, from nothing: both have it. */
static void two_at_once_both_succeed(void **state)
{
    (void)state;
    put_file("repo/x.c", "int answer(void) { return 9; }\n");
    pid_t children[4];
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct assay_object object;
            struct assay_error err;
            _exit(compile("repo", "x.c", &none, &object, &err) == ASSAY_OK &&
                          access(object.path.data, R_OK) == 0
                      ? 0
                      : 1);
        }
    }
    for (int i = 0; i < 4; i++) {
        int how;
        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        assert_int_equal(how, 0);
    }
    bool cached = false;
    assert_int_equal(answer(&none, &cached), 9);
    assert_true(cached);
}

/* A compiler that hangs; Ctrl-C; nothing half-made stays, and no cc1. */
static void ctrl_c_leaves_nothing_behind(void **state)
{
    (void)state;
    char script[400];
    put_file("repo/x.c", "int answer(void) { return 9; }\n");
    snprintf(script, sizeof script, "#!/bin/sh\ntouch '%s'\nsleep 60\n", in_temporary("started"));
    put_script("slow", script);
    pid_t child = fork();
    if (child == 0) {
        struct assay_object object;
        struct assay_error err;
        setenv("CC", in_temporary("slow"), 1);
        _exit(compile("repo", "x.c", &none, &object, &err) == ASSAY_ERR_INTERRUPTED ? 0 : 1);
    }
    for (int i = 0; i < 2000 && access(in_temporary("started"), F_OK) != 0; i++)
        usleep(10000);
    kill(child, SIGINT);
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    assert_int_equal(count_entries("cache/assay/objects"), 0);
}

/* As if everything that is kept had last been used 100 days ago. */
static void age_cache(void)
{
    const char *folder = in_temporary("cache/assay/objects");
    struct timespec then[2] = {{.tv_sec = time(NULL) - (time_t)100 * 24 * 3600}};
    then[1] = then[0];
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *entry; (entry = readdir(entries));)
        if (entry->d_name[0] != '.')
            assert_int_equal(utimensat(dirfd(entries), entry->d_name, then, 0), 0);
    closedir(entries);
}

static void what_is_not_used_goes_by_itself(void **state)
{
    (void)state;
    enum { KEPT = 6 }; /* a list, an object and its stamp, for compiling and for linking */
    bool cached = false;
    put_file("repo/x.c", "int answer(void) { return 1; }\n");
    answer(&none, NULL);
    assert_int_equal(count_entries("cache/assay/objects"), KEPT);
    age_cache();
    answer(&none, &cached); /* is a use */
    assert_true(cached);
    put_file("repo/x.c", "int answer(void) { return 2; }\n");
    answer(&none, NULL);
    assert_int_equal(count_entries("cache/assay/objects"), 2 * KEPT);
    age_cache();
    put_file("repo/x.c", "int answer(void) { return 3; }\n");
    assert_int_equal(answer(&none, NULL), 3);
    assert_int_equal(count_entries("cache/assay/objects"), KEPT);
}

/* Whichever allocation fails: an error or a new attempt, and nothing is lost. */
static void without_memory_there_is_an_error(void **state)
{
    (void)state;
    static const char *const sources[] = {"y.c", NULL}, *const folders[] = {"src", NULL};
    const struct assay_compile_flags flags = {.sources = sources, .include = folders};
    struct assay_repository repository = {0};
    struct assay_source source = {0};
    put_file("repo/x.c", "int x;\n");
    put_file("repo/y.c", "int y;\n");
    assay_text_add(&repository.root, in_temporary("repo"));
    assert_int_equal(assay_source_at(repository.root.data, "x.c", &source, NULL), ASSAY_OK);
    for (int64_t nth = 1; nth < 1000; nth += 1 + nth / 4) {
        struct assay_object object;
        struct assay_error err = {0};
        assay_alloc_fail_after(nth);
        enum assay_status status = assay_compile(&repository, &source, &flags, NULL, &object, &err);
        assay_alloc_fail_after(0);
        assert_true(status == ASSAY_OK || err.message[0]);
        assert_true(status != ASSAY_OK || access(object.path.data, R_OK) == 0);
        assay_object_fini(&object);
    }
    assay_source_fini(&source);
    assay_repository_fini(&repository);
}

/* With a toolkit: a kernel for the GPU compiles, also where there is no GPU. */
static void nvcc_compiles_cuda(void **state)
{
    (void)state;
    struct assay_arguments words = {0};
    struct assay_object object;
    struct assay_error err;
    bool here = assay_compiler_find(ASSAY_LANGUAGE_CUDA, "x.cu", &words, NULL) == ASSAY_OK;
    assay_arguments_fini(&words);
    if (!here)
        skip();
    put_file("a repo/part.c", "int part(void) { return 4; }\n");
    put_file("a repo/v.cuh", "#define V 1\n");
    put_file("a repo/x.cu",
             "#include \"v.cuh\"\n__global__ void k(float *x) { x[threadIdx.x] = V; }\n"
             "extern \"C\" int part(void);\n"
             "extern \"C\" int answer(void) { k<<<1, 1>>>(nullptr); return part(); }\n");
    static const char *const sources[] = {"part.c", NULL};
    const struct assay_compile_flags flags = {.sources = sources};
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            put_file("a repo/v.cuh", "#define V 2\n");
        if (compile("a repo", "x.cu", &flags, &object, &err) != ASSAY_OK)
            fail_msg("%s: %s\n%s", err.where, err.message, object.output.data);
        assert_int_equal(object.cached, i == 1);
        assay_object_fini(&object);
    }
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, temporary_make, temporary_remove)

int main(void)
{
    static const char *const variables[] = {"CC", "CXX", "NVCC", "CPATH"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_file_is_compiled_once),
        WITH_FOLDER(finding_it_again_takes_no_time),
        WITH_FOLDER(a_changed_header_compiles_again),
        WITH_FOLDER(a_change_meanwhile_is_not_missed),
        WITH_FOLDER(changed_flags_compile_again),
        WITH_FOLDER(another_compiler_compiles_again),
        WITH_FOLDER(more_sources_in_any_language_join_in),
        WITH_FOLDER(a_source_that_is_not_there_is_told),
        WITH_FOLDER(a_benchmark_includes_assays_headers_in_c_and_cxx),
        WITH_FOLDER(headers_that_were_changed_are_written_again),
        WITH_FOLDER(what_the_compiler_says_is_passed_on),
        WITH_FOLDER(files_outside_the_repository_are_not_shown),
        WITH_FOLDER(precompiled_headers_are_not_used),
        WITH_FOLDER(flags_and_files_that_a_repository_may_not_name),
        WITH_FOLDER(an_undefined_symbol_is_found_now),
        WITH_FOLDER(a_compiler_that_is_not_here_is_no_failure),
        WITH_FOLDER(paths_may_be_called_anything),
        WITH_FOLDER(a_damaged_cache_is_made_again),
        WITH_FOLDER(a_cache_that_cannot_be_written_is_told),
        WITH_FOLDER(two_at_once_both_succeed),
        WITH_FOLDER(ctrl_c_leaves_nothing_behind),
        WITH_FOLDER(what_is_not_used_goes_by_itself),
        WITH_FOLDER(without_memory_there_is_an_error),
        WITH_FOLDER(nvcc_compiles_cuda),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
