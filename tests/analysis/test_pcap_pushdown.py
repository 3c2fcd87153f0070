"""The pcap source reads what a query can match and no more, by an index that it keeps and never believes blindly."""

from __future__ import annotations

import json
import operator
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from common.capture import write_capture
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from object_store import ObjectStore
from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual
from pyspark.sql.types import IntegerType, LongType, StructType
from random_captures import T0_NS, random_capture
from synthetic_campaign import Spec, write_campaign

from analysis.capture import kept_index as kept
from analysis.capture.kept_index import index_file, kept_index
from analysis.capture.ranges import index, to_json
from analysis.spark import captures
from analysis.spark.export import plan_campaign, plan_captures
from analysis.spark.options import BadOption
from analysis.spark.schema import PLAIN
from analysis.spark.ship import bundle
from analysis.spark.source import NoCapture, NoColumn, PcapReader, PcapSource, columns_of, matching
from analysis.sql.views import VIEWS
from analysis.sql.work import planned
from records.filenames import MANIFEST
from records.store import trials

SMALL = Spec(bodies=(100,), guarantees=("durable, persistent",), networks=("wireline-100m",), trials=2, packets=4)
MANY = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
EXACT: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: operator.eq, GreaterThan: operator.gt, GreaterThanOrEqual: operator.ge, LessThan: operator.lt,
    LessThanOrEqual: operator.le, In: lambda value, values: value in values,
}  # fmt: skip


def rows(reader: PcapReader) -> pa.Table:
    """What Spark gets from all tasks."""
    return pa.Table.from_batches([one for part in reader.partitions() for one in reader.read(part)], PLAIN)


def exactly(table: pa.Table, filters: Sequence[Filter]) -> pa.Table:
    """What Spark leaves of it."""
    for one in filters:
        values = table[one.attribute[0]].to_pylist()
        table = table.filter(pa.array([EXACT[type(one)](value, one.value) for value in values], pa.bool_()))
    return table.combine_chunks()


