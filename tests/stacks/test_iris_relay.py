"""The relay protocol: every message has the bytes that it has to have, however the stream is cut."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.iris import relay
from stacks.iris.relay import FROM_CLIENT, FROM_NODE, Reader, RelayError, Reply, Request, encode

FIXTURES = json.loads((Path(__file__).parents[1] / "fixtures" / "iris" / "relay.json").read_text())
TABLES = {"client": FROM_CLIENT, "node": FROM_NODE}


def made(one: dict[str, Any]) -> relay.Message:
    fields = [bytes.fromhex(field["hex"]) if isinstance(field, dict) else field for field in one["fields"]]
    found: relay.Message = getattr(relay, one["kind"])(*fields)
    return found


@pytest.mark.parametrize("one", FIXTURES, ids=lambda one: f"{one['from']} {one['kind']}")
def test_a_message_is_written_and_read_as_it_has_to_be(one: dict[str, Any]) -> None:
    assert encode(made(one)).hex() == one["hex"].replace(" ", "")
    assert list(Reader(TABLES[one["from"]]).feed(bytes.fromhex(one["hex"]))) == [made(one)]


def test_there_is_an_example_of_every_message() -> None:
    seen = {(one["from"], one["kind"]) for one in FIXTURES}
    assert seen == {(who, kind.__name__) for who, table in TABLES.items() for kind, _ in table.values()}


@pytest.mark.parametrize("who", TABLES)
@given(cut=st.integers(1, 40))
def test_the_stream_may_be_cut_anywhere(who: str, cut: int) -> None:
    messages = [made(one) for one in FIXTURES if one["from"] == who]
    stream = b"".join(map(encode, messages))
    reader = Reader(TABLES[who])
    pieces = [stream[at : at + cut] for at in range(0, len(stream), cut)]
    assert [message for piece in pieces for message in reader.feed(piece)] == messages


@given(st.integers(0, 2**64 - 1), st.text(max_size=20), st.binary(max_size=200), st.integers(0, 2**40), st.booleans())
def test_any_request_and_reply_is_read_as_it_was_written(
    number: int, cluster: str, data: bytes, timeout_ms: int, success: bool
) -> None:
    messages = [Request(number, cluster, data, timeout_ms), Reply(number, success, data)]
    assert list(Reader(FROM_CLIENT).feed(b"".join(map(encode, messages)))) == messages


def test_a_large_message_is_looked_at_again_only_when_it_is_whole() -> None:
    message, reader = Request(1, "c", bytes(300_000), 10), Reader(FROM_CLIENT)
    stream = encode(message)
    assert [found for at in range(0, len(stream), 1000) for found in reader.feed(stream[at : at + 1000])] == [message]


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (b"\x01", "operation 0x01 is none of"),
        (b"\x0e", "operation 0x0e is none of"),
        (b"\x00\x03abc", "begins with 'abc' instead of 'iris-client-magic'"),
        (b"\x05\x01\x02", "a truth value is 2"),
        (b"\x0d" + b"\xff" * 10, "more than 64 bits"),
        (b"\x06\xff\xff\xff\xff\x0f", "a field of 4294967295 bytes"),
        (b"\x06\x01\xff", "not UTF-8"),
    ],
)
def test_what_is_no_message_is_refused(stream: bytes, why: str) -> None:
    with pytest.raises(RelayError, match=why):
        list(Reader(FROM_CLIENT).feed(stream))


@given(st.binary(max_size=60))
def test_any_bytes_are_messages_or_refused(stream: bytes) -> None:
    for table in TABLES.values():
        with suppress(RelayError):
            list(Reader(table).feed(stream))
