"""Tests with type checkers."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import typed_usage

HERE = Path(__file__).parent
CHECKERS = {
    "mypy": [sys.executable, "-m", "mypy", "--strict", "--no-incremental"],
    "pyright": [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
}


def check(checker: str, *what: str | Path, cwd: Path = HERE) -> tuple[int, str]:
    done = subprocess.run([*CHECKERS[checker], *what], capture_output=True, text=True, cwd=cwd, env=os.environ)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("checker", CHECKERS)
def test_checkers_accept_what_is_right_and_refuse_what_is_wrong(checker: str, tmp_path: Path) -> None:
    right = (HERE / "typed_usage.py").read_text()
    wrong = textwrap.dedent(
        """

        def wrong() -> None:
            chunkmill.chunk("x", overlapp=3)  # 1
            chunkmill.chunk("x", max="many")  # 2
            chunkmill.chunk("x", preset="structures")  # 3
            chunkmill.chunk("x")[0].contents  # 4
            n: int = chunkmill.count(["x"])  # 5
            chunkmill.Searcher("out", files=3)  # 6
            sync("out", "sqlite:a.db", vectors="f64")  # 7
        """
    )
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    (tmp_path / "usage.py").write_text(right)
    code, said = check(checker, "usage.py", cwd=tmp_path)
    assert code == 0, said
    (tmp_path / "usage.py").write_text(right + wrong)
    code, said = check(checker, "usage.py", cwd=tmp_path)
    assert code == 1
    first = len(right.splitlines()) + 4
    for line in range(first, first + 7):
        assert f"usage.py:{line}:" in said, said


def test_mypy_accepts_the_package() -> None:
    code, said = check("mypy", "-p", "chunkmill", "--exclude", "integrations")
    assert code == 0, said


def test_the_usage_is_true(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nA text of some words.\n")
    assert len(typed_usage.chunks(tmp_path)) == 4
    assert len(typed_usage.tables(tmp_path)) == 1
    report = typed_usage.job(tmp_path, tmp_path.parent / f"{tmp_path.name}-out")
    assert report.documents == 1
    out = tmp_path.parent / f"{tmp_path.name}-out"
    assert typed_usage.questions(out).shape == (1, 1)
    assert typed_usage.database(out, tmp_path / "data.db") == report.chunks
