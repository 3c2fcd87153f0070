"""Before trials run: worlds are not mixed and disks not filled unasked, and the words that allow it are told."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from experiments.campaign import campaign as campaigns
from experiments.campaign import diskneeds
from experiments.campaign.campaign import CampaignError
from experiments.campaign.runner import run
from experiments.campaign.unpack import unpack
from experiments.load import pattern
from experiments.scenario import scenario as scenarios
from experiments.scenario.repeats import SideBySide
from experiments.scenario.scenario import ScenarioError
from experiments.scenario.settings import Settings
from experiments.trial import provenance
from experiments.trial.checks.sharedmachine import VARIABLE, NeitherYesNorNo
from experiments.trial.provenance import Provenance
from experiments.workers.kernels import Kernels, NotPossible
from experiments.workers.place import Place
from lab.beforehand import Care, _beside, kernels, look, look_at_room
from lab.common import Status, told
from lab.main import app
from lab.resume import _latest
from lab.run import begun
from lab.start import tidy
from lab.within import resuming
from records.campaign import read_campaign
from records.filenames import LINK, RECORD
from records.link import LinkProof
from records.manifest import Git
from records.store import FOREIGN, write_record

ROOT = Path(__file__).parents[2]

from lab_runs import scenario_file  # noqa: E402
from packs import pack  # noqa: E402
from stopping_world import finish  # noqa: E402
from synthetic_campaign import Spec, write_campaign  # noqa: E402

OTHER = Git(revision="0" * 40, dirty=False)


@pytest.fixture(scope="module")
def here() -> Provenance:
    return provenance.gather()


class OnTheHost(Kernels):
    """The machine's own kernel and tc for every cell, without asking it."""

    def choose(self, *_: object, **__: object) -> Place:
        return Place("host", "tc")


def begun_here(folder: Path, origin: Provenance, **changes: Any) -> Path:
    """A campaign of two trials, the first of which was run here, but for what changes."""
    path = campaigns.create(scenarios.load(scenario_file(folder, trials=2)), folder / "results")
    plain = {"git": origin.git, "kernel": origin.kernel, "machine": origin.machine, "versions": origin.versions}
    finish(path, read_campaign(path).order[0], **plain | changes)
    return path


def looked(path: Path, *, care: Care | None = None) -> tuple[str, ...]:
    campaign = read_campaign(path)
    todo = campaigns.missing(path, campaign)
    again = resuming(path, kernel="auto", report=False)
    return look(path, campaign, todo, OnTheHost(), care=care or Care(), again=again)


def without_queues(monkeypatch: pytest.MonkeyPatch, raised: Exception) -> None:
    def imported(name: str) -> ModuleType:
        if name == QUEUES:
            raise raised
        return import_module(name)

    monkeypatch.setattr(pattern, "import_module", imported)


QUEUES = "experiments.load.patterns.queue"
NO_QUEUES = "pattern 'queue' sends and receives nothing: there is no experiments/load/patterns/queue.py"
QUEUE = {"pattern": "queue", "clients": {"senders": 1, "receivers": 1}, "body_bytes": 100}


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (ModuleNotFoundError("", name=QUEUES), NO_QUEUES),
        (
            SyntaxError("bad", ("/x/queue.py", 7, 1, "")),
            "the module of pattern 'queue' fails: queue.py:7: SyntaxError: bad",
        ),
    ],
)
def test_a_pattern_without_a_module_is_refused_before_there_is_a_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception, said: str
) -> None:
    path = scenario_file(tmp_path, workload=QUEUE)
    (line,) = [number for number, text in enumerate(path.read_text().splitlines(), 1) if "pattern:" in text]
    without_queues(monkeypatch, raised)
    with pytest.raises(ScenarioError, match=re.escape(f"{path}:{line}: workload.pattern: {said}")):
        begun(scenarios.load(path), tmp_path / "results", OnTheHost(), new=False, care=Care(room=True))
    assert not (tmp_path / "results").exists()


def test_a_campaign_whose_pattern_has_lost_its_module_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = campaigns.create(scenarios.load(scenario_file(tmp_path, workload=QUEUE)), tmp_path / "results")
    without_queues(monkeypatch, ModuleNotFoundError("", name=QUEUES))
    with pytest.raises(CampaignError, match=NO_QUEUES):
        looked(path, care=Care(room=True))


def test_a_campaign_goes_on_unasked_where_it_began(tmp_path: Path, here: Provenance) -> None:
    assert looked(begun_here(tmp_path, here)) == ()


def test_a_campaign_of_another_version_is_told_before_anything_is_looked_at(tmp_path: Path) -> None:
    path = campaigns.create(scenarios.load(scenario_file(tmp_path)), tmp_path / "results")
    kernels = OnTheHost()
    (cell,) = read_campaign(path).cells
    strange = cell.model_copy(update={"settings": {**cell.settings, "settings": {"warp": 9}}})
    write_record(path / RECORD, read_campaign(path).model_copy(update={"cells": (strange,)}))
    campaign = read_campaign(path)
    with pytest.raises(CampaignError, match="made by another version"):
        look(path, campaign, campaign.order, kernels, care=Care(), again=resuming(path, kernel="auto"))


