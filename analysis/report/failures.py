"""What a report lacks because making it failed, in a line each."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.findings import Findings
from analysis.partial import MEASURES
from analysis.plots.section import Section
from records.counts import out_of


def not_drawn(sections: Iterable[Section]) -> tuple[str, ...]:
    """The plots, by the heading of their section."""
    return tuple(f"plots not drawn: {one.title}: {one.failed}" for one in sections if one.failed)


def not_analysed(findings: Findings) -> tuple[str, ...]:
    """The modules of metrics and the parts of trials, each with the reason in the first trial that lacks it."""
    found: dict[str, list[str]] = {}
    for trial in findings.trials:
        for name, why in trial.partial.items():
            found.setdefault(name, []).append(f"{trial.cell}/{trial.number}: {why}")
    return tuple(
        f"{_what(name)} in {out_of(len(whys), len(findings.trials))}, such as {whys[0]}"
        for name, whys in sorted(found.items())
    )


def _what(name: str) -> str:
    if name.startswith(MEASURES):
        return f"metrics not measured: {name.removeprefix(MEASURES)}"
    return f"not analysed: {name}"
