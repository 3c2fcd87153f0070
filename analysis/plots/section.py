"""What the modules of analysis/plots/sections have, and the sections that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

from analysis.findings import Findings
from analysis.plots import sections
from analysis.plots.style import Plot
from records.modules import tried
from records.raised import located

T = TypeVar("T")


class Drawing(Protocol):
    """TITLE: the section's heading."""

    TITLE: str

    def draw(self, findings: Findings) -> Iterable[Plot]:
        """The section's plots, none where there is nothing to draw.  Each has a file name of its own.

        Of one that yields them, those that came before a failure stand.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Plots below a heading.  failed: why there are no others, or none at all; '' when nothing failed."""

    title: str
    plots: tuple[Plot, ...]
    failed: str = ""


def drawn(findings: Findings, others: Iterable[Plot] = ()) -> tuple[Section, ...]:
    """The sections that have plots, and those that failed.  others: the report's other plots, which keep their names.

    A section of a module that has no heading, or none that can be read, is called like the module.
    """
    modules, broken = tried(sections, having=("TITLE", "draw"))
    found = {name: section_of(cast(Drawing, module), findings) for name, module in modules.items()}
    found |= {name: Section(title=name, plots=(), failed=why) for name, why in broken.items()}
    there = apart([one for _, one in sorted(found.items())], others)
    return tuple(one for one in there if one.plots or one.failed)


def apart(found: Iterable[Section], others: Iterable[Plot] = ()) -> Iterator[Section]:
    """Sections whose plots have file names of their own: a plot with a name that is taken is left out, and named."""
    whose = {plot.name: f"the plot {plot.title!r}" for plot in others}
    for one in found:
        kept, why = list[Plot](), [one.failed] if one.failed else []
        for plot in one.plots:
            if plot.name in whose:
                why.append(
                    f"plot {plot.name!r}, since {whose[plot.name]} has that name too, and each is a file of its own: "
                    "one of the two needs another name"
                )
            else:
                whose[plot.name] = f"a plot of the section {one.title!r}"
                kept.append(plot)
        yield Section(title=one.title, plots=tuple(kept), failed="; ".join(why))


def section_of(drawing: Drawing, findings: Findings) -> Section:
    """What a module draws; one that fails takes nothing of the report but what it would have drawn from there on."""
    plots: list[Plot] = []
    try:
        for plot in drawing.draw(findings):
            plots.append(_checked(plot))  # noqa: PERF401 - what came before a failure is kept
    except Exception as error:  # noqa: BLE001 - whatever it is, the other plots stand
        return Section(title=drawing.TITLE, plots=tuple(plots), failed=located(error))
    return Section(title=drawing.TITLE, plots=tuple(plots))


def _checked(plot: object) -> Plot:
    if not isinstance(plot, Plot):
        raise TypeError(f"draw gave {plot!r}, and has to give Plots alone (cells_plot gives None where no cell has it)")
    return plot


def attempted(draw: Callable[[], T], nothing: T) -> tuple[T, str]:
    """What is drawn, and ''; where that fails, `nothing` and why."""
    try:
        return draw(), ""
    except Exception as error:  # noqa: BLE001 - whatever it is, the other plots stand
        return nothing, located(error)
