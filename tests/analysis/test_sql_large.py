"""Before a query runs, several tasks share each large trial that it reads the reduction of, and no other one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from object_store import ObjectStore
from sql_views import CODE, view
from synthetic_campaign import Spec, write_campaign

from analysis.reductions.kept import look
from analysis.spark import jobs
from analysis.sql.query import ask
from records.location import Remote
from records.publishing import publish
from records.store import trials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPEC = Spec(
    bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=3, packets=6,
    name="20240101-000000-aaaaaaaa",
)  # fmt: skip
FLOWS = "SELECT flow, packets FROM flows WHERE trial = 2 ORDER BY flow"
Shared = list[list[int]]


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return write_campaign(tmp_path, SPEC)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, campaign: Path) -> Shared:
    """Which trials' reductions were kept at the end of each job that shared trials out."""
    found: Shared = []
    reduce_all = jobs.reduce_all

    def noted(spark: SparkSession, wanted: Mapping[int, jobs.Reducible], *, large_packets: int) -> pa.Table:
        made = reduce_all(spark, wanted, large_packets=large_packets)
        found.append(reduced(campaign))
        return made

    monkeypatch.setattr(jobs, "reduce_all", noted)
    return found


def reduced(campaign: Path) -> list[int]:
    return [trial.number for trial in trials(campaign) if look(trial.path, CODE).usable]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (FLOWS, [2]),
        ("SELECT t.trial FROM trials t JOIN flows f ON f.trial = t.trial WHERE t.trial < 3 AND f.trial > 1", [1, 2, 3]),
        ("SELECT delivered_per_s.mean FROM cells", [1, 2, 3]),
        # Filters choose partitions only where a query has one SELECT.
        ("SELECT count(*) FROM published WHERE trial <= (SELECT max(trial) FROM trials WHERE trial = 3)", [1, 2, 3]),
        ("SELECT count(*) FROM published p CROSS JOIN trials t WHERE t.trial = 2", [2]),
        ("SELECT * FROM links", []),
        ("DESCRIBE flows", []),
    ],
)
def test_trials_that_a_query_reads_are_shared_out_before_it_runs(
    spark: SparkSession, campaign: Path, shared: Shared, query: str, wanted: list[int]
) -> None:
    assert ask(spark, query, [campaign], large_packets=1).rows.num_rows
    assert shared == ([wanted] if wanted else [])
    ask(spark, query, [campaign], large_packets=1)
    assert len(shared) <= 1  # what is kept is used


def test_the_rows_are_those_of_one_task(spark: SparkSession, campaign: Path, shared: Shared, tmp_path: Path) -> None:
    rows = ask(spark, FLOWS, [campaign], large_packets=1).rows.to_pylist()
    alone = view("flows", write_campaign(tmp_path / "alone", SPEC), trial=2)
    assert rows == [{"flow": row["flow"], "packets": row["packets"]} for row in alone] != []
    assert shared == [[2]]


def test_small_trials_are_left_to_the_tasks_of_the_query(spark: SparkSession, campaign: Path, shared: Shared) -> None:
    ask(spark, FLOWS, [campaign])
    assert (shared, reduced(campaign)) == ([], [2])


def test_a_published_trial_is_shared_out_and_kept_at_the_uri(
    spark: SparkSession, campaign: Path, shared: Shared, store: ObjectStore, target: Remote
) -> None:
    publish(campaign, target)
    before = set(store.under("lab/runs/one"))
    alone = view("flows", campaign, trial=2)
    rows = ask(spark, FLOWS, [target], large_packets=1).rows.to_pylist()
    assert rows == [{"flow": row["flow"], "packets": row["packets"]} for row in alone] != []
    kept = {name.partition("trial=")[2] for name in set(store.under("lab/runs/one")) - before}
    assert (len(shared), kept) == (1, {"2/_reduction.json", "2/reduced.parquet"})
    ask(spark, FLOWS, [target], large_packets=1)
    assert len(shared) == 1
