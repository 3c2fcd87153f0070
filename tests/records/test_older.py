"""Records of older versions are read in today's shapes."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from trial_files import link_proof, write_trial

from records.filenames import LINK, MANIFEST
from records.manifest import PlacedWorkload
from records.messaging import Delivery
from records.store import DamagedTrial, Trial, write_record
from records.workload import PubSub

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
OLD = {
    "topics": ["topic-0", "topic-1"],
    "producers": [{"id": 0, "node": "sta1", "topic": 0}, {"id": 1, "node": "sta1", "topic": 1}],
    "consumers": [{"id": 0, "node": "sta2", "topic": 0, "durable": True, "selector": [10, 20], "ports": [4000]}],
    "body_bytes": 5120,
    "loop": "open",
    "rate_per_producer": 12.5,
    "ack": "dups_ok",
    "persistent": True,
}


def test_a_workload_of_an_older_manifest_becomes_one_of_today() -> None:
    work = PlacedWorkload.model_validate_json(json.dumps(OLD))
    assert isinstance(work.asked, PubSub)
    assert work.asked.clients.channels == ("topic-0", "topic-1")
    assert (work.asked.loop, work.asked.rate, work.asked.body_bytes) == ("open", 12.5, 5120)
    assert work.asked.durable
    assert work.asked.guarantee.delivery is Delivery.PERSISTENT
    assert work.asked.selector is not None
    assert (work.asked.selector.low, work.asked.selector.high) == (10, 20)
    assert work.consumers[0].ports == (4000,)
    assert PlacedWorkload.model_validate_json(work.model_dump_json()) == work


@pytest.mark.parametrize("pack", sorted(REFERENCE.rglob("*.airwire.tar.xz")), ids=lambda path: path.name[:12])
def test_records_of_the_reference_packs_can_be_read(pack: Path, tmp_path: Path) -> None:
    with tarfile.open(pack) as archive:
        for member in archive:
            if Path(member.name).name in (MANIFEST, LINK) and (file := archive.extractfile(member)) is not None:
                path = tmp_path / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.read())
    folders = {path.parent for path in tmp_path.rglob(MANIFEST)}
    assert folders
    for folder in folders:
        manifest = Trial(folder).manifest()
        assert manifest.workload.asked.guarantee_class == manifest.guarantee_class
        clients = manifest.workload.asked.clients
        assert len(clients.producers(clients.least_stations)) == len(manifest.workload.producers)
        if folder.name.startswith(".set-aside"):
            continue  # packs have no more of those
        proof = Trial(folder).link()
        assert proof.states is not None
        first = proof.states[0].groups[0]
        assert (first.uplink.rate, first.downlink.rate) == (proof.rate_uplink, proof.rate_downlink)
        assert first.stations == tuple(node.name for node in manifest.nodes if node.role == "station")


def older_trial(folder: Path, profile: dict[str, object]) -> Trial:
    """One whose link.json does not say what the link was asked to be."""
    trial = write_trial(folder, "cell=a", 1)
    write_record(trial.path / LINK, link_proof().model_copy(update={"states": None, "interruptions": None}))
    manifest = trial.manifest().model_copy(update={"profile": profile})
    write_record(trial.path / MANIFEST, manifest)
    return trial


def test_what_an_older_link_was_asked_to_be_is_read_from_its_profile(tmp_path: Path) -> None:
    ways = {"uplink": {"rate": 1e6, "frame_overhead": 0.0}, "downlink": {"rate": 2e6}}
    timeline = [{"at": 3.0, "change": {"frame_overhead": "100 us"}}, {"at": 5.0, "outage": 1.5, "stations": ["sta1"]}]
    proof = older_trial(tmp_path, ways | {"timeline": timeline}).link()
    assert proof.changes_overhead
    assert not proof.damaging
    assert proof.states is not None
    assert [(one.since_s, one.groups[0].downlink.overhead) for one in proof.states] == [(None, 0.0), (3.0, 1e-4)]
    assert proof.interruptions is not None
    assert [(one.at_s, one.lasts_s, one.stations) for one in proof.interruptions] == [(5.0, 1.5, ("sta1",))]


@pytest.mark.parametrize("profile", [{"timeline": [{"change": {"rate": 1}}]}, {"uplink": {"rate": "fast"}}])
def test_a_profile_that_says_no_link_is_damage(tmp_path: Path, profile: dict[str, object]) -> None:
    trial = older_trial(tmp_path, profile)
    with pytest.raises(DamagedTrial, match=r"manifest\.json: its profile says no link"):
        trial.link()
