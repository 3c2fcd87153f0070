"""How much of the medium a trial used, from the counters in link.json."""

from __future__ import annotations

from collections.abc import Mapping

from results.link import LinkProof


def part_of(queue: str) -> str:
    """Which part of the medium a queue of that name carries: `uplink`, `downlink`, or `air`, which both share."""
    return next((part for part, word in (("downlink", "down"), ("uplink", "up")) if word in queue), "air")


def queue_rate(proof: LinkProof, queue: str) -> float | None:
    """Capacity in bit/s of the queue of that name, None when the link has no limit."""
    return proof.rate_downlink if part_of(queue) == "downlink" else proof.rate_uplink


def overhead(proof: LinkProof, queue: str) -> float:
    """Seconds that each frame takes on the medium beside its bits."""
    return proof.overhead_downlink if part_of(queue) == "downlink" else proof.overhead_uplink


def medium_metrics(
    proof: LinkProof, *, deliveries: float, mean_rates: Mapping[str, float] | None = None
) -> dict[str, float | None]:
    """Utilisation of the busiest queue of each part and of all, and bytes at layer 2 per delivered message.

    mean_rates: bit/s over the window, of the queues whose rate a timeline changes.
    """
    window = next((one for one in proof.counters if one.during == "window"), None)
    if window is None or window.seconds <= 0:
        return {"air_utilisation": None, "air_bytes_per_delivery": None}
    used: dict[str, float] = {}
    for queue in window.queues:
        if rate := (mean_rates or {}).get(queue.name, queue_rate(proof, queue.name)):
            name = f"utilisation_{part_of(queue.name)}"
            busy_s = queue.bytes * 8 / rate + queue.packets * overhead(proof, queue.name)
            used[name] = max(used.get(name, 0.0), busy_s / window.seconds)
    total = sum(queue.bytes for queue in window.queues)
    return {
        "air_utilisation": max(used.values(), default=None),
        "air_bytes_per_delivery": total / deliveries if deliveries and window.queues else None,
        **used,
    }
