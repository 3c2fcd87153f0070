"""Names of the report's files: a cell's name comes from a file, and may hold what no file name should."""

from __future__ import annotations

import hashlib
import re

from records.store import trial_name

_LONGEST = 120
_TRIAL_PAGE = re.compile(r"[A-Za-z0-9._=,+-]+-trial-[0-9]{3,}\.html")


def plain(name: str) -> str:
    """The name where it is safe in a path and in an address; else what of it is, and a digest that keeps it apart."""
    safe = re.sub(r"[^A-Za-z0-9._=,+-]+", "-", name).lstrip(".-")[:_LONGEST]
    if name and safe == name:
        return name
    return f"{safe}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}".lstrip("-")


def trial_page(cell: str, number: int) -> str:
    """File name of a trial's page."""
    return f"{plain(cell)}-{trial_name(number)}.html"


def is_trial_page(name: str) -> bool:
    """Whether a file's name is that of a trial's page."""
    return _TRIAL_PAGE.fullmatch(name) is not None
