"""Views of campaigns, without Spark: their rows are the report's findings and the trials' own files."""

from __future__ import annotations

import errno
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from packs import copy, pack, reduced
from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, In
from sql_views import CODE, view
from synthetic_campaign import Spec, write_campaign
from typer.testing import CliRunner

from analysis.capture.kept_index import kept_index
from analysis.capture.ranges import Index
from analysis.details import Reduced
from analysis.findings import Findings
from analysis.report.build import found
from analysis.spark.schema import PLAIN
from analysis.sql.notes import notes
from analysis.sql.recorded import batches
from analysis.sql.reduced import OF_REDUCTIONS, _trial, rows
from analysis.sql.source import AirwirePartition, AirwireReader, AirwireSource, NoView
from analysis.sql.views import METRIC_NAMES, VIEWS
from analysis.sql.work import NAME_THE_OTHERS, NoCampaign, campaigns, planned
from experiments.campaign.unpack import unpack
from lab.main import app
from lab.verbs.sql import sql
from records.campaign import read_campaign
from records.filenames import MANIFEST, RECORD
from records.location import Unreachable
from records.publishing import PUBLISHED, NotPublished
from records.stopping import Rule
from records.store import DamagedTrial, Trial, trials, write_record

CELL = "nistnet-80211_100_dp"
SPEC = Spec(
    bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211", "wireline-100m"), trials=3,
    packets=6, events=((2.0, "slower"),), rates=((2.0, 5e5),), states={(CELL, 1): "invalid"},
    absent=frozenset({(CELL, 3)}), name="20240101-000000-aaaaaaaa",
)  # fmt: skip


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of four trials: of one cell one is invalid, one has a ledger that cannot be read, one was not run."""
    folder = write_campaign(tmp_path_factory.mktemp("sql"), SPEC)
    (folder / CELL / "trial-002" / "delivered.parquet").write_bytes(b"PAR1")
    return folder


@pytest.fixture(scope="module")
def told(campaign: Path) -> Findings:
    return found(campaign, lambda paths: Reduced(rows=reduced(paths)))


def test_trials_are_the_findings_and_one_that_cannot_be_read_says_why(campaign: Path, told: Findings) -> None:
    shown = {(row["cell"], row["trial"]): row for row in view("trials", campaign)}
    assert list(shown) == [(trial.cell, trial.number) for trial in told.trials]
    for trial in told.trials:
        row = shown[trial.cell, trial.number]
        assert {name: row[name] for name in METRIC_NAMES if row[name] is not None} == {
            name: value for name, value in trial.metrics.items() if name in METRIC_NAMES
        }
        assert (row["state"], row["seed"], row["reasons"]) == (trial.standing, trial.seed, trial.reasons)
        assert row["campaign"] == SPEC.name
    states = [shown[CELL, number]["state"] for number in (1, 2, 3)]
    assert states == ["invalid", "damaged", "missing"]
    (why,) = shown[CELL, 2]["reasons"]
    assert "delivered.parquet" in why
    assert shown[CELL, 1]["levels"] == {"network": "nistnet-80211", "body": "100 B", "guarantee": "durable, persistent"}


def test_cells_are_means_over_their_valid_trials(campaign: Path, told: Findings) -> None:
    for row, cell in zip(view("cells", campaign), told.cells, strict=True):
        assert (row["cell"], row["trials"], row["valid"]) == (cell.name, len(cell.trials), len(cell.valid))
        for name in METRIC_NAMES:
            estimate = cell.estimate(name)
            assert (row[name] is None) == (estimate is None)
            if estimate is not None:
                wanted = (estimate.mean, estimate.low, estimate.high, estimate.n, estimate.at_least)
                assert tuple(row[name].values()) == wanted


def test_a_trial_that_raises_anything_at_all_is_a_row_that_says_so(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path, code: str) -> pa.Table:
        raise RuntimeError("no such luck")

    monkeypatch.setattr("analysis.sql.reduced.rows_of_one", broken)
    (row,) = view("trials", campaign, cell=CELL, trial=1)
    assert (row["state"], row["reasons"]) == ("damaged", ["damaged reduction: RuntimeError: no such luck"])
    assert view("flows", campaign, cell=CELL, trial=1) == []


@pytest.mark.parametrize("name", ["flows", "seconds", "published"])
def test_a_trial_that_is_not_seen_where_the_query_runs_is_not_left_out(
    campaign: Path, tmp_path: Path, name: str
) -> None:
    folder = copy(campaign, tmp_path)
    work = next(iter(planned(VIEWS[name], [folder], {"cell": (CELL,)})))
    (folder / CELL).rename(tmp_path / "not seen")
    with pytest.raises(Unreachable, match="workers have to see it"):
        list(rows(work, CODE) if name in OF_REDUCTIONS else batches(work))


def test_a_ledger_that_breaks_in_its_middle_ends_the_query_with_its_name(campaign: Path, tmp_path: Path) -> None:
    folder = copy(campaign, tmp_path)
    path = folder / CELL / "trial-001" / "delivered.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + b"\xff" * 60 + content[64:])
    assert notes([folder], ("delivered",)) == [
        f"delivered is without {CELL}/trial-002, which cannot be read: `reasons` of view trials says why"
    ]
    with pytest.raises(DamagedTrial, match=r"(?s)trial-001/delivered\.parquet.*name the others by cell IN"):
        view("delivered", folder, cell=CELL, trial=1)
    assert view("trials", folder, cell=CELL, trial=1)[0]["state"] == "damaged"


def test_a_trial_that_a_stopping_rule_did_not_need_is_no_row(campaign: Path, tmp_path: Path) -> None:
    folder = copy(campaign, tmp_path)
    rule = Rule(least=2, most=3, half_width=0.1, metrics=("delivered_per_s",))
    write_record(folder / RECORD, read_campaign(folder).model_copy(update={"stopping": rule}))
    assert [row["trial"] for row in view("trials", folder, cell=CELL)] == [1, 2]
    assert [row["trials"] for row in view("cells", folder, cell=CELL)] == [2]


def test_wide_rows_have_what_the_findings_have(campaign: Path, told: Findings) -> None:
    trial = next(one for cell in told.cells for one in cell.trials if cell.name != CELL)
    which = {"cell": trial.cell, "trial": trial.number}
    flows = {row["flow"]: row for row in view("flows", campaign, **which)}
    assert flows.keys() == trial.flows.keys()
    for name, figures in trial.flows.items():
        assert {column: flows[name][column] for column in figures} == figures
    points = {(name, t): value for name, series in trial.seconds.items() for t, value in series}
    seconds = {
        (name, row["t_s"]): row[name] for row in view("seconds", campaign, **which) for name in row
        if row[name] is not None and name in trial.seconds
    }  # fmt: skip
    assert seconds == points
    percentiles = {row["percentile"]: row["latency_s"] for row in view("percentiles", campaign, **which)}
    assert percentiles == {name: one["latency"] for name, one in trial.percentiles.items()}
    assert [row["why"] for row in view("journeys", campaign, **which)] == [trial.journey_why]


def test_rates_and_events_of_a_timeline_are_there(campaign: Path) -> None:
    (event,) = view("events", campaign, cell=CELL, trial=1)
    assert (event["asked_s"], event["label"]) == (2.0, "slower")
    assert {row["rate_air"] for row in view("seconds", campaign, cell=CELL, trial=1)} >= {5e5}


def test_ledgers_links_and_packets_are_the_trials_own(campaign: Path) -> None:
    trial = Trial(campaign / CELL / "trial-001")
    start_ns, offset_ns = trial.manifest().window.start_ns, trial.manifest().clock_offset_ns
    for name in ("published", "delivered", "resources"):
        table, shown = trial.table(name), view(name, campaign, cell=CELL, trial=1)
        assert [{column: row[column] for column in table.column_names} for row in shown] == table.to_pylist()
    sent = view("published", campaign, cell=CELL, trial=1)
    assert [row["at_s"] for row in sent] == [(row["t_sched_ns"] - start_ns) / 1e9 for row in sent]
    (link,) = view("links", campaign, cell=CELL, trial=1)
    assert [one["quantity"] for one in link["checks"]] == [one.quantity for one in trial.link().checks]
    assert {(row["role"], row["number"]): (row["node"], row["topic"], row["ports"], row["durable"], row["caller"])
            for row in view("clients", campaign, cell=CELL, trial=1)} == {
        ("producer", one.id): (one.node, one.topic, list(one.ports), None, None)
        for one in trial.manifest().workload.producers
    } | {
        ("consumer", one.id): (one.node, one.topic, list(one.ports), one.durable, one.caller)
        for one in trial.manifest().workload.consumers
    }  # fmt: skip
    packets = view("packets", campaign, cell=CELL, trial=1)
    assert len(packets) == sum(one.packets for one in trial.manifest().captures)
    assert packets[0].keys() >= set(PLAIN.names)
    assert packets[0]["at_s"] == (packets[0]["ts_ns"] - offset_ns - start_ns) / 1e9
    assert view("delivered", campaign, cell=CELL, trial=2) == []


@pytest.mark.parametrize("name", VIEWS)
def test_filters_of_whole_trials_open_no_others(campaign: Path, name: str) -> None:
    other = "wireline-100m_100_dp"
    wanted: list[Filter] = [EqualTo(("cell",), other), In(("campaign",), (SPEC.name, "x")), EqualTo(("cell",), other)]
    left: list[Filter] = [GreaterThan(("trial",), 1), EqualTo(("state",), "valid")]
    reader = AirwireReader(name, [str(campaign)], CODE, pushdown=True)
    assert list(reader.pushFilters([*wanted, *left])) == left
    partitions = [one.works for one in reader.partitions() if isinstance(one, AirwirePartition)]
    assert {work.cell for works in partitions for work in works} == {other}
    reader = AirwireReader(name, [str(campaign)], CODE, pushdown=True)
    assert list(reader.pushFilters([EqualTo(("cell",), "no such cell")])) == []
    (nothing,) = reader.partitions()
    assert list(reader.read(nothing)) == []


def test_what_a_pack_has_left_out_is_empty_and_one_note_says_so(campaign: Path, tmp_path: Path) -> None:
    here = copy(campaign, tmp_path / "here")
    unpacked = unpack(pack(here, tmp_path / "pack"), tmp_path / "results").folder
    number = len(trials(unpacked))
    assert notes([unpacked], ("trials", "delivered", "packets", "links")) == [
        f"{name} is empty: no {files} of {number} trials are here; packs leave them out"
        for name, files in (("delivered", "delivered.parquet"), ("packets", "captures"))
    ]
    assert view("delivered", unpacked) == view("packets", unpacked) == []
    assert view("trials", unpacked, trial=1) == view("trials", campaign, trial=1)


def test_notes_name_what_is_not_here_and_what_cannot_be_read(campaign: Path, tmp_path: Path) -> None:
    folder = copy(campaign, tmp_path)
    (folder / CELL / "trial-001" / "published.parquet").unlink()
    assert notes([folder], ("published", "delivered")) == [
        "published is without 1 of 5 trials, whose published.parquet are not here",
        f"delivered is without {CELL}/trial-002, which cannot be read: `reasons` of view trials says why",
    ]


def test_one_of_several_captures_that_is_not_here_is_in_a_note_and_the_others_have_their_rows(
    campaign: Path, tmp_path: Path
) -> None:
    folder = copy(campaign, tmp_path)
    trial = Trial(folder / CELL / "trial-001")
    (one,) = trial.manifest().captures
    more = (one, one.model_copy(update={"file": "srv.pcap"}), one.model_copy(update={"file": "x.pcap", "sha256": ""}))
    write_record(trial.path / MANIFEST, trial.manifest().model_copy(update={"captures": more}))
    said = f"packets is without some captures of {CELL}/trial-001, which are not here"
    assert notes([folder], ("packets",)) == [said]
    assert view("packets", folder) == view("packets", campaign)
    shutil.copy(trial.path / one.file, trial.path / "srv.pcap")
    assert notes([folder], ("packets",)) == [], "the third was counted and not kept"


def test_a_capture_that_ends_in_its_middle_is_in_a_note(campaign: Path, tmp_path: Path) -> None:
    folder = copy(campaign, tmp_path)
    path = folder / CELL / "trial-001" / "sta1.pcap"
    path.write_bytes(path.read_bytes()[:-3])
    assert notes([folder], ("packets",)) == [
        f"packets has of captures of {CELL}/trial-001 only what stands before their damage"
    ]
    all_of_it, found = (len(view("packets", one, cell=CELL, trial=1)) for one in (campaign, folder))
    assert found == all_of_it - 1


def test_a_capture_that_is_none_is_in_a_note_and_the_others_have_their_rows(campaign: Path, tmp_path: Path) -> None:
    folder = copy(campaign, tmp_path)
    (folder / CELL / "trial-001" / "sta1.pcap").write_text("no capture at all, but long enough to have a header")
    assert notes([folder], ("packets",)) == [
        f"packets is without {CELL}/trial-001, which cannot be read: `reasons` of view trials says why"
    ]
    rows = view("packets", campaign)
    assert view("packets", folder) == [row for row in rows if (row["cell"], row["trial"]) != (CELL, 1)] != []
    assert "sta1.pcap" in str(view("trials", folder, cell=CELL, trial=1)[0]["reasons"])


def test_a_capture_that_may_not_be_read_ends_the_query(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> Index:
        if "trial-002" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return kept_index(path)

    monkeypatch.setattr("analysis.sql.work.kept_index", refused)
    with pytest.raises(DamagedTrial, match=rf"trial-002/sta1\.pcap: Permission denied; {re.escape(NAME_THE_OTHERS)}"):
        view("packets", campaign)
    assert view("packets", campaign, trial=1) != []


def test_a_campaign_that_was_copied_in_part_is_refused(campaign: Path, tmp_path: Path) -> None:
    folder = copy(campaign, tmp_path)
    (folder / "_publishing-00000.json").write_text("{}")
    with pytest.raises(NotPublished, match="not copied to its end"):
        campaigns([str(folder)])
    (folder / PUBLISHED).write_text("{}")
    assert campaigns([str(folder)]) == [folder.resolve()]


def test_paths_that_are_no_campaigns_are_named(campaign: Path, tmp_path: Path) -> None:
    other = copy(campaign, tmp_path)
    other = other.rename(other.with_name("another"))
    assert campaigns([str(campaign), f"file://{other.parent}/./another"]) == [campaign.resolve(), other.resolve()]
    for paths, why in (
        ([], "no path"),
        ([str(tmp_path / "none")], "no such folder"),
        ([str(campaign.parent)], "no campaign's folder"),
        ([str(campaign), str(copy(campaign, tmp_path / "twice"))], "several campaigns have this name"),
    ):
        with pytest.raises(NoCampaign, match=why):
            campaigns(paths)


def test_a_view_that_is_not_there_is_answered_with_the_nearest_name_and_all() -> None:
    with pytest.raises(NoView, match=r"'trails', did you mean trials\? Views: trials, cells"):
        AirwireSource({"table": "trails"}).schema()


def test_every_column_says_what_it_is_and_names_differ() -> None:
    for one in VIEWS.values():
        assert len(set(one.schema.names)) == len(one.columns)
        assert all(column.about for column in one.columns)
        for ending, unit in (("_s", "s"), ("_ns", "ns"), ("_bit_s", "bit/s"), ("_share", "share")):
            named = [
                column for column in one.columns if column.name.endswith(ending) and not column.name.endswith("per_s")
            ]
            assert {column.unit for column in named} <= ({unit, "bit/s"} if ending == "_s" else {unit})


def test_the_commands_help_has_every_view_and_its_list_every_column() -> None:
    (line,) = (part for part in (sql.__doc__ or "").split("\n\n") if "Views:" in part)
    assert " ".join(line.split()) == f"Views: {', '.join(VIEWS)}."
    said = CliRunner().invoke(app, ["sql", "--views"], catch_exceptions=False).stdout
    for one in VIEWS.values():
        assert f"{one.name}: {one.about}" in said
        assert all(name in said for name in one.schema.names)


def test_a_query_without_words_and_a_file_of_no_kind_are_usage(tmp_path: Path) -> None:
    for words, why in ((["sql"], "a query is missing"), (["sql", "SELECT 1", "--out", "x.txt"], "csv or json")):
        done = CliRunner().invoke(app, [*words, "--results", str(tmp_path)])
        assert (done.exit_code, why in done.stderr) == (2, True), json.dumps(words)


def test_a_campaign_whose_record_is_damaged_is_told_before_spark_starts(campaign: Path, tmp_path: Path) -> None:
    folder = copy(campaign, tmp_path)
    (folder / "campaign.json").write_text("{")
    done = CliRunner().invoke(app, ["sql", "SELECT * FROM trials", str(folder), "--results", str(tmp_path)])
    assert (done.exit_code, "campaign.json" in done.stderr, "Spark" in done.stderr) == (1, True, False)


def test_a_programs_metric_with_the_name_of_a_column_is_another_metric(campaign: Path, told: Findings) -> None:
    cell = told.cells[0]
    trial = replace(cell.trials[0], metrics={**cell.trials[0].metrics, "kernel": 0.25, "campaign": 3.0})
    (work, *_) = planned(VIEWS["trials"], [campaign], {"cell": (cell.name,)})
    (row,) = _trial(work, cell, trial)
    assert row["kernel"] != 0.25
    assert "campaign" not in row
    assert {("kernel", 0.25), ("campaign", 3.0)} <= set(row["other_metrics"])  # type: ignore[call-overload]
