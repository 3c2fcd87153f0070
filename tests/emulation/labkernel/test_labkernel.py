"""The lab kernel, booted for real: a command in it behaves like the command, and nothing of it is left behind."""

from __future__ import annotations

import hashlib
import os
import pty
import select
import signal
import stat
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from lab_kernels import boots, call, environment, family, gone, lab, running

from emulation import labkernel

pytestmark = pytest.mark.labkernel

ROOT = Path(__file__).parents[3]
NOBODY = 65534


@boots
def test_streams_are_apart_and_the_status_is_the_commands(scratch: Path) -> None:
    done = lab(scratch, "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")


@boots
def test_a_signal_that_ends_the_command_is_in_the_status(scratch: Path) -> None:
    assert lab(scratch, "sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL


@boots
def test_a_command_that_is_not_there_is_named(scratch: Path) -> None:
    done = lab(scratch, "no-such-command")
    assert done.returncode == 127
    assert b"no-such-command" in done.stderr


@boots
def test_5_megabytes_arrive_unchanged_both_ways(scratch: Path) -> None:
    data = os.urandom(5_000_000)
    done = lab(scratch, "cat", text=data)
    assert done.returncode == 0
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()


@boots
def test_streams_are_live_and_the_end_of_input_is_passed_on(scratch: Path) -> None:
    with running(scratch, "sh", "-c", "echo ready; cat; echo end") as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"one\n"
        process.stdin.close()
        assert process.stdout.read() == b"end\n"
    assert process.returncode == 0


@boots
def test_who_stops_reading_stops_the_command(scratch: Path) -> None:
    with running(scratch, "sh", "-c", "echo ready; exec yes") as process:
        assert process.stdout
        process.stdout.close()
        assert process.wait(30) == 128 + signal.SIGPIPE


@boots
def test_the_guest_is_root_and_has_what_experiments_need(scratch: Path) -> None:
    script = """set -e
    id -u; uname -r; echo $AIRWIRE_KERNEL
    tc qdisc add dev lo root netem delay 10ms
    tc qdisc show dev lo
    nft add table bridge t
    nft 'add chain bridge t c { type filter hook forward priority 0; }'
    nft add rule bridge t c numgen inc mod 9 3 drop
    ip netns add n && ip -n n link add air type ifb
    echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
    /usr/bin/python3 -c "$1"
    """
    westwood = "import socket; s = socket.socket(); s.setsockopt(6, 13, b'westwood'); print(s.getsockopt(6, 13, 8))"
    done = lab(scratch, "sh", "-c", script, "-", westwood)
    assert done.stderr == b""
    uid, release, kernel, queue, control = done.stdout.decode().splitlines()
    assert (uid, release, kernel) == ("0", labkernel.release(), "lab")
    assert "netem" in queue
    assert "delay 10ms" in queue
    assert control == "b'westwood'"


@boots
def test_the_guest_has_the_hosts_time(scratch: Path) -> None:
    before = time.time()
    done = lab(scratch, "sh", "-c", "read line; date +%s.%N", text=b"\n")
    assert before - 1 < float(done.stdout) < time.time() + 1


@boots
@pytest.mark.parametrize("user", [0, NOBODY], ids=["root", "ordinary user"])
def test_only_what_is_written_to_the_given_folder_reaches_the_host(scratch: Path, shared: Path, user: int) -> None:
    if user and (os.geteuid() or not ROOT.stat().st_mode & stat.S_IXOTH or ROOT.is_relative_to("/root")):
        pytest.skip("needs root, and a project folder that everybody may read")
    shared.chmod(0o755)
    kept, closed = shared / "kept", shared / "closed"
    for folder in (kept, closed):
        folder.mkdir()
        os.chown(folder, user, user)
    (closed / "note").write_text("seen")
    elsewhere = f"/etc/airwire-test-{os.getpid()}"
    script = f"""id -u; cat "$2/note"; echo kept >"$1/file"; echo lost >{elsewhere}; echo lost >/tmp/lost-{os.getpid()}
    (echo lost >"$2/file") 2>/dev/null || echo refused; cat {elsewhere}; tc qdisc add dev lo root netem delay 1ms"""
    options = ["--write", str(kept), "--read", str(closed)]
    done = lab(scratch, "sh", "-c", script, "-", str(kept), str(closed), options=options, user=user)
    assert (done.stdout, done.stderr, done.returncode) == (b"0\nseenrefused\nlost\n", b"", 0)
    assert (kept / "file").read_text() == "kept\n"
    assert (kept / "file").stat().st_uid == user
    assert [one.name for one in closed.iterdir()] == ["note"]
    assert not Path(elsewhere).exists()
    assert not Path(f"/tmp/lost-{os.getpid()}").exists()  # noqa: S108 - that is the question


@boots
def test_ctrl_c_ends_the_command_and_everything_else(scratch: Path) -> None:
    with running(scratch, "sh", "-c", "trap 'echo tidy; exit 130' INT; echo ready; sleep 100 & wait") as process:
        left = family(process.pid)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=120)
    assert (process.returncode, out, errors) == (130, b"tidy\n", b"")
    assert gone(left)


