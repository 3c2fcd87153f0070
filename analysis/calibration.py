"""A calibration as a page (Markdown) that says for every profile and kernel what was asked and what came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from records.calibration import Calibrated
from records.link import LinkCheck

_PLACES = {
    "host": "the machine's own kernel, by tc",
    "line": "the machine's own kernel, by the line",
    "lab": "the lab kernel, by tc",
}
_RATES, _TIMES = ((1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")), ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))

_METHOD = """\
Each profile is applied to an access point of its own and probed both ways: the rate by a burst of full frames (asked is
what `frame_overhead` leaves of the profile's rate: 6.285 Mbit/s of 80211b-11m's 11), the one-way delay by the medians
of single small and single full frames on an idle link and the jitter by their interquartile range (expected of the
asked distribution), losses by the fate of every packet against the seeded list (*losses*: packets whose fate differs)
and by the share that was dropped (*loss*). By the line all of a packet's fate is seeded: *duplicates*, *damage* and
*reordered* are packets that differ from theirs, and *fates* is how far nine of ten delays are from theirs at most. The
median of a pareto jitter is below its mean, so such a link's median delay is below the delay that is asked. What is
tolerated is in `emulation/proof/delayproof.py`, `rateproof.py`, `lossproof.py`, `order.py` and `expectation.py`. A
profile with a timeline is measured as it begins. What does not hold is probed again, up to three times in all, because
a stall of the machine spoils times."""


def page(found: Sequence[Calibrated], *, command: str, revision: str, machine: str, picture: str) -> str:
    """The whole page.  picture: where the plot is, seen from the page."""
    return "\n".join(_lines(found, command=command, revision=revision, machine=machine, picture=picture)) + "\n"


def summary(found: Sequence[Calibrated]) -> str:
    """One sentence."""
    measured = [one for one in found if not one.refused]
    checks = [check for one in measured for group in one.checks for check in group]
    outside = sum(not check.holds for check in checks)
    text = f"{len(checks)} quantities of {len({one.profile for one in measured})} profiles were measured"
    return f"{text}, {outside or 'none'} outside what is tolerated."


def _lines(found: Sequence[Calibrated], *, command: str, revision: str, machine: str, picture: str) -> Iterator[str]:
    yield from ("# Calibration: what link profiles deliver of what they ask", "")
    yield from (f"Made by `{command}` at revision {revision}, on {machine}. {summary(found)}", "")
    yield _METHOD
    yield from ("", f"![Delivered over asked, for each profile, kernel and medium]({picture})", "")
    for place, name in _PLACES.items():
        measured = [one for one in found if one.by == place and not one.refused]
        if measured:
            yield from (f"## On {name}", "")
            yield from _table(measured)
            yield ""
    refused = [one for one in found if one.refused]
    if refused:
        yield from ("## Not measured", "", "| profile | kernel | medium | why |", "|---|---|---|---|")
        yield from (f"| {one.profile} | {one.kernel} | {one.medium} | {one.refused} |" for one in refused)
        yield ""
    worst = max((one.stall_s for one in found), default=0.0)
    repeated = [f"{one.profile} on {one.by} ({one.tries} times)" for one in found if one.tries > 1]
    yield f"Worst stall of the machine meanwhile: {worst * 1e3:.1f} ms (a 10 ms sleeper's lateness)."
    yield f"Probed more than once: {', '.join(repeated) or 'none'}."


def _table(measured: Sequence[Calibrated]) -> Iterator[str]:
    yield "| profile | direction | quantity | asked | delivered | tolerated | holds |"
    yield "|---|---|---|---:|---:|---:|---|"
    for one in sorted(measured, key=lambda one: one.profile):
        for stations, checks in zip(one.stations, one.checks, strict=True):
            name = one.profile if len(one.checks) == 1 else f"{one.profile} ({stations})"
            times = Counter((check.direction, check.quantity) for check in checks)
            for check in checks:
                alone = times[check.direction, check.quantity] == 1
                quantity = check.quantity if alone else f"{check.quantity}: {check.detail}"
                low, high = (text(value, check) for value in (check.low, check.high))
                yield (
                    f"| {name} | {check.direction} | {quantity} | {text(check.asked, check)} "
                    f"| {text(check.delivered, check)} | {low} to {high} | {'yes' if check.holds else '**no**'} |"
                )


def text(value: float, check: LinkCheck) -> str:
    """A value of a check with its unit."""
    if check.quantity == "loss":
        return f"{value * 100:.3g} %"
    if check.quantity in ("losses", "duplicates", "damage", "reordered", "bypass", "group", "group_air"):
        return f"{value:.3g}"
    units = _RATES if check.quantity == "rate" else _TIMES
    factor, unit = next((one for one in units if abs(value) >= one[0]), units[-1])
    return "0" if not value else f"{value / factor:.4g} {unit}"
