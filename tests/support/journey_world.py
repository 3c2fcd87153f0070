"""Small trials whose packets are written one by one, so that every part of every latency is known beforehand."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pcap_files import ACK, address, pcap
from synthetic_campaign import OFFSET, SECOND, START, Load, Spec, manifest

from analysis.capture.ranges import index, to_json
from analysis.capture.reader import read_capture
from analysis.journey import markers
from analysis.journey.places import ends, views
from analysis.journey.seen import see, together
from analysis.journey.trial import Journey, journey
from analysis.large.files import Here
from analysis.large.pieces import SCHEMA, decode, files_of, pieces_of
from analysis.large.plan import PlannedCapture, TrialPlan
from analysis.looked import without_packets
from analysis.recorded import Recorded
from records.manifest import Capture, Cell, Consumer, Manifest, Node, PlacedWorkload, Producer
from records.marker import Marker, pack_into
from records.messaging import BodyType
from records.schema import DELIVERED, PUBLISHED, Outcome
from records.workload import Workload, workload_of

MS = 1_000_000
STATIONS = {"sta1": "10.0.0.1", "sta2": "10.0.0.3", "sta3": "10.0.0.4"}
SERVER, SERVER_PORT = "10.0.0.2", 7000
PRODUCER_PORT, CONSUMER_PORT = 40001, 40002
SIDES = ("station", "wired", "server")


def body(seq: int, *, producer: int = 1, sent_ns: int, size: int = 100, inside: bytes = b"") -> bytes:
    """A message's body: its marker, what is to stand inside, and filler."""
    made = bytearray(24) + bytearray(inside) + bytearray(b"\xa5" * (size - 24 - len(inside)))
    pack_into(made, Marker(producer, seq, sent_ns))
    return bytes(made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """A segment with its bytes.  up: from the station to the server.  server: its address; may be a station's."""

    up: bool
    seq: int
    payload: bytes
    ip_id: int
    station: str = "sta1"
    port: int = PRODUCER_PORT
    flags: int = ACK
    udp: bool = False
    server: str = SERVER
    server_port: int = SERVER_PORT

    def frame(self) -> bytes:
        ends = [(STATIONS[self.station], self.port), (self.server, self.server_port)]
        (src, sport), (dst, dport) = ends if self.up else ends[::-1]
        length, protocol = (8, 17) if self.udp else (20, 6)
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length + len(self.payload), self.ip_id, 0x4000, 64, protocol, 0)
        if self.udp:
            udp = struct.pack("!HHHH", sport, dport, 8 + len(self.payload), 0)
            return bytes(12) + b"\x08\x00" + ip + address(src) + address(dst) + udp + self.payload
        tcp = struct.pack("!HHIIBBHHH", sport, dport, self.seq % 2**32, 7, 0x50, self.flags, 512, 0, 0)
        return bytes(12) + b"\x08\x00" + ip + address(src) + address(dst) + tcp + self.payload


