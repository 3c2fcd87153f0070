"""What keeps Spark's start short is in force wherever a job runs."""

from __future__ import annotations

import os
import py_compile
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pyarrow as pa
import pytest
from common.capture import write_capture

from analysis.spark import warm
from analysis.spark.errors import SparkFailed
from analysis.spark.session import interrupted, session, settings
from analysis.spark.ship import ROOT, bundle
from analysis.spark.watch import told_as, watched

pytestmark = pytest.mark.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARCHIVE = "-XX:SharedArchiveFile=a.jsa"
QUICK = {"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}


@pytest.mark.parametrize(
    "master", ["local[2]", "local-cluster[2,1,1024]", "spark://127.0.0.1:7077", "spark://far-away:7077"]
)
def test_java_is_told_to_start_quickly_on_every_master(master: str) -> None:
    chosen = settings(master=master, jvm=(ARCHIVE,), code="code.zip")
    assert set(chosen["spark.driver.extraJavaOptions"].split()) >= {*QUICK, ARCHIVE}
    on_cluster = not master.startswith("local[")
    assert ("spark.executor.extraJavaOptions" in chosen) == on_cluster
    if on_cluster:
        theirs = set(chosen["spark.executor.extraJavaOptions"].split())
        assert theirs >= QUICK
        assert (ARCHIVE in theirs) == ("far-away" not in master), "other machines have no file of this one"
        assert chosen["spark.executorEnv.PYTHONPATH"] == "code.zip"
    assert chosen["spark.python.daemon.module"] == "analysis.spark.daemon"
    # A driver that other machines must reach does not hide on loopback.
    assert ("spark.driver.bindAddress" in chosen) == ("far-away" not in master)


def test_workers_are_forked_off_a_parent_that_has_imported_what_they_need(spark: SparkSession) -> None:
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os  # noqa: PLC0415

        for _ in batches:
            parent = Path(f"/proc/{os.getppid()}/cmdline").read_bytes().decode().replace("\0", " ")
            maps = Path(f"/proc/{os.getppid()}/maps").read_text()
            yield pa.RecordBatch.from_pydict({"parent": [parent], "ready": ["_multiarray" in maps and "arrow" in maps]})

    found = spark.range(0, 1, 1, 1).mapInArrow(look, "parent string, ready boolean").toArrow().to_pylist()
    assert len(found) == 1
    assert "-m analysis.spark.daemon" in found[0]["parent"]
    assert found[0]["ready"]


def test_the_running_java_process_has_the_quick_settings(spark: SparkSession) -> None:
    management = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[attr-defined]
    options = set(management.getRuntimeMXBean().getInputArguments())
    assert {"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"} <= options


def test_the_code_that_is_sent_has_all_that_a_task_imports_and_one_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle(tmp_path)) as file:
        names = set(file.namelist())
    assert {"analysis/__init__.py", "analysis/trial.py", "analysis/spark/daemon.py", "records/manifest.py"} <= names
    assert all(name.endswith((".py", ".pyc")) and name.split("/")[0] in {"analysis", "records"} for name in names)


def test_byte_code_in_the_zip_is_taken_by_this_python_and_the_source_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "sent"
    package.mkdir()
    for name, content in {"__init__": "", "told": "told = 1\n", "broken": "\n1 / 0\n"}.items():
        source = package / f"{name}.py"
        source.write_text(content)
        py_compile.compile(str(source), doraise=True)
    monkeypatch.setattr("analysis.spark.ship.ROOT", tmp_path)
    monkeypatch.setattr("analysis.spark.ship.PACKAGES", ("sent",))
    zipped = bundle(tmp_path)
    assert bundle(tmp_path) == zipped
    said = "{'broken': 'broken.py:2: ZeroDivisionError: division by zero'}"
    assert imported(zipped) == f"{zipped}/sent/told.pyc told.py {said}"

    other = tmp_path / "other.zip"
    with zipfile.ZipFile(zipped) as file, zipfile.ZipFile(other, "w") as changed:
        for name in file.namelist():
            changed.writestr(name, b"\0\0\r\n" + file.read(name)[4:] if name.endswith(".pyc") else file.read(name))
    assert imported(other) == f"{other}/sent/told.py told.py {said}"


