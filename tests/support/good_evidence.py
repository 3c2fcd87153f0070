"""What health checks judge: the evidence of a good trial, and parts of it to be spoiled."""

from __future__ import annotations

import pyarrow as pa
from invented_machine import readings

from emulation.line.lateness import BUCKET_NS, Lateness
from experiments.trial.checks.health import Evidence
from experiments.trial.observers.linesamples import LineSeen
from records.audience import Audience
from records.link import LinkCheck
from records.manifest import Window
from records.schema import DELIVERED, PUBLISHED, RESOURCES

SECOND = 10**9


WINDOW = Window(go_ns=0, start_ns=SECOND, end_ns=11 * SECOND, drained_ns=12 * SECOND, started_at="2026-01-01")


def link_check(quantity: str, *, holds: bool = True) -> LinkCheck:
    return LinkCheck.model_validate(
        {
            "quantity": quantity,
            "direction": "uplink",
            "source": "probe",
            "asked": 1,
            "delivered": 1 if holds else 2,
            "low": 1,
            "high": 1,
        }
    )


def resources(
    *,
    generator: float = 0.1,
    server: float = 0.1,
    thread: float = 0.05,
    rss: float = 1e8,
    lateness: float = 0.01,
    dropped: int = 0,
) -> pa.Table:
    """Samples of 10 s; generator in cores, server in cores of two, thread in cores; dropped: packets, in the sixth."""
    rows = []
    for second in range(13):
        t_ns = second * SECOND
        rows += [
            (t_ns, "generator:sta1", "cpu_seconds", generator * second),
            (t_ns, "server:one", "cpu_seconds", server * second),
            (t_ns, "server:one", "rss_bytes", rss),
            (t_ns, "thread:one/7 worker", "cpu_seconds", thread * second),
            (t_ns, "softirq", "dropped_packets", 11.0 + dropped * (second > 5)),
            (t_ns, "softirq", "squeezed", 0.0),
            (t_ns, "ports", "dropped_packets", 0.0),
            (t_ns, "heartbeat", "lateness_s", lateness if second == 5 else 0.001),
        ]
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=RESOURCES)


def published(count: int = 5) -> pa.Table:
    rows = [
        {
            "producer": 0,
            "seq": seq,
            "topic": 0,
            "body_bytes": 100,
            "property": None,
            "t_sched_ns": 2 * SECOND + seq,
            "t_send_ns": 2 * SECOND + seq,
            "t_ack_ns": 2 * SECOND + seq + 10,
            "outcome": 0,
        }
        for seq in range(count)
    ]
    return pa.Table.from_pylist(rows, schema=PUBLISHED)


def delivered(seqs: list[int], *, t_recv_ns: int = 3 * SECOND) -> pa.Table:
    rows = [
        {"consumer": 0, "producer": 0, "seq": seq, "t_recv_ns": t_recv_ns, "arrival": n, "redelivered": False}
        for n, seq in enumerate(seqs)
    ]
    return pa.Table.from_pylist(rows, schema=DELIVERED)


GOOD = Evidence(
    link_checks=[link_check(quantity) for quantity in ("rate", "delay", "loss", "losses", "duplicates")],
    offloads_on=[],
    capture_drops={"wired": 0, "port-sta1": 0},
    resources=resources(),
    window=WINDOW,
    cores=2,
    memory_bytes=10**9,
    send_lateness_s=0.001,
    clock_step_s=0.0,
    published=published(),
    delivered=delivered([0, 1, 2, 3, 4]),
    audiences=[Audience(consumers=(0,), topic=0)],
    unreadable=0,
    miscounted=0,
    lost=[],
    path_rtt=(0, "all of 2 ends"),
    host=readings(),
    station_cores=2.0,
    stations={"sta1": ["generator:sta1"]},
)


def line(*, late_ns: int = 0, frames: int = 0, beats: int = 0) -> LineSeen:
    """10,000 frames and 3,000 beats of a line that were 40 us late, and more of each, as many as given, so late."""

    def counted(usual: int, more: int) -> Lateness:
        found = Lateness.of([(5, usual)], 6 * BUCKET_NS - 1)
        return found + Lateness.of([(min(late_ns // BUCKET_NS, 1023), more)], late_ns) if more else found

    return LineSeen(frames=counted(10_000, frames), reading=counted(3_000, beats))
