"""Networks with the line for tests: links in force, timelines played, and raw frames sent and heard at nodes."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from emulated_links import profile

from emulation.kernel.namespace import in_namespace
from emulation.line.link import LineLink, applied
from emulation.plan import linkplan
from emulation.proof.probe import ProbePath, probe_path
from topologies.network import Network, Node

_ALL = 3  # ETH_P_ALL
_PACKET, _AUXDATA, _IGNORE_OUTGOING = 263, 8, 23  # linux/if_packet.h
_AUX = struct.Struct("IIIHHHH")
_VLAN_VALID = 0x10
BROADCAST = b"\xff" * 6


def mac(name: str) -> bytes:
    """Of a node of a star, whose server is the first."""
    number = 1 if name == "server" else 1 + int(name.removeprefix("sta"))
    return bytes([2, 0x77, 0, 0, number >> 8, number & 255])


@contextmanager
def line(network: Network, *, timeline_s: float = 10, seed: int = 1, **settings: Any) -> Iterator[LineLink]:
    """A link with these settings that the line makes, in force."""
    stations = list(network.ports.stations)
    plan = linkplan.plan(
        profile(**settings), stations, seed=seed, seconds=10, timeline_s=timeline_s, made_by="line"
    )  # fmt: skip
    with applied(plan, network.ports) as made:
        yield made


@contextmanager
def between(network: Network, sender: str, receiver: str, *, silence_s: float = 0.5) -> Iterator[ProbePath]:
    """Numbered datagrams from one node to another."""
    to = network.node(receiver)
    with probe_path(from_pid=network.node(sender).pid, to_pid=to.pid, to_address=to.address) as found:
        found.wait(silence_s)
        yield found


class Heard(NamedTuple):
    """A frame that a node received.  vlan: its tag, None = it has none; a tag is no part of `data`."""

    data: bytes
    vlan: int | None


class Wire:
    """Raw frames of every node of a network."""

    def __init__(self, sockets: dict[str, socket.socket]) -> None:
        self._sockets = sockets

    def send(self, sender: str, frame: bytes) -> None:
        """From a node's interface."""
        self._sockets[sender].send(frame)

    def heard(self, node: str, *, silence_s: float = 0.3) -> list[Heard]:
        """What a node has received, until nothing comes for that long."""
        one, found = self._sockets[node], []
        one.settimeout(silence_s)
        while True:
            try:
                data, extra, _, _ = one.recvmsg(2048, 256)
            except TimeoutError:
                return found
            status, _, _, _, _, tag, _ = _AUX.unpack(extra[0][2])
            found.append(Heard(data, tag if status & _VLAN_VALID else None))


@contextmanager
def wire(network: Network) -> Iterator[Wire]:
    """Packet sockets at every node."""

    def opened(node: Node) -> socket.socket:
        def work() -> socket.socket:
            found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            found.setsockopt(_PACKET, _AUXDATA, 1)
            found.setsockopt(_PACKET, _IGNORE_OUTGOING, 1)
            found.bind((node.interface, _ALL))
            return found

        return in_namespace(node.pid, work)

    with ExitStack() as stack:
        yield Wire({node.name: stack.enter_context(opened(node)) for node in network.nodes})


def frame(to: bytes, sender: str, kind: int, number: int = 0, size: int = 100, *, vlan: int | None = None) -> bytes:
    """An Ethernet frame whose body begins with its number.  vlan: a tag, which makes it 4 bytes longer."""
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    body = number.to_bytes(4, "big")
    return (to + mac(sender) + tag + struct.pack("!H", kind) + body).ljust(size + len(tag), b"\0")


def numbers(heard: Sequence[Heard]) -> list[int]:
    """Of frames, in the order in which they were heard."""
    return [int.from_bytes(one.data[14:18], "big") for one in heard]
