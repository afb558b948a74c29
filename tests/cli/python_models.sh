#!/usr/bin/env bash
# assay run, ci and preset with --impl: models in PyTorch beside assay's own, and what is said where PyTorch has
# none, is missing or is broken.
# Not under sanitizers: the program carries no package there, because an interpreter is not sanitized
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
unset ASSAY_PYTHON VIRTUAL_ENV
python=/usr/bin/python3
few=(--iters 10 --warmup 1 --threads 1 --no-ceiling)
tiny=(--set batch=1 --set seq_len=8 --set embed_dim=32 --set hidden_dim=24)
tiny_all=("${tiny[@]}" --set num_heads=4 --set height=6 --set width=5 --set channels=64 --set in_channels=3 --set out_channels=5)

# What the table says, wherever it breaks lines.
expect_words() { tr -s ' \n' ' ' <"$work/out" | grep -Eq -- "$1" || fail "the output does not say: $1"; }
expect_jq() { # FILE FILTER
    ! command -v jq >/dev/null || jq -e "$2" "$1" >/dev/null || fail "$1 is not as expected: $2"
}
write_config() { # FILE MODEL COMPILE
    cat >"$1" <<END
benchmark_mode: inference
quantization_config_recipe_names: [int8wo]
model_params:
  - name: small
    matrix_shapes:
      - name: custom
        shapes: [[16, 32, 24]]
    high_precision_dtype: torch.float32
    use_torch_compile: $3
    device: cpu
    model_type: $2
END
}
write_config eager.yml ln_linear_gelu false
write_config compiled.yml linear true

say "names that nothing goes by"
expect_usage 'unknown implementation "torhc" of models; did you mean "torch"\?' "$ASSAY" run eager.yml --impl torhc
expect_usage 'no whole models in "native"; there are eager, compiled and recomputed' "$ASSAY" preset mlp --impl native
expect_usage 'no whole models in "triton"' "$ASSAY" ci --config eager.yml --impl triton
expect_usage '--impl takes a list' "$ASSAY" run eager.yml --impl torch,
expect_usage 'unknown implementation "eagr" of models; did you mean "eager"\?' "$ASSAY" run eager.yml --baseline eagr
expect_usage '--baseline eager: it does not take part' "$ASSAY" preset mlp --impl compiled --baseline eager
for command in 'run eager.yml' 'preset mlp' 'ci --config eager.yml'; do
    # shellcheck disable=SC2086 # words
    expect_exit 3 "$ASSAY" $command --impl torch --python /nowhere/python
    expect_err -- '--python /nowhere/python is not a program that can be run'
done
for command in run ci preset; do
    expect_exit 0 "$ASSAY" "$command" --help
    expect_out -- '--impl IMPLS'
    expect_out -- '--baseline IMPL'
done

say "only those of assay's own that are named"
expect_exit 0 "$ASSAY" preset mlp "${few[@]}" "${tiny[@]}" --impl compiled -o only.json
expect_out '^mlp_gelu/compiled +[0-9]'
expect_jq only.json '[.records[].implementation] | unique == ["compiled"]'
expect_exit 0 "$ASSAY" run compiled.yml "${few[@]}" --impl eager -o only.json
expect_jq only.json '[.records[].implementation] | unique == ["eager"]'
"$ASSAY" run eager.yml "${few[@]}" --python $python --impl torch --dry-run >"$work/out" 2>&1
expect_out '1 group, 4 rows'
grep -q "built without Python's headers" "$work/out" && skip "built without Python's headers"
expect_exit 0 "$ASSAY" run compiled.yml "${few[@]}" --python $python --impl torch --dry-run
expect_out '1 group, 8 rows'
expect_usage 'Python has a process of its own' "$ASSAY" run eager.yml "${few[@]}" --impl torch --python $python --in-process
$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no Python 3.11"