@dataclass(slots=True)
class World:
    """Times are milliseconds after the window's start.  Packets go where they are put."""

    offset_ns: int = OFFSET
    snap: int = 65535
    sides: Sequence[str] = SIDES
    consumers: tuple[Consumer, ...] = (Consumer(id=10, node="sta2", topic=0, ports=(CONSUMER_PORT,)),)
    producers: tuple[Producer, ...] = (Producer(id=1, node="sta1", topic=0, ports=(PRODUCER_PORT,)),)
    frames: dict[tuple[str, str], list[tuple[int, bytes]]] = field(default_factory=dict)
    published: list[dict[str, Any]] = field(default_factory=list)
    delivered: list[dict[str, Any]] = field(default_factory=list)
    ids: int = 0
    damaging: bool = False
    body_type: BodyType = BodyType.BYTES
    asked: Workload | None = None
    links: Sequence[str] = ()
    own_link: str = ""  # the one that `srv` is at the stations' end of
    relays: Sequence[str] = ()  # further servers, which pass on what is for `srv`
    serverless: bool = False  # `srv` is not there

    def ns(self, at_ms: float) -> int:
        return START + round(at_ms * MS)

    def packet(self, *, up: bool, seq: int, payload: bytes, ip_id: int | None = None, **more: Any) -> Packet:
        self.ids += 1
        more.setdefault("station", "sta1" if up else "sta2")
        more.setdefault("port", PRODUCER_PORT if up else CONSUMER_PORT)
        return Packet(up=up, seq=seq, payload=payload, ip_id=self.ids if ip_id is None else ip_id, **more)

    def seen(self, packet: Packet, damage: dict[int, int] | None = None, **at_ms: float) -> None:
        """The packet passes ports: side to milliseconds; of a link's ports `link1:station`, of others' `name:side`.

        damage: byte of the frame to the bits that are turned.
        """
        whole = bytearray(packet.frame())
        for byte, bits in (damage or {}).items():
            whole[byte] ^= bits
        frame = bytes(whole)
        for side, when in at_ms.items():
            node = packet.station if side in ("station", "client") else "srv"
            if ":" in side:
                node, side = side.split(":")  # noqa: PLW2901
            self.frames.setdefault((node, side), []).append((self.ns(when) + self.offset_ns, frame))

    def cross(
        self, ways: tuple[str, str], ports: tuple[int, int], *, seq: int, payload: bytes, t: Sequence[float],
        turns: Sequence[float] = (),
    ) -> None:  # fmt: skip
        """A packet goes from station to station.  t: at the sender's port, and at the receiver's if it arrives.

        turns: when it leaves by the wired port, and comes back in.
        """
        there = {"server": STATIONS[ways[1]], "server_port": ports[1]}
        packet = self.packet(up=True, seq=seq, payload=payload, station=ways[0], port=ports[0], **there)
        self.seen(packet, **dict(zip((f"{ways[0]}:station", f"{ways[1]}:station"), t, strict=False)))
        for when in turns:
            self.seen(packet, wired=when)

    def send(self, *, up: bool, seq: int, payload: bytes, t: Iterable[float], **more: Any) -> Packet:
        """A packet that gets through: the times at station, wired and server, in the order of its way."""
        packet = self.packet(up=up, seq=seq, payload=payload, **more)
        self.seen(packet, **dict(zip(SIDES if up else SIDES[::-1], t, strict=True)))
        return packet

    def publish(self, seq: int, *, at_ms: float, size: int = 100, producer: int = 1, inside: bytes = b"") -> bytes:
        """A row of the ledger and the message's body."""
        t_ns = self.ns(at_ms)
        self.published.append(
            {"producer": producer, "seq": seq, "topic": 0, "body_bytes": size, "property": None, "t_sched_ns": t_ns,
             "t_send_ns": t_ns, "t_ack_ns": t_ns, "outcome": int(Outcome.ACKED)}
        )  # fmt: skip
        return body(seq, producer=producer, sent_ns=t_ns, size=size, inside=inside)

    def deliver(self, seq: int, *, at_ms: float, consumer: int = 10, producer: int = 1) -> None:
        self.delivered.append(
            {"consumer": consumer, "producer": producer, "seq": seq, "t_recv_ns": self.ns(at_ms),
             "arrival": len(self.delivered), "redelivered": False}
        )  # fmt: skip

    def answered(self, seq: int, *, at_ms: float, to: int = 20, producer: int = 1) -> None:
        """The reply to a request comes to a caller's consumer, and is the answer of that caller's own send."""
        self.deliver(seq, at_ms=at_ms, consumer=to, producer=producer)
        caller = next(one.caller for one in self.consumers if one.id == to)
        mine = next(row for row in self.published if row["producer"] == caller and row["t_ack_ns"] is None)
        mine |= {"t_ack_ns": self.ns(at_ms), "outcome": int(Outcome.ACKED)}

    def manifest(self) -> Manifest:
        made = manifest(
            Cell(name="c", levels={"network": "nistnet-80211"}),
            1,
            spec=Spec(),
            load=Load(consumers=0),
            captures=[],
            rows={},
        )
        asked = (self.asked or made.workload.asked).model_copy(update={"body_bytes": 100, "body_type": self.body_type})
        work = PlacedWorkload(asked=asked, producers=self.producers, consumers=self.consumers)
        nodes = [Node(name=name, role="station", address=address) for name, address in STATIONS.items()]
        servers = [] if self.serverless else [Node(name="srv", role="server", address=SERVER)]
        relays = [Node(name=name, role="server", address=f"10.0.1.{n}") for n, name in enumerate(self.relays)]
        links = tuple(
            Capture(
                file=f"{name}.pcap", port=name, side="wired", node="r1", snap_bytes=96, packets=0, dropped=0, bytes=24,
                sha256="0" * 64, link=name,
            )
            for name in self.links
        )  # fmt: skip
        return made.model_copy(
            update={
                "captures": links,
                "workload": work,
                "nodes": (*nodes, *servers, *relays),
                "clock_offset_ns": self.offset_ns,
            }
        )

    def recorded(self, folder: Path) -> Recorded:
        found: Recorded = []
        wanted = {(name, side) for name in STATIONS for side in ("station", "client")}
        wanted |= {("srv", "wired"), ("srv", "server")}
        own = "" if self.serverless else "srv"
        more = [(link, side) for link in self.links for side in ("station", "wired")]
        more += [(relay, "server") for relay in self.relays]
        for node, side in sorted(wanted) + [one for one in more if one in self.frames]:
            if (node, side) not in more and side not in self.sides:
                continue
            frames = sorted(self.frames.get((node, side), []), key=lambda one: one[0])
            path = folder / f"{node}-{side}.pcap"
            path.write_bytes(pcap(frames, snap=self.snap))
            capture = Capture(
                file=path.name, port=path.stem, side=side, snap_bytes=self.snap,  # type: ignore[arg-type]
                packets=len(frames), dropped=0, bytes=path.stat().st_size, sha256="0" * 64,
                node=own if node == "srv" or (node, side) == (self.own_link, "station") else node,
                link=node if node in self.links else "",
            )  # fmt: skip
            found.append((capture, read_capture(path)))
        return found

    def journey(self, folder: Path) -> Journey:
        """What the whole captures tell, which is what connections tell that were looked at apart."""
        recorded, known = self.recorded(folder), self.manifest()
        published = pa.Table.from_pylist(self.published, schema=PUBLISHED)
        delivered = pa.Table.from_pylist(self.delivered, schema=DELIVERED)
        told = partial(journey, published=published, delivered=delivered, damaging=self.damaging)
        found = told(recorded, known)
        if recorded:
            with patch.object(markers, "AT_ONCE", FEW_BYTES):
                apart = [
                    see(views(some, ends(known)), ends(known), known, published=published, damaging=self.damaging)
                    for some in in_buckets(recorded, folder, damaging=self.damaging)
                ]
            empty = [(capture, NO_PACKETS) for capture, _ in recorded]
            _same(told(empty, known, shown=together(apart)), found)
        return found


