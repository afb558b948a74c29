#!/usr/bin/env bash
# Models in training: the passes of assay run and assay preset, what they save, and bad input.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
short=(--budget 0.02s --no-ceiling)

cat >c.yml <<'END'
model_params:
  - name: small
    matrix_shapes: [{name: custom, shapes: [[5, 33, 17]]}]
    high_precision_dtype: bfloat16
    model_type: ln_linear_gelu
    device: cpu
END

say "every pass is a group of its own, eager and compiled, and right"
expect_exit 0 "$ASSAY" run c.yml --pass forward,backward,both,step "${short[@]}" -o all.json -v
expect_out '^Name: small · Model: ln_linear_gelu_backward '
expect_out '^Eager Baseline Backward Time: '
expect_out '^Name: small · Model: ln_linear_gelu_step adamw '
expect_out '^8 rows in 4 groups: 8 ok$'
expect_out 'saved for backward '
valid_json all.json
for pass in forward backward both step; do
    expect_count 2 "\"pass\": \"$pass\"" all.json
done
expect_count 8 '"saved_bytes": [1-9]' all.json
expect_count 8 '"planned_bytes": [1-9]' all.json

say "the forward pass saves the same for every pass; a step needs no gradient of x, and no statistics for it"
[ "$(grep '"saved_bytes"' all.json | sort -u | wc -l)" = 2 ] || fail "saved_bytes differ"
expect_count 6 '"saved_bytes": 540' all.json
expect_count 2 '"saved_bytes": 500' all.json

say "a third variant saves less, and is right; it is measured where it is named, in training"
expect_exit 0 "$ASSAY" preset transformer --set batch=1 --set seq_len=5 --set embed_dim=16 --set num_heads=2 --compile --pass both \
    --impl recomputed "${short[@]}" -o again.json
expect_count 3 '"status": "ok"' again.json
awk -F'[:,]' '/"implementation"/ { who = $2 } /"saved_bytes"/ { saved[who] = $2 }
    END { exit !(saved[" \"recomputed\""] + 0 > 0 && saved[" \"recomputed\""] < saved[" \"compiled\""]) }' again.json ||
    fail "recomputed saves no less"
expect_exit 0 "$ASSAY" preset transformer --set batch=1 --set seq_len=5 --set embed_dim=16 --set num_heads=2 --impl recomputed "${short[@]}"
expect_out 'unsupported: inference saves nothing that could be computed again; add --pass'
expect_usage 'unknown implementation "recompute" of models; did you mean "recomputed"' "$ASSAY" run c.yml --impl recompute

say "the optimizer is chosen, and belongs to a step"
expect_exit 0 "$ASSAY" run c.yml --pass step --optimizer sgd --compile false "${short[@]}"
expect_out 'Model: ln_linear_gelu_step sgd '
expect_usage '--optimizer: only a step has an optimizer; add --pass step' "$ASSAY" run c.yml --optimizer sgd
expect_usage 'is no optimizer; there are adamw and sgd' "$ASSAY" run c.yml --pass step --optimizer adam
expect_usage '--pass: "training" is none; write forward, backward, both or step' "$ASSAY" run c.yml --pass training

say "recipes that are not for training, and models that take none: their rows say so"
expect_exit 0 "$ASSAY" run c.yml --pass backward --recipe int8wo "${short[@]}"
expect_out 'int8wo +unsupported: int8wo is not for training; float8dq-tensor'
expect_out '4 rows in 1 group: 2 ok, 2 unsupported'
expect_exit 0 "$ASSAY" run c.yml --pass both --recipe float8dq-row "${short[@]}"
expect_out 'float8dq-row +unsupported: in training float8dq-row is for a linear layer alone'
expect_exit 0 "$ASSAY" run c.yml --model linear --pass both,step --recipe float8dq-row "${short[@]}"
expect_out '^8 rows in 2 groups: 8 ok$'

say "a model with an op that has no gradient, or no gradient in this mode, is refused"
cat >bad.yml <<'END'
model_params:
  - matrix_shapes: [{name: custom, shapes: [[4, 8, 8]]}]
    model:
      name: fused
      inputs: {x: [m, k]}
      nodes: [{op: linear, features: n, mode: gelu}]
END
expect_usage 'fused_backward: cannot be trained: the gradient of linear has not this mode' "$ASSAY" run bad.yml --pass backward
sed 's/name: fused/name: fused_step/' bad.yml >name.yml
expect_usage '"fused_step" ends as the name of a training pass does' "$ASSAY" run name.yml

say "what is saved counts as memory"
expect_exit 0 "$ASSAY" run c.yml --dry-run --pass backward --shapes custom=4096x64x64 --memory-limit 2M
expect_out 'skipped  does not fit this memory'

say "a group too large to be verified says so"
expect_exit 3 "$ASSAY" preset attn --pass both --set batch=1 --set seq_len=16384 --set embed_dim=64 --set num_heads=1 "${short[@]}"
expect_out 'unsupported: too large to be verified: the reference of all gradients would take some [0-9]+ s'

say "presets are trained, too"
expect_exit 0 "$ASSAY" preset norm --pass backward --set batch=2 --set seq_len=3 --set embed_dim=16 --set channels=32 --set height=4 --set width=4 "${short[@]}"
expect_out '^layer_norm_backward '
expect_out '^group_norm_backward '
expect_usage '--pass: "all" is none' "$ASSAY" preset norm --pass all
