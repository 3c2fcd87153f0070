"""Campaigns that grow until it is decided whether media agree, with finished trials written by the test."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from agreement_world import CONSUMERS, WINDOW, Measured, World, ledger

from analysis.agreement import line
from experiments.campaign import campaign as campaigns
from experiments.scenario.scenario import Scenario
from experiments.tools import agreement
from records.agreement import By, steady_rate, write_csv
from records.audience import audiences
from records.campaign import Planned, read_campaign
from records.equivalence import Answer
from records.packed import PACKED, REDUCED, Elsewhere, Packed
from records.store import trials, write_record
from records.verdict import State
from records.window_metrics import read_ledger

THEM = audiences(CONSUMERS, share=False)
LOOKS = (3, 6, 12, 24, 48)
LTE: dict[str, list[By]] = {"lte": ["line", "lab"]}
ALL: dict[str, list[By]] = {"nistnet-80211": ["line", "lab", "host"], "lte": ["lab", "line"]}


def noise(trial: int, spread: float) -> float:
    """The same for a trial, whoever measures it, plus nothing; a factor."""
    return float(np.exp(np.random.default_rng(trial).normal(0, spread)))


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return agreement.write_scenario(tmp_path / "agreement.yaml", ALL)


def run_to_the_end(scenario: Scenario, root: Path, measures: Callable[[str, By, int], Measured]) -> tuple[Path, World]:
    """As `lab calibrate --agreement` does."""
    folder, world = agreement.create(scenario, root), World(measures)
    while (left := campaigns.missing(folder, read_campaign(folder))) or agreement.grow(folder):
        for one in left:
            world.run(folder, one)
    return folder, world


def most(world: World, cell: str) -> int:
    return max((trial for name, trial in world.ran if name == cell), default=0)


def test_every_cell_insists_on_its_kernel_and_medium(scenario: Scenario) -> None:
    found = {cell.name: (cell.profile.name, cell.settings.kernel, cell.settings.medium) for cell in scenario.cells}
    assert found == {
        "case=line-closed-nistnet-80211": ("nistnet-80211", "host", "line"),
        "case=line-open-nistnet-80211": ("nistnet-80211", "host", "line"),
        "case=lab-closed-nistnet-80211": ("nistnet-80211", "lab", "tc"),
        "case=lab-open-nistnet-80211": ("nistnet-80211", "lab", "tc"),
        "case=host-closed-nistnet-80211": ("nistnet-80211", "host", "tc"),
        "case=host-open-nistnet-80211": ("nistnet-80211", "host", "tc"),
        "case=lab-closed-lte": ("lte", "lab", "tc"),
        "case=lab-open-lte": ("lte", "lab", "tc"),
        "case=line-closed-lte": ("lte", "host", "line"),
        "case=line-open-lte": ("lte", "host", "line"),
    }


def test_the_window_is_longer_where_packets_are_lost(scenario: Scenario) -> None:
    windows = {cell.profile.name: cell.settings.window for cell in scenario.cells}
    assert windows["nistnet-80211"].window_s == 60
    assert windows["lte"].window_s == 20
    assert {window.warmup_s for window in windows.values()} == {4}


def test_the_load_is_the_default_experiments(scenario: Scenario) -> None:
    from experiments.scenario import scenario as scenarios  # noqa: PLC0415

    default = scenarios.load(agreement.ROOT / "experiments" / "scenarios" / "wireless-vs-wireline.yaml")
    assert scenario.settings.workload in [cell.settings.workload for cell in default.cells]
    assert scenario.settings.stack == default.settings.stack


def test_an_open_loop_sends_half_as_often_as_a_closed_one_could(scenario: Scenario) -> None:
    """Over lte a message of 4 frames takes 4.8 ms up, ten copies 16.2 ms down, and both ways have 51 ms of delay."""
    rates = {cell.name: cell.settings.workload.rate for cell in scenario.cells}  # type: ignore[union-attr]
    cycle_s = 4 * 1514 * 8 * (1 / 10e6 + 10 / 30e6) + 0.032 + 0.019
    assert rates["case=line-open-lte"] == rates["case=lab-open-lte"] == pytest.approx(0.5 / cycle_s, rel=0.005)
    assert rates["case=line-closed-lte"] is None


def test_a_profile_of_ones_own_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("{name: mine, description: d, source: s, medium: shared, rate: 1 Mbit/s}")
    (tmp_path / "out").mkdir()
    scenario = agreement.write_scenario(tmp_path / "out" / "agreement.yaml", {"mine.yaml": ["line", "lab"]})
    assert [cell.profile.name for cell in scenario.cells] == ["mine"] * 4


def test_equal_media_are_decided_at_the_first_look(scenario: Scenario, tmp_path: Path) -> None:
    folder, world = run_to_the_end(scenario, tmp_path / "results", lambda *_: Measured())
    found = agreement.evaluate(folder)
    assert [(one.profile, one.first, one.second) for one in found] == [
        ("nistnet-80211", "line", "lab"),
        ("nistnet-80211", "line", "host"),
        ("lte", "line", "lab"),
    ]
    assert {one.answer for one in found} == {Answer.EQUAL}
    assert {(one.trials, one.look, one.looks) for one in found} == {(3, 1, len(LOOKS))}
    assert found[0].throughput.means == (pytest.approx(20.0, rel=0.01), pytest.approx(20.0, rel=0.01))
    assert found[0].losses.lost == (2 * 3 * 60, 2 * 3 * 60), "of both loops"
    assert len(world.ran) == 2 * 5 * 3
    assert agreement.grow(folder) == 0


def test_only_what_is_undecided_goes_on_and_the_others_stay(scenario: Scenario, tmp_path: Path) -> None:
    """tc on the own kernel scatters, the lab kernel over lte is slower: three looks, one look, one look."""

    def measures(profile: str, by: By, trial: int) -> Measured:
        if by == "host":
            return Measured(latency_s=0.2 * noise(trial, 0.012))
        return Measured(latency_s=0.22 if (profile, by) == ("lte", "lab") else 0.2)

    folder, world = run_to_the_end(scenario, tmp_path / "results", measures)
    answers = {(one.profile, one.second): one.answer for one in agreement.evaluate(folder)}
    assert answers == {
        ("nistnet-80211", "lab"): Answer.EQUAL,
        ("nistnet-80211", "host"): Answer.EQUAL,
        ("lte", "lab"): Answer.DIFFERENT,
    }
    assert most(world, "case=lab-open-nistnet-80211") == 3
    assert most(world, "case=lab-open-lte") == most(world, "case=line-open-lte") == 3
    assert most(world, "case=host-open-nistnet-80211") == most(world, "case=line-open-nistnet-80211")
    assert most(world, "case=host-open-nistnet-80211") in LOOKS[1:]
    assert most(world, "case=host-closed-nistnet-80211") == 3, "throughput was decided"


def test_what_cannot_be_decided_ends_at_the_cap(tmp_path: Path) -> None:
    scenario = agreement.write_scenario(tmp_path / "agreement.yaml", LTE)
    scatter = np.random.default_rng(5)
    folder, world = run_to_the_end(
        scenario, tmp_path / "results", lambda *_: Measured(latency_s=float(np.exp(scatter.normal(0, 0.5))))
    )
    (found,) = agreement.evaluate(folder)
    assert found.answer is Answer.UNDECIDED
    assert most(world, "case=lab-open-lte") == LOOKS[-1]
    assert most(world, "case=lab-closed-lte") == LOOKS[0]
    assert found.throughput.compared.answer is Answer.EQUAL


def test_a_campaign_is_the_same_whatever_it_grew_through(scenario: Scenario, tmp_path: Path) -> None:
    """Trials have the seeds that they would have had in a campaign of all rounds, and are shuffled alike."""
    folder = agreement.create(scenario, tmp_path / "results")
    whole = campaigns.plan(scenario)
    assert read_campaign(folder).order == tuple(one for one in whole if one.trial <= LOOKS[0])
    world = World(lambda _, by, trial: Measured(latency_s=0.2 * (noise(trial, 0.5) if by == "lab" else 1)))
    for one in campaigns.missing(folder, read_campaign(folder)):
        world.run(folder, one)
    assert agreement.grow(folder) == 4 * 3
    undecided = {name for name in (one.cell for one in whole) if "-open-" in name and "host" not in name}
    wanted = [one for one in whole if one.trial <= LOOKS[0] or (one.trial <= LOOKS[1] and one.cell in undecided)]
    assert list(read_campaign(folder).order) == wanted


def test_an_interrupted_comparison_is_taken_up(scenario: Scenario, tmp_path: Path) -> None:
    root = tmp_path / "results"
    assert agreement.begun(scenario, root) is None
    folder = agreement.create(scenario, root)
    assert agreement.begun(scenario, root) == folder
    world = World(lambda *_: Measured())
    for one in campaigns.missing(folder, read_campaign(folder))[:7]:
        world.run(folder, one)
    assert len(campaigns.missing(folder, read_campaign(folder))) == 2 * 5 * 3 - 7
    assert agreement.begun(scenario, root) == folder
    other = agreement.write_scenario(tmp_path / "other.yaml", LTE)
    assert agreement.begun(other, root) is None
    (folder / "_publishing-00000.json").write_text("{}")
    assert agreement.begun(scenario, root) is None, "it is being copied"


def one_comparison(tmp_path: Path, measures: Callable[[str, By, int], Measured]) -> agreement.Agreement:
    """Three rounds of lte."""
    scenario = agreement.write_scenario(tmp_path / "agreement.yaml", LTE)
    folder, world = agreement.create(scenario, tmp_path / "results"), World(measures)
    for one in campaigns.missing(folder, read_campaign(folder)):
        world.run(folder, one)
    (found,) = agreement.evaluate(folder)
    return found


def test_other_lists_of_losses_are_not_equal(tmp_path: Path) -> None:
    other = Measured(sha256="b" * 64)
    found = one_comparison(tmp_path, lambda _, by, trial: other if (by, trial) == ("lab", 2) else Measured())
    assert found.answer is Answer.DIFFERENT
    assert found.losses.different == tuple(
        f"case=line-{loop}-lte/trial-002 {way}" for loop in agreement.LOOPS for way in ("downlink", "uplink")
    )
    assert found.throughput.compared.answer is Answer.EQUAL


def test_losses_that_the_list_does_not_name_are_not_equal(tmp_path: Path) -> None:
    found = one_comparison(tmp_path, lambda _, by, trial: Measured(listed=(by, trial) != ("lab", 3)))
    assert found.answer is Answer.DIFFERENT
    assert found.losses.unlisted == ("case=lab-closed-lte/trial-003 uplink", "case=lab-open-lte/trial-003 uplink")


def test_invalid_trials_and_those_of_other_seeds_are_in_no_pair(tmp_path: Path) -> None:
    bad = Measured(rate=1.0, state=State.INVALID)
    found = one_comparison(tmp_path, lambda _, by, trial: bad if (by, trial) == ("line", 1) else Measured())
    assert (found.trials, found.throughput.compared.n) == (3, 2)
    assert found.answer is Answer.UNDECIDED


def test_a_latency_that_is_only_a_bound_decides_nothing(tmp_path: Path) -> None:
    found = one_comparison(tmp_path, lambda _, by, __: Measured(latency_s=None if by == "lab" else 0.2))
    assert found.latency.compared.n == 0
    assert found.answer is Answer.UNDECIDED


def test_the_latency_of_the_closed_loop_decides_nothing(tmp_path: Path) -> None:
    found = one_comparison(tmp_path, lambda _, by, __: Measured(loaded_latency_s=0.9 if by == "lab" else 0.5))
    assert found.loaded_latency.means == (pytest.approx(0.5), pytest.approx(0.9))
    assert found.loaded_latency.compared.answer is Answer.DIFFERENT
    assert found.answer is Answer.EQUAL


def test_trials_whose_ledger_a_pack_left_out_have_a_latency_and_no_throughput(tmp_path: Path) -> None:
    one_comparison(tmp_path, lambda *_: Measured())
    (folder,) = campaigns.folders(tmp_path / "results")
    for trial in trials(folder)[:1]:
        (trial.path / "published.parquet").unlink()
        left_out = Elsewhere(file="published.parquet", bytes=1, sha256="c" * 64)
        (trial.path / REDUCED).write_bytes(b"reduced")
        digest = hashlib.sha256(b"reduced").hexdigest()
        write_record(
            trial.path / PACKED,
            Packed(reduced_by=trial.manifest().git, reduced_sha256=digest, elsewhere=(left_out,)),
        )
    (found,) = agreement.evaluate(folder)
    assert (found.throughput.compared.n, found.latency.compared.n) == (2, 3)
    assert "(pairs: 2 of throughput, 3 of latency)" in line(found)


@pytest.mark.parametrize("rate", [0.4, 0.7, 3.3, 40.0])
def test_a_steady_rate_does_not_depend_on_where_the_window_lies(rate: float) -> None:
    tables = ledger(rate)
    rates = []
    for shift_ns in range(0, 2_000_000_000, 130_000_001):
        window = WINDOW.model_copy(
            update={"start_ns": WINDOW.start_ns + shift_ns, "end_ns": WINDOW.end_ns + shift_ns - 3_000_000_000}
        )
        rates.append(steady_rate(read_ledger(tables["published"], tables["delivered"], THEM), window))
    assert rates == pytest.approx([2 * rate] * len(rates), rel=1e-6)


def test_a_consumer_with_one_message_has_no_rate() -> None:
    tables = ledger(0.04)
    assert steady_rate(read_ledger(tables["published"], tables["delivered"], THEM), WINDOW) is None


def test_the_table_has_a_line_for_throughput_latency_and_losses(tmp_path: Path) -> None:
    found = one_comparison(tmp_path, lambda *_: Measured())
    write_csv(tmp_path / "found.csv", [found])
    head, *lines = (tmp_path / "found.csv").read_text().splitlines()
    assert head.startswith("profile,first,second,quantity")
    assert [line.split(",")[3] for line in lines] == ["throughput", "latency", "loaded_latency", "losses"]
    assert lines[2].endswith(","), "no answer"
    assert lines[3].endswith(",the same")


def test_a_trial_that_another_command_runs_cannot_be_added_to(scenario: Scenario, tmp_path: Path) -> None:
    folder = agreement.create(scenario, tmp_path / "results")
    with campaigns.owned(folder), pytest.raises(campaigns.CampaignError, match="another command"):
        campaigns.extend(folder, [Planned(cell="case=line-lte", trial=4, seed=1)])
