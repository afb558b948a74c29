#!/usr/bin/env bash
# Kernels that cheat, one row of the table below each (tests/kernels/cheats_*.c), and innocent ones
# (innocents.c). A cheat is found out, and its row says what it did; two rivals in its group, an
# honest plug-in kernel and a built-in one, are measured as if it were not there; the program ends
# in time, and leaves no process, no file and no noise behind. An innocent kernel is ok.
# Not under sanitizers: they have handlers of their own and slow down what times are compared with.
# usage: tests/cli/judge.sh [-l] [NAME or CLASS ...]    -l lists the rows; goes on after a failure
#   ASSAY_SLOW=1     also the rows that take long, and the innocent ones five times
#   ASSAY_SAMPLE=N   of all rows only every Nth (make check); rows that are named are run whatever it says
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
# shellcheck source=judge/common.sh
. "$here/judge/common.sh"
leftovers=(/tmp/assay-cheat-kept /dev/shm/assay-cheat-kept)

# How findings are worded, loosely.
kept='kept from|from memory|did not compute|computes once|known (inputs|values)|ones it has seen|new values|not (take|need) as long|skip|unwritten|[0-9] wrong'
late="changed input|had not finished|after it (had )?returned|unwritten|kept from|[0-9] wrong|did not compute|protect|userfault|mapped|mapping|pages|other memory|cannot be read|process"
part='[0-9] wrong|unwritten|did not compute|kept from|computes once'
clock='computes once|clock|longer than|took|time|does not fit|claims|kept from|did not compute|unwritten|wrong|changed|wrote'
speak='thread|message|reply|replies|answer|spoke|descriptor|channel|pipe|socket|closed|exit|ended|SIG|did not compute|unwritten|kept from|no answer|wrote'
ended='exit|ended|SIG|signal|died|killed|gone|process|thread|no answer'
hung='no answer|did not (answer|return)|hang|hung'
more='process|fork|child|left|descendant|ended|SIG|limit'
memory='memory|limit|bytes|MB|GB|SIG|file|exit|descriptor'
traces='left|changed|floating|signal|thread|core|process|child|priority|SIG|kept|exit|ended|no answer|limit|trace'

