#!/usr/bin/env bash
# Workloads whose author cheats (tests/kernels/authors): with the inputs' fill, the reference, the
# tolerance, what is counted, or names. Each is found out, and an honest workload of the same file is
# measured as if it were not there; honest ones are fine.
# Not under sanitizers: compiled code is not theirs, and they slow down what its time is compared with.
# usage: tests/cli/judge_authors.sh [-l] [NAME ...]    -l lists the rows; goes on after a failure
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
# shellcheck source=judge/common.sh
. "$here/judge/common.sh"
leftovers=(/tmp/assay-author-answers /dev/shm/assay-author-meeting)
command -v cc >/dev/null || skip "no C compiler"

kept='kept from|from memory|did not compute|known (inputs|values)|ones it has seen|new values|file|shared|seed'
blind='would pass|seed|same values|does not depend|depends on|inputs|cannot tell|the check|wrong|changes little'

# NAME; STATUS; REASON
table() {
    sed 's/^ *//; /^$/d; /^#/d' <<TABLE
    # answers made beforehand: in another process, of values that are changed a little, they are of no use
    fill_keeps; harmless; $kept
    setup_knows_seed; harmless; $kept
    verify_keeps; harmless; $kept
    verify_writes_file; harmless; $kept
    verify_shares; harmless; $kept
    # inputs that do not change
    fill_ignores_seed; mismatch|mistrusted|failed; $blind|$kept
    fill_ones; mismatch|mistrusted|failed; $blind|$kept
    fill_changes_little; mismatch|mistrusted|failed; $blind|$kept
    # references that agree
    verify_copies_run; mismatch|mistrusted|failed; $blind
    verify_zeros; mistrusted; $blind
    verify_counts; mistrusted|mismatch|failed; $blind
    verify_nothing; mismatch|mistrusted; unwritten|$blind
    verify_random; mismatch|mistrusted|failed; $blind|differ|reference
    verify_changes; mismatch|mistrusted|failed; $blind|differ|reference|timed sample
    # tolerances, and what is counted
    tolerates_30_percent; mistrusted|failed|mismatch; toler|$blind
    tolerates_infinity; mistrusted|failed|mismatch; toler|$blind
    tolerates_nan; mistrusted|failed|mismatch; toler|$blind
    tolerates_negative; mistrusted|failed|mismatch; toler|$blind
    tolerates_above_values; mistrusted|failed|mismatch; toler|$blind
    counts_many_bytes; impossible|failed|mistrusted; bytes|ceiling|faster|count
    counts_many_flops; impossible|failed|mistrusted; flops|operations|ceiling|faster|count
    counts_no_number; failed|mistrusted|impossible; bytes|flops|count|number
    # not coming back
    setup_shrinks; mismatch|failed|mistrusted; unwritten|setup|shape|declare|[0-9] wrong
    setup_hangs; timeout; no answer|did not
    fill_crashes; crashed; SIG|signal
    verify_exits; crashed|failed|mistrusted; exit|ended
    teardown_crashes; crashed; SIG|signal
    # fine
    odd_tensors; ok
    honest_positive; ok
    honest_table; ok
    honest_two_inputs; ok
TABLE
}

ipcrm -M 0xa55a 2>/dev/null || true # where authors can still share memory
bad=0 n_ok=0
finish() {
    if [ -n "$row_failed" ]; then
        bad=$((bad + 1))
        printf 'FAILED  %-24s %s\n%s' "$1" "${2:0:200}" "$row_failed"
    else
        n_ok=$((n_ok + 1))
        printf 'ok      %-24s %s\n' "$1" "${2:0:120}"
    fi
}

# The least time of a workload, in ms: others only make it longer.
least_of() {
    awk -F'│' -v name="$1" '
        { gsub(/ /, "") }
        /Min\(ms\)/ { for (i = 1; i <= NF; i++) if ($i == "Min(ms)") least = i }
        $3 == name { print $least + 0; exit }' out
}

