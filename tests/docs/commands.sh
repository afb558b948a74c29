#!/usr/bin/env bash
# The commands of README.md, CONTRIBUTING.md and docs: each line of a fenced block that begins with assay, kobench or make is
# typed, and succeeds. What would measure for long is planned, or measured on little (cut_short below); a target
# of make is looked up. What cannot run here stands in not_here, with the reason.
# Not under sanitizers: the commands are those of the scripts in tests/cli, which run there
set -u
# shellcheck source=tests/docs/lib.sh
. "$ASSAY_SOURCE_DIR/tests/docs/lib.sh"
start kernels.md
set +e
export HOME=$tmp ASSAY_CUDA_DRIVER=$tmp/no_driver
cd "$ASSAY_SOURCE_DIR" || exit 2
failed=0
complain() {
    echo "$*"
    failed=1
}

not_here="\
assay bench softmax --device cuda --dtype bf16: needs a GPU
assay bench linear --device cuda --shapes llama --recipe all --dtype bf16: needs a GPU
assay preset attn mlp --device cuda:0 --dtype float16: needs a GPU
assay info --device cuda --calibrate: needs a GPU
assay info --calibrate: takes all cores for long
assay kernel kernels-community/activation --version 1: needs the network"

# PAGE, a tab, the command without the words that explain it: those stand behind two blanks or a #.
commands() {
    local page
    for page in README.md CONTRIBUTING.md docs/*.md docs/notebook/*.md; do
        awk -v page="$page" '
            /^```/ { inside = !inside; next }
            inside && /^(\$ )?(assay|kobench|make)( |$)/ && !/^assay [0-9]/ {
                sub(/^\$ /, "")
                sub(/(  | #).*/, "")
                print page "\t" $0
            }' "$page"
    done
}

# has_option COMMAND OPTION: does `assay COMMAND` take it?
has_option() { grep -qE -- "^ *(-., )?$2( |\$)" <<<"$("$ASSAY" "$1" --help)"; }

# Sizes for the presets of such a command that leave nothing to compute.
small_sizes() {
    local sizes=" --set batch=1 --set seq_len=4 --set embed_dim=32"
    case $1 in *' attn'* | *' all'*) sizes+=" --set num_heads=2" ;; esac
    case $1 in *' mlp'* | *' all'*) sizes+=" --set hidden_dim=32" ;; esac
    case $1 in *' all'*)
        sizes+=" --set height=8 --set width=8 --set channels=32 --set groups=4 --set in_channels=8 --set out_channels=8"
        ;;
    esac
    echo "$sizes"
}

# cut_short COMMAND: the same, but it takes no time.
cut_short() {
    local name=${1#assay }
    name=${name%% *}
    case $1 in
    "assay report --serve"*) # until somebody ends it
        echo "XDG_DATA_HOME=$tmp/earlier timeout -s INT --preserve-status 1 $1"
        ;;
    "assay show"* | "assay report"* | "assay compare"* | "assay list runs"*)
        echo "XDG_DATA_HOME=$tmp/earlier $1"
        ;;
    "assay profile preset"*) echo "$1 --iters 1 --warmup 1$(small_sizes "$1")" ;;
    *--resume* | *--dry-run* | *--list* | *--build* | *--new*) echo "$1" ;;
    "assay bench"* | "assay run"* | "assay ci"* | "assay preset"* | "assay kernel"*)
        if has_option "$name" --dry-run; then
            echo "$1 --dry-run"
        elif [ "$name" = bench ]; then
            echo "$1 --max-elements 1 --iters 1 --warmup 1"
        elif [ "$name" = kernel ]; then
            echo "$1 --iters 3 --warmup 1 --device cpu"
        elif [[ $1 == *.so* ]]; then
            echo "$1 --iters 1 --warmup 1"
        else
            echo "$1 --iters 1 --warmup 1$(small_sizes "$1")"
        fi
        ;;
    *) echo "$1" ;;
    esac
}

# A folder with the files that the pages name, and a run to continue.
prepare() {
    local bin=$tmp/bin
    mkdir -p "$bin" "$tmp/files/my_kernel/benchmarks"
    ln -s "$ASSAY" "$bin/assay"
    export PATH=$bin:$PATH
    block benchmark_silu.c >"$tmp/files/my_kernel/benchmarks/benchmark_silu.c"
    doc=docs/presets.md
    block 'preset file' >"$tmp/files/mine.yml"
    "$ASSAY_CC" -O2 -shared -fPIC -Iinclude examples/presets/dot.c -o "$tmp/files/dot.so" || exit 1
    "$ASSAY_CC" -O2 -shared -fPIC -Iinclude examples/adding/my_relu.c -o "$tmp/files/my_relu.so" -lm || exit 1
    ln -s "$PWD/examples" "$tmp/files"
    assay bench relu --batch 1 --seq 2 --dim 3 --cache hot --iters 3 --warmup 1 -q || exit 1
    for _ in 1 2; do # two runs of the same, for commands that look back
        XDG_DATA_HOME=$tmp/earlier assay bench relu --batch 1 --seq 2 --dim 3 --cache hot --iters 3 --warmup 1 \
            -q -o "json:$tmp/files/main.json" || exit 1
    done
}

# type_in PAGE COMMAND: in the page's own copy of that folder.
type_in() {
    local line code here=$tmp/${1//\//-}
    [ -d "$here" ] || cp -R "$tmp/files" "$here"
    case $2 in
    make*) (bash -c "make --dry-run ${2#make}") >"$tmp/out" 2>&1 </dev/null || complain "$1: $2: no such target" ;;
    *)
        line=$(cut_short "$2")
        (cd "$here" && timeout 30 bash -c "$line") >"$tmp/out" 2>&1 </dev/null
        code=$?
        [ $code = 0 ] && return
        complain "$1: $2: exit code $code of: $line"
        tail -n 5 "$tmp/out"
        ;;
    esac
}

commands >"$tmp/commands"
[ "$(wc -l <"$tmp/commands")" -ge 40 ] || complain "only $(wc -l <"$tmp/commands") commands were found"
prepare
seen=0
while IFS=$'\t' read -r page line; do
    if grep -qF -- "$line: " <<<"$not_here"; then
        continue
    fi
    seen=$((seen + 1))
    type_in "$page" "$line"
done <"$tmp/commands"
while IFS= read -r line; do
    cut -f 2 "$tmp/commands" | grep -qxF -- "${line%: *}" || complain "no page has it any more: $line"
    echo "not here: $line"
done <<<"$not_here"
echo "$seen commands typed"
exit $failed
