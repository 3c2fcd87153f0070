"""One undamaged campaign and its reports for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from blank_plots import blank
from common.capture import write_capture
from object_store import ObjectStore
from reduced_here import findings_of
from synthetic_campaign import write_campaign

from analysis.findings import Findings
from analysis.report.build import write
from records import location
from records.location import Remote, locate


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two captures of 1,500 and 400 packets."""
    folder = tmp_path_factory.mktemp("captures")
    return [
        write_capture(folder / f"{name}.pcap", packets=packets, connections=20, seed=packets)
        for name, packets in (("one", 1500), ("two", 400))
    ]


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_campaign(tmp_path_factory.mktemp("campaigns"))


@pytest.fixture(scope="session")
def findings(campaign: Path) -> Findings:
    return findings_of(campaign)


@pytest.fixture(scope="session")
def report(findings: Findings) -> Path:
    """The campaign's report.  Tests only read it: to draw and write it takes a processor many seconds."""
    return write(findings)


@pytest.fixture
def target(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Remote:
    """Where a test publishes a campaign; calls that fail are tried again at once."""
    monkeypatch.setattr(location, "_PAUSES_S", (0.0, 0.0))
    found = locate(store.uri("lab/runs/one"))
    assert isinstance(found, Remote)
    return found


@pytest.fixture
def blank_plots() -> Iterator[None]:
    """Plots are blank, for tests of what else a report says."""
    with blank():
        yield
