"""`lab export`: packets and ledgers as Parquet, for pandas, DuckDB or Spark."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from lab.cluster import chosen
from lab.common import Status, err, fail, note, out, shown, told
from lab.start import find


def export(
    *, what: list[str], folder: Path, results: Path, master: str | None, conf: list[str] | None, env: str,
    event_log: str | None,
) -> None:  # fmt: skip
    """Write the Parquet files and say what could not be read."""
    from analysis.spark import export as parquet  # noqa: PLC0415 - imports slowly
    from analysis.spark.errors import SparkFailed  # noqa: PLC0415
    from analysis.spark.session import session  # noqa: PLC0415

    with told():
        target = chosen(master=master, conf=conf, env=env, event_log=event_log)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            fail(f"--out: {folder} is there and not an empty folder; name another", Status.USAGE)
        files = [Path(one) for one in what]
        about = None
        if len(what) == 1 and not files[0].is_file() and files[0].suffix not in {".pcap", ".pcapng"}:
            plan, about = parquet.plan_campaign(find(results, what[0]))
        else:
            plan = parquet.plan_captures(files)
        if plan.pieces:
            beside = {} if about is None else {"trials.parquet": about}
            try:
                if target is None and not os.environ.get("SPARK_REMOTE"):
                    rows, problems = parquet.write(plan.pieces, folder, beside=beside)
                else:
                    with session(master=target, say=note) as spark:
                        rows, problems = parquet.write(plan.pieces, folder, spark=spark, beside=beside)
            except (SparkFailed, parquet.NotShared) as error:
                fail(str(error), Status.FAILED)
            written = len(plan.pieces) - len(problems)
            out.print(f"{rows} rows in {written} files: {shown(folder)}", markup=False)
        else:
            rows, problems = 0, []
        for problem in (said := [*plan.problems, *problems]):
            err.print(problem, style="red", markup=False)
        raise typer.Exit(Status.FAILED if said else Status.ALL_VALID)
