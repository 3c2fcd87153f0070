"""Records in the shapes of older versions, and what they are in today's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from records.directions import DIRECTIONS, Direction
from records.quantities import parse_rate, parse_share, parse_time

_Sides = dict[Direction, Mapping[str, Any]]
# In both shapes under the same key.
_KEPT = ("body_bytes", "loop", "ack", "body_type", "receive", "memory_limit_mb", "when_full")


def client(old: Mapping[str, Any]) -> dict[str, Any]:
    """A producer or consumer from when all connections were TCP's, and known by their ports."""
    sockets = [{"protocol": "tcp", "port": port} for port in old["ports"]]
    return {"sockets": sockets} | {key: value for key, value in old.items() if key != "ports"}


def workload(old: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest's workload from when there was publish/subscribe only, and all of it stood in one level.

    What it did not say (how properties were drawn, prefetch, when subscribers were away) is left at the defaults.
    """
    producers, consumers = old["producers"], old["consumers"]
    asked = {key: old[key] for key in _KEPT if key in old}
    asked["clients"] = {"publishers": len(producers), "subscribers": len(consumers), "topics": len(old["topics"])}
    asked["rate"] = old.get("rate_per_producer")
    asked["guarantee"] = {
        "subscription": "durable" if any(one.get("durable") for one in consumers) else "nondurable",
        "delivery": "persistent" if old["persistent"] else "nonpersistent",
    }
    selectors = [one["selector"] for one in consumers if one.get("selector")]
    if selectors:
        low, high = selectors[0]
        asked["selector"] = {"low": low, "high": high, "of": max(high, 100)}
    return {"asked": asked, "producers": producers, "consumers": consumers}


def link(profile: Mapping[str, Any], stations: Sequence[str]) -> dict[str, Any]:
    """States and interruptions of a link.json from when only the manifest's profile told of them.

    Changes of a timeline stand there as they were written, with units.
    """
    own = profile.get("stations") or {}
    members = [[name for name in stations if name not in own], *([name] for name in own)]
    sides: list[_Sides] = [{way: one.get(way) or {} for way in DIRECTIONS} for one in (profile, *own.values())]
    states = [_state(None, members, sides)]
    for at_s, change in sorted(_changes(profile), key=lambda one: one[0]):
        common = {key: value for key, value in change.items() if key not in DIRECTIONS}
        sides = [{way: {**side[way], **common, **(change.get(way) or {})} for way in DIRECTIONS} for side in sides]
        states.append(_state(at_s, members, sides))
    return {"states": states, "interruptions": list(_interruptions(profile, stations))}


def _changes(profile: Mapping[str, Any]) -> Iterator[tuple[float, Mapping[str, Any]]]:
    for event in profile.get("timeline") or ():
        handover = event.get("handover") or {}
        if settings := event.get("change") or handover.get("to"):
            yield event["at"] + handover.get("lasts", 0.0), settings


def _interruptions(profile: Mapping[str, Any], stations: Sequence[str]) -> Iterator[dict[str, Any]]:
    for event in profile.get("timeline") or ():
        if lasts := event.get("outage") or (event.get("handover") or {}).get("lasts"):
            yield {"at_s": event["at"], "lasts_s": lasts, "stations": list(event.get("stations") or stations)}


def _state(since_s: float | None, members: Sequence[Sequence[str]], sides: Sequence[_Sides]) -> dict[str, Any]:
    groups = [
        {"stations": names, **{way: _direction(side[way]) for way in DIRECTIONS}}
        for names, side in zip(members, sides, strict=True)
    ]
    return {"since_s": since_s, "groups": groups}


def _direction(side: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rate": parse_rate(side.get("rate")),
        "overhead": parse_time(side.get("frame_overhead") or 0.0),
        "corrupt": parse_share(side.get("corrupt") or 0.0),
    }