BUCKETS, RANGE_BYTES, FEW_BYTES = 3, 1000, 37
NO_PACKETS = without_packets(records=0, kinds={}, damage=None)


def in_buckets(recorded: Recorded, folder: Path, *, damaging: bool) -> Iterator[Recorded]:
    """The captures in `folder` with some of the connections each, as the tasks that share a large trial have them."""
    captures = tuple(
        PlannedCapture(
            file=capture.file,
            ranges=tuple(to_json(one) for one in index(folder / capture.file, range_bytes=RANGE_BYTES).ranges),
        )
        for capture, _ in recorded
    )
    plan = TrialPlan(
        files=Here(folder), number=0, buckets=BUCKETS, captures=captures, bodies=True, damaging=damaging
    )  # fmt: skip
    sent = [batch for piece in pieces_of([plan], range(BUCKETS)) for batch in decode(plan, piece)]
    held = pa.Table.from_batches(sent, SCHEMA)
    for bucket in range(BUCKETS):
        files = files_of(plan, held.filter(pc.equal(held["bucket"], bucket)))
        yield [(capture, files.get(capture.file, NO_PACKETS)) for capture, _ in recorded]


def _same(one: Journey, other: Journey) -> None:
    assert replace(one, parts=None, latency=None) == replace(other, parts=None, latency=None)  # type: ignore[arg-type]
    assert np.array_equal(one.parts, other.parts)
    assert np.array_equal(one.latency, other.latency)


