"""Random captures of every format, link and header, written field by field and read back."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_captures import File, random_capture
from random_frames import LINKS, random_frame

from analysis.capture.addresses import text
from analysis.capture.columns import NAMES
from analysis.capture.ranges import from_json, index, to_json
from analysis.capture.reader import Capture, read_capture, read_range

MANY = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def check(capture: Capture, made: File, count: int) -> None:
    """The capture holds the first `count` records of the file, and of them every packet whose headers are kept."""
    packets = capture.packets
    rows = {frame: row for row, frame in enumerate(packets.frame.tolist())}
    assert capture.records == count
    assert len(packets) + sum(capture.others.values()) == count
    for number, written in enumerate(made.records[:count]):
        truth = written.frame.truth
        if truth is None:
            assert number not in rows
            continue
        if written.kept >= truth.before:
            assert number in rows
        if number not in rows:
            continue
        row = rows[number]
        found = {name: getattr(packets, name)[row].item() for name in NAMES}
        assert found == {
            "frame": number, "t_ns": written.t_ns, "interface": written.interface, "kept": written.kept,
            "wire": len(written.frame.data), "payload": truth.payload,
            "kept_payload": min(max(written.kept - truth.before, 0), truth.payload),
            "at": written.at + truth.before, "ip_id": truth.ip_id, "tos": truth.tos, "ttl": truth.ttl,
            "protocol": truth.protocol, "src": found["src"], "dst": found["dst"], "sport": truth.sport,
            "dport": truth.dport, "seq": truth.seq, "ack": truth.ack, "window": truth.window, "flags": truth.flags,
        }  # fmt: skip
        assert (text(found["src"], capture.v6), text(found["dst"], capture.v6)) == (truth.src, truth.dst)


@MANY
@given(seed=st.integers(0, 2**32), packets=st.integers(0, 40))
def test_what_was_written_is_read(tmp_path: Path, seed: int, packets: int) -> None:
    made = random_capture(Random(seed), packets=packets)
    path = tmp_path / "a"
    path.write_bytes(made.data)
    capture = read_capture(path)
    assert capture.damage is None
    check(capture, made, len(made.records))


@MANY
@given(seed=st.integers(0, 2**32), data=st.data())
def test_a_cut_file_gives_every_record_before_the_cut(tmp_path: Path, seed: int, data: st.DataObject) -> None:
    made = random_capture(Random(seed), packets=12)
    cut = data.draw(st.integers(28, len(made.data)))
    path = tmp_path / "a"
    path.write_bytes(made.data[:cut])
    capture = read_capture(path)
    count = sum(written.end <= cut for written in made.records)
    check(capture, made, count)
    if capture.damage is not None:
        assert "byte" in capture.damage
    elif count:  # between two blocks or records
        assert cut >= made.records[count - 1].end


@MANY
@given(seed=st.integers(0, 2**32), packets=st.integers(0, 60), range_bytes=st.integers(64, 4000))
def test_ranges_read_alone_are_the_whole(tmp_path: Path, seed: int, packets: int, range_bytes: int) -> None:
    made = random_capture(Random(seed), packets=packets)
    path = tmp_path / "a"
    path.write_bytes(made.data)
    whole, found = read_capture(path), index(path, range_bytes=range_bytes)
    assert (found.records, found.damage) == (whole.records, None)
    parts = [read_range(path, from_json(to_json(piece))) for piece in found.ranges]
    for name in NAMES:
        joined = [value for part in parts for value in getattr(part.packets, name).tolist()]
        offset = [part.start for part in parts for _ in range(len(part.packets))] if name == "at" else [0] * len(joined)
        assert [a + b for a, b in zip(joined, offset, strict=True)] == getattr(whole.packets, name).tolist()
    assert {k: v for part in parts for k, v in part.v6.items()} == whole.v6
    if parts:
        assert {k: v for part in parts for k, v in part.interfaces.items()} == whole.interfaces


@pytest.mark.parametrize("link", LINKS)
def test_every_link_has_packets_of_both_kinds(link: int) -> None:
    frames = [random_frame(Random(seed), link=link) for seed in range(60)]
    assert {frame.truth.protocol for frame in frames if frame.truth} == {6, 17}
