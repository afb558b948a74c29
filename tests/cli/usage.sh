#!/usr/bin/env bash
# Mistakes of usage: exit 2, one line that says what to do, nothing on standard output.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

say "unknown names, each with the nearest known"
expect_usage 'unknown op "rellu"; did you mean "relu"\?' "$ASSAY" bench rellu
expect_usage 'unknown op "qqqqqqq"; `assay list ops` shows them all' "$ASSAY" bench qqqqqqq
expect_usage 'unknown op ""' "$ASSAY" bench ''
expect_usage 'unknown dtype "f31"; did you mean "f32"\?' "$ASSAY" bench relu --dtype f31
expect_usage 'no op runs in f64' "$ASSAY" bench relu --dtype f64
expect_usage 'unknown implementation "nativ"; did you mean "native"\?' "$ASSAY" bench relu --impl nativ
expect_usage 'unknown implementation "reff"; did you mean "ref"\?' "$ASSAY" bench relu --baseline reff
expect_usage 'unknown kernel "relu_avx"; did you mean "relu_avx2"\?' "$ASSAY" bench relu --kernel relu_avx
expect_usage 'unknown format "jsn"; did you mean "json"\?' "$ASSAY" bench relu --format jsn
expect_usage 'unknown option --bach; did you mean --batch\?' "$ASSAY" bench relu --bach 3
expect_usage 'unknown option -z' "$ASSAY" bench relu -z
expect_usage 'unknown device "cqu"; did you mean "cpu"\?' "$ASSAY" bench relu --device cqu
expect_usage 'there is no device "cpu:1"' "$ASSAY" bench relu --device cpu:1

say "words that people bring along from other tools"
for op in gemm matmul mm; do
    expect_usage "unknown op \"$op\"; did you mean \"linear\"\?" "$ASSAY" bench $op
done
expect_usage 'unknown op "batch_norm"; there is no such norm; layernorm, rmsnorm and groupnorm are' \
    "$ASSAY" bench batch_norm
expect_usage 'unknown op "all"; name the ops \(`assay list ops`\), or none for a tour' "$ASSAY" bench all
expect_usage 'unknown device "gpu"; did you mean "cuda"\?' "$ASSAY" bench gelu --device gpu
expect_usage 'unknown device "rocm"; there are cpu and cuda' "$ASSAY" bench gelu --device rocm
expect_usage 'unknown dtype "fp8"; no op computes in 8-bit floats; .*--recipe float8wo' \
    "$ASSAY" bench gelu --dtype fp8
expect_usage 'unknown recipe "int4"; did you mean "int4wo-128"\?' "$ASSAY" bench linear --recipe int4
expect_usage 'unknown recipe "fp8"; 8-bit floats are the recipes float8wo, ' "$ASSAY" bench linear --recipe fp8
expect_usage 'unknown option --json; write -o FILE.json' "$ASSAY" bench gelu --json out.json
expect_usage 'unknown option --list; `assay list` shows ops' "$ASSAY" bench gelu --list
expect_usage 'unknown option --gpu; write --device cuda' "$ASSAY" bench gelu --gpu
expect_usage 'unknown option --repeat; did you mean --iters\?' "$ASSAY" bench gelu --repeat 3
expect_usage 'takes hot, cold or both, not "warm"; did you mean "hot"\?' "$ASSAY" bench relu --cache warm
expect_usage 'unknown format "markdown"; did you mean "md"\?' "$ASSAY" bench relu -f markdown
expect_usage 'commas separate shapes, and linear takes MxKxN; write 1024x1024x1024' \
    "$ASSAY" bench linear --shape 1024,1024,1024
expect_usage 'commas separate shapes, and gelu takes BATCHxSEQxDIM; write 1024x1024x1024' \
    "$ASSAY" bench gelu --shape 1024,1024,1024
expect_usage 'unknown op "sillu"; did you mean "silu"\?' "$ASSAY" bench gelu,sillu

say "a baseline that does not take part"
expect_usage '--baseline native: it does not take part in relu on cpu; these do: ref$' \
    "$ASSAY" bench relu --impl ref --baseline native
expect_usage '--baseline openblas: it does not take part in gelu on cpu; these do: .*native' \
    "$ASSAY" bench gelu --baseline openblas

say "lists of sizes"
for list in '16,' ',16' '16,,32' 'a' '16:128' '16:128:' '16:128:2' '' '1.5' '1e3'; do
    expect_usage 'is not a list of sizes; write 16,32 or' "$ASSAY" bench relu --batch "$list"
done
expect_usage 'runs backwards' "$ASSAY" bench relu --seq 16:8:x2
expect_usage 'would never end' "$ASSAY" bench relu --dim 16:128:x1
expect_usage '--dim must be at least 1, not 0' "$ASSAY" bench relu --dim 0
expect_usage '--dim must be at least 1, not -3' "$ASSAY" bench relu --dim -3
expect_usage '--dim must be at least 1, not -3' "$ASSAY" bench relu --dim=-3

say "sizes and plans beyond reason"
huge=1099511627776
expect_usage 'too large for any machine' "$ASSAY" bench relu --batch $huge --seq $huge --dim $huge
expect_usage 'too large for any machine' "$ASSAY" bench relu --dim 9223372036854775807
expect_usage 'is not a list of sizes' "$ASSAY" bench relu --dim 9223372036854775808
expect_usage 'make 68719476736 groups' "$ASSAY" bench relu --batch 1:4096:+1 --seq 1:4096:+1 --dim 1:4096:+1

