#!/usr/bin/env bash
# assay kernel: workloads of a repository, right and wrong ones, repositories that cannot be used.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
fast=(--iterations 10 --warmup 1)

# repository NAME: a folder with a benchmark of two workloads and one that has no reference.
repository() {
    mkdir -p "$1/benchmarks"
    cat >"$1/benchmarks/benchmark_twice.c" <<'C'
#include <assay/assay_kernel.h>

enum { ROWS = 7, COLUMNS = 33 };

static void setup(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_output(s, "out", ASSAY_DTYPE_F32, ROWS, COLUMNS);
    assay_count_flops(s, ROWS * COLUMNS);
}

static int twice(const assay_call *call)
{
    const float *x = (const float *)call->in[0];
    float *out = (float *)call->out[0];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        out[i] = FACTOR * x[i];
    return 0;
}

static int verify(const assay_call *call)
{
    const float *x = (const float *)call->in[0];
    float *out = (float *)call->out[0];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        out[i] = x[i] + x[i];
    return 0;
}

ASSAY_BENCHMARK(Twice, 7, setup, {"small", twice, verify}, {"alone", twice})
C
    printf 'name: %s\ncflags: [-DFACTOR=2]\n' "$(basename "$1")" >"$1/assay.yml"
}

say "a repository is compiled, verified and measured; the second time nothing is compiled"
repository good
expect_exit 0 "$ASSAY" kernel good "${fast[@]}" --output result.json
expect_err '^Compiling benchmarks/benchmark_twice.c'
expect_out 'Benchmark .*Workload .*N .*Speedup .*Mean\(ms\) .*Median\(ms\) .*Std\(ms\) .*Min\(ms\) .*Max\(ms\) .*IQR\(ms\) .*Outliers .*Ref\(ms\) .*Ref median .*Match'
expect_out 'Twice .*small .* 10 .*([0-9]x|same|unclear).*✓'
expect_out 'Twice .*alone .* 10 .*·'
difference='([0-9.]+x (faster|slower) \[[0-9.]+ [0-9.>]+\]|same speed within [0-9.]+%|unclear \(n=10\))'
expect_out "small: $difference \(95% CI: [0-9.]+-[0-9.]+ms vs ref [0-9.]+ms\)"
expect_out '^Kernel: -  Benchmark: [0-9a-f]{7}$'
valid_json result.json
expect_file result.json '"benchmarkScriptSha"'
expect_file result.json '"workload": "[A-Za-z]+\.small"'
expect_file result.json '"backend": "CPU"'
expect_file result.json '"gpu": "(N/A|.+)"'
expect_file result.json '"benchmarkScriptPath": "benchmarks"'
expect_file result.json '"benchmarkFiles": "benchmarks/benchmark'
expect_exit 0 "$ASSAY" kernel good "${fast[@]}" --json
valid_json "$work/out"
expect_out '"workload": "[A-Za-z]+\.small"'
expect_usage '--json prints kernel-json; leave out --format csv' "$ASSAY" kernel good --json -f csv
expect_usage '--json prints the results, and --output writes them' "$ASSAY" kernel good --json -o x.json

say "a benchmark in another language beside it is passed over, and says so; alone it is an error"
touch good/benchmarks/benchmark_old.rs
expect_exit 0 "$ASSAY" kernel good "${fast[@]}"
expect_err 'benchmarks/benchmark_old.rs is passed over: assay runs Python, C, C\+\+ and CUDA'
rm good/benchmarks/benchmark_old.rs
mkdir -p rust_only/benchmarks
touch rust_only/benchmarks/benchmark.rs
expect_usage 'has benchmark.rs, which assay does not run' "$ASSAY" kernel ./rust_only
expect_exit 0 "$ASSAY" kernel good "${fast[@]}" --workload sm*
expect_no_err 'Compiling'
expect_no_out 'alone'

say "other formats name workloads as the table does"
expect_exit 0 "$ASSAY" kernel good "${fast[@]}" --workload small -o table:out.txt -o out.md -o github:out.github
expect_file out.txt '^Twice\.small f32 '
expect_file out.md '^\| - \| f32 \| kernel \|'
expect_file out.github '^\| small \| kernel \|'
for file in out.txt out.md out.github; do expect_count 0 'workload:|\[\]|\(\)' $file; done

say "what would run is listed, and --build compiles only"
expect_exit 0 "$ASSAY" kernel good --list
expect_out '^benchmarks/benchmark_twice.c$'
expect_out '^  Twice.small on cpu$'
expect_out '^  Twice.alone on cpu, without a reference$'
expect_exit 0 "$ASSAY" kernel good --build

say "charts in both themes"
expect_exit 0 "$ASSAY" kernel good "${fast[@]}" --visual chart
expect_file chart_light.svg '<svg'
expect_file chart_dark.svg '</svg>'
expect_usage 'rasterized is for the charts of --visual' "$ASSAY" kernel good --rasterized
expect_exit 0 "$ASSAY" kernel good "${fast[@]}" --visual image --rasterized
if command -v rsvg-convert >/dev/null; then
    [ "$(head -c 4 image_light.png | tail -c 3)" = PNG ] || fail "image_light.png is no PNG"
    [ ! -e image_dark.svg ] || fail "an SVG lies beside the PNG"
