#!/usr/bin/env bash
# assay run: the plan without measuring, what is measured, where results go, and going on with a run.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--iters 8 --warmup 1)
corpus=$ASSAY_SOURCE_DIR/tests/fuzz/corpus/config

cat >c.yml <<'END'
quantization_config_recipe_names: [int8wo]
output_dir: made/deep
model_params:
  - name: small
    matrix_shapes: [{name: custom, shapes: [[4, 64, 32]]}]
    high_precision_dtype: float32
    device: cpu
  - name: act
    matrix_shapes: [{name: pow2, min_power: 5, max_power: 6}]
    model_type: ln_linear_gelu
    use_torch_compile: false
END

say "a dry run lists the groups and measures nothing"
expect_exit 0 "$ASSAY" run c.yml --dry-run
expect_out '^recipes: baseline, int8wo$'
expect_out '^ +1 +small +linear +custom +4x64x32 +f32 +cpu +default +4 '
expect_out '^ +3 +act +ln_linear_gelu +pow2_1 +64x64x64 +bf16 +cpu +false +2 '
expect_out '^3 groups, 8 rows; up to .* of memory; about .* at the most'
expect_err_lines 0
[ ! -e made ] || fail "a dry run made a folder"

say "TorchAO's own files load as they are printed"
for file in "$corpus"/readme_* "$corpus"/tutorial_*; do
    case $file in *_ci | *_new_* | *_github_steps) continue ;; esac
    expect_exit 0 "$ASSAY" run "$file" --dry-run
    expect_out '^[0-9]+ groups?, '
    [ "$(grep -c 'using the cpu instead' "$work/err")" -le 1 ] || fail "more than one warning"
done
expect_exit 0 "$ASSAY" run "$corpus/readme_training" --dry-run
expect_out '^ +9 +float8_linear_training +linear_both +custom +4096x4096x1024 '
expect_out '^recipes: baseline, float8dq-tensor, float8dq-row$'
expect_exit 0 "$ASSAY" run "$corpus/readme_inference" --dry-run
expect_no_err 'memory'
expect_err 'device "cuda" is not here \(.*\); using the cpu instead'

say "small_sweep is a matter of milliseconds"
printf 'matrix_shapes: [{name: small_sweep, max_power: 15}]\n' >sweep.yml
expect_exit 0 "$ASSAY" run sweep.yml --dry-run --recipe all
expect_out '^56 groups, '

say "shapes that do not fit are shown"
expect_exit 0 "$ASSAY" run c.yml --dry-run --memory-limit 20k
expect_out 'skipped  does not fit this memory'

say "a fall-back to the cpu that takes hours is said"
cat >gpu.yml <<'END'
device: cuda
quantization_config_recipe_names: [int8wo]
matrix_shapes: [{name: pow2_extended, min_power: 10, max_power: 14}]
END
"$ASSAY" run gpu.yml --budget 2h --no-ceiling >"$work/out" 2>"$work/err" &
pid=$!
started+=("$pid")
warned() { grep -Eq '^assay: on the cpu this takes about [0-9.]+ h.*--dry-run shows where, --limit N' "$work/err"; }
wait_for warned
kill -TERM $pid
wait $pid
expect_exit 3 "$ASSAY" run gpu.yml --strict-device

say "options replace what the file says"
expect_exit 0 "$ASSAY" run --config c.yml --dry-run --dtype f16 --recipe int4wo-32 --model linear \
    --shapes custom=2x32x8,pow2:5:6 --compile max-autotune --limit 2
expect_out '^recipes: baseline, int4wo-32$'
expect_out '^ +1 +small +linear +custom +2x32x8 +f16 +cpu +max-autotune +4 '
expect_out '^2 groups, '

say "measured: a table, and a CSV in its folder"
expect_exit 0 "$ASSAY" run c.yml "${short[@]}"
expect_out 'small'
expect_out 'int8wo'
csv=(made/deep/inference/results_*.csv)
[ "${#csv[@]}" -eq 1 ] && [ -s "${csv[0]}" ] || fail "not one CSV: ${csv[*]}"
[[ ${csv[0]} =~ results_[0-9]{8}_[0-9]{6}\.csv$ ]] || fail "its name is ${csv[0]}"
expect_file "${csv[0]}" 'int8wo'
expect_file "${csv[0]}" 'act'
[ -z "$(ls made/deep/inference/*.part 2>/dev/null)" ] || fail "a part was left"
expect_err "^assay: wrote ${csv[0]}\$"

say "other files beside it, and another folder"
expect_exit 0 "$ASSAY" run c.yml "${short[@]}" -q --limit 1 --output-dir other -o rows.jsonl
[ -s "$(echo other/inference/results_*.csv)" ] || fail "no CSV in the other folder"
expect_file rows.jsonl '"op":"model:linear".*"label":"custom"'
expect_file rows.jsonl '"entry":"small"'
expect_file rows.jsonl '"recipe":"int8wo".*"status":"ok"'
expect_out_lines 0

say "a model of the file's own"
expect_exit 0 "$ASSAY" run "$ASSAY_SOURCE_DIR/examples/own_model.yml" "${short[@]}" -q -o own.jsonl
expect_file own.jsonl '"op":"model:residual_mlp"'

say "going on with a run: the same plan, results written again"
expect_exit 0 "$ASSAY" run c.yml --resume last -q -o again.jsonl
expect_usage 'is a run of `assay bench`' sh -c '"$0" bench relu --batch 1 --seq 1 --dim 8 --iters 8 --warmup 1 -q &&
    exec "$0" run --resume last' "$ASSAY"
