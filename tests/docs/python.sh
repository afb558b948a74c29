#!/usr/bin/env bash
# The blocks of Python on the pages of the Python packages are run, in order, page by page, with less time for each
# figure. What stands behind <!-- not run: why --> is compiled only.
# Not under sanitizers: the packages are not built there
set -euo pipefail
cd "$ASSAY_SOURCE_DIR"
package=$(dirname "$ASSAY")/python
python=${ASSAY_PYTHON:-/usr/bin/python3}
[ -e "$package/assay/_assay.abi3.so" ] || { echo "skipped: built without Python's headers"; exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "skipped: no Python 3.11"; exit 77; }
"$python" -c 'import torch' 2>/dev/null || { echo "skipped: no PyTorch"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for page in python coming-from-kobench coming-from-torch-benchmark; do
    (cd "$tmp" && PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive \
        "$python" "$ASSAY_SOURCE_DIR/tests/docs/python_blocks.py" "$ASSAY_SOURCE_DIR/docs/$page.md") ||
        { echo "docs/$page.md: an example does not run"; exit 1; }
done

# A table of results in the page has every field that a reader may ask for.
for field in median interval speedup status reason verified notes times isolated cache; do
    grep -qF ".$field" docs/python.md || { echo "docs/python.md says nothing of .$field"; exit 1; }
done
