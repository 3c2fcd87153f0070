"""How much of the medium a trial used, from the counters in link.json."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from records.airtime import Steps, capacity, carried, constant
from records.link import LinkProof, QueueCounters, by_number


def part_of(queue: str) -> str:
    """Which part of the medium a queue of that name carries: `uplink`, `downlink`, or `air`, which both share."""
    return next((part for part, word in (("downlink", "down"), ("uplink", "up")) if word in queue), "air")


def queue_rate(proof: LinkProof, queue: str) -> float | None:
    """Capacity in bit/s of the queue of that name as the trial begins, None when it has no limit."""
    return _limits(proof, queue)[0]


def overhead(proof: LinkProof, queue: str) -> float:
    """Seconds that each frame takes on the medium beside its bits."""
    return _limits(proof, queue)[1]


def _limits(proof: LinkProof, queue: str) -> tuple[float | None, float]:
    """Rate and overhead: on a duplex link those of the queue's own station, where they are recorded."""
    down, number = part_of(queue) == "downlink", queue.rpartition("-")[2]
    groups = {name: group for group in proof.states[0].groups for name in group.stations} if proof.states else {}
    if proof.medium == "duplex" and number.isdecimal() and int(number) < len(groups):
        group = groups[sorted(groups, key=by_number)[int(number)]]
        own = group.downlink if down else group.uplink
        return own.rate, own.overhead
    return (proof.rate_downlink, proof.overhead_downlink) if down else (proof.rate_uplink, proof.overhead_uplink)


def medium_metrics(
    proof: LinkProof,
    *,
    deliveries: float,
    steps: Mapping[str, Steps] | None = None,
    uses: Mapping[str, float] | None = None,
) -> dict[str, float | None]:
    """Utilisation of the busiest queue of each part and of all, and bytes at layer 2 per delivered message.

    Of all media that stations hang on; links between routers and servers do not count.

    steps: what the queues have over time that a timeline changes, in seconds after the window's start.  uses: what
    samples say of some of these (see series.window_uses), where they are nearer the truth than the window's sums.
    """
    used: dict[str, float] = {}
    sent: list[int] = []
    for medium in proof.media:
        window = next((one for one in medium.counters if one.during == "window"), None)
        if window is None or window.seconds <= 0:
            return {"air_utilisation": None, "air_bytes_per_delivery": None}
        for queue in window.queues:
            rate = queue_rate(medium, queue.name)
            sampled = queue.name if medium is proof else f"{medium.segment}/{queue.name}"
            own = (steps or {}).get(sampled, constant(rate, overhead(medium, queue.name)) if rate else None)
            if own is not None:
                name = f"utilisation_{part_of(queue.name)}"
                use = (uses or {}).get(sampled, _use(queue, own, window.seconds))
                used[name] = max(used.get(name, 0.0), use)
        sent += [queue.bytes for queue in window.queues]
    return {
        "air_utilisation": max(used.values(), default=None),
        "air_bytes_per_delivery": sum(sent) / deliveries if deliveries and sent else None,
        **used,
    }


def _use(queue: QueueCounters, steps: Steps, seconds: float) -> float:
    """Bits carried by bits that could have been; 0 where nothing could."""
    ends = np.array([0.0, seconds])
    bits = carried(steps, ends, np.array([0, queue.bytes]), np.array([0, queue.packets]))
    could = float(np.diff(capacity(steps, ends))[0])
    return float(bits[-1]) / could if could else 0.0
