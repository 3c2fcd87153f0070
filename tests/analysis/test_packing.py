"""A packed campaign says all that it said before: its report, its comparisons, and what stands elsewhere."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from blank_plots import blank
from packs import REVISION, copy, files, pack, reduced
from reduced_here import findings_of
from synthetic_campaign import Spec, write_campaign

from analysis import histogram
from analysis.campaign_compare import Tolerance, between
from analysis.findings import Findings
from analysis.pack import UNKNOWN, packing
from analysis.packed import encode, packed_rows, read_rows
from analysis.reductions import reduce as reductions
from analysis.reductions.reduce import reducing, silent
from analysis.report.build import write
from analysis.rows import SCHEMA
from analysis.spark.export import plan_campaign
from analysis.trial import reduce_trial
from experiments.campaign.unpack import unpack
from records.errors import CannotGoOn
from records.latency import sent_in_window
from records.pack import write_pack
from records.packed import LATENCIES, PACKED, REDUCED, Packed
from records.schema import TABLES
from records.store import DamagedTrial, Trial, trials, write_record
from records.waits import read_sent

SPEC = Spec(
    bodies=(100,), guarantees=("durable, persistent",), trials=4, events=((2.0, "slower"),), rates=((2.0, 5e5),)
)
CELL = "nistnet-80211_100_dp"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four trials of two cells; one of them is invalid, one has a ledger that cannot be read, one was not run."""
    spec = Spec(
        bodies=(100,), guarantees=("durable, persistent",), trials=4, events=SPEC.events, rates=SPEC.rates,
        states={(CELL, 2): "invalid"}, absent=frozenset({(CELL, 4)}),
    )  # fmt: skip
    folder = write_campaign(tmp_path_factory.mktemp("original"), spec)
    (folder / CELL / "trial-003" / "delivered.parquet").write_bytes(b"PAR1")
    (folder / CELL / "trial-001" / "logs").mkdir()
    (folder / CELL / "trial-001" / "logs" / "broker.log").write_text("started\n")
    return folder


