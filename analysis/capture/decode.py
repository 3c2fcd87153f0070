"""Packets of records: the common shape in one go, every other shape in groups, none one by one.

The common shape is Ethernet, IPv4 without options, TCP: one gather brought its headers with the record's own.
"""

from __future__ import annotations

import numpy as np

from analysis.capture import links, network
from analysis.capture.columns import TCP
from analysis.capture.format import ETHERNET
from analysis.capture.gather import fields
from analysis.capture.kinds import Kind, add_counts
from analysis.capture.records import Records
from analysis.capture.transport import transport

_IP, _TCP = 14, 34  # where they start in a frame of the common shape
_LARGEST_WIRE = (1 << 31) - 1
_COMMON = {
    "ethertype": (">u2", 12), "version": ("u1", _IP), "tos": ("u1", _IP + 1), "length": (">u2", _IP + 2),
    "ip_id": (">u2", _IP + 4), "fragment": (">u2", _IP + 6), "ttl": ("u1", _IP + 8), "protocol": ("u1", _IP + 9),
    "src": (">u4", _IP + 12), "dst": (">u4", _IP + 16), "sport": (">u2", _TCP), "dport": (">u2", _TCP + 2),
    "seq": (">u4", _TCP + 4), "ack": (">u4", _TCP + 8), "offset": ("u1", _TCP + 12), "flags": ("u1", _TCP + 13),
    "window": (">u2", _TCP + 14),
}  # fmt: skip
FRONT_BYTES = _TCP + 20
_LAYOUT = np.dtype({
    "names": list(_COMMON), "formats": [kind for kind, _ in _COMMON.values()],
    "offsets": [place for _, place in _COMMON.values()], "itemsize": FRONT_BYTES,
})  # fmt: skip
_TAKEN = ("tos", "ip_id", "ttl", "src", "dst", "sport", "dport", "seq", "ack", "window", "flags")

Part = dict[str, np.ndarray]


def decode(
    data: np.ndarray, records: Records, *, frame: int, others: dict[str, int], v6: dict[int, bytes]
) -> tuple[Part, int]:
    """Columns of the TCP and UDP packets among records whose first is number `frame`, and how many there are.

    What the rest is, is added to `others`; IPv6 addresses are noted in `v6`.
    """
    head = fields(records.front, 0, _LAYOUT)
    part, good = _common(head, records)
    if not good.all():
        part = {name: column[good] for name, column in part.items()}
        rows = np.flatnonzero(~good)
        rest, rows = _uncommon(data, records, rows, others=others, v6=v6)
        part, order = _merge(part, rest, np.flatnonzero(good), rows)
    else:
        order = np.arange(len(records))
    return part | {"frame": order + frame}, len(order)


def _common(head: np.ndarray, records: Records) -> tuple[Part, np.ndarray]:
    """Columns as if every record had the common shape, and which records do and are well formed."""
    kept, wire = records.kept, records.wire
    good = (head["ethertype"] == links.IPV4) & (head["version"] == 0x45) & (head["protocol"] == TCP)
    good &= (head["fragment"] & 0x3FFF == 0) & (kept >= FRONT_BYTES)
    if isinstance(records.link, int):
        if records.link != ETHERNET:
            good[:] = False
    else:
        good &= records.link == ETHERNET
    if records.direct is not None:
        good &= records.direct
    length = head["length"].astype(np.int32)
    before = (head["offset"] >> 4).astype(np.int32) * 4 + np.int32(_TCP)
    payload = length + np.int32(_IP) - before
    good &= (before >= FRONT_BYTES) & (payload >= 0) & (wire <= _LARGEST_WIRE)
    if (length + np.int32(_IP) > wire).any():  # a frame that was trimmed holds less than its IP header says
        payload = np.minimum(payload, np.maximum(wire, kept) - before)
        good &= payload >= 0
    part = {name: head[name] for name in _TAKEN} | {
        "t_ns": records.t_ns, "interface": records.interface, "kept": kept, "wire": wire, "payload": payload,
        "protocol": head["protocol"], "at": records.at + before,
        "kept_payload": np.minimum(kept - before, payload).clip(0),
    }  # fmt: skip
    return part, good


