#!/usr/bin/env bash
# Hot samples of a group with a plug-in go through many sets of operands where these nearly fill a
# cache, so that luck with pages is not taken for a difference of kernels; else they stay on one.
# Not under sanitizers: it depends on how long calls take; test_engine and test_group have the rest.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
hot=(--plugin "$ASSAY_PLUGINS/places.so" --impl places,native --cache hot --threads 1 --warmup 1)
l2=$(sed -n 's/K$//p' /sys/devices/system/cpu/cpu0/cache/index2/size 2>/dev/null)
[ -n "$l2" ] || skip "the size of the L2 cache is not known"

# COUNT KIB OPTIONS...: a plug-in's hot samples are on so many places, with operands of KIB in all
expect_places() {
    local count=$1 kib=$2
    shift 2
    expect_exit 0 "$ASSAY" bench relu "${hot[@]}" --shape "1x1x$((kib * 128))" "$@" -o rows.jsonl
    expect_file rows.jsonl "\"kernel\":\"places\".*\"printed\":\"$count places"
}

say "what is small stays where it is"
expect_places 1 8 --iters 50
say "half of a cache is measured on a place after the other; few rounds have one each"
expect_places '2[0-4]' $((l2 / 2)) --iters 20
say "on 40 at the most"
expect_places '4[01]' $((l2 / 2)) --iters 200
say "what is large stays where it is"
expect_places '[01]' $((1 << 16)) --iters 12 # ten sets of it are too much memory; samples of one call are not counted
say "so does everything where there is no memory for more"
expect_places 1 $((l2 / 2)) --iters 50 --memory-limit 40M
