"""Brings a vector database up to date with a dataset: what is new or differs is written, what is gone is deleted.

`sync` compares the rows of the database with those of the dataset, so it repairs whatever is wrong there, and resumes
after it was interrupted. ``chunkmill-sync`` and ``python -m chunkmill.sync`` do the same.
"""

from __future__ import annotations

import importlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from .. import Dataset
from .._arguments import checked
from .._errors import Error, SettingError
from .._paths import StrPath
from ._plan import COLUMNS, KEYS, Batch, Source, State, choose_kind, compare, moved, vector_columns
from ._target import Target

__all__ = ["Synced", "sync"]

# Scheme of a URL, what comes before the place, module and class of the target.
_TARGETS = {
    "postgresql": ("postgresql:", "postgresql", "PostgreSQL"),
    "postgres": ("postgres:", "postgresql", "PostgreSQL"),
    "qdrant": ("", "qdrant", "Qdrant"),
    "qdrant+http": ("http:", "qdrant", "Qdrant"),
    "qdrant+https": ("https:", "qdrant", "Qdrant"),
    "lancedb": ("", "lancedb", "LanceDB"),
    "chroma": ("", "chroma", "Chroma"),
    "chroma+http": ("http:", "chroma", "Chroma"),
    "chroma+https": ("https:", "chroma", "Chroma"),
    "sqlite": ("", "sqlite", "SQLite"),
}
_FORMS = "postgresql://USER@HOST/DB, qdrant:FOLDER, qdrant+https://HOST:PORT, lancedb:FOLDER, chroma:FOLDER, chroma+https://HOST:PORT or sqlite:FILE"
_SECRETS = ("QDRANT_API_KEY", "CHROMA_API_KEY", "PGPASSWORD")


@dataclass(frozen=True)
class Synced:
    """What a sync has done, or, in a dry run, would do: numbers of rows."""

    target: str
    """The database and the table, without a password."""
    added: int
    changed: int
    moved: int
    """Rows whose text had another ``chunk_id`` before. 0 if the dataset no longer knows the snapshot that the target had."""
    removed: int
    unchanged: int
    seconds: float
    snapshot: str
    """The snapshot that the target has now."""
    dry_run: bool = False

    def __str__(self) -> str:
        counts = f"{self.added:,} added, {self.changed:,} changed, {self.moved:,} moved, {self.removed:,} removed, {self.unchanged:,} the same"
        end = "nothing is written" if self.dry_run else f"in {self.seconds:.1f} s"
        return f"{self.target}: {counts}, {end} (snapshot {self.snapshot[:12]})"