# CLASS; NAME; STATUS; REASON; OPTIONS, separated by semicolons. The plug-in is cheats_CLASS.so. NAME is
# a kernel, with @WORD where one is measured in several ways. The op is gelu, or what OPTIONS begin
# with. STATUS is a regular expression; where it includes ok, what the kernel does may come to
# nothing. A row is slow where its options begin with !.
table() {
    sed 's/^ *//; /^$/d; /^#/d' <<TABLE
    # answers kept and given again
    kept; kept_full; mismatch; $kept
    kept; kept_sampled; mismatch; $kept
    kept; kept_sampled@cold; mismatch; $kept; --cache cold
    kept; kept_sampled@4m; mismatch; $kept; ! --shape 1x1024x1024
    kept; kept_sampled@64m; mismatch; $kept; ! --shape 1x16384x1024 --timeout 10s
    kept; kept_first_element; mismatch; $kept
    kept; kept_rotated; mismatch; $kept
    kept; kept_modest; mismatch; $kept
    kept; kept_slow_start; mismatch; $kept; ! --timeout 5s
    kept; kept_by_address; mismatch; $kept
    kept; kept_by_address@4m; mismatch; $kept; ! --shape 1x1024x1024
    kept; kept_by_set; mismatch; $kept
    kept; kept_by_set@cold; mismatch; $kept; --cache cold
    kept; skips_same_output; mismatch; $kept
    kept; kept_between_gaps; mismatch; $kept
    kept; kept_until_long_gap; mismatch; $kept
    kept; kept_after_40; mismatch; $kept
    kept; every_16th; mismatch; $kept
    kept; honest_when_alone; mismatch; $kept
    kept; honest_when_few; mismatch; $kept
    kept; honest_when_odd; mismatch; $kept
    kept; tires_slowly; mismatch; $kept
    kept; skips_one_in_ten; mismatch; $kept
    kept; looks_for_patterns; mismatch; $kept
    kept; looks_whether_right; mismatch; $kept
    kept; kept_by_caller; mismatch; $kept
    kept; kept_in_environment; mismatch; $kept
    kept; kept_in_file; mismatch; $kept
    kept; kept_in_shared_memory; mismatch; $kept
    kept; made_in_setup; mismatch; $kept
    kept; made_in_can_run; mismatch; $kept
    kept; made_at_load; mismatch; $kept
    kept; made_in_prepare; mismatch; $kept
    # ok where it is no faster than an honest one
    kept; made_by_helper; mismatch|crashed|ok; $kept|$more
    kept; made_by_thread; mismatch|crashed|ok; $kept|thread

    # computing when looked at
    looked_at; lazy_protected; mismatch|crashed; $late
    looked_at; lazy_page; mismatch|crashed; $late
    looked_at; lazy_key; mismatch|crashed; $late
    looked_at; lazy_userfaultfd; mismatch|crashed|timeout; $late
    looked_at; remaps_same_output; mismatch|crashed; $late
    looked_at; aliases_sets@cold; mismatch|crashed; $late; --cache cold
    looked_at; late_thread; mismatch|crashed; $late|thread|SIGSEGV
    looked_at; late_timer; mismatch|crashed; $late
    looked_at; late_timer_thread; mismatch|crashed; $late|thread
    looked_at; late_continue; mismatch|crashed; $late
    looked_at; late_end; mismatch|crashed; $late
    looked_at; late_helper; mismatch|crashed; $late|$more

    # a part of the work
    partial; partial_one_in_1000; mismatch; $part
    partial; partial_last_row; mismatch; $part
    partial; partial_edges; mismatch; $part
    partial; partial_stale_tail; mismatch; $part
    partial; partial_in_turns; mismatch; $part
    partial; partial_second_calls; mismatch; $part
    partial; partial_bf16; mismatch; $part
    partial; partial_fp8; mismatch; $part
    partial; partial_easy_values; mismatch; $part
    partial; partial_interpolated; mismatch; $part
    partial; partial_table; mismatch; $part
    partial; partial_half_precision; mismatch; $part
    partial; partial_clamped; mismatch; $part
    partial; mean_of_half; mismatch; $part; mse
    partial; mean_of_every_third; mismatch; $part; mse
    partial; mean_of_part_later; mismatch; $part; mse
    partial; mean_in_turns; mismatch; $part; mse
    partial; norm_of_quarter; mismatch; $part; layernorm
    partial; norm_of_last_call; mismatch; $part; layernorm
    partial; norm_of_first_row; mismatch; $part; layernorm

    # the clock, and the harness's own code and data
    clock; clock_code; mismatch|crashed|failed; $clock
    clock; clock_imports; mismatch|crashed|failed|ok; $clock
    clock; clock_vdso; mismatch|crashed|failed; $clock
    clock; clock_counter; mismatch|crashed|failed; $clock|SIG
    clock; clock_exported; ok|mismatch; $clock
    clock; writes_work; mismatch|crashed|failed; $clock
    clock; shrinks_problem; mismatch|crashed|failed; $clock
    clock; swaps_pointers; mismatch|crashed|failed; $clock
    clock; steals_answers; mismatch|crashed; $kept

    # forged replies, descriptors, ways to end
    pipe; pipe_noise; crashed|failed|mismatch|ok; $speak
    pipe; pipe_zeros; crashed|failed|mismatch|ok; $speak
    pipe; pipe_replies; crashed|failed|mismatch; $speak
    pipe; pipe_forges; crashed|failed|mismatch|ok; $speak
    pipe; pipe_early; crashed|failed|mismatch|timeout; $speak
    pipe; pipe_eats; crashed|failed|mismatch|timeout; $speak
    pipe; pipe_closes; crashed|failed|mismatch|timeout; $speak
    pipe; pipe_replaces; crashed|failed|mismatch|timeout; $speak
    pipe; pipe_shuts; crashed|failed|mismatch|timeout|ok; $speak
    pipe; pipe_fills; crashed|failed|mismatch|timeout; $speak
    pipe; exits_zero; crashed; $ended
    pipe; exits_well; crashed; $ended
    pipe; exits_in_thread; crashed; $ended
    pipe; executes_true; crashed|failed; $ended
    pipe; ends_thread; crashed|timeout; $ended
    pipe; jumps_back; crashed|failed|timeout|mismatch; $ended|$speak
    pipe; stops_itself; timeout|crashed; $hung|stop
    pipe; terminates_itself; crashed|killed; $ended

    # not coming back, in each function
    blame; hangs_in_can_run; timeout; $hung
    blame; hangs_in_setup; timeout; $hung
    blame; hangs_in_prepare; timeout; $hung
    blame; hangs_in_prepared_bytes; timeout; $hung
    blame; hangs_in_teardown; timeout|crashed; $hung
    blame; hangs_in_note; timeout; $hung
    blame; hangs_later; timeout; $hung
    blame; crashes_in_can_run; crashed; $ended
    blame; crashes_in_setup; crashed; $ended
    blame; crashes_in_prepare; crashed; $ended
    blame; crashes_in_prepared_bytes; crashed; $ended
    blame; crashes_in_teardown; crashed; $ended
    blame; crashes_in_note; crashed; $ended
    blame; exits_in_can_run; crashed; $ended
    blame; exits_in_setup; crashed; $ended
    blame; exits_in_prepare; crashed; $ended
    blame; exits_in_prepared_bytes; crashed; $ended
    blame; exits_in_teardown; crashed; $ended
    blame; exits_in_note; crashed; $ended

    # in a rival's turn, or a rival
    blame; kills_in_thread; crashed|killed; $ended
    blame; rings_later; crashed; $ended
    blame; faults_later; crashed; $ended
    blame; killed_by_child; crashed|killed; $ended
    blame; kills_parent; crashed|killed|failed|ok; $ended
    blame; stops_parent; crashed|timeout|failed|ok; $hung|stop|$ended
    blame; kills_own_group; crashed|killed; $ended
    blame; kills_parents_group; crashed|killed|failed|ok; $ended
    blame; kills_siblings; crashed|killed|failed|mismatch|ok; $ended
    blame; stops_siblings; crashed|timeout|failed|mismatch|ok; $ended|stop

    # more processes, memory, files, noise
    blame; forks_many; crashed|failed|mismatch|ok; $more
    blame; forks_and_returns; crashed|failed|mismatch|ok; $more|$speak
    blame; leaves_daemon; crashed|failed|mismatch|ok; $more
    blame; leaves_disguised; crashed|failed|mismatch|ok; $more
    blame; leaves_threads; crashed|mismatch; thread
    blame; hogs_memory; out_of_memory|crashed|killed; $memory; --memory-limit 1500M --timeout 20s
    blame; hogs_shared_memory; out_of_memory|crashed|killed; $memory; --memory-limit 1500M --timeout 20s
    blame; hogs_memory_file; out_of_memory|crashed|killed|ok; $memory; --memory-limit 1500M --timeout 20s
    blame; hogs_in_children; out_of_memory|crashed|failed|mismatch|ok; $memory|$more; --memory-limit 1500M --timeout 20s
    blame; takes_descriptors; crashed|failed|mismatch|ok; $memory
    blame; fills_disk; crashed|failed|mismatch|ok; $memory; ! --timeout 20s
    blame; prints_endlessly; crashed|failed|timeout|mismatch|ok; print|wrote|output|$hung|$ended; --timeout 20s
    blame; prints_escapes; crashed|failed|mismatch|ok; print|wrote|output
    blame; closes_standard; crashed|failed|mismatch|ok; closed|descriptor
    blame; removes_files; crashed|failed|mismatch|ok; file; --sandbox
    blame; scribbles; crashed|timeout|failed; $ended

    # rivals made slow
    rivals; sets_variables; ok|mismatch; $traces
    rivals; sets_threads; ok|mismatch; $traces
    rivals; rounds_up; mismatch; $traces
    rivals; flushes_subnormals; mismatch; $traces
    rivals; blocks_signals; ok|mismatch; $traces
    rivals; splits_pages; ok|mismatch; $traces
    rivals; raises_priority; ok|mismatch; $traces
    rivals; pins_itself; ok|mismatch; $traces
    rivals; pins_others; ok|mismatch; $traces
    rivals; slows_others; ok|mismatch; $traces
    rivals; limits_others; ok|mismatch|crashed|failed; $traces
    rivals; traces_others; ok|mismatch|crashed|failed|timeout; $traces
    rivals; scribbles_in_others; ok|mismatch|crashed|failed|timeout; $traces
    rivals; spins_in_child; mismatch|crashed|failed; $more
    rivals; spins_in_daemon; mismatch|crashed|failed; $more
    rivals; streams_in_child; mismatch|crashed|failed; $more
    rivals; spins_between; mismatch|crashed|failed|ok; thread|left
    rivals; holds_lock; mismatch|crashed|failed|ok; $more|lock
    rivals; scribbles_names; ok|mismatch|crashed|failed; $traces

    # when the file is loaded, asked for its kernels, unloaded: the row may be missing if the plug-in is named
    load; load_hangs; timeout; $hung
    load; load_crashes; crashed; $ended
    load; load_exits; crashed; $ended
    load; load_kills; crashed|killed; $ended
    load; load_prints; ok; .
    load; ask_hangs; timeout; $hung
    load; ask_crashes; crashed; $ended
    load; ask_exits; crashed; $ended
    load; ask_many; crashed|failed; .
    load; unload_hangs; timeout|crashed|ok; $hung
    load; unload_crashes; crashed|ok; $ended
    load; unload_exits; crashed|ok; $ended

    # none of these did anything
    innocent; plain; ok
    innocent; own_pool; ok; ; --threads 2
    innocent; polling_pool; ok; ; --threads 2
    innocent; thread_each_call; ok; ; --threads 2
    innocent; pins_its_threads; ok; ; --threads 2
    innocent; openmp; ok; ; --threads 2
    innocent; sleeping_thread; ok
    innocent; own_jit; ok
    innocent; calls_compiler; ok; ; --timeout 10s
    innocent; slow_first_call; ok
    innocent; autotunes; ok
    innocent; scratch_each_call; ok
    innocent; maps_scratch; ok
    innocent; large_stack; ok
    innocent; thread_local_state; ok
    innocent; reads_system; ok
    innocent; prints_a_line; ok
    innocent; profiles_itself; ok
    innocent; rows_by_jump; ok
    innocent; flushes_inside; ok
    innocent; branches; ok
    innocent; jumps; ok; ; relu --shape 1x1x8200
    innocent; jumps@33k; ok; ; relu --shape 1x1x33000
    innocent; costs_by_value; ok; ; --shape 1x1x7
    innocent; backwards; ok
    # its calls are faster where the output is right already: that may be found
    innocent; writes_what_differs; ok|mismatch; from memory
    innocent; sums_by_kahan; ok; ; mse
    innocent; sums_in_pairs; ok; ; mse
    innocent; packs_weights; ok; ; linear --shape 33x128x48
    innocent; packs_weights@cold; ok; ; linear --shape 33x128x48 --cache cold
    innocent; plain@cold; ok; ; --cache cold
    innocent; writes_what_differs@both; ok|mismatch; from memory; --cache both --shape 1x3x333
TABLE
}

