"""What limited trials, in words; verdicts of earlier versions do not say it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from invented import manifest
from synthetic_campaign import Spec, write_campaign

from analysis.findings import CellFinding
from analysis.report import limits, provenance
from analysis.report.provenance import Source
from analysis.trial import reduce_trial
from records.store import Trial
from records.verdict import ADDED_LATER, Check, Health, HealthCheck, Limiter, Use, Verdict

CELL = CellFinding(name="one", levels={}, trials=())
OLD = Verdict(checks=tuple(HealthCheck(check=one, health=Health.PASSED) for one in Check if one not in ADDED_LATER))


def verdict(limiter: Limiter) -> Verdict:
    return Verdict(
        checks=tuple(HealthCheck(check=one, health=Health.PASSED) for one in Check),
        limited_by=limiter,
        uses=(
            Use(of=Limiter.LINK, share=0.991, limit=0.95, unit="share of its rate"),
            Use(of=Limiter.DISK, share=None, limit=0.5, unit="share of the time"),
        ),
    )


def source(found: Verdict | None, *, shared: bool | None = None) -> Source:
    record = manifest(shared_machine=shared)
    return Source(cell=CELL, number=1, manifest=record, link=None, verdict=found)


def test_a_cell_says_what_limited_its_trials_and_how_many_where_they_differ() -> None:
    link, machine = verdict(Limiter.LINK), verdict(Limiter.MACHINE)
    assert limits.limited_cell([source(link), source(link)], "one") == "link"
    assert limits.limited_cell([source(link), source(machine), source(link)], "one") == "link (2), machine (1)"
    assert limits.limited_cell([source(link), source(OLD)], "one") == "link (1), not recorded (1)"
    assert limits.limited_cell([source(None)], "one") == ""
    assert limits.limited_cell([source(link)], "another") == ""


def test_every_limiter_has_words() -> None:
    said = {limits.limited_trial(verdict(one)) for one in Limiter}
    assert len(said) == len(Limiter)
    assert "This trial was limited by the link." in said
    assert limits.limited_trial(None) == ""


def test_a_trials_resources_are_listed_with_what_was_not_recorded() -> None:
    link, disk = limits.use_rows(verdict(Limiter.LINK))
    assert (link["of"], link["share"].value, link["bound"].value) == ("link", 0.991, 0.95)
    assert (disk["share"].text, disk["share"].value) == ("not recorded", None)


def test_a_verdict_of_an_earlier_version_says_that_it_was_not_recorded() -> None:
    assert limits.limited_trial(OLD) == "What limited this trial was not recorded."
    assert limits.use_rows(OLD) == []
    assert set(limits.unrecorded_checks(OLD)) == {one.value.replace("_", " ") for one in ADDED_LATER}
    assert limits.unrecorded_checks(verdict(Limiter.LINK)) == []


def test_a_trial_of_an_earlier_version_is_as_valid_as_it_was(tmp_path: Path) -> None:
    spec = Spec(bodies=(100,), guarantees=("durable",), networks=("nistnet-80211",), trials=1)
    (path,) = write_campaign(tmp_path, spec).glob("nistnet*/trial-001")
    (path / "verdict.json").write_text(OLD.model_dump_json(exclude={"limited_by", "uses"}))
    record = json.loads((path / "manifest.json").read_text())
    del record["shared_machine"]
    (path / "manifest.json").write_text(json.dumps(record))
    rows = reduce_trial(path, 0).to_pylist()
    assert [row["text"] for row in rows if row["metric"] == "state"] == ["valid"]
    assert not [row for row in rows if row["table"] in ("note", "damage")]
    assert Trial(path).manifest().shared_machine is None


@pytest.mark.parametrize(("rows", "lacks"), [({}, "no TCP figures and no journeys"), ({"stamps": 5}, "no TCP figures")])
def test_journeys_that_nodes_tell_need_no_captures(rows: dict[str, int], lacks: str) -> None:
    manifests = [SimpleNamespace(captures=(), rows=rows)] * 2
    told = provenance._captures(manifests)  # type: ignore[arg-type]
    assert told == f"2 trials without captures, of 2: without them there are {lacks}"


def test_a_shared_machine_is_told() -> None:
    told = dict(provenance.facts([source(OLD, shared=True), source(OLD, shared=False), source(OLD)]))
    assert told["Shared machine"] == "in 1 of 3 trials what others used of it was told, not judged"
    assert "Shared machine" not in dict(provenance.facts([source(OLD), source(OLD, shared=False)]))
