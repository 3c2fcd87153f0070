"""The jobs give the same on this machine, on workers that share nothing with it, and over Spark Connect."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from threading import Event, Thread
from typing import TYPE_CHECKING

import psutil
import pyarrow as pa
import pytest
from common.capture import write_capture
from lab_command import lab
from spark_servers import BASE_PYTHON, Apart, cluster, connect_server
from spark_tables import made
from synthetic_campaign import Spec, write_campaign

from analysis.report.build import build
from analysis.spark.export import plan_campaign, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
TABLES = ("trials", "whole", "split", "source", "view")
FEW = Spec(bodies=(100,), guarantees=("durable, persistent",), trials=2)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A campaign and two captures."""
    folder = tmp_path_factory.mktemp("inputs")
    first = write_capture(folder / "a.pcap", packets=2000, connections=30)
    second = write_capture(folder / "b.pcap", packets=300, connections=5, seed=8)
    return [write_campaign(folder, FEW), first, second]


def run(script: str, *words: str | Path, env: dict[str, str] | None = None) -> str:
    """What a script of the tests' own printed, which has to end well."""
    path = Path(__file__).parents[1] / "support" / script
    done = subprocess.run(
        [sys.executable, str(path), *map(str, words)], env=environment() | (env or {}), capture_output=True, text=True,
        timeout=700, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key != "SPARK_REMOTE"}
    return kept | {"PYTHONPATH": str(ROOT)}


def read(out: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted(out.iterdir())}


def rows(table: bytes) -> pa.Table:
    return pa.ipc.open_file(table).read_all()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, inputs: list[Path], spark: SparkSession) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("local")
    made(spark, inputs[0], inputs[1:], out)
    return read(out)


def test_a_capture_in_ranges_gives_what_one_task_gives(local: dict[str, bytes]) -> None:
    assert local["split"] == local["whole"]
    assert len(rows(local["whole"])) > 1000


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory, inputs: list[Path]) -> Iterator[tuple[str, Path]]:
    """Address and folder of a cluster whose two workers share nothing with this process but the inputs, to read."""
    folder = tmp_path_factory.mktemp("apart")
    (folder / "own").mkdir()
    with cluster(folder, workers=2, apart=Apart(inputs=inputs[1].parent, own=folder / "own")) as master:
        yield master, folder


@pytest.fixture(scope="module")
def here(inputs: list[Path], local: dict[str, bytes]) -> dict[str, str]:
    """The campaign's report as this process makes it, by file; nothing of it, or of what `local` kept, stays."""
    campaign, made_here = inputs[0], ("reduced", "plots", "tables", "trials")
    rmtree(campaign / "reduced", ignore_errors=True)
    build(campaign)
    found = written(campaign)
    for name in made_here:
        rmtree(campaign / name)
    return found


def written(campaign: Path) -> dict[str, str]:
    """The files of a report: not the trials, and not when they were reduced."""
    chosen = ("report.html", "plots/", "tables/", "trials/", "reduced/")
    return {name: digest for name, digest in files(campaign).items() if name.startswith(chosen) and "/_" not in name}


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of one session on workers that share nothing.  said: by it; out: what it wrote."""

    said: str
    out: Path


@pytest.fixture(scope="module")
def tried(
    tmp_path_factory: pytest.TempPathFactory, inputs: list[Path], apart: tuple[str, Path], here: dict[str, str]
) -> Tried:
    """After `here`, as both write into the campaign's folder."""
    out, (master, folder) = tmp_path_factory.mktemp("tried"), apart
    said = run("spark_apart.py", master, out, folder / "own", *inputs, env={"PYSPARK_PYTHON": BASE_PYTHON})
    return Tried(said=said, out=out)


@pytest.mark.root
def test_workers_that_share_nothing_give_the_same(
    tried: Tried, local: dict[str, bytes], apart: tuple[str, Path]
) -> None:
    found = read(tried.out / "tables")
    assert {name: found[name] == local[name] for name in TABLES} == dict.fromkeys(TABLES, True)
    origin = rows(found["origin"]).to_pydict()
    # Both workers took part, with the code that was sent to them.
    assert {Path(place).relative_to(apart[1]).parts[0] for place in origin["folder"]} == {"work-0", "work-1"}
    assert all(".zip/analysis/" in code for code in origin["code"])
    assert re.search(r"still at work: .*http://127\.0\.0\.1:", tried.said)


