#!/usr/bin/env python3
"""Lists what the documentation of the library shows, and compares it with the list that is kept.

    list.py DOC            compares DOC/chunkmill, which `cargo doc` made, with chunkmill.txt beside this file
    list.py DOC --write    writes that file anew

A change of the public interface is then a change of a file, and whoever reviews it sees it. Listed are modules, items with
their declarations, and what belongs to a type itself; which traits it has is not. A stable compiler tells all this only in
the pages of rustdoc, so they are read. Nothing is hidden by a page that is not understood: it ends the program.
"""

import argparse
import difflib
import html
import re
import sys
from pathlib import Path

KEPT = Path(__file__).with_name("chunkmill.txt")
DECLARATION = re.compile(r'<pre class="rust item-decl"><code>(.*?)</code></pre>', re.DOTALL)
# What is inside a type's own `impl`: methods and constants, each with a header of its own.
OWN = re.compile(r'<section id="(?:method|associatedconstant|associatedtype)\.[^"]*"[^>]*>.*?<h4 class="code-header">(.*?)</h4>', re.DOTALL)
# Where it ends, and what traits bring begins.
OTHERS = ("deref-methods", "trait-implementations", "synthetic-implementations", "blanket-implementations", "implementors", "foreign-impls")
BUTTON = re.compile(r'<summary class="hideme">.*?</summary>', re.DOTALL)


def text(markup):
    """The words of some markup, as lines."""
    words = html.unescape(re.sub(r"<[^>]*>", "", BUTTON.sub("", markup).replace("</div>", "\n")))
    lines = (line.rstrip() for line in words.replace("\xa0", " ").splitlines())
    return [line for line in lines if line]


def listed(page):
    """What a page declares: the item, and what belongs to it."""
    markup = page.read_text()
    declared = DECLARATION.search(markup)
    if declared is None:
        sys.exit(f"{page}: no declaration is found; this script does not understand the pages of this rustdoc")
    yield from text(declared.group(1))
    ends = [at for name in OTHERS if (at := markup.find(f'id="{name}"')) >= 0]
    # A trait's methods are in its declaration already.
    start = markup.find('id="implementations"')
    if start >= 0:
        for own in OWN.findall(markup, start, min(ends, default=len(markup))):
            yield "  " + " ".join(" ".join(text(own)).split())


def everything(folder):
    """The list, a line each."""
    index = (folder / "all.html").read_text()
    items = sorted({(name, page) for page, name in re.findall(r'<li><a href="([^"]+\.html)">([^<]+)</a></li>', index)})
    if len(items) < 50:
        sys.exit(f"{folder}/all.html names {len(items)} items; this script does not understand the pages of this rustdoc")
    lines = []
    for name, page in items:
        lines += ["", name, *listed(folder / page)]
    return lines[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("doc", type=Path, help="folder that cargo doc wrote")
    parser.add_argument("--write", action="store_true", help="keep what is found")
    arguments = parser.parse_args()
    found = everything(arguments.doc / "chunkmill")
    if arguments.write:
        KEPT.write_text("\n".join(found) + "\n")
        return
    kept = KEPT.read_text().splitlines()
    changes = list(difflib.unified_diff(kept, found, "kept", "found", lineterm=""))
    if changes:
        print("\n".join(changes), file=sys.stderr)
        sys.exit("the public interface has changed; if that is meant, `make api` keeps it, and CHANGELOG.md says it")


main()
