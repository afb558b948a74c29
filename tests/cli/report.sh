#!/usr/bin/env bash
# assay report: pages and charts of runs and files, --chart and PNG on every command, a live page
# while a run is measured, reading pages back; and bad input.
. "$(dirname "$0")/lib.sh"

say "no run yet"
expect_usage 'there are no runs in' "$ASSAY" report
expect_usage 'there is no such file' "$ASSAY" report nothing.html
[ ! -e report.html ] || fail "a page of nothing"

expect_exit 0 "$ASSAY" bench gelu,silu "${quick[@]}" -q -o first.json -o first.csv -o first.md
expect_exit 0 "$ASSAY" bench gelu "${quick[@]}" --seq 3,5,7 -q
first=$("$ASSAY" list runs --names | tail -n 1)

say "one page, by default of the last run"
expect_exit 0 "$ASSAY" report
expect_err '^assay: wrote report.html, [0-9.]+ kB$'
expect_out_lines 0
expect_file report.html '^<!doctype html>'
expect_file report.html 'gelu'
expect_exit 0 "$ASSAY" report last~1 last first.json -q -o three.html
expect_err_lines 0
[ "$(wc -c <three.html)" -gt "$(wc -c <report.html)" ] || fail "three runs take no more than one"
expect_exit 0 "$ASSAY" report "$first" -o html:-
expect_out '</html>'

say "read back: shown, compared, reported, counted over all runs"
words() { tr -d '0-9.' <"$work/out" | tr -s ' ─'; } # a page's figures have seven digits
expect_exit 0 "$ASSAY" show last
words >last.txt
expect_exit 0 "$ASSAY" show report.html
words | cmp -s - last.txt || fail "the page holds another run"
expect_exit 0 "$ASSAY" show first.json -f csv
cmp -s "$work/out" first.csv || fail "the JSON holds another run"
expect_exit 0 "$ASSAY" compare report.html last
expect_exit 0 "$ASSAY" report report.html -o again.html
rows=$(($(wc -l <first.csv) - 1))
expect_exit 0 "$ASSAY" show three.html --row $((rows + 1))
expect_out 'gelu batch=2 seq=3'
expect_usage "row: 9999: this file has [0-9]+ rows" "$ASSAY" show three.html --row 9999
expect_usage 'three.html: holds 3 runs' "$ASSAY" show three.html -o x.csv
expect_usage 'holds several runs' "$ASSAY" compare three.html last

say "charts: the one that fits, by name, for dark pages, PNG"
expect_exit 0 "$ASSAY" show last -q -o fits.svg -o fits.png
expect_file fits.svg '^<svg .*role="img"'
expect_exit 0 "$ASSAY" report last -o dark.svg --dark --chart speedup:state=hot
expect_exit 0 "$ASSAY" report last -o light.svg --chart speedup
! cmp -s dark.svg light.svg || fail "--dark changes nothing"
if command -v rsvg-convert >/dev/null; then
    [ "$(head -c 4 fits.png | tail -c 3)" = PNG ] || fail "fits.png is no PNG"
    expect_exit 0 "$ASSAY" report -o page.png
    expect_err '^assay: wrote page.png, '
    [ "$(ls | grep -c 'part$')" = 0 ] || fail "something is left behind"
fi
here=$(command -v "$ASSAY")
PATH=/nowhere expect_exit 0 "$here" report -o other.png
expect_err '^assay: other.png: PNG takes rsvg-convert, which is not here \(apt install librsvg2-bin\); writing other.svg instead$'
expect_file other.svg '</svg>'
[ ! -e other.png ] || fail "a PNG that is none"
PATH=/nowhere expect_exit 0 "$here" show last -q -o both.png -o both.svg
expect_file both.svg '</svg>'

say "a chart that does not fit is told, in the file too; one that is unknown ends it before anything"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" -q --chart compiled -o unfit.svg -o unfit.json
expect_err '^assay: unfit.svg: the chart compiled does not fit: .*; these do: .*speedup'
expect_file unfit.svg 'The chart compiled does not fit'
expect_exit 0 "$ASSAY" report unfit.json -o unfit.svg --chart speedup:row=1
expect_err 'speedup does not fit: it shows all rows: it takes no row; without keys it does; these do: outcome'
runs=$("$ASSAY" list runs --names | wc -l)
expect_usage 'unknown chart "heatmap"; did you mean "heat"' "$ASSAY" bench relu "${quick[@]}" --chart heatmap -o x.svg
expect_usage 'unknown key "z"; there are x, y' "$ASSAY" bench relu "${quick[@]}" --chart speedup:z=1 -o x.svg
expect_usage 'chart is drawn into a file' "$ASSAY" bench relu "${quick[@]}" --chart speedup
expect_usage 'chart is drawn into a file' "$ASSAY" report --chart speedup
[ "$("$ASSAY" list runs --names | wc -l)" = "$runs" ] || fail "a run was begun all the same"

