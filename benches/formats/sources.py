"""What a file says, read by another library than chunkmill's: its whole text, and the text at a place.

A `Source` never guesses: a place that it cannot find is a fault. Each format has a class with the same two methods.
"""

from __future__ import annotations

import csv
import email
import email.policy
import io
import json
import mailbox
import posixpath
import re
import subprocess
import tempfile
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from common import pandoc
from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html


class Unreadable(Exception):
    """The other library cannot read the file, so nothing is compared."""


class Nowhere(Exception):
    """A place is not in the file."""


def decoded(data: bytes, file: bytes | None = None) -> str:
    """Decodes a text file, or a part of one, as UTF-8, UTF-16 with its mark, as a page says, or as Latin-1."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        said = re.search(rb"(?:charset|encoding)\s*=\s*[\"']?([\w-]+)", (file or data)[:4096])
        try:
            return data.decode(said.group(1).decode() if said else "cp1252", "replace")
        except LookupError:
            return data.decode("cp1252", "replace")


class Source:
    """A text file: the text of a range is its bytes."""

    # Whether all words of the file are to be in the layer or counted as left out.
    whole = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path.read_bytes()

    def text(self) -> str:
        """Returns all that the file says."""
        return decoded(self.data)

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        """Returns what the file says at a place. Raises `Nowhere`."""
        if start is None or end is None:
            raise Nowhere("no source_start")
        if not 0 <= start <= end <= len(self.data):
            raise Nowhere(f"bytes {start}..{end} of {len(self.data)}")
        return decoded(self.data[start:end], self.data)


def ends(place: str) -> tuple[str, str]:
    """Returns the first and the last name of a place such as `cell 1 to cell 3`."""
    first, _, last = place.partition(" to ")
    return first, last or first


class TextOfHtml(HTMLParser):
    """Collects text and the attributes that are said, in order."""

    SILENT = frozenset(["script", "style"])
    BLOCKS = frozenset("p div li td th tr table h1 h2 h3 h4 h5 h6 br hr pre dt dd ul ol section figure".split())

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keeps alternative texts and the language of code."""
        self.silent += tag in self.SILENT
        if tag in self.BLOCKS:
            self.parts.append("\n")
        for name, value in attrs:
            if name in ("alt", "value", "label") and value:
                self.parts.append(f" {value} ")

    def handle_endtag(self, tag: str) -> None:
        """Ends what is silent."""
        self.silent = max(0, self.silent - (tag in self.SILENT))
        if tag in self.BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        """Keeps text."""
        if not self.silent:
            self.parts.append(data)


def html_text(fragment: str) -> str:
    """Returns the text of a piece of HTML."""
    parser = TextOfHtml()
    parser.feed(fragment)
    parser.close()
    return "".join(parser.parts)


class Html(Source):
    """HTML, by lxml as a whole and by Python's parser in a range."""

    whole = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            text = re.sub(r"^\s*<\?xml[^>]*>", "", decoded(self.data))
            self.root = lxml_html.document_fromstring(text)
        except (etree.ParserError, ValueError) as problem:
            raise Unreadable(str(problem)) from problem
        self.names = {e.get(a) for e in self.root.iter(etree.Element) for a in ("id", "name") if e.get(a)}

    def text(self) -> str:
        parts = []
        for element in self.root.iter():
            if isinstance(element.tag, str) and element.tag not in ("script", "style"):
                parts.append(element.text or "")
            parts.append(element.tail or "")
        return " ".join(parts)

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        for name in ends(place) if place and place.startswith("#") else ():
            if unquote(name[1:]) not in self.names and name[1:] not in self.names:
                raise Nowhere(f"no element is named {name}")
        return html_text(super().at(None, start, end))


