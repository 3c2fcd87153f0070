"""What a latency or a response time is split into, and of which deliveries or requests of a trial it is told."""

from __future__ import annotations

from collections.abc import Iterable

LATENCY = "latency"
PARTS = (
    "client", "uplink_recovery", "uplink_air", "wire", "broker", "downlink_recovery", "downlink_air", "receiver",
)  # fmt: skip
# Of a response behind these: the service's own time, and the way of the reply.
REPLY_PARTS = (
    "service", "reply_uplink_recovery", "reply_uplink_air", "reply_wire", "reply_broker", "reply_downlink_recovery",
    "reply_downlink_air", "reply_receiver",
)  # fmt: skip
EVERY = (*PARTS, *REPLY_PARTS)
# From station to station: of what goes there at once, and of what goes by a broker on a station.
DIRECT = ("client", "recovery", "air", "receiver")
RELAYED = (
    "client", "to_broker_recovery", "to_broker_air", "broker", "from_broker_recovery", "from_broker_air", "receiver",
)  # fmt: skip
# By a stack's nodes that have stamped it.
BY_NODES = ("client", "own_node", "between_nodes", "forwarding", "last_node", "receiver")
WIRES = ("wire", "reply_wire")
_REPLY, _LINK, _SERVICE = "reply_", "link_", "service"
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
MEAN = "mean"
KEYS = (MEAN, *PERCENTILES)


def of_link(name: str) -> str:
    """The part that a link between routers or servers has, both ways over it together."""
    return f"{_LINK}{name}"


def of_reply(part: str) -> str:
    """The part of a reply's way that is like one of the request's; the service's own time stands for the client's."""
    return _SERVICE if part == "client" else f"{_REPLY}{part}"


def halves(part: str) -> tuple[str, str]:
    """Of the air between two stations: its way up to an access point, and down again."""
    return f"{part}_up", f"{part}_down"


def of_response(part: str) -> bool:
    """Whether only a response time has it: the service's own time, or a part of the reply's way."""
    return part == _SERVICE or part.startswith(_REPLY)


# In the order of the way: of the parts that stand for each other on different ways, those to and from a server first.
_ONE_WAY = (
    *PARTS[:3], *RELAYED[1:3], *halves(RELAYED[2]), *DIRECT[1:3], *halves(DIRECT[2]), *PARTS[3:7],
    *RELAYED[4:6], *halves(RELAYED[5]), *BY_NODES[1:5], PARTS[7],
)  # fmt: skip
_ORDER = (*_ONE_WAY, *map(of_reply, _ONE_WAY))


def kind(part: str) -> str:
    """The part of the request's way that a part of the reply's is like."""
    return part.removeprefix(_REPLY)


def is_link(part: str) -> bool:
    """Whether it is a link's."""
    return kind(part).startswith(_LINK)


def label(part: str) -> str:
    """What a part is called; a link's by the link's name."""
    way = "reply " if kind(part) != part else ""
    return way + (kind(part).removeprefix(_LINK) if is_link(part) else kind(part).replace("_", " "))


def ordered(parts: Iterable[str]) -> tuple[str, ...]:
    """Each part once, in the order of the way; links in the order in which they are given, behind the wire."""

    def place(part: str) -> int:
        return _ORDER.index(WIRES[kind(part) != part] if is_link(part) else part)

    return tuple(sorted(dict.fromkeys(parts), key=lambda part: (place(part), is_link(part))))
