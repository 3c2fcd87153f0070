"""What the jobs need of a decoded capture beside its columns."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address

import numpy as np

from analysis.capture.columns import Packets
from analysis.capture.reader import Capture

TCP = 6


def tcp_only(packets: Packets) -> Packets:
    """The TCP packets among `packets`."""
    protocol: np.ndarray | None = getattr(packets, "protocol", None)
    if protocol is None or (protocol == TCP).all():
        return packets
    found: Packets = packets.select(protocol == TCP)  # type: ignore[attr-defined]
    return found


def ipv6(file: Capture) -> Mapping[int, bytes]:
    """IPv6 addresses of a capture by the number that stands for them in its columns."""
    found: Mapping[int, bytes] = getattr(file, "v6", {})
    return found


def others(file: Capture) -> dict[str, int]:
    """Records that are not TCP, by kind."""
    counts = dict(file.others)
    if datagrams := len(file.packets) - len(tcp_only(file.packets)):
        counts["udp"] = counts.get("udp", 0) + datagrams
    return counts


def address_texts(numbers: np.ndarray, v6: Mapping[int, bytes]) -> list[str]:
    """Addresses as people write them."""
    return [str(IPv4Address(number)) if number >= 0 else str(IPv6Address(v6[number])) for number in numbers.tolist()]
