"""Starting and ending Spark.  Settings and their effect were measured; see docs/analysis.md."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.spark.errors import SparkFailed
from analysis.spark.remote import connected
from analysis.spark.ship import ROOT, bundle, send
from records.scratch import scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARCHIVE = ROOT / "build" / "spark.jsa"
_STOP_LIMIT_S = 120.0  # beside other work, a Java process takes a minute to write the class archive
_LOG_LINES, _SHOWN_LINES = 40, 25
# Few, short tasks: the quick compiler and the simplest collector cost half the CPU of the defaults.
_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=off")


def settings(*, master: str, jvm: tuple[str, ...] = (), code: str | None = None) -> dict[str, str]:
    """Spark's configuration for `master`.

    jvm: further options of its Java processes.  code: name of the file with our code that tasks are sent; the
    workers' parent finds it where Spark puts files, in the folder it is started in.
    """
    options = " ".join((*_JVM, *jvm))
    common = {
        "spark.master": master,
        "spark.app.name": "airwire-report",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.python.daemon.module": "analysis.spark.daemon",
        "spark.driver.extraJavaOptions": options,
    }
    loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    remote = {"spark.executor.extraJavaOptions": options}
    remote |= {"spark.executorEnv.PYTHONPATH": code, "spark.executorEnv.OPENBLAS_NUM_THREADS": "1"} if code else {}
    return common | (loopback if _is_here(master) else {}) | ({} if is_local(master) else remote)


def is_local(master: str) -> bool:
    """Whether the driver's own Java process runs the tasks."""
    return master.startswith("local") and not master.startswith("local-cluster")


def _is_here(master: str) -> bool:
    host = master.partition("://")[2].rpartition(":")[0]
    return is_local(master) or host in {"127.0.0.1", "localhost"}


def archive_options(archive: Path = ARCHIVE) -> tuple[str, ...]:
    """Options that make the JVM start from the class archive, when there is one (see analysis.spark.warm)."""
    return (f"-XX:SharedArchiveFile={archive}",) if archive.is_file() else ()


@contextmanager
def session(*, master: str | None = None, jvm: tuple[str, ...] | None = None) -> Iterator[SparkSession]:
    """A Spark session, ended on every way out together with its Java process.

    master: as Spark writes it; None = this machine, or the server that SPARK_REMOTE names.  `sc://...` is a
    Spark Connect server.  Raises SparkFailed with the end of Spark's log when it does not start.
    """
    remote = master if master is not None and master.startswith("sc://") else None
    with scratch("spark") as folder:
        if remote or (master is None and os.environ.get("SPARK_REMOTE")):
            with connected(remote or os.environ["SPARK_REMOTE"], folder) as spark:
                yield spark
            return
        chosen_master = master or f"local[{os.cpu_count() or 1}]"
        code = None if is_local(chosen_master) else bundle(folder)
        chosen = settings(
            master=chosen_master, jvm=archive_options() if jvm is None else jvm, code=code.name if code else None
        )
        with _own_jvm(chosen, folder) as spark:
            if code:
                send(spark, code)
            yield spark


@contextmanager
def _own_jvm(chosen: dict[str, str], folder: Path) -> Iterator[SparkSession]:
    # Spark is imported here, so that whoever needs only the settings or the reader does not pay for it.
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    conf = SparkConf(loadDefaults=False).setAll(list((chosen | _places(folder)).items()))
    log = folder / "spark.log"
    with log.open("wb") as out:
        gateway: Any = None
        try:
            with _environment(chosen["spark.master"]):
                gateway = launch_gateway(conf, popen_kwargs={"stdout": out, "stderr": out})
                context = SparkContext(gateway=gateway, conf=conf)
            yield SparkSession(context)
        except (PySparkException, Py4JError, ConnectionError) as error:
            if interrupted(error):
                raise KeyboardInterrupt from error
            raise SparkFailed(_explain(str(error), log)) from error
        finally:
            _end(gateway)


def _places(folder: Path) -> dict[str, str]:
    """Where Spark writes.  The warehouse is made when a view is looked up, by default in the current folder."""
    return {"spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "warehouse")}


def interrupted(error: BaseException) -> bool:
    """Whether an error arose while an interrupt was on its way out: Spark's tidying up fails then, and hides it."""
    before = error.__context__
    return before is not None and (isinstance(before, KeyboardInterrupt) or interrupted(before))


def _end(gateway: Any) -> None:
    from pyspark import SparkContext  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    if gateway is None:
        return
    active = SparkSession.getActiveSession()
    with suppress(Exception):  # the JVM may be gone already, which is what is wanted
        (active or SparkContext.getOrCreate()).stop()
    SparkContext._gateway = SparkContext._jvm = None  # a later session starts a Java process of its own
    with suppress(Exception):
        gateway.shutdown()
    gateway.proc.stdin.close()  # the Java process ends when its standard input does
    try:
        gateway.proc.wait(_STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


@contextmanager
def _environment(master: str) -> Iterator[None]:
    """What the Java process and its Python workers inherit."""
    path = os.environ.get("PYTHONPATH")
    # On a cluster another Python may stand where this machine's does: then PYSPARK_PYTHON says which it is.
    python = sys.executable if is_local(master) else os.environ.get("PYSPARK_PYTHON", sys.executable)
    wanted = {
        "PYSPARK_PYTHON": python,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{path}" if path else str(ROOT),
        "SPARK_LAUNCHER_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "OPENBLAS_NUM_THREADS": "1",
    } | ({"SPARK_LOCAL_IP": "127.0.0.1"} if _is_here(master) else {})
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _explain(error: str, log: Path) -> str:
    """The lines of an error and of the log's end that say something: not the stacks of Java calls."""
    lines = [*error.splitlines(), *log.read_text(errors="replace").splitlines()[-_LOG_LINES:]]
    telling = [line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith(("at ", "... "))]
    return "Spark failed: " + "\n  ".join(dict.fromkeys(telling[:_SHOWN_LINES]))
