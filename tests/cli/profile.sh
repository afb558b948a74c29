#!/usr/bin/env bash
# --profile, enable_profiler and assay profile: what is recorded, where it goes, that no figure depends
# on it, and what is said when something is missing.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
relu=(bench relu "${quick[@]}" --threads 1)
block=(preset transformer --set batch=1 --set seq_len=64 --set embed_dim=128 --set num_heads=4 --device cpu
    --threads 2 --iters 6 --warmup 1)

say "a trace of every variant, valid as JSON; the results stand above it as without"
expect_exit 0 "$ASSAY" "${relu[@]}" --impl ref,native --profile trace.json
expect_out '^ *native .*[0-9.]+ [num]?s '
expect_err '^assay: wrote trace.json, the profile of 2 variants$'
valid_json trace.json
expect_count 2 '"name":"process_name"' trace.json
expect_file trace.json '"name":"relu","cat":"node".*"kernel":"relu_ref"'
expect_file trace.json '"name":"sample","cat":"sample"'
expect_file trace.json '"otherData":\{"assay":"[0-9.]+","run":"[0-9a-f-]+"'

say "without a file it is named after the run; the word behind may be an op"
expect_exit 0 "$ASSAY" bench --profile relu "${quick[@]}" --threads 1 --impl native -o rows.jsonl
set -- profile_*.json
[ -e "$1" ] && valid_json "$1"
run=$(sed -E 's/^profile_(.*)\.json$/\1/' <<<"$1")
expect_exit 0 "$ASSAY" list runs
expect_out "$run"
rm "$1"

say "in Perfetto's own form"
expect_exit 0 "$ASSAY" "${relu[@]}" --impl native --profile one.perfetto-trace
grep -q 'relu_' one.perfetto-trace || fail "no kernel in the packets"
expect_usage 'cannot be read back: record it as JSON' "$ASSAY" profile one.perfetto-trace

say "a model: nodes take the time of the profiled pass, threads their shares"
# Something else that takes a core between two calls is in no node: the best of a few.
for _ in 1 2 3 4; do
    expect_exit 0 "$ASSAY" "${block[@]}" --profile block.json
    named=$("$ASSAY" profile block.json --format json | sed -n 's/.*"named_share": \([0-9.]*\),*$/\1/p' | head -n 1)
    awk -v s="$named" 'BEGIN { exit !(s >= 0.98 && s <= 1) }' && break
done
awk -v s="$named" 'BEGIN { exit !(s >= 0.98 && s <= 1) }' || fail "only $named of the pass is in nodes"
expect_file block.json '"name":"attention","cat":"node".*"shape":"[0-9x]+","kernel":"attention_'
expect_file block.json '"name":"linear","cat":"share"'
expect_file block.json '"name":"waits","cat":"wait"'
expect_file block.json '"name":"clock|"name":"memory'
expect_exit 0 "$ASSAY" profile block.json --format json
expect_out '"sentence": "[0-9]+ % of a call is in [a-z]+'

say "a table by node and by kernel, in three formats"
expect_exit 0 "$ASSAY" profile block.json
expect_out '^preset_transformer .* eager'
expect_out '^ node .* share .*binds'
expect_out '^ 0 layernorm '
expect_out ' x [0-9] '
expect_out '^ [0-9]+ % of a call is in '
expect_exit 0 "$ASSAY" profile block.json --by kernel
expect_no_out '^ 0 layernorm '
expect_exit 0 "$ASSAY" profile block.json --format md --by node
expect_out '^\| 0 layernorm 1x64x128 \| layernorm_'
expect_exit 0 env LC_ALL=C "$ASSAY" profile block.json
expect_no_out '·'

say "two of them, node by node"
expect_exit 0 "$ASSAY" profile block.json block.json
expect_out '^ a call .* 1\.00x'
expect_exit 0 "$ASSAY" profile block.json block.json --format json
valid_json out
expect_usage 'no variant of the first profile is in the second' "$ASSAY" profile block.json trace.json

say "measured and told at once"
expect_exit 0 "$ASSAY" profile "${relu[@]}" --impl native --profile kept.json
expect_out '^ *native .*[0-9.]+ [num]?s '
expect_out '^ 100 % of a call is in relu'
[ -e kept.json ] || fail "the trace was not kept"
expect_usage 'a table is made of a trace in JSON' "$ASSAY" profile "${relu[@]}" --profile x.pftrace
expect_exit 0 "$ASSAY" profile bench --help
expect_out '^assay bench '

