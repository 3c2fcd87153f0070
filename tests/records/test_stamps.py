"""Stamps: what a process writes is what is read of its file, and whatever else stands there is told."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.marker import Marker, pack_into
from records.schema import STAMPS
from records.stamped import Stamped, read, table
from records.stamps import BYTES, Point, Stamps, marked

ADDRESSES = ("10.0.0.1", "10.0.0.2")
FIRST, SECOND = 0x0A000001, 0x0A000002


def mark(producer: int, seq: int) -> bytes:
    body = bytearray(30)
    pack_into(body, Marker(producer, seq, 1))
    return marked(body)


def written(path: Path, *, most_bytes: int = 1 << 20, count: int = 3) -> Stamps:
    stamps = Stamps(path, most_bytes=most_bytes)
    for seq in range(count):
        stamps.add(mark(7, seq), 1000 + seq, Point.TO_PEER, seq == 1, SECOND)
    return stamps


def test_what_is_written_is_read_as_a_table(tmp_path: Path) -> None:
    stamps = written(tmp_path / "stamps")
    stamps.add(mark(7, 9), 2000, Point.FROM_APPLICATION, False, 0)
    stamps.close()
    found = read(tmp_path / "stamps")
    assert (found.left_out, found.ended) == (0, True)
    assert table({0: found.rows}, ADDRESSES).schema == STAMPS
    assert [tuple(row.values()) for row in table({0: found.rows}, ADDRESSES).to_pylist()] == [
        (0, Point.TO_PEER, False, 7, 0, 1, 1000),
        (0, Point.TO_PEER, True, 7, 1, 1, 1001),
        (0, Point.TO_PEER, False, 7, 2, 1, 1002),
        (0, Point.FROM_APPLICATION, False, 7, 9, None, 2000),
    ]


def test_nodes_without_stamps_make_an_empty_table() -> None:
    assert table({}, ADDRESSES).num_rows == 0
    assert table({}, ADDRESSES).schema == STAMPS


@pytest.mark.parametrize("body", [b"", bytes(30), b"AWR1" + bytes(11)])
def test_a_body_without_a_marker_has_none(body: bytes) -> None:
    assert marked(body) == b""


def test_what_there_is_no_room_for_is_counted(tmp_path: Path) -> None:
    stamps = written(tmp_path / "stamps", most_bytes=2 * BYTES)
    stamps.flush()
    stamps.add(mark(7, 9), 2000, Point.TO_PEER, False, SECOND)
    stamps.close()
    found = read(tmp_path / "stamps")
    assert (len(found.rows), found.left_out, found.ended) == (0, 4, True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_ends_no_process() -> None:
    stamps = Stamps(Path("/dev/full"))
    stamps.add(mark(7, 0), 1, Point.TO_PEER, False, SECOND)
    stamps.close()
    assert stamps.left_out == 1


def test_a_process_that_was_killed_has_not_ended_and_the_next_one_goes_on_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "stamps"
    written(path).flush()
    assert not read(path).ended
    with path.open("ab") as file:
        file.write(b"half a record")
    written(path, count=1).close()
    found = read(path)
    assert found.rows["seq"].tolist() == [0, 1, 2, 0]
    assert found.ended


@given(st.binary(max_size=4 * BYTES))
def test_no_file_however_damaged_is_taken_for_more_than_it_is(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    try:
        found = parsed(tmp_path_factory, content)
    except ValueError as error:
        said = str(error)
    else:
        said = "is no stamp"
        assert_no_more(found, content)
    assert "is no stamp" in said


def assert_no_more(found: Stamped, content: bytes) -> None:
    assert len(found.rows) <= len(content) // BYTES
    rows = table({1: found.rows}, ADDRESSES).to_pylist()
    assert all(row["seq"] >= 0 and row["t_ns"] >= 0 and row["producer"] >= 0 for row in rows)
    assert not found.ended or len(content) % BYTES == 0


@given(st.integers(0, 4 * BYTES))
def test_a_file_that_was_cut_off_has_its_first_records(tmp_path_factory: pytest.TempPathFactory, size: int) -> None:
    record = struct.Struct("!12sQBBI")
    content = b"".join(record.pack(mark(7, seq), seq, Point.FROM_PEER, 0, FIRST) for seq in range(4))
    found = parsed(tmp_path_factory, content[:size])
    assert found.rows["seq"].tolist() == list(range(size // BYTES))
    assert not found.ended


def parsed(folders: pytest.TempPathFactory, content: bytes) -> Stamped:
    path = folders.getbasetemp() / f"stamps-{os.getpid()}"
    path.write_bytes(content)
    return read(path)