one_row() {
    local name=$1 want=$2 reason=$3 said code
    row_failed=''
    new_folder
    COLUMNS=200 bounded 30 "$program" kernel "$here/../kernels/authors/benchmarks/benchmark_authors.c" --workload "$name,honest" \
        --threads 1 --iterations 20 --timeout 2s
    code=$?
    said=$(grep -E "^ *$name: (✗|reference) " out | head -n 1)
    if [ "$want" = harmless ] && [ $code -eq 0 ]; then # it found nothing to give, and computed
        awk -F'│' -v mine="$(least_of "$name")" -v honest="$(least_of honest)" 'BEGIN { exit !(mine > 0.6 * honest) }' ||
            wrong "is faster than the honest one"
    elif [ "$want" = ok ]; then
        grep -q "│ $name .*✓" out || wrong "is not fine: $said"
        [ $code -eq 0 ] || wrong "exit $code"
    else
        [[ $said =~ (${want/harmless/mismatch}):\ .*($reason) ]] || wrong "no line says: $want: $reason"
        [ $code -eq 1 ] || wrong "exit $code"
    fi
    grep -q '│ honest .*✓' out || wrong "the honest workload is not fine: $(grep -E '^ *honest: ' out)"
    expect_quiet
    expect_files
    if [ -n "$row_failed" ] && [ -z "${again:-}" ]; then # times are noisy: what holds holds twice
        printf 'again   %-24s %s\n%s' "$name" "${said:0:200}" "$row_failed"
        again=yes
        one_row "$@"
        again=''
        return
    fi
    finish "$name" "$said"
}

# A name that means something to a terminal, a spreadsheet or a shell is refused, or shown as what it is.
one_name() {
    local name=$1 code
    row_failed=''
    new_folder
    cat >named.c <<C
#include <assay/assay_kernel.h>
static void setup(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, 4096);
    assay_output(s, "out", ASSAY_DTYPE_F32, 4096);
}
static int doubled(const assay_call *c)
{
    for (int i = 0; i < 4096; i++)
        ((float *)c->out[0])[i] = 2 * ((const float *)c->in[0])[i];
    return 0;
}
ASSAY_BENCHMARK(Names, 0, setup, {"$name", doubled, doubled})
C
    bounded 20 "$program" kernel "$work/named.c" --threads 1 --iterations 5 --no-ceiling -o csv:rows.csv -o rows.json
    code=$?
    [ $code -eq 0 ] || [ $code -eq 2 ] || wrong "exit $code: $(grep "✗" out | head -n 1)"
    [ $code -eq 0 ] || [ "$(wc -l <err)" -le 2 ] || wrong "standard error has $(wc -l <err) lines"
    if [ $code -eq 0 ]; then
        ! grep -qE '(^|,)"?[=+@-][^0-9.,]' run/rows.csv || wrong "the CSV has a formula: $(grep -oE '(^|,)"?[=+@-][^,]*' run/rows.csv | head -n 1)"
        valid_json run/rows.json
    fi
    expect_quiet
    expect_files
    if [ -n "$row_failed" ] && [ -z "${again:-}" ]; then
        printf 'again   name %-19s\n%s' "$name" "$row_failed"
        again=yes
        one_name "$name"
        again=''
        return
    fi
    finish "name $name" "exit $code: $(head -c 90 err | tr '\n' ' ')"
}

# shellcheck disable=SC2016
names=('\033[2J\033]0;mine\007' "=cmd()|'!A0" '+1+1' '@SUM(A1:A9)' '-1+cmd' 'a\nb\tc' '$(touch)`touch`' '' '../../up' '\xff\xfe')

if [ "${1-}" = -l ]; then
    table | awk -F ' *; *' '{ printf "%-24s %s\n", $1, $2 }'
    echo "names"
    exit 0
fi
mapfile -t rows < <(table)
for row in "${rows[@]}"; do
    IFS=';' read -r name want reason <<<"$row"
    want=${want// /} reason=$(sed 's/^ *//; s/ *$//' <<<"$reason")
    if [ $# -eq 0 ] || [[ " $* " == *" $name "* ]]; then
        one_row "$name" "$want" "$reason"
    fi
done
if [ $# -eq 0 ] || [[ " $* " == *" names "* ]]; then
    for name in "${names[@]}"; do
        one_name "$name"
    done
fi
[ $((n_ok + bad)) -gt 0 ] || fail "no such row: $*"
echo "$n_ok ok, $bad failed; $SECONDS s"
[ $bad -eq 0 ]
