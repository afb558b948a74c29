#!/usr/bin/env bash
# Memory figures of the real program: of kernels whose allocations are known, and of a product whose
# weights are stored in different ways. cuda.sh has those of a GPU.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip "no jq"
mib=1048576

# figure KERNEL KEY [RECIPE]: in whole bytes; null where it is not known
figure() {
    jq -r --arg kernel "$1" --arg key "$2" --arg recipe "${3-}" \
        'select(.kernel == $kernel and (.recipe // "") == $recipe) | .[$key] |
         if . == null then "null" else floor end' rows.jsonl
}

# between LEAST MOST KERNEL KEY [RECIPE]
between() {
    local least=$1 most=$2 got
    shift 2
    got=$(figure "$@")
    [ "$got" != null ] && [ "$got" -ge "$least" ] && [ "$got" -le "$most" ] ||
        fail "$*: $got, not $least to $most"
}

say "kernels that take known amounts"
# 64 x 64 x 64 floats: x and y are 1 MiB each
expect_exit 0 "$ASSAY" bench relu --batch 64 --seq 64 --dim 64 --cache hot --iters 10 --warmup 1 \
    --plugin "$ASSAY_PLUGINS/memory.so" --impl takes_none,takes_in_setup,takes_in_run \
    --verbose -o rows.jsonl -o rows.csv
expect_out '^ +memory +idle 1\.0 MB.* peak 2\.1 MB.* workspace [0-9.]+ k?B.* resident peak [0-9.]+ MB'
for kernel in takes_none takes_in_setup takes_in_run; do
    between $mib $mib $kernel idle_bytes
    between $((2 * mib)) $((1000 * mib)) $kernel system_peak_bytes
done
between $((2 * mib)) $((2 * mib + 65536)) takes_none peak_bytes
between 0 65536 takes_none workspace_bytes
expect_file rows.csv ',idle_bytes,peak_bytes,workspace_bytes,system_peak_bytes,macs,counted_flops,efficiency_lo,efficiency_hi,machine_frac,disturbed,waited,stolen,timed,timed_why,graph_calls,graph_kernels,graph_copies,graph_memsets$'
expect_file rows.csv ',1048576,[0-9.]+,[0-9.]+,[0-9.]+,,(,[0-9.e-]+){6},{6}$'
# Sanitizers bring a malloc that does not tell what is left of it.
if ! grep -qa __asan_init "$ASSAY" && ! grep -qa __tsan_init "$ASSAY"; then
    between $((3 * mib)) $((3 * mib + 65536)) takes_in_setup workspace_bytes
    between $((5 * mib)) $((5 * mib + 131072)) takes_in_setup peak_bytes
fi
# What malloc gave and got back within one call only the resident peak shows.
resident=$(figure takes_none system_peak_bytes)
between $((resident + 35 * mib)) $((1000 * mib)) takes_in_run system_peak_bytes

say "weights count as they are stored"
expect_exit 0 "$ASSAY" bench linear --shape 16x512x512 --cache hot --iters 4 --warmup 1 \
    --impl native,ref --recipe baseline,int8wo -o rows.jsonl
jq -r 'select(.status == "ok" and .op == "linear") |
       [.kernel, .recipe, .idle_bytes, .peak_bytes, .workspace_bytes, .system_peak_bytes] |
       map(tostring) | join(" ")' rows.jsonl >figures
[ "$(wc -l <figures)" -ge 3 ] || fail "too few rows are ok"
! grep -q null figures || fail "a figure is missing: $(cat figures)"
while read -r kernel recipe idle peak workspace _; do
    x=$((4 * 16 * 512)) y=$((4 * 16 * 512)) w=$((4 * 512 * 512))
    case $kernel:$recipe in
    linear_ref:*) ;; # reads the original whatever the recipe
    *:int8wo) w=$((512 * 512)) ;;
    esac
    idle=${idle%.*} peak=${peak%.*} workspace=${workspace%.*}
    [ "$idle" -ge $((x + w)) ] && [ "$idle" -le $((x + w + 32768)) ] ||
        fail "$kernel $recipe: idle $idle, x and weights are $((x + w))"
    [ "$peak" -ge $((idle + y + workspace)) ] || fail "$kernel $recipe: the peak is less than its parts"
done <figures

say "a variant that did not run has none"
expect_exit 0 "$ASSAY" bench linear --shape 16x64x32 --cache hot --iters 4 --warmup 1 \
    --impl native --recipe all -o rows.jsonl
[ "$(jq -r 'select(.status == "unsupported") | .peak_bytes' rows.jsonl | sort -u)" = null ] ||
    fail "a figure of something that never ran"
