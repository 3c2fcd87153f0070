"""What a campaign needs: installed once, and again when something has changed; a medium that can make its links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from lab_runs import scenario_file

from emulation.kernel import memo
from emulation.plan.stages import Feature
from emulation.profile.media import WantedMedium
from experiments import deploy
from experiments.campaign import campaign as campaigns
from experiments.campaign import prepare
from experiments.scenario import scenario as scenarios
from experiments.workers.kernels import Kernels, NotPossible
from experiments.workers.place import Place
from records.campaign import Campaign, read_campaign


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The roles of each installation, which is noted and not done; with a note, packages and a cache of their own."""
    done: list[list[str]] = []

    def apply(actions: list[str], targets: list[deploy.Target], **_: object) -> None:
        assert actions == ["install"]
        done.append([call.role for call in targets[0].roles])

    monkeypatch.setattr(deploy, "apply", apply)
    monkeypatch.setattr(deploy, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(prepare, "_PACKAGES", tmp_path / "status")
    monkeypatch.setattr(memo, "place", lambda topic: tmp_path / f"{topic}.json")
    (tmp_path / "cache").mkdir()
    (tmp_path / "status").write_text("as it is")
    return done


def planned(folder: Path, stack: str, **settings: object) -> Campaign:
    scenario = scenarios.load(scenario_file(folder, stack=stack, **settings))
    return read_campaign(campaigns.create(scenario, folder / "results"))


def test_what_is_installed_is_not_looked_at_again(tmp_path: Path, installed: list[list[str]]) -> None:
    for stack in ("reference", "reference", "activemq", "reference", "activemq"):
        prepare.install(planned(tmp_path, stack))
    assert installed == [["reference", "client"], ["activemq", "client"]]


def test_each_of_several_settings_of_a_service_is_remembered(tmp_path: Path, installed: list[list[str]]) -> None:
    for drop in (7, 8, 7, 8):
        prepare.install(planned(tmp_path, "reference", faults={"drop": drop}))
    assert len(installed) == 2


def test_what_is_remembered_is_bounded(tmp_path: Path, installed: list[list[str]]) -> None:
    for drop in range(1, 60):
        prepare.install(planned(tmp_path, "reference", faults={"drop": drop}))
    assert memo.place("installed").stat().st_size < 4096, "more is not read"
    prepare.install(planned(tmp_path, "reference", faults={"drop": 59}))
    assert len(installed) == 59


@pytest.mark.parametrize("changed", ["status", "cache/classes.jsa"])
def test_what_has_changed_since_is_looked_at_again(tmp_path: Path, installed: list[list[str]], changed: str) -> None:
    prepare.install(planned(tmp_path, "reference"))
    (tmp_path / changed).write_text("another")
    prepare.install(planned(tmp_path, "reference"))
    assert len(installed) == 2


def test_other_playbooks_are_used(tmp_path: Path, installed: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    prepare.install(planned(tmp_path, "reference"))
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "services.yml").write_text("- name: other\n")
    monkeypatch.setattr(deploy, "PLAYBOOKS", tmp_path / "playbooks")
    prepare.install(planned(tmp_path, "reference"))
    assert len(installed) == 2


def test_what_failed_is_tried_again(
    tmp_path: Path, installed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise deploy.DeployError(task="install", host="this-machine", message="no such package")

    with monkeypatch.context() as broken:
        broken.setattr(deploy, "apply", fail)
        with pytest.raises(deploy.DeployError, match="no such package"):
            prepare.install(planned(tmp_path, "reference"))
    prepare.install(planned(tmp_path, "reference"))
    assert len(installed) == 1


def chosen(folder: Path, medium: WantedMedium, **settings: object) -> dict[str, Place]:
    """The place of each cell of a campaign on a kernel without netem."""
    kernels = Kernels(medium=medium)
    kernels.__dict__.update({"host_features": dict.fromkeys(Feature, "") | {Feature.NETEM: "unknown"}, "no_lab": ""})
    return prepare.choose(planned(folder, "reference", **settings), folder, kernels)


def bursty(folder: Path, **own: object) -> str:
    """A profile beside the scenario, some of whose frames may pass at once."""
    about = {"name": "bursty", "description": "d", "source": "s", "medium": "duplex", "rate": "1 Mbit/s"}
    (folder / "bursty.yaml").write_text(yaml.safe_dump(about | {"burst_bytes": 20_000} | own))
    return "bursty.yaml"


def test_a_link_that_only_tc_can_make_is_made_by_it_and_who_insists_on_the_line_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    network = bursty(tmp_path)
    assert chosen(tmp_path, "auto", network=network) == {"only": Place("host", "tc")}
    assert chosen(tmp_path, "auto", network=network, topology={"kind": "cells", "cells": 2}) == {
        "only": Place("host", "tc")
    }
    with pytest.raises(NotPossible) as told:
        chosen(tmp_path, "line", network=network)
    assert "cannot do by the line what profile 'bursty' asks: burst_bytes (" in str(told.value)
    assert str(told.value).endswith("; tc could: run with --medium tc")


def test_of_a_topology_s_links_one_that_only_tc_can_make_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    wires = {"network": "nistnet-80211", "topology": {"kind": "chain", "routers": 1, "link": bursty(tmp_path)}}
    assert chosen(tmp_path, "auto", **wires) == {"only": Place("host", "line")}
    with pytest.raises(NotPossible, match=r"cannot do by the line what profile 'bursty' asks: burst_bytes \("):
        chosen(tmp_path, "line", **wires)
    bursty(tmp_path, delay="10 ms")
    with pytest.raises(NotPossible, match=r"asks: burst_bytes .*has no netem, which profile 'bursty' needs"):
        chosen(tmp_path, "auto", **wires)
