#!/usr/bin/env bash
# Kernel repositories whose benchmarks are Python (benchmarks/benchmark*.py), as `kernels benchmark` has them.
# Not under sanitizers: the program carries no package there, because an interpreter is not sanitized
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
unset ASSAY_PYTHON VIRTUAL_ENV
python=/usr/bin/python3
few=(--no-ceiling --iterations 10 --warmup 1)
cp -r "$here/kernel_python" repos # which the interpreter may write to

# A row's line below the table: WORKLOAD: WORDS.
row() {
    tr -s ' ' <"$work/out" | grep -Eq "^ $1: ✗? ?$2" || fail "no row $1: $2; there is: $(grep "^  $1: " "$work/out")"
}

"$ASSAY" kernel repos/pure --list --python $python 2>&1 | grep -q "built without Python's headers" &&
    skip "built without Python's headers"
$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no Python 3.11"

say "without an interpreter"
expect_exit 3 "$ASSAY" kernel repos/pure --python /nowhere
expect_err -- 'benchmark_pure.py: --python /nowhere is not a program that can be run'
PATH=/nowhere expect_exit 3 "$ASSAY" kernel repos/pure
expect_err 'benchmark_pure.py: there is no python3 in PATH; install Python'

say "without PyTorch: rows that say how to get it"
$python -m venv venv --without-pip >"$work/out" 2>&1 || rm -rf venv
if [ -d venv ]; then
    expect_exit 3 "$ASSAY" kernel repos/pure --python venv/bin/python3 --workload base,wrong
    expect_out 'base: unsupported: PyTorch is not installed for .*venv/bin/python3: pip install torch'
    expect_exit 0 "$ASSAY" kernel repos/ready --python venv/bin/python3 --list
    expect_count 21 '^  [A-Z][A-Za-z]*\.(small|medium|large) on cpu$' "$work/out"
fi
export ASSAY_PYTHON=$python
$python -c 'import torch' 2>/dev/null || skip "the rest needs PyTorch"

say "broken repositories"
mkdir -p broken/benchmarks
echo 'x = 1' >broken/benchmarks/benchmark.py
expect_usage 'benchmarks/benchmark.py: defines no subclass of kernels.benchmark.Benchmark' "$ASSAY" kernel broken
printf 'from kernels.benchmark import Benchmark\nclass A(Benchmark):\n    pass\n' >broken/benchmarks/benchmark.py
expect_usage 'its benchmarks have no methods benchmark_<workload>: A' "$ASSAY" kernel broken
echo 'def f(x)' >broken/benchmarks/benchmark.py
expect_usage 'SyntaxError: .*\(benchmark.py:1\)' "$ASSAY" kernel broken
cp repos/pure/benchmarks/benchmark_pure.py broken/benchmarks/benchmark.py
expect_exit 3 "$ASSAY" kernel broken --workload base
expect_out 'base: unsupported: there is no kernel: neither build/<variant>/ nor torch-ext/'
expect_usage 'rasterized is for the charts of --visual' "$ASSAY" kernel repos/pure --rasterized

say "in Python: written into self.out, assigned to it, in place, wrong, unverified; beside one in C; in a sandbox"
cat >repos/pure/benchmarks/benchmark_c.c <<'END_C'
#include <assay/assay_kernel.h>
static void setup(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, 64);
    assay_output(s, "out", ASSAY_DTYPE_F32, 64);
}
static int run(const assay_call *call)
{
    for (int i = 0; i < 64; i++)
        ((float *)call->out[0])[i] = 2 * ((const float *)call->in[0])[i];
    return 0;
}
ASSAY_BENCHMARK(InC, 0, setup, {"twice", run, run})
END_C
expect_exit 0 "$ASSAY" kernel repos/pure --list
expect_count 6 ' on cpu' "$work/out"
expect_out '^  Pure.unverified on cpu, without a reference$'
expect_exit 1 "$ASSAY" kernel repos/pure "${few[@]}" --sandbox --output pure.json --visual chart -v \
    --workload base,in_place,unverified,wrong,twice # one that assigns its output is among the errors
expect_out '^  PyTorch  [0-9.]+'
expect_out 'in place: x'
expect_out 'no verify_unverified: not checked'
row wrong 'mismatch: 4096 of 4096 wrong, first at \[0,0\]: got 0, '
expect_file chart_light.svg 'InC'
valid_json pure.json
cat >look.py <<'END_LOOK'
import json, sys
file = json.load(open(sys.argv[1]))
rows = {r["workload"]: r for r in file["results"]}
assert list(rows) == sorted(rows), "sorted by name"
for name in ("Pure.base", "Pure.in_place", "InC.twice"):
    r = rows[name]
    assert r["verified"] is True and r["timingResults"]["iterations"] == 10, r
    assert r.get("note") == ("in place: x" if name == "Pure.in_place" else None), r
    assert r["refTimingResults"]["mean_ms"] > 0 and r["speedup"]["ratio"] > 0, r
