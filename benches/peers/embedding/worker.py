"""One embedding engine behind a pipe, which lets the driver alternate it with the others.

    worker.py ENGINE --texts FILE --model DIR --graphs DIR --threads N [--set KEY=VALUE ...]

Loads the model once and prints one line of JSON that describes the engine. It then answers each line of JSON on
standard input with one line of JSON. `{"run": N}` embeds all texts, including tokenization, and reports how long that
took. `{"vectors": PATH}` writes the vectors of the last run as little-endian f32, row-major.

Every engine uses the best settings found for it (`NETWORKS`, `STATIC`, `PAIRS`); `--set` tries others.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from prepare import limits, read, tokenizer_of
from shapes import QUESTION

# batch: number of texts computed together. workers: number of batches at a time, each on threads/workers threads.
# Engines whose threads must wait for each other are faster as two independent workers with small batches.
NETWORKS: dict[str, dict[str, Any]] = {
    "torch-f32": {"batch": 32},
    "torch-bf16": {"batch": 32},
    "torch-autocast": {"batch": 32},
    "onnxruntime-f32": {"batch": 4, "workers": 2},
    "onnxruntime-int8": {"batch": 4, "workers": 2},
    "openvino-f32": {"batch": 8, "workers": 2},
    "openvino-bf16": {"batch": 8, "workers": 2},
    "openvino-int8": {"batch": 8, "workers": 2},
    "fastembed": {"batch": 8},
}
# A batch may contain `batch` times this many tokens: it takes fewer of longer texts.
FULL = 256
# Attention over texts with more tokens takes gigabytes, which an engine must not keep while the others run.
LONG = 1024

STATIC: dict[str, dict[str, Any]] = {
    "model2vec": {"batch": 1024},
    "model2vec-threads": {"batch": 1024},
    "sentence-transformers-static": {"batch": 1024},
}

PAIRS: dict[str, dict[str, Any]] = {
    "sentence-transformers-pairs": {"batch": 32},
    "onnxruntime-pairs-f32": {"batch": 4, "workers": 2},
    "onnxruntime-pairs-int8": {"batch": 4, "workers": 2},
}


class Engine(Protocol):
    """A loaded model."""

    def versions(self) -> dict[str, str]: ...

    def embed(self, texts: list[str]) -> np.ndarray: ...

    def rest(self) -> None:
        """Releases memory that it would otherwise keep for its next turn."""


class Torch(Engine):
    """sentence-transformers, which sorts by length itself. Also used for static models, where there is no precision."""

    def __init__(self, precision: str, model: Path, threads: int, options: dict[str, Any]) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(threads)
        self.batch = options["batch"]
        self.context = torch.autocast("cpu", torch.bfloat16, enabled=precision == "autocast")
        self.model = SentenceTransformer(str(model), device="cpu")
        if precision == "bf16":
            self.model.bfloat16()
        self.capability = torch.backends.cpu.get_cpu_capability()

    def versions(self) -> dict[str, str]:
        names = ["sentence-transformers", "torch"]
        return {name: version(name) for name in names} | {"ATen": self.capability}

    def embed(self, texts: list[str]) -> np.ndarray:
        with self.context:
            vectors = self.model.encode(
                texts, batch_size=self.batch, show_progress_bar=False, convert_to_tensor=True
            )
        return vectors.float().numpy()


class Batches:
    """Tokenization, sorting by length and padding, for engines without them."""

    def __init__(self, model: Path, batch: int) -> None:
        self.tokenizer = tokenizer_of(model)
        self.tokenizer.enable_truncation(limits(model)[0])
        self.batch = batch
        self.dimensions: int = read(model / "config.json")["hidden_size"]

    def cut(self, texts: list[str]) -> list[tuple[list[int], dict[str, np.ndarray]]]:
        """Returns the batches, longest texts first: the positions of the texts, and the inputs."""
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]
        order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
        batches = []
        for start in range(0, len(order), self.batch):
            places = order[start : start + self.batch]
            shape = (len(places), len(ids[places[0]]))
            inputs = {name: np.zeros(shape, np.int64) for name in ("input_ids", "attention_mask")}
            for row, place in enumerate(places):
                inputs["input_ids"][row, : len(ids[place])] = ids[place]
                inputs["attention_mask"][row, : len(ids[place])] = 1
            batches.append((places, inputs))
        return batches


def session(graph: Path, threads: int, options: dict[str, Any]) -> Any:
    """Returns a session of ONNX Runtime for a graph, with one worker's share of the threads."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = max(1, threads // options["workers"])
    settings.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(graph), settings, providers=["CPUExecutionProvider"])


