"""`python -m emulation.labkernel [options] -- COMMAND...`: a command as root in a lab kernel.

It behaves as the command itself would: streams, terminal, signals, exit status.  The command sees the host's files,
but what it writes stays in the guest, except below --write folders.  Processes that it leaves behind end with it.
Exit status: the command's; 128+n when signal n ended it; 124 when its time was up; 125 when the lab kernel failed.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from emulation.labkernel import installed, shares, shim, streams
from emulation.labkernel.cores import one_core
from emulation.labkernel.frames import Job
from emulation.labkernel.installed import LabKernelError
from emulation.labkernel.machine import started
from emulation.labkernel.proxy import GRACE_S, Proxy
from emulation.labkernel.signals import Ended, Signals, caught

FAILED = 125


def main() -> int:
    """Run the command that the command line describes."""
    streams.open_missing()
    options = _parser().parse_args()
    with caught() as signals:
        try:
            return _run(options, signals)
        except LabKernelError as error:
            _say(str(error))
            return FAILED
        except OSError as error:
            _say(f"starting the lab kernel: {error}")
            return FAILED
        except Ended as ended:
            return 128 + ended.number


def _run(options: argparse.Namespace, signals: Signals) -> int:
    installed.require(options.memory)
    preload = shim.chosen(os.environ)
    folder, ends = shares.current_folder(), streams.ends()
    binds = shares.binds(options.write, options.read, folder)
    job = Job(
        ends=ends,
        folder=os.fsencode(folder),
        argv=[os.fsencode(word) for word in options.command],
        environment={os.fsencode(k): os.fsencode(v) for k, v in shares.environment(os.environ).items()},
    )
    with (
        one_core(options.cpu, wait_s=options.wait, pause=signals.pause, say=_say) as (core, lock),
        started(
            job,
            binds=binds,
            memory=options.memory,
            core=core,
            lock=lock,
            console=options.console,
            preload=preload,
        ) as machine,
    ):
        proxy = Proxy(machine, signals, ends=ends, timeout_s=options.timeout)
        status = proxy.run()
        if proxy.forced:
            _say(f"{options.command[0]} had not ended {GRACE_S:.0f} s after it was asked to, so its kernel was stopped")
        return status


def _say(text: str) -> None:
    print(f"lab kernel: {text}", file=sys.stderr, flush=True)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """A wrong command line is not the command's failure."""
        self.print_usage(sys.stderr)
        self.exit(FAILED, f"lab kernel: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m emulation.labkernel", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--memory", default=installed.DEFAULT_MEMORY, metavar="SIZE", help="the guest's, such as 512M or 2G"
    )
    parser.add_argument("--timeout", type=_seconds, metavar="S", help="end the command after this time (status 124)")
    parser.add_argument("--write", action="append", default=[], metavar="DIR", help="what is written here stays")
    parser.add_argument(
        "--read", action="append", default=[], metavar="DIR", help="show this folder of /tmp, /run, /dev/shm"
    )
    parser.add_argument("--cpu", type=_core, metavar="auto|N", help="the core to run on")
    parser.add_argument("--wait", type=_seconds, default=600.0, metavar="S", help="how long to wait for a free core")
    parser.add_argument("--console", type=Path, metavar="FILE", help="keep what the kernel says")
    parser.add_argument("command", nargs="+", metavar="COMMAND")
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time in seconds")
    return value


def _core(text: str) -> int | None:
    return None if text == "auto" else int(text)


if __name__ == "__main__":
    sys.exit(main())
