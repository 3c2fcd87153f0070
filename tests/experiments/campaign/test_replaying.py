"""A trial is run again only where its packets meet the same fates again."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml
from invented import manifest

from emulation.line import layout
from emulation.plan.linkplan import LinkPlan, takes_time
from emulation.plan.stages import Feature
from emulation.profile.profile import LinkProfile
from experiments.campaign import campaign as campaigns
from experiments.campaign import replay
from experiments.campaign.campaign import CampaignError
from experiments.campaign.prepare import choose, links_of
from experiments.scenario import scenario
from experiments.scenario.segments import further_plans
from experiments.scenario.settings import from_campaign
from experiments.trial.context import link_plan
from experiments.workers.kernels import Kernels, NotPossible
from experiments.workers.place import Place
from records.campaign import read_campaign
from records.link import FateList, LinkProof, LossList
from records.manifest import Node
from records.schema import DELIVERED, PUBLISHED, RESOURCES
from records.store import Trial, TrialWriter, write_record, write_table
from records.verdict import Verdict
from stacks.reference.driver import Reference

PLAIN = {"subscription": "nondurable", "delivery": "nonpersistent"}
ONCE = {
    "scenario": "once",
    "network": "lte",
    "stations": 2,
    "trials": 1,
    "workload": {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 100},
}


def recorded(
    root: Path,
    change: Callable[[LinkProof], LinkProof] = lambda proof: proof,
    *,
    line: bool = True,
    timed: bool = True,
    **more: Any,
) -> Trial:
    """The folder of a trial that was run, with a link proof that `change` may have changed.

    timed: whether the kernel had netem.  more: of the scenario.
    """
    (root / "once.yaml").write_text(yaml.safe_dump(ONCE | more))
    folder = campaigns.create(scenario.load(root / "once.yaml"), root)
    (cell,) = read_campaign(folder).cells
    settings = from_campaign(cell.settings["settings"])
    stations = ["sta1", "sta2"]
    profile = LinkProfile.model_validate(cell.settings["profile"])
    plan = link_plan(profile, settings, stations, 7, "line" if line else "tc")
    further = further_plans(settings, profile, links_of(cell), replace(plan, times_frames=timed))
    proof = proof_of(plan).model_copy(update={"further": tuple(proof_of(one, name) for name, one in further.items())})
    writer = TrialWriter(folder, cell.name, 1)
    made = writer.open()
    for name, schema in (("published", PUBLISHED), ("delivered", DELIVERED), ("resources", RESOURCES)):
        write_table(made / f"{name}.parquet", schema.empty_table())
    nodes = tuple(Node(name=name, role="station", address="10.77.0.2") for name in stations)
    about: dict[str, Any] = {"seed": 7, "nodes": nodes, "profile": cell.settings["profile"]}
    about["medium"] = "line" if line else "tc"
    about["transmission_time"] = takes_time(replace(plan, times_frames=timed))
    about["cell"] = manifest().cell.model_copy(update={"name": cell.name})
    write_record(made / "manifest.json", manifest(**about))
    write_record(made / "link.json", change(proof))
    write_record(made / "verdict.json", Verdict(checks=()))
    return writer.commit()


def proof_of(plan: LinkPlan, segment: str = "") -> LinkProof:
    """What a trial says of a link that was as planned."""
    return LinkProof(
        profile=plan.profile.name, medium="duplex", rate_uplink=1e6, rate_downlink=1e6, checks=(), counters=(),
        segment=segment, made_by=plan.made_by,
        loss_lists=tuple(
            LossList(name=one.name, direction=one.direction, model=one.model, seed=plan.seed, modulus=one.modulus,
                     listed=len(one.indices), sha256=one.digest)
            for one in plan.losses
        ),
        fates=tuple(
            FateList(name=name, packets=layout.digested(plan), sha256=digest)
            for name, digest in layout.digests(plan).items()
        ) if plan.made_by == "line" else (),
    )  # fmt: skip


class AnyKernel(Kernels):
    """One that has whatever a replay needs."""

    host_features = dict.fromkeys(Feature, "")  # type: ignore[assignment]

    def choose(self, *_: Any, **others: Any) -> Place:
        return Place(kernel="host", medium=others.get("medium", "tc"))


def replayed(trial: Trial, root: Path) -> Path:
    return replay.create(trial, root, stack=None, kernels=AnyKernel())


@pytest.mark.parametrize("line", [True, False])
def test_a_trial_whose_fates_are_the_same_again_is_replayed(tmp_path: Path, line: bool) -> None:
    trial = recorded(tmp_path, line=line)
    again = read_campaign(replayed(trial, tmp_path / "again"))
    assert [one.seed for one in again.order] == [7]


def test_a_trial_whose_frames_took_no_time_is_refused_where_they_would(tmp_path: Path) -> None:
    trial = recorded(tmp_path, line=False, timed=False)
    with pytest.raises(NotPossible, match="a frame took no transmission time when"):
        replayed(trial, tmp_path / "again")
    assert not list((tmp_path / "again").glob("*"))


def other(name: str, field: str) -> Callable[[LinkProof], LinkProof]:
    """A record in which one list, or one list's fates, have another digest."""

    def change(proof: LinkProof) -> LinkProof:
        lists = [
            one.model_copy(update={"sha256": "0" * 64}) if one.name == name else one for one in getattr(proof, field)
        ]
        return proof.model_copy(update={field: tuple(lists)})

    return change


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("loss_lists", r"this version expands seed 7 to other losses \(downlink\); replay it with revision 0{12}"),
        ("fates", r"this version expands seed 7 to other fates of packets \(downlink\); replay it with revision 0{12}"),
    ],
)
def test_a_trial_whose_digests_differ_is_refused_with_the_list_and_the_way_out(
    tmp_path: Path, field: str, words: str
) -> None:
    with pytest.raises(CampaignError, match=words):
        replayed(recorded(tmp_path, other("downlink", field)), tmp_path / "again")
    assert not (tmp_path / "again").exists()