def imported(zipped: Path) -> str:
    """Which file of a zip a process takes a module from, and what is said of it and of one that cannot be imported."""
    ask = (
        f"import sys; sys.path[:0] = [{str(zipped)!r}, {str(ROOT)!r}]; import sent; from records.modules import *;"
        "found, failed = tried(sent, having=()); print(found['told'].__file__, file_of(found['told']), failed)"
    )
    return subprocess.run(
        [sys.executable, "-c", ask], cwd="/", capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("address", ["sc://127.0.0.1:9", "sc://", "sc://127.0.0.1:port"])
def test_a_connect_server_that_is_not_there_is_named_at_once(address: str) -> None:
    # Nothing listens on the port of the discard service here.
    with pytest.raises(SparkFailed, match=f"{address}: no Spark Connect server answers"), session(master=address):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_java_starts_leaves_no_java_behind(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C in a terminal reaches all processes of the command, SIGTERM the one that it is meant for."""
    capture = write_capture(tmp_path / "a.pcap", packets=3, connections=1)
    lab = Path(sys.executable).parent / "lab"
    words = [lab, "analyse", capture, "--out", tmp_path / "out", "--master", "local[1]"]
    own = os.environ | {"TMPDIR": str(tmp_path)}  # by which its Java process is known
    started = subprocess.Popen(words, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    java = _of(tmp_path, started)
    os.kill(-started.pid if number == signal.SIGINT else started.pid, number)
    said, _ = started.communicate(timeout=60)
    java.wait(30)
    assert (started.returncode, said.splitlines()[-1:]) == (130, [b"interrupted"]), said
    assert b"Traceback" not in said


def _of(folder: Path, started: subprocess.Popen[bytes]) -> psutil.Process:
    """The Java process of a command, as soon as there is one."""
    while started.poll() is None:
        for process in psutil.Process(started.pid).children():
            with suppress(psutil.Error):
                if "java" in process.name() and str(folder) in " ".join(process.cmdline()):
                    return process
        time.sleep(0.02)
    raise AssertionError("it has ended before Java started")


def test_an_interrupt_is_not_hidden_by_what_fails_after_it() -> None:
    def tidy_up_after(first: BaseException) -> BaseException:
        try:
            try:
                raise first
            finally:
                raise ConnectionError("the result's socket is gone")
        except ConnectionError as error:
            return error

    assert interrupted(tidy_up_after(KeyboardInterrupt()))
    assert interrupted(tidy_up_after(tidy_up_after(KeyboardInterrupt())))
    assert not interrupted(tidy_up_after(OSError()))
    assert not interrupted(ConnectionError())


def test_the_class_archive_has_all_the_time_that_it_takes_a_busy_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written as the Java process ends, of which 120 s were too few beside other work."""
    limits: list[float] = []

    def started(**named: object) -> object:
        limits.append(float(str(named["stop_limit_s"])))
        (tmp_path / ".classes.jsa.new").touch()
        return nullcontext()

    for name in ("reduce_trials", "_ask"):
        monkeypatch.setattr(warm, name, lambda *_: None)
    monkeypatch.setattr(warm, "session", started)
    assert warm.make_archive(tmp_path / "classes.jsa").exists()
    assert limits[0] >= 600


@pytest.mark.parametrize(
    ("described", "told"),
    [(True, "still at work: 1 of 2 tasks of 7 trials done"), (False, "still at work: 1 of 2 tasks done")],
)
def test_a_long_job_tells_how_far_it_is_and_what_it_is_of(
    spark: SparkSession, tmp_path: Path, told: str, *, described: bool
) -> None:
    release, said = tmp_path / "release", list[str]()

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time  # noqa: PLC0415

        for batch in batches:
            while batch.column(0)[0].as_py() and not release.exists():
                time.sleep(0.02)
            yield batch

    def say(line: str) -> None:
        said.append(line)
        if line.startswith("still at work: 1 of 2 tasks"):
            release.touch()

    with watched(spark, say, after_s=0.0, every_s=0.05), told_as(spark, "7 trials") if described else nullcontext():
        assert spark.range(0, 2, 1, 2).mapInArrow(work, "id long").toArrow().num_rows == 2
    assert told in said
