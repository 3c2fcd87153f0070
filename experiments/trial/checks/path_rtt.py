"""Health check path_rtt: no connection may know a shorter round trip than its link allows.  Pure.

A connection that learnt another link's round trip is trained on it: BBR's min_rtt, HyStart's, RACK's, the
retransmission timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile import distribution
from emulation.profile.direction import DirectionProfile
from emulation.profile.timeline import LinkState
from records.manifest import Connecting, ConnectionEnd
from topologies.network import Network

# A round trip over a segment that was sent again is counted in ticks of TCP's timestamps: 1 ms (TCP_TS_HZ).
TOLERANCE_S = 0.001
BARE = "the scenario has clients connect before the link is applied (connect: bare)"
_MOST_NAMED = 3


def least_rtt_s(plan: LinkPlan, station: str) -> float:
    """The shortest round trip (s) that a station's packets can have until the window begins.

    Least delay of either direction that the jitter allows, ad hoc of the uplink, as the other station's packets meet
    theirs; transmission is not counted, as a full bucket lets a packet pass at once.  A timeline begins with the
    window: of its changes only those at its first moment count.
    """
    group = next(number for number, members in enumerate(plan.groups) if station in members)
    states = [plan.first, *(step.state for step in plan.steps if step.at_s <= 0)]
    return min(_rtt_s(plan, state, group) for state in states)


def _rtt_s(plan: LinkPlan, state: LinkState, group: int) -> float:
    return sum(_least_delay_s(linkplan.side(state, group, direction)) for direction in plan.directions)


def _least_delay_s(side: DirectionProfile) -> float:
    if side.reorder:
        return 0.0  # some packets do not wait for the delay
    return max(float(distribution.drawn(side).min()), 0.0) if side.jitter else side.delay


def least_path_rtt_s(plans: Mapping[str, LinkPlan], network: Network, station: str, servers: Iterable[str]) -> float:
    """The shortest round trip (s) from a station to the nearest server and back.  plans: by segment.

    servers: or other stations.
    """
    return min(
        sum(least_rtt_s(plans[segment], met) for segment, met in _crossed(plans, network, station, server))
        for server in servers
    )


def _crossed(plans: Mapping[str, LinkPlan], network: Network, station: str, server: str) -> Iterator[tuple[str, str]]:
    """Segments of a path with the stations whose settings its packets meet there, one way or the other."""
    for one in network.routes.path(station, server):
        yield one.segment, one.station
        if plans[one.segment].via == "ad-hoc":
            yield one.segment, server


def path_rtt(connecting: Connecting, least_of: Callable[[str], float], *, expected: bool) -> tuple[float | None, str]:
    """How many ends know a shorter round trip than the link allows, and which; None when nothing can be said.

    least_of: from a station to the shortest round trip (s) that the links allow it.
    expected: whether the stack has servers, or clients that speak to each other, so that there must be connections.
    """
    ends = [one for one in connecting.ends if one.min_rtt_s is not None]
    if not ends:
        return (None, "no TCP connection of a client was found at the window's start") if expected else (0, "no server")
    least = {station: least_of(station) for station in {one.station for one in ends}}
    short = [one for one in ends if (one.min_rtt_s or 0.0) < least[one.station] - TOLERANCE_S]
    if short:
        return len(short), f"{len(short)} of {_spoken(ends, least)}: {_named(short)}"
    return 0, f"all of {_spoken(ends, least)}"


def _spoken(ends: Sequence[ConnectionEnd], least: dict[str, float]) -> str:
    known = min(one.min_rtt_s or 0.0 for one in ends)
    allowed = sorted({f"{one * 1e3:.4g}" for one in least.values()}, key=float)
    return (
        f"{len(ends)} ends of connections, whose least round trip is {known * 1e3:.4g} ms; "
        f"the link allows {' or '.join(allowed)} ms"
    )


def _named(short: Sequence[ConnectionEnd]) -> str:
    said = [
        f"the {one.end}'s end of {one.station}:{one.port} knows {(one.min_rtt_s or 0.0) * 1e3:.4g} ms"
        for one in short[:_MOST_NAMED]
    ]
    return "; ".join(said) + (f" and {len(short) - _MOST_NAMED} more" if len(short) > _MOST_NAMED else "")
