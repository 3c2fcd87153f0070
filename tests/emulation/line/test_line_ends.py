"""A line that cannot begin, or ends before its time, says so at once, and the ports work without it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest
from emulated_links import ends, profile

from emulation.kernel.namespace import KernelError, in_namespace, run_tool
from emulation.line import idlepoll, serving
from emulation.line.link import LineLink
from emulation.line.request import Late
from emulation.link import link
from emulation.plan import linkplan
from emulation.proof.probe import MIN_FRAME, probe_path
from experiments.trial.observers.processes import processes, trees
from experiments.trial.observers.softnet import port_drops
from topologies.network import Network
from topologies.star import star

pytestmark = [pytest.mark.root]

ROOT = Path(__file__).parents[3]
PORT = 9  # discard: nobody listens


@pytest.fixture
def network() -> Iterator[Network]:
    with star(stations=2, congestion_control="reno") as built:
        yield built


@contextmanager
def applied(network: Network, made_by: str = "line", **settings: object) -> Iterator[link.Link]:
    """A link without a rate, unless settings say otherwise."""
    plan = linkplan.plan(
        profile(**settings),
        list(network.ports.stations),
        seed=1,
        seconds=5,
        timeline_s=5,
        made_by=made_by,  # type: ignore[arg-type]
    )
    with link.applied(plan, network.ports) as one:
        yield one


def pid_of(one: link.Link) -> int:
    assert isinstance(one, LineLink)
    return one.processes["line"]


def late_of(one: link.Link) -> Late:
    assert isinstance(one, LineLink)
    return one.late()


def crossed(network: Network) -> int:
    """How many of 20 packets get from the station to the server."""
    where = ends(network)
    with probe_path(from_pid=where.station_pid, to_pid=where.wired_pid, to_address=where.wired_address) as path:
        path.wait(0.5)
        return len(path.send([MIN_FRAME] * 20).number)


def is_line(process: psutil.Process) -> bool:
    """Whether a process is a line's, or keeps its processor awake, and has not ended."""
    try:
        return "emulation.line.process" in process.cmdline() or process.name() == idlepoll.COMMAND
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


def assert_bare(network: Network) -> None:
    """Nothing of a line is left, and packets cross the access point as if there never had been one."""
    there = run_tool(["ip", "link"], pid=network.ports.pid) + run_tool(["tc", "qdisc"], pid=network.ports.pid)
    assert "line-" not in there
    assert "clsact" not in there
    assert not [child for child in psutil.Process().children(recursive=True) if is_line(child)]
    assert crossed(network) == 20


def send(network: Network, frames: int, size: int = 100) -> None:
    """Packets from a station to the server, as fast as it can."""
    station, server = network.stations[0], network.servers[0]
    with in_namespace(station.pid, partial(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)) as sender:
        for _ in range(frames):
            sender.sendto(bytes(size), (server.address, PORT))


def settled(holds: Callable[[], bool]) -> bool:
    """Whether something becomes true; a machine may be slow."""
    event, left = threading.Event(), 600
    while not holds() and left:
        event.wait(0.05)
        left -= 1
    return left > 0


@pytest.mark.parametrize(
    ("drivers", "quota", "wanted", "polled", "sleepy"),
    [
        (False, False, True, True, ""),
        (False, False, False, False, ""),
        (False, True, True, False, "quota"),
        (True, False, True, False, ""),
    ],
    ids=["a guest's", "that of a machine that others use", "that of a container with a quota", "one with a driver"],
)
def test_a_processor_is_kept_from_halting_where_that_takes_a_process(  # noqa: PLR0917 - as the columns are
    network: Network,
    monkeypatch: pytest.MonkeyPatch,
    drivers: bool,
    quota: bool,
    wanted: bool,
    polled: bool,
    sleepy: str,
) -> None:
    monkeypatch.setattr(idlepoll, "drivers_sleep", lambda: drivers)
    monkeypatch.setattr("emulation.kernel.quota.is_set", lambda: quota)
    with serving.serving(idle_poll=wanted) as line:
        plan = linkplan.plan(profile(), list(network.ports.stations), seed=1, seconds=5, timeline_s=5, made_by="line")
        for name in ("one", "two"):
            with link.applied(plan, network.ports, line, name):
                pass
        assert (line.idle_polled is not None) is polled
        if line.idle_polled:
            assert settled(lambda: psutil.Process(line.idle_polled).name() == idlepoll.COMMAND)
        assert (line.sleepy == "") is (sleepy == "")
        assert sleepy in line.sleepy
        if line.idle_polled:
            os.kill(line.idle_polled, signal.SIGKILL)
            assert settled(lambda: line.idle_polled is None), "nor is it said that one does"
            assert line.sleepy == "the process that kept the line's processor awake ended (status -9)"
    assert_bare(network)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_line_that_is_killed_says_by_what_and_leaves_the_ports_bare(network: Network, number: signal.Signals) -> None:
    with applied(network) as one:
        one.check()
        assert crossed(network) == 20
        os.kill(pid_of(one), number)
        for ask in (one.check, one.stage_counts, one.renumber, lambda: late_of(one)):  # answered alike, at once
            with pytest.raises(KernelError, match=rf"\(pid \d+\) ended, and .* crosses the link \({number.name}\)"):
                ask()
        assert crossed(network) == 0
    assert_bare(network)


