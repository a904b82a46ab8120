"""`make costs`: measures the memory and time of the most expensive documents.

    python3 benches/costs/run.py [--mb 8] [--presets ragdocs structure] [--only TEXT] [--json FILE]

Chunks hundreds of kinds of hostile text, each a repetition of one or a few characters, in every format, with one
process per file. In a kind with ` then `, the first half of the file repeats one text in a line, the second another.
In formats that are packed, the text is in the part that has the words, which is not compressed. All are tried with half a megabyte, and the worst of them again with `--mb` megabytes. The report
shows the worst by memory, relative to the limit of 16 bytes per byte plus 100 MB, and the worst by CPU time, as a
multiple of the time for prose of the same size: the pages of `datasets/larder`. Documents that the program
quarantines are marked. The exit code is 1 if a document exceeds a limit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import readers

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", PROJECT / "target")).resolve() / "release" / "chunkmill"

MOST_BYTES = 16
MOST_BASE = 100_000_000
MOST_TIME = 20

MARKS = "[]<>!|*_~`$\\&#-=+:.()/\"'{}%^@"
PROSE = "".join(path.read_text() for path in sorted((PROJECT / "datasets" / "larder" / "corpus").rglob("*.md")))

WRITTEN = [
    "[a](b) ", "[a](b)", "![a](b) ", "![](", "[](", "[[a]] ", "[[", "[a]: b\n", "[a][a] ", "[^a]: b\n\n", "[^a] ", "<a>", "<a b='c'>", "</a>", "<!-- ", "<!--a-->",
    "<?", "<![CDATA[", "<div>\n", "<div>\n\n", "<a@b.c> ", "<http://a> ", "&amp;", "&#1;", "&a", "\\*", "\\[", "`a`", "`a ", "``a` ", "**a** ", "*a **b ", "_a_ ",
    "~~a~~ ", "$a$ ", "$$a$$ ", "$$\n", "- a\n", "- a\n\n", "-\n", "- - - ", "1. a\n", "1) ", "> ", "> a\n", ">a\n> b\n\n", "| a ", "| a | b |\n", "|-", "|a|\n|-|\n|b|\n\n",
    "# a\n", "# a\n\n", "#\n", "## a\n\nb\n\n", "a\n=\n", "a\n-\n", "a\n---\n\n", "***\n", "---\n", "```\n", "```\na\n```\n", "~~~\n\n", "    a\n", "\ta\n", "a\n\n", "a\n", "a  \n", "a\\\n",
    "{% raw %}\n", "{{< highlight >}}\n", "{{/* ", ":::\n", ":::note\n", "export const a = {\n", "import a from 'b'\n", "[ ] ", "- [ ] a\n", "#a ", "http://a.b/c ", "www.a.b ", "a@b.c ",
    "{#a}\n", "# a {#b}\n", "<a name='b'></a>", "[!NOTE]\n", "> [!NOTE]\n", "\u200b", "\u202e", "e\u0301", "\u0301", "\u200d", "👩\u200d", "漢", "漢字。", "é", "Ωλ ", "\u3000", "\u00a0", "\ufeff", "\0", "\x1b[2J",
    "a: b\n", "a:\n  b: c\n", "- a: b\n", "a: [\n", "{", "{a: ", "[", "[1,", "[[],", "{\"a\":1},", "{\"a\":", "{\"a\":[", "\"a\",\n", "&a *a ", "? a\n", "a: |\n", "  ", "- ", "- - ", "!!a ", "'", "\"", "---\na: b\n",
    "fn a() {}\n", "fn a() {\n", "/// a\n", "/// a\nfn b() {}\n", "// a\n", "/* ", "/** a */ ", "class A {\n", "class A { b() {} }\n", "#[a]\n", "r#\"", "'a ", "`${", "<A>", "def a(): pass\n", "def a():\n    b\n", "class A:\n",
    "'''", '"""', "#a\n", "@a\n", "(", "[\n", "\\\n", "if a:\n ", "lambda: ", "mod a {\n", "impl A {\n", "namespace a {\n", "interface A {\n", "function a() {}\n", "export ", "=> ", "::", ";", "; ", "a;\n", "a b ", "a ", "a", "7", "7 ", "\n", " \n", "\n\t", "\r", "\r\n", "a\r\n", "\t",
]  # fmt: skip

# Each level of a quote or a list that a line opens stays open in the lines that continue it.
DEEP = [f"{levels} then {lines}" for levels in [">", "> ", "- ", "1. ", "> - ", "- > ", "[^a]: > "] for lines in ["a\n", "a\n\n"]]
DEEP += ["> - then >\n", "- then a\n\n- - - - b\n"]
DEEP += [f"{'>' * 100} a\n" + "a\n" * 200 + "\n", f"{'- ' * 200}a\n" + "a\n" * 200 + "\n"]
# The parser fills the short rows of a table.
WIDE = ["|a" * columns + "|\n" + "|-" * columns + "|\n" + "a\n" * rows + "\n" for columns, rows in [(100, 100), (500, 500), (2000, 130), (2000, 10)]]

FORMATS = ["md", "mdx", "txt", "yaml", "json", "py", "rs", "ts", *readers.KINDS]


