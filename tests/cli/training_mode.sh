#!/usr/bin/env bash
# benchmark_mode: training: what assay run and assay ci measure of it, its table, its CSV, its
# records; going on with such a run, showing and comparing it; and bad input.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--budget 0.02s --no-ceiling)

cat >c.yml <<'END'
benchmark_mode: "training"
output_dir: "made"
quantization_config_recipe_names: ["float8dq-tensor", "float8dq-row", "baseline"]
scaling_type_input: "dynamic"
scaling_type_weight: "dynamic"
scaling_type_grad_output: "dynamic"
scaling_granularity: "tensorwise"
use_fast_accum: true
repeat_n: 20
model_params:
  - name: "float8_linear_training"
    matrix_shapes: [{name: "custom", shapes: [[33, 65, 31], [64, 64, 64]]}]
    high_precision_dtype: "torch.bfloat16"
    use_torch_compile: true
    torch_compile_mode: "default"
    device: "cpu"
    model_type: "linear"
END
columns=name,quantization,sparsity,m,k,n,high_precision_dtype,torch_compile_mode,device,model_type
columns+=,output_dir,enable_profiler,enable_memory_profiler,scaling_type_input,scaling_type_weight
columns+=,scaling_type_grad_output,scaling_granularity,use_fast_accum,repeat_n,forward_time_ms
columns+=,backward_time_ms,total_time_ms,reference_forward_time_ms,reference_backward_time_ms
columns+=,reference_total_time_ms,speedup,scaling_repr,ref_tops_sec,ref_pct_top_peak,tops_sec,pct_top_peak

# field FILE ROW COLUMN: of a CSV file without quoted fields before that column.
field() {
    awk -F, -v row="$2" -v want="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == want) at = i }
        NR == row + 1 { print $at }' "$1"
}

say "a dry run has three groups for each shape, and measures nothing"
expect_exit 0 "$ASSAY" run c.yml --dry-run
expect_out '^recipes: baseline, float8dq-tensor, float8dq-row$'
expect_out '^ +1 +float8_linear_training +linear_forward +custom +33x65x31 +bf16 '
expect_out '^ +2 +float8_linear_training +linear_backward '
expect_out '^ +6 +float8_linear_training +linear_both +custom +64x64x64 '
expect_out '^6 groups, '
[ ! -e made ] || fail "a dry run made a folder"

say "one row for each recipe and executor, with its forward pass, its backward pass and both"
expect_exit 0 "$ASSAY" run c.yml "${short[@]}" -o all.json
expect_out '^Name: float8_linear_training · Model: linear · Shape: custom \(m=33 k=65 n=31\) · bf16 · cpu'
expect_out '^Baseline, eager · forward [0-9.]+ ms · backward [0-9.]+ ms · total [0-9.]+ ms$'
expect_out '^ +Quant +Executor +ms +ms +ms +Speedup +TOPS '
for recipe in baseline float8dq-tensor float8dq-row; do
    for executor in eager compiled; do
        [ "$(grep -Ec "^ +$recipe +$executor +(▸ *)?[0-9.]+.* ✓$" "$work/out")" = 2 ] || fail "no row of $recipe $executor"
    done
done
expect_out '^12 rows in 2 groups: 12 ok$'
expect_out 'each pass measured by itself'
valid_json all.json
expect_file all.json '"benchmark_mode": "training"'
expect_file all.json '"rounds": 20'

say "the CSV has TorchAO's columns, then assay's"
csv=$(echo made/training/results_*.csv)
[ -f "$csv" ] || fail "no CSV in made/training"
head -n 1 "$csv" | grep -q "^$columns," || fail "other columns: $(head -n 1 "$csv")"
[ "$(wc -l <"$csv")" = 13 ] || fail "not twelve rows and a heading"
[ "$(head -n 1 "$csv" | tr ',' '\n' | sort | uniq -d)" = "" ] || fail "a column comes twice"
for row in 1 2 3 4 5 6; do
    for column in forward_time_ms backward_time_ms total_time_ms reference_total_time_ms speedup tops_sec; do
        field "$csv" $row $column | grep -Eq '^[0-9.e-]+$' || fail "row $row has no $column"
    done
    [ "$(field "$csv" $row repeat_n)" = 20 ] || fail "repeat_n of row $row"
    [ "$(field "$csv" $row use_fast_accum)" = True ] || fail "use_fast_accum of row $row"
    [ "$(field "$csv" $row output_dir)" = made/training ] || fail "output_dir of row $row"
done
[ "$(field "$csv" 1 speedup)" = 1 ] || fail "the baseline's speedup"
[ "$(field "$csv" 1 torch_compile_mode)" = false ] || fail "eager is not compiled"
[ "$(field "$csv" 2 torch_compile_mode)" = default ] || fail "compiled is"
[ "$(field "$csv" 1 scaling_type_input)" = "" ] || fail "the baseline has no scaling"
[ "$(field "$csv" 3 scaling_granularity)" = tensorwise ] || fail "float8dq-tensor's granularity"
[ "$(field "$csv" 5 scaling_granularity)" = rowwise ] || fail "float8dq-row's granularity"
grep -q '"i:dyn_ten_e4m3,w:dyn_ten_e4m3,go:dyn_ten_e5m2"' "$csv" || fail "no scaling_repr"

say "a pass is not the difference of two others"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR > 1 && $at["total_time_ms"] - $at["forward_time_ms"] != $at["backward_time_ms"] { own++ }
    END { exit own == 12 ? 0 : 1 }' "$csv" || fail "backward is total - forward"

say "outputs and gradients are verified, and their levels are figures"
grep -Eq '"accuracy_1_db": (2|3)[0-9]\.' all.json || fail "dW has no level"
expect_count 36 '"status": "ok"' all.json

