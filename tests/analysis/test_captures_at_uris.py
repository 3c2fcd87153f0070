"""Captures at URIs: what is read of them is what a file gives, in ranges, and what is wrong is told of each alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from lab_command import lab
from object_store import Fault, ObjectStore

from analysis.capture.ranges import index
from analysis.capture.reader import NotACapture, read_capture, read_range
from analysis.foreign_captures.build import analyse_files
from analysis.spark.captures import reduce_captures
from analysis.spark.schema import packet_batches
from analysis.spark.source import NoCapture, matching
from records import location
from records.location import Place, locate


def put(store: ObjectStore, captures: Sequence[Path]) -> list[Place]:
    store.objects |= {f"lab/c/{path.name}": path.read_bytes() for path in captures}
    return [locate(store.uri(f"lab/c/{path.name}")) for path in captures]


def test_a_capture_at_a_uri_is_read_as_the_file_is(store: ObjectStore, captures: Sequence[Path]) -> None:
    (place, _) = put(store, captures)
    wanted, found = read_capture(captures[0]), read_capture(place)
    batches = [list(packet_batches(one.packets, capture="c", v6=one.v6)) for one in (wanted, found)]
    assert batches[0] == batches[1]
    assert (found.records, found.others, found.damage) == (wanted.records, wanted.others, None)


def test_a_range_is_read_without_the_rest(store: ObjectStore, captures: Sequence[Path]) -> None:
    (place, _) = put(store, captures)
    pieces = index(place, range_bytes=100_000).ranges
    assert pieces == index(captures[0], range_bytes=100_000).ranges
    store.sent_bytes = 0
    part = read_range(place, pieces[2])
    assert part.records == pieces[2].records
    assert store.sent_bytes == pieces[2].end - pieces[2].start < len(captures[0].read_bytes()) / 3


def test_a_connection_that_breaks_off_changes_nothing(
    store: ObjectStore, captures: Sequence[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(location, "_PAUSES_S", (0.0, 0.0))
    places = put(store, captures)
    wanted = reduce_captures(captures)
    store.faults = [Fault(kind="cut", after=20), Fault(kind="cut", after=50_000)]
    assert reduce_captures(places).equals(wanted)
    assert store.calls["get"] == 2 * 2 + 2


def test_one_that_cannot_be_read_is_told_and_the_others_are_analysed(
    store: ObjectStore, captures: Sequence[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(location, "_PAUSES_S", (0.0, 0.0))
    places = put(store, captures)
    store.objects["lab/c/text.pcap"] = b"no capture at all, but long enough to have a header"
    store.faults = [Fault(kind=503, key="two.pcap", times=99)]
    gone, text = (locate(store.uri(f"lab/c/{name}.pcap")) for name in ("gone", "text"))
    one, two, none, other = analyse_files([*places, gone, text])
    assert one.unreadable is None
    assert one.size == captures[0].stat().st_size
    assert "two.pcap" in str(two.unreadable)
    assert "3 times" in str(two.unreadable)
    assert "no such file" in str(none.unreadable)
    assert "neither a pcap nor a pcapng" in str(other.unreadable)


def test_a_file_that_no_uri_can_name_is_told(store: ObjectStore, captures: Sequence[Path]) -> None:
    put(store, captures)
    store.objects["lab/c/a?b.pcap"] = captures[0].read_bytes()
    with pytest.raises(NoCapture, match=r"a\?b\.pcap.*: a URI cannot name this file"):
        matching([store.uri("lab/c/*.pcap")])


def test_a_capture_that_has_changed_since_it_was_indexed_is_refused(
    store: ObjectStore, captures: Sequence[Path]
) -> None:
    (place, _) = put(store, captures)
    piece = index(place).ranges[0]
    store.objects["lab/c/one.pcap"] = captures[1].read_bytes()
    with pytest.raises(NotACapture, match="index it again"):
        read_range(place, piece)


def test_lab_analyse_takes_uris_and_files_together(
    store: ObjectStore, captures: Sequence[Path], tmp_path: Path
) -> None:
    put(store, captures)
    done = lab("analyse", store.uri("lab/c/two.pcap"), captures[0], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "two-flows" / "plots").is_dir()
    assert "two-flows/report.html" in done.stdout
    local = lab("analyse", captures[1], captures[0], cwd=tmp_path, env=None)
    flows = [line.replace(store.uri("lab/c/two.pcap"), str(captures[1])) for line in done.stdout.splitlines()]
    assert flows == local.stdout.splitlines()


def test_lab_analyse_of_a_uri_without_rights_is_one_message(store: ObjectStore, tmp_path: Path) -> None:
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "somebody"}
    done = lab("analyse", store.uri("lab/c/one.pcap"), cwd=tmp_path, env=environment)
    assert (done.returncode, "have no right" in done.stderr, "Traceback" in done.stderr) == (1, True, False)
    assert "a-secret" not in done.stderr + done.stdout
