"""`lab shell`: a command behind a link."""

from __future__ import annotations

import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from lab.main import app

pytestmark = [pytest.mark.root, pytest.mark.labkernel]

ROOT = Path(__file__).parents[2]
LAB = [sys.executable, "-P", "-m", "lab", "shell"]
# Where `-m lab` is found from any folder.
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
SERVE = (
    f"{sys.executable} -c \"import socket; s = socket.create_server(('0.0.0.0', 7000)); s.accept()[0].send(b'hello')\""
)


def shell(*words: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LAB, *words], capture_output=True, text=True, cwd=folder, env=ENVIRONMENT, timeout=600, check=False
    )


def assert_proven(said: str) -> None:
    """Each quantity was measured both ways; whether it holds is the machine's affair, too."""
    found = [line.split()[:3] for line in said.splitlines() if line.startswith(("ok ", "NO "))]
    assert sorted(words[1:] for words in found) == sorted(
        [way, quantity]
        for way in ("uplink", "downlink")
        for quantity in ("delay", "delay", "rate", "reordered", "losses", "duplicates")  # of small and of full frames
    ), said


PROFILE = """
name: own
description: for tests
source: made for tests
medium: shared
rate: 2 Mbit/s
loss: {model: recorded, packets: 1000, lost: lost.txt}
stations: {sta1: {loss: 0}}
"""


