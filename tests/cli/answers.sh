#!/usr/bin/env bash
# Problems generated from a seed: a few of those that tools/check-answers goes through.
# Not under sanitizers: oneDNN and OpenBLAS are not built with them
# shellcheck source-path=SCRIPTDIR source=lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
say "60 problems, none wrong"
expect_exit 0 "$ASSAY_SOURCE_DIR/tools/check-answers" 60 5
expect_out '^60 problems from seed 5, [0-9]+ answers: 0 problems wrong, 0 refused$'
