"""The same pages in every format: does chunkmill cut the same chunks, and find the same evidence?

    python3 benches/formats/same.py [--corpus NAME=FOLDER ...] [--formats html rst ...] [--most N] [--no-evidence]

pandoc writes each Markdown page as HTML, reStructuredText, AsciiDoc, a notebook, DOCX, ODT, EPUB, LaTeX and RTF, and
weasyprint makes a PDF of the HTML. Front matter is removed first, as it would be a title on the page. Links between
pages get the new extension. pandoc writes the pages as Markdown too, with which the others are compared, because it
moves notes, forgets HTML, and writes links in full in all formats alike. Each folder is indexed with the default
settings and compared with the index of the Markdown pages:

- *chunks*: the share of the Markdown's chunks that a chunk of the same page equals. Compared is `content` without its
  prefix, after `plain`: targets of links, marks of Markdown, entities and white space are removed, and quotation
  marks are made straight. Letters, digits and all other punctuation must be equal, and so must both cuts.
- *flat*: the same share of the Markdown without line ends in paragraphs, which most formats do not have. Cuts move
  where the text has other numbers of tokens: at the ends of lines, in targets of links, in tables. Two rows without
  a reader of ours show how much: the pages as they are (`original`), and without line ends (`unwrapped`).
- *pandoc*: the share for the Markdown that pandoc makes of the page in the other format.
- *text*: the share of the words (a multiset for each page) that the other format's chunks have, and of theirs that
  the Markdown has.
- *evidence*: for a corpus with labels, `evidence_in_context_1000` of `chunkmill-eval sweep` over each folder. The
  quoted text of each label is found again by its words in the layer of the page. Labels that are not found stay in
  the set as misses, as the text is not there to be found: their question is scored against what is left only if
  something is left.

The differences are printed, the smallest first. Needs the environment of `requirements.txt`.
"""

from __future__ import annotations

import argparse
import difflib
import html
import json
import re
import shutil
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from common import EVAL, PYTHON, ROOT, SUFFIXES, WORK, Document, documents, index, pandoc, quarantined, run, say, shared, words

FORMATS = ["html", "rst", "asciidoc", "notebook", "docx", "odt", "epub", "latex", "rtf", "pdf"]
MARKDOWN = "gfm+definition_lists-tex_math_gfm+tex_math_dollars"
WRITERS = {
    "markdown": MARKDOWN,
    "unwrapped": MARKDOWN,
    "asciidoc": "asciidoc",
    "notebook": "ipynb",
    "epub": "epub3",
}
TARGETS = {"html": 0.98, "rst": 0.98, "asciidoc": 0.98, "notebook": 0.98, "docx": 0.95, "epub": 0.95, "pdf": 0.85}
READERS = {"html": "html", "rst": "rst", "notebook": "ipynb", "docx": "docx", "odt": "odt", "epub": "epub", "latex": "latex", "rtf": "rtf"}
# Markdown in two other ways.
CONTROLS = ["unwrapped", "original"]
# Longest stretch that is compared by character.
CLAUSE = 2000
READER = "gfm+wikilinks_title_after_pipe+definition_lists"
OUT = WORK / "same"
SUFFIXES.update(dict.fromkeys(["markdown", *CONTROLS], (".md",)))

# Links between pages lead to the pages in the other format. HTML in the pages is removed, as few formats can have it.
FILTER = """
function RawBlock() return {} end
function RawInline() return {} end
function Link(link)
  link.classes = {}
  link.target = link.target:gsub("%.md$", EXTENSION):gsub("%.md#", EXTENSION .. "#")
  return link
end
"""

# A notebook attaches its pictures, and the pages of a corpus may lack them.
UNATTACHED = """
function Image(image)
  return pandoc.RawInline("markdown", "![" .. pandoc.utils.stringify(image.caption) .. "](" .. image.src .. ")")
end
"""


