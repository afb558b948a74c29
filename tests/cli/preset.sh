#!/usr/bin/env bash
# assay preset: the list, bad input, parameters and sweeps, files, KoBench's name and its JSON.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--iters 4 --warmup 1 --device cpu --threads 1)
tiny_attn=(--set batch=1 --set seq_len=8 --set embed_dim=16 --set num_heads=2)
examples=$ASSAY_SOURCE_DIR/examples/presets
ln -s "$ASSAY" "$work/kobench"

say "the list has all presets, cases, parameters and counts"
expect_exit 0 "$ASSAY" preset --list
for name in attn mlp conv norm transformer sdres; do
    expect_out "^$name "
done
for name in multi_head_attention mlp_gelu mlp_swiglu conv2d depthwise_conv2d layer_norm group_norm \
    rms_norm transformer_block sd_resblock; do
    expect_out "^  $name "
done
expect_out 'batch=4 seq_len=1024 embed_dim=1024 num_heads=16'
expect_out '25\.77 GMACs, 402\.65 MFLOPs'
expect_out '13\.96 GMACs, 75\.50 MFLOPs'
expect_out '15\.10 GMACs, 60\.29 MFLOPs'
expect_out '103\.08 GMACs, 100\.66 MFLOPs'
cp "$work/out" "$work/list"
expect_exit 0 "$work/kobench" --list
cmp -s "$work/out" "$work/list" || fail "kobench --list is another list"
expect_exit 0 "$ASSAY" preset norm --list
expect_no_out '^attn'
expect_exit 0 "$ASSAY" preset --help
expect_out '^assay preset PRESET'
expect_exit 0 "$ASSAY" help preset
expect_exit 0 "$work/kobench" --help
expect_out '^assay preset PRESET'
expect_exit 0 "$work/kobench" --version
expect_out '^assay [0-9]'

say "what is wrong is told before anything runs"
expect_usage 'which preset\?' "$ASSAY" preset
expect_usage 'unknown preset "atn"; did you mean "attn"\?' "$ASSAY" preset atn
expect_usage 'unknown preset "mpl"; did you mean "mlp"\?' "$work/kobench" --preset mpl
expect_usage '--iters must lie between 1' "$ASSAY" preset attn --iters 0
expect_usage '--warmup must lie between 1' "$ASSAY" preset attn --warmup 0
expect_usage 'did you mean "seq_len"\? there are batch, seq_len, embed_dim, num_heads' \
    "$ASSAY" preset attn --set seq_lne=4
expect_usage 'embed_dim = 1000 is not a multiple of num_heads = 16' "$ASSAY" preset attn --set embed_dim=1000
expect_usage 'channels = 100 is not a multiple of groups = 32' "$ASSAY" preset norm --set channels=100
expect_usage 'channels = 100 is not a multiple of groups = 32' "$ASSAY" preset sdres --set channels=100
expect_usage '--set batch must be at least 1, not 0' "$ASSAY" preset mlp --set batch=0
expect_usage '--set batch must be at least 1, not -3' "$ASSAY" preset mlp --set batch=-3
expect_usage 'no preset runs in s8' "$ASSAY" preset mlp --dtype int8
expect_usage 'unknown dtype' "$ASSAY" preset mlp --dtype float17
expect_usage 'unknown preset or case "mpl"' "$ASSAY" preset mlp --set mpl.batch=3
expect_exit 3 "$ASSAY" preset attn --device cuda --strict-device
expect_usage 'leave out "attn"' "$ASSAY" preset attn --resume last

say "every case runs and is right"
expect_exit 0 "$ASSAY" preset all "${short[@]}" --set batch=1 --set seq_len=8 --set embed_dim=32 \
    --set hidden_dim=24 --set num_heads=4 --set height=6 --set width=5 --set channels=64 \
    --set in_channels=3 --set out_channels=5 -o kobench-json:all.json -o all.csv
expect_out '^float32 on cpu'
expect_out '^name +mean_ms +median_ms +std_ms +idle_vram +peak_vram +workspace +MACs +MACS +FLOPs +FLOPS'
for name in multi_head_attention mlp_gelu mlp_swiglu conv2d depthwise_conv2d layer_norm group_norm \
    rms_norm transformer_block sd_resblock; do
    expect_out "^$name +[0-9].* ✓\$"
