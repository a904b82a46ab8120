"""Messages in the words of Python: keyword arguments for the flags of the programs."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from . import _chunkmill

# Flags that are arguments of other names, switches that are no settings, and other arguments that are none.
_NAMES = {"o": "out", "output": "out"}
_SWITCHES = {"allow_shrink", "fresh", "keep_datasets"}
_OTHERS = {"out", "k", "budget", "min_score", "questions", "minutes", "baseline"}

# A flag, and the word after it.
_FLAG = re.compile(r"(?<![\w-])(?:--([a-z][a-z0-9-]+)|-([ok])(?![\w-]))(?:[ =](<[^>]*>|'[^']*'|[\w.@|]+))?")
_QUOTED = re.compile(r"(`[^`\n]*`|'--?[a-z][^\n]*?'|\bchunkmill(?:-eval)? [a-z…].*)")
_USAGE = re.compile(r"\n\n(?:Usage:|For more information)(?s:.*)")


def in_python(message: str) -> str:
    """Returns a message with keyword arguments in the place of flags. Whole commands stay as they are."""
    parts = _QUOTED.split(_USAGE.sub("", message).replace("\n\n  tip: ", "\n  help: "))
    for at, part in enumerate(parts):
        if at % 2 == 0:
            # Names of files may look like flags.
            parts[at] = _FLAG.sub(lambda flag: "`{}`{}".format(*_argument(flag)) if _is_known(flag) else flag[0], part)
        elif part[1:2] == "-":
            parts[at] = "`" + _FLAG.sub(lambda flag: "".join(_argument(flag)), part[1:-1]) + "`"
    # The place of a problem comes first, and is not quoted.
    return re.sub(r"\A`(\w+)`:", r"\1:", "".join(parts))


def _name(flag: re.Match[str]) -> str:
    name: str = (flag[1] or flag[2]).replace("-", "_")
    return _NAMES.get(name, name)


def _is_known(flag: re.Match[str]) -> bool:
    return _name(flag) in _SWITCHES | _OTHERS | _settings().keys()


def _argument(flag: re.Match[str]) -> tuple[str, str]:
    """Returns the argument for a flag, and what follows and does not belong to it."""
    name, word = _name(flag), flag[3] or ""
    rest = f" {word}" if word else ""
    setting = _settings().get(name, {"schema": {}, "help": ""})
    if name in _SWITCHES or setting["schema"].get("type") == "boolean":
        return f"{name}=True", rest
    if re.fullmatch(r"<.*>|[A-Z][A-Z_|]*", word):
        # It stands for a value.
        return name, ""
    if word.startswith("'") or word.isdigit():
        return f"{name}={word}", ""
    # The help of a setting that takes more than some words lists them: `auto (…), off, or a folder`.
    is_listed = word and re.search(rf"\b{re.escape(word)}(,| \()", setting["help"])
    if is_listed or word in setting["schema"].get("enum", ()):
        return f"{name}={json.dumps(word)}", ""
    return name, rest


@cache
def _settings() -> dict[str, dict[str, Any]]:
    return {setting["name"]: setting for setting in json.loads(_chunkmill.settings())}
