"""`lab export`: packets and ledgers as Parquet, for pandas, DuckDB or Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lab.cluster import chosen
from lab.common import Status, err, fail, note, out, shown, told
from lab.start import find
from records.location import Place, Remote, locate
from records.publishing import read_published
from records.scratch import scratch

if TYPE_CHECKING:
    import pyarrow as pa

    from analysis.spark.export import Plan

_CAPTURES = {".pcap", ".pcapng"}


def export(
    *, what: list[str], folder: str, results: Path, master: str | None, conf: list[str] | None, env: str,
    event_log: str | None,
) -> None:  # fmt: skip
    """Write the Parquet files and say what could not be read."""
    from analysis.spark import export as parquet  # noqa: PLC0415 - imports slowly
    from analysis.spark.errors import SparkFailed  # noqa: PLC0415
    from analysis.spark.session import session  # noqa: PLC0415

    with told():
        target = chosen(master=master, conf=conf, env=env, event_log=event_log)
        place = locate(folder)
        if not _is_free(place):
            fail(f"--out: {place} is there and not an empty folder; name another", Status.USAGE)
        with _planned(what, results) as (plan, about):
            rows, problems = 0, list[str]()
            if not plan.pieces and (about is None or not about.num_rows) and not plan.problems:
                fail(
                    f"{', '.join(what)}: there is nothing to export: no packet, and no trial that is finished",
                    Status.FAILED,
                )
            if plan.pieces or (about is not None and about.num_rows):
                beside = {} if about is None else {"trials.parquet": about}
                try:
                    if target is None and not os.environ.get("SPARK_REMOTE"):
                        rows, problems = parquet.write(plan.pieces, place, beside=beside)
                    else:
                        with session(master=target, say=note) as spark:
                            rows, problems = parquet.write(plan.pieces, place, spark=spark, beside=beside)
                except (SparkFailed, parquet.NotShared) as error:
                    fail(str(error), Status.FAILED)
                written = len(plan.pieces) - len(problems)
                out.print(f"{rows} rows in {written} files: {shown(place)}")
        for problem in (said := [*plan.problems, *problems]):
            err.print(problem, style="red")
        raise typer.Exit(Status.FAILED if said else Status.ALL_VALID)


def _is_free(place: Place) -> bool:
    if isinstance(place, Remote):
        return not place.files() and not place.is_file()
    return not place.exists() or (place.is_dir() and not any(place.iterdir()))


@contextmanager
def _planned(what: list[str], results: Path) -> Iterator[tuple[Plan, pa.Table | None]]:
    """What is to be written, and the table of trials when that is a campaign."""
    from analysis.reductions.published import copy_records, published_trial  # noqa: PLC0415 - imports slowly
    from analysis.spark import export as parquet  # noqa: PLC0415

    files = [locate(one) for one in what]
    folders = [one for one in files if isinstance(one, Path) and one.is_dir()]
    if len(files) > 1 and folders:
        fail(f"{folders[0]}: a campaign is exported alone, each to a folder of its own", Status.USAGE)
    if len(files) > 1 or files[0].suffix in _CAPTURES or files[0].is_file():
        yield parquet.plan_captures(files), None
    elif isinstance(files[0], Remote):
        with scratch("export") as place:
            copy = copy_records(files[0], read_published(files[0]), place)
            yield parquet.plan_campaign(
                copy.folder,
                files_of=lambda trial: published_trial(copy, trial.path.relative_to(copy.folder).as_posix()),
            )
    else:
        yield parquet.plan_campaign(find(results, str(files[0])))
