#!/usr/bin/env bash
# Files that were damaged: no changed figure is believed, no report gets shorter, what is lost is said
# and measured again.
# usage: damage.sh [FLIPS]   so many flipped bits of each kind of file (default 40)
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
flips=${1:-${ASAN_OPTIONS:+12}} # fewer under sanitizers, where each takes longer
flips=${flips:-40}
runs=$XDG_DATA_HOME/assay/runs
RANDOM=${SEED:-4711} # the same bits each time

# flip FILE BIT: flips one bit of it.
flip() {
    local at=$(($2 / 8)) byte
    byte=$(od -An -tu1 -j $at -N 1 "$1")
    # shellcheck disable=SC2059
    printf "\\x$(printf %x $((byte ^ (1 << $2 % 8))))" | dd of="$1" bs=1 seek=$at conv=notrunc status=none
}
bits_of() { echo $(($(stat -c %s "$1") * 8)); }
pick() { echo $(((RANDOM << 15 | RANDOM) % $1)); }

# Rows without what a new measurement changes: which there are, and how they ended.
rows_of() { grep -o '"op":.*"reason":' "$1" | sed 's/"note":.*"status"/"status"/' | sort; }

expect_exit 0 "$ASSAY" bench relu --batch 1:6:+1 --seq 3 --dim 5 --cache hot --iters 10 --warmup 1 --impl ref,native \
    -q -o whole.jsonl
