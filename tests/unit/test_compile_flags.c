/* test_compile_flags.c: flags that choose how code is compiled pass; what runs a program, reads or
 * writes a file, or is not known, does not. */
#include "repo/compile_flags.h"

#include "repo/inside.h"
#include "temporary.h"

enum { MOST = 16 };

/* Splits a line into words at blanks, and checks them as one list. */
static enum assay_status check(enum assay_flag_list list, const char *line, int64_t *at,
                               struct assay_error *err)
{
    char copy[400];
    const char *words[MOST] = {0};
    int n = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *save = NULL, *word = strtok_r(copy, " ", &save); word && n < MOST - 1;
         word = strtok_r(NULL, " ", &save))
        words[n++] = word;
    *err = (struct assay_error){0};
    return assay_compile_flags_check_list(list, words, in_temporary("repo"), at, err);
}

static void all_pass(enum assay_flag_list list, const char *const *lines)
{
    for (; *lines; lines++) {
        struct assay_error err;
        int64_t at = -1;
        if (check(list, *lines, &at, &err) != ASSAY_OK)
            fail_msg("\"%s\" is refused: %s", *lines, err.message);
    }
}

static void all_are_refused(enum assay_flag_list list, const char *const *lines)
{
    for (; *lines; lines++) {
        struct assay_error err;
        int64_t at = -1;
        if (check(list, *lines, &at, &err) != ASSAY_ERR_INVALID)
            fail_msg("\"%s\" passes", *lines);
        assert_string_equal(err.where, "assay.yml");
        assert_non_null(strstr(err.message, "is refused"));
        assert_true(at >= 0 && at < MOST);
    }
}

static int make_repository(void **state)
{
    int made = temporary_make(state);
    put_file("repo/src/inc/x.h", "");
    put_file("outside/y.h", "");
    symlink("../outside", in_temporary("repo/leaves"));
    symlink("src", in_temporary("repo/stays"));
    symlink("/proc/self/cwd", in_temporary("repo/process"));
    symlink("nowhere", in_temporary("repo/dangles"));
    return made;
}

static void flags_of_gcc_and_clang_pass(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "-O3 -O2 -O1 -O0 -O -Os -Og -Oz -Ofast",
        "-std=gnu17 -std=c++20 --std=c++2b -ansi",
        "-g -g3 -ggdb -gdwarf-5 -gz=zlib -gno-column-info",
        "-DX -DX=1 -D X=1 -UX -U X",
        "-DNAME=\"text/with/slashes;`$()\"",
        "-Isrc -I src/inc -I. -Istays -isystem src -iquote src -idirafter src",
        "-Igenerated/later",
        "-Wall -Wextra -Wno-unused -Werror=vla -Wframe-larger-than=2048 -Weffc++ -Wpedantic",
        "-w -pedantic -pedantic-errors -pipe -pthread",
        "-fPIC -fopenmp -fopenmp=libomp -fopenmp-simd -ffast-math -fno-math-errno",
        "-funroll-loops -ftree-vectorize -fno-tree-vectorize -finline-limit=600",
        "-ffp-contract=fast -fvisibility=hidden -fsanitize=address,undefined -fno-sanitize=vptr",
        "-fvect-cost-model=unlimited -falign-functions=32 -fstack-protector-strong",
        "-fno-exceptions -fno-rtti -fno-plt -flto -flto=auto -fveclib=libmvec",
        "-march=native -mtune=znver4 -mcpu=neoverse-v1 -mavx2 -mfma -mavx512bf16 -mamx-int8",
        "-mno-avx512f -mprefer-vector-width=512 -msse4.2 -mcmodel=large -mavx10.1-512",
        "--param max-unroll-times=4 --param=max-unroll-times=4",
        "-static-libgcc -static-libstdc++ -shared -stdlib=libc++",
        NULL,
    };
    all_pass(ASSAY_FLAGS_C, lines);
    all_pass(ASSAY_FLAGS_CXX, lines);
}

