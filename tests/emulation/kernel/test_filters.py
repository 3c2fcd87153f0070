"""Filters as netlink messages, read back by pyroute2, which encodes a part of them itself."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from emulation.kernel import filters, qdisc
from emulation.kernel.netlink import Message, attributes

PIPE, STOLEN, TO_EGRESS = 3, 4, 1  # linux/pkt_cls.h, linux/tc_act/tc_mirred.h
HASH, LINK, DIVISOR, SEL, ACT, INDEV = 2, 3, 4, 5, 7, 8  # TCA_U32_* of linux/pkt_cls.h
TABLE = 0x200000  # of an egress hook
SOME = filters.Led(mac="02:77:00:00:00:02", to=9)


def decoded(message: Message) -> Any:
    # A tcmsg of pyroute2 begins with netlink's own header.
    found = tcmsg((len(message.payload) + 16).to_bytes(4, "little") + bytes(12) + message.payload)
    found.decode()
    return found


def actions(message: Message) -> list[tuple[str, int, int, int]]:
    """Kind, what is done, to which interface, and what then, of each action in order."""
    listed = decoded(message).get_attr("TCA_OPTIONS").get_attr("TCA_U32_ACT")
    found = []
    for _, one in listed["attrs"]:
        parameters = one.get_attr("TCA_ACT_OPTIONS").get_attr("TCA_MIRRED_PARMS")
        kind = one.get_attr("TCA_ACT_KIND")
        found.append((kind, parameters["eaction"], parameters["ifindex"], parameters["action"]))
    return found


def test_a_packet_that_comes_in_goes_on_as_a_copy_and_itself_ends_in_the_sink() -> None:
    """To redirect at an ingress hook and end there moves the packet, with what it is charged to."""
    message = filters.lead(7, 9, sink=11)
    assert actions(message) == [("mirred", TO_EGRESS, 9, PIPE), ("mirred", TO_EGRESS, 11, STOLEN)]
    assert decoded(message)["parent"] == 0xFFFFFFF2
    (*_, each) = filters.lead_each(7, filters.INGRESS, filters.MAC_DESTINATION, [SOME], sink=11)
    assert actions(each) == actions(message)


def test_a_packet_that_comes_in_and_has_no_sink_is_refused() -> None:
    with pytest.raises(AssertionError, match="stays charged to its sender"):
        list(filters.lead_each(7, filters.INGRESS, filters.MAC_DESTINATION, [SOME]))


def test_a_packet_that_goes_out_is_copied_by_the_kernel_anyway() -> None:
    message = filters.lead_out(7, 9)
    assert actions(message) == [("mirred", TO_EGRESS, 9, STOLEN)]
    assert decoded(message)["parent"] == 0xFFFFFFF3


def keys(message: Message) -> list[tuple[int, int, int]]:
    """Value, mask and offset of what is matched (pyroute2 reads them from the wrong place)."""
    options = dict(attributes(dict(attributes(message.payload[20:]))[2]))
    selector = options[5]
    assert selector[0] == 1, "a match ends the search"
    assert selector[2] == (len(selector) - 16) // 16
    offsets = [offset for (offset,) in struct.iter_unpack("8xi4x", selector[16:])]
    pairs = struct.iter_unpack("!II8x", selector[16:])
    return [(value, mask, offset) for (mask, value), offset in zip(pairs, offsets, strict=True)]


def options(message: Message) -> dict[int, bytes]:
    return dict(attributes(dict(attributes(message.payload[20:]))[2]))


def number(data: bytes) -> int:
    return struct.unpack("I", data)[0]


def test_packets_are_told_by_the_address_that_their_station_has() -> None:
    assert keys(filters.lead_out(7, 9)) == [(0, 0, 0)]
    message = filters.classify(9, 0x10011, "10.77.1.2", filters.DESTINATION)
    assert keys(message) == [(0x0A4D0102, 0xFFFFFFFF, 16)]
    assert decoded(message).get_attr("TCA_OPTIONS").get_attr("TCA_U32_CLASSID") == 0x10011


def test_frames_of_many_stations_are_told_apart_by_the_last_byte_of_their_address_first() -> None:
    led = [filters.Led(mac=f"02:77:00:00:01:{last:02x}", to=100 + last) for last in range(256)]
    table, link, *each = filters.lead_each(7, filters.EGRESS, filters.MAC_SOURCE, led)
    assert number(options(table)[DIVISOR]) == 256
    assert number(options(link)[LINK]) == TABLE
    selector = options(link)[SEL]
    assert struct.unpack_from("h", selector, 10) == (-6,), "bytes 2 to 5 of an address that begins at -8"
    assert struct.unpack_from("!I", selector, 12) == (0xFF,)
    assert [number(options(one)[HASH]) for one in each] == [TABLE | last << 12 for last in range(256)]
    assert keys(each[5]) == [(0x02770000, 0xFFFF0000, -8), (0x00000105, 0xFFFFFFFF, -6)]
    assert actions(each[5]) == [("mirred", TO_EGRESS, 105, STOLEN)]
    assert len({decoded(one)["info"] for one in (table, link, *each)}) == 1, "one rank: one look at all"


def test_both_hooks_of_a_port_have_tables_of_their_own() -> None:
    """The kernel keeps them in one place (cls_u32.c, tc_u_common_ptr)."""
    tables = [
        decoded(next(filters.lead_each(7, parent, filters.MAC_SOURCE, [SOME], sink=9)))["handle"]
        for parent in (filters.INGRESS, filters.EGRESS)
    ]
    assert len(set(tables)) == 2


def test_a_filter_may_take_only_what_came_by_one_interface() -> None:
    assert options(filters.lead_out(7, 0, came_by="wired"))[INDEV] == b"wired\0"
    assert ACT not in options(filters.lead_out(7, 0, came_by="wired")), "it goes out"
    ranks = [decoded(filters.lead_out(7, 9, rank=rank))["info"] >> 16 for rank in (1, 2)]
    assert ranks == [1, 2]


def test_what_is_sent_back_is_for_one_node() -> None:
    assert keys(filters.turn(7)) == [(0, 0x01000000, -14)], "frames to a group have that bit"
    assert actions(filters.turn(7)) == [("mirred", TO_EGRESS, 7, STOLEN)]


def test_the_sink_holds_nothing() -> None:
    sink = filters.sink()
    assert (sink.kind, sink.options, sink.parent) == ("pfifo", bytes(4), qdisc.ROOT)
