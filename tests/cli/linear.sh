#!/usr/bin/env bash
# shellcheck disable=SC2054 # commas in arrays are lists of assay
# linear with its recipes, shapes and modes; quantize and dequantize.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--cache hot --iters 8 --warmup 1)
small=("$ASSAY" bench linear --shape 16x64x32 "${short[@]}")
mapfile -t recipes < <("$ASSAY" list recipes --names | grep -v -e -hp) # -hp: for training alone

# fields FILE FILTER: what jq says, one a line
fields() { jq -r "select(.op) | $2" "$1"; }

say "every recipe of a small product: right, or a reason why not"
expect_exit 0 "${small[@]}" --recipe all -o all.jsonl -o all.csv -o all.md -o all.json
expect_out '^linear  m=16 k=64 n=32  f32  [0-9]+ threads?$'
expect_out '^  recipe +kernel +hot +speedup +rate +ceil +MB +SQNR +quantise +act$'
expect_no_out '^ +time +± '
expect_no_out 'mismatch|mistrusted|impossible|crashed|failed|timeout'
expect_no_out '.{140}' # bytes; 130 columns and their marks
valid_json all.json
for recipe in "${recipes[@]}"; do
    expect_out "^[* ] $recipe +[a-z]+ "
    expect_file all.jsonl "\"recipe\":\"$recipe\""
done
# groups of 128 do not fit k = 64, and `all` does not insist
expect_out '^  int4wo-128 .* unsupported: group 128 does not divide k = 64'
expect_out '^\* .*(baseline|int8|float8|gemlite)'
expect_out '^\* no other is better in time, size of the weights and accuracy'
expect_out ' MB: 10\^6 bytes of weights as stored|^MB: 10\^6 bytes of weights as stored'

say "the first recipe is the baseline, and exactly one row is what speedups refer to"
expect_count 1 '"is_baseline":true' all.jsonl
expect_file all.jsonl '"variant":0,.*"recipe":"baseline"'
expect_file all.jsonl '"recipe":"baseline".*"is_baseline":true'

say "what the records say of their recipe"
if command -v jq >/dev/null; then
    fields all.jsonl 'select(.status == "ok") | [.recipe, .weight_bytes, .accuracy_db] | @tsv' >figures
    while read -r recipe bytes accuracy; do
        case $recipe in
        baseline) [ "$bytes" = 8192.0 ] || [ "$bytes" = 8192 ] || fail "baseline: $bytes bytes" ;;
        int8* | float8*) [ "${bytes%.*}" -lt 3000 ] || fail "$recipe: $bytes bytes" ;;
        esac
        case $recipe:$accuracy in
        baseline:*) [ "${accuracy%.*}" = inf ] || [ "${accuracy%.*}" -gt 100 ] || fail "baseline: $accuracy dB" ;;
        *:inf | *:) fail "$recipe: accuracy \"$accuracy\"" ;;
        *) [ "${accuracy%.*}" -gt 15 ] && [ "${accuracy%.*}" -lt 70 ] || fail "$recipe: $accuracy dB" ;;
        esac
    done <figures
    [ -s figures ] || fail "no record is ok"
    [ "$(fields all.jsonl 'select(.pareto) | .recipe' | wc -l)" -ge 1 ] || fail "none is on the front"
    [ "$(fields all.jsonl 'select(.status == "ok" and .verification.done == false) | .kernel' | wc -l)" -eq 0 ] ||
        fail "a row was not verified"
    fields all.jsonl 'select(.recipe == "int8wo" and .activation_share != null) | .kernel' >weight_only
    [ ! -s weight_only ] || fail "int8wo quantises no activations"
fi