else
    expect_err 'image_dark.png: PNG takes rsvg-convert, .*; writing image_dark.svg instead'
    expect_file image_dark.svg '</svg>'
fi

say "a wrong answer is a mismatch, and does not stop the others"
repository wrong
sed -i 's/FACTOR=2/FACTOR=3/' wrong/assay.yml
expect_exit 1 "$ASSAY" kernel wrong "${fast[@]}" --output wrong.json
expect_out 'small .*✗'
expect_out 'small: .*(wrong|mismatch)'
expect_out 'alone .*·'
expect_file wrong.json '"verified": false'

say "so are functions that fail, crash, hang, write past the end, or change their input"
mkdir -p bad/benchmarks
cat >bad/benchmarks/benchmark_bad.c <<'C'
#include <assay/assay_kernel.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 100 };

static void setup(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, N);
    assay_output(s, "out", ASSAY_DTYPE_F32, N);
}

static void refuses(assay_setup *s) { assay_setup_fails(s, "not today"); }
static void declares_nothing(assay_setup *s) { (void)s; }
static void crashes_in_setup(assay_setup *s) { (void)s, abort(); }

static int copy(const assay_call *call)
{
    for (int i = 0; i < N; i++)
        ((float *)call->out[0])[i] = ((const float *)call->in[0])[i];
    return 0;
}

static int fails(const assay_call *call) { return copy(call), 700; }
static int crashes(const assay_call *call) { return copy(call), *(volatile int *)NULL; }
static int hangs(const assay_call *call)
{
    for (copy(call);;)
        sleep(1);
}
static int past_the_end(const assay_call *call)
{
    ((float *)call->out[0])[N] = 1;
    return copy(call);
}
static int changes_input(const assay_call *call)
{
    copy(call);
    ((float *)call->in[0])[3] = 1;
    return 0;
}
static int nothing(const assay_call *call) { return (void)call, 0; }

ASSAY_BENCHMARK(Bad, 0, setup, {"fails", fails, copy}, {"crashes", crashes, copy}, {"hangs", hangs, copy},
                {"past_the_end", past_the_end, copy}, {"changes_input", changes_input, copy},
                {"nothing", nothing}, {"verify_crashes", copy, crashes}, {"verify_fails", copy, fails},
                {"refuses", copy, copy, refuses}, {"declares_nothing", copy, copy, declares_nothing},
                {"crashes_in_setup", copy, copy, crashes_in_setup}, {"good", copy, copy})
C
expect_exit 1 "$ASSAY" kernel bad "${fast[@]}" --timeout 1s
expect_out ' fails: .*run returned 700'
expect_out ' crashes: .*SIGSEGV'
expect_out ' hangs: .*no answer within 1 s'
expect_out ' past_the_end: .*(wrote out of bounds|past the end of output 0)'
expect_out ' changes_input: .*(changed|wrote to)'
expect_out ' nothing: .*(never written|unwritten|not written|left)'
expect_out ' verify_crashes: .*SIGSEGV'
expect_out ' verify_fails: .*verify returned 700'
expect_out ' refuses: .*not today'
expect_out ' declares_nothing: .*declares no output'
expect_out ' crashes_in_setup: .*SIGABRT'
expect_out '│ Bad .*│ good .*✓'

say "a file that does not compile is shown with the compiler's own words and the command; others go on"
repository half
echo 'int f(void) { return undeclared; }' >half/benchmarks/benchmark_broken.c
expect_exit 2 "$ASSAY" kernel half "${fast[@]}"
expect_err 'error: .*undeclared'
expect_err '^The command was: .*cc .*benchmark_broken.c'
expect_err 'benchmark_broken.c: cannot be compiled'
expect_out 'small .*✓'

say "undefined symbols, a file without a benchmark, another version of the header, a crash when opened"
mkdir -p odd/benchmarks
printf '#include <assay/assay_kernel.h>\nint missing(void);\nstatic int run(const assay_call *c) { return (void)c, missing(); }\nstatic void setup(assay_setup *s) { assay_output(s, "o", ASSAY_DTYPE_F32, 1); }\nASSAY_BENCHMARK(Odd, 0, setup, {"w", run})\n' >odd/benchmarks/benchmark_undefined.c
printf 'int nothing_here;\n' >odd/benchmarks/benchmark_empty.c
printf '#include <assay/assay_kernel.h>\n#undef ASSAY_KERNEL_ABI\n#define ASSAY_KERNEL_ABI 99u\nstatic int run(const assay_call *c) { return (void)c, 0; }\nstatic void setup(assay_setup *s) { assay_output(s, "o", ASSAY_DTYPE_F32, 1); }\nASSAY_BENCHMARK(Old, 0, setup, {"w", run})\n' >odd/benchmarks/benchmark_old.c
printf '#include <stdlib.h>\n__attribute__((constructor)) static void f(void) { abort(); }\n' >odd/benchmarks/benchmark_opened.c
expect_exit 2 "$ASSAY" kernel odd "${fast[@]}"
expect_err "undefined.*missing"
expect_err 'benchmark_empty.c: defines no benchmark'
expect_err 'benchmark_old.c: has a benchmark built for another version of assay \(abi 99, this is [0-9]+\)'
expect_err 'benchmark_opened.c: crashes while it is opened: SIGABRT'