@checked
def sync(
    dataset: Dataset | StrPath,
    target: str,
    *,
    table: str = "chunks",
    create: bool = False,
    columns: list[str] | tuple[str, ...] | None = None,
    vectors: Literal["f32", "f16", "int8", "bits"] | None = None,
    check: bool = False,
    dry_run: bool = False,
    allow_shrink: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Synced:
    """Brings a table of a vector database up to date with a dataset.

    ``target`` is a URL: ``postgresql://USER@HOST/DB``, ``qdrant:FOLDER``, ``qdrant+https://HOST:PORT``,
    ``lancedb:FOLDER``, ``chroma:FOLDER``, ``chroma+https://HOST:PORT`` or ``sqlite:FILE``.

    With ``create=True``, a table that does not exist is created, with the ``columns`` and the type of ``vectors``
    (``"f32"``, ``"f16"``, ``"int8"`` or ``"bits"``). Later syncs keep both. A table that was made for another model,
    other columns or another type, or by somebody else, is refused.

    A target that has the dataset's snapshot already is not read; with ``check=True`` it is, and repaired. A sync that
    would delete more than half of the rows raises `SettingError` unless ``allow_shrink=True``. With ``dry_run=True``
    nothing is written. ``progress`` is called with the number of rows that are written, and that of all rows to write.
    """
    started = time.monotonic()
    make, place, shown = _parse(target, table)
    wanted = _Wanted(create, columns, vectors, check, dry_run, allow_shrink)
    try:
        opened = dataset if isinstance(dataset, Dataset) else Dataset(dataset)
        # Without a database, this finds what is wrong before anything is made.
        done = None if make.exists(place) else _sync(opened, make, None, wanted, progress)
        if done is None or not dry_run:
            with closing(make(place, table, not dry_run)) as database:
                done = _sync(opened, make, database, wanted, progress)
    except Error as error:
        raise type(error)(_hide(f"{shown}: {error}", target)) from None
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise Error(_hide(f"{shown}: {said}\n  help: run it again when the cause is gone: it resumes", target)) from error
    return replace(done, target=shown, seconds=time.monotonic() - started)


@dataclass(frozen=True)
class _Wanted:
    create: bool
    columns: list[str] | tuple[str, ...] | None
    vectors: str | None
    check: bool
    dry_run: bool
    allow_shrink: bool


def _sync(
    dataset: Dataset, make: type[Target], database: Target | None, wanted: _Wanted, progress: Callable[[int, int], object] | None
) -> Synced:
    """Compares and writes. Without a database, nothing is there yet."""
    text = None if database is None else database.find()
    state = State.parse(text)
    if text is not None and state is None:
        raise SettingError("chunkmill-sync did not make this table\n  help: name another one with `table=\"NAME\"`; this one stays as it is")
    if state is None and not wanted.create:
        raise SettingError("there is no table of this name\n  help: `create=True` creates it")
    about, snapshot = dataset.about(), dataset.snapshot
    kind = choose_kind(vector_columns(dataset), make.kinds, wanted.vectors or (state.vectors if state else None))
    names = state.columns if state else wanted.columns or COLUMNS
    source = Source(dataset, names, kind)
    now = State(about["model"], about["model_fingerprint"], about["dim"], kind, source.columns, syncing=snapshot)
    if state is not None:
        _refuse_other(state, now, wanted.columns)
        now = replace(now, snapshot=state.snapshot)
        if state.snapshot == snapshot and state.syncing is None and not wanted.check:
            return Synced("", 0, 0, 0, 0, about["counts"]["chunks"], 0, snapshot, wanted.dry_run)
    if database is not None:
        database.source = source
    plan = compare(source.hashes(), database.rows() if database is not None and state is not None else [])
    if 2 * len(plan.removed) > plan.stored and not wanted.allow_shrink:
        raise SettingError(
            f"{len(plan.removed):,} of {plan.stored:,} rows would be deleted\n"
            "  help: is it the right dataset? `allow_shrink=True` deletes them"
        )
    same_text = moved(dataset, now.snapshot, plan)
    if database is not None and not wanted.dry_run:
        if state is None:
            database.create(now)
        if not plan.is_empty() or state is None or state.snapshot != snapshot or state.syncing is not None:
            stale = None if not plan.stored else plan.added | plan.changed
            database.apply(now, _told(source.batches(stale, database.batch), len(plan.added) + len(plan.changed), progress), plan)
    added, changed = plan.added - same_text, plan.changed - same_text
    return Synced("", len(added), len(changed), len(same_text), len(plan.removed), plan.unchanged, 0, snapshot, wanted.dry_run)


def _told(batches: Iterator[Batch], total: int, progress: Callable[[int, int], object] | None) -> Iterator[Batch]:
    """Passes batches on and says how many rows are written."""
    written = 0
    if progress is not None:
        progress(written, total)
    for batch in batches:
        yield batch
        written += len(batch.vectors)
        if progress is not None:
            progress(written, total)


def _refuse_other(state: State, now: State, columns: Sequence[str] | None) -> None:
    """Refuses a target that was made for other vectors or columns."""
    help = "help: name another table with `table=\"NAME\"` and `create=True`, or delete this one first"
    if (state.model_fingerprint, state.dim) != (now.model_fingerprint, now.dim):
        had, has = (f"`{of.model}` ({of.dim} dimensions, fingerprint {of.model_fingerprint})" for of in (state, now))
        raise SettingError(f"it has vectors of the model {had}, and the dataset has those of {has}\n  {help}")
    if state.vectors != now.vectors:
        raise SettingError(f"it has vectors of type `{state.vectors}`, not `{now.vectors}`\n  {help}")
    if columns is not None and {*KEYS, *columns} != {*state.columns}:
        raise SettingError(f"it has the columns {', '.join(state.columns)}, and others are asked for\n  {help}")


def _parse(target: str, table: str) -> tuple[type[Target], str, str]:
    """Returns the class of a target, its place, and its name without a password."""
    scheme, colon, rest = target.partition(":")
    if not colon or scheme not in _TARGETS:
        raise SettingError(f"target: `{_hide(target, target)}` is not the URL of a database\n  help: give {_FORMS}")
    start, module, name = _TARGETS[scheme]
    if not rest.lstrip("/") or (not start and rest.startswith("//")):
        raise SettingError(f"target: `{_hide(target, target)}` names no place\n  help: give {_FORMS}")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{2,47}", table):
        raise SettingError(f"table: `{table}` is not a name for a table\n  help: give 3 to 48 letters, digits and `_`, a letter first")
    make: type[Target] = getattr(importlib.import_module(f"._{module}", __name__), name)
    return make, start + rest, f"{_hide(target, target)} ({table})"


def _hide(text: str, target: str) -> str:
    """Returns a text without the passwords of a URL and of the environment."""
    try:
        url = urlsplit(target)
        found = [url.password, *(value for name, value in parse_qsl(url.query) if "password" in name or "key" in name)]
    except ValueError:
        found = []
    found += [match[1] for match in re.finditer(r"//[^/@:]*:([^@]*)@", target)]
    found += [os.environ.get(name) for name in _SECRETS]
    for secret in sorted({form for of in found if of for form in (of, unquote(of), quote(of, safe=""))}, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def __dir__() -> list[str]:
    """The public names: what is imported is not shown."""
    return list(__all__)