def parts_ms(found: Journey) -> list[dict[str, float]]:
    """The parts of each attributed delivery in milliseconds, without those that are zero."""
    assert np.allclose(found.parts.sum(axis=0), found.latency, rtol=0.01)
    return [
        {name: round(value * 1e3, 4) for name, value in zip(found.names, column, strict=True) if value}
        for column in found.parts.T.tolist()
    ]


UP, DOWN = b"SEND header\n\n", b"MESSAGE a longer header of the broker\n\n"
# Parts (ms) of the journey of `one_message`.
WHOLE = {"client": 2, "uplink_air": 10, "wire": 0.75, "broker": 2.5, "downlink_air": 19.75, "receiver": 5}


def one_message(world: World, *, up_seq: int = 1000, down_seq: int = 5000, inside: bytes = b"") -> bytes:
    """Message 0, scheduled at 0 ms and received at 40 ms, nothing lost."""
    text = world.publish(0, at_ms=0, inside=inside)
    world.send(up=True, seq=up_seq, payload=UP + text + b"\0", t=(2, 12, 12.5))
    world.send(up=False, seq=down_seq, payload=DOWN + text + b"\0", t=(15, 15.25, 35))
    world.deliver(0, at_ms=40)
    return text


# Parts (ms) of the journey of `one_request`.
THERE_AND_BACK = WHOLE | {
    "service": 20, "reply_uplink_air": 10, "reply_wire": 1, "reply_broker": 1.5, "reply_downlink_air": 19.5,
    "reply_receiver": 3,
}  # fmt: skip


def callers(*ports: int) -> World:
    """A world with a service (consumer 10) on sta2, and callers on sta1, one for each port.

    Number i from 0 is producer 1 + i, and has its replies as consumer 20 + i.
    """
    return World(
        asked=workload_of(
            {"pattern": "request_reply", "body_bytes": 100, "clients": {"callers": len(ports), "services": 1}}
        ),
        producers=tuple(Producer(id=1 + n, node="sta1", topic=0, ports=(port,)) for n, port in enumerate(ports)),
        consumers=(
            Consumer(id=10, node="sta2", topic=0, ports=(CONSUMER_PORT,)),
            *(Consumer(id=20 + n, node="sta1", topic=0, ports=(port,), caller=1 + n) for n, port in enumerate(ports)),
        ),
    )


def request(world: World, *, at_ms: float = 0, caller: int = 1, port: int = PRODUCER_PORT, turn: int = 0) -> bytes:
    """Request 0 of a caller comes to the service 40 ms later, as message number `turn` on each of its ways."""
    text = world.publish(0, at_ms=at_ms, producer=caller)
    world.published[-1] |= {"t_ack_ns": None, "outcome": int(Outcome.IN_DOUBT)}
    t = at_ms
    world.send(up=True, seq=1000, payload=UP + text, t=(t + 2, t + 12, t + 12.5), port=port)
    down = DOWN + text
    world.send(up=False, seq=5000 + turn * len(down), payload=down, t=(t + 15, t + 15.25, t + 35))
    world.deliver(0, at_ms=t + 40, producer=caller)
    return text


def reply(
    world: World, text: bytes, *, at_ms: float = 0, turn: int = 0, port: int = PRODUCER_PORT, crosses: bool = True
) -> None:
    """The service's reply to a request that was asked at at_ms, 20 ms after the service had that.

    crosses: whether it comes to the station of the caller, by the connection with this port.
    """
    t, up = at_ms, UP + text
    at = (t + 60, t + 70, t + 70.5)
    world.send(up=True, seq=9000 + turn * len(up), payload=up, t=at, station="sta2", port=CONSUMER_PORT)
    back = world.packet(up=False, seq=3000, payload=DOWN + text, station="sta1", port=port)
    world.seen(back, server=t + 72, wired=t + 72.5)
    if crosses:
        world.seen(back, station=t + 92)


def one_request(world: World) -> None:
    """Request 0, scheduled at 0 ms, served at 40 ms and answered at 95 ms, nothing lost."""
    reply(world, request(world))
    world.answered(0, at_ms=95)


assert SECOND == 1000 * MS
