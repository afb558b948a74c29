#!/usr/bin/env bash
# Mistakes in configurations: exit 2, one line with file, line and column, and nothing is measured.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

# wrong PLACE MESSAGE TEXT: a configuration with this text is refused there, whether it would run or not
wrong() {
    printf '%b' "$3" >c.yml
    expect_usage "^assay: c\.yml$1: $2" "$ASSAY" run c.yml
    expect_usage "^assay: c\.yml$1: $2" "$ASSAY" ci --config c.yml
    expect_usage "^assay: c\.yml$1: $2" "$ASSAY" run --config c.yml --dry-run
}

# doubtful PLACE MESSAGE TEXT: refused there as well, but only a warning for who passes it over
doubtful() {
    printf '%b' "$3" >c.yml
    expect_usage "^assay: c\.yml$1: $2" "$ASSAY" run c.yml
    expect_usage "^assay: c\.yml$1: $2.*--lenient" "$ASSAY" run --config c.yml --dry-run
    expect_exit 0 "$ASSAY" run c.yml --dry-run --lenient
    expect_err "^assay: c\.yml$1: $2"
    expect_exit 0 "$ASSAY" ci --config c.yml --dry-run
    expect_err "^assay: c\.yml$1: $2"
}

say "files"
expect_usage 'which configuration\? name one with --config FILE' "$ASSAY" run
expect_usage 'which configuration\? name one with --config FILE' "$ASSAY" ci
expect_usage 'nowhere.yml: this configuration cannot be read: No such file' "$ASSAY" run nowhere.yml
expect_usage 'this is a folder' "$ASSAY" run "$work"
expect_usage 'one configuration at a time; "b.yml" is one too many' "$ASSAY" run a.yml b.yml
expect_usage 'one configuration at a time; "b.yml" is one too many' "$ASSAY" run b.yml --config a.yml
expect_usage 'unexpected "c.yml"' "$ASSAY" ci c.yml
wrong '' 'this file is empty' ''
wrong ':2:1' 'not YAML: ' 'device: [cpu\n'
wrong ':1:1' 'a configuration is a mapping of keys, not one value' 'hello\n'
wrong ':1:1' 'these are steps of a GitHub workflow, not a configuration' '- name: x\n  run: make\n'
wrong ':1:1' 'this is a GitHub workflow, not a configuration' 'on: push\njobs: {}\n'
head -c 2000000 /dev/zero >c.yml
expect_usage 'larger than a configuration can be' "$ASSAY" run c.yml

say "types"
wrong ':1:9' 'device takes text, not a list' 'device: [cpu]\n'
wrong ':1:20' 'use_torch_compile takes true or false, not "maybe"' 'use_torch_compile: maybe\n'
wrong ':1:16' 'matrix_shapes takes a list of shapes, not "llama"' 'matrix_shapes: llama\n'
doubtful ':1:8' 'device has no value' 'device:\n'

say "unknown names, each with the nearest known"
doubtful ':1:1' 'unknown key "devise"; did you mean "device"\?' 'devise: cpu\n'
doubtful ':1:36' 'unknown recipe "int8w"; did you mean "int8wo"\?' 'quantization_config_recipe_names: [int8w]\n'
doubtful ':1:36' 'unknown recipe "my_new_quantization"; known are baseline, int8wo' \
    'quantization_config_recipe_names: [my_new_quantization]\n'
wrong ':1:13' 'unknown model "ln_linear_gelo"; did you mean "ln_linear_gelu"\?' 'model_type: ln_linear_gelo\n'
wrong ':1:13' 'unknown model "my_custom_model".*linear' 'model_type: my_custom_model\n'
wrong ':1:24' 'unknown shapes "lama"; did you mean "llama"\?' 'matrix_shapes: [{name: lama}]\n'
printf 'device: cudda\n' >c.yml
expect_usage '^assay: c\.yml:1:9: unknown device "cudda"; did you mean "cuda"\?' "$ASSAY" run c.yml
expect_exit 0 "$ASSAY" ci --config c.yml --dry-run
expect_err '^assay: c\.yml:1:9: unknown device "cudda".*using the cpu instead'
wrong ':1:17' 'unknown benchmark_mode "inferense"; did you mean "inference"\?' 'benchmark_mode: inferense\n'
doubtful ':1:32' 'unknown sparsity recipe "blok"; did you mean "block"\?' 'sparsity_config_recipe_names: [blok]\n'
doubtful ':1:1' 'min_power belongs to an entry of matrix_shapes' 'min_power: 3\n'

