"""The reference broker's codec: what is written is read back, and nothing else is read."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_frames import frames

from stacks.reference.frames import (
    MAX_FRAME,
    Answer,
    Frame,
    FrameError,
    FrameReader,
    Message,
    Publish,
    Reply,
    encode,
)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    at = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[low:high] for low, high in pairwise(at)]


@given(sent=st.lists(frames, max_size=6), cuts=st.lists(st.integers(0, 10_000), max_size=8))
def test_frames_survive_the_wire_however_it_cuts_them(sent: list[Frame], cuts: list[int]) -> None:
    reader = FrameReader()
    received = [frame for piece in pieces(b"".join(map(encode, sent)), cuts) for frame in reader.feed(piece)]
    assert received == sent


@given(data=st.binary(max_size=400))
def test_random_bytes_are_frames_or_a_frame_error(data: bytes) -> None:
    try:
        FrameReader().feed(data)
    except FrameError:
        return


@given(frame=frames, at=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_a_damaged_frame_is_another_frame_or_a_frame_error(frame: Frame, at: int, flip: int) -> None:
    data = bytearray(encode(frame))
    data[at % len(data)] ^= flip
    try:
        FrameReader().feed(bytes(data))
    except FrameError:
        return


@given(frame=frames, extra=st.binary(min_size=1, max_size=5))
def test_a_frame_without_a_body_takes_no_trailing_bytes(frame: Frame, extra: bytes) -> None:
    data = encode(frame)[4:] + extra
    framed = len(data).to_bytes(4, "big") + data
    if isinstance(frame, Publish | Message | Reply | Answer):
        assert FrameReader().feed(framed)[0].body == frame.body + extra
    else:
        with pytest.raises(FrameError, match="too many"):
            FrameReader().feed(framed)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\0\0\0\0", "empty"),
        (b"\0\0\0\1\x63", "kind 99"),
        ((MAX_FRAME + 1).to_bytes(4, "big"), "longer than"),
        (b"\0\0\0\2\1\0", "inside a field"),
        (b"\0\0\0\x04\1\0\x09a", "only 1"),
        (b"\0\0\0\x04\1\0\1\xff", "UTF-8"),
        (b"\0\0\0\x0e\x04" + bytes(12) + b"\2", "flag is 2"),
    ],
)
def test_what_is_wrong_with_a_frame_is_said(data: bytes, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        FrameReader().feed(data)


def test_a_body_too_large_for_a_frame_is_refused_where_it_is_made() -> None:
    with pytest.raises(ValueError, match="longer than"):
        encode(Publish(1, "t", None, bytes(MAX_FRAME)))