@pytest.mark.parametrize("kernel", ["host", "lab"])
def test_a_command_behind_a_profile_of_ones_own(kernel: str, tmp_path: Path) -> None:
    """Its exit status, its files and its environment are the user's; modules of the same name as ours are not taken."""
    (tmp_path / "own.yaml").write_text(PROFILE)
    (tmp_path / "lost.txt").write_text("1 2 3\n")
    (tmp_path / "shlex.py").write_text("raise SystemExit(99)\n")
    script = "echo $WIRED $MINE; mktemp >/dev/null && echo kept > here; exit 7"
    words = [str(tmp_path / "own.yaml"), "--kernel", kernel, "--prove", "--", "sh", "-c", script]
    done = subprocess.run(
        [*LAB, *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=ENVIRONMENT | {"MINE": "yes"},
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, "10.77.0.1 yes\n"), done.stderr
    assert_proven(done.stderr)
    assert (tmp_path / "here").read_text() == "kept\n"


def test_a_wired_command_serves_meanwhile_and_ends_with_it() -> None:
    # A server that takes long to start, on a busy machine, is not waited for: try until it is there.
    connect = (
        "import contextlib, socket, sys\n"
        "while True:\n"
        "    with contextlib.suppress(ConnectionRefusedError):\n"
        "        print(socket.create_connection((sys.argv[1], 7000)).recv(10))\n"
        "        break\n"
    )
    done = shell("wireline-100m", "--wired", SERVE, "--", sys.executable, "-c", connect, "$WIRED")
    assert (done.returncode, done.stdout) == (0, "b'hello'\n"), done.stderr


def test_a_wired_command_that_fails_or_cannot_be_read_is_told() -> None:
    done = shell("wireline-100m", "--wired", "nc -l 'x", "--", "true")
    assert (done.returncode, '--wired "nc -l \'x": No closing quotation' in done.stderr) == (2, True), done.stderr
    done = shell("wireline-100m", "--wired", "false", "--", "true")
    assert done.returncode == 125
    assert "--wired false: ended with status 1" in done.stderr


def test_the_link_is_the_profiles() -> None:
    done = shell("geo-satellite", "--", "ping", "-c", "2", "-q", "$WIRED")
    assert done.returncode == 0, done.stderr
    fastest = float(done.stdout.rpartition("= ")[2].split("/")[0])
    assert fastest > 520


def test_the_line_makes_the_link_when_asked() -> None:
    """On the machine's own kernel, whether that has netem or not: a round trip of two delays, and of transmissions."""
    script = 'test -z "$AIRWIRE_KERNEL" && ping -c 2 -q $WIRED'
    done = shell("geo-satellite", "--medium", "line", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    fastest = float(done.stdout.rpartition("= ")[2].split("/")[0])
    assert fastest > 520


def test_a_command_in_a_topology_knows_all_nodes_and_reaches_each() -> None:
    """Through two routers: the first hop, the second, the servers; the wired node is the first of these."""
    script = (
        'for hop in 1 2 3; do ping -c 1 -t $hop -W 60 "$SERVER1" | grep -o "rom [0-9.]*"; done; echo "$WIRED"; on;'
        "on r2 ip -o -4 address | grep -o 'r2-eth0.*/16'; on nobody true"
    )
    words = ["--topology", "chain routers=2 servers=2 link=wireline-10m links.link2=lte", "--stations", "2"]
    done = shell("nistnet-80211", *words, "--on", "sta2", "--", "sh", "-c", script)
    assert done.returncode == 2, done.stderr
    assert done.stdout.split("\n") == [
        *("rom 10.77.0.1", "rom 10.76.0.2", "rom 10.79.0.1", "10.79.0.1"),
        *("server1 10.79.0.1", "server2 10.79.0.2", "r1 10.76.0.1", "r2 10.76.0.2", "sta1 10.77.0.2", "sta2 10.77.0.3"),
        "r2-eth0    inet 10.78.0.1/16",
        "",
    ]
    assert done.stderr == "on: there is no node 'nobody', but server1, server2, r1, r2, sta1, sta2\n"


def test_a_medium_without_a_wired_side_is_proven_between_its_stations() -> None:
    done = shell("nistnet-80211", "--topology", "peers", "--stations", "2", "--prove", "--", "true")
    assert done.returncode == 0, done.stderr
    found = [line.split()[2] for line in done.stderr.splitlines() if line.startswith(("ok ", "NO "))]
    assert {"delay", "rate", "losses"} <= set(found), done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--congestion-control BBR", "--congestion-control 'BBR': "),
        ("--topology ring", "--topology 'ring': kind 'ring' is not one of cells, chain, mesh, peers, star, tree"),
        ("--topology chain", "--topology 'chain': link: is missing"),
        ("--topology 'star 2'", "--topology 'star 2': '2' is not KEY=VALUE"),
        ("--topology 'star servers=x'", "--topology 'star servers=x': servers: has to be an integer"),
        ("--topology 'star a=1'", "'a' is no key of topology star, which has kind, servers"),
        ("--topology 'chain link=lte link=lte'", "'link=lte': 'link' has a value already; each key is given once"),
        ("--topology 'star kind=chain'", "'kind=chain': 'kind' has a value already"),
        ("--topology 'chain links=lte links.link1=lte'", "'links.link1=lte': 'links' has a value already"),
        ("--topology 'chain links.link1=lte links=lte'", "'links=lte': 'links' has a value already"),
        ("--topology 'chain link=nowhere'", "no link profile 'nowhere'"),
        ("--topology 'chain link=lte links.link9=lte'", "--topology: links: 'link9' is not one of link1"),
        ("--topology 'cells cells=3'", "--topology: 3 media need 3 stations or more, not 1"),
        ("--on sta2", "--on 'sta2': there is no such node, but server, sta1"),
    ],
)
def test_a_network_that_there_is_none_of_is_told(words: str, told: str) -> None:
    done = CliRunner().invoke(app, ["shell", "wireline-10m", *shlex.split(words), "--", "true"])
    assert done.exit_code == 2
    assert told in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("more", "topology", "told"),
    [
        ("stations: {sta3: {loss: 0}}", "", "for sta3, and there is 1 station: say --stations"),
        ("timeline: [{at: 1, outage: 1, stations: [sta2]}]", "", "for sta2, and there is 1 station: say --stations"),
        ("stations: {sta1: {loss: 0}}", "chain link=own.yaml", "has settings for single stations, of which"),
        ("timeline: [{at: 1, outage: 1}]", "chain link=own.yaml", "has a timeline, which only"),
    ],
    ids=["station", "event's station", "link of stations", "link that changes"],
)  # fmt: skip
def test_what_a_profile_has_no_place_for_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, topology: str, told: str
) -> None:
    own = f"{{name: own, description: d, source: s, medium: shared, rate: 2 Mbit/s, {more}}}"
    (tmp_path / "own.yaml").write_text(own)
    monkeypatch.chdir(tmp_path)
    words = ["wireline-10m", "--topology", topology] if topology else ["own.yaml"]
    done = CliRunner().invoke(app, ["shell", *words, "--", "true"])
    assert done.exit_code == 2
    assert told in " ".join(done.output.split())