say "PyTorch that is missing, or cannot be imported, costs its own rows"
mkdir bare
$python -m venv bare/venv --without-pip >"$work/out" 2>&1 || rm -rf bare/venv
if [ -d bare/venv ]; then
    bare=$work/bare/venv/bin/python3
    expect_exit 0 "$ASSAY" run compiled.yml "${few[@]}" --python "$bare" --impl torch -o bare.json
    expect_words 'baseline torch unsupported: PyTorch is not installed for .*venv/bin/python3: pip install torch'
    expect_words '8 rows in 1 group: 4 ok, 4 unsupported'
    expect_jq bare.json '[.records[] | select(.status == "unsupported") | .implementation] | unique == ["torch", "torch-compile"]'
    expect_exit 0 "$ASSAY" preset mlp "${few[@]}" "${tiny[@]}" --python "$bare" --impl torch,torch-compile
    expect_words 'mlp_gelu/torch unsupported: PyTorch is not installed'
    expect_words 'mlp_gelu/torch-compile unsupported: PyTorch is not installed'
    site=$("$bare" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    mkdir "$site/torch"
    echo 'raise ImportError("libc10.so: cannot open shared object file")' >"$site/torch/__init__.py"
    echo "__version__ = '2.11.0+cpu'" >"$site/torch/version.py"
    expect_exit 1 "$ASSAY" run eager.yml "${few[@]}" --python "$bare" --impl torch
    expect_words 'baseline torch ✗? ?failed: ImportError: libc10.so: cannot open shared object file'
    expect_words 'int8wo torch unsupported: PyTorch alone has no kernel for int8wo'
    echo "__version__ = '1.9.0'" >"$site/torch/version.py"
    expect_exit 0 "$ASSAY" preset attn "${few[@]}" --set batch=1 --set seq_len=8 --set embed_dim=32 --set num_heads=4 --python "$bare" --impl torch-compile
    expect_words 'multi_head_attention/torch-compile unsupported: torch.compile needs PyTorch 2.1; this is 1.9.0'
fi

$python -c 'import torch, numpy' 2>/dev/null || skip "the rest needs PyTorch and NumPy"
export ASSAY_PYTHON=$python

say "run: PyTorch's rows in assay's groups, right, and what speedups refer to"
expect_exit 0 "$ASSAY" run eager.yml "${few[@]}" --impl torch -o run.json -o run.csv --output-dir found
expect_out 'Eager Baseline \(torch\) Inference Time: [0-9.]+ ms'
expect_out 'baseline torch +▸?[0-9.]+[!~]* +baseline'
expect_words 'int8wo torch unsupported: PyTorch alone has no kernel for int8wo: its users take torchao'
expect_words '4 rows in 1 group: 3 ok, 1 unsupported'
valid_json run.json
expect_jq run.json '[.records[] | select(.status == "ok") | .baseline] | unique == ["torch"]'
expect_jq run.json '.records[] | select(.implementation == "torch" and .recipe == "baseline") |
    .is_baseline and .kernel == "model_ln_linear_gelu_torch" and .verification.done and (.note | startswith("PyTorch "))'
expect_jq run.json '.records[] | select(.implementation == "eager" and .recipe == "int8wo") |
    .hot.ratio.ratio > 0 and (.is_baseline | not)'
csv=$(echo found/inference/results_*.csv)
expect_file "$csv" '^small,baseline,.*,torch,model_ln_linear_gelu_torch'
expect_exit 0 "$ASSAY" compare "$csv" "$csv"
expect_out 'torch'
expect_exit 0 "$ASSAY" run eager.yml "${few[@]}" --impl torch --baseline eager --recipe baseline
expect_out 'Eager Baseline Inference Time'
expect_out 'baseline torch +▸?[0-9.]+[!~]* +([0-9.]+x|same|unclear)'

say "run: compiled where the model is, and what PyTorch's version says of that"
expect_exit 0 "$ASSAY" run compiled.yml "${few[@]}" --impl torch --dtype f32,bf16 --recipe baseline -o both.json
expect_words '8 rows in 2 groups: '
expect_jq both.json '[.records[].implementation] | unique == ["compiled", "eager", "torch", "torch-compile"]'
expect_jq both.json '[.records[] | select(.implementation == "torch") | .status] | unique == ["ok"]'
expect_exit 0 "$ASSAY" run --resume last
expect_words '8 rows in 2 groups: '

say "preset: every case has a row"
expect_exit 0 "$ASSAY" preset all "${few[@]}" "${tiny_all[@]}" --impl torch -o preset.json
for name in mlp_gelu mlp_swiglu conv2d depthwise_conv2d layer_norm group_norm rms_norm sd_resblock; do
    expect_words " $name/torch [0-9.e-]+[!~]* .* ✓"
done
expect_words 'x: against torch'
expect_words '20 rows in 10 groups: '
expect_jq preset.json '[.records[] | select(.implementation == "torch") | .status] | length == 10 and all(. == "ok" or . == "unsupported")'
expect_exit 0 "$ASSAY" preset mlp "${few[@]}" "${tiny[@]}" --impl torch --dtype bf16
expect_words ' mlp_gelu/torch [0-9.e-]+[!~]* .* ✓'

say "in training: every pass of every preset, all outputs verified; recipes are not trained"
expect_exit 0 "$ASSAY" preset all "${few[@]}" "${tiny_all[@]}" --pass forward,backward,both,step --impl torch -o training.json
expect_words '80 rows in 40 groups: '
for pass in forward backward both step; do
    expect_jq training.json "[.records[] | select(.pass == \"$pass\" and .implementation == \"torch\") | .status] |
        length == 10 and all(. == \"ok\" or . == \"unsupported\") and (map(select(. == \"ok\")) | length) >= 8"
done
expect_exit 0 "$ASSAY" preset mlp "${few[@]}" "${tiny[@]}" --pass step --optimizer sgd --impl torch --dtype bf16
expect_words 'mlp_gelu_step/torch [0-9.e-]+[!~]* .* ✓'
expect_exit 0 "$ASSAY" run eager.yml "${few[@]}" --pass both --impl torch
expect_words 'int8wo torch unsupported: in training linear layers have the baseline only'

say "a model that only a configuration describes"
cp "$ASSAY_SOURCE_DIR/examples/own_model.yml" own.yml
expect_exit 0 "$ASSAY" run own.yml "${few[@]}" --impl torch --device cpu --recipe baseline --compile false --limit 1 \
    --shapes custom=8x64x64
expect_words 'torch unsupported: assay has the model .* not in PyTorch'

say "ci: a record of its own, named by the implementation"
expect_exit 0 "$ASSAY" ci --config compiled.yml "${few[@]}" --impl torch --repeat 1 --recipe baseline --output ci.json
valid_json ci.json
expect_jq ci.json '[.[].benchmark.extra_info.implementation] | unique | . == ["compiled", "torch"] or . == ["compiled", "torch-compile"]'