id=$(basename "$runs"/*.jsonl .jsonl)
journal=$runs/$id.jsonl
cp "$journal" whole.journal
rows_of whole.jsonl >whole.rows
[ "$(wc -l <whole.rows)" -eq 12 ] || fail "not 12 rows"

say "$flips flipped bits of a journal: the same report, or told and measured again, or refused"
same=0 again=0 refused=0
for _ in $(seq "$flips"); do
    bit=$(pick "$(bits_of whole.journal)")
    last_command="assay bench --resume, bit $bit flipped"
    cp whole.journal "$journal"
    cp whole.jsonl report.jsonl
    flip "$journal" "$bit"
    "$ASSAY" bench --resume "$id" -q -o report.jsonl >"$work/out" 2>"$work/err"
    code=$?
    case $code in
    0) # only the last newline can be lost without a word: that is a line cut short
        rows_of report.jsonl | cmp -s - whole.rows || fail "rows differ"
        [ "$bit" -ge $(($(bits_of whole.journal) - 8)) ] || fail "nothing was said"
        same=$((same + 1))
        ;;
    1)
        expect_err "^assay: .*$id.jsonl:[0-9]+: "
        expect_err '^assay: [0-9]+ lines? of the journal (was|were) skipped; [12] of 6 groups are left to measure'
        rows_of report.jsonl | cmp -s - whole.rows || fail "rows differ"
        kept=$(grep -cxFf whole.jsonl report.jsonl)
        [ "$kept" -ge 8 ] || fail "more than the groups of two lines were measured again: $kept rows kept"
        expect_exit 0 "$ASSAY" bench --resume "$id" -q -o twice.jsonl
        expect_err 'skipped; 0 of 6 groups are left: nothing is missing'
        rows_of twice.jsonl | cmp -s - whole.rows || fail "rows differ the second time"
        again=$((again + 1))
        ;;
    2)
        expect_err 'the head of this journal is damaged|is not a journal'
        cmp -s report.jsonl whole.jsonl || fail "the report changed"
        refused=$((refused + 1))
        ;;
    *) fail "exit $code" ;;
    esac
done
echo "  $same the same, $again measured again, $refused refused"

say "a group that stands there twice gives its rows once"
{ head -n 4 whole.journal; sed -n 2,4p whole.journal; tail -n +5 whole.journal; } >"$journal"
expect_exit 0 "$ASSAY" bench --resume "$id" -q -o report.jsonl
expect_err "$id.jsonl:5: is line 1, which was there already"
expect_err 'nothing is missing'
cmp -s report.jsonl whole.jsonl || fail "the report changed"

say "a line that is missing is noticed"
sed 6d whole.journal >"$journal"
expect_exit 1 "$ASSAY" bench --resume "$id" -q -o report.jsonl
expect_err "$id.jsonl:6: 1 lines before this one are missing"
rows_of report.jsonl | cmp -s - whole.rows || fail "rows differ"

say "a run that cannot go on after damage leaves the complete report alone"
sed '5s/relu/RELU/' whole.journal >"$journal"
cp whole.jsonl report.jsonl
(
    ulimit -n 12
    "$ASSAY" bench --resume "$id" -q -o report.jsonl 2>"$work/err"
)
code=$?
[ $code -eq 1 ] || fail "exit $code"
expect_err 'Too many open files'
expect_err 'report.jsonl: holds more than there is now, and is left as it is'
cmp -s report.jsonl whole.jsonl || fail "the report changed"

say "what is no journal is refused at once"
mkfifo pipe
mkdir folder
: >empty
truncate -s 10G huge
for file in /dev/zero ./pipe ./folder ./empty ./huge /dev/null ./none; do
    last_command="assay bench --resume $file"
    timeout 10 "$ASSAY" bench --resume "$file" -q >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq 1 ] || [ $code -eq 2 ] || fail "exit $code"
    expect_err "^assay: $file: "
    expect_err_lines 1
done
rm huge

say "100,000 lines of nonsense are named, counted, and cost no memory"
cp whole.journal "$journal"
yes '{"record":"nonsense"}' | head -n 100000 >>"$journal"
(
    is_sanitized || ulimit -v 300000
    expect_exit 0 timeout 60 "$ASSAY" bench --resume "$id" -q -o report.jsonl
) || exit 1
expect_err "$id.jsonl:20: has no checksum"
expect_err '100000 lines of the journal were skipped; 0 of 6 groups are left'
expect_err_lines 6
cmp -s report.jsonl whole.jsonl || fail "the report changed"
cp whole.journal "$journal"

say "$flips flipped bits of ceilings: none is believed"
file=$(ls "$XDG_CACHE_HOME"/assay/ceilings-*-"$("$ASSAY" info | sed -n 's/^cores  *\([0-9]*\).*/\1/p')"t.json)
cp "$file" whole.ceilings
for _ in $(seq "$flips"); do
    bit=$(pick "$(bits_of whole.ceilings)")
    last_command="assay info, bit $bit of $file flipped"
    cp whole.ceilings "$file"
    flip "$file" "$bit"
    "$ASSAY" info >"$work/out" 2>"$work/err"
    expect_out 'ceilings .*not measured yet'
done
cp whole.ceilings "$file"

say "$flips flipped bits of what autotuning remembers: none is believed"
cat >tune.yml <<'END'
benchmark_mode: inference
quantization_config_recipe_names: [baseline]
output_dir: results
model_params:
  - name: one
    matrix_shapes: [{name: custom, shapes: [[8, 64, 48]]}]
    high_precision_dtype: torch.bfloat16
    torch_compile_mode: max-autotune
    device: cpu
    model_type: linear
END
tune=("$ASSAY" run tune.yml -q --warmup 1 --iters 3)
expect_exit 0 "${tune[@]}"
file=$XDG_CACHE_HOME/assay/autotune.json
[ -e "$file" ] || fail "nothing was remembered"
grep -q '"sha256": "[0-9a-f]*"' "$file" || fail "it is not sealed"
cp "$file" whole.autotune
keys() { grep -c '|' "$1"; }
for _ in $(seq $(((flips + 9) / 10))); do # each is a whole run; the unit tests flip every bit
    bit=$(pick "$(bits_of whole.autotune)")
    cp whole.autotune "$file"
    flip "$file" "$bit"
    cp "$file" flipped
    expect_exit 0 "${tune[@]}"
    cmp -s "$file" flipped && fail "bit $bit: it was believed"
    [ "$(keys "$file")" -eq "$(keys whole.autotune)" ] || fail "bit $bit: not all was tuned again"
done
