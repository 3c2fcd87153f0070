"""A command on a station behind a link: `python -m experiments.tools.shell_process FOLDER`, with a ShellRequest in it.

Runs as the first process of namespaces of its own, or in a lab kernel, so that everything it makes ends with it.
Exit status: the command's, 128+n when signal n ended it.
"""

from __future__ import annotations

import signal
import sys

# First of all, as the first process of a namespace ignores what it has no handler for: a terminal's Ctrl-C is for the
# command, and a polite kill ends it and us.
signal.signal(signal.SIGINT, lambda *_: None)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))

# ruff: noqa: E402
import os
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from emulation.kernel import congestion, kernel
from emulation.kernel.namespace import KernelError, prefix
from emulation.link import features
from emulation.link.link import applied, playing
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.proof.proof import probe_link
from experiments.tools.shell_request import REQUEST, STATIONS, ShellRequest
from records.link import LinkCheck
from topologies.network import Network, Node, probe_ends
from topologies.star import star

FAILED = 125
# How long packets and the timeline are planned for: after that the losses repeat, and the link stays as it is.
PLANNED_S = 600.0
_READY_S = 3.0
_END_S = 5.0


def main() -> int:
    """Build the link, run the command, take everything down."""
    request = _request(Path(sys.argv[1]))
    try:
        with ExitStack() as stack:
            if kernel.current() == "lab":
                stack.enter_context(congestion.allowed({request.congestion_control}))
            network = stack.enter_context(star(stations=STATIONS, congestion_control=request.congestion_control))
            plan = linkplan.plan(
                request.profile,
                list(network.ports.stations),
                seed=request.seed,
                seconds=PLANNED_S,
                timeline_s=PLANNED_S,
                made_by=request.medium,
                times_frames=features.times_frames(),
            )
            if request.prove:
                _prove(plan, network)
            player = stack.enter_context(playing(stack.enter_context(applied(plan, network.ports))))
            server, station = network.servers[0], network.stations[0]
            environment = _environment(request) | {"WIRED": server.address, "STATION": station.address}
            if request.wired:
                stack.enter_context(_serving(request.wired, server, environment))
            player.start(time.monotonic_ns())
            words = _words(request, server)
            prompt = {} if request.command else _prompt(request.profile.name)
            return _run(words, station, environment | prompt)
    except (KernelError, ValueError, OSError) as error:
        print(f"lab shell: {error}", file=sys.stderr)
        return FAILED


def _request(folder: Path) -> ShellRequest:
    """Read the request, and remove it: it has the user's environment in it."""
    path = folder / REQUEST
    request = ShellRequest.model_validate_json(path.read_text())
    path.unlink()
    return request


def _environment(request: ShellRequest) -> dict[str, str]:
    """The user's, with what a lab kernel has for its own."""
    own = {name: os.environ[name] for name in ("PATH", kernel.MARK) if name in os.environ}
    return request.environment | own


def _words(request: ShellRequest, server: Node) -> list[str]:
    """The command, with the wired node's address in the place of $WIRED; without a command the user's shell."""
    words = [word.replace("$WIRED", server.address).replace("${WIRED}", server.address) for word in request.command]
    return words or [request.environment.get("SHELL") or "/bin/bash"]


def _prompt(name: str) -> dict[str, str]:
    """What makes bash put the link's name before its prompt, once its own start-up files have set that."""
    return {"AIRWIRE_LINK": name, "PROMPT_COMMAND": 'PS1="[$AIRWIRE_LINK] $PS1"; unset PROMPT_COMMAND'}


def _run(words: Sequence[str], node: Node, environment: dict[str, str]) -> int:
    process = subprocess.Popen([*prefix(node.pid), *words], env=environment)
    try:
        status = process.wait()
    except BaseException:
        _end(process)
        raise
    return status if status >= 0 else 128 - status


@contextmanager
def _serving(words: Sequence[str], node: Node, environment: dict[str, str]) -> Iterator[None]:
    """Run a command on the wired node while the context lasts; begin when it listens, or after three seconds."""
    process = subprocess.Popen([*prefix(node.pid), *words], env=environment, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline and not _listens(node.pid):
            if (status := process.poll()) is not None:
                if status:
                    raise KernelError(f"--wired {shlex.join(words)}: ended with status {status}")
                break
            time.sleep(0.02)
        yield
    finally:
        _end(process)


def _listens(pid: int) -> bool:
    """Whether a socket in the namespace of a process waits for connections (TCP) or is bound (UDP)."""
    wanted = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
    for name, state in wanted.items():
        path = Path(f"/proc/{pid}/net/{name}")
        rows = path.read_text().splitlines()[1:] if path.exists() else []
        if any(row.split()[3] == state for row in rows):
            return True
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _prove(plan: LinkPlan, network: Network) -> None:
    """Probe the link, and say what it delivered, on standard error."""
    with applied(plan, network.ports):
        checks = probe_link(plan, probe_ends(network, plan.groups))
    for check in checks:
        print(_line(check), file=sys.stderr)


def _line(check: LinkCheck) -> str:
    holds = "ok " if check.holds else "NO "
    figures = f"asked {check.asked:<10.6g} delivered {check.delivered:<10.6g}"
    return f"{holds} {check.direction:8} {check.quantity:10} {figures} ({check.detail})"


if __name__ == "__main__":
    sys.exit(main())
