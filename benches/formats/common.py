"""Shared code of the checks of formats: folders, programs, runs with their cost, and the dataset that a run writes."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
# All that is fetched and made lies here.
WORK = Path(os.environ.get("FORMATS_WORK") or TARGET / "formats").resolve()
PROGRAMS = Path(os.environ.get("FORMATS_PROGRAMS") or TARGET / "release").resolve()
CHUNKMILL = PROGRAMS / "chunkmill"
EVAL = PROGRAMS / "chunkmill-eval"
CORPORA = WORK / "corpora"
PYTHON = WORK / "venv" / "bin" / "python"

# The suffixes of each format's corpus.
SUFFIXES: dict[str, tuple[str, ...]] = {
    "html": (".html", ".htm", ".xhtml"),
    "rst": (".rst",),
    "notebook": (".ipynb",),
    "asciidoc": (".adoc", ".asciidoc", ".asc"),
    "latex": (".tex",),
    "subtitles": (".srt", ".vtt"),
    "mail": (".eml", ".mbox"),
    "csv": (".csv", ".tsv"),
    "docx": (".docx", ".docm"),
    "pptx": (".pptx",),
    "xlsx": (".xlsx",),
    "odt": (".odt",),
    "odp": (".odp",),
    "ods": (".ods",),
    "rtf": (".rtf",),
    "epub": (".epub",),
    "pdf": (".pdf",),
}


def say(text: str) -> None:
    """Prints a line about progress on standard error."""
    print(text, file=sys.stderr, flush=True)


# Runs a command and prints its exit code, seconds and peak memory. The peak that the system reports is at least what
# the process that starts it takes, so this is a small one.
LAUNCHER = """
import os, sys, time
started = time.monotonic()
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w") as report:
    print(os.waitstatus_to_exitcode(status), time.monotonic() - started, usage.ru_maxrss * 1024, file=report)
"""


@dataclass
class Run:
    """What a command printed and cost. Memory is the peak in bytes."""

    code: int
    out: str
    err: str
    seconds: float
    memory: int

    @property
    def panicked(self) -> bool:
        """Whether the program panicked, or was ended by a signal."""
        return "panicked at" in self.err or self.code in (101,) or self.code < 0


def run(command: list[str | Path], env: dict[str, str] | None = None) -> Run:
    """Runs a command and measures it."""
    words = [str(word) for word in command]
    words[0] = shutil.which(words[0]) or words[0]
    with tempfile.NamedTemporaryFile("r") as report:
        started = [sys.executable, "-S", "-E", "-c", LAUNCHER, report.name, *words]
        done = subprocess.run(started, capture_output=True, env={**os.environ, **(env or {})})
        code, seconds, memory = (report.read() or "-1 0 0").split()
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return Run(int(code), out, err, float(seconds), int(memory))


@dataclass
class Document:
    """A row of the table of documents, with its chunks in order."""

    path: str
    row: dict[str, Any]
    chunks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def layer(self) -> bytes:
        """The text that all ranges are of, as bytes."""
        return (self.row["layer"] or "").encode()

    @property
    def dropped(self) -> dict[str, int]:
        """Characters that were left out, by reason."""
        return {each["reason"]: each["chars"] for each in self.row["dropped"] or []}


# The columns that the checks need; vectors are not among them.
CHUNK_COLUMNS = (
    "chunk_id path chunk_index kind header_path headings content start_byte end_byte start_char end_char source_start"
    " source_end place page_start page_end prefix_len has_overlap overlap_start_byte overlap_end_byte flags"
).split()


def table(dataset: Path, name: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """Returns the rows of a table of a dataset."""
    import pyarrow.parquet as pq  # type: ignore[import-not-found]

    rows: list[dict[str, Any]] = []
    folder = dataset / "data" / name
    for file in sorted(folder.rglob("*.parquet")):
        rows += pq.ParquetFile(file).read(columns=columns).to_pylist()
    return rows


def documents(dataset: Path) -> dict[str, Document]:
    """Returns the documents of a dataset by their paths, with their chunks."""
    found = {row["path"]: Document(row["path"], row) for row in table(dataset, "documents")}
    for chunk in table(dataset, "chunks", CHUNK_COLUMNS):
        found[chunk["path"]].chunks.append(chunk)
    for document in found.values():
        document.chunks.sort(key=lambda chunk: chunk["chunk_index"])
    return found


def quarantined(dataset: Path) -> list[dict[str, Any]]:
    """Returns the lines of `quarantine.jsonl`."""
    file = dataset / "quarantine.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def index(corpus: Path, dataset: Path, *flags: str | Path) -> Run:
    """Indexes a corpus from nothing, without a model."""
    shutil.rmtree(dataset, ignore_errors=True)
    dataset.parent.mkdir(parents=True, exist_ok=True)
    fixed = ["--embedder", "fake", "--embedding-cache", "off", "--json", "--progress", "never"]
    return run([CHUNKMILL, "index", corpus, "-o", dataset, *fixed, *flags])


WORD = re.compile(r"[^\W_]+")


@functools.cache
def pandoc() -> str:
    """Returns pandoc: that of the environment, otherwise of the system."""
    found = sorted(PYTHON.parents[1].glob("lib/python*/site-packages/pypandoc/files/pandoc"))
    return str(found[0]) if found else "pandoc"


def words(text: str) -> list[str]:
    """Returns the words of a text: runs of letters and digits, compatibility forms made equal, in lower case."""
    return WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def shared(one: Counter[str], other: Counter[str]) -> float:
    """Returns the share of the first multiset of words that the second has."""
    total = sum(one.values())
    return sum((one & other).values()) / total if total else 1.0


def stopwatch() -> float:
    """Returns the time, for intervals."""
    return time.monotonic()