say "shapes"
wrong ':1:41' 'a shape is \[m, k, n\], three sizes; here are two' 'matrix_shapes: [{name: custom, shapes: [[1, 2]]}]\n'
wrong ':1:45' 'k must lie between 1 and 1073741824, not 0' 'matrix_shapes: [{name: custom, shapes: [[1, 0, 2]]}]\n'
wrong ':1:45' 'k must lie between 1 and 1073741824, not -4' 'matrix_shapes: [{name: custom, shapes: [[1, -4, 2]]}]\n'
wrong ':1:42' 'm must lie between 1 and 1073741824' 'matrix_shapes: [{name: custom, shapes: [[99999999999, 1, 2]]}]\n'
wrong ':1:40' '.*too large' \
    'matrix_shapes: {name: custom, shapes: [[1073741824, 1073741824, 1073741824]]}\n'
wrong ':4:14' 'linear 16x96x32 cannot take int4wo-128: group 128 does not divide k = 96; int4wo-32 does' \
    'quantization_config_recipe_names: [int4wo-128]\nmatrix_shapes:\n  - name: custom\n    shapes: [[16, 96, 32]]\n'
wrong ':1:41' 'the range of powers from 12 to 11 runs backwards' \
    'matrix_shapes: [{name: pow2, min_power: 12, max_power: 11}]\n'

say "twice, and empty"
wrong ':2:1' '"device" is given twice, first in line 1' 'device: cpu\ndevice: cuda\n'
wrong ':1:35' 'quantization_config_recipe_names is an empty list' 'quantization_config_recipe_names: []\n'
wrong ':1:16' 'matrix_shapes is an empty list' 'matrix_shapes: []\n'
wrong ':1:15' 'model_params is an empty list' 'model_params: []\n'

say "folders for results"
touch afile
wrong ':1:13' 'output_dir "afile/results": afile is a file, not a folder' 'output_dir: afile/results\n'
expect_usage 'output_dir "afile": afile is a file, not a folder' "$ASSAY" run c.yml --output-dir afile

say "keys of training"
wrong ':2:21' 'unknown scaling_type_input "dinamic"; did you mean "dynamic"\?' \
    'benchmark_mode: training\nscaling_type_input: dinamic\n'

say "a model's description, at its own places"
wrong ':5:30' 'nodes\[0\]\.features: ' 'model:\n  name: bad\n  inputs: {x: [m, k]}\n  nodes:\n    - {op: linear, features: bogus}\n'

say "a device that must be here"
printf 'device: cuda\n' >c.yml
expect_exit 3 "$ASSAY" run c.yml --strict-device
expect_err '^assay: c\.yml:1:9: '

say "options"
printf 'device: cpu\n' >c.yml
expect_usage 'unknown option --recipes; did you mean --recipe\?' "$ASSAY" run c.yml --recipes x
expect_usage 'no model runs in s8' "$ASSAY" run c.yml --dtype s8
expect_usage '--shapes takes custom=MxKxN' "$ASSAY" run c.yml --shapes custom=1x2
expect_usage '--compile takes default, max-autotune, .* or false' "$ASSAY" run c.yml --compile fast
expect_usage '--limit must lie between' "$ASSAY" run c.yml --limit 0
expect_usage '--repeat must lie between' "$ASSAY" ci --config c.yml --repeat 0
expect_usage '--dry-run shows what a configuration would measure' "$ASSAY" run --resume last --dry-run
expect_exit 2 env -u GITHUB_STEP_SUMMARY "$ASSAY" ci --config c.yml --github-summary
expect_err 'GITHUB_STEP_SUMMARY is not set here'

[ -z "$(ls -d results benchmark_results.json* 2>/dev/null)" ] || fail "a mistake left results"
[ -z "$(ls "$XDG_DATA_HOME/assay/runs" 2>/dev/null)" ] || fail "a mistake left a journal"
