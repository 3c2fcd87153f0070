"""`lab shell`: any command, or a shell, on a station behind a link."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Annotated, NoReturn

import psutil
import typer

from emulation import congestion, library
from emulation.kernel import KernelName
from experiments.isolation import SOURCES, isolated, module
from experiments.kernels import Kernels
from experiments.shell_request import REQUEST, STATIONS, ShellRequest
from lab.common import DEFAULT_RESULTS, Kernel, Medium, Status, fail, kernels, tidy, told
from results.scratch import scratch

_END_S = 10.0


def shell(
    profile: Annotated[str, typer.Argument(help="Link profile (`lab profiles` lists them), or a path to a .yaml.")],
    command: Annotated[list[str] | None, typer.Argument(help="Command to run; default: your shell.")] = None,
    wired: Annotated[str, typer.Option(help="A command to run on the wired node meanwhile.")] = "",
    kernel: Kernel = "auto",
    medium: Medium = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Decides which packets are lost.")] = 1,
    congestion_control: Annotated[str, typer.Option(help="TCP's, on both nodes.")] = "cubic",
    prove: Annotated[bool, typer.Option("--prove", help="First measure the link, and print what it delivers.")] = False,
) -> None:
    """Run COMMAND on a station behind PROFILE's medium, with a wired node on the other side.

    The wired node's address is in the environment variable WIRED; '$WIRED' in COMMAND (in quotes) is replaced by it.
    The exit status is the command's.  In the lab kernel what is written outside the current folder is gone afterwards.

        lab shell lte --wired 'iperf3 -s' -- iperf3 -c '$WIRED'
    """
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
        return _attend(where, isolated(where, [*module("experiments.shell_process"), str(folder)], write=write))


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
