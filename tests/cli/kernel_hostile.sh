#!/usr/bin/env bash
# assay kernel --build with repositories that are out for more: none of their programs runs, no file of the
# user's is written or shown, and no name reaches the terminal with control characters in it.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154,SC2016
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"

# repository NAME: a benchmark that compiles, and a script that leaves a trace when it is run.
repository() {
    mkdir -p "$1/benchmarks"
    cat >"$1/benchmarks/benchmark_one.c" <<'C'
#include <assay/assay_kernel.h>
static void setup(assay_setup *s) { assay_output(s, "out", ASSAY_DTYPE_F32, 1); }
static int run(const assay_call *call) { return *(float *)call->out[0] = 1, 0; }
ASSAY_BENCHMARK(One, 0, setup, {"w", run})
C
    printf '#!/bin/sh\ntouch "%s/ran"\nexec "$@"\n' "$work" >"$1/run.sh"
    chmod +x "$1/run.sh"
}
expect_nothing_ran() { [ ! -e "$work/ran" ] || fail "a program of the repository was run"; }

echo 'tiger secret_password 12345' >"$work/private"
unshown() {
    expect_no_out 'tiger|secret_password'
    expect_no_err 'tiger|secret_password'
}

say "flags that run a program, read or write a file are refused, with place and reason"
repository flags
cp flags/run.sh flags/as
cp flags/run.sh flags/ld
echo "-wrapper ./run.sh" >flags/words
echo precious >"$work/precious"
while read -r key flag; do
    printf 'name: x\n%s: %s\n' "$key" "$flag" >flags/assay.yml
    expect_exit 2 "$ASSAY" kernel flags --build
    expect_err "assay.yml:2:[0-9]+: $key: .* is refused: "
    expect_err_lines 1
    expect_nothing_ran
done <<END
cflags '-wrapper ./run.sh'
cflags ["-wrapper", "./run.sh"]
cflags -fplugin=./run.sh
cflags -B.
cflags -B./
cflags ["-B", "./"]
cflags '@words'
cflags ["-D", "@words"]
cflags -specs=words
cflags ["-Xclang", "-load"]
cflags -include/etc/passwd
cflags ["-imacros", "/etc/passwd"]
cflags -fdump-tree-all=$work/precious
cflags -MF$work/precious
cflags ["-o", "$work/precious"]
cflags -save-temps
cflags -fprofile-use=$work/private
cflags -I..
cflags -I/etc
cflags [-isystem, /etc]
cflags -fmodule-mapper=|./run.sh
cxxflags -fuse-ld=./ld
ldflags -Wl,-Map=$work/precious
ldflags -Wl,--dependency-file=$work/precious
ldflags [-Xlinker, -Map=$work/precious]
ldflags -fuse-ld=./ld
ldflags [-T, words]
ldflags $work/private
ldflags -L/etc
cudaflags [-ccbin, ./run.sh]
cudaflags -Xcompiler=-wrapper,./run.sh
cudaflags '-DX=\`./run.sh\`'
cudaflags '-DX=\$(./run.sh)'
include /etc
include ..
END
[ "$(cat "$work/precious")" = precious ] || fail "a file of the user's was overwritten"
printf 'cflags: [-O2, -DX=1, -I., -march=native, -ffast-math, -Wall]\nldflags: [-lm, -pthread]\n' >flags/assay.yml
expect_exit 0 "$ASSAY" kernel flags --build
printf 'cflags: -wrapper ./run.sh\n' >flags/assay.yml
CC="cc -DMINE" expect_exit 2 "$ASSAY" kernel flags --build
rm flags/assay.yml
CC="cc -save-temps=obj -fno-plt" expect_exit 0 "$ASSAY" kernel flags --build # the user's own words are the user's

