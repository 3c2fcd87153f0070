"""The distribution's packages: those of the stacks, and those that set-up names.  Run by the system's Python.

python3 -m lab.system_packages [PACKAGE ...]     installs these and what stacks lack; does nothing where nothing lacks
python3 -m lab.system_packages --missing         prints what stacks lack
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from lab import daemons
from records.errors import CannotGoOn, WrongInput
from stacks.declaration import Debian
from stacks.folders import found
from stacks.installed import missing

AS_ROOT = "lab/bootstrap.sh packages"
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LAST_LINES = 20
_LISTS_TRIES, _LISTS_PAUSE_S = 12, 10.0
_APT = ("apt-get", "install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120")


def names(lacking: Iterable[Debian], more: Iterable[str] = ()) -> tuple[str, ...]:
    """Packages to install, each once."""
    return tuple(dict.fromkeys((*more, *(one.package for one in lacking))))


def services(lacking: Iterable[Debian]) -> tuple[str, ...]:
    """Those of them that start a service when they are installed."""
    return tuple(one.package for one in lacking if one.daemon)


def install(wanted: Sequence[str], kept: Sequence[str]) -> None:
    """Install packages, and start none of the services `kept`; CannotGoOn when that does not work."""
    if wanted and not shutil.which("apt-get"):
        raise CannotGoOn(f"this is neither Debian nor Ubuntu; install by hand: {' '.join(wanted)}")
    if os.geteuid():
        if wanted:
            raise CannotGoOn(
                f"system packages are missing ({' '.join(wanted)}) and only root can install them; "
                f"run as root: {AS_ROOT}"
            )
        if daemons.left_over():
            say(f"{daemons.POLICY} of a set-up that was killed keeps services from starting; run as root: {AS_ROOT}")
        return
    with daemons.kept_from_starting(kept) as lock:
        if wanted:
            say(f"installing {' '.join(wanted)}")
            _update(lock)
            _run(*_APT, *wanted, lock=lock)


def _update(lock: int) -> None:
    """apt waits for the lock of its packages when it is told to, and never for that of their lists."""
    for _ in range(_LISTS_TRIES - 1):
        try:
            _run("apt-get", "update", lock=lock)
            return
        except CannotGoOn as error:
            if "Could not get lock" not in str(error):
                raise
        say("waiting for another apt")
        time.sleep(_LISTS_PAUSE_S)
    _run("apt-get", "update", lock=lock)


def _run(*command: str, lock: int) -> None:
    """Run a command of apt's to its end: one that is ended in between leaves packages that are half installed.

    lock: what apt keeps open, so that the lock holds until it ends, even when this process is killed before.
    """
    environment: Mapping[str, str] = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(lock,),
            start_new_session=True,  # the terminal's Ctrl-C is for us alone
        )
        try:
            process.wait()
        except BaseException:
            with suppress(OSError):  # the terminal may be gone
                say(f"waiting for {command[0]}, which must not be broken off")
            process.wait()
            raise
        if process.returncode:
            log.seek(0)
            said = "".join(log.readlines()[-_LAST_LINES:])
            raise CannotGoOn(
                f"{said}{' '.join(command)}: that did not work (see above); once the cause is gone, "
                f"this brings what is missing: {AS_ROOT}"
            )


def say(what: str) -> None:
    """As bootstrap.sh does."""
    print(f"set-up: {what}", file=sys.stderr)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for number in _ENDING:  # a terminal that ends says so twice, and once is enough
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextmanager
def _tidying() -> Iterator[None]:
    """A polite kill, or the end of the terminal, is like Ctrl-C: what keeps services from starting has to go."""
    before = {number: signal.getsignal(number) for number in _ENDING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main(words: Sequence[str]) -> int:
    """Do what is asked; the exit status."""
    with _tidying():
        return _done(words)


def _done(words: Sequence[str]) -> int:
    try:
        for problem in found().problems:
            say(f"passed over: {problem}")
        lacking = missing(found().declared)
        if list(words) == ["--missing"]:
            sys.stdout.writelines(f"{name}\n" for name in names(lacking))
        else:
            install(names(lacking, words), services(lacking))
    except (CannotGoOn, WrongInput) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
