#include "repo/compile_flags.h"

#include "base/text.h"
#include "repo/inside.h"

#include <stdio.h>
#include <string.h>

/* ---- the tables ------------------------------------------------------------------------------ */

enum {
    C = 1 << 0, /* C and C++ */
    CUDA = 1 << 1,
    LINK = 1 << 2,
    PTXAS = 1 << 3, /* words for nvcc's tools, and for the linker */
    CUDAFE = 1 << 4,
    FATBIN = 1 << 5,
    LINKER = 1 << 6,
};

/* What may follow the flag. Plain text is letters, digits and `_.+,:=[]-`: no path. */
enum kind {
    WHOLE,   /* nothing */
    NAMED,   /* a name of small letters, digits, + and -; then perhaps = and plain text */
    JOINED,  /* plain text */
    PLAIN,   /* plain text: joined with =, or the next word */
    TEXT,    /* anything: joined, or the next word */
    FOLDER,  /* a folder of the repository: joined, or the next word */
    LIBRARY, /* the name of a library: joined, or the next word */
    /* Words with commas between them, joined or the next word, which another table knows. */
    OF_C,
    OF_PTXAS,
    OF_CUDAFE,
    OF_FATBIN,
    OF_LINKER,
};

struct rule {
    unsigned lists;
    enum kind kind;
    const char *flag;
};

