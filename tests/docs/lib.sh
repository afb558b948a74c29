# Read by the tests that add what a page of the docs shows to a copy of the tree and build it.
# shellcheck shell=bash
set -euo pipefail

# block NAME: the lines of the code block of $doc between <!-- NAME --> and <!-- end -->
block() { sed -n "/^<!-- $1 -->\$/,/^<!-- end -->\$/p" "$doc" | sed '/^<!--/d;/^```/d'; }

# copy_tree PAGE: a copy of the tree in a folder of its own, and there we are. Sets doc and tmp.
copy_tree() {
    local tool
    for tool in cmake ninja "$ASSAY_CC"; do
        command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
    done
    if [ -n "${ASAN_OPTIONS:-}${TSAN_OPTIONS:-}" ]; then
        echo "skipped: the same build is tested without sanitizers"
        exit 77
    fi
    doc=$ASSAY_SOURCE_DIR/docs/$1
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    export XDG_DATA_HOME=$tmp/data XDG_CACHE_HOME=$tmp/cache CMAKE_BUILD_PARALLEL_LEVEL=2 CC=$ASSAY_CC
    mkdir "$tmp/tree"
    cd "$ASSAY_SOURCE_DIR"
    cp -Rp CMakeLists.txt LICENSE assay.pc.in cmake include share src docs "$tmp/tree"
    cd "$tmp/tree"
}

# reuse_objects: what no change reaches is taken from the build of the program under test, which has
# it already. A change is a file newer than that program: of this copy, whose times are the tree's,
# those that were added to, and those of the tree that the program was not built from.
reuse_objects() {
    export REUSE_FROM REUSE_LIST=$tmp/reuse
    REUSE_FROM=$(dirname "$ASSAY")
    [ -e "$REUSE_FROM/build.ninja" ] || return 0
    [ -z "$(find CMakeLists.txt cmake -newer "$ASSAY")" ] || return 0
    find src include -type f -newer "$ASSAY" >"$tmp/changed"
    # OBJECT: #deps …, then a line for each file it was made from, then an empty one
    ninja -C "$REUSE_FROM" -t deps | awk -v tree="$ASSAY_SOURCE_DIR/" '
        FILENAME == ARGV[1] { changed[tree $0]; changed["../" $0]; next }
        /: #deps/ { object = /\(VALID\)/ ? substr($0, 1, index($0, ": #deps") - 1) : "" }
        /^    / && substr($0, 5) in changed { object = "" }
        /^$/ && object != "" { print object; object = "" }' "$tmp/changed" - >"$REUSE_LIST"
    export CMAKE_C_COMPILER_LAUNCHER=$ASSAY_SOURCE_DIR/tests/docs/reuse
}

# build_and_run NAME: the commands of such a block, in the copy; their output is in $tmp/out.
build_and_run() {
    reuse_objects
    block "$1" >"$tmp/commands"
    [ -s "$tmp/commands" ] || { echo "$doc has no $1"; exit 1; }
    bash -eu "$tmp/commands" >"$tmp/out" 2>&1 || { tail -n 40 "$tmp/out"; exit 1; }
}
