#!/usr/bin/env bash
# assay list and assay info.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

say "the lists, and their names alone"
expect_exit 0 "$ASSAY" list ops
expect_out '^relu +max\(x, 0\)'
expect_out '^cross_entropy .*also .*loss'
expect_out '^linear .*W'
expect_out '^ +axes m,k,n; modes .*gelu.*; recipes$'
expect_out '^The axes are batch, seq, dim where no others are given'
expect_exit 0 "$ASSAY" list ops --names
expect_out '^relu$'
expect_no_out ' '
expect_exit 0 "$ASSAY" list kernels
expect_out '^relu_ref +ref +cpu +.*runs here'
expect_out '^relu_portable +native'
expect_no_out '[a-z0-9]runs here'
expect_out '^layernorm_ref +ref +cpu +f32,f16,bf16 +runs here$'
expect_out '^linear_ref +ref +cpu +f32,f16,bf16,s8 +runs here$'
expect_exit 0 "$ASSAY" list kernels --names
expect_out '^layernorm_avx512$'
expect_exit 0 "$ASSAY" list devices
expect_out '^cpu '
expect_exit 0 "$ASSAY" list dtypes
expect_out '^bf16 +2 bytes'
expect_out '^u4 +4 bits'
expect_exit 0 "$ASSAY" list dtypes --names
expect_out '^f32$'
expect_exit 0 "$ASSAY" list formats
expect_out '^json '
expect_exit 0 "$ASSAY" list formats --names
for format in table detail json jsonl csv md comprehensive torchao torchao-csv pytorch github kobench kobench-json \
    kernel kernel-json svg kernel-svg-light kernel-svg-dark html; do
    expect_out "^$format\$"
done
expect_exit 0 "$ASSAY" list charts
expect_out '^speedup +bars of '
expect_out '^--chart NAME chooses one'
expect_exit 0 "$ASSAY" list charts --names
expect_out '^roofline$'
expect_no_out ' '
expect_exit 0 "$ASSAY" list recipes
expect_out '^baseline +baseline +2\.000 '
expect_out '^int8wo +int8wo +1\.00'
expect_out '^int4wo-G +int4wo-128 +0\.531 '
expect_exit 0 "$ASSAY" list recipes --names
expect_out '^int4wo-128-hqq$'
expect_no_out ' '
expect_exit 0 "$ASSAY" list shapes
expect_out '^llama +LLaMA 2 70B on one node; 4 shapes$'
expect_out '^ +llama_attn\.wqkv +16384x8192x1280$'
expect_out '^ +pow2_4 +16384x16384x16384$'
expect_out '^ +sweep_511 +32768x32768x32768$'
expect_exit 0 "$ASSAY" list shapes --names
expect_out_lines "$(grep -c '^ASSAY_SHAPES(' "$ASSAY_SOURCE_DIR/src/config/shapes/shape_list.h")"
expect_out '^deepseek_v3_236b$'
expect_exit 0 "$ASSAY" list presets
expect_out '^attn +'
expect_exit 0 "$ASSAY" list presets --names
expect_out '^transformer$'
expect_no_out ' '
expect_exit 0 "$ASSAY" list implementations
expect_out '^native +[0-9]+ kernels$'
expect_exit 0 "$ASSAY" list implementations --names --plugin "$ASSAY_PLUGINS/good.so"
[ "$(sort "$work/out" | uniq -d)" = "" ] || fail "an implementation is listed twice"
expect_out '^ref$'
expect_exit 0 "$ASSAY" list commands
expect_out '^bench +compare'
expect_exit 0 "$ASSAY" list commands --names
expect_out '^list$'
expect_exit 0 "$ASSAY" list OPS
expect_err_lines 0

say "kernels of a plug-in are listed with the others"
expect_exit 0 "$ASSAY" list kernels --names --plugin "$ASSAY_PLUGINS/good.so"
expect_out '^good$'
expect_usage 'does not export assay_plugin' "$ASSAY" list kernels --plugin "$ASSAY_PLUGINS/no_symbol.so"

say "mistakes"
expect_usage 'did you mean "ops"\?' "$ASSAY" list opps
expect_usage 'did you mean "recipes"\?' "$ASSAY" list recipe
expect_usage 'list takes one of ops' "$ASSAY" list
expect_usage 'list takes one of ops' "$ASSAY" list ops kernels
expect_usage 'unknown option --name; did you mean --names\?' "$ASSAY" list ops --name
expect_usage 'unexpected "machine"' "$ASSAY" info machine
expect_usage 'did you mean --calibrate\?' "$ASSAY" info --calibrat
expect_usage '--threads must lie between' "$ASSAY" info --threads 0

say "the machine, with the ceilings remembered for it"
expect_exit 0 "$ASSAY" info
expect_out '^assay +[0-9]'
expect_out '^cpu +.* family '
expect_out '^cores +[0-9]+ for this process'
expect_out '^memory '
expect_out '^ceilings with [0-9]+ thread'
expect_out '^  GB/s at working set +read +write +copy +triad$'
expect_out '^ +0 KiB +L1 +(1000000\.0 ?){4}$'
expect_out '^  multiply-add f32 1000000000, '
expect_out '^floor '
expect_err_lines 0

say "without ceilings it says how to measure them; a damaged file is as good as none"
for file in "$XDG_CACHE_HOME"/assay/ceilings-*; do
    echo '{"format": "assay-ceilings", ' >"$file"
done
expect_exit 0 "$ASSAY" info
expect_out 'not measured yet .*assay info --calibrate'
rm -r "$XDG_CACHE_HOME"
expect_exit 0 "$ASSAY" info
expect_out 'not measured yet .*assay info --calibrate'
[ ! -e "$XDG_CACHE_HOME" ] || fail "asking made a folder"

say "a reader that has seen enough is no reason to complain"
(
    trap '' PIPE # what ignores it in this shell is ignored in the program: writing fails instead
    "$ASSAY" list kernels
    "$ASSAY" list kernels
    "$ASSAY" list kernels
) 2>"$work/err" | true
expect_err_lines 0
