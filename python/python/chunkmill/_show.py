"""What notebooks show of tables, reports, hits and contexts. All texts are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import Dataset
    from ._chunkmill import Chunk, Table
    from ._results import Context, DocumentHit, Hit, Plan, Report, Verification

ROWS = 10
"""Number of rows that are shown of a table."""

CELL = 80
"""Number of characters that are shown of a value."""

TEXT = 240
"""Number of characters that are shown of the text of a hit, or of a line of a report."""


def short(value: object, most: int = CELL) -> str:
    """Returns a value on one line, cut."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def count(number: int, noun: str) -> str:
    """Returns a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rows(names: Sequence[str], values: Iterable[Sequence[object]], most: int = CELL) -> str:
    """Returns an HTML table, with at most so many characters of each value."""
    # Each cell says so, because notebooks align cells to the right.
    left = 'style="text-align: left"'
    head = "".join(f"<th {left}>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td {left}>{escape(short(value, most))}</td>" for value in row) + "</tr>" for row in values)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraph(text: str) -> str:
    """Returns a text as a paragraph."""
    return f"<p>{escape(text)}</p>"


def table(table: Table) -> str:
    """Shows the first rows of a table."""
    names = table.column_names
    shown = rows(names, ([row[name] for name in names] for row in islice(table, ROWS)))
    more = f", the first {ROWS} are shown" if len(table) > ROWS else ""
    return f"{shown}<p>{count(len(table), 'row')}{more}</p>"


def report(report: Report) -> str:
    """Shows the result of a job."""
    return rows(["", ""], report._lines(), TEXT)  # pyright: ignore[reportPrivateUsage]


def plan(plan: Plan) -> str:
    """Shows what indexing would do."""
    named = [("new", plan.changes.new), ("changed", plan.changes.changed), ("deleted", plan.changes.deleted)]
    lines = [("documents", str(plan.changes)), *((name, ", ".join(documents)) for name, documents in named if len(documents))]
    if plan.other_files.count:
        lines.append(("left out", str(plan.other_files)))
    return rows(["", ""], [*lines, ("work", str(plan.estimate))], TEXT)


def dataset(dataset: Dataset) -> str:
    """Shows what a dataset is made of."""
    about = dataset.about()
    counts = [(name.replace("_", " "), f"{count:,}") for name, count in about["counts"].items() if isinstance(count, int)]
    return rows(["", ""], [*counts, ("settings", about["spec"]), ("model", about["model"])], TEXT)


def verification(found: Verification) -> str:
    """Shows whether a dataset is intact."""
    said = paragraph(repr(found))
    problems = [("problem", of) for of in found.findings[:ROWS]] + [("note", of) for of in found.notes[:ROWS]]
    if not problems:
        return said
    return said + rows(["", "file", "", "what to do"], ((kind, of.file, of.problem, of.help) for kind, of in problems), TEXT)


def chunk(chunk: Chunk) -> str:
    """Shows a chunk."""
    place = f"{chunk.path}:{chunk.start_line}-{chunk.end_line}"
    return rows(["place", "headings", "tokens", "text"], [(place, chunk.header_path, chunk.n_tokens, own(chunk))], TEXT)


def hits(hits: Iterable[Hit]) -> str:
    """Shows chunks that were found."""
    names = ["", "score", "place", "headings", "text"]
    return rows(names, ((hit.rank, f"{hit.score:.2f}", hit.citation, hit.header_path, own(hit)) for hit in hits), TEXT)


def own(hit: Hit | Chunk) -> str:
    """Returns the text of a hit or a chunk without what it repeats before its own."""
    return hit.content.encode()[hit.prefix_len :].decode(errors="replace")


def documents(found: Iterable[DocumentHit]) -> str:
    """Shows documents that were found."""
    names = ["", "score", "path", "title", "chunks found"]
    return rows(names, ((hit.rank, f"{hit.score:.4f}", hit.path, hit.title or "", len(hit.chunks)) for hit in found))


def numbers(context: Context) -> str:
    """Says how large a context is."""
    return f"{context.tokens:,} of {count(context.budget, 'token')}, {count(len(context.passages), 'passage')}"


def context(context: Context) -> str:
    """Shows a context as its reader gets it."""
    return f'<p>{numbers(context)}</p><pre style="white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere">{escape(context.text)}</pre>'
