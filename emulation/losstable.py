"""The nftables side of loss: one rule and two counters per direction, in the access point's namespace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from emulation.loss import Direction, SeededLosses
from emulation.namespace import run_tool

TABLE = "airwire"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCount:
    """IP packets of a direction that reached the loss stage, and how many of them it dropped."""

    direction: Direction
    seen: int
    dropped: int


def program(wired: str, losses: Sequence[SeededLosses]) -> str:
    """The nft program that drops each direction's listed packets.

    Frames are matched by IP ethertype so that the numbering counts only the experiment's own packets.
    """
    # `create` refuses a table that is there already, where `table` alone would add to it.
    lines = [f"create table bridge {TABLE}", f"table bridge {TABLE} {{"]
    for loss in losses:
        name = loss.direction
        match = f'iifname != "{wired}"' if name == "uplink" else f'oifname != "{wired}"'
        lines += [f"counter {name}_seen {{ }}", f"counter {name}_dropped {{ }}"]
        rules = [f"{match} ether type {{ ip, ip6 }} counter name {name}_seen"]
        if len(loss.indices):
            elements = ", ".join(map(str, loss.indices.tolist()))
            lines.append(f"set {name}_list {{ typeof numgen inc mod {loss.modulus}; elements = {{ {elements} }}\n}}")
            rules.append(
                f"{match} ether type {{ ip, ip6 }} numgen inc mod {loss.modulus} @{name}_list "
                f"counter name {name}_dropped drop"
            )
        lines += [
            f"chain {name} {{",
            "type filter hook forward priority 0; policy accept;",
            *rules,
            "}",
        ]
    return "\n".join([*lines, "}", ""])


def load(pid: int, wired: str, losses: Sequence[SeededLosses]) -> None:
    """Load the lists; numbering starts at zero."""
    run_tool(["nft", "-f", "-"], pid=pid, text=program(wired, losses))


def unload(pid: int) -> None:
    """Remove the table."""
    run_tool(["nft", "delete", "table", "bridge", TABLE], pid=pid)


def read(pid: int, losses: Sequence[SeededLosses]) -> tuple[LossCount, ...]:
    """The counters, in the order of `losses`."""
    listing = json.loads(run_tool(["nft", "-j", "list", "counters", "table", "bridge", TABLE], pid=pid))
    packets = {
        item["counter"]["name"]: int(item["counter"]["packets"]) for item in listing["nftables"] if "counter" in item
    }
    return tuple(
        LossCount(
            direction=loss.direction,
            seen=packets[f"{loss.direction}_seen"],
            dropped=packets[f"{loss.direction}_dropped"],
        )
        for loss in losses
    )
