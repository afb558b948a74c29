#!/usr/bin/env bash
# The ops of docs/adding.md: a file and a line each, taken from the page, are all that the tree needs to
# have them and to pass its tests: one element-wise with its gradient, one with axes of its own, all
# without kernels but `ref`.
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
added_tree adding.md
build_and_run 'op commands'
grep -E 'softsign|rows? in' "$tmp/out"
grep -qE '^softsign +x / \(1 \+ \|x\|\)$' "$tmp/out"
grep -qE '^1 row in 1 group: 1 ok$' "$tmp/out"
build/assay bench softsign --pass backward --impl ref --batch 2 --seq 3 --dim 5 --cache hot --warmup 1 \
    --iters 10 >"$tmp/gradient"
grep -qE '^1 row in 1 group: 1 ok$' "$tmp/gradient"

# The other has its usual shapes, and its sentence in the help.
build/assay bench outer --impl ref --cache hot --warmup 1 --iters 3 --quiet -o "$tmp/outer.csv"
grep -q ',m=1024 n=1024,' "$tmp/outer.csv" && grep -q ',m=4096 n=64,' "$tmp/outer.csv"
build/assay bench --help | tr '\n' ' ' |
    grep -qF 'outer takes --shape MxN, 1024x1024 and 4096x64 where not given.'
build/assay bench outer --shape 3 2>"$tmp/err" && exit 1
grep -qF 'outer takes MxN: elements of x, elements of y; got 1 size' "$tmp/err"

# It has no skeleton, and assay says so.
code=0
build/assay kernel --new "$tmp/mine" --op outer --lang c 2>"$tmp/err" || code=$?
[ "$code" = 2 ] && [ ! -e "$tmp/mine" ]
grep -q 'no skeleton of outer in c yet; there are those of layernorm.* softsign$' "$tmp/err"

export KERNEL_NEW_OPS='softsign outer'
suite test_ops test_gradients test_verify test_bench_config 'test_kernel_(table|registry)' test_model test_group \
    cli_help cli_list_info cli_usage cli_shapes cli_kernel_new

# Of the tests of kernels those that see the new ops: the others' are as they were.
run_quietly cmake --build build --target test_kernels
for filter in 'softsign: *' 'test_every*'; do
    run_quietly env TEST_FILTER="$filter" build/tests/test_kernels
    grep -qE '\[  PASSED  \] [1-9]' "$tmp/log" || { echo "test_kernels has no $filter"; exit 1; }
done

# Element-wise: a model can have it.
cat >"$tmp/model.yml" <<'YAML'
model_params:
  - name: mine
    model: {name: soft, nodes: [{op: linear, features: n}, {op: softsign}]}
    device: cpu
    matrix_shapes: [{name: custom, shapes: [[8, 64, 96]]}]
YAML
build/assay run "$tmp/model.yml" --budget 0.2 >"$tmp/out"
grep -qE ' ok$' "$tmp/out"
