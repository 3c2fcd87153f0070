#!/usr/bin/python
"""Ansible module: a server as a detached process, known by a pid file."""

from __future__ import annotations

import errno
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.private_files import open_file, private_folder, replace_file

DOCUMENTATION = """
module: service_process
short_description: start or stop a server as a detached process
description:
  - Starting checks that the port is free, starts the command detached from Ansible, and returns when the
    server answers.  A server that ends or is not up in time fails the task with the end of its log.
  - Stopping finds the process by its pid file, checks that the number was not reused, and ends it.
options:
  state:
    description: What to bring about.
    choices: [started, stopped, restarted]
    required: true
    type: str
  pid_file:
    description: Holds the process's number and its start time.
    required: true
    type: path
  purge:
    description: Files and folders to remove between stop and start.
    type: list
    elements: path
    default: []
  command:
    description: The program and its arguments.  No shell reads it.
    type: list
    elements: str
  environment:
    description: Variables added to the process's environment.
    type: dict
    default: {}
  chdir:
    description: Working directory of the process.
    type: path
  log_file:
    description: Takes the process's output, after what it holds already.
    type: path
  host:
    description: Address at which the server will listen.
    type: str
    default: 127.0.0.1
  port:
    description: TCP port at which the server will listen; 0 means that it listens nowhere.
    type: int
    default: 0
  ready_send:
    description: Sent to the port to see whether the server answers.  Without it an open port is enough.
    type: str
    default: ""
  ready_expect:
    description: What the server's answer starts with.
    type: str
    default: ""
  ready_log:
    description: Text that the log holds when the server is ready.
    type: str
    default: ""
  ready_timeout_s:
    description: Limit for the start.
    type: float
    default: 30
  grace_s:
    description: How long a process may take to end after SIGTERM before SIGKILL.
    type: float
    default: 5
author: Airwire
"""

RETURN = """
pid:
  description: The server's process, 0 when there is none.
  type: int
  returned: success
"""

POLL_S = 0.02
LOG_LINES, LOG_COLUMNS = 10, 240
CALL_STACK = re.compile(r"\s+(at |\.\.\. \d+ )")


class ServiceError(Exception):
    """The task fails with this message."""


class Process(NamedTuple):
    """A process and its start time in clock ticks since boot: together unique, a bare number is not."""

    pid: int
    started: int

    def save(self, pid_file: Path) -> None:
        """Write the pid file."""
        with private_folder(pid_file.parent) as folder:
            replace_file(folder, pid_file.name, f"{self.pid} {self.started}\n".encode())

    def alive(self) -> bool:
        """Whether this very process still runs (a zombie does not)."""
        state, started = _stat(self.pid)
        return started == self.started and state not in "ZX"

    def end(self, grace_s: float) -> None:
        """SIGTERM, and SIGKILL after `grace_s` seconds."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if not self.alive():  # the number belongs to another process
                return
            for number, limit_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 10.0)):
                signal.pidfd_send_signal(handle, number)
                if select.select([handle], [], [], limit_s)[0]:
                    return
            raise ServiceError(f"process {self.pid} does not end, not even by SIGKILL")
        except ProcessLookupError:
            return
        finally:
            os.close(handle)


def _stat(pid: int) -> tuple[str, int]:
    """State letter and start time of a process; ("X", -1) when there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "X", -1
    return fields[0], int(fields[19])


def saved(pid_file: Path) -> Process | None:
    """The live process that a pid file names; whoever else wrote that file does not choose whom we end."""
    if not os.path.lexists(pid_file):
        return None
    try:
        with private_folder(pid_file.parent) as folder:
            handle = open_file(folder, pid_file.name, os.O_RDONLY)
        with os.fdopen(handle) as file:
            pid, started = map(int, file.read().split())
    except (FileNotFoundError, ValueError):
        return None
    process = Process(pid, started)
    return process if process.alive() else None


def holder(port: int) -> str:
    """Who listens on a TCP port of this network namespace, as far as /proc shows it."""
    inodes = {
        f"socket:[{fields[9]}]"
        for table in ("tcp", "tcp6")
        for fields in map(str.split, sockets(Path("/proc/self/net") / table))
        if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port
    }
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(descriptor) in inodes:
                process = descriptor.parents[1]
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                return f"process {process.name}: {command.strip()[:200]}"
        except OSError:  # it ended meanwhile, or is another user's
            continue
    return "a process that cannot be seen from here"


def sockets(table: Path) -> list[str]:
    """The lines of a table of sockets; none where the kernel was booted without IPv6 and has no such table."""
    try:
        return table.read_text().splitlines()[1:]
    except FileNotFoundError:
        return []


def check_port(host: str, port: int) -> None:
    """ServiceError unless a server could listen there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ServiceError(
                    f"port {port} on {host} is in use by {holder(port)}; stop it or choose another port"
                ) from None
            raise ServiceError(f"cannot listen on {host} port {port}: {error.strerror}") from None


def answers(host: str, port: int, send: bytes, expect: bytes) -> bool:
    """Whether a server takes a connection and, when asked something, answers as expected."""
    try:
        with socket.create_connection((host, port), timeout=1.0) as probe:
            probe.sendall(send)
            got = b""
            while len(got) < len(expect) and (chunk := probe.recv(4096)):
                got += chunk
            return got.startswith(expect)
    except OSError:
        return False


class Log(NamedTuple):
    """What a server has written since its start: the open log file from `begin` on."""

    handle: int
    begin: int

    def text(self) -> str:
        """All of it."""
        size = os.fstat(self.handle).st_size - self.begin
        return os.pread(self.handle, max(size, 0), self.begin).decode(errors="replace")

    def end(self) -> str:
        """Its last lines, without Java's call stacks, as the end of a message."""
        lines = [line for line in self.text().splitlines() if not CALL_STACK.match(line)][-LOG_LINES:]
        return "its log ends:\n" + "\n".join(map(_clip, lines)) if lines else "its log is empty"


