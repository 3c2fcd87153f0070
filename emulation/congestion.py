"""Which congestion controls a namespace may choose: a machine-wide list, extended for as long as somebody needs it.

Outside the first network namespace the kernel refuses (EPERM) a congestion control that is not listed in the
first namespace's net.ipv4.tcp_allowed_congestion_control.  The holders of an extension are kept in a file; the
last living one puts the original list back, and the next command does it for holders that were killed.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from emulation.namespace import KernelError, read_sysctl, write_sysctl

ALLOWED = "net.ipv4.tcp_allowed_congestion_control"
AVAILABLE = "net.ipv4.tcp_available_congestion_control"
_STATE = Path("/run/airwire-congestion.json")
_LOCK = "\0airwire-congestion"
_PATIENCE_S = 30.0


@contextmanager
def allowed(names: set[str]) -> Iterator[None]:
    """Keep `names` allowed while the context lasts.  KernelError when the kernel does not have one of them."""
    have = set(read_sysctl(AVAILABLE).split())
    if missing := names - have:
        raise KernelError(
            f"this kernel has no TCP congestion control {', '.join(sorted(missing))}; "
            f"it has {', '.join(sorted(have))}: load module tcp_{min(missing)} or choose one of those"
        )
    me = [os.getpid(), psutil.Process().create_time()]
    with _state() as state:
        if not state["holders"]:
            state["original"] = read_sysctl(ALLOWED)
        state["holders"].append(me)
        now = read_sysctl(ALLOWED).split()
        extra = sorted(names - set(now))
        if extra:
            write_sysctl(ALLOWED, " ".join([*now, *extra]))
    try:
        yield
    finally:
        with _state() as state:
            state["holders"].remove(me)


def sweep() -> None:
    """Put the original list back when every holder has died without doing so."""
    if _STATE.exists():
        with _state():
            pass


@contextmanager
def _state() -> Iterator[dict[str, Any]]:
    """The state under a lock; dead holders are dropped, and the original is restored with the last holder."""
    with _machine_lock():
        state: dict[str, Any] = {"original": None, "holders": []}
        if _STATE.exists():
            state = json.loads(_STATE.read_text())
        state["holders"] = [holder for holder in state["holders"] if _lives(*holder)]
        if not state["holders"] and state["original"] is not None:
            _restore(state)
        yield state
        if not state["holders"]:
            _restore(state)
            _STATE.unlink(missing_ok=True)
        else:
            _STATE.write_text(json.dumps(state))


@contextmanager
def _machine_lock() -> Iterator[None]:
    """One holder per machine.  An abstract socket name is free again when its holder dies, and leaves no file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                lock.bind(_LOCK)
                break
            except OSError as error:
                if time.monotonic() > deadline:
                    raise KernelError(f"another command has held {_LOCK[1:]} for {_PATIENCE_S:.0f} s") from error
                time.sleep(0.01)
        yield


def _restore(state: dict[str, Any]) -> None:
    if state["original"] is not None and read_sysctl(ALLOWED) != state["original"]:
        write_sysctl(ALLOWED, state["original"])
    state["original"] = None


def _lives(pid: int, started: float) -> bool:
    try:
        return psutil.Process(pid).create_time() == started
    except psutil.NoSuchProcess:
        return False