@pytest.fixture(scope="module")
def packed(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, packed and unpacked elsewhere."""
    place = tmp_path_factory.mktemp("packed")
    return unpack(pack(original, place / "pack"), place / "results").folder


@pytest.fixture(scope="module")
def reported(original: Path, packed: Path) -> tuple[Findings, Findings]:
    """What came of both, whose reports are written."""
    found = findings_of(original), findings_of(packed)
    with blank():
        for one in found:
            write(one)
    return found


@pytest.mark.usefixtures("reported")
def test_a_report_of_a_packed_campaign_has_the_same_tables(original: Path, packed: Path) -> None:
    assert files(packed / "tables") == files(original / "tables")
    assert b"nistnet" in files(packed / "tables")["trials.csv"]


@pytest.mark.usefixtures("reported")
def test_a_report_says_what_stands_elsewhere(packed: Path) -> None:
    page = (packed / "report.html").read_text()
    assert f"7 of 7 trials, reduced at revision {REVISION.revision}" in page
    assert "stand where they were packed: 29 files, " in page
    trial = (packed / "trials" / f"{CELL}-trial-001.html").read_text()
    for name in ("published.parquet", "sta1.pcap", "logs/broker.log"):
        assert f"{CELL}/trial-001/{name}" in trial
    assert "Files that stand where this trial was packed" in trial


def test_a_packed_campaign_compares_as_the_original_does(reported: tuple[Findings, Findings], tmp_path: Path) -> None:
    other = findings_of(write_campaign(tmp_path, Spec(bodies=(100,), guarantees=SPEC.guarantees, name="c2")))
    names, tolerance = ("delivered_per_s", "latency_p99_s"), Tolerance(margin=0.05, share_margin=0.005)
    rows = [between(one, other, metrics=names, tolerance=tolerance).rows for one in reported]
    assert rows[0] == rows[1]
    assert len(rows[0]) > 1


def test_packing_again_what_was_unpacked_gives_the_same_bytes(original: Path, packed: Path, tmp_path: Path) -> None:
    first, again = pack(original, tmp_path / "a").read_bytes(), pack(packed, tmp_path / "b").read_bytes()
    assert first == again
    assert first == pack(original, tmp_path / "c").read_bytes()


def test_with_ledgers_nothing_but_captures_and_logs_is_left_out(original: Path, tmp_path: Path) -> None:
    folder = unpack(pack(original, tmp_path / "a", ledgers=True), tmp_path / "results").folder
    trial = Trial(folder / CELL / "trial-001")
    assert [one.file for one in trial.elsewhere()] == ["logs/broker.log", "sta1.pcap"]
    for name in TABLES:
        assert trial.table(name) == Trial(original / CELL / "trial-001").table(name)
    # Without its captures the ledger would give a part of the trial's rows only.
    assert reduce_trial(trial.path, 3).num_rows == reduce_trial(original / CELL / "trial-001", 3).num_rows
    assert pack(folder, tmp_path / "b", ledgers=True).read_bytes() == (tmp_path / "a").read_bytes()
    assert pack(folder, tmp_path / "c").read_bytes() == pack(original, tmp_path / "d").read_bytes()


def test_a_ledger_of_more_rows_than_a_few_bytes_should_claim_is_refused(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pack(original, tmp_path / "a", ledgers=True)
    monkeypatch.setattr("records.pack.MOST_ROWS", 3)
    with pytest.raises(DamagedTrial, match="rows, more than a pack's ledger may have"):
        pack(original, tmp_path / "b", ledgers=True)
    with pytest.raises(CannotGoOn, match="rows, more than a pack's ledger may have"):
        unpack(whole, tmp_path / "results")
    assert not list((tmp_path / "results").rglob("*.parquet"))


def test_a_reduction_that_is_not_the_one_that_came_is_not_packed_again(packed: Path, tmp_path: Path) -> None:
    folder = copy(packed, tmp_path)
    path = trials(folder)[0].path / REDUCED
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(DamagedTrial, match=f"it is not the file that {PACKED} says"):
        pack(folder, tmp_path / "a")


def test_rows_whose_details_are_kept_in_files_make_the_same_pack(original: Path, tmp_path: Path) -> None:
    folder = copy(original, tmp_path)
    said: list[str] = []
    with reducing(say=said.append) as reduce:
        first = reduce.brief([trial.path for trial in trials(folder)])
    assert first.details
    (tmp_path / "below").mkdir()
    found = packing(folder, tmp_path / "below", reduce=lambda _: first, revision=REVISION)
    write_pack(tmp_path / "a", scenario="synthetic", campaign=folder.name, members=found.members)
    assert (tmp_path / "a").read_bytes() == pack(original, tmp_path / "b").read_bytes()


def test_rows_that_older_code_made_of_captures_that_are_gone_are_not_called_this_programs(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy(original, tmp_path)
    paths = [trial.path for trial in trials(folder)]
    with monkeypatch.context() as older:
        older.setattr(reductions, "code_digest", lambda: "0" * 64)
        with reducing(say=silent) as reduce:
            reduce(paths)
    (gone,) = {path.parent for path in paths[:1] for path in path.glob("sta1.pcap")}
    (gone / "sta1.pcap").unlink()
    with reducing(say=silent) as reduce:
        found = packing(folder, tmp_path, reduce=reduce.brief, revision=REVISION)
    write_pack(tmp_path / "a", scenario="synthetic", campaign=folder.name, members=found.members)
    back = trials(unpack(tmp_path / "a", tmp_path / "elsewhere").folder)
    by = {trial.path.relative_to(trial.path.parents[1]): trial.packed().reduced_by for trial in back}
    assert [where for where, one in by.items() if one.revision == UNKNOWN] == [gone.relative_to(gone.parents[1])]
    assert {one for one in by.values() if one.revision != UNKNOWN} == {REVISION}
    # Only the pack has what they showed, so it stays the trial's word when all else has been put back.
    (lost,) = (trial for trial in back if trial.packed().reduced_by.revision == UNKNOWN)
    for one in lost.elsewhere():
        if (gone / one.file).is_file():
            (lost.path / one.file).parent.mkdir(exist_ok=True)
            (lost.path / one.file).write_bytes((gone / one.file).read_bytes())
    assert [one.file for one in lost.elsewhere()] == ["sta1.pcap"]
    assert "flow" in reduce_trial(lost.path, 0).column("table").to_pylist()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.ENOENT])
def test_a_ledger_that_this_machine_cannot_open_ends_packing_and_one_that_is_gone_does_not(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    opened = pa.OSFile

    def refused(path: str) -> pa.OSFile:
        if path.endswith("trial-001/delivered.parquet"):
            raise OSError(number, os.strerror(number), path)
        return opened(path)

    monkeypatch.setattr(pa, "OSFile", refused)
    ends = pytest.raises(DamagedTrial, match=rf"delivered\.parquet: .*{re.escape(os.strerror(number))}")
    with nullcontext() if number == errno.ENOENT else ends:
        pack(original, tmp_path / "pack")
    assert (tmp_path / "pack").exists() == (number == errno.ENOENT)


def test_ledgers_that_stand_elsewhere_cannot_be_packed(packed: Path, tmp_path: Path) -> None:
    with pytest.raises(DamagedTrial, match=r"trial-001/delivered.parquet stands elsewhere; pack with --ledgers there"):
        pack(packed, tmp_path / "a", ledgers=True)


def test_a_table_that_stands_elsewhere_is_told_by_name(packed: Path) -> None:
    with pytest.raises(DamagedTrial, match=r"trial-001/published.parquet stands elsewhere: a pack left it out"):
        Trial(packed / CELL / "trial-001").table("published")


def test_an_export_says_what_stands_elsewhere_and_plans_none_of_it(packed: Path, original: Path) -> None:
    plan, _ = plan_campaign(packed)
    assert plan.pieces == ()
    assert f"{packed / CELL / 'trial-001'}: a pack left 5 files out" in "\n".join(plan.problems)
    assert not any("a pack left" in problem for problem in plan_campaign(original)[0].problems)


def test_a_trial_whose_files_were_put_back_is_reduced_from_them(original: Path, packed: Path, tmp_path: Path) -> None:
    folder = copy(packed, tmp_path) / CELL / "trial-001"
    for one in Trial(folder).elsewhere():
        (folder / one.file).parent.mkdir(exist_ok=True)
        (folder / one.file).write_bytes((original / CELL / "trial-001" / one.file).read_bytes())
    (folder / REDUCED).unlink()
    assert reduce_trial(folder, 0) == reduce_trial(original / CELL / "trial-001", 0)


def test_the_reduction_is_exact_and_takes_the_number_that_is_asked(original: Path, packed: Path) -> None:
    path = f"{CELL}/trial-001"
    assert packed_rows(Trial(packed / path), 7) == reduce_trial(original / path, 7)


@pytest.mark.parametrize("name", [REDUCED, PACKED, "manifest.json", "verdict.json"])
def test_a_packed_trial_with_a_damaged_file_is_damaged(packed: Path, tmp_path: Path, name: str) -> None:
    path = copy(packed, tmp_path) / CELL / "trial-001"
    (path / name).write_bytes(b"{")
    rows = reduce_trial(path, 0).to_pylist()
    assert [(row["table"], row["metric"]) for row in rows] == [("damage", "reduction")]
    assert name in rows[0]["text"]


@pytest.mark.parametrize(
    ("column", "value", "fault"),
    [
        ("table", "other", "table 'other' is not known"),
        ("value", None, "a row of table trial has no value"),
        ("text", "splendid", "state 'splendid' is none of a trial"),
        ("metric", None, "a row of table trial has no metric"),
    ],
)
def test_rows_that_nothing_here_makes_are_damage(
    packed: Path, tmp_path: Path, column: str, value: str | None, fault: str
) -> None:
    path = copy(packed, tmp_path) / CELL / "trial-001"
    rows = reduced([path])
    row = 0 if column == "text" else next(n for n, one in enumerate(rows.to_pylist()) if one["metric"] == "waived")
    cells = rows.column(column).to_pylist()
    cells[row] = value
    at = rows.schema.get_field_index(column)
    content = encode(rows.set_column(at, column, [cells]))
    (path / REDUCED).write_bytes(content)
    told = Trial(path).packed()
    assert told is not None
    write_record(path / PACKED, told.model_copy(update={"reduced_sha256": _sha256(content)}))
    (found,) = reduce_trial(path, 0).to_pylist()
    assert (found["table"], fault in found["text"]) == ("damage", True)


def test_texts_that_are_long_and_many_are_refused_before_they_take_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.packed.MOST_TEXT_BYTES", 15_000_000)
    nothing = {field.name: pa.nulls(1_000, field.type) for field in SCHEMA}
    columns = nothing | {"trial": pa.array([0] * 1_000, pa.int32()), "table": ["note"] * 1_000}
    rows = pa.table(columns | {"text": ["x" * 20_000] * 1_000}, schema=SCHEMA)
    few, content = rows.slice(0, 500), encode(rows)
    assert len(content) < 50_000
    with pytest.raises(DamagedTrial, match="here: 20004000 bytes of texts, more than 15000000"):
        read_rows(content, path="here")
    assert read_rows(encode(few), path="here").equals(few)
    sink = pa.BufferOutputStream()
    pq.write_table(few, sink, compression="zstd")
    with pytest.raises(DamagedTrial, match="here: it is compressed"):
        read_rows(sink.getvalue().to_pybytes(), path="here")


def test_nobody_is_led_out_of_a_trial_s_folder() -> None:
    for name in ("/etc/passwd", "../x", "a/../../x", "", "a//b"):
        with pytest.raises(ValueError, match="is not the name of a file inside"):
            Packed.model_validate(
                {"reduced_by": REVISION, "reduced_sha256": "0" * 64,
                 "elsewhere": [{"file": name, "bytes": 1, "sha256": "0" * 64}]}
            )  # fmt: skip


def test_the_histogram_has_everything_that_was_sent_in_the_window(original: Path, packed: Path) -> None:
    for trial in trials(packed):
        path = original / trial.path.relative_to(packed)
        found = pq.read_table(trial.path / LATENCIES)
        if path.parent.name == CELL and path.name == "trial-003":
            assert found.num_rows == 0  # its ledger cannot be read
            continue
        manifest = Trial(path).manifest()
        sides = Trial(path).table("published"), Trial(path).table("delivered")
        lengths = sent_in_window(read_sent(*sides, manifest.workload.audiences).deliveries, manifest.window)
        latency = lengths.seconds
        assert sum(found.column("missing").to_pylist()) == lengths.missing
        assert sum(found.column("count").to_pylist()) == len(latency)
        for one in found.to_pylist():
            within = (latency >= one["low_s"]) & (latency < one["high_s"])
            assert np.count_nonzero(within) == one["count"]


def test_merged_histograms_give_quantiles_to_within_one_percent() -> None:
    random = np.random.default_rng(5)
    parts = [random.lognormal(-4, 1.5, 5000), random.exponential(2.0, 3000)]
    merged: dict[int, int] = {}
    for part in parts:
        for one in histogram.histogram(part).to_pylist():
            merged[one["bucket"]] = merged.get(one["bucket"], 0) + one["count"]
    pooled = np.repeat(list(merged), list(merged.values()))
    for share in (0.01, 0.5, 0.99, 0.999):
        bucket = int(np.quantile(np.sort(pooled), share, method="inverted_cdf"))
        exact = np.quantile(np.concatenate(parts), share, method="inverted_cdf")
        assert histogram.BOUNDS[bucket - 1] <= exact < histogram.BOUNDS[bucket]


def test_buckets_are_at_most_one_percent_wide_and_cover_everything() -> None:
    found = histogram.histogram(np.array([0.0, 1e-9, 1e-6, 0.5, 86_400.0, 1e9])).to_pylist()
    assert sum(one["count"] for one in found) == 6
    assert (found[0]["low_s"], found[0]["high_s"], found[0]["count"]) == (0.0, 1e-6, 2)
    assert found[-1]["high_s"] == np.inf
    inner = [one for one in found if one["low_s"] > 0 and np.isfinite(one["high_s"])]
    assert all(one["high_s"] / one["low_s"] <= 1.01 * (1 + 1e-12) for one in inner)
    assert len(histogram.histogram(np.empty(0))) == 0


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
