"""Trials of several media whose throughput, latency and losses the test decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from invented import manifest

from records.agreement import By
from records.campaign import Planned
from records.filenames import LINK, MANIFEST, VERDICT
from records.link import Counters, LinkCheck, LinkProof, LossCounters, LossList
from records.manifest import Cell, Consumer, Window
from records.schema import DELIVERED, PUBLISHED, RESOURCES, Outcome
from records.store import Trial, TrialWriter, write_record, write_table
from records.verdict import Check, Health, HealthCheck, State, Verdict

SECOND = 1_000_000_000
WINDOW = Window(go_ns=0, start_ns=SECOND, end_ns=21 * SECOND, drained_ns=22 * SECOND, started_at="2026-01-01T00:00:00Z")
CONSUMERS = (Consumer(id=1, node="sta1", topic=0), Consumer(id=2, node="sta2", topic=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """rate: messages per second of each consumer.  sha256: digest of both loss lists.  listed: lost what they name.

    latency_s: of both loops, unless loaded_latency_s is that of the closed one.
    """

    rate: float = 10.0
    latency_s: float | None = 0.2
    loaded_latency_s: float | None = None
    sha256: str = "a" * 64
    listed: bool = True
    state: State = State.VALID


@dataclass(slots=True)
class World:
    """What every trial of a medium measures, by the seed of the trial; ran: trials in order."""

    measures: Callable[[str, By, int], Measured]
    ran: list[tuple[str, int]] = field(default_factory=list)

    def run(self, folder: Path, one: Planned) -> Trial:
        """Finish a trial as its medium would measure it."""
        by, loop, profile = one.cell.removeprefix("case=").split("-", 2)
        self.ran.append((one.cell, one.trial))
        measured = self.measures(profile, by, one.trial)  # type: ignore[arg-type]
        if loop == "closed" and measured.loaded_latency_s is not None:
            measured = replace(measured, latency_s=measured.loaded_latency_s)
        return finished(folder, one, measured)


def finished(folder: Path, planned: Planned, measured: Measured) -> Trial:
    """A trial's folder, with all that a valid one has."""
    tables = ledger(measured.rate) | {"resources": RESOURCES.empty_table()}
    record = manifest(
        cell=Cell(name=planned.cell, levels={}),
        trial=planned.trial,
        seed=planned.seed,
        figures={} if measured.latency_s is None else {"latency_mean_s": measured.latency_s},
        latency_of="sent",
        window=WINDOW,
        rows={name: len(table) for name, table in tables.items()},
    )
    workload = record.workload.model_copy(update={"consumers": CONSUMERS})
    writer = TrialWriter(folder, planned.cell, planned.trial)
    path = writer.open()
    for name, table in tables.items():
        write_table(path / f"{name}.parquet", table)
    write_record(path / MANIFEST, record.model_copy(update={"workload": workload}))
    write_record(path / LINK, proof(planned.seed, measured))
    write_record(path / VERDICT, verdict(measured.state))
    return writer.commit()


def verdict(state: State) -> Verdict:
    """Everything passed, or the first check has failed."""
    spoilt = Health.PASSED if state is State.VALID else Health.FAILED
    first, *others = Check
    checks = [HealthCheck(check=first, health=spoilt, measured=1.0)]
    return Verdict(checks=(*checks, *(HealthCheck(check=one, health=Health.PASSED, measured=1.0) for one in others)))


def proof(seed: int, measured: Measured) -> LinkProof:
    """What a link says of itself: two lists, and that it lost what these name, or not."""
    lists = tuple(
        LossList(
            name=way, direction=way, model="bernoulli", seed=seed, modulus=65536, listed=9,
            sha256=measured.sha256,
        )
        for way in ("uplink", "downlink")
    )  # fmt: skip
    losses = tuple(LossCounters(name=way, direction=way, seen=1000, dropped=30) for way in ("uplink", "downlink"))
    check = LinkCheck(
        quantity="loss", direction="uplink", source="trial", asked=0.03, delivered=0.03 if measured.listed else 0.05,
        low=0.029, high=0.031,
    )  # fmt: skip
    counters = (
        Counters(during="window", seconds=20, queues=(), losses=losses),
        Counters(during="trial", seconds=22, queues=(), losses=losses),
    )
    return LinkProof(
        profile="lte", medium="duplex", rate_uplink=1e7, rate_downlink=3e7, checks=(check,), loss_lists=lists,
        counters=counters,
    )  # fmt: skip


def ledger(rate: float) -> dict[str, pa.Table]:
    """A producer's messages, each of which reaches both consumers a tenth of a second later."""
    count = int(rate * 21)
    seq = np.arange(count, dtype=np.int64)
    sent = (seq / rate * SECOND).astype(np.int64)
    published = {
        "producer": np.zeros(count, np.int32),
        "seq": seq,
        "topic": np.zeros(count, np.int32),
        "body_bytes": np.full(count, 100, np.int32),
        "property": pa.nulls(count, pa.int32()),
        "t_sched_ns": sent,
        "t_send_ns": sent,
        "t_ack_ns": sent + SECOND // 20,
        "outcome": np.full(count, int(Outcome.ACKED), np.int8),
        "t_given_up_ns": pa.nulls(count, pa.int64()),
    }
    delivered = {
        "consumer": np.repeat(np.array([1, 2], np.int32), count),
        "producer": np.zeros(2 * count, np.int32),
        "seq": np.tile(seq, 2),
        "t_recv_ns": np.tile(sent + SECOND // 10, 2),
        "arrival": np.tile(seq, 2),
        "redelivered": np.zeros(2 * count, bool),
    }
    return {
        "published": pa.table(published, schema=PUBLISHED),
        "delivered": pa.table(delivered, schema=DELIVERED),
    }