done
expect_out '^conv2d .* n/a +n/a '
expect_out '10 rows in 10 groups: 10 ok'
valid_json all.json
if command -v jq >/dev/null; then
    want='device,dtype,flops,flops_rate,idle_vram_mb,iters,latency_ms,latency_std_ms,macs,macs_rate,metadata,name,peak_vram_mb,warmup,workspace_vram_mb'
    [ "$(jq -r '.[0] | keys | join(",")' all.json)" = "$want" ] || fail "the keys of kobench-json"
    jq -e 'length == 10 and all(.[]; .iters == 4 and .warmup == 1 and .dtype == "float32" and
           .device == "cpu" and .latency_ms > 0 and .latency_std_ms >= 0)' all.json >/dev/null ||
        fail "the values of kobench-json"
    jq -e '.[0] | .name == "multi_head_attention" and
           .metadata == {batch_size: 1, seq_len: 8, embed_dim: 32, num_heads: 4} and
           .macs == 4 * 8 * 32 * 32 + 2 * 8 * 8 * 32 and .flops == 6 * 4 * 8 * 8 and
           (.macs_rate * .latency_ms / 1000 / .macs | . > 0.999 and . < 1.001)' all.json >/dev/null ||
        fail "the first case of kobench-json"
    jq -e '.[3] | .name == "conv2d" and .flops == null and .flops_rate == null' all.json >/dev/null ||
        fail "a count without a counter is not null"
    jq -e '.[5] | .name == "layer_norm" and .macs == null and .flops == 6 * 8 * 32' all.json >/dev/null ||
        fail "the norms' counters"
fi
expect_count 11 ',' all.csv
expect_file all.csv '^group,.*,macs,counted_flops,efficiency_lo,efficiency_hi,machine_frac,disturbed,waited,stolen,timed,timed_why,graph_calls,graph_kernels,graph_copies,graph_memsets$'

say "sweeps, and parameters of one case"
expect_exit 0 "$ASSAY" preset attn "${short[@]}" "${tiny_attn[@]}" --set seq_len=4:16:x2 --set num_heads=1,2
expect_out '^multi_head_attention seq_len=4 num_heads=1$'
expect_out '6 rows in 6 groups: 6 ok'
expect_exit 0 "$ASSAY" preset norm "${short[@]}" --set seq_len=4 --set embed_dim=8 --set height=3 --set width=2 \
    --set channels=32 --set rms_norm.batch=1 -f json
expect_out '"entry": "rms_norm"'
expect_count 1 '"batch": 1,?$' "$work/out"
expect_count 2 '"batch": 4,?$' "$work/out"

say "compiled beside eager"
expect_exit 0 "$ASSAY" preset mlp "${short[@]}" --set batch=1 --set seq_len=4 --set embed_dim=16 \
    --set hidden_dim=32 --compile -o kobench-json:compiled.json
expect_out '^mlp_gelu '
expect_out '^mlp_gelu/compiled '
expect_file compiled.json '"name": "mlp_swiglu/compiled"'

say "KoBench's own commands"
expect_exit 0 "$work/kobench" --preset attn --device cpu --dtype float16 --warmup 8 --iters 32 "${tiny_attn[@]}" \
    -f kobench-json
expect_out '"dtype": "float16"'
expect_out '"iters": 32'
expect_out '"warmup": 8'
expect_exit 0 "$work/kobench" --preset attn --device cuda:0 --dtype float32 --iters 3 "${tiny_attn[@]}"
expect_err 'device "cuda:0" is not here .*using the cpu instead'
expect_out '^float32 on cpu'

say "kobench alone: attn, 8 calls to warm up and 32 timed"
expect_exit 0 "$work/kobench" --device cpu "${tiny_attn[@]}" -f kobench-json
expect_out '"name": "multi_head_attention"'
expect_out '"warmup": 8'
expect_out '"iters": 32'
expect_exit 0 "$work/kobench" --device cpu "${tiny_attn[@]}" --iters 5 -f kobench-json
expect_out '"warmup": 8'
expect_out '"iters": 5'
expect_exit 0 "$work/kobench" --device cpu "${tiny_attn[@]}" --budget 20ms -f kobench-json
expect_out '"warmup": null'
ASSAY_PYTHON=/nowhere expect_exit 3 "$work/kobench" --preset my_preset.py
expect_err 'ASSAY_PYTHON /nowhere is not a program that can be run'

say "KoBench's names of parameters, in --set and in its JSON"
expect_exit 0 "$ASSAY" preset conv "${short[@]}" --set batch_size=1 --set image_size=9 --set kernel_size=5 \
    --set stride=2 --set in_channels=3 --set out_channels=4 --set channels=16 --set pointwise=False -f kobench-json
