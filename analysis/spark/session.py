"""Starting and ending Spark.  Settings and their effect were measured; see docs/analysis.md."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from analysis.spark import defaults, environment
from analysis.spark.check import check
from analysis.spark.errors import SparkFailed, must_answer, telling, unless_py4j
from analysis.spark.remote import connected
from analysis.spark.ship import ROOT, bundle, send
from analysis.spark.target import Env, Target, Where, as_target, is_ours
from analysis.spark.watch import watched
from records.scratch import scratch

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

ARCHIVE = ROOT / "build" / "spark.jsa"
_STOP_LIMIT_S = 120.0
_LOG_LINES, _PORT = 40, 7077
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")  # as Hadoop has them: file:/folder
_JOINED = {"spark.executorEnv.PYTHONPATH": ":", "spark.archives": ","}
# Few, short tasks: the quick compiler and the simplest collector cost half the CPU of the defaults.
_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=off")


def settings(*, master: str, jvm: tuple[str, ...] = (), code: str | None = None) -> dict[str, str]:
    """Spark's configuration for `master`.

    jvm: further options of its Java processes on this machine.  code: where workers find our code and what it needs, as
    a PYTHONPATH; their parent finds it where Spark puts files, in the folder it is started in.
    """
    options = " ".join(f'"{one}"' if " " in one else one for one in (*_JVM, *jvm))
    common = {
        "spark.master": master,
        "spark.app.name": "airwire-report",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.python.daemon.module": "analysis.spark.daemon",
        "spark.driver.extraJavaOptions": options,
    }
    loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    theirs = options if _is_here(master) else " ".join(_JVM)  # other machines have no file of ours
    remote = {"spark.executor.extraJavaOptions": theirs, "spark.ui.port": "0"}  # a free one
    remote |= {"spark.executorEnv.PYTHONPATH": code, "spark.executorEnv.OPENBLAS_NUM_THREADS": "1"} if code else {}
    return (
        common
        | (loopback if _is_here(master) else {})
        | ({"spark.ui.enabled": "false"} if is_local(master) else remote)
    )


def chosen_by(ours: Mapping[str, str], theirs: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, str]:
    """Our settings, over them those of spark-defaults.conf, over them what the command line asks for.

    Lists that we need something in (workers' path, archives) get theirs behind ours.
    """
    found = dict(ours)
    for key, value in ({key: value for key, value in theirs.items() if not is_ours(key)} | dict(asked)).items():
        joined = _JOINED.get(key)
        found[key] = f"{ours[key]}{joined}{value}" if joined and key in ours else value
    return found


def is_local(master: str) -> bool:
    """Whether the driver's own Java process runs the tasks."""
    return master.startswith("local") and not master.startswith("local-cluster")


def _is_here(master: str) -> bool:
    host = master.partition("://")[2].rpartition(":")[0]
    return master.startswith("local") or host in {"127.0.0.1", "localhost"}


def archive_options(archive: Path = ARCHIVE) -> tuple[str, ...]:
    """Options that make the JVM start from the class archive, when there is one (see analysis.spark.warm)."""
    return (f"-XX:SharedArchiveFile={archive}",) if archive.is_file() else ()


@contextmanager
def session(
    *, master: Where = None, jvm: tuple[str, ...] | None = None, say: Callable[[str], None] = lambda _line: None,
    stop_limit_s: float = _STOP_LIMIT_S,
) -> Iterator[SparkSession]:  # fmt: skip
    """A Spark session, ended on every way out together with its Java process, by force after stop_limit_s.

    master: as Spark writes it, or a Target; None = this machine, or the server that SPARK_REMOTE names.  `sc://...` is
    a Spark Connect server.  say: takes lines about workers that differ, or were lost, and where Spark shows a long job.
    Raises SparkFailed with the end of Spark's log when it does not start, or when workers lack something.
    """
    target = as_target(master)
    remote = target.master if target.master is not None and target.master.startswith("sc://") else None
    with scratch("spark") as folder:
        if remote or (target.master is None and os.environ.get("SPARK_REMOTE")):
            with connected(remote or os.environ["SPARK_REMOTE"], folder, target, say) as spark:
                yield spark
            return
        options = archive_options() if jvm is None else jvm
        with _on_master(target, folder, options, say, stop_limit_s) as spark:
            yield spark


@contextmanager
def _on_master(
    target: Target, folder: Path, jvm: tuple[str, ...], say: Callable[[str], None], stop_limit_s: float
) -> Iterator[SparkSession]:
    theirs = defaults.defaults()
    master = target.master or theirs.get("spark.master") or f"local[{os.cpu_count() or 1}]"
    if master.startswith("spark://"):
        must_answer(master, what="Spark master", port=_PORT)
    ships = target.env is Env.SHIP and not is_local(master)
    code = None if is_local(master) else bundle(folder)
    path = f"{code.name}:{environment.NAME}" if code and ships else code.name if code else None
    ours = settings(master=master, jvm=jvm, code=path) | _places(folder)
    if ships:
        ours["spark.archives"] = f"{environment.made(folder)}#{environment.NAME}"
    asked = dict(target.conf) | (event_log(target.event_log) if target.event_log else {})
    chosen = chosen_by(ours, theirs, asked)
    with _own_jvm(chosen, folder, ships=ships, stop_limit_s=stop_limit_s) as spark, watched(spark, say):
        if code is not None:
            send(spark, code)
            check(spark, env=target.env, say=say)
        yield spark


def event_log(place: str) -> dict[str, str]:
    """Settings that make Spark write its event log into a folder, made where it is one of this machine, or a URI."""
    if not _URI.match(place):
        folder = Path(place).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        place = folder.as_uri()
    return {"spark.eventLog.enabled": "true", "spark.eventLog.dir": place}


@contextmanager
def _own_jvm(chosen: dict[str, str], folder: Path, *, ships: bool, stop_limit_s: float) -> Iterator[SparkSession]:
    # Spark is imported here, so that whoever needs only the settings or the reader does not pay for it.
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    if SparkContext._active_spark_context is not None:
        raise SparkFailed("this process has a Spark session of its own: stop it first, or use a process without one")
    logging.getLogger().addFilter(unless_py4j)
    conf = SparkConf(loadDefaults=False).setAll(list(chosen.items()))
    log = folder / "spark.log"
    with log.open("wb") as out:
        gateway: Any = None
        try:
            with _environment(chosen["spark.master"], ships=ships):
                gateway = _launched(conf, out, stop_limit_s)
                context = SparkContext(gateway=gateway, conf=conf)
            yield SparkSession(context)
        except (PySparkException, Py4JError, ConnectionError) as error:
            if interrupted(error):
                raise KeyboardInterrupt from error
            end = "\n".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES:])
            raise SparkFailed(f"Spark failed: {telling(str(error), end)}") from error
        finally:
            _end(gateway, stop_limit_s)


