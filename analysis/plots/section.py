"""What the modules of analysis/plots/sections have, and the sections that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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


def drawn(findings: Findings, taken: Iterable[str] = ()) -> tuple[Section, ...]:
    """The sections that have plots, and those that failed.  taken: names that other plots of the report have."""
    every = [cast(Drawing, module) for module in modules(sections, having=("TITLE", "draw")).values()]
    found = apart((section_of(one, findings) for one in every), taken)
    return tuple(one for one in found if one.plots or one.failed)


def apart(found: Iterable[Section], taken: Iterable[str]) -> Iterator[Section]:
    """Sections whose plots have file names of their own; one with a name that is taken has failed."""
    names = set(taken)
    for one in found:
        mine = [plot.name for plot in one.plots]
        if twice := [name for number, name in enumerate(mine) if name in names or name in mine[:number]]:
            why = f"its plot {twice[0]!r} has the name of another, and each is a file of its own: call it otherwise"
            yield Section(title=one.title, plots=(), failed=why)
        else:
            names.update(mine)
            yield one


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