class Notebook(Source):
    """Notebooks, by json."""

    whole = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            notebook = json.loads(self.data)
            sheets = notebook.get("worksheets") or [notebook]
            cells = [cell for sheet in sheets for cell in sheet["cells"]]
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise Unreadable(repr(problem)) from problem
        sources = [cell.get("source", cell.get("input", "")) for cell in cells]
        self.cells = ["".join(source) if isinstance(source, list) else str(source) for source in sources]

    def text(self) -> str:
        return "\n".join(self.cells)

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        numbers = [int(name.removeprefix("cell ")) for name in ends(place or "")]
        if not 1 <= numbers[0] <= numbers[1] <= len(self.cells):
            raise Nowhere(f"{place} of {len(self.cells)}")
        text = super().at(None, start, end)
        if not text.strip():
            raise Nowhere("an empty range")
        return "\n".join(self.cells[numbers[0] - 1 : numbers[1]])


class Package(Source):
    """A zip package."""

    whole = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            self.zip = zipfile.ZipFile(io.BytesIO(self.data))
        except (zipfile.BadZipFile, OSError, ValueError) as problem:
            raise Unreadable(str(problem)) from problem


W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"


def word_text(element: Any) -> str:
    """Returns the text of a part of a Word file, paragraphs apart. What `mc:Fallback` repeats is left out."""
    parts: list[str] = []
    for each in element.iter():
        if any(parent.tag == MC + "Fallback" for parent in each.iterancestors()):
            continue
        if each.tag in (W + "t", M + "t"):
            parts.append(each.text or "")
        elif each.tag in (W + "p", W + "tab", W + "br", W + "cr", W + "tc"):
            parts.append("\n")
        elif each.tag.__class__ is str and each.tag.endswith(("}docPr", "}cNvPr")):
            parts.append(f" {each.get('descr') or ''} {each.get('title') or ''} ")
        elif each.tag in (W + "noBreakHyphen",):
            parts.append("-")
        elif each.tag == W + "sym":
            parts.append("?")
    return "".join(parts)


def drawn(element: Any) -> str:
    """Returns the text of drawings, charts and diagrams, paragraphs apart."""
    parts: list[str] = []
    for each in element.iter():
        name = etree.QName(each).localname if isinstance(each.tag, str) else ""
        if name in ("t", "v"):
            parts.append(each.text or "")
        elif name in ("p", "br", "pt", "tx", "ser"):
            parts.append("\n")
    return "".join(parts)


def drawings(data: bytes, folder: str) -> str:
    """Returns the text of all drawings, charts and diagrams of a package."""
    texts = []
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        for name in package.namelist():
            if re.match(rf"{folder}/(drawings|charts|diagrams)/[^/]+\.xml$", name):
                texts.append(drawn(etree.fromstring(package.read(name), etree.XMLParser(recover=True, huge_tree=True))))
    return "\n".join(texts)


class Word(Source):
    """Word files, by python-docx."""

    whole = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        import docx  # type: ignore[import-not-found]

        try:
            document = docx.Document(str(path))
            self.body = document.element.body
            # A paragraph names its charts and diagrams; here, each may have all of them.
            self.drawn = drawings(self.data, "word")
            parts = document.part.package.iter_parts()
            self.notes = {}
            for part in parts:
                kind = posixpath.basename(str(part.partname)).removesuffix(".xml")
                if kind in ("footnotes", "endnotes"):
                    self.notes[kind] = etree.fromstring(part.blob)
        except Exception as problem:  # noqa: BLE001  python-docx fails in many ways
            raise Unreadable(repr(problem)[:150]) from problem

    def text(self) -> str:
        notes = [word_text(note) for part in self.notes.values() for note in part if not note.get(W + "type")]
        return "\n".join([word_text(self.body), *notes])

    def element(self, name: str) -> Any:
        """Returns the child of the body with this name, or a note."""
        root, _, rest = name.partition("/")
        tree = self.body if root == "body" else self.notes.get(root)
        if tree is None:
            raise Nowhere(f"no part {root}")
        found = tree
        for step in rest.split("/") if rest else []:
            found = found.find(W + step) if found is not None else None
        if found is None:
            raise Nowhere(f"no {name}")
        return found

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        first, last = (self.element(name) for name in ends(place or ""))
        if first.getroottree().getroot() is not last.getroottree().getroot():
            # Text with its notes, which are parts of their own.
            return "\n".join([self.text(), self.drawn])
        inside, parts = False, [self.drawn, ""]
        for child in first.getparent() if first.getparent() is not None else [first]:
            inside |= child is first or first in child.iterdescendants()
            if inside:
                parts.append(word_text(child))
            if child is last or last in child.iterdescendants():
                return "\n".join(parts)
        raise Nowhere(f"{place} is not in order")


