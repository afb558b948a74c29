#!/usr/bin/env bash
# The same as tests/cli/judge.sh on a GPU: kernels that cheat (tests/device/judge_cuda/cheats.cu) are found
# out, rivals in the same group are measured as if they were not there, innocent ones (innocents.cu)
# are fine. Device code is compiled by NVRTC. Skipped where there is no CUDA device.
# usage: tests/device/judge_cuda.sh [-l] [NAME or CLASS ...]    -l lists the rows; goes on after a failure
# shellcheck source-path=SCRIPTDIR source=../cli/lib.sh disable=SC2154
here=$(cd "$(dirname "$0")" && pwd)
: "${ASSAY_PLUGINS:=$here}" # none is needed
. "$here/../cli/lib.sh"
unset ASSAY_CUDA_DRIVER
# shellcheck source=../cli/judge/common.sh
. "$here/../cli/judge/common.sh"

kept='kept from|from memory|did not compute|computes once|known (inputs|values)|ones it has seen|new values|unwritten|[0-9] wrong|nothing|launch'
late="$kept|had not finished|other stream|host's clock|after its stream|busy|thread|left|process"
gone='CUDA|error|context|SIG|exit|ended|no answer|did not|memory|launch|refused'

# CLASS; NAME, with @WORD where one is measured in several ways; STATUS; REASON; OPTIONS
# Whatever is "ok" may not look faster than "honest", the same launch without the cheat.
table() {
    sed 's/^ *//; /^$/d; /^#/d' <<TABLE
    kept; kept_by_pointer; mismatch; $kept
    kept; copied_from_first; mismatch; $kept
    kept; kept_in_managed; mismatch; $kept
    kept; content_on_device; mismatch; $kept
    kept; content_on_device@2m; mismatch; $kept; --shape 8x128x512
    kept; content_on_device@64m; mismatch; $kept; --shape 16x1024x1024
    # in a sample every call has the same operands: only the time tells
    skipped; one_launch; mismatch|impossible; $kept|faster than
    # an empty graph is seen, and the host's clock taken
    skipped; empty_when_captured; mismatch|ok; $kept
    skipped; tires_in_replays; mismatch; $kept
    skipped; skips_one_in_8; mismatch; $kept
    skipped; first_rows_later; mismatch; $kept
    skipped; launch_fails; mismatch|failed|crashed; $kept|$gone
    skipped; empty_graph; mismatch|failed; $kept
    skipped; finds_old_memory; mismatch; $kept
    # timed by the host's clock until the device is idle these may be fine: their note says so
    stream; other_stream; mismatch|failed|ok; $late
    stream; other_stream_direct; mismatch|failed|ok; $late
    stream; joined_later; mismatch|failed|ok; $late
    stream; legacy_stream; mismatch|failed|ok; $late
    stream; launched_by_thread; mismatch|failed|crashed; $late
    stream; launched_by_callback; mismatch|failed|crashed; $late
    stream; persistent; mismatch|failed|crashed|timeout; $late|$gone
    stream; always_in_background; mismatch|failed|crashed|timeout; $late|$gone
    clock; forged_events; mismatch|failed|crashed|impossible|timeout; clock|event|time|faster|changed
    clock; persisting_l2; ok|mismatch|failed|impossible; L2|cache|persist; --cache cold
    partial; in_bf16; mismatch; wrong
    partial; approximated; mismatch; wrong
    harm; past_the_end; mismatch|crashed; past the end|out of bounds|guard|behind
    harm; eases_input; mismatch; changed input
    harm; traps_later; crashed; $gone
    harm; spins_meanwhile; mismatch|failed|crashed|ok; $late
    harm; hogs_gpu; failed|crashed|mismatch|out_of_memory|ok; $gone
    harm; frees_output; failed|crashed|mismatch; $gone|$kept
    harm; resets_device; failed|crashed|mismatch; $gone
    innocent; plain_cuda; ok
    innocent; two_launches; ok
    innocent; joined_stream; ok
    innocent; through_scratch; ok
    innocent; waits; ok
    innocent; counts_calls; ok
    innocent; plain_cuda@30k; ok; ; --shape 1x15x512
    innocent; plain_cuda@2m; ok; ; --shape 8x128x512
    innocent; plain_cuda@64m; ok; ; --shape 16x1024x1024
TABLE
}

