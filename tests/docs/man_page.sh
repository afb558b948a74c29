#!/usr/bin/env bash
# The man page has every command with the options that its help has, and no other; and it is well formed.
set -u
failed=0
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
page=$tmp/assay.1
"$ASSAY" help --man "$ASSAY_SOURCE_DIR/docs/assay.1.in" >"$page" || exit 1

options() { grep -oE -- '(^|[^[:alnum:]-])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | LC_ALL=C sort -u; }
plain() { sed 's/^\.\\".*//; s/\\f[A-Z]//g; s/\\-/-/g' "$page"; }
# section NAME: the options that a section of the page begins an entry with
section() { plain | sed -n "/^\.SH $1\$/,/^\.SH/p" | grep -A1 '^\.TP$' | options; }
commands=$("$ASSAY" list commands --names)
[ -n "$commands" ] || { echo "the program lists no commands"; exit 1; }
for command in $commands; do
    "$ASSAY" $command --help | grep -oE '^  (-[a-zA-Z],|   ) --[a-z][a-z-]*' | options >"$tmp/help"
    [ -s "$tmp/help" ] || { echo "assay $command --help shows no options"; failed=1; }
    {
        section "OPTIONS OF ${command^^}"
        plain | sed -n '/^\.SH COMMON OPTIONS$/,/^\.TP/p' | grep -qw "$command" && section 'COMMON OPTIONS'
    } | LC_ALL=C sort -u >"$tmp/page"
    diff "$tmp/help" "$tmp/page" >"$tmp/diff" ||
        { echo "the options of $command differ from its help:"; cat "$tmp/diff"; failed=1; }
    plain | sed -n '/^\.SH SYNOPSIS$/,/^\.SH DESC/p' | grep -qx "\.B assay $command" ||
        { echo "$command is not in the synopsis"; failed=1; }
done

# What the prose names exists.
for command in $commands; do "$ASSAY" help $command; done | options >"$tmp/help"
plain | options | LC_ALL=C comm -13 "$tmp/help" - >"$tmp/unknown"
[ ! -s "$tmp/unknown" ] || { echo "only in docs/assay.1.in:" $(cat "$tmp/unknown"); failed=1; }

"$ASSAY" --version | grep -qxF "$(sed -n 's/^\.TH .*"\(assay [0-9.]*\)".*/\1/p' "$page")" ||
    { echo "the page is of another version than $("$ASSAY" --version)"; failed=1; }

if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww "$page" 2>"$tmp/warnings" >/dev/null
    [ ! -s "$tmp/warnings" ] || { cat "$tmp/warnings"; failed=1; }
fi
exit $failed
