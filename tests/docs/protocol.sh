#!/usr/bin/env bash
# docs/protocol.md names every key of a record and a run, every CSV column in its order, every format
# and every metric, and every outcome is in docs/verifying.md.
set -u
cd "$ASSAY_SOURCE_DIR" || exit 2
failed=0
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
export XDG_DATA_HOME=$tmp/data XDG_CACHE_HOME=$tmp/cache
names() { # names PAGE WHAT: words on standard input that the page must have, each as `word`
    while read -r name; do
        grep -qF -- "\`$name\`" "$1" || { echo "$1 lacks the $2 $name"; failed=1; }
    done
}

sed -n 's/^    {"\([a-z0-9_]*\)",.*/\1/p' src/record/record_fields.c >"$tmp/keys"
[ -s "$tmp/keys" ] || { echo "no keys found in src/record/record_fields.c"; exit 1; }
names docs/protocol.md key <"$tmp/keys"
names docs/protocol.md format < <("$ASSAY" list formats --names)
sed -n 's/^    \[ASSAY_OUTCOME_[A-Z_]*\] = "\(.*\)",/\1/p' src/record/record.c >"$tmp/outcomes"
[ -s "$tmp/outcomes" ] || { echo "no outcomes found in src/record/record.c"; exit 1; }
names docs/verifying.md status <"$tmp/outcomes"

sed -n 's/^    \[[A-Z_0-9]*\] = {"\(.*\)", ".*"},/\1/p' src/report/format/pytorch.c >"$tmp/metrics"
[ -s "$tmp/metrics" ] || { echo "no metrics found in src/report/format/pytorch.c"; exit 1; }
names docs/protocol.md metric <"$tmp/metrics"

fence() { # fence HEADING: the first block in fences under it
    awk -v heading="### $1" '$0 == heading { on = 1 } on && /^```/ { fence++; next } on && fence == 1' \
        docs/protocol.md
}
head -n 1 tests/golden/report.csv | tr ',' '\n' >"$tmp/columns"
fence CSV |
    tr -s ' ' '\n' | diff "$tmp/columns" - >"$tmp/diff" ||
    { echo "the CSV columns of docs/protocol.md differ:"; cat "$tmp/diff"; failed=1; }
[ "$(fence torchao-csv | tr -d '\n')" = "$(head -n 1 tests/golden/report.torchao-csv)" ] ||
    { echo "the columns of torchao-csv in docs/protocol.md differ"; failed=1; }
exit $failed