class Slides(Source):
    """Slides, by python-pptx."""

    whole = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        import pptx  # type: ignore[import-not-found]

        try:
            self.slides = [self.slide(slide) for slide in pptx.Presentation(str(path)).slides]
            # A slide names its charts and diagrams; here, each slide may have all of them.
            self.drawn = drawings(self.data, "ppt")
        except Exception as problem:  # noqa: BLE001
            raise Unreadable(repr(problem)[:150]) from problem

    @staticmethod
    def slide(slide: Any) -> str:
        """Returns the text of a slide and its notes."""
        parts = []
        trees = [slide._element]
        if slide.has_notes_slide:
            trees.append(slide.notes_slide._element)
        for tree in trees:
            for each in tree.iter():
                if not isinstance(each.tag, str) or any(p.tag == MC + "Fallback" for p in each.iterancestors()):
                    continue
                name = etree.QName(each).localname
                if name == "t":
                    parts.append(each.text or "")
                elif name in ("p", "br", "tc", "fld"):
                    parts.append("\n")
                elif name == "cNvPr":
                    parts.append(f" {each.get('descr') or ''} {each.get('title') or ''} ")
        return "".join(parts)

    def text(self) -> str:
        return "\n".join(self.slides)

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        numbers = [int(re.sub(r"\D.*$", "", name.removeprefix("slide "))) for name in ends(place or "")]
        if not 1 <= numbers[0] <= numbers[1] <= len(self.slides):
            raise Nowhere(f"{place} of {len(self.slides)}")
        slides = [f"Slide {n}\nNotes\n{self.slides[n - 1]}" for n in range(numbers[0], numbers[1] + 1)]
        return "\n".join([*slides, self.drawn])


