#!/usr/bin/env bash
# Gradients by PyTorch's own functions, beside the references: all of them right, and what it has not says so.
# Not under sanitizers: the program carries no package there, because an interpreter is not sanitized
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
unset ASSAY_PYTHON VIRTUAL_ENV
python=/usr/bin/python3
$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no Python 3.11"
$python -c 'import torch' 2>/dev/null || skip "no PyTorch"
"$ASSAY" bench relu "${quick[@]}" --python $python --impl torch --dry-run 2>&1 |
    grep -q "built without Python's headers" && skip "built without Python's headers"
few=(--python $python --impl "ref,torch" --cache hot --iters 10 --warmup 1)

say "gradients of rows"
expect_exit 0 "$ASSAY" bench relu relu6 leakyrelu hardswish sigmoid silu gelu gelu_tanh softmax layernorm rmsnorm \
    swiglu mse cross_entropy --pass backward --shape 2x7x37 "${few[@]}" -o rows.json
expect_out '28 rows in 14 groups: 28 ok'
expect_count 28 '"pass": "backward"' rows.json

say "a loss forward, backward, and both at once"
expect_exit 0 "$ASSAY" bench cross_entropy --pass both --shape 2x7x37 "${few[@]}"
expect_out '6 rows in 3 groups: 6 ok'

say "products, and images"
expect_exit 0 "$ASSAY" bench linear --pass backward --shape 33x65x17 --mode none,bias,dx,dw,bias+dw "${few[@]}"
expect_out '10 rows in 5 groups: 10 ok'
expect_exit 0 "$ASSAY" bench groupnorm --pass backward --shape 2x5x7x12x3 --mode none,silu "${few[@]}"
expect_out '4 rows in 2 groups: 3 ok, 1 unsupported'
expect_out 'no gradient of silu and a group norm in one'

say "what has no gradient"
expect_usage 'copy has no backward pass; these have: layernorm' "$ASSAY" bench copy --pass backward
expect_usage '"sideways" is none; write forward, backward or both' "$ASSAY" bench gelu --pass sideways
