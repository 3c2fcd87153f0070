"""What an interrupted deployment leaves is ended, but for what installs packages, which is waited for."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize("where", ["time.sleep", "_marked_by", "_program"])
def test_a_package_manager_is_waited_for_whenever_the_user_interrupts_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    cat, sleep = shutil.which("cat"), shutil.which("sleep")
    assert cat
    assert sleep
    apt = Path(shutil.copy(cat, tmp_path / "apt-get"))
    environment = {**os.environ, deploy._MARK: "of-this-test"}
    installing = subprocess.Popen([apt], env=environment, stdin=subprocess.PIPE)
    waiting = subprocess.Popen([sleep, "600"], env=environment)
    assert installing.stdin is not None
    pause, interrupts, end = time.sleep, [where], installing.stdin.close

    def interrupted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*words: Any) -> Any:
            if interrupts == [name]:
                raise KeyboardInterrupt(interrupts.pop())
            return function(*words)

        return instead

    def ended(seconds: float) -> None:
        """What is installed has been while this pauses."""
        end()
        pause(seconds)

    try:
        while deploy._program(installing.pid) != "apt-get":
            time.sleep(0.01)
        with monkeypatch.context() as patch:
            patch.setattr(time, "sleep", interrupted("time.sleep", ended))
            for name in ("_marked_by", "_program"):
                patch.setattr(deploy, name, interrupted(name, getattr(deploy, name)))
            deploy._end_marked("of-this-test")
        assert (installing.wait(60), waiting.wait(60), interrupts) == (0, -9, [])
        assert capsys.readouterr().err == "waiting for apt-get, which must not be broken off\n"
    except KeyboardInterrupt:
        pytest.fail("it was broken off")
    finally:
        for process in (installing, waiting):
            process.kill()
            process.wait()
