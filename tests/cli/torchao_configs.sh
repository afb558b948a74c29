#!/usr/bin/env bash
# TorchAO's configurations in every spelling that its versions had: each runs, or names the line to
# mend. Most are planned, a few measured, all with shapes that take no time.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--iters 3 --warmup 1)
planned=0

# config MODE RECIPES KEYS: a configuration of one entry; all three are lines of YAML
config() {
    local mode=$1 recipes=$2 keys=$3
    printf '%b' "$mode$recipes"
    printf 'output_dir: "results"\nmodel_params:\n  - name: "small"\n'
    printf '    matrix_shapes:\n      - name: "custom"\n        shapes: [[4, 128, 32], [1, 256, 16]]\n'
    printf '    device: "cpu"\n'
    printf '%b' "$keys"
}

# plan WHAT: c.yml is planned without a mistake
plan() {
    say "$1"
    expect_exit 0 "$ASSAY" run c.yml --dry-run
    expect_out '^[0-9]+ groups?, [0-9]+ rows'
    expect_no_err 'error|unknown'
    planned=$((planned + 1))
}

mode='benchmark_mode: "inference"\n'
recipes='quantization_config_recipe_names: ["baseline", "int8wo"]\n'

for type in linear ln_linear ln_linear_sigmoid ln_linear_relu ln_linear_leakyrelu ln_linear_relu6 ln_linear_gelu \
    ln_linear_silu ln_linear_hardswish transformer_block LN_Linear_GELU; do
    config "$mode" "$recipes" "    model_type: \"$type\"\n" >c.yml
    plan "model $type"
done
for dtype in torch.bfloat16 torch.float16 torch.float32 torch.half torch.float bfloat16; do
    config '' "$recipes" "    high_precision_dtype: \"$dtype\"\n" >c.yml
    plan "type $dtype"
done
for compile in default max-autotune reduce-overhead max-autotune-no-cudagraphs '"false"' false; do
    config "$mode" "$recipes" "    use_torch_compile: true\n    torch_compile_mode: $compile\n" >c.yml
    plan "mode $compile"
    config "$mode" "$recipes" "    compile: $compile\n" >c.yml
    plan "the older key compile: $compile"
done
for recipe in int8dq int4wo-32 int4wo-64 int4wo-128 int4wo-128-hqq float8wo float8dq float8dq-tensor \
    float8dq-row gemlitewo-4-128 gemlitewo-8-64; do
    config "$mode" "quantization_config_recipe_names:\n  - \"$recipe\"\n" '' >c.yml
    plan "recipe $recipe"
    expect_no_out unsupported
done
for recipe in int8dq_prefill_wo_decode int8_dynamic_activation_intx_weight-4-128 fp6 marlin marlin-qqq \
    int8_dynamic_activation_intx_weight-8-32-asym int8adq-int4w-symm uintx-4-64 uintx-2-32-hqq autoquant; do
    config "$mode" "quantization_config_recipe_names:\n  - \"$recipe\"\n  - int8wo\n" '' >c.yml
    plan "recipe $recipe, which is not here"
    expect_out "^recipes: baseline, $recipe \(unsupported\), int8wo\$"
done
for sparsity in semi-sparse semi '"2:4"' 2:4 block null '[null, semi-sparse]' '[2:4, block]' ''; do
    config "$mode" "$recipes""sparsity_config_recipe_names: $sparsity\n" '' >c.yml
    plan "sparsity $sparsity"
done
for set in llama llama4 deepseek_v3_236b deepseek_v3_671b qwen3_32b gemma3_27b pow2 pow2_extended small_sweep sweep; do
    printf 'model_params:\n  matrix_shapes:\n    - name: %s\n' "$set" >c.yml
    plan "shapes $set"
done
for profiler in enable_profiler enable_memory_profiler; do
    config "$mode" "$recipes" "    $profiler: true\n" >c.yml
    plan "$profiler"
    expect_no_err 'profile'
done

say "drafts of the format"
cat >c.yml <<'END'
quantizations:
  - "baseline"
  - "int8wo"
model_params:
  matrix_shapes:
    - name: "custom"
      shapes: [
        [4, 64, 16],  # [m, k, n]
      ]
  precision: "torch.bfloat16"
  compile_mode: "max-autotune"
  device: "cpu"
  model_type: "linear"
  sparsity: "2:4"
  enable_memory_profile: true
END
plan "keys that have other names today"
expect_out '^recipes: baseline, int8wo, baseline\+semi-sparse \(unsupported\)$'
expect_out ' bf16 +cpu +max-autotune '

cat >c.yml <<'END'
quantizations:
  - "int8wo"
  - "int4wo-32"
model_params:
  matrix_shapes: [
    [4, 64, 16],  # [m, k, n]
    [8, 64, 32]
  ]
  precision: "torch.bfloat16"
  compile: false
END
plan "shapes without a name"
expect_out '^2 groups, 6 rows'

