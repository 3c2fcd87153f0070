"""Reductions that are kept: what is reduced again, what is said of it, and that the rows are the same all the while."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from by_whom import by_whom
from packs import copy, files, pack, reduced
from pyarrow import dataset
from synthetic_campaign import Spec, write_campaign
from typer.testing import CliRunner

from analysis import findings
from analysis.details import TABLES, Reduced, Shelf
from analysis.looked import Looked
from analysis.reductions import kept, reduce
from analysis.reductions.kept import FOLDER, FRESH, KEPT, RECORD, State, look, place_of
from analysis.report.build import found, write
from analysis.trial import reduce_trial
from experiments.campaign.unpack import unpack
from lab.main import app
from records.packed import REDUCED
from records.store import Trial, trials

SPEC = Spec(
    bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=3, packets=6,
    name="20240101-000000-aaaaaaaa",
)  # fmt: skip
OTHER = "0" * 64
CELL = "nistnet-80211_100_dp"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of which all reductions are kept."""
    folder = write_campaign(tmp_path_factory.mktemp("original"), SPEC)
    with reduce.reducing() as rows:
        rows(paths(folder))
    return folder


@pytest.fixture
def campaign(original: Path, tmp_path: Path) -> Path:
    return copy(original, tmp_path)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of trials that are reduced from now on."""
    names: list[str] = []

    def counted(path: Path, number: int, looked: Looked | None = None) -> pa.RecordBatch:
        names.append(path.name)
        return reduce_trial(path, number, looked)

    monkeypatch.setattr(kept, "reduce_trial", counted)
    return names


def paths(campaign: Path) -> list[Path]:
    return [trial.path for trial in trials(campaign)]


def rows_of(campaign: Path, *, said: list[str] | None = None) -> pa.Table:
    """What a report gets, in order of the trials."""
    with reduce.reducing(say=list[str]().append if said is None else said.append) as rows:
        found = rows(paths(campaign))
    return found.take(pc.sort_indices(found.column("trial")))


def listed(campaign: Path, *words: str) -> str:
    """What `lab reductions` prints of a campaign."""
    words = ("reductions", str(campaign), "--results", str(campaign.parents[1]), *words)
    return CliRunner().invoke(app, words, catch_exceptions=False).stdout


def by_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce, "code_digest", lambda: OTHER)


def test_rows_and_findings_are_the_same_kept_or_not(campaign: Path, made: list[str]) -> None:
    plain = reduced(paths(campaign))
    assert rows_of(campaign) == plain
    assert made == []
    told = found(campaign, lambda _: Reduced(rows=rows_of(campaign)))
    shutil.rmtree(campaign / FOLDER)
    assert rows_of(campaign) == plain
    assert made == ["trial-001", "trial-002", "trial-003"]
    assert found(campaign, lambda every: Reduced(rows=reduced(every))) == told


def written(campaign: Path, to: Path, reduce: Callable[[list[Path]], Reduced]) -> dict[str, bytes]:
    """Every file of the report."""
    write(replace(found(campaign, reduce), folder=to))
    return files(to)


def places_to_write(tmp_path: Path, *names: str) -> list[Path]:
    """Folders of one name, since a report has that of its campaign in it."""
    found = [tmp_path / name / SPEC.name for name in names]
    for one in found:
        one.mkdir(parents=True)
    return found


@pytest.mark.parametrize("held", [100_000, 0], ids=["held", "read each time"])
def test_a_report_whose_details_are_read_when_asked_for_is_the_same(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    monkeypatch.setattr(findings, "Shelf", lambda: Shelf(held))
    (paths(campaign)[0] / "sta1.pcap").write_bytes(b"no capture")  # what failed is not kept, and comes back whole
    whole, first, again = places_to_write(tmp_path, "whole", "first", "again")
    shutil.rmtree(place_of(paths(campaign)[1]))
    plain = written(campaign, whole, lambda every: Reduced(rows=reduced(every)))
    with reduce.reducing() as rows:
        assert written(campaign, first, rows.brief) == plain
        brief = rows.brief(paths(campaign))
        assert written(campaign, again, lambda _: brief) == plain
    assert sorted(brief.details) == [1, 2]
    told = brief.rows.filter(pc.is_in(brief.rows.column("table"), pa.array(list(TABLES))))
    assert set(told.column("trial").to_pylist()) <= {0}
    assert KEPT not in brief.rows.column("table").to_pylist()


def test_reductions_are_the_same_looked_at_by_one_process_and_by_several(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    pids = by_whom(monkeypatch, reduce.Reducing, "_looked", tmp_path / "pids")
    for block, processes in ((128, 1), (1, 3)):
        monkeypatch.setattr(reduce, "_BLOCK", block)
        monkeypatch.setattr(reduce, "processes_for", lambda _, processes=processes, **__: processes)
        mine = copy(original, tmp_path / str(processes))
        first, _, third = paths(mine)
        (place_of(first) / REDUCED).write_bytes(b"cut")
        shutil.rmtree(place_of(third))
        said: list[str] = []
        with reduce.reducing(say=said.append) as rows:
            found = rows.brief(paths(mine))
        looked.append((found.rows, sorted(found.details), [line.replace(str(mine), "") for line in said]))
    assert looked[0] == looked[1]
    assert [len(set(some)) for some in (pids()[:1], pids()[1:])] == [1, 3]
    assert len(pids()) == 4  # nobody's share was done again
    assert looked[0][1] == [0, 1, 2]
    assert [line.partition(": ")[2].startswith(f"{CELL}/trial-001: ") for line in looked[0][2]] == [True]


def test_details_of_a_packed_trial_are_read_from_its_folder(original: Path, tmp_path: Path) -> None:
    folder = unpack(pack(original, tmp_path / "pack"), tmp_path / "results").folder
    with reduce.reducing() as rows:
        brief = rows.brief(paths(folder))
    assert sorted(brief.details) == [0, 1, 2]
    assert found(folder, lambda _: brief) == found(folder, lambda every: Reduced(rows=reduced(every)))


def test_details_that_another_command_has_removed_or_replaced_are_made_again(campaign: Path) -> None:
    with reduce.reducing() as rows:
        brief = rows.brief(paths(campaign))
    told = found(campaign, lambda every: Reduced(rows=reduced(every)))
    first, second, third = paths(campaign)
    shutil.rmtree(place_of(first))
    shutil.copy(place_of(third) / REDUCED, place_of(second) / REDUCED)
    assert found(campaign, lambda _: brief) == told


def test_only_a_trial_that_has_changed_is_reduced_again(campaign: Path, made: list[str]) -> None:
    verdict = paths(campaign)[1] / "verdict.json"
    verdict.write_text(verdict.read_text() + "\n")
    said: list[str] = []
    assert rows_of(campaign, said=said) == reduced(paths(campaign))
    assert made == ["trial-002"]
    assert said == ["reduced again: 1 trial, whose reductions are of files that have changed"]
    assert rows_of(campaign, said=said) is not None
    assert (made, len(said)) == (["trial-002"], 1)


def test_a_name_of_another_alphabet_has_a_folder_that_can_be_made(tmp_path: Path) -> None:
    cells = [f"{'шестьдесят-одно-слово-' * 3}{number}" for number in range(2)]
    places = [place_of(tmp_path / cell / "trial-001") for cell in cells]
    for place in places:
        place.mkdir(parents=True)
    assert places[0] != places[1]
    assert look(tmp_path / cells[0] / "trial-001", "0" * 64).state is State.NONE


def test_a_new_trial_is_reduced_and_said_nothing_of(campaign: Path, made: list[str]) -> None:
    shutil.rmtree(place_of(paths(campaign)[2]))
    said: list[str] = []
    assert rows_of(campaign, said=said) == reduced(paths(campaign))
    assert (made, said) == (["trial-003"], [])


def test_a_copy_whose_files_have_other_times_is_not_reduced_again(campaign: Path, made: list[str]) -> None:
    for path in campaign.rglob("*"):
        os.utime(path, (1, 1))
    assert rows_of(campaign) == reduced(paths(campaign))
    assert made == []


def test_what_other_code_made_is_made_again_and_said(
    campaign: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_other_code(monkeypatch)
    said: list[str] = []
    rows_of(campaign, said=said)
    rows_of(campaign, said=said)
    assert len(made) == 3
    assert said == ["reduced again: 3 trials, whose reductions are by other code or libraries"]


def truncated(place: Path, _: Path) -> None:
    (place / REDUCED).write_bytes((place / REDUCED).read_bytes()[:-9])


def foreign(place: Path, other: Path) -> None:
    shutil.copy(other / REDUCED, place / REDUCED)


def without_rows(place: Path, _: Path) -> None:
    (place / REDUCED).unlink()


def bad_record(place: Path, _: Path) -> None:
    (place / RECORD).write_text((place / RECORD).read_text()[:-20])


@pytest.mark.parametrize("harm", [truncated, foreign, without_rows, bad_record])
def test_a_damaged_reduction_is_made_again_and_said(
    campaign: Path, made: list[str], harm: Callable[[Path, Path], None]
) -> None:
    first, second, _ = (place_of(path) for path in paths(campaign))
    harm(first, second)
    said: list[str] = []
    assert rows_of(campaign, said=said) == reduced(paths(campaign))
    assert made == ["trial-001"]
    assert len(said) == 1
    assert said[0].startswith(f"reduced again: {paths(campaign)[0].parent.name}/trial-001: {first}/")


def test_a_report_that_was_killed_goes_on_where_it_was(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(campaign / FOLDER)
    names: list[str] = []

    def killed_at_the_second(path: Path, number: int, looked: Looked | None = None) -> pa.RecordBatch:
        names.append(path.name)
        if len(names) == 2:
            raise KeyboardInterrupt
        return reduce_trial(path, number, looked)

    monkeypatch.setattr(kept, "reduce_trial", killed_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        rows_of(campaign)
    assert rows_of(campaign) == reduced(paths(campaign))
    assert names == ["trial-001", "trial-002", "trial-002", "trial-003"]


def test_rows_without_their_record_are_not_taken(campaign: Path, made: list[str]) -> None:
    """The record comes last: a command was killed before it."""
    (place_of(paths(campaign)[0]) / RECORD).unlink()
    assert rows_of(campaign) == reduced(paths(campaign))
    assert made == ["trial-001"]


def test_a_reduction_outlives_the_trial_s_captures_whatever_the_code(
    campaign: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = reduced(paths(campaign))
    (paths(campaign)[0] / "sta1.pcap").unlink()
    by_other_code(monkeypatch)
    now = rows_of(campaign)
    assert made == ["trial-002", "trial-003"]
    notes = now.filter(pc.match_substring(now.column("text"), "no longer here: sta1.pcap"))
    assert notes.column("table").to_pylist() == ["note"]
    assert now.num_rows == before.num_rows + 1
    listed(campaign, "--prune")
    assert place_of(paths(campaign)[0]).is_dir()


def test_without_its_ledger_a_trial_does_not_count_whatever_is_kept(campaign: Path, made: list[str]) -> None:
    (paths(campaign)[0] / "delivered.parquet").unlink()
    rows = rows_of(campaign)
    assert made == ["trial-001"]
    assert rows.filter(pc.equal(rows.column("table"), "damage")).column("trial").to_pylist() == [0]


def test_what_failed_is_tried_again_each_time(campaign: Path, made: list[str]) -> None:
    (paths(campaign)[0] / "sta1.pcap").write_bytes(b"no capture")
    for _ in range(2):
        rows = rows_of(campaign)
        assert "partial" in rows.column("table").to_pylist()
    assert made == ["trial-001"] * 2


def test_a_trial_out_of_a_pack_keeps_the_rows_that_it_came_with(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = unpack(pack(original, tmp_path / "pack"), tmp_path / "results").folder
    by_other_code(monkeypatch)
    assert rows_of(folder) == reduced(paths(original))
    assert not (folder / FOLDER).exists()


def test_where_nothing_can_be_kept_the_rows_are_there_and_it_is_said(campaign: Path) -> None:
    shutil.rmtree(campaign / FOLDER)
    (campaign / FOLDER).write_text("in the way")
    said: list[str] = []
    assert rows_of(campaign, said=said) == reduced(paths(campaign))
    assert [line.partition(":")[0] for line in said] == ["reductions are not kept"]


def test_a_file_that_changes_while_it_is_reduced_keeps_nothing(campaign: Path) -> None:
    path = paths(campaign)[0]
    before = {**kept.stamps(path), "sta1.pcap": (1, 1)}
    shutil.rmtree(place_of(path))
    kept.keep(path, reduced([path]), code=OTHER, before=before)
    assert kept.look(path, OTHER).state is State.NONE


def test_pruning_removes_only_what_no_report_uses_and_only_our_files(campaign: Path) -> None:
    first, second, third = paths(campaign)
    for path in (first, second):
        (path / "verdict.json").write_text((path / "verdict.json").read_text() + "\n")
    (place_of(second) / "mine.txt").write_text("a user's")
    left, written = (place_of(third) / f"{FRESH}{REDUCED}-{number}" for number in (1, 2))
    for path in (left, written):
        path.write_bytes(b"half")
    os.utime(left, (0, 0))  # a killed command's; the other one may be being written
    rest = {name: content for name, content in files(campaign).items() if not name.startswith(FOLDER)}
    done = listed(campaign)
    assert "1 current, 2 of files that have changed" in done
    listed(campaign, "--prune")
    assert sorted(files(campaign / FOLDER)) == sorted(
        str((place / name).relative_to(campaign / FOLDER))
        for place, name in (
            (place_of(second), "mine.txt"), (place_of(third), REDUCED), (place_of(third), RECORD),
            (place_of(third), written.name),
        )
    )  # fmt: skip
    assert not place_of(first).exists()
    assert {name: content for name, content in files(campaign).items() if not name.startswith(FOLDER)} == rest


def test_a_trial_that_is_gone_leaves_a_reduction_that_pruning_removes(campaign: Path) -> None:
    place = place_of(paths(campaign)[0])
    shutil.rmtree(paths(campaign)[0])
    done = listed(campaign, "--prune")
    assert "2 current" in done
    assert not place.exists()


def test_the_folder_is_partitioned_parquet(original: Path) -> None:
    parts = dataset.partitioning(pa.schema({"cell": pa.string(), "trial": pa.int32()}), flavor="hive")
    found = dataset.dataset(original / FOLDER, partitioning=parts).to_table()
    assert set(found.column("cell").to_pylist()) == {trials(original)[0].path.parent.name}
    assert sorted(set(found.column("trial").to_pylist())) == [Trial(path).number for path in paths(original)]
