"""`lab` as a user types it, without the second that its imports take: a process forked from one that has them."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

import lab as lab_package
from lab.main import VERBS, main

ROOT = Path(__file__).parents[2]
_SERVER = multiprocessing.get_context("forkserver")
_DOING = [verb.__module__.replace("lab.verbs.", "lab.") for verb in VERBS.values()]
_SERVER.set_forkserver_preload(["lab.main", *_DOING, "analysis.plots", "analysis.papers.build", "lab_command"])


def lab(
    *words: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """What a `lab` command in a process of its own printed and its exit status; `env`: its whole environment."""
    arguments = [str(word) for word in words]
    with tempfile.TemporaryDirectory() as name:
        out, err = (Path(name) / one for one in ("out", "err"))
        environment = dict(os.environ if env is None else env)
        process = _SERVER.Process(target=_be_lab, args=(arguments, cwd, environment, out, err))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.terminate()
            process.join()
            raise subprocess.TimeoutExpired(arguments, timeout, out.read_bytes(), err.read_bytes())
        return subprocess.CompletedProcess(arguments, process.exitcode, out.read_text(), err.read_text())


def servers() -> set[str]:
    """Processes that stay for further commands and tests, Spark's included, whose workers come and go."""
    found = [one for one in psutil.Process().children() if "multiprocessing" in " ".join(one.cmdline())]
    spark = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    if spark is not None and spark._gateway is not None:
        java = psutil.Process(spark._gateway.proc.pid)
        found += [java, *java.children(recursive=True)]
    return {str(one.pid) for one in found}


def _be_lab(words: list[str], cwd: Path, environment: dict[str, str], out: Path, err: Path) -> None:
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    lab_package.BEGUN_AT = time.monotonic()  # what is forked was imported long ago
    sys.argv = ["lab", *words]
    main()
