"""`lab export`: packets and ledgers as Parquet, for pandas, DuckDB or Spark."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from lab.common import Status, err, fail, out, shown, told
from lab.start import find


def export(*, what: list[str], folder: Path, results: Path, master: str | None) -> None:
    """Write the Parquet files and say what could not be read."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - imports slowly; only this needs it

    from analysis.spark import export as parquet  # noqa: PLC0415
    from analysis.spark.errors import SparkFailed  # noqa: PLC0415
    from analysis.spark.session import session  # noqa: PLC0415

    with told():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            fail(f"--out: {folder} is there and not an empty folder; name another", Status.USAGE)
        files = [Path(one) for one in what]
        about = None
        if len(what) == 1 and not files[0].is_file() and files[0].suffix not in {".pcap", ".pcapng"}:
            plan, about = parquet.plan_campaign(find(results, what[0]))
        else:
            plan = parquet.plan_captures(files)
        if plan.pieces:
            folder.mkdir(parents=True, exist_ok=True)
            try:
                if master is None and not os.environ.get("SPARK_REMOTE"):
                    rows, problems = parquet.write(plan.pieces, folder)
                else:
                    with session(master=master) as spark:
                        rows, problems = parquet.write(plan.pieces, folder, spark=spark)
            except SparkFailed as error:
                fail(str(error), Status.FAILED)
            if about is not None:
                pq.write_table(about, folder / "trials.parquet", compression="zstd")
            out.print(f"{rows} rows in {len(plan.pieces)} files: {shown(folder)}", markup=False)
        else:
            rows, problems = 0, []
        for problem in (said := [*plan.problems, *problems]):
            err.print(problem, style="red", markup=False)
        raise typer.Exit(Status.FAILED if said else Status.ALL_VALID)
