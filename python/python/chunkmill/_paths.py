"""How paths are given."""

from __future__ import annotations

import os
from typing import Union

StrPath = Union[str, "os.PathLike[str]"]
"""A path, as a string or as a path object."""


def roots(paths: StrPath | list[StrPath] | tuple[StrPath, ...]) -> list[str]:
    """The roots of a corpus, written as for the program."""
    return [os.fspath(path) for path in (paths if isinstance(paths, (list, tuple)) else [paths])]