/* clang-format off */
static const struct rule rules[] = {
    /* gcc and clang: macros, folders, language, debugging */
    {C | CUDA | LINK, TEXT, "-D"}, {C | CUDA | LINK, TEXT, "-U"},
    {C | CUDA | LINK, FOLDER, "-I"}, {C | CUDA, FOLDER, "-isystem"},
    {C, FOLDER, "-iquote"}, {C, FOLDER, "-idirafter"},
    {C | CUDA | LINK, JOINED, "-std="}, {C | CUDA | LINK, JOINED, "--std="},
    {C | LINK, WHOLE, "-ansi"}, {C | CUDA | LINK, WHOLE, "-w"}, {C, WHOLE, "-pedantic"},
    {C, WHOLE, "-pedantic-errors"}, {C | LINK, WHOLE, "-pipe"}, {C | LINK, WHOLE, "-pthread"},
    {C | LINK, JOINED, "-stdlib="}, {C | LINK, NAMED, "-W"},
    {C | CUDA | LINK, WHOLE, "-g"}, {C | LINK, WHOLE, "-g0"}, {C | LINK, WHOLE, "-g1"},
    {C | LINK, WHOLE, "-g2"}, {C | LINK, WHOLE, "-g3"}, {C | LINK, WHOLE, "-ggdb"},
    {C | LINK, WHOLE, "-ggdb1"}, {C | LINK, WHOLE, "-ggdb2"}, {C | LINK, WHOLE, "-ggdb3"},
    {C | LINK, JOINED, "-gdwarf-"}, {C | LINK, WHOLE, "-gline-tables-only"},
    {C | LINK, WHOLE, "-gz"}, {C | LINK, JOINED, "-gz="}, {C | LINK, NAMED, "-gno-"},
    {C | LINK, PLAIN, "--param"},

    /* Optimisation */
    {C | CUDA | LINK, WHOLE, "-O"}, {C | CUDA | LINK | PTXAS, WHOLE, "-O0"},
    {C | CUDA | LINK | PTXAS | LINKER, WHOLE, "-O1"}, {C | CUDA | LINK | PTXAS | LINKER, WHOLE, "-O2"},
    {C | CUDA | LINK | PTXAS, WHOLE, "-O3"}, {C | LINK, WHOLE, "-O4"}, {C | LINK, WHOLE, "-Os"},
    {C | LINK, WHOLE, "-Og"}, {C | LINK, WHOLE, "-Oz"}, {C | LINK, WHOLE, "-Ofast"},

    /* -f: whole families that hold nothing but optimisations */
    {C | LINK, NAMED, "-fno-"}, {C | LINK, NAMED, "-ftree-"}, {C | LINK, NAMED, "-floop-"},
    {C | LINK, NAMED, "-fipa-"}, {C | LINK, NAMED, "-fgcse-"}, {C | LINK, NAMED, "-falign-"},
    {C | LINK, NAMED, "-fssa-"}, {C | LINK, NAMED, "-fira-"}, {C | LINK, NAMED, "-fsched-"},
    {C | LINK, NAMED, "-freorder-"}, {C | LINK, NAMED, "-fselective-"},
    {C | LINK, NAMED, "-fdevirtualize-"}, {C | LINK, NAMED, "-finline-"},
    {C | LINK, NAMED, "-funroll-"}, {C | LINK, NAMED, "-fstack-protector-"},

    /* -f with a value */
    {C | LINK, JOINED, "-fabi-version="}, {C | LINK, JOINED, "-fbracket-depth="},
    {C | LINK, JOINED, "-fcf-protection="}, {C | LINK, JOINED, "-fcomplex-arithmetic="},
    {C | LINK, JOINED, "-fconstexpr-depth="}, {C | LINK, JOINED, "-fconstexpr-loop-limit="},
    {C | LINK, JOINED, "-fconstexpr-ops-limit="}, {C | LINK, JOINED, "-fconstexpr-steps="},
    {C | LINK, JOINED, "-fdenormal-fp-math="}, {C | LINK, JOINED, "-ferror-limit="},
    {C | LINK, JOINED, "-fexcess-precision="},
    {C | LINK, JOINED, "-ffp-contract="}, {C | LINK, JOINED, "-ffp-eval-method="},
    {C | LINK, JOINED, "-ffp-exception-behavior="}, {C | LINK, JOINED, "-ffp-model="},
    {C | LINK, JOINED, "-flto="}, {C | LINK, JOINED, "-flto-partition="},
    {C | LINK, JOINED, "-fmax-errors="}, {C | LINK, JOINED, "-fopenmp="}, {C | LINK, JOINED, "-fopenmp-version="},
    {C | LINK, JOINED, "-fpack-struct="}, {C | LINK, JOINED, "-fpatchable-function-entry="},
    {C | LINK, JOINED, "-fsanitize="}, {C | LINK, JOINED, "-fsanitize-recover="},
    {C | LINK, JOINED, "-fsanitize-trap="}, {C | LINK, JOINED, "-fsimd-cost-model="},
    {C | LINK, JOINED, "-fstack-reuse="}, {C | LINK, JOINED, "-fstrict-flex-arrays="},
    {C | LINK, JOINED, "-ftemplate-depth="}, {C | LINK, JOINED, "-ftemplate-depth-"},
    {C | LINK, JOINED, "-ftls-model="}, {C | LINK, JOINED, "-ftrivial-auto-var-init="},
    {C | LINK, JOINED, "-fvect-cost-model="}, {C | LINK, JOINED, "-fveclib="},
    {C | LINK, JOINED, "-fvisibility="}, {C | LINK, JOINED, "-fzero-call-used-regs="},

    /* -m with a value, and families; `-mllvm` and `-module…` are none of them */
    {C | LINK, JOINED, "-march="}, {C | LINK, JOINED, "-mtune="}, {C | LINK, JOINED, "-mcpu="},
    {C | LINK, JOINED, "-mabi="}, {C | LINK, JOINED, "-mfpu="}, {C | LINK, JOINED, "-mfloat-abi="},
    {C | LINK, JOINED, "-mfpmath="}, {C | LINK, JOINED, "-mcmodel="},
    {C | LINK, JOINED, "-mprefer-vector-width="}, {C | LINK, JOINED, "-mrecip="},
    {C | LINK, JOINED, "-mtls-dialect="}, {C | LINK, JOINED, "-mveclibabi="},
    {C | LINK, JOINED, "-mstack-alignment="}, {C | LINK, JOINED, "-mpreferred-stack-boundary="},
    {C | LINK, JOINED, "-mincoming-stack-boundary="}, {C | LINK, JOINED, "-mmemcpy-strategy="},
    {C | LINK, JOINED, "-mmemset-strategy="}, {C | LINK, JOINED, "-malign-data="},
    {C | LINK, JOINED, "-mbranch-cost="}, {C | LINK, JOINED, "-mtune-ctrl="},
    {C | LINK, JOINED, "-mlarge-data-threshold="}, {C | LINK, JOINED, "-mmove-max="},
    {C | LINK, JOINED, "-mstore-max="}, {C | LINK, JOINED, "-msve-vector-bits="},
    {C | LINK, JOINED, "-mrvv-vector-bits="}, {C | LINK, JOINED, "-mindirect-branch="},
    {C | LINK, JOINED, "-mfunction-return="}, {C | LINK, JOINED, "-mharden-sls="},
    {C | LINK, NAMED, "-mno-"}, {C | LINK, NAMED, "-mamx-"}, {C | LINK, NAMED, "-mlong-double-"},

    /* Linking */
    {CUDA | LINK, FOLDER, "-L"}, {CUDA | LINK, LIBRARY, "-l"}, {LINK, OF_LINKER, "-Wl,"},
    {LINK, OF_LINKER, "-Xlinker"}, {LINK, PLAIN, "-z"}, {C | CUDA | LINK, WHOLE, "-shared"},
    {C | LINK, WHOLE, "-static-libgcc"}, {C | LINK, WHOLE, "-static-libstdc++"},
    {C | LINK, WHOLE, "-shared-libgcc"}, {LINK, WHOLE, "-rdynamic"}, {LINK | LINKER, WHOLE, "-s"},
    {LINKER, WHOLE, "-S"}, {LINKER, WHOLE, "--as-needed"}, {LINKER, WHOLE, "--no-as-needed"},
    {LINKER, WHOLE, "--gc-sections"}, {LINKER, WHOLE, "--no-undefined"},
    {LINKER, WHOLE, "--whole-archive"}, {LINKER, WHOLE, "--no-whole-archive"},
    {LINKER, WHOLE, "--start-group"}, {LINKER, WHOLE, "--end-group"},
    {LINKER, WHOLE, "-Bsymbolic"}, {LINKER, WHOLE, "-Bsymbolic-functions"},
    {LINKER, WHOLE, "-Bstatic"}, {LINKER, WHOLE, "-Bdynamic"}, {LINKER, WHOLE, "--strip-all"},
    {LINKER, WHOLE, "--strip-debug"}, {LINKER, WHOLE, "--build-id"},
    {LINKER, WHOLE, "--allow-multiple-definition"}, {LINKER, WHOLE, "--allow-shlib-undefined"},
    {LINKER, JOINED, "--hash-style="}, {LINKER, JOINED, "--icf="}, {LINKER, PLAIN, "-z"},
    {LINKER, PLAIN, "--exclude-libs"},

    /* nvcc, whose flags have one dash or two */
    {CUDA | LINK, PLAIN, "-arch"}, {CUDA | LINK, PLAIN, "--gpu-architecture"},
    {CUDA | LINK, PLAIN, "-code"}, {CUDA | LINK, PLAIN, "--gpu-code"},
    {CUDA | LINK, PLAIN, "-gencode"}, {CUDA | LINK, PLAIN, "--generate-code"},
    {CUDA | PTXAS, PLAIN, "-maxrregcount"}, {CUDA | PTXAS, PLAIN, "--maxrregcount"},
    {CUDA, WHOLE, "-use_fast_math"}, {CUDA, WHOLE, "--use_fast_math"},
    {CUDA, PLAIN, "-ftz"}, {CUDA, PLAIN, "--ftz"}, {CUDA, PLAIN, "-prec-div"},
    {CUDA, PLAIN, "--prec-div"}, {CUDA, PLAIN, "-prec-sqrt"}, {CUDA, PLAIN, "--prec-sqrt"},
    {CUDA | PTXAS, PLAIN, "-fmad"}, {CUDA | PTXAS, PLAIN, "--fmad"},
    {CUDA, WHOLE, "-G"}, {CUDA, WHOLE, "--device-debug"}, {CUDA, WHOLE, "-lineinfo"},
    {CUDA | PTXAS, WHOLE, "--generate-line-info"}, {CUDA, WHOLE, "-m64"},
    {CUDA, WHOLE, "-expt-relaxed-constexpr"}, {CUDA, WHOLE, "--expt-relaxed-constexpr"},
    {CUDA, WHOLE, "-expt-extended-lambda"}, {CUDA, WHOLE, "--expt-extended-lambda"},
    {CUDA, WHOLE, "-extended-lambda"}, {CUDA, WHOLE, "--extended-lambda"},
    {CUDA, WHOLE, "-restrict"}, {CUDA, WHOLE, "--restrict"},
    {CUDA, WHOLE, "-extra-device-vectorization"}, {CUDA, WHOLE, "--extra-device-vectorization"},
    {CUDA | LINK, PLAIN, "-rdc"}, {CUDA | LINK, PLAIN, "--relocatable-device-code"},
    {CUDA | LINK, WHOLE, "-dlto"}, {CUDA | LINK, PLAIN, "-cudart"}, {CUDA | LINK, PLAIN, "--cudart"},
    {CUDA | LINK, PLAIN, "-cudadevrt"}, {CUDA | LINK, PLAIN, "--cudadevrt"},
    {CUDA, PLAIN, "-default-stream"}, {CUDA, PLAIN, "--default-stream"},
    {CUDA, PLAIN, "-t"}, {CUDA, PLAIN, "--threads"}, {CUDA, PLAIN, "--split-compile"},
    {CUDA, WHOLE, "-res-usage"}, {CUDA, WHOLE, "--resource-usage"},
    {CUDA, WHOLE, "-allow-unsupported-compiler"}, {CUDA, WHOLE, "--allow-unsupported-compiler"},
    {CUDA, WHOLE, "-Wno-deprecated-gpu-targets"}, {CUDA, WHOLE, "-Wno-deprecated-declarations"},
    {CUDA, WHOLE, "-Wreorder"}, {CUDA, WHOLE, "-Wmissing-launch-bounds"},
    {CUDA, PLAIN, "-Werror"}, {CUDA, PLAIN, "--Werror"},
    {CUDA, PLAIN, "-diag-suppress"}, {CUDA, PLAIN, "--diag-suppress"},
    {CUDA, PLAIN, "-diag-warn"}, {CUDA, PLAIN, "--diag-warn"},
    {CUDA, PLAIN, "-diag-error"}, {CUDA, PLAIN, "--diag-error"},
    {CUDA, OF_C, "-Xcompiler"}, {CUDA, OF_C, "--compiler-options"},
    {CUDA, OF_PTXAS, "-Xptxas"}, {CUDA, OF_PTXAS, "--ptxas-options"},
    {CUDA, OF_CUDAFE, "-Xcudafe"}, {CUDA, OF_FATBIN, "-Xfatbin"},
    {CUDA, OF_FATBIN, "--fatbin-options"},
    {PTXAS, WHOLE, "-v"}, {PTXAS, WHOLE, "--verbose"}, {PTXAS, JOINED, "-dlcm="},
    {PTXAS, JOINED, "-dscm="}, {PTXAS, JOINED, "--def-load-cache="},
    {PTXAS, JOINED, "--def-store-cache="}, {PTXAS, WHOLE, "-warn-spills"},
    {PTXAS, WHOLE, "--warn-on-spills"}, {PTXAS, WHOLE, "-warn-lmem-usage"},
    {PTXAS, WHOLE, "--warn-on-local-memory-usage"},
    {PTXAS, JOINED, "--allow-expensive-optimizations="},
    {PTXAS, JOINED, "--register-usage-level="},
    {CUDAFE, JOINED, "--diag_suppress="}, {CUDAFE, JOINED, "--diag_warning="},
    {CUDAFE, JOINED, "--diag_error="}, {CUDAFE, WHOLE, "--display_error_number"},
    {FATBIN, WHOLE, "-compress-all"}, {FATBIN, WHOLE, "--compress-all"},
    {FATBIN, JOINED, "-compress-mode="}, {FATBIN, JOINED, "--compress-mode="},
};

