#!/usr/bin/env bash
# The same as tests/cli/judge_python.sh on a GPU: kernels in PyTorch that cheat (judge_python_cuda/cheats.py)
# are found out, and innocent ones are fine. All are measured in one command, each in a process of its
# own. Skipped where there is no CUDA device, or no PyTorch that uses it.
# usage: tests/device/judge_python_cuda.sh [-l] [NAME ...]    -l lists the rows; goes on after a failure
#   ASSAY_PYTHON=PATH   the interpreter
# shellcheck source-path=SCRIPTDIR source=../cli/lib.sh disable=SC2154
here=$(cd "$(dirname "$0")" && pwd)
: "${ASSAY_PLUGINS:=$here}" # none is needed
user_home=$HOME # packages may be there
. "$here/../cli/lib.sh"
unset ASSAY_CUDA_DRIVER
# shellcheck source=../cli/judge/common.sh
. "$here/../cli/judge/common.sh"
export ASSAY_PYTHON=${ASSAY_PYTHON:-python3}

kept='kept from|from memory|did not compute|computes once|after timing|launched nothing|[0-9] wrong|unwritten'
late="$kept|not joined|another stream|had not finished|capture|CUDA|thread"

# NAME; STATUS; REASON. Where STATUS includes ok, it may not look faster than "plain", which does not cheat.
table() {
    sed 's/^ *//; /^$/d; /^#/d' <<TABLE
    kept_by_pointer; mismatch; $kept
    kept_after_20; mismatch; $kept
    empty_when_captured; mismatch; $kept
    touches_when_captured; mismatch; $kept
    other_stream; mismatch|failed; $late
    other_stream_alone; mismatch|failed|ok; $late
    leaves_stream; mismatch|failed|ok; $late
    launched_by_thread; mismatch|failed|crashed|ok; $late
    patches_synchronize; mismatch; replaced torch.cuda.synchronize
    patches_elapsed_time; mismatch; replaced torch.cuda.Event.elapsed_time
    replaces_graph; mismatch; replaced torch.cuda.CUDAGraph
    patches_assay; mismatch; replaced assay.cuda_graphs.end
    persisting_l2; ok|mismatch|failed|impossible; L2|cache|persist|faster than
    lazy_subclass; failed; returned a cheats.Lazy, not a torch.Tensor
    on_the_cpu; failed; on another device \(the cpu\)
    in_bf16; mismatch; [0-9] wrong
    half_of_rows; mismatch; [0-9] wrong
    changes_input; mismatch; changed input 0
TABLE
}

if [ "${1-}" = -l ]; then
    table | awk -F ' *; *' '{ printf "%-24s %-30s %s\n", $1, $2, $3 }'
    exit 0
fi
"$ASSAY" info | grep -q '^cuda:0 ' || skip "no CUDA device"
HOME=$user_home "$ASSAY_PYTHON" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
    skip "no PyTorch that uses the GPU"
export HOME=$user_home # of the interpreter's packages; caches and data stay in this folder

names='' kernels=silu_cuda
while IFS=';' read -r name _; do
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    names+=" $name" kernels+=,cheats_$name
done < <(table)
while read -r name; do
    kernels+=,innocents_$name
done < <(grep -A1 -E '^@' "$here/judge_python_cuda/innocents.py" | sed -n 's/^def \([a-z_]*\).*/\1/p')
new_folder
bounded 300 "$program" bench silu --device cuda --strict-device --plugin "$here/judge_python_cuda/cheats.py" \
    --plugin "$here/judge_python_cuda/innocents.py" --kernel "$kernels" --shape 1x2048x2048 --cache hot --iters 10 \
    --warmup 1 --timeout 60s -o rows.jsonl
code=$?
expect_quiet
expect_files
[ $code -le 1 ] || wrong "exit $code: $(head -c 300 err)"

bad=0 n_ok=0
median() { sed -n 's/.*"hot":{[^}]*"median_ns":\([0-9.e+]*\).*/\1/p' <<<"$1"; }
field() { sed -n "s/.*\"$1\":\"\(\([^\"\\\\]\|\\\\.\)*\)\".*/\1/p" <<<"$2"; }
record_of() { grep -F "\"kernel\":\"$1\"" run/rows.jsonl; }

tell() { # NAME STATUS REASON
    if [ -n "$row_failed" ]; then
        bad=$((bad + 1))
        printf 'FAILED  %-24s %s: %s\n%s' "$1" "$2" "${3:0:200}" "$row_failed"
    else
        n_ok=$((n_ok + 1))
        printf 'ok      %-24s %s: %s\n' "$1" "$2" "${3:0:110}"
    fi
    row_failed=
}

[ -z "$row_failed" ] || tell 'the run' '' ''
plain=$(median "$(record_of innocents_plain)")
while IFS=';' read -r name want reason; do
    [[ " $names " == *" $name "* ]] || continue
    row=$(record_of "cheats_$name")
    want=${want// /} reason=${reason# } got=$(field status "$row") cause=$(field reason "$row")
    [[ $got =~ ^($want)$ ]] || wrong "is \"$got\", not $want"
    [ "$got" = ok ] || [[ $cause =~ $reason ]] || wrong "the reason is not: $reason"
    if [ "$got" = ok ]; then
        awk -v own="$(median "$row")" -v plain="$plain" 'BEGIN { exit !(own >= 0.97 * plain) }' ||
            wrong "is ok with $(median "$row") ns, plain has $plain"
    fi
    tell "$name" "$got" "$cause"
done < <(table)
while read -r row; do
    [ "$(field status "$row")" = ok ] || wrong "is honest"
    tell "$(field kernel "$row")" "$(field status "$row")" "$(field reason "$row")"
done < <(grep -E '"kernel":"(innocents_|silu_cuda)' run/rows.jsonl)
[ "$(grep -cE '"kernel":"(innocents_|silu_cuda)' run/rows.jsonl)" -eq 5 ] || { wrong "not five honest rows"; tell honest '' ''; }
echo "$n_ok ok, $bad failed; $SECONDS s"
[ $bad -eq 0 ]
