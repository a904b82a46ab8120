"""Runs the recipes as a user would. Each must find what chunkmill's own vector search finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import chunkmill
import pytest
from conftest import CORPUS, QUESTION

RECIPES = Path(__file__).parents[1] / "recipes"


def run(recipe: str, dataset: Path, searcher: chunkmill.Searcher, *more: str) -> None:
    command = [sys.executable, RECIPES / recipe, dataset, QUESTION, *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    hits = searcher.search(QUESTION, 5, mode="vector")
    assert [line.split("\t") for line in done.stdout.splitlines()] == [
        [hit.chunk_id, hit.path, hit.header_path] for hit in hits
    ]


@pytest.mark.parametrize("recipe", sorted(path.name for path in RECIPES.glob("*.py")))
def test_a_recipe_is_short(recipe: str) -> None:
    _, main = (RECIPES / recipe).read_text().split('if __name__ == "__main__":\n')
    assert len(main.splitlines()) <= 16


@pytest.mark.parametrize("recipe", ["to_pandas.py", *(pytest.param(path.name, marks=pytest.mark.heavy) for path in sorted(RECIPES.glob("*.py")))])
def test_a_recipe_without_arguments_says_which(recipe: str) -> None:
    done = subprocess.run([sys.executable, RECIPES / recipe], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and f'usage: python {recipe} DATASET "QUESTION"' in done.stderr and "Traceback" not in done.stderr


def test_pandas(dataset: Path, searcher: chunkmill.Searcher) -> None:
    run("to_pandas.py", dataset, searcher)


@pytest.mark.heavy
def test_faiss(dataset: Path, searcher: chunkmill.Searcher) -> None:
    run("to_faiss.py", dataset, searcher)


@pytest.mark.heavy
def test_lancedb(dataset: Path, searcher: chunkmill.Searcher, tmp_path: Path) -> None:
    run("to_lancedb.py", dataset, searcher, str(tmp_path))


@pytest.mark.heavy
def test_qdrant(dataset: Path, searcher: chunkmill.Searcher) -> None:
    run("to_qdrant.py", dataset, searcher)


@pytest.mark.heavy
def test_chroma(dataset: Path, searcher: chunkmill.Searcher) -> None:
    run("to_chroma.py", dataset, searcher)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Indexes datasets/larder with vectors in three types."""
    out = tmp_path_factory.mktemp("small") / "out"
    chunkmill.index(CORPUS, out, embedding_cache="off", embedding_type="f32,int8,bits")
    return out


@pytest.mark.heavy
@pytest.mark.parametrize("store", ["faiss", "lancedb", "pgvector"])
def test_small_vectors(store: str, small: Path, searcher: chunkmill.Searcher, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    # Candidates by signs or bytes, ranked by floats: the best are those of floats alone.
    more = {"lancedb": [str(tmp_path)], "pgvector": [request.getfixturevalue("postgresql")] if store == "pgvector" else []}
    run(f"to_small_{store}.py", small, searcher, *more.get(store, []))


@pytest.mark.heavy
def test_small_usearch(tmp_path: Path) -> None:
    # Bytes alone: what chunkmill finds in a dataset of bytes.
    out = tmp_path / "out"
    chunkmill.index(CORPUS, out, embedding_cache="off", embedding_type="int8")
    run("to_small_usearch.py", out, chunkmill.Searcher(out, search_cache="off"))


@pytest.mark.heavy
def test_pgvector(dataset: Path, searcher: chunkmill.Searcher, postgresql: str) -> None:
    run("to_pgvector.py", dataset, searcher, postgresql)
