# Read by the tests that add what the pages of the docs show to a copy of the tree, build it, and run
# the tests that see the new things.
# shellcheck shell=bash
set -euo pipefail
export LC_ALL=C.UTF-8 # what the program writes follows from it
# shellcheck source=tests/ceilings.sh
. "$ASSAY_SOURCE_DIR/tests/ceilings.sh"

# block NAME: the lines of the code block of $doc between <!-- NAME --> and <!-- end -->
block() { sed -n "/^<!-- $1 -->\$/,/^<!-- end -->\$/p" "$doc" | sed '/^<!--/d;/^```/d'; }

# put NAME FILE: such a block becomes a new file. append NAME FILE: it is added to one.
put() {
    [ ! -e "$2" ] || { echo "$2 is there already"; exit 1; }
    block "$1" >"$2"
    [ -s "$2" ] || { echo "$doc has no $1"; exit 1; }
}
append() {
    [ -n "$(block "$1")" ] || { echo "$doc has no $1"; exit 1; }
    block "$1" >>"$2"
}

# copy_tree PAGE: a copy of the tree in a folder of its own, and there we are. Sets doc and tmp.
copy_tree() {
    start "$1"
    mkdir "$tmp/tree"
    copy_to "$tmp/tree"
    cd "$tmp/tree"
    reuse_objects "$tmp/reuse"
}

start() {
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
    export ASSAY_LOCK=${ASSAY_LOCK:-$tmp/lock}
    export XDG_DATA_HOME=$tmp/data XDG_CACHE_HOME=$tmp/cache CMAKE_BUILD_PARALLEL_LEVEL=2 CC=$ASSAY_CC
    make_ceilings
}

parts=(CMakeLists.txt LICENSE assay.pc.in cmake include share src docs tests tools examples)
copy_to() { (cd "$ASSAY_SOURCE_DIR" && cp -Rp "${parts[@]}" "$1"); }

# reuse_objects LIST: what no change reaches is taken from the build of the program under test, which
# has it already. A change is a file newer than that program: of this copy, whose times are the tree's,
# those that were added to, and those of the tree that the program was not built from. Unit tests know
# the tree they were built in, and are compiled again.
reuse_objects() {
    export REUSE_FROM REUSE_LIST=$1
    REUSE_FROM=$(dirname "$ASSAY")
    [ -e "$REUSE_FROM/build.ninja" ] || return 0
    [ -z "$(find CMakeLists.txt cmake -newer "$ASSAY")" ] || return 0
    if [ ! -e "$REUSE_LIST" ]; then
        find src include -type f -newer "$ASSAY" >"$REUSE_LIST.changed"
        # OBJECT: #deps …, then a line for each file it was made from, then an empty one. ccache writes
        # ../src for the tree's src.
        ninja -C "$REUSE_FROM" -t deps | awk -v tree="$ASSAY_SOURCE_DIR/" '
            FILENAME == ARGV[1] { changed[$0]; next }
            /: #deps/ { object = /\(VALID\)/ ? substr($0, 1, index($0, ": #deps") - 1) : "" }
            /^tests\/CMakeFiles\/test_/ { object = "" }
            /^    / {
                file = substr($0, 5)
                if (index(file, tree) == 1) file = substr(file, length(tree) + 1)
                sub(/^(\.\.\/)+/, "", file)
                if (file in changed) object = ""
            }
            /^$/ && object != "" { print object; object = "" }' "$REUSE_LIST.changed" - >"$REUSE_LIST"
    fi
    export CMAKE_C_COMPILER_LAUNCHER=$ASSAY_SOURCE_DIR/tests/docs/reuse
}

# added_tree PAGE: there we are in a copy of the tree to which everything was added that the pages
# show, with its tests. One copy serves all scripts: it lies beside the program, and is made anew when
# anything in the tree has changed. Only one script at a time may use it (tests/CMakeLists.txt).
added_tree() {
    local added
    added=$(dirname "$ASSAY")/added
    start "$1"
    if [ ! -e "$added/made" ] ||
        [ -n "$(cd "$ASSAY_SOURCE_DIR" && find "${parts[@]}" "$ASSAY" -newer "$added/made" -print -quit)" ]; then
        rm -rf "$added"
        mkdir -p "$added/tree"
        touch "$added/begun"
        copy_to "$added/tree"
        cd "$added/tree"
        add_everything
        reuse_objects "$added/reuse"
        run_quietly cmake -S . -B build -G Ninja -DASSAY_TESTS=ON -DASSAY_WERROR=ON
        run_quietly cmake --build build --target assay
        mv "$added/begun" "$added/made"
    fi
    cd "$added/tree"
    reuse_objects "$added/reuse"
}

add_everything() {
    local page=$doc
    doc=$ASSAY_SOURCE_DIR/docs/adding.md
    put softsign.c src/op/softsign.c
    append 'op line' src/op/op_list.h
    append 'softsign gradient' src/op/softsign.c
    echo 'ASSAY_OP(softsign_backward)' >>src/op/op_list.h
    put outer.c src/op/outer.c
    echo 'ASSAY_OP(outer)' >>src/op/op_list.h
    put influx.c src/report/format/influx.c
    append 'format line' src/report/report_list.h
    append 'format words' docs/protocol.md
    put cmd_where.c src/cli/cmd_where.c
    append 'command line' src/cli/command_list.h
    doc=$ASSAY_SOURCE_DIR/docs/recipes.md
    put int8pow2.c src/quant/int8pow2.c
    append 'recipe line' src/quant/quant_list.h
    doc=$ASSAY_SOURCE_DIR/docs/models.md
    put 'model file' src/model/two_layers.c
    append 'model line' src/model/model_list.h
    put 'shapes file' src/config/shapes/tiny.c
    append 'shapes line' src/config/shapes/shape_list.h
    doc=$page
}

run_quietly() { "$@" >"$tmp/log" 2>&1 || { tail -n 40 "$tmp/log"; exit 1; }; }

# build_and_run NAME: the commands of such a block, in the copy; their output is in $tmp/out.
build_and_run() {
    block "$1" >"$tmp/commands"
    [ -s "$tmp/commands" ] || { echo "$doc has no $1"; exit 1; }
    bash -eu "$tmp/commands" >"$tmp/out" 2>&1 || { tail -n 40 "$tmp/out"; exit 1; }
}

# suite NAME...: runs these tests of the copy, each a pattern of ctest's for at least one.
suite() {
    local name all names=()
    all=$(ctest --test-dir build -N | sed -n 's/^ *Test *#[0-9]*: //p')
    for name; do
        grep -qxE -- "$name" <<<"$all" || { echo "there is no test $name"; exit 1; }
        mapfile -t -O "${#names[@]}" names < <(grep -xE -- "$name" <<<"$all")
    done
    local targets=()
    mapfile -t targets < <(printf '%s\n' "${names[@]}" | grep '^test_')
    run_quietly cmake --build build --target assay all_plugins fake_cuda fake_nvrtc fake_nvml "${targets[@]}"
    ctest --test-dir build --no-tests=error --output-on-failure -R "^($(IFS='|' && echo "${names[*]}"))\$"
}
