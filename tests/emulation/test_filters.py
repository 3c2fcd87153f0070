"""Filters as netlink messages, read back by pyroute2, which encodes a part of them itself."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from emulation import filters, qdisc
from emulation.netlink import Message, attributes

PIPE, STOLEN, TO_EGRESS = 3, 4, 1  # linux/pkt_cls.h, linux/tc_act/tc_mirred.h


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


def test_an_uplink_packet_goes_on_as_a_copy_and_itself_ends_in_the_sink() -> None:
    """To redirect at an ingress hook and end there moves the packet, with what it is charged to."""
    message = filters.lead(7, 9, "uplink", sink=11)
    assert actions(message) == [("mirred", TO_EGRESS, 9, PIPE), ("mirred", TO_EGRESS, 11, STOLEN)]
    assert decoded(message)["parent"] == 0xFFFFFFF2


def test_an_uplink_packet_without_a_sink_is_refused() -> None:
    with pytest.raises(AssertionError, match="stays charged to its sender"):
        filters.lead(7, 9, "uplink")


def test_a_downlink_packet_is_copied_by_the_kernel_anyway() -> None:
    message = filters.lead(7, 9, "downlink")
    assert actions(message) == [("mirred", TO_EGRESS, 9, STOLEN)]
    assert decoded(message)["parent"] == 0xFFFFFFF3


def keys(message: Message) -> list[tuple[int, int, int]]:
    """Value, mask and offset of what is matched (pyroute2 reads them from the wrong place)."""
    options = dict(attributes(dict(attributes(message.payload[20:]))[2]))
    selector = options[5]
    assert selector[0] == 1, "a match ends the search"
    assert selector[2] == (len(selector) - 16) // 16
    return [
        (value, mask, offset)
        for mask, value in struct.iter_unpack("!II8x", selector[16:])
        for offset in struct.unpack_from("8xi", selector, 16)
    ]


def test_packets_are_told_by_the_address_that_their_station_has() -> None:
    assert keys(filters.lead(7, 9, "downlink")) == [(0, 0, 0)]
    assert keys(filters.lead(7, 9, "downlink", source="10.77.0.2")) == [(0x0A4D0002, 0xFFFFFFFF, 12)]
    message = filters.classify(9, 0x10011, "10.77.1.2", filters.DESTINATION)
    assert keys(message) == [(0x0A4D0102, 0xFFFFFFFF, 16)]
    assert decoded(message).get_attr("TCA_OPTIONS").get_attr("TCA_U32_CLASSID") == 0x10011


def test_the_sink_holds_nothing() -> None:
    sink = filters.sink()
    assert (sink.kind, sink.options, sink.parent) == ("pfifo", bytes(4), qdisc.ROOT)
