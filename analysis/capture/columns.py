"""Records of a pcap file as columns: Ethernet, IPv4 and TCP headers, decoded for all packets at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.capture.format import RECORD_BYTES, Format

_ETHERNET_BYTES = 14
_TCP_BYTES = 20
_IPV4, _TCP = 0x0800, 6
_NAMES = {0x0806: "arp", 0x86DD: "ipv6", 0x8100: "vlan", 0x88A8: "vlan"}
_IP_NAMES = {1: "icmp", 17: "udp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Packets:
    """TCP packets in file order, one array each.

    frame: number of the record in the file, from 0.  t_ns: wall clock.  wire: bytes on the wire, with the
    Ethernet header and without its checksum.  payload: TCP payload bytes, as the IP header says (so it is
    whole when the capture was cut short by its snap length); kept_payload: how many of them are in the file,
    from byte `at` of it on.  ip_id: IPv4's identification, by which a packet is known again elsewhere.
    """

    frame: np.ndarray
    t_ns: np.ndarray
    wire: np.ndarray
    payload: np.ndarray
    kept_payload: np.ndarray
    at: np.ndarray
    ip_id: np.ndarray
    src: np.ndarray
    dst: np.ndarray
    sport: np.ndarray
    dport: np.ndarray
    seq: np.ndarray
    ack: np.ndarray
    window: np.ndarray
    flags: np.ndarray

    def __len__(self) -> int:
        return len(self.frame)


def _record(order: str) -> np.dtype[np.void]:
    """Layout of a record that holds Ethernet, IPv4 without options and TCP."""
    ip = RECORD_BYTES + _ETHERNET_BYTES
    tcp = ip + 20
    fields = {
        "second": (order + "u4", 0),
        "fraction": (order + "u4", 4),
        "kept": (order + "u4", 8),
        "wire": (order + "u4", 12),
        "ethertype": (">u2", ip - 2),
        "version": ("u1", ip),
        "length": (">u2", ip + 2),
        "ip_id": (">u2", ip + 4),
        "fragment": (">u2", ip + 6),
        "protocol": ("u1", ip + 9),
        "src": (">u4", ip + 12),
        "dst": (">u4", ip + 16),
        "sport": (">u2", tcp),
        "dport": (">u2", tcp + 2),
        "seq": (">u4", tcp + 4),
        "ack": (">u4", tcp + 8),
        "offset": ("u1", tcp + 12),
        "flags": ("u1", tcp + 13),
        "window": (">u2", tcp + 14),
    }
    names = list(fields)
    return np.dtype(
        {"names": names, "formats": [fields[n][0] for n in names], "offsets": [fields[n][1] for n in names]}
    )


_TCP_FIELDS = ("sport", "dport", "seq", "ack", "offset", "flags", "window")
HEADROOM = 256  # bytes that must follow the last record, so that headers can be gathered without a check


def headers(data: np.ndarray, offsets: np.ndarray, form: Format) -> np.ndarray:
    """The first bytes of each record at `offsets`, laid out as a record with Ethernet, IPv4 and TCP."""
    return _gather(data, offsets, _record(form.order))


def first_bad_time(head: np.ndarray, form: Format) -> int | None:
    """Number of the first record whose fraction of a second is not below one second, None when all are."""
    bad = head["fraction"] >= 1_000_000_000 // form.unit_ns
    return int(np.argmax(bad)) if bad.any() else None


def columns(head: np.ndarray, *, data: np.ndarray, offsets: np.ndarray, form: Format) -> tuple[Packets, dict[str, int]]:
    """Decode the records at `offsets`, whose headers are `head`: the TCP packets, and how many records
    were something else, by kind.

    Kinds: arp, ipv6, vlan, icmp, udp, other, fragment, cut (the snap length cut a header), malformed.
    """
    kept, ethertype = head["kept"], head["ethertype"]
    has_ip = (ethertype == _IPV4) & (kept >= _ETHERNET_BYTES + 20)
    ip_bytes = (head["version"] & 0x0F).astype(np.int64) * 4
    good_ip = has_ip & (head["version"] >> 4 == 4) & (ip_bytes >= 20)
    fragment = good_ip & (head["fragment"] & 0x3FFF != 0)
    is_tcp = good_ip & ~fragment & (head["protocol"] == _TCP)
    whole = is_tcp & (kept >= _ETHERNET_BYTES + ip_bytes + _TCP_BYTES)
    _shift_past_options(data, head, offsets, np.flatnonzero(whole & (ip_bytes > 20)), ip_bytes)
    wire = head["wire"].astype(np.int64)
    # An IP length of 0 is a segmentation-offload packet: its length is the frame's.
    length = np.where(head["length"] == 0, wire - _ETHERNET_BYTES, head["length"].astype(np.int64))
    tcp_bytes = (head["offset"] >> 4).astype(np.int64) * 4
    payload = length - ip_bytes - tcp_bytes
    good = whole & (tcp_bytes >= _TCP_BYTES) & (payload >= 0) & (length + _ETHERNET_BYTES <= wire)
    others = _others(
        ethertype=ethertype, kept=kept, protocol=head["protocol"],
        has_ip=has_ip, good_ip=good_ip, fragment=fragment, is_tcp=is_tcp, whole=whole, good=good,
    )  # fmt: skip
    before = _ETHERNET_BYTES + ip_bytes + tcp_bytes
    kept_payload = np.clip(kept.astype(np.int64) - before, 0, payload)
    at = offsets + RECORD_BYTES + before
    return _packets(head, good, wire=wire, payload=payload, kept_payload=kept_payload, at=at, form=form), others


def _gather(data: np.ndarray, offsets: np.ndarray, kind: np.dtype[np.void]) -> np.ndarray:
    if not len(offsets):
        return np.empty(0, dtype=kind)
    rows = np.ndarray((len(data) - kind.itemsize + 1, kind.itemsize), dtype=np.uint8, buffer=data.data, strides=(1, 1))
    found: np.ndarray = rows[offsets].view(kind).ravel()
    return found


def _shift_past_options(
    data: np.ndarray, head: np.ndarray, offsets: np.ndarray, which: np.ndarray, ip_bytes: np.ndarray
) -> None:
    if len(which):
        shifted = _gather(data, offsets[which] + ip_bytes[which] - 20, head.dtype)
        for name in _TCP_FIELDS:
            head[name][which] = shifted[name]


def _packets(
    head: np.ndarray, good: np.ndarray, *, wire: np.ndarray, payload: np.ndarray, kept_payload: np.ndarray,
    at: np.ndarray, form: Format,
) -> Packets:  # fmt: skip
    tcp = head[good]
    wide = {name: tcp[name].astype(np.int64) for name in ("second", "fraction", "src", "dst", "sport", "dport")}
    return Packets(
        frame=np.flatnonzero(good),
        t_ns=wide["second"] * 1_000_000_000 + wide["fraction"] * form.unit_ns,
        wire=wire[good],
        payload=payload[good],
        kept_payload=kept_payload[good],
        at=at[good],
        ip_id=tcp["ip_id"].astype(np.uint16),
        src=wide["src"],
        dst=wide["dst"],
        sport=wide["sport"],
        dport=wide["dport"],
        seq=tcp["seq"].astype(np.uint32),
        ack=tcp["ack"].astype(np.uint32),
        window=tcp["window"].astype(np.uint16),
        flags=tcp["flags"].copy(),
    )


def _others(
    *, ethertype: np.ndarray, kept: np.ndarray, protocol: np.ndarray, has_ip: np.ndarray, good_ip: np.ndarray,
    fragment: np.ndarray, is_tcp: np.ndarray, whole: np.ndarray, good: np.ndarray,
) -> dict[str, int]:  # fmt: skip
    if good.all():
        return {}
    counts: dict[str, int] = {}

    def count(kind: str, mask: np.ndarray) -> None:
        if number := int(np.count_nonzero(mask)):
            counts[kind] = counts.get(kind, 0) + number

    no_ethertype = kept < _ETHERNET_BYTES
    count("cut", no_ethertype | ((ethertype == _IPV4) & ~no_ethertype & ~has_ip) | (is_tcp & ~whole))
    count("malformed", (has_ip & ~good_ip) | (whole & ~good))
    count("fragment", fragment)
    for number, name in _IP_NAMES.items():
        count(name, good_ip & ~fragment & (protocol == number))
    count("other", good_ip & ~fragment & ~np.isin(protocol, [*_IP_NAMES, _TCP]))
    for number, name in _NAMES.items():
        count(name, ~no_ethertype & (ethertype == number))
    count("other", ~no_ethertype & ~np.isin(ethertype, [*_NAMES, _IPV4]))
    return counts
