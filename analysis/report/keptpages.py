"""Pages of trials that are kept from one report to the next: drawing one takes as long as fifty take to be read.

A page has parts that move, which stand between marks: what other trials of the campaign have a share in.  All else, its
bones, is drawn from its subject alone.  At its end a page says a digest over its subject, the code that drew it and its
bones; where that is still so, only the parts are written anew.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path

from analysis.details import Asked, Details
from analysis.reductions.code import changed_since_start, code_digest
from analysis.report.page import Pages
from records.record import Record

DRAWN_BY = "analysis.report.trialview"
_PART = re.compile(r"<!--part (\w+)-->.*?<!--end of \1-->", re.DOTALL)
_SAID = "<!--made of "


def part(name: str, text: str = "") -> str:
    """A part that moves, between its marks: no text that a page shows can hold these, as its `<` is escaped."""
    return f"<!--part {name}-->{text}<!--end of {name}-->"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPages:
    """earlier: the folder that the last report has them in, None or not there without one.

    code: of what draws them, '' = no page is kept.
    """

    earlier: Path | None
    code: str

    def page(self, name: str, subject: object, draw: Callable[[], str], parts: Mapping[str, str]) -> str:
        """The page of that name: its bones as the last report has them, or as `draw` gives them, with these parts.

        subject: all that `draw` looks at: dataclasses, records, plain values.  parts: text by name, of every part whose
        marks are in the bones.
        """
        try:
            told = json.dumps([self.code, subject], default=_plain) if self.code else ""
        except TypeError:  # of what is not kept in a file it cannot be told whether it is the same
            told = ""
        bones = self._kept(name, told) if told else None
        if bones is None:
            bones = draw()
        page = _PART.sub(lambda found: part(found[1], parts[found[1]]), bones)
        return page + _said(told, bones) if told else page

    def _kept(self, name: str, told: str) -> str | None:
        """The bones of the earlier page, None where there is none of this subject, or it is not what was written."""
        try:
            text = (self.earlier / name).read_bytes().decode() if self.earlier else ""
        except (OSError, UnicodeDecodeError):
            return None
        page, mark, said = text.rpartition(_SAID)
        bones = _PART.sub(lambda found: part(found[1]), page)
        return bones if mark + said == _said(told, bones) else None


def kept_pages(earlier: Path | None, pages: Pages) -> KeptPages:
    """What keeps the pages that `pages` fills in; nothing where a module has changed since this process began."""
    if changed_since_start(DRAWN_BY):
        return KeptPages(earlier=None, code="")
    return KeptPages(earlier=earlier, code=f"{code_digest(DRAWN_BY)} {pages.digest()}")


def _said(told: str, bones: str) -> str:
    digest = hashlib.sha256(told.encode(errors="surrogatepass"))
    digest.update(bones.encode(errors="surrogatepass"))
    return f"{_SAID}{digest.hexdigest()}-->\n"


def _plain(value: object) -> object:
    """What json.dumps does not know, in what it knows; TypeError for anything else."""
    if isinstance(value, Asked) and value.digest:
        return value.digest
    if isinstance(value, Record):
        return value.model_dump_json()
    if isinstance(value, Path):
        return None  # where a campaign stands is no part of what its trials are
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, Set):
        return sorted(value)
    if is_dataclass(value) and not isinstance(value, type | Asked | Details):
        return {one.name: getattr(value, one.name) for one in fields(value) if one.init}
    raise TypeError(type(value).__name__)
