"""Exceptions. Each message says what went wrong, where, and what to do."""

from __future__ import annotations

from ._words import in_python


class Error(Exception):
    """Base class of all errors of chunkmill."""

    def __init__(self, message: str = "") -> None:
        # The messages of the library name the flags of the program.
        super().__init__(in_python(message))


class SettingError(Error, ValueError):
    """A setting, a table or an argument is wrong."""


class CorpusError(Error):
    """Documents cannot be used: for example, a folder does not exist, or two documents have the same id."""


class QuarantineError(Error):
    """A document cannot be cut: it is not UTF-8, is too large, or is blocked by the security profile."""


class StorageError(Error, OSError):
    """The operating system refused an operation, or the disk is full."""


class ModelError(Error):
    """A model cannot be found, trusted, loaded or run."""


class ServiceError(Error):
    """A web service cannot be called, does not answer as it should, or would cost more than allowed."""


class DatasetError(Error):
    """A dataset does not exist, or is not what it claims to be."""


class LockedError(Error):
    """Another process is writing to the dataset, or has just committed to it."""
