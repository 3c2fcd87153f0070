"""Everything that one node records, its totals, and the files it ends in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from experiments.load.protocol import NodePlan, Progress
from experiments.load.recording import DeliveredLog, PublishedLog, published_table
from records.store import write_table


def files(folder: Path, node: str) -> tuple[Path, Path]:
    """A node's two Parquet files, published and delivered."""
    return folder / f"published-{node}.parquet", folder / f"delivered-{node}.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """A node's rows.  unreadable: deliveries without a marker, which have none."""

    published: pa.Table
    delivered: pa.Table
    unreadable: int

    def write(self, paths: tuple[Path, Path]) -> None:
        """Write both files; OSError when the disk does not take them."""
        for path, table in zip(paths, (self.published, self.delivered), strict=True):
            write_table(path, table)


@dataclass(slots=True)
class Ledger:
    plan: NodePlan
    delivered: DeliveredLog = field(default_factory=DeliveredLog)
    published: list[PublishedLog] = field(default_factory=list)

    def files(self) -> tuple[Path, Path]:
        """Where this node's rows go."""
        return files(Path(self.plan.out_dir), self.plan.node)

    def tables(self) -> Tables:
        """A copy of all rows; what arrives later is not in it."""
        delivered, unreadable = self.delivered.table()
        published = published_table(self.published)
        return Tables(published=published, delivered=delivered, unreadable=unreadable)

    def progress(self, *, t_ns: int, lost: tuple[str, ...]) -> Progress:
        """The totals so far."""
        by_topic: Counter[int] = Counter()
        for log in self.published:
            by_topic[log.topic] += log.wanted
        return Progress(
            t_ns=t_ns,
            sent=sum(map(len, self.published)),
            acked=sum(log.acked for log in self.published),
            failed=sum(log.failed for log in self.published),
            delivered=len(self.delivered),
            wanted_by_topic=dict(by_topic),
            delivered_by_consumer=dict(self.delivered.by_consumer),
            lost_connections=lost,
        )