/* -f and -m without a value, of gcc and clang. */
static const char *const switches[] = {
    "-fPIC", "-fpic", "-fPIE", "-fpie", "-faccess-control", "-faligned-new", "-fapprox-func",
    "-fassociative-math", "-fasynchronous-unwind-tables", "-fauto-inc-dec", "-fblocks",
    "-fbranch-count-reg", "-fbuiltin", "-fcaller-saves", "-fcf-protection", "-fchar8_t",
    "-fcode-hoisting", "-fcombine-stack-adjustments", "-fcommon", "-fcompare-elim", "-fconcepts",
    "-fconserve-stack", "-fcoroutines", "-fcoroutines-ts", "-fcprop-registers", "-fcrossjumping",
    "-fcse-follow-jumps", "-fcx-fortran-rules", "-fcx-limited-range", "-fdata-sections", "-fdce",
    "-fdeclspec", "-fdelete-null-pointer-checks", "-fdevirtualize", "-fdse", "-fearly-inlining", "-felide-constructors",
    "-fexceptions", "-fexpensive-optimizations", "-fextended-identifiers", "-ffast-math",
    "-ffat-lto-objects", "-ffinite-loops", "-ffinite-math-only", "-fforward-propagate",
    "-ffp-int-builtin-inexact", "-ffreestanding", "-ffunction-sections", "-fgcse",
    "-fgnu89-inline", "-fgraphite", "-fgraphite-identity", "-fhoist-adjacent-loads",
    "-fhonor-infinities", "-fhonor-nans", "-fhosted", "-fident", "-fif-conversion",
    "-fif-conversion2", "-finline", "-fivopts", "-fkeep-inline-functions", "-fkeep-static-consts",
    "-flax-vector-conversions", "-flive-range-shrinkage", "-flto", "-fmath-errno",
    "-fmerge-all-constants", "-fmerge-constants", "-fmodulo-sched",
    "-fmodulo-sched-allow-regmoves", "-fmove-loop-invariants", "-fmove-loop-stores",
    "-fms-extensions", "-fnew-infallible", "-fnon-call-exceptions", "-fomit-frame-pointer",
    "-fopenmp", "-fopenmp-simd", "-foptimize-sibling-calls", "-foptimize-strlen",
    "-fpack-struct", "-fpartial-inlining", "-fpeel-loops", "-fpeephole2", "-fpermissive", "-fplt",
    "-fprefetch-loop-arrays", "-freciprocal-math", "-frename-registers",
    "-frerun-cse-after-loop", "-frounding-math", "-frtti", "-fschedule-insns",
    "-fschedule-insns2", "-fsection-anchors", "-fsemantic-interposition", "-fshort-enums",
    "-fshort-wchar", "-fshow-column", "-fshrink-wrap", "-fsignaling-nans", "-fsigned-bitfields",
    "-fsigned-char", "-fsigned-zeros", "-fsingle-precision-constant", "-fsized-deallocation",
    "-fslp-vectorize", "-fsplit-loops", "-fsplit-paths", "-fsplit-wide-types",
    "-fstack-clash-protection", "-fstack-protector", "-fstdarg-opt", "-fstore-merging", "-fstrict-aliasing",
    "-fstrict-enums", "-fstrict-overflow", "-fstrict-volatile-bitfields",
    "-fstrict-vtable-pointers", "-fthread-jumps", "-fthreadsafe-statics", "-ftoplevel-reorder",
    "-ftracer", "-ftrapping-math", "-ftrapv", "-funconstrained-commons",
    "-funsafe-math-optimizations", "-funsigned-bitfields", "-funsigned-char",
    "-funswitch-loops", "-funwind-tables", "-fvariable-expansion-in-unroller", "-fvectorize",
    "-fverbose-asm", "-fversion-loops-for-strides", "-fvisibility-inlines-hidden",
    "-fvisibility-ms-compat", "-fweb", "-fwhole-program", "-fwrapv", "-fwrapv-pointer",
    "-fzero-initialized-in-bss",

    "-m32", "-m64", "-mx32", "-m128bit-long-double", "-m96bit-long-double", "-m3dnow",
    "-mabm", "-maccumulate-outgoing-args", "-madx", "-maes", "-maltivec", "-mapxf", "-mavx",
    "-mavx2", "-mavx10.1", "-mavx10.1-256", "-mavx10.1-512", "-mavx10.2", "-mavx512bf16",
    "-mavx512bitalg", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512er", "-mavx512f",
    "-mavx512fp16", "-mavx512ifma", "-mavx512pf", "-mavx512vbmi", "-mavx512vbmi2", "-mavx512vl",
    "-mavx512vnni", "-mavx512vp2intersect", "-mavx512vpopcntdq", "-mavx5124fmaps",
    "-mavx5124vnniw", "-mavxifma", "-mavxneconvert", "-mavxvnni", "-mavxvnniint16",
    "-mavxvnniint8", "-mbmi", "-mbmi2", "-mcldemote", "-mclflushopt", "-mclwb", "-mclzero",
    "-mcmpccxadd", "-mcrc32", "-mcx16", "-mdaz-ftz", "-menqcmd", "-mevex512", "-mf16c", "-mfma",
    "-mfma4", "-mfsgsbase", "-mfxsr", "-mgather", "-mgeneral-regs-only", "-mgfni",
    "-mhard-float", "-mhle", "-mhreset", "-mieee-fp", "-minline-all-stringops",
    "-minline-stringops-dynamically", "-mkl", "-mlwp", "-mlzcnt", "-mmmx", "-mmovbe",
    "-mmovdir64b", "-mmovdiri", "-mmwait", "-mmwaitx", "-momit-leaf-frame-pointer",
    "-moutline-atomics", "-mpartial-vector-fp-math", "-mpclmul", "-mpc32", "-mpc64", "-mpc80",
    "-mpku", "-mpopcnt", "-mprefetchi", "-mprfchw", "-mptwrite", "-mraoint", "-mrdpid",
    "-mrdrnd", "-mrdseed", "-mrecip", "-mrtm", "-msahf", "-mscatter", "-mserialize", "-msgx",
    "-msha", "-msha512", "-mshstk", "-mskip-rax-setup", "-msm3", "-msm4", "-msoft-float",
    "-msse", "-msse2", "-msse2avx", "-msse3", "-msse4", "-msse4.1", "-msse4.2", "-msse4a",
    "-mssse3", "-mstackrealign", "-mstrict-align", "-mtbm", "-mtsxldtrk", "-muintr",
    "-munaligned-access", "-musermsr", "-mvaes", "-mvpclmulqdq", "-mvsx", "-mvzeroupper",
    "-mwaitpkg", "-mwbnoinvd", "-mwidekl", "-mxop", "-mxsave", "-mxsavec", "-mxsaveopt",
    "-mxsaves",
};

