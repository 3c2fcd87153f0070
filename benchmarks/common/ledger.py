"""Ledgers of trials, each with a million deliveries or as many as are asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from synthetic_campaign import GO, SECOND, Load, Spec, load_of, write_trial

from records.manifest import Cell
from records.store import Trial, write_record, write_table

CONSUMERS, MESSAGES = 10, 100_000


def write_trials(root: Path, *, trials: int, messages: int = MESSAGES, seed: int = 11) -> list[Trial]:
    """Trials of one cell, of so many messages to ten consumers each: latencies of a log-normal, 0.3 % lost,
    0.1 % twice, in order of arrival."""
    levels = {"network": "wireline-100m", "body": "100 B", "guarantee": "none"}
    cell = Cell(name="wireline-100m_100_n", levels=levels)
    spec = Spec(consumers=CONSUMERS, captures=lambda _: [])
    made = []
    for number in range(1, trials + 1):
        trial = write_trial(root, cell, number, spec)
        tables = _tables(np.random.default_rng([seed, number]), load_of("wireline-100m", 100, number, spec), messages)
        for name, table in tables.items():
            write_table(trial.path / f"{name}.parquet", table)
        manifest = trial.manifest()
        rows = manifest.rows | {name: table.num_rows for name, table in tables.items()}
        write_record(trial.path / "manifest.json", manifest.model_copy(update={"rows": rows}))
        made.append(trial)
    return made


def _tables(generator: np.random.Generator, load: Load, messages: int) -> dict[str, pa.Table]:
    from records.schema import DELIVERED, PUBLISHED, Outcome  # noqa: PLC0415

    seq = np.arange(messages, dtype=np.int64)
    sent = GO + np.linspace(0, 9.9 * SECOND, messages).astype(np.int64)
    one = np.ones(messages, np.int32)
    published = {
        "producer": one, "seq": seq, "topic": one * 0, "body_bytes": one * load.body_bytes,
        "property": pa.nulls(messages, pa.int32()), "t_sched_ns": sent, "t_send_ns": sent,
        "t_ack_ns": sent + generator.integers(200_000, 2_000_000, messages),
        "outcome": np.full(messages, int(Outcome.ACKED), np.int8), "t_given_up_ns": pa.nulls(messages, pa.int64()),
    }  # fmt: skip
    parts = []
    for consumer in range(CONSUMERS):
        kept = np.flatnonzero(generator.random(messages) > 0.003)
        kept = np.sort(np.concatenate([kept, generator.choice(kept, messages // 1000)]))
        received = sent[kept] + (generator.lognormal(0.0, 0.8, len(kept)) * 1e6).astype(np.int64)
        order = np.argsort(received, kind="stable")
        columns = {
            "consumer": np.full(len(kept), 10 + consumer, np.int32), "producer": np.ones(len(kept), np.int32),
            "seq": seq[kept][order], "t_recv_ns": received[order], "arrival": np.arange(len(kept), dtype=np.int64),
            "redelivered": np.zeros(len(kept), bool),
        }  # fmt: skip
        parts.append(pa.table(columns, schema=DELIVERED))
    return {"published": pa.table(published, schema=PUBLISHED), "delivered": pa.concat_tables(parts)}
