"""Programs of the user's own: how they begin, what is kept of them, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from load_runs import alive

from experiments.load import programs
from experiments.load.programs import Ended, Place, ProgramError, run, serving
from experiments.trial.observers.priority import ahead
from experiments.workers.programs import PATH, digests, missing, named, why_not
from records.workload import workload_of

LISTEN = "import socket,time; s=socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)"
SERVER = "import socket,time; s=socket.create_server(('127.0.0.1', {port})); time.sleep(60)"


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-c", code)


def place(folder: Path, name: str = "client") -> Place:
    return Place(name=name, prefix=(), home=folder, logs=folder)


def ran(words: tuple[str, ...], folder: Path, limit_s: float = 60.0) -> Ended:
    return asyncio.run(run(words, place(folder), limit_s=limit_s))


async def serve(words: tuple[str, ...], folder: Path, *, port: int | None, ready_s: float) -> int:
    async with serving(words, place(folder, "server"), node=os.getpid(), port=port, ready_s=ready_s) as program:
        return program.process.pid


@pytest.fixture(scope="module")
def free_port(tmp_path_factory: pytest.TempPathFactory) -> int:
    return int(ran(python(LISTEN), tmp_path_factory.mktemp("port")).output)


def test_status_and_outputs_are_kept(tmp_path: Path) -> None:
    ended = ran(python("import sys; print('said'); sys.stderr.write('why'); sys.exit(3)"), tmp_path)
    assert (ended.status, ended.output, ended.timed_out, ended.cut) == (3, "said\n", False, 0)
    assert (tmp_path / "program-client.err.log").read_text() == "why"


def test_a_program_that_never_ends_is_killed_with_its_children(tmp_path: Path) -> None:
    code = "import os,time; pid=os.fork(); pid and print(pid, flush=True); time.sleep(600)"
    ended = ran(python(code), tmp_path, limit_s=8.0)
    assert (ended.timed_out, ended.status) == (True, -9)
    deadline = time.monotonic() + 60  # it was killed, and dies when a processor runs it
    while alive(int(ended.output)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_child_that_goes_on_with_the_output_is_not_waited_for(tmp_path: Path) -> None:
    ended = ran(("sh", "-c", "sleep 600 & echo said"), tmp_path, limit_s=60.0)
    assert (ended.status, ended.output, ended.timed_out) == (0, "said\n", False)


def test_a_child_that_has_left_the_group_does_not_keep_a_killed_program(tmp_path: Path) -> None:
    code = (
        "import os,time; os.fork() or os.setsid(); print(os.getpid(), flush=True); "
        f"open({str(tmp_path / 'up')!r}, 'w').close(); time.sleep(600)"
    )

    async def limited() -> Ended:
        return await asyncio.wait_for(run(python(code), place(tmp_path), limit_s=8.0), 60)

    ended = asyncio.run(limited())
    for pid in map(int, ended.output.split()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert (ended.timed_out, len(ended.output.split())) == (True, 2)
    assert (tmp_path / "up").exists(), "the child was up, and away from the group"


def test_outputs_are_bounded_and_the_program_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "OUTPUT_LIMIT_BYTES", 1000)
    ended = ran(python("print('x' * 300_000, end='')"), tmp_path)
    assert (ended.status, len(ended.output), ended.cut) == (0, 1000, 299_000)


def test_the_environment_is_the_declared_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    told = dict(line.split("=", 1) for line in ran(("env",), tmp_path).output.splitlines())
    assert told == {"PATH": PATH, "HOME": str(tmp_path), "LANG": "C.UTF-8"}


def test_a_server_is_ready_when_it_listens_and_gone_afterwards(tmp_path: Path, free_port: int) -> None:
    words = python(SERVER.format(port=free_port))
    pid = asyncio.run(serve(words, tmp_path, port=free_port, ready_s=60.0))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_server_without_a_port_is_ready_after_its_time(tmp_path: Path) -> None:
    assert asyncio.run(serve(("sleep", "600"), tmp_path, port=None, ready_s=0.1))


def test_a_server_that_ends_too_early_is_told(tmp_path: Path) -> None:
    words = python("import sys; sys.exit('no room')")
    with pytest.raises(ProgramError, match=r"^server: '.*' ended with exit status 1 before it was ready.*'no room'"):
        asyncio.run(serve(words, tmp_path, port=None, ready_s=60.0))


def test_a_server_that_does_not_listen_is_told(tmp_path: Path, free_port: int) -> None:
    with pytest.raises(ProgramError, match=f"'sleep' does not listen on TCP port {free_port} after 0.2 s"):
        asyncio.run(serve(("sleep", "600"), tmp_path, port=free_port, ready_s=0.2))


@pytest.mark.parametrize("name", ["no-such-program", "/no/such/program", "/etc/passwd"])
def test_a_command_that_does_not_exist_is_told_with_the_way_out(name: str) -> None:
    assert "install it, or give its whole path" in why_not(name)
    work = workload_of({"pattern": "command", "client": {"command": f"{name} -x"}})
    assert missing(work) == f"workload.client.command: {why_not(name)}"


def test_programs_and_what_they_are_given_have_digests_and_what_they_write_has_none(tmp_path: Path) -> None:
    given, written = tmp_path / "given", tmp_path / "written"
    words = ("sh", str(given), "relative", str(written), str(tmp_path / "none"), str(tmp_path))
    work = workload_of({"pattern": "command", "client": {"command": words}})
    given.write_text("1")
    os.utime(given, (1000, 1000))
    assert digests(work).keys() == {"sh", str(given)}
    written.write_text("2")
    assert digests(work).keys() == {"sh", str(given), str(written)}
    assert digests(work, before_s=written.stat().st_mtime).keys() == {"sh", str(given)}
    assert named(work) == ("sh", str(given), str(written), str(tmp_path / "none"), str(tmp_path))


def test_a_program_is_never_that_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = workload_of({"pattern": "command", "client": {"command": "sh -c true"}})
    before = digests(work)
    (tmp_path / "sh").write_text("another")
    monkeypatch.chdir(tmp_path)
    assert digests(work) == before


def test_a_known_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("experiments.workers.programs.PATH", str(tmp_path))
    assert why_not("iperf3") == "'iperf3' is not installed; this brings it: sudo apt-get install iperf3"


def test_programs_do_not_go_before_others_as_what_watches_them_does(tmp_path: Path) -> None:
    with ahead(()):
        ended = ran(python("import os; print(os.sched_getscheduler(0) == os.SCHED_OTHER)"), tmp_path)
    assert ended.output == "True\n"
