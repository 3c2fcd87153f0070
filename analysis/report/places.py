"""Where links were emulated and by what, and where frames did not take their transmission time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from analysis.compare import describe
from analysis.metric import Metric
from analysis.units import quantity
from records.airtime import airtime
from records.link import LinkProof
from records.manifest import Cell, Manifest

_SECONDS = Metric(name="transmission", label="transmission time", unit="s", better=None, about="")
_FULL_FRAME = 1514
_MEDIA = {"line": "the line", "tc": "tc"}
_KERNELS = {"host": "own kernel", "lab": "lab kernel"}


def place(manifest: Manifest) -> str:
    """What made a trial's link, and on which kernel; before there was a choice, tc did."""
    return f"{_MEDIA[manifest.medium or 'tc']}, {_KERNELS[manifest.kernel.chosen]}"


def places(manifests: Sequence[Manifest]) -> str:
    """The places of trials, with how many where they differ; empty when there are none."""
    told = Counter(map(place, manifests))
    if len(told) == 1:
        return next(iter(told))
    return ", ".join(f"{word} ({count})" for word, count in told.most_common())


def untimed(records: Sequence[tuple[Manifest, LinkProof]]) -> str:
    """A sentence about trials whose frames crossed an idle link in no time; '' when there are none.

    On a link without a rate no frame takes any.  What a link's own proof does not say, the manifest says of the first.
    """
    short = [(one, some) for one, link in records if (some := _untimed(one, link))]
    if not short:
        return ""
    cells = _which([one.cell for one, _ in short], [one.cell for one, _ in records])
    found = [link for _, some in short for link in some]
    longest = quantity(_SECONDS, max(map(_longest_s, found)))
    which = "this trial" if len(records) == 1 else f"{len(short)} of {len(records)} trials ({cells})"
    names = dict.fromkeys(link.segment for link in found if link.segment)
    where = f"an idle link ({', '.join(names)}; up to" if names else "an idle link (up to"
    return (
        f"In {which} a frame did not take its transmission time on {where} {longest} for a full one, each "
        "way): tc needs netem for that, and the kernel had none. Rates, queues and losses are as asked; latency is too "
        "low by as much."
    )


def _which(some: Sequence[Cell], every: Sequence[Cell]) -> str:
    """Cells in words: the levels of a factor that they have and no other has, else what each is called."""
    names = {one.name for one in some}
    for factor in some[0].levels:
        levels = dict.fromkeys(one.levels[factor] for one in some if factor in one.levels)
        if names == {one.name for one in every if one.levels.get(factor) in levels}:
            return ", ".join(describe({factor: level}) for level in levels)
    return ", ".join(dict.fromkeys(describe(one.levels) or one.name for one in some))


def _untimed(manifest: Manifest, link: LinkProof) -> list[LinkProof]:
    """Of a trial's links those on which a frame takes no transmission time although they have a rate."""
    first, *others = link.segments
    told = first.transmission_time if first.transmission_time is not None else manifest.transmission_time
    found = [(first, told), *((one, one.transmission_time) for one in others)]
    return [one for one, timed in found if timed is False and _longest_s(one)]


def _longest_s(link: LinkProof) -> float:
    """What a full frame takes on the slower direction of a trial's link, seconds."""
    sides = ((link.rate_uplink, link.overhead_uplink), (link.rate_downlink, link.overhead_downlink))
    return max((float(airtime(_FULL_FRAME, rate=rate, overhead=cost)) for rate, cost in sides if rate), default=0.0)