class Sheets(Source):
    """Workbooks, by openpyxl with the values as last calculated."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        import warnings

        import openpyxl  # type: ignore[import-untyped]

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.book = openpyxl.load_workbook(io.BytesIO(self.data), data_only=True)
        except Exception as problem:  # noqa: BLE001
            raise Unreadable(repr(problem)[:150]) from problem

    def text(self) -> str:
        return "\n".join(self.cells(sheet, None) for sheet in self.book.worksheets)

    @staticmethod
    def cells(sheet: Any, area: str | None) -> str:
        """Returns the values of cells as texts; numbers and dates only if they are texts, as formats change them."""
        # A sheet with a chart alone has no cells.
        rows = sheet[area] if area else getattr(sheet, "iter_rows", list)()
        if not isinstance(rows, tuple) and area:
            rows = ((rows,),)
        found = [sheet.title]
        for row in rows:
            found += [str(cell.value) for cell in row if cell.value is not None]
        return "\n".join(found)

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        parts = []
        for name in dict.fromkeys(ends(place or "")):
            sheet, _, area = name.rpartition("!")
            if not sheet:
                # Text boxes of the sheet.
                sheet, area = name, ""
            if sheet.strip("'").replace("''", "'") not in self.book.sheetnames and sheet not in self.book.sheetnames:
                raise Nowhere(f"no sheet {sheet}")
            parts.append((sheet if sheet in self.book.sheetnames else sheet.strip("'").replace("''", "'"), area))
        names = self.book.sheetnames
        if len(parts) == 2 and parts[0][0] != parts[1][0]:
            between = names[names.index(parts[0][0]) : names.index(parts[1][0]) + 1]
            return "\n".join(self.cells(self.book[name], None) for name in between)
        try:
            drawn = "" if all(area for _, area in parts) else drawings(self.data, "xl")
            return "\n".join([self.cells(self.book[name], area or None) for name, area in parts] + [drawn])
        except ValueError as problem:
            raise Nowhere(f"{place}: {problem}") from problem


class OpenDocument(Source):
    """OpenDocument, by the package's XML as odfpy reads it."""

    whole = True
    TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
    TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
    DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
    OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
    # Elements that keep words apart.
    APART = frozenset(
        f"{{urn:oasis:names:tc:opendocument:xmlns:text:1.0}}{n}" for n in ("p", "h", "tab", "s", "line-break")
    )

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        import odf.opendocument  # type: ignore[import-untyped]

        try:
            loaded = odf.opendocument.load(str(path))
            out = io.StringIO()
            loaded.body.toXml(0, out)
            parser = etree.XMLParser(huge_tree=True, recover=True)
            self.body = etree.fromstring(out.getvalue().encode(), parser)
            # Charts and other documents in this one are parts of their own.
            self.objects = {}
            with zipfile.ZipFile(io.BytesIO(self.data)) as package:
                for name in package.namelist():
                    if name.endswith("/content.xml"):
                        content = etree.fromstring(package.read(name), parser)
                        self.objects[posixpath.dirname(name)] = self.said(content)
        except Exception as problem:  # noqa: BLE001
            raise Unreadable(repr(problem)[:150]) from problem

    def said(self, element: Any, objects: bool = True) -> str:
        """Returns the text of an element without deleted text and comments, and perhaps that of objects in it."""
        parts: list[str] = []

        def walk(each: Any) -> None:
            if not isinstance(each.tag, str):
                return
            if each.tag in (self.TEXT + "tracked-changes", self.OFFICE + "annotation"):
                return
            if each.tag in self.APART:
                parts.append("\n")
            if each.tag in (self.DRAW + "page", self.TABLE + "table"):
                parts.append("\n")
            if objects and each.tag == self.DRAW + "object":
                target = each.get("{http://www.w3.org/1999/xlink}href") or ""
                parts.append("\n" + self.objects.get(posixpath.normpath(target), "") + "\n")
            parts.append(each.text or "")
            for child in each:
                walk(child)
                parts.append(child.tail or "")

        walk(element)
        return "".join(parts)

    def text(self) -> str:
        # The data of a sheet's charts are in its cells.
        return self.said(self.body, objects=self.body.find(self.OFFICE + "spreadsheet") is None)

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        first, last = ends(place or "")
        if first.startswith("slide "):
            pages = self.body.findall(f".//{self.DRAW}page")
            numbers = [int(re.sub(r"\D.*$", "", name.removeprefix("slide "))) for name in (first, last)]
            if not 1 <= numbers[0] <= numbers[1] <= len(pages):
                raise Nowhere(f"{place} of {len(pages)}")
            return "\n".join(f"Slide {n}\nNotes\n{self.said(pages[n - 1])}" for n in range(numbers[0], numbers[1] + 1))
        tables = {t.get(self.TABLE + "name"): t for t in self.body.iter(self.TABLE + "table")}
        if "!" in first or first in tables:
            names = list(tables)
            wanted = [name.rpartition("!")[0] or name for name in (first, last)]
            wanted = [name if name in tables else name.strip("'").replace("''", "'") for name in wanted]
            for name in wanted:
                if name not in tables:
                    raise Nowhere(f"no sheet {name}")
            between = names[names.index(wanted[0]) : names.index(wanted[1]) + 1]
            return "\n".join(f"{name}\n{self.said(tables[name])}" for name in between)
        return self.between(first, last)

    def between(self, first: str, last: str) -> str:
        """Returns the text from one child of the body to another: `text/p[3]` is its third paragraph."""
        children = [each for each in self.body[0] if isinstance(each.tag, str)]
        found = []
        for name in (first, last):
            match = re.fullmatch(r"text/([\w-]+)\[(\d+)\]", name)
            if not match:
                raise Nowhere(f"cannot be read: {name}")
            same = [at for at, each in enumerate(children) if etree.QName(each).localname == match.group(1)]
            if not 1 <= int(match.group(2)) <= len(same):
                raise Nowhere(f"{name} of {len(same)}")
            found.append(same[int(match.group(2)) - 1])
        return "\n".join(self.said(each) for each in children[found[0] : found[1] + 1])