say "bad input"
expect_usage 'no run "19" in' "$ASSAY" report 19
expect_usage 'first.md: holds no results that can be read back: that takes a run' "$ASSAY" report first.md
expect_usage 'first.csv: is of the format csv, which does not hold whole records' "$ASSAY" report first.csv
expect_usage 'which does not hold whole records' "$ASSAY" show first.csv
echo '<!DOCTYPE html><title>x</title>' >other.html
expect_usage 'other.html: not a page that assay wrote' "$ASSAY" report other.html
head -c 20000 report.html >cut.html
expect_usage 'cut.html: .*cut off' "$ASSAY" show cut.html
: >empty.html
expect_usage 'is a folder' "$ASSAY" report -o html:.
expect_usage 'empty.html: is empty' "$ASSAY" report empty.html
expect_usage 'is not a file' "$ASSAY" report ./
expect_usage 'no/x.html: cannot be written' "$ASSAY" report -o no/x.html
expect_usage 'x.csv: a report is .html, .svg or .png' "$ASSAY" report -o x.csv
expect_usage 'is named twice' "$ASSAY" report -o x.html -o html:x.html
expect_usage 'leave out --output' "$ASSAY" report --serve -o x.html
expect_usage 'serve must lie between 0 and 65535' "$ASSAY" report --serve=70000
expect_usage 'unknown option --sevre; did you mean --serve' "$ASSAY" report --sevre
expect_exit 0 "$ASSAY" report --help
expect_out 'assay report --serve last'

say "runs that are empty, incomplete, damaged, or wrong"
journals=$XDG_DATA_HOME/assay/runs
head -n 1 "$journals/$first.jsonl" >"$journals/20200101-000000-aaaa.jsonl"
expect_exit 0 "$ASSAY" report 20200101 -o empty.html -o empty.svg
expect_err ': 2 of 2 groups are missing$'
expect_err 'empty.svg: there are no results'
expect_file empty.svg 'There are no results'
sed '2s/gelu/gelo/' "$journals/$first.jsonl" >damaged.jsonl
expect_exit 1 "$ASSAY" report damaged.jsonl -o damaged.html
expect_err 'damaged.jsonl:2: '
expect_exit 1 "$ASSAY" bench relu "${quick[@]}" --plugin "$ASSAY_PLUGINS/wrong.so" --kernel all -q
expect_exit 1 "$ASSAY" report -o wrong.html

say "the live page"
get() { # get ADDRESS: its body; bash alone
    local rest=${1#http://} host port
    host=${rest%%/*} port=${rest%%/*}
    exec 9<>"/dev/tcp/${host%:*}/${port#*:}" || return 1
    printf 'GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n' "${rest#*/}" "$host" >&9
    timeout 10 cat <&9 | sed '1,/^\r*$/d'
    exec 9>&-
}
serve() { # serve ARGUMENTS: $address is where, $server who
    : >address
    "$ASSAY" report --serve "$@" >address 2>serve.err </dev/null &
    server=$!
    started+=("$server")
    wait_for test -s address
    address=$(cat address)
}
ends() { # ends SIGNAL: with exit code 0
    kill "-$1" "$server"
    wait "$server" || fail "the server ended with $?"
}
running() { [[ $(get "${address}version") == *" running" ]]; }
is_done() { [[ $(get "${address}version") == *" done" ]]; }
grown() { [ "$(get "${address}version" | cut -d' ' -f1)" -gt "$count" ]; }

export XDG_DATA_HOME=$work/live
serve
grep -q '^http://127.0.0.1:[0-9]*/[0-9a-f]*/$' address || fail "no address"
running || fail "nothing is awaited"
get "$address" | grep -q 'No group is finished yet' || fail "no page of a run that has not begun"
count=$(get "${address}version" | cut -d' ' -f1)
"$ASSAY" bench gelu --batch 2 --seq 3,4,5,6 --dim 5 --cache hot --budget 2s -q 2>bench.err </dev/null &
bench=$!
started+=("$bench")
wait_for grown
running || fail "the run is not seen to go on"
get "$address" >live.html
grep -q 'id=live' live.html || fail "the page is not live"
port=${address#*127.0.0.1:}
expect_exit 1 "$ASSAY" report --serve="${port%%/*}"
expect_err 'port [0-9]+ of 127.0.0.1 is taken by another program; choose another'
kill -TERM "$bench"
wait "$bench"
[ $? = 130 ] || fail "the run ended otherwise"
wait_for is_done
get "$address" >live.html
is_done && ! grep -q 'id=live' live.html || fail "the page is still live"
expect_exit 0 "$ASSAY" report -q
expect_err 'groups are missing$'
grep -v 'Content-Security' live.html | cmp -s - <(grep -v 'Content-Security' report.html) || fail "the last page is not that of the run"
! get "${address%/*/}/0123456789abcdef/" | grep -q gelu || fail "the token is not asked for"
ends INT
serve last "$work/report.html"
is_done || fail "what is done is called running"
ends TERM
expect_usage 'no run "19" in' "$ASSAY" report --serve 0 19