/* Why a flag is not in the tables, by how it begins; the first that fits. Only for the message. */
static const struct {
    const char *beginning, *why;
} reasons[] = {
    {"@", "it reads more flags from a file"},
    {"-fplugin", "it loads a plug-in into the compiler"},
    {"-fpass-plugin", "it loads a plug-in into the compiler"},
    {"-load", "it loads a plug-in into the compiler"},
    {"-wrapper", "it makes the compiler start a program"},
    {"-B", "it makes the compiler start other programs"},
    {"-specs", "it makes the compiler start other programs"},
    {"--specs", "it makes the compiler start other programs"},
    {"-fuse-ld", "it makes the compiler start another program"},
    {"--ld-path", "it makes the compiler start another program"},
    {"-ccbin", "it makes the compiler start another program"},
    {"--compiler-bindir", "it makes the compiler start another program"},
    {"-run", "it runs what was compiled"},
    {"--run", "it runs what was compiled"},
    {"-Wl,", "it hands words to the linker that are not known to be harmless"},
    {"-Wa,", "it hands words to another program"},
    {"-Wp,", "it hands words to another program"},
    {"-X", "it hands words to another program that are not known to be harmless"},
    {"-mllvm", "it hands words to another part of the compiler"},
    {"-optf", "it reads more flags from a file"},
    {"--options-file", "it reads more flags from a file"},
    {"-include", "it reads a file that the sources do not name; include it there"},
    {"-imacros", "it reads a file that the sources do not name; include it there"},
    {"-T", "it reads a file"},
    {"-fauto-profile", "it reads a file"},
    {"-fprofile", "it reads or writes files"},
    {"-o", "it writes a file"},
    {"-M", "it writes a file"},
    {"-fdump", "it writes files"},
    {"-save-temps", "it writes files"},
    {"--save-temps", "it writes files"},
    {"-keep", "it writes files"},
    {"--keep", "it writes files"},
};
/* clang-format on */

