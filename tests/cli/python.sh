#!/usr/bin/env bash
# Kernels in Python: which interpreter, and what becomes of those that are wrong, raise, exit or hang.
# Not under sanitizers: the program carries no package there, because an interpreter is not sanitized
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
unset ASSAY_PYTHON VIRTUAL_ENV

# What the table says, wherever it breaks lines.
expect_words() { tr -s ' \n' ' ' <"$work/out" | grep -Eq -- "$1" || fail "the output does not say: $1"; }
python=/usr/bin/python3
"$ASSAY" bench relu "${quick[@]}" --python $python --plugin "$here/python/relu.py" --dry-run 2>&1 |
    grep -q "built without Python's headers" && skip "built without Python's headers"
$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no Python 3.11"

say "without an interpreter that can be run"
expect_exit 3 "$ASSAY" bench relu "${quick[@]}" --impl torch --python /nowhere/python
expect_err -- '--python /nowhere/python is not a program that can be run'
ASSAY_PYTHON=/nowhere expect_exit 3 "$ASSAY" bench relu "${quick[@]}" --impl torch
expect_err 'ASSAY_PYTHON /nowhere is not a program'
VIRTUAL_ENV=/nowhere expect_exit 3 "$ASSAY" bench relu "${quick[@]}" --impl torch
expect_err "VIRTUAL_ENV's /nowhere/bin/python3 is not a program"
PATH=/nowhere expect_exit 3 "$ASSAY" bench relu "${quick[@]}" --impl torch
expect_err 'there is no python3 in PATH'

say "one that is something else, or too old"
printf '#!/bin/sh\necho "I am no Python"\nexit 7\n' >false_python
printf '#!/bin/sh\nexec %s -c "import sys; sys.version_info = (3, 9, 2); exec(sys.argv[1])" "$3" "$4"\n' \
    $python >old_python
chmod +x false_python old_python
cat >small.py <<'END'
import assay

@assay.kernel("relu", framework="numpy")
def f(x):
    return x
END
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin small.py --python ./false_python
expect_words 'exit code 7.*: I am no Python'
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin small.py --python ./old_python
expect_words 'is Python 3.9; assay needs 3.11 or later'

say "without the framework: a row that says how to get it"
mkdir bare
$python -m venv bare/venv --without-pip >"$work/out" 2>&1 || rm -rf bare/venv
if [ -d bare/venv ]; then
    VIRTUAL_ENV=$work/bare/venv expect_exit 3 "$ASSAY" bench relu "${quick[@]}" --impl torch
    expect_words 'unsupported: PyTorch is not installed for .*venv/bin/python'
    VIRTUAL_ENV=$work/bare/venv expect_exit 3 "$ASSAY" bench gelu "${quick[@]}" --impl triton
    expect_words "triton's kernels of this op are for cuda"
fi

say "files that define nothing, or something else"
export ASSAY_PYTHON=$python
echo 'def f(x)' >syntax.py
expect_usage 'syntax.py: SyntaxError: .*\(syntax.py:1\)' "$ASSAY" bench relu "${quick[@]}" --plugin syntax.py
echo 'import assay' >nothing.py
expect_usage 'nothing.py: defines no kernels' "$ASSAY" bench relu "${quick[@]}" --plugin nothing.py
sed 's/"relu"/"relv"/' small.py >relv.py
expect_usage 'relv.py: .*unknown op "relv"; did you mean "relu"' "$ASSAY" bench relu "${quick[@]}" --plugin relv.py
sed 's/framework=/dtypes=["f33"], framework=/' small.py >f33.py
expect_usage 'f33.py: .*unknown dtype "f33"' "$ASSAY" bench relu "${quick[@]}" --plugin f33.py
echo 'import sys; sys.exit(4)' >exits.py
expect_usage 'exits.py: SystemExit: 4' "$ASSAY" bench relu "${quick[@]}" --plugin exits.py
echo 'import os; print("farewell", flush=True); os._exit(4)' >gone.py
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin gone.py
expect_words 'gone.py .*crashed: .*exit code 4 while it was opened.*: farewell'
expect_usage 'absent.py: this plug-in cannot be read' "$ASSAY" bench relu "${quick[@]}" --plugin absent.py
expect_exit 2 "$ASSAY" bench relu "${quick[@]}" --plugin small.py --in-process
expect_err 'Python has a process of its own'

say "KoBench's presets in Python, by the name kobench too"
cat >mine.py <<'END'
from kohakubench import BenchmarkCase

def build_cases(opts):
    return [BenchmarkCase("nothing", lambda: None, mac_counter=lambda m: 1000)]
END
ln -s "$ASSAY" kobench
for line in "./kobench --preset mine.py --device cpu" "./kobench --preset mine" "$ASSAY preset mine.py --python $python"; do
    # shellcheck disable=SC2086 # words
    expect_exit 0 $line --iters 3 --warmup 1
    expect_out '^nothing +\| .* \| 1.00 k +\| '
