#!/usr/bin/env bash
# Kernels in Python that cheat, a row of the table below each (judge_python/cheats*.py), and innocent
# ones (innocents*.py). A cheat is found out, and its row says what it did; an honest kernel in Python
# and a built-in one in the same group are measured as if it were not there; nothing is left behind.
# Every innocent kernel is ok. All of a file are measured in one command: each has a process of its own.
# Not under sanitizers: the program carries no package there.
# usage: tests/cli/judge_python.sh [-l] [NAME ...]    -l lists the rows
#   ASSAY_SLOW=1     also the rows that begin with !, and the innocent ones at three shapes
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
# shellcheck source=judge/common.sh
. "$here/judge/common.sh"
unset VIRTUAL_ENV
export ASSAY_PYTHON=${ASSAY_PYTHON:-/usr/bin/python3}
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
files=$here/judge_python

kept='kept from|from memory|did not compute|computes once|after timing'
# What is late is not there, is found by the judge's clock, or writes where something else is by now.
late='outside of its calls|[0-9] wrong|unwritten|kept from|did not compute|computing after|SIGSEGV|SIGBUS|longer than|claims'
line='on the line|closed the line|ended the process'

# FILE, with @SHAPE where it is not the usual one; NAME; STATUS; REASON. The last two are regular expressions; where STATUS includes ok, what the kernel
# does may come to nothing.
table() {
    sed 's/^ *//; /^$/d; /^#/d' <<TABLE
    # answers kept and given again
    cheats; kept_by_content; mismatch; $kept
    cheats; kept_by_address; mismatch; $kept
    cheats; kept_by_object; mismatch; $kept
    cheats; kept_by_sample; mismatch; $kept
    cheats; kept_by_sum; mismatch; $kept
    cheats; kept_by_lru_cache; mismatch; $kept
    cheats; kept_after_40; mismatch; $kept|claims shorter
    cheats; kept_in_turns; mismatch; $kept
    cheats@1x256x1000; kept_by_clock; mismatch; $kept
    cheats; kept_in_memory; mismatch; $kept
    cheats; returns_last; mismatch; $kept

    # computing when looked at
    cheats; lazy_subclass; failed; returned a cheats.LazyArray, not a numpy.ndarray
    cheats; lazy_object; failed; returned a cheats.Lazy, not a numpy.ndarray
    cheats; lazy_list; failed; returned None, not a numpy.ndarray
    cheats; lazy_scalar; failed|mismatch; returned a cheats.LazyScalar|replaced
    cheats; lazy_tuple; mismatch; [0-9] wrong
    cheats; lazy_look; mismatch; replaced assay.frameworks.numpy.look
    cheats; lazy_by_gc; mismatch; replaced assay.frameworks.numpy.look
    cheats; lazy_by_cell; mismatch; replaced assay.frameworks.numpy.look, its interface,
    cheats; lazy_by_code; mismatch; replaced assay.frameworks.numpy.look.__code__
    cheats; lazy_by_class; mismatch; replaced assay.call.Call.look
    cheats; lazy_by_subclass; mismatch; replaced assay.call.Call
    cheats; lazy_by_builtin; mismatch; replaced builtins.type
    cheats; lazy_by_frame; mismatch; replaced (assay.frameworks.numpy|builtins.isinstance)
    cheats; lazy_by_trace; mismatch; traces all others
    cheats; lazy_by_profile; mismatch; traces all others
    cheats_at_load; lazy_finish; mismatch; replaced assay._runner.setup

    # computing later, or before it is asked
    cheats; late_thread; mismatch|crashed; $late
    cheats; late_in_finish; mismatch|crashed; $late
    # ok where the signal comes before the call has returned
    cheats; late_timer; mismatch|crashed|ok; $late
    cheats; late_by_gc; mismatch|crashed; $late
    cheats; late_by_audit; mismatch|crashed; $late
    cheats; early_thread; mismatch|crashed; $late|$kept
    cheats; spins_in_thread; mismatch; left threads computing
    cheats; spins_in_child; mismatch; left threads computing

    # the clock, and what judges elsewhere
    cheats; patches_perf_counter; mismatch; replaced time.perf_counter
    cheats; patches_time; mismatch; replaced time\.
    cheats; replaces_module_time; mismatch; replaced time
    cheats; patches_allclose; mismatch; replaced numpy.allclose
    cheats; patches_copyto; mismatch; replaced numpy.copyto
    cheats; patches_runner; mismatch; replaced assay._runner.explain
    cheats; patches_code; mismatch; replaced assay._runner._use_threads.__code__
    cheats; replaces_runner; mismatch; replaced assay._runner
    cheats; stops_clock; mismatch|failed|crashed; claims|took|longer|clock

    # memory that is not its own
    cheats; changes_input; mismatch; changed input 0
    cheats; writes_behind; mismatch; wrote out of bounds
    cheats; writes_before; mismatch; wrote out of bounds
    cheats; protects_input; mismatch; changed the pages
    cheats; returns_input; mismatch; [0-9] wrong
    cheats; returns_zeros; mismatch; [0-9] wrong
    cheats; returns_unwritten; mismatch; [0-9] wrong|unwritten
    cheats; aliases_input; mismatch; [0-9] wrong
    cheats; leaves_output; mismatch; unwritten
    cheats; looks_for_answer; mismatch; [0-9] wrong|unwritten
    cheats; reads_the_judge; failed; PermissionError
    cheats; rewrites_package; ok

    # less than was asked for
    cheats; downcasts; mismatch; [0-9] wrong
    cheats; truncates; mismatch; [0-9] wrong
    cheats; half_of_it; mismatch; [0-9] wrong
    cheats; all_but_one_row; mismatch; [0-9] wrong
    cheats; interpolates; mismatch; [0-9] wrong
    cheats; other_dtype; failed; returned f64

    # the line, the process, the rivals
    cheats; writes_noise; mismatch|crashed; $line
    cheats; forges_reply; mismatch|crashed; $line
    cheats; hears_commands; mismatch|crashed; $line
    cheats; closes_line; mismatch|crashed; $line
    cheats; exits; crashed; exit code 0
    cheats; exits_politely; failed; SystemExit
    cheats; kills_judge; failed; PermissionError
    cheats; first_in_line; failed; PermissionError
    cheats; forks; ok|mismatch|crashed; $line|process
    cheats; rounds_up; mismatch; floating-point unit
    cheats; ! stops_itself; timeout; no answer

    # the same in PyTorch
    cheats_torch; kept_by_pointer; mismatch; $kept
    cheats_torch; ! kept_by_version; mismatch; $kept
    cheats_torch; ! kept_by_content; mismatch; $kept
    cheats_torch; patches_synchronize; mismatch; replaced torch.cuda.synchronize
    cheats_torch; patches_elapsed_time; mismatch; replaced torch.cuda.Event.elapsed_time
    cheats_torch; ! replaces_event; mismatch; replaced torch.cuda.Event
    cheats_torch; patches_allclose; mismatch; replaced torch.allclose
    cheats_torch; ! patches_assert_close; mismatch; replaced torch.testing.assert_close
    cheats_torch; slows_reference; mismatch; [0-9] wrong
    cheats_torch; lazy_subclass; failed; returned a cheats_torch.Lazy, not a torch.Tensor
    cheats_torch; patches_data_ptr; mismatch; [0-9] wrong
    cheats_torch; ! replaces_base; mismatch; [0-9] wrong
    cheats_torch; ! negated_view; failed; negated when it is read
    cheats_torch; ! meta; failed; on another device \(meta\)
    cheats_torch; ! bf16; mismatch; [0-9] wrong
    cheats_torch; ! returns_input; mismatch; [0-9] wrong
    cheats_torch; ! in_place; mismatch; changed input 0
    cheats_torch; ! late_thread; mismatch|crashed; $late
    cheats_torch; ! forked_jit; mismatch|crashed; $late
    cheats_torch; ! looks_for_answer; mismatch|crashed; [0-9] wrong|unwritten|SIG
    cheats_torch; ! half_of_rows; mismatch; [0-9] wrong
    cheats_torch; ! ends; crashed; SIGABRT
TABLE
}