class OnnxRuntime(Engine):
    """ONNX Runtime with the graph that its own optimizer fused."""

    def __init__(
        self, precision: str, model: Path, graphs: Path, threads: int, options: dict[str, Any]
    ) -> None:
        self.session = session(graphs / f"onnxruntime-{precision}.onnx", threads, options)
        self.batches = Batches(model, options["batch"])
        self.pool = ThreadPoolExecutor(options["workers"])

    def versions(self) -> dict[str, str]:
        return {"onnxruntime": version("onnxruntime")}

    def embed(self, texts: list[str]) -> np.ndarray:
        batches = self.batches.cut(texts)
        results = self.pool.map(lambda batch: self.session.run(None, batch[1])[0], batches)
        vectors = np.empty((len(texts), self.batches.dimensions), np.float32)
        for (places, _), result in zip(batches, results):
            vectors[places] = result
        return vectors

    def rest(self) -> None:
        import onnxruntime

        shrinking = onnxruntime.RunOptions()
        shrinking.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        [(_, inputs)] = self.batches.cut(["a text"])
        self.session.run(None, inputs, shrinking)


class OpenVino(Engine):
    """OpenVINO: `workers` streams, each with its share of the threads."""

    def __init__(
        self, precision: str, model: Path, graphs: Path, threads: int, options: dict[str, Any]
    ) -> None:
        import openvino

        graph = "openvino-int8.xml" if precision == "int8" else "model.onnx"
        self.compiled = openvino.Core().compile_model(
            str(graphs / graph),
            "CPU",
            {
                "INFERENCE_NUM_THREADS": threads,
                "NUM_STREAMS": options["workers"],
                "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32",
            },
        )
        self.precision = precision
        self.queue = openvino.AsyncInferQueue(self.compiled, options["workers"])
        self.batches = Batches(model, options["batch"])

    def versions(self) -> dict[str, str]:
        # The precision that it computes in, which differs from the requested one if the processor does not support it.
        actual = self.compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
        if self.precision == "int8":
            actual = f"int8, rest {actual}"
        return {"openvino": version("openvino"), "computes in": actual}

    def embed(self, texts: list[str]) -> np.ndarray:
        vectors = np.empty((len(texts), self.batches.dimensions), np.float32)

        def store(request: Any, places: list[int]) -> None:
            vectors[places] = request.get_output_tensor(0).data

        self.queue.set_callback(store)
        for places, inputs in self.batches.cut(texts):
            self.queue.start_async(inputs, places)
        self.queue.wait_all()
        return vectors


class FastEmbed(Engine):
    """fastembed with our graph instead of the one that it would download. It does not sort by length, so we do."""

    def __init__(self, model: Path, graphs: Path, threads: int, options: dict[str, Any]) -> None:
        from fastembed import TextEmbedding
        from fastembed.common.model_description import ModelSource, PoolingType

        self.dimensions: int = read(model / "config.json")["hidden_size"]
        TextEmbedding.add_custom_model(
            model="local",
            pooling=PoolingType.DISABLED,
            normalization=False,
            sources=ModelSource(hf="local/none"),
            dim=self.dimensions,
            model_file="onnxruntime-f32.onnx",
        )
        self.model = TextEmbedding("local", specific_model_path=str(graphs), threads=threads)
        self.batch = options["batch"]

    def versions(self) -> dict[str, str]:
        return {"fastembed": version("fastembed"), "onnxruntime": version("onnxruntime")}

    def embed(self, texts: list[str]) -> np.ndarray:
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        ordered = [texts[place] for place in order]
        for place, vector in zip(order, self.model.embed(ordered, batch_size=self.batch)):
            vectors[place] = vector
        return vectors


class Model2Vec(Engine):
    """model2vec, on one thread except for its tokenizer, or with a thread for each batch."""

    def __init__(self, threaded: bool, model: Path, options: dict[str, Any]) -> None:
        from model2vec import StaticModel

        self.threaded = threaded
        self.batch = options["batch"]
        self.model = StaticModel.from_pretrained(model)

    def versions(self) -> dict[str, str]:
        return {"model2vec": version("model2vec")}

    def embed(self, texts: list[str]) -> np.ndarray:
        return self.model.encode(
            texts, batch_size=self.batch, use_multiprocessing=self.threaded, multiprocessing_threshold=0
        )