def _uncommon(
    data: np.ndarray, records: Records, rows: np.ndarray, *, others: dict[str, int], v6: dict[int, bytes]
) -> tuple[Part, np.ndarray]:
    """Columns of the packets among these rows, and their rows."""
    parts: list[Part] = []
    places: list[np.ndarray] = []
    for link, group in _by_link(records.link, rows):
        at, kept, wire = records.at[group], records.kept[group], records.wire[group]
        protocol, start, kinds = links.network(data, at, kept, link)
        kinds[(wire > _LARGEST_WIRE) & (kinds == Kind.PACKET)] = Kind.MALFORMED
        frame = np.maximum(wire, kept)
        for version in (links.IPV4, links.IPV6):
            which = np.flatnonzero((protocol == version) & (kinds == Kind.PACKET))
            if len(which):
                part, kinds[which] = _ip(
                    data, at[which] + start[which], kept[which] - start[which], frame[which] - start[which],
                    v6=v6 if version == links.IPV6 else None,
                )  # fmt: skip
                packets = group[which[kinds[which] == Kind.PACKET]]
                parts.append(part | _of_the_record(records, packets))
                places.append(packets)
        add_counts(kinds, others)
    none = np.empty(0, dtype=np.int64)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}, np.concatenate(
        [none, *places]
    )


def _of_the_record(records: Records, rows: np.ndarray) -> Part:
    return {name: getattr(records, name)[rows] for name in ("t_ns", "interface", "kept", "wire")}


def _by_link(link: np.ndarray | int, rows: np.ndarray) -> list[tuple[int, np.ndarray]]:
    if isinstance(link, int):
        return [(link, rows)]
    known = [(one, rows[link[rows] == one]) for one in links.LINKS]
    unknown = rows[~np.isin(link[rows], list(links.LINKS))]
    return [(one, group) for one, group in [*known, (links.UNKNOWN, unknown)] if len(group)]


def _ip(
    data: np.ndarray, at: np.ndarray, kept: np.ndarray, frame: np.ndarray, *, v6: dict[int, bytes] | None
) -> tuple[Part, np.ndarray]:
    """Columns of the good packets whose IP headers start at `at`, and the kind of all.

    kept, frame: bytes from there on, in the file and in all.
    """
    ip = network.ipv4(data, at, kept, frame) if v6 is None else network.ipv6(data, at, kept, frame, v6)
    kinds = ip["kind"]
    going = np.flatnonzero(kinds == Kind.PACKET)
    cut = kept[going] < ip["header"][going]
    kinds[going[cut]] = Kind.CUT
    going = going[~cut]
    ip = {name: column[going] for name, column in ip.items()}
    place, left = at[going] + ip["header"], kept[going] - ip["header"]
    found = transport(data, place, left, ip)
    # A frame that was trimmed holds less than its headers say.
    found["payload"] = np.minimum(found["payload"], frame[going] - ip["header"] - found["before"])
    found["kind"][(found["payload"] < 0) & (found["kind"] == Kind.PACKET)] = Kind.MALFORMED
    kinds[going] = found["kind"]
    good = found["kind"] == Kind.PACKET
    part = {name: column[good] for name, column in (ip | found).items()}
    part["at"] = place[good] + part["before"]
    part["kept_payload"] = np.clip(left[good] - part["before"], 0, part["payload"])
    return {name: part[name] for name in (*_TAKEN, "protocol", "payload", "kept_payload", "at")}, kinds


def _merge(one: Part, other: Part, rows: np.ndarray, other_rows: np.ndarray) -> tuple[Part, np.ndarray]:
    """Two parts in the order of their rows, and the rows."""
    if not len(other_rows):
        return one, rows
    every = np.concatenate([rows, other_rows])
    order = np.argsort(every, kind="stable")
    return {name: np.concatenate([one[name], other[name]])[order] for name in one}, every[order]