say "what lies outside the repository is neither compiled nor shown"
repository links
ln -s "$work/private" links/benchmarks/benchmark_link.c
expect_exit 2 "$ASSAY" kernel links --build
expect_err 'benchmark_link.c: leads out of the repository'
unshown
expect_exit 2 "$ASSAY" kernel links/benchmarks/benchmark_link.c --build
unshown
rm links/benchmarks/benchmark_link.c
ln -s "$work/private" links/assay.yml
expect_exit 2 "$ASSAY" kernel links --build
expect_err 'assay.yml: leads out of the repository'
unshown
rm links/assay.yml
cp "$work/private" "$work/private.c"
ln -s "$work/private.c" links/more.c
for source in more.c ../private.c "$work/private.c"; do
    echo "sources: ['$source']" >links/assay.yml
    expect_exit 2 "$ASSAY" kernel links --build
    expect_err 'leads out of the repository'
    unshown
done
rm links/assay.yml
mkdir -p folder
mkdir "$work/elsewhere" && cp "$work/private" "$work/elsewhere/benchmark_private.c"
ln -s "$work/elsewhere" folder/benchmarks
expect_exit 2 "$ASSAY" kernel folder --build
expect_err 'benchmarks: leads out of the repository'
unshown

say "nor through the sources themselves"
ln -s "$work/private" links/header.h
ln -s "$work" links/up
while read -r line; do
    printf '%b\n' "$line" >links/benchmarks/benchmark_one.c
    expect_exit 2 "$ASSAY" kernel links --build
    expect_err 'benchmark_one.c: reads ".*", which lies outside the repository'
    unshown
done <<END
#include "../header.h"
#include "../up/private"
#include "../../private"
#include "$work/private"
#include "$work/private"\\n#error stop
#include "$work/private"\\n#include "missing.h"
#include "/proc/self/cwd/../private"
#line 1 "$work/private"\\nint x = nonsense;
#line 1 "header.h"\\nint x = nonsense;
END
printf '__asm__(".include \\"%s\\"");\n' "$work/private" >links/benchmarks/benchmark_one.c
expect_exit 2 "$ASSAY" kernel links --build
expect_err 'benchmark_one.c: reads ".*", which lies outside the repository'
unshown

