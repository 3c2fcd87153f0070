"""Pieces of a view that take little share a task, in their order; what is large, or far away, has one for itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from sql_views import CODE, view
from synthetic_campaign import Spec, write_campaign

from analysis.reductions.kept import place_of, reduce_and_keep
from analysis.spark.jobs import FEWEST_TASKS, TASK_S
from analysis.sql.source import AirwirePartition, AirwireReader
from analysis.sql.together import partitions, takes_s
from analysis.sql.views import VIEWS
from analysis.sql.work import Work, planned
from records.packed import REDUCED
from records.store import trials

CELL = "nistnet-80211_100_dp"
TRIALS = 5 * FEWEST_TASKS
SPEC = Spec(
    bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=TRIALS, packets=6,
    absent=frozenset((CELL, number) for number in range(2, TRIALS + 1)), name="20240101-000000-aaaaaaaa",
)  # fmt: skip


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of many trials, all but the first of which have still to be run."""
    return write_campaign(tmp_path_factory.mktemp("sql"), SPEC)


def works_of(found: Iterable[object]) -> list[tuple[Work, ...]]:
    return [one.works for one in found if isinstance(one, AirwirePartition)]


def test_trials_that_were_not_run_share_tasks_and_the_rows_are_the_same(campaign: Path) -> None:
    reader = AirwireReader("trials", [str(campaign)], CODE, pushdown=False)
    found = reader.partitions()
    assert FEWEST_TASKS <= len(found) < TRIALS / 4
    assert [work.trial for works in works_of(found) for work in works] == list(range(1, TRIALS + 1))
    rows = [row for one in found for batch in reader.read(one) for row in batch.to_pylist(maps_as_pydicts="strict")]
    assert [row["state"] for row in rows] == ["valid", *["missing"] * (TRIALS - 1)]
    assert rows == view("trials", campaign)


def test_few_have_a_task_each(campaign: Path) -> None:
    works = planned(VIEWS["trials"], [campaign], {"trial": range(1, 2 * FEWEST_TASKS)})
    assert partitions(works) == [(work,) for work in works]


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_large_takes_long(name: str, campaign: Path, tmp_path: Path) -> None:
    """Ranges of captures are never less than a task; of the rest the files count that the rows come from."""
    here = write_campaign(tmp_path, replace(SPEC, trials=1, absent=frozenset()))
    (trial,) = trials(here)
    before = takes_s(planned(VIEWS[name], [here], {})[0])
    files = VIEWS[name].files or (trial.path / "published.parquet").name
    for file in [files] if isinstance(files, str) else files:
        with (trial.path / file).open("ab") as grown:
            grown.truncate(1 << 30)
    after = takes_s(planned(VIEWS[name], [here], {})[0])
    assert after >= TASK_S
    assert before < TASK_S or name == "packets"


def test_a_reduction_that_is_kept_costs_less_than_one_that_is_to_be_made(tmp_path: Path) -> None:
    here = write_campaign(tmp_path, replace(SPEC, trials=1, absent=frozenset()))
    (trial,) = trials(here)
    (work,) = planned(VIEWS["trials"], [here], {})
    before = takes_s(work)
    reduce_and_keep(trial.path, 0, CODE)
    assert (place_of(trial.path) / REDUCED).is_file()
    assert takes_s(work) < before


def test_what_stands_at_a_uri_shares_no_task(campaign: Path) -> None:
    (work,) = (replace(one, at="s3://lab/one") for one in planned(VIEWS["trials"], [campaign], {"trial": [1]}))
    assert partitions([work] * TRIALS) == [(work,)] * TRIALS