def test_a_line_that_hangs_is_given_up_and_ended(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_ANSWER_LIMIT_S", 1.0)
    with applied(network) as one:
        os.kill(pid_of(one), signal.SIGSTOP)
        with pytest.raises(KernelError, match=r"\(pid \d+\) has not answered for 1 s"):
            one.check()
    assert_bare(network)


def test_a_pause_that_is_shorter_is_waited_for(network: Network) -> None:
    with applied(network) as one:
        os.kill(pid_of(one), signal.SIGSTOP)
        resume = subprocess.Popen(["sh", "-c", f"sleep 0.7; kill -CONT {pid_of(one)}"])
        one.check()
        resume.wait()
        assert late_of(one).reading.worst_ns > 500_000_000
        assert crossed(network) == 20
    assert_bare(network)


@pytest.mark.parametrize("made_by", ["line", "tc"])
def test_a_port_that_goes_away_is_named(network: Network, made_by: str) -> None:
    with applied(network, made_by, rate="1Mbit/s") as one:
        one.check()
        run_tool(["ip", "link", "del", "port-sta2"], pid=network.ports.pid)
        for asked in (one.check, one.stage_counts):
            with pytest.raises(KernelError, match="interface port-sta2 of the access point has gone"):
                asked()
    assert_bare(network)


def test_a_device_of_the_line_that_goes_away_ends_it_with_its_name(network: Network) -> None:
    with applied(network) as one:
        run_tool(["ip", "link", "del", "line-1"], pid=network.ports.pid)
        assert settled(lambda: psutil.Process(pid_of(one)).status() == psutil.STATUS_ZOMBIE)
        with pytest.raises(KernelError, match=r"status 1: line-1, a device of the line at link, has gone \(.+\)\)"):
            one.check()
    assert_bare(network)


def test_frames_above_the_mtu_are_counted_with_their_size(network: Network) -> None:
    station = network.stations[0]
    for pid, interface in ((station.pid, station.interface), (network.ports.pid, network.ports.stations["sta1"])):
        run_tool(["ip", "link", "set", interface, "mtu", "4000"], pid=pid)
    with applied(network) as one:
        send(network, 1, size=1472)
        send(network, 3, size=1486)
        one.queue_counts()
        late = late_of(one)
        assert (late.too_large, late.largest) == (3, 1528)
    assert_bare(network)


def test_frames_that_a_port_does_not_take_are_counted(network: Network) -> None:
    with applied(network) as one:
        run_tool(["ip", "link", "set", "line-0", "down"], pid=network.ports.pid)
        send(network, 5)

        assert settled(lambda: late_of(one).refused == 5)
    assert_bare(network)


def test_what_overflows_before_a_line_that_does_not_read_is_among_its_devices_drops(network: Network) -> None:
    with applied(network) as one:
        assert {"line-0", "line-1", "line-2", "wired", "port-sta1", "port-sta2"} == one.devices

        def drops() -> int:
            return in_namespace(network.ports.pid, lambda: port_drops(set(one.devices)))

        assert drops() == 0
        os.kill(pid_of(one), signal.SIGSTOP)
        send(network, 5000)
        os.kill(pid_of(one), signal.SIGCONT)
        assert drops() == 1000
    assert_bare(network)


def test_a_lines_process_is_of_the_tree_of_who_applied_it(network: Network) -> None:
    """So a trial's line is the trial's own work, and no foreign load."""
    with applied(network) as one:
        assert isinstance(one, LineLink)
        found = processes()
        assert pid_of(one) in trees(found, [os.getpid()])
        assert "python" in found[pid_of(one)].name


POOR = {
    "no /dev/net/tun": (
        ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "-"],
        "opening /dev/net/tun for the line: No such file or directory; load it with: modprobe tun, or use --medium tc",
    ),
    "no real-time class": (
        ["prlimit", "--rtprio=0", "setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"],
        (
            "no real-time class for the line's process (Operation not permitted), which needs CAP_SYS_NICE; "
            "run as root, or use --medium tc"
        ),
    ),
    "no locked memory": (
        ["prlimit", "--memlock=65536", "setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"],
        "no locked memory for the line's process (Cannot allocate memory); run as root, or use --medium tc",
    ),
}


@pytest.mark.parametrize("lacks", POOR)
def test_a_machine_that_lacks_what_a_line_needs_is_told_what(lacks: str) -> None:
    words, message = POOR[lacks]
    run = subprocess.run(
        [*words, sys.executable, str(Path(__file__).parents[2] / "support" / "line_on_a_poor_machine.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert (run.returncode, run.stdout, run.stderr) == (1, "", message + "\n")


def test_a_machine_that_lacks_nothing_has_a_line() -> None:
    run = subprocess.run(
        [sys.executable, str(Path(__file__).parents[2] / "support" / "line_on_a_poor_machine.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "ready\n", "")


def resident_kib(pid: int, field: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def test_answering_maps_no_memory(network: Network) -> None:
    """The line's memory is locked: mapping some takes as long as filling it, and frames wait meanwhile."""
    with applied(network) as one:
        pid = pid_of(one)
        one.queue_counts()  # the first answer makes what the others use
        late_of(one)
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins anew, proc(5)
        before = resident_kib(pid, "VmRSS")
        for _ in range(10):
            one.queue_counts()
            late_of(one)
        assert resident_kib(pid, "VmHWM") - before < 512