if [ "${1-}" = -l ]; then
    table | awk -F ' *; *' '{ printf "%-14s %-24s %-20s %s\n", $1, $2, $3, $4 }'
    exit 0
fi
"$ASSAY" bench relu "${quick[@]}" --plugin "$files/innocents.py" --dry-run 2>&1 |
    grep -q "built without Python's headers" && skip "built without Python's headers"
"$ASSAY_PYTHON" -c 'import sys, numpy; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    skip "needs Python 3.11 and NumPy"
has_torch=$("$ASSAY_PYTHON" -c 'import torch; print("yes")' 2>/dev/null)

n_ok=0 n_bad=0 n_unsure=0 again=
field() { sed -n "s/.*\"$1\":\"\(\([^\"\\\\]\|\\\\.\)*\)\".*/\1/p" <<<"$2"; }
record_of() { grep -F "\"kernel\":\"$1\"" run/rows.jsonl 2>/dev/null; }

# FILE NAMES: of a file's kernels those that are named, beside two that are honest.
measure() {
    local file=${1%@*} names=$2 kernels=innocents_plain,silu_portable name shape=1x64x1000
    [[ $1 != *@* ]] || shape=${1#*@}
    for name in $names; do
        kernels+=,${file}_$name
    done
    new_folder
    bounded 240 "$program" bench silu --plugin "$files/innocents.py" --plugin "$files/$file.py" --kernel "$kernels" \
        --shape "$shape" --cache hot --iters 10 --warmup 1 --threads 1 --timeout 20s -o rows.jsonl
    case $? in 0 | 1) ;; *) wrong "exit $?: $(head -c 300 err)" ;; esac
    expect_quiet
    expect_files
    for name in innocents_plain silu_portable; do
        [ "$(field status "$(record_of $name)")" = ok ] ||
            wrong "the rival $name is $(field status "$(record_of $name)"): $(field reason "$(record_of $name)")"
    done
}

