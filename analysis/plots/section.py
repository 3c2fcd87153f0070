"""What the modules of analysis/plots/sections have, and the sections that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

from analysis.findings import Findings
from analysis.partial import located
from analysis.plots import sections
from analysis.plots.style import Plot
from records.modules import modules

T = TypeVar("T")


class Drawing(Protocol):
    """TITLE: the section's heading."""

    TITLE: str

    def draw(self, findings: Findings) -> Sequence[Plot]:
        """The section's plots, none where there is nothing to draw.  Each has a file name of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Plots below a heading.  failed: why they could not be drawn, '' when they could."""

    title: str
    plots: tuple[Plot, ...]
    failed: str = ""


def drawn(findings: Findings) -> tuple[Section, ...]:
    """The sections that have plots, and those that failed."""
    every = [cast(Drawing, module) for module in modules(sections, having=("TITLE", "draw")).values()]
    found = tuple(section_of(one, findings) for one in every)
    return tuple(one for one in found if one.plots or one.failed)


def section_of(drawing: Drawing, findings: Findings) -> Section:
    """What a module draws; one that fails takes nothing of the report but its own plots."""
    try:  # round the tuple as well: somebody's module may yield its plots
        return Section(title=drawing.TITLE, plots=tuple(drawing.draw(findings)))
    except Exception as error:  # noqa: BLE001 - whatever it is, the other plots stand
        return Section(title=drawing.TITLE, plots=(), failed=located(error))


def attempted(draw: Callable[[], T], nothing: T) -> tuple[T, str]:
    """What is drawn, and ''; where that fails, `nothing` and why."""
    try:
        return draw(), ""
    except Exception as error:  # noqa: BLE001 - whatever it is, the other plots stand
        return nothing, located(error)
