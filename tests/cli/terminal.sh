#!/usr/bin/env bash
# What is only seen on a terminal: colour, progress, and that everything fits whatever its width.
# Not under sanitizers: it is about what a screen shows; tests of reports and of the time left run the same code there.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
command -v script >/dev/null || skip "no script(1) to make a terminal with"
# Long enough to be drawn at least once.
bench="$ASSAY bench relu --batch 2 --seq 3 --dim 5,6 --cache hot --iters 20 --warmup 1 --impl native,ref"

# on_terminal COMMAND: in a terminal of 100 columns, or of $columns.
on_terminal() {
    last_command=$*
    script -qec "stty cols ${columns:-100} rows 50; $*" /dev/null >"$work/out" 2>"$work/err" </dev/null ||
        fail "exit $?"
}

# Whatever stood on a line at some time: a cleared one begins anew.
pieces() { sed 's/\r$//; s/\r\x1b\[K/\n/g' "$work/out" | sed 's/\x1b\[[0-9;]*m//g'; }
# What is on the screen in the end.
screen() { sed 's/\r$//; s/.*\r\x1b\[K//; s/\x1b\[[0-9;]*m//g' "$work/out"; }

# expect_fits WIDTH: no line is wider. All characters here are one column wide.
expect_fits() {
    local wide
    wide=$(pieces | awk -v most="$1" '{ t = $0; gsub(/[\200-\277]/, "", t) } length(t) > most { print length(t) ": " $0 }')
    [ -z "$wide" ] || fail "wider than $1 columns: $wide"
}
# The C locale counts bytes, on every awk.
awk() { LC_ALL=C command awk "$@"; }

# expect_nothing_glued N: the heads of N runs begin lines, and no progress is left.
expect_nothing_glued() {
    local heads
    heads=$(grep -Ec '^assay [0-9]|^  Running ' "$work/screen")
    [ "$heads" -eq "$1" ] || fail "$heads of $1 heads begin a line"
    ! grep -E '\[[0-9]+/[0-9]+\]|s left' "$work/screen" || fail "progress is left on the screen"
}

export TERM=xterm
say "progress and colour"
on_terminal "$bench"
expect_out '\[1/2\] relu 2x3x5 f32'
expect_out '\[2/2\] relu 2x3x6 f32'
expect_out $'\033\\[[0-9;]+m'
screen >"$work/screen"
expect_nothing_glued 1
pieces | grep -Eq '^\[[12]/2\] relu 2x3x[56] f32, about [0-9]+ s left$' || fail "no time left"

say "NO_COLOR is heard, an empty one is not"
on_terminal "NO_COLOR=1 $bench"
expect_no_out $'\033\\[[0-9;]+m'
expect_out '\[1/2\] relu'
on_terminal "NO_COLOR= $bench"
expect_out $'\033\\[[0-9;]+m'

say "a dumb terminal, and one that nobody names, gets no escape codes"
for term in TERM=dumb '-u TERM' TERM=; do
    on_terminal "env $term $bench"
    expect_no_out $'\033'
    expect_out 'relu \[2, 3, 6\] f32'
done

say "quiet is quiet"
on_terminal "$bench -q"
[ ! -s "$work/out" ] || fail "something was printed"

say "a long run has a bar; where lines stay, there are few"
long="$ASSAY bench relu --batch 2 --seq 64 --dim 1000,1001,1002,1003,1004,1005,1006,1007 --cache both --budget 1s --precision 0.001% --impl native"
# for_seconds N ENVIRONMENT COMMAND: ended by Ctrl-C.
for_seconds() {
    last_command="$2 $3"
    script -qec "stty cols 100; env $2 timeout --foreground -s INT $1 $3" /dev/null >"$work/out" 2>"$work/err" </dev/null
}
for_seconds 2 LANG=C "$long"
pieces >"$work/pieces"
grep -Eq '^\[(━)*╸ *\] 1/8 relu 2x64x1000 f32, about [0-9]+ s left$' "$work/pieces" || fail "no bar"
for_seconds 2 LC_ALL=C "$long"
pieces >"$work/pieces"
grep -Eq '^\[=*> *\] 1/8 relu 2x64x1000 f32, about [0-9]+ s left$' "$work/pieces" || fail "no ASCII bar"
for_seconds 4 TERM=dumb "$long"
pieces >"$work/pieces"
expect_no_out $'\033'
expect_count 1 '^\[[1-4]/8\] relu 2x64x100[0-9] f32(, about [0-9]+ s left)?$' "$work/pieces"

cat >c.yml <<'END'
quantization_config_recipe_names: [int8wo, int4wo-32]
output_dir: made
model_params:
  - name: a_name_that_takes_some_of_the_line
    matrix_shapes: [{name: custom, shapes: [[4, 64, 32]]}]
    high_precision_dtype: float32
    model_type: ln_linear_gelu
END
run="$ASSAY run c.yml --iters 3 --warmup 1"
recipes="$ASSAY bench linear --shape 4x64x32 --recipe int8wo,int8dq --impl native,ref --iters 3 --warmup 1"
both="$ASSAY bench softmax --batch 2 --seq 3 --dim 5,4096 --iters 3 --warmup 1 --impl native,ref"
preset="$ASSAY preset mlp --set batch=1 --set seq_len=8 --set embed_dim=16 --iters 3 --warmup 1 --device cpu --compile"
kernel="$ASSAY kernel ./twice --iters 3 --warmup 1"
mkdir -p twice/benchmarks
cat >twice/benchmarks/benchmark_twice.c <<'C'
#include <assay/assay_kernel.h>