@boots
def test_a_killed_proxy_leaves_nothing(scratch: Path) -> None:
    with running(scratch, "sh", "-c", "echo ready; sleep 100") as process:
        left = family(process.pid)
        process.kill()
        process.communicate(timeout=120)
    assert gone(left)


@boots
def test_a_killed_guard_leaves_no_process(scratch: Path) -> None:
    with running(scratch, "sh", "-c", "echo ready; sleep 100") as process:
        left = family(process.pid)
        psutil.Process(process.pid).children()[0].kill()
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 125
    assert b"has ended by itself" in errors
    assert gone(left)


@boots
def test_a_signal_during_the_boot_ends_it(scratch: Path) -> None:
    process = subprocess.Popen(call("sleep", "100"), env=environment(scratch))
    while not (children := psutil.Process(process.pid).children(recursive=True)):
        time.sleep(0.01)
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGTERM
    assert gone(children)


@boots
def test_time_that_is_up_is_124(scratch: Path) -> None:
    done = lab(scratch, "sh", "-c", "trap 'echo asked; exit 3' TERM; sleep 100 & wait", options=["--timeout", "3"])
    assert (done.returncode, done.stdout) == (124, b"asked\n")


@boots
def test_a_panic_is_told_with_its_reason(scratch: Path) -> None:
    done = lab(scratch, "sh", "-c", "echo c >/proc/sysrq-trigger")
    assert done.returncode == 125
    assert b"kernel panic: sysrq triggered crash" in done.stderr


@boots
def test_the_console_is_kept_when_asked_for(scratch: Path, shared: Path) -> None:
    console = shared / "console"
    assert lab(scratch, "sh", "-c", "echo hello >/dev/kmsg", options=["--console", str(console)]).returncode == 0
    assert console.exists()


@contextmanager
def typing_at(terminal: int) -> Iterator[Callable[[bytes, bytes], None]]:
    """Types a line and reads until its answer; at the end the terminal is gone, whatever happened."""
    read = b""

    def ask(question: bytes, answer: bytes) -> None:
        nonlocal read
        os.write(terminal, question)
        while answer not in read:
            assert select.select([terminal], [], [], 30)[0], read
            read += os.read(terminal, 4096)
        read = read.partition(answer)[2]

    try:
        yield ask
    finally:
        os.close(terminal)


@boots
def test_a_terminal_is_a_terminal(scratch: Path) -> None:
    pid, terminal = pty.fork()
    if not pid:
        os.execve(sys.executable, call("bash", "--norc", "-i"), environment(scratch) | {"PS1": "> ", "TERM": "dumb"})  # noqa: S606
    # The job itself says that it runs, so that a key is for it and not for the shell. It is bash: dash forks with
    # vfork, and a key that stops the child before its exec leaves the parent running (3 of 60 tries).
    job = b"bash -c 'trap \"echo resumed\" CONT; echo busy; while :; do sleep 0.1; done'\n"
    try:
        with typing_at(terminal) as ask:
            termios.tcsetwinsize(terminal, (33, 101))
            ask(b"", b"# ")
            ask(b"stty size\n", b"\n33 101")
            termios.tcsetwinsize(terminal, (40, 90))
            os.kill(pid, signal.SIGWINCH)
            ask(b"until stty size | grep -x '40 90'; do sleep 0.1; done\n", b"\n40 90")
            ask(job, b"\nbusy")
            ask(b"\x03", b"^C")
            ask(b"echo status $?\n", b"\nstatus 130")
            ask(job, b"\nbusy")
            ask(b"\x1a", b"Stopped")
            ask(b"fg\n", b"\nresumed")
            ask(b"\x03", b"^C")
            ask(b"exit 5\n", b"\nexit")
            with suppress(OSError):  # how a terminal ends
                while os.read(terminal, 4096):
                    pass
    finally:
        status = os.waitpid(pid, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 5


@boots
def test_a_core_is_for_one_and_free_when_its_holder_has_died(scratch: Path) -> None:
    core = max(os.sched_getaffinity(0))
    with running(scratch, "sh", "-c", "echo ready; sleep 100", options=["--cpu", str(core)]) as first:
        second = lab(scratch, "true", options=["--cpu", str(core), "--wait", "0.2"])
        assert second.returncode == 125
        assert f"other lab kernels have had core {core}".encode() in second.stderr
        assert {one.cpu_affinity()[0] for one in family(first.pid)} == {core}
        first.kill()
    assert lab(scratch, "true", options=["--cpu", str(core), "--wait", "30"]).returncode == 0


@boots
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core: it stays everybody's")
@pytest.mark.parametrize(("which", "scheduled"), [(max, os.SCHED_RR), (min, os.SCHED_OTHER)])
def test_it_goes_before_all_others_on_its_core_but_not_on_the_first(
    scratch: Path, which: Callable[[set[int]], int], scheduled: int
) -> None:
    core = str(which(os.sched_getaffinity(0)))
    with running(scratch, "sh", "-c", "echo ready; sleep 100", options=["--cpu", core, "--wait", "60"]) as one:
        guard, *kernel = family(one.pid)
        assert os.sched_getscheduler(guard.pid) == os.SCHED_OTHER
        assert {os.sched_getscheduler(process.pid) for process in kernel} == {scheduled}
        one.terminate()
