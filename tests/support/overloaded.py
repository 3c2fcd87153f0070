"""Campaigns of a server that works at a fixed rate: some cells send more than it takes, for as long as they send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from invented import manifest

from analysis.findings import Findings, gather
from analysis.rows import SCHEMA
from analysis.trial import reduce_trial
from records import campaign as records
from records.filenames import LINK, MANIFEST, VERDICT
from records.link import LinkProof
from records.manifest import Cell, Window
from records.schema import DELIVERED, PUBLISHED, RESOURCES, Outcome
from records.stopping import Rule
from records.store import Trial, TrialWriter, trials, write_record, write_table
from records.verdict import Check, Health, HealthCheck, Verdict
from records.window_metrics import figures

SECOND = 10**9
NETWORK = "nistnet-80211"
HOLDS = LinkProof(
    profile=NETWORK, medium="shared", rate_uplink=1e6, rate_downlink=1e6, checks=(), loss_lists=(), counters=()
)
SOUND = Verdict(checks=tuple(HealthCheck(check=check, health=Health.PASSED) for check in Check))


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds, as a scenario's window has them."""

    warmup_s: int = 5
    window_s: int = 20
    drain_s: int = 10

    def window(self) -> Window:
        start, end = self.warmup_s * SECOND, (self.warmup_s + self.window_s) * SECOND
        return Window(go_ns=0, start_ns=start, end_ns=end, drained_ns=end + self.drain_s * SECOND, started_at="")


def ledger(offered: float, served: float, window: Window) -> dict[str, pa.Table]:
    """Messages on a schedule of `offered` per second, delivered one after the other, each after 1 / served seconds."""
    count = round(offered * window.end_ns / SECOND)
    sched = (np.arange(count) / offered * SECOND).astype(np.int64)
    came = np.empty(count)
    free = 0.0
    for number, due in enumerate((sched / SECOND).tolist()):
        free = max(free, due) + 1 / served
        came[number] = free
    t_recv = (came * SECOND).astype(np.int64)
    kept = t_recv <= window.drained_ns
    seq, ones = np.arange(count, dtype=np.int64), np.zeros(count, np.int32)
    published = {
        "producer": ones, "seq": seq, "topic": ones, "body_bytes": ones + 100, "property": pa.nulls(count, pa.int32()),
        "t_sched_ns": sched, "t_send_ns": sched, "t_ack_ns": sched + 1000,
        "outcome": np.full(count, int(Outcome.ACKED), np.int8), "t_given_up_ns": pa.nulls(count, pa.int64()),
    }  # fmt: skip
    delivered = {
        "consumer": ones[kept], "producer": ones[kept], "seq": seq[kept], "t_recv_ns": t_recv[kept],
        "arrival": seq[kept], "redelivered": np.zeros(int(kept.sum()), bool),
    }  # fmt: skip
    tables = {"published": pa.table(published, schema=PUBLISHED), "delivered": pa.table(delivered, schema=DELIVERED)}
    return tables | {"resources": RESOURCES.empty_table()}


def write_trial(campaign: Path, case: str, number: int, *, rates: tuple[float, float], times: Times) -> Trial:
    """A finished trial; trials differ by half a per cent."""
    offered, served = rates
    window = times.window()
    tables = ledger(offered, served * (1 + 0.005 * number), window)
    writer = TrialWriter(campaign, case, number)
    path = writer.open()
    for name, table in tables.items():
        write_table(path / f"{name}.parquet", table)
    plain = manifest()
    mine = figures(tables["published"], tables["delivered"], window, plain.workload.audiences)
    record = manifest(
        cell=Cell(name=case, levels={"case": case, "network": NETWORK}), trial=number, seed=number, window=window,
        rows={name: table.num_rows for name, table in tables.items()}, figures=mine, latency_of="sent",
    )  # fmt: skip
    write_record(path / MANIFEST, record)
    write_record(path / LINK, HOLDS)
    write_record(path / VERDICT, SOUND)
    return writer.commit()


def write_campaign(
    folder: Path, cells: Mapping[str, tuple[float, float]], times: Mapping[str, Times], *, rule: Rule | None = None
) -> Path:
    """cells: case to messages per second offered and served; times: case to its window.  Three trials of each."""
    records.write_campaign(
        folder,
        records.Campaign(
            scenario="overloaded", digest="d" * 64, created="2026-01-01T00:00:00+00:00", seed=1,
            factors={"case": tuple(cells), "network": (NETWORK,)}, baseline=None, stopping=rule,
            cells=tuple(
                records.Cell(
                    name=case, levels={"case": case, "network": NETWORK},
                    settings={"settings": {"window": {"warmup_s": one.warmup_s, "window_s": one.window_s}}},
                )
                for case, one in times.items()
            ),
            order=tuple(records.Planned(cell=case, trial=trial, seed=trial) for trial in (1, 2, 3) for case in cells),
        ),
    )  # fmt: skip
    for case, rates in cells.items():
        for number in (1, 2, 3):
            write_trial(folder, case, number, rates=rates, times=times[case])
    return folder


def found(folder: Path) -> Findings:
    """The campaign reduced, without Spark."""
    finished = trials(folder)
    rows = pa.Table.from_batches([reduce_trial(one.path, n) for n, one in enumerate(finished)], SCHEMA)
    return gather(records.read_campaign(folder), folder, finished, rows)
