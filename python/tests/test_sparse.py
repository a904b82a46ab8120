"""A sparse model next to the model: what `index` reports of it, its column, and searches by it."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import chunkmill
import pytest

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "a", "cat", "dog", "sat", "ran", "on", "mat", "."]
WIDTH, INNER = 32, 64


def save(folder: Path, tensors: dict[str, list[int]]) -> None:
    """Writes made-up weights of these shapes as safetensors: norms around 1, all others around 0."""
    draw = random.Random(7)
    header: dict[str, object] = {}
    data = b""
    for name, shape in tensors.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        base = 1.0 if name.endswith("LayerNorm.weight") else 0.0
        values = struct.pack(f"<{count}f", *(base + draw.uniform(-0.3, 0.3) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    written = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(written)) + written + data)


@pytest.fixture
def sparse_model(tmp_path: Path) -> Path:
    """BERT's network with one layer and a language-model head."""
    folder = tmp_path / "sparse"
    folder.mkdir()
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 64,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "pad_token_id": 0,
        "type_vocab_size": 2,
        "vocab_size": len(WORDS),
    }
    (folder / "config.json").write_text(json.dumps(config))
    special = {word: {"id": word, "ids": [WORDS.index(word)], "tokens": [word]} for word in ("[CLS]", "[SEP]")}
    around = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": around, "pair": [], "special_tokens": special},
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: place for place, word in enumerate(WORDS)},
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    linear: dict[str, tuple[int, int]] = {
        "bert.encoder.layer.0.attention.self.query": (WIDTH, WIDTH),
        "bert.encoder.layer.0.attention.self.key": (WIDTH, WIDTH),
        "bert.encoder.layer.0.attention.self.value": (WIDTH, WIDTH),
        "bert.encoder.layer.0.attention.output.dense": (WIDTH, WIDTH),
        "bert.encoder.layer.0.intermediate.dense": (INNER, WIDTH),
        "bert.encoder.layer.0.output.dense": (WIDTH, INNER),
        "cls.predictions.transform.dense": (WIDTH, WIDTH),
    }
    norms = [
        "bert.embeddings.LayerNorm",
        "bert.encoder.layer.0.attention.output.LayerNorm",
        "bert.encoder.layer.0.output.LayerNorm",
        "cls.predictions.transform.LayerNorm",
    ]
    tensors = {
        "bert.embeddings.word_embeddings.weight": [len(WORDS), WIDTH],
        "bert.embeddings.position_embeddings.weight": [64, WIDTH],
        "bert.embeddings.token_type_embeddings.weight": [2, WIDTH],
        "cls.predictions.bias": [len(WORDS)],
    }
    for name, (outputs, inputs) in linear.items():
        tensors |= {f"{name}.weight": [outputs, inputs], f"{name}.bias": [outputs]}
    for name in norms:
        tensors |= {f"{name}.weight": [WIDTH], f"{name}.bias": [WIDTH]}
    save(folder, tensors)
    return folder


def test_a_sparse_model_makes_a_column_and_searches_go_by_it(tmp_path: Path, sparse_model: Path) -> None:
    docs, out = tmp_path / "docs", tmp_path / "out"
    docs.mkdir()
    (docs / "cat.md").write_text("# Cat\n\nThe cat sat on a mat.\n")
    (docs / "dog.md").write_text("# Dog\n\nA dog ran. " + "The cat sat on the mat. " * 20 + "\n")
    report = chunkmill.index(docs, out, embedder="fake", sparse_model=sparse_model, embedding_cache="off")
    assert report.sparse is not None
    assert report.sparse.model == "sparse"
    assert report.sparse.texts_embedded == report.chunks
    assert report.sparse_truncated > 0
    assert "sparse model" in repr(report)
    dataset = chunkmill.Dataset(out)
    assert dataset.about()["sparse_model"] == "sparse"
    assert dataset.verify().findings == ()

    hits = chunkmill.Searcher(out, sparse_model=sparse_model, mode="sparse").search("a cat on the mat")
    assert len(hits) == report.chunks
    sparse = hits[0].scores["sparse"]
    assert sparse is not None
    assert hits[0].score == pytest.approx(sparse["score"])
    without = chunkmill.Searcher(out, sparse_share=0.0).search("a cat on the mat")
    assert "sparse" not in without[0].scores
    with pytest.raises(chunkmill.ModelError, match="sparse_model"):
        chunkmill.Searcher(out).search("a cat on the mat")
