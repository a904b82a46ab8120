"""Rewrites the attributes of `Chunk` in `chunkmill/_chunkmill.pyi`: one for each column of the table `chunks`.

    python tools/typed_columns.py
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from chunkmill import _chunkmill

STUB = Path(__file__).resolve().parents[1] / "python/chunkmill/_chunkmill.pyi"
FIRST = "    # Columns, made by `tools/typed_columns.py`.\n"
LAST = "    # End of the columns.\n"
TYPES = {
    "String": "str",
    "Arc<str>": "str",
    "Name": "str",
    "Time": "str",
    "i64": "int",
    "bool": "bool",
    "HeadingRow": "dict[str, Any]",
    "LinkRow": "dict[str, Any]",
    "ImageRow": "dict[str, Any]",
}


def annotation(rust: str) -> str:
    if inner := re.fullmatch(r"Option<(.+)>", rust):
        return f"{annotation(inner[1])} | None"
    if inner := re.fullmatch(r"Vec<(.+)>|Arc<\[(.+)\]>", rust):
        return f"list[{annotation(inner[1] or inner[2])}]"
    return TYPES[rust]


def attributes() -> str:
    lines = []
    for name, rust, words in _chunkmill.columns():
        first, *rest = textwrap.wrap(f"{words[0].upper()}{words[1:]}.", 100)
        lines += ["    @property", f"    def {name}(self) -> {annotation(rust)}:", f'        """{first}']
        lines += [f"        {line}" for line in rest]
        lines[-1] += '"""'
        lines += [""]
    return "\n".join(lines[:-1]) + "\n"


def text() -> str:
    """Returns the stub as it should be."""
    stub = STUB.read_text()
    before, after = stub.split(FIRST)[0], stub.split(LAST)[1]
    return f"{before}{FIRST}{attributes()}{LAST}{after}"


if __name__ == "__main__":
    STUB.write_text(text())
