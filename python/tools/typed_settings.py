"""Prints `chunkmill/_settings.py`: the settings for type checkers and editors, from the library's own table.

    python tools/typed_settings.py > python/chunkmill/_settings.py
"""

from __future__ import annotations

import textwrap
from typing import Any

import chunkmill

# The settings tables that each call accepts; see crates/base/src/setting.rs.
CALLS = {
    "Cutting": ["chunking", "corpus", "embedding", "service", "output", ""],
    "Encoding": ["embedding", "service", ""],
    "Searching": ["search", "embedding", "service", ""],
    "Asking": ["search"],
}
TYPES = {"integer": "int", "number": "float", "boolean": "bool", "string": 'str | os.PathLike[str]', "array": "str | list[str]"}


def annotation(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]".replace("'", '"')
    return TYPES.get(schema.get("type", "string"), "str | int | float")


def table(name: str) -> str:
    return f"_{(name or 'run').capitalize()}"


def text() -> str:
    settings = chunkmill.settings()
    lines = [
        '"""Settings by the tables they stand in. Made by `tools/typed_settings.py`; do not edit."""',
        "",
        "from __future__ import annotations",
        "",
        "import os",
        "from typing import Literal, TypedDict",
        "",
    ]
    for name in dict.fromkeys(setting["table"] for setting in settings):
        lines += ["", f"class {table(name)}(TypedDict, total=False):"]
        for setting in (setting for setting in settings if setting["table"] == name):
            words = textwrap.wrap(setting["help"] + '."""', 110)
            lines += [f"    {setting['name']}: {annotation(setting['schema'])} | None", f'    """{words[0]}']
            lines += [f"    {line}" for line in words[1:]]
        lines += [""]
    for call, tables in CALLS.items():
        bases = ", ".join(table(name) for name in tables)
        lines += ["", f"class {call}Settings({bases}, total=False):"]
        lines += ["    config: str | os.PathLike[str] | None", '    """A settings file, over which the other arguments go."""', ""]
    return "\n".join(lines[:-1]) + "\n"


if __name__ == "__main__":
    print(text(), end="")
