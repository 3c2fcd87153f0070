"""How long `lab` takes to its first word on a terminal, against `python -c pass`.

    python benchmarks/first_word.py [--repeat N]

For `lab --help`, each verb's help, and each verb that is given something to do.  A command is ended as soon as it has
printed something.  Target: 0.4 s.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from lab.main import VERBS

TARGET_S = 0.4
PASS = ["-c", "print('pass')"]
_CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
# What each verb needs to be called at all.  Nothing of it is there.
_WORDS = {
    "run": ["none.yaml"],
    "compare": ["none", "none"],
    "analyse": ["none.pcap"],
    "export": ["none", "--out", "none"],
    "unpack": ["none.pack"],
    "paper": ["none"],
    "replay": ["none"],
    "shell": ["none"],
    "calibrate": ["none"],
}


def first_word(words: list[str], folder: Path) -> tuple[float, float]:
    """Seconds from the start of Python with these arguments to something visible on its terminal, and CPU-seconds."""
    ours, its = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "PYTHONPATH": str(Path(__file__).parents[1])}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *words], stdin=its, stdout=its, stderr=its, cwd=folder, env=environment, start_new_session=True
    )
    os.close(its)
    seen = b""
    try:
        while not _CONTROL.sub(b"", seen).strip():
            seen += os.read(ours, 4096)
        seconds, used = time.perf_counter() - started, psutil.Process(process.pid).cpu_times()
        return seconds, used.user + used.system
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        os.close(ours)
        process.wait()


def main() -> None:
    """Print a row for each command, the slowest last."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    commands = [
        ["--help"],
        *([verb, "--help"] for verb in VERBS),
        *([verb, *_WORDS.get(verb, ())] for verb in VERBS),
    ]
    calls = [PASS, *(["-m", "lab", *words] for words in commands)]
    with tempfile.TemporaryDirectory() as name:
        rounds = [[first_word(call, Path(name)) for call in calls] for _ in range(repeat)]
    # Other work on the machine only adds, so the least of each call is the nearest to what it costs.
    (base, own), *least = map(min, zip(*rounds, strict=True))
    found = sorted(zip(least, map(" ".join, commands), strict=True))
    print(f"{'python -c pass':<28} {base:6.3f} s   {own:5.2f} CPU-s")
    for (seconds, used), command in found:
        print(f"{'lab ' + command:<28} {seconds:6.3f} s   {used:5.2f} CPU-s   {seconds / base:5.1f} times")
    worst = found[-1][0][0]
    print(f"slowest: {worst:.3f} s, {'within' if worst <= TARGET_S else 'OUTSIDE'} {TARGET_S:g} s")


if __name__ == "__main__":
    main()
