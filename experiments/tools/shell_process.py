"""A command on a station behind a link: `python -m experiments.tools.shell_process FOLDER`, with a ShellRequest in it.

Runs as the first process of namespaces of its own, or in a lab kernel, so that everything it makes ends with it.
Exit status: the command's, 128+n when signal n ended it.
"""

from __future__ import annotations

import os
import signal
import sys

# First of all, as the first process of a namespace ignores what it has no handler for.  Nothing is there yet that would
# have to be taken down, and an exception amid imports may end as another one.
for _number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(_number, lambda number, _: os._exit(128 + number))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # which waits since we were started

# ruff: noqa: E402
import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import permutations
from pathlib import Path

from emulation.kernel import congestion, kernel
from emulation.kernel.namespace import KernelError, prefix
from emulation.line.serving import LineProcess, serving
from emulation.link import features
from emulation.link.link import applied, playing
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from experiments.scenario.segments import first_profile, further_plans, topology_plan
from experiments.scenario.settings import Settings
from experiments.tools.shell_nodes import introduced, written
from experiments.tools.shell_request import REQUEST, ShellRequest
from experiments.trial.proving import prove, to_prove
from records.link import LinkCheck
from topologies.build import built
from topologies.network import Network, Node

FAILED = 125
# How long packets and the timeline are planned for: after that the losses repeat, and the link stays as it is.
PLANNED_S = 600.0
_READY_S = 3.0
_END_S = 5.0


def main() -> int:
    """Build the network, run the command, take everything down."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    folder = Path(sys.argv[1])
    request = _request(folder)
    try:
        with ExitStack() as stack:
            if kernel.current() == "lab":
                stack.enter_context(congestion.allowed({request.congestion_control}))
            settings = request.settings()
            network = stack.enter_context(built(topology_plan(settings), congestion_control=request.congestion_control))
            here, there = _ends(network, request.on)
            process = stack.enter_context(serving(idle_poll=not request.shared_machine))
            plans = _plans(request, settings, network)
            if request.prove:
                _prove(plans, network, process)
            players = [
                stack.enter_context(
                    playing(stack.enter_context(applied(plan, network.segments[name].ports, process, name)))
                )
                for name, plan in plans.items()
            ]
            addresses = _addresses(network, here, there)
            environment = _environment(request) | addresses
            environment["PATH"] = os.pathsep.join([str(written(folder, network.nodes)), environment.get("PATH", "")])
            if request.wired:
                stack.enter_context(_serving(request.wired, there, environment))
            for player in players:
                player.start(time.monotonic_ns())
            if not request.command:
                environment |= _prompt(request.profile.name)
                print(introduced(network.nodes, here), file=sys.stderr)
            return _run(_words(request, addresses), here, environment)
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


def _plans(request: ShellRequest, settings: Settings, network: Network) -> dict[str, LinkPlan]:
    """The link plan of every segment that is emulated, the stations' first one before the others."""
    one = network.plan.emulated[0]
    first = linkplan.plan(
        first_profile(settings, request.profile),
        list(one.stations),
        seed=request.seed,
        seconds=PLANNED_S,
        timeline_s=PLANNED_S,
        made_by=request.medium,
        times_frames=features.times_frames(),
        via=one.via,
        group_frames=request.group_frames,
    )
    return {one.name: first} | further_plans(settings, request.profile, request.links, first)


def _ends(network: Network, on: str) -> tuple[Node, Node]:
    """Where the command runs, and the node on the other side: the first server, or without one the last station."""
    names = [node.name for node in network.nodes]
    if on and on not in names:
        raise ValueError(f"--on {on}: there is no such node, but {', '.join(names)}")
    here = network.node(on) if on else network.stations[0]
    return here, (network.servers or network.stations[-1:])[0]


def _addresses(network: Network, here: Node, there: Node) -> dict[str, str]:
    """Every node's by its name in capitals, and of the two ends."""
    return {node.name.upper(): node.address for node in network.nodes} | {
        "STATION": here.address,
        "WIRED": there.address,
    }


def _words(request: ShellRequest, addresses: Mapping[str, str]) -> list[str]:
    """The command, with nodes' addresses in the place of their names, as $WIRED; without a command the user's shell."""

    def address(found: re.Match[str]) -> str:
        return addresses.get(found[1] or found[2], found[0])

    words = [re.sub(r"\$(?:(\w+)|{(\w+)})", address, word) for word in request.command]
    return words or [request.environment.get("SHELL") or "/bin/bash"]


def _prompt(name: str) -> dict[str, str]:
    """What makes bash put the link's name before its prompt, once its own start-up files have set that."""
    return {"AIRWIRE_LINK": name, "PROMPT_COMMAND": 'PS1="[$AIRWIRE_LINK] $PS1"; unset PROMPT_COMMAND'}


def _run(words: Sequence[str], node: Node, environment: dict[str, str]) -> int:
    signal.signal(signal.SIGINT, lambda *_: None)  # a terminal's Ctrl-C is for the command from now on
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


def _prove(plans: Mapping[str, LinkPlan], network: Network, process: LineProcess) -> None:
    """Probe the links and the paths over them, and say what they delivered, on standard error."""
    between = () if network.emulated[0].plan.wired else tuple(permutations(network.plan.of_role("station"), 2))
    found = prove(network, plans, to_prove(plans, segments=len(network.segments)), process, between)
    for name, checks in found.items():
        if len(found) > 1:
            print(f"{name}:", file=sys.stderr)
        for check in checks:
            print(_line(check), file=sys.stderr)


def _line(check: LinkCheck) -> str:
    holds = "ok " if check.holds else "NO "
    figures = f"asked {check.asked:<10.6g} delivered {check.delivered:<10.6g}"
    return f"{holds} {check.direction:8} {check.quantity:10} {figures} ({check.detail})"


if __name__ == "__main__":
    sys.exit(main())