def body(text: str) -> str:
    """Returns a page without its front matter."""
    return re.sub(r"\A\ufeff?(---\n.*?\n---|\+\+\+\n.*?\n\+\+\+)\n", "", text.replace("\r\n", "\n"), flags=re.S)


def narrow(line: str) -> str:
    """Removes what pandoc pads the cells of a table with, which nobody else writes."""
    if not line.startswith("|"):
        return line
    return re.sub(r"-{3,}", "---", re.sub(r" {2,}", " ", line))


def narrow_tables(path: Path) -> None:
    """Narrows the tables of Markdown, or of the cells of a notebook."""
    text = path.read_text()
    if path.suffix == ".ipynb":
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            cell["source"] = [narrow(line) for line in cell["source"]]
        path.write_text(json.dumps(notebook))
    else:
        path.write_text("\n".join(map(narrow, text.split("\n"))))


def convert(page: Path, format: str, to: Path) -> str:
    """Writes a page in another format. Returns what went wrong, or an empty string."""
    if to.exists():
        return ""
    to.parent.mkdir(parents=True, exist_ok=True)
    if format == "original":
        shutil.copy(page, to)
        return ""
    if format == "pdf":
        source = Path(str(to).replace("/pdf/", "/html/")).with_suffix(".html")
        # A PDF has whole addresses. Those of files here are longer than those of pages mostly are.
        base = "http://d/" + str(to).split("/pdf/corpus/")[1].replace(".pdf", ".html")
        command = [str(PYTHON.parent / "weasyprint"), "-q", "-u", base, str(source), str(to)]
    else:
        filter_file = OUT / f"links-{format}.lua"
        wrap = "none" if format == "unwrapped" else "preserve"
        command = [pandoc(), "-f", READER, "-t", WRITERS.get(format, format), "-s", f"--wrap={wrap}", str(page)]
        command += ["--mathjax", "-o", str(to), "--lua-filter", str(filter_file), "-M", f"pagetitle={page.stem}"]
        if format == "epub":
            # A page with the title only would be text that the Markdown does not have.
            command += ["-M", f"title={page.stem}", "--epub-title-page=false"]
    done = subprocess.run(command, capture_output=True, text=True)
    if to.suffix in (".md", ".ipynb") and not done.returncode:
        narrow_tables(to)
    return done.stderr.strip()[-200:] if done.returncode else ""


def convert_all(pages: Path, corpus: str, formats: list[str]) -> None:
    """Writes all pages in all formats, what is there already excepted."""
    OUT.mkdir(parents=True, exist_ok=True)
    for format in ["markdown", *CONTROLS, *formats]:
        text = FILTER.replace("EXTENSION", json.dumps(SUFFIXES[format][0]))
        text += UNATTACHED if format == "notebook" else ""
        (OUT / f"links-{format}.lua").write_text(text)
    for format in ["markdown", *CONTROLS, *sorted(formats, key=lambda name: name == "pdf")]:
        folder = OUT / corpus / format / "corpus"
        jobs = []
        for page in sorted(pages.rglob("*.md")):
            jobs.append((page, format, (folder / page.relative_to(pages)).with_suffix(SUFFIXES[format][0])))
        with ThreadPoolExecutor(1) as pool:
            problems = list(pool.map(lambda job: convert(*job), jobs))
        for (page, _, _), problem in zip(jobs, problems, strict=True):
            if problem:
                say(f"{format} {page.name}: {problem}")


def read_back(corpus: str, format: str) -> dict[str, Document]:
    """Returns the index of the Markdown that pandoc makes of pages in another format."""
    place = OUT / corpus / format
    for page in sorted((place / "corpus").rglob("*" + SUFFIXES[format][0])):
        to = (place / "read-back" / page.relative_to(place / "corpus")).with_suffix(".md")
        if to.exists():
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        command = [pandoc(), "-f", READERS[format], "-t", MARKDOWN, "--wrap=preserve", str(page), "-o", str(to)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            say(f"pandoc {page}: {done.stderr.strip()[-200:]}")
        else:
            narrow_tables(to)
    index(place / "read-back", place / "read-back-dataset")
    return documents(place / "read-back-dataset")


QUOTES = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2026": "...", "\u00a0": " "}
    | {"\u2610": " ", "\u2612": "x"}
)