def test_another_world_is_refused_with_the_words_that_allow_it(tmp_path: Path, here: Provenance) -> None:
    path = begun_here(tmp_path, here, git=OTHER)
    with pytest.raises(CampaignError) as caught:
        looked(path)
    said = str(caught.value)
    assert f"code that runs trials: revision {'0' * 12} in 1 trial, now {here.git.revision[:12]}" in said
    assert said.endswith(f"or allow it: lab resume {path} --no-report --mix")
    assert "--new" in said


def test_another_medium_is_another_world(tmp_path: Path, here: Provenance) -> None:
    path = begun_here(tmp_path, here, medium="line")
    with pytest.raises(CampaignError) as caught:
        looked(path)
    assert "link emulated by: the line in 1 trial, now the machine's own kernel" in str(caught.value)
    (note,) = looked(path, care=Care(mix=True))
    assert "the line in 1 trial" in note


def test_what_was_allowed_is_in_the_manifests_to_come_and_in_the_words_that_go_on(
    tmp_path: Path, here: Provenance
) -> None:
    care = Care(mix=True)
    (note,) = looked(begun_here(tmp_path, here, git=OTHER), care=care)
    assert note.startswith("run with --mix, beside trials of another world (code that runs trials: revision 000")
    assert care.of(resuming(tmp_path, kernel="auto")).text().endswith(" --mix")
    assert "--mix" not in Care().of(resuming(tmp_path, kernel="auto")).text()


NETWORKS = {"network": ["nistnet-80211", "wireline-100m"], "trials": 2}
THE_AIR_DECIDES = {"parallel": {"trials": 2, "when": {"network": "nistnet-80211"}}}
NO_LINK = LinkProof(profile="any", medium="duplex", rate_uplink=None, rate_downlink=None, checks=(), loss_lists=(),
                    counters=())  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "left", "refused"),
    [(NETWORKS, "wireline", True), (NETWORKS, "nistnet", True), (NETWORKS | THE_AIR_DECIDES, "nistnet", False)],
)
def test_a_packed_campaign_goes_on_on_another_machine_where_its_link_decides(
    tmp_path: Path, here: Provenance, settings: dict[str, Any], left: str, *, refused: bool
) -> None:
    """Everything but two trials on one network was run on a machine with another processor, and came out of a pack."""
    path = campaigns.create(scenarios.load(scenario_file(tmp_path, **settings)), tmp_path / "there")
    machine = here.machine.model_copy(update={"cpu_model": "another"})
    for planned in read_campaign(path).order:
        if left not in planned.cell or planned.trial == 1:
            trial = finish(path, planned, git=here.git, kernel=here.kernel, machine=machine, versions=here.versions)
            write_record(trial.path / LINK, NO_LINK)
    unpacked = unpack(pack(path, tmp_path / "pack"), tmp_path / "here").folder
    if not refused:
        assert looked(unpacked) == ()
        return
    with pytest.raises(CampaignError, match=r"processor: another, \d+ cores in 3 trials, now "):
        looked(unpacked)


def test_a_disk_that_is_too_small_is_told_with_the_ways_out(
    tmp_path: Path, here: Provenance, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = begun_here(tmp_path, here)
    monkeypatch.setattr(diskneeds, "free_bytes", lambda _: 12_000_000)
    with pytest.raises(CampaignError) as caught:
        looked(path)
    said = str(caught.value)
    for word in (f"{path}: 1 trial may need ", "12 MB are free", "--results", "capture: off", "keep_every", "keep_mb"):
        assert word in said
    assert said.endswith("--low-disk")
    assert looked(path, care=Care(room=True)) == ()
    monkeypatch.setattr(diskneeds, "free_bytes", lambda _: None)
    assert looked(path) == (), "a file system that does not answer is no reason"


def test_a_campaign_that_the_disk_has_no_room_for_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = scenarios.load(scenario_file(tmp_path))
    kernels = OnTheHost()
    results = tmp_path / "results"
    monkeypatch.setattr(diskneeds, "free_bytes", lambda _: 1_000_000)
    with pytest.raises(CampaignError, match="1 MB are free"):
        begun(loaded, results, kernels, new=False, care=Care())
    assert not results.exists()
    folder, care = begun(loaded, results, kernels, new=False, care=Care(room=True))
    assert campaigns.folders(results) == [folder]
    assert care.room, "what was allowed once is not asked again"


def test_the_default_experiment_needs_more_than_two_gigabytes_of_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = scenarios.load(ROOT / "experiments" / "scenarios" / "wireless-vs-wireline.yaml")
    monkeypatch.setattr(diskneeds, "free_bytes", lambda _: 2_000_000_000)
    with pytest.raises(CampaignError, match="24 trials may need"):
        look_at_room(loaded, tmp_path)
    monkeypatch.setattr(diskneeds, "free_bytes", lambda _: 4_000_000_000)
    look_at_room(loaded, tmp_path)


def test_under_a_rule_the_least_number_of_trials_must_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diskneeds, "free_bytes", lambda _: 1)
    rule = {"least": 3, "most": 50, "until": {}}
    with pytest.raises(CampaignError, match="3 trials may need"):
        look_at_room(scenarios.load(scenario_file(tmp_path, trials=rule)), tmp_path)


