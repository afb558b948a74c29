#!/usr/bin/env bash
# Plug-ins that cannot be used, and names that only a plug-in knows.
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

say "each is refused with its file and the reason"
expect_usage 'bad_abi.so: has a kernel built for another version of assay' \
    "$ASSAY" bench relu "${quick[@]}" --plugin "$ASSAY_PLUGINS/bad_abi.so"
expect_usage 'no_symbol.so: .*does not export assay_plugin' \
    "$ASSAY" bench relu "${quick[@]}" --plugin "$ASSAY_PLUGINS/no_symbol.so"
expect_usage 'no_kernels.so: offers no kernels' \
    "$ASSAY" bench relu "${quick[@]}" --plugin "$ASSAY_PLUGINS/no_kernels.so"
expect_usage 'duplicate_name.so: a kernel "relu_ref" exists already' \
    "$ASSAY" bench relu "${quick[@]}" --plugin "$ASSAY_PLUGINS/duplicate_name.so"
echo "not a shared object" >text.so
expect_usage 'text.so: cannot be opened' "$ASSAY" bench relu "${quick[@]}" --plugin text.so

say "a good one is measured beside the others, also by a bare file name"
cp "$ASSAY_PLUGINS/good.so" mine.so
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin mine.so
expect_out '^ *good '
expect_out '^ *ref '
expect_out '^ *native '

say "twice is once"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin mine.so --plugin mine.so --impl good
expect_out '1 row in 1 group: 1 ok|1 rows in 1 group: 1 ok'

say "names are checked with the plug-in's in mind"
expect_exit 0 "$ASSAY" bench relu "${quick[@]}" --plugin mine.so --kernel good,relu_ref --baseline good
expect_out '^ *good .*baseline'
expect_exit 2 "$ASSAY" bench relu "${quick[@]}" --plugin mine.so --impl goood
expect_err 'unknown implementation "goood"; did you mean "good"\?'
expect_exit 2 "$ASSAY" bench relu "${quick[@]}" --plugin mine.so --baseline goood
expect_err 'did you mean "good"\?'

say "an op the plug-in does not have is said so; nothing else was asked for"
expect_exit 3 "$ASSAY" bench softmax "${quick[@]}" --plugin mine.so --impl good
expect_out 'unsupported|no kernel was asked for'
