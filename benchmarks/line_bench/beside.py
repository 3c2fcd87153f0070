"""A whole trial as work beside a measurement: a broker, its clients, captures, samplers, over a link of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import yaml

from experiments.workers.isolation import ROOT

_BEGIN_LIMIT_S, _END_LIMIT_S = 90.0, 30.0
_CONNECTED_S = 5.0  # after clients are there, the load has begun
_WINDOW_S = 150.0
SCENARIO: dict[str, Any] = {
    "scenario": "beside",
    "network": "nistnet-80211",
    "stack": "reference",
    "stations": 4,
    "congestion_control": "reno",
    "workload": {"clients": {"publishers": 4, "subscribers": 8}, "body_bytes": 1000, "loop": "closed"},
    "window": {"warmup_s": 0.5, "window_s": _WINDOW_S, "drain_s": 3},
    "trials": 1,
}


@contextmanager
def trial(**settings: Any) -> Iterator[None]:
    """The context begins when the load has, and must end before the window does.

    RuntimeError when the trial did not begin, or ended by itself.
    """
    with tempfile.TemporaryDirectory(prefix="airwire-") as name:
        scenario = Path(name, "scenario.yaml")
        scenario.write_text(yaml.safe_dump(SCENARIO | settings, sort_keys=False))
        words = ["run", str(scenario), "--no-report", "--kernel", "host", "--results", str(Path(name, "results"))]
        with Path(name, "said").open("w+") as said:
            process = subprocess.Popen([sys.executable, "-m", "lab", *words], stdout=said, stderr=said, cwd=ROOT)
            try:
                _begun(process)
                yield
                if process.poll() is not None:
                    said.seek(0)
                    raise RuntimeError(f"the trial beside ended too early: {said.read()[-2000:]}")
            finally:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(_END_LIMIT_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _begun(process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _BEGIN_LIMIT_S
    while not any("experiments.load.client" in word for word in _words(process.pid)):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError("the trial beside did not begin")
        time.sleep(0.5)
    time.sleep(_CONNECTED_S)


def _words(pid: int) -> Iterator[str]:
    for one in psutil.Process(pid).children(recursive=True):
        try:
            yield from one.cmdline()
        except psutil.Error:
            continue
