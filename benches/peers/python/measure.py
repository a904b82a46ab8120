"""Runs the contestants of `run.py` alternately in one process.

Each gets the texts in memory and returns chunks of at most 512 tokens, counted in the given encoding. The text of
every chunk is read, so a contestant that creates it lazily has no advantage. `one` is a call for each text. `all`
is one call for all of them, if the contestant supports that, on as many threads as it uses. Before anything is
timed, every token count of ours is compared with tiktoken's.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import os
import platform
import re
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median

import chonkie
import chunkmill
import semantic_text_splitter
import tiktoken

MAX = 512
SUFFIXES = {".md", ".mdx", ".markdown", ".txt"}
# semantic-text-splitter names an encoding by a model that uses it.
MODELS = {"cl100k_base": "gpt-4", "o200k_base": "gpt-4o"}
OURS = {
    "structure": {"preset": "structure", "max": MAX},
    "recursive": {"preset": "recursive", "max": MAX},
    "windows": {"preset": "windows", "max": MAX},
    "heading-tokens": {"preset": "heading-tokens", "max": MAX, "overlap": 0},
}
Call = Callable[[list[str]], int]


def forget() -> None:
    """Empties the cache of whole texts in chonkie's recursive chunker: in real use, no document is cut twice."""
    cached = getattr(chonkie.RecursiveChunker, "_estimate_token_count", None)
    if cached is not None:
        cached.cache_clear()



def contestants(encoding: str) -> dict[str, Call]:
    """Returns the contestants by name. Each cuts texts and returns the total length of all chunks."""

    def ours(settings: dict[str, object]) -> tuple[Call, Call]:
        chunker = chunkmill.Chunker(encoding=encoding, **settings)
        return (
            lambda texts: sum(len(chunk.content) for text in texts for chunk in chunker.chunk(text)),
            lambda texts: sum(len(chunk.content) for chunks in chunker.chunk(texts) for chunk in chunks),
        )

    def splitter(kind: type) -> tuple[Call, Call]:
        chunker = kind.from_tiktoken_model(MODELS[encoding], MAX)
        return (
            lambda texts: sum(len(chunk) for text in texts for chunk in chunker.chunks(text)),
            lambda texts: sum(len(chunk) for chunks in chunker.chunk_all(texts) for chunk in chunks),
        )

    def chonkies(chunker: object) -> Call:
        return lambda texts: sum(len(chunk.text) for text in texts for chunk in chunker.chunk(text))  # type: ignore[attr-defined]

    calls: dict[str, Call] = {}
    for name, settings in OURS.items():
        calls[f"chunkmill {name}, one"], calls[f"chunkmill {name}, all"] = ours(settings)
    markdown, text = semantic_text_splitter.MarkdownSplitter, semantic_text_splitter.TextSplitter
    calls["semantic-text-splitter markdown, one"], calls["semantic-text-splitter markdown, all"] = splitter(markdown)
    calls["semantic-text-splitter text, one"], _ = splitter(text)
    tokenizer = tiktoken.get_encoding(encoding)
    calls["chonkie token, one"] = chonkies(chonkie.TokenChunker(tokenizer=tokenizer, chunk_size=MAX, chunk_overlap=0))
    calls["chonkie recursive, one"] = chonkies(chonkie.RecursiveChunker(tokenizer=tokenizer, chunk_size=MAX))
    return calls


def sample(corpus: Path, megabytes: float) -> tuple[list[str], int]:
    """Returns every k-th document, for a total of about `megabytes`, and k."""
    found = sorted(path for path in corpus.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    total = sum(path.stat().st_size for path in found)
    step = max(1, round(total / (megabytes * 1e6))) if megabytes else 1
    texts = []
    for path in found[::step]:
        try:
            texts.append(path.read_bytes().decode())
        except UnicodeDecodeError:
            continue
    return texts, step


def check(texts: list[str], encoding: str) -> int:
    """Compares our counts with tiktoken's. Returns the number of chunks counted."""
    tokenizer, counted = tiktoken.get_encoding(encoding), 0
    for settings in OURS.values():
        for text in texts:
            for chunk in chunkmill.chunk(text, encoding=encoding, **settings):
                n = len(tokenizer.encode_ordinary(chunk.content))
                assert chunk.n_tokens == n, (settings, chunk)
                assert n <= MAX or chunk.flags, (settings, chunk)
                counted += 1
    return counted


def timed(call: Call, texts: list[str], seconds: float) -> float:
    """Repeats passes for about `seconds`, at least once. Returns the median time."""
    passes: list[float] = []
    gc.collect()
    while not passes or (sum(passes) < seconds and len(passes) < 200):
        forget()
        started = time.perf_counter()
        made = call(texts)
        passes.append(time.perf_counter() - started)
        assert made > 0
    return median(passes)


def machine() -> str:
    try:
        name = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        name = None
    cpu = name[1] if name else platform.processor() or "unknown"
    day, load = datetime.date.today().isoformat(), os.getloadavg()[0]
    return f"{cpu}, {os.cpu_count()} cores, {day}, load before the runs {load:.1f}, Python {platform.python_version()}"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, nargs="+", required=True)
    parser.add_argument("--encoding", nargs="+", required=True)
    parser.add_argument("--mb", type=float, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--json", type=Path)
    a = parser.parse_args()

    packages = ["chunkmill", "semantic-text-splitter", "chonkie", "tiktoken"]
    print(f"{machine()}; {', '.join(f'{name} {version(name)}' for name in packages)}.\n")
    kept = []
    for corpus in a.corpus:
        texts, step = sample(corpus, a.mb)
        size = sum(len(text.encode()) for text in texts)
        for encoding in a.encoding:
            counted = check(texts, encoding)
            calls = contestants(encoding)
            for call in calls.values():
                call(texts)
            rounds: dict[str, list[float]] = {name: [] for name in calls}
            for _ in range(a.rounds):
                for name, call in calls.items():
                    rounds[name].append(timed(call, texts, a.seconds))
            label = corpus.parent.name if corpus.name in ("corpus", "corpora") else corpus.name
            print(
                f"{label}: {len(texts):,} documents (every {step}th), {size / 1e6:.2f} MB; {encoding}, at most {MAX} tokens; "
                f"{a.rounds} rounds; {counted:,} counts of ours equal tiktoken's.\n"
            )
            peers = [name for name in calls if not name.startswith("chunkmill")]

            def rate(name: str) -> str:
                rates = [size / 1e6 / seconds for seconds in rounds[name]]
                return f"{number(median(rates))} ({number(min(rates))}–{number(max(rates))})"

            def times(ours: str, peer: str) -> str:
                return number(median(b / a for a, b in zip(rounds[ours], rounds[peer])))

            rows = [
                [f"**{name}**", rate(name), *(times(name, peer) for peer in peers)]
                if name not in peers
                else [name, rate(name), *("" for _ in peers)]
                for name in calls
            ]
            print(table(["chunker", "MB/s (min–max)", *(f"× {peer}" for peer in peers)], rows) + "\n", flush=True)
            kept.append({"corpus": label, "encoding": encoding, "bytes": size, "documents": len(texts), "seconds": rounds})
    if a.json:
        a.json.write_text(json.dumps({"machine": machine(), "runs": kept}, indent=1) + "\n")


if __name__ == "__main__":
    main()
