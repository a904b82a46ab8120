"""The notebooks run from the first cell to the last, and show what they promise."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

NOTEBOOKS = ROOT / "python" / "notebooks"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that lies to the labelled documents as the notebooks do, away from the user's caches and settings."""
    monkeypatch.setenv("HF_HOME", os.environ.get("HF_HOME") or str(Path.home() / ".cache" / "huggingface"))
    for name in ("XDG_CACHE_HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR", "TMPDIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    shutil.copytree(ROOT / "datasets" / "larder", tmp_path / "datasets" / "larder")
    folder = tmp_path / "python" / "notebooks"
    folder.mkdir(parents=True)
    return folder


def run(notebook: Any, folder: Path) -> Any:
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def shown(cell: Any, kind: str) -> list[str]:
    return [output["data"][kind] for output in cell["outputs"] if kind in output.get("data", {})]


def test_notebooks_are_stored_without_outputs() -> None:
    files = sorted(NOTEBOOKS.glob("*.ipynb"))
    assert files
    for file in files:
        notebook = json.loads(file.read_text())
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code), file
        assert file.stat().st_size < 20_000
        assert f"notebooks/{file.name}" in (ROOT / "python" / "README.md").read_text()


def test_a_folder_becomes_a_chart_of_settings(folder: Path) -> None:
    text = (NOTEBOOKS / "choose-settings.ipynb").read_text()
    # The first settings are always tried; the others take a minute.
    assert "minutes=1" in text
    notebook = run(nbformat.reads(text.replace("minutes=1", "minutes=0"), 4), folder)
    cells = {"".join(cell["source"]): cell for cell in notebook["cells"] if cell["cell_type"] == "code"}

    def cell(part: str) -> Any:
        (found,) = [cell for source, cell in cells.items() if part in source]
        return found

    (report,) = shown(cell("chunkmill.index("), "text/html")
    assert "50 of 50 indexed" in report
    (table,) = shown(cell("evaluate.sweep("), "text/html")
    settings = ["structure max=64", "structure max=128", "structure max=256", "structure max=512", "sections", "recursive", "windows"]
    assert all(f">{name}<" in table for name in settings), table
    (chart,) = shown(cell("def chart("), "image/png")
    assert len(chart) > 20_000
    (questions,) = shown(cell("pivot("), "text/html")
    assert questions.count("<tr>") == 11 and all(f">{name}<" in questions for name in settings)
    (advice,) = shown(cell("evaluate.recommend("), "text/markdown")
    assert len(advice.splitlines()) >= 3
    assert any("[chunking]" in output.get("text", "") for output in cell("advice.config")["outputs"])
    # Progress is not shown as a failure.
    assert not [output for cell in cells.values() for output in cell["outputs"] if output.get("name") == "stderr"]


def test_a_cell_that_fails_fails_the_test(folder: Path) -> None:
    cell = nbformat.v4.new_code_cell("import chunkmill\nchunkmill.index('nowhere', 'out')")
    with pytest.raises(CellExecutionError, match="CorpusError"):
        run(nbformat.v4.new_notebook(cells=[cell]), folder)