say "shapes, modes and recipes"
expect_usage 'is not a shape; write 1024x4096x4096' "$ASSAY" bench linear --shape 16x64x
expect_usage 'sizes must be at least 1' "$ASSAY" bench linear --shape 16x0x32
expect_usage 'linear takes MxKxN: rows of x, elements summed over, outputs; got 2 sizes' \
    "$ASSAY" bench linear --shape 16x64
expect_usage 'relu takes BATCHxSEQxDIM; got 4 sizes' "$ASSAY" bench relu --shape 1x2x3x4
expect_usage 'too large for any machine' "$ASSAY" bench linear --shape ${huge}x${huge}x$huge
expect_usage 'linear has no such axis as --batch; give its sizes with --shape MxKxN' \
    "$ASSAY" bench linear --batch 4
expect_usage 'unknown set "lama"; did you mean "llama"\?' "$ASSAY" bench linear --shapes lama
expect_usage 'write pow2:10:14' "$ASSAY" bench linear --shapes pow2:10
expect_usage 'runs backwards' "$ASSAY" bench linear --shapes pow2:4:3
expect_usage 'lie between 0 and 30' "$ASSAY" bench linear --shapes sweep:3:99
expect_usage 'llama has no range' "$ASSAY" bench linear --shapes llama:3:4
expect_usage 'relu has other axes' "$ASSAY" bench relu --shapes llama
expect_usage 'unknown recipe "int8w"; did you mean "int8wo"\?' "$ASSAY" bench linear --recipe int8w
expect_usage 'relu has none; linear does' "$ASSAY" bench relu --recipe int8wo
expect_usage 'linear 4x96x6 cannot take int4wo-128: group 128 does not divide k = 96' \
    "$ASSAY" bench linear --shape 4x96x6 --recipe int4wo-128
expect_usage 'the order is MxKxN, and n = 128 would do as k' \
    "$ASSAY" bench linear --shape 4x7x128 --recipe int4wo-64
expect_usage 'unknown mode "gellu"; did you mean "gelu"' "$ASSAY" bench linear --mode gellu
expect_usage 'relu: has no modes' "$ASSAY" bench relu --mode bias
expect_usage 'relu does not run in s8; try f32, bf16 or f16' "$ASSAY" bench relu --dtype s8

say "values of options"
expect_usage '--threads must lie between 1 and 4096, not 0' "$ASSAY" bench relu --threads 0
expect_usage '--threads 4000 is more than the' "$ASSAY" bench relu --threads 4000
expect_usage '--threads takes a whole number, not "two"' "$ASSAY" bench relu -t two
expect_usage '--precision must lie between' "$ASSAY" bench relu --precision 0
expect_usage '--precision takes a fraction' "$ASSAY" bench relu --precision nan
expect_usage '--budget takes a duration' "$ASSAY" bench relu --budget soon
expect_usage '--iters must lie between' "$ASSAY" bench relu --iters 0
expect_usage '--warmup takes a whole number' "$ASSAY" bench relu --warmup 1.5
expect_usage '--seed must lie between' "$ASSAY" bench relu --seed -1
expect_usage '--timeout must lie between' "$ASSAY" bench relu --timeout 0
expect_usage '--memory-limit takes a size' "$ASSAY" bench relu --memory-limit much
expect_usage '--impl takes a list' "$ASSAY" bench relu --impl native,
expect_usage '--seed needs a whole number' "$ASSAY" bench relu --seed
expect_usage '--quiet takes no value' "$ASSAY" bench relu --quiet=yes

say "files"
expect_usage '/nowhere/x.json: cannot be written: No such file' "$ASSAY" bench relu -o /nowhere/x.json
expect_usage 'x.foo: no format goes by this extension' "$ASSAY" bench relu -o x.foo
expect_usage 'cannot be written: Is a directory' "$ASSAY" bench relu -o json:"$work"
expect_usage 'x.json: is named twice' "$ASSAY" bench relu -o x.json -o csv:x.json
expect_usage '-: is named twice' "$ASSAY" bench relu -o json:- -o csv:-
expect_usage 'this plug-in cannot be read: No such file' "$ASSAY" bench relu --plugin /nowhere.so
expect_usage 'a resumed run keeps the plan it had' "$ASSAY" bench relu --resume nope
expect_usage 'no run "nope"|there are no runs in' "$ASSAY" bench --resume nope
for option in '--budget 1s' '--threads 1' '--impl ref' '--shape 1x2x3' '--sweep' '--no-ceiling'; do
    # shellcheck disable=SC2086
    expect_usage "a resumed run keeps the plan it had; leave out ${option%% *}\$" \
        "$ASSAY" bench --resume nope $option -q -o x.json
done
expect_usage 'keeps the plan it had; leave out --limit$' "$ASSAY" run --limit 3 --resume nope
expect_usage 'keeps the plan it had; leave out --repeat$' "$ASSAY" ci --resume nope --repeat 2
expect_usage 'keeps the plan it had; leave out --set$' "$ASSAY" preset --resume nope --set seq_len=3
expect_usage '--dry-run shows what would be measured' "$ASSAY" bench --resume nope --dry-run
[ -z "$(ls x.*)" ] || fail "a file was made"
[ ! -d "$XDG_DATA_HOME/assay/runs" ] || [ -z "$(ls "$XDG_DATA_HOME/assay/runs")" ] ||
    fail "a mistake left a journal"
