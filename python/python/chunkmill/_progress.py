"""How a job shows its progress: a bar of tqdm if that is installed, otherwise lines."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, Union

if TYPE_CHECKING:
    from ._results import Progress

Wanted = Union[bool, "Callable[[Progress], object]", None]

INTERVAL = 1.0
"""Seconds between two lines."""


def in_notebook() -> bool:
    """Whether the code runs in a notebook, where nobody sees a terminal."""
    shell = sys.modules.get("IPython")
    current: Any = shell.get_ipython() if shell is not None else None
    return type(current).__name__ == "ZMQInteractiveShell"


def stream() -> TextIO:
    """Where progress is written: to standard error, which notebooks show like a failure, or to their standard output."""
    return sys.stdout if in_notebook() else sys.stderr


def teller(wanted: Wanted) -> Callable[[Progress], object] | None:
    """Returns what to call with the progress of a job: by default, if somebody is watching."""
    if wanted is None:
        wanted = in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    if wanted is True:
        return bar() or Line()
    return wanted or None


def bar() -> Callable[[Progress], object] | None:
    """Returns a bar of tqdm, which counts chunks with vectors."""
    try:
        with warnings.catch_warnings():
            # In a notebook without ipywidgets, it warns and draws the bar as text.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]  # pyright: ignore
    except ImportError:
        return None
    shown: Any = None

    def tell(now: Progress) -> None:
        nonlocal shown
        if shown is None:
            shown = tqdm(unit="chunk", desc="chunkmill")
        shown.total = max(now.chunks, now.ready)
        shown.set_postfix_str(f"{now.prepared}/{now.documents} documents", refresh=False)
        shown.update(now.ready - shown.n)
        if now.done >= 1:
            shown.close()

    return tell


class Line:
    """Lines: one that is written again and again, where that is possible."""

    def __init__(self) -> None:
        self._last = 0.0
        self._line = ""
        self._stream = stream()
        self._rewrites = self._stream.isatty()

    def __call__(self, now: Progress) -> None:
        """Writes the line if the last one is old enough."""
        is_over = now.done >= 1
        if not now.documents or (not is_over and time.monotonic() - self._last < INTERVAL):
            return
        self._last = time.monotonic()
        line = f"{now.done:4.0%} {now.prepared}/{now.documents} documents, {now.ready}/{now.chunks} chunks, {now.eta_seconds:.0f} s left"
        if line == self._line:
            return
        self._line = line
        end = "\n" if is_over or not self._rewrites else ""
        print(("\r\x1b[K" if self._rewrites else "") + line, end=end, file=self._stream, flush=True)