tell() { # NAME STATUS REASON
    if [ -n "$row_failed" ]; then
        n_bad=$((n_bad + 1))
        printf 'FAILED  %-24s %s: %s\n%s' "$1" "$2" "${3:0:200}" "$row_failed"
    else
        n_ok=$((n_ok + 1))
        printf 'ok      %-24s %s: %s\n' "$1" "$2" "${3:0:120}"
    fi
    row_failed=
}

# Whether a row is what the table says. A row that is not is measured once more, alone: times are noisy.
judge_row() { # FILE NAME STATUS REASON
    local row got cause
    row=$(record_of "${1%@*}_$2")
    got=$(field status "$row") cause=$(field reason "$row")
    if [ -n "$again" ] && [[ $2 = kept* ]] && [ "$got" = ok ] && grep -q '"not_asked":true' <<<"$row"; then
        n_unsure=$((n_unsure + 1)) # only times tell, they were too noisy twice, and the row says so
    else
        [ -n "$row" ] || wrong "there is no row: $(head -c 300 err)"
        [[ $got =~ ^($3)$ ]] || wrong "is \"$got\", not $3"
        [ "$got" = ok ] || [[ $cause =~ $4 ]] || wrong "the reason is not: $4"
    fi
    if [ -n "$row_failed" ] && [ -z "$again" ]; then
        printf 'again   %-24s %s: %s\n%s' "$2" "$got" "${cause:0:200}" "$row_failed"
        row_failed='' again=yes
        measure "$1" "$2"
        judge_row "$@"
        again=''
        return
    fi
    tell "$2" "$got" "$cause"
}

wanted() { # NAME, which may begin with "! "
    [ ${#only[@]} -eq 0 ] || { [[ " ${only[*]} " = *" ${1#! } "* ]]; return; }
    [[ $1 != '! '* ]] || [ -n "${ASSAY_SLOW-}" ]
}

only=("$@")
mapfile -t rows < <(table)
for file in cheats cheats@1x256x1000 cheats_at_load cheats_torch; do
    [ "$file" != cheats_torch ] || [ -n "$has_torch" ] || continue
    names='' chosen=()
    for row in "${rows[@]}"; do
        IFS=';' read -r of name _ <<<"$row"
        name=${name# }
        if [ "$of" = "$file" ] && wanted "$name"; then
            chosen+=("$row")
            names+=" ${name#! }"
        fi
    done
    [ -n "$names" ] || continue
    measure "$file" "$names"
    [ -z "$row_failed" ] || tell "$file" group ''
    cp run/rows.jsonl rows.all
    for row in "${chosen[@]}"; do
        IFS=';' read -r _ name want reason <<<"$row"
        name=${name# } want=${want// /} reason=${reason# }
        cp rows.all run/rows.jsonl
        judge_row "$file" "${name#! }" "$want" "$reason"
    done
done

# Of the innocent ones all, whatever they are called.
shapes=(1x16x1000)
[ -z "${ASSAY_SLOW-}" ] || shapes+=(1x3x333 1x64x1000)
for file in innocents innocents_torch; do
    [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " = *" $file "* ]] || continue
    [ "$file" = innocents ] || [ -n "$has_torch" ] || continue
    for shape in "${shapes[@]}"; do
        new_folder
        bounded 240 "$program" bench silu --plugin "$files/$file.py" --impl "$file" --kernel all --shape "$shape" \
            --cache hot --iters 10 --warmup 1 --threads 1 --timeout 20s -o rows.jsonl ||
            wrong "exit $?: $(head -c 300 err)"
        expect_quiet
        expect_files
        while read -r row; do
            [ "$(field status "$row")" = ok ] || wrong "$(field kernel "$row"): $(field reason "$row")"
        done < <(grep '"kernel":' run/rows.jsonl)
        defined=$(grep -Ec '^@(kernel|into|assay.kernel)' "$files/$file.py")
        measured=$(grep -c '"kernel":' run/rows.jsonl)
        [ "$measured" -eq "$defined" ] || wrong "$measured rows of $defined kernels"
        tell "$file $shape" "$measured rows" ''
    done
done

if [ ${#only[@]} -eq 0 ]; then
    say "what interpreters import is put right before each of them"
    package=$(find "$XDG_CACHE_HOME/assay" -maxdepth 1 -name 'python-*')
    expect_count 0 'another one' "$package/assay/frameworks.py"
    [ ! -e "$package/numpy.py" ] || fail "a file is left that is not assay's"
    mkdir "$package/assay/__pycache__"
    echo 'raise SystemExit("changed")' >"$package/assay/_runner.py"
    expect_exit 0 "$ASSAY" bench silu "${quick[@]}" --plugin "$files/innocents.py" --kernel innocents_plain
    expect_count 0 changed "$package/assay/_runner.py"
    [ ! -e "$package/assay/__pycache__" ] || fail "compiled files are left, which nobody has compared"
fi
echo "$n_ok ok, $n_bad failed; $n_unsure not asked; $SECONDS s"
[ $n_bad -eq 0 ] && [ $n_unsure -le 3 ]