def kinds(suffix: str) -> list[str]:
    """Returns all texts to repeat in files with this suffix."""
    if suffix in readers.KINDS:
        return list(dict.fromkeys(readers.KINDS[suffix]))
    singles = [chr(code) for code in range(32, 127)]
    found = singles + [mark + "\n" for mark in MARKS] + WRITTEN
    if suffix == "md":
        found += [mark + "\n" for mark in singles] + [mark + " " for mark in MARKS] + [mark + "a" for mark in MARKS]
        found += [first + second for first in MARKS for second in MARKS if first != second]
        found += [mark * 3 + " a\n" for mark in MARKS]
        found += DEEP + WIDE
    return list(dict.fromkeys(found))


@dataclass
class Cost:
    """The cost of one document."""

    kind: str
    suffix: str
    preset: str
    seconds: float
    peak: int
    quarantined: bool


def content(kind: str, size: int) -> bytes:
    """Returns a document of this kind."""
    head, then, rest = kind.partition(" then ")
    if then:
        return content(head, size // 2) + b"a\n" + content(rest, size // 2)
    return kind.encode() * max(1, size // len(kind.encode()))


def chunk(folder: Path, kind: str, suffix: str, preset: str, size: int, *more: str) -> Cost:
    """Chunks one document in its own process."""
    path = folder / f"{uuid.uuid4()}.{suffix}"
    readers.write(path, content(kind, size))
    command = [str(PROGRAM), "chunk", str(path), "--preset", preset, "--threads", "1", "--quiet", *more]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = code = os.waitstatus_to_exitcode(status)
    path.unlink()
    if code not in (0, 3):
        sys.exit(f"{kind!r} as {suffix} with {preset}: exit code {code}")
    return Cost(kind, suffix, preset, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, code == 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=float, default=8, help="size of the worst documents in MB [default: 8]")
    parser.add_argument("--first-mb", type=float, default=0.5, help="size of all documents in MB [default: 0.5]")
    parser.add_argument("--presets", nargs="+", default=["ragdocs", "structure"], help="presets to chunk with")
    parser.add_argument("--formats", nargs="+", default=FORMATS, help="file formats to try")
    parser.add_argument("--only", nargs="+", help="try only these texts")
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args()
    worst: dict[tuple[str, str, str], None] = {}
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)

        def of_prose(preset: str, size: int) -> tuple[float, float]:
            runs = [chunk(folder, PROSE, "md", preset, size).seconds for _ in range(5)]
            empty = [chunk(folder, "a", "md", preset, 1).seconds for _ in range(5)]
            return sorted(runs)[2] - sorted(empty)[2], sorted(empty)[2]

        def times(cost: Cost, prose: dict[str, tuple[float, float]]) -> float:
            seconds, empty = prose[cost.preset]
            return (cost.seconds - empty) / seconds

        size = int(options.first_mb * 1e6)
        prose = {preset: of_prose(preset, size) for preset in options.presets}
        of_suffix = {suffix: options.only or kinds(suffix) for suffix in options.formats}
        tried = [(text, suffix, preset) for preset in options.presets for suffix, texts in of_suffix.items() for text in texts]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            costs = list(pool.map(lambda case: chunk(folder, *case, size), tried))
        for key in (lambda cost: cost.peak, lambda cost: times(cost, prose)):
            # Many, because the worst small documents may be quarantined when they are larger.
            for cost in sorted(costs, key=key, reverse=True)[:200]:
                worst[cost.kind, cost.suffix, cost.preset] = None

        size = int(options.mb * 1e6)
        prose = {preset: of_prose(preset, size) for preset in options.presets}
        large = [chunk(folder, text, suffix, preset, size) for text, suffix, preset in worst]
        limit = MOST_BYTES * size + MOST_BASE
        print(f"{len(costs)} documents of {options.first_mb} MB; the worst again with {options.mb} MB")
        for preset, (seconds, empty) in prose.items():
            print(f"prose with {preset}: {seconds:.3f} s, and {empty:.3f} s to start")
        by_memory = sorted(large, key=lambda cost: cost.peak, reverse=True)[:10]
        by_time = sorted(large, key=lambda cost: times(cost, prose), reverse=True)[:10]
        print("\n| text | file | preset | peak MB | of the limit | |\n| --- | --- | --- | --- | --- | --- |")
        for cost in by_memory:
            print(f"| `{cost.kind!r}` | {cost.suffix} | {cost.preset} | {cost.peak / 1e6:.0f} | {cost.peak / limit:.2f} | {'quarantined' * cost.quarantined} |")
        print("\n| text | file | preset | seconds | × prose | |\n| --- | --- | --- | --- | --- | --- |")
        for cost in by_time:
            print(f"| `{cost.kind!r}` | {cost.suffix} | {cost.preset} | {cost.seconds:.2f} | {times(cost, prose):.1f} | {'quarantined' * cost.quarantined} |")
        over = any(cost.peak > limit or times(cost, prose) > MOST_TIME for cost in large)
        if options.json:
            options.json.write_text(json.dumps([vars(cost) for cost in costs + large], indent=1))
    if over:
        sys.exit("a document exceeds a limit")


if __name__ == "__main__":
    main()
