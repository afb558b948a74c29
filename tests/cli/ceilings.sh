#!/usr/bin/env bash
# Without stored ceilings they are measured once. A busy machine may refuse: then its state is not known, and
# everything else is as always, because the ceilings kernels are compared with are probed beside them.
# Not under sanitizers: they would measure themselves; test_ceiling runs the same code there.
# Needs quiet cores: a busy machine refuses to be measured.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
rm -r "$XDG_CACHE_HOME"
rows=$work/rows.jsonl
bench=("$ASSAY" bench relu --batch 64 --seq 8 --dim 64 --iters 60 --warmup 2 --impl native,ref)

say "without asking for percentages nothing is measured"
expect_exit 0 "${bench[@]}" --no-ceiling -o "$rows"
expect_err_lines 0
expect_no_out 'of its best|[0-9]% ✓'
expect_out 'ceil: not known, nothing was probed beside the kernels'
expect_count 2 '"efficiency":0(\.0)?,' "$rows"
[ ! -e "$XDG_CACHE_HOME/assay" ] || ! ls "$XDG_CACHE_HOME"/assay/ceilings-* 2>/dev/null ||
    fail "ceilings were remembered"

say "the first run measures them, whatever the time limit of kernels is, and says so once"
expect_exit 0 "${bench[@]}" --timeout 300ms
expect_err 'measuring this machine.s ceilings, once'
expect_out '2 ok'

say "the second does not"
expect_exit 0 "${bench[@]}" -v -o "$rows"
expect_out 'ceil: % of what this machine can do, probed in the same rounds'
expect_out '[0-9.]+ … [0-9.]+% of it reached'
expect_count 2 '"efficiency_ci":\[[0-9.e-]+,[0-9.e-]+\]' "$rows"
expect_count 2 '"ceiling_rounds":[1-9]' "$rows"
if ls "$XDG_CACHE_HOME"/assay/ceilings-*.json >/dev/null 2>&1; then
    expect_err_lines 0
    expect_out 'machine at [0-9]+% of its best'
    expect_exit 0 "$ASSAY" info
    expect_out '^ceilings with '
else
    say "this machine is too busy to be measured"
fi
