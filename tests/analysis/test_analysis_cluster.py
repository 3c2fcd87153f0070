"""The jobs give the same tables on this machine, on a cluster of two workers and over Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from common.capture import write_capture
from spark_servers import cluster, connect_server
from spark_tables import made
from synthetic_campaign import Spec, write_campaign

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
TABLES = ("trials", "whole", "split", "source", "view")
FEW = Spec(bodies=(100,), guarantees=("durable, persistent",), trials=2)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A campaign and two captures."""
    folder = tmp_path_factory.mktemp("inputs")
    first = write_capture(folder / "a.pcap", packets=2000, connections=30)
    second = write_capture(folder / "b.pcap", packets=300, connections=5, seed=8)
    return [write_campaign(folder, FEW), first, second]


def tables(master: str, out: Path, inputs: list[Path]) -> dict[str, bytes]:
    """The tables that the jobs give on `master`, as the bytes of Arrow files."""
    out.mkdir()
    env = {key: value for key, value in os.environ.items() if key != "SPARK_REMOTE"}
    env["PYTHONPATH"] = str(ROOT)
    command = [
        sys.executable,
        str(Path(__file__).parents[1] / "support" / "spark_tables.py"),
        master,
        str(out),
        *map(str, inputs),
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return read(out)


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


def test_two_workers_give_the_same_tables_as_this_machine(
    tmp_path: Path, local: dict[str, bytes], inputs: list[Path]
) -> None:
    with cluster(tmp_path, workers=2) as master:
        found = tables(master, tmp_path / "out", inputs)
    assert {name: found[name] == local[name] for name in TABLES} == dict.fromkeys(TABLES, True)
    origin = rows(found["origin"]).to_pydict()
    # Both workers took part, with the code that was sent to them.
    assert {Path(folder).relative_to(tmp_path).parts[0] for folder in origin["folder"]} == {"work-0", "work-1"}
    assert all(".zip/analysis/" in code for code in origin["code"])


def test_spark_connect_gives_the_same_tables_as_this_machine(
    tmp_path: Path, local: dict[str, bytes], inputs: list[Path]
) -> None:
    pytest.importorskip("grpc", reason="Spark Connect's client needs grpcio")
    with connect_server(tmp_path) as address:
        found = tables(address, tmp_path / "out", inputs)
    assert {name: found[name] == local[name] for name in TABLES} == dict.fromkeys(TABLES, True)
    assert all(".zip/analysis/" in code for code in rows(found["origin"]).to_pydict()["code"])
