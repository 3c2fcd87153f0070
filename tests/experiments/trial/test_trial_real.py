"""Whole trials on the real kernel, in this process, so that tests can get between the steps."""

from __future__ import annotations

import contextlib
import math
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from connecting_seen import assert_numbered_from_go
from lab_runs import FIXTURES, assert_sound, failed, machines, scenario_file, traces
from trial_runs import run, run_file

from analysis.trial import reduce_trial
from emulation.kernel.namespace import in_namespace
from emulation.link import features
from emulation.plan.linkplan import LinkPlan
from emulation.plan.stages import Feature
from emulation.proof.proof import Ends, probe_link
from experiments.campaign import campaign as campaigns
from experiments.deploy import DeployError
from experiments.trial import proving
from experiments.trial import trial as trials
from experiments.trial.context import Phase
from records.ledger import reconcile
from records.link import LinkCheck
from records.schema import Outcome
from records.store import Trial
from records.verdict import Check, State, Verdict
from topologies.build import built
from topologies.network import Network
from topologies.plan import TopologyPlan

pytestmark = [pytest.mark.root]

LINK = {Check.LINK_RATE, Check.LINK_LOSS, Check.LINK_DELAY}
COUNTED = ("loss_share", "duplicate_share", "reordered_share", "refused", "foreign")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trial, Verdict, list[Phase]]:
    """A trial over the wireless link, with the phases that it told of, which has left nothing."""
    folder = tmp_path_factory.mktemp("plain")
    before = traces(folder)
    found = run(folder, network="nistnet-80211", sysctls={"net.ipv4.tcp_limit_output_bytes": 65536})
    assert traces(folder) == before
    return found


def test_a_trial_ends_valid_with_everything_recorded(plain: tuple[Trial, Verdict, list[Phase]]) -> None:
    trial, verdict, phases = plain
    assert_sound(verdict)
    manifest, link = trial.manifest(), trial.link()
    assert [phase.name for phase in phases if phase.name != "load"] == ["build", "deploy", "connect", "drain", "stop"]
    assert link.holds == (not failed(verdict) & LINK)
    assert {one.quantity for one in link.checks} == {
        "rate", "delay", "reordered", "losses", "duplicates", "loss", "bypass"
    }  # fmt: skip
    assert {one.direction: one.listed for one in link.loss_lists}.keys() == {"uplink", "downlink"}
    assert {one.side for one in manifest.captures} == {"station", "wired", "client", "server"}
    for capture in manifest.captures:
        assert (trial.path / capture.file).stat().st_size == capture.bytes
        assert capture.packets > 0
    assert manifest.sysctls["sta1"]["net.ipv4.tcp_congestion_control"] == "reno"
    assert manifest.sysctls["server"]["net.ipv4.tcp_limit_output_bytes"] == "65536"
    assert manifest.medium == "tc", "as it was told"
    assert manifest.transmission_time is not bool(features.probe()[Feature.NETEM])
    assert "htb" in manifest.kernel_state["tc -s -d qdisc show"]
    assert "numgen" in manifest.kernel_state["nft -t list ruleset"]
    published, delivered = trial.table("published"), trial.table("delivered")
    result = reconcile(published, delivered, manifest.workload.audiences)
    assert result.closes
    assert result.expected > 20
    assert (result.lost, result.duplicates, result.reordered, result.refused, result.foreign) == (0,) * 5
    assert 0 < result.delivered <= result.expected, "on a slow machine some may still be under way at the drain's end"
    metrics = {
        row["metric"]: row["value"] for row in reduce_trial(trial.path, 0).to_pylist() if row["table"] == "trial"
    }
    assert [metrics[name] for name in COUNTED] == [0] * len(COUNTED)
    window = next(one for one in link.counters if one.during == "window")
    assert [queue.name for queue in window.queues] == ["air"]
    assert 0 < window.queues[0].bytes * 8 / window.seconds <= 1.02e6
    assert not (trial.path / ".scratch").exists()
    if Check.CAPTURE_DROPS not in failed(verdict):
        assert_numbered_from_go(trial)


Proof = tuple[LinkPlan, tuple[LinkCheck, ...]]


