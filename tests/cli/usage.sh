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
expect_usage 'takes hot, cold or both, not "warm"' "$ASSAY" bench relu --cache warm

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
expect_usage 'no run "nope"|there are no runs to resume' "$ASSAY" bench --resume nope
[ -z "$(ls x.*)" ] || fail "a file was made"
[ ! -d "$XDG_DATA_HOME/assay/runs" ] || [ -z "$(ls "$XDG_DATA_HOME/assay/runs")" ] ||
    fail "a mistake left a journal"
