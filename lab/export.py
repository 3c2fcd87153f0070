"""`lab export`: packets and ledgers as Parquet, for pandas, DuckDB or Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from lab.common import DEFAULT_RESULTS, Results, Status, err, fail, find, out, shown, told


def export(
    what: Annotated[list[str], typer.Argument(metavar="CAMPAIGN|FILE...", help="A campaign or captures.")],
    folder: Annotated[Path, typer.Option("--out", help="Folder to write to; it must be empty or not be there.")],
    results: Results = DEFAULT_RESULTS,
    master: Annotated[str | None, typer.Option(help="Spark master; default: this process alone.")] = None,
) -> None:
    """Write packets (and a campaign's ledgers) below --out as zstd-compressed Parquet, partitioned by capture or trial.

    Exit status: 0 all was written; 1 something could not be read or is damaged (the rest is written).
    """
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