class Mail(Source):
    """Mail, by Python's email."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if path.suffix == ".mbox" or self.data.startswith(b"From "):
            with tempfile.NamedTemporaryFile() as file:
                file.write(self.data)
                file.flush()
                box = mailbox.mbox(file.name)
                raw = [bytes(box.get_bytes(key)) for key in box.iterkeys()]
        else:
            raw = [self.data]
        try:
            self.messages = [self.said(message) for message in raw]
        except Exception as problem:  # noqa: BLE001
            raise Unreadable(repr(problem)[:150]) from problem

    @staticmethod
    def said(data: bytes) -> str:
        """Returns the subject and all texts of a message."""
        message = email.message_from_bytes(data, policy=email.policy.default)
        parts = []
        for part in message.walk():
            parts.append(str(part["subject"] or ""))
            if part.get_content_maintype() == "text":
                try:
                    content = part.get_content()
                except (LookupError, ValueError, AttributeError, KeyError):
                    content = (part.get_payload(decode=True) or b"").decode("latin-1")
                parts.append(html_text(content) if part.get_content_subtype() == "html" else content)
        return "\n".join(parts)

    def text(self) -> str:
        return "\n".join(self.messages)

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        numbers = [int(re.sub(r"\D.*$", "", name.removeprefix("message "))) for name in ends(place or "")]
        if not 1 <= numbers[0] <= numbers[1] <= len(self.messages):
            raise Nowhere(f"{place} of {len(self.messages)}")
        return "\n".join(self.messages[numbers[0] - 1 : numbers[1]])


class Subtitles(Source):
    """Subtitles, by pysrt and webvtt."""

    whole = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.cues: list[tuple[float, float, str]] = []
        try:
            if path.suffix == ".vtt":
                import webvtt  # type: ignore[import-not-found]

                for cue in webvtt.from_string(decoded(self.data)):
                    self.cues.append((cue.start_in_seconds, cue.end_in_seconds, cue.text))
            else:
                import pysrt  # type: ignore[import-untyped]

                for cue in pysrt.from_string(decoded(self.data)):
                    self.cues.append((cue.start.ordinal // 1000, cue.end.ordinal // 1000, cue.text))
        except Exception as problem:  # noqa: BLE001
            raise Unreadable(repr(problem)[:150]) from problem

    def text(self) -> str:
        return re.sub(r"<[^>]*>|\{\\[^}]*\}", "", "\n".join(text for _, _, text in self.cues))

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        times = re.findall(r"(\d+):(\d\d):(\d\d)\.\d+", place or "")
        if len(times) not in (2, 4):
            raise Nowhere(f"cannot be read: {place}")
        first, last = (int(h) * 3600 + int(m) * 60 + int(s) for h, m, s in (times[0], times[-1]))
        cues = [text for a, b, text in self.cues if int(a) >= first and int(b) <= last]
        super().at(None, start, end)
        return re.sub(r"<[^>]*>|\{\\[^}]*\}", "", "\n".join(cues))


class Rows(Source):
    """Tables, by csv."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        text = decoded(self.data)
        try:
            dialect = csv.Sniffer().sniff(text[:8192], ",;\t|") if path.suffix == ".csv" else csv.excel_tab
            self.rows = list(csv.reader(io.StringIO(text), dialect))
        except csv.Error as problem:
            raise Unreadable(str(problem)) from problem

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        super().at(None, start, end)
        match = re.fullmatch(r"rows? (\d+)(?:-(\d+))?", place or "")
        if not match:
            raise Nowhere(f"cannot be read: {place}")
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        if not 1 <= first <= last <= len(self.rows):
            raise Nowhere(f"{place} of {len(self.rows)}")
        return "\n".join(" ".join(row) for row in [self.rows[0], *self.rows[first - 1 : last]])


