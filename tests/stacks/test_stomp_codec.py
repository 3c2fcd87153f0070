"""The STOMP codec, by its round trip, by arbitrary bytes, and by one file per kind of malformed stream."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.stomp.decoder import Decoder, FrameError
from stacks.stomp.frame import COMMANDS, UNESCAPED, Frame, encode, escape, head

MALFORMED = sorted((Path(__file__).parents[1] / "fixtures" / "stomp-malformed").glob("*.stomp"))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
escaped_headers = st.dictionaries(texts.filter(lambda name: name != "content-length"), texts, max_size=5)


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    command = draw(st.sampled_from(sorted(COMMANDS - UNESCAPED)))
    headers, body = draw(escaped_headers), draw(st.binary(max_size=200))
    if b"\0" in body or draw(st.booleans()):
        headers["content-length"] = str(len(body))
    return Frame(command, headers, body)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[begin:end] for begin, end in pairwise(edges)]


def drip(decoder: Decoder) -> None:
    for _ in range(2000):
        list(decoder.feed(b"x"))


def outcome(chunks: list[bytes], **limits: int) -> tuple[list[Frame], str]:
    """All frames of a stream, and the error that ended it ('' for none)."""
    decoder, got = Decoder(**limits), []
    try:
        for chunk in chunks:
            for frame in decoder.feed(chunk):
                got.append(frame)  # noqa: PERF402 - the frames before an error count too
    except FrameError as error:
        return got, str(error)
    return got, ""


@given(
    st.lists(frames(), max_size=5), st.lists(st.integers(0, 10_000), max_size=10), st.sampled_from(["", "\n", "\r\n\n"])
)
def test_frames_survive_encoding_and_any_cutting_of_the_stream(
    sent: list[Frame], places: list[int], beats: str
) -> None:
    stream = b"".join(beats.encode() + encode(frame) for frame in sent)
    assert outcome(cut(stream, places)) == (sent, "")


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=20))
def test_arbitrary_bytes_mean_the_same_however_they_are_cut(data: bytes, places: list[int]) -> None:
    assert outcome(cut(data, places)) == outcome([data])


@given(st.lists(frames(), min_size=1, max_size=3), st.data())
def test_a_damaged_stream_means_the_same_however_it_is_cut(sent: list[Frame], data: st.DataObject) -> None:
    stream = bytearray(b"".join(map(encode, sent)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(stream) - 1))
        stream[place] = data.draw(st.sampled_from(b"\0\n\r:\\x\xff0"))
    limits = {"max_head_bytes": 60, "max_body_bytes": 150}
    bytewise = outcome([bytes([byte]) for byte in stream], **limits)
    assert outcome([bytes(stream)], **limits) == bytewise


@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\0", b"a:b", b"SEND", b"x" * 7]), max_size=40))
def test_line_ends_at_the_limits_mean_the_same_however_they_are_cut(pieces: list[bytes]) -> None:
    stream = b"SEND\n" + b"".join(pieces)
    limits = {"max_head_bytes": 20, "max_body_bytes": 20}
    assert outcome([stream], **limits) == outcome([bytes([byte]) for byte in stream], **limits)


@pytest.mark.parametrize("end", [b"\n\n", b"\n\r\n"])
@pytest.mark.parametrize("over", [0, 1, 2])
def test_the_limit_of_a_header_is_exact_however_the_stream_is_cut(end: bytes, over: int) -> None:
    stream = b"SEND\nn:" + b"9" * (93 + over - (end == b"\n\r\n")) + end + b"\0"
    whole = outcome([stream], max_head_bytes=100)
    assert whole == outcome([bytes([byte]) for byte in stream], max_head_bytes=100)
    assert bool(whole[1]) == (over > 0)


def test_of_a_repeated_header_the_first_counts() -> None:
    assert outcome([b"SEND\nn:1\nn:2\n\n\0"]) == ([Frame("SEND", {"n": "1"})], "")


def test_carriage_returns_before_line_ends_are_not_content() -> None:
    assert outcome([b"RECEIPT\r\nreceipt-id:7\r\n\r\nx\0"]) == ([Frame("RECEIPT", {"receipt-id": "7"}, b"x")], "")


def test_connected_is_read_without_escapes() -> None:
    stream = rb"CONNECTED" + b"\nserver:a\\cb:c\n\n\0"
    assert outcome([stream]) == ([Frame("CONNECTED", {"server": r"a\cb:c"})], "")


def test_good_frames_before_a_bad_one_are_delivered() -> None:
    got, error = outcome([b"RECEIPT\nreceipt-id:1\n\n\0NONSENSE\n\n\0"])
    assert got == [Frame("RECEIPT", {"receipt-id": "1"})]
    assert error == "'NONSENSE' is not a STOMP command"


@pytest.mark.parametrize("path", MALFORMED, ids=lambda path: path.stem)
def test_a_malformed_stream_is_refused_with_its_reason(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())
    assert outcome([path.read_bytes()], **expected["limits"]) == ([], expected["error"])


def test_there_are_malformed_streams() -> None:
    assert len(MALFORMED) >= 8


def test_an_endless_header_is_refused_when_the_limit_is_passed_and_not_kept() -> None:
    decoder = Decoder(max_head_bytes=1000)
    with pytest.raises(FrameError, match="longer than 1000 bytes"):
        drip(decoder)


def test_a_body_without_end_is_refused_when_the_limit_is_passed() -> None:
    decoder = Decoder(max_body_bytes=1000)
    list(decoder.feed(b"MESSAGE\n\n"))
    with pytest.raises(FrameError, match="no NUL within the limit of 1000 bytes"):
        drip(decoder)


def test_heart_beats_take_no_memory() -> None:
    decoder = Decoder()
    for _ in range(100):
        assert list(decoder.feed(b"\n" * 1000)) == []
    assert not decoder._buffer


@given(texts)
def test_escaped_text_has_no_delimiters(text: str) -> None:
    assert not set(escape(text)) & {"\n", "\r", ":"}


def test_connect_refuses_what_it_cannot_escape() -> None:
    with pytest.raises(ValueError, match="CONNECT cannot carry line ends"):
        head("CONNECT", {"client-id": "a\nb"})


def test_a_body_with_nul_needs_its_length() -> None:
    with pytest.raises(ValueError, match="needs content-length 3"):
        encode(Frame("SEND", {}, b"a\0b"))


def test_an_unknown_command_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="'HELLO' is not a STOMP command"):
        head("HELLO", {})