def behind(change: Callable[[LinkProof], LinkProof]) -> Callable[[LinkProof], LinkProof]:
    """The same in the proof of the link behind the medium."""
    return lambda proof: proof.model_copy(update={"further": tuple(change(one) for one in proof.further)})


def by_tc(proof: LinkProof) -> LinkProof:
    return proof.model_copy(update={"made_by": "tc", "fates": ()})


CHAIN = {"topology": {"kind": "chain", "routers": 1, "link": "geo-satellite"}}


def test_links_behind_the_medium_have_the_same_fates_again_too(tmp_path: Path) -> None:
    trial = recorded(tmp_path, **CHAIN)
    assert [(one.segment, one.made_by, bool(one.fates)) for one in trial.link().further] == [("link1", "line", True)]
    replayed(trial, tmp_path / "again")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (other("uplink", "fates"), r"other fates of packets of segment link1 \(uplink\)"),
        (other("uplink", "loss_lists"), r"other losses of segment link1 \(uplink\)"),
        (by_tc, r"segment link1 was made by tc, and would be by the line here: replay it on a kernel with"),
    ],
)
def test_a_link_behind_the_medium_that_would_differ_is_refused(
    tmp_path: Path, change: Callable[[LinkProof], LinkProof], words: str
) -> None:
    with pytest.raises((CampaignError, NotPossible), match=words):
        replayed(recorded(tmp_path, behind(change), **CHAIN), tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_link_behind_the_medium_that_the_topology_has_not_is_told(tmp_path: Path) -> None:
    renamed = behind(lambda proof: proof.model_copy(update={"segment": "link9"}))
    with pytest.raises(CampaignError, match="it has a segment 'link9', which its topology has not"):
        replayed(recorded(tmp_path, renamed, **CHAIN), tmp_path / "again")


class NoNetem(Kernels):
    """This machine's own kernel, as one without netem that can do all else."""

    @cached_property
    def host_features(self) -> dict[Feature, str]:
        return dict.fromkeys(Feature, "") | {Feature.NETEM: "none"}


@pytest.mark.skipif(os.geteuid() != 0, reason="this machine's own kernel is for root")
@pytest.mark.parametrize(
    ("network", "link", "line"), [("nistnet-80211", "wireline-1g", True), ("wireline-1g", "geo-satellite", False)]
)
def test_a_trial_whose_links_auto_gave_to_both_media_is_replayed(
    tmp_path: Path, network: str, link: str, line: bool
) -> None:
    topology = {"kind": "chain", "routers": 1, "link": link}
    trial = recorded(tmp_path, line=line, timed=False, network=network, topology=topology)
    assert {one.made_by for one in trial.link().segments} == {"line", "tc"}
    folder = replay.create(trial, tmp_path / "again", stack=None, kernels=NoNetem())
    (place,) = choose(read_campaign(folder), folder, NoNetem()).values()
    assert place.medium == ("line" if line else "tc")


def test_a_record_that_has_not_the_fates_of_a_list_is_refused(tmp_path: Path) -> None:
    trial = recorded(tmp_path, lambda proof: proof.model_copy(update={"fates": proof.fates[:1]}))
    with pytest.raises(CampaignError, match=r"other fates of packets \(downlink\)"):
        replayed(trial, tmp_path / "again")


def test_a_record_from_before_there_were_fates_reads_as_one_without() -> None:
    data = {"profile": "p", "medium": "duplex", "rate_uplink": None, "rate_downlink": None, "checks": [],
            "loss_lists": [], "counters": []}  # fmt: skip
    assert LinkProof.model_validate(data).fates == ()


def test_another_stack_whose_services_have_no_place_there_is_refused(tmp_path: Path) -> None:
    trial = recorded(tmp_path, line=False)
    with pytest.raises(CampaignError, match=r"--stack: medium: stack 'reference-peers' has its services on stations"):
        replay.create(trial, tmp_path / "again", stack="reference-peers", kernels=AnyKernel())
    assert not (tmp_path / "again").exists()


def test_a_stack_that_has_to_be_set_is_set_as_usual_and_that_is_said(tmp_path: Path) -> None:
    trial = recorded(tmp_path, workload=ONCE["workload"] | {"guarantee": PLAIN})
    folder = replay.create(trial, tmp_path / "again", stack="mosquitto", kernels=AnyKernel())
    campaign = read_campaign(folder)
    knobs = campaign.cells[0].settings["settings"]["knobs"]["mosquitto"]
    assert {"qos", "window"} <= knobs.keys()
    assert f"with mosquitto's own qos: {knobs['qos']}" in campaign.question
    assert from_campaign(campaign.cells[0].settings["settings"]).knobs["mosquitto"] == knobs


def test_a_stack_that_cannot_subscribe_so_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = recorded(tmp_path, workload=ONCE["workload"] | {"guarantee": PLAIN})
    monkeypatch.setattr(Reference, "why_not", lambda *_: "it has no such subscription")
    with pytest.raises(CampaignError, match="--stack: it has no such subscription"):
        replay.create(trial, tmp_path / "again", stack="reference", kernels=AnyKernel())
