"""Where links were made and by what, as a report tells it, and where frames crossed them in no time."""

from __future__ import annotations

from typing import Any

import pytest
from invented import manifest

from analysis.campaign_compare.matching import machine_warnings
from analysis.findings import CellFinding
from analysis.report import provenance
from analysis.report.places import place, places, untimed
from analysis.report.provenance import Source
from records.link import LinkProof
from records.manifest import Cell, Kernel, Manifest

CELL = CellFinding(name="one", levels={}, trials=())
PLAIN = LinkProof(
    profile="any", medium="duplex", rate_uplink=1e6, overhead_uplink=0.001, rate_downlink=10e6,
    checks=(), loss_lists=(), counters=(),
)  # fmt: skip
UNLIMITED = PLAIN.model_copy(update={"rate_uplink": None, "rate_downlink": None})


def trial(**settings: Any) -> Manifest:
    return manifest().model_copy(update=settings)


def source(record: Manifest) -> Source:
    return Source(cell=CELL, number=1, manifest=record, link=None, verdict=None)


LINE = trial(medium="line", transmission_time=True)
TC = trial(medium="tc", transmission_time=False)
LAB = trial(medium="tc", transmission_time=True, kernel=Kernel(release="6.1.176", chosen="lab"))
OLD = trial()


@pytest.mark.parametrize(
    ("record", "told"),
    [(LINE, "the line, own kernel"), (TC, "tc, own kernel"), (LAB, "tc, lab kernel"), (OLD, "tc, own kernel")],
)
def test_a_trial_says_what_made_its_link_and_on_which_kernel(record: Manifest, told: str) -> None:
    assert place(record) == told
    assert dict(provenance.facts([source(record)]))["Link made by"] == told


def test_a_cell_says_where_its_trials_ran_and_how_many_where_they_differ() -> None:
    assert places([LINE, LINE]) == "the line, own kernel"
    assert places([LINE, TC, LINE]) == "the line, own kernel (2), tc, own kernel (1)"
    assert places([]) == ""


def test_a_missing_transmission_time_is_told_with_what_it_is() -> None:
    said = untimed([(TC, PLAIN)])
    assert said.startswith("In this trial a frame did not take its transmission time on an idle link (up to 13.1 ms")
    elsewhere = TC.model_copy(update={"cell": Cell(name="wire", levels={})})
    assert untimed([(one, PLAIN) for one in (LINE, elsewhere, LAB)]).startswith(
        "In 1 of 3 trials (wire) a frame did not"
    )


@pytest.mark.parametrize(
    ("short", "told"),
    [
        ("wire 100, wire 5120", "wire"),
        ("wire 100, air 100", "body 100 B"),
        ("wire 100", "wire · body 100 B"),
        ("wire 100, air 5120", "wire · body 100 B, air · body 5120 B"),
    ],
)
def test_trials_in_which_it_is_missing_are_told_by_what_is_theirs_alone(short: str, told: str) -> None:
    def of(network: str, body: str) -> Manifest:
        cell = Cell(name=f"network={network},body_bytes={body}", levels={"network": network, "body_bytes": body})
        return trial(cell=cell, medium="tc", transmission_time=f"{network} {body}" not in short.split(", "))

    records = [of(network, body) for network in ("wire", "air") for body in ("100", "5120")]
    assert f"of 4 trials ({told}) a frame" in untimed([(one, PLAIN) for one in records])


def test_a_link_behind_the_medium_that_takes_no_time_is_named() -> None:
    behind = PLAIN.model_copy(update={"segment": "link2", "made_by": "tc", "transmission_time": False})
    first = PLAIN.model_copy(update={"segment": "medium", "made_by": "line", "transmission_time": True})
    said = untimed([(LINE, first.model_copy(update={"further": (behind,)}))])
    assert said.startswith(
        "In this trial a frame did not take its transmission time on an idle link (link2; up to 13.1 ms"
    )
    timed = behind.model_copy(update={"transmission_time": True})
    assert untimed([(LINE, first.model_copy(update={"further": (timed,)}))]) == ""


@pytest.mark.parametrize("records", [[], [LINE], [LAB], [OLD], [LINE, LAB, OLD]])
def test_where_frames_took_their_time_or_nobody_recorded_it_nothing_is_said(records: list[Manifest]) -> None:
    assert untimed([(one, PLAIN) for one in records]) == ""
    assert untimed([(TC, UNLIMITED)]) == ""


def test_campaigns_by_different_media_are_compared_with_a_warning() -> None:
    found = machine_warnings([source(LINE)], [source(TC)])
    assert "link made by: the line, own kernel in A, tc, own kernel in B" in found
    assert "frames take their transmission time: yes in A, no in B" in found
    assert machine_warnings([source(LINE)], [source(LINE)]) == []