done
expect_exit 2 ./kobench --preset absent.py
expect_err '^kobench: there is no file absent.py'
expect_exit 2 ./kobench --preset absent.module
expect_err 'unknown preset "absent.module"'
expect_exit 2 ./kobench --preset mine.py --cache cold
expect_err 'unrecognized arguments: --cache cold'
expect_usage 'a preset in Python is measured alone' ./kobench --preset mine.py --preset attn
./kobench --preset mine.py --python "$work/old_python" --iters 1 2>"$work/err" && fail "an old Python was taken"
expect_err 'is Python 3.9; assay needs 3.11 or later'

$python -c 'import torch, numpy' 2>/dev/null || skip "the rest needs PyTorch and NumPy"

say "right ones are measured, wrong ones are named by what they did"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin "$here/python/relu.py" --kernel all -o all.json
row() { expect_words "relu_$1 $2"; }
row right '▸?[^✗]*✓'
row into '▸?[^✗]*✓'
row of_numpy '▸?[^✗]*✓'
row needs_grad '▸?[^✗]*✓'
row made_in_setup '▸?[^✗]*✓'
row wrong '✗? ?mismatch: '
row raises "✗? ?failed: NameError: name 'y' is not defined \(relu.py:[0-9]+\)"
row calls_exit '✗? ?failed: SystemExit: 3'
row ends_process '✗? ?crashed: it ended the process with exit code 0'
row crashes '✗? ?crashed: SIGSEGV'
row returns_nothing '✗? ?failed: .*returned None'
row returns_a_number '✗? ?failed: .*returned a builtins.int'
row returns_two '✗? ?failed: it returned 2 tensors, and there are 1 outputs'
row other_dtype '✗? ?failed: it returned f64 \[2, 3, 5\], not f32'
row other_shape '✗? ?failed: it returned f32 \[30\], not f32 \[2, 3, 5\]'
row transposed '✗? ?failed: .*not contiguous'
row in_place '✗? ?mismatch: changed input 0'
row refuses '✗? ?unsupported: not for \(2, 3, 5\) of f32'
row setup_raises '✗? ?failed: ValueError: no such scale'
row keeps '✗? ?mismatch: '
valid_json all.json
expect_file all.json 'Traceback \(most recent call last\)'

say "PyTorch's own ops, beside assay's"
expect_exit 0 "$ASSAY" bench relu add layernorm softmax mse "${quick[@]}" --impl native,torch
expect_count 5 '^ *▸?torch .*✓' "$work/out"
expect_out 'baseline'
expect_exit 0 "$ASSAY" bench linear --shape 8x16x24 --cache hot --iters 10 --dtype f32,bf16 --impl native,torch
expect_out 'linear_torch'

say "what a problem says: --autotune is heard"
cat >told.py <<'END'
import assay

@assay.kernel("relu", framework="numpy", can_run=lambda p: "autotune %s, recipe %s" % (p.autotune, p.recipe))
def f(x):
    return x
END
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin told.py
expect_words 'told unsupported: autotune False, recipe None'
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin told.py --autotune
expect_words 'told unsupported: autotune True, recipe None'

say "a resumed run has the same interpreter"
expect_exit 0 env -u ASSAY_PYTHON "$ASSAY" bench relu "${quick[@]}" --python $python \
    --plugin "$here/python/relu.py" --kernel relu_right
expect_exit 0 env -u ASSAY_PYTHON "$ASSAY" bench --resume last
expect_out 'relu .*✓'

say "the package of a version that nobody has used for a month is taken away by the next one"
cache=$XDG_CACHE_HOME/assay
now=$(basename "$(ls -d "$cache"/python-*)")
cat >good.py <<'END'
import assay, numpy

@assay.kernel("relu", framework="numpy")
def f(x):
    return numpy.maximum(x, 0)
END
mkdir "$cache/python-0123456789abcdef" "$cache/python-fedcba9876543210" "$cache/python-0123.1-2.tmp"
echo old >"$cache/python-0123456789abcdef/file"
touch -d '40 days ago' "$cache/python-0123456789abcdef" "$cache/python-0123.1-2.tmp"
touch -d '10 days ago' "$cache/python-fedcba9876543210"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin good.py
[ -e "$cache/python-0123456789abcdef" ] || fail "it was taken away though nothing new was written"
rm -r "${cache:?}/$now"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin good.py
[ "$(cd "$cache" && echo python-*)" = "$(printf '%s\n' "$now" python-fedcba9876543210 | sort | xargs)" ] ||
    fail "left are $(cd "$cache" && echo python-*)"
touch -d '40 days ago' "$cache/$now"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin good.py
[ -z "$(find "$cache/$now" -maxdepth 0 -mtime +1)" ] || fail "using it does not mark it as used"
