"""The nftables side of a link: which packets are lost, by lists, in the access point's namespace.

Every list that may be in force is loaded in a chain of its own, and a map says which chain a port's packets go
through.  So the losses of a port are changed by one map element, in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from emulation.accesspoint import Ports
from emulation.linkplan import LinkPlan
from emulation.loss import DIRECTIONS, Direction, SeededLosses
from emulation.nft import Nft
from emulation.timeline import LinkState

TABLE = "airwire"
_PORT_OF: dict[Direction, str] = {"uplink": "iifname", "downlink": "oifname"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCount:
    """IP packets that reached one list of the loss stage, and how many of them it dropped.  name: the list's."""

    name: str
    direction: Direction
    seen: int
    dropped: int


def program(plan: LinkPlan, ports: Ports) -> str:
    """The nft program that drops each list's packets, with the link in its first state.

    Frames are matched by IP ethertype so that the numbering counts only the experiment's own packets.
    """
    # `create` refuses a table that is there already, where `table` alone would add to it.
    lines = [f"create table bridge {TABLE}", f"table bridge {TABLE} {{"]
    for loss in plan.losses:
        lines += _chain(loss)
    for direction in DIRECTIONS:
        ways = ", ".join(f'"{port}" : goto {chain}' for port, chain in _ways(plan, ports, plan.first, direction))
        lines += [
            f"counter {direction}_dark {{ }}",
            f"chain dark_{direction} {{",
            f"counter name {direction}_dark drop",
            "}",
            f"map {direction}_way {{ typeof {_PORT_OF[direction]} : verdict; elements = {{ {ways} }}\n}}",
            f"chain {direction} {{",
            "type filter hook forward priority 0; policy accept;",
            f"ether type {{ ip, ip6 }} {_PORT_OF[direction]} vmap @{direction}_way",
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
    yield f"counter name {loss.name}_seen"
    if len(loss.indices):
        yield f"numgen inc mod {loss.modulus} @list_{loss.name} counter name {loss.name}_dropped drop"
    yield "}"


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


def read(nft: Nft, plan: LinkPlan) -> tuple[LossCount, ...]:
    """The counters, in the order of the plan's losses."""
    listing = json.loads(nft.run(f"list counters table bridge {TABLE}", json=True))
    packets = {
        item["counter"]["name"]: int(item["counter"]["packets"]) for item in listing["nftables"] if "counter" in item
    }
    return tuple(
        LossCount(
            name=loss.name,
            direction=loss.direction,
            seen=packets[f"{loss.name}_seen"],
            dropped=packets[f"{loss.name}_dropped"],
        )
        for loss in plan.losses
    )
