#!/usr/bin/env bash
# What a run says as a whole, below its tables: means across groups, and who is fastest.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
sizes=(--batch 2 --seq 3 --dim 5,7,11 --cache hot --iters 12 --warmup 1)
sentence='^[a-z]+ is fastest in (all )?[0-9]+ (of [0-9]+ )?groups'

say "bench: a row for each variant, and a sentence"
expect_exit 0 "$ASSAY" bench relu gelu --impl native,ref "${sizes[@]}" -o run.md -o run.json -o run.csv
expect_out '^ across groups +groups +▸ mean speedup +faster slower same unclear best( +of)?$'
for heading in 'relu, 3 groups' 'gelu, 3 groups' 'all 2 ops, 6 groups'; do
    expect_out "^$heading\$"
done
expect_out '^ native +6 '
expect_out '^ ref +6 +[0-6] baseline +-$'
expect_out '^12 rows in 6 groups: 12 ok$'
expect_out "$sentence"
expect_file run.md '^### Across groups: all 2 ops, 6 groups$'
expect_file run.md "$sentence.*\\.\$"
grep -qi 'across' run.json run.csv && fail "a summary among the rows"
cp "$work/out" table

say "show: the same, in every format that has it"
expect_exit 0 "$ASSAY" show last
cmp -s "$work/out" table || fail "the table is another one"
expect_exit 0 "$ASSAY" show last -f github
expect_out '^### Across groups: relu, 3 groups$'
expect_out "$sentence"
expect_exit 0 "$ASSAY" show last -f torchao
expect_out '^all 2 ops, 6 groups$'

say "any width, and ASCII"
for width in 60 80 140; do
    COLUMNS=$width expect_exit 0 "$ASSAY" show last
    expect_out '^all 2 ops, 6 groups$'
    longest=$(wc -L <"$work/out")
    [ "$longest" -le $width ] || fail "$longest columns of $width"
done
COLUMNS=140 expect_exit 0 "$ASSAY" show last
expect_out 'best +of$'
expect_exit 0 "$ASSAY" show last --ascii
expect_out '^ across groups +groups +> mean speedup'
LC_ALL=C grep -q '[^ -~]' "$work/out" && fail "not ASCII"

say "one group has no summary, nor has one variant"
expect_exit 0 "$ASSAY" bench relu --impl native,ref "${quick[@]}"
expect_no_out 'across groups|is fastest'
expect_exit 0 "$ASSAY" bench relu --impl ref "${sizes[@]}"
expect_no_out 'across groups|is fastest'

say "what is wrong is not in a mean"
expect_exit 1 "$ASSAY" bench relu --plugin "$ASSAY_PLUGINS/wrong.so" --impl native,ref,zeros "${sizes[@]}"
expect_out '^   not in the means: zeros: 3 mismatch$'
expect_no_out '^ zeros +[0-9]'

say "run and preset"
cat >config.yml <<'END'
benchmark_mode: "inference"
quantization_config_recipe_names: ["int8wo"]
output_dir: "results"
model_params:
  - name: "small"
    high_precision_dtype: "torch.float32"
    device: "cpu"
    model_type: "linear"
    matrix_shapes:
      - name: "custom"
        shapes: [[16, 32, 16], [32, 32, 16]]
END
expect_exit 0 "$ASSAY" run config.yml --iters 12 --warmup 1
expect_out ' across groups '
expect_out '^ int8wo'
expect_out "$sentence|fastest in"
