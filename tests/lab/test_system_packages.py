"""Set-up installs what stacks declare, keeps daemons from starting, and says what to do where it cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from stack_packages import LACKING, TOML, installed

from lab import daemons, system_packages
from records.errors import CannotGoOn

ROOT = Path(__file__).parents[2]


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that root's set-up runs, and for which services it keeps from starting; nothing is done."""
    found: list[list[str]] = []

    @contextmanager
    def kept(services: tuple[str, ...]) -> Iterator[int]:
        found.append(["kept", *services])
        yield 0

    monkeypatch.setattr(daemons, "kept_from_starting", kept)
    monkeypatch.setattr(system_packages, "_run", lambda *command, **_: found.append([*command]))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return found


def test_what_a_package_declares_is_installed_and_its_service_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, monkeypatch):
        assert system_packages.main(["strace"]) == 0
        assert system_packages.main(["--missing"]) == 0
    kept, update, install = done
    assert LACKING in kept
    assert update == ["apt-get", "update"]
    assert {"strace", LACKING} <= set(install)
    assert LACKING in capsys.readouterr().out.split()


def test_where_nothing_is_missing_nothing_is_installed(monkeypatch: pytest.MonkeyPatch, done: list[list[str]]) -> None:
    monkeypatch.setattr(system_packages, "missing", lambda _: ())
    assert system_packages.main([]) == 0
    assert done == [["kept"]], "what a killed set-up left is looked for all the same"


def test_a_user_is_told_what_root_has_to_run(
    monkeypatch: pytest.MonkeyPatch, done: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert system_packages.main(["strace"]) == 1
    assert done == []
    said = capsys.readouterr().err
    assert "only root can install them; run as root: lab/bootstrap.sh packages" in said
    assert "strace" in said


def test_a_package_that_declares_nonsense_does_not_stop_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(system_packages, "missing", lambda _: ())
    with installed(tmp_path, monkeypatch, toml="[stack]"):
        assert system_packages.main([]) == 0
    assert done == [["kept"]]
    assert "set-up: passed over: package airwire-other: " in capsys.readouterr().err


def test_the_systems_python_can_read_the_declarations_before_there_is_an_environment() -> None:
    """-S -I: without any package that is installed beside Python's own library."""
    words = "import sys; sys.path.insert(0, sys.argv[1]); from lab import system_packages; from stacks import folders; "
    done = subprocess.run(
        ["/usr/bin/python3", "-S", "-I", "-c", f"{words}print(folders.found().names())", ROOT],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "activemq-openwire" in done.stdout


def test_what_apt_says_is_told_when_it_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        system_packages._run("sh", "-c", "echo no such package; exit 100", lock=1)

    monkeypatch.setattr(system_packages, "install", fail)
    assert system_packages.main([]) == 1
    assert "no such package\n" in capsys.readouterr().err


@pytest.mark.root
def test_bootstrap_hands_over_what_is_missing_and_apt_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an apt-get that installs nothing, and a stack of a package without a daemon."""
    tool = tmp_path / "bin" / "apt-get"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    tool.chmod(0o755)
    path = os.pathsep.join((str(tool.parent), os.environ.get("PATH", os.defpath)))
    with installed(tmp_path, monkeypatch, toml=TOML.replace("daemon = true", "")):
        done = subprocess.run(
            ["lab/bootstrap.sh", "packages"],
            cwd=ROOT,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(tmp_path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    update, install = (tmp_path / "asked").read_text().splitlines()
    assert update == "update"
    assert install.startswith("install -y --no-install-recommends ")
    assert install.endswith(f" {LACKING}")
    assert f"set-up: installing {LACKING}" in done.stderr


def test_a_user_is_told_of_what_a_killed_set_up_left(
    monkeypatch: pytest.MonkeyPatch, done: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(system_packages, "missing", lambda _: ())
    monkeypatch.setattr(daemons, "left_over", lambda: True)
    assert system_packages.main([]) == 0
    assert done == []
    assert "keeps services from starting; run as root: lab/bootstrap.sh packages" in capsys.readouterr().err


def test_what_installs_packages_is_waited_for_when_the_user_interrupts(tmp_path: Path) -> None:
    program = "import sys; from lab.system_packages import _run; _run('sh', '-c', sys.argv[1], sys.argv[2], lock=0)"
    words = ["touch $0/begun; until [ -e $0/go ]; do sleep 0.05; done; touch $0/ended", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-c", program, *words], cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "begun").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.readline()
        (tmp_path / "go").touch()
        process.communicate(timeout=60)
    assert (tmp_path / "ended").exists()
    assert process.returncode == -signal.SIGINT
    assert "waiting for sh, which must not be broken off" in said


def test_the_lists_lock_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []

    def held(*command: str, lock: int) -> None:
        tries.append(command[-1])
        if len(tries) < 3:
            raise CannotGoOn(f"E: Could not get lock /var/lib/apt/lists/lock ({lock})")

    monkeypatch.setattr(system_packages, "_run", held)
    monkeypatch.setattr(system_packages.time, "sleep", lambda _: None)
    system_packages._update(7)
    assert tries == ["update"] * 3
