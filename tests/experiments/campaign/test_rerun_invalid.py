"""Invalid trials that a user wants to have run again; and a campaign whose code changes under it."""

from __future__ import annotations

from pathlib import Path

import pytest
from repeats_world import World, failing
from stopping_world import finish

from experiments.campaign import campaign as campaigns
from experiments.campaign import rerun_invalid, runner
from experiments.campaign.runner import GaveUp
from experiments.trial import provenance
from records.campaign import read_campaign
from records.store import Trial, why_aside
from records.verdict import Check, State


def test_an_invalid_trial_is_kept_and_run_again_with_its_seed_and_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch, failing(None), trials=4)
    campaign = read_campaign(world.folder)
    first, second, third, fourth = campaign.order
    finish(world.folder, first)
    finish(world.folder, second, state=State.INVALID, failed=Check.SERVER_CPU)
    finish(world.folder, third, state=State.INCONCLUSIVE)
    finish(world.folder, fourth, state=State.INVALID, failed=Check.HEARTBEAT)
    (world.folder / fourth.cell / "trial-004" / "verdict.json").write_text("{")  # unreadable: not known to be invalid
    assert campaigns.missing(world.folder, campaign) == []
    assert rerun_invalid.invalid(world.folder, campaign) == (second,)

    rerun_invalid.set_all_aside(world.folder, [second])
    assert campaigns.missing(world.folder, campaign) == [second]
    (outcome,) = world.run().outcomes
    assert (outcome.planned, outcome.state) == (second, State.VALID)
    assert world.specs[0].seed == second.seed
    kept = world.folder / second.cell / ".set-aside-trial-002-1"
    assert Trial(kept).verdict().state is State.INVALID
    assert "server_cpu failed" in why_aside(kept)
    (note,) = Trial(world.folder / second.cell / "trial-002").manifest().notes
    assert "--retry invalid ran it again" in note
    assert kept.name in note
    assert rerun_invalid.invalid(world.folder, campaign) == ()


def test_what_was_run_again_by_hand_is_repeated_when_the_machine_spoils_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch, failing(Check.HEARTBEAT, None))
    (planned,) = read_campaign(world.folder).order
    finish(world.folder, planned, state=State.INVALID, failed=Check.SERVER_CPU)
    rerun_invalid.set_all_aside(world.folder, [planned])
    (outcome,) = world.run().outcomes
    assert outcome.state is State.VALID
    assert len(Trial(world.folder / "only" / "trial-001").manifest().notes) == 2


def test_a_cell_that_its_invalid_trials_had_brought_to_its_cap_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = {"least": 2, "most": 3, "until": {"metrics": ["delivered_per_s"]}}
    world = World(tmp_path, monkeypatch, failing(None), trials=rule)
    campaign = read_campaign(world.folder)
    for planned in campaign.order:
        invalid = State.INVALID if planned.trial == 3 else State.VALID
        finish(world.folder, planned, state=invalid, figures={"delivered_per_s": float(planned.trial)})
    assert campaigns.missing(world.folder, campaign) == []
    rerun_invalid.set_all_aside(world.folder, rerun_invalid.invalid(world.folder, campaign))
    assert [one.trial for one in campaigns.missing(world.folder, campaign)] == [3]


def test_a_precise_cell_keeps_the_invalid_trial_that_it_does_not_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = {"least": 3, "most": 6, "until": {"metrics": ["delivered_per_s"]}}
    world = World(tmp_path, monkeypatch, failing(), trials=rule)
    campaign = read_campaign(world.folder)
    for planned in campaign.order[:5]:
        invalid = State.INVALID if planned.trial in (2, 4) else State.VALID
        finish(world.folder, planned, state=invalid, figures={"delivered_per_s": 100 + planned.trial / 10})
    assert campaigns.missing(world.folder, campaign) == []
    assert [one.trial for one in rerun_invalid.invalid(world.folder, campaign)] == [2]


def test_a_campaign_whose_code_is_changed_while_it_runs_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch, lambda _: {}, trials=3)
    digests = iter([provenance.gather().git.code] * 2 + ["another"] * 2)
    monkeypatch.setattr(runner, "code_digest", lambda: next(digests))
    with pytest.raises(GaveUp, match="the code that runs trials was changed while the campaign ran"):
        world.run()
    assert [spec.trial for spec in world.specs] == [1, 2]


def test_the_manifest_says_that_worlds_were_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch, lambda _: {}, trials=2)
    world.run(notes=("run with --mix",))
    assert [spec.notes for spec in world.specs] == [("run with --mix",)] * 2
