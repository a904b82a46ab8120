"""Checks arguments by their annotations, so that a wrong one is an error with its name and what to give instead.

Settings are not checked here: the library reads them, and knows more about them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from . import _chunkmill
from ._errors import SettingError

_Function = TypeVar("_Function", bound=Callable[..., Any])


def checked(function: _Function) -> _Function:
    """Makes a function check its arguments."""
    form = signature(function)

    @cache
    def kinds() -> dict[str, Any]:
        named = [of for of in form.parameters.values() if of.kind is not Parameter.VAR_KEYWORD and of.annotation is not Parameter.empty]
        return {of.name: _kind(of.annotation, function.__globals__) for of in named}

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            given = form.bind(*args, **kwargs).arguments
        except TypeError:
            # Python says itself what is too much and what is missing.
            return function(*args, **kwargs)
        for name, kind in kinds().items():
            if name in given and not _is(given[name], kind):
                raise SettingError(f"{name}: {_problem(given[name], kind)}")
        return function(*args, **kwargs)

    return cast(_Function, call)


def _kind(annotation: str, names: dict[str, Any]) -> Any:
    try:
        return eval(annotation, names)
    except NameError:
        # The name is for type checkers alone. The native module checks the value.
        return object


def _parts(kind: Any) -> list[Any]:
    """Returns the types of a union."""
    return list(get_args(kind)) if get_origin(kind) in (Union, UnionType) else [kind]


def _is(value: Any, kind: Any) -> bool:
    parts, origin, of = _parts(kind), get_origin(kind), get_args(kind)
    if len(parts) > 1:
        return any(_is(value, part) for part in parts)
    if kind is None:
        return value is None
    if origin is Literal:
        return isinstance(value, str) and value in of
    if origin in (list, tuple, Sequence):
        # Long lists are quick to check, because one value of each type tells: a list contains no lists and no literals.
        return isinstance(value, origin) and all(_is(part, of[0]) for part in {type(part): part for part in value}.values())
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    kind = origin or kind
    return not isinstance(kind, type) or getattr(kind, "_is_protocol", False) or isinstance(value, kind)


def _problem(value: Any, kind: Any) -> str:
    parts = _parts(kind)
    words = [str(word) for part in parts if get_origin(part) is Literal for word in get_args(part)]
    if words and isinstance(value, str):
        return f"`{value}` is not understood\n  help: {_chunkmill.one_of(value, words)}"
    lists = [get_args(part)[0] for part in parts if get_origin(part) in (list, tuple, Sequence)]
    wrong = "is a single text" if lists and isinstance(value, str) else f"is of type {type(value).__name__}"
    if isinstance(value, (list, tuple)):
        others = [type(part).__name__ for part in value if lists and not _is(part, lists[0])]
        if others:
            wrong = f"has a value of type {others[0]}"
    return f"{wrong}\n  help: give {_wanted(parts)}"


def _wanted(parts: Sequence[Any]) -> str:
    """Says what to give: `a text or a list of texts`."""
    # A path may be written as a text, and a list as a tuple.
    kinds = [get_origin(part) or part for part in parts]
    shown = [part for part, kind in zip(parts, kinds) if not (kind is str and os.PathLike in kinds) and kind not in (tuple, NoneType)]
    return " or ".join(dict.fromkeys(map(_words, shown)))


def _words(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if origin is Literal:
        return " or ".join(f"`{word}`" for word in get_args(kind))
    if origin in (list, Sequence):
        return f"a list of {_wanted(_parts(get_args(kind)[0])).partition(' ')[2]}s"
    plain = {str: "a text", bool: "True or False", int: "a whole number", float: "a number", os.PathLike: "a path", Mapping: "a dict"}
    return plain.get(origin, "a function" if origin is Callable else f"a {getattr(origin, '__name__', origin)}")
