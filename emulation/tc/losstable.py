"""The nftables side of a link: which packets are lost, by lists, in the access point's namespace.

Every list that may be in force is loaded in a chain of its own, and a map says which chain a port's packets go
through.  So the losses of a port are changed by one map element, in one transaction.  A second map says which ports are
in an outage: it takes what their lists leave, and the numbering goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from emulation.kernel.accesspoint import Ports, check_there
from emulation.kernel.namespace import in_namespace
from emulation.kernel.nft import Nft
from emulation.kernel.nftables import counters, fill, open_netfilter
from emulation.plan.linkplan import LinkPlan
from emulation.plan.loss import SeededLosses
from emulation.profile.timeline import LinkState
from records.directions import DIRECTIONS, Direction

TABLE = "airwire"
# Before what br_netfilter (Docker loads it) does with a bridge's packets: up to Linux 6.6 it takes those that are
# forwarded away at -1, and gives them back behind everything of priority 0 and less.  nftables calls this `filter`.
PRIORITY = -200
_ENTRY_PRIORITY = -300
_IP = "ether type { ip, ip6 }"
_FORWARDED = f"meta pkttype != {{ broadcast, multicast }} {_IP}"  # the others are not: no port is flooded
_PORT_OF: dict[Direction, str] = {"uplink": "iifname", "downlink": "oifname"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCount:
    """IP packets that reached one list of the loss stage, and how many of them it dropped.  name: the list's."""

    name: str
    direction: Direction
    seen: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCount:
    """What the loss stage counted since it was loaded, and what it should have.

    dark: packets that met a list, were not on it, and were dropped by an outage, by direction.  entered: IP packets
    that came into the bridge, by the directions that have losses, just before the others were read and just after,
    counted where nothing can have taken them away yet.  received: frames that the ports have received since they exist,
    by the interfaces' own counters.
    """

    losses: tuple[LossCount, ...]
    dark: Mapping[Direction, int]
    entered: Mapping[Direction, tuple[int, int]]
    received: Mapping[Direction, int]

    def met(self, direction: Direction) -> int:
        """Packets that met a list; those of an outage do, too."""
        return sum(one.seen for one in self.losses if one.direction == direction)


def lists(plan: LinkPlan) -> str:
    """The nft program that makes the table, with a set for each list's numbers, all of them empty."""
    # `create` refuses a table that is there already, where `table` alone would add to it.
    lines = [f"create table bridge {TABLE}", f"table bridge {TABLE} {{"]
    listed = (loss for loss in plan.losses if len(loss.indices))
    lines += [f"set list_{loss.name} {{ typeof numgen inc mod {loss.modulus}; }}" for loss in listed]
    return "\n".join([*lines, "}", ""])


def program(plan: LinkPlan, ports: Ports) -> str:
    """The nft program that drops each list's packets, with the link in its first state.

    Frames are matched by IP ethertype so that the numbering counts only the experiment's own packets.
    """
    lines = [f"table bridge {TABLE} {{"]
    for loss in plan.losses:
        lines += _chain(loss)
    lines += [*(f"counter {direction}_entered {{ }}" for direction in DIRECTIONS), "chain entered {"]
    lines += [f"type filter hook prerouting priority {_ENTRY_PRIORITY}; policy accept;"]
    counted = "counter name downlink_entered " if "downlink" in plan.directions else ""
    lines += [f'{_FORWARDED} iifname "{ports.wired}" {counted}accept']
    lines += [f"{_FORWARDED} counter name uplink_entered", "}"]
    # A frame from one station to another goes up first; where it is turned at the wired side, it comes again.
    came: dict[Direction, str] = {"uplink": "", "downlink": f'iifname "{ports.wired}" ' if ports.turns else ""}
    for direction in DIRECTIONS:
        port, priority = _PORT_OF[direction], PRIORITY + DIRECTIONS.index(direction)
        lines += [
            f"counter {direction}_dark {{ }}",
            f"chain dark_{direction} {{",
            f"counter name {direction}_dark drop",
            "}",
        ]
        maps = _maps(plan, ports, plan.first, direction)
        for name, verdicts in maps.items():
            elements = ", ".join(f'"{one}" : {verdict}' for one, verdict in verdicts.items())
            held = f"elements = {{ {elements} }}\n" if elements else ""
            lines.append(f"map {name} {{ typeof {port} : verdict; {held}}}")
        lines += [
            f"chain {direction} {{",
            f"type filter hook forward priority {priority}; policy accept;",
            *(f"{came[direction]}{_IP} {port} vmap @{name}" for name in maps),
            "}",
        ]
    return "\n".join([*lines, "}", ""])


def _chain(loss: SeededLosses) -> Iterator[str]:
    yield f"counter {loss.name}_seen {{ }}"
    yield f"counter {loss.name}_dropped {{ }}"
    yield f"chain lose_{loss.name} {{"
    yield from _rules(loss)
    yield "}"


