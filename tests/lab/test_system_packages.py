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


# When it has begun, whoever started it waits for it.
INSTALL = "sleep 0.2; touch $0/begun; until [ -e $0/go ]; do sleep 0.05; done; touch $0/ended"
OURS = "import sys; from lab import system_packages as ours"
RUN = f"{OURS}; run = lambda *_: ours._run('sh', '-c', *sys.argv[1:], lock=0)\n"
MAIN = f"{RUN}ours.missing, ours.install = lambda _: (), run\nsys.exit(ours.main([]))"


@contextmanager
def installing(place: Path, program: str = MAIN) -> Iterator[subprocess.Popen[str]]:
    """A process that has begun to install, which ends when `place` has a file `go`, and leaves `ended` there then."""
    with subprocess.Popen(
        [sys.executable, "-c", program, INSTALL, str(place)],
        cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            deadline = time.monotonic() + 60
            while not (place / "begun").exists():
                assert time.monotonic() < deadline
                time.sleep(0.01)
            yield process
        finally:
            (place / "go").touch()


@pytest.mark.parametrize(
    ("program", "number", "status"),
    [
        (f"{RUN}run()", signal.SIGINT, -signal.SIGINT), (MAIN, signal.SIGINT, 130), (MAIN, signal.SIGTERM, 130),
        (MAIN, signal.SIGHUP, 130),
    ],
)  # fmt: skip
def test_what_installs_packages_is_waited_for_when_the_user_interrupts(
    tmp_path: Path, program: str, number: signal.Signals, status: int
) -> None:
    with installing(tmp_path, program) as process:
        process.send_signal(number)
        assert process.stderr is not None
        said = process.stderr.readline()
        (tmp_path / "go").touch()
        process.communicate(timeout=60)
    assert (tmp_path / "ended").exists()
    assert process.returncode == status
    assert "waiting for sh, which must not be broken off" in said


def test_it_is_waited_for_when_the_terminal_is_gone_and_says_so_twice(tmp_path: Path) -> None:
    with installing(tmp_path) as process:
        assert process.stderr is not None
        process.stderr.close()
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGHUP):
            process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        (tmp_path / "go").touch()
        process.wait(60)
    assert (tmp_path / "ended").exists()


def test_who_asks_to_be_left_running_is_not_interrupted(tmp_path: Path) -> None:
    """As nohup does."""
    with installing(tmp_path, f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{MAIN}") as process:
        process.send_signal(signal.SIGHUP)
        (tmp_path / "go").touch()
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_calls_it_has_its_own_signals_again(number: signal.Signals) -> None:
    def ours(*_: object) -> None:
        """Ours."""

    before = signal.signal(number, ours)
    try:
        assert system_packages.main(["--missing"]) == 0
        assert signal.getsignal(number) is ours
    finally:
        signal.signal(number, before)


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