say "csv and Markdown have them too"
expect_file all.csv ',mode,label,recipe,note,weight_bytes,prepare_ns,accuracy_db,activation_share,pareto,slow_unit,exact,throttled,host_ns,energy_j,entry,compile,eager_speedup,eager_speedup_lo,eager_speedup_hi,eager_significant,idle_bytes,peak_bytes,workspace_bytes,system_peak_bytes,macs,counted_flops,efficiency_lo,efficiency_hi,machine_frac,disturbed,waited,stolen,timed,timed_why,graph_calls,graph_kernels,graph_copies,graph_memsets$'
expect_file all.csv ',linear,.*,int8wo,'
[ "$(sed 's/"[^"]*"//g' all.csv | awk -F, '{print NF}' | sort -u | wc -l)" -eq 1 ] ||
    fail "rows of the csv differ in length"
expect_file all.md '^### Linear: m=16 k=64 n=32, f32$'
expect_file all.md '^\| int8wo .*\| native \| linear'
expect_exit 0 "${small[@]}" --recipe int8wo --impl native -f comprehensive
valid_json "$work/out"
expect_out '"native/int8wo"'

say "without a recipe only the baseline; with one, both"
expect_exit 0 "${small[@]}" -q -o rows.jsonl
expect_count 0 '"recipe":"int8wo"' rows.jsonl
expect_exit 0 "${small[@]}" --recipe INT8WO,int8wo -q -o rows.jsonl --impl native
expect_count 1 '"recipe":"int8wo"' rows.jsonl
expect_count 1 '"recipe":"baseline"' rows.jsonl

say "every dtype; s8 gives s32"
expect_exit 0 "${small[@]}" --dtype f32,bf16,f16,s8 -q -o rows.jsonl
for dtype in f32 bf16 f16 s8; do
    expect_file rows.jsonl "\"dtype\":\"$dtype\".*\"status\":\"ok\""
done

say "shapes no tile divides"
expect_exit 0 "$ASSAY" bench linear --shape 1x1x1,3x7x5,17x33x65,1x130x31 --recipe int8wo,int8dq,float8dq-row \
    --dtype bf16 "${short[@]}"
expect_out '4 groups'
expect_no_out 'mismatch|crashed|failed'

say "sets of shapes, with their names"
expect_exit 0 "$ASSAY" bench linear --shapes pow2:3:4 --shape 5x6x7 "${short[@]}" -o rows.jsonl
expect_out '^linear  m=5 k=6 n=7  f32  [0-9]+ threads?$'
expect_out '^linear  m=8 k=8 n=8  f32  [0-9]+ threads?  \(pow2_0\)$'
expect_out '^linear  m=16 k=16 n=16  f32  [0-9]+ threads?  \(pow2_1\)$'
expect_file rows.jsonl '"label":"pow2_1"'
expect_exit 0 "$ASSAY" bench linear --shapes small_sweep:2:3 --impl native "${short[@]}"
expect_out '\(small_sweep_3\)'
expect_out ' in 4 groups'

say "each mode is a group"
expect_exit 0 "${small[@]}" --mode none,bias,bias+gelu --recipe int8wo -o rows.jsonl -o rows.csv
expect_out '^linear  m=16'
expect_out '^linear bias  m=16'
expect_out '^linear bias\+gelu  m=16'
expect_out ' in 3 groups'
expect_no_out 'mismatch'
expect_file rows.jsonl '"mode":"bias\+gelu"'
expect_file rows.csv ',bias\+gelu,'

say "both cache states"
expect_exit 0 "$ASSAY" bench linear --shape 4x256x256 --recipe int8wo --iters 8 --warmup 1
expect_out '^  recipe +kernel +hot +cold +speedup'
expect_no_out 'mismatch'

say "verbose, and in ASCII"
expect_exit 0 "${small[@]}" --recipe int8wo -v
expect_out 'recipe int8wo'
expect_out 'accuracy [0-9]+\.[0-9] dB'
expect_exit 0 "${small[@]}" --recipe int8wo --ascii
! LC_ALL=C grep -q $'[\x80-\xff]' "$work/out" || fail "--ascii has other characters"

say "too large: skipped, the others measured"
expect_exit 0 "$ASSAY" bench linear --shape 16x64x32,16x64x64 --max-elements 2500 --recipe int8wo "${short[@]}"
expect_out 'skipped: over the limit of 2500 elements'
expect_out '2 groups'

say "a run that was cut short goes on with the plan it had, recipes and all"
expect_exit 0 "$ASSAY" bench linear --shape 4x64x8,5x64x8 --recipe int8wo --mode bias "${short[@]}" -q
journal=$(ls -t "$XDG_DATA_HOME"/assay/runs/*.jsonl | head -n 1)
awk '/"done":0/ { print; exit } { print }' "$journal" >cut.jsonl
expect_exit 0 "$ASSAY" bench --resume "$work/cut.jsonl" -o again.jsonl
expect_out '^linear bias  m=4 k=64 n=8 '
expect_out '^linear bias  m=5 k=64 n=8 '
expect_out '2 groups'
expect_file again.jsonl '"m":5.*"mode":"bias".*"recipe":"int8wo".*"status":"ok"'

say "quantize and dequantize, with their mode"
for op in quantize dequantize; do
    expect_exit 0 "$ASSAY" bench $op --shape 16x64 "${short[@]}" -o rows.csv -o rows.md
    expect_out "^$op s8-row \\[16, 64\\] f32"
    expect_no_out 'mismatch'
    expect_file rows.csv ',s8-row,'
    expect_file rows.md '^### .* s8-row$'
    expect_usage "$op takes MxK: rows, elements of each; got 3 sizes" "$ASSAY" bench $op --shape 1x2x3
done
