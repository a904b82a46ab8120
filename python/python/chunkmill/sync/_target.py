"""What a sync needs of a database."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

from .._errors import LockedError
from ._plan import Batch, Plan, Source, State, sliced


class Target(ABC):
    """A table of a database. It has a row for each chunk, with `chunk_id` as key, and a state."""

    kinds: ClassVar[tuple[str, ...]]
    """The types of vectors that it can store, the most exact first."""
    batch: ClassVar[int] = 1000
    """Rows that are written at once."""
    source: Source
    """The rows of the dataset. It is set before the target is written to."""

    def __init__(self, place: str, table: str, writes: bool) -> None:
        self.place = place
        self.table = table
        self.writes = writes
        """Whether the target may be changed: not in a dry run."""

    @classmethod
    def exists(cls, place: str) -> bool:
        """Whether there is a database: a server is asked later."""
        return True

    @abstractmethod
    def find(self) -> str | None:
        """Returns the text of its state, an empty text if somebody else made it, or None if there is no table."""

    @abstractmethod
    def create(self, state: State) -> None:
        """Creates the table, empty, with its state."""

    @abstractmethod
    def rows(self) -> Iterable[tuple[str, str]]:
        """Yields `chunk_id` and `row_hash` of each row."""

    @abstractmethod
    def write(self, batch: Batch) -> None:
        """Inserts rows; those with the same key are replaced."""

    @abstractmethod
    def delete(self, ids: Sequence[str]) -> None:
        """Deletes rows by key."""

    @abstractmethod
    def put(self, state: State) -> None:
        """Writes the state."""

    def index(self) -> None:
        """Makes the indexes, after the first load."""

    def apply(self, state: State, batches: Iterator[Batch], plan: Plan) -> None:
        """Brings the target to a snapshot: writes, deletes, and the state at the end, which says that it is done."""
        assert state.syncing is not None
        self.put(state)
        self.change(state, batches, plan)
        if state.snapshot is None:
            self.index()
        self.put(replace(state, snapshot=state.syncing, syncing=None))

    def change(self, state: State, batches: Iterator[Batch], plan: Plan) -> None:
        """Writes what is new, then deletes what is gone: a reader in between finds too much rather than too little."""
        for ids in sliced(plan.twice, self.batch):
            self.delete(ids)
        for batch in batches:
            self.write(batch)
        for ids in sliced(plan.removed, self.batch):
            self.delete(ids)

    def close(self) -> None:
        """Closes the connection."""


@contextmanager
def locked(file: str) -> Generator[None, None, None]:
    """Holds a lock, so that two syncs do not write to the same folder or file. It ends with the process, however that ends."""
    try:
        import fcntl
    except ImportError:
        # Windows has no lock of this kind.
        yield
        return
    with open(file, "a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LockedError("another sync is writing to it\n  help: wait until it is done") from None
        yield


def key(name: str) -> str | None:
    """Returns a secret from the environment."""
    return os.environ.get(name) or None


def is_remote(place: str) -> bool:
    """Whether a place is a server or an object store, not a folder or file."""
    return "://" in place
