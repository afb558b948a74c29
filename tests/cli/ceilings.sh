#!/usr/bin/env bash
# Without remembered ceilings they are measured once. A busy machine may refuse: then there are no
# percentages, and everything else is as always.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
rm -r "$XDG_CACHE_HOME"

say "the first run measures them, whatever the time limit of kernels is, and says so once"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --impl native,ref --timeout 300ms
expect_err 'measuring this machine.s ceilings, once'
expect_out '2 ok'

if ls "$XDG_CACHE_HOME"/assay/ceilings-*.json >/dev/null 2>&1; then
    say "the second does not"
    expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --impl native,ref
    expect_err_lines 0
    expect_out '% of '
    expect_exit 0 "$ASSAY" info
    expect_out '^ceilings with '
else
    say "this machine is too busy to be measured"
fi