def _rules(loss: SeededLosses) -> Iterator[str]:
    yield f"counter name {loss.name}_seen"
    if len(loss.indices):
        yield f"numgen inc mod {loss.modulus} @list_{loss.name} counter name {loss.name}_dropped drop"


def _map_names(direction: Direction) -> tuple[str, str]:
    """The maps in the order in which a packet meets them: its losses, and its outage."""
    return f"{direction}_way", f"{direction}_out"


def _maps(plan: LinkPlan, ports: Ports, state: LinkState, direction: Direction) -> dict[str, dict[str, str]]:
    """What each map holds while the link is in `state`: port to verdict.

    A packet to a station that is out counts as one of the last direction whose losses it meets.
    """
    ways, out, met = {}, {}, direction in plan.directions
    for group, members in enumerate(plan.groups):
        for station in members:
            port = ports.stations[station]
            if met:
                ways[port] = f"jump lose_{plan.in_force(state, group, direction, station).name}"
            if state.dark or station in state.out:
                out[port] = f"goto dark_{direction if met else plan.directions[-1]}"
    return dict(zip(_map_names(direction), (ways, out), strict=True))


def load(nft: Nft, plan: LinkPlan, ports: Ports) -> None:
    """Load the lists, and then what drops by them; numbering starts at zero.  Nothing stays of what is refused."""
    nft.run(lists(plan))
    try:
        with in_namespace(ports.pid, open_netfilter) as netlink:
            for loss in plan.losses:
                fill(netlink, TABLE, f"list_{loss.name}", loss.indices)
        nft.run(program(plan, ports))
    except BaseException:
        unload(nft)
        raise


def renumber(plan: LinkPlan) -> str:
    """The program that numbers the packets of every list from zero again, in one transaction; counters too.

    The numbering lives in a list's rule and the counters in objects: both are made anew, the lists stay.
    """
    lines = []
    for loss in plan.losses:
        chain = f"bridge {TABLE} lose_{loss.name}"
        lines.append(f"flush chain {chain}")
        for counter in (f"{loss.name}_seen", f"{loss.name}_dropped"):
            lines += [f"delete counter bridge {TABLE} {counter}", f"add counter bridge {TABLE} {counter}"]
        lines += [f"add rule {chain} {rule}" for rule in _rules(loss)]
    return "\n".join(lines)


def change(plan: LinkPlan, ports: Ports, before: LinkState, after: LinkState) -> str:
    """The program that puts losses and outages of another state in force, in one transaction; '' if nothing changes."""
    lines = []
    for direction in DIRECTIONS:
        old, new = (_maps(plan, ports, state, direction) for state in (before, after))
        for name in _map_names(direction):
            was, now = old[name], new[name]
            for port in dict.fromkeys((*was, *now)):
                if was.get(port) == now.get(port):
                    continue
                element = f"element bridge {TABLE} {name}"
                lines += [f'delete {element} {{ "{port}" }}'] if port in was else []
                lines += [f'add {element} {{ "{port}" : {now[port]} }}'] if port in now else []
    return "\n".join(lines)


def unload(nft: Nft) -> None:
    """Remove the table."""
    nft.run(f"delete table bridge {TABLE}")


def read(plan: LinkPlan, ports: Ports) -> StageCount:
    """All counters; those of the losses in the order of the plan's."""
    frames, before, packets, after = in_namespace(ports.pid, lambda: _counted(ports))
    return StageCount(
        losses=tuple(
            LossCount(
                name=loss.name,
                direction=loss.direction,
                seen=packets[f"{loss.name}_seen"],
                dropped=packets[f"{loss.name}_dropped"],
            )
            for loss in plan.losses
        ),
        dark={direction: packets[f"{direction}_dark"] for direction in DIRECTIONS},
        entered={way: (before[f"{way}_entered"], after[f"{way}_entered"]) for way in plan.directions},
        received=frames,
    )


def _counted(ports: Ports) -> tuple[dict[Direction, int], dict[str, int], dict[str, int], dict[str, int]]:
    with open_netfilter() as netlink:
        return received(ports), counters(netlink, TABLE), counters(netlink, TABLE), counters(netlink, TABLE)


def received(ports: Ports) -> dict[Direction, int]:
    """Frames that came in by the stations' ports and by the wired one, in the calling thread's namespace.

    KernelError where one has gone.
    """
    lines = Path("/proc/thread-self/net/dev").read_text().splitlines()[2:]
    frames = {name.strip(): int(values.split()[1]) for name, _, values in (line.partition(":") for line in lines)}
    check_there(ports, frames)
    return {"uplink": sum(frames[port] for port in ports.stations.values()), "downlink": frames[ports.wired]}
