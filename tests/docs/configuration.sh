#!/usr/bin/env bash
# The configurations that the pages show and the examples load: each makes a plan. The workflow runs
# a command that is one.
set -u
cd "$ASSAY_SOURCE_DIR" || exit 2
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
export HOME=$tmp XDG_CACHE_HOME=$tmp XDG_DATA_HOME=$tmp ASSAY_CUDA_DRIVER=$tmp/no_driver
failed=0

loads() {
    "$ASSAY" run "$1" --dry-run >"$tmp/out" 2>"$tmp/err" && return
    echo "$2 does not load:"
    cat "$tmp/err"
    failed=1
}

blocks=0
for page in docs/configuration.md docs/from-torchao.md; do
    awk -v tmp="$tmp" -v page="$(basename "$page")" '
        /^```yaml$/ { n++; file = tmp "/" page "-" n ".yml"; next }
        /^```$/ { file = "" }
        file { print > file }' "$page"
done
for file in "$tmp"/*.yml; do
    blocks=$((blocks + 1))
    loads "$file" "block $(basename "$file" .yml)"
done
[ "$blocks" -ge 3 ] || { echo "only $blocks blocks of YAML were found"; failed=1; }

for file in examples/*.yml; do
    [ "$file" = examples/github-workflow.yml ] || loads "$file" "$file"
done
config=$(sed -n 's/.*--config \([^ ]*\) .*/\1/p' examples/github-workflow.yml | head -n 1)
[ -e "$config" ] || { echo "the workflow measures \"$config\", which is not there"; failed=1; }
"$ASSAY" run examples/github-workflow.yml 2>&1 | grep -q 'a GitHub workflow, not a configuration' ||
    { echo "the workflow itself is not told from a configuration"; failed=1; }
exit $failed
