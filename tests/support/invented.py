"""Invented records that tests of several folders use."""

from __future__ import annotations

from typing import Any

from records.clients import PubSubClients
from records.manifest import Cell, Consumer, Git, Kernel, Machine, Manifest, Node, PlacedWorkload, Producer, Window
from records.workload import PubSub


def manifest(**changes: Any) -> Manifest:
    """One publisher, one subscriber, but for what changes."""
    plain = Manifest(
        scenario="invented",
        scenario_digest="0" * 64,
        campaign="20260101-000000-00000000",
        cell=Cell(name="only", levels={}),
        trial=1,
        seed=1,
        stack="reference",
        guarantee_class="nondurable, nonpersistent, ack auto",
        workload=PlacedWorkload(
            asked=PubSub(clients=PubSubClients(publishers=1, subscribers=1), body_bytes=100),
            producers=(Producer(id=0, node="sta1", topic=0),),
            consumers=(Consumer(id=0, node="sta1", topic=0),),
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
    return plain.model_copy(update=changes)
