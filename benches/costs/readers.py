"""The texts that `run.py` repeats in formats that have a reader, and the files around them."""

from __future__ import annotations

import zipfile
from pathlib import Path

# Elements of a page and of other files in XML, open and closed.
XML = [
    "<p>a</p>", "<p>", "<p>a", "<a href='b'>a</a>", "<a href='b'>", "<b>", "<b>a</b>", "<i><p>", "<div>", "<div>a</div>", "</p>", "</b>", "<br>", "<!--", "<!--a-->",
    "<![CDATA[", "<?a?>", "&amp;", "&#x61;", "&", "<a ", "a='b' ",
]  # fmt: skip
HTML = [
    "<table>", "<tr>", "<td>", "<tr><td>a", "<table><tr><td>a</table>", "<td colspan=9 rowspan=9>a", "<tr><td>a<td>b", "<li>", "<ul>", "<ul><li>a</ul>", "<dl><dt>a<dd>b</dl>",
    "<h1>a</h1>", "<h1>", "<h2 id=a>a</h2>", "<pre>a\n</pre>", "<pre>", "<code>a</code>", "<img alt=a src=b>", "<svg>", "<math>", "<math><mi>a</mi></math>", "<nav>a</nav>", "<nav>",
    "<main>", "<article>a</article>", "<details><summary>a</summary>b</details>", "<select><option>a", "<script>", "<style>a</style>", "<template>", "<ruby>a<rt>b</ruby>",
    "<figure><figcaption>a</figcaption></figure>", "<sup>a</sup>", "<blockquote>", "<span hidden>a</span>", "<input>", "<button>a", "<form>a", "<font>", "<nobr>", "<noscript>a",
]  # fmt: skip
KINDS = {
    "html": XML + HTML,
    "rst": [
        "a\n=\n\n", "a\n\n", "* a\n", "* * ", "| a\n", "a::\n\n  b\n\n", ".. note:: a\n\n", ".. a: b\n\n", ".. |a| replace:: b\n\n", "|a| ", "`a`_ ", "`a <b>`_ ", "``a`` ", ":a:`b` ",
        "[1]_ ", ".. [1] a\n\n", "+-+\n|a|\n+-+\n\n", "+-", "= =\na b\n= =\n\n", "== ", ":a: b\n", "a\n  b\n", "  ", "1. a\n", ">>> a\n", "*a* ", "*", "`", "_", "|", ".. ", "::\n",
    ],
    "adoc": [
        "== a\n\n", "a\n\n", "* a\n", "** a\n", "*** a\n", ". a\n", "a:: b\n", "|===\n|a\n|===\n", "|===\n", "|a ", "----\na\n----\n", "----\n", "====\n", "[[a]]\n", "<<a>> ",
        "link:a[b] ", "image::a[]\n", "{a} ", ":a: b\n", "'''\n", "+\n", "// a\n", "////\n", "*a* ", "`a` ", "^a^", "footnote:[a] ", "include::a[]\n", "[a]\n", "NOTE: a\n\n", "kbd:[a] ",
    ],
    "tex": [
        "\\section{a}\n", "\\a{b} ", "\\a ", "{", "}", "{a}", "$a$ ", "$$", "\\[a\\] ", "\\(", "\\begin{a}\n", "\\begin{a}b\\end{a}\n", "\\item a\n", "\\verb|a| ", "% a\n", "a & b \\\\\n",
        "\\begin{itemize}\n\\item a\n\\end{itemize}\n", "\\begin{tabular}{l}\na & b \\\\\n\\end{tabular}\n", "\\footnote{a}", "\\href{a}{b} ", "\\ref{a} ", "\\newcommand{\\a}{b}\n", "\\'e",
        "``a'' ", "---", "~", "\\\\", "[", "a\n\n",
    ],
    "srt": ["1\n00:00:01,000 --> 00:00:02,000\na\n\n", "1\n", "00:00:01,000 --> 00:00:02,000\n", "a\n", "<i>a</i>\n", "{\\an8}a\n"],
    "vtt": ["00:01.000 --> 00:02.000\n<v a>b\n\n", "NOTE a\n\n", "STYLE\na\n\n", "<c.a>b</c>\n", "<00:01.000>"],
    "csv": ["a,b\n", "a,", ",", '"a",', '"', '"a""b"\n', "a;b\n", "\n", "a\n"],
    "eml": [
        "A: b\n", "A: b\n c\n", "> a\n", ">", "--b\n\na\n", "--b\nContent-Type: multipart/mixed; boundary=b\n\n", "--b\nContent-Type: text/html\n\n<p>a\n", "From a\n\n", "To: a <b@c>,\n",
        "--b\nContent-Type: message/rfc822\n\n", "=?utf-8?q?a?= ", "=3D",
    ],
    "rtf": [
        "{", "}", "{\\b a}", "\\par a", "\\'e9", "\\u233?", "\\trowd\\cell\\row ", "{\\*\\a b}", "{\\pict 00}", "\\bin9 ", "{\\fonttbl{\\f0 a;}}", "\\pard\\plain ", "{\\footnote a}",
        '{\\field{\\*\\fldinst HYPERLINK "a"}{\\fldrslt b}}',
    ],
    "ipynb": [
        "[", "{", '"a",', '{"cell_type": "code", "source": "a"},', '{"cell_type": "markdown", "source": ["# a\\n", "b"]},', '{"cell_type": "code", "source": [], "outputs": [{"text": "a"}]},',
    ],
    "docx": [
        "<w:p><w:r><w:t>a</w:t></w:r></w:p>", "<w:p>", "<w:p/>", "<w:r><w:t>a</w:t></w:r>", "<w:tbl>", "<w:tr>", "<w:tc>", "<w:ins>", "<w:del>", "<w:hyperlink>", "<w:tab/>", "<w:sdt>",
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl>", "<w:p><w:pPr><w:pStyle w:val='Heading1'/></w:pPr><w:r><w:t>a</w:t></w:r></w:p>", "<w:fldSimple>",
        "<w:p><w:pPr><w:numPr><w:ilvl w:val='8'/><w:numId w:val='1'/></w:numPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>", *XML,
    ],
    "pptx": [
        "<p:sp><p:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p></p:txBody></p:sp>", "<p:sp>", "<a:p>", "<a:p><a:r><a:t>a</a:t></a:r></a:p>", "<p:grpSp>", "<a:tbl>", "<a:tr>", "<a:tc>", *XML,
    ],
    "xlsx": [
        "<row r='1'><c r='A1' t='inlineStr'><is><t>a</t></is></c></row>", "<row>", "<c><v>1</v></c>", "<c r='XFD1048576' t='inlineStr'><is><t>a</t></is></c>", "<c t='str'><v>a</v></c>",
        "<row r='1048576'><c r='XFD1048576'><v>1</v></c></row>", *XML,
    ],
    "odt": [
        "<text:p>a</text:p>", "<text:p>", "<text:h text:outline-level='1'>a</text:h>", "<text:list>", "<text:list-item>", "<table:table>", "<table:table-row>", "<text:span>",
        "<text:list><text:list-item><text:p>a</text:p></text:list-item></text:list>", "<text:s text:c='9999999'/>", "<text:a>", "<text:note>", "<text:section>",
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row></table:table>", *XML,
    ],
    "ods": [
        "<table:table><table:table-row table:number-rows-repeated='9999'><table:table-cell table:number-columns-repeated='9999'><text:p>a</text:p></table:table-cell></table:table-row></table:table>",
        "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row>", "<table:table-cell table:number-columns-repeated='9999'/>", *XML,
    ],
    "epub": XML + HTML,
    "pdf": [
        "(a) Tj ", "0 0 Td (a) Tj ", "9 9 Td (a b) Tj ", "[(a) 9 (b)] TJ ", "q ", "Q ", "BT ET ", "/F 9 Tf ", "1 0 0 1 9 9 cm ", "(", "[", "<<", "<61> Tj ", "T* (a) Tj ", "BI ID EI ",
        "/a BDC ", "EMC ", "1 ",
    ],
}  # fmt: skip

