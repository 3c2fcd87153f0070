"""Pages of trials that are kept from one report to the next, since drawing one costs far more than reading one.

A page has parts that move, which stand between marks: what other trials of the campaign have a share in.  All else, its
bones, is drawn from its subject alone.  A page ends with a seal over itself, its subject and the code that drew it,
which nobody can make who has not this user's key; where that is right, only the parts are written anew.
"""

from __future__ import annotations

import hmac
import json
import re
import sys
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path

from analysis.details import Asked, Details
from analysis.reductions.code import changed_since_start, code_digest
from analysis.report.page import Pages
from analysis.report.pagekey import page_key
from records.record import Record

DRAWN_BY = ("analysis.report.trialpages", "analysis.report.trialview", "analysis.report.page")
_PART = re.compile(r"<!--part (\w+)-->.*?<!--end of \1-->", re.DOTALL)
_SEAL = re.compile(r"<!--seal ([0-9a-f]{64})-->\n")
_SEAL_LENGTH = len("<!--seal -->\n") + 64


def part(name: str, text: str = "") -> str:
    """A part that moves, between its marks: no text that a page shows can hold these, as its `<` is escaped."""
    return f"<!--part {name}-->{text}<!--end of {name}-->"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPages:
    """earlier: the folder that the last report has them in, None or not there without one.

    drawn_by: digests of code and templates.  key: what pages are sealed with; where either is empty none is sealed, and
    none is kept.
    """

    earlier: Path | None
    drawn_by: str
    key: bytes

    def page(self, name: str, subject: object, draw: Callable[[], str], parts: Mapping[str, str]) -> str:
        """The page of that name: its bones as the last report has them, or as `draw` gives them, with these parts.

        subject: all that `draw` looks at: dataclasses, records, plain values.  parts: text by name, of every part whose
        marks are in the bones.
        """
        told = self._told(subject)
        bones = self._kept(name, told) if told else None
        if bones is None:
            bones = draw()
        page = _PART.sub(lambda found: part(found[1], parts[found[1]]), bones)
        return f"{page}<!--seal {self._seal(told, page)}-->\n" if told else page

    def _told(self, subject: object) -> str:
        """What a page is drawn from, '' where nothing is kept, or it cannot be told whether this is the same."""
        if not self.drawn_by or not self.key:
            return ""
        try:
            return json.dumps([self.drawn_by, subject], default=_plain)
        except TypeError:
            return ""

    def _kept(self, name: str, told: str) -> str | None:
        """The earlier page, None where there is none of this subject, or it is not what was written."""
        path = self.earlier / name if self.earlier else None
        try:
            text = path.read_bytes().decode() if path and path.is_file() else ""
        except (OSError, UnicodeDecodeError):
            return None
        page, seal = text[:-_SEAL_LENGTH], _SEAL.fullmatch(text[-_SEAL_LENGTH:])
        return page if seal and hmac.compare_digest(seal[1], self._seal(told, page)) else None

    def _seal(self, told: str, page: str) -> str:
        message = f"{len(told)} {told}{page}".encode(errors="surrogatepass")
        return hmac.digest(self.key, message, "sha256").hex()


def kept_pages(earlier: Path | None, pages: Pages) -> KeptPages:
    """What keeps the pages that `pages` fills in; nothing where a module has changed since this process began."""
    if changed_since_start(DRAWN_BY):
        return KeptPages(earlier=None, drawn_by="", key=b"")
    drawn_by = f"{code_digest(DRAWN_BY)} {pages.digest()} {sys.version}"
    return KeptPages(earlier=earlier, drawn_by=drawn_by, key=page_key())


def _plain(value: object) -> object:
    """What json.dumps does not know, in what it knows; TypeError for anything else."""
    if isinstance(value, Asked) and (digest := value.digest()):
        return digest
    if isinstance(value, Record):
        return value.model_dump()
    if isinstance(value, Path):
        return None  # where a campaign stands is no part of what its trials are
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, Set):
        return sorted(value)
    if is_dataclass(value) and not isinstance(value, type | Asked | Details):
        return {one.name: getattr(value, one.name) for one in fields(value) if one.init}
    raise TypeError(type(value).__name__)
