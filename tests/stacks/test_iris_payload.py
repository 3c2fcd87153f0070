"""What messages carry is sealed where they begin, opened where they end, and passed on between as it is."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iris_sessions import sent, shaken
from iris_worlds import flood, grown, heard, join

from stacks.iris import frames
from stacks.iris.frames import FrameError, Kind, Message, Op
from stacks.iris.overlay import Overlay
from stacks.iris.payload import BULK_BYTES, RENEWED_EVERY, PayloadError, Sealer, opened
from stacks.iris.session import Session, SessionError
from stacks.iris.simulator import World

sealed = Sealer().sealed
PLAIN = Message(Op.DIRECT, Kind.REQUEST, 5, 7, 9, b"what an application says", 1000)


def frame(message: Message) -> bytes:
    return frames.header(message, in_tree=message.in_tree) + message.data


@given(st.binary(max_size=100), st.integers(0, frames.MOST_HOPS), st.booleans())
def test_what_was_sealed_opens_wherever_it_has_been_meanwhile(data: bytes, hops: int, in_tree: bool) -> None:
    message = PLAIN._replace(data=data)
    away = frames.message(frame(sealed(message)._replace(hops=hops, in_tree=in_tree)))
    assert opened(away) == message._replace(hops=hops, in_tree=in_tree)
    assert len(data) < 5 or data not in bytes(away.data)


def test_no_two_messages_have_one_key_and_number_and_keys_are_renewed() -> None:
    found = [one.sealed(PLAIN) for one in (Sealer(), Sealer()) for _ in range(2 * RENEWED_EVERY)]
    assert len({one.secret for one in found}) == len({one.data for one in found}) == 4 * RENEWED_EVERY
    assert len({one.secret[:16] for one in found}) == 4


@given(
    st.integers(0, 10_000), st.integers(0, 7), st.sampled_from(["flipped", "truncated", "swapped", "header", "longer"])
)
def test_what_is_not_as_it_was_sealed_does_not_open(at: int, bit: int, how: str) -> None:
    away, other = sealed(PLAIN), sealed(PLAIN)
    data = bytearray(away.data)
    if how == "flipped":
        data[at % len(data)] ^= 1 << bit
    elif how == "truncated":
        del data[at % len(data) :]
    elif how == "longer":
        data.insert(at % (len(data) + 1), bit)
    elif how == "swapped":
        data[:] = other.data
    else:
        field = ("op", "kind", "key", "origin", "number", "limit_ms")[at % 6]
        changed = {"op": Op.FLOOD, "kind": Kind.REPLY}.get(field, at + 10)
        away = away._replace(**{field: changed})
    with pytest.raises(PayloadError):
        opened(away._replace(data=bytes(data)))


FEW = [random.Random(at).randbytes(size) for at, size in enumerate((20, 70_000, 20_000, 0, 40))]

ALL: list[tuple[int, bytes] | None] = [*enumerate(FEW), (PLAIN.number, PLAIN.data)]


def stream_of(first: Session) -> list[bytes]:
    """What is on the way of five messages, the second and the third of which are sealed, and of one more: by pieces."""
    for number, data in enumerate(FEW):
        message = PLAIN._replace(number=number, data=data)
        if len(data) < BULK_BYTES:
            first.send(frame(message))
        else:
            away = sealed(message)
            first.send(frames.header(away, in_tree=False), beside=away.data)
    return [*map(bytes, first.outgoing()), sent(first, frame(PLAIN))]


def told(second: Session, stream: bytes, cut: int = 1 << 20) -> list[tuple[int, bytes] | None]:
    """Number and data of what arrives, None for what is damaged, until the session is over."""
    found: list[tuple[int, bytes] | None] = []
    for at in range(0, len(stream), cut):
        try:
            came = second.feed(stream[at : at + cut])
        except SessionError:
            break
        for message in map(frames.message, came):
            try:
                found.append((message.number, (opened(message) if message.secret else message).data))
            except PayloadError:
                found.append(None)
    return found


@given(st.integers(1, 3000))
@settings(max_examples=25, deadline=None)
def test_sealed_data_goes_beside_the_records_as_it_is_and_stays_in_its_place(cut: int) -> None:
    first, second = shaken()
    written = stream_of(first)
    one_record = 2 + 16 + 5 * frames.HEADER_BYTES + 2 * frames.SECRET_BYTES + 3 * 4 + 2 * 8 + 20 + 40
    assert [len(one) for one in written[:-1]] == [one_record, 70_000 + 16, 20_000 + 16]
    assert told(second, b"".join(written), cut) == ALL


@given(st.integers(0, 90_031), st.integers(0, 7))
@settings(max_examples=25, deadline=None)
def test_a_bit_that_flips_in_sealed_data_costs_that_message_and_nothing_else(at: int, bit: int) -> None:
    first, second = shaken()
    written = list(map(bytearray, stream_of(first)))
    which, place = (1, at) if at < 70_016 else (2, at - 70_016)
    written[which][place] ^= 1 << bit
    assert told(second, b"".join(written)) == [None if number == which else one for number, one in enumerate(ALL)]


@given(st.randoms(use_true_random=False), st.sampled_from(["flipped", "cut out", "put in", "replayed", "swapped"]))
@settings(max_examples=100, deadline=None)
def test_whatever_is_done_to_the_stream_nothing_false_arrives_and_nothing_twice(draw: random.Random, how: str) -> None:
    first, second = shaken()
    written = stream_of(first)
    at = draw.randrange(len(written))
    if how == "replayed":
        written.insert(at, written[at])
    elif how == "swapped":
        other = (at + 1) % len(written)
        written[at], written[other] = written[other], written[at]
    else:
        piece = bytearray(written[at])
        place, some = draw.randrange(len(piece)), draw.randrange(1, 40)
        if how == "flipped":
            piece[place] ^= 1 << draw.randrange(8)
        elif how == "cut out":
            del piece[place : place + some]
        else:
            piece[place:place] = draw.randbytes(some)
        written[at] = bytes(piece)
    found = told(second, b"".join(written))
    assert len(found) <= len(ALL)
    assert all(one in (None, true) for one, true in zip(found, ALL, strict=False))
    assert found != ALL


def test_a_rest_that_is_too_large_ends_the_session() -> None:
    first, second = shaken()
    first._out += [bytes.fromhex("80000001 7fffffff"), b"x"]
    with pytest.raises(SessionError, match="a frame of 2147483648 bytes"):
        second.feed(b"".join(first.outgoing()))


def far(world: World) -> list[int]:
    """The nodes on a way of at least two hops."""
    ids = sorted(world.nodes)
    return next(found for start in ids for end in ids if len(found := world.way(start, end)) > 2)


def watched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What all nodes together seal and open from now on."""
    calls: list[str] = []
    for name, where, does in (("sealed", "Sealer.sealed", sealed), ("opened", "opened", opened)):

        def watching(*given: Any, name: str = name, does: Callable[[Message], Message] = does) -> Message:
            calls.append(name)
            return does(given[-1])

        monkeypatch.setattr(f"stacks.iris.overlay.{where}", watching)
    return calls


