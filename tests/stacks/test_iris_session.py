"""Sessions between nodes: frames arrive whole and in order, and nobody without the key has any part in it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iris_sessions import CHANGES, KEY, changed, pair, sent, shaken

from stacks.iris import session
from stacks.iris.noise import MOST, TAG
from stacks.iris.session import Session, SessionError, sealed_bytes


def test_both_learn_who_the_other_is_and_only_the_first_record_shows_it_to_who_was_called() -> None:
    first, second = shaken()
    assert (first.peer, second.peer) == (b"second", b"first")
    assert (first.established, second.established) == (True, False)
    assert second.feed(sent(first, b"here I am")) == [b"here I am"]
    assert second.established


@given(st.lists(st.binary(max_size=300), max_size=8), st.integers(1, 90), st.integers(0, 3))
@settings(max_examples=50)
def test_frames_arrive_however_the_stream_is_cut(frames: list[bytes], cut: int, rekey_every: int) -> None:
    first, second = shaken(rekey_every=rekey_every)
    for sender, receiver in ((first, second), (second, first)):
        stream = b"".join(sent(sender, frame) for frame in frames)
        pieces = [stream[at : at + cut] for at in range(0, len(stream), cut)]
        assert [frame for piece in pieces for frame in receiver.feed(piece)] == frames


def test_a_frame_spans_as_many_records_as_it_needs_and_many_share_one() -> None:
    first, second = shaken()
    large = random.Random(1).randbytes(300_000)
    stream = sent(first, b"small", large, b"", b"last")
    assert second.feed(stream) == [b"small", large, b"", b"last"]
    assert len(stream) == 300_000 + 5 + 4 + 4 * 4 + 19 * (2 + 16)  # four lengths of frames; 19 records
    assert len(sent(first, *[b"x" * 60] * 100)) == 100 * 64 + 2 + 16


@given(st.lists(st.tuples(st.integers(0, 40_000), st.sampled_from([0, 1, 70_000])), min_size=1, max_size=6))
@settings(max_examples=50)
def test_no_record_that_is_sent_is_larger_than_16_kib_whatever_goes_beside_it(frames: list[tuple[int, int]]) -> None:
    first, second = shaken()
    receives = second._receives
    assert receives is not None
    opening, records = receives.open, list[int]()
    receives.open = lambda message: (records.append(len(message)), opening(message))[1]  # type: ignore[method-assign]
    for size, beside in frames:
        first.send(bytes(size), beside=bytes(beside))
    assert list(map(len, second.feed(b"".join(first.outgoing())))) == [size + beside for size, beside in frames]
    assert max(records) <= 16 * 1024


def test_records_are_taken_as_large_as_noise_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_PLAIN", MOST - TAG)
    first, second = shaken()
    body = random.Random(2).randbytes(MOST - TAG - 4)
    stream = sent(first, body)
    assert (stream[:2], len(stream)) == (b"\xff\xff", 2 + 65_535)
    assert [frame for at in (0, 40_000) for frame in second.feed(stream[at : at + 40_000])] == [body]


@pytest.mark.parametrize("other", [{"key": bytes(32)}, {"network": "another"}], ids=["key", "network"])
def test_who_lacks_the_key_or_is_of_another_network_does_not_get_in(other: dict[str, object]) -> None:
    first, second = pair(**other)  # type: ignore[arg-type]
    with pytest.raises(SessionError):
        second.feed(b"".join(first.outgoing()))
    assert second.peer is None
    assert not second.outgoing()


def test_a_first_message_that_is_heard_again_lets_nobody_in() -> None:
    first, second = pair()
    greeting = b"".join(first.outgoing())
    second.feed(greeting)
    _, late = pair()
    late.feed(greeting)
    assert not late.established
    with pytest.raises(SessionError):
        late.feed(sent(shaken()[0], b"an old record"))


def test_the_name_of_the_network_is_not_on_the_stream() -> None:
    first, second = (Session(initiator=one, key=KEY, network="secret-name", hello=b"") for one in (True, False))
    greeting = b"".join(first.outgoing())
    second.feed(greeting)
    assert b"secret" not in greeting + b"".join(second.outgoing())


def test_an_unknown_peer_cannot_make_us_hold_much() -> None:
    with pytest.raises(SessionError, match="a handshake message of 65535 bytes"):
        pair()[1].feed(b"\xff\xff")


@pytest.mark.parametrize("bodies", [[0], [1, 2, 3], [65_515], [65_516], [200_000, 7]])
def test_frames_take_as_much_of_the_stream_as_is_said(bodies: list[int]) -> None:
    assert len(sent(shaken()[0], *map(bytes, bodies))) == sealed_bytes(bodies)


def test_ten_thousand_changed_streams_end_their_sessions_and_nothing_else() -> None:
    draw, first = random.Random(18), shaken()[0]
    frames = [draw.randbytes(draw.randrange(80)) for _ in range(6)]
    ended = silent = 0
    for number in range(100):
        first, second = shaken()
        stream = [sent(first, frame) for frame in frames]
        fresh = vars(second).copy()
        for trial in range(100):
            vars(second).update(fresh | {"_pieces": [], "_plain": bytearray(), "established": False})
            second._receives._number = 0  # type: ignore[union-attr]
            how = CHANGES[(number + trial) % 4]
            got: list[bytes] = []
            try:
                got = second.feed(changed(stream, how, draw))
            except SessionError:
                ended += 1
            else:
                silent += 1  # a length was made larger: the session waits for the rest, and hears nothing false
            assert got == frames[: len(got)]
    assert ended + silent == 10_000
    assert ended > 9_500
