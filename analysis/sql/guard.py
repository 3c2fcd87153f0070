"""Queries read our views and nothing else: what a text of SQL is, before Spark is given it.

Spark's own words, strings, comments and quoted names are told apart, so that none of these rules is met by a string.
Files cannot be relations in the session that then runs it (`spark.sql.runSQLOnFiles`, see query.py).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from records.errors import WrongInput

READS = ("SELECT", "WITH", "DESCRIBE", "DESC", "SHOW")
# What may follow WITH and writes.
_WRITES = frozenset({"insert", "update", "delete", "merge", "overwrite"})
# They call any method of Java, or take a function or a relation by a text that nobody has seen.
_FUNCTIONS = frozenset({"reflect", "try_reflect", "java_method", "call_function", "identifier"})
_BEFORE_A_RELATION = frozenset({"from", "join", "describe", "desc", "table"})
_CLAUSES = frozenset({"select", "where", "on", "using", "group", "having", "order", "limit", "union", "window"})
_TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\r\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))
    |(?P<text>[rR](?:'[^']*(?:'|\Z)|"[^"]*(?:"|\Z))|'(?:[^'\\]|\\.)*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z))
    |(?P<quoted>`(?:[^`]|``)*(?:`|\Z))
    |(?P<word>[^\W\d]\w*)
    |(?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
Kind = Literal["text", "quoted", "word", "other"]


class Refused(WrongInput):
    """A statement that is not run; the message says which words it is for."""


@dataclass(frozen=True, slots=True)
class Token:
    """name: in small letters and without quotes, of words and quoted names; else the text."""

    kind: Kind
    name: str


def tokens(query: str) -> Iterator[Token]:
    """What is left of a query without blanks and comments.

    Spark compares words by their capitals, and the capitals of ſ and ı are S and I.
    """
    for found in _TOKEN.finditer(query):
        kind, text = found.lastgroup, found[0]
        if kind == "quoted":
            yield Token("quoted", text.strip("`").replace("``", "`").upper().lower())
        elif kind == "word":
            yield Token("word", text.upper().lower())
        elif kind == "text":
            yield Token("text", text)
        elif kind == "other":
            yield Token("other", text)


def check(query: str) -> None:
    """Raise Refused for anything but one query or description that only reads."""
    _check_comments(query)
    found = list(tokens(query))
    first = next((one for one in found if (one.kind, one.name) != ("other", "(")), None)
    if first is None:
        raise Refused(f"the query is empty; it begins with one of {', '.join(READS)}")
    if first.kind != "word" or first.name.upper() not in READS:
        raise Refused(f"{first.name.upper()}: a query only reads, and begins with one of {', '.join(READS)}")
    for one, after in zip(found, [*found[1:], Token("other", "")], strict=True):
        _check_pair(one, after)


def _check_comments(query: str) -> None:
    """Spark takes what stands in some of them for more of the query: there it would read other words than we do."""
    for text in (found[0] for found in _TOKEN.finditer(query) if found.lastgroup == "space"):
        if text.startswith("/*+"):
            raise Refused("/*+: hints are not allowed in queries")
        if "/*" in text[2:] and text.startswith("/*"):
            raise Refused("/*: a comment inside another one is not allowed in queries")
        if text.startswith("--") and text.endswith("\\"):
            raise Refused("--: a comment that ends in a backslash goes on in the next line, which is not allowed")


def _check_pair(one: Token, after: Token) -> None:
    if one.kind == "word" and one.name in _WRITES:
        raise Refused(f"{one.name.upper()}: queries only read; a column of that name stands in backquotes")
    if one.kind in ("word", "quoted") and one.name in _FUNCTIONS and (after.kind, after.name) == ("other", "("):
        raise Refused(f"{one.name}(): is not allowed in queries, as it could call or read anything")
    if (one.kind, one.name, after.kind) == ("word", "using", "text"):
        raise Refused("USING with a text runs a program, which queries may not")
    if (one.kind, one.name, after.kind) == ("other", ";", "word"):
        raise Refused(f"{after.name.upper()}: is a second statement; one query is run at a time")


def relations(query: str, names: Collection[str]) -> tuple[str, ...]:
    """Which of these names a query reads from, in their order, as far as its words show.

    A name may be a column's too: behind a comma it is a relation's where the last clause was FROM or a join.
    """
    said, listing, before = set(), False, ""
    for one in tokens(query):
        if one.kind == "word" and (one.name in _CLAUSES or one.name in _BEFORE_A_RELATION):
            listing = one.name in _BEFORE_A_RELATION
        elif before in _BEFORE_A_RELATION or (listing and before == ","):
            said.add(one.name)
        before = one.name
    return tuple(name for name in names if name in said)


def named(query: str, names: Collection[str]) -> tuple[str, ...]:
    """Which of these names a query has for anything, in their order; all of them where it shows what there is."""
    found = list(tokens(query))
    if any(one.kind == "word" for one in found[:1]) and found[0].name == "show":
        return tuple(names)
    said = {one.name for one in found if one.kind in ("word", "quoted")}
    return tuple(name for name in names if name in said)


def once(query: str, name: str) -> bool:
    """Whether a query surely reads a view at one place only: it names it once, and has no query inside it."""
    said = [one for one in tokens(query) if one.kind in ("word", "quoted")]
    words = [one.name for one in said if one.kind == "word"]
    return words.count("select") == 1 and "with" not in words and [one.name for one in said].count(name) == 1
