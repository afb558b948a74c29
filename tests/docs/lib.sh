# Read by the tests that add what a page of the docs shows to a copy of the tree and build it.
# shellcheck shell=bash
set -euo pipefail

# block NAME: the lines of the code block of $doc between <!-- NAME --> and <!-- end -->
block() { sed -n "/^<!-- $1 -->\$/,/^<!-- end -->\$/p" "$doc" | sed '/^<!--/d;/^```/d'; }

# commands NAME: such a block's commands, into $tmp/commands. What they build is not optimised: that
# takes half the time.
commands() { block "$1" | sed 's/CMAKE_BUILD_TYPE=Release/CMAKE_BUILD_TYPE=Debug/' >"$tmp/commands"; }

# copy_tree PAGE: a copy of the tree in a folder of its own, and there we are. Sets doc and tmp.
copy_tree() {
    local tool
    for tool in cmake ninja cc; do
        command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
    done
    if [ -n "${ASAN_OPTIONS:-}" ]; then
        echo "skipped: the same build is tested without sanitizers"
        exit 77
    fi
    doc=$ASSAY_SOURCE_DIR/docs/$1
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    export XDG_DATA_HOME=$tmp/data XDG_CACHE_HOME=$tmp/cache CMAKE_BUILD_PARALLEL_LEVEL=2 CMAKE_BUILD_TYPE=Debug
    mkdir "$tmp/tree"
    cd "$ASSAY_SOURCE_DIR"
    cp -R CMakeLists.txt LICENSE assay.pc.in cmake include share src docs "$tmp/tree"
    cd "$tmp/tree"
}
