#!/usr/bin/env bash
# What ends or disturbs the worker from outside costs at most the group in flight, and that group is
# measured again: SIGKILL, writers in its pipe, copies of it, descriptors that run out.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
runs=$XDG_DATA_HOME/assay/runs
noisy=("${quick[@]}" --plugin "$ASSAY_PLUGINS/noisy.so")

worker_of() { grep -ls "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status | cut -d/ -f3; }

say "a kernel whose worker is killed is 'killed', not out of memory; its group is not done"
expect_exit 1 "$ASSAY" bench relu "${noisy[@]}" --impl killed,quiet,ref -o rows.jsonl -o rows.csv
expect_out '^ *killed .*killed: SIGKILL from outside; --resume measures it again'
expect_out '1 group: 2 ok, 1 killed'
expect_count 1 '"kernel":"killed".*"status":"killed"' rows.jsonl
expect_count 2 '"status":"ok"' rows.jsonl
expect_count 1 ',killed,' rows.csv
expect_err '0 of 1 groups are done; continue with: assay bench --resume'
expect_count 0 '^\{"done":' "$runs"/*.jsonl
expect_exit 1 "$ASSAY" bench --resume last -q -o rows.jsonl
expect_count 3 '"record":|"kernel":' rows.jsonl

say "a worker killed by hand while its kernel runs, and resumed: every row"
rm -rf "$runs"
last_command="assay bench, its worker killed"
# Without probes, which no kernel is to blame for: killed in one, the group would begin again.
"$ASSAY" bench relu --batch 1:2:+1 --seq 3 --dim 5 --cache hot --impl ref --precision 1e-5 --budget 2s \
    --no-ceiling -o rows.jsonl >"$work/out" 2>"$work/err" &
pid=$!
started+=("$pid")
journal_there() { ls "$runs"/*.jsonl; }
wait_for journal_there >/dev/null
has_worker() { [ -n "$(worker_of $pid)" ]; }
wait_for has_worker
sleep 1
kill -9 "$(worker_of $pid)"
wait $pid
code=$?
[ $code -eq 1 ] || fail "exit $code"
expect_count 1 '"status":"killed"' rows.jsonl
expect_count 1 '"status":"ok"' rows.jsonl
expect_no_out 'out of memory'
expect_exit 0 "$ASSAY" bench --resume last -q -o rows.jsonl
expect_count 2 '"status":"ok"' rows.jsonl

say "killed by the system for memory, which is known by its count"
group='' limit=''
for folder in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    for file in memory.limit_in_bytes memory.max; do
        [ -z "$group" ] && mkdir "$folder/assay-test-$$" 2>/dev/null && group=$folder/assay-test-$$
        [ -z "$limit" ] && [ -n "$group" ] && echo 400M 2>/dev/null >"$group/$file" && limit=$file
    done
    [ -n "$limit" ] || { [ -z "$group" ] || rmdir "$group"; group=''; }
done 2>/dev/null
if is_sanitized || [ -z "$limit" ]; then
    say "  not checked: no group with a limit of its own can be made here"
else
    last_command="assay bench in $group"
    (
        echo $BASHPID >"$group/cgroup.procs" || exit 77
        exec "$ASSAY" bench relu "${quick[@]}" --plugin "$ASSAY_PLUGINS/fatal.so" --impl hog,ref -o rows.jsonl
    ) >"$work/out" 2>"$work/err"
    code=$?
    rmdir "$group"
    [ $code -eq 1 ] || [ $code -eq 77 ] || fail "exit $code"
    [ $code -eq 77 ] || expect_out 'hog .*out of memory: its process ended holding'
fi
[ -z "$group" ] || rmdir "$group" 2>/dev/null

say "a plug-in whose process is killed while it is opened: tried again, twice; then its row is killed, and can be resumed"
export ASSAY_NOISY_KILL=$work/kills
mkfifo kills
exec {kills}<>kills
printf xx >&"$kills"
expect_exit 0 "$ASSAY" bench relu "${noisy[@]}" --impl quiet,ref -o rows.jsonl
expect_count 2 '"status":"ok"' rows.jsonl
printf xxx >&"$kills"
expect_exit 1 "$ASSAY" bench relu "${noisy[@]}" --impl quiet,ref -o rows.jsonl
expect_out 'noisy .*killed: SIGKILL from outside'
expect_count 1 '"status":"ok"' rows.jsonl
expect_exit 0 "$ASSAY" bench --resume last -q -o rows.jsonl
expect_count 2 '"status":"ok"' rows.jsonl
unset ASSAY_NOISY_KILL
exec {kills}<&-

say "a worker killed by hand while it prepares a group: begun again"
rm -rf "$runs"
last_command="assay bench, its worker killed early"
"$ASSAY" bench relu --shape 64x1024x1024 --cache cold --impl ref --budget 200ms -o rows.jsonl >"$work/out" 2>"$work/err" &
pid=$!
started+=("$pid")
wait_for has_worker
kill -9 "$(worker_of $pid)"
wait $pid
code=$?
[ $code -eq 0 ] || fail "exit $code"
expect_err 'SIGKILL from outside ended the worker while it prepared the group; the group is begun again'
expect_count 1 '"status":"ok"' rows.jsonl

say "what a kernel writes on its descriptors costs its own row"
expect_exit 0 "$ASSAY" bench relu "${noisy[@]}" --impl chatty,mumbles,ref -o rows.jsonl
expect_count 3 '"status":"ok"' rows.jsonl

say "a copy of its process does not speak for it"
expect_exit 0 "$ASSAY" bench relu "${noisy[@]}" --impl forks,ref -o rows.jsonl
expect_err_lines 0
expect_count 2 '"status":"ok"' rows.jsonl

say "one that closes descriptors finds none but its own"
expect_exit 0 "$ASSAY" bench relu "${noisy[@]}" --impl closes,ref -o rows.jsonl
expect_count 2 '"status":"ok"' rows.jsonl

say "a kernel that takes all descriptors costs nobody else's rows"
(
    ulimit -n 128
    expect_exit 0 "$ASSAY" bench relu --batch 1:3:+1 --seq 1 --dim 5 --cache hot --iters 10 --warmup 1 \
        --plugin "$ASSAY_PLUGINS/noisy.so" --impl ref,leaks -o rows.jsonl
) || exit 1
expect_count 6 '"status":"ok"' rows.jsonl

say "too few descriptors: the right result or the right reason"
! is_sanitized || exit 0 # a sanitizer wants some for itself
for n in 4 6 8 10 12 14 16 18 20; do
    last_command="ulimit -n $n; assay bench"
    rm -f few.jsonl
    (ulimit -n $n && exec "$ASSAY" bench relu "${quick[@]}" --impl ref,native -q -o few.jsonl) 2>"$work/err"
    code=$?
    if [ $code -eq 0 ]; then
        expect_count 2 '"status":"ok"' few.jsonl
    else
        expect_err 'Too many open files|shared object file: Error 24' # or it is not even loaded
        [ ! -e few.jsonl ] || fail "a report without rows"
    fi
done
