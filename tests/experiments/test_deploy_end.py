"""What an interrupted deployment leaves is ended, but for what installs packages, which is waited for."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from experiments import deploy


def test_a_package_manager_ends_by_itself_and_all_others_are_ended(tmp_path: Path) -> None:
    sleep = shutil.which("sleep")
    assert sleep
    dpkg = Path(shutil.copy(sleep, tmp_path / "dpkg"))
    mark, environment = "of-this-test", {**os.environ, deploy._MARK: "of-this-test"}
    installing = subprocess.Popen([dpkg, "1"], env=environment)
    waiting = subprocess.Popen([sleep, "600"], env=environment)
    other = subprocess.Popen([sleep, "600"], env={**os.environ, deploy._MARK: "of-another"})
    try:
        while deploy._program(installing.pid) != "dpkg":
            time.sleep(0.01)
        deploy._end_marked(mark)
        assert (installing.wait(60), waiting.wait(60), other.poll()) == (0, -9, None)
    finally:
        for process in (installing, waiting, other):
            process.kill()
            process.wait()