enum { N = 64 * 1024 };

static void setup(assay_setup *s)
{
    assay_input(s, "x", ASSAY_DTYPE_F32, N);
    assay_output(s, "out", ASSAY_DTYPE_F32, N);
}

static int twice(const assay_call *call)
{
    for (int i = 0; i < N; i++)
        ((float *)call->out[0])[i] = 2 * ((const float *)call->in[0])[i];
    return 0;
}

ASSAY_BENCHMARK(ABenchmarkWithALongName, 7, setup, {"a_workload_with_a_name", twice, twice})
C
printf 'name: twice\n' >twice/assay.yml
if command -v cc >/dev/null; then expect_exit 0 "$ASSAY" kernel ./twice --build; else kernel=; fi

# Without cc there is no kernel to measure.
tables=("$both" "$recipes" "$run" "$preset" ${kernel:+"$kernel"})
printf '%s\n' "${tables[@]}" >tables.sh

# picture LOCALE: what the tables look like on a terminal of $columns, in $work/screen.
if command -v tmux >/dev/null; then
    export TMUX_TMPDIR=$work
    picture() {
        last_command="tmux, $columns columns, LC_ALL=$1: $(cat tables.sh)"
        rm -f drawn
        tmux -u -f /dev/null new-session -d -x "$columns" -y 500 "LC_ALL=$1 TERM=xterm sh tables.sh; touch drawn; sleep 600"
        for _ in $(seq 1200); do [ -e drawn ] && break; sleep 0.1; done
        tmux capture-pane -p >"$work/screen"
        tmux capture-pane -p -J >"$work/out" # wrapped lines joined
        tmux kill-server
        [ "$(grep -c . "$work/screen")" -eq "$(grep -c . "$work/out")" ] || fail "a line is wrapped"
    }
else
    echo "  (no tmux to take pictures with: widths are counted)"
    picture() {
        on_terminal "LC_ALL=$1 sh tables.sh"
        expect_fits "$columns"
        screen >"$work/screen"
    }
fi

say "every table fits, in UTF-8 and in ASCII, and shares no line with the progress"
widths=(80 100 140)
is_sanitized && widths=(80) # slow
for columns in "${widths[@]}"; do
    for locale in C.UTF-8 C; do
        picture $locale
        expect_nothing_glued ${#tables[@]}
        cp "$work/screen" "$work/screen.$columns.$locale"
        ! grep -E '(model|workload):[A-Za-z]' "$work/screen" || fail "internal names"
    done
    grep -q '✓' "$work/screen.$columns.C.UTF-8" || fail "no UTF-8 although the locale has it"
    ! LC_ALL=C grep -q $'[\x80-\xff]' "$work/screen.$columns.C" || fail "characters beyond ASCII"
done

say "the progress fits as well, and has no internal names"
columns=80
for command in "$run" ${kernel:+"$kernel"}; do
    on_terminal "$command"
    expect_fits 80
    expect_no_out '(model|workload):[A-Za-z]'
done
for command in "$ASSAY run c.yml --dry-run" "$ASSAY bench softmax --dry-run"; do
    on_terminal "$command"
    expect_fits 80
    expect_out '^ +# .*(model|op) .* rows .* time'
done
columns=

if [ ${#widths[@]} -gt 1 ]; then
    say "a wide terminal shows more than a narrow one"
    rates=' time .*speedup .*GB/s +ceil .*speedup .*GB/s +ceil'
    expect_count 0 "$rates" "$work/screen.80.C.UTF-8"
    expect_file "$work/screen.80.C.UTF-8" '^ +time .*speedup .* time .*speedup'
    expect_file "$work/screen.140.C.UTF-8" "$rates"
fi

say "COLUMNS is for what is no terminal"
# shellcheck disable=SC2086
{
    expect_exit 0 env COLUMNS=80 $both
    expect_fits 80
    expect_exit 0 env COLUMNS=wide $both
}
expect_out 'time +± +speedup +ceil'

say "the locale says what characters there are; files are UTF-8"
for locale in LC_ALL=C LC_ALL=POSIX LC_ALL=en_US.ISO-8859-1 'LC_ALL= LC_CTYPE=C LANG=C.UTF-8' 'LC_ALL= LC_CTYPE= LANG='; do
    # shellcheck disable=SC2086
    expect_exit 0 env $locale $bench -o table:table.txt -o table:-
    ! LC_ALL=C grep -q $'[\x80-\xff]' "$work/out" || fail "$locale: characters beyond ASCII"
    expect_file table.txt '✓'
done
for locale in LC_ALL=C.UTF-8 LC_ALL=xx_YY.utf8@somewhere 'LC_ALL= LC_CTYPE=C.utf8 LANG=C' 'LC_ALL= LC_CTYPE= LANG=C.UTF-8'; do
    # shellcheck disable=SC2086
    expect_exit 0 env $locale $bench
    expect_out '✓'
done
