"""Shared fixtures and helpers.

The tests run against the installed wheel, without the network, with the model that `make model` fetched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

# Set before importing anything that reads it.
os.environ["HF_HUB_OFFLINE"] = "1"

import chunkmill  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "datasets" / "larder" / "corpus"
QUESTION = "my nightly job says the vault is full but df shows plenty of space"


def program(*arguments: str | Path, stdin: bytes | None = None, name: str = "chunkmill", code: int = 0) -> bytes:
    """Runs a program of the wheel and returns what it prints."""
    command = [Path(sysconfig.get_path("scripts")) / name, *arguments]
    env = os.environ | {"CHUNKMILL_EMBEDDING_CACHE": "off", "CHUNKMILL_KEYWORD_CACHE": "off"}
    done = subprocess.run(command, input=stdin, capture_output=True, env=env, cwd="/")
    assert done.returncode == code, done.stderr.decode()
    return done.stdout


def python(code: str, *arguments: str | Path, fails: bool = False) -> str:
    """Runs code in a new Python process and returns what it prints."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


@pytest.fixture(scope="session")
def corpus() -> Path:
    return CORPUS


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Indexes datasets/larder with the default model."""
    out = tmp_path_factory.mktemp("dataset") / "out"
    report = chunkmill.index(CORPUS, out, embedding_cache="off")
    assert report.documents == 50
    return out


@pytest.fixture(scope="session")
def searcher(dataset: Path) -> chunkmill.Searcher:
    return chunkmill.Searcher(dataset, keyword_cache="off")


@pytest.fixture
def documents(tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    """Returns a function that writes files to a folder."""

    def make(files: dict[str, bytes]) -> Path:
        folder = tmp_path / "documents"
        shutil.rmtree(folder, ignore_errors=True)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return folder

    return make


def ids(hits: Sequence[chunkmill.Hit]) -> list[str]:
    return [hit.chunk_id for hit in hits]
