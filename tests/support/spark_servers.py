"""Real Spark servers on this machine, on loopback and ports of their own, ended with the block that asked for them.

Workers can be given file systems of their own: a mount namespace, in which of the project there is Spark alone.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from analysis.spark.session import ARCHIVE, archive_options

ROOT = Path(__file__).parents[2]
HOME = Path(pyspark.__file__).parent
# What a mount namespace's owner does before it becomes Spark: $1 is a folder for what is taken along, $2 Spark and $3
# its class archive, which stay where they are, $4 what it may only read, $5 the disk that it has at $6, the others what
# it does not see.
_APART = """set -e
mount --bind "$2" "$1/spark"
if [ -f "$3" ]; then mount --bind "$3" "$1/classes"; fi
mount --bind "$4" "$4"
mount -o remount,bind,ro "$4"
mount --bind "$5" "$6"
taken=$1 spark=$2 classes=$3
shift 6
while [ "$1" != -- ]; do mount -t tmpfs tmpfs "$1"; shift; done
shift
mkdir -p "$spark" "${classes%/*}"
mount --bind "$taken/spark" "$spark"
touch "$classes"
mount --bind "$taken/classes" "$classes"
exec "$@"
"""
BASE_PYTHON = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]  # of the system: without packages
_PATIENCE_S = 90.0
_QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_JVM = " ".join((_QUICK, *archive_options()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """Workers that share nothing with us but `inputs`, which they only read, and what stands outside the project.

    At `own` each has a disk of its own, FOLDER/disk-N.  Neither the project nor the system's Python packages are there.
    """

    inputs: Path
    own: Path

    def inside(self, folder: Path, number: int) -> list[str]:
        """What the command of worker `number` of the cluster in `folder` begins with."""
        taken, disk = folder / f"taken-{number}", folder / f"disk-{number}"
        (taken / "spark").mkdir(parents=True)
        (taken / "classes").touch()
        disk.mkdir()
        words = [str(path) for path in (taken, HOME, ARCHIVE, self.inputs, disk, self.own, ROOT, *_packages())]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", _APART, "sh", *words, "--"]


@contextmanager
def server(folder: Path, name: str, *words: str, says: str, inside: Sequence[str] = ()) -> Iterator[str]:
    """Run a Spark class in `folder` until the block ends; yields the first group of `says` in its log."""
    log = folder / f"{name}.log"
    unwanted = ("PYTHONPATH", "SPARK_REMOTE")  # the project is not to be found on the servers
    env = {key: value for key, value in os.environ.items() if key not in unwanted}
    env |= {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    env |= {"SPARK_DAEMON_JAVA_OPTS": _JVM, "SPARK_LAUNCHER_OPTS": _QUICK}
    env |= {"JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={folder}"}  # killed executors leave what they fetched
    command = ["setpriv", "--pdeathsig", "KILL", *inside, str(HOME / "bin" / "spark-class"), *words]
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
def cluster(folder: Path, *, workers: int, apart: Apart | None = None) -> Iterator[str]:
    """A standalone cluster with `workers` workers of one core; yields its address, spark://...

    apart: what they have to themselves, None = they see what we see.
    """
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
                       says=r"Successfully registered with master (\S+)",
                       inside=apart.inside(folder, number) if apart else ())
            )  # fmt: skip
        yield master


def _packages() -> list[Path]:
    """Where the system's Python has packages."""
    asked = [BASE_PYTHON, "-c", "import site; print(*site.getsitepackages(), sep='\\n')"]
    told = subprocess.run(asked, env={}, capture_output=True, text=True, check=True).stdout
    return [path for line in told.splitlines() if (path := Path(line)).is_dir()]


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
