#!/usr/bin/env bash
# Links of the pages lead somewhere, files they name exist, and no page knows whose machine it was
# written on. A name with a capital word in it (src/op/NAME.c) stands for many and is not looked up.
set -u
cd "$ASSAY_SOURCE_DIR" || exit 2
pages=(README.md CONTRIBUTING.md CHANGELOG.md docs/*.md docs/notebook/*.md docs/gallery/*.md)
failed=0
complain() {
    echo "$*"
    failed=1
}

# anchors PAGE: what its headings can be linked as
anchors() {
    sed '/^```/,/^```/d' "$1" | sed -n 's/^##* //p' | tr '[:upper:]' '[:lower:]' |
        sed 's/[^[:alnum:] _-]//g; s/ /-/g'
}

for page in "${pages[@]}"; do
    while read -r link; do
        case $link in http://* | https://*) continue ;; esac
        file=${link%%#*} anchor=
        [[ $link == *'#'* ]] && anchor=${link#*#}
        target=$page
        [ -z "$file" ] || target=$(dirname "$page")/$file
        [ -e "$target" ] || { complain "$page links to $link, which is not there"; continue; }
        [ -z "$anchor" ] || anchors "$target" | grep -qxF -- "$anchor" ||
            complain "$page links to $link, but there is no such heading"
    done < <(grep -oE '\]\([^) ]+\)' "$page" | sed 's/^](//; s/)$//')

    while read -r name; do
        case $name in *[A-Z][A-Z]* | *'*'* | *softsign* | */outer.c | *two_layers* | *tiny* | *influx* | *cmd_where* | build*) continue ;; esac
        [ -e "$name" ] || complain "$page names $name, which is not there"
    done < <(grep -oE '`(src|include|tools|tests|docs|examples|cmake|share)/[^` ]+`' "$page" | tr -d '`')
done

# Folders of one machine; ~ and $XDG_… are everybody's.
if grep -nE '(^|[^[:alnum:]_.~/-])/(home|root|work|tmp|var|opt|mnt|srv|Users|usr)/' "${pages[@]}" docs/assay.1.in \
    examples/adding/*; then
    complain "these lines name folders of somebody's machine"
fi
exit $failed
