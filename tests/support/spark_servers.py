"""Real Spark servers on this machine, on loopback and ports of their own, ended with the block that asked for them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from analysis.spark.session import archive_options

HOME = Path(pyspark.__file__).parent
_PATIENCE_S = 90.0
_JVM = " ".join(("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *archive_options()))


@contextmanager
def server(folder: Path, name: str, *words: str, says: str) -> Iterator[str]:
    """Run a Spark class in `folder` until the block ends; yields the first group of `says` in its log."""
    log = folder / f"{name}.log"
    unwanted = ("PYTHONPATH", "SPARK_REMOTE")  # the project is not to be found on the servers
    env = {key: value for key, value in os.environ.items() if key not in unwanted}
    env |= {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    env["SPARK_DAEMON_JAVA_OPTS"] = _JVM
    command = ["setpriv", "--pdeathsig", "KILL", str(HOME / "bin" / "spark-class"), *words]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=out, stderr=out)
    try:
        yield _said(log, says, process)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _said(log: Path, says: str, process: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(says, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"no {says!r} in:\n{log.read_text(errors='replace')[-3000:]}")


@contextmanager
def cluster(folder: Path, *, workers: int) -> Iterator[str]:
    """A standalone cluster with `workers` workers of one core; yields its address, spark://..."""
    deploy = "org.apache.spark.deploy"
    with ExitStack() as stack:
        master = stack.enter_context(
            server(folder, "master", f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", "0",
                   "--webui-port", "0", says=r"Starting Spark master at (spark://\S+)")
        )  # fmt: skip
        for number in range(workers):
            stack.enter_context(
                server(folder, f"worker-{number}", f"{deploy}.worker.Worker", "--host", "127.0.0.1",
                       "--webui-port", "0", "--cores", "1", "--memory", "1g",
                       "--work-dir", str(folder / f"work-{number}"), master,
                       says=r"Successfully registered with master (\S+)")
            )  # fmt: skip
        yield master


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Spark Connect server on local[2]; yields its address, sc://..."""
    options = {"spark.ui.enabled": "false", "spark.connect.grpc.binding.address": "127.0.0.1",
               "spark.connect.grpc.binding.port": "0", "spark.local.dir": str(folder)}  # fmt: skip
    words = ["org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", "--driver-java-options", _JVM,
             "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]  # fmt: skip
    for name, value in options.items():
        words += ["--conf", f"{name}={value}"]
    says = r"Spark Connect server started at: 127\.0\.0\.1:(\d+)"
    with server(folder, "connect", *words, "spark-internal", says=says) as port:
        yield f"sc://127.0.0.1:{port}"
