"""The table of what links delivered: what is measured differently has a row of its own."""

from __future__ import annotations

from typing import Any

from analysis.findings import CellFinding
from analysis.report.provenance import Source, link_rows
from records.link import LinkCheck, LinkProof


def delay(delivered: float, **settings: Any) -> LinkCheck:
    given = {"source": "probe", "asked": 0.01, "low": 0.009, "high": 0.011} | settings
    return LinkCheck(quantity="delay", direction="uplink", delivered=delivered, **given)


def source(*checks: LinkCheck) -> Source:
    link = LinkProof(
        profile="any", medium="duplex", rate_uplink=None, rate_downlink=None, checks=checks, loss_lists=(), counters=()
    )  # fmt: skip
    return Source(cell=CellFinding(name="one", levels={}, trials=()), number=1, manifest=None, link=link, verdict=None)


def told(*sources: Source) -> list[tuple[str, str, str]]:
    return [(row["source"], row["delivered"], row["held"]) for row in link_rows(sources)]


def test_checks_of_different_paths_are_told_apart() -> None:
    first, second = delay(0.01, path="sta1 to sta2"), delay(0.02, path="sta2 to sta1")
    assert told(source(delay(0.0095), first, second)) == [
        ("probe before the cell", "9.50 ms", "1 of 1"),
        ("probe before the cell, sta1 to sta2", "10.0 ms", "1 of 1"),
        ("probe before the cell, sta2 to sta1", "20.0 ms", "0 of 1"),
    ]


def test_checks_of_one_path_share_a_row_over_all_trials() -> None:
    path = "sta1 to sta2"
    assert told(source(delay(0.0095, path=path)), source(delay(0.012, path=path))) == [
        ("probe before the cell, sta1 to sta2", "9.50 ms to 12.0 ms", "1 of 2")
    ]


def test_a_later_state_was_probed_too() -> None:
    rows = told(source(delay(0.01), delay(0.01, state="handover"), delay(0.01, source="trial")))
    assert [how for how, _, _ in rows] == [
        "probe before the cell", "probe before the cell, after handover", "counters of the trial",
    ]  # fmt: skip
