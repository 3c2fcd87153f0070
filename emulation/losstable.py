"""The nftables side of a link: which packets are lost, by lists, in the access point's namespace.

Every list that may be in force is loaded in a chain of its own, and a map says which chain a port's packets go
through.  So the losses of a port are changed by one map element, in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from emulation.accesspoint import Ports
from emulation.linkplan import LinkPlan
from emulation.loss import DIRECTIONS, Direction, SeededLosses
from emulation.namespace import in_namespace
from emulation.nft import Nft
from emulation.timeline import LinkState

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

    dark: packets that an outage dropped, by direction.  entered: IP packets that came into the bridge, just before
    the others were read and just after, counted where nothing can have taken them away yet.  received: frames that
    the ports have received since they exist, by the interfaces' own counters.
    """

    losses: tuple[LossCount, ...]
    dark: Mapping[Direction, int]
    entered: Mapping[Direction, tuple[int, int]]
    received: Mapping[Direction, int]

    def met(self, direction: Direction) -> int:
        """Packets that met a list or an outage."""
        return self.dark[direction] + sum(one.seen for one in self.losses if one.direction == direction)


def program(plan: LinkPlan, ports: Ports) -> str:
    """The nft program that drops each list's packets, with the link in its first state.

    Frames are matched by IP ethertype so that the numbering counts only the experiment's own packets.
    """
    # `create` refuses a table that is there already, where `table` alone would add to it.
    lines = [f"create table bridge {TABLE}", f"table bridge {TABLE} {{"]
    for loss in plan.losses:
        lines += _chain(loss)
    lines += [*(f"counter {direction}_entered {{ }}" for direction in DIRECTIONS), "chain entered {"]
    lines += [f"type filter hook prerouting priority {_ENTRY_PRIORITY}; policy accept;"]
    lines += [f'{_FORWARDED} iifname "{ports.wired}" counter name downlink_entered accept']
    lines += [f"{_FORWARDED} counter name uplink_entered", "}"]
    for direction in DIRECTIONS:
        ways = ", ".join(f'"{port}" : goto {chain}' for port, chain in _ways(plan, ports, plan.first, direction))
        lines += [
            f"counter {direction}_dark {{ }}",
            f"chain dark_{direction} {{",
            f"counter name {direction}_dark drop",
            "}",
            f"map {direction}_way {{ typeof {_PORT_OF[direction]} : verdict; elements = {{ {ways} }}\n}}",
            f"chain {direction} {{",
            f"type filter hook forward priority {PRIORITY}; policy accept;",
            f"{_IP} {_PORT_OF[direction]} vmap @{direction}_way",
            "}",
        ]
    return "\n".join([*lines, "}", ""])


def _chain(loss: SeededLosses) -> Iterator[str]:
    yield f"counter {loss.name}_seen {{ }}"
    yield f"counter {loss.name}_dropped {{ }}"
    if len(loss.indices):
        elements = ", ".join(map(str, loss.indices.tolist()))
        yield f"set list_{loss.name} {{ typeof numgen inc mod {loss.modulus}; elements = {{ {elements} }}\n}}"
    yield f"chain lose_{loss.name} {{"
    yield from _rules(loss)
    yield "}"


def _rules(loss: SeededLosses) -> Iterator[str]:
    yield f"counter name {loss.name}_seen"
    if len(loss.indices):
        yield f"numgen inc mod {loss.modulus} @list_{loss.name} counter name {loss.name}_dropped drop"


def _ways(plan: LinkPlan, ports: Ports, state: LinkState, direction: Direction) -> Iterator[tuple[str, str]]:
    """The chain that each port's packets go through while the link is in `state`."""
    for group, members in enumerate(plan.groups):
        for station in members:
            if state.dark or station in state.out:
                chain = f"dark_{direction}"
            else:
                chain = f"lose_{plan.in_force(state, group, direction, station).name}"
            yield ports.stations[station], chain


def load(nft: Nft, plan: LinkPlan, ports: Ports) -> None:
    """Load the lists; numbering starts at zero."""
    nft.run(program(plan, ports))


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
    """The program that puts the losses of another state in force, in one transaction; '' when they are the same."""
    lines = []
    for direction in DIRECTIONS:
        old = dict(_ways(plan, ports, before, direction))
        new = dict(_ways(plan, ports, after, direction))
        for port in (port for port in new if new[port] != old[port]):
            lines.append(f'delete element bridge {TABLE} {direction}_way {{ "{port}" }}')
            lines.append(f'add element bridge {TABLE} {direction}_way {{ "{port}" : goto {new[port]} }}')
    return "\n".join(lines)


def unload(nft: Nft) -> None:
    """Remove the table."""
    nft.run(f"delete table bridge {TABLE}")


def read(nft: Nft, plan: LinkPlan, ports: Ports) -> StageCount:
    """All counters; those of the losses in the order of the plan's."""
    received = in_namespace(ports.pid, lambda: _received(ports))
    before, packets, after = (_packets(nft) for _ in range(3))
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
        entered={way: (before[f"{way}_entered"], after[f"{way}_entered"]) for way in DIRECTIONS},
        received=received,
    )


def _packets(nft: Nft) -> dict[str, int]:
    listing = json.loads(nft.run(f"list counters table bridge {TABLE}", json=True))
    return {
        item["counter"]["name"]: int(item["counter"]["packets"]) for item in listing["nftables"] if "counter" in item
    }


def _received(ports: Ports) -> dict[Direction, int]:
    """Frames that came in by the stations' ports and by the wired one, in the calling thread's namespace."""
    lines = Path("/proc/thread-self/net/dev").read_text().splitlines()[2:]
    frames = {name.strip(): int(values.split()[1]) for name, _, values in (line.partition(":") for line in lines)}
    return {"uplink": sum(frames[port] for port in ports.stations.values()), "downlink": frames[ports.wired]}