say "entries of the same name, devices that are not here"
cat >c.yml <<'END'
benchmark_mode: inference
quantization_config_recipe_names: [int8wo, float8dq]
sparsity_config_recipe_names: [null, "2:4"]
model_params:
  - name: twin
    matrix_shapes: [{name: custom, shapes: [[4, 64, 16]]}]
    device: xpu
    enable_profiler: true
  - name: twin
    matrix_shapes: [{name: custom, shapes: [[4, 64, 16]]}]
    high_precision_dtype: torch.float32
    device: mps
    torch_compile_mode: reduce-overhead
END
plan "two entries of one name"
[ "$planned" -ge 60 ] || fail "only $planned configurations"

say "measured: rows that say why, the entry's name, the folder with the mode, flags as given"
expect_exit 0 "$ASSAY" run c.yml "${short[@]}"
expect_out 'baseline\+semi-sparse +unsupported: .*sparse weights'
expect_out 'float8dq-tensor\+semi-sparse +unsupported'
expect_no_out 'int8wo\+semi-sparse'
expect_out 'Name: twin .*Shape: custom \(m=4 k=64 n=16\)'
csv=$(echo results/inference/results_*.csv)
expect_count 10 '^twin,' "$csv"
expect_file "$csv" '^twin,baseline,,4,64,16,torch.bfloat16,default,cpu,linear,results/inference,True,False,[0-9.]+,'
expect_file "$csv" '^twin,float8dq-tensor,semi-sparse,4,64,16,torch.float32,reduce-overhead,cpu,linear,results/inference,False,False,'
expect_count 4 ',semi-sparse,.*,unsupported,' "$csv"
expect_file "$csv" '^name,quantization,sparsity,.*,memory_stats,shape_name,'
rm -r results

say "recipes that are not here cost their rows only"
config "$mode" 'quantization_config_recipe_names: [marlin, int8_dynamic_activation_intx_weight-4-128-asym, int8wo]\n' \
    '    high_precision_dtype: float32\n    use_torch_compile: false\n' >c.yml
expect_exit 0 "$ASSAY" run c.yml "${short[@]}" -o rows.jsonl
expect_out 'marlin +unsupported: assay does not have marlin yet'
expect_count 2 '"recipe":"int8wo".*"status":"ok"' rows.jsonl
expect_count 2 '"recipe":"int8_dynamic_activation_intx_weight-4-128-asym".*"status":"unsupported"' rows.jsonl
expect_exit 0 "$ASSAY" run --resume last -q -o again.jsonl
expect_count 2 '"recipe":"marlin".*"status":"unsupported"' again.jsonl

say "a shape that does not fit has a row for each recipe"
expect_exit 3 "$ASSAY" run c.yml "${short[@]}" --recipe int8wo --shapes custom=262144x262144x4096 -o large.csv
expect_count 2 ',skipped,' large.csv
expect_count 1 ',int8wo,' large.csv

say "what nobody knows: the line that is to mend, or with --lenient a warning"
cat >c.yml <<'END'
quantization_config_recipe_names: [my_new_quantization, int8wo]
notes: "of our own"
model_params:
  - name: a
    eval_accuracy: true
    device: cpu
    matrix_shapes: [{name: custom, shapes: [[4, 64, 16]]}]
END
expect_usage 'c\.yml:1:36: unknown recipe "my_new_quantization"; .*--lenient' "$ASSAY" run c.yml
expect_exit 0 "$ASSAY" run c.yml --lenient "${short[@]}" -q
expect_err 'c\.yml:1:36: unknown recipe "my_new_quantization"; .*passed over'
expect_err 'c\.yml:2:1: unknown key "notes"; .*passed over'
expect_err 'c\.yml:5:5: unknown key "eval_accuracy"; .*passed over'
expect_exit 0 "$ASSAY" ci --config c.yml --repeat 1 "${short[@]}" -q
expect_err 'c\.yml:2:1: unknown key "notes"; .*passed over'
expect_file benchmark_results.json 'int8wo-4-64-16'

say "records: a recipe that is not here is named once"
expect_exit 0 "$ASSAY" ci --config c.yml --recipe int8wo --repeat 2 "${short[@]}" -q
expect_no_err 'no record'
sed -i 's/my_new_quantization/marlin/' c.yml
expect_exit 0 "$ASSAY" ci --config c.yml --repeat 2 "${short[@]}" -q
[ "$(grep -c 'no record' "$work/err")" -eq 1 ] || fail "not one line of what is missing"
expect_err 'no records of marlin: assay does not have marlin yet'

say "and what is wrong whoever reads it"
for lenient in '' --lenient; do
    printf 'model_params: {model_type: my_custom_model}\n' >c.yml
    # shellcheck disable=SC2086
    expect_usage 'c\.yml:1:28: unknown model "my_custom_model"' "$ASSAY" run c.yml $lenient
    printf 'high_precision_dtype: torch.float64\n' >c.yml
    # shellcheck disable=SC2086
    expect_usage 'c\.yml:1:23: no model runs in f64' "$ASSAY" run c.yml $lenient
    printf 'benchmark_mode: training\nscaling_type_weight: delayed\n' >c.yml
    # shellcheck disable=SC2086
    expect_usage 'c\.yml:2:22: unknown scaling_type_weight "delayed"' "$ASSAY" run c.yml $lenient
done
