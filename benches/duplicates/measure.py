"""Measures near-duplicates: recall and precision on made-up edits, time and memory.

    usage: python measure.py CHUNKMILL [DOCUMENTS]     (pyarrow, and for the signatures of datatrove: datatrove, xxhash<4, spacy)

Half of the documents are pages of random words, a quarter of which every page shares; the other half are edits of one page
each. The similarity of each pair is computed here, without chunkmill. An edit counts as a duplicate if it is at least .8.
"""

from __future__ import annotations

import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import accumulate
from pathlib import Path

import pyarrow.parquet as pq

NEAR = 0.8


def runs(words: list[str]) -> set[tuple[str, ...]]:
    return set(zip(*(words[i:] for i in range(5))))


def jaccard(a: list[str], b: list[str]) -> float:
    one, other = runs(a), runs(b)
    return len(one & other) / len(one | other)


def replaced(share: float):
    def edit(page: list[str], word, at: random.Random) -> list[str]:
        return [word() if at.random() < share else one for one in page]

    return edit


def without(share: float):
    def edit(page: list[str], word, at: random.Random) -> list[str]:
        size = int(len(page) * share)
        start = at.randrange(len(page) - size)
        return page[:start] + page[start + size :]

    return edit


def longer(share: float):
    def edit(page: list[str], word, at: random.Random) -> list[str]:
        return page + [word() for _ in range(int(len(page) * share))]

    return edit


def swapped(page: list[str], word, at: random.Random) -> list[str]:
    cut = at.randrange(len(page))
    return page[cut:] + page[:cut]


EDITS = {
    "copied": lambda page, word, at: list(page),
    "other case and lines": lambda page, word, at: [one.upper() for one in page],
    "1 % of the words replaced": replaced(0.01),
    "2 % of the words replaced": replaced(0.02),
    "4 % of the words replaced": replaced(0.04),
    "a tenth left out": without(0.1),
    "a fifth left out": without(0.2),
    "a tenth added": longer(0.1),
    "a quarter added": longer(0.25),
    "halves swapped": swapped,
    "half left out": without(0.5),
}


def text(words: list[str]) -> str:
    """Words as a page: a line of ten, a paragraph of fifty."""
    lines = [" ".join(words[i : i + 10]) for i in range(0, len(words), 10)]
    return "\n\n".join(".\n".join(lines[i : i + 5]) + "." for i in range(0, len(lines), 5)) + "\n"


def corpus(folder: Path, documents: int) -> dict[str, tuple[str, str, float]]:
    """Writes the documents. Returns the page, the kind of edit and the similarity of each edit."""
    at = random.Random(7)
    vocabulary = [f"{a}{b}{c}" for a in "bdfglmnprst" for b in ("a", "ei", "o", "u") for c in ("nk", "rd", "st", "l", "mb", "th", "sh", "ng", "ck", "p", "rn", "ld")]
    vocabulary = [one + other for one in vocabulary for other in ("", "er", "ing", "ed", "ly", "ment", "less", "able")]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))
    drawn = iter(())

    def word() -> str:
        nonlocal drawn
        found = next(drawn, None)
        if found is None:
            drawn = iter(at.choices(vocabulary, cum_weights=weights, k=100_000))
            found = next(drawn)
        return found

    shared = [word() for _ in range(100)]
    known = {}
    for number in range(documents // 2):
        page = [word() for _ in range(300)]
        kind = list(EDITS)[number % len(EDITS)]
        edited = EDITS[kind](page, word, at)
        for name, words in ((f"a/{number:06}.md", page), (f"b/{number:06}.md", edited)):
            file = folder / name[:2] / f"{number // 1000:03}" / name[2:]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text(words + shared))
        name = f"{number // 1000:03}/{number:06}.md"
        known[f"b/{name}"] = (f"a/{name}", kind, jaccard(page + shared, [one.lower() for one in edited] + shared))
    return known


def run(*command: str | Path) -> tuple[float, float]:
    """Runs a program. Returns its seconds and the largest memory of all so far, in MB."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def datatrove(folder: Path) -> float | None:
    """Returns the documents that datatrove signs in a second."""
    try:
        from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature
        from datatrove.utils.hashing import HashConfig
    except ImportError:
        return None
    step = MinhashDedupSignature(str(folder / "signatures"), MinhashConfig(hash_config=HashConfig(precision=32)))
    texts = [file.read_text() for file in sorted((folder / "docs/a/000").iterdir())[:500]]
    step.get_signature(step.get_shingles(texts[0]))
    start = time.perf_counter()
    for one in texts:
        step.get_signature(step.get_shingles(one))
    return len(texts) / (time.perf_counter() - start)


def main() -> None:
    program, documents = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        known = corpus(folder / "docs", documents)
        index = [program, "index", folder / "docs", "--embedder", "fake", "--embedding-cache", "off", "-q", "-o"]
        seconds, memory = run(*index, folder / "out")
        print(f"{documents:,} documents: index {seconds:.1f} s, {memory:.0f} MB")
        (folder / "docs/a/000/000000.md").write_text("edited, and not like any other of the pages\n")
        known.pop("b/000/000000.md")
        seconds, _ = run(*index, folder / "out")
        print(f"after an edit of one document: {seconds:.1f} s")
        found: dict[str, str] = {}
        for file in (folder / "out/data/duplicates").iterdir():
            table = pq.read_table(file, columns=["doc_id", "duplicate_of"]).to_pydict()
            found.update(zip(table["doc_id"], table["duplicate_of"]))
        right = sum(known.get(doc, ("", "", 0.0))[0] == of and known[doc][2] >= NEAR for doc, of in found.items() if doc in known)
        print(f"found {len(found):,}, of them right {right:,}: precision {right / max(len(found), 1):.4f}")
        print("| edit | similarity, median | pairs at .8 and more | found |\n| --- | --- | --- | --- |")
        for kind in EDITS:
            pairs = [(doc, like) for doc, (_, of, like) in known.items() if of == kind]
            near = [doc for doc, like in pairs if like >= NEAR]
            share = f"{sum(doc in found for doc in near) / len(near):.3f}" if near else "–"
            print(f"| {kind} | {statistics.median(like for _, like in pairs):.2f} | {len(near):,} | {share} |")
        seconds, memory = run(*index, folder / "skipped", "--skip-boilerplate", "20")
        print(f"--skip-boilerplate 20: {seconds:.1f} s, {memory:.0f} MB")
        seconds, memory = run(*index, folder / "dropped", "--drop-duplicates", "near=0.9")
        print(f"--drop-duplicates near=0.9: {seconds:.1f} s, {memory:.0f} MB")
        rate = datatrove(folder)
        if rate:
            print(f"datatrove signs {rate:.0f} documents a second, on one core")
        print(Counter(kind for _, kind, like in known.values() if like >= NEAR).total(), "pairs at .8 and more")


if __name__ == "__main__":
    main()