valid_json "$work/out"
expect_count 2 '"image_size": 9,' "$work/out"
expect_count 2 '"out_dim": 5,' "$work/out"
expect_count 2 '"kernel_size": 5,' "$work/out"
expect_count 2 '"stride": 2,' "$work/out"
expect_count 2 '"padding": 2,' "$work/out"
expect_out '"groups": 1$'
expect_out '"pointwise": false$'
expect_out '"macs": 7500,'
expect_out '"macs": 10000,'
expect_exit 0 "$ASSAY" preset mlp norm "${short[@]}" --set batch_size=1 --set seq_len=4 --set embed_dim=16 \
    --set hidden_dim=32 --set activation=relu --set image_size=4 --set channels=32 --set eps=1e-5 \
    -o kobench-json:words.json
expect_out '^mlp_relu .* 128 .* ✓$'
expect_file words.json '"activation": "relu"'
expect_file words.json '"eps": 1(\.0*1)?e-0?5'
expect_usage '--set activation is one of gelu, relu, not "tanh"' "$ASSAY" preset mlp --set activation=tanh

say "without counts until it is precise"
expect_exit 0 "$ASSAY" preset attn --device cpu --budget 50ms "${tiny_attn[@]}" -f kobench-json
expect_out '"warmup": null'

say "going on with a run"
expect_exit 0 "$ASSAY" preset --resume last -f kobench-json
expect_out '"name": "multi_head_attention"'

say "presets from files"
for file in "$examples"/*.yml; do
    expect_exit 0 "$ASSAY" preset "$file" "${short[@]}"
    expect_out ' ok$'
    expect_no_out '✗'
done
expect_exit 0 "$ASSAY" preset "$examples/residual_mlp.yml" "${short[@]}" --set hidden_dim=8,16 --set embed_dim=4 \
    --set seq_len=2 -f kobench-json
expect_out '"name": "residual_mlp"'
expect_count 1 '"hidden_dim": 16' "$work/out"
expect_exit 0 "$ASSAY" preset "$examples/projections.yml" --list
expect_out '^projections '
expect_out '^  kv_proj +batch=2 seq_len=128 embed_dim=512 kv_dim=128'
expect_usage 'did you mean "hidden_dim"\?' "$ASSAY" preset "$examples/residual_mlp.yml" --set hiden_dim=3
cat >wrong.yml <<'END'
name: wrong
parameters: {batch: 2, dim: 8}
cases:
  model: {inputs: {x: [batch, dim]}, nodes: [{op: linear, features: 4*dmi}]}
END
expect_usage 'wrong\.yml:4:69: nodes\[0\]\.features: column 3: unknown name "dmi"; did you mean "dim"\?' \
    "$ASSAY" preset wrong.yml
expect_usage 'nowhere\.yml: this preset cannot be read' "$ASSAY" preset nowhere.yml
printf 'name: a\ncases: {model: linear}\n' >a.yml
expect_usage 'a\.yml:2:16: model linear needs a size m' "$ASSAY" preset ./a.yml

say "a preset that is a shared object"
dot=$ASSAY_PLUGINS/example_dot.so
expect_exit 0 "$ASSAY" preset "$dot" --list
expect_out '^dot +two ways to a dot product'
expect_out '^  many_sums +length=100000'
expect_exit 0 "$ASSAY" preset "$dot" "${short[@]}" --set length=100,200
expect_out '^one_sum length=100 '
expect_out '^one_sum length=200 '
expect_out '^many_sums length=200'
expect_exit 0 "$ASSAY" preset "$dot" "${short[@]}" --set length=1000 -f kobench-json
valid_json "$work/out"
expect_count 2 '"macs": ?1000[,.]' "$work/out"
expect_out '"length": ?1000'
expect_usage 'did you mean "length"\?' "$ASSAY" preset "$dot" --set lenght=3
expect_usage '--set length must be at least 1' "$ASSAY" preset "$dot" --set length=0
expect_usage 'measured without --compile' "$ASSAY" preset "$dot" --compile
expect_usage 'measured without other presets' "$ASSAY" preset "$dot" attn
expect_usage 'measured without formats but' "$ASSAY" preset "$dot" -f csv
expect_usage 'cannot be opened' "$ASSAY" preset ./nowhere.so
expect_usage 'has no assay_preset_plugin' "$ASSAY" preset "$ASSAY_PLUGINS/good.so"

say "its cases fail, crash and hang by themselves"
expect_exit 1 "$ASSAY" preset "$ASSAY_PLUGINS/preset_wrong.so" "${short[@]}" --timeout 1s --set size=2,5 -f kobench-json
expect_out '"status": ?"ok"'
expect_out '"status": ?"failed"'
expect_out '"status": ?"crashed"'
expect_out '"status": ?"timeout"'