OFFICE = "http://schemas.openxmlformats.org"
RELATED = f'xmlns:r="{OFFICE}/officeDocument/2006/relationships"'
OPEN = "urn:oasis:names:tc:opendocument:xmlns:"
OPEN_NAMES = f'xmlns:office="{OPEN}office:1.0" xmlns:text="{OPEN}text:1.0" xmlns:table="{OPEN}table:1.0"'


def related(kind: str, target: str) -> str:
    """Returns a part that names another one."""
    entry = f'<Relationship Id="r1" Type="{OFFICE}/officeDocument/2006/relationships/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{OFFICE}/package/2006/relationships">{entry}</Relationships>'


def opened(kind: str) -> tuple[str, str, str, dict[str, str]]:
    """Returns the parts of an OpenDocument file."""
    before = f"<office:document-content {OPEN_NAMES}><office:body><office:{kind}>"
    after = f"</office:{kind}></office:body></office:document-content>"
    return "content.xml", before, after, {"mimetype": f"application/vnd.oasis.opendocument.{kind}"}


# For each packed format the part with the words, what is before and after them, and the other parts.
PACKED = {
    "docx": (
        "word/document.xml",
        f'<w:document xmlns:w="{OFFICE}/wordprocessingml/2006/main"><w:body>',
        "</w:body></w:document>",
        {"_rels/.rels": related("officeDocument", "word/document.xml")},
    ),
    "pptx": (
        "ppt/slides/slide1.xml",
        f'<p:sld xmlns:p="{OFFICE}/presentationml/2006/main" xmlns:a="{OFFICE}/drawingml/2006/main"><p:cSld><p:spTree>',
        "</p:spTree></p:cSld></p:sld>",
        {
            "_rels/.rels": related("officeDocument", "ppt/presentation.xml"),
            "ppt/_rels/presentation.xml.rels": related("slide", "slides/slide1.xml"),
            "ppt/presentation.xml": f'<p:presentation xmlns:p="{OFFICE}/presentationml/2006/main" {RELATED}>'
            '<p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>',
        },
    ),
    "xlsx": (
        "xl/worksheets/sheet1.xml",
        f'<worksheet xmlns="{OFFICE}/spreadsheetml/2006/main"><sheetData>',
        "</sheetData></worksheet>",
        {
            "_rels/.rels": related("officeDocument", "xl/workbook.xml"),
            "xl/_rels/workbook.xml.rels": related("worksheet", "worksheets/sheet1.xml"),
            "xl/workbook.xml": f'<workbook xmlns="{OFFICE}/spreadsheetml/2006/main" {RELATED}>'
            '<sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
        },
    ),
    "odt": opened("text"),
    "ods": opened("spreadsheet"),
    "epub": (
        "a.xhtml",
        "<html><body>",
        "</body></html>",
        {
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
            "book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
            '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="a"/></spine></package>',
        },
    ),
}

# What is before and after the text in other formats.
AROUND = {
    "vtt": ("WEBVTT\n\n", ""),
    "eml": ("Subject: a\nContent-Type: multipart/mixed; boundary=b\n\n", ""),
    "rtf": ("{\\rtf1 ", "}"),
    "ipynb": ('{"nbformat": 4, "cells": [', "]}"),
    "pdf": (
        "%PDF-1.7\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj 2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj "
        "3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R/Resources<</Font<</F 4 0 R>>>>>> endobj "
        "4 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj 5 0 obj <<>> stream\nBT /F 12 Tf 9 9 Td ",
        "\nendstream endobj trailer <</Root 1 0 R>>",
    ),
}


def write(path: Path, text: bytes) -> None:
    """Writes a file with this text, in the format of its suffix."""
    suffix = path.suffix.removeprefix(".")
    if suffix in PACKED:
        part, before, after, parts = PACKED[suffix]
        with zipfile.ZipFile(path, "w") as package:
            for name, other in parts.items():
                package.writestr(name, other)
            package.writestr(part, before.encode() + text + after.encode())
    else:
        before, after = AROUND.get(suffix, ("", ""))
        path.write_bytes(before.encode() + text + after.encode())
