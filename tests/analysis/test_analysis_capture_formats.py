"""Other tools as the oracle: scapy writes, editcap converts, tshark says what is in each format and link type."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from pcap_files import pcap
from random_captures import random_capture
from random_frames import LINKS, random_frame
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, CookedLinux, CookedLinuxV2, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from analysis.capture.addresses import text
from analysis.capture.reader import Capture, read_capture

_FIELDS = ("frame.number", "frame.time_epoch", "frame.len", "frame.cap_len", "ip.src", "ipv6.src", "ip.dst",
           "ipv6.dst", "tcp.srcport", "udp.srcport", "tcp.dstport", "udp.dstport", "tcp.seq_raw", "tcp.ack_raw",
           "tcp.len", "tcp.window_size_value", "ip.id", "ip.ttl", "ipv6.hlim")  # fmt: skip
# Only headers are compared: what payloads look like to tshark, and how it reassembles, is of no matter here.
_PLAIN = ("ip.defragment:FALSE", "ipv6.defragment:FALSE", "tcp.desegment_tcp_streams:FALSE")

# With both addresses given, scapy asks nobody for one.
_ENDS = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}

Row = dict[str, str]


def tshark(path: Path) -> list[Row]:
    """TCP and UDP packets with their outermost headers, as tshark reads them."""
    return [row for row in dissected(path) if transport(row)]


def tshark_of_each(packets_in: Mapping[Path, int], folder: Path) -> list[list[Row]]:
    """The same of several files of so many packets: to start tshark costs more than to read a file.

    Sections make one pcapng file of many.  editcap reads pcap by the code by which tshark reads it.
    """
    sections = []
    for path in packets_in:
        section = path
        if not path.read_bytes().startswith(b"\n\r\r\n"):
            section = folder / "section"
            subprocess.run(["editcap", "-F", "pcapng", str(path), str(section)], check=True, timeout=60)
        sections.append(section.read_bytes())
    (folder / "all").write_bytes(b"".join(sections))
    rows = dissected(folder / "all")
    assert len(rows) == sum(packets_in.values())
    pieces = []
    for count in packets_in.values():
        piece, rows = rows[:count], rows[count:]
        numbered = [row | {"frame.number": str(number)} for number, row in enumerate(piece, start=1)]
        pieces.append([row for row in numbered if transport(row)])
    return pieces


def transport(row: Row) -> bool:
    return bool(row["tcp.srcport"] or row["udp.srcport"])


def dissected(path: Path) -> list[Row]:
    """All packets."""
    options = [part for preference in _PLAIN for part in ("-o", preference)]
    fields = [part for field in _FIELDS for part in ("-e", field)]
    command = ["tshark", "-n", "-r", str(path), *options, "-T", "fields", "-E", "occurrence=f", *fields]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    return [dict(zip(_FIELDS, line.split("\t"), strict=True)) for line in output.splitlines()]


def ours(capture: Capture) -> list[Row]:
    packets, rows = capture.packets, []
    for row in range(len(packets)):
        src, dst = (text(int(numbers[row]), capture.v6) for numbers in (packets.src, packets.dst))
        v6, tcp = ":" in src, packets.protocol[row] == 6
        seconds = Decimal(int(packets.t_ns[row])) / 10**9
        sport, dport = str(packets.sport[row]), str(packets.dport[row])
        ip_id, ttl = f"0x{packets.ip_id[row]:04x}", str(packets.ttl[row])
        values = (
            str(packets.frame[row] + 1), f"{seconds:.9f}", str(packets.wire[row]), str(packets.kept[row]),
            *(("", src, "", dst) if v6 else (src, "", dst, "")),
            *((sport, "", dport, "") if tcp else ("", sport, "", dport)),
            *((str(packets.seq[row]), str(packets.ack[row]), str(packets.payload[row]), str(packets.window[row]))
              if tcp else ("", "", "", "")),
            *(("", "", ttl) if v6 else (ip_id, ttl, "")),
        )  # fmt: skip
        rows.append(dict(zip(_FIELDS, values, strict=True)))
    return rows


def check(path: Path, *, least: int, theirs: list[Row] | None = None) -> Capture:
    capture = read_capture(path)
    theirs = tshark(path) if theirs is None else theirs
    assert len(theirs) >= least
    assert ours(capture) == theirs
    return capture


def some_packets() -> list[Packet]:
    v4, v6 = IP(src="10.0.0.1", dst="10.0.0.2", id=77, ttl=9), IPv6(src="fe80::1", dst="2001:db8::2", hlim=7)
    tcp = TCP(sport=1000, dport=2000, seq=5, ack=6, flags="PA", window=99, options=[("NOP", None)] * 4)
    udp = UDP(sport=3000, dport=4000)
    heads = [v4, v6, v6 / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt(), v6 / IPv6ExtHdrFragment()]
    return [head / part / Raw(bytes(k)) for head in heads for part in (tcp, udp) for k in (0, 1, 700)]


FRONTS = {
    "ethernet": (1, [Ether(**_ENDS)]),
    "vlan": (1, [Ether(**_ENDS) / Dot1Q(vlan=5)]),
    "two tags": (1, [Ether(type=0x88A8, **_ENDS) / Dot1Q(vlan=5) / Dot1Q(vlan=9)]),
    "cooked": (113, [CookedLinux()]),
    "cooked 2": (276, [CookedLinuxV2()]),
    "raw": (101, []),
}


@pytest.fixture(scope="module")
def of_scapy(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], tuple[Path, Path, list[Row]]]:
    """By link and whether times are of nanoseconds: a pcap file, the same as pcapng, and what tshark reads."""
    folder = tmp_path_factory.mktemp("scapy")
    files = {}
    for name, (link, front) in FRONTS.items():
        frames = [front[0] / packet if front else packet for packet in some_packets()]
        for nano in (True, False):
            path, converted = folder / f"{name}-{nano}.pcap", folder / f"{name}-{nano}.pcapng"
            wrpcap(str(path), frames, nano=nano, linktype=link)
            subprocess.run(["editcap", "-F", "pcapng", str(path), str(converted)], check=True, timeout=60)
            files[name, nano] = path, converted
    theirs = tshark_of_each({path: len(some_packets()) for path, _ in files.values()}, folder)
    return {key: (*both, rows) for (key, both), rows in zip(files.items(), theirs, strict=True)}


@pytest.mark.parametrize("nano", [True, False])
@pytest.mark.parametrize("name", FRONTS)
def test_packets_of_scapy_on_every_link(
    of_scapy: dict[tuple[str, bool], tuple[Path, Path, list[Row]]], name: str, nano: bool
) -> None:
    path, converted, theirs = of_scapy[name, nano]
    count = len(some_packets())
    capture = check(path, least=count, theirs=theirs)
    assert (len(capture.packets), capture.others) == (count, {})
    check(converted, least=count, theirs=theirs)


@pytest.fixture(scope="module")
def of_random_frames(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Path, list[Row]]]:
    """By link."""
    folder = tmp_path_factory.mktemp("frames")
    paths = []
    for link in LINKS:
        random = Random(link)
        frames = [(1_700_000_000 * 10**9 + k, random_frame(random, link=link).data) for k in range(200)]
        paths.append(folder / f"{link}.pcap")
        paths[-1].write_bytes(pcap(frames, link=link))
    return dict(zip(LINKS, zip(paths, tshark_of_each(dict.fromkeys(paths, 200), folder), strict=True), strict=True))


@pytest.mark.parametrize("link", LINKS)
def test_random_frames_of_every_link(of_random_frames: dict[int, tuple[Path, list[Row]]], link: int) -> None:
    path, theirs = of_random_frames[link]
    check(path, least=120, theirs=theirs)


def test_random_files_of_several_sections_and_interfaces(tmp_path: Path) -> None:
    random = Random(3)
    compared = 0
    files = {tmp_path / f"{number}": random_capture(random, packets=40) for number in range(12)}
    for path, made in files.items():
        path.write_bytes(made.data)
    each = tshark_of_each({path: len(made.records) for path, made in files.items()}, tmp_path)
    for (path, made), rows in zip(files.items(), each, strict=True):
        theirs = {row["frame.number"]: row for row in rows}
        capture = read_capture(path)
        for row in ours(capture):
            written = made.records[int(row["frame.number"]) - 1]
            truth = written.frame.truth
            if truth is None or written.kept < truth.before:
                continue  # of packets without all their headers tshark says what is there
            other = theirs[row["frame.number"]]
            clock = capture.interfaces[written.interface]
            # tshark 4.0 multiplies finer units by 10**9 in 64 bits, which they overflow; simple blocks have no time.
            if written.t_ns and clock.base**clock.exponent < 2**34:
                assert abs(Decimal(row["frame.time_epoch"]) - Decimal(other["frame.time_epoch"])) <= Decimal("1e-9")
            assert row | {"frame.time_epoch": ""} == other | {"frame.time_epoch": ""}
            compared += 1
    assert compared > 150


def test_a_mixed_file_of_two_interfaces(tmp_path: Path) -> None:
    """Merged captures of two link types are one pcapng file of two interfaces."""
    paths = tmp_path / "a.pcap", tmp_path / "b.pcap"
    wrpcap(str(paths[0]), [Ether(**_ENDS) / packet for packet in some_packets()], linktype=1)
    wrpcap(str(paths[1]), some_packets(), linktype=101)
    merged = tmp_path / "merged.pcapng"
    subprocess.run(["mergecap", "-a", "-w", str(merged), *map(str, paths)], check=True, timeout=60)
    capture = check(merged, least=2 * len(some_packets()))
    assert {number: one.link for number, one in capture.interfaces.items()} == {0: 1, 1: 101}
    assert set(capture.packets.interface.tolist()) == {0, 1}


def test_a_first_fragment_is_a_packet_and_the_later_ones_are_counted(tmp_path: Path) -> None:
    packet = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2) / Raw(bytes(3000))
    path = tmp_path / "a.pcap"
    fragments = packet.fragment(1400)
    wrpcap(str(path), [Ether(**_ENDS) / fragment for fragment in fragments])
    capture = read_capture(path)
    assert capture.packets.payload.tolist() == [1400 - 8]
    assert capture.others == {"fragment": len(fragments) - 1}


def test_frames_that_were_trimmed_are_packets_of_what_is_left(tmp_path: Path) -> None:
    """`editcap -L` writes the trimmed length into the records: IP's own is longer than the frame."""
    frames = [Ether(**_ENDS) / packet for packet in some_packets()]
    whole, trimmed = tmp_path / "a.pcap", tmp_path / "b.pcap"
    wrpcap(str(whole), frames)
    subprocess.run(["editcap", "-F", "pcap", "-L", "-s", "130", str(whole), str(trimmed)], check=True, timeout=60)
    capture = check(trimmed, least=len(frames))
    assert (len(capture.packets), capture.others) == (len(frames), {})
    assert 0 < capture.packets.payload.max() < 100
    assert (capture.packets.kept_payload == capture.packets.payload).all()


@pytest.mark.parametrize("claimed", [0, 40, 64])
def test_a_record_may_claim_fewer_bytes_on_the_wire_than_it_has(tmp_path: Path, claimed: int) -> None:
    data = bytes(Ether(**_ENDS) / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=1, dport=2) / Raw(bytes(10)))
    path = tmp_path / "a.pcap"
    made = bytearray(pcap([(10**18, data)]))
    made[24 + 12 : 24 + 16] = claimed.to_bytes(4, "little")
    path.write_bytes(made)
    capture = check(path, least=1)
    assert (capture.packets.payload.tolist(), capture.packets.wire.tolist()) == ([10], [claimed])


def test_what_is_not_ip_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    wrpcap(str(path), [Ether(**_ENDS) / ARP(), Ether(type=0x88B5, **_ENDS) / Raw(bytes(60))])
    assert read_capture(path).others == {"arp": 1, "other": 1}