def say(world: World, start: int, end: int, data: bytes) -> None:
    world.nodes[start].overlay.send(Message(Op.DIRECT, Kind.REPLY, end, start, 1, data))
    world.run(0.1)


def test_who_passes_a_message_on_neither_opens_nor_seals_what_it_carries(monkeypatch: pytest.MonkeyPatch) -> None:
    world, data = grown(40, seed=5), random.Random(1).randbytes(BULK_BYTES)
    start, *between, end = far(world)
    seen: list[tuple[int, int, bytes]] = []
    calls = watched(monkeypatch)
    for one in between:
        monkeypatch.setattr(world.nodes[one].overlay, "_arrived", None)  # it could not if it had to
    world.on_frame = lambda sender, receiver, one: seen.append((sender, receiver, one)) if one[0] == Op.DIRECT else None
    say(world, start, end, data)
    assert [message.data for message in world.nodes[end].arrivals] == [data]
    assert calls == ["sealed", "opened"]
    carried = {one[frames.HEADER_BYTES + frames.SECRET_BYTES :] for _, _, one in seen}
    assert (len(seen), len(carried)) == (len(between) + 1, 1), "on each hop the same bytes"
    assert carried != {data}


def test_what_goes_to_many_is_sealed_once_and_opened_once_by_each(monkeypatch: pytest.MonkeyPatch) -> None:
    world = grown(24, seed=8)
    ids = sorted(world.nodes)
    join(world, ids)
    world.run(2)
    calls = watched(monkeypatch)
    flood(world, ids[0], 1, data=bytes(BULK_BYTES))
    world.run(0.5)
    assert +heard(world, 1) == dict.fromkeys(ids, 1)
    assert (calls.count("sealed"), calls.count("opened")) == (1, 23)
    assert {bytes(message.data) for node in world.nodes.values() for message in node.arrivals} == {bytes(BULK_BYTES)}


def test_what_was_damaged_on_the_way_is_dropped_and_counted_by_who_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    world = grown(40, seed=5)
    start, *between, end = far(world)
    deliver = world.deliver

    def flipping(sender: int, receiver: int, one: bytes) -> None:
        damaged = sender == start and one[0] == Op.DIRECT
        deliver(sender, receiver, one[:-1] + bytes((one[-1] ^ 1,)) if damaged else one)

    monkeypatch.setattr(world, "deliver", flipping)
    say(world, start, end, bytes(BULK_BYTES))
    assert world.nodes[end].arrivals == []
    assert world.nodes[end].overlay.counts == {"its payload is damaged": 1}
    assert not any(world.nodes[one].overlay.counts for one in between)
    monkeypatch.undo()
    say(world, start, end, b"and on it goes")
    assert [message.data for message in world.nodes[end].arrivals] == [b"and on it goes"]


def test_any_sealed_frame_of_a_node_is_read_or_refused() -> None:
    draw, world = random.Random(18), grown(3)
    one, other, _ = (node.overlay for node in world.nodes.values())
    refused = 0
    for _ in range(1_000):
        try:
            received(one, other.own.id, draw)
        except FrameError:
            refused += 1
    assert 0 < refused < 1_000


def received(overlay: Overlay, sender: int, draw: random.Random) -> None:
    head = frames.header(PLAIN._replace(key=overlay.own.id, secret=b"-" * draw.randrange(25)), in_tree=False)
    overlay.received(sender, head + draw.randbytes(draw.choice((0, 1, 15, 16, 40))))
