"""Tests of datasets, searches and vectors."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import chunkmill
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import QUESTION, ids, program


def test_tables_are_those_of_the_files(dataset: Path) -> None:
    opened = chunkmill.Dataset(dataset)
    for name, table in [("chunks", opened.chunks()), ("documents", opened.documents()), ("edges", opened.edges())]:
        files = sorted((dataset / "data" / name).iterdir())
        wanted = pa.concat_tables([pq.read_table(file).replace_schema_metadata() for file in files])
        assert table.num_rows == wanted.num_rows > 0
        assert pa.table(table).equals(wanted)
    some = opened.chunks(["content", "chunk_id"])
    assert pa.table(some).column_names == ["content", "chunk_id"]
    with pytest.raises(chunkmill.SettingError, match="did you mean `content`"):
        opened.chunks(["contents"])
    assert opened.about()["counts"]["documents"] == 50


def test_a_damaged_file_is_said_by_whoever_reads(dataset: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    opened = chunkmill.Dataset(copy)
    table = opened.chunks(["content"])
    next((copy / "data" / "chunks").iterdir()).unlink()
    with pytest.raises(pa.ArrowException, match="is missing"):
        pa.table(table)
    with pytest.raises(chunkmill.DatasetError, match="is missing"):
        opened.vectors()


def test_vectors_are_those_of_the_table(dataset: Path) -> None:
    opened = chunkmill.Dataset(dataset)
    vectors = opened.vectors()
    column = pa.table(opened.chunks(["embedding"]))["embedding"].combine_chunks()
    assert vectors.dtype == np.float32 and vectors.shape == (592, 384)
    assert (vectors.ravel() == column.flatten().to_numpy()).all()


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword", "graph"])
def test_hits_are_those_of_the_program(dataset: Path, searcher: chunkmill.Searcher, mode: str) -> None:
    printed = program("search", dataset, QUESTION, "-k", "7", "--mode", mode, "--json").splitlines()
    hits = searcher.search(QUESTION, 7, mode=mode)  # type: ignore[arg-type]
    assert [asdict(hit) for hit in hits] == [json.loads(line) for line in printed]
    assert len(hits) == 7


def test_documents_and_contexts_are_those_of_the_program(dataset: Path, searcher: chunkmill.Searcher) -> None:
    printed = program("search", dataset, QUESTION, "-k", "3", "--show", "documents", "--json").splitlines()
    found = json.loads(json.dumps([asdict(hit) for hit in searcher.documents(QUESTION, 3)]))
    assert found == [json.loads(line) for line in printed]
    printed = program("context", dataset, QUESTION, "--budget", "400", "--json")
    context = searcher.context(QUESTION, budget=400)
    assert json.loads(json.dumps(asdict(context))) == json.loads(printed)
    assert 0 < context.tokens <= 400 and chunkmill.count(context.text) == context.tokens


def test_filters(searcher: chunkmill.Searcher) -> None:
    everywhere = searcher.search(QUESTION, 20)
    below = searcher.search(QUESTION, 20, path="operate")
    assert below and all(hit.path.startswith("operate/") for hit in below)
    assert {hit.path for hit in everywhere} - {hit.path for hit in below}
    one_of = searcher.search(QUESTION, 20, path=["guide", "start/*.md"])
    assert one_of and all(hit.path.startswith(("guide/", "start/")) for hit in one_of)
    under = searcher.search(QUESTION, 20, heading="Troubleshooting > Vaults fill up")
    assert under and all(hit.header_path.startswith("Troubleshooting > Vaults fill up") for hit in under)
    assert searcher.search(QUESTION, collection="other") == []
    least = everywhere[3].score
    assert ids(searcher.search(QUESTION, 20, min_score=least)) == ids(everywhere[:4])


def test_settings_of_a_question_go_over_those_of_the_searcher(dataset: Path, searcher: chunkmill.Searcher) -> None:
    by_keyword = chunkmill.Searcher(dataset, mode="keyword", search_cache="off")
    assert ids(by_keyword.search(QUESTION)) == ids(searcher.search(QUESTION, mode="keyword"))
    assert ids(by_keyword.search(QUESTION, mode="vector")) == ids(searcher.search(QUESTION, mode="vector"))
    assert ids(by_keyword.search(QUESTION)) != ids(by_keyword.search(QUESTION, mode="vector"))
    with pytest.raises(chunkmill.SettingError, match="`max` is not a setting"):
        searcher.search(QUESTION, max=3)  # type: ignore[call-arg]
    assert len(searcher) == 592


def test_vectors_of_questions_fit_the_dataset(dataset: Path, searcher: chunkmill.Searcher) -> None:
    encoder = chunkmill.Encoder.for_dataset(dataset, embedding_cache="off")
    opened = chunkmill.Dataset(dataset)
    assert encoder.fingerprint == opened.about()["model_fingerprint"]
    scores = opened.vectors() @ encoder.encode_queries([QUESTION])[0]
    chunk_ids = pa.table(opened.chunks(["chunk_id"]))["chunk_id"].to_pylist()
    best = [chunk_ids[at] for at in np.argsort(-scores)[:5]]
    hits = searcher.search(QUESTION, mode="vector")
    assert best == ids(hits)
    assert [hit.score for hit in hits] == pytest.approx(sorted(scores, reverse=True)[:5], abs=1e-5)


def test_vectors_have_the_promised_form() -> None:
    encoder = chunkmill.Encoder("sentence-transformers/all-MiniLM-L6-v2", embedding_cache="off")
    texts = ["A vault fills up.", "", "日本語"]
    vectors = encoder.encode(texts)
    assert (encoder.dim, encoder.max_tokens, encoder.model) == (384, 256, "sentence-transformers/all-MiniLM-L6-v2")
    assert vectors.shape == (3, 384) and vectors.dtype == np.float32 and vectors.flags.writeable
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    # A vector never depends on the other texts in the call.
    assert (encoder.encode(texts[:1])[0] == vectors[0]).all()
    assert encoder.encode([]).shape == (0, 384)
    with pytest.raises(chunkmill.SettingError, match="is a single text"):
        encoder.encode("A text")  # type: ignore[arg-type]
    with pytest.raises(chunkmill.SettingError, match="`question` is not understood"):
        encoder.encode(texts, role="question")  # type: ignore[arg-type]


def test_a_dataset_without_a_model_answers_by_its_own_vectors(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Alpha\n\nOne.\n\n# Beta\n\nTwo.\n")
    out = tmp_path / "out"
    chunkmill.index(tmp_path / "docs", out, embedder="fake", embedding_cache="off", files=1, preset="heading-tokens")
    # The manifest says that no model made the dataset, so none is loaded.
    [best] = chunkmill.Searcher(out, search_cache="off").search("Beta Two", 1, mode="vector")
    assert best.header_path == "Beta"


def test_small_vectors_are_roundings_of_the_vectors(tmp_path: Path, corpus: Path, dataset: Path) -> None:
    out = tmp_path / "out"
    report = chunkmill.index(corpus, out, embedding_cache="off", embedding_type="f32,int8,bits")
    opened = chunkmill.Dataset(out)
    floats, whole, signs = opened.vectors(), opened.vectors("int8"), opened.vectors("bits")
    assert np.array_equal(floats, chunkmill.Dataset(dataset).vectors())
    assert whole.dtype == np.int8 and np.array_equal(whole, np.rint(floats * np.float32(127)).astype(np.int8))
    assert signs.dtype == np.uint8 and np.array_equal(signs, np.packbits(floats > 0, axis=1))
    assert len(floats) == report.chunks and opened.verify(corpus).ok
    with pytest.raises(chunkmill.SettingError, match="has no vectors of type `int8`; it has f32"):
        chunkmill.Dataset(dataset).vectors("int8")


def test_vectors_in_bytes_or_signs_alone_are_floats_when_asked_for(tmp_path: Path, corpus: Path) -> None:
    for kind, length in (("int8", 1.0), ("bits", 1.0)):
        out = tmp_path / kind
        chunkmill.index(corpus, out, embedding_cache="off", embedding_type=kind)
        lengths = np.linalg.norm(chunkmill.Dataset(out).vectors(), axis=1)
        assert np.allclose(lengths, length, atol=0.02)
        hits = chunkmill.Searcher(out, search_cache="off").search("why is the vault full", 5)
        assert hits[0].path
