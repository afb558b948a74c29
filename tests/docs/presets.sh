#!/usr/bin/env bash
# The preset of docs/presets.md runs as it stands there, and the page has every preset, case and
# parameter with its default, and every format of theirs.
set -u
page=$ASSAY_SOURCE_DIR/docs/presets.md
failed=0
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
export XDG_DATA_HOME=$tmp/data XDG_CACHE_HOME=$tmp/cache ASSAY_CUDA_DRIVER=$tmp/no_driver
# shellcheck source=tests/ceilings.sh
. "$ASSAY_SOURCE_DIR/tests/ceilings.sh"
make_ceilings
complain() { echo "$*"; failed=1; }

sed -n '/^<!-- preset file -->$/,/^<!-- end -->$/p' "$page" | sed '/^<!--/d;/^```/d' >"$tmp/mine.yml"
[ -s "$tmp/mine.yml" ] || { echo "docs/presets.md has no preset"; exit 1; }
"$ASSAY" preset "$tmp/mine.yml" --iters 3 --warmup 1 --set seq_len=4 -f jsonl >"$tmp/rows" 2>"$tmp/err" ||
    { cat "$tmp/err"; complain "its preset fails"; }
for name in q_proj gated; do
    grep -q "\"entry\":\"$name\".*\"status\":\"ok\"" "$tmp/rows" || complain "its case $name is not ok"
done

# "batch=4" of the list is "batch 4" of the page
"$ASSAY" preset --list >"$tmp/list"
grep -oE '^[a-z]+|^  [a-z_0-9]+' "$tmp/list" | tr -d ' ' | while read -r name; do
    grep -qF "\`$name\`" "$page" || echo "docs/presets.md lacks $name"
done >"$tmp/missing"
grep -oE '[a-z_]+=[0-9a-z-]+' "$tmp/list" | sort -u | tr '=' ' ' | while read -r name value; do
    grep -qE "(^|[ |])$name $value([,; ]|\$)" "$page" || echo "docs/presets.md lacks $name $value"
done >>"$tmp/missing"
grep -oE '[0-9.]+ [GM](MACs|FLOPs)' "$tmp/list" | sed 's/MACs//; s/FLOPs//' | while read -r count; do
    grep -qF "$count" "$page" || echo "docs/presets.md lacks the count $count"
done >>"$tmp/missing"
[ ! -s "$tmp/missing" ] || { cat "$tmp/missing"; failed=1; }
exit $failed