# ---- one row ----

bad=0 n_ok=0 n_slow=0 n_not_here=0 n_unsure=0

record_of() { grep -E "\"(kernel|impl|implementation)\":\"$1\"" run/rows.jsonl 2>/dev/null; }
field() { sed -n "s/.*\"$1\":\"\(\([^\"\\\\]\|\\\\.\)*\)\".*/\1/p" <<<"$2"; }

# A rival is there, once, and well.
expect_rival() {
    local rows
    rows=$(grep -E "\"kernel\":\"$1" run/rows.jsonl 2>/dev/null)
    [ "$(grep -c . <<<"$rows")" -eq 1 ] || { wrong "not one row of $1"; return; }
    [ "$(field status "$rows")" = ok ] || wrong "$1 is $(field status "$rows"): $(field reason "$rows")"
}

# CLASS NAME STATUS REASON OPTIONS
one_row() {
    local class=$1 name=$2 want=$3 reason=$4 options=$5 kernel=${2%@*} op=gelu code row got begin=$SECONDS
    local limit=20 with=() rivals=(gelu_) cause=''
    row_failed=''
    if [[ $options =~ ^\ *([a-z_]+)\ *(.*)$ ]]; then
        op=${BASH_REMATCH[1]} options=${BASH_REMATCH[2]}
    fi
    case $options in *--timeout*) limit=60 ;; esac
    [ "$class" != innocent ] || with=(--plugin "$ASSAY_PLUGINS/innocents.so")
    [ "$class" = innocent ] || with=(--plugin "$ASSAY_PLUGINS/cheats_$class.so" --plugin "$ASSAY_PLUGINS/innocents.so")
    if [ "$class" = load ]; then
        cp "$ASSAY_PLUGINS/cheats_load.so" "$kernel.so"
        with=(--plugin "$work/$kernel.so" --plugin "$ASSAY_PLUGINS/innocents.so")
    fi
    local impls=$kernel,native
    rivals=("${op}_")
    if [ "$op" = gelu ] && [ "$kernel" != plain ]; then
        impls+=,plain
        rivals+=(plain)
    fi
    case $options in *--shape*) ;; *) options="--shape 1x16x1000 $options" ;; esac
    # Who computes for once in a long sample, on a busy machine, is slow and does not hang.
    case $class$options in *--timeout*) ;; kept*) options+=' --timeout 5s' ;; *) options+=' --timeout 1s' ;; esac
    case $options in *--cache*) ;; *) options+=' --cache hot' ;; esac
    case $options in *--threads*) ;; *) options+=' --threads 1' ;; esac
    new_folder
    # shellcheck disable=SC2086
    bounded $limit "$program" bench $op "${with[@]}" --impl "$impls" --iters 12 --warmup 1 $options -o rows.jsonl
    code=$?
    row=$(record_of "$kernel")
    got=$(field status "$row") cause=$(field reason "$row")
    if [ "$got" = unsupported ]; then
        n_not_here=$((n_not_here + 1))
    elif [ "$class" = kept ] && [ -n "${again:-}" ] && [ "$got" = ok ] && grep -q '"not_asked":true' <<<"$row"; then
        n_unsure=$((n_unsure + 1)) # only times tell, they were too noisy twice, and the row says so
    elif [ "$class" = load ] && [ -z "$row" ] && [ $code -ne 0 ] && grep -q "$kernel" err; then
        got="no row" cause=$(grep -m 1 "$kernel" err)
        rivals=()
    else
        [ "$(grep -c . <<<"$row")" -eq 1 ] || wrong "not one row of $kernel"
        [[ $got =~ ^($want)$ ]] || wrong "is \"$got\", not $want"
        [ "$got" = ok ] || [[ $cause =~ $reason ]] || wrong "the reason is not: $reason"
        [ $code -eq "$([ "$got" = ok ] && echo 0 || echo 1)" ] || wrong "exit $code"
        grep -q "${kernel:0:12}" out || wrong "the table has no line for $kernel"
    fi
    for rival in "${rivals[@]}"; do
        expect_rival "$rival"
    done
    expect_quiet
    expect_files
    if [ -n "$row_failed" ] && [ -z "${again:-}" ]; then # times are noisy: what holds holds twice
        printf 'again   %-24s %s: %s\n%s' "$name" "$got" "${cause:0:200}" "$row_failed"
        again=yes
        one_row "$@"
        again=''
        return
    fi
    if [ -n "$row_failed" ]; then
        bad=$((bad + 1))
        printf 'FAILED  %-24s %s: %s\n%s' "$name" "$got" "${cause:0:200}" "$row_failed"
        [ -n "$row" ] || head -c 600 err | sed 's/^/    | /'
    else
        n_ok=$((n_ok + 1))
        printf 'ok      %-24s %2d s  %s: %s\n' "$name" $((SECONDS - begin)) "$got" "${cause:0:110}"
    fi
}

