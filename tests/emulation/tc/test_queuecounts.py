"""Reading queues: the kernel's listing is gone through once, however many queues there are."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.kernel.namespace import KernelError, in_namespace, throwaway_namespace
from emulation.kernel.netlink import Message, Netlink, attribute, attributes
from emulation.tc import queuecounts
from emulation.tc.queuecounts import QueueCount

NO_KIND = 999


def listed(index: int, handle: int, *, size: int, packets: int, dropped: int, backlog: int) -> bytes:
    """A discipline as the kernel lists it, with attributes that do not matter before and after its counters."""
    stats = attribute(1, struct.pack("QII", size, packets % 2**32, 0)) + attribute(4, b"other")
    if packets >= 2**32:
        stats += attribute(8, struct.pack("Q", packets))
    stats += attribute(3, struct.pack("IIIII", 7, backlog, dropped, 8, 9))
    head = struct.pack("BxxxiIII", 0, index, handle, 0xFFFFFFFF, 0)
    return head + attribute(1, b"bfifo\0") + attribute(7, stats) + attribute(3, b"old counters")


@given(
    st.dictionaries(
        st.tuples(st.integers(1, 5), st.integers(0x10000, 0x30000)),
        st.tuples(st.integers(0, 2**63), st.integers(0, 2**40), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)),
        max_size=12,
    )
)
def test_a_queues_disciplines_are_added_up_and_others_are_not(counters: dict[tuple[int, int], tuple[int, ...]]) -> None:
    names = ("size", "packets", "dropped", "backlog")
    messages = [
        listed(*place, **dict(zip(names, values, strict=True)))  # type: ignore[misc]
        for place, values in counters.items()
    ]
    wanted = {f"air-{index}": [place for place in counters if place[0] == index] for index in (1, 2, 3)}
    found = queuecounts.added_up(messages, wanted)
    assert [one.name for one in found] == list(wanted)
    for one in found:
        sums = [sum(column) for column in zip(*(counters[place] for place in wanted[one.name]), strict=True)]
        assert [one.bytes, one.packets, one.dropped, one.backlog_bytes] == (sums or [0, 0, 0, 0])


def test_the_listing_is_read_once_for_hundreds_of_queues() -> None:
    taken = 0

    def listing() -> Iterator[bytes]:
        nonlocal taken
        for index in range(1, 601):
            for handle in (0x10000, 0x20000):
                taken += 1
                yield listed(index, handle, size=index, packets=1, dropped=0, backlog=0)

    found = queuecounts.added_up(listing(), {f"uplink-{index}": [(index, 0x20000)] for index in range(1, 601)})
    assert taken == 1200
    assert [one.bytes for one in found] == list(range(1, 601))


class Listing:
    """A socket that counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def dump(self, message: Message) -> list[bytes]:
        self.asked += 1
        assert message.kind == 38, "RTM_GETQDISC"
        return [listed(index, 0x20000, size=1, packets=1, dropped=0, backlog=0) for index in range(1, 401)]


def test_the_kernel_is_asked_once_for_hundreds_of_queues() -> None:
    socket = Listing()
    wanted = {f"queue-{index}": [(index, 0x20000)] for index in range(1, 401)}
    assert len(queuecounts.read(socket, wanted)) == 400  # type: ignore[arg-type]
    assert socket.asked == 1


def test_attributes_come_back_without_their_flags() -> None:
    data = attribute(0x8002, b"nested") + attribute(5, b"") + attribute(1, b"four")
    assert list(attributes(data)) == [(2, b"nested"), (5, b""), (1, b"four")]


@pytest.mark.root
def test_the_kernels_own_listing_is_understood_and_a_refused_one_is_named() -> None:
    def work() -> tuple[tuple[QueueCount, ...], str]:
        with Netlink() as netlink:
            there = queuecounts.read(netlink, {"none": [(1, 0x10000)]})
            with pytest.raises(KernelError) as refused:
                netlink.dump(Message(kind=NO_KIND, flags=0, payload=bytes(20), what="listing nothing"))
            return (*there, *queuecounts.read(netlink, {"again": []})), str(refused.value)

    with throwaway_namespace() as pid:
        found, refused = in_namespace(pid, work)
    assert [(one.name, one.bytes) for one in found] == [("none", 0), ("again", 0)]
    assert refused.startswith("listing nothing: ")