if [ "${1-}" = -l ]; then
    table | awk -F ' *; *' '{ printf "%-10s %-24s %-34s %s\n", $1, $2, $3, $5 }'
    exit 0
fi
"$ASSAY" info | grep -q '^cuda:0 ' || skip "no CUDA device"
command -v cc >/dev/null || skip "no C compiler"
for file in cheats innocents; do
    last_command="cc $file.cu"
    cc -x c -std=gnu17 -O2 -shared -fPIC -I "$here/../../include" -o $file.so "$here/judge_cuda/$file.cu" || fail "$file.cu does not compile"
done

bad=0 n_ok=0
median() { sed -n 's/.*"\(hot\|cold\)":{[^}]*"median_ns":\([0-9.e+]*\).*/\2/p' <<<"$1"; }
field() { sed -n "s/.*\"$1\":\"\(\([^\"\\\\]\|\\\\.\)*\)\".*/\1/p" <<<"$2"; }

one_row() {
    local name=${1%@*} want=$2 reason=$3 options=$4 code row got cause rival begin=$SECONDS
    row_failed=''
    new_folder
    case $options in *--cache*) ;; *) options+=' --cache hot' ;; esac
    case $options in *--shape*) ;; *) options+=' --shape 1x2048x2048' ;; esac
    # shellcheck disable=SC2086
    bounded 60 "$program" bench gelu --device cuda --strict-device --plugin "$work/cheats.so" --plugin "$work/innocents.so" \
        --impl "$name,honest,plain_cuda,cuda" --iters 12 --warmup 1 --timeout 5s $options -o rows.jsonl
    code=$?
    row=$(grep "\"kernel\":\"$name\"" run/rows.jsonl)
    got=$(field status "$row") cause=$(field reason "$row")
    [ "$(grep -c . <<<"$row")" -eq 1 ] || wrong "not one row of $name: $(head -c 300 err)"
    [[ $got =~ ^($want)$ ]] || wrong "is \"$got\", not $want"
    [ "$got" = ok ] || [[ $cause =~ $reason ]] || wrong "the reason is not: $reason"
    [ $code -eq "$([ "$got" = ok ] && echo 0 || echo 1)" ] || wrong "exit $code"
    if [ "$got" = ok ] && [ "$class" != innocent ]; then
        awk -v own="$(median "$row")" -v honest="$(median "$(grep '"kernel":"honest"' run/rows.jsonl)")" \
            'BEGIN { exit !(own >= 0.97 * honest) }' ||
            wrong "is ok with $(median "$row") ns, honest has $(median "$(grep '"kernel":"honest"' run/rows.jsonl)")"
    fi
    for rival in honest plain_cuda gelu_cuda; do
        row=$(grep "\"kernel\":\"$rival" run/rows.jsonl)
        [ "$(field status "$row")" = ok ] || wrong "$rival is \"$(field status "$row")\": $(field reason "$row")"
    done
    expect_quiet
    expect_files
    if [ -n "$row_failed" ]; then
        bad=$((bad + 1))
        printf 'FAILED  %-24s %s: %s\n%s' "$1" "$got" "${cause:0:200}" "$row_failed"
    else
        n_ok=$((n_ok + 1))
        printf 'ok      %-24s %2d s  %s: %s\n' "$1" $((SECONDS - begin)) "$got" "${cause:0:110}"
    fi
    grep -E "^ *($name|honest|plain_cuda) .* [num]?s " out | sed 's/^/    | /' | cut -c 1-110
}

mapfile -t rows < <(table)
for row in "${rows[@]}"; do
    IFS=';' read -r class name want reason options <<<"$row"
    class=${class// /} name=${name// /} want=${want// /}
    reason=$(sed 's/^ *//; s/ *$//' <<<"$reason")
    if [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || [[ " $* " == *" $class "* ]]; then
        one_row "$name" "$want" "$reason" "$options"
    fi
done
[ $((n_ok + bad)) -gt 0 ] || fail "no such row: $*"
echo "$n_ok ok, $bad failed; $SECONDS s"
[ $bad -eq 0 ]