static void everything_else_of_gcc_and_clang_is_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        /* loads or runs something */
        "-fplugin=./x.so",
        "-fplugin-arg-x-y=z",
        "-fpass-plugin=x.so",
        "-wrapper ./run.sh",
        "-B.",
        "-B .",
        "-specs=x.specs",
        "--specs=x",
        "-specs x",
        "-fuse-ld=./ld",
        "-fuse-ld=lld",
        "--ld-path=./ld",
        "-Xclang -load -Xclang ./x.so",
        "-load x.so",
        "-mllvm -load=x.so",
        "--config x.cfg",
        "--config=x",
        "-gcc-toolchain .",
        "--gcc-toolchain=.",
        "--sysroot=.",
        "-target x",
        "--target=x",
        "--prefix=.",
        "-ccc-gcc-name x",
        "-no-integrated-cpp",
        "-fmodules-ts",
        "-fmodules",
        "-fmodule-mapper=|./run.sh",
        "-fmodule-mapper=x",
        "-fcxx-modules",
        "-foffload=x",
        "-foffload-options=-wrapper",
        "-fcompare-debug=-wrapper",
        "-frepo",
        "-time=x",
        "-fexec-charset=x/y",
        "-iplugindir=.",
        "-fgnat-encodings=x",
        /* hands words on */
        "-Wl,-Map=x",
        "-Wl,--as-needed",
        "-Wa,-o,x",
        "-Wp,-MD,x",
        "-Wl",
        "-Wa",
        "-Wp",
        "-Xlinker -Map=x",
        "-Xassembler -o",
        "-Xpreprocessor -MD",
        "-Xarch_host -fplugin=x",
        "-Xopenmp-target -x",
        "-Xcuda-ptxas x",
        "-mmlir x",
        /* reads a file */
        "@flags",
        "-D @flags",
        "-I @flags",
        "-include x.h",
        "-include-pch x",
        "-imacros x.h",
        "-T x.ld",
        "-Tx.ld",
        "-x c",
        "-xc++",
        "-fprofile-use=x",
        "-fprofile-use",
        "-fprofile-dir=.",
        "-fauto-profile=x",
        "-fauto-profile",
        "-fbranch-probabilities",
        "-fsanitize-ignorelist=x",
        "-fsanitize-blacklist=x",
        "-fxray-always-instrument=x",
        "-fmodule-map-file=x",
        "-fprebuilt-module-path=x",
        "-ivfsoverlay x",
        "-iwithprefix x",
        "-iprefix x",
        "-isysroot x",
        "-imultilib x",
        "-I- ",
        "-I=usr",
        "-I$SYSROOT/usr",
        "-fpreprocessed",
        "-fpch-preprocess",
        "-fthinlto-index=x",
        "-fembed-offload-object=x",
        "-fembed-dir=/etc",
        "--embed-dir=/etc",
        "x.c",
        "src/x.c",
        "x.o",
        "-",
        "--",
        /* writes a file */
        "-o x",
        "-ox",
        "-MD",
        "-MMD",
        "-MF x",
        "-MFx",
        "-M",
        "-MJ x",
        "-save-temps",
        "-save-temps=obj",
        "--save-temps",
        "-fdump-tree-all",
        "-fdump-rtl-all",
        "-fdump-ipa-all",
        "-fdump-final-insns=x",
        "-fdump-ada-spec",
        "-fdumpbase",
        "-dumpdir .",
        "-dumpbase x",
        "-da",
        "-dx",
        "-fprofile-generate",
        "-fprofile-arcs",
        "-fprofile-generate=/tmp",
        "-ftest-coverage",
        "--coverage",
        "-fcallgraph-info",
        "-fcallgraph-info=su",
        "-fstack-usage",
        "-fopt-info=x",
        "-fopt-info-vec=x",
        "-fsave-optimization-record",
        "-foptimization-record-file=x",
        "-fdiagnostics-format=sarif-file",
        "-fdiagnostics-add-output=sarif:file=x",
        "-fproc-stat-report=x",
        "-ftime-trace",
        "-ftime-trace=x",
        "-fcrash-diagnostics-dir=x",
        "-gen-reproducer",
        "-gsplit-dwarf",
        "-fmodules-cache-path=x",
        "-serialize-diagnostics x",
        "--serialize-diagnostics x",
        "-module-dependency-dir x",
        "-fdepfile-entry=x",
        "-pg",
        "-aux-info x",
        "-E",
        "-S",
        "-c",
        "-emit-llvm",
        "-fsyntax-only",
        "-foutput-class-dir=x",
        "-freport-bug",
        "-Q",
        "-v",
        "-###",
        "-ffile-prefix-map=a=b",
        "-fdebug-prefix-map=a=b",
        "-fdebug-compilation-dir=/x",
        /* hides what a message is about */
        "-fno-show-source-location",
        "-fno-show-column",
        "-fno-diagnostics-show-caret",
        "-fdiagnostics-color=always",
        "-fmessage-length=20",
        "-fdiagnostics-format=json",
        /* leads out, or has no value */
        "-I/etc",
        "-I..",
        "-I ..",
        "-Isrc/../..",
        "-Ileaves",
        "-I leaves",
        "-Ileaves/x",
        "-Iprocess",
        "-Iprocess/src",
        "-Idangles",
        "-I/proc/self/cwd",
        "-isystem /root",
        "-isystem/root",
        "-iquote..",
        "-idirafter leaves",
        "-I",
        "-D",
        "-O2 -I",
        "--param",
        "-isystem",
        "-D -fplugin=x",
        "-I -fplugin=x",
        "-march=",
        "-march=../x",
        "-std=/x",
        "-fsanitize=x/y",
        "-mdevices-csv-loc=x",
        "-flto=/x",
        "--param=x/y",
        "-f",
        "-m",
        "-W",
        "-fno-",
        "-unknown",
        "--unknown",
        "-j2",
        NULL,
    };
    all_are_refused(ASSAY_FLAGS_C, lines);
    all_are_refused(ASSAY_FLAGS_CXX, lines);
}