say "two files with the same workload"
repository double
cp double/benchmarks/benchmark_twice.c double/benchmarks/benchmark_again.c
expect_exit 2 "$ASSAY" kernel double "${fast[@]}"
expect_err 'another file has a workload Twice.small too'

say "repositories and revisions that are none"
expect_usage 'which repository' "$ASSAY" kernel
expect_usage 'one repository at a time' "$ASSAY" kernel good wrong
expect_exit 2 "$ASSAY" kernel ./absent
expect_err 'absent'
mkdir empty
expect_exit 2 "$ASSAY" kernel ./empty
expect_err 'benchmarks'
mkdir -p unmatched/benchmarks
echo 'int x;' >unmatched/benchmarks/other.c
expect_exit 2 "$ASSAY" kernel unmatched
expect_err 'benchmark\*'
expect_exit 2 "$ASSAY" kernel owner/name
expect_err 'version|branch|revision'
expect_exit 2 "$ASSAY" kernel owner/name@1
expect_err 'v1'
expect_exit 2 "$ASSAY" kernel good --workload no_such
expect_err 'no workload is called "no_such"'
expect_usage 'device' "$ASSAY" kernel good --device foo
expect_exit 3 "$ASSAY" kernel good --device cuda
expect_err 'benchmark_twice.c: skipped: is for cpu, and --device is cuda'
expect_usage 'for --new' "$ASSAY" kernel good --op gelu
expect_usage '\-\-new needs --op' "$ASSAY" kernel --new x

say "a compiler that is not here is this machine's fault"
repository elsewhere
CC=no-such-compiler expect_exit 3 "$ASSAY" kernel elsewhere "${fast[@]}"
expect_err 'no-such-compiler'

say "a path with blanks and quotes"
repository "a path with 'blanks'"
expect_exit 0 "$ASSAY" kernel "./a path with 'blanks'" "${fast[@]}"
expect_out 'small .*✓'

say "a broken assay.yml is told with its place"
repository config
echo 'cflag: [-O2]' >>config/assay.yml
expect_exit 2 "$ASSAY" kernel config
expect_err 'assay.yml:3:1: .*cflag.*cflags'

say "a kernel of a known op is measured against all others"
mkdir mine
cat >mine/relu.c <<'C'
#include <assay/assay_kernel.h>

static enum assay_status run(void *state, const struct assay_work *work)
{
    (void)state;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        const float *x = (const float *)args->in[0];
        float *y = (float *)args->out[0];
        for (int j = 0; j < 2 * 3 * 5; j++)
            y[j] = x[j] > 0 ? x[j] : 0;
    }
    return ASSAY_OK;
}

static const struct assay_kernel mine = {
    .struct_size = sizeof mine,
    .abi = ASSAY_KERNEL_ABI,
    .name = "my_relu",
    .op = "relu",
    .implementation = "mine",
    .device = "cpu",
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
    .run = run,
};
ASSAY_KERNELS(&mine)
C
expect_exit 0 "$ASSAY" kernel mine --shape 2x3x5 "${fast[@]}"
expect_out 'relu .*f32 2x3x5 .*✓'
expect_out '(faster than|slower than|same speed as|unclear against) native'
expect_out '(faster than|slower than|same speed as|unclear against) ref'
expect_exit 0 "$ASSAY" kernel mine/relu.c --shape 2x3x5 "${fast[@]}"
expect_exit 1 "$ASSAY" kernel mine --shape 2x3x6 "${fast[@]}"
expect_out 'relu .*f32 2x3x6 .*✗'

command -v git >/dev/null || exit 0
say "a remote repository: by branch and version, once downloaded also without the network"
repository origin/owner/twice
git=(git -C origin/owner/twice -c user.name=t -c user.email=t@t -c init.defaultBranch=main)
"${git[@]}" init -q && "${git[@]}" add -A && "${git[@]}" commit -qm one && "${git[@]}" branch v1
export ASSAY_HUB=file://$PWD/origin
expect_exit 0 "$ASSAY" kernel owner/twice@v1 "${fast[@]}"
expect_err '^Downloading owner/twice@v1'
expect_out "^Kernel: $("${git[@]}" rev-parse HEAD | cut -c 1-7)  Benchmark: "
expect_exit 0 "$ASSAY" kernel owner/twice --version 1 "${fast[@]}" --offline
expect_no_err 'Downloading'
expect_exit 0 "$ASSAY" kernel owner/twice --branch main --list
expect_exit 2 "$ASSAY" kernel owner/twice@v9
expect_err 'v9'
expect_exit 2 "$ASSAY" kernel owner/absent@v1
expect_err 'owner/absent'
expect_exit 2 "$ASSAY" kernel owner/twice@other --offline
expect_err 'offline|downloaded'
expect_usage 'give the revision once' "$ASSAY" kernel owner/twice@v1 --branch main
