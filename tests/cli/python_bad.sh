#!/usr/bin/env bash
# Python that goes wrong: each kernel costs its own row, each file a row or a line, and Ctrl-C ends all of it.
# Not under sanitizers: the program carries no package there, because an interpreter is not sanitized
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
unset ASSAY_PYTHON VIRTUAL_ENV
python=/usr/bin/python3
quick+=(--no-ceiling)

# What the table says, wherever it breaks lines.
expect_words() { tr -s ' \n' ' ' <"$work/out" | grep -Eq -- "$1" || fail "the output does not say: $1"; }
row() { expect_words " $prefix$1 $2"; }

"$ASSAY" bench relu "${quick[@]}" --python $python --plugin "$here/python/arrays.py" --dry-run 2>&1 |
    grep -q "built without Python's headers" && skip "built without Python's headers"
$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no Python 3.11"

say "environments that are broken"
mkdir -p dangling/bin broken/bin
ln -s /nowhere/python3 dangling/bin/python3
VIRTUAL_ENV=$work/dangling expect_exit 3 "$ASSAY" bench relu "${quick[@]}" --impl torch
expect_err "VIRTUAL_ENV's .*/dangling/bin/python3 is not a program that can be run"
printf '#!/bin/sh\necho "Fatal Python error: init_fs_encoding: failed to get the Python codec" >&2\nexit 1\n' >broken/bin/python3
chmod +x broken/bin/python3
VIRTUAL_ENV=$work/broken expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --impl torch
expect_words 'python:torch ✗? ?crashed: .*exit code 1.*: Fatal Python error: init_fs_encoding'
VIRTUAL_ENV=$work/broken expect_exit 0 "$ASSAY" info
expect_out '^python +.*/broken/bin/python3 does not work: Fatal Python error: init_fs_encoding'
expect_exit 0 "$ASSAY" info --python /nowhere
expect_out '^python +not found: --python /nowhere is not a program'
PATH=/nowhere expect_exit 0 "$ASSAY" list implementations
expect_out '^triton +not found: there is no python3 in PATH'
expect_exit 0 "$ASSAY" list implementations --python $python
expect_out '^torch-compile +[a-zA-Z]'
expect_exit 0 "$ASSAY" list implementations --names
for name in native torch torch-compile triton; do expect_out "^$name\$"; done

export ASSAY_PYTHON=$python
say "files whose import fails, ends, or takes too long"
echo 'raise RuntimeError("not today")' >raises.py
expect_usage 'raises.py: RuntimeError: not today \(raises.py:1\)' "$ASSAY" bench relu "${quick[@]}" --plugin raises.py
echo 'import torhc' >misses.py
expect_usage "misses.py: ModuleNotFoundError: No module named 'torhc'" "$ASSAY" bench relu "${quick[@]}" --plugin misses.py
echo 'import time; time.sleep(60)' >slow.py
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin slow.py --timeout 1s
expect_words 'slow.py ✗? ?timeout: importing slow.py took longer than 1 s: allow more with --timeout'
expect_words 'ref '
if command -v script >/dev/null; then
    last_command="on a terminal"
    TERM=xterm script -qec "stty cols 100 rows 50; $ASSAY bench relu ${quick[*]} --plugin slow.py --timeout 2s" /dev/null \
        >"$work/out" 2>"$work/err" </dev/null
    expect_out 'importing slow.py …'
fi

say "Ctrl-C while a file is imported, and while a kernel does not end"
if env --default-signal=INT true 2>/dev/null && command -v pgrep >/dev/null; then
    # The worker's child runs Python.
    python_runs() { pgrep -P "$(pgrep -P "$pid" | head -n 1)" python >/dev/null; }
    one_done() { grep -qs '^{"done":' "$XDG_DATA_HOME"/assay/runs/*.jsonl; }
    interrupted() { # WHAT-TO-WAIT-FOR COMMAND...
        local there=$1 code
        shift
        last_command="interrupted: $*"
        rm -rf "$XDG_DATA_HOME/assay/runs"
        env --default-signal=INT "$@" >"$work/out" 2>"$work/err" &
        pid=$!
        started+=("$pid")
        wait_for "$there"
        kill -INT $pid
        wait $pid
        code=$?
        [ $code -eq 130 ] || fail "exit $code, expected 130"
        expect_err '^assay: interrupted$'
    }
    interrupted python_runs "$ASSAY" bench relu "${quick[@]}" --plugin slow.py
    if $python -c 'import numpy' 2>/dev/null; then
        cat >runs.py <<'END'
import assay, time

@assay.kernel("gelu", framework="numpy")
def f(x):
    time.sleep(60)
END
        interrupted one_done "$ASSAY" bench relu gelu "${quick[@]}" --plugin runs.py -o partial.json
        expect_err '1 of 2 groups are done; continue with: assay bench --resume'
        valid_json partial.json
        expect_file partial.json '"op": *"relu"'
    fi
fi

$python -c 'import numpy' 2>/dev/null || skip "the rest needs NumPy"
say "kernels that never end, leave, or return what is no result"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin "$here/python/arrays.py" --impl arrays --kernel all --timeout 3s -o arrays.json
prefix=arrays_
row right '▸?[^✗]*✓'
row never_ends '✗? ?timeout: no answer within 3 s \(--timeout\)'
row empty '✗? ?failed: it returned f32 \[0, 3, 5\], not f32 \[2, 3, 5\]'
row wrong_type '✗? ?failed: it returned f64'
row every_second '✗? ?failed: TypeError: it returned an array that is not contiguous'
row interrupts '✗? ?failed: KeyboardInterrupt \(arrays.py:[0-9]+\)'
row deep '✗? ?failed: RecursionError: maximum recursion depth exceeded'
row long_words '✗? ?failed: ValueError: first line … \(arrays.py:[0-9]+\)'
row closes '✗? ?crashed: '
row of_objects '✗? ?failed: TypeError: it returned object, which no op of assay has'
row asked '✗? ?failed: RuntimeError: cannot say \(arrays.py:[0-9]+\)'
row set_up_for_ever '✗? ?timeout: no answer within 3 s \(--timeout\) in setup'
row leaves_in_setup '✗? ?failed: SystemExit: I leave'
row ends_in_setup '✗? ?crashed: it ended the process with exit code 0 in setup'
row ends_when_asked '✗? ?crashed: it ended the process with exit code 0 in can_run'
valid_json arrays.json

$python -c 'import torch' 2>/dev/null || skip "the rest needs PyTorch"
say "tensors that are no plain result"
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin "$here/python/tensors.py" --impl tensors --kernel all
prefix=tensors_
row elsewhere '✗? ?failed: TypeError: it returned a tensor on another device \(meta\)'
row zero_size '✗? ?failed: it returned f32 \[0, 3, 5\], not f32 \[2, 3, 5\]'
row sparse '✗? ?failed: TypeError: it returned a tensor of layout torch.sparse_coo; return t.to_dense\(\)'
row conjugate '✗? ?failed: TypeError: it returned '
row negated '✗? ?failed: TypeError: it returned a view that is negated'
row expanded '✗? ?failed: TypeError: it returned a tensor that is not contiguous'
row right '▸?[^✗]*✓'