class PairsTorch:
    """sentence-transformers' CrossEncoder, which sorts by length itself."""

    def __init__(self, model: Path, threads: int, options: dict[str, Any]) -> None:
        import torch
        from sentence_transformers import CrossEncoder

        torch.set_num_threads(threads)
        self.batch = options["batch"]
        self.model = CrossEncoder(str(model), device="cpu")

    def versions(self) -> dict[str, str]:
        return {name: version(name) for name in ["sentence-transformers", "torch"]}

    def embed(self, texts: list[str]) -> np.ndarray:
        pairs = [(QUESTION, text) for text in texts]
        return self.model.predict(pairs, batch_size=self.batch, show_progress_bar=False)


class PairsOnnx:
    """ONNX Runtime for pairs, longest first."""

    def __init__(
        self, precision: str, model: Path, graphs: Path, threads: int, options: dict[str, Any]
    ) -> None:
        from tokenizers import Tokenizer

        self.session = session(graphs / f"onnxruntime-pairs-{precision}.onnx", threads, options)
        self.tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self.tokenizer.enable_truncation(512)
        self.tokenizer.no_padding()
        self.batch = options["batch"]
        self.pool = ThreadPoolExecutor(options["workers"])

    def versions(self) -> dict[str, str]:
        return {"onnxruntime": version("onnxruntime")}

    def embed(self, texts: list[str]) -> np.ndarray:
        encodings = self.tokenizer.encode_batch_fast([(QUESTION, text) for text in texts])
        order = sorted(range(len(texts)), key=lambda i: -len(encodings[i].ids))
        batches = [order[start : start + self.batch] for start in range(0, len(order), self.batch)]

        def score(places: list[int]) -> np.ndarray:
            shape = (len(places), len(encodings[places[0]].ids))
            inputs = {name: np.zeros(shape, np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
            for row, place in enumerate(places):
                encoding = encodings[place]
                length = len(encoding.ids)
                inputs["input_ids"][row, :length] = encoding.ids
                inputs["attention_mask"][row, :length] = 1
                inputs["token_type_ids"][row, :length] = encoding.type_ids
            return self.session.run(None, inputs)[0][:, 0]

        scores = np.empty(len(texts), np.float32)
        for places, result in zip(batches, self.pool.map(score, batches)):
            scores[places] = result
        return scores


def load(name: str, model: Path, graphs: Path, threads: int, options: dict[str, Any]) -> Engine:
    if name == "sentence-transformers-static":
        return Torch("f32", model, threads, options)
    if name == "sentence-transformers-pairs":
        return PairsTorch(model, threads, options)
    if name.startswith("onnxruntime-pairs-"):
        return PairsOnnx(name.rpartition("-")[2], model, graphs, threads, options)
    family, _, precision = name.partition("-")
    if family == "model2vec":
        return Model2Vec(precision == "threads", model, options)
    if family == "torch":
        return Torch(precision, model, threads, options)
    if family == "onnxruntime":
        return OnnxRuntime(precision, model, graphs, threads, options)
    if family == "openvino":
        return OpenVino(precision, model, graphs, threads, options)
    return FastEmbed(model, graphs, threads, options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=NETWORKS | STATIC | PAIRS)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()

    # Standard output belongs to the driver: output of libraries is redirected to standard error.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def answer(value: dict[str, Any]) -> None:
        print(json.dumps(value), file=out, flush=True)

    with arguments.texts.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [row["text"] for row in rows]
    options = dict((NETWORKS | STATIC | PAIRS)[arguments.engine])
    longest = max(row["tokens"] for row in rows)
    if arguments.engine in NETWORKS:
        options["batch"] = max(1, options["batch"] * FULL // max(FULL, longest))
    for pair in arguments.set:
        key, _, value = pair.partition("=")
        options[key] = int(value) if value.isdigit() else value
    engine = load(
        arguments.engine, arguments.model, arguments.graphs, arguments.threads, options
    )
    answer({"ready": arguments.engine, "versions": engine.versions(), "settings": options})

    vectors = np.empty(0)
    for line in sys.stdin:
        request = json.loads(line)
        if "run" in request:
            start, cpu = time.perf_counter(), time.process_time()
            vectors = engine.embed(texts)
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            answer({"run": request["run"], "seconds": seconds, "cpu_seconds": cpu, "texts": len(texts)})
            if longest > LONG:
                engine.rest()
        elif "vectors" in request:
            np.ascontiguousarray(vectors, "<f4").tofile(request["vectors"])
            answer({"vectors": request["vectors"]})


if __name__ == "__main__":
    main()