@pytest.mark.root
def test_a_report_by_workers_that_share_nothing_is_the_same_to_the_byte(
    tried: Tried, inputs: list[Path], here: dict[str, str]
) -> None:
    assert written(inputs[0]) == here
    assert any(name.startswith("reduced/") for name in here)


@pytest.mark.root
def test_an_export_of_such_workers_is_whole_where_storage_is_shared_and_else_refused(
    tried: Tried, inputs: list[Path], apart: tuple[str, Path], tmp_path: Path
) -> None:
    write(plan_campaign(inputs[0])[0].pieces, tmp_path / "plain")
    assert "shared: []" in tried.said
    assert files(tried.out / "shared") == files(tmp_path / "plain") != {}

    assert "files that workers wrote" in tried.said
    assert "nothing is exported: --out has to be storage that workers share" in tried.said
    left = [path for place in ("own", "disk-0", "disk-1") for path in (apart[1] / place).rglob("*") if path.is_file()]
    assert left == []


@pytest.mark.root
def test_a_job_whose_workers_die_twice_goes_on_and_says_so(tried: Tried) -> None:
    assert "after two deaths: [0, 1, 2]" in tried.said
    # A task whose worker is known to be lost before it has failed is run again all the same, and not counted.
    assert re.search(
        r"^((1 task|2 tasks) of Spark's failed and ran again; )?workers lost: ", tried.said, re.MULTILINE
    ), tried.said


def lab_there(apart: tuple[str, Path], *words: str | Path) -> subprocess.CompletedProcess[str]:
    """A `lab` command on one worker of the cluster, with the Python that it has of its own."""
    few = ("--conf", "spark.cores.max=1", "--conf", "spark.ui.enabled=false")
    return lab(*words, "--master", apart[0], *few, env=environment() | {"PYSPARK_PYTHON": BASE_PYTHON})


@pytest.mark.root
def test_workers_that_lack_something_are_told_before_the_job(
    tmp_path: Path, inputs: list[Path], apart: tuple[str, Path]
) -> None:
    done = lab_there(apart, "export", inputs[1], "--out", tmp_path / "out")
    assert done.returncode == 1
    assert f"({BASE_PYTHON}): scipy: wanted " in done.stderr
    assert ", found none" in done.stderr
    assert "`--env ship` sends them" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.root
def test_a_job_whose_worker_dies_once_too_often_ends_with_words_and_leaves_its_event_log(
    tmp_path: Path, inputs: list[Path], apart: tuple[str, Path]
) -> None:
    log = tmp_path / "log"
    once = ("--conf", "spark.task.maxFailures=1")
    logged = ("--event-log", log, "--conf", "spark.eventLog.compress=false")
    with killer():
        done = lab_there(apart, "analyse", inputs[1], "--out", tmp_path / "out", *once, *logged)
    assert done.returncode == 1
    assert "Spark failed: " in done.stderr
    assert "failed 1 times" in done.stderr
    assert "ExecutorLostFailure" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
    told = "".join(path.read_text(errors="replace") for path in log.rglob("*") if path.is_file())
    assert '"spark.task.maxFailures":"1"' in told


@contextmanager
def killer() -> Iterator[None]:
    """Kill the first worker of a cluster that has started Python for a task."""
    over = Event()

    def look() -> None:
        while not over.wait(0.1):
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    if EXECUTOR in process.cmdline() and any("python" in one.name() for one in process.children()):
                        process.kill()
                        return

    thread = Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_spark_connect_gives_the_same_tables_as_this_machine(
    tmp_path: Path, local: dict[str, bytes], inputs: list[Path]
) -> None:
    pytest.importorskip("grpc", reason="Spark Connect's client needs grpcio")
    with connect_server(tmp_path) as address:
        (tmp_path / "out").mkdir()
        run("spark_tables.py", address, "ship", tmp_path / "out", *inputs)
        found = read(tmp_path / "out")
    assert {name: found[name] == local[name] for name in TABLES} == dict.fromkeys(TABLES, True)
    assert all(".zip/analysis/" in code for code in rows(found["origin"]).to_pydict()["code"])
