"""How far a report goes into detail: its pages grow with the trials, and not everybody needs them."""

from __future__ import annotations

from enum import StrEnum

from records.errors import WrongInput


class Extent(StrEnum):
    """What `--pages` can be given.

    ALL: a page for each trial.  CELLS: report.html alone, with the details and plots of each cell.  NONE: report.html
    without these.
    """

    ALL = "all"
    CELLS = "cells"
    NONE = "none"

    @property
    def words(self) -> tuple[str, ...]:
        """As a command says it; nothing where it is what a report has anyway."""
        return () if self is Extent.ALL else ("--pages", self.value)


def extent_of(word: str) -> Extent:
    """The extent of that name; WrongInput, with those there are, where it is none."""
    if word not in set(Extent):
        raise WrongInput(f"--pages: {word!r} is not one of {', '.join(Extent)}")
    return Extent(word)
