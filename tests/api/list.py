#!/usr/bin/env python3
"""Lists the public items in the documentation of the library, and compares the list with a stored one.

    list.py DOC            compares DOC/chunkmill, written by `cargo doc`, with chunkmill.txt in this folder
    list.py DOC --write    rewrites chunkmill.txt

This makes every change of the public interface visible in review as a change of a file. The list contains modules,
items with their declarations, and the inherent methods and constants of types, but not their traits. The stable
compiler outputs all this only in the pages of rustdoc, so the script reads those. A page that it does not
understand ends the script, so nothing is missed.
"""

import argparse
import difflib
import html
import re
import sys
from pathlib import Path

KEPT = Path(__file__).with_name("chunkmill.txt")
DECLARATION = re.compile(r'<pre class="rust item-decl"><code>(.*?)</code></pre>', re.DOTALL)
# The contents of a type's own `impl`: methods and constants, each with its own header.
OWN = re.compile(r'<section id="(?:method|associatedconstant|associatedtype)\.[^"]*"[^>]*>.*?<h4 class="code-header">(.*?)</h4>', re.DOTALL)
# The sections that follow it, with what comes from traits.
OTHERS = ("deref-methods", "trait-implementations", "synthetic-implementations", "blanket-implementations", "implementors", "foreign-impls")
BUTTON = re.compile(r'<summary class="hideme">.*?</summary>', re.DOTALL)


def text(markup):
    """Returns the text of some markup, as lines."""
    words = html.unescape(re.sub(r"<[^>]*>", "", BUTTON.sub("", markup).replace("</div>", "\n")))
    lines = (line.rstrip() for line in words.replace("\xa0", " ").splitlines())
    return [line for line in lines if line]


def listed(page):
    """Yields what a page declares: the item, and its own methods and constants."""
    markup = page.read_text()
    declared = DECLARATION.search(markup)
    if declared is None:
        sys.exit(f"{page}: no declaration found; this script does not understand the pages of this rustdoc")
    yield from text(declared.group(1))
    ends = [at for name in OTHERS if (at := markup.find(f'id="{name}"')) >= 0]
    # The methods of a trait are already in its declaration.
    start = markup.find('id="implementations"')
    if start >= 0:
        for own in OWN.findall(markup, start, min(ends, default=len(markup))):
            yield "  " + " ".join(" ".join(text(own)).split())


def everything(folder):
    """Returns the lines of the list."""
    index = (folder / "all.html").read_text()
    items = sorted({(name, page) for page, name in re.findall(r'<li><a href="([^"]+\.html)">([^<]+)</a></li>', index)})
    if len(items) < 50:
        sys.exit(f"{folder}/all.html lists {len(items)} items; this script does not understand the pages of this rustdoc")
    lines = []
    for name, page in items:
        lines += ["", name, *listed(folder / page)]
    return lines[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("doc", type=Path, help="folder written by cargo doc")
    parser.add_argument("--write", action="store_true", help="rewrite the stored list")
    arguments = parser.parse_args()
    found = everything(arguments.doc / "chunkmill")
    if arguments.write:
        KEPT.write_text("\n".join(found) + "\n")
        return
    kept = KEPT.read_text().splitlines()
    changes = list(difflib.unified_diff(kept, found, "kept", "found", lineterm=""))
    if changes:
        print("\n".join(changes), file=sys.stderr)
        sys.exit("the public interface has changed; if this is intended, run `make api` and add it to CHANGELOG.md")


main()
