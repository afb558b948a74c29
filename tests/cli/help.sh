#!/usr/bin/env bash
# The help screens and the version.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

say "called with nothing, assay introduces itself"
expect_exit 0 "$ASSAY"
expect_out '^assay [0-9]+\.[0-9]+'
expect_out 'assay bench '
expect_out '^Exit codes: 0 all fine'
expect_err_lines 0
cp "$work/out" "$work/introduction"

say "help, --help and -h are the same"
for word in help --help -h; do
    expect_exit 0 "$ASSAY" $word
    cmp -s "$work/out" "$work/introduction" || fail "assay $word says something else"
done

say "every command of the introduction has its own help, in both ways"
commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$work/introduction")
[ "$(echo "$commands" | wc -w)" -ge 4 ] || fail "commands: $commands"
for command in $commands; do
    expect_exit 0 "$ASSAY" help "$command"
    expect_out "assay"
    cp "$work/out" "$work/long"
    expect_exit 0 "$ASSAY" "$command" --help
    cmp -s "$work/out" "$work/long" || fail "assay $command --help differs from assay help $command"
done

say "the options of bench, each within 100 columns"
expect_exit 0 "$ASSAY" bench -h
for option in batch seq dim shape shapes mode recipe dtype impl kernel cache threads precision budget warmup iters baseline \
    seed timeout max-elements memory-limit output format resume plugin device strict-device \
    in-process wait quiet verbose ascii help; do
    expect_out "^ .*--$option( |$)"
done
expect_no_out '.{101}'

say "the version"
expect_exit 0 "$ASSAY" --version
expect_out '^assay [0-9]+\.[0-9]+\.[0-9]+$'
expect_out_lines 1
expect_exit 0 "$ASSAY" -V
expect_out_lines 1

say "completion scripts and the man page are printed"
for shell in bash zsh fish; do
    expect_exit 0 "$ASSAY" help --completion $shell
    expect_out "made by .assay help --completion $shell"
    expect_err_lines 0
done
expect_usage 'no completion for "tcsh"; bash, zsh or fish' "$ASSAY" help --completion tcsh
printf '.TH ASSAY 1 "" "assay @VERSION@"\n.\\" OPTIONS\nlast' >"$work/page.in"
expect_exit 0 "$ASSAY" help --man "$work/page.in"
expect_out "^\.TH ASSAY 1 \"\" \"$("$ASSAY" --version)\"\$"
expect_out '^\.SH OPTIONS OF BENCH$'
expect_out '^last$'
expect_exit 1 "$ASSAY" help --man "$work/none"
expect_err 'none: cannot be read'

say "unknown commands have a nearest"
expect_usage 'unknown command "bensh"; did you mean "bench"\?' "$ASSAY" bensh
expect_usage 'unknown command "bensh"; did you mean "bench"\?' "$ASSAY" help bensh
expect_usage 'unknown command "qqqqq"; `assay help` shows them all' "$ASSAY" qqqqq
expect_usage 'unknown command "--bench"' "$ASSAY" --bench

say "a worker is not for people"
expect_usage 'a worker is started by assay itself' "$ASSAY" --worker
expect_usage 'a worker is started by assay itself' "$ASSAY" --worker 1 2 x 4
