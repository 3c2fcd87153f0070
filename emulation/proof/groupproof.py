"""Proof of frames to a group: every station hears those that its losses let through, and a shared air has each once."""

from __future__ import annotations

import socket
import struct
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Literal

from emulation.kernel.namespace import in_namespace
from emulation.link.link import Link
from emulation.plan.linkplan import LinkPlan, side
from emulation.plan.loss import SeededLosses
from emulation.profile import distribution
from emulation.profile.direction import DirectionProfile
from emulation.proof.probe import FRAME_OVERHEAD
from emulation.proof.proof import End
from records.directions import DIRECTIONS, Direction
from records.link import LinkCheck

_PORT, _ALL = 7009, "255.255.255.255"
_FRAMES, _FRAME_BYTES = 20, 100
_SPACING_S, _SILENCE_S = 0.005, 0.3
_NUMBER = struct.Struct("!Q")


def probe_group(plan: LinkPlan, link: Link, stations: Mapping[str, End]) -> tuple[LinkCheck, ...]:
    """Send datagrams to all from the first station, and count who has heard which.

    Both checks are exact, since losses are lists, but where frames are doubled on their way to the access point or come
    damaged: then any that are heard will do.  They are counted and not compared one by one, as stations of equal
    settings number their copies together, in whatever order jitter leaves them.  stations: all of the medium, in the
    order of their ports.  Nothing else may use the link meanwhile.  No check of a medium with a single station.
    """
    if len(stations) < 2:
        return ()
    sender = next(iter(stations))
    came, heard = foretold(plan, sender, list(stations))
    link.renumber()
    before = _sent(link)
    found = len(_heard(plan, sender, stations))
    most, exact = _FRAMES * (len(stations) - 1), not any(one.duplicate or one.corrupt for one in _sides(plan))
    what = f"{_FRAMES} frames to the {len(stations) - 1} others"
    checks = [_check("group", heard, found, (heard, heard) if exact else (1, most), f"heard of {what}")]
    if plan.profile.medium == "shared" and exact and link.queue_counts():
        air = _FRAMES + came
        checks.append(_check("group_air", air, _sent(link) - before, (air, air), f"times on the air of {what}"))
    return tuple(check.model_copy(update={"path": f"{sender} to all"}) for check in checks)


def foretold(plan: LinkPlan, sender: str, stations: list[str]) -> tuple[int, int]:
    """How many of the probe's frames the access point sends on (ad hoc: none), and how many copies are heard in all."""
    groups = {station: number for number, members in enumerate(plan.groups) for station in members}

    def losses(station: str, direction: Direction) -> SeededLosses:
        return plan.in_force(plan.first, groups[station], direction, station)

    others = [one for one in stations if one != sender]
    if plan.via == "ad-hoc":
        copies = _FRAMES * len(others)
        return 0, copies - losses(sender, "uplink").dropped_of(copies)
    came = _FRAMES - losses(sender, "uplink").dropped_of(_FRAMES)
    lists = {one.name: one for one in (losses(other, "downlink") for other in others)}
    met = Counter(losses(other, "downlink").name for other in others)
    return came, sum(came * met[name] - one.dropped_of(came * met[name]) for name, one in lists.items())


def _check(
    quantity: Literal["group", "group_air"], asked: int, delivered: int, tolerated: tuple[int, int], detail: str
) -> LinkCheck:  # fmt: skip
    low, high = tolerated
    return LinkCheck(
        quantity=quantity, direction="uplink", source="probe", asked=asked, delivered=delivered, low=low, high=high,
        detail=detail,
    )  # fmt: skip


def _sides(plan: LinkPlan) -> list[DirectionProfile]:
    return [side(plan.first, group, way) for group in range(len(plan.groups)) for way in plan.directions]


def _sent(link: Link) -> int:
    return sum(queue.packets for queue in link.queue_counts())


def _heard(plan: LinkPlan, sender: str, stations: Mapping[str, End]) -> set[tuple[str, int]]:
    """Station and number of every datagram that was heard."""
    sides = _sides(plan)
    spacing_s = _SPACING_S + len(DIRECTIONS) * max(one.airtime(_FRAME_BYTES) for one in sides)
    silence_s = _SILENCE_S + spacing_s + sum(distribution.longest(one) for one in sides)
    with ExitStack() as opened:
        receivers = {
            name: opened.enter_context(in_namespace(end.pid, _receiver))
            for name, end in stations.items()
            if name != sender
        }
        speaker = opened.enter_context(in_namespace(stations[sender].pid, _datagrams))
        speaker.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        speaker.bind((stations[sender].address, 0))  # from an address of an interface it goes out by that one
        body = bytes(_FRAME_BYTES - FRAME_OVERHEAD - _NUMBER.size)
        for number in range(_FRAMES):
            speaker.sendto(_NUMBER.pack(number) + body, (_ALL, _PORT))
            time.sleep(spacing_s)
        time.sleep(silence_s)
        return {(name, number) for name, one in receivers.items() for number in _arrived(one)}


def _arrived(receiver: socket.socket) -> set[int]:
    found = set[int]()
    while True:
        try:
            data = receiver.recv(2048)
        except BlockingIOError:
            return found
        if len(data) == _FRAME_BYTES - FRAME_OVERHEAD:
            found.add(_NUMBER.unpack_from(data)[0])


def _receiver() -> socket.socket:
    one = _datagrams()
    one.setblocking(False)
    one.bind(("", _PORT))
    return one


def _datagrams() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
