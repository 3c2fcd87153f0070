"""What nodes send each other is read as it was written, and anything else is refused."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.iris import frames
from stacks.iris.frames import FrameError, Kind, Message, Op, Peer
from stacks.iris.ids import SPACE
from stacks.iris.overlay import Overlay
from stacks.iris.simulator import World

IDS = st.integers(0, SPACE - 1)
NUMBERS = st.integers(0, 2**32 - 1)


MESSAGES = st.builds(
    Message,
    op=st.sampled_from([Op.BALANCE, Op.FLOOD, Op.DIRECT]),
    kind=st.sampled_from(Kind),
    key=IDS,
    origin=IDS,
    number=st.integers(0, 2**64 - 1),
    data=st.binary(max_size=50),
    limit_ms=NUMBERS,
    hops=st.integers(0, frames.MOST_HOPS),
    in_tree=st.booleans(),
    secret=st.sampled_from([b"", bytes(frames.SECRET_BYTES)]),
)


@given(MESSAGES)
def test_a_message_is_read_as_it_was_written(message: Message) -> None:
    assert frames.message(frames.header(message, in_tree=message.in_tree) + message.data) == message


@given(st.lists(st.builds(Peer, IDS, st.ip_addresses(v=4).map(str), st.integers(0, 65_535)), max_size=8))
def test_nodes_are_read_as_they_were_written(peers: list[Peer]) -> None:
    assert frames.read_peers(frames.peers(Op.STATE, peers)) == tuple(peers)


@given(st.builds(Peer, IDS, st.ip_addresses(v=4).map(str), st.integers(0, 65_535)), st.integers(0, 254))
def test_who_joins_is_read_as_it_was_written_a_hop_further(peer: Peer, hops: int) -> None:
    assert frames.read_join(frames.join(peer, hops)) == (peer, hops + 1)


@given(IDS, NUMBERS)
def test_groups_and_capacities_are_read_as_they_were_written(group: int, capacity: int) -> None:
    assert frames.read_group(frames.subscribe(group, capacity)) == (group, capacity)
    assert frames.read_group(frames.unsubscribe(group)) == (group, 0)
    assert list(frames.read_report(frames.report([(group, capacity)] * 3))) == [(group, capacity)] * 3


@pytest.mark.parametrize(
    ("read", "frame"),
    [
        (frames.message, bytes([Op.DIRECT]) * 10),
        (frames.message, bytes([Op.DIRECT, 99]) + bytes(40)),
        (frames.message, bytes([Op.DIRECT]) + bytes(30) + b"\2" + bytes(15)),
        (frames.read_peers, bytes([Op.STATE]) + bytes(13)),
        (frames.read_peers, bytes([Op.STATE]) + b"\xff" * 14),
        (frames.read_join, bytes([Op.JOIN, 0]) + bytes(13)),
        (frames.read_join, bytes([Op.JOIN, 0]) + b"\xff" * 14),
        (frames.read_group, bytes([Op.SUBSCRIBE, 1])),
        (frames.read_report, bytes([Op.REPORT, 1])),
    ],
)
def test_what_is_no_frame_is_refused(read: Callable[[bytes], object], frame: bytes) -> None:
    with pytest.raises(FrameError):
        read(frame)


def overlay() -> tuple[Overlay, int]:
    world = World(1)
    world.grow(3, every_s=0.1)
    first, second, _ = world.nodes
    return world.nodes[first].overlay, second


def test_any_bytes_of_a_node_are_a_frame_or_refused() -> None:
    draw, (one, other) = Random(18), overlay()
    refused = 0
    for _ in range(5_000):
        frame = bytes([draw.randrange(12)]) + draw.randbytes(draw.choice((0, 1, 12, 13, 31, 40)))
        try:
            one.received(other, frame)
        except FrameError:
            refused += 1
    assert 0 < refused < 5_000


def test_a_message_that_goes_in_a_circle_ends() -> None:
    one, other = overlay()
    lost = Message(Op.DIRECT, Kind.REPLY, one.own.id, 1, 1, b"", hops=frames.MOST_HOPS)
    one.received(other, frames.header(lost, in_tree=False))
    assert one.counts == {"too many hops": 1}
