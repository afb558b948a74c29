#!/usr/bin/env bash
# Copies of one kernel, each in a plug-in of its own, through the whole program, cold, from 16 KB to
# 64 MB: the sizes where caches fill. With a rotation of its own for each variant half of them were
# called different.
# Not under sanitizers: it is about time, and the kernels are not sanitized.
# Needs quiet cores: it compares times.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

pairs=${ASSAY_SAMPLE:+12}
pairs=${pairs:-20}
say "equals are called equal"
bash "$ASSAY_SOURCE_DIR/tests/perf/twins" "$ASSAY" "$ASSAY_PLUGINS" 0 "$pairs" --cache cold --budget 0.5s --no-ceiling >twins.txt 2>&1 ||
    fail "$(cat twins.txt)"
cat twins.txt
different=$(sed -n 's/^cold: '"$pairs"' pairs, called different \([0-9]*\),.*/\1/p' twins.txt)
[ -n "$different" ] || fail "not all pairs were measured"
[ "$different" -le 1 ] || fail "$different of $pairs equal pairs were called different"
