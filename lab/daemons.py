"""Services that do not start by being installed: Debian asks `policy-rc.d`, which is made for the time of installing.

The standard library suffices: set-up needs it before there is an environment.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from records.errors import CannotGoOn

POLICY = Path("/usr/sbin/policy-rc.d")
LOCK = Path("/run/airwire-set-up.lock")
MARK = "# Made by Airwire's set-up"
_TEXT = f"#!/bin/sh\n{MARK} while it installs packages, so that no service starts; removed at its end.\nexit 101\n"
_FORBIDDEN = 101  # deb-systemd-invoke(1p), invoke-rc.d(8)
_LIMIT_S = 20


@contextmanager
def kept_from_starting(services: Sequence[str], *, policy: Path = POLICY, lock: Path = LOCK) -> Iterator[int]:
    """None of these services starts by being installed.  Only root can do that, and one set-up at a time.

    Gives the open file that holds the lock: what installs has to inherit it.  A policy that somebody else made stays as
    it is; CannotGoOn where it lets one of the services start.
    """
    with _alone(lock) as number:
        heal(policy)
        if not services:
            yield number
            return
        if os.path.lexists(policy):
            _ask(policy, services)
            yield number
            return
        _make(policy)
        try:
            yield number
        finally:
            heal(policy)


def left_over(policy: Path = POLICY) -> bool:
    """Whether a set-up's policy is in force.  Where no set-up runs, one that was killed has left it."""
    try:
        return MARK in policy.read_text(errors="replace")
    except OSError:
        return False


def heal(policy: Path = POLICY) -> None:
    """Remove what a set-up has left of its policy; nothing of anybody else's."""
    if left_over(policy):
        policy.unlink()
    _unfinished(policy).unlink(missing_ok=True)


def _make(policy: Path) -> None:
    """Put it in place whole: half a policy would have no mark, and stay."""
    fresh = _unfinished(policy)
    fresh.write_text(_TEXT)
    fresh.chmod(0o755)
    os.link(fresh, policy)
    fresh.unlink()


def _unfinished(policy: Path) -> Path:
    return policy.with_name(f"{policy.name}.airwire-unfinished")


def _ask(policy: Path, services: Sequence[str]) -> None:
    starting = [one for one in services if not _forbids(policy, one)]
    if starting:
        names = " ".join(starting)
        raise CannotGoOn(
            f"{policy} is somebody else's and does not keep {names} from starting when it is installed; "
            f"move it away and repeat, or install by hand: apt-get install --no-install-recommends {names} "
            f"&& systemctl disable --now {names}"
        )


def _forbids(policy: Path, service: str) -> bool:
    try:
        done = subprocess.run([policy, service, "start"], capture_output=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == _FORBIDDEN


@contextmanager
def _alone(lock: Path) -> Iterator[int]:
    """The kernel takes the lock from a set-up that is killed."""
    number = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(number, "rb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("set-up: another one is installing packages; waiting for it", file=sys.stderr)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield number