static void flags_of_nvcc_pass(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "-arch=sm_90a -arch sm_90 --gpu-architecture=sm_80 -code=sm_80",
        "-gencode arch=compute_90,code=[sm_90,compute_90]",
        "-gencode=arch=compute_80,code=sm_80 --generate-code arch=compute_80,code=sm_80",
        "--use_fast_math -use_fast_math -lineinfo -G -g -O3 -w",
        "--expt-relaxed-constexpr --expt-extended-lambda --extended-lambda",
        "--maxrregcount=64 -maxrregcount 64 -rdc=true --relocatable-device-code=true -dlto",
        "-Xptxas -v -Xptxas=-O3 -Xptxas -v,-dlcm=ca,--warn-on-spills --ptxas-options=-v",
        "-Xcompiler -fPIC -Xcompiler=-Wall,-fopenmp --compiler-options -O2 -Xcompiler -DX=1",
        "-Xcudafe --diag_suppress=177 -Xfatbin -compress-all -diag-suppress 177,550",
        "-DX=1 -D X -Isrc -I src -isystem src -std=c++20 -ftz=true -prec-div=false -fmad false",
        "-default-stream per-thread -t 4 --threads 0 -Wno-deprecated-gpu-targets",
        NULL,
    };
    all_pass(ASSAY_FLAGS_CUDA, lines);
}

static void everything_else_of_nvcc_is_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "-ccbin ./cc",
        "-ccbin=./cc",
        "--compiler-bindir ./cc",
        "-optf x",
        "--options-file x",
        "@x",
        "-run",
        "--run",
        "-run-args x",
        "-dryrun",
        "--dryrun",
        "-keep",
        "--keep",
        "-keep-dir x",
        "--keep-dir=x",
        "-odir x",
        "-objtemp",
        "--save-temps",
        "-Xlinker -Map=x",
        "-Xarchive x",
        "-Xnvlink x",
        "-time x",
        "--time=x",
        "-fdevice-time-trace x",
        "-MD",
        "-forward-unknown-to-host-compiler",
        "--forward-unknown-opts",
        "-fplugin=x",
        "-Xcompiler -fplugin=x",
        "-Xcompiler -fPIC,-wrapper,x",
        "-Xcompiler -Wl,-Map=x",
        "-Xcompiler=-B.",
        "-Xcompiler -I..",
        "-Xcompiler @x",
        "-Xcompiler -fPIC,",
        "-Xcompiler",
        "-Xcompiler -o,x",
        "-Xcompiler '-fPIC'",
        "-Xptxas -o,x",
        "-Xptxas --options-file,x",
        "-Xptxas=-v,--output-file=x",
        "-Xcudafe --x",
        "-include x",
        "-ldir x",
        "-dr /x",
        "--target-directory x",
        "-idp x",
        "-ddp x",
        "-cubin",
        "-ptx",
        "-E",
        "-o x",
        "-x cu",
        "-DX=$(id)",
        "-DX=`id`",
        "-D X=$HOME",
        "-DX=a;id",
        "-DX=\"a\"",
        "-DX='a'",
        "-DX=a|b",
        "-DX=a&b",
        "-DX=a>b",
        "-DX=a\\b",
        "-I$(id)",
        "-I..",
        "-Ileaves",
        "-I/etc",
        "-arch=/x",
        "-arch",
        "-gencode",
        "-L.. ",
        "-prof-gen x",
        "--nvlink-options=x",
        "-clean",
        "-gen-opt-lto --lto-dir=x",
        "-use-local-env",
        "--profile=x",
        "-Wall",
        "-fopenmp",
        "x.cu",
        NULL,
    };
    all_are_refused(ASSAY_FLAGS_CUDA, lines);
}

