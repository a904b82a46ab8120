"""The examples in this README and in the project's README work."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import chunkmill
import pytest
from conftest import CORPUS

HERE = Path(__file__).parents[1]


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes to a folder with documents in `docs`, where the examples run."""
    monkeypatch.chdir(tmp_path)
    # Caches go here; the model stays where it is.
    monkeypatch.setenv("HF_HOME", os.environ.get("HF_HOME") or str(Path.home() / ".cache" / "huggingface"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(CORPUS, "docs")


@pytest.mark.usefixtures("docs")
def test_its_examples_run_one_after_the_other() -> None:
    examples = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.DOTALL)
    assert len(examples) == 9
    names: dict[str, object] = {}
    for number, example in enumerate(examples):
        # The first settings are always tried; the others take a minute.
        exec(compile(example.replace("minutes=1", "minutes=0"), f"example {number}", "exec"), names)
    assert os.path.exists("out/manifest.json")


@pytest.mark.usefixtures("docs")
def test_the_query_in_the_readme_of_the_project_finds_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    text = (HERE.parent / "README.md").read_text()
    (example,) = re.findall(r"```python\S*\n(.*?)```", text, re.DOTALL)
    assert len(example.splitlines()) <= 10
    chunkmill.index("docs", "out")
    exec(compile(example, "README.md", "exec"), {})
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3 and any("restore-files.md:" in line for line in said), said


def test_it_lists_the_recipes_and_the_frameworks() -> None:
    text = (HERE / "README.md").read_text()
    assert sorted(re.findall(r"`(to_\w+\.py)`", text)) == sorted(path.name for path in (HERE / "recipes").glob("*.py"))
    modules = {path.stem for path in (HERE / "python" / "chunkmill" / "integrations").glob("[a-z]*.py")}
    assert set(re.findall(r"`chunkmill\.integrations\.(\w+)\.", text)) == modules