def references(text: str) -> str:
    """Removes the names that links refer to, and their definitions."""
    text = re.sub(r"^ {0,3}\[[^\]^][^\]]*\]:\s+\S+.*$", "", text, flags=re.M)
    return re.sub(r"(\[[^\[\]]+\])\[[^\[\]]*\]", r"\1", text)


def plain(text: str) -> str:
    """Removes marks of Markdown, targets of links, and white space, so that only what is said remains."""
    text = re.sub(r"\[\[([^\]|]*)(?:\|([^\]]*))?\]\]", lambda m: m.group(2) or m.group(1), text)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^\s*(?:>\s*)*(?:```|~~~).*$", "", text, flags=re.M)  # fences, with the language
    text = re.sub(r"^\s*\|?(?:\s*:?-{2,}:?\s*\|?)+\s*$|^(?:={3,}|-{3,})$", "", text, flags=re.M)  # rules
    text = re.sub(r"^((?:> )*)> \[!(\w+)\]$", lambda m: f"{m.group(1)}> **{m.group(2).title()}**", text, flags=re.M)
    text = re.sub(r"^((?:> ?)+)\*\*(Note|Tip|Warning|Caution|Important):\*\*", r"\1\2", text, flags=re.M)
    text = re.sub(r"\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)", "]", text)
    text = re.sub(r"\]\(<[^>]*>\)", "]", text)
    text = references(text)
    text = re.sub(r"\\[()]|\\\\?[\[\]](?=\s)|\$", "", text)  # delimiters of formulas
    text = re.sub(r"<(https?:[^<>\s]*|mailto:[^<>\s]*|[\w.+-]+@[\w.-]+)>", r"\1", text)
    text = re.sub(r"\[\^[^\]\s]+\]:?", "", text)
    text = unicodedata.normalize("NFKC", html.unescape(text).translate(QUOTES))
    text = re.sub(r"^\s*(?:>\s*)*(?:[-*+]|\d+[.)]|:)\s+", "", text, flags=re.M)
    return re.sub(r"[\s*_`#|>\[\]\\~!]", "", text)


def said(chunk: dict[str, object]) -> str:
    """Returns the content of a chunk without its prefix."""
    content, prefix = str(chunk["content"]), int(str(chunk["prefix_len"]))
    return content.encode()[prefix:].decode()


@dataclass
class Compared:
    """How the index of one format compares with that of Markdown."""

    format: str
    pages: int = 0
    missing: list[str] = field(default_factory=list)
    chunks: int = 0
    equal: int = 0
    text: tuple[float, float] = (0.0, 0.0)
    # Pages whose whole text is equal, though perhaps not their cuts.
    pages_equal: int = 0
    # Chunks of Markdown in pages whose text is equal that are cut elsewhere.
    cut: int = 0
    differences: list[tuple[int, str, str]] = field(default_factory=list)
    # The share of chunks that are equal in pages without line ends.
    flat: float = 0.0
    # The share of chunks that are equal in the Markdown that pandoc makes of the pages.
    pandoc: float | None = None
    evidence: float | None = None
    labels: tuple[int, int] = (0, 0)

    @property
    def share(self) -> float:
        """The share of chunks that are equal."""
        return self.equal / max(1, self.chunks)


def compare(
    format: str, ours: dict[str, Document], theirs: dict[str, Document], suffix: str | None = None, show: bool = False
) -> Compared:
    """Compares the chunks of all pages. `show` asks where they differ, which takes most of the time."""
    suffix = suffix or SUFFIXES[format][0]
    result = Compared(format)
    all_ours: Counter[str] = Counter()
    all_theirs: Counter[str] = Counter()
    for path, document in sorted(ours.items()):
        name = str(Path(path).with_suffix(suffix))
        result.pages += 1
        result.chunks += len(document.chunks)
        mine = [said(chunk) for chunk in document.chunks]
        all_ours.update(f"{path} {word}" for word in words(" ".join(plain_words(text) for text in mine)))
        if name not in theirs:
            result.missing.append(name)
            continue
        other = [said(chunk) for chunk in theirs[name].chunks]
        all_theirs.update(f"{path} {word}" for word in words(" ".join(plain_words(text) for text in other)))
        one, two = [plain(text) for text in mine], [plain(text) for text in other]
        equal = sum((Counter(one) & Counter(two)).values())
        result.equal += equal
        if "".join(one) == "".join(two):
            result.pages_equal += 1
            result.cut += len(one) - equal
        if show and equal < len(one):
            result.differences += differences(name, mine, other)
    result.text = (shared(all_ours, all_theirs), shared(all_theirs, all_ours))
    result.differences.sort()
    return result


def plain_words(text: str) -> str:
    """Removes what is not said but keeps white space, for counting words."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^\s*(?:>\s*)*(?:```|~~~).*$", "", text, flags=re.M)
    text = re.sub(r"\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)", "]", text)
    text = re.sub(r"^\s*(?:>\s*)*(?:[-*+]\s+)?\[[x ]\]", "", references(text), flags=re.M)
    return re.sub(r"^\s*(?:>\s*)*(?:\d+[.)])\s+", "", html.unescape(text), flags=re.M).replace("_", " ")


def differences(name: str, mine: list[str], other: list[str]) -> list[tuple[int, str, str]]:
    """Says where two pages differ: pieces of the text that only one has, or a chunk that is cut elsewhere."""
    found = []
    one, two = "".join(map(plain, mine)), "".join(map(plain, other))
    if one != two:
        for a, b, c, d in unequal(one, two):
            before = one[max(0, a - 30) : a]
            text = f"{name}: …{before}[{one[a:b][:120]}→{two[c:d][:120]}]{one[b : b + 15]}"
            found.append((b - a + d - c, "text", text))
    else:
        left = Counter(map(plain, other))
        for text in mine:
            if not left[plain(text)]:
                found.append((len(text), "cut", f"{name}: {text[:70]!r}…{text[-70:]!r}"))
                break
    return found


def unequal(one: str, two: str) -> Iterator[tuple[int, int, int, int]]:
    """Yields the ranges in which two texts differ. Clauses are compared first: by character, a page takes seconds."""
    clauses = [re.findall(r"[^.,;:()]+[.,;:()]*|[.,;:()]+", text) for text in (one, two)]
    starts = [list(accumulate(map(len, parts), initial=0)) for parts in clauses]
    for tag, *at in difflib.SequenceMatcher(None, *clauses, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        a, b, c, d = starts[0][at[0]], starts[0][at[1]], starts[1][at[2]], starts[1][at[3]]
        if max(b - a, d - c) > CLAUSE:
            yield a, b, c, d
            continue
        for tag, i, j, k, l in difflib.SequenceMatcher(None, one[a:b], two[c:d], autojunk=False).get_opcodes():
            if tag != "equal":
                yield a + i, a + j, c + k, c + l


def place(evidence: str, layer: str) -> tuple[int, int] | None:
    """Finds the words of a quotation in a layer, in order and without others between. Returns bytes."""
    pieces = words(plain_words(evidence))
    if not pieces:
        return None
    spans = [(m.start(), m.end(), w) for m in re.finditer(r"[^\W_]+", layer) for w in words(m.group())]
    # Targets of links, numbers of items, and languages of code are not said.
    marks = r"(?m)\]\([^()\s]*\)|^\s*(?:>\s*)*(?:[-*+]\s+)?(?:\d+[.)]|\[[x ]\]|```.*$)"
    hidden = [(m.start(), m.end()) for m in re.finditer(marks, layer)]
    spans = [s for s in spans if not any(a <= s[0] < b for a, b in hidden)]
    for at in range(len(spans) - len(pieces) + 1):
        if spans[at][2] == pieces[0] and [s[2] for s in spans[at : at + len(pieces)]] == pieces:
            start, end = spans[at][0], spans[at + len(pieces) - 1][1]
            return len(layer[:start].encode()), len(layer[:end].encode())
    return None


def map_labels(queries: Path, format: str, theirs: dict[str, Document], to: Path) -> tuple[int, int]:
    """Writes the labels for another format. Returns how many places there were and how many were found."""
    found = total = 0

    def one(reference: dict[str, object]) -> dict[str, object] | None:
        nonlocal found, total
        if "text" not in reference:
            return reference
        total += 1
        doc_id = str(Path(str(reference["doc_id"])).with_suffix(SUFFIXES[format][0]))
        document = theirs.get(doc_id)
        if not document:
            return None
        span = place(str(reference["text"]), document.layer.decode())
        if span is None:
            say(f"{format} {doc_id}: not found: {str(reference['text'])[:90]!r}")
            return None
        found += 1
        text = document.layer[span[0] : span[1]].decode()
        return {**reference, "doc_id": doc_id, "start": span[0], "end": span[1], "text": text}

    with to.open("w") as file:
        for line in queries.read_text().splitlines():
            query = json.loads(line)
            query["references"] = [r for r in map(one, query["references"]) if r]
            if query["references"]:
                print(json.dumps(query), file=file)
    return total, found


SWEEP = '[[grid]]\npreset = ["structure"]\nmode = ["hybrid"]\nk = [20]\n'


def evidence(labels: Path, most: float) -> float | None:
    """Returns the mean evidence in 1,000 tokens. Questions that lost all labels count as 0."""
    sweep, out = OUT / "sweep.toml", labels / "run"
    sweep.write_text(SWEEP)
    shutil.rmtree(out, ignore_errors=True)
    done = run([EVAL, "sweep", "--labels", labels, "--sweep", sweep, "-o", out, "--json", "--trec=false"])
    if done.code:
        say(f"{labels}: the sweep ended with {done.code}: {done.err.strip()[-300:]}")
        return None
    (labels / "sweep.json").write_text(done.out)
    report = run([EVAL, "report", out, "--json"])
    text = (out / "report.json").read_text() if (out / "report.json").exists() else report.out
    found = find_metric(json.loads(text), "evidence_in_context_1000")
    kept = sum(1 for line in (labels / "queries.jsonl").read_text().splitlines() if line)
    return None if found is None else found * kept / most


def find_metric(value: object, name: str) -> float | None:
    """Finds the first mean of a metric in a report."""
    if isinstance(value, dict):
        if name in value:
            inner = value[name]
            if isinstance(inner, (int, float)):
                return float(inner)
            if isinstance(inner, dict) and isinstance(inner.get("mean"), (int, float)):
                return float(inner["mean"])
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            found = find_metric(each, name)
            if found is not None:
                return found
    return None


def corpus_of(name: str, folder: Path, most: int) -> Path:
    """Copies every k-th page of a corpus without front matter, and returns the copy."""
    copy = OUT / name / "pages"
    shutil.rmtree(copy, ignore_errors=True)
    pages = sorted(page for page in folder.rglob("*.md") if body(page.read_text(errors="replace")).strip())
    for page in pages[:: max(1, -(-len(pages) // most))]:
        target = copy / page.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(body(page.read_text(errors="replace")))
    return copy


def main() -> None:
    """Compares all formats of all corpora."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    larder = ROOT / "datasets" / "larder"
    parser.add_argument("--corpus", nargs="+", default=[f"larder={larder / 'corpus'}"], help="NAME=FOLDER of pages")
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=FORMATS)
    parser.add_argument("--most", type=int, default=300, help="pages of a corpus")
    parser.add_argument("--no-evidence", action="store_true", help="do not search")
    parser.add_argument("--show", type=int, default=20, help="differences of each format")
    options = parser.parse_args()
    failed = False
    for named in options.corpus:
        name, folder = named.split("=", 1)
        queries = Path(folder).parent / "queries.jsonl"
        scored = queries.exists() and not options.no_evidence
        pages = corpus_of(name, Path(folder), options.most)
        convert_all(pages, name, options.formats)
        markdown = OUT / name / "markdown"
        index(markdown / "corpus", markdown / "dataset")
        ours = documents(markdown / "dataset")
        results = []
        flat: dict[str, Document] = {}
        baseline = None
        if scored:
            # The Markdown labels go the same way, so that both sides are rounded to words.
            texts = {path: (markdown / "corpus" / path).read_text() for path in ours}
            layers = {path: Document(path, {"layer": text, "dropped": []}) for path, text in texts.items()}
            total, found = map_labels(queries, "markdown", layers, markdown / "queries.jsonl")
            most = sum(1 for line in queries.read_text().splitlines() if json.loads(line)["references"])
            baseline = evidence(markdown, most)
            say(f"markdown: {found} of {total} labels, evidence {baseline}")
        for format in [*CONTROLS, *options.formats]:
            place_of = OUT / name / format
            done = index(place_of / "corpus", place_of / "dataset")
            if done.code or done.panicked:
                say(f"{format}: index ended with {done.code}: {done.err[-300:]}")
                if not (place_of / "dataset").exists():
                    continue
            for line in quarantined(place_of / "dataset"):
                say(f"{format} {line['path']}: {line['code']}: {line['reason']}")
            theirs = documents(place_of / "dataset")
            result = compare(format, ours, theirs, show=True)
            if format == "unwrapped":
                flat = theirs
            result.flat = compare(format, flat or theirs, theirs).share
            if format in READERS:
                result.pandoc = compare(format, ours, read_back(name, format), ".md").share
            if scored and format not in CONTROLS:
                result.labels = map_labels(queries, format, theirs, place_of / "queries.jsonl")
                result.evidence = evidence(place_of, most)
            results.append(result)
        print(f"\n{name}: {len(ours)} pages, {sum(len(d.chunks) for d in ours.values())} chunks of Markdown; ", end="")
        print(f"evidence in 1,000 tokens {baseline if baseline is None else round(baseline, 3)}")
        print("format     lost  chunks  target    flat  pandoc  words  theirs  pages=  cut  labels     evidence")
        for r in results:
            target = TARGETS.get(r.format)
            low = target is not None and max(r.share, r.flat) < target
            least = 0.05 if r.format == "pdf" else 0.02
            far = r.evidence is not None and baseline is not None and r.evidence < baseline - least
            failed |= low or far
            print(
                f"{r.format:10} {len(r.missing):4}  {r.share:6.3f}  {'' if target is None else target:6}"
                f"  {r.flat:6.3f}  {'' if r.pandoc is None else round(r.pandoc, 3):6}  {r.text[0]:.3f}  {r.text[1]:.3f}  {r.pages_equal:5}  {r.cut:4}"
                f"  {r.labels[1]:4}/{r.labels[0]:<4}  {'' if r.evidence is None else round(r.evidence, 3)}"
                f"{'  LOW' if low else ''}{'  FAR' if far else ''}",
                flush=True,
            )
        for r in results:
            kinds = Counter(kind for _, kind, _ in r.differences)
            print(f"\n{r.format}: {dict(kinds)} differences, the smallest:")
            seen: set[str] = set()
            for size, kind, text in r.differences:
                key = re.sub(r"^.*?\[", "", text)[:30] if kind == "text" else text
                if key not in seen and len(seen) < options.show:
                    seen.add(key)
                    print(f"  {kind} {size:4}  {text}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
