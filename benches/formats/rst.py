"""Text of a reStructuredText file by docutils, with the directives and roles of Sphinx as plain containers."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docutils.core
from docutils import nodes, utils
from docutils.parsers.rst import Directive, directives, roles

CODE = ("code-block", "sourcecode", "literalinclude", "graphviz", "testcode", "testoutput", "testsetup", "doctest")
NOTHING = (
    "index currentmodule module program default-domain highlight sectionauthor tabularcolumns cssclass rst-class"
    " toctree default-role role testcleanup autoclass automodule autofunction automethod autosummary include ifconfig"
).split()

_role = roles.role
_directive = directives.directive


def plain_role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = None
) -> Any:
    """A role that docutils does not know is its text, or its title."""
    del name, lineno, inliner, options, content
    said = utils.unescape(text)
    match = re.match(r"(.*?)\s*<[^<>]*>$", said, re.S)
    return [nodes.inline(rawtext, match.group(1) if match and match.group(1) else said)], []


def role(name: str, language: Any, lineno: int, reporter: Any) -> tuple[Any, Any]:
    """Finds a role; all that are unknown are plain."""
    found, messages = _role(name, language, lineno, reporter)
    return (found, messages) if found else (plain_role, [])


class AnyOption(dict[str, Any]):
    """Accepts all options."""

    def __missing__(self, key: str) -> Callable[[Any], Any]:
        return lambda value: value

    def __bool__(self) -> bool:
        return True


class Container(Directive):
    """A directive that docutils does not know: its argument and its content."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = AnyOption()

    def run(self) -> list[Any]:
        """Returns the content, parsed, or as it is in code."""
        if self.name.lower() in NOTHING:
            return []
        if self.name.lower() in CODE:
            return [nodes.literal_block("", "\n".join(self.content))]
        found: list[Any] = [nodes.paragraph("", self.arguments[0])] if self.arguments else []
        inside = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, inside, match_titles=True)
        return found + list(inside.children)


def directive(name: str, language: Any, document: Any) -> tuple[Any, Any]:
    """Finds a directive; all that are unknown are containers."""
    if name.lower() in CODE or name.lower() in NOTHING:
        return Container, []
    found, messages = _directive(name, language, document)
    return (found, messages) if found else (Container, [])


# docutils looks both up by these names of its modules.
roles.role = role
directives.directive = directive

SETTINGS = {
    "report_level": 5,
    "halt_level": 6,
    "file_insertion_enabled": False,
    "raw_enabled": True,
    "syntax_highlight": "none",
    "_disable_config": True,
}


def said(text: str, path: Path) -> str:
    """Returns the text of a document without comments, messages and what docutils generates."""
    settings = {**SETTINGS, "warning_stream": io.StringIO()}
    tree = docutils.core.publish_doctree(text, source_path=str(path), settings_overrides=settings)
    unsaid = (nodes.system_message, nodes.comment, nodes.substitution_definition, nodes.raw, nodes.generated)
    for node in [found for kind in unsaid for found in tree.findall(kind)]:
        if node.parent is not None:
            node.parent.remove(node)
    for topic in list(tree.findall(nodes.topic)):
        if "contents" in topic["classes"] and topic.parent is not None:
            topic.parent.remove(topic)
    images = [image["alt"] for image in tree.findall(nodes.image) if image.get("alt")]
    return "\n".join([tree.astext(), *images])