def _clip(line: str) -> str:
    """A line of bearable length: what is wrong stands at its begin or at its end."""
    half = LOG_COLUMNS // 2
    return line if len(line) <= LOG_COLUMNS else f"{line[:half]} ... {line[-half:]}"


@contextmanager
def opened_log(path: Path) -> Iterator[int]:
    """The log file, to be read and added to."""
    with private_folder(path.parent) as folder:
        handle = open_file(folder, path.name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        os.set_blocking(handle, True)  # as the server expects its output to be
        yield handle
    finally:
        os.close(handle)


def launch(options: dict[str, Any], log: int) -> subprocess.Popen[bytes]:
    """Start the command in a session of its own, with its output in the log."""
    try:
        return subprocess.Popen(
            options["command"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=options["chdir"],
            env={**os.environ, **{name: str(value) for name, value in options["environment"].items()}},
            start_new_session=True,
        )
    except OSError as error:
        raise ServiceError(f"cannot start {options['command'][0]}: {error.strerror}") from None


def ready(options: dict[str, Any], log: Log) -> bool:
    """Whether the started server shows what was asked as the sign of its readiness."""
    if options["ready_log"] and options["ready_log"] not in log.text():
        return False
    send, expect = options["ready_send"].encode(), options["ready_expect"].encode()
    return not options["port"] or answers(options["host"], options["port"], send, expect)


def start(options: dict[str, Any]) -> dict[str, Any]:
    """Bring the server up; returns the task's result."""
    with opened_log(Path(options["log_file"])) as handle:
        return _start(options, Path(options["pid_file"]), handle)


def _start(options: dict[str, Any], pid_file: Path, handle: int) -> dict[str, Any]:
    if running := saved(pid_file):
        if not ready(options, Log(handle, 0)):
            raise ServiceError(f"it runs already, as process {running.pid}, but does not answer; stop it first")
        return {"changed": False, "pid": running.pid}
    if options["port"]:
        check_port(options["host"], options["port"])
    log = Log(handle, os.fstat(handle).st_size)
    server = launch(options, handle)
    process = Process(server.pid, _stat(server.pid)[1])
    try:
        process.save(pid_file)
        _wait_until_ready(server, options, log)
    except BaseException:
        process.end(0.5)
        pid_file.unlink(missing_ok=True)
        raise
    return {"changed": True, "pid": process.pid}


def _wait_until_ready(server: subprocess.Popen[bytes], options: dict[str, Any], log: Log) -> None:
    program, limit_s = options["command"][0], options["ready_timeout_s"]
    deadline = time.monotonic() + limit_s
    while not ready(options, log):
        if (status := server.poll()) is not None:
            raise ServiceError(f"{program} ended at its start with status {status}; {log.end()}")
        if time.monotonic() > deadline:
            raise ServiceError(f"{program} is not ready after {limit_s:g} s; {log.end()}")
        time.sleep(POLL_S)


def stop(options: dict[str, Any]) -> dict[str, Any]:
    """End the server if it runs; returns the task's result."""
    pid_file = Path(options["pid_file"])
    running = saved(pid_file)
    if running:
        running.end(options["grace_s"])
    pid_file.unlink(missing_ok=True)
    return {"changed": running is not None, "pid": 0}


def restart(options: dict[str, Any]) -> dict[str, Any]:
    """Stop, remove what is to be purged, start; returns the task's result."""
    stop(options)
    for path in map(Path, options["purge"]):
        if not os.path.lexists(path):
            continue
        with private_folder(path.parent):  # nobody else could have put something there to be removed
            pass
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return start(options)


ACTIONS = {"started": start, "stopped": stop, "restarted": restart}


# What tells Ansible which options there are.
OPTIONS: dict[str, Any] = {
    "argument_spec": {
        "state": {"type": "str", "choices": list(ACTIONS), "required": True},
        "pid_file": {"type": "path", "required": True},
        "purge": {"type": "list", "elements": "path", "default": []},
        "command": {"type": "list", "elements": "str"},
        "environment": {"type": "dict", "default": {}},
        "chdir": {"type": "path"},
        "log_file": {"type": "path"},
        "host": {"type": "str", "default": "127.0.0.1"},
        "port": {"type": "int", "default": 0},
        "ready_send": {"type": "str", "default": ""},
        "ready_expect": {"type": "str", "default": ""},
        "ready_log": {"type": "str", "default": ""},
        "ready_timeout_s": {"type": "float", "default": 30.0},
        "grace_s": {"type": "float", "default": 5.0},
    },
    "required_if": [("state", state, ["command", "log_file"]) for state in ("started", "restarted")],
}


def result(options: dict[str, Any]) -> dict[str, Any]:
    """The task's result."""
    try:
        return ACTIONS[options["state"]](options)
    except (ServiceError, OSError) as failure:
        return {"failed": True, "msg": str(failure)}


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(**OPTIONS)
    module.exit_json(**result(module.params))


if __name__ == "__main__":
    main()