assert rows["Pure.wrong"]["verified"] is False and "4096 of 4096 wrong" in rows["Pure.wrong"]["reason"]
assert rows["Pure.unverified"]["verified"] is None and rows["Pure.unverified"]["timingResults"]
assert all(type(v) is str for v in file["machineInfo"].values()), file["machineInfo"]
assert file["machineInfo"]["pytorchVersion"][0].isdigit() and file["machineInfo"]["backend"] == "CPU"
assert file["benchmarkScriptPath"] == "benchmarks"
END_LOOK
$python look.py pure.json || fail "pure.json"

say "a file of a repository that subclasses the ready-made classes (the rest of them: test_scripts.py)"
expect_exit 0 "$ASSAY" kernel repos/ready/benchmarks/benchmark.py "${few[@]}" --workload 'Varlen.small'
expect_count 1 '✓ *│$' "$work/out"

say "what goes wrong in a script is a row"
expect_exit 1 "$ASSAY" kernel repos/errors "${few[@]}" --workload hangs --timeout 4s
row hangs 'timeout: no answer within 4 s'
expect_exit 1 "$ASSAY" kernel repos/errors "${few[@]}" --workload '*.[!h]*' -o errors.json
row right '.*(faster|slower|same speed|unclear)'
row raises "failed: NameError: name 'no_such_name' is not defined \(benchmark_errors.py:[0-9]+\)"
row exits 'failed: SystemExit: 3'
row ends 'crashed: it ended the process with exit code 0 in setup or the first call'
row crashes 'crashed: SIGSEGV in setup or the first call'
row keeps 'mismatch: answered with a result kept from other inputs'
row absent "failed: AttributeError: module 'errors_[0-9a-f]+' has no attribute 'no_such_kernel'"
row no_output 'failed: benchmark_no_output leaves no tensor in self.out'
row not_a_tensor 'failed: benchmark_not_a_tensor leaves no tensor in self.out'
row shape 'failed: verify_shape returns a tensor of shape \[64, 32\], and self.out has \[32, 64\]'
row dtype 'failed: verify_dtype returns float32, and self.out is float64'
row setup_raises 'failed: ValueError: no such size \(benchmark_errors.py:[0-9]+\)'
row in_integers 'failed: TypeError: self.out is torch.int64, which assay does not compare'
row verify_raises "failed: AttributeError: .*no_such_attribute"
row verify_returns_none 'failed: verify_verify_returns_none returns no tensor'
row verify_shape 'failed: verify_verify_shape returns a tensor of shape \[32, 32\]'
row made_before 'mistrusted: what verify returns is in self.expected before the call'
row needs_cuda 'unsupported: its setup needs CUDA: '
valid_json errors.json
expect_file errors.json '"printed": "Traceback \(most recent call last\)'

say "an extension: what is not here, what does not compile, what may not be there"
cp -r repos/extension other
sed -i 's/backend = "cpu"/backend = "cuda"/' other/build.toml
expect_exit 3 "$ASSAY" kernel other
expect_out 'unsupported: build.toml has no kernel for cpu, only for cuda'
sed -i 's/backend = "cuda"/backend = "cpu"/; s/depends = .*/cxx-flags = ["-fplugin=.\/mine.so"]/' other/build.toml
expect_exit 2 "$ASSAY" kernel other
expect_err 'kernel.act_cpu.cxx-flags: the flag -fplugin=./mine.so is not one assay knows to be harmless'
command -v c++ >/dev/null || { echo "not tried: compiling, without a C++ compiler"; exit 0; }
cp repos/extension/build.toml other
echo 'int f( {' >other/src/act.cpp
expect_exit 2 "$ASSAY" kernel other --build
expect_err 'benchmark.py: (src/act.cpp|torch-ext/torch_binding.cpp):[0-9]+:[0-9]+: (fatal )?error: '
echo '#include <torch/library.h>' | c++ -std=c++17 -E -x c++ - \
    "-I$($python -c 'import torch, os; print(os.path.join(os.path.dirname(torch.__file__), "include"))')" \
    >/dev/null 2>&1 || { echo "not tried: an extension, without PyTorch's headers (libtorch-dev)"; exit 0; }

say "an extension is compiled once"
expect_exit 0 "$ASSAY" kernel repos/extension --build
[ "$(find "$XDG_CACHE_HOME/assay/extensions" -name '*.so' | wc -l)" = 1 ] || fail "one extension in the cache"
touch -d '2001-01-01' "$(find "$XDG_CACHE_HOME/assay/extensions" -name '*.so')"
expect_exit 0 "$ASSAY" kernel repos/extension "${few[@]}"
expect_count 1 '✓ *│$' "$work/out"
[ -n "$(find "$XDG_CACHE_HOME/assay/extensions" -name '*.so' ! -newermt 2002-01-01)" ] || fail "it was compiled again"
