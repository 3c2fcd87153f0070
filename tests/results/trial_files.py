"""A trial's files with invented content, for tests of what reads and writes them."""

from __future__ import annotations

from pathlib import Path

from ledger_tables import delivered, published

from results.link import LinkCheck, LinkProof
from results.manifest import Cell, Consumer, Git, Kernel, Machine, Manifest, Node, Producer, Window, Workload
from results.schema import RESOURCES
from results.store import Trial, TrialWriter, write_record, write_table
from results.verdict import Check, Health, HealthCheck, Verdict


def manifest() -> Manifest:
    """One publisher, one subscriber."""
    return Manifest(
        scenario="invented",
        scenario_digest="0" * 64,
        campaign="20260101-000000-00000000",
        cell=Cell(name="only", levels={}),
        trial=1,
        seed=1,
        stack="reference",
        guarantee_class="nondurable, nonpersistent, ack auto",
        workload=Workload(
            topics=("topic-0",),
            producers=(Producer(id=0, node="sta1", topic=0),),
            consumers=(Consumer(id=0, node="sta1", topic=0),),
            body_bytes=100,
            loop="closed",
            ack="auto",
            persistent=False,
        ),
        nodes=(Node(name="sta1", role="station", address="10.77.0.2"),),
        profile={"name": "nistnet-80211"},
        window=Window(go_ns=0, start_ns=1, end_ns=10**9, drained_ns=2 * 10**9, started_at="2026-01-01T00:00:00Z"),
        clock_offset_ns=0,
        git=Git(revision="0" * 40, dirty=False),
        kernel=Kernel(release="6.1", chosen="host"),
        machine=Machine(cpu_model="one", cores=2, memory_bytes=2**30, load_1m_before=0.0),
        versions={},
        sysctls={},
        kernel_state={},
        captures=(),
        rows={"published": 1, "delivered": 1, "resources": 0},
        drained="complete",
    )


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