# ---- all rows, or those that were asked for ----

if [ "${1-}" = -l ]; then
    table | awk -F ' *; *' '{ printf "%-10s %-24s %-34s %s\n", $1, $2, $3, $5 }'
    exit 0
fi
ran=0 seen=0
mapfile -t rows < <(table)
for row in "${rows[@]}"; do
    IFS=';' read -r class name want reason options <<<"$row"
    class=${class// /} name=${name// /} want=${want// /}
    reason=$(sed 's/^ *//; s/ *$//' <<<"$reason") options=$(sed 's/^ *//; s/ *$//' <<<"$options")
    if [ $# -gt 0 ]; then
        case " $* " in *" $name "* | *" $class "* | *" ${name%@*} "*) ;; *) continue ;; esac
    fi
    case $options in
    !*)
        options=${options#! }
        if [ $# -eq 0 ] && [ -z "${ASSAY_SLOW-}" ]; then
            n_slow=$((n_slow + 1))
            continue
        fi
        ;;
    esac
    seen=$((seen + 1))
    [ $# -gt 0 ] || [ $((seen % ${ASSAY_SAMPLE:-1})) -eq 0 ] || continue
    ran=$((ran + 1))
    times=1
    [ "$class" != innocent ] || [ -z "${ASSAY_SLOW-}" ] || times=5
    for _ in $(seq $times); do
        one_row "$class" "$name" "$want" "$reason" "$options"
    done
done
[ $ran -gt 0 ] || fail "no such row: $*"
echo "$n_ok ok, $bad failed; $n_not_here of them need what this machine does not have; $n_unsure not asked; $n_slow slow ones left out; $SECONDS s${ASSAY_SAMPLE:+; one row in $ASSAY_SAMPLE}"
most_unsure=8 # or nothing would be asked, and nobody would notice
[ $bad -eq 0 ] && [ $n_unsure -le $most_unsure ]
