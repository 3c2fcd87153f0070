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
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from emulation.kernel.namespace import KernelError, read_sysctl, run_tool, write_sysctl

ALLOWED = "net.ipv4.tcp_allowed_congestion_control"
AVAILABLE = "net.ipv4.tcp_available_congestion_control"
STATE = Path("/run/airwire-congestion.json")
_LOCK = "\0airwire-congestion"
_PATIENCE_S = 30.0


@contextmanager
def allowed(names: set[str]) -> Iterator[None]:
    """Keep `names` allowed while the context lasts.  KernelError when the kernel does not have one of them."""
    have = set(read_sysctl(AVAILABLE).split())
    for name in sorted(names - have):
        with suppress(KernelError):
            run_tool(["modprobe", f"tcp_{name}"])
    have = set(read_sysctl(AVAILABLE).split())
    if missing := names - have:
        raise KernelError(
            f"this kernel has no TCP congestion control {', '.join(sorted(missing))}; "
            f"it has {', '.join(sorted(have))}: load module tcp_{min(missing)} or choose one of those"
        )
    me = [os.getpid(), _start_ticks(os.getpid())]
    with _state() as state:
        if not state["holders"]:
            state["original"] = read_sysctl(ALLOWED)
        state["holders"].append(me)
        _save(state)  # first: whoever is killed from here on can be swept up after
        now = read_sysctl(ALLOWED).split()
        if extra := sorted(names - set(now)):
            write_sysctl(ALLOWED, " ".join([*now, *extra]))
    try:
        yield
    finally:
        with _state() as state:
            if me in state["holders"]:
                state["holders"].remove(me)


def sweep() -> None:
    """Put the original list back when every holder has died without doing so."""
    if STATE.exists():
        with _state():
            pass


@contextmanager
def _state() -> Iterator[dict[str, Any]]:
    """The state under a lock; dead holders are dropped, and the original is restored with the last holder."""
    with _machine_lock():
        state = _load()
        state["holders"] = [holder for holder in state["holders"] if _start_ticks(holder[0]) == holder[1]]
        if not state["holders"]:
            _restore(state)
        yield state
        if not state["holders"]:
            _restore(state)
            STATE.unlink(missing_ok=True)
        else:
            _save(state)


def _load() -> dict[str, Any]:
    if not STATE.exists():
        return {"original": None, "holders": []}
    try:
        state = json.loads(STATE.read_text())
        return {"original": state["original"], "holders": [[int(pid), int(ticks)] for pid, ticks in state["holders"]]}
    except (ValueError, KeyError, TypeError) as error:
        raise KernelError(f"{STATE}: damaged ({error}); remove it, and see to {ALLOWED} yourself") from error


def _save(state: dict[str, Any]) -> None:
    fresh = STATE.with_suffix(".new")
    fresh.write_text(json.dumps(state))
    fresh.replace(STATE)


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


def _start_ticks(pid: int) -> int:
    """When a process started, in clock ticks since boot (no wall clock in it); 0 = there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[19])
