from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ledger_tables import delivered, published
from trial_files import link_proof, manifest, passing_verdict, write_trial

from records import store
from records.schema import NEWER, PUBLISHED, RESOURCES, VERSION
from records.store import DamagedTrial, Trial, TrialWriter, read_table
from records.times import TrialTime, note_trial, trial_times


def test_a_trial_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    trial = write_trial(tmp_path, "cell=a", 1)
    assert trial.manifest() == manifest()
    assert trial.link() == link_proof()
    assert trial.verdict() == passing_verdict()
    assert trial.table("published").equals(published([(0, 0)]))
    assert [one.path for one in store.trials(tmp_path)] == [tmp_path / "cell=a" / "trial-001"]


def test_an_unfinished_trial_does_not_look_finished_and_is_removed_later(tmp_path: Path) -> None:
    folder = TrialWriter(tmp_path, "cell=a", 1).open()
    (folder / "published.parquet").write_bytes(b"half")
    assert store.trials(tmp_path) == []
    assert store.remove_partials(tmp_path) == [folder]
    assert not folder.exists()


def test_a_trial_that_is_withdrawn_leaves_the_others(tmp_path: Path) -> None:
    for number in (1, 2):
        write_trial(tmp_path, "cell=a", number)
    TrialWriter(tmp_path, "cell=a", 1).withdraw()
    TrialWriter(tmp_path, "cell=a", 3).withdraw()  # there is none
    assert [path.name for path in (tmp_path / "cell=a").iterdir()] == ["trial-002"]


@pytest.mark.parametrize(
    "name", ["manifest.json", "link.json", "verdict.json", "delivered.parquet", "resources.parquet"]
)
def test_a_folder_that_lacks_a_file_is_never_committed(tmp_path: Path, name: str) -> None:
    writer = TrialWriter(tmp_path, "cell=a", 1)
    write_trial(tmp_path, "cell=a", 2).path.rename(writer.path)
    (writer.path / name).unlink()
    with pytest.raises(DamagedTrial, match=name):
        writer.commit()
    assert not writer.final.exists()


def test_a_truncated_table_is_named(tmp_path: Path) -> None:
    trial = write_trial(tmp_path, "cell=a", 1)
    path = trial.path / "delivered.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DamagedTrial, match=r"delivered\.parquet"):
        trial.table("delivered")


def test_a_table_of_an_older_version_lacks_what_it_could_not_know(tmp_path: Path) -> None:
    now = published([(0, 0), (0, 1)])
    pq.write_table(now.drop_columns([*NEWER]), tmp_path / "published.parquet")
    assert read_table(tmp_path / "published.parquet", PUBLISHED) == now
    pq.write_table(now.drop_columns(["t_ack_ns"]), tmp_path / "published.parquet")
    with pytest.raises(DamagedTrial, match="columns are"):
        read_table(tmp_path / "published.parquet", PUBLISHED)


def test_a_table_of_another_shape_is_refused(tmp_path: Path) -> None:
    trial = write_trial(tmp_path, "cell=a", 1)
    pq.write_table(pa.table({"seq": [1]}), trial.path / "delivered.parquet")
    with pytest.raises(DamagedTrial, match="columns are"):
        trial.table("delivered")


@pytest.mark.parametrize("version", [VERSION + 1, None, str(VERSION)])
def test_a_manifest_of_another_version_is_refused(tmp_path: Path, version: object) -> None:
    trial = write_trial(tmp_path, "cell=a", 1)
    change(trial.path / "manifest.json", lambda told: told | {"schema_version": version})
    with pytest.raises(DamagedTrial, match=f"schema version {version!r}, this program reads version {VERSION}"):
        trial.manifest()


def test_a_manifest_that_says_no_version_is_refused(tmp_path: Path) -> None:
    trial = write_trial(tmp_path, "cell=a", 1)
    change(trial.path / "manifest.json", lambda told: {key: told[key] for key in told if key != "schema_version"})
    with pytest.raises(DamagedTrial, match="schema version None, this program"):
        trial.manifest()


def change(path: Path, how: Callable[[dict[str, object]], dict[str, object]]) -> None:
    """Write a file of JSON anew."""
    path.write_text(json.dumps(how(json.loads(path.read_text()))))


def test_a_manifest_that_is_too_deep_is_damaged(tmp_path: Path) -> None:
    trial = write_trial(tmp_path, "cell=a", 1)
    (trial.path / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(DamagedTrial, match=r"manifest\.json"):
        trial.manifest()


def test_runs_that_are_set_aside_are_numbered_on_whichever_a_user_has_removed(tmp_path: Path) -> None:
    for number in range(1, 12):
        path = store.set_aside(write_trial(tmp_path, "cell=a", 1), "it stalled")
        assert path.name == f".set-aside-trial-001-{number}"
    shutil.rmtree(store.aside(Trial(tmp_path / "cell=a" / "trial-001"))[0])
    path = store.set_aside(write_trial(tmp_path, "cell=a", 1), "it stalled again")
    found = store.aside(Trial(tmp_path / "cell=a" / "trial-001"))
    assert [one.name.rpartition("-")[2] for one in found] == [str(number) for number in range(2, 13)]
    assert found[-1] == path


@pytest.mark.parametrize("text", ["", "{", "[]", '{"checks": 3}', "null"])
def test_a_damaged_verdict_is_named(tmp_path: Path, text: str) -> None:
    trial = write_trial(tmp_path, "cell=a", 1)
    (trial.path / "verdict.json").write_text(text)
    with pytest.raises(DamagedTrial, match=r"verdict\.json"):
        trial.verdict()


def test_trials_come_in_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (1000, 2, 10):
        write_trial(tmp_path, "cell=a", number)
    assert [trial.number for trial in store.trials(tmp_path)] == [2, 10, 1000]


def test_empty_tables_keep_their_types(tmp_path: Path) -> None:
    path = tmp_path / "resources.parquet"
    store.write_table(path, RESOURCES.empty_table())
    assert store.read_table(path, RESOURCES).schema == RESOURCES
    assert len(delivered([])) == 0
    assert Trial(tmp_path / "trial-007").number == 7


def test_a_run_is_set_aside_though_the_disk_has_no_room_for_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = write_trial(tmp_path, "cell=a", 1)

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        path = store.set_aside(trial, "it stalled")
    assert not trial.path.exists()
    assert store.why_aside(path)
    assert store.trials(tmp_path) == []


def test_how_long_a_trial_took_is_no_reason_to_end(tmp_path: Path) -> None:
    time = TrialTime(cell="a", trial=1, kernel="host", seconds=1.0, overhead_s=0.5)
    note_trial(tmp_path / "none", time)
    note_trial(tmp_path, time)
    assert trial_times(tmp_path) == [time]
