#!/usr/bin/env bash
# The gallery is what tools/gallery makes of its recordings, byte for byte; every picture that a page shows is
# there; and the recordings stay small, since everyone who clones the tree has them.
set -u
cd "$ASSAY_SOURCE_DIR" || exit 2
failed=0
complain() {
    echo "$*"
    failed=1
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mkdir "$tmp/drawn"
(cd "$tmp" && TZ=Asia/Tokyo "$ASSAY_SOURCE_DIR/tools/gallery" draw drawn) || exit 1
diff -rq -x runs -x gallery.txt "$tmp/drawn" docs/gallery ||
    complain "docs/gallery is not what its recordings give: tools/gallery makes it, look at what has changed"

for run in docs/gallery/runs/*; do
    name=$(basename "$run" .jsonl)
    grep -qx "from: $name" docs/gallery/gallery.txt || complain "nothing is drawn of $run"
    grep -nE '"/[a-z]' "$run" && complain "$run names folders of somebody's machine"
done
[ "$(cat docs/gallery/runs/* | wc -c)" -le 1500000 ] || complain "docs/gallery/runs is over 1.5 MB"
[ "$(find "$tmp/drawn" -name '*.svg' -size +40k -print | wc -l)" = 0 ] || complain "a picture is over 40 kB"
[ "$(wc -c <docs/gallery/report.html)" -le 200000 ] || complain "docs/gallery/report.html is over 200 kB"

# shown PAGE: the files that it shows as pictures; what it shows as code are examples.
shown() {
    # shellcheck disable=SC2016
    sed '/^```/,/^```/d' "$1" | grep -oE '(src|srcset)="[^"]+"|!\[[^]]*\]\([^)]+\)' | sed -E 's/.*[("]([^")]+)[)"]$/\1/'
}

for page in README.md docs/*.md docs/notebook/*.md docs/gallery/*.md; do
    while read -r picture; do
        file=$(realpath -m --relative-to=. "$(dirname "$page")/$picture")
        [[ $file == docs/gallery/*.svg ]] || complain "$page shows $picture, which is not of docs/gallery"
        [ -e "$tmp/drawn/$(basename "$file")" ] || complain "$page shows $picture, which is not there"
    done < <(shown "$page")
done
[ -n "$(shown README.md)" ] || complain "README.md shows no picture"
exit $failed
