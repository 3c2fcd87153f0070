"""`lab shell`: any command, or a shell, on a station behind a link."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import NoReturn

import psutil
import typer

from emulation.kernel import congestion
from emulation.kernel.kernel import KernelName
from emulation.profile import library
from experiments.tools.shell_request import REQUEST, STATIONS, ShellRequest
from experiments.workers.isolation import SOURCES, isolated, module
from experiments.workers.kernels import Kernels
from lab.beforehand import kernels
from lab.common import DEFAULT_RESULTS, Status, fail, told
from lab.start import tidy
from records.scratch import scratch

_END_S = 10.0


def shell(
    *,
    profile: str,
    command: list[str] | None,
    wired: str,
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
        request = ShellRequest(
            profile=library.load(profile),
            wired=tuple(serve),
            command=tuple(command or ()),
            seed=seed,
            congestion_control=congestion_control,
            prove=prove,
            environment=dict(os.environ),
        )
        raise typer.Exit(_run(chosen, request))


def _run(chosen: Kernels, request: ShellRequest) -> int:
    place = chosen.choose(request.profile, stations=STATIONS)
    where = place.kernel
    control = request.congestion_control
    with (
        scratch("shell") as folder,
        congestion.allowed({control}) if where == "host" else nullcontext(),
    ):
        (folder / REQUEST).write_text(request.model_copy(update={"medium": place.medium}).model_dump_json())
        here = Path.cwd()
        own = here == Path("/") or here.is_relative_to("/run")  # a lab kernel has its own of these
        write = [folder, *([here] if os.access(here, os.W_OK) and not own else [])]
        return _attend(where, isolated(where, [*module("experiments.tools.shell_process"), str(folder)], write=write))


def _attend(where: KernelName, words: list[str]) -> int:
    """Run to the end; what ends us ends that, and everything in it."""
    process = subprocess.Popen(words, env=os.environ | SOURCES)
    asked = 0

    def end(number: int, _frame: object) -> NoReturn:
        nonlocal asked
        asked = number
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    signal.signal(signal.SIGINT, lambda *_: None)  # a terminal's Ctrl-C reaches the command by itself
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
