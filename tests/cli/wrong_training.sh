#!/usr/bin/env bash
# Training's forward passes that save something wrong, optimizers and gradients of attention with the
# mistakes they are known for: the row names each, and the output it is in.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
with=(--plugin "$ASSAY_PLUGINS/wrong_training.so" --cache hot --iters 3 --warmup 1)

say "statistics that are not those of the row"
expect_exit 1 "$ASSAY" bench layernorm_training --shape 2x31x24 "${with[@]}" \
    --impl honest_norm,neighbour_mean,saves_variance,no_eps,no_statistics
expect_out '^ *honest_norm .*[0-9.]+ [num]?s '
expect_out '^ *neighbour_mean .*mismatch: ([0-9]+) of \1 wrong in output 1, first at \[0\]'
expect_out '^ *saves_variance .*mismatch: ([0-9]+) of \1 wrong in output 2, first at \[0\]'
expect_out '^ *no_eps .*mismatch: [0-9]+ of [0-9]+ wrong in output 2, '
expect_out '^ *no_statistics .*mismatch: left 62 of 62 elements of output 1 unwritten'
expect_out '5 rows in 1 group: 1 ok, 4 mismatch'

say "steps that are not AdamW's"
expect_exit 1 "$ASSAY" bench adamw --shape 2x31x24 "${with[@]}" \
    --impl honest_adamw,skipped,no_correction,no_decay,old_moment,plain_decay
expect_out '^ *honest_adamw .*[0-9.]+ [num]?s '
expect_out '^ *skipped .*mismatch: '
expect_out '^ *no_correction .*mismatch: '
expect_out '^ *no_decay .*mismatch: '
expect_out '^ *old_moment .*mismatch: '
expect_out '^ *plain_decay .*mismatch: '
expect_out '6 rows in 1 group: 1 ok, 5 mismatch'

say "steps that are not SGD's, with momentum"
expect_exit 1 "$ASSAY" bench sgd --mode momentum --shape 2x31x24 "${with[@]}" \
    --impl honest_sgd,uphill,sgd_no_decay,old_buffer,keeps_buffer
expect_out '^ *honest_sgd .*[0-9.]+ [num]?s '
expect_out '^ *uphill .*mismatch: '
expect_out '^ *sgd_no_decay .*mismatch: '
expect_out '^ *old_buffer .*mismatch: '
expect_out '^ *keeps_buffer .*mismatch: ([0-9]+) of \1 wrong in output 1'
expect_out '5 rows in 1 group: 1 ok, 4 mismatch'

say "logarithms of sums that are not those of attention's rows"
with=(--plugin "$ASSAY_PLUGINS/wrong_attention.so" --cache hot --iters 3 --warmup 1)
expect_exit 1 "$ASSAY" bench attention_training --mode qkv --shape 2x20x2x16 "${with[@]}" \
    --impl honest_forward,in_bits,no_maximum,seq_first
expect_out '^ *honest_forward .*[0-9.]+ [num]?s '
expect_out '^ *in_bits .*mismatch: ([0-9]+) of \1 wrong in output 1'
expect_out '^ *no_maximum .*mismatch: ([0-9]+) of \1 wrong in output 1'
expect_out '^ *seq_first .*mismatch: [0-9]+ of [0-9]+ wrong in output 1'
expect_out '4 rows in 1 group: 1 ok, 3 mismatch'

say "gradients of attention that leave out what was saved, or put it elsewhere"
expect_exit 1 "$ASSAY" bench attention --pass backward --mode qkv+causal --shape 2x20x2x16 \
    "${with[@]}" --impl honest_backward,swapped,own_lse,no_out,unscaled,looks_behind
expect_out '^ *honest_backward .*[0-9.]+ [num]?s '
for wrong in swapped own_lse no_out unscaled looks_behind; do
    expect_out "^ *$wrong .*mismatch: "
done
expect_out '6 rows in 1 group: 1 ok, 5 mismatch'

say "every native kernel of what training adds, beside the reference"
for op in layernorm_training rmsnorm_training layernorm_gelu_training adamw sgd; do
    expect_exit 0 "$ASSAY" bench "$op" --shape 2x7x33 --dtype f32,bf16,f16 --impl native,ref \
        --cache hot --iters 2 --warmup 1
    expect_out '6 rows in 3 groups: 6 ok'
done
expect_exit 0 "$ASSAY" bench sgd --mode momentum --shape 2x7x33 --impl native,ref --cache hot \
    --iters 2 --warmup 1
expect_exit 0 "$ASSAY" bench groupnorm_training --mode silu --shape 2x5x7x12x3 --impl native,ref \
    --cache hot --iters 2 --warmup 1
for mode in qkv qkv+causal; do
    expect_exit 0 "$ASSAY" bench attention_training --mode "$mode" --shape 1x20x2x16 \
        --impl native,ref --cache hot --iters 2 --warmup 1
    expect_exit 0 "$ASSAY" bench attention --pass backward --mode "$mode" --shape 1x20x2x16 \
        --impl native,ref --cache hot --iters 2 --warmup 1
    expect_out '2 rows in 1 group: 2 ok'
done
expect_exit 0 "$ASSAY" bench layernorm_gelu --pass backward --shape 2x7x33 --dtype f32,bf16 \
    --impl native,ref --cache hot --iters 2 --warmup 1
expect_out '4 rows in 2 groups: 4 ok'

say "modes that there are not"
expect_usage 'the modes are none and momentum' "$ASSAY" bench sgd --mode nesterov
expect_usage 'did you mean "qkv"' "$ASSAY" bench attention_backward --mode kqv
