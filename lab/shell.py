"""`lab shell`: any command, or a shell, on a station behind a link."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NoReturn

import psutil
import typer
from pydantic import ValidationError

from emulation.kernel import congestion
from emulation.kernel.kernel import KernelName
from emulation.labkernel.shares import is_guests_own
from emulation.profile import library
from experiments.campaign.prepare import place_of
from experiments.scenario.segments import topology_plan, unfit_link
from experiments.scenario.settings import Settings
from experiments.tools.shell_request import REQUEST, ShellRequest
from experiments.trial.checks.sharedmachine import shared_machine
from experiments.workers.isolation import SOURCES, isolated, module
from experiments.workers.kernels import Kernels
from lab.beforehand import kernels
from lab.common import DEFAULT_RESULTS, Status, fail, told
from lab.start import tidy
from records.location import is_text
from records.refusals import in_words
from records.scratch import scratch
from topologies import topology as topologies
from topologies.topology import Topology

_END_S = 10.0


def shell(
    *,
    profile: str,
    command: list[str] | None,
    wired: str,
    topology: str,
    stations: int,
    group_frames: bool,
    on: str,
    kernel: str,
    medium: str,
    seed: int,
    congestion_control: str,
    prove: bool,
) -> None:
    """Run the command on a station; the exit status is the command's."""
    with told():
        chosen = kernels(kernel, medium)
        tidy(DEFAULT_RESULTS)
        try:
            serve = shlex.split(wired)
        except ValueError as error:
            fail(f"--wired {wired!r}: {error}", Status.USAGE)
        if strange := [word for word in (profile, *serve, *(command or ())) if not is_text(word)]:
            fail(f"{strange[0]}: this word is no UTF-8, in which the station is told it", Status.USAGE)
        shape = _topology(topology)
        request = ShellRequest(
            network=profile,
            profile=library.load(profile),
            topology=shape.model_dump(mode="json"),
            links={name: library.load(name) for _, name in shape.profiles()},
            stations=stations,
            on=on,
            wired=tuple(serve),
            command=tuple(command or ()),
            seed=seed,
            group_frames=group_frames,
            congestion_control=congestion_control,
            prove=prove,
            shared_machine=shared_machine(),
            environment={name: value for name, value in os.environ.items() if is_text(name) and is_text(value)},
        )
        raise typer.Exit(_run(chosen, request))


def _topology(words: str) -> Topology:
    """What `KIND [KEY=VALUE ...]` means, where `links.link2=NAME` is a key inside of one."""
    try:
        kind, *rest = shlex.split(words) or [""]
        data: dict[str, Any] = {"kind": kind}
        for word in rest:
            key, equals, value = word.partition("=")
            if not equals:
                raise ValueError(f"{word!r} is not KEY=VALUE")
            outer, dot, inner = key.partition(".")
            place = data.setdefault(outer, {}) if dot else data
            name = inner if dot else outer
            if not isinstance(place, dict) or name in place:
                raise ValueError(f"{word!r}: {outer!r} has a value already; each key is given once, the kind first")
            place[name] = value
        return topologies.parse(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        fail(f"--topology {words!r}: {where}: {in_words(first)}", Status.USAGE)
    except ValueError as error:
        fail(f"--topology {words!r}: {error}", Status.USAGE)


def _settings(request: ShellRequest) -> Settings:
    """Those of the network; what there is none for, and a node that is not in it, ends here."""
    try:
        settings = request.settings()
        plan = topology_plan(settings)
    except ValidationError as error:
        first = error.errors()[0]
        option = "-".join(map(str, first["loc"])).replace("_", "-")
        fail(f"--{option} {first['input']!r}: {in_words(first)}", Status.USAGE)
    except ValueError as error:
        fail(f"--topology: {error}", Status.USAGE)
    for why in filter(None, map(unfit_link, request.links.values())):
        fail(f"--topology: {why}", Status.USAGE)
    names = [host.name for host in plan.hosts]
    try:
        request.profile.groups([name for name in names if plan.role(name) == "station"])
    except ValueError as error:
        fail(f"{error}: say --stations", Status.USAGE)
    if request.on and request.on not in names:
        fail(f"--on {request.on!r}: there is no such node, but {', '.join(names)}", Status.USAGE)
    return settings


def _run(chosen: Kernels, request: ShellRequest) -> int:
    place = place_of(_settings(request), request.profile, request.links, chosen)
    where = place.kernel
    control = request.congestion_control
    with (
        scratch("shell") as folder,
        congestion.allowed({control}) if where == "host" else nullcontext(),
    ):
        (folder / REQUEST).write_text(request.model_copy(update={"medium": place.medium}).model_dump_json())
        here = Path.cwd()
        write = [folder, *([here] if os.access(here, os.W_OK) and not is_guests_own(here) else [])]
        return _attend(where, isolated(where, [*module("experiments.tools.shell_process"), str(folder)], write=write))


def _attend(where: KernelName, words: list[str]) -> int:
    """Run to the end; what ends us ends that, and everything in it."""
    # A terminal's Ctrl-C reaches what it starts by itself: it waits there until it can be taken.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    process = subprocess.Popen(words, env=os.environ | SOURCES)
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    asked = 0

    def end(number: int, _frame: object) -> NoReturn:
        nonlocal asked
        asked = number
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, end)
    try:
        status = process.wait()
    except KeyboardInterrupt:
        _end(where, process)
        return 128 + asked
    return status if status >= 0 else 128 - status


def _end(where: KernelName, process: subprocess.Popen[bytes]) -> None:
    """Ask politely: the lab kernel's stand-in, or the process inside `unshare`, which itself blocks signals."""
    with suppress(psutil.NoSuchProcess):
        outer = psutil.Process(process.pid)
        for one in [outer] if where == "lab" else outer.children():
            one.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