/* ---- values ---------------------------------------------------------------------------------- */

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

static bool holds_only(const char *text, const char *known)
{
    return text[0] && !text[strspn(text, known)];
}

static bool is_plain(const char *text)
{
    return holds_only(text, LETTERS DIGITS "_.+,:=[]-") && text[0] != '-';
}

/* "array-bounds=2", and nothing with a comma before the =: "-Wl,…". No name has one letter. */
static bool is_name(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz" DIGITS "+-._");
    return length > 1 && (!text[length] || (text[length] == '=' && is_plain(text + length + 1)));
}

/* Also ":libx.a", a file's name. */
static bool is_library(const char *text)
{
    return holds_only(text + (text[0] == ':'), LETTERS DIGITS "_.+-") && text[0] != '-';
}

bool assay_compile_flags_shell_safe(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x80 && !strchr(LETTERS DIGITS "_.+,:=[]-/@%^~ ", *c))
            return false;
    return true;
}

static bool has_control(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < ' ' || *c == 0x7f)
            return true;
    return false;
}

static bool ends_in_library(const char *word)
{
    const char *name = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
    const char *ending = strrchr(name, '.');
    return ending && (strcmp(ending, ".a") == 0 || strcmp(ending, ".o") == 0 ||
                      strcmp(ending, ".so") == 0 || strstr(name, ".so."));
}

