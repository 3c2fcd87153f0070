"""What a frame holds, in plain Python: slow, and independent of the fast decoder."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

Fields = dict[str, int | str]


class Cut(Exception):
    """A header goes on beyond what the file kept."""


class Other(Exception):
    """Neither TCP nor UDP: the argument says what."""


class _Bytes:
    """The kept bytes of a frame; what is beyond them is not guessed."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, at: int, length: int) -> bytes:
        found = self.data[at : at + length]
        if len(found) < length:
            raise Cut
        return found

    def number(self, at: int, length: int) -> int:
        return int.from_bytes(self.take(at, length))


def dissect(kept: bytes, *, wire: int, link: int) -> Fields | str:
    """Fields of a TCP or UDP packet, or the kind of anything else."""
    try:
        return _dissect(_Bytes(kept), wire, link)
    except Cut:
        return "cut"
    except Other as other:
        return str(other)


def _dissect(frame: _Bytes, wire: int, link: int) -> Fields:
    ethertype, at = _link(frame, link)
    for _ in range(2):
        if ethertype in {0x8100, 0x88A8, 0x9100}:
            ethertype, at = frame.number(at, 4) & 0xFFFF, at + 4
    if ethertype == 0x0806:
        raise Other("arp")
    if ethertype in {0x8100, 0x88A8, 0x9100}:
        raise Other("vlan")
    if ethertype not in {0x0800, 0x86DD}:
        raise Other("other")
    if wire > 2**31 - 1:
        raise Other("malformed")
    wire = max(wire, len(frame.data))
    return _ipv4(frame, at, wire) if ethertype == 0x0800 else _ipv6(frame, at, wire)


def _link(frame: _Bytes, link: int) -> tuple[int, int]:
    if link == 1:
        return frame.number(12, 2) if frame.take(0, 14) else 0, 14
    if link == 113:
        frame.take(0, 16)
        return -1 if frame.number(2, 2) in {770, 803, 824} else frame.number(14, 2), 16
    if link == 276:
        frame.take(0, 20)
        return -1 if frame.number(8, 2) in {770, 803, 824} else frame.number(0, 2), 20
    if link in {0, 108}:
        family = frame.take(0, 4)
        either = {int.from_bytes(family), int.from_bytes(family[::-1])}
        return 0x0800 if 2 in either else 0x86DD if either & {10, 24, 28, 30} else -1, 4
    if link in {12, 14, 101, 228, 229}:
        version = frame.number(0, 1) >> 4
        wanted = {228: {4}, 229: {6}}.get(link, {4, 6})
        return {4: 0x0800, 6: 0x86DD}[version] if version in wanted else -1, 0
    return -1, 0


def _ipv4(frame: _Bytes, at: int, wire: int) -> Fields:
    head = frame.take(at, 20)
    header = (head[0] & 15) * 4
    if head[0] >> 4 != 4 or header < 20:
        raise Other("malformed")
    fragment = int.from_bytes(head[6:8])
    if fragment & 0x1FFF:
        raise Other("fragment")
    _wanted(head[9])
    frame.take(at, header)
    length = int.from_bytes(head[2:4]) or (wire - at if wire - at <= 524_280 else 0)
    ends = {"src": str(IPv4Address(head[12:16])), "dst": str(IPv4Address(head[16:20]))}
    found: Fields = {"tos": head[1], "ttl": head[8], "ip_id": int.from_bytes(head[4:6]), **ends}
    first = bool(fragment & 0x2000)
    return found | _transport(frame, at, header=header, length=length, protocol=head[9], first=first, wire=wire)


def _ipv6(frame: _Bytes, at: int, wire: int) -> Fields:
    head = frame.take(at, 40)
    if head[0] >> 4 != 6:
        raise Other("malformed")
    said = int.from_bytes(head[4:6])
    length = said + 40 if said else (wire - at if wire - at <= 524_280 else 0)
    following, header, first = head[6], 40, False
    for _ in range(16):
        if following not in {0, 43, 44, 51, 60}:
            break
        extension = frame.take(at + header, 8)
        if following == 44:
            if int.from_bytes(extension[2:4]) >> 3:
                raise Other("fragment")
            first, size = first or bool(extension[3] & 1), 8
        else:
            size = (extension[1] + 2) * 4 if following == 51 else (extension[1] + 1) * 8
        following, header = extension[0], header + size
    if following in {0, 43, 44, 51, 60} or header > length:
        raise Other("malformed")
    _wanted(following)
    frame.take(at, header)
    ends = {"src": str(IPv6Address(head[8:24])), "dst": str(IPv6Address(head[24:40]))}
    found: Fields = {"tos": int.from_bytes(head[:2]) >> 4 & 0xFF, "ttl": head[7], "ip_id": 0, **ends}
    return found | _transport(frame, at, header=header, length=length, protocol=following, first=first, wire=wire)


def _wanted(protocol: int) -> None:
    if protocol not in {6, 17}:
        raise Other({1: "icmp", 58: "icmpv6"}.get(protocol, "other"))


def _transport(frame: _Bytes, at: int, *, header: int, length: int, protocol: int, first: bool, wire: int) -> Fields:
    start = at + header
    head = frame.take(start, 20 if protocol == 6 else 8)
    room = length - header
    numbers = {"seq": 0, "ack": 0, "flags": 0, "window": 0}
    if protocol == 6:
        before, payload = (head[12] >> 4) * 4, room - (head[12] >> 4) * 4
        numbers = {"seq": int.from_bytes(head[4:8]), "ack": int.from_bytes(head[8:12]), "flags": head[13]}
        numbers["window"] = int.from_bytes(head[14:16])
        bad = before < 20
    else:
        said = int.from_bytes(head[4:6])
        before, payload = 8, (room if first or said == 0 else said) - 8
        bad = not first and said > room
    bad = bad or payload < 0
    payload = min(payload, wire - start - before)
    if bad or payload < 0:
        raise Other("malformed")
    kept = min(max(len(frame.data) - start - before, 0), payload)
    return numbers | {
        "protocol": protocol, "sport": int.from_bytes(head[:2]), "dport": int.from_bytes(head[2:4]),
        "payload": payload, "kept_payload": kept, "at": start + before,
    }  # fmt: skip