@pytest.fixture(scope="module")
def wireless(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trial, Verdict, list[Proof]]:
    """A trial over the wireless link that keeps no captures, with its proofs.

    They do not hold twice, and then do, whatever the machine does.
    """
    proofs: list[Proof] = []

    def disturbed(plan: LinkPlan, ends: Mapping[int, Ends]) -> tuple[LinkCheck, ...]:
        earlier = sum(of is plan for of, _ in proofs)
        low, high = (1e12, 1e12) if earlier < 2 else (-math.inf, math.inf)
        checks = tuple(one.model_copy(update={"low": low, "high": high}) for one in probe_link(plan, ends))
        proofs.append((plan, checks))
        return checks

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(proving, "probe_link", disturbed)
        folder = tmp_path_factory.mktemp("wireless")
        trial, verdict, _ = run(folder, network="nistnet-80211", capture={"keep_mb": 0.001})
    return trial, verdict, proofs


def test_a_link_that_did_not_hold_is_proven_again(wireless: tuple[Trial, Verdict, list[Proof]]) -> None:
    trial, verdict, proofs = wireless
    assert_sound(verdict)
    last_plan, last = proofs[-1]
    assert sum(of is last_plan for of, _ in proofs) == 3
    assert [one for one in trial.link().checks if one.source == "probe"] == list(last)
    notes = [note for note in trial.manifest().notes if note.startswith("the link")]
    assert len(notes) == 2
    for note in notes:
        assert "was proven again (" in note
        assert "uplink rate (probe): asked 1 Mbit/s, delivered" in note


def test_a_link_that_never_holds_is_proven_three_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = 0

    def disturbed(plan: LinkPlan, ends: Mapping[int, Ends]) -> tuple[LinkCheck, ...]:
        nonlocal proofs
        proofs += 1
        return tuple(one.model_copy(update={"low": 1e12, "high": 1e12}) for one in probe_link(plan, ends))

    monkeypatch.setattr(proving, "probe_link", disturbed)
    _, verdict, _ = run_file(scenario_file(tmp_path, network="nistnet-80211"), tmp_path)
    assert verdict.state is State.INVALID
    assert Check.LINK_RATE in failed(verdict)
    assert proofs == 3


def test_captures_larger_than_wanted_are_counted_and_not_kept(wireless: tuple[Trial, Verdict, list[Proof]]) -> None:
    trial, verdict, _ = wireless
    assert_sound(verdict)
    assert not list(trial.path.rglob("*.pcap"))
    for capture in trial.manifest().captures:
        assert (capture.kept, capture.sha256) == (False, "")
        assert capture.packets > 0
        assert capture.bytes > 24
    (drops,) = [one for one in verdict.checks if one.check is Check.CAPTURE_DROPS]
    assert drops.measured == sum(capture.dropped for capture in trial.manifest().captures)


def test_a_broker_that_dies_makes_the_trial_invalid_and_closes_the_books(tmp_path: Path) -> None:
    trial, verdict, _ = run_file(FIXTURES / "broker-dies-mid-trial" / "scenario.yaml", tmp_path)
    against = failed(verdict)
    assert against - machines(against) == {Check.SERVERS_ALIVE}, verdict.reasons()
    outcomes = trial.table("published").column("outcome").to_pylist()
    assert 20 <= outcomes.count(Outcome.ACKED) < 60
    assert {*outcomes} == {Outcome.ACKED, Outcome.IN_DOUBT}, "the schedule of an open loop goes on"
    assert len(outcomes) > 60


def test_a_taken_port_is_told_with_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def star_with_a_squatter(plan: TopologyPlan, **wanted: Any) -> Iterator[Network]:
        with built(plan, **wanted) as network:
            server = network.servers[0]
            with in_namespace(server.pid, lambda: socket.create_server((server.address, 7400))):
                yield network

    monkeypatch.setattr(trials, "built", star_with_a_squatter)
    with pytest.raises(DeployError, match=r"(?s)server.*7400"):
        run_file(FIXTURES / "port-in-use" / "scenario.yaml", tmp_path)
    (campaign,) = campaigns.folders(tmp_path / "results")
    assert not list(campaign.glob("*/trial-*"))
    assert not list(campaign.glob("*/.partial-*"))


def test_the_same_seed_gives_the_same_loss_lists_in_two_trials(
    wireless: tuple[Trial, Verdict, list[Proof]], plain: tuple[Trial, Verdict, list[Phase]]
) -> None:
    lists = []
    for trial, _ in (wireless[:2], plain[:2]):
        lists.append([(one.direction, one.seed, one.sha256) for one in trial.link().loss_lists])
        assert [one.holds for one in trial.link().checks if one.quantity == "loss"] == [True, True]
    assert lists[0] == lists[1]