/* ---- one flag -------------------------------------------------------------------------------- */

struct judging {
    const char *root;
    const char *trouble; /* why it is refused, where that is more than that it is not known */
};

static bool may_follow(struct judging *j, const struct rule *rule, const char *value);

static bool is_switch(const char *word)
{
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if (strcmp(word, switches[i]) == 0)
            return true;
    return false;
}

/* "-Wl," takes what is behind the comma and nothing else. */
static bool takes_next(const struct rule *rule)
{
    return rule->kind >= PLAIN && rule->flag[strlen(rule->flag) - 1] != ',';
}

/* Switches that hide which file a message is about, which messages.c has to know. */
static bool hides_places(const char *word)
{
    static const char *const beginnings[] = {"-fno-show", "-fno-diagnostics", "-fno-caret"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(word, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* What is behind the flag in the same word; NULL where the word is another flag, "" where there is
 * nothing. */
static const char *joined_value(const struct rule *rule, const char *word)
{
    size_t length = strlen(rule->flag);
    bool needs_sign = rule->kind == PLAIN || (rule->kind >= OF_C && rule->flag[length - 1] != ',');
    if (strncmp(word, rule->flag, length) != 0)
        return NULL;
    if (!word[length] || !needs_sign)
        return word + length;
    return word[length] == '=' && word[length + 1] ? word + length + 1 : NULL;
}

/* How many words this flag takes of the list; 0: it is not one that may be used. */
static int words_taken(struct judging *j, unsigned lists, const char *word, const char *next)
{
    if (hides_places(word))
        return 0;
    if (lists & (C | LINK) && is_switch(word))
        return 1;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const struct rule *rule = &rules[i];
        const char *value = rule->lists & lists ? joined_value(rule, word) : NULL;
        if (!value)
            continue;
        if (rule->kind == WHOLE && !value[0])
            return 1;
        if (takes_next(rule) && !value[0]) {
            if (next && next[0] != '@' && may_follow(j, rule, next))
                return 2;
            j->trouble = next || j->trouble ? j->trouble : "its value is missing";
        } else if (rule->kind != WHOLE && may_follow(j, rule, value)) {
            return 1;
        }
    }
    return 0;
}

/* Words with commas between them, each of which the other table knows. */
static bool are_words(struct judging *j, unsigned lists, const char *text)
{
    enum { MOST = 64 };
    char copy[1024], *words[MOST + 1] = {0};
    int n = 0;
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy)
        return false;
    for (char *at = copy; at && n < MOST; n++) {
        words[n] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    for (int i = 0; i < n;) {
        int taken = n < MOST ? words_taken(j, lists, words[i], words[i + 1]) : 0;
        if (!taken)
            return false;
        i += taken;
    }
    return true;
}

static bool is_folder_inside(struct judging *j, const char *path)
{
    if (assay_inside_find(j->root, path) != ASSAY_INSIDE_NOT)
        return true;
    j->trouble = "it leads out of the repository";
    return false;
}

static bool may_follow(struct judging *j, const struct rule *rule, const char *value)
{
    switch (rule->kind) {
    case WHOLE:
        return false;
    case NAMED:
        return is_name(value);
    case JOINED:
    case PLAIN:
        return is_plain(value);
    case TEXT:
        return value[0] != '-';
    case FOLDER:
        return !strchr("-=$", value[0]) && is_folder_inside(j, value);
    case LIBRARY:
        return is_library(value);
    case OF_C:
        return are_words(j, C, value);
    case OF_PTXAS:
        return are_words(j, PTXAS, value);
    case OF_CUDAFE:
        return are_words(j, CUDAFE, value);
    case OF_FATBIN:
        return are_words(j, FATBIN, value);
    case OF_LINKER:
        return are_words(j, LINKER, value);
    }
    return false;
}

/* A library or an object of the repository among the linker's flags. */
static int named_file(struct judging *j, const char *word)
{
    if (!ends_in_library(word))
        j->trouble = "it names a file that is not a library (.a, .o, .so); sources belong under "
                     "\"sources\"";
    else if (is_folder_inside(j, word))
        return 1;
    return 0;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static const struct {
    const char *key, *variable, *usual;
    unsigned lists;
} about[] = {
    [ASSAY_FLAGS_C] = {"cflags", "CC", "cc", C},
    [ASSAY_FLAGS_CXX] = {"cxxflags", "CXX", "c++", C},
    [ASSAY_FLAGS_CUDA] = {"cudaflags", "NVCC", "nvcc", CUDA},
    [ASSAY_FLAGS_LINK] = {"ldflags", "CC", "cc", LINK},
    [ASSAY_FLAGS_INCLUDE] = {"include", "CPATH", "", 0},
};

static const char *why_not(const struct judging *j, const char *word)
{
    for (size_t i = 0; !j->trouble && i < sizeof reasons / sizeof reasons[0]; i++)
        if (strncmp(word, reasons[i].beginning, strlen(reasons[i].beginning)) == 0)
            return reasons[i].why;
    return j->trouble ? j->trouble : "it is not known to only choose how code is compiled";
}

static enum assay_status refuse(const struct judging *j, enum assay_flag_list list,
                                const char *word, struct assay_error *err)
{
    struct assay_text shown = {0};
    assay_text_add_shown(&shown, word);
    const char *name = shown.data ? shown.data : "";
    if (list == ASSAY_FLAGS_INCLUDE)
        assay_error_set(err, ASSAY_ERR_INVALID, "assay.yml",
                        "include: \"%.80s\" is refused: %s; if you trust this repository, name "
                        "the folder in $CPATH yourself",
                        name, why_not(j, word));
    else
        assay_error_set(err, ASSAY_ERR_INVALID, "assay.yml",
                        "%s: \"%.80s\" is refused: %s; docs/kernels.md has the flags a repository "
                        "may set. If you trust this one, set it yourself: %s=\"%s %.80s\"",
                        about[list].key, name, why_not(j, word), about[list].variable,
                        about[list].usual, name);
    assay_text_fini(&shown);
    return ASSAY_ERR_INVALID;
}

/* How many words of the list the next flag takes; 0: it is refused. */
static int judge(struct judging *j, enum assay_flag_list list, const char *const *at)
{
    bool shell = list == ASSAY_FLAGS_CUDA || list == ASSAY_FLAGS_LINK;
    for (int i = 0; i < 2 && at[i]; i++)
        if (has_control(at[i]))
            j->trouble = i == 0 ? "it holds control characters" : NULL;
    if (shell && !assay_compile_flags_shell_safe(at[0]))
        j->trouble = "nvcc hands its words to a shell, to which some characters of this one mean "
                     "something";
    if (j->trouble)
        return 0;
    if (list == ASSAY_FLAGS_INCLUDE)
        return is_folder_inside(j, at[0]);
    if (list == ASSAY_FLAGS_LINK && at[0][0] != '-' && at[0][0] != '@')
        return named_file(j, at[0]);
    int taken = words_taken(j, about[list].lists, at[0], at[1]);
    if (taken == 2 && (has_control(at[1]) || (shell && !assay_compile_flags_shell_safe(at[1]))))
        return 0;
    return taken;
}

enum assay_status assay_compile_flags_check_list(enum assay_flag_list list,
                                                 const char *const *words, const char *root,
                                                 int64_t *at, struct assay_error *err)
{
    for (int64_t i = 0; words && words[i];) {
        struct judging j = {.root = root};
        int taken = judge(&j, list, words + i);
        if (!taken) {
            *at = i;
            return refuse(&j, list, words[i], err);
        }
        i += taken;
    }
    return ASSAY_OK;
}

enum assay_status assay_compile_flags_check(const struct assay_compile_flags *flags,
                                            const char *root, struct assay_error *err)
{
    const char *const *const lists[] = {
        [ASSAY_FLAGS_C] = flags->c,
        [ASSAY_FLAGS_CXX] = flags->cxx,
        [ASSAY_FLAGS_CUDA] = flags->cuda,
        [ASSAY_FLAGS_LINK] = flags->link,
        [ASSAY_FLAGS_INCLUDE] = flags->include,
    };
    enum assay_status status = ASSAY_OK;
    int64_t at;
    for (int i = ASSAY_FLAGS_C; i <= ASSAY_FLAGS_INCLUDE && status == ASSAY_OK; i++)
        status = assay_compile_flags_check_list((enum assay_flag_list)i, lists[i], root, &at, err);
    return status;
}
