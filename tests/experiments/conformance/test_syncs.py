"""What is read from strace's log of syncs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.conformance import syncs
from records.errors import CannotGoOn

LOG = """\
101 1000.500000 fdatasync(9) = 0 <0.250000>
102 1001.000000 fsync(4 <unfinished ...>
101 1001.100000 fdatasync(9) = -1 EIO (Input/output error) <0.000100>
102 1001.400000 <... fsync resumed>)    = 0 <0.400000>
102 1002.000000 +++ exited with 0 +++
"""


def test_a_sync_counts_when_it_was_done() -> None:
    assert syncs.ends(LOG) == [1000.75, 1001.4]
    assert syncs.covered([(1000.6, 1000.8), (1000.8, 1001.3), (1001.4, 1001.5)], syncs.ends(LOG)) == 2


SYNCING = """
import os, sys
with open(sys.argv[1], "wb") as file:
    print("ready", flush=True)
    for _ in sys.stdin:
        os.write(file.fileno(), b"x"); os.fsync(file.fileno())
        print("synced", flush=True)
"""


@pytest.mark.root
def test_syncs_of_a_process_are_seen_while_it_is_watched_and_no_others(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SYNCING, str(tmp_path / "file")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout

        def synced() -> tuple[float, float]:
            assert process.stdin
            assert process.stdout
            begun = time.time()
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "synced\n"
            return begun, time.time()

        assert process.stdout.readline() == "ready\n"
        synced()
        with syncs.watched([process.pid], tmp_path / "log"):
            spans = [synced() for _ in range(3)]
        synced()
        process.stdin.close()
    done = syncs.ends((tmp_path / "log").read_text())
    assert (len(done), syncs.covered(spans, done)) == (3, 3)


@pytest.mark.root
def test_a_process_that_is_not_there_cannot_be_watched(tmp_path: Path) -> None:
    with (
        pytest.raises(CannotGoOn, match="strace does not see the processes 4194305"),
        syncs.watched([4194305], tmp_path / "log"),
    ):
        pass


def test_a_machine_without_strace_is_told_what_brings_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotGoOn, match="apt-get install strace"), syncs.watched([1], tmp_path / "log"):
        pass
