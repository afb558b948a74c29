#!/usr/bin/env bash
# Figures that a person can use: intervals, names, marks and digits, from the real program.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

say "one sample has no interval, claims nothing, and is not called the fastest"
expect_exit 0 "$ASSAY" bench relu --batch 2 --seq 3 --dim 5 --iters 1 --warmup 1 --impl native,ref --baseline ref
expect_out '^ native .* - ?!? *unclear \(n=1\) .* - ?!? *unclear \(n=1\)'
expect_no_out '±0|[0-9]%!? +unclear|▸'
expect_exit 0 "$ASSAY" preset norm --device cpu --dtype float32 --set batch=1 --set seq_len=2 \
    --iters 1 --warmup 1
expect_no_out '0\.0%'

say "eight rounds are too few"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --iters 8 --impl native,ref --baseline ref
expect_out '^ native .* unclear \(n=8\)'

say "a difference has its interval, faster or slower, in one state and in two; never half of one"
# On a busy machine a difference may not be seen, but never stands there without its interval.
interval='\[[0-9.]+ [0-9.>]+\]'
faster="([0-9.]+x $interval|unclear \(n=[0-9]+\))"
slower="([0-9.]+x slower $interval|unclear \(n=[0-9]+\))"
# shellcheck disable=SC2054
big=(--batch 8 --seq 64 --dim 256 --iters 40 --warmup 1 --impl native,ref)
expect_exit 0 "$ASSAY" bench gelu "${big[@]}" --baseline ref -o both.md
expect_out "^ native .* $faster .* $faster"
expect_file both.md "\| native \|.* $faster \|.* $faster \|"
expect_exit 0 "$ASSAY" bench gelu "${big[@]}" --baseline native -o both.md
expect_out "^ ref .* $slower .* $slower"
expect_no_out '±[0-9]'
expect_file both.md "\| ref \|.* $slower \|.* $slower \|"
expect_exit 0 "$ASSAY" bench gelu "${big[@]}" --cache hot --baseline native
expect_out "^ ref .* $slower"
expect_no_out '^ ref .*▸'

say "several kernels of one implementation are told apart"
kernels=$("$ASSAY" list kernels | awk '/runs here/ && $1 ~ /^gelu_(portable|avx2|avx512)$/ { print $1 }')
[ "$(wc -l <<<"$kernels")" -ge 2 ] || fail "this machine has one kernel: $kernels"
expect_exit 0 "$ASSAY" bench gelu "${quick[@]}" --kernel all -o all.md -o kernel-svg-light:all.svg \
    -o kobench:all.txt
for kernel in $kernels; do
    expect_out "^ $kernel( |\$)"
    expect_file all.md "\\| ${kernel//_/\\\\_} \\|"
    expect_file all.svg ">$kernel<"
    expect_file all.txt "^gelu/$kernel( |\$)"
done
expect_no_out '^ native '

say "a chart of bench has its own words, and recipes"
expect_exit 0 "$ASSAY" bench linear --shape 4x256x64 --recipe all --dtype bf16 --cache hot --iters 10 --warmup 1 \
    --impl native -q -o kernel-svg-light:lin.svg
expect_file lin.svg '>linear bf16: speedup<'
expect_file lin.svg '>int8wo( native)?<'
expect_file lin.svg '>baseline<'
expect_count 0 'this kernel|assay kernel|kernel faster' lin.svg

say "numbers have the digits they deserve"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --precision 7% --impl native -q -o some.json -o some.csv
valid_json some.json
expect_file some.json '"precision": 0\.07,'
expect_count 0 '[0-9]\.[0-9]*(0000000000|9999999999)[0-9]{1,3}[^0-9]' some.json
expect_count 0 '[0-9]\.[0-9]*(0000000000|9999999999)[0-9]{1,3}[^0-9]' some.csv

say "lists are aligned"
expect_exit 0 "$ASSAY" list kernels
expect_no_out '(f32|f16|s8)runs here'
expect_out 'f32,f16,bf16,s8 +runs here'
expect_exit 0 "$ASSAY" list formats
expect_out '^svg +\.svg +a chart of the run'
expect_out '^kernel-svg-light +a bar chart'
expect_out '^kernel-svg-dark +the same'
