#!/usr/bin/env bash
# The form of the pages: each says first what it is for and who reads it, and ends with where to go next; the
# entrance names all of them, the glossary is in order, and what should be short is.
set -u
cd "$ASSAY_SOURCE_DIR" || exit 2
failed=0
complain() {
    echo "$*"
    failed=1
}

ends_with_links() {
    [ "$(grep '^## ' "$1" | tail -n 1)" = '## Where next' ] || return 1
    local links
    links=$(sed -n '/^## Where next$/,$p' "$1" | grep -c '^- .*](')
    [ "$links" -ge 2 ] && [ "$links" -le 3 ]
}

for page in docs/*.md docs/notebook/*.md docs/gallery/*.md; do
    ends_with_links "$page" || complain "$page does not end with \"Where next\" and two or three links"
    name=${page#docs/}
    [ "$name" = index.md ] || grep -qF "]($name" docs/index.md || complain "docs/index.md lacks $name"
done
for page in docs/*.md docs/notebook/*.md docs/gallery/*.md; do
    sed -n 3p "$page" | grep -qE '^This (page|notebook) is (for|the entrance, for) ' ||
        complain "$page does not say first whom it is for"
done

words_at_most() {
    [ "$(wc -w <"$1")" -le "$2" ] || complain "$1 has $(wc -w <"$1") words; at most $2"
}
words_at_most README.md 700
words_at_most docs/performance.md 1600
[ "$(wc -l <README.md)" -le 95 ] || complain "README.md has $(wc -l <README.md) lines; at most 95"

words=$(grep -oE '^\*\*[^*]+\*\*' docs/glossary.md | tr -d '*' | tr '[:upper:]' '[:lower:]')
[ "$(wc -l <<<"$words")" -ge 60 ] || complain "docs/glossary.md has too few words"
LC_ALL=C sort -c <<<"$words" || complain "docs/glossary.md is not in alphabetical order"

# What newcomers met before it had been explained.
for word in act baseline ceiling cold compiled eager floor group hot judge KoBench lane preset quantise recipe \
    round runner sample SQNR tour unclear variant workload; do
    grep -qiE "^\*\*$word\b" docs/glossary.md || complain "docs/glossary.md lacks $word"
done
exit $failed
