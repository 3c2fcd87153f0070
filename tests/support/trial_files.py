"""A trial's files with invented content, for tests of what reads and writes them."""

from __future__ import annotations

from pathlib import Path

from invented import manifest
from ledger_tables import delivered, published

from records.link import LinkCheck, LinkProof
from records.schema import RESOURCES
from records.store import Trial, TrialWriter, write_record, write_table
from records.verdict import Check, Health, HealthCheck, Verdict


def link_proof() -> LinkProof:
    """A link that holds."""
    check = LinkCheck(
        quantity="rate", direction="uplink", source="probe", asked=1e6, delivered=1e6, low=9.8e5, high=1.02e6
    )
    return LinkProof(
        profile="nistnet-80211",
        medium="shared",
        rate_uplink=1e6,
        rate_downlink=1e6,
        checks=(check,),
        loss_lists=(),
        counters=(),
        states=(),
        interruptions=(),
    )


def passing_verdict() -> Verdict:
    """Every check passed."""
    return Verdict(checks=tuple(HealthCheck(check=check, health=Health.PASSED) for check in Check))


def write_trial(campaign: Path, cell: str, number: int) -> Trial:
    """A finished trial folder."""
    writer = TrialWriter(campaign, cell, number)
    folder = writer.open()
    write_table(folder / "published.parquet", published([(0, 0)]))
    write_table(folder / "delivered.parquet", delivered([(0, 0, 0)]))
    write_table(folder / "resources.parquet", RESOURCES.empty_table())
    write_record(folder / "manifest.json", manifest())
    write_record(folder / "link.json", link_proof())
    write_record(folder / "verdict.json", passing_verdict())
    return writer.commit()
