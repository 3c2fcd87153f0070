"""Small trials whose packets are written one by one, so that every part of every latency is known beforehand."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pcap_files import ACK, address, pcap
from synthetic_campaign import OFFSET, SECOND, START, Load, Spec, manifest

from analysis.capture.reader import read_capture
from analysis.journey.parts import PARTS
from analysis.journey.trial import Journey, journey
from analysis.recorded import Recorded
from records.manifest import Capture, Cell, Consumer, Manifest, Node, PlacedWorkload, Producer
from records.marker import Marker, pack_into
from records.messaging import BodyType
from records.schema import DELIVERED, PUBLISHED, Outcome

MS = 1_000_000
STATIONS, SERVER, SERVER_PORT = {"sta1": "10.0.0.1", "sta2": "10.0.0.3"}, "10.0.0.2", 7000
PRODUCER_PORT, CONSUMER_PORT = 40001, 40002
SIDES = ("station", "wired", "server")


def body(seq: int, *, producer: int = 1, sent_ns: int, size: int = 100, inside: bytes = b"") -> bytes:
    """A message's body: its marker, what is to stand inside, and filler."""
    made = bytearray(24) + bytearray(inside) + bytearray(b"\xa5" * (size - 24 - len(inside)))
    pack_into(made, Marker(producer, seq, sent_ns))
    return bytes(made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """A segment with its bytes.  up: from the station to the server."""

    up: bool
    seq: int
    payload: bytes
    ip_id: int
    station: str = "sta1"
    port: int = PRODUCER_PORT
    flags: int = ACK
    udp: bool = False

    def frame(self) -> bytes:
        ends = [(STATIONS[self.station], self.port), (SERVER, SERVER_PORT)]
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

    def ns(self, at_ms: float) -> int:
        return START + round(at_ms * MS)

    def packet(self, *, up: bool, seq: int, payload: bytes, ip_id: int | None = None, **more: Any) -> Packet:
        self.ids += 1
        more.setdefault("station", "sta1" if up else "sta2")
        more.setdefault("port", PRODUCER_PORT if up else CONSUMER_PORT)
        return Packet(up=up, seq=seq, payload=payload, ip_id=self.ids if ip_id is None else ip_id, **more)

    def seen(self, packet: Packet, damage: dict[int, int] | None = None, **at_ms: float) -> None:
        """The packet passes ports: side to milliseconds.  damage: byte of the frame to the bits that are turned."""
        whole = bytearray(packet.frame())
        for byte, bits in (damage or {}).items():
            whole[byte] ^= bits
        frame = bytes(whole)
        for side, when in at_ms.items():
            node = packet.station if side in ("station", "client") else "srv"
            self.frames.setdefault((node, side), []).append((self.ns(when) + self.offset_ns, frame))

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

    def manifest(self) -> Manifest:
        made = manifest(
            Cell(name="c", levels={"network": "nistnet-80211"}),
            1,
            spec=Spec(),
            load=Load(consumers=0),
            captures=[],
            rows={},
        )
        asked = made.workload.asked.model_copy(update={"body_bytes": 100, "body_type": self.body_type})
        work = PlacedWorkload(asked=asked, producers=self.producers, consumers=self.consumers)
        nodes = [Node(name=name, role="station", address=address) for name, address in STATIONS.items()]
        server = Node(name="srv", role="server", address=SERVER)
        return made.model_copy(
            update={"workload": work, "nodes": (*nodes, server), "clock_offset_ns": self.offset_ns}
        )  # fmt: skip

    def recorded(self, folder: Path) -> Recorded:
        found: Recorded = []
        wanted = {(name, side) for name in STATIONS for side in ("station", "client")} | {
            ("srv", "wired"), ("srv", "server"),
        }  # fmt: skip
        for node, side in sorted(wanted):
            if side not in self.sides:
                continue
            frames = sorted(self.frames.get((node, side), []), key=lambda one: one[0])
            path = folder / f"{node}-{side}.pcap"
            path.write_bytes(pcap(frames, snap=self.snap))
            capture = Capture(
                file=path.name, port=path.stem, side=side, node=node, snap_bytes=self.snap,  # type: ignore[arg-type]
                packets=len(frames), dropped=0, bytes=path.stat().st_size, sha256="0" * 64,
            )  # fmt: skip
            found.append((capture, read_capture(path)))
        return found

    def journey(self, folder: Path) -> Journey:
        return journey(
            self.recorded(folder),
            self.manifest(),
            published=pa.Table.from_pylist(self.published, schema=PUBLISHED),
            delivered=pa.Table.from_pylist(self.delivered, schema=DELIVERED),
            damaging=self.damaging,
        )


def parts_ms(found: Journey) -> list[dict[str, float]]:
    """The parts of each attributed delivery in milliseconds, without those that are zero."""
    assert np.allclose(found.parts.sum(axis=0), found.latency, rtol=0.01)
    return [
        {name: round(value * 1e3, 4) for name, value in zip(PARTS, column, strict=True) if value}
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


assert SECOND == 1000 * MS
