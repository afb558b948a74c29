#!/usr/bin/env bash
# The man page has every option that the program's help has, and no other; and it is well formed.
set -u
page=$ASSAY_SOURCE_DIR/docs/assay.1
failed=0
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT

options() { grep -oE -- '(^|[^[:alnum:]-])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | LC_ALL=C sort -u; }
{
    "$ASSAY" help
    for command in bench run ci preset kernel list info; do
        "$ASSAY" $command --help
    done
} | options >"$tmp/help"
sed 's/^\.\\".*//; s/\\f[A-Z]//g; s/\\-/-/g' "$page" | options >"$tmp/page"
[ -s "$tmp/help" ] || { echo "the program prints no help"; exit 1; }
if ! diff "$tmp/help" "$tmp/page" >"$tmp/diff"; then
    sed -n 's/^< /only in the help: /p; s/^> /only in docs\/assay.1: /p' "$tmp/diff"
    failed=1
fi

# section NAME: the options of one section of the page, each with the section of its command
section() { sed -n "/^\.SH $1\$/,/^\.SH [^O]/p" "$page" | sed '1d;/^\.SH/,$d' | sed 's/\\f[A-Z]//g; s/\\-/-/g' | options; }
for command in list info; do
    section "OPTIONS OF ${command^^}" >"$tmp/page"
    "$ASSAY" $command --help | options | grep -v -- '^--help$' >"$tmp/help"
    diff "$tmp/help" "$tmp/page" >/dev/null || { echo "the options of $command differ from its help"; failed=1; }
done

"$ASSAY" --version | grep -qF "$(sed -n 's/^\.TH .*"\(assay [0-9.]*\)".*/\1/p' "$page")" ||
    { echo "the page is of another version than $("$ASSAY" --version)"; failed=1; }

if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww "$page" 2>"$tmp/warnings" >/dev/null
    [ ! -s "$tmp/warnings" ] || { cat "$tmp/warnings"; failed=1; }
fi
exit $failed
