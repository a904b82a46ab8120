"""How paths are given."""

from __future__ import annotations

import os
import re
from typing import Union

from ._errors import SettingError

StrPath = Union[str, os.PathLike[str]]
"""A path, as a string or as a path object."""


def roots(paths: StrPath | list[StrPath] | tuple[StrPath, ...]) -> list[str]:
    """The roots of a corpus, written as for the program."""
    if not paths:
        raise SettingError("paths: is empty\n  help: name at least one folder or file with documents")
    return [os.fspath(path) for path in (paths if isinstance(paths, (list, tuple)) else [paths])]


def is_like_path(text: str) -> bool:
    """Whether a text is written like the path of a file or folder: one word, which ends like a name of documents, or has
    parts and begins or ends like a path."""
    first, *others = re.split(r"[/\\]", text)
    if re.search(r"\s", text):
        return False
    if not others:
        return bool(re.search(r"\.(md|markdown|mdx|txt|rst|pdf|docx?|html?|ipynb|csv|json|ya?ml)$", text, re.IGNORECASE))
    return first in ("", ".", "..", "~") or os.path.isdir(first) or bool(re.search(r"\.[A-Za-z]\w{0,7}$", others[-1]))
