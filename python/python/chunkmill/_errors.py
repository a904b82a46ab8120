"""What can go wrong. Each message says what was wrong, where, and what to do."""

from __future__ import annotations


class Error(Exception):
    """Any failure of chunkmill; the base of all below."""


class SettingError(Error, ValueError):
    """A setting, a table or an argument is wrong."""


class CorpusError(Error):
    """Documents cannot be used: a folder that is not there, two documents with one id."""


class QuarantineError(Error):
    """A document cannot be cut: it is not UTF-8, too large, or not let in by its security profile."""


class StorageError(Error, OSError):
    """The operating system refused something, or there is no room on the disk."""


class ModelError(Error):
    """A model cannot be found, trusted, loaded or run."""


class DatasetError(Error):
    """A dataset is not there, or not what it says it is."""


class LockedError(Error):
    """Another process writes to the dataset, or has just done so."""
