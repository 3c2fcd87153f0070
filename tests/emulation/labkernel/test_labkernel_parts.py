"""The lab kernel's parts, as far as they can be seen without a boot."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from emulation import labkernel
from emulation.labkernel import cores, installed, shares
from emulation.labkernel.frames import Decoder, Ends, Job, Kind, encode
from emulation.labkernel.installed import LabKernelError

ROOT = Path(__file__).parents[3]


def proxy(*options: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    words = labkernel.command(["true"])
    command = [*words[:-2], *options, *words[-2:]]
    return subprocess.run(command, capture_output=True, env={**environment, "PYTHONPATH": str(ROOT)}, check=False)


def test_waiting_for_a_core_is_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    core, clock, said = min(os.sched_getaffinity(0)), [0.0], list[str]()
    held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    monkeypatch.setattr(cores, "_NAME", f"airwire-test-{os.getpid()}")
    monkeypatch.setattr(cores.time, "monotonic", lambda: clock[0])
    held.bind(f"\0airwire-test-{os.getpid()}-{core}")

    def pause(seconds: float) -> None:
        clock[0] += seconds
        if clock[0] > 5:
            held.close()

    with cores.one_core(core, wait_s=60, pause=pause, say=said.append) as (got, _):
        assert got == core
    assert said == [f"waiting for another lab kernel to leave core {core}"]


@pytest.mark.parametrize(
    ("change", "cure"),
    [
        ({"BINARY": "no-such-kernel"}, "apt-get install user-mode-linux"),
        ({"MODULES": Path("/nonexistent")}, "apt-get install user-mode-linux"),
        ({"BUSYBOX": Path("/nonexistent")}, "apt-get install busybox-static"),
        ({"_SHARED_MEMORY": Path("/proc")}, "set TMPDIR"),
    ],
)
def test_what_is_missing_is_told_with_its_cure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: Mapping[str, object], cure: str
) -> None:
    (tmp_path / "6.1.176/kernel/fs/overlayfs").mkdir(parents=True)
    (tmp_path / "6.1.176/kernel/fs/overlayfs/overlay.ko").touch()
    monkeypatch.setattr(installed, "MODULES", tmp_path)
    monkeypatch.setattr(installed, "BINARY", "sh")
    monkeypatch.setattr(installed, "BUSYBOX", Path("/bin/sh"))
    monkeypatch.delenv("TMPDIR", raising=False)
    for name, value in change.items():
        monkeypatch.setattr(installed, name, value)
    assert cure in labkernel.problem()


def test_a_missing_kernel_is_status_125() -> None:
    done = proxy(environment={"PATH": "/nonexistent"})
    assert done.returncode == 125
    assert b"apt-get install user-mode-linux" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memory", "12"], b"memory '12'"),
        (["--write", "/nonexistent"], b"--write /nonexistent: there is no such folder"),
        (["--cpu", "999"], b"there is no core 999"),
        (["--timeout", "nan"], b"--timeout"),
    ],
)
@pytest.mark.skipif(bool(labkernel.problem()), reason=labkernel.problem() or "-")
def test_wrong_options_are_status_125(options: list[str], message: bytes) -> None:
    done = proxy(*options, environment=os.environ)
    assert done.returncode == 125
    assert message in done.stderr


def test_memory_that_no_folder_holds_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    with pytest.raises(LabKernelError, match="no place for the lab kernel's memory of 900000G"):
        installed.memory_folder("900000G")


def test_frames_survive_any_portions() -> None:
    sent = [(Kind.STDOUT, b"x" * 300), (Kind.END, b""), (Kind.EXIT, b"\0\0\0\7")]
    line = b"".join(encode(kind, data) for kind, data in sent)
    for portion in (1, 7, 1000):
        decoder = Decoder()
        assert [frame for at in range(0, len(line), portion) for frame in decoder.feed(line[at : at + portion])] == sent


def test_a_job_survives_its_file() -> None:
    job = Job(ends=Ends.PIPES, folder=b"/a b", argv=[b"sh", b"", b"\xff\n"], environment={b"A": b"b=c", b"D": b""})
    again = Job.load(job.dump())
    assert vars(again) == vars(job)


def test_the_environment_is_a_chosen_few() -> None:
    given = {"PATH": "/opt/bin", "SECRET": "x", "AIRWIRE_SCALE": "2", "HOME": "/home/me"}
    assert shares.environment(given) == {
        "PATH": "/opt/bin:/usr/sbin:/sbin:/usr/bin:/bin",
        "AIRWIRE_SCALE": "2",
        "AIRWIRE_KERNEL": "lab",
        "HOME": "/run/home",
    }


def test_the_lab_kernel_does_not_run_within_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRWIRE_KERNEL", "lab")
    assert "within itself" in labkernel.problem()


@pytest.mark.parametrize("folder", ["/", "/run", "/run/lock", "/tmp"])  # noqa: S108 - what it is about
def test_a_folder_that_the_guest_has_itself_is_refused(folder: str) -> None:
    if not Path(folder).is_dir():
        pytest.skip(f"no {folder} here")
    with pytest.raises(LabKernelError, match="of its own; name a folder elsewhere"):
        shares.binds([folder], [], "/")


def test_a_command_may_be_run_in_a_folder_that_the_guest_has_itself(tmp_path: Path) -> None:
    assert Path("/tmp") not in dict(map(reversed, shares.binds([], [], "/tmp")))  # noqa: S108 - what it is about
    assert ("r", tmp_path) in shares.binds([], [], str(tmp_path))
