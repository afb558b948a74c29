# shellcheck shell=bash disable=SC2034,SC2154
# common.sh: what judge.sh and judge_authors.sh share: running a program that may not end, and looking
# at what it leaves behind. Read after lib.sh.
#
#   bounded SECONDS CMD...   runs CMD in the folder run, in a session of its own; its exit code
#   wrong TEXT               something is wrong with this row: kept in $row_failed
#   expect_quiet             no flood and no escape sequences on standard output and error
#   expect_files             nothing was removed, and nothing left but rows.*
#   new_folder               an empty folder run, but for a file that must stay
#   leftovers                what cheats write elsewhere, to be removed: suites run side by side
row_failed='' # a line for each thing that is wrong
leftovers=()
wrong() { row_failed+="    $*"$'\n'; }

# A copy of the program: whatever runs it was started here.
mkdir program run
cp "$ASSAY" program/assay
program=$work/program/assay
mkfifo pipe
exec {leak}<>pipe # the program inherits it, and no kernel may have it

# Processes that a run left: of this program, of its session, in its folder, or in disguise.
left_over() {
    ps -eo pid= -o sid= -o stat= -o args= |
        awk -v sid="$1" '$3 !~ /^Z/ && ($2 == sid || ($4 == "sleep" && $5 == "20.0625")) { print $1 }'
    find /proc/[0-9]*/exe /proc/[0-9]*/cwd -maxdepth 0 \( -lname "$program" -o -lname "$work/run" \) 2>/dev/null |
        cut -d/ -f3
}

# The command, in a session of its own, for so many seconds at the most. A shell between us says
# what became of it, and keeps "Killed" to itself.
bounded() {
    local limit=$1 pid end left shell
    shift
    rm -f pid code
    {
        (cd run && exec setsid "$@" >../out 2>../err </dev/null) &
        echo $! >pid
        wait $!
        echo $? >code.new && mv code.new code
    } 2>/dev/null &
    shell=$!
    end=$((SECONDS + limit))
    until [ -e code ] || [ $SECONDS -ge $end ]; do
        sleep 0.03
    done
    pid=$(cat pid)
    if [ ! -e code ]; then
        wrong "did not end within $limit s"
        kill -9 -- "-$pid" 2>/dev/null
    fi
    wait $shell 2>/dev/null
    sleep 0.05 # the dead are being buried
    left=$(left_over "$pid" | sort -u)
    if [ -n "$left" ]; then
        wrong "left $(wc -l <<<"$left") processes: $(head -n 3 <<<"$left" | xargs -I PID ps -o pid=,stat=,args= -p PID | cut -c 1-50 | paste -sd,)"
        # shellcheck disable=SC2086
        kill -9 $left 2>/dev/null
    fi
    return "$(cat code)"
}

expect_quiet() {
    local stream
    if read -rt 0 -u "$leak"; then
        wrong "wrote to a descriptor that the program had inherited"
        dd if=pipe of=/dev/null iflag=nonblock status=none 2>/dev/null
    fi
    for stream in out err; do
        [ "$(stat -c %s $stream)" -lt 200000 ] || wrong "standard $stream has $(stat -c %s $stream) bytes"
        ! head -c 200000 $stream | grep -q $'\033' || wrong "standard $stream has escape sequences"
    done
}

expect_files() {
    local found
    [ "$(cat run/precious 2>&1)" = precious ] || wrong "a file was removed or changed"
    found=$(cd run && find . -type f ! -name precious ! -name 'rows.*' | head -n 3 | paste -sd,)
    [ -z "$found" ] || wrong "left files: $found"
    rm -f "${leftovers[@]}"
}

new_folder() { rm -rf run && mkdir run && echo precious >run/precious; }