class Rtf(Source):
    """RTF, by striprtf, which has no notes, and pandoc, which has no tables in tables: words may be in either of them.
    Their paragraphs are not numbered as ours, so a place is only the whole file."""

    whole = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        from striprtf.striprtf import rtf_to_text  # type: ignore[import-not-found]

        try:
            self.said = rtf_to_text(self.data.decode("latin-1"), errors="ignore")
        except Exception as problem:  # noqa: BLE001
            raise Unreadable(repr(problem)[:150]) from problem
        done = subprocess.run([pandoc(), "-f", "rtf", "-t", "plain", "--wrap=none", str(path)], capture_output=True)
        self.other = done.stdout.decode(errors="replace")

    def text(self) -> str:
        return str(self.said)

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        return f"{self.said}\n{self.other}"


class Book(Package):
    """EPUB, by its files and lxml."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.pages = {}
        for name in self.zip.namelist():
            if name.endswith((".xhtml", ".html", ".htm", ".xml")):
                data = self.zip.read(name)
                if b"<html" in data[:3000]:
                    self.pages[name] = decoded(data)

    def text(self) -> str:
        return "\n".join(html_text(page) for page in self.pages.values())

    def page(self, name: str) -> str:
        """Returns the name in the package of a file of a place."""
        file = name.partition("#")[0]
        found = [page for page in self.pages if page == file or page.endswith("/" + file)]
        found = found or [page for page in self.pages if page.endswith("/" + unquote(file)) or page == unquote(file)]
        if not found:
            raise Nowhere(f"no page {file}")
        return found[0]

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        names = [self.page(name) for name in ends(place or "")]
        for name, page in zip(ends(place or ""), names, strict=True):
            anchor = name.partition("#")[2]
            if anchor and not re.search(rf"(?:id|name)\s*=\s*[\"']{re.escape(anchor)}[\"']", self.pages[page]):
                raise Nowhere(f"no element is named {anchor} in {page}")
        if names[0] == names[1]:
            return html_text(self.pages[names[0]])
        return self.text()


class Pdf(Source):
    """PDF, by pdftotext."""

    whole = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        import subprocess

        done = subprocess.run(["pdftotext", "-enc", "UTF-8", str(path), "-"], capture_output=True)
        if done.returncode:
            raise Unreadable(done.stderr.decode(errors="replace")[:150])
        self.pages = done.stdout.decode(errors="replace").split("\f")

    def text(self) -> str:
        return "\n".join(self.pages)

    def at(self, place: str | None, start: int | None, end: int | None) -> str:
        numbers = [int(n) for n in re.findall(r"\d+", place or "")]
        if not numbers or not 1 <= numbers[0] <= numbers[-1] <= len(self.pages):
            raise Nowhere(f"{place} of {len(self.pages)}")
        return "\n".join(self.pages[numbers[0] - 1 : numbers[-1]])


class Rst(Source):
    """reStructuredText, by docutils as a whole and by its bytes in a range."""

    whole = True

    def text(self) -> str:
        from rst import said

        try:
            return said(decoded(self.data), self.path)
        except Exception as problem:  # noqa: BLE001
            raise Unreadable(repr(problem)[:150]) from problem


SOURCES: dict[str, type[Source]] = {
    "html": Html,
    "rst": Rst,
    "notebook": Notebook,
    "asciidoc": Source,
    "latex": Source,
    "subtitles": Subtitles,
    "mail": Mail,
    "csv": Rows,
    "docx": Word,
    "pptx": Slides,
    "xlsx": Sheets,
    "odt": OpenDocument,
    "odp": OpenDocument,
    "ods": OpenDocument,
    "rtf": Rtf,
    "epub": Book,
    "pdf": Pdf,
}
