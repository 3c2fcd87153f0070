"""The module service_process, on real processes."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playbook_modules import load

SERVER = "import socket, time; s = socket.create_server(('127.0.0.1', {port})); print('up', flush=True); {rest}"

WAITING = """
import os, pathlib, time
pathlib.Path({pid_file!r}).write_text(str(os.getpid()))
print("waiting", flush=True)
time.sleep(1000)
"""
ANSWERING = """
import socket
server = socket.create_server(("127.0.0.1", {port}))
while True:
    client = server.accept()[0]
    client.recv(99)
    client.sendall({answer!r})
    client.close()
"""


service_process = load("service_process")


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        number: int = probe.getsockname()[1]
    return number


@pytest.fixture
def options(tmp_path: Path, port: int) -> Iterator[dict[str, Any]]:
    """Options for a server that accepts nothing but listens; it is stopped at the end."""
    wanted = {
        "command": [sys.executable, "-c", SERVER.format(port=port, rest="time.sleep(1000)")],
        "environment": {},
        "chdir": None,
        "pid_file": str(tmp_path / "pid"),
        "log_file": str(tmp_path / "log"),
        "host": "127.0.0.1",
        "port": port,
        "ready_send": "",
        "ready_expect": "",
        "ready_log": "",
        "ready_timeout_s": 20.0,
        "grace_s": 5.0,
        "purge": [],
    }
    yield wanted
    service_process.stop(wanted)


def python(options: dict[str, Any], code: str) -> None:
    options["command"] = [sys.executable, "-c", code]


def refused(options: dict[str, Any]) -> str:
    with pytest.raises(service_process.ServiceError) as caught:
        service_process.start(options)
    assert not Path(options["pid_file"]).exists()
    return str(caught.value)


def alive(pid: int) -> bool:
    return service_process._stat(pid)[0] not in "ZX"


def test_a_started_server_listens_and_is_known_by_its_pid_file(options: dict[str, Any]) -> None:
    result = service_process.start(options)
    assert result["changed"]
    socket.create_connection(("127.0.0.1", options["port"])).close()
    assert service_process.saved(Path(options["pid_file"])).pid == result["pid"]
    assert os.getsid(result["pid"]) == result["pid"]


def test_starting_again_changes_nothing_when_it_answers(options: dict[str, Any]) -> None:
    first = service_process.start(options)
    assert service_process.start(options) == {"changed": False, "pid": first["pid"]}


def test_a_running_server_that_does_not_answer_is_not_taken_for_a_started_one(options: dict[str, Any]) -> None:
    first = service_process.start(options)
    options["ready_log"] = "never written"
    with pytest.raises(service_process.ServiceError, match=f"as process {first['pid']}, but does not answer"):
        service_process.start(options)


def test_stop_ends_the_server_and_forgets_it(options: dict[str, Any]) -> None:
    pid = service_process.start(options)["pid"]
    assert service_process.stop(options) == {"changed": True, "pid": 0}
    assert not alive(pid)
    assert service_process.stop(options) == {"changed": False, "pid": 0}


def test_a_server_that_ignores_sigterm_is_killed(options: dict[str, Any]) -> None:
    rest = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(1000)"
    python(options, SERVER.format(port=options["port"], rest=rest))
    options |= {"grace_s": 0.2, "ready_log": "deaf"}
    pid = service_process.start(options)["pid"]
    service_process.stop(options)
    assert not alive(pid)


def test_a_reused_process_number_is_left_alone(options: dict[str, Any]) -> None:
    with subprocess.Popen(["sleep", "1000"]) as stranger:
        Path(options["pid_file"]).write_text(f"{stranger.pid} 12345\n")
        assert service_process.stop(options) == {"changed": False, "pid": 0}
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("content", ["", "x y\n", "99999999 1\n", "1\n"])
def test_a_pid_file_without_meaning_is_no_process(options: dict[str, Any], content: str) -> None:
    Path(options["pid_file"]).write_text(content)
    assert service_process.saved(Path(options["pid_file"])) is None


def test_a_restart_purges_what_it_is_told_and_nothing_else(options: dict[str, Any], tmp_path: Path) -> None:
    for name in ("store", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    (tmp_path / "store" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "single").touch()
    first = service_process.start(options)["pid"]
    options["purge"] = [str(tmp_path / name) for name in ("store", "single", "not there")]
    second = service_process.restart(options)["pid"]
    assert not alive(first)
    assert alive(second)
    assert not (tmp_path / "store").exists()
    assert not (tmp_path / "single").exists()
    assert (tmp_path / "kept" / "file").exists()


def test_a_port_in_use_is_named_with_its_holder(options: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", options["port"])):
        message = refused(options)
    assert message.startswith(f"port {options['port']} on 127.0.0.1 is in use by process {os.getpid()}: ")
    assert message.endswith("; stop it or choose another port")


def test_an_address_of_another_host_is_named(options: dict[str, Any]) -> None:
    options["host"] = "192.0.2.1"
    expected = f"cannot listen on 192.0.2.1 port {options['port']}: Cannot assign requested address"
    assert refused(options) == expected


def test_a_server_that_dies_at_its_start_is_reported_with_the_end_of_its_log(options: dict[str, Any]) -> None:
    Path(options["log_file"]).write_text("of an earlier start\n")
    python(options, "print('\\n'.join(f'line {n}' for n in range(100))); raise SystemExit(3)")
    message = refused(options)
    assert message.startswith(f"{sys.executable} ended at its start with status 3; its log ends:\nline 90\n")
    assert message.endswith("\nline 99")


def test_long_lines_and_call_stacks_do_not_hide_the_reason(options: dict[str, Any]) -> None:
    python(options, "print('first' + 'x' * 9000 + 'last\\n\\tat Broker.start(Broker.java)\\n\\t... 39 more')")
    log = refused(options).partition("its log ends:\n")[2]
    assert log.startswith("firstxxx")
    assert log.endswith("xxxlast")
    assert len(log) < 300


def test_an_earlier_starts_log_is_kept_but_not_blamed(options: dict[str, Any]) -> None:
    Path(options["log_file"]).write_text("of an earlier start\n")
    python(options, "raise SystemExit(3)")
    assert refused(options).endswith("; its log is empty")
    assert Path(options["log_file"]).read_text() == "of an earlier start\n"


def test_a_server_that_does_not_get_ready_is_ended_and_reported(options: dict[str, Any], tmp_path: Path) -> None:
    python(options, WAITING.format(pid_file=str(tmp_path / "its-pid")))
    options["ready_timeout_s"] = 2.0
    assert refused(options) == f"{sys.executable} is not ready after 2 s; its log ends:\nwaiting"
    assert not alive(int((tmp_path / "its-pid").read_text()))


def test_an_open_port_is_not_enough_when_an_answer_is_expected(options: dict[str, Any]) -> None:
    options |= {"ready_send": "HELLO\0", "ready_expect": "YES", "ready_timeout_s": 0.5}
    python(options, ANSWERING.format(port=options["port"], answer=b"NO"))
    assert "is not ready after 0.5 s" in refused(options)
    python(options, ANSWERING.format(port=options["port"], answer=b"YES and more"))
    options["ready_timeout_s"] = 20.0
    assert service_process.start(options)["changed"]


def test_a_program_that_is_not_there_is_named(options: dict[str, Any]) -> None:
    options["command"] = ["/no/such/program"]
    assert refused(options) == "cannot start /no/such/program: No such file or directory"


def test_an_interrupted_start_leaves_no_process(options: dict[str, Any]) -> None:
    python(options, "import time; print('waiting', flush=True); time.sleep(1000)")
    before = signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            service_process.start(options)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not Path(options["pid_file"]).exists()
    marked = [pid for pid in filter(str.isdigit, os.listdir("/proc")) if _runs(int(pid), options["command"])]
    assert marked == []


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _runs(pid: int, command: list[str]) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() == b"\0".join(map(str.encode, command)) + b"\0"
    except OSError:
        return False


def test_a_kernel_without_ipv6_has_no_table_of_its_sockets(tmp_path: Path) -> None:
    assert service_process.sockets(tmp_path / "tcp6") == []