def test_an_unknown_profile_and_a_missing_command_are_told() -> None:
    done = shell("nowhere", "--", "true")
    assert (done.returncode, "no link profile 'nowhere'" in done.stderr) == (2, True)
    assert shell("wireline-100m", "--", "no-such-command").returncode == 127


@contextmanager
def running(*words: str, folder: Path, session: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """A shell whose command has written the file `up`; a failed test leaves none behind.

    session: whether it has one of its own.
    """
    process = subprocess.Popen([*LAB, *words], cwd=folder, env=ENVIRONMENT, start_new_session=session)
    deadline = time.monotonic() + 600
    try:
        while not (folder / "up").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)


@pytest.mark.parametrize(
    ("kernel", "number"),
    [
        ("host", signal.SIGTERM),
        ("host", signal.SIGHUP),
        ("host", signal.SIGKILL),
        ("lab", signal.SIGTERM),
        ("lab", signal.SIGKILL),
    ],
)
def test_a_kill_ends_the_command_and_leaves_nothing(kernel: str, number: signal.Signals, tmp_path: Path) -> None:
    script = "trap 'echo asked > asked; exit' TERM; echo up > up; while :; do sleep 0.2; done"
    with running("nistnet-80211", "--kernel", kernel, "--", "sh", "-c", script, folder=tmp_path) as process:
        below = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
        status = process.wait(120)
    _, alive = psutil.wait_procs(below, timeout=120)
    assert alive == []
    if number is not signal.SIGKILL:
        assert status == 128 + number
        assert (tmp_path / "asked").read_text() == "asked\n"


def ctrl_c(process: subprocess.Popen[bytes]) -> None:
    """As a terminal does, for all processes of its foreground."""
    os.killpg(process.pid, signal.SIGINT)


def test_ctrl_c_is_for_the_command_and_the_link_stands(tmp_path: Path) -> None:
    script = "trap 'ping -c1 -W20 $WIRED && exit 7' INT; echo up > up; while :; do sleep 0.2; done"
    words = ("nistnet-80211", "--medium", "line", "--", "sh", "-c", script)
    with running(*words, folder=tmp_path, session=True) as process:
        ctrl_c(process)
        assert process.wait(60) == 7


@pytest.mark.parametrize(("kernel", "started"), [("host", "emulation.line.process"), ("lab", "linux.uml")])
def test_ctrl_c_before_the_command_ends_all(kernel: str, started: str, tmp_path: Path) -> None:
    words = [*LAB, "nistnet-80211", "--kernel", kernel, "--prove", "--", "touch", tmp_path / "up"]
    with subprocess.Popen(
        words, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        below: list[psutil.Process] = []
        while process.poll() is None and not below:
            time.sleep(0.1)
            with suppress(psutil.Error):
                every = psutil.Process(process.pid).children(recursive=True)
                below = every if any(started in " ".join(one.cmdline()) for one in every) else []
        ctrl_c(process)
        said, _ = process.communicate(timeout=60)
    _, alive = psutil.wait_procs(below, timeout=60)
    assert (process.returncode, said, alive) == (130, b"", [])
    assert not (tmp_path / "up").exists()


def test_without_a_command_it_is_a_shell_with_the_links_name_in_its_prompt() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execvpe(LAB[0], [*LAB, "nistnet-80211"], ENVIRONMENT | {"SHELL": "/bin/bash", "TERM": "dumb"})  # noqa: S606
    said, typed = b"", False
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            said += os.read(terminal, 4096)
        except OSError:
            break
        if b"[nistnet-80211]" in said and not typed:
            os.write(terminal, b"echo address $STATION; exit 5\n")
            typed = True
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    assert b"you are on sta1; there are server 10.77.0.1, sta1 10.77.0.2" in said
    assert b"address 10.77.0.2" in said