def ranges_read(reader: PcapReader) -> int:
    return sum(bool(part.path) for part in reader.partitions())


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_capture(tmp_path / "a.pcap", packets=3000, connections=30)


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files that were walked from end to end, as often as they were."""
    seen: list[Path] = []

    def walked(path: Path, *, range_bytes: int) -> object:
        seen.append(path)
        return index(path, range_bytes=range_bytes)

    monkeypatch.setattr(kept, "index", walked)
    return seen


@st.composite
def filters(draw: st.DrawFn) -> list[Filter]:
    times = st.integers(T0_NS - 10**7, T0_NS + 30 * 10**7) | st.just(0)
    comparing = st.sampled_from((EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual))
    of_time = st.builds(lambda kind, value: kind(("ts_ns",), value), comparing, times)
    several = st.builds(lambda values: In(("ts_ns",), tuple(values)), st.lists(times, max_size=3))
    number = st.builds(
        lambda name, value: EqualTo((name,), value),
        st.sampled_from(("protocol", "sport", "dport")),
        st.sampled_from((6, 17, 443)),
    )
    other = st.just(GreaterThan(("wire_len",), 100))
    return draw(st.lists(of_time | of_time | several | number | other, max_size=3))


@MANY
@given(seed=st.integers(0, 2**32), asked=filters(), range_bytes=st.integers(500, 4000))
def test_answers_are_the_same_with_and_without_filters_pushed_and_index_kept(
    tmp_path: Path, seed: int, asked: list[Filter], range_bytes: int
) -> None:
    path = tmp_path / "a"
    path.write_bytes(random_capture(Random(seed), packets=25).data)
    wanted = exactly(rows(PcapReader([str(path)], range_bytes=range_bytes, keep_index=False)), asked)
    for _ in range(2):  # the first keeps the index, the second uses it
        reader = PcapReader([str(path)], range_bytes=range_bytes, pushdown=True)
        assert list(reader.pushFilters(asked)) == asked, "Spark applies them all"
        assert exactly(rows(reader), asked).equals(wanted)
    assert index_file(path).exists()


@MANY
@given(seed=st.integers(0, 2**32), range_bytes=st.integers(64, 4000))
def test_a_kept_index_is_the_index_and_says_the_times_of_its_ranges(
    tmp_path: Path, seed: int, range_bytes: int
) -> None:
    made = random_capture(Random(seed), packets=25)
    path = tmp_path / "a"
    path.write_bytes(made.data)
    found = index(path, range_bytes=range_bytes)
    assert kept_index(path, range_bytes=range_bytes) == found == kept_index(path, range_bytes=range_bytes)
    for piece in found.ranges:
        times = [one.t_ns for one in made.records[piece.first_frame : piece.first_frame + piece.records]] or [0]
        said = (piece.first_ns, piece.last_ns, piece.low_ns, piece.high_ns)
        assert said == (times[0], times[-1], min(times), max(times))


def test_only_ranges_of_the_time_asked_for_are_read_and_only_its_packets_sent(capture: Path) -> None:
    reader = PcapReader([str(capture)], range_bytes=100_000, pushdown=True)
    pieces, whole = index(capture, range_bytes=100_000).ranges, rows(reader)
    assert len(pieces) > 10
    low, high = pieces[4].first_ns, pieces[4].last_ns
    asked = [GreaterThanOrEqual(("ts_ns",), low), LessThan(("ts_ns",), high), EqualTo(("dport",), 443)]
    reader.pushFilters(asked)
    assert ranges_read(reader) == sum(one.low_ns < high and one.high_ns >= low for one in pieces) < 4
    assert rows(reader).combine_chunks().equals(exactly(whole, asked))
    reader.pushFilters([GreaterThan(("ts_ns",), pieces[-1].high_ns)])
    assert (ranges_read(reader), rows(reader).num_rows) == (0, 0)
    reader.pushFilters([EqualTo(("ts_ns",), None)])
    assert ranges_read(reader) == 0, "nothing equals NULL"
    reader.pushFilters([In(("sport",), (None, 443))])
    assert set(rows(reader)["sport"].to_pylist()) == {443}


def test_captures_that_are_not_asked_for_are_not_opened(capture: Path, tmp_path: Path, walks: list[Path]) -> None:
    (tmp_path / "b.pcap").write_text("not a capture at all, and nobody asks for it")
    reader = PcapReader([str(tmp_path)], pushdown=True)
    reader.pushFilters([In(("capture",), (str(capture), "elsewhere"))])
    assert ranges_read(reader) == 1
    assert walks == [capture]


def test_an_unchanged_capture_is_walked_once(capture: Path, walks: list[Path]) -> None:
    first = kept_index(capture)
    assert kept_index(capture) == first
    assert walks == [capture]
    assert kept_index(capture, range_bytes=100_000) != first, "cut otherwise"
    assert [path.name for path in capture.parent.iterdir() if "index" in path.name] == [index_file(capture).name]


def _stale(capture: Path) -> None:
    """As many bytes, other ones far from any sample, and the time of modification as it was."""
    kept_index(capture)
    before = capture.stat()
    with capture.open("r+b") as file:
        file.seek(24)  # the first record's second
        file.write((1_600_000_000).to_bytes(4, "little"))
    os.utime(capture, ns=(before.st_atime_ns, before.st_mtime_ns))


def _truncated(capture: Path) -> None:
    kept_index(capture)
    place = index_file(capture)
    place.write_bytes(place.read_bytes()[:-40])


def _altered(capture: Path) -> None:
    kept_index(capture)
    place = index_file(capture)
    said = json.loads(place.read_text())
    said["index"]["ranges"][0]["high_ns"] = 5
    place.write_text(json.dumps(said))


def _foreign(capture: Path) -> None:
    other = write_capture(capture.with_name("other.pcap"), packets=300, connections=3)
    kept_index(other)
    shutil.copyfile(index_file(other), index_file(capture))


def _of_something_else(capture: Path) -> None:
    index_file(capture).write_text('[{"sha256": 1}]')


@pytest.mark.parametrize("spoil", [_stale, _truncated, _altered, _foreign, _of_something_else])
def test_an_index_that_is_not_of_the_capture_is_made_again(
    capture: Path, walks: list[Path], spoil: Callable[[Path], None]
) -> None:
    spoil(capture)
    walks.clear()
    right = index(capture)
    assert kept_index(capture) == right
    assert kept_index(capture) == right
    assert walks == [capture]


def test_a_capture_that_grows_between_two_queries_gives_its_new_packets(capture: Path, tmp_path: Path) -> None:
    data = capture.read_bytes()
    growing = tmp_path / "growing.pcap"
    growing.write_bytes(data[: len(data) // 2])
    before = rows(PcapReader([str(growing)])).num_rows
    growing.write_bytes(data)
    assert 0 < before < rows(PcapReader([str(growing)])).num_rows == rows(PcapReader([str(capture)])).num_rows


def test_no_index_is_kept_of_a_capture_that_changes_meanwhile(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def walked(path: Path, *, range_bytes: int) -> object:
        found = index(path, range_bytes=range_bytes)
        with path.open("ab") as file:
            file.write(b"half a rec")
        return found

    monkeypatch.setattr(kept, "index", walked)
    kept_index(capture)
    assert not index_file(capture).exists()


def test_nothing_is_kept_where_it_is_not_wanted_or_cannot_be(capture: Path, tmp_path: Path) -> None:
    kept_index(capture, keep=False)
    trial = tmp_path / "trial-001"
    trial.mkdir()
    (trial / MANIFEST).touch()
    kept_index(Path(shutil.copy(capture, trial / "a.pcap")))
    assert [path.name for path in tmp_path.rglob("*index*")] == []
    index_file(capture).mkdir()  # it cannot be put in place, whoever asks
    assert kept_index(capture) == index(capture)
    assert sorted(path.name for path in tmp_path.glob(".*")) == [index_file(capture).name]


def test_each_capture_is_named_once_and_in_order(capture: Path, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    for name in ("z.pcapng", "b.cap", "notes.txt"):
        shutil.copy(capture, folder / name)
    (tmp_path / "link.pcap").symlink_to(capture)
    asked = [str(folder), str(capture), str(tmp_path / "*.pcap"), f"{folder}/../a.pcap", f"file://{folder}/z.pcapng"]
    assert matching(asked) == [str(capture), str(folder / "b.cap"), str(folder / "z.pcapng")]
    with pytest.raises(NoCapture, match="none"):
        matching([str(capture), str(tmp_path / "none" / "*")])
    with pytest.raises(NoCapture, match="no path"):
        matching([])


def test_folders_patterns_and_files_at_uris_are_named_once_and_no_index_is_kept_there(
    capture: Path, store: ObjectStore
) -> None:
    store.objects |= {f"lab/c/{name}": capture.read_bytes() for name in ("b.pcap", "a.pcap", "notes.txt", "d/e.pcap")}
    names = [store.uri("lab/c/a.pcap"), store.uri("lab/c/b.pcap")]
    there = set(store.objects)
    reader = PcapReader([store.uri("lab/c"), names[1], str(capture)], range_bytes=100_000)
    assert matching(reader.paths) == [str(capture), *names]
    assert ranges_read(reader) == 3 * len(index(capture, range_bytes=100_000).ranges)
    assert set(store.objects) == there


def test_columns_are_those_of_the_schema_given(capture: Path) -> None:
    few = columns_of(StructType().add("wire_len", IntegerType()).add("ts_ns", LongType()))
    reader = PcapReader([str(capture)], columns=few)
    (batch, *_) = reader.read(reader.partitions()[0])
    whole = rows(PcapReader([str(capture)]))
    assert batch.schema.names == ["wire_len", "ts_ns"]
    assert pc.sum(batch["wire_len"]) == pc.sum(whole["wire_len"])
    for wrong in (StructType().add("wire_len", LongType()), StructType().add("wirelen", IntegerType())):
        with pytest.raises(NoColumn, match="ts_ns bigint"):
            columns_of(wrong)


def test_the_index_of_a_trials_capture_is_kept_with_the_campaign_and_the_trial_stays_as_it_was(
    tmp_path: Path, walks: list[Path]
) -> None:
    campaign = write_campaign(tmp_path, SMALL)
    before = {path: path.stat().st_mtime_ns for path in campaign.rglob("*")}
    plans = [plan_campaign(campaign)[0] for _ in range(2)]
    assert plans[0] == plans[1]
    made = sorted(path.relative_to(campaign).as_posix() for path in campaign.rglob("*") if path not in before)
    assert [name for name in made if name.endswith("json")] == [
        f".indexes/{trial.path.parent.name}/{trial.path.name}/sta1.pcap.json" for trial in trials(campaign)
    ]
    assert {path: path.stat().st_mtime_ns for path in before if path != campaign} == {
        path: when for path, when in before.items() if path != campaign
    }
    assert len(walks) == len(trials(campaign)) == 2
    shutil.rmtree(campaign / ".indexes")
    assert plan_campaign(campaign)[0] == plans[0]


def test_what_export_analysis_and_the_view_of_packets_read_again_is_not_walked_again(
    capture: Path, tmp_path: Path, walks: list[Path]
) -> None:
    campaign = write_campaign(tmp_path, SMALL)
    view = planned(VIEWS["packets"], [campaign], {})
    assert planned(VIEWS["packets"], [campaign], {}) == view
    assert len(walks) == len(view) == 2
    plan_campaign(campaign)
    assert len(walks) == 2, "the view's index serves an export"
    walks.clear()
    plan = plan_captures([capture])
    assert plan_captures([capture]) == plan
    assert walks == [capture]
    cut = captures._large([str(capture)], 1000, 100_000)
    again = captures._large([str(capture)], 1000, 100_000)
    assert again.ranges == cut.ranges == {0: tuple(map(to_json, index(capture, range_bytes=100_000).ranges))}
    assert walks == [capture, capture]


def test_a_worker_that_has_the_code_from_a_zip_has_the_same_key(tmp_path: Path) -> None:
    zipped = bundle(tmp_path)
    program = "from analysis.capture import kept_index as kept; print(kept.__file__, kept._code())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(zipped)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    file, code = done.stdout.split()
    assert file.removesuffix("c") == f"{zipped}/analysis/capture/kept_index.py"
    assert code == kept._code()


def test_a_file_that_is_named_twice_gives_its_ranges_once(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "link.pcap").symlink_to(capture)
    wanted = plan_captures([capture])
    assert plan_captures([capture, capture, tmp_path / "link.pcap", Path(os.path.relpath(capture))]) == wanted
    other = Path(shutil.copy(capture, tmp_path / "other.pcap"))
    plan = plan_captures([other, capture, other])
    assert sorted(piece.capture for piece in plan.pieces) == sorted([other.name, capture.name] * len(wanted.pieces))


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", ""])
def test_a_size_of_ranges_that_is_no_whole_number_from_1_on_is_refused(value: str, capture: Path) -> None:
    with pytest.raises(BadOption, match=f"^range_bytes: '{value}' is no whole number from 1 on$"):
        PcapSource({"path": str(capture), "range_bytes": value}).reader(StructType())
    assert PcapSource({"path": str(capture), "range_bytes": "1"}).reader(StructType()).range_bytes == 1


def test_a_damaged_capture_is_damaged_by_its_kept_index_too(tmp_path: Path, walks: list[Path], capture: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(capture.read_bytes()[:-7])
    plans = [plan_captures([cut]) for _ in range(2)]
    assert plans[0] == plans[1]
    assert "what stands before is exported" in plans[0].problems[0]
    assert walks == [cut]