def _launched(conf: SparkConf, log: BinaryIO, stop_limit_s: float) -> Any:
    """A Java process with its gateway, which an interrupt ends as soon as it has started.

    Broken off amid its start, it would stay for ever.  So another thread starts it, which no signal reaches.
    """
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    with ThreadPoolExecutor(1) as other:
        launching = other.submit(launch_gateway, conf, popen_kwargs={"stdout": log, "stderr": log})
        interrupt: BaseException | None = None
        while not launching.done():
            try:
                wait([launching])
            except BaseException as error:  # noqa: BLE001 - a second one is no reason to leave it either
                interrupt = error
        if interrupt is not None:
            if launching.exception() is None:
                _end(launching.result(), stop_limit_s)
            raise interrupt
        return launching.result()


def _places(folder: Path) -> dict[str, str]:
    """Where Spark writes.  The warehouse is made when a view is looked up, by default in the current folder."""
    return {"spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "warehouse")}


def interrupted(error: BaseException) -> bool:
    """Whether an error arose while an interrupt was on its way out: Spark's tidying up fails then, and hides it."""
    before = error.__context__
    return before is not None and (isinstance(before, KeyboardInterrupt) or interrupted(before))


def _end(gateway: Any, stop_limit_s: float) -> None:
    from pyspark import SparkContext  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    if gateway is None:
        return
    context: Any = SparkContext._active_spark_context
    with suppress(Exception):  # the JVM may be gone already, which is what is wanted
        (SparkSession.getActiveSession() or context).stop()
    if SparkContext._active_spark_context is not None:  # it was gone, so nothing was stopped
        SparkContext._active_spark_context = SparkSession._instantiatedSession = None
    SparkContext._gateway = SparkContext._jvm = None  # a later session starts a Java process of its own
    with suppress(Exception):
        gateway.shutdown()
    gateway.proc.stdin.close()  # the Java process ends when its standard input does
    try:
        gateway.proc.wait(stop_limit_s)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


@contextmanager
def _environment(master: str, *, ships: bool) -> Iterator[None]:
    """What the Java process and its Python workers inherit."""
    # On a cluster another Python may stand where this machine's does: then PYSPARK_PYTHON says which it is.
    elsewhere = os.environ.get("PYSPARK_PYTHON", environment.PYTHON if ships else sys.executable)
    path = [str(ROOT), *(environment.site_packages() if ships else ()), *filter(None, [os.environ.get("PYTHONPATH")])]
    wanted = {
        "PYSPARK_PYTHON": sys.executable if is_local(master) else elsewhere,
        "PYTHONPATH": os.pathsep.join(path),
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
