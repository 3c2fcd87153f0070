"""Captures as rows of Spark, and as Parquet: the same packets as the reader gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_command import lab
from object_store import Fault, ObjectStore
from pyspark.errors import PySparkException
from synthetic_campaign import Spec, write_campaign

from analysis.capture.ranges import index
from analysis.capture.reader import read_capture, read_range
from analysis.spark import export
from analysis.spark.schema import PACKETS, packet_batches
from analysis.spark.source import register
from records import location
from records.location import Place, Remote, locate
from records.publishing import publish
from records.store import trials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


def expected(path: Path, name: str) -> pa.Table:
    file = read_capture(path)
    return pa.Table.from_batches(packet_batches(file.packets, capture=name, v6=file.v6))


@pytest.mark.parametrize("range_bytes", [1, 50_000, 1 << 30])
def test_ranges_hold_every_packet_once_in_order(captures: Sequence[Path], range_bytes: int) -> None:
    path = captures[0]
    found = index(path, range_bytes=range_bytes)
    parts = [read_range(path, piece) for piece in found.ranges]
    tables = [pa.Table.from_batches(packet_batches(part.packets, capture="c", v6=part.v6)) for part in parts]
    assert pa.concat_tables(tables).combine_chunks().equals(expected(path, "c").combine_chunks())
    assert len(parts) == (1 if range_bytes > 1 << 20 else len(parts))
    assert sum(part.records for part in parts) == read_capture(path).records
    assert found.damage is None


def test_batches_are_of_at_most_the_rows_asked(captures: Sequence[Path]) -> None:
    file = read_capture(captures[0])
    batches = list(packet_batches(file.packets, capture="c", v6={}, rows=500))
    assert [len(batch) for batch in batches[:-1]] == [500] * (len(batches) - 1)
    assert sum(map(len, batches)) == len(file.packets)


def test_the_data_source_gives_what_the_reader_gives(spark: SparkSession, captures: Sequence[Path]) -> None:
    register(spark)
    pattern = str(captures[0].parent / "*.pcap")
    frame = spark.read.format("pcap").option("range_bytes", 200_000).load(pattern)
    found = frame.orderBy("capture", "frame").toArrow()
    whole = pa.concat_tables([expected(path, str(path)) for path in captures])
    assert found.cast(whole.schema).combine_chunks().equals(whole.combine_chunks())
    top = frame.groupBy("src", "sport").sum("wire_len").count()
    assert top == len(whole.group_by(["src", "sport"]).aggregate([]))


def test_the_data_source_reads_a_pattern_of_uris_in_ranges(
    spark: SparkSession, captures: Sequence[Path], store: ObjectStore
) -> None:
    register(spark)
    store.page_keys = 1
    store.objects = {f"lab/c/{path.name}": path.read_bytes() for path in captures} | {"lab/c/notes.txt": b"-"}
    frame = spark.read.format("pcap").option("range_bytes", 200_000).load(store.uri("lab/c/*.pcap"))
    found = frame.orderBy("capture", "frame").toArrow()
    whole = pa.concat_tables([expected(path, store.uri(f"lab/c/{path.name}")) for path in captures])
    assert found.cast(whole.schema).combine_chunks().equals(whole.combine_chunks())
    with pytest.raises(PySparkException, match="no file matches"):
        spark.read.format("pcap").load(store.uri("lab/none/*.pcap")).count()


def test_filters_choose_ranges_and_a_schema_chooses_columns(spark: SparkSession, captures: Sequence[Path]) -> None:
    register(spark)
    names = [str(path) for path in captures]
    pieces = index(captures[0], range_bytes=50_000).ranges
    low, high = pieces[3].first_ns, pieces[3].last_ns
    read = spark.read.format("pcap").option("range_bytes", 50_000).option("pushdown", True)
    frame = read.schema("frame long, ts_ns long, capture string, dport int").load([*names, names[0]])
    some = frame.where(f"ts_ns >= {low} AND ts_ns <= {high} AND capture = '{names[0]}' AND dport = 443")
    found = some.orderBy("frame").toArrow()
    whole = expected(captures[0], names[0]).select(found.schema.names)
    asked = pc.and_(pc.greater_equal(whole["ts_ns"], low), pc.less_equal(whole["ts_ns"], high))
    wanted = whole.filter(pc.and_(asked, pc.equal(whole["dport"], 443)))
    assert found.schema.names == ["frame", "ts_ns", "capture", "dport"]
    assert found.cast(wanted.schema).combine_chunks().equals(wanted.combine_chunks())
    assert some.rdd.getNumPartitions() < 5 < len(pieces)
    with pytest.raises(PySparkException, match="'perhaps' is neither true nor false"):
        read.option("pushdown", "perhaps").load(names).count()


def test_a_frame_gives_all_packets_after_a_filter_and_beside_one(spark: SparkSession, captures: Sequence[Path]) -> None:
    """Spark keeps the partitions that it planned first, so filters must not choose them unasked."""
    register(spark)
    count = sum(len(read_capture(path).packets) for path in captures)
    frame = spark.read.format("pcap").load([str(path) for path in (*captures, captures[0])])
    some = frame.where("dport = 443")
    few = some.count()
    assert 0 < few < count == frame.count()
    assert some.unionByName(frame).count() == few + count


def test_the_data_source_says_which_file_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    with pytest.raises(PySparkException, match="no such file"):
        spark.read.format("pcap").load(str(tmp_path / "none.pcap")).count()


@pytest.mark.parametrize("with_spark", [False, True])
def test_exported_packets_are_those_of_the_reader(
    spark: SparkSession, captures: Sequence[Path], tmp_path: Path, with_spark: bool
) -> None:
    plan = export.plan_captures(captures)
    rows, problems = export.write(plan.pieces, tmp_path, spark=spark if with_spark else None)
    assert (problems, plan.problems) == ([], ())
    for path in captures:
        file = tmp_path / "packets" / f"capture={path.name}" / "part-00000.parquet"
        with file.open("rb") as source:
            parquet = pq.ParquetFile(source)
            found = parquet.read()
            assert parquet.metadata.row_group(0).column(0).compression == "ZSTD"
        wanted = expected(path, path.name).drop_columns(["capture"])
        assert found.cast(wanted.schema).combine_chunks().equals(wanted.combine_chunks())
        assert found.schema.field("frame").metadata == PACKETS.field("frame").metadata
    assert rows == sum(len(read_capture(path).packets) for path in captures)
    frame = pd.read_parquet(tmp_path / "packets")
    assert set(frame["capture"]) == {path.name for path in captures}


def test_a_campaign_is_exported_with_its_ledgers_and_every_trial_is_named(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, Spec(trials=1))
    done = lab("export", campaign, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    delivered = pd.read_parquet(tmp_path / "out" / "delivered")
    wanted = {trial.path.parent.name: trial.table("delivered").num_rows for trial in trials(campaign)}
    assert delivered.groupby("cell", observed=True).size().to_dict() == wanted
    about = pd.read_parquet(tmp_path / "out" / "trials.parquet")
    assert sorted(about["cell"]) == sorted(wanted)
    assert set(zip(about["kernel"], about["medium"], strict=True)) == {("host", "tc")}, "as before there was a choice"
    assert about["transmission_time"].isna().all()
    packets = pd.read_parquet(tmp_path / "out" / "packets")
    assert set(packets["cell"]) == set(wanted)


@pytest.mark.parametrize("with_spark", [False, True])
def test_captures_at_uris_are_exported_to_a_uri(
    spark: SparkSession, captures: Sequence[Path], store: ObjectStore, tmp_path: Path, with_spark: bool
) -> None:
    store.objects = {f"lab/c/{path.name}": path.read_bytes() for path in captures}
    plan = export.plan_captures([locate(store.uri(f"lab/c/{path.name}")) for path in captures])
    out = locate(store.uri("lab/out"))
    rows, problems = export.write(plan.pieces, out, spark=spark if with_spark else None)
    export.write(export.plan_captures(captures).pieces, tmp_path)
    assert problems == []
    assert rows == sum(len(read_capture(path).packets) for path in captures)
    here = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    assert store.under("lab/out") == here


def test_what_a_store_does_not_take_is_told_and_the_rest_is_there(
    captures: Sequence[Path], store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(location, "_PAUSES_S", (0.0, 0.0))
    store.faults = [Fault(kind=503, operation="put", key="two.pcap", times=3)]
    rows, (problem,) = export.write(export.plan_captures(captures).pieces, locate(store.uri("lab/out")))
    assert rows == len(read_capture(captures[0]).packets)
    assert "capture=two.pcap" in problem
    assert "3 times" in problem
    assert list(store.under("lab/out")) == ["packets/capture=one.pcap/part-00000.parquet"]


def test_objects_that_are_not_there_as_they_were_written_end_the_export_and_none_stays(
    captures: Sequence[Path], store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = export.write_piece

    def shorter(piece: export.Piece, out: Place) -> export.Done:
        done = there(piece, out)
        return replace(done, bytes=done.bytes + ("two" in piece.target))

    monkeypatch.setattr(export, "write_piece", shorter)
    with pytest.raises(export.NotShared, match=r"of 2 files that workers wrote, 1 are not here .*capture=two\.pcap"):
        export.write(export.plan_captures(captures).pieces, locate(store.uri("lab/out")))
    assert store.under("lab/out") == {}


def test_what_others_have_put_beside_an_export_that_fails_stays(
    store: ObjectStore, captures: Sequence[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = export.write_piece

    def beside_another(piece: export.Piece, out: Place) -> export.Done:
        store.objects |= {f"lab/out/{name}": b"" for name in ("README", f"{piece.target}.partial-{'0' * 32}")}
        return there(piece, out)

    monkeypatch.setattr(export, "write_piece", beside_another)
    with pytest.raises(export.NotShared, match="README"):
        export.write(export.plan_captures(captures).pieces, locate(store.uri("lab/out")))
    assert list(store.under("lab/out")) == ["README"]


@given(st.text(min_size=1))
def test_a_name_in_a_folder_of_an_export_is_told_back_by_readers_and_no_longer_than_it_has_to_be(name: str) -> None:
    level = export.level(name)
    assert unquote(level) == name
    assert "/" not in level
    assert export.level("сеть=lte,ядро") == "сеть%3Dlte%2Cядро"


def test_a_published_campaign_is_exported_from_its_uri_to_another(store: ObjectStore, tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, Spec(trials=1, bodies=(100,), networks=("nistnet-80211",)))
    target = locate(store.uri("lab/runs/one"))
    assert isinstance(target, Remote)
    publish(campaign, target)
    for what, out in ((campaign, tmp_path / "out"), (store.uri("lab/runs/one"), store.uri("lab/out"))):
        done = lab("export", what, "--out", out)
        assert done.returncode == 0, done.stderr
    here = tmp_path / "out"
    written = {path.relative_to(here).as_posix(): path.read_bytes() for path in here.rglob("*.parquet")}
    assert store.under("lab/out") == written
    again = lab("export", store.uri("lab/runs/one"), "--out", store.uri("lab/out"))
    assert (again.returncode, "not an empty folder" in again.stderr) == (2, True)
    none = lab("export", store.uri("lab/runs"), "--out", store.uri("lab/out2"))
    assert (none.returncode, "comes last" in none.stderr, store.under("lab/out2")) == (1, True, {})


def test_what_is_not_what_was_published_is_not_exported(store: ObjectStore, tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, Spec(trials=1, bodies=(100,), networks=("nistnet-80211",)))
    target = locate(store.uri("lab/runs/one"))
    assert isinstance(target, Remote)
    publish(campaign, target)
    everything = sorted(store.under("lab/runs/one"))
    changed = [next(name for name in everything if name.endswith(end)) for end in (".pcap", "delivered.parquet")]
    for name in changed:
        whole = store.objects[f"lab/runs/one/{name}"]
        store.objects[f"lab/runs/one/{name}"] = whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]
    done = lab("export", store.uri("lab/runs/one"), "--out", tmp_path / "out")
    assert done.returncode == 1
    said = done.stderr.replace("\n", "")
    assert [f"/{name}?" in said for name in changed] == [True, True]
    assert said.count("are not those that were published") == len(changed)
    written = {path.parent.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.parquet")}
    cell, capture = changed[0].split("/")[0], changed[0].split("/")[-1]
    assert {f"published/cell={cell}/trial=1", f"resources/cell={cell}/trial=1"} <= written
    assert written.isdisjoint(
        {f"packets/cell={cell}/trial=1/capture={export.level(capture)}", f"delivered/cell={cell}/trial=1"}
    )


def test_an_export_overwrites_nothing(captures: Sequence[Path], tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    done = lab("export", captures[0], "--out", tmp_path)
    assert (done.returncode, "not an empty folder" in done.stderr) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_what_cannot_be_exported_is_named_and_the_rest_is_written(captures: Sequence[Path], tmp_path: Path) -> None:
    (tmp_path / "text.pcap").write_text("no capture at all, but long enough to have a header")
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(captures[1].read_bytes()[:-10])
    done = lab("export", captures[0], tmp_path / "text.pcap", cut, tmp_path / "none.pcap", "--out", tmp_path / "out")
    assert done.returncode == 1
    for said in ("text.pcap", "cut.pcap", "what stands before is exported", "none.pcap"):
        assert said in done.stderr
    frame = pd.read_parquet(tmp_path / "out" / "packets")
    counts = frame.groupby("capture", observed=True).size().to_dict()
    assert counts == {path.name: len(read_capture(path).packets) for path in (captures[0], cut)}
