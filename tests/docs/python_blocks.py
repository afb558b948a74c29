"""Runs the blocks of Python of a page, in one module, as tests/docs/python.sh says."""

import re
import sys
import types

import assay.api

page = sys.argv[1]
with open(page, encoding="utf-8") as file:
    text = file.read()
blocks = re.findall(r"(<!-- not run: [^\n]+ -->\n)?```python\n(.*?)```", text, re.S)
assert len(blocks) >= 3, f"{page} has {len(blocks)} blocks of Python"

assay.api.BUDGET_S = 0.05
module = types.ModuleType("__main__")
module.__file__ = page
sys.modules["__main__"] = module
for only_compiled, block in blocks:
    line = text[: text.index(block)].count("\n")
    code = compile("\n" * line + block, page, "exec")
    if not only_compiled:
        exec(code, vars(module))
