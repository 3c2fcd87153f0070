"""Taking the project's own code to Spark's workers, which need not have Airwire installed."""

from __future__ import annotations

import atexit
import hashlib
import io
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.spark.bytecode import byte_code
from records.scratch import scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

ROOT = Path(__file__).resolve().parents[2]
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
PACKAGES = ("analysis", "records")  # all that a task imports of ours
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same sources and byte code give the same file


def bundle(folder: Path) -> Path:
    """Write the sources that tasks import into `folder` as airwire-<digest>.zip; returns its path.

    Beside a source stands its byte code, where Python has it here: each process of a worker would compile it anew, as
    Python writes nothing into a zip.  Another Python takes the source.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for package in PACKAGES:
            for source in sorted((ROOT / package).rglob("*.py")):
                name = source.relative_to(ROOT)
                _add(file, name, source.read_bytes())
                if code := byte_code(source):
                    _add(file, name.with_suffix(".pyc"), code)
    content = written.getvalue()
    path = folder / f"airwire-{hashlib.sha256(content).hexdigest()[:12]}.zip"
    path.write_bytes(content)
    return path


def _add(file: zipfile.ZipFile, name: Path, content: bytes) -> None:
    file.writestr(zipfile.ZipInfo(str(name), date_time=_EPOCH), content, zipfile.ZIP_DEFLATED, 1)


def is_connect(spark: SparkSession) -> bool:
    """Whether the session talks to a Spark Connect server."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def send(spark: SparkSession, file: Path) -> None:
    """Make the zip `file` importable in all tasks of the session.  The file must stay until the session ends."""
    if is_connect(spark):
        spark.addArtifacts(str(file), pyfile=True)
    elif not any(known.endswith(f"/{file.name}") for known in spark.sparkContext.listFiles):  # named by its content
        spark.sparkContext.addPyFile(str(file))


def ship(spark: SparkSession) -> None:
    """Make `analysis` and `records` importable in all tasks of a session that somebody else started."""
    stack = ExitStack()
    atexit.register(stack.close)
    send(spark, bundle(stack.enter_context(scratch("ship"))))


def register_source(spark: SparkSession, source: type[DataSource]) -> None:
    """Make a source of ours known to a session, with its code, and let it see what queries filter by."""
    ship(spark)
    spark.conf.set(PUSHDOWN, "true")
    spark.dataSource.register(source)