say "what is no profile is refused"
echo '{"traceEvents":[]}' >empty.json
echo '{"traceEvents":[' >cut.json
expect_usage 'no calls of a variant' "$ASSAY" profile empty.json
expect_usage 'cut.json:2:1: not valid JSON' "$ASSAY" profile cut.json
expect_usage 'nosuch.json: cannot be read' "$ASSAY" profile nosuch.json
expect_usage 'takes one trace or two' "$ASSAY" profile
expect_usage 'takes table, md or json' "$ASSAY" profile --format x block.json
expect_usage 'takes node, kernel or phase' "$ASSAY" profile --by x block.json

say "a folder that is not there ends it before anything is measured"
expect_usage 'nosuch/t.json: cannot be written: No such file' "$ASSAY" "${relu[@]}" --profile nosuch/t.json

say "a full disk costs the profile alone"
expect_exit 1 "$ASSAY" "${relu[@]}" --impl native --profile=/dev/full
expect_out '^ *native .*[0-9.]+ [num]?s '
expect_err '^assay: /dev/full: cannot be written: No space left on device$'
expect_err '^assay: only the profile is missing; all figures are there$'

say "a stranger: its calls, not what is in them"
good=(--plugin "$ASSAY_PLUGINS/good.so")
expect_exit 0 "$ASSAY" "${relu[@]}" "${good[@]}" --impl good --profile good.json
expect_err 'of 1 of them something is missing: .*good.*: what is inside the calls: it runs in a process of its own'
expect_exit 0 "$ASSAY" profile good.json
expect_out '^ missing: what is inside the calls'

say "an interrupted run has a whole trace of what it measured"
export XDG_DATA_HOME=$work/interrupted
"$ASSAY" bench relu,gelu,silu,sigmoid --batch 1,2 --seq 3 --dim 5 --cache hot --threads 1 --budget 300ms \
    --precision 0.001% --impl native --profile cut_short.json >out 2>err &
pid=$!
started+=("$pid")
measured() { grep -qs '"done":0,' "$XDG_DATA_HOME"/assay/runs/*.jsonl; }
wait_for measured
kill -INT "$pid"
wait "$pid"
[ $? = 130 ] || fail "the interrupted run ended with $?"
valid_json cut_short.json
grep -q 'groups are done; continue with' err || fail "nothing about resuming"

say "resumed, its profile is of what is measured now, and says so"
expect_exit 0 "$ASSAY" bench --resume last --profile rest.json
expect_err 'wrote rest.json, the profile of [0-9] variants?; [0-9] groups? measured before (is|are) not in it'
valid_json rest.json

say "enable_profiler: a trace for each variant, whose path is in the CSV"
cat >c.yml <<'END'
quantization_config_recipe_names: [int8wo]
output_dir: made
model_params:
  - name: small one
    enable_profiler: true
    matrix_shapes: [{name: custom, shapes: [[4, 64, 32]]}]
    high_precision_dtype: float32
    device: cpu
    use_torch_compile: false
    model_type: ln_linear_gelu
END
expect_exit 0 "$ASSAY" run c.yml --iters 8 --warmup 1
trace=made/inference/profiler/small_one_4_64_32_quant_int8wo_sparsity_None_eager_0_profile.json
valid_json "$trace"
expect_file made/inference/results_*.csv "$trace"
expect_file "$trace" '"cat":"node".*"kernel":"linear_'
[ "$(find made/inference/profiler -type f | wc -l)" = 2 ] || fail "not one trace for each variant"
expect_exit 0 "$ASSAY" show last -o again.jsonl
expect_file again.jsonl "\"profile\":\"$trace\""

say "the plan and what is timed are the same with a profile and without"
for with in "" "--profile same.json"; do
    # shellcheck disable=SC2086
    expect_exit 0 "$ASSAY" "${relu[@]}" --impl ref,native --seed 7 $with -o "same${#with}.jsonl"
    sed -E 's/"(setup_ns|[a-z_]*_ns|ns|[a-z0-9_]*bytes[a-z_]*|calls_per_sample)":[^,}]*//g' "same${#with}.jsonl" |
        grep -o '"kernel":"[a-z_0-9]*"\|"n":[0-9]*\|"status":"[a-z]*"\|"every":[0-9]*' >"same${#with}"
done
cmp same0 same19 || fail "other samples were taken with --profile"
