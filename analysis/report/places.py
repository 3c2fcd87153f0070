"""Where links were emulated and by what, and where frames did not take their transmission time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from analysis.metric import Metric
from analysis.units import quantity
from records.airtime import airtime
from records.link import LinkProof
from records.manifest import Manifest

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

    On a link without a rate no frame takes any.
    """
    short = [(one, link) for one, link in records if one.transmission_time is False and _longest_s(link)]
    if not short:
        return ""
    cells = ", ".join(dict.fromkeys(one.cell.name for one, _ in short))
    longest = quantity(_SECONDS, max(_longest_s(link) for _, link in short))
    which = "this trial" if len(records) == 1 else f"{len(short)} of {len(records)} trials ({cells})"
    return (
        f"In {which} a frame did not take its transmission time on an idle link (up to {longest} for a full one, each "
        "way): tc needs netem for that, and the kernel had none. Rates, queues and losses are as asked; latency is too "
        "low by as much."
    )


def _longest_s(link: LinkProof) -> float:
    """What a full frame takes on the slower direction of a trial's link, seconds."""
    sides = ((link.rate_uplink, link.overhead_uplink), (link.rate_downlink, link.overhead_downlink))
    return max((float(airtime(_FULL_FRAME, rate=rate, overhead=cost)) for rate, cost in sides if rate), default=0.0)