say "names lose their control characters"
repository names
mv names/benchmarks/benchmark_one.c names/benchmarks/$'benchmark_\e]0;title\a.c'
printf 'name: "a\\eb"\n' >names/assay.yml
expect_exit 0 "$ASSAY" kernel names --build
expect_out 'benchmark_\\x1b\]0;title\\x07.c'
echo $'#warning a\e[2Jb\n#error c\e[3Jd' >>names/benchmarks/*.c
expect_exit 2 "$ASSAY" kernel names --build
for file in out err; do [ "$(tr -d '[:print:]\n\t' <"$work/$file" | LC_ALL=C tr -d '\200-\377' | wc -c)" -eq 0 ] || fail "control characters in $file"; done
expect_exit 2 "$ASSAY" kernel $'no\e[2Jwhere'
! grep -q $'\e' "$work/err" || fail "an escape sequence in the error"

say "nor do names and reasons become formulas or break a table"
mkdir -p cells/benchmarks
cat >cells/benchmarks/benchmark_cells.c <<'C'
#include <assay/assay_kernel.h>
static void setup(assay_setup *s) { assay_output(s, "out", ASSAY_DTYPE_F32, 1); }
static void fails(assay_setup *s) { assay_setup_fails(s, "\033[2J | `x` \xe2\x80\xae"); }
static int run(const assay_call *call) { return *(float *)call->out[0] = 1, 0; }
ASSAY_BENCHMARK(Cells, 0, setup, {"=1+1|`x", run}, {"fails", run, run, fails})
C
expect_exit 1 "$ASSAY" kernel cells --iterations 3 --warmup 1 -o cells.csv -o cells.md -o github:cells.github
! grep -q $'\e' "$work/out" "$work/err" cells.* || fail "an escape sequence is left"
expect_file cells.csv ",'=1\+1\|"
! grep -Eq '(^|,)"?[=@]' cells.csv || fail "a field begins like a formula"
expect_file cells.github '^\| =1\+1\\\|\\`x \|'
expect_file cells.md 'failed: setup: .* \\\| \\`x\\`'

command -v git >/dev/null || exit 0
say "a folder under git whose configuration, hooks and attributes name programs"
repository local
git=(git -C local -c user.name=t -c user.email=t@t)
"${git[@]}" init -q
echo '* filter=evil diff=evil' >local/.gitattributes
"${git[@]}" add -A && "${git[@]}" commit -qm one
touch -d '1 hour ago' local/benchmarks/* local/run.sh # so that git has to read them again
for hook in post-checkout post-index-change fsmonitor-watchman reference-transaction; do
    cp local/run.sh local/.git/hooks/$hook
done
cat >>local/.git/config <<END
[core]
	fsmonitor = $PWD/local/run.sh
	hooksPath = $PWD/local/.git/hooks
	sshCommand = $PWD/local/run.sh
	pager = $PWD/local/run.sh
	editor = $PWD/local/run.sh
	gitProxy = $PWD/local/run.sh
	alternateRefsCommand = $PWD/local/run.sh
[filter "evil"]
	clean = $PWD/local/run.sh cat
	smudge = $PWD/local/run.sh cat
	process = $PWD/local/run.sh
	required = true
[diff "evil"]
	textconv = $PWD/local/run.sh cat
	command = $PWD/local/run.sh
[diff]
	external = $PWD/local/run.sh
[protocol]
	allow = always
[protocol "ext"]
	allow = always
[extensions]
	partialClone = origin
[remote "origin"]
	url = ext::$PWD/local/run.sh
	promisor = true
	uploadpack = $PWD/local/run.sh
[credential]
	helper = !$PWD/local/run.sh
END
(cd local && git -c core.fsmonitor= status >/dev/null 2>&1)
[ -e "$work/ran" ] || fail "the test's own configuration starts nothing"
rm "$work/ran"
expect_exit 0 "$ASSAY" kernel local --iterations 3 --warmup 1
expect_out "^Kernel: $("${git[@]}" rev-parse HEAD | cut -c 1-7)  Benchmark: "
expect_nothing_ran
echo '/* changed */' >>local/benchmarks/benchmark_one.c
expect_exit 0 "$ASSAY" kernel local --iterations 3 --warmup 1
expect_out "^Kernel: $("${git[@]}" rev-parse HEAD | cut -c 1-7)\+  Benchmark: "
expect_nothing_ran
find local/.git/objects -type f -delete # git would fetch them again
expect_exit 0 "$ASSAY" kernel local --build
expect_nothing_ran
cd local/benchmarks || fail "no folder"
expect_exit 0 "$ASSAY" kernel .. --build
expect_nothing_ran
cd ../..
[ -z "$(find "$XDG_CACHE_HOME/assay" -maxdepth 1 -name 'git*')" ] || fail "the folder for git is still there"

say "a repository that is cloned: filters of the user's own, hooks of a template, submodules"
repository origin/owner/evil
echo '* filter=mine' >origin/owner/evil/.gitattributes
printf '[submodule "s"]\n\tpath = s\n\turl = ext::%s\n' "$PWD/origin/owner/evil/run.sh" >origin/owner/evil/.gitmodules
git=(git -C origin/owner/evil -c user.name=t -c user.email=t@t -c init.defaultBranch=main)
"${git[@]}" init -q && "${git[@]}" add -A && "${git[@]}" update-index --add --cacheinfo "160000,$(printf '%040d' 1),s"
"${git[@]}" commit -qm one && "${git[@]}" branch v1
mkdir -p template/hooks hooks
for hook in post-checkout post-index-change reference-transaction; do
    cp origin/owner/evil/run.sh template/hooks/$hook
    cp origin/owner/evil/run.sh hooks/$hook
done
cat >"$work/gitconfig" <<END
[filter "mine"]
	clean = $PWD/origin/owner/evil/run.sh cat
	smudge = $PWD/origin/owner/evil/run.sh cat
[init]
	templateDir = $PWD/template
[core]
	hooksPath = $PWD/hooks
[submodule]
	recurse = true
[protocol "ext"]
	allow = always
END
export GIT_CONFIG_GLOBAL=$work/gitconfig GIT_TEMPLATE_DIR=$PWD/template ASSAY_HUB=file://$PWD/origin
expect_exit 0 "$ASSAY" kernel owner/evil@v1 --build
expect_nothing_ran
expect_exit 0 "$ASSAY" kernel owner/evil@v1 --build --offline
expect_nothing_ran