say "shown again, compared and gone on with, it is the same run"
"$ASSAY" show last >again 2>/dev/null || fail "show"
cmp -s again "$work/out" || diff again "$work/out" || fail "show differs from what was measured"
expect_exit 0 "$ASSAY" show last -q -o torchao-csv:again.csv
cmp -s again.csv "$csv" || fail "the CSV differs when it is written again"
expect_exit 0 "$ASSAY" compare last last
expect_out 'linear_backward'
expect_exit 0 "$ASSAY" run c.yml --resume last -o torchao-csv:resumed.csv
cmp -s resumed.csv "$csv" || fail "--resume measured what was there"
expect_out '^12 rows in 2 groups: 12 ok$'
rm -rf made
expect_exit 0 "$ASSAY" run --resume last --output-dir elsewhere
ls elsewhere/training/results_*.csv >"$work/ls" 2>&1 || fail "a run that goes on without its file writes elsewhere"

say "what was left out of the casts is part of the recipe"
sed 's/grad_output: "dynamic"/grad_output: "disabled"/; s/^repeat_n.*//' c.yml >hp.yml
expect_exit 0 "$ASSAY" run hp.yml --limit 1 --recipe float8dq-row "${short[@]}" -o torchao-csv:hp.csv
expect_out 'float8dq-row-go-hp +eager '
[ "$(field hp.csv 3 scaling_type_grad_output)" = disabled ] || fail "grad_output is not disabled"
[ "$(field hp.csv 3 scaling_type_weight)" = dynamic ] || fail "weight is not dynamic"

say "other models have the baseline, and rows that say what is not there"
expect_exit 0 "$ASSAY" run c.yml --model ln_linear_gelu --recipe float8dq-row,int8wo --shapes custom=5x33x17 "${short[@]}"
expect_out '^ +baseline +compiled +'
expect_out 'float8dq-row +eager +unsupported: in training float8dq-row is for a linear layer alone'
expect_out 'int8wo +eager +unsupported: int8wo is not for training; float8dq-tensor, '
expect_out '^6 rows in 1 group: 2 ok, 4 unsupported$'

say "records for a dashboard: each pass has its metrics"
expect_exit 0 "$ASSAY" ci --config c.yml --limit 1 --repeat 2 "${short[@]}" -q
valid_json benchmark_results.json
for metric in 'Fwd Speedup' 'Bwd Speedup' 'Total Speedup' 'Quantized Bwd Time' 'Bfloat16 Total Time' TOPS 'speedup(wrt bf16)' 'Allocated Memory'; do
    grep -qF "\"name\": \"$metric" benchmark_results.json || fail "no metric $metric"
done
expect_file benchmark_results.json '"mode": "training"'
expect_file benchmark_results.json '"name": "float8dq-tensor-33-65-31"'
expect_count 0 'linear_backward' benchmark_results.json
[ "$(grep -A 4 '"Total Speedup (x)"' benchmark_results.json | grep -Ec '^ +[0-9.e-]+,?$')" -ge 4 ] ||
    grep -Eq '"benchmark_values": \[[^],]+, [^],]+\]' benchmark_results.json || fail "not two values"

say "sparsity is ignored with a warning, and memory counts what is saved"
sed '3a sparsity_config_recipe_names: [semi-sparse]' c.yml >sparse.yml
expect_exit 0 "$ASSAY" run sparse.yml --limit 1 --recipe baseline "${short[@]}"
expect_err 'sparse\.yml:4:32: training has no sparsity; this is measured without it'
expect_out '^2 rows in 1 group: 2 ok$'
expect_exit 0 "$ASSAY" run c.yml --dry-run --model ln_linear_gelu --shapes custom=4096x64x64 --memory-limit 2M
expect_out 'ln_linear_gelu_backward .*skipped  does not fit this memory'
expect_exit 3 "$ASSAY" run c.yml --model ln_linear_gelu --shapes custom=300000x64x64 --memory-limit 100M "${short[@]}"
expect_out 'total skipped: '
expect_exit 0 "$ASSAY" run c.yml --model ln_linear_gelu --shapes custom=9x33x17 --recipe baseline --impl recomputed "${short[@]}"
expect_out '^ +baseline +recomputed +'

say "an operation without a gradient, passes that are there anyway, and values that are none"
cat >bad.yml <<'END'
benchmark_mode: training
matrix_shapes: [{name: custom, shapes: [[4, 8, 8]]}]
model: {name: fused, inputs: {x: [m, k]}, nodes: [{op: linear, features: n, mode: gelu}]}
END
expect_usage 'fused_forward: cannot be trained: the gradient of linear has not this mode' "$ASSAY" run bad.yml
expect_usage '--pass: benchmark_mode: training measures forward, backward and both' "$ASSAY" run c.yml --pass step
expect_usage '--optimizer: benchmark_mode: training measures' "$ASSAY" run c.yml --optimizer sgd
sed 's/scaling_type_weight: "dynamic"/scaling_type_weight: "delayed"/' c.yml >bad.yml
expect_usage 'bad\.yml:5:22: unknown scaling_type_weight "delayed"' "$ASSAY" run bad.yml
sed 's/"tensorwise"/"rowise"/' c.yml >bad.yml
expect_usage 'bad\.yml:7:22: unknown scaling_granularity "rowise"; did you mean "rowwise"' "$ASSAY" run bad.yml
sed 's/"float8dq-row"/"float8dq-rows"/' c.yml >bad.yml
expect_usage 'bad\.yml:3:55: .*did you mean "float8dq-row"' "$ASSAY" run bad.yml
sed 's/"training"/"traning"/' c.yml >bad.yml
expect_usage 'bad\.yml:1:17: unknown benchmark_mode "traning"; did you mean "training"' "$ASSAY" run bad.yml
