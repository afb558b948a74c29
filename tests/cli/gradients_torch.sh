#!/usr/bin/env bash
# Gradients by PyTorch's own functions, what its forward passes save and its optimizers, beside the references: all of
# them right, and what it has not says so.
# Not under sanitizers: the program carries no package there, because an interpreter is not sanitized
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
unset ASSAY_PYTHON VIRTUAL_ENV
python=/usr/bin/python3
$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no Python 3.11"
$python -c 'import torch' 2>/dev/null || skip "no PyTorch"
"$ASSAY" bench relu "${quick[@]}" --python $python --impl torch --dry-run 2>&1 |
    grep -q "built without Python's headers" && skip "built without Python's headers"
alone=(--python "$python" --impl torch --cache hot --iters 2 --warmup 1)
few=("${alone[@]}" --impl "ref,torch")

say "gradients of rows; tests/python holds these and others to autograd"
expect_exit 0 "$ASSAY" bench relu hardswish gelu softmax layernorm rmsnorm layernorm_gelu swiglu add mse cross_entropy \
    --pass backward --shape 2x7x37 "${few[@]}" -o rows.json
expect_out '22 rows in 11 groups: 22 ok'
expect_count 22 '"pass": "backward"' rows.json

say "a loss forward, backward, and both at once"
expect_exit 0 "$ASSAY" bench cross_entropy --pass both --shape 2x7x37 "${few[@]}"
expect_out '6 rows in 3 groups: 6 ok'

say "products, and images"
expect_exit 0 "$ASSAY" bench linear --pass backward --shape 33x65x17 --mode none,bias,dx,dw,bias+dw "${few[@]}"
expect_out '10 rows in 5 groups: 10 ok'
expect_exit 0 "$ASSAY" bench groupnorm --pass backward --shape 2x5x7x12x3 --mode none,silu "${few[@]}"
expect_out '4 rows in 2 groups: 4 ok'
expect_exit 0 "$ASSAY" bench conv2d --pass backward --shape 1x8x7x4x5x4x2 --mode bias+pad0 "${alone[@]}"
expect_out '1 row in 1 group: 1 ok'
expect_exit 0 "$ASSAY" bench depthwise_conv2d --pass backward --shape 2x9x7x5x3x2 --mode bias "${alone[@]}"
expect_out '1 row in 1 group: 1 ok'

say "attention, and a reference so slow that there is none of other values"
expect_exit 0 "$ASSAY" bench attention --pass backward --shape 2x17x3x16 --mode qkv+causal "${alone[@]}"
expect_out '1 row in 1 group: 1 ok'
expect_exit 0 "$ASSAY" bench attention --pass backward --shape 1x256x4x64 "${alone[@]}"
expect_out '1 row in 1 group: 1 ok'

say "what forward passes save, and optimizers"
expect_exit 0 "$ASSAY" bench layernorm_training rmsnorm_training adamw --shape 2x7x37 --dtype f32,bf16 "${alone[@]}"
expect_out '6 rows in 6 groups: 5 ok, 1 unsupported'
expect_out 'unsupported: PyTorch saves statistics in bf16 on a CPU'
expect_exit 0 "$ASSAY" bench sgd --mode momentum --shape 2x7x37 "${alone[@]}"
expect_exit 0 "$ASSAY" bench linear_training --mode bias --recipe baseline,float8dq-tensor --shape 33x65x17 "${alone[@]}"
expect_out '1 ok, 1 unsupported'
expect_exit 0 "$ASSAY" bench groupnorm_training --mode silu --shape 2x5x7x12x3 "${alone[@]}"
expect_exit 0 "$ASSAY" bench attention_training --shape 2x17x3x16 --mode qkv+causal "${alone[@]}" -v
expect_out 'PyTorch .*attention that saves written out'

say "what has no gradient"
expect_usage 'copy has no backward pass; these have: layernorm' "$ASSAY" bench copy --pass backward
expect_usage '"sideways" is none; write forward, backward or both' "$ASSAY" bench gelu --pass sideways