static void flags_of_the_linker(void **state)
{
    (void)state;
    static const char *const good[] = {
        "-lm -lopenblas -l cudart -lstdc++ -l:libx.so.1 -Lsrc -L src -Lstays",
        "src/libx.a src/x.o src/libx.so src/libx.so.1.2 -pthread -fopenmp -shared -s -rdynamic",
        "-Wl,--as-needed -Wl,-z,now -Wl,--whole-archive src/libx.a -Wl,--no-whole-archive",
        "-Wl,--exclude-libs,ALL -Wl,--exclude-libs=ALL -Xlinker --as-needed -z now -flto",
        "-cudart=static -cudart shared -arch=sm_90",
        NULL,
    };
    static const char *const bad[] = {
        "-Wl,-Map=x",
        "-Wl,-Map,x",
        "-Wl,--as-needed,-Map=x",
        "-Wl,-rpath,/x",
        "-Wl,-T,x",
        "-Wl,@x",
        "-Wl,-plugin,x",
        "-Wl,--version-script=x",
        "-Wl,-o,x",
        "-Wl,-z",
        "-Wl,",
        "-Wl, -Bstatic",
        "-Wl,,",
        "-Bstatic",
        "-B.",
        "-rpath x",
        "-R x",
        "-T x",
        "-Tx",
        "-dT x",
        "-Xlinker -Map=x",
        "-Xlinker",
        "-Map=x",
        "--plugin x",
        "-plugin x",
        "-fuse-ld=gold",
        "-o x",
        "-L/etc",
        "-L..",
        "-Lleaves",
        "-L=/x",
        "-l/etc/x",
        "-l../x",
        "-l:../x",
        "-l -x",
        "-l",
        "-L",
        "../x.a",
        "/usr/lib/x.a",
        "leaves/x.a",
        "x.c",
        "x",
        "x.ld",
        "@x",
        "-fplugin=x",
        "-specs=x",
        "src/lib`id`.a",
        "-L$(id)",
        "-static-pie=x",
        "-u x",
        "-Wa,x",
        "-wrapper x",
        NULL,
    };
    all_pass(ASSAY_FLAGS_LINK, good);
    all_are_refused(ASSAY_FLAGS_LINK, bad);
}

static void words_with_control_characters_are_refused(void **state)
{
    (void)state;
    static const char *const words[] = {"-DX=a\nb", NULL}, *const next[] = {"-D", "a\033b", NULL};
    struct assay_error err = {0};
    int64_t at;
    assert_int_equal(assay_compile_flags_check_list(ASSAY_FLAGS_C, words, NULL, &at, &err),
                     ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "-DX=a\\nb"));
    assert_int_equal(assay_compile_flags_check_list(ASSAY_FLAGS_C, next, NULL, &at, &err),
                     ASSAY_ERR_INVALID);
}

static void folders_to_include_stay_inside(void **state)
{
    (void)state;
    static const char *const good[] = {"src", "src/inc", ".", "stays", "later", NULL};
    static const char *const bad[] = {"..",        "/etc",    "leaves",  "leaves/x",
                                      "src/../..", "process", "dangles", NULL};
    all_pass(ASSAY_FLAGS_INCLUDE, good);
    all_are_refused(ASSAY_FLAGS_INCLUDE, bad);
}

static void the_refusal_says_why_and_what_to_do(void **state)
{
    (void)state;
    struct assay_error err;
    int64_t at = -1;
    assert_int_equal(check(ASSAY_FLAGS_CXX, "-O3 -I src -fplugin=./x.so", &at, &err),
                     ASSAY_ERR_INVALID);
    assert_int_equal(at, 3);
    assert_non_null(strstr(err.message, "cxxflags: \"-fplugin=./x.so\" is refused"));
    assert_non_null(strstr(err.message, "plug-in"));
    assert_non_null(strstr(err.message, "CXX=\"c++ -fplugin=./x.so\""));
    check(ASSAY_FLAGS_C, "-I..", &at, &err);
    assert_non_null(strstr(err.message, "leads out of the repository"));
    static const char *const words[] = {"-B.", NULL};
    const struct assay_compile_flags flags = {.link = words};
    err = (struct assay_error){0};
    assert_int_equal(assay_compile_flags_check(&flags, in_temporary("repo"), &err),
                     ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "ldflags"));
}

#define WITH_REPOSITORY(test)                                                                      \
    cmocka_unit_test_setup_teardown(test, make_repository, temporary_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_REPOSITORY(flags_of_gcc_and_clang_pass),
        WITH_REPOSITORY(everything_else_of_gcc_and_clang_is_refused),
        WITH_REPOSITORY(flags_of_nvcc_pass),
        WITH_REPOSITORY(everything_else_of_nvcc_is_refused),
        WITH_REPOSITORY(flags_of_the_linker),
        WITH_REPOSITORY(words_with_control_characters_are_refused),
        WITH_REPOSITORY(folders_to_include_stay_inside),
        WITH_REPOSITORY(the_refusal_says_why_and_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