def test_only_invalid_trials_are_run_again(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["resume", "--retry", "valid", "--results", str(tmp_path)])
    assert done.exit_code == Status.USAGE
    assert "--retry: 'valid' is not invalid" in done.stderr


def test_a_machine_that_is_maybe_shared_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "maybe")
    with pytest.raises(NeitherYesNorNo, match=f"^{VARIABLE}=maybe: say 1"):
        kernels("auto")
    results = tmp_path / "results"
    done = CliRunner().invoke(app, ["run", str(scenario_file(tmp_path)), "--results", str(results)])
    assert (done.exit_code, f"{VARIABLE}=maybe" in done.stderr, results.exists()) == (Status.USAGE, True, False)


def test_where_nothing_is_unfinished_and_nothing_invalid_there_is_nothing_to_run(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["resume", "--retry", "invalid", "--results", str(tmp_path)])
    assert done.exit_code == Status.FAILED
    assert "no campaign that is unfinished or has an invalid trial" in done.stderr


def test_a_campaign_with_somebody_elses_programs_does_not_stand_before_ones_own(tmp_path: Path) -> None:
    write_campaign(tmp_path, Spec(trials=1, name="20240101-000000-aaaaaaaa"))
    newer = write_campaign(tmp_path, Spec(trials=1, name="20240102-000000-bbbbbbbb"))
    for folder in campaigns.folders(tmp_path):
        shutil.rmtree(next(folder.glob("*/trial-001")))
    assert _latest(tmp_path, retry=True) == newer
    (newer / FOREIGN).touch()
    assert _latest(tmp_path, retry=True).name == "20240101-000000-aaaaaaaa"


def test_an_interrupt_at_a_question_is_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, told():
        raise typer.Abort
    assert ended.value.exit_code == Status.INTERRUPTED
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(("answer", "allowed"), [("y", True), ("n", False), ("", False)])
def test_at_a_terminal_the_user_is_asked(answer: str, *, allowed: bool) -> None:
    program = "from lab.beforehand import _allowed; print('answer', _allowed('two worlds', 'Mix them?'))"
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=environment) as process:
        os.close(theirs)
        said = _until(ours, rb"Mix them\?")
        os.write(ours, f"{answer}\n".encode())
        said += _until(ours, b"answer (True|False)")
    os.close(ours)
    assert process.returncode == 0
    assert b"two worlds" in said
    assert f"answer {allowed}".encode() in said


def _until(terminal: int, words: bytes) -> bytes:
    said = b""
    while not re.search(words, said):
        said += os.read(terminal, 1000)
    return said


def test_the_command_that_goes_on_has_all_that_was_allowed(tmp_path: Path) -> None:
    again = resuming(tmp_path, kernel="auto", duration="40m")
    assert Care(mix=True, room=True).of(again).text().endswith("--mix --low-disk --for 40m")
    assert "--low-disk" not in Care(looked=True).of(again).text()


@pytest.mark.parametrize(
    ("parallel", "beside"),
    [(1, 1), (3, 3), ({"trials": 3, "when": {"network": "lte"}}, 3), ({"trials": 3, "when": {"network": "other"}}, 1)],
)
def test_trials_that_may_run_side_by_side_need_their_room_together(parallel: object, beside: int) -> None:
    settings = Settings.model_construct(parallel=SideBySide.model_validate(parallel))
    assert _beside(settings, {"network": "lte"}) == beside


def test_nothing_has_to_be_possible_for_a_campaign_that_is_whole(tmp_path: Path, here: Provenance) -> None:
    class Nothing(Kernels):
        def choose(self, *_: object, **__: object) -> Place:
            raise NotPossible("nothing can be had here")

    path = begun_here(tmp_path, here)
    finish(path, read_campaign(path).order[1])
    assert run(path, None, Nothing()) == []  # type: ignore[arg-type]


def test_a_folder_whose_name_is_no_text_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    strange = tmp_path / os.fsdecode(b"caf\xe9")
    with pytest.raises(typer.Exit) as ended:
        tidy(strange)
    assert ended.value.exit_code == Status.USAGE
    tidy(tmp_path / "café")
